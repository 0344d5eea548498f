//! Strategies for property tests of every wire type: what a plan, an observation or a record may be.
//!
//! They aim at variety within the bounds, not at plans that make sense.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::Value;

use crate::action::*;
use crate::candidate::{Candidate, ControlKind, Fingerprint, NameSource, Occlusion, Placement, SelectOption};
use crate::condition::{self, Aspect, Condition, Scalar};
use crate::facts::*;
use crate::geometry::{Point, Rect, ViewportSize};
use crate::id::*;
use crate::locator::{
    ByAltText, ByCss, ByLabel, ByPlaceholder, ByRole, ByTestId, ByText, ByTitle, ByXPath, Locator, StateFilter,
    ToggleFilter,
};
use crate::observation::*;
use crate::outcome::*;
use crate::plan::{Author, PLAN_VERSION, PlanContext, PlanDraft, Violation, ViolationCode};
use crate::planning::*;
use crate::policy::Rule;
use crate::profile::Profile;
use crate::record::*;
use crate::risk::RiskClass;
use crate::role::Role;
use crate::secret::{DigestKey, FactText, WireText};
use crate::step::{RiskLevel, Step};
use crate::text_match::{Pattern, RegexFlags, TextPattern};
use crate::verdict::Verdict;
use crate::wire::{Bounded, ClickCount, Count, Millis, Nth, Pixels, Probability};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-zA-Z0-9 ]{0,12}",
        1 => "\\PC{0,8}",
        1 => Just("\"\\\u{202e}\n\u{0}<b>".to_owned()),
    ]
}

fn bounded<const MAX: usize>() -> impl Strategy<Value = Bounded<MAX>> {
    text().prop_map(|text| Bounded::cut(&text))
}

fn wire_text() -> impl Strategy<Value = WireText> {
    prop_oneof![
        4 => text().prop_map(|text| WireText::cut(&text)),
        1 => text().prop_map(|text| WireText::Redacted(DigestKey::new([7; 32]).digest(&text))),
    ]
}

fn fact_text() -> impl Strategy<Value = FactText> {
    prop_oneof![
        4 => text().prop_map(FactText::Clear),
        1 => text().prop_map(|text| FactText::Clear(text.clone()).redact(&DigestKey::new([7; 32]), [text.as_str()])),
    ]
}

/// References to targets: observed ids and declared names.
pub fn target_ref() -> BoxedStrategy<TargetRef> {
    prop_oneof!["c[1-9][0-9]{0,2}", "[a-z][a-zA-Z0-9_]{0,8}"]
        .prop_filter_map("a reference", |s| TargetRef::new(&s).ok())
        .boxed()
}

fn role() -> impl Strategy<Value = Role> {
    proptest::sample::select(Role::ALL)
}

fn pattern() -> impl Strategy<Value = Pattern> {
    prop_oneof![Just("^/orders/[0-9]+$"), Just("dash"), Just("(?i)done|ok"), Just("a.*b")]
        .prop_filter_map("a pattern", |source| Pattern::new(source).ok())
}

fn text_pattern() -> impl Strategy<Value = TextPattern> {
    prop_oneof![
        4 => bounded().prop_map(TextPattern::Literal),
        1 => pattern().prop_map(|pattern| TextPattern::Regex(pattern, RegexFlags::default())),
    ]
}

fn millis() -> impl Strategy<Value = Millis> {
    (0_u32..=3_600_000).prop_map(Millis::clamped)
}

fn count() -> impl Strategy<Value = Count> {
    (0_u32..=1_000_000).prop_map(Count::clamped)
}

fn number() -> impl Strategy<Value = f64> {
    // Quarters survive a trip through decimal text exactly.
    (-40_000_i32..40_000).prop_map(|quarters| f64::from(quarters) / 4.0)
}

fn point() -> impl Strategy<Value = Point> {
    (number(), number()).prop_map(|(x, y)| Point { x, y })
}

fn rect() -> impl Strategy<Value = Rect> {
    (number(), number(), number(), number()).prop_map(|(x, y, width, height)| Rect { x, y, width, height })
}

fn probability() -> impl Strategy<Value = Probability> {
    (0_u8..=8).prop_map(|eighths| Probability::clamped(f64::from(eighths) / 8.0))
}

fn exactness() -> impl Strategy<Value = Option<bool>> {
    any::<Option<bool>>()
}

fn strategy() -> impl Strategy<Value = crate::locator::Strategy> {
    use crate::locator::Strategy as S;
    let toggle = || {
        option::of(proptest::sample::select(&[Toggle::True, Toggle::False, Toggle::Mixed][..]).prop_map(ToggleFilter))
    };
    let filter = (toggle(), any::<Option<bool>>(), any::<Option<u8>>())
        .prop_map(|(checked, disabled, level)| StateFilter { checked, disabled, level, ..StateFilter::default() });
    prop_oneof![
        text_pattern().prop_map(|test_id| S::TestId(ByTestId { test_id })),
        (role(), option::of(text_pattern()), exactness(), option::of(filter), any::<Option<bool>>()).prop_map(
            |(role, name, exact, states, include_hidden)| S::Role(ByRole { role, name, exact, states, include_hidden })
        ),
        (text_pattern(), exactness()).prop_map(|(text, exact)| S::Label(ByLabel { text, exact })),
        (text_pattern(), exactness()).prop_map(|(text, exact)| S::Placeholder(ByPlaceholder { text, exact })),
        (text_pattern(), exactness()).prop_map(|(text, exact)| S::AltText(ByAltText { text, exact })),
        (text_pattern(), exactness()).prop_map(|(text, exact)| S::Title(ByTitle { text, exact })),
        (text_pattern(), exactness()).prop_map(|(text, exact)| S::Text(ByText { text, exact })),
        bounded().prop_map(|selector| S::Css(ByCss { selector })),
        bounded().prop_map(|expression| S::XPath(ByXPath { expression })),
    ]
}

/// Locators, nested at most twice.
pub fn locator() -> BoxedStrategy<Locator> {
    let leaf = strategy().prop_map(Locator::from).boxed();
    leaf.prop_recursive(2, 6, 2, |inner| {
        (
            strategy(),
            vec(inner.clone(), 0..2),
            option::of(inner.clone()),
            (option::of(text_pattern()), option::of(text_pattern())),
            (option::of(inner.clone()), option::of(inner)),
            any::<Option<bool>>(),
            option::of((-5_i32..5).prop_map(Nth::clamped)),
        )
            .prop_map(|(strategy, frame, within, (has_text, has_not_text), (has, has_not), visible, nth)| {
                Locator {
                    strategy,
                    frame,
                    within: within.map(Box::new),
                    has_text,
                    has_not_text,
                    has: has.map(Box::new),
                    has_not: has_not.map(Box::new),
                    visible,
                    nth,
                }
            })
    })
    .boxed()
}

fn scalar() -> impl Strategy<Value = Scalar> {
    prop_oneof![
        text().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ]
    .prop_filter_map("a scalar", Scalar::new)
}

fn aspect() -> impl Strategy<Value = Aspect> {
    proptest::sample::select(&[Aspect::Text, Aspect::Value, Aspect::Name, Aspect::States, Aspect::Box][..])
}

fn dialog_kind() -> impl Strategy<Value = DialogKind> {
    proptest::sample::select(
        &[DialogKind::Alert, DialogKind::Confirm, DialogKind::Prompt, DialogKind::BeforeUnload][..],
    )
}

/// Conditions of every kind, nested at most twice.
pub fn condition() -> BoxedStrategy<Condition> {
    use condition as c;
    let on = || target_ref().prop_map(|target| c::OnTarget { target });
    let named =
        || (target_ref(), bounded(), wire_text()).prop_map(|(target, name, value)| c::Named { target, name, value });
    let valued = || (target_ref(), wire_text()).prop_map(|(target, value)| c::Valued { target, value });
    let texted = || (target_ref(), wire_text()).prop_map(|(target, text)| c::Texted { target, text });
    let on_target = prop_oneof![
        on().prop_map(Condition::Exists),
        on().prop_map(Condition::Absent),
        on().prop_map(Condition::Visible),
        on().prop_map(Condition::Hidden),
        on().prop_map(Condition::Enabled),
        on().prop_map(Condition::Editable),
        on().prop_map(Condition::Focused),
        on().prop_map(Condition::Appears),
        on().prop_map(Condition::Disappears),
    ]
    .boxed();
    let of_text = prop_oneof![
        named().prop_map(Condition::AttrEquals),
        named().prop_map(Condition::AriaState),
        valued().prop_map(Condition::ValueEquals),
        valued().prop_map(Condition::ValueContains),
        texted().prop_map(Condition::ElementTextContains),
        texted().prop_map(Condition::ElementTextEquals),
        texted().prop_map(Condition::NameEquals),
        texted().prop_map(Condition::DescriptionEquals),
        texted().prop_map(Condition::ErrorMessageEquals),
    ]
    .boxed();
    let text_of = proptest::sample::select(
        &[
            c::TextOf::Text,
            c::TextOf::Value,
            c::TextOf::Name,
            c::TextOf::Description,
            c::TextOf::ErrorMessage,
            c::TextOf::Attribute,
        ][..],
    );
    let of_element = prop_oneof![
        (target_ref(), any::<Option<bool>>())
            .prop_map(|(target, checked)| Condition::Checked(c::Checked { target, checked })),
        (target_ref(), option::of(probability()))
            .prop_map(|(target, ratio)| Condition::InViewport(c::InViewport { target, ratio })),
        (target_ref(), bounded(), scalar())
            .prop_map(|(target, name, value)| Condition::PropertyEquals(c::PropertyEquals { target, name, value })),
        (target_ref(), option::of(count()), option::of(count()), option::of(count())).prop_map(
            |(target, equals, at_least, at_most)| Condition::Count(c::CountOf { target, equals, at_least, at_most })
        ),
        (target_ref(), option::of(aspect()))
            .prop_map(|(target, aspect)| Condition::Changed(c::Changed { target, aspect })),
        (target_ref(), option::of(text_of), option::of(bounded()), text_pattern())
            .prop_map(|(target, of, name, pattern)| Condition::Matches(c::Matches { target, of, name, pattern })),
        (target_ref(), role()).prop_map(|(target, role)| Condition::RoleEquals(c::RoleEquals { target, role })),
        (target_ref(), bounded())
            .prop_map(|(target, class)| Condition::ClassContains(c::ClassContains { target, class })),
        (target_ref(), vec(bounded(), 0..3))
            .prop_map(|(target, values)| Condition::SelectedValues(c::SelectedValues { target, values })),
    ]
    .boxed();
    let of_page = prop_oneof![
        pattern().prop_map(|pattern| Condition::UrlMatches(c::PatternOnly { pattern })),
        pattern().prop_map(|pattern| Condition::TitleMatches(c::PatternOnly { pattern })),
        option::of(millis()).prop_map(|timeout_ms| Condition::NetworkIdle(c::NetworkIdle { timeout_ms })),
        (option::of(bounded()), option::of(pattern()), any::<Option<u16>>()).prop_map(|(method, url, status)| {
            Condition::RequestObserved(c::RequestObserved { method, url, status })
        }),
        (option::of(dialog_kind()), option::of(bounded()))
            .prop_map(|(dialog, text)| Condition::DialogOpened(c::DialogOpened { dialog, text })),
        option::of(bounded()).prop_map(|filename| Condition::DownloadStarted(c::DownloadStarted { filename })),
        option::of(bounded()).prop_map(|to| Condition::UrlChanges(c::UrlChanges { to })),
        option::of(bounded()).prop_map(|url| Condition::NewTab(c::UrlPart { url })),
        Just(Condition::AnyEffect(c::Nothing {})),
    ]
    .boxed();
    let leaf = prop_oneof![on_target, of_text, of_element, of_page].boxed();
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            (vec(inner.clone(), 0..3), option::of(millis()))
                .prop_map(|(conditions, timeout_ms)| Condition::AllOf(c::Group { conditions, timeout_ms })),
            vec(inner.clone(), 0..3).prop_map(|conditions| Condition::AnyOf(c::Group { conditions, timeout_ms: None })),
            inner.prop_map(|condition| Condition::Not(c::Negated { condition: Box::new(condition) })),
        ]
    })
    .boxed()
}

fn option_choice() -> impl Strategy<Value = OptionChoice> {
    prop_oneof![
        bounded().prop_map(OptionChoice::Text),
        count().prop_map(OptionChoice::Index),
        bounded().prop_map(OptionChoice::Value),
        bounded().prop_map(OptionChoice::Label),
        (bounded(), bounded(), proptest::option::of(count())).prop_map(|(value, label, index)| {
            OptionChoice::Every(OptionTraits { value: Some(value), label: Some(label), index })
        }),
    ]
}

fn option_choices() -> impl Strategy<Value = OptionChoices> {
    prop_oneof![
        option_choice().prop_map(|choice| OptionChoices { choices: vec![choice], is_list: false }),
        vec(option_choice(), 0..3).prop_map(|choices| OptionChoices { choices, is_list: true }),
    ]
}

fn credential() -> impl Strategy<Value = CredentialRef> {
    "[a-z]{1,8}".prop_map(CredentialRef::new)
}

fn viewport_size() -> impl Strategy<Value = ViewportSize> {
    (200_u32..4000, 200_u32..4000).prop_map(|(width, height)| ViewportSize { width, height })
}

/// Actions of every kind.
pub fn action() -> BoxedStrategy<Action> {
    let on = || target_ref().prop_map(|target_ref| OnTarget { target_ref });
    let set_checked = || {
        (target_ref(), option::of(point()), any::<Option<bool>>())
            .prop_map(|(target_ref, position, dry_run)| SetChecked { target_ref, position, dry_run })
    };
    let modifiers = proptest::sample::select(
        &[Modifier::Alt, Modifier::Control, Modifier::Meta, Modifier::Shift, Modifier::ControlOrMeta][..],
    );
    let button = proptest::sample::select(&[MouseButton::Left, MouseButton::Middle, MouseButton::Right][..]);
    let direction = proptest::sample::select(
        &[Direction::Up, Direction::Down, Direction::Left, Direction::Right, Direction::Top, Direction::Bottom][..],
    );
    let extract_kind = proptest::sample::select(
        &[
            ExtractKind::Text,
            ExtractKind::Html,
            ExtractKind::OuterHtml,
            ExtractKind::Value,
            ExtractKind::Attribute,
            ExtractKind::Markdown,
            ExtractKind::Form,
            ExtractKind::Metadata,
            ExtractKind::Schema,
        ][..],
    );
    let scope = proptest::sample::select(&[Scope::View, Scope::Full][..]);
    let pixels = || (-1000_i32..1000).prop_map(Pixels::clamped);
    let page = prop_oneof![
        (bounded(), option::of(prop_oneof![Just(Statuses::Any), vec(100_u16..600, 1..4).prop_map(Statuses::Of)]))
            .prop_map(|(url, status)| Action::Navigate(Navigate { url, status })),
        Just(Action::GoBack(Nothing {})),
        Just(Action::GoForward(Nothing {})),
        Just(Action::Reload(Nothing {})),
        condition().prop_map(|condition| Action::WaitFor(WaitFor { condition })),
        option::of(millis()).prop_map(|quiet_ms| Action::WaitForIdle(WaitForIdle { quiet_ms })),
        (option::of(target_ref()), option::of(direction), option::of(pixels()), option::of(pixels())).prop_map(
            |(target_ref, direction, delta_y, delta_x)| Action::Scroll(Scroll {
                target_ref,
                direction,
                delta_y,
                delta_x
            })
        ),
        count().prop_map(|tab| Action::SwitchTab(SwitchTab { tab })),
        option::of(count()).prop_map(|tab| Action::CloseTab(CloseTab { tab })),
    ]
    .boxed();
    let pointer = prop_oneof![
        (
            target_ref(),
            option::of(button),
            option::of((1_u8..=3).prop_map(ClickCount::clamped)),
            option::of(vec(modifiers, 0..2)),
            option::of(point()),
            any::<Option<bool>>()
        )
            .prop_map(|(target_ref, button, count, modifiers, position, dry_run)| {
                Action::Click(Click { target_ref, button, count, modifiers, position, dry_run })
            }),
        (target_ref(), option::of(point()))
            .prop_map(|(target_ref, position)| Action::Hover(Hover { target_ref, position })),
        (target_ref(), target_ref(), option::of(millis()), option::of(point()), option::of(point())).prop_map(
            |(target_ref, to, duration_ms, position, to_position)| {
                Action::DragTo(DragTo { target_ref, to, duration_ms, position, to_position })
            }
        ),
        (target_ref(), option::of(millis()))
            .prop_map(|(target_ref, duration_ms)| Action::LongPress(LongPress { target_ref, duration_ms })),
        (point(), option::of(viewport_size()))
            .prop_map(|(point, viewport)| Action::ClickPoint(ClickPoint { point, viewport })),
        (point(), point(), option::of(millis()), option::of(viewport_size())).prop_map(
            |(from, to, duration_ms, viewport)| Action::DragPoints(DragPoints { from, to, duration_ms, viewport })
        ),
        (point(), option::of(millis()), option::of(viewport_size())).prop_map(|(point, duration_ms, viewport)| {
            Action::LongPressPoint(LongPressPoint { point, duration_ms, viewport })
        }),
    ]
    .boxed();
    let keyboard = prop_oneof![
        (target_ref(), option::of(wire_text()), option::of(credential()), option::of(millis())).prop_map(
            |(target_ref, text, credential_ref, delay_ms)| {
                Action::Type(TypeText { target_ref, text, credential_ref, delay_ms })
            }
        ),
        (target_ref(), option::of(wire_text()), option::of(credential())).prop_map(
            |(target_ref, value, credential_ref)| Action::SetValue(SetValue { target_ref, value, credential_ref })
        ),
        (option::of(target_ref()), bounded()).prop_map(|(target_ref, keys)| Action::Press(Press { target_ref, keys })),
        (target_ref(), option_choices()).prop_map(|(target_ref, option)| Action::Select(Select { target_ref, option })),
        (target_ref(), vec(bounded(), 0..3))
            .prop_map(|(target_ref, files)| Action::Upload(Upload { target_ref, files })),
        on().prop_map(Action::Clear),
        on().prop_map(Action::SelectText),
        set_checked().prop_map(Action::Check),
        set_checked().prop_map(Action::Uncheck),
        on().prop_map(Action::Focus),
    ]
    .boxed();
    let read = prop_oneof![
        (option::of(target_ref()), extract_kind).prop_map(|(target_ref, kind)| {
            Action::Extract(Extract { query: ExtractQuery { target_ref, kind, name: None, schema: None } })
        }),
        option::of(scope).prop_map(|scope| Action::Snapshot(Snapshot { scope })),
        (option::of(target_ref()), any::<Option<bool>>())
            .prop_map(|(target_ref, full_page)| Action::Screenshot(Screenshot { target_ref, full_page })),
        option::of(target_ref()).prop_map(|target_ref| Action::GetDom(GetDom { target_ref })),
        (bounded(), any::<Option<bool>>(), option::of(count()))
            .prop_map(|(query, regex, context)| Action::SearchPage(SearchPage { query, regex, context })),
        (bounded(), option::of(vec(bounded(), 0..3)), option::of(target_ref())).prop_map(
            |(selector, attributes, within)| Action::FindElements(FindElements { selector, attributes, within })
        ),
        (option::of(bounded()), option::of(bounded()))
            .prop_map(|(css, xpath)| Action::ResolveSelector(ResolveSelector { css, xpath })),
        condition().prop_map(|condition| Action::Assert(Assert { condition })),
    ]
    .boxed();
    let outside = prop_oneof![
        (bounded(), option::of(bounded()), option::of(bounded()))
            .prop_map(|(url, method, body)| Action::Fetch(Fetch { url, method, headers: None, body })),
        bounded().prop_map(|path| Action::ReadFile(ReadFile { path })),
        (bounded(), bounded()).prop_map(|(path, content)| Action::WriteFile(WriteFile { path, content })),
        bounded().prop_map(|command| Action::Shell(Shell { command })),
        bounded().prop_map(|script| Action::Evaluate(Evaluate { script })),
        bounded().prop_map(|name| Action::Call(Call { name, args: None })),
        option::of(bounded()).prop_map(|text| Action::AcceptDialog(AcceptDialog { text })),
        Just(Action::DismissDialog(Nothing {})),
        option::of(bounded()).prop_map(|result| Action::Finish(Finish { result })),
        bounded().prop_map(|reason| Action::Fail(Fail { reason })),
        bounded().prop_map(|question| Action::AskUser(AskUser { question })),
    ]
    .boxed();
    prop_oneof![page, pointer, keyboard, read, outside].boxed()
}

fn risk_level() -> impl Strategy<Value = RiskLevel> {
    proptest::sample::select(&[RiskLevel::Low, RiskLevel::Medium, RiskLevel::High][..])
}

/// Steps.
pub fn step() -> BoxedStrategy<Step> {
    (
        action(),
        vec(condition(), 0..2),
        vec(condition(), 0..2),
        option::of(millis()),
        option::of(bounded()),
        option::of(risk_level()),
        option::of(probability()),
    )
        .prop_map(|(action, pre, post, timeout_ms, explanation, estimated_risk, confidence)| Step {
            action,
            pre,
            post,
            timeout_ms,
            explanation,
            estimated_risk,
            confidence,
        })
        .boxed()
}

/// Plans.
pub fn plan_draft() -> BoxedStrategy<PlanDraft> {
    let profile =
        proptest::sample::select(&[Profile::Assisted, Profile::SemiAuto, Profile::Auto, Profile::Unleashed][..]);
    let context = (option::of(bounded()), option::of(vec(bounded(), 0..2)), option::of(viewport_size()))
        .prop_map(|(task, allowed_domains, viewport)| PlanContext { task, allowed_domains, viewport });
    (
        option::of(context),
        btree_map(target_ref(), locator(), 0..3),
        vec(step(), 0..4),
        option::of(bounded()),
        option::of(bounded()),
        option::of(profile),
    )
        .prop_map(|(context, candidates, steps, plan_id, reasoning_summary, autonomy_level)| PlanDraft {
            version: PLAN_VERSION.to_owned(),
            context,
            candidates,
            steps,
            plan_id,
            reasoning_summary,
            autonomy_level,
            author: Author::Model,
        })
        .boxed()
}

fn toggle() -> impl Strategy<Value = Toggle> {
    proptest::sample::select(&[Toggle::True, Toggle::False, Toggle::Mixed][..])
}

fn states() -> impl Strategy<Value = States> {
    (any::<[bool; 4]>(), option::of(toggle()), any::<Option<bool>>(), any::<Option<u8>>()).prop_map(
        |([disabled, readonly, editable, focused], checked, expanded, level)| States {
            disabled,
            readonly,
            editable,
            focused,
            checked,
            expanded,
            level,
            ..States::default()
        },
    )
}

/// Facts about an element.
pub fn element_facts() -> BoxedStrategy<ElementFacts> {
    (
        (role(), text(), option::of(text()), vec(text(), 0..2)),
        (option::of(fact_text()), option::of(fact_text()), vec(text(), 0..2)),
        btree_map("[a-z]{1,5}", option::of(fact_text()), 0..2),
        (states(), any::<Option<bool>>(), option::of(rect()), any::<bool>()),
    )
        .prop_map(
            |(
                (role, name, test_id, labels),
                (text, value, classes),
                attributes,
                (states, visible, rect, sensitive),
            )| {
                ElementFacts {
                    role,
                    name,
                    tag: "div".to_owned(),
                    test_id,
                    labels,
                    text,
                    value,
                    classes,
                    attributes,
                    states,
                    visible,
                    in_viewport: visible.map(|visible| if visible { 1.0 } else { 0.0 }),
                    rect,
                    sensitive,
                    ..ElementFacts::default()
                }
            },
        )
        .boxed()
}

fn sample() -> impl Strategy<Value = Sample> {
    let target = prop_oneof![
        element_facts().prop_map(TargetFacts::one),
        Just(TargetFacts::none()),
        (2_u32..5).prop_map(|matches| TargetFacts { matches: Some(matches), element: None }),
        Just(TargetFacts { matches: None, element: None }),
    ];
    (any::<u32>(), text(), text(), btree_map(target_ref(), target, 0..3))
        .prop_map(|(at_ms, url, title, targets)| Sample { at_ms, url, title, targets })
}

fn request() -> impl Strategy<Value = RequestFact> {
    (text(), text(), any::<Option<u16>>(), option::of(text())).prop_map(|(method, url, status, failure)| RequestFact {
        method,
        url,
        status,
        failure,
    })
}

/// Facts of a step.
pub fn facts() -> BoxedStrategy<Facts> {
    let dialog = (dialog_kind(), text()).prop_map(|(kind, message)| DialogFact { kind, message });
    let events = (any::<Option<bool>>(), vec(request(), 0..2), vec(dialog, 0..2), any::<Option<bool>>()).prop_map(
        |(network_idle, requests, dialogs, any_effect)| EventFacts {
            network_idle,
            requests,
            dialogs,
            any_effect,
            ..EventFacts::default()
        },
    );
    (option::of(sample()), vec(sample(), 0..3), events)
        .prop_map(|(before, samples, events)| Facts { before, samples, events })
        .boxed()
}

/// Candidates with this id.
pub fn candidate(id: u32) -> BoxedStrategy<Candidate> {
    let control = proptest::sample::select(
        &[
            ControlKind::Plain,
            ControlKind::Text,
            ControlKind::Password,
            ControlKind::Multiline,
            ControlKind::RichText,
            ControlKind::Number,
            ControlKind::Range,
            ControlKind::DateTime,
            ControlKind::Color,
            ControlKind::File,
            ControlKind::Select,
            ControlKind::Check,
        ][..],
    );
    let choice = (text(), text(), any::<bool>(), any::<bool>())
        .prop_map(|(value, label, selected, disabled)| SelectOption { value, label, selected, disabled });
    let fingerprint = (role(), text(), option::of(text()), option::of(text()), text()).prop_map(
        |(role, name, test_id, context, path)| Fingerprint { role, name, test_id, context, path, frame: String::new() },
    );
    (
        (role(), text(), option::of(text()), any::<bool>(), states()),
        (control, option::of(fact_text()), vec(choice, 0..3), option::of(text())),
        (option::of(rect()), any::<bool>(), option::of(text()), vec(locator(), 0..2)),
        fingerprint,
    )
        .prop_map(
            move |(
                (role, name, context, ambiguous, states),
                (control, value, options, label),
                (rect, in_view, by, locators),
                fingerprint,
            )| {
                Candidate {
                    id: CandidateId(id),
                    role,
                    name,
                    name_source: NameSource::Walk,
                    context,
                    ambiguous,
                    description: None,
                    states,
                    control,
                    value,
                    options,
                    label,
                    placeholder: None,
                    test_id: None,
                    destination: None,
                    form: None,
                    rect,
                    placement: if in_view { Placement::InView } else { Placement::OffView },
                    occlusion: by.map(|by| Occlusion { ratio: 0.5, by }),
                    scroll_container: None,
                    frame: 0,
                    depth: 0,
                    locators,
                    fingerprint,
                    node: None,
                    about: None,
                }
            },
        )
        .boxed()
}

/// Observations of one frame with candidates `c1`, `c2`, …
pub fn observation() -> BoxedStrategy<Observation> {
    let candidates = (0_u32..6).prop_flat_map(|n| (1..=n).map(candidate).collect::<Vec<_>>());
    (text(), text(), candidates, any::<Option<u8>>())
        .prop_map(|(url, title, candidates, left_out)| Observation {
            url,
            title,
            candidates,
            frames: vec![FrameSummary {
                parent: None,
                url: "https://shop.test/".to_owned(),
                origin: "https://shop.test".to_owned(),
                name: String::new(),
                out_of_process: false,
                omitted: None,
            }],
            truncated: left_out
                .map(|candidates| Truncation { candidates: u64::from(candidates), ..Truncation::default() }),
            ..Observation::blank(PageId::new("page"), "")
        })
        .boxed()
}

/// Step records.
pub fn step_record() -> BoxedStrategy<StepRecord> {
    let verdict = proptest::sample::select(&[Verdict::Holds, Verdict::Fails, Verdict::Unknown][..]);
    let judged = || {
        (condition(), verdict.clone(), any::<bool>(), any::<bool>(), any::<Option<u32>>()).prop_map(
            |(condition, verdict, vacuous, default, latency_ms)| Judged {
                condition,
                verdict,
                vacuous,
                default,
                latency_ms,
            },
        )
    };
    let failure = (text(), option::of(text()), vec(text(), 0..2)).prop_map(|(message, blocker, matches)| Failure {
        stage: Stage::Act,
        cause: Cause::Covered,
        message,
        facts: FailureFacts { blocker, matches, rule: Some(Rule::Origin), ..FailureFacts::default() },
    });
    let target = prop_oneof![
        locator().prop_map(RecordedTarget::Declared),
        candidate(1).prop_map(|candidate| RecordedTarget::Observed(Box::new(candidate))),
    ];
    (
        (any::<u32>(), any::<Option<u32>>(), step(), btree_map(target_ref(), target, 0..2)),
        (vec(judged(), 0..2), option::of(facts()), vec(judged(), 0..2), option::of(facts())),
        (option::of(failure), any::<u64>(), vec(request(), 0..2)),
    )
        .prop_map(
            |(
                (step_index, plan_index, action, candidates),
                (pre_check, pre_facts, post_check, post_facts),
                (failure, duration_ms, requests),
            )| {
                StepRecord {
                    schema_version: RECORD_VERSION.to_owned(),
                    run_id: RunId::new("run"),
                    step_index,
                    plan_index,
                    origin: StepOrigin::Plan,
                    attempt: 1,
                    planning: plan_index,
                    action,
                    candidates,
                    observation: Some(ObservationId(1)),
                    url: "https://shop.test/".to_owned(),
                    risk: RiskClass::Write,
                    effect_class: crate::effect::EffectClass::Reversible,
                    pre_check,
                    pre_facts,
                    execution: Execution {
                        ts_ms: 0,
                        duration_ms,
                        timings: Timings::default(),
                        cdp: CdpCounts::default(),
                    },
                    post_check,
                    post_facts,
                    effects: Some(EffectRecord { requests, ..EffectRecord::default() }),
                    artifacts: Vec::new(),
                    result: if failure.is_some() { StepResult::Failed } else { StepResult::Ok },
                    failure,
                    data: None,
                    input_sent: true,
                    no_observed_effect: false,
                }
            },
        )
        .boxed()
}

/// Records of calls of a model.
pub fn planning_record() -> BoxedStrategy<PlanningRecord> {
    let purpose = proptest::sample::select(&[CallPurpose::Plan, CallPurpose::Repair, CallPurpose::Reformulate][..]);
    let role = proptest::sample::select(
        &[MessageRole::System, MessageRole::User, MessageRole::Assistant, MessageRole::Tool][..],
    );
    let message = (role, text()).prop_map(|(role, text)| PromptMessage { role, text });
    let violation = (text(), text()).prop_map(|(path, message)| Violation {
        code: ViolationCode::UnknownTarget,
        path,
        message,
        rule: None,
    });
    let end = prop_oneof![
        Just(CallEnd::Accepted),
        vec(violation, 0..2).prop_map(|violations| CallEnd::Invalid { violations }),
        (text(), text()).prop_map(|(code, message)| CallEnd::Failed { code, message }),
    ];
    (
        (any::<u32>(), purpose, vec(message, 0..3), text(), option::of(text()), option::of(0.0..=1.0)),
        (any::<u64>(), any::<Option<u32>>(), end),
    )
        .prop_map(
            |((planning_index, purpose, input, output, reasoning, confidence), (latency_ms, first_step_ms, end))| {
                PlanningRecord {
                    schema_version: RECORD_VERSION.to_owned(),
                    run_id: RunId::new("run"),
                    planning_index,
                    ts_ms: 0,
                    observation: Some(ObservationId(1)),
                    call: PlanningCall {
                        engine: "fake".to_owned(),
                        model: reasoning.clone(),
                        purpose,
                        input,
                        output,
                        reasoning,
                        confidence,
                        input_tokens: latency_ms,
                        output_tokens: 0,
                        latency_ms,
                        first_step_ms: first_step_ms.map(u64::from),
                        attempts: planning_index,
                        end,
                    },
                }
            },
        )
        .boxed()
}

/// The same object with one change anywhere in it: a member dropped, added or retyped, or a list of its values in
/// place of an object. For tests that the schema and [`wire::read`](crate::wire::read) refuse the same things.
pub fn mutated(value: Value) -> BoxedStrategy<Value> {
    (any::<prop::sample::Index>(), 0_u8..5)
        .prop_map(move |(index, how)| {
            let mut value = value.clone();
            let mut paths = Vec::new();
            collect(&value, &mut Vec::new(), &mut paths);
            if !paths.is_empty() {
                let path = index.get(&paths).clone();
                change(&mut value, &path, how);
            }
            value
        })
        .boxed()
}

fn collect(value: &Value, path: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    let mut visit = |key: String, inner: &Value| {
        path.push(key);
        paths.push(path.clone());
        collect(inner, path, paths);
        path.pop();
    };
    match value {
        Value::Object(object) => object.iter().for_each(|(key, inner)| visit(key.clone(), inner)),
        Value::Array(items) => items.iter().enumerate().for_each(|(index, inner)| visit(index.to_string(), inner)),
        _ => {}
    }
}

fn change(value: &mut Value, path: &[String], how: u8) {
    let Some((last, parents)) = path.split_last() else { return };
    let pointer: String = parents.iter().map(|key| format!("/{}", key.replace('~', "~0").replace('/', "~1"))).collect();
    match value.pointer_mut(&pointer) {
        Some(parent @ Value::Object(_)) if how == 4 => {
            *parent = parent.as_object().into_iter().flat_map(|object| object.values().cloned()).collect();
        }
        Some(Value::Object(object)) => match how {
            0 => drop(object.remove(last)),
            1 => drop(object.insert("unheardOf".to_owned(), Value::Null)),
            2 => drop(object.insert(last.clone(), Value::from(true))),
            _ => drop(object.insert(last.clone(), Value::from(-1))),
        },
        Some(Value::Array(items)) => {
            if let Some(item) = last.parse().ok().and_then(|index: usize| items.get_mut(index)) {
                *item = if how.is_multiple_of(2) { Value::from(3.5) } else { Value::from("x") };
            }
        }
        _ => {}
    }
}
