//! Doings that are not in the plan, or need a hand before it runs.

use std::fmt;

/// A remark about a recording. Names of files and controls are as the page has them: not escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// Files were chosen: their directories are unknown to a page.
    Files {
        /// 1-based step.
        step: usize,
        /// Names of the files.
        names: Vec<String>,
    },
    /// Something was done to an element that nothing describes.
    Undescribed {
        /// The verb, and the tag of the element.
        what: String,
    },
    /// A text was longer than a step may enter.
    TextCut {
        /// 1-based step.
        step: usize,
    },
    /// A step would have shown a secret.
    ShowsSecret {
        /// The verb of the step.
        what: String,
    },
    /// Something was done in a tab that no page opened.
    OtherTab,
    /// A plan takes no more steps.
    Full,
    /// Events of the browser were lost.
    Lost,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files { step, names } => {
                let names = names.join(", ");
                write!(f, "step {step} uploads {names}: put the path into `files`, and allow its directory with --root")
            }
            Self::Undescribed { what } => {
                write!(f, "left out: {what}, which has neither a role and name nor a text to find it by")
            }
            Self::TextCut { step } => write!(f, "step {step} enters only the first 20,000 characters"),
            Self::ShowsSecret { what } => write!(f, "left out: {what}, whose target or text shows a secret"),
            Self::OtherTab => {
                f.write_str("left out: what was done in a tab that was opened by hand; a plan has no step for that")
            }
            Self::Full => f.write_str("the plan is full: later steps are left out"),
            Self::Lost => f.write_str("events were lost: look whether steps are missing"),
        }
    }
}
