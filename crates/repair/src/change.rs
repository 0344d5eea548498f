//! Evidence that the steps of a task changed something.

use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::outcome::EffectRecord;
use cuebook_grammar::record::{StepOrigin, StepRecord};

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
