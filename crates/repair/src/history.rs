//! The history that planners see: entries of the steps that ran.

use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::outcome::{EffectRecord, remark};
use cuebook_grammar::record::{RecordedTarget, StepOrigin, StepRecord};
use cuebook_grammar::seam::{HistoryEntry, PlannedStep};

/// Returns the history entry of a step that ran, from its record.
pub(crate) fn entry(record: &StepRecord, planned: Option<PlannedStep>) -> HistoryEntry {
    let effects = record.effects.as_ref();
    let target = record.action.action.target().and_then(|name| record.candidates.get(name));
    let title = target.map(|target| match target {
        RecordedTarget::Observed(candidate) => candidate.title(),
        // Of an operator's plan only.
        RecordedTarget::Declared(locator) => locator.to_string(),
    });
    let failure = record.failure.as_ref();
    HistoryEntry {
        target: title,
        failure: failure.map(|failure| format!("{}: {}", failure.cause.as_str(), failure.message)),
        remark: if failure.is_none() {
            remark(record.action.action.kind(), record.no_observed_effect, &record.post_check, effects)
        } else {
            None
        },
        data: record.data.clone(),
        changed_page: effects.is_some_and(EffectRecord::changes_page),
        no_effect: record.no_observed_effect,
        refused: effects.and_then(refused),
        planned,
        ..HistoryEntry::of(record.action.clone())
    }
}

/// Evidence that the steps of a task changed something: that of the last step which does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Change {
    /// No step changed anything.
    #[default]
    None,
    /// That step failed, which shows nothing.
    Failed,
    /// Nothing at all came of it.
    Traceless,
    /// It had an effect or made a request, or something changed elsewhere meanwhile, which might hide one.
    Traced,
}

impl Change {
    /// The change once a step has run.
    pub(crate) fn after(self, record: &StepRecord) -> Self {
        let is_still = |effects: &EffectRecord| {
            effects.requests.is_empty() && effects.denied.is_empty() && effects.mutations.background == 0
        };
        let only_reads = record.action.action.kind().meta().effect == EffectClass::ReadOnly;
        match record.origin {
            // It opened the page, before anything was planned.
            StepOrigin::Start => self,
            // A hover may be all that a task asks for.
            _ if only_reads => {
                if record.input_sent && self == Self::None {
                    Self::Traced
                } else {
                    self
                }
            }
            _ if record.failure.is_some() => Self::Failed,
            _ if record.no_observed_effect && record.effects.as_ref().is_none_or(is_still) => Self::Traceless,
            _ => Self::Traced,
        }
    }
}

/// The first answer from 400 to what a step asked for: a document, or a request that changes something. What a page
/// fetches beside them fails all day.
fn refused(effects: &EffectRecord) -> Option<String> {
    let is_document = |url: &str| effects.changes_page() && effects.url_after.as_deref() == Some(url);
    effects.requests.iter().find_map(|request| {
        let status = request.status.filter(|status| *status >= 400)?;
        let is_reading = matches!(request.method.as_str(), "GET" | "HEAD" | "OPTIONS");
        (!is_reading || is_document(&request.url))
            .then(|| format!("{} {} answered {status}", request.method, request.url))
    })
}
