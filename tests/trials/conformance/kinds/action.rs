//! `action.jsonl`: page, actions, then JavaScript that must become true, or the expected kind of error.

use anyhow::Result;
use cuebook_grammar::outcome::{Cause, StepFailure, StepOutcome};
use serde_json::{Map, Value, json};

use super::{Declared, described, shortened};
use crate::conformance::case::{Case, Entry, Expect, Target};
use crate::conformance::stage::{STEP_MS, Stage, Stepped};
use crate::conformance::verdict::{Bucket, Ending, Failure};

/// Runs one case whose page is open.
///
/// # Errors
/// If the machinery breaks.
pub(crate) async fn run(stage: &mut Stage, case: &Case) -> Result<Ending> {
    for entry in case.entries() {
        if entry.verb == "eval" {
            let js = stage.server.fill(entry.js.as_deref().unwrap_or_default());
            stage.execute(&js).await?;
            if let Some(expect) = &entry.expect
                && let Some(failure) = judge_page(stage, expect).await
            {
                return Ok(failure.into());
            }
            continue;
        }
        // An entry of a list that says nothing must go well; a single action is judged by what the case says.
        let usual = Expect::default();
        let is_last = case.entries().last().is_some_and(|last| std::ptr::eq(last, entry));
        let of_case = case.expect.as_ref().filter(|_| is_last);
        let expect = entry.expect.as_ref().or(of_case).unwrap_or(&usual);
        if let Some(failure) = run_entry(stage, entry, expect).await? {
            return Ok(failure.into());
        }
        if let (Some(_), Some(of_case)) = (&entry.expect, of_case)
            && let Some(failure) = judge_page(stage, of_case).await
        {
            return Ok(failure.into());
        }
    }
    Ok(Ending::Passed)
}

async fn run_entry(stage: &mut Stage, entry: &Entry, expect: &Expect) -> Result<Option<Failure>> {
    let mut declared = Declared::default();
    let step = match step_of(stage, entry, &mut declared)? {
        Ok(step) => step,
        Err(failure) => return Ok(Some(failure)),
    };
    for during in &entry.during {
        let js = stage.server.fill(&during.js);
        stage.evaluate(&format!("void setTimeout(() => {{ ({js}); }}, {})", during.after_ms)).await?;
    }
    let words = shortened(&step.to_string());
    let stepped = stage.step(&declared.into_value(), &step).await?;
    let judged = match (&expect.error, stepped) {
        (None, Stepped::Refused(why)) => Some(Failure::new(Bucket::PlanRefused, words, why)),
        (None, Stepped::Ended(StepOutcome::Failed(failure))) => {
            Some(Failure::new(Bucket::StepFailed(failure.cause), words, described(&failure)))
        }
        (None, Stepped::Ended(StepOutcome::Succeeded(_))) => None,
        // What the check refuses never reaches the page: a stronger answer of the same kind.
        (Some(kind), Stepped::Refused(why)) => (!is_refusable(kind))
            .then(|| Failure::new(Bucket::PlanRefused, format!("the error `{kind}` of {words}"), why)),
        (Some(kind), Stepped::Ended(StepOutcome::Failed(failure))) => {
            (!means(kind, &entry.verb, &failure)).then(|| {
                let expected = format!("the error `{kind}` of {words}");
                Failure::new(Bucket::OtherCause(failure.cause), expected, described(&failure))
            })
        }
        (Some(kind), Stepped::Ended(StepOutcome::Succeeded(success))) => {
            let seen = format!("effects {:?}", success.evidence.effects);
            Some(Failure::new(Bucket::StepWentWell, format!("the error `{kind}` of {words}"), shortened(&seen)))
        }
    };
    if judged.is_some() {
        return Ok(judged);
    }
    Ok(judge_page(stage, expect).await)
}

async fn judge_page(stage: &Stage, expect: &Expect) -> Option<Failure> {
    let js = expect.js.as_ref()?;
    let seen = stage.becomes_true(js).await.err()?;
    Some(Failure::new(Bucket::JsNotTrue, shortened(js), shortened(&seen)))
}

/// Returns `true` for a kind of error that the check may find before the page is touched.
fn is_refusable(kind: &str) -> bool {
    matches!(kind, "bad key" | "bad value")
}

/// Returns `true` if a failure is of the kind that the neutral form names.
fn means(kind: &str, verb: &str, failure: &StepFailure) -> bool {
    use Cause as C;
    match kind {
        "not visible" => failure.cause == C::NotVisible,
        "disabled" => failure.cause == C::NotEnabled,
        "covered" => failure.cause == C::Covered,
        "detached" => matches!(failure.cause, C::TargetNotFound | C::TargetStale),
        "outside viewport" => failure.cause == C::NotInView,
        "unstable" => failure.cause == C::NotStable,
        "readonly" => failure.cause == C::NotEditable,
        "option not found" => failure.cause == C::OptionNotFound,
        "wrong element type" => matches!(failure.cause, C::InvalidArgument | C::NotEditable | C::Unsupported),
        "bad value" | "bad key" => failure.cause == C::InvalidArgument,
        "ambiguous" => failure.cause == C::TargetAmbiguous,
        "no effect" => matches!(failure.cause, C::PostconditionFailed | C::EffectUnknown),
        // What did not come about within the time: what was waited for, or a thing to act on.
        "timeout" if verb == "wait" => matches!(failure.cause, C::DeadlineExceeded | C::PostconditionFailed),
        "timeout" => matches!(failure.cause, C::DeadlineExceeded | C::TargetNotFound),
        _ => false,
    }
}

/// The step of the language for an entry.
fn step_of(stage: &Stage, entry: &Entry, declared: &mut Declared) -> Result<Result<Value, Failure>> {
    let mut step = Map::new();
    let mut put = |name: &str, value: Value| drop(step.insert(name.to_owned(), value));
    put("timeoutMs", entry.timeout_ms.unwrap_or(STEP_MS).into());
    let unsayable = |what: &str| Failure::new(Bucket::NoSuchVerb(what.to_owned()), entry.verb.clone(), "");
    macro_rules! target {
        ($target:expr) => {{
            let Some(target): &Option<Target> = $target else {
                return Ok(Err(unsayable("an action on nothing")));
            };
            match declared.add(target) {
                Ok(name) => Value::String(name),
                Err(failure) => return Ok(Err(failure)),
            }
        }};
    }
    let verb = match entry.verb.as_str() {
        "click" | "dblclick" => {
            let count = if entry.verb == "dblclick" { Some(2) } else { entry.click_count };
            if let Some(count) = count {
                put("count", count.into());
            }
            if let Some(button) = &entry.button {
                put("button", button.clone().into());
            }
            if !entry.modifiers.is_empty() {
                put("modifiers", json!(entry.modifiers));
            }
            "click"
        }
        "fill" => {
            put("value", entry.text.clone().unwrap_or_default().into());
            "setValue"
        }
        "type" => {
            put("text", entry.text.clone().unwrap_or_default().into());
            "type"
        }
        "press" => {
            put("keys", entry.key.clone().unwrap_or_default().into());
            "press"
        }
        "select" => {
            put("option", options_of(&entry.options));
            "select"
        }
        "drag" => {
            put("to", target!(&entry.to));
            "dragTo"
        }
        "upload" => {
            put("files", json!(stage.write_files(&entry.files)?));
            "upload"
        }
        "wait" => {
            let name = target!(&entry.target);
            let Some(condition) = awaited(entry.state.as_deref().unwrap_or("visible"), &name) else {
                return Ok(Err(unsayable("this state")));
            };
            put("type", "waitFor".into());
            put("condition", condition);
            return Ok(Ok(Value::Object(step)));
        }
        "select_text" => "selectText",
        "scroll_into_view" => "scroll",
        "hover" => "hover",
        "check" => "check",
        "uncheck" => "uncheck",
        "focus" => "focus",
        "clear" => "clear",
        other => return Ok(Err(unsayable(other))),
    };
    put("type", verb.into());
    if entry.verb == "type" && entry.target.is_none() {
        // Keys without a target go to what has the focus.
        let focused: Target = serde_json::from_value(json!({ "strategy": "css", "selector": ":focus" }))?;
        put("targetRef", target!(&Some(focused)));
    } else if entry.verb != "press" || entry.target.is_some() {
        put("targetRef", target!(&entry.target));
    }
    if let Some(position) = &entry.position {
        put("position", position.clone());
    }
    if entry.trial == Some(true) {
        put("dryRun", true.into());
    }
    Ok(Ok(Value::Object(step)))
}

/// The condition that a `wait` waits for.
fn awaited(state: &str, name: &Value) -> Option<Value> {
    let kind = match state {
        "visible" => "visible",
        "hidden" => "hidden",
        "attached" => "exists",
        "detached" => "absent",
        "enabled" => "enabled",
        "editable" => "editable",
        "checked" => "checked",
        "disabled" => {
            return Some(json!({ "kind": "not", "condition": { "kind": "enabled", "target": name } }));
        }
        _ => return None,
    };
    Some(json!({ "kind": kind, "target": name }))
}

fn options_of(options: &[Value]) -> Value {
    let plain = |option: &Value| option.get("value_or_label").cloned().unwrap_or_else(|| option.clone());
    match options {
        [only] => plain(only),
        several => several.iter().map(plain).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuebook_grammar::outcome::Stage as At;

    #[test]
    fn each_kind_of_error_is_met_by_its_cause() {
        let covered = StepFailure::new(At::Actionability, Cause::Covered, "");
        assert!(means("covered", "click", &covered));
        assert!(!means("timeout", "click", &covered));
        let late = StepFailure::new(At::Act, Cause::DeadlineExceeded, "");
        assert!(means("timeout", "click", &late));
        assert!(!means("covered", "click", &late));
        let without_effect = StepFailure::new(At::Postcondition, Cause::PostconditionFailed, "");
        assert!(means("timeout", "wait", &without_effect));
        assert!(!means("timeout", "click", &without_effect));
    }

    #[test]
    fn one_option_is_a_choice_and_several_are_a_list() {
        assert_eq!(options_of(&[json!({"value_or_label": "a"})]), json!("a"));
        assert_eq!(options_of(&[json!({"index": 1}), json!({"label": "b"})]), json!([{"index": 1}, {"label": "b"}]));
        assert_eq!(options_of(&[]), json!([]));
    }
}
