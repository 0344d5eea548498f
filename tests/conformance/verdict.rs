//! What became of a case.

use std::fmt;

use cuebook_grammar::outcome::Cause;

/// How a case ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ending {
    /// As the case says.
    Passed,
    /// Otherwise.
    Failed(Failure),
    /// It is not counted, and this is why.
    Excluded(&'static str),
}

/// In which way a case failed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Bucket {
    /// The language refuses the plan.
    PlanRefused,
    /// The language has no verb or condition for it.
    NoSuchVerb(String),
    /// The page of the case did not open.
    PageUnopened,
    /// The machinery broke.
    Broken,
    /// The step failed that should have gone well.
    StepFailed(Cause),
    /// The step went well that should have failed.
    StepWentWell,
    /// The step failed for another reason than the case says.
    OtherCause(Cause),
    /// What the JavaScript says did not come true.
    JsNotTrue,
    /// Another number of matches.
    Count,
    /// Another element.
    OtherElement,
    /// Another value.
    OtherValue,
    /// The condition does not hold.
    DoesNotHold,
    /// Nothing, or more than one thing, matches.
    NotUnique,
    /// Another rendering.
    OtherRendering,
    /// Another name.
    Name,
    /// Another role.
    Role,
    /// Another description.
    Description,
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PlanRefused => f.write_str("plan refused"),
            Self::NoSuchVerb(verb) => write!(f, "the language cannot say: {verb}"),
            Self::PageUnopened => f.write_str("page did not open"),
            Self::Broken => f.write_str("machinery broke"),
            Self::StepFailed(cause) => write!(f, "step failed: {}", cause.as_str()),
            Self::StepWentWell => f.write_str("step went well, expected a failure"),
            Self::OtherCause(cause) => write!(f, "other failure than expected: {}", cause.as_str()),
            Self::JsNotTrue => f.write_str("javascript not true"),
            Self::Count => f.write_str("other count"),
            Self::OtherElement => f.write_str("other element"),
            Self::OtherValue => f.write_str("other value"),
            Self::DoesNotHold => f.write_str("condition does not hold"),
            Self::NotUnique => f.write_str("not exactly one match"),
            Self::OtherRendering => f.write_str("other rendering"),
            Self::Name => f.write_str("other name"),
            Self::Role => f.write_str("other role"),
            Self::Description => f.write_str("other description"),
        }
    }
}

/// What was expected and what was seen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure {
    pub(crate) bucket: Bucket,
    pub(crate) expected: String,
    pub(crate) seen: String,
}

impl Failure {
    pub(crate) fn new(bucket: Bucket, expected: impl Into<String>, seen: impl Into<String>) -> Self {
        Self { bucket, expected: expected.into(), seen: seen.into() }
    }
}

impl From<Failure> for Ending {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// One counted thing with its ending. Most cases are one; a page of `role-name.jsonl` asks several.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Counted {
    /// What the figure is called.
    pub(crate) figure: &'static str,
    pub(crate) id: String,
    pub(crate) source: String,
    pub(crate) is_vacuous: bool,
    pub(crate) ending: Ending,
    /// What Chromium and Playwright answer to the same question, where the case knows.
    pub(crate) chromium: Option<bool>,
    pub(crate) playwright: Option<bool>,
}
