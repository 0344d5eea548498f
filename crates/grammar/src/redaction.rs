//! Limits on what may be kept of steps, conditions and facts that hold sensitive text: everything else becomes a
//! digest. And on what may leave the process of any document: what a [`Redactor`](crate::seam::Redactor) knows is
//! removed by value.
//!
//! Invariants:
//! - A condition that is reduced gives the same verdict on facts that are reduced under the same key.
//! - Reducing twice changes nothing.

mod document;

use serde_json::Value;

use crate::action::Action;
use crate::condition::{Condition, Scalar};
use crate::facts::{ElementFacts, Facts};
use crate::id::TargetRef;
use crate::secret::{Digest, DigestKey, FactText, MASK};
use crate::step::Step;

pub use document::{RedactError, redacted, redacted_data, redacted_json};

impl Step {
    /// The step as it may be kept: texts that go into or are compared with a sensitive target become digests.
    #[must_use]
    pub fn redacted(&self, is_sensitive: &dyn Fn(&TargetRef) -> bool, key: &DigestKey) -> Self {
        let mut step = self.clone();
        if step.action.target().is_some_and(is_sensitive) {
            match &mut step.action {
                Action::Type(action) => action.text = action.text.as_ref().map(|text| text.redact(key)),
                Action::SetValue(action) => action.value = action.value.as_ref().map(|text| text.redact(key)),
                _ => {}
            }
        }
        match &mut step.action {
            Action::WaitFor(action) => action.condition = action.condition.redacted(is_sensitive, key),
            Action::Assert(action) => action.condition = action.condition.redacted(is_sensitive, key),
            Action::ScrollUntil(action) => {
                action.condition = action.condition.as_ref().map(|condition| condition.redacted(is_sensitive, key));
            }
            _ => {}
        }
        for condition in step.pre.iter_mut().chain(&mut step.post) {
            *condition = condition.redacted(is_sensitive, key);
        }
        step.undo = step.undo.iter().map(|undo| undo.redacted(is_sensitive, key)).collect();
        step
    }
}

impl Condition {
    /// Returns the condition with the texts that it compares with sensitive targets reduced to digests.
    #[must_use]
    pub fn redacted(&self, is_sensitive: &dyn Fn(&TargetRef) -> bool, key: &DigestKey) -> Self {
        let mut condition = self.clone();
        condition.redact_in_place(is_sensitive, key);
        condition
    }

    fn redact_in_place(&mut self, is_sensitive: &dyn Fn(&TargetRef) -> bool, key: &DigestKey) {
        if self.target().is_some_and(is_sensitive) {
            match self {
                Self::AttrEquals(c) if c.name.as_str() == "value" => c.value = c.value.redact(key),
                Self::ValueEquals(c) | Self::ValueContains(c) => c.value = c.value.redact(key),
                Self::PropertyEquals(c) if c.name.as_str() == "value" => {
                    if let Some(text) = c.value.value().as_str() {
                        c.value = Scalar(reduced(text, key));
                    }
                }
                Self::ElementTextContains(c) | Self::ElementTextEquals(c) => c.text = c.text.redact(key),
                _ => {}
            }
        }
        self.inner_mut().iter_mut().for_each(|condition| condition.redact_in_place(is_sensitive, key));
    }
}

impl Facts {
    /// Returns the facts as they may be kept: texts of sensitive elements become digests. Of the `compared` texts,
    /// those that a value contains stay judgeable. Doing it twice changes nothing.
    #[must_use]
    pub fn redacted(&self, is_sensitive: &dyn Fn(&TargetRef) -> bool, compared: &[&str], key: &DigestKey) -> Self {
        let mut facts = self.clone();
        for sample in facts.before.iter_mut().chain(&mut facts.samples) {
            for (target, seen) in &mut sample.targets {
                if let Some(element) = &mut seen.element
                    && (element.sensitive || is_sensitive(target))
                {
                    element.redact(compared, key);
                }
            }
        }
        facts
    }
}

impl ElementFacts {
    /// Reduces the facts of a sensitive element to what may be kept. Its texts become digests, in which the `compared`
    /// texts stay judgeable, and what repeats its value is masked. Doing it twice changes nothing.
    pub fn redact(&mut self, compared: &[&str], key: &DigestKey) {
        let live = self.value.as_ref().and_then(FactText::clear).filter(|live| !live.is_empty()).map(str::to_owned);
        let repeats = |text: &str| live.as_deref().is_some_and(|live| text.contains(live));
        for (name, attribute) in &mut self.attributes {
            if let Some(text) = attribute
                && (name == "value" || text.clear().is_some_and(repeats))
            {
                *text = text.redact(key, compared);
            }
        }
        for (name, property) in &mut self.properties {
            let text = match &*property {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                _ => continue,
            };
            if name == "value" {
                *property = reduced(&text, key);
            } else if matches!(name.as_str(), "defaultValue" | "valueAsNumber") || repeats(&text) {
                *property = Value::from(MASK);
            }
        }
        for text in [&mut self.value, &mut self.text].into_iter().flatten() {
            *text = text.redact(key, compared);
        }
        if repeats(&self.name) {
            self.name = MASK.to_owned();
        }
        self.sensitive = true;
    }
}

/// A property is a JSON scalar, so its digest is marked by a prefix.
const DIGEST: &str = "redacted:";

fn reduced(text: &str, key: &DigestKey) -> Value {
    if text.strip_prefix(DIGEST).and_then(Digest::parse).is_some() {
        return Value::from(text);
    }
    Value::from(format!("{DIGEST}{}", key.digest(text).as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::facts::{Sample, TargetFacts};

    fn target() -> TargetRef {
        TargetRef::new("field").unwrap()
    }

    fn facts(value: &str) -> Facts {
        let element = serde_json::from_value(json!({
            "role": "textbox", "name": "Password", "tag": "input", "value": value, "text": value, "sensitive": true,
            "attributes": { "value": value, "type": "password", "data-copy": format!("x{value}") },
            "properties": { "value": value, "valueAsNumber": 5 },
            "states": { "editable": true },
        }))
        .unwrap();
        let sample = Sample { targets: [(target(), TargetFacts::one(element))].into(), ..Sample::default() };
        Facts { before: Some(Sample::default()), samples: vec![sample], ..Facts::default() }
    }

    /// Reduced conditions on reduced facts give the verdicts that the clear ones give.
    #[test]
    fn reducing_changes_no_verdict() {
        let key = DigestKey::new([3; 32]);
        let conditions = [
            json!({"kind": "valueEquals", "target": "field", "value": "hunter2"}),
            json!({"kind": "valueEquals", "target": "field", "value": "hunter"}),
            json!({"kind": "valueContains", "target": "field", "value": "unter"}),
            json!({"kind": "valueContains", "target": "field", "value": "other"}),
            json!({"kind": "elementTextContains", "target": "field", "text": "hunt"}),
            json!({"kind": "elementTextEquals", "target": "field", "text": "hunter2"}),
            json!({"kind": "attrEquals", "target": "field", "name": "value", "value": "hunter2"}),
            json!({"kind": "attrEquals", "target": "field", "name": "type", "value": "password"}),
            json!({"kind": "propertyEquals", "target": "field", "name": "value", "value": "hunter2"}),
            json!({"kind": "propertyEquals", "target": "field", "name": "value", "value": "nope"}),
            json!({"kind": "not", "condition": {"kind": "valueEquals", "target": "field", "value": "hunter2"}}),
            json!({"kind": "allOf", "conditions": [
                {"kind": "valueContains", "target": "field", "value": "er2"}, {"kind": "editable", "target": "field"}]}),
        ];
        for value in ["hunter2", "another"] {
            let clear = facts(value);
            for condition in &conditions {
                let condition: Condition = serde_json::from_value(condition.clone()).unwrap();
                let mut reduced = clear.clone();
                let compared = condition.compared_texts(&target());
                for seen in reduced.samples.iter_mut().flat_map(|sample| sample.targets.values_mut()) {
                    seen.element.as_mut().unwrap().redact(&compared, &key);
                }
                let once = reduced.clone();
                reduced = reduced.redacted(&|_| true, &compared, &key);
                assert_eq!(reduced, once, "twice is once");
                let kept = serde_json::to_string(&reduced).unwrap();
                assert!(!kept.contains(value), "{kept}");
                let hidden = condition.redacted(&|name| *name == target(), &key);
                assert_eq!(hidden.redacted(&|_| true, &key), hidden, "twice is once");
                assert_eq!(hidden.evaluate(&reduced), condition.evaluate(&clear), "{condition:?} on {value}");
            }
        }
    }
}
