//! Locators, texts and conditions in Playwright's words.
//!
//! Invariant: whatever a log says stands in a JSON string, which is a TypeScript string; never in code or a comment.

use cuebook_grammar::condition::{Condition, TextOf};
use cuebook_grammar::locator::{Locator, Strategy};
use cuebook_grammar::record::StepRecord;
use cuebook_grammar::secret::WireText;
use cuebook_grammar::text_match::TextPattern;
use cuebook_grammar::verdict::Verdict;
use serde::Serialize;
use serde_json::{Value, json};

use crate::locating;

/// A value as an expression. JSON is TypeScript, but for `__proto__`, which no value here has as a member.
pub(super) fn literal(value: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

pub(super) const fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Fails => "fails",
        Verdict::Unknown => "unknown",
    }
}

/// A text, or a regular expression. What the engines of both languages read differently stays as it is.
fn pattern(pattern: &TextPattern) -> String {
    match serde_json::to_value(pattern) {
        Ok(Value::Object(form)) => regex(
            form.get("regex").and_then(Value::as_str).unwrap_or_default(),
            form.get("flags").and_then(Value::as_str).unwrap_or_default(),
        ),
        Ok(text) => literal(&text),
        Err(_) => literal(""),
    }
}

fn regex(source: &str, flags: &str) -> String {
    // Flags in front are Rust's way to state them.
    let (flags, source) = source.strip_prefix("(?i)").map_or((flags, source), |rest| ("i", rest));
    let flags = if flags.is_empty() { String::new() } else { format!(", {}", literal(flags)) };
    format!("new RegExp({}{flags})", literal(source))
}

/// A regular expression that finds a text.
fn containing(text: &str) -> String {
    regex(&escaped(text), "")
}

fn escaped(text: &str) -> String {
    text.chars().flat_map(|c| r"\^$.*+?()[]{}|/-".contains(c).then_some('\\').into_iter().chain([c])).collect()
}

/// The target of a step: `page.getByTestId("go")`.
pub(super) fn target(record: &StepRecord, target: &cuebook_grammar::id::TargetRef) -> Option<String> {
    let locator = locating::locator(record, target)?;
    Some(expression("page", &locator, is_exact(record, target, &locator)))
}

/// Returns `true` if the text of a locator is the whole text of what it found, as far as the facts show. Playwright's
/// locators find substrings unless they say `exact`; ours take the best fit.
fn is_exact(record: &StepRecord, target: &cuebook_grammar::id::TargetRef, locator: &Locator) -> bool {
    let facts = record.pre_facts.iter().chain(&record.post_facts);
    let mut samples = facts.flat_map(|facts| facts.before.iter().chain(&facts.samples));
    let element = samples.find_map(|sample| sample.targets.get(target)?.element.as_ref());
    let (Some(element), Some((TextPattern::Literal(text), None))) = (element, locator.strategy.text()) else {
        return locator.strategy.text().is_none_or(|(_, exact)| exact != Some(false));
    };
    let texts = [&element.placeholder, &element.alt, &element.title].into_iter().flatten();
    let text_of = element.text.iter().filter_map(|text| text.clear());
    let mut seen = texts.chain(&element.labels).chain([&element.name]).map(String::as_str).chain(text_of);
    seen.any(|seen| seen == text.as_str())
}

fn expression(base: &str, locator: &Locator, is_exact: bool) -> String {
    let mut base = base.to_owned();
    for frame in &locator.frame {
        base = format!("{}.contentFrame()", expression(&base, frame, true));
    }
    if let Some(within) = &locator.within {
        base = expression(&base, within, true);
    }
    let by = |method: &str, text: &TextPattern| {
        let is_exact = is_exact && matches!(text, TextPattern::Literal(_));
        let exact = if is_exact { ", { exact: true }" } else { "" };
        format!("{base}.{method}({}{exact})", pattern(text))
    };
    let mut code = match &locator.strategy {
        Strategy::TestId(one) => format!("{base}.getByTestId({})", pattern(&one.test_id)),
        Strategy::Role(one) => {
            let mut options = one.name.iter().map(|name| format!("name: {}", pattern(name))).collect::<Vec<_>>();
            if is_exact && matches!(one.name, Some(TextPattern::Literal(_))) {
                options.push("exact: true".to_owned());
            }
            options.extend(one.states.iter().flat_map(states));
            options.extend(one.include_hidden.map(|is| format!("includeHidden: {is}")));
            let options = if options.is_empty() { String::new() } else { format!(", {{ {} }}", options.join(", ")) };
            format!("{base}.getByRole({}{options})", literal(&one.role))
        }
        Strategy::Label(one) => by("getByLabel", &one.text),
        Strategy::Placeholder(one) => by("getByPlaceholder", &one.text),
        Strategy::AltText(one) => by("getByAltText", &one.text),
        Strategy::Title(one) => by("getByTitle", &one.text),
        Strategy::Text(one) => by("getByText", &one.text),
        Strategy::Css(one) => format!("{base}.locator({})", literal(&format!("css={}", one.selector.as_str()))),
        Strategy::XPath(one) => format!("{base}.locator({})", literal(&format!("xpath={}", one.expression.as_str()))),
    };
    let filters = [("hasText", &locator.has_text), ("hasNotText", &locator.has_not_text)];
    for (name, text) in filters.into_iter().filter_map(|(name, text)| Some((name, text.as_ref()?))) {
        code = format!("{code}.filter({{ {name}: {} }})", pattern(text));
    }
    let filters = [("has", &locator.has), ("hasNot", &locator.has_not)];
    for (name, inner) in filters.into_iter().filter_map(|(name, inner)| Some((name, inner.as_ref()?))) {
        code = format!("{code}.filter({{ {name}: {} }})", expression("page", inner, true));
    }
    if let Some(is_visible) = locator.visible {
        code = format!("{code}.filter({{ visible: {is_visible} }})");
    }
    locator.nth.as_ref().map_or(code.clone(), |nth| format!("{code}.nth({})", nth.get()))
}

/// The states of a role as options, where Playwright has the same.
fn states(filter: &cuebook_grammar::locator::StateFilter) -> Vec<String> {
    let Ok(Value::Object(states)) = serde_json::to_value(filter) else { return Vec::new() };
    let options = states.into_iter().filter(|(_, value)| value.is_boolean() || value.is_number());
    options.map(|(name, value)| format!("{name}: {value}")).collect()
}

/// The selector that viewers of traces turn into a locator.
pub(super) fn selector(locator: &Locator) -> String {
    let exact = |name: &str, text: &TextPattern| match text {
        TextPattern::Literal(text) => format!("{name}={}s", literal(text.as_str())),
        TextPattern::Regex(pattern, _) => format!("{name}=/{}/", pattern.as_str()),
    };
    match &locator.strategy {
        Strategy::TestId(by) => format!("internal:testid=[{}]", exact("data-testid", &by.test_id)),
        Strategy::Role(by) => {
            let name = by.name.as_ref().map_or_else(String::new, |name| format!("[{}]", exact("name", name)));
            format!("internal:role={}{name}", by.role)
        }
        Strategy::Label(by) => exact("internal:label", &by.text),
        Strategy::Text(by) => exact("internal:text", &by.text),
        Strategy::Placeholder(by) => format!("internal:attr=[{}]", exact("placeholder", &by.text)),
        Strategy::AltText(by) => format!("internal:attr=[{}]", exact("alt", &by.text)),
        Strategy::Title(by) => format!("internal:attr=[{}]", exact("title", &by.text)),
        Strategy::Css(by) => by.selector.as_str().to_owned(),
        Strategy::XPath(by) => format!("xpath={}", by.expression.as_str()),
    }
}

/// A condition as statements that wait for it. `None` if Playwright has nothing that means the same.
pub(super) fn expectations(
    record: &StepRecord,
    condition: &Condition,
    text: &mut dyn FnMut(&WireText) -> String,
) -> Option<Vec<String>> {
    let own = condition.target().map(|of| target(record, of).ok_or(())).transpose().ok()?;
    let on = |call: String| format!("await expect({}).{call};", own.as_deref().unwrap_or("page"));
    let contains = |text: &WireText| text.clear().map(containing);
    Some(vec![match condition {
        Condition::Exists(_) => on("toBeAttached()".to_owned()),
        Condition::Absent(_) => on("toHaveCount(0)".to_owned()),
        Condition::Visible(_) | Condition::Appears(_) => on("toBeVisible()".to_owned()),
        Condition::Hidden(_) | Condition::Disappears(_) => on("toBeHidden()".to_owned()),
        Condition::Enabled(_) => on("toBeEnabled()".to_owned()),
        Condition::Editable(_) => on("toBeEditable()".to_owned()),
        Condition::Focused(_) => on("toBeFocused()".to_owned()),
        Condition::Checked(c) => on(format!("toBeChecked({{ checked: {} }})", c.checked.unwrap_or(true))),
        Condition::InViewport(c) => {
            let ratio = c.ratio.as_ref().map_or_else(String::new, |ratio| format!("{{ ratio: {} }}", ratio.get()));
            on(format!("toBeInViewport({ratio})"))
        }
        Condition::UrlMatches(c) => on(format!("toHaveURL({})", regex(c.pattern.as_str(), ""))),
        Condition::TitleMatches(c) => on(format!("toHaveTitle({})", regex(c.pattern.as_str(), ""))),
        Condition::UrlChanges(c) => match &c.to {
            Some(to) => on(format!("toHaveURL({})", containing(to.as_str()))),
            None => format!("await expect(page).not.toHaveURL({});", literal(&record.url)),
        },
        // These read the live property.
        Condition::AttrEquals(c) if c.name.as_str() == "value" => on(format!("toHaveValue({})", text(&c.value))),
        Condition::AttrEquals(c) if ["checked", "selected"].contains(&c.name.as_str()) => {
            on(format!("toHaveJSProperty({}, {} === \"true\")", literal(c.name.as_str()), text(&c.value)))
        }
        Condition::AttrEquals(c) => on(format!("toHaveAttribute({}, {})", literal(c.name.as_str()), text(&c.value))),
        Condition::AriaState(c) => {
            let name = literal(&format!("aria-{}", c.name.as_str()));
            on(format!("toHaveAttribute({name}, {})", text(&c.value)))
        }
        Condition::PropertyEquals(c) => {
            on(format!("toHaveJSProperty({}, {})", literal(c.name.as_str()), literal(c.value.value())))
        }
        Condition::ValueEquals(c) => on(format!("toHaveValue({})", text(&c.value))),
        Condition::ValueContains(c) => on(format!("toHaveValue({})", contains(&c.value)?)),
        Condition::ElementTextContains(c) => on(format!("toContainText({})", text(&c.text))),
        Condition::ElementTextEquals(c) => on(format!("toHaveText({})", text(&c.text))),
        Condition::NameEquals(c) => on(format!("toHaveAccessibleName({})", text(&c.text))),
        Condition::DescriptionEquals(c) => on(format!("toHaveAccessibleDescription({})", text(&c.text))),
        Condition::ErrorMessageEquals(c) => on(format!("toHaveAccessibleErrorMessage({})", text(&c.text))),
        Condition::RoleEquals(c) => on(format!("toHaveRole({})", literal(&c.role))),
        Condition::ClassContains(c) => on(format!("toContainClass({})", literal(c.class.as_str()))),
        Condition::Count(c) => on(format!("toHaveCount({})", c.equals.as_ref()?.get())),
        Condition::Matches(c) => {
            let pattern = match &c.pattern {
                TextPattern::Literal(text) => regex(&escaped(text.as_str()), "i"),
                pattern @ TextPattern::Regex(..) => self::pattern(pattern),
            };
            let name = match c.of.unwrap_or_default() {
                TextOf::Text => "toContainText",
                TextOf::Value => "toHaveValue",
                TextOf::Name => "toHaveAccessibleName",
                TextOf::Description => "toHaveAccessibleDescription",
                TextOf::ErrorMessage => "toHaveAccessibleErrorMessage",
                TextOf::Attribute => {
                    return Some(vec![on(format!(
                        "toHaveAttribute({}, {pattern})",
                        literal(c.name.as_ref()?.as_str())
                    ))]);
                }
            };
            on(format!("{name}({pattern})"))
        }
        Condition::NetworkIdle(_) => "await page.waitForLoadState(\"networkidle\");".to_owned(),
        Condition::AllOf(group) => {
            let all: Option<Vec<_>> = group.conditions.iter().map(|one| expectations(record, one, text)).collect();
            return Some(all?.concat());
        }
        _ => return None,
    }])
}

/// An object with the members that are stated, as options of a call; nothing if none is.
pub(super) fn options(members: &[(&str, Option<Value>)]) -> String {
    let stated: Vec<String> =
        members.iter().filter_map(|(name, value)| Some(format!("{name}: {}", value.as_ref()?))).collect();
    if stated.is_empty() { String::new() } else { format!("{{ {} }}", stated.join(", ")) }
}

/// A point as an option.
pub(super) fn point(point: Option<cuebook_grammar::geometry::Point>) -> Option<Value> {
    point.map(|point| json!({ "x": point.x, "y": point.y }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_says_never_leaves_its_string() {
        let hostile = "\"); process.exit(1); //\n`${x}`\u{2028}</script>";
        let locator: Locator =
            serde_json::from_value(json!({ "strategy": "text", "text": hostile, "within": { "strategy": "css",
            "selector": hostile } }))
            .unwrap();
        let code = expression("page", &locator, true);
        assert_eq!(code.lines().count(), 1, "{code}");
        let quoted = literal(hostile);
        assert!(code.contains(&quoted), "{code}");
        assert!(!code.replace(&quoted, "").replace(&literal(&format!("css={hostile}")), "").contains("exit"), "{code}");
        assert_eq!(containing("a.b(c)"), r#"new RegExp("a\\.b\\(c\\)")"#);
    }

    #[test]
    fn locators_are_chained_as_playwright_has_them() {
        let locator: Locator = serde_json::from_value(json!({
            "strategy": "byRole", "role": "button", "name": { "regex": "^Log", "flags": "i" },
            "within": { "strategy": "byTestId", "testId": "form" }, "frame": [{ "strategy": "css", "selector": "iframe" }],
            "hasText": "in", "nth": 1 }))
        .unwrap();
        assert_eq!(
            expression("page", &locator, true),
            r#"page.locator("css=iframe").contentFrame().getByTestId("form").getByRole("button", { name: new RegExp("^Log", "i") }).filter({ hasText: "in" }).nth(1)"#
        );
    }
}
