//! Results of a conformance case.

use std::fmt;

use cuebook_grammar::outcome::Cause;

/// How a case ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ending {
    /// It ended as the case says.
    Passed,
    /// It ended otherwise than the case says.
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
    /// The case could not be carried out, or did not end in time.
    Broken,
    /// The step failed that should have gone well.
    StepFailed(Cause),
    /// The step went well that should have failed.
    StepWentWell,
    /// The step failed for another reason than the case says.
    OtherCause(Cause),
    /// The expected JavaScript did not come true.
    JsNotTrue,
    /// The number of matches differs.
    Count,
    /// The element is another one.
    OtherElement,
    /// The value is another one.
    OtherValue,
    /// The condition does not hold.
    DoesNotHold,
    /// Nothing, or more than one thing, matches.
    NotUnique,
    /// The rendering is another one.
    OtherRendering,
    /// The name is another one.
    Name,
    /// The role is another one.
    Role,
    /// The description is another one.
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

/// Expected and seen result of a failed case.
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
    /// Name of the figure that it counts for.
    pub(crate) figure: &'static str,
    pub(crate) id: String,
    pub(crate) source: String,
    pub(crate) is_vacuous: bool,
    pub(crate) ending: Ending,
    /// Answers of Chromium and Playwright to the same question, where the case knows.
    pub(crate) chromium: Option<bool>,
    pub(crate) playwright: Option<bool>,
}
