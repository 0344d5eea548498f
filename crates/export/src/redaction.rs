//! The profile `strict`: what it keeps is listed here, and everything else goes.
//!
//! Invariants:
//! - A text is kept only under a member that is listed, and only if it looks like a word of ours. A member that a later
//!   version adds is removed until it is listed.
//! - An entry that cannot be read again after the removal is an error; nothing is exported as it was instead.

use cuebook_grammar::observation::Observation;
use cuebook_grammar::record::{ObservationRecord, PlanningRecord, RunEnd, RunHeader, StepRecord};
use cuebook_grammar::secret::MASK;
use cuebook_grammar::wire;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use crate::error::ExportError;
use crate::format::Redaction;

/// Members whose texts are words of the language, ids, or names that a developer chose.
const WORDS: &[&str] = &[
    "aspect",
    "base",
    "browser",
    "button",
    "came",
    "candidate",
    "cause",
    "challenge",
    "changed",
    "checked",
    "code",
    "command",
    "contains",
    "control",
    "cuebook",
    "dialog",
    "direction",
    "effectClass",
    "end",
    "engine",
    "estimatedRisk",
    "failure",
    "fingerprint",
    "flags",
    "haspopup",
    "host",
    "id",
    "kind",
    "language",
    "mediaType",
    "method",
    "model",
    "modifiers",
    "nameSource",
    "observation",
    "of",
    "origin",
    "page",
    "pageType",
    "part",
    "placement",
    "pressed",
    "purpose",
    "redacted",
    "result",
    "risk",
    "role",
    "rule",
    "runId",
    "schemaVersion",
    "scope",
    "sends",
    "sha256",
    "stage",
    "status",
    "strategy",
    "target",
    "targetRef",
    "testId",
    "type",
    "verdict",
    "went",
];

/// Members that hold URLs.
const URLS: &[&str] = &["closedTabs", "destination", "newTabs", "origin", "url", "urlAfter", "urlBefore"];

/// Members that hold whatever a page, a person or another program put there.
const OPEN: &[&str] = &["args", "attributes", "headers", "properties", "schema"];

/// Members that go as a whole.
const GONE: &[&str] = &["artifacts", "conditions", "data", "postFacts", "preFacts", "texts"];

/// An entry of a log, or what an entry refers to.
pub(crate) trait Redact: Serialize + DeserializeOwned {
    /// Without what the profile removes.
    fn redacted(self, redaction: Redaction) -> Result<Self, ExportError> {
        match redaction {
            Redaction::None => Ok(self),
            Redaction::Strict => {
                let mut value = serde_json::to_value(&self)?;
                if let Value::Object(members) = &mut value {
                    members.retain(|key, _| !GONE.contains(&key.as_str()));
                }
                strict(&mut value, "");
                wire::read(value).map_err(ExportError::Redact)
            }
        }
    }
}

impl Redact for RunHeader {}
impl Redact for StepRecord {}
impl Redact for PlanningRecord {}
impl Redact for ObservationRecord {}
impl Redact for Observation {}
impl Redact for RunEnd {}

fn strict(value: &mut Value, key: &str) {
    match value {
        Value::String(text) => *text = kept(text, key),
        Value::Number(_) if key == "value" => *value = Value::Null,
        Value::Array(items) => items.iter_mut().for_each(|item| strict(item, key)),
        Value::Object(members) if OPEN.contains(&key) => members.clear(),
        Value::Object(members) => {
            if key == "facts" {
                members.remove("conditions");
            }
            // These name targets; elsewhere the same members are parts of URLs and locators.
            let target = match members.get("type").and_then(Value::as_str) {
                Some("dragTo") => "to",
                Some("findElements") => "within",
                Some("scrollUntil") => "container",
                _ => "",
            };
            for (key, value) in members.iter_mut() {
                strict(value, if key == target { "target" } else { key });
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn kept(text: &str, key: &str) -> String {
    let is_url = URLS.contains(&key) && text.contains(':');
    if is_url {
        url(text)
    } else if WORDS.contains(&key) && is_word(text) || key == "planId" && is_number_of_plan(text) {
        text.to_owned()
    } else {
        MASK.to_owned()
    }
}

fn is_word(text: &str) -> bool {
    text.len() <= 64 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.:+-/".contains(&b))
}

/// A model may call its plan what it wants; the numbers are ours.
fn is_number_of_plan(text: &str) -> bool {
    text.strip_prefix('p').is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
}

/// Scheme, host, port, and of the path the parts that are plain words.
fn url(text: &str) -> String {
    let Ok(seen) = Url::parse(text) else { return MASK.to_owned() };
    let Some(host) = seen.host_str() else { return format!("{}:", seen.scheme()) };
    let port = seen.port().map_or_else(String::new, |port| format!(":{port}"));
    let part = |part: &str| {
        let is_plain = part.len() <= 24 && part.bytes().all(|b| b.is_ascii_alphabetic() || b"-_.".contains(&b));
        if is_plain { part.to_owned() } else { "*".to_owned() }
    };
    let path: Vec<String> = seen.path().split('/').map(part).collect();
    format!("{}://{host}{port}{}", seen.scheme(), path.join("/"))
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::arbitrary;
    use cuebook_grammar::id::CandidateId;
    use cuebook_grammar::sample::page;
    use cuebook_grammar::step::Step;
    use cuebook_grammar::vision::VisionFeature;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    impl Redact for Step {}

    proptest! {
        #[test]
        fn any_step_can_be_redacted_and_once_is_enough(step in arbitrary::any::<Step>()) {
            let verb = step.action.kind();
            let once = step.redacted(Redaction::Strict).unwrap();
            prop_assert_eq!(once.action.kind(), verb);
            let again = once.clone().redacted(Redaction::Strict).unwrap();
            prop_assert_eq!(again, once);
        }

        #[test]
        fn any_record_can_be_redacted(record in arbitrary::any::<StepRecord>()) {
            let (verdicts, cause) = (record.post_check.len(), record.failure.as_ref().map(|failure| failure.cause));
            let strict = record.redacted(Redaction::Strict).unwrap();
            prop_assert_eq!(strict.post_check.len(), verdicts);
            prop_assert_eq!(strict.failure.map(|failure| failure.cause), cause);
            prop_assert!(strict.data.is_none() && strict.artifacts.is_empty() && strict.post_facts.is_none());
        }

        #[test]
        fn any_page_can_be_redacted(page in arbitrary::any::<Observation>()) {
            let count = page.candidates.len();
            prop_assert_eq!(page.redacted(Redaction::Strict).unwrap().candidates.len(), count);
        }
    }

    #[test]
    fn of_a_url_the_host_and_plain_words_of_the_path_stay() {
        let cases = [
            ("https://ann:pw@shop.test:8443/orders/4711/edit?q=x#y", "https://shop.test:8443/orders/*/edit"),
            ("http://shop.test/users/ann@mail.test/reset/0a1b2c", "http://shop.test/users/*/reset/*"),
            ("http://shop.test/J%C3%BCrgen", "http://shop.test/*"),
            ("data:text/html,Ann", "data:"),
            ("about:blank", "about:"),
            ("not a url: Ann", MASK),
        ];
        for (seen, expected) in cases {
            assert_eq!(url(seen), expected);
        }
    }

    #[test]
    fn a_page_keeps_its_roles_states_and_boxes() {
        let seen = page(
            "heading Ann's orders
             textbox \"Search Ann\" value=secret placeholder=\"Ann\" testid=search required
             listbox \"Ann\" options=Ann|Bob label=\"Ann\" form=Ann
             link \"Ann\" [row: Ann] to=/ann@mail.test",
        );
        let kept = seen.clone().redacted(Redaction::Strict).unwrap();
        let text = serde_json::to_string(&kept).unwrap();
        assert!(!text.contains("Ann") && !text.contains("secret") && !text.contains("ann@"), "{text}");
        let roles = |page: &Observation| page.candidates.iter().map(|one| one.role).collect::<Vec<_>>();
        assert_eq!(roles(&kept), roles(&seen));
        assert_eq!(kept.candidates[0].test_id.as_deref(), Some("search"));
        assert!(kept.candidates[0].states.required);
    }

    #[test]
    fn features_of_a_picture_keep_their_places_and_no_words() {
        let feature = json!({ "label": "Ann", "kind": "icon", "box": { "x": 1.0, "y": 2.0, "width": 3.0, "height": 4.0 },
            "center": { "x": 2.5, "y": 4.0 }, "confidence": 0.5, "candidate": "c7" });
        let mut value = json!({ "features": [feature] });
        strict(&mut value, "");
        let kept: VisionFeature = serde_json::from_value(value["features"][0].clone()).unwrap();
        assert_eq!((kept.label.as_str(), kept.candidate), (MASK, Some(CandidateId(7))));
    }

    #[test]
    fn a_member_that_is_not_listed_is_removed() {
        let mut value = json!({ "invented": "Ann", "role": "Ann Smith", "steps": [{ "kind": "alert" }] });
        strict(&mut value, "");
        assert_eq!(value, json!({ "invented": MASK, "role": MASK, "steps": [{ "kind": "alert" }] }));
    }
}
