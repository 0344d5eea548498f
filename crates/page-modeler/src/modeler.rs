//! The modeler of live pages.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebook_cdp::protocol::browser_protocol::target::GetTargetsParams;
use cuebook_cdp::{
    Browser, CallError, DialogKind as WireDialog, DocumentId, GoneReason, OpenDialog, Page, PageEvent, TargetId,
};
use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::facts::{DialogFact, DialogKind};
use cuebook_grammar::id::{CandidateId, NodeKey, ObservationId, PageId};
use cuebook_grammar::observation::{
    FrameSummary, OBSERVATION_VERSION, Observation, Scope, Sketch, TabSummary, Truncation, Viewport,
};
use cuebook_grammar::outcome::Cause;
use cuebook_grammar::seam::Redactor;
use cuebook_grammar::secret::DigestKey;
use cuebook_grammar::shared::Shared;
use cuebook_probe::{Placement, Probe, ProbeError, ProbeWorld};
use serde::Deserialize;

use crate::capture::{Bounds, Captured, TabCaches, WALK, capture};
use crate::error::ModelError;
use crate::model::page_fingerprint::page_fingerprint;
use crate::model::sketch::sketch;
use crate::model::{FrameRows, Identities, candidates, clean};
use crate::options::{ModelerOptions, Settling};

/// Turns the tabs of one browser into observations.
#[derive(Debug)]
pub struct LivePageModeler {
    browser: Arc<Browser>,
    digest: DigestKey,
    options: ModelerOptions,
    redactor: Option<Arc<dyn Redactor>>,
    identities: Identities,
    pages: HashMap<PageId, PageState>,
    observations: u64,
    /// Why the last call failed, if its page or the browser is gone.
    pub(crate) lost: Option<Cause>,
}

#[derive(Debug)]
pub(crate) struct PageState {
    pub(crate) probe: Probe,
    known: TabCaches,
    last: Option<Observation>,
    /// The rows of the only walk that the last observation was made of; `None` if there were several, or they cannot be
    /// named.
    walk: Option<WalkKey>,
    /// Where the frames of the last observation lie, by index.
    frames: Vec<(u32, ProbeWorld, Placement)>,
    /// The document that has been waited for.
    settled: Option<DocumentId>,
    /// Candidates that are gone, with the observation that saw them last.
    gone: VecDeque<(u64, Candidate)>,
}

/// Frame, document, and the stamp of the first walk with the same rows.
type WalkKey = ((String, String), u64);

/// Rest before a document that is gone is looked up again.
const REPLACED: Duration = Duration::from_millis(20);
/// Observations after which a candidate that is gone is forgotten.
const RECENT_OBSERVATIONS: u64 = 12;
/// The most candidates that are remembered after they are gone.
const RECENT_CANDIDATES: usize = 50;
/// The most time that is kept back to describe a page that does not answer.
const UNSEEN: Duration = Duration::from_secs(1);

impl LivePageModeler {
    /// A modeler for the tabs of `browser`. Values of password-like fields become digests under `digest`.
    #[must_use]
    pub fn new(browser: Arc<Browser>, digest: DigestKey, options: ModelerOptions) -> Self {
        let (identities, pages) = (Identities::default(), HashMap::new());
        Self { browser, digest, options, redactor: None, identities, pages, observations: 0, lost: None }
    }

    /// Sets a redactor, whose findings are painted over in pictures. Without one, only password-like fields are painted
    /// over.
    #[must_use]
    pub fn with_redactor(self, redactor: Arc<dyn Redactor>) -> Self {
        Self { redactor: Some(redactor), ..self }
    }

    pub(crate) fn redactor(&self) -> Option<&dyn Redactor> {
        self.redactor.as_deref()
    }

    /// Remembers whether there is anything left to look at.
    pub(crate) fn noted<T>(&mut self, answer: Result<T, ModelError>) -> Result<T, ModelError> {
        self.lost = match &answer {
            Ok(_) => None,
            Err(_) if !self.browser.is_alive() => Some(Cause::BrowserGone),
            Err(ModelError::NoSuchPage | ModelError::Crashed) => Some(Cause::PageCrashed),
            Err(ModelError::Wire(error) | ModelError::Probe(ProbeError::Wire(error))) => {
                error.gone().filter(|gone| *gone == GoneReason::Crashed).map(|_| Cause::PageCrashed)
            }
            Err(_) => None,
        };
        answer
    }

    pub(crate) fn page(&self, page: &PageId) -> Result<Page, ModelError> {
        self.browser.page(&TargetId::from(page.as_str())).ok_or(ModelError::NoSuchPage)
    }

    /// The node of a candidate of the last observation of `page`.
    pub(crate) fn node(&self, page: &PageId, id: CandidateId) -> Option<NodeKey> {
        self.pages.get(page)?.last.as_ref()?.candidate(id)?.node.clone()
    }

    /// The frames of the last observation of `page`: index, world, and where it lies.
    pub(crate) fn frames(&self, page: &PageId) -> &[(u32, ProbeWorld, Placement)] {
        self.pages.get(page).map_or(&[], |state| &state.frames)
    }

    /// The walks that `seen` was made of, by their stamps; `None` if it is not the last observation of its page, or one of
    /// them cannot be named.
    pub(crate) fn walks_of(&self, seen: &Observation) -> Option<Vec<(ProbeWorld, u64)>> {
        let state = self.pages.get(&seen.page)?;
        state.last.as_ref().filter(|last| last.id == seen.id)?;
        let stamp = |world: &ProbeWorld| state.known.walks.stamp(world, seen.scope);
        state.frames.iter().map(|(_, world, _)| Some((world.clone(), stamp(world)?))).collect()
    }

    /// The tabs of the browser context of `page`.
    pub(crate) fn tabs_beside(&self, page: &Page) -> impl Iterator<Item = PageId> {
        self.browser.pages_beside(page).into_iter().map(|page| PageId::new(page.target_id().as_str()))
    }

    /// The candidate that a node is, in the last observation of `page`.
    pub(crate) fn candidate_at(&self, page: &PageId, key: &NodeKey) -> Option<CandidateId> {
        let id = self.identities.known(key)?;
        self.pages.get(page)?.last.as_ref()?.candidate(id).map(|candidate| candidate.id)
    }

    pub(crate) async fn probe(&mut self, page: &PageId, until: Instant) -> Result<Probe, ModelError> {
        if let Some(state) = self.pages.get(page) {
            return Ok(state.probe.clone());
        }
        let wire = self.page(page)?;
        let attach = async || {
            let probe =
                Probe::attach_with(wire.clone(), self.digest.clone(), self.options.probe.clone(), until).await?;
            probe.extend(WALK, until).await?;
            Ok::<_, ProbeError>(probe)
        };
        let probe = loop {
            match attach().await {
                Err(ProbeError::Gone) if wire.crashed() => return Err(ModelError::Crashed),
                // A document that is being replaced, or a crash that is reported a moment later.
                Err(ProbeError::Gone) if !wire.closed() && Instant::now() < until => {
                    tokio::time::sleep(REPLACED).await;
                }
                attached => break attached?,
            }
        };
        let state = PageState {
            probe: probe.clone(),
            known: TabCaches::default(),
            last: None,
            walk: None,
            frames: Vec::new(),
            settled: None,
            gone: VecDeque::new(),
        };
        self.pages.insert(page.clone(), state);
        Ok(probe)
    }

    pub(crate) async fn observe_page(
        &mut self,
        page: &PageId,
        scope: Scope,
        until: Instant,
    ) -> Result<Observation, ModelError> {
        let wire = self.page(page).inspect_err(|_| self.identities.forget(page))?;
        self.pages.retain(|id, state| id == page || !state.probe.page().closed());
        if wire.crashed() {
            return Err(ModelError::Crashed);
        }
        let mut events = wire.events();
        if let Some(dialog) = wire.dialog() {
            return Ok(self.blocked(page, scope, &wire, &dialog, until).await);
        }
        // Describing a page that hangs needs some time too.
        let answer_by = until - (until.saturating_duration_since(Instant::now()) / 8).min(UNSEEN);
        let dialog = tokio::select! {
            captured = self.capture(page, scope, answer_by) => {
                let why = match captured {
                    Ok(captured) => {
                        return Ok(self.observation(page, scope, &captured, self.tabs(page, until).await));
                    }
                    Err(ModelError::NoAnswer) => "it was replaced again and again",
                    Err(
                        ModelError::Wire(CallError::DeadlineExceeded { .. })
                        | ModelError::Probe(ProbeError::Wire(CallError::DeadlineExceeded { .. })),
                    ) => "it did not answer",
                    Err(error) => return Err(error),
                };
                let unseen = self.unseen(page, scope, &wire, why, until).await;
                return Ok(self.finish(page, unseen, None));
            }
            dialog = next_dialog(&mut events) => dialog,
        };
        match dialog {
            Some(dialog) => Ok(self.blocked(page, scope, &wire, &dialog, until).await),
            None => Err(ModelError::NoSuchPage),
        }
    }

    /// Walks the page, and keeps of it what the next walk builds on.
    pub(crate) async fn prepare_page(&mut self, page: &PageId, scope: Scope, until: Instant) -> Result<(), ModelError> {
        let wire = self.page(page)?;
        let mut events = wire.events();
        // A dialog answers nothing until it is closed, and then the page is another one.
        if wire.crashed() || wire.dialog().is_some() {
            return Ok(());
        }
        tokio::select! {
            captured = self.capture(page, scope, until) => captured.map(drop),
            _ = next_dialog(&mut events) => Ok(()),
        }
    }

    async fn capture(&mut self, page: &PageId, scope: Scope, until: Instant) -> Result<Captured, ModelError> {
        let probe = self.probe(page, until).await?;
        let bounds = Bounds {
            elements: self.options.elements,
            candidates: self.options.candidates,
            depth: self.options.depth,
            frames: self.options.frames,
            time: self.options.time,
            memory: self.options.memory,
        };
        let mut known = self.pages.get_mut(page).map(|state| std::mem::take(&mut state.known)).unwrap_or_default();
        loop {
            self.settled(page, &probe, until).await;
            match capture(&probe, scope, bounds, &mut known, until).await {
                Ok(captured) => {
                    if let Some(state) = self.pages.get_mut(page) {
                        state.known = known;
                    }
                    return Ok(captured);
                }
                Err(ProbeError::Gone) if Instant::now() < until && !probe.page().crashed() => {}
                Err(ProbeError::Gone) if probe.page().crashed() => return Err(ModelError::Crashed),
                Err(ProbeError::Gone) => return Err(ModelError::NoAnswer),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits until a document that is observed for the first time has content. A page that does not answer is observed
    /// as it is.
    async fn settled(&mut self, page: &PageId, probe: &Probe, until: Instant) {
        let Some(state) = self.pages.get_mut(page) else { return };
        let document = probe.page().main_frame().document;
        if state.settled.as_ref() == Some(&document) {
            return;
        }
        let Settling { quiet, limit } = self.options.settling;
        let now = Instant::now();
        let by = until.min(now + limit.min(until.saturating_duration_since(now) / 2));
        let ask = async {
            let world = probe.world(&probe.page().main_frame().id, by).await?;
            let args = serde_json::json!({
                "quiet": quiet.as_millis(),
                "budget": by.saturating_duration_since(Instant::now()).as_millis(),
            });
            // Its answer at the end of the budget may take a moment.
            let grace = until.min(by + Duration::from_millis(500));
            world.call::<bool>("(cb, how) => cb.walk.settle(how)", &[args], grace).await
        };
        if ask.await.is_ok() {
            state.settled = Some(document);
        }
    }

    fn observation(
        &mut self,
        page: &PageId,
        scope: Scope,
        captured: &Captured,
        mut tabs: Vec<TabSummary>,
    ) -> Observation {
        let documents: HashSet<_> = captured.frames.iter().map(crate::capture::CapturedFrame::document_key).collect();
        self.identities.retain(page, &documents);
        if let Some(state) = self.pages.get_mut(page) {
            let spots = captured.frames.iter().map(|frame| (frame.index, frame.world.clone(), frame.placement));
            state.frames = spots.collect();
        }
        // Other frames may cover the main one without a trace in its walk.
        let walk = match &captured.frames[..] {
            [only] if only.walk.stamp != 0 => Some((only.document_key(), only.walk.rows_of)),
            _ => None,
        };
        let last = self.pages.get(page).filter(|state| walk.is_some() && state.walk == walk);
        let is_same = |last: &&Observation| last.scope == scope && !captured.is_renamed;
        let unchanged = last.and_then(|state| state.last.as_ref()).filter(is_same).cloned();
        let found = match &unchanged {
            Some(last) => last.candidates.clone(),
            None => self.candidates(captured),
        };
        let walks: Vec<_> = captured.frames.iter().map(|frame| (frame.index, &frame.walk)).collect();
        let mut sketch = sketch(&walks);
        let secrets: Vec<String> = captured.frames.iter().flat_map(|frame| frame.walk.secrets.clone()).collect();
        scrub_sketch(&mut sketch, &secrets);
        let main = captured.frames.first().map(|frame| &frame.walk);
        let (mut url, title) = main.map(|walk| (walk.url.clone(), walk.title.clone())).unwrap_or_default();
        let mut title = clean::cut(&clean::name(&title, &[]), 200);
        clean::scrub(&mut title, &secrets);
        let has_same_kind =
            |last: &Observation| last.url == url && last.sketch.modal.is_some() == sketch.modal.is_some();
        let fingerprint = match unchanged.filter(has_same_kind) {
            Some(last) => last.fingerprint,
            None => page_fingerprint(&url, &found, &sketch),
        };
        for tab in &mut tabs {
            clean::scrub(&mut tab.title, &secrets);
            clean::scrub(&mut tab.url, &secrets);
        }
        let mut summaries = captured.summaries.clone();
        for summary in &mut summaries {
            clean::scrub(&mut summary.name, &secrets);
            clean::scrub(&mut summary.url, &secrets);
        }
        clean::scrub(&mut url, &secrets);
        let truncated = (captured.truncated != Truncation::default()).then_some(captured.truncated);
        self.finish(
            page,
            Observation {
                schema_version: OBSERVATION_VERSION.to_owned(),
                id: ObservationId::default(),
                page: page.clone(),
                scope,
                url,
                title,
                status: main.map(|walk| walk.status).filter(|status| *status != 0),
                viewport: captured.viewport(),
                scrolled: captured.scrolled(),
                panes: captured.panes(),
                frames: summaries,
                candidates: found,
                recent: Shared::new(),
                texts: Shared::new(),
                sketch,
                dialog: None,
                tabs,
                truncated,
                delta: None,
                meanings: BTreeMap::new(),
                fingerprint,
            },
            walk,
        )
    }

    fn candidates(&mut self, captured: &Captured) -> Shared<Candidate> {
        let frames: Vec<FrameRows> = captured
            .frames
            .iter()
            .map(|frame| FrameRows {
                frame: frame.index,
                path: if frame.index == 0 { String::new() } else { path_of(&frame.walk.url) },
                title: if frame.index == 0 { String::new() } else { frame_title(captured, frame.index) },
                locators: frame.locators.clone(),
                secrets: frame.walk.secrets.clone(),
                rows: frame.rows.clone(),
            })
            .collect();
        candidates(&frames, &mut self.identities, &self.digest).into()
    }

    /// The observation of a page that a dialog blocks: none of its frames answers.
    async fn blocked(
        &mut self,
        page: &PageId,
        scope: Scope,
        wire: &Page,
        dialog: &OpenDialog,
        until: Instant,
    ) -> Observation {
        let fact = DialogFact {
            kind: match dialog.kind {
                WireDialog::Confirm => DialogKind::Confirm,
                WireDialog::Prompt => DialogKind::Prompt,
                WireDialog::BeforeUnload => DialogKind::BeforeUnload,
                _ => DialogKind::Alert,
            },
            message: clean::cut(&dialog.message, 2_000),
        };
        let sketch = Sketch { modal: Some(String::new()), ..Sketch::default() };
        let fingerprint = page_fingerprint(&clean::cut(&wire.url(), 2_000), &[], &sketch);
        let unseen = self.unseen(page, scope, wire, "a dialog blocks it", until).await;
        self.finish(page, Observation { dialog: Some(fact), truncated: None, fingerprint, ..unseen }, None)
    }

    /// The observation of a page that could not be walked, for this reason.
    async fn unseen(&self, page: &PageId, scope: Scope, wire: &Page, why: &str, until: Instant) -> Observation {
        let last = self.pages.get(page).and_then(|state| state.last.as_ref());
        let url = clean::cut(&wire.url(), 2_000);
        let viewport = last.map_or_else(Viewport::default, |last| last.viewport);
        let title = last.filter(|last| last.url == url).map(|last| last.title.clone());
        let tabs = self.tabs(page, until).await;
        let named = || tabs.iter().find(|tab| tab.current).map(|tab| tab.title.clone());
        Observation {
            scope,
            title: title.or_else(named).unwrap_or_default(),
            viewport,
            frames: vec![FrameSummary {
                parent: None,
                url: url.clone(),
                origin: origin_of(&url),
                name: String::new(),
                out_of_process: false,
                omitted: Some(why.to_owned()),
            }],
            meanings: BTreeMap::new(),
            fingerprint: page_fingerprint(&url, &[], &Sketch::default()),
            truncated: Some(Truncation {
                frames: u64::try_from(wire.frames().len()).unwrap_or(u64::MAX),
                ..Truncation::default()
            }),
            tabs,
            ..Observation::blank(page.clone(), &url)
        }
    }

    /// Numbers the observation and compares it with the one before.
    fn finish(&mut self, page: &PageId, mut observation: Observation, walk: Option<WalkKey>) -> Observation {
        self.observations += 1;
        let number = self.observations;
        observation.id = ObservationId(number);
        let Some(state) = self.pages.get_mut(page) else { return observation };
        if observation.unseen().is_some() {
            state.frames.clear();
        }
        let valid: HashSet<CandidateId> = observation.candidates.iter().map(|c| c.id).collect();
        if let Some(last) = state.last.take() {
            observation.delta = Some(observation.changes_since(&last));
            let left = last.candidates.iter().filter(|candidate| !valid.contains(&candidate.id));
            state.gone.extend(left.map(|candidate| (last.id.0, candidate.clone())));
        }
        state.gone.retain(|(seen, candidate)| {
            !valid.contains(&candidate.id) && number.saturating_sub(*seen) <= RECENT_OBSERVATIONS
        });
        let surplus = state.gone.len().saturating_sub(RECENT_CANDIDATES);
        state.gone.drain(..surplus);
        observation.recent = state.gone.iter().rev().map(|(_, candidate)| candidate.clone()).collect();
        (state.last, state.walk) = (Some(observation.clone()), walk);
        observation
    }

    async fn tabs(&self, current: &PageId, until: Instant) -> Vec<TabSummary> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Targets {
            target_infos: Vec<TargetInfo>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct TargetInfo {
            target_id: String,
            title: String,
        }
        let reply = self.browser.session().request(GetTargetsParams::default(), until).await;
        let titles: HashMap<String, String> = reply
            .ok()
            .and_then(|reply| reply.parse::<Targets>().ok())
            .map(|targets| targets.target_infos.into_iter().map(|t| (t.target_id, t.title)).collect())
            .unwrap_or_default();
        // Those of other browser contexts belong to somebody else.
        let here = self.browser.page(&TargetId::from(current.as_str()));
        here.map(|page| self.browser.pages_beside(&page))
            .unwrap_or_default()
            .iter()
            .map(|page| {
                let id = PageId::new(page.target_id().as_str());
                TabSummary {
                    url: clean::cut(&page.url(), 2_000),
                    title: titles
                        .get(id.as_str())
                        .map(|title| clean::cut(&clean::name(title, &[]), 200))
                        .unwrap_or_default(),
                    current: id == *current,
                    page: id,
                }
            })
            .collect()
    }
}

pub(crate) async fn next_dialog(events: &mut cuebook_cdp::PageEvents) -> Option<OpenDialog> {
    while let Some(event) = events.next().await {
        if let PageEvent::DialogOpening(dialog) = event {
            return Some(dialog);
        }
    }
    None
}

fn scrub_sketch(sketch: &mut Sketch, secrets: &[String]) {
    let texts = sketch
        .headings
        .iter_mut()
        .map(|heading| &mut heading.text)
        .chain(sketch.live.iter_mut().map(|live| &mut live.text))
        .chain(sketch.landmarks.iter_mut().map(|landmark| &mut landmark.summary))
        .chain(sketch.modal.iter_mut())
        .chain(sketch.description.iter_mut())
        .chain(sketch.stated.texts_mut());
    for text in texts {
        clean::scrub(text, secrets);
    }
}

fn frame_title(captured: &Captured, index: u32) -> String {
    let summary = usize::try_from(index).ok().and_then(|index| captured.summaries.get(index));
    summary
        .map(|summary| if summary.name.is_empty() { path_of(&summary.url) } else { summary.name.clone() })
        .unwrap_or_default()
}

/// The path of a URL without query and fragment; opaque URLs give their scheme.
fn path_of(url: &str) -> String {
    let plain = url.split(['?', '#']).next().unwrap_or_default();
    match plain.split_once("://") {
        Some((_, rest)) => rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/").to_owned(),
        None => clean::cut(plain, 100),
    }
}

fn origin_of(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme @ ("http" | "https"), rest)) => {
            format!("{scheme}://{}", rest.split(['/', '?', '#']).next().unwrap_or_default())
        }
        _ => "null".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_and_paths_are_read_from_urls_of_any_kind() {
        assert_eq!(origin_of("https://a.test:8/x?y"), "https://a.test:8");
        assert_eq!(origin_of("about:blank"), "null");
        assert_eq!(path_of("https://a.test/x/y?z#q"), "/x/y");
        assert_eq!(path_of("https://a.test"), "/");
        assert_eq!(path_of("about:srcdoc"), "about:srcdoc");
    }
}
