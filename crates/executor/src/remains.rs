//! Files that a failed step leaves behind: the accessible structure around its target, and the changes that the step
//! made to it.
//!
//! Both are YAML as [`AriaTree`] has it. Each step with a target that may change something has the structure kept in the
//! page before its input; it crosses the wire only if the step fails.
//!
//! Invariants:
//! - Values of password-like fields are not in it, nor what the redactor of the run or the step knows to be secret.
//! - A document that was replaced is compared with nothing.

use std::time::{Duration, Instant};

use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::seam::ArtifactKind;
use cuebook_grammar::seam::boxed::BoxedArtifactSink;
use cuebook_probe::{AriaLimits, AriaTree, ProbeWorld};
use futures_util::FutureExt as _;
use serde::Deserialize;
use serde_json::json;
use similar::TextDiff;

use crate::error::ExecutorError;
use crate::run::{Resolved, StepRun};

const LIMITS: AriaLimits = AriaLimits { elements: 150, depth: 100, characters: 20_000 };
/// How long a page may take to answer, and how long after the deadline of the step.
const PATIENCE: Duration = Duration::from_secs(1);
const LATE: Duration = Duration::from_millis(300);
const TEXT: &str = "text/plain; charset=utf-8";

#[derive(Deserialize)]
struct Around {
    before: Option<AriaTree>,
    after: AriaTree,
}

impl StepRun<'_> {
    /// Has the page keep what is around the target. No answer is awaited.
    pub(crate) async fn keep_around(&mut self, target: &Resolved) {
        if !self.keeps() {
            return;
        }
        let Ok(world) = self.probe.world_of(&target.key, self.until).await else { return };
        let args = [target.key.node.into(), json!(LIMITS)];
        let _ = world.call::<()>("(cb, id, limits) => cb.aria.keep(id, limits)", &args, self.until).now_or_never();
    }

    /// Stores what is around the target now, and how it differs from before; nothing of a page that cannot be asked.
    pub(crate) async fn leave_behind(&mut self, artifacts: &dyn BoxedArtifactSink) -> Result<(), ExecutorError> {
        if self.page.dialog().is_some() || self.page.crashed() || self.page.closed() {
            return Ok(());
        }
        // After the deadline of the step a page that hangs is not waited for.
        let now = Instant::now();
        let by = (now + PATIENCE).min(self.until.max(now + LATE));
        let Some((world, node)) = self.around(by).await else { return Ok(()) };
        let args = [node.into(), json!(LIMITS)];
        let Ok(text) = world.call::<String>("(cb, id, limits) => cb.aria.around(id, limits)", &args, by).await else {
            return Ok(());
        };
        let Ok(Around { before, after }) = serde_json::from_str(&text) else { return Ok(()) };
        // What an earlier step had kept is no part of this one.
        let before = before.filter(|_| node != 0 && self.keeps());
        let (before, after) = (before.map(|tree| self.text(tree)), self.text(after));
        let difference =
            |before: &String| TextDiff::from_lines(before, &after).unified_diff().header("before", "after").to_string();
        let diff = before.as_ref().map(difference).unwrap_or_default();
        for (kind, text) in [(ArtifactKind::AxSubtree, after), (ArtifactKind::DomDiff, diff)] {
            if text.trim().is_empty() {
                continue;
            }
            let stored = artifacts.store(kind, TEXT, text.into_bytes()).await;
            self.evidence.artifacts.push(stored.map_err(|error| ExecutorError::Artifact(Box::new(error)))?);
        }
        Ok(())
    }

    fn keeps(&self) -> bool {
        self.step.effect() != EffectClass::ReadOnly
    }

    fn text(&self, tree: AriaTree) -> String {
        tree.mapped(|text| self.redacted(text)).to_yaml() + "\n"
    }

    /// The document of the target and the target in it, or else the main document as a whole.
    async fn around(&mut self, by: Instant) -> Option<(ProbeWorld, u64)> {
        if let Some(main) = &self.main
            && let Ok(world) = self.probe.world_of(&main.key, by).await
        {
            return Some((world, main.key.node));
        }
        Some((self.probe.world(&self.page.main_frame().id, by).await.ok()?, 0))
    }
}
