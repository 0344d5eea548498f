//! Why a plan may not run: a stable code, a place, and a reason.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::words;

words! {
    /// The kinds of violation. Codes are stable: tools match on them, so they are added to, never renamed.
    #[non_exhaustive]
    pub enum ViolationCode {
        /// Not JSON, or a value of the wrong shape.
        Malformed = "malformed",
        /// The version is not one that this program reads.
        UnsupportedVersion = "unsupportedVersion",
        /// A plan without steps.
        EmptyPlan = "emptyPlan",
        /// More steps than a plan may have.
        TooManySteps = "tooManySteps",
        /// A target that is neither in the observation nor declared.
        UnknownTarget = "unknownTarget",
        /// A target that cannot be distinguished from another candidate.
        AmbiguousTarget = "ambiguousTarget",
        /// The target does not support the verb.
        UnsupportedVerb = "unsupportedVerb",
        /// The target does not have the option.
        OptionNotFound = "optionNotFound",
        /// A condition that holds on every page.
        VacuousCondition = "vacuousCondition",
        /// Conditions that cannot hold together.
        ContradictoryConditions = "contradictoryConditions",
        /// A condition, a locator or a pattern that cannot be judged.
        InvalidCondition = "invalidCondition",
        /// A locator that cannot be used.
        InvalidLocator = "invalidLocator",
        /// A parameter outside its meaning, such as a URL that does not parse.
        InvalidArgument = "invalidArgument",
        /// A step that names observed candidates after one that leaves their page.
        AfterPageChange = "afterPageChange",
        /// A step after the one that ends the task.
        AfterEnd = "afterEnd",
        /// A model declared locators, css or xpath.
        DeclaredByModel = "declaredByModel",
        /// An action that is not registered.
        UnknownAction = "unknownAction",
        /// The policy forbids it.
        PolicyBlocked = "policyBlocked",
    }
}

/// One reason why a plan may not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "camelCase")]
#[error("{}{message} ({})", place(.path), .code.as_str())]
pub struct Violation {
    /// Stable code of the fault, which tools match on.
    pub code: ViolationCode,
    /// A JSON pointer into the plan; empty for the whole of it.
    pub path: String,
    /// Message that contrasts what was expected with what was seen.
    pub message: String,
    /// The rule of the policy, where one was broken: `origin`, `scheme`, `privateAddress`, `profile`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

fn place(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("{path}: ") }
}

impl Violation {
    /// A violation without a policy rule. Of a long path or message, only the beginning and the end are kept.
    pub fn new(code: ViolationCode, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code, path: shortened(path.into()), message: shortened(message.into()), rule: None }
    }

    /// For people, with 1-based steps: `step 2 (/steps/1/post/0): expected … (vacuousCondition)`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let place = self.path.strip_prefix("/steps/").and_then(|rest| rest.split('/').next()?.parse::<usize>().ok());
        let Some(place) = place else { return self.to_string() };
        format!("step {} ({}): {} ({})", place.saturating_add(1), self.path, self.message, self.code.as_str())
    }
}

/// Everything that is wrong with a plan or a step: at least one violation. Displays one violation a line.
///
/// ```
/// use cuebook_grammar::plan::{Author, PlanDraft};
///
/// fn read(text: &str) -> Result<PlanDraft, Box<dyn std::error::Error>> {
///     Ok(PlanDraft::read(text, Author::Operator)?)
/// }
/// let error = read(r#"{ "version": "1.0" }"#).unwrap_err();
/// assert_eq!(error.to_string(), "missing field `steps` (malformed)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violations(Vec<Violation>);

impl Violations {
    /// The violations, in the order of the plan.
    #[must_use]
    pub fn into_vec(self) -> Vec<Violation> {
        self.0
    }
}

/// The most violations that are listed: who mends these finds the others, which tend to be of the same kind.
const LISTED: usize = 50;

/// How many violations there are, and at most the first fifty of them.
#[must_use]
pub fn listed(mut violations: Vec<Violation>) -> (String, Vec<Violation>) {
    let message = match violations.len() {
        1 => "the plan has a violation".to_owned(),
        many if many > LISTED => format!("the plan has {many} violations, of which these are the first {LISTED}"),
        many => format!("the plan has {many} violations"),
    };
    violations.truncate(LISTED);
    (message, violations)
}

impl std::ops::Deref for Violations {
    type Target = [Violation];

    fn deref(&self) -> &[Violation] {
        &self.0
    }
}

impl std::fmt::Display for Violations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, violation) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            violation.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Violations {}

impl From<Vec<Violation>> for Violations {
    fn from(violations: Vec<Violation>) -> Self {
        Self(violations)
    }
}

impl From<Violations> for Vec<Violation> {
    fn from(violations: Violations) -> Self {
        violations.0
    }
}

impl IntoIterator for Violations {
    type Item = Violation;
    type IntoIter = std::vec::IntoIter<Violation>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Characters kept at either end of a longer text.
const KEPT: usize = 600;

/// Drops the middle of a long text: what was expected often follows what was seen.
fn shortened(text: String) -> String {
    let boundary = |(at, _)| at;
    let head = text.char_indices().nth(KEPT).map(boundary);
    let tail = text.char_indices().rev().nth(KEPT).map(boundary);
    match (head, tail) {
        (Some(head), Some(tail)) if head < tail => {
            [text.get(..head), Some(" … "), text.get(tail..)].into_iter().flatten().collect()
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_violations_the_first_are_listed_and_all_are_counted() {
        let of = |count| vec![Violation::new(ViolationCode::UnknownTarget, "/steps/0", "x"); count];
        assert_eq!(listed(of(1)).0, "the plan has a violation");
        let (message, violations) = listed(of(1_000));
        assert_eq!((message.contains("1000 violations"), violations.len()), (true, 50));
    }

    #[test]
    fn a_violation_quotes_the_ends_of_a_long_input_only() {
        let seen = "é".repeat(100_000);
        let violation = Violation::new(ViolationCode::Malformed, &seen, format!("saw `{seen}`, expected one of a, b"));
        assert!(violation.message.starts_with("saw `éé") && violation.message.ends_with("éé`, expected one of a, b"));
        assert!(violation.message.chars().count() < 1_300 && violation.path.chars().count() < 1_300);
        let short = "saw `x`".repeat(100);
        assert_eq!(Violation::new(ViolationCode::Malformed, "/steps", &short).message, short);
    }

    #[test]
    fn people_count_steps_from_one() {
        let words = |path: &str| Violation::new(ViolationCode::VacuousCondition, path, "expected x").in_words();
        assert_eq!(words("/steps/0/post/1"), "step 1 (/steps/0/post/1): expected x (vacuousCondition)");
        assert_eq!(words("/candidates/a"), "/candidates/a: expected x (vacuousCondition)");
    }
}
