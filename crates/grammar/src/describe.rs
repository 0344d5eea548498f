//! Conditions for people: what one states, and what was seen instead.
//!
//! Invariant: texts come from redacted conditions and facts only, cut to a length that fits a line; what was reduced to
//! a digest is never shown.

use crate::condition::{Aspect, Condition, TextOf};
use crate::facts::{DownloadEnd, ElementFacts, Facts, Sample, TargetFacts};
use crate::id::TargetRef;
use crate::render::shortened;
use crate::secret::{FactText, WireText};
use crate::text_match::TextPattern;
use crate::verdict::Verdict;

/// The most characters of a text that are quoted.
const QUOTED: usize = 120;
/// The most requests that are named.
const REQUESTS: usize = 5;

impl Condition {
    /// Describes the statement of the condition, as a phrase after "expected": `the value of c3 to be "Ann"`.
    #[must_use]
    pub fn in_words(&self) -> String {
        self.in_words_naming(&|target| target.to_string())
    }

    /// As [`Condition::in_words`], with targets named by `name`.
    #[must_use]
    pub fn in_words_naming(&self, name: &dyn Fn(&TargetRef) -> String) -> String {
        use Condition as C;
        match self {
            C::Exists(c) => format!("{} to exist", name(&c.target)),
            C::Absent(c) => format!("{} to be absent", name(&c.target)),
            C::Visible(c) => format!("{} to be visible", name(&c.target)),
            C::Hidden(c) => format!("{} to be hidden", name(&c.target)),
            C::Enabled(c) => format!("{} to be enabled", name(&c.target)),
            C::Editable(c) => format!("{} to be editable", name(&c.target)),
            C::Checked(c) => {
                format!("{} to be {}", name(&c.target), if c.checked.unwrap_or(true) { "on" } else { "off" })
            }
            C::Focused(c) => format!("{} to have the focus", name(&c.target)),
            C::InViewport(c) => format!("{} to be in the viewport", name(&c.target)),
            C::UrlMatches(c) => format!("the URL to match {}", quoted(c.pattern.as_str())),
            C::TitleMatches(c) => format!("the title to match {}", quoted(c.pattern.as_str())),
            C::AttrEquals(c) => format!("the attribute {} of {} to be {}", c.name, name(&c.target), stated(&c.value)),
            C::PropertyEquals(c) => format!("the property {} of {} to be {}", c.name, name(&c.target), c.value.value()),
            C::ValueEquals(c) => format!("the value of {} to be {}", name(&c.target), stated(&c.value)),
            C::ValueContains(c) => format!("the value of {} to contain {}", name(&c.target), stated(&c.value)),
            C::ElementTextContains(c) => format!("the text of {} to contain {}", name(&c.target), stated(&c.text)),
            C::ElementTextEquals(c) => format!("the text of {} to be {}", name(&c.target), stated(&c.text)),
            C::AriaState(c) => format!("{} of {} to be {}", c.name, name(&c.target), stated(&c.value)),
            C::Count(c) => {
                let bounds = [
                    c.equals.map(|n| n.get().to_string()),
                    c.at_least.map(|n| format!("at least {}", n.get())),
                    c.at_most.map(|n| format!("at most {}", n.get())),
                ];
                format!(
                    "{} matches of {}",
                    bounds.into_iter().flatten().collect::<Vec<_>>().join(" and "),
                    name(&c.target)
                )
            }
            C::NetworkIdle(_) => "the network to be idle".to_owned(),
            C::RequestObserved(c) => {
                let method = c.method.as_ref().map_or("", |method| method.as_str());
                let url = c.url.as_ref().map(|url| format!("a URL that matches {}", quoted(url.as_str())));
                let status = c.status.map(|status| format!("answered {status}"));
                let parts: Vec<String> =
                    [format!("a {method} request").replace("  ", " ")].into_iter().chain(url).chain(status).collect();
                parts.join(", ")
            }
            C::DialogOpened(c) => format!("a dialog{} to open", part(c.text.as_ref().map(|text| text.as_str()))),
            C::DownloadStarted(c) => {
                format!("a download{} to start", part(c.filename.as_ref().map(|name| name.as_str())))
            }
            C::DownloadCompleted(c) => {
                format!("a download{} to be complete", part(c.filename.as_ref().map(|name| name.as_str())))
            }
            C::UrlChanges(c) => format!("the URL to change{}", part(c.to.as_ref().map(|to| to.as_str()))),
            C::NewTab(c) => format!("a new tab{}", part(c.url.as_ref().map(|url| url.as_str()))),
            C::Appears(c) => format!("{} to appear", name(&c.target)),
            C::Disappears(c) => format!("{} to disappear", name(&c.target)),
            C::Changed(c) => format!("{} of {} to change", aspect(c.aspect), name(&c.target)),
            C::NameEquals(c) => format!("the name of {} to be {}", name(&c.target), stated(&c.text)),
            C::DescriptionEquals(c) => format!("the description of {} to be {}", name(&c.target), stated(&c.text)),
            C::ErrorMessageEquals(c) => format!("the error message of {} to be {}", name(&c.target), stated(&c.text)),
            C::Matches(c) => {
                let pattern = match &c.pattern {
                    TextPattern::Literal(text) => format!("contain {}", quoted(text)),
                    TextPattern::Regex(pattern, _) => format!("match {}", quoted(pattern.as_str())),
                };
                format!("{} of {} to {pattern}", text_of(c.of, c.name.as_deref()), name(&c.target))
            }
            C::RoleEquals(c) => format!("the role of {} to be {}", name(&c.target), c.role),
            C::ClassContains(c) => format!("{} to have the class {}", name(&c.target), quoted(&c.class)),
            C::SelectedValues(c) => {
                let values: Vec<String> = c.values.iter().map(|value| quoted(value)).collect();
                format!("{} chosen in {}", listed(&values), name(&c.target))
            }
            C::AnyEffect(_) => "an effect".to_owned(),
            C::AllOf(group) => {
                group.conditions.iter().map(|one| one.in_words_naming(name)).collect::<Vec<_>>().join(" and ")
            }
            C::AnyOf(group) => {
                group.conditions.iter().map(|one| one.in_words_naming(name)).collect::<Vec<_>>().join(" or ")
            }
            C::Not(inner) => format!("not {}", inner.condition.in_words_naming(name)),
            C::Becomes(inner) => format!("{} after it was otherwise", inner.condition.in_words_naming(name)),
        }
    }

    /// Describes what was seen last, as a phrase after "saw": `the URL https://shop.test/login`.
    #[must_use]
    pub fn seen(&self, facts: &Facts) -> String {
        self.seen_naming(facts, &|target| target.to_string())
    }

    /// As [`Condition::seen`], with targets named by `name`.
    #[must_use]
    pub fn seen_naming(&self, facts: &Facts, name: &dyn Fn(&TargetRef) -> String) -> String {
        let Some(now) = facts.samples.last() else { return "nothing of the page".to_owned() };
        self.seen_at(now, facts, false, name)
    }

    /// Describes the basis of a verdict: what was seen when the condition came true, otherwise what was seen last.
    #[must_use]
    pub fn seen_for(&self, verdict: Verdict, facts: &Facts, name: &dyn Fn(&TargetRef) -> String) -> String {
        match self.moment_of(facts).filter(|_| verdict.holds()) {
            Some(now) => self.seen_at(now, facts, true, name),
            None => self.seen_naming(facts, name),
        }
    }

    fn seen_at(&self, now: &Sample, facts: &Facts, holds: bool, name: &dyn Fn(&TargetRef) -> String) -> String {
        use Condition as C;
        let element = |target: &TargetRef, say: &dyn Fn(&ElementFacts) -> String| seen_of(now, target, name, say);
        match self {
            C::UrlMatches(_) => format!("the URL {}", cut(&now.url)),
            C::UrlChanges(_) => match &facts.before {
                Some(before) if before.url == now.url => format!("the URL unchanged, {}", cut(&now.url)),
                _ => format!("the URL {}", cut(&now.url)),
            },
            C::TitleMatches(_) => format!("the title {}", quoted(&now.title)),
            C::Exists(c) | C::Absent(c) => counted(now, &c.target, name),
            C::Count(c) => counted(now, &c.target, name),
            C::Visible(c) | C::Hidden(c) | C::Appears(c) | C::Disappears(c) => {
                element(&c.target, &|e| match e.visible {
                    Some(true) => "it visible".to_owned(),
                    Some(false) => "it without a box, or hidden".to_owned(),
                    None => "nothing that tells whether it is visible".to_owned(),
                })
            }
            C::Enabled(c) => {
                element(&c.target, &|e| if e.states.disabled { "it disabled" } else { "it enabled" }.to_owned())
            }
            C::Editable(c) => element(&c.target, &|e| {
                let state = match (e.states.disabled, e.states.readonly) {
                    (true, _) => "it disabled".to_owned(),
                    (_, true) => "it read-only".to_owned(),
                    _ => format!("a {}, which takes no input", e.role),
                };
                if e.states.editable { "it editable".to_owned() } else { state }
            }),
            C::Checked(c) => element(&c.target, &|e| match e.states.checked.or(e.states.pressed) {
                Some(toggle) => format!("its state {}", toggle.as_str()),
                None => format!("a {}, which is neither on nor off", e.role),
            }),
            C::Focused(c) => element(&c.target, &|e| {
                if e.states.focused { "it with the focus" } else { "the focus elsewhere" }.to_owned()
            }),
            C::InViewport(c) => element(&c.target, &|e| match e.in_viewport {
                Some(share) => format!("{:.0} % of it in the viewport", share * 100.0),
                None => "nothing that tells where it is".to_owned(),
            }),
            C::AttrEquals(c) => element(&c.target, &|e| attribute(e, &c.name)),
            C::AriaState(c) => {
                element(&c.target, &|e| attribute(e, &format!("aria-{}", c.name.trim_start_matches("aria-"))))
            }
            C::PropertyEquals(c) => element(&c.target, &|e| match e.properties.get(c.name.as_str()) {
                Some(value) => cut(&value.to_string()),
                None => format!(
                    "no property {} of the DOM's own with a scalar value; what a script of the page put on the element \
                     cannot be read",
                    c.name
                ),
            }),
            C::ValueEquals(c) | C::ValueContains(c) => {
                element(&c.target, &|e| text("the value", e.value.as_ref(), e.role.as_str()))
            }
            C::ElementTextContains(c) | C::ElementTextEquals(c) => {
                element(&c.target, &|e| text("the text", e.text.as_ref(), e.role.as_str()))
            }
            C::NameEquals(c) => element(&c.target, &|e| format!("the name {}", quoted(&e.name))),
            C::DescriptionEquals(c) => element(&c.target, &|e| described("description", e.description.as_deref())),
            C::ErrorMessageEquals(c) => element(&c.target, &|e| described("error message", e.error_message.as_deref())),
            C::Matches(c) => element(&c.target, &|e| match c.of.unwrap_or_default() {
                TextOf::Text => text("the text", e.text.as_ref(), e.role.as_str()),
                TextOf::Value => text("the value", e.value.as_ref(), e.role.as_str()),
                TextOf::Name => format!("the name {}", quoted(&e.name)),
                TextOf::Description => described("description", e.description.as_deref()),
                TextOf::ErrorMessage => described("error message", e.error_message.as_deref()),
                TextOf::Attribute => attribute(e, c.name.as_deref().unwrap_or_default()),
            }),
            C::RoleEquals(c) => element(&c.target, &|e| format!("the role {}", e.role)),
            C::ClassContains(c) => element(&c.target, &|e| match &e.classes[..] {
                [] => "no class".to_owned(),
                classes => format!("the classes {}", quoted(&classes.join(" "))),
            }),
            C::SelectedValues(c) => element(&c.target, &|e| {
                let chosen = if e.selected_labels.is_empty() { &e.selected_values } else { &e.selected_labels };
                match (&chosen[..], &e.value) {
                    ([], Some(value)) => text("the value", Some(value), e.role.as_str()),
                    ([], None) => "nothing chosen".to_owned(),
                    (chosen, _) => {
                        format!("{} chosen", listed(&chosen.iter().map(|label| quoted(label)).collect::<Vec<_>>()))
                    }
                }
            }),
            C::Changed(c) => element(&c.target, &|_| {
                let was_there = facts.before.as_ref().and_then(|before| before.targets.get(&c.target));
                match was_there.is_some_and(|seen| seen.element.is_some()) {
                    true if holds => format!("{} changed", aspect(c.aspect)),
                    true => format!("{} unchanged", aspect(c.aspect)),
                    false => "it now, and not before the step".to_owned(),
                }
            }),
            C::NetworkIdle(_) if holds => "no request under way".to_owned(),
            C::NetworkIdle(_) => "requests under way".to_owned(),
            C::RequestObserved(_) => match &facts.events.requests[..] {
                [] => "no request".to_owned(),
                requests => {
                    let named: Vec<String> =
                        requests.iter().take(REQUESTS).map(crate::facts::RequestFact::in_words).collect();
                    let more = if requests.len() > REQUESTS { ", …" } else { "" };
                    format!("{}{more}", named.join(", "))
                }
            },
            C::DialogOpened(_) => match facts.events.dialogs.last() {
                Some(dialog) => format!("a dialog that says {}", quoted(&dialog.message)),
                None => "no dialog".to_owned(),
            },
            C::DownloadStarted(_) | C::DownloadCompleted(_) => match facts.events.downloads.last() {
                Some(download) => {
                    let end = match download.end {
                        Some(DownloadEnd::Completed) => "",
                        Some(_) => ", cancelled",
                        None => ", under way",
                    };
                    format!("a download of {}{end}", quoted(&download.filename))
                }
                None => "no download".to_owned(),
            },
            C::NewTab(_) => match facts.events.new_tabs.last() {
                Some(url) => format!("a new tab at {}", cut(url)),
                None => "no new tab".to_owned(),
            },
            C::AnyEffect(_) => match facts.events.any_effect {
                Some(true) => "one".to_owned(),
                Some(false) => "none".to_owned(),
                None => "nothing that tells".to_owned(),
            },
            C::AllOf(group) if holds => {
                let all = group.conditions.iter().map(|one| one.seen_at(now, facts, true, name));
                all.collect::<Vec<_>>().join(" and ")
            }
            C::AllOf(group) => {
                let open = group.conditions.iter().filter(|one| !one.evaluate(facts).holds());
                let all: Vec<String> = open.map(|one| one.seen_naming(facts, name)).collect();
                if all.is_empty() { "them at different moments only".to_owned() } else { all.join(" and ") }
            }
            C::AnyOf(group) => {
                let counts = |one: &&Condition| !holds || one.moment_of(facts).is_some();
                let all = group.conditions.iter().filter(counts);
                let mut all: Vec<String> =
                    all.map(|one| one.seen_for(Verdict::from_bool(holds), facts, name)).collect();
                all.dedup();
                all.join(" and ")
            }
            C::Not(inner) => inner.condition.seen_at(now, facts, false, name),
            C::Becomes(inner)
                if !holds && inner.condition.was_vacuous(facts) && inner.condition.evaluate(facts).holds() =>
            {
                format!("{} from the beginning", inner.condition.seen_at(now, facts, holds, name))
            }
            C::Becomes(inner) => inner.condition.seen_at(now, facts, holds, name),
        }
    }
}

fn seen_of(
    now: &Sample,
    target: &TargetRef,
    name: &dyn Fn(&TargetRef) -> String,
    say: &dyn Fn(&ElementFacts) -> String,
) -> String {
    match now.targets.get(target) {
        Some(TargetFacts { element: Some(element), .. }) => say(element),
        _ => counted(now, target, name),
    }
}

fn counted(now: &Sample, target: &TargetRef, name: &dyn Fn(&TargetRef) -> String) -> String {
    let matches = now.targets.get(target).and_then(|seen| seen.matches);
    let target = name(target);
    match matches {
        None => format!("nothing that tells whether {target} is there"),
        Some(0) => format!("nothing that matches {target}"),
        Some(1) => format!("one match of {target}"),
        Some(n) => format!("{n} matches of {target}"),
    }
}

fn text(name: &str, seen: Option<&FactText>, role: &str) -> String {
    match seen {
        Some(FactText::Clear(seen)) => format!("{name} {}", quoted(seen)),
        Some(FactText::Redacted { .. }) => format!("{name} another one, which is not shown"),
        None => format!("a {role}, which has no {}", name.trim_start_matches("the ")),
    }
}

fn described(name: &str, seen: Option<&str>) -> String {
    seen.map_or_else(|| format!("no {name}"), |seen| format!("the {name} {}", quoted(seen)))
}

fn attribute(element: &ElementFacts, name: &str) -> String {
    match (name, element.attributes.get(name)) {
        ("value", _) if element.value.is_some() => text("the value", element.value.as_ref(), element.role.as_str()),
        (_, Some(Some(FactText::Clear(value)))) => format!("{name}={}", quoted(value)),
        (_, Some(Some(FactText::Redacted { .. }))) => format!("another {name}, which is not shown"),
        _ => format!("no {name}"),
    }
}

fn text_of(of: Option<TextOf>, name: Option<&str>) -> String {
    match of.unwrap_or_default() {
        TextOf::Text => "the text".to_owned(),
        TextOf::Value => "the value".to_owned(),
        TextOf::Name => "the name".to_owned(),
        TextOf::Description => "the description".to_owned(),
        TextOf::ErrorMessage => "the error message".to_owned(),
        TextOf::Attribute => format!("the attribute {}", name.unwrap_or_default()),
    }
}

const fn aspect(aspect: Option<Aspect>) -> &'static str {
    match aspect {
        Some(Aspect::Text) => "the text",
        Some(Aspect::Value) => "the value",
        Some(Aspect::Name) => "the name",
        Some(Aspect::States) => "the states",
        Some(Aspect::Box) => "the box",
        None => "something",
    }
}

fn part(text: Option<&str>) -> String {
    text.map_or_else(String::new, |text| format!(" with {}", quoted(text)))
}

fn stated(text: &WireText) -> String {
    text.clear().map_or_else(|| "the stated text, which is not shown".to_owned(), quoted)
}

fn listed(items: &[String]) -> String {
    if items.is_empty() { "nothing".to_owned() } else { items.join(", ") }
}

fn quoted(text: &str) -> String {
    format!("{:?}", cut(text))
}

fn cut(text: &str) -> String {
    shortened(text, QUOTED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn words(condition: Value, now: Value) -> String {
        let condition: Condition = serde_json::from_value(condition).unwrap();
        let sample = |mut sample: Value| {
            for (name, value) in [("atMs", json!(0)), ("url", json!("http://a.test/login")), ("title", json!("Log in"))]
            {
                if sample.get(name).is_none() {
                    sample[name] = value;
                }
            }
            serde_json::from_value::<Sample>(sample).unwrap()
        };
        let facts = Facts { before: Some(sample(json!({}))), samples: vec![sample(now)], ..Facts::default() };
        format!("expected {}, saw {}", condition.in_words(), condition.seen(&facts))
    }

    #[test]
    fn what_held_is_described_as_it_was_then() {
        let sample = |matches: u32, text: Option<&str>| {
            let element = text.map(|text| json!({ "role": "status", "tag": "p", "name": "", "text": text }));
            let seen = json!({ "atMs": 0, "url": "http://a.test/", "title": "",
                               "targets": { "c1": { "matches": matches, "element": element } } });
            serde_json::from_value::<Sample>(seen).unwrap()
        };
        let samples = vec![sample(0, None), sample(1, Some("Saved")), sample(0, None)];
        let facts = Facts { before: Some(sample(0, None)), samples, ..Facts::default() };
        let seen = |condition: Value| {
            let condition: Condition = serde_json::from_value(condition).unwrap();
            condition.seen_for(condition.evaluate(&facts), &facts, &|target| target.to_string())
        };
        let saved = json!({ "kind": "elementTextContains", "target": "c1", "text": "Saved" });
        assert_eq!(seen(saved.clone()), "the text \"Saved\"");
        assert_eq!(seen(json!({ "kind": "exists", "target": "c1" })), "one match of c1");
        assert_eq!(
            seen(json!({ "kind": "allOf", "conditions": [saved, { "kind": "exists", "target": "c1" }] })),
            "the text \"Saved\" and one match of c1"
        );
        assert_eq!(
            seen(json!({ "kind": "elementTextContains", "target": "c1", "text": "Lost" })),
            "nothing that matches c1"
        );
    }

    #[test]
    fn what_was_seen_instead_is_named() {
        let element = |facts: Value| json!({ "targets": { "c1": { "matches": 1, "element": facts } } });
        let field = element(json!({ "role": "textbox", "tag": "input", "name": "Name", "value": "Bob" }));
        let cases = [
            (
                json!({ "kind": "urlChanges", "to": "/home" }),
                json!({}),
                "expected the URL to change with \"/home\", saw the URL unchanged, http://a.test/login",
            ),
            (
                json!({ "kind": "valueEquals", "target": "c1", "value": "Ann" }),
                field.clone(),
                "expected the value of c1 to be \"Ann\", saw the value \"Bob\"",
            ),
            (
                json!({ "kind": "valueEquals", "target": "c1", "value": "Ann" }),
                element(json!({ "role": "button", "tag": "button", "name": "Go" })),
                "expected the value of c1 to be \"Ann\", saw a button, which has no value",
            ),
            (
                json!({ "kind": "visible", "target": "c1" }),
                json!({ "targets": { "c1": { "matches": 3 } } }),
                "expected c1 to be visible, saw 3 matches of c1",
            ),
            (
                json!({ "kind": "allOf", "conditions": [
                    { "kind": "titleMatches", "pattern": "^Log" }, { "kind": "exists", "target": "c1" }] }),
                json!({ "targets": { "c1": { "matches": 0 } } }),
                "expected the title to match \"^Log\" and c1 to exist, saw nothing that matches c1",
            ),
            (
                json!({ "kind": "requestObserved", "method": "POST", "status": 200 }),
                json!({}),
                "expected a POST request, answered 200, saw no request",
            ),
            (
                json!({ "kind": "propertyEquals", "target": "c1", "name": "foo", "value": 1 }),
                field,
                "expected the property foo of c1 to be 1, saw no property foo of the DOM's own with a scalar value; what \
                 a script of the page put on the element cannot be read",
            ),
        ];
        for (condition, now, expected) in cases {
            assert_eq!(words(condition, now), expected);
        }
    }
}
