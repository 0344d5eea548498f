//! Conditions of a step in words: what was expected, and what was seen.

use cuebook_grammar::condition::Condition;
use cuebook_grammar::facts::Facts;
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::outcome::Judged;
use cuebook_grammar::record::StepRecord;
use cuebook_grammar::render::one_line;

use super::timeline;
use crate::in_words;

/// The longest address in a condition, in characters.
const ADDRESS: usize = 200;

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
