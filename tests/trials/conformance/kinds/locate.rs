//! `locate.jsonl`: page, target, then the exact element, count, state or text.

use anyhow::Result;
use serde_json::{Value, json};

use super::{Declared, must_go_well, shortened};
use crate::conformance::case::{Case, Entry, Expect, Target};
use crate::conformance::stage::{STEP_MS, Stage};
use crate::conformance::target;
use crate::conformance::verdict::{Bucket, Ending, Failure};

/// Runs one case whose page is open.
///
/// # Errors
/// If the machinery breaks.
pub(crate) async fn run(stage: &mut Stage, case: &Case) -> Result<Ending> {
    let usual = Expect::default();
    let expect = case.expect.as_ref().unwrap_or(&usual);
    for entry in case.entries() {
        let Some(target) = &entry.target else {
            return Ok(Failure::new(Bucket::NoSuchVerb("no target".to_owned()), entry.verb.clone(), "").into());
        };
        let judged = match (entry.verb.as_str(), entry.what.as_deref()) {
            ("locate", _) => located(stage, target, expect).await?,
            ("read", Some(what)) => read(stage, target, what, entry, expect).await?,
            (verb, what) => {
                let words = format!("{verb} {}", what.unwrap_or_default());
                Err(Failure::new(Bucket::NoSuchVerb(words), "", ""))
            }
        };
        if let Err(failure) = judged {
            return Ok(failure.into());
        }
    }
    Ok(Ending::Passed)
}

type Judged = Result<(), Failure>;

async fn located(stage: &mut Stage, target: &Target, expect: &Expect) -> Result<Judged> {
    if let Some(count) = expect.count
        && let Err(failure) = counted(stage, target, count).await?
    {
        return Ok(Err(failure));
    }
    if let Some(all) = &expect.outer_html_all {
        if let Err(failure) = counted(stage, target, all.len() as u64).await? {
            return Ok(Err(failure));
        }
        for (index, html) in all.iter().enumerate() {
            let one = if target.nth.is_some() { target.clone() } else { target::at(target, index) };
            if let Err(failure) = has_property(stage, &one, "outerHTML", &html.as_str().into()).await? {
                return Ok(Err(failure));
            }
        }
    }
    if let Some(html) = &expect.outer_html
        && let Err(failure) = has_property(stage, target, "outerHTML", &html.as_str().into()).await?
    {
        return Ok(Err(failure));
    }
    for (name, value) in &expect.others {
        if let Some(property) = name.strip_prefix("property:")
            && let Err(failure) = has_property(stage, target, property, value).await?
        {
            return Ok(Err(failure));
        }
    }
    Ok(Ok(()))
}

/// States that a condition holds now.
async fn holds(stage: &mut Stage, declared: Declared, condition: Value, bucket: Bucket) -> Result<Judged> {
    let step = json!({ "type": "assert", "condition": condition, "timeoutMs": STEP_MS });
    Ok(must_go_well(stage, declared, step).await?.map(drop).map_err(|failure| match failure.bucket {
        Bucket::StepFailed(_) => Failure { bucket, ..failure },
        _ => failure,
    }))
}

async fn counted(stage: &mut Stage, target: &Target, count: u64) -> Result<Judged> {
    let mut declared = Declared::default();
    let name = match declared.add(target) {
        Ok(name) => name,
        Err(failure) => return Ok(Err(failure)),
    };
    holds(stage, declared, json!({ "kind": "count", "target": name, "equals": count }), Bucket::Count).await
}

async fn has_property(stage: &mut Stage, target: &Target, property: &str, value: &Value) -> Result<Judged> {
    let mut declared = Declared::default();
    let name = match declared.add(target) {
        Ok(name) => name,
        Err(failure) => return Ok(Err(failure)),
    };
    let condition = json!({ "kind": "propertyEquals", "target": name, "name": property, "value": value });
    holds(stage, declared, condition, Bucket::OtherElement).await
}

async fn read(stage: &mut Stage, target: &Target, what: &str, entry: &Entry, expect: &Expect) -> Result<Judged> {
    let Some(value) = &expect.value else {
        return Ok(Err(Failure::new(Bucket::NoSuchVerb(format!("read {what} without a value")), "", "")));
    };
    if what == "count" {
        return counted(stage, target, value.as_u64().unwrap_or(u64::MAX)).await;
    }
    if matches!(what, "allTextContents" | "allInnerTexts") {
        let property = if what == "allInnerTexts" { "innerText" } else { "textContent" };
        let texts = value.as_array().cloned().unwrap_or_default();
        if let Err(failure) = counted(stage, target, texts.len() as u64).await? {
            return Ok(Err(failure));
        }
        for (index, text) in texts.iter().enumerate() {
            if let Err(failure) = has_property(stage, &target::at(target, index), property, text).await? {
                return Ok(Err(failure));
            }
        }
        return Ok(Ok(()));
    }
    if matches!(what, "textContent" | "innerText") {
        return Ok(has_property(stage, target, what, value).await?.map_err(|failure| Failure {
            bucket: if failure.bucket == Bucket::OtherElement { Bucket::OtherValue } else { failure.bucket },
            ..failure
        }));
    }
    let mut declared = Declared::default();
    let name = match declared.add(target) {
        Ok(name) => name,
        Err(failure) => return Ok(Err(failure)),
    };
    let extracted = match what {
        "innerHTML" => Some("html"),
        "inputValue" => Some("value"),
        _ => None,
    };
    if let Some(kind) = extracted {
        let query = json!({ "targetRef": name, "kind": kind });
        let step = json!({ "type": "extract", "query": query, "timeoutMs": STEP_MS });
        return Ok(must_go_well(stage, declared, step).await?.and_then(|data| {
            let seen = data.unwrap_or_default();
            if seen == *value {
                Ok(())
            } else {
                Err(Failure::new(Bucket::OtherValue, value.to_string(), shortened(&seen.to_string())))
            }
        }));
    }
    let state = |kind: &str| json!({ "kind": kind, "target": name });
    let not = |condition: Value| json!({ "kind": "not", "condition": condition });
    let condition = match what {
        "isVisible" => state("visible"),
        "isHidden" => state("hidden"),
        "isEnabled" => state("enabled"),
        "isDisabled" => not(state("enabled")),
        "isChecked" => state("checked"),
        "isEditable" => state("editable"),
        "getAttribute" => {
            let attribute = entry.name.as_deref().unwrap_or_default();
            let equals =
                |text: &Value| json!({ "kind": "attrEquals", "target": name, "name": attribute, "value": text });
            match value {
                // An absent attribute equals no text at all.
                Value::Null => not(equals(&json!(""))),
                text => equals(text),
            }
        }
        other => return Ok(Err(Failure::new(Bucket::NoSuchVerb(format!("read {other}")), "", ""))),
    };
    let condition = if *value == Value::Bool(false) { not(condition) } else { condition };
    holds(stage, declared, condition, Bucket::OtherValue).await
}
