//! `role-name.jsonl`: page and the expected name, role and description of elements.

use anyhow::Result;
use cuebook_grammar::locator::Locator;
use cuebook_grammar::role::Role;
use cuebook_probe::Ask;

use crate::conformance::case::{Case, Check};
use crate::conformance::stage::Stage;
use crate::conformance::verdict::{Bucket, Counted, Ending, Failure};

/// Judges every expectation of a page that is open.
///
/// # Errors
/// If the machinery breaks.
pub(crate) async fn run(stage: &mut Stage, case: &Case) -> Result<Vec<Counted>> {
    let probe = stage.probe().await?;
    let mut counted = Vec::new();
    for (index, check) in case.checks.iter().enumerate() {
        let located = probe.locate(&Locator::css(&check.selector), &Ask::default(), Stage::until()).await?;
        // The forms of others take the first match.
        let facts = located.matches.first().map(|found| &found.facts);
        let mut put = |figure, bucket: Bucket, expected: &str, seen: Option<String>, judged: [Option<bool>; 2]| {
            let ending = match seen {
                Some(seen) if same(&bucket, expected, &seen) => Ending::Passed,
                Some(seen) => Failure::new(bucket, format!("{expected:?}"), format!("{seen:?}")).into(),
                None => Failure::new(Bucket::NotUnique, check.selector.clone(), "nothing").into(),
            };
            counted.push(Counted {
                figure,
                id: format!("{}#{index}", case.id),
                source: format!("{} {}", case.source, check.selector),
                is_vacuous: false,
                ending,
                chromium: judged[0],
                playwright: judged[1],
            });
        };
        let Check { name, role, description, .. } = check;
        if let Some(name) = name {
            let seen = facts.map(|facts| facts.name.clone());
            put("role-name: name", Bucket::Name, name, seen, [check.chromium_name_ok, check.playwright_name_ok]);
        }
        if let Some(role) = role {
            let seen = facts.map(|facts| facts.role.as_str().to_owned());
            put("role-name: role", Bucket::Role, role, seen, [check.chromium_role_ok, check.playwright_role_ok]);
        }
        if let Some(description) = description {
            let seen = facts.map(|facts| facts.description.clone().unwrap_or_default());
            let judged = [check.chromium_desc_ok, None];
            put("role-name: description", Bucket::Description, description, seen, judged);
        }
    }
    Ok(counted)
}

/// White space counts as one space; `image` is the newer word for `img`.
fn same(bucket: &Bucket, expected: &str, seen: &str) -> bool {
    if *bucket == Bucket::Role {
        return match (Role::parse(expected), Role::parse(seen)) {
            (Some(expected), Some(seen)) => expected == seen,
            _ => expected == seen,
        };
    }
    let collapsed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    collapsed(expected) == collapsed(seen)
}
