//! Strategies for property tests: any value of a wire type, within its bounds.
//!
//! They aim at variety, not at plans that make sense. [`any`] makes one of a type. The types of the wire are written
//! here once, by their fields and variants; verbs, conditions and locators bring theirs with their own tables. proptest's
//! derive is not used: it fills a `String` from a regular expression, which holds no control character and has to be
//! compiled for each text, and only an attribute on every such field could say otherwise.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::{BoxedStrategy, Just, Strategy, prop_oneof};
use proptest::sample::{Index, select};
use proptest::{bool, char, num, option};
use serde_json::{Map, Value, json};

pub use crate::generate::{Generate, any};

use crate::action::*;
use crate::candidate::{
    Activation, Bounds, Candidate, ControlKind, Fingerprint, NameSource, Occlusion, Placement, SelectOption, SentField,
};
use crate::condition::{Aspect, Scalar, TextOf};
use crate::effect::EffectClass;
use crate::facts::*;
use crate::generate::structs;
use crate::geometry::{Point, Rect, ViewportSize};
use crate::id::*;
use crate::locator::{Locator, StateFilter, ToggleFilter};
use crate::observation::*;
use crate::outcome::*;
use crate::plan::{Author, PLAN_VERSION, PlanContext, PlanDraft, Violation};
use crate::planning::*;
use crate::record::*;
use crate::report::{REPORT_VERSION, RunReport, StepReport, Usage};
use crate::role::Role;
use crate::secret::{DigestKey, FactText, WireText};
use crate::step::{RiskLevel, Step};
use crate::text_match::{Pattern, TextPattern};
use crate::verdict::Verdict;
use crate::vision::{FeatureKind, VisionFeature};
use crate::wire::{Bounded, Probability};

/// Enums without fields, by their variants: one that is not listed does not compile.
macro_rules! enums {
    ($( $name:ident: $($variant:ident)+; )+) => { $(
        impl Generate for $name {
            fn strategy() -> BoxedStrategy<Self> {
                const _: fn($name) = |one| match one { $( $name::$variant => {} )+ };
                select(&[$($name::$variant),+][..]).boxed()
            }
        }
    )+ };
}

/// Types with a strategy of their own.
macro_rules! leaves {
    ($( $type:ty = $strategy:expr; )+) => { $(
        impl Generate for $type {
            fn strategy() -> BoxedStrategy<Self> {
                $strategy.boxed()
            }
        }
    )+ };
}

leaves! {
    bool = bool::ANY;
    u8 = num::u8::ANY;
    u16 = num::u16::ANY;
    u32 = num::u32::ANY;
    u64 = num::u64::ANY;
    i64 = num::i64::ANY;
    // Quarters survive a trip through decimal text exactly.
    f64 = (-40_000_i32..40_000).prop_map(|quarters| f64::from(quarters) / 4.0);
    String = prop_oneof![
        3 => vec(prop_oneof![4 => char::range('0', 'z'), 1 => Just(' ')], 0..12),
        1 => vec(char::any(), 0..8),
        1 => Just("\"\\\u{202e}\n\u{0}<b>".chars().collect()),
    ]
    .prop_map(String::from_iter);
    // An optional value is absent where it is null.
    Value = prop_oneof![
        any::<String>().prop_map(Value::from),
        num::i32::ANY.prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        any::<Map<String, Value>>().prop_map(Value::from),
    ];
    Map<String, Value> = any::<Vec<(String, String)>>()
        .prop_map(|members| members.into_iter().map(|(name, text)| (name, Value::from(text))).collect());
    Scalar = prop_oneof![Just(Value::Null), any::<Value>()].prop_filter_map("a scalar", Scalar::new);
    Probability = (0_u8..=8).prop_map(|eighths| Probability::clamped(f64::from(eighths) / 8.0));
    Role = select(Role::ALL);
    ObservationId = any::<u64>().prop_map(ObservationId);
    CandidateId = prop_oneof![4 => 1_u32..9, 1 => 1_u32..1_000_000_000].prop_map(CandidateId);
    TargetRef = prop_oneof![
        any::<CandidateId>().prop_map(TargetRef::from),
        "[a-z][a-zA-Z0-9_.:-]{0,8}".prop_filter_map("a reference", |name| TargetRef::new(&name).ok()),
    ];
    WireText = prop_oneof![
        4 => any::<String>().prop_map(|text| WireText::cut(&text)),
        1 => any::<String>().prop_map(|text| WireText::Redacted(KEY.digest(&text))),
    ];
    FactText = prop_oneof![
        4 => any::<String>().prop_map(FactText::Clear),
        1 => any::<String>().prop_map(|text| FactText::Clear(text.clone()).redact(&KEY, &[text.as_str()])),
    ];
    Pattern = select(&["^/orders/[0-9]+$", "dash", "(?i)done|ok", "a.*b"][..])
        .prop_filter_map("a pattern", |source| Pattern::new(source).ok());
    TextPattern = prop_oneof![
        4 => any().prop_map(TextPattern::Literal),
        1 => (any::<Pattern>(), select(&["", "i", "ims"][..])).prop_filter_map("a pattern", |(pattern, flags)| {
            serde_json::from_value(json!({ "regex": pattern, "flags": flags })).ok()
        }),
    ];
    ToggleFilter = any().prop_map(ToggleFilter);
    Statuses = prop_oneof![Just(Statuses::Any), vec(100_u16..600, 1..4).prop_map(Statuses::Of)];
    OptionTraits = (any(), any(), any())
        .prop_map(|(value, label, index)| OptionTraits { value: Some(value), label: Some(label), index });
    OptionChoice = prop_oneof![
        any().prop_map(OptionChoice::Text),
        any().prop_map(OptionChoice::Index),
        any().prop_map(OptionChoice::Value),
        any().prop_map(OptionChoice::Label),
        any().prop_map(OptionChoice::Every),
    ];
    OptionChoices = prop_oneof![
        any().prop_map(|choice| OptionChoices { choices: vec![choice], is_list: false }),
        any().prop_map(|choices| OptionChoices { choices, is_list: true }),
    ];
    RecordedTarget = prop_oneof![
        any().prop_map(RecordedTarget::Declared),
        any().prop_map(RecordedTarget::Observed),
    ];
    TextPart = prop_oneof![
        any().prop_map(TextPart::Text),
        any().prop_map(TextPart::Image),
        any().prop_map(TextPart::Candidate),
    ];
    CallEnd = prop_oneof![
        Just(CallEnd::Accepted),
        any().prop_map(|violations| CallEnd::Invalid { violations }),
        (any(), any()).prop_map(|(code, message)| CallEnd::Failed { code, message }),
    ];
}

const KEY: DigestKey = DigestKey::new([7; 32]);

impl<const MAX: usize> Generate for Bounded<MAX> {
    fn strategy() -> BoxedStrategy<Self> {
        any::<String>().prop_map(|text| Self::cut(&text)).boxed()
    }
}

/// A part that is there in one of ten, so that recursion through several of them ends.
fn seldom<T: Generate + Default>() -> impl Strategy<Value = T> {
    option::weighted(0.1, any()).prop_map(Option::unwrap_or_default)
}

fn version(own: &'static str) -> Just<String> {
    Just(own.to_owned())
}

enums! {
    Aspect: Text Value Name States Box;
    CallPurpose: Plan Repair Reformulate Fill Look;
    ControlKind: Plain Text Password Multiline RichText Number Range DateTime Color File Select Check;
    DialogKind: Alert Confirm Prompt BeforeUnload;
    Direction: Up Down Left Right Top Bottom;
    DownloadEnd: Completed Canceled;
    EffectClass: ReadOnly Idempotent Reversible Destructive;
    FeatureKind: Button Link Icon Image Text Field Chart Other;
    MessageRole: System User Assistant Tool;
    Modifier: Alt Control Meta Shift ControlOrMeta;
    MouseButton: Left Middle Right;
    NameSource: Browser Walk;
    Placement: InView OffView;
    ProblemKind: Request Redirect Validation Alert Gesture;
    RiskLevel: Low Medium High;
    RunResult: Ok Failed Blocked Invalid Error Unproven Interrupted;
    Scope: View Full;
    SentField: Card Password OneTimeCode;
    Stage: Bind Confirm Resolve Precondition Actionability Act Postcondition;
    StepOrigin: Plan Repair Start Person;
    StepResult: Ok Failed Blocked Skipped;
    TextOf: Text Value Name Description ErrorMessage Attribute;
    Verdict: Holds Fails Unknown;
}

structs! {
    Point { x, y, }
    Rect { x, y, width, height, }
    ViewportSize { width = 200_u32..=20_000, height = 200_u32..=20_000, }

    StateFilter { checked, disabled, expanded, pressed, selected, level, }
    Locator {
        strategy, frame = seldom(), within = seldom(), has_text, has_not_text, has = seldom(), has_not = seldom(),
        visible, nth,
    }
    Step { action, pre, post, undo = Just(Vec::new()), timeout_ms, explanation, estimated_risk, confidence, }
    PlanContext { task, allowed_domains, viewport, }
    PlanDraft {
        version = version(PLAN_VERSION), context, candidates, goal, goal_reason, steps, plan_id,
        reasoning_summary, autonomy_level, author = Just(Author::Model),
    }
    Violation { code, path, message, rule, }

    States {
        disabled, readonly, editable, required, focused, invalid, multiselectable, checked, pressed, expanded, selected,
        haspopup, level, current,
    }
    Relations { selector, within, has, has_not, innermost_text, }
    ElementFacts {
        role, name, description, error_message, tag, labels, placeholder, alt, title, test_id, text, value,
        selected_values, selected_labels, attributes, properties, classes, states, visible, in_viewport, rect, sensitive,
        relations,
    }
    TargetFacts { matches, element, }
    Sample { at_ms, url, title, targets, }
    RequestFact { method, url, status, failure, retry_after_ms, duration_ms, }
    DialogFact { kind, message, }
    DownloadFact { filename, url, end, bytes, sha256, }
    EventFacts { network_idle, requests, dialogs, downloads, new_tabs, any_effect, }
    Facts { before, samples, events, }

    SelectOption { value, label, selected, disabled, }
    Activation { method, url, sends, button, icon, access_key, }
    Occlusion { ratio, by, }
    Fingerprint { role, name, test_id, context, path, frame, }
    Bounds { max_length, accept, position, set_size, }
    Candidate {
        id, role, name, name_source, context, ambiguous, description, states, control, value, bounds, options, label, placeholder,
        test_id, destination, form, activation, surroundings, rect, placement, occlusion, scroll_container, frame, depth, locators, fingerprint,
        node = Just(None), about = Just(None),
    }
    Viewport { width, height, scroll_x, scroll_y, page_width, page_height, device_pixel_ratio, }
    ScrolledPart { container, frame, x, y, }
    Pane { container, frame, above, below, left, right, }
    FrameSummary { parent, url, origin, name, out_of_process, omitted, }
    TabSummary { page, url, title, current, }
    Landmark { summary, frame, }
    Heading { level, text, }
    LiveText { kind, text, }
    Stated { name, price, currency, author, date, }
    Sketch { page_type, description, language, stated, landmarks, headings, live, modal, challenge, empty, }
    Truncation { candidates, elements, frames, off_view, keyboard, texts, accessible, }
    TextLine { kind, level, cells, more, before, frame, placement, behind, }
    Delta { since, came, went, changed, }
    Observation {
        schema_version = version(OBSERVATION_VERSION), id, page, scope, url, title, status, viewport, scrolled, panes,
        frames, candidates,
        recent, texts, sketch, dialog, tabs, truncated, delta, meanings = Just(BTreeMap::new()), fingerprint,
    }

    FailureFacts { target, blocker, matches, expected, seen, rule, grant, status, conditions, cover = Just(None), again = Just(None), }
    Judged { condition, verdict, vacuous, default, latency_ms, }
    MutationSummary { added, removed, attributes, texts, notable, background, }
    EffectRecord {
        url_before, url_after, new_document, mutations, target_changed, focus, target_focused, states, scrolled, requests,
        denied, problems, console_errors, dialogs, downloads, new_tabs, closed_tabs, refused_tabs, late,
    }
    Late { requests, downloads, new_tabs, }
    DeniedRequest { listener, sequence, ts_ms, method, host, port, rule, url, }
    Problem { kind, message, }
    ArtifactRef { kind, sha256, media_type, bytes, path, }
    Selectors { id, name, css, xpath, aria_label, text, point, }
    Timings { resolve_ms, actionable_ms, act_ms, post_ms, }

    Execution { ts_ms, duration_ms, timings, cdp, }
    CdpCounts { events, }
    Failure { stage, cause, message, facts, }
    StepRecord {
        schema_version = version(RECORD_VERSION), run_id, step_index, plan_index, origin, attempt, planning, plan_id,
        action,
        candidates, observation, url, risk, effect_class, pre_check, pre_facts, execution, post_check, post_facts, effects,
        target_box, selectors, artifacts, result, failure, data, input_sent, no_observed_effect,
    }
    PlanningRecord { schema_version = version(RECORD_VERSION), run_id, planning_index, ts_ms, observation, call, }
    PlanningCall {
        engine, model, purpose, input, output, reasoning, confidence, input_tokens, output_tokens, latency_ms,
        first_step_ms, attempts, end, others, features,
    }
    OtherDraft { output, end, }
    VisionFeature { label, kind, rect, center, confidence, candidate, }
    PromptMessage { role, text, }
    StepReport {
        index, plan_index, origin, action, result, failure, data, pre, post, effects, no_observed_effect, repairs,
        duration_ms,
    }
    Usage { planner_calls, input_tokens, output_tokens, }
    RunReport {
        schema_version = version(REPORT_VERSION), run_id, run_dir, result, error = Just(None), answer, steps, usage,
        enforcement, isolation, enforcement_note, late,
    }
}

/// Pages of one frame, whose candidates are `c1`, `c2`, …
pub fn page() -> BoxedStrategy<Observation> {
    let candidates = (0_usize..6).prop_flat_map(|count| vec(any::<Candidate>(), count));
    (any::<Observation>(), candidates)
        .prop_map(|(seen, candidates)| Observation {
            url: seen.url,
            title: seen.title,
            truncated: seen.truncated,
            candidates: (1..)
                .zip(candidates)
                .map(|(id, candidate)| Candidate { id: CandidateId(id), frame: 0, depth: 0, ..candidate })
                .collect(),
            frames: vec![FrameSummary {
                parent: None,
                url: "https://shop.test/".to_owned(),
                origin: "https://shop.test".to_owned(),
                name: String::new(),
                out_of_process: false,
                omitted: None,
            }],
            ..Observation::blank(PageId::new("page"), "")
        })
        .boxed()
}

/// Returns the object with one change anywhere in it: a member dropped, added, retyped or out of bounds, or a list of
/// its values in place of an object. For tests that the schema and [`wire::read`](crate::wire::read) refuse the same
/// things.
pub fn mutated(value: Value) -> BoxedStrategy<Value> {
    (proptest::arbitrary::any::<Index>(), 0_u8..8)
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
            5 => drop(object.insert(last.clone(), Value::from(0))),
            6 => drop(object.insert(last.clone(), Value::from(u32::MAX))),
            7 => drop(object.insert(last.clone(), Value::from("x".repeat(60_000)))),
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
