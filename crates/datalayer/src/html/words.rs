//! Results and conditions in words and signs. A word stands wherever a colour does.

use cuebook_grammar::condition::Condition;
use cuebook_grammar::facts::Facts;
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::outcome::Judged;
use cuebook_grammar::record::{RunResult, StepRecord, StepResult};
use cuebook_grammar::render::one_line;

use super::timeline;
use crate::in_words;
use crate::log::Run;

/// The longest address in a condition, in characters.
const ADDRESS: usize = 200;

/// How a run ended, as a class of the style.
pub(super) fn result_of(run: &Run, is_running: bool) -> &'static str {
    match run.end.as_ref().map(|end| end.result) {
        Some(RunResult::Ok) => "ok",
        Some(RunResult::Failed) => "failed",
        Some(RunResult::Blocked) => "blocked",
        Some(RunResult::Invalid) => "invalid",
        Some(RunResult::Error) => "error",
        Some(RunResult::Unproven) => "unproven",
        Some(RunResult::Interrupted) => "interrupted",
        None if is_running => "running",
        None => "cutOff",
    }
}

/// A class of a result, for people.
pub(super) fn said(result: &'static str) -> &'static str {
    if result == "cutOff" { "cut off" } else { result }
}

/// The sign of a result.
pub(super) fn sign(result: &str) -> &'static str {
    match result {
        "ok" => "✓",
        "running" => "●",
        "blocked" | "unproven" | "skipped" | "interrupted" | "cutOff" => "!",
        _ => "✗",
    }
}

/// Sign and word of what came of a step.
pub(super) fn mark(record: &StepRecord) -> (&'static str, &'static str) {
    let name = name_of(record.result);
    (sign(name), name)
}

/// The URL of the page after a step.
pub(super) fn left_at(record: &StepRecord) -> &str {
    let after = record.effects.as_ref().and_then(|effects| effects.url_after.as_deref());
    after.unwrap_or(&record.url)
}

pub(super) const fn name_of(result: StepResult) -> &'static str {
    match result {
        StepResult::Ok => "ok",
        StepResult::Failed => "failed",
        StepResult::Blocked => "blocked",
        StepResult::Skipped => "skipped",
    }
}

/// A condition of a step, as a phrase after "expected".
pub(super) fn expected(one: &Judged, record: &StepRecord) -> String {
    let name = |target: &TargetRef| in_words::target(record, target);
    // The default of a navigation.
    if let (true, Condition::AnyOf(group)) = (one.default, &one.condition)
        && let [Condition::UrlMatches(reached), Condition::UrlChanges(_)] = &group.conditions[..]
        && let Some(address) = reached.pattern.as_str().strip_prefix('^').and_then(unescaped)
    {
        return format!("the address to be {}, or to change", one_line(&address, ADDRESS));
    }
    one.condition.in_words_naming(&name)
}

/// The basis of a verdict; `None` if it says no more than the verdict.
pub(super) fn seen(one: &Judged, record: &StepRecord, facts: Option<&Facts>) -> Option<String> {
    let name = |target: &TargetRef| in_words::target(record, target);
    match &one.condition {
        Condition::AnyEffect(_) if one.verdict.holds() => timeline::effect(record.effects.as_ref()?),
        Condition::AnyEffect(_) => None,
        condition => Some(condition.seen_for(one.verdict, facts?, &name)),
    }
}

/// The text that an escaped regular expression matches; `None` if it matches several.
fn unescaped(pattern: &str) -> Option<String> {
    let mut text = String::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        text.push(match letter {
            '\\' => letters.next().filter(char::is_ascii_punctuation)?,
            '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$' => return None,
            letter => letter,
        });
    }
    Some(text)
}

/// `850 ms`, `2.4 s`.
pub(super) fn seconds(ms: u64) -> String {
    if ms < 1_000 { format!("{ms} ms") } else { format!("{}.{} s", ms / 1_000, ms % 1_000 / 100) }
}

/// `1 step`, `2 steps`.
pub(super) fn counted(count: impl TryInto<u64>, thing: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::verdict::Verdict;
    use serde_json::{Value, json};

    use super::*;

    fn judged(condition: Value) -> Judged {
        serde_json::from_value(json!({ "condition": condition, "verdict": "holds", "default": true })).unwrap()
    }

    fn record(effects: Value) -> StepRecord {
        serde_json::from_value(json!({
            "schemaVersion": cuebook_grammar::record::RECORD_VERSION, "runId": "r", "stepIndex": 0, "origin": "plan",
            "attempt": 1, "url": "http://a.test/", "risk": "write", "effectClass": "reversible", "result": "ok",
            "action": { "type": "press", "keys": "Enter" }, "execution": { "tsMs": 2, "durationMs": 40 },
            "effects": effects,
        }))
        .unwrap()
    }

    #[test]
    fn the_default_of_a_navigation_is_an_address_in_words() {
        let reached = |pattern: &str| {
            let conditions = json!([{ "kind": "urlMatches", "pattern": pattern }, { "kind": "urlChanges" }]);
            expected(&judged(json!({ "kind": "anyOf", "conditions": conditions })), &record(json!({})))
        };
        assert_eq!(reached(r"^http://127\.0\.0\.1/a\-b\?c"), "the address to be http://127.0.0.1/a-b?c, or to change");
        assert_eq!(reached("^http://a.test/"), r#"the URL to match "^http://a.test/" or the URL to change"#);
        assert_eq!(reached(r"^\d"), r#"the URL to match "^\\d" or the URL to change"#);
    }

    #[test]
    fn an_effect_is_named_or_left_out() {
        let mut one = judged(json!({ "kind": "anyEffect" }));
        let loaded = record(json!({ "urlAfter": "http://a.test/cart?x=1", "newDocument": true, "mutations": {} }));
        assert_eq!(seen(&one, &loaded, None).as_deref(), Some("loaded /cart?x=1"));
        let shown = record(json!({ "mutations": { "notable": ["+dialog \"Settings\""] } }));
        assert_eq!(seen(&one, &shown, None).as_deref(), Some("dialog \"Settings\" appeared"));
        let edited = record(json!({ "mutations": { "texts": 2 } }));
        assert_eq!(seen(&one, &edited, None).as_deref(), Some("the page changed"));
        assert_eq!(seen(&one, &record(json!({ "mutations": {} })), None), None);
        one.verdict = Verdict::Fails;
        assert_eq!(seen(&one, &loaded, None), None);
    }
}
