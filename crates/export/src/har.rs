//! HAR 1.2: the requests that steps caused.
//!
//! Source: <http://www.softwareishard.com/blog/har-12-spec/>. Where the traffic of a run was recorded, its entries are all
//! that the browser requested, with header fields and bodies. Else they are the requests of the steps, of which the log
//! keeps method, URL, status and failure, with the time of their step. What is not known is -1 where the format knows
//! that, else empty, never invented.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cuebook_datalayer::ArtifactStore;
use cuebook_datalayer::run_dir::utc;
use cuebook_datalayer::traffic::Exchange;
use cuebook_grammar::facts::RequestFact;
use cuebook_grammar::outcome::ArtifactRef;
use cuebook_grammar::record::StepRecord;
use serde_json::{Value, json};
use url::Url;

use crate::error::ExportError;
use crate::folder::Part;
use crate::format::Redaction;
use crate::job::Job;
use crate::locating;
use crate::source::{ExportEntry, Pages, RunSource};

/// Writes the archive of a run.
pub(crate) fn archive(job: &mut Job<'_>, run: &RunSource, part: &mut Part) -> Result<(), ExportError> {
    let creator = json!({ "name": "cuebook", "version": env!("CARGO_PKG_VERSION") });
    part.write(format!("{{\"log\":{{\"version\":\"1.2\",\"creator\":{creator},\"entries\":[").as_bytes())?;
    // What personal data headers and bodies hold cannot be told.
    let mut traffic = if job.redaction == Redaction::None { run.traffic()? } else { None };
    let (mut pages, mut is_first, mut browser) = (Vec::new(), true, None);
    let mut steps = Vec::new();
    job.read(run, &mut |seen, _: &Pages| {
        let record = match seen {
            ExportEntry::Header(header) => {
                browser = header.browser;
                return Ok(());
            }
            ExportEntry::Step(record) => record,
            _ => return Ok(()),
        };
        let entries = entries(&record);
        let is_page = traffic.is_some() || !entries.is_empty();
        if is_page {
            pages.push(page(&record));
        }
        if traffic.is_some() {
            steps.push((record.execution.ts_ms, id(&record)));
            return Ok(());
        }
        for entry in entries {
            let comma = if std::mem::take(&mut is_first) { "\n" } else { ",\n" };
            part.write(format!("{comma}{entry}").as_bytes())?;
        }
        Ok(())
    })?;
    let store = run.store();
    for exchange in traffic.iter_mut().flatten() {
        let exchange = exchange?;
        // What comes before the first step belongs to none.
        let sent = exchange.requested_ms.unwrap_or(exchange.ts_ms);
        let step = steps.iter().rfind(|(began, _)| *began <= sent).map(|(_, id)| id.as_str());
        let comma = if std::mem::take(&mut is_first) { "\n" } else { ",\n" };
        part.write(format!("{comma}{}", exchanged(&exchange, step, &store)).as_bytes())?;
    }
    let browser: Option<String> = browser;
    let (name, version) = browser.as_deref().and_then(|browser| browser.split_once('/')).unwrap_or_default();
    let browser = json!({ "name": name, "version": version });
    part.write(format!("\n],\"pages\":{},\"browser\":{browser}}}}}\n", Value::from(pages)).as_bytes())
}

fn id(record: &StepRecord) -> String {
    format!("step_{}_{}", record.step_index, record.attempt)
}

/// A step with requests is a page.
fn page(record: &StepRecord) -> Value {
    json!({
        "startedDateTime": utc(record.execution.ts_ms), "id": id(record), "title": locating::title(record),
        "pageTimings": { "onContentLoad": -1, "onLoad": -1 },
    })
}

fn entries(record: &StepRecord) -> Vec<Value> {
    let Some(effects) = &record.effects else { return Vec::new() };
    let sent = effects.requests.iter().map(|request| entry(record, request, None));
    let denied = effects.denied.iter().filter_map(|denied| {
        let (method, url) = (denied.method.clone(), denied.url.clone()?);
        let request = RequestFact { method, url, status: None, failure: None, retry_after_ms: None, duration_ms: None };
        Some(entry(record, &request, Some(format!("denied by rule {}", denied.rule))))
    });
    sent.chain(denied).collect()
}

fn query(url: &str) -> Vec<Value> {
    let Ok(url) = Url::parse(url) else { return Vec::new() };
    url.query_pairs().map(|(name, value)| json!({ "name": name, "value": value })).collect()
}

/// An exchange that was recorded.
fn exchanged(exchange: &Exchange, step: Option<&str>, store: &ArtifactStore) -> Value {
    let named = |fields: &[(String, String)]| -> Vec<Value> {
        fields.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect()
    };
    let find = |fields: &[(String, String)], wanted: &str| {
        let found = fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    };
    let body = |reference: &Option<ArtifactRef>| reference.as_ref().map(|reference| store.read(reference));
    // Earlier recordings have one time.
    let sent = exchange.requested_ms.unwrap_or(exchange.ts_ms);
    let wait = exchange.ts_ms.saturating_sub(sent);
    let receive = exchange.ended_ms.unwrap_or(exchange.ts_ms).saturating_sub(exchange.ts_ms);
    let mut entry = json!({
        "startedDateTime": utc(sent), "time": wait.saturating_add(receive), "_resourceType": exchange.resource_type.to_lowercase(),
        "request": {
            "method": exchange.method, "url": exchange.url, "httpVersion": "", "cookies": [],
            "headers": named(&exchange.request_headers), "queryString": query(&exchange.url), "headersSize": -1,
            "bodySize": exchange.request_body.as_ref().map_or(0, |body| body.bytes),
        },
        "response": {
            "status": exchange.status.unwrap_or(0), "statusText": "", "httpVersion": "", "cookies": [],
            "headers": named(&exchange.headers),
            "content": { "size": 0, "mimeType": find(&exchange.headers, "content-type") },
            "redirectURL": find(&exchange.headers, "location"), "headersSize": -1, "bodySize": -1,
        },
        "cache": {},
        "timings": { "blocked": -1, "dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": wait, "receive": receive },
    });
    if let Some(step) = step {
        entry["pageref"] = step.into();
    }
    if let Some(Ok(sent)) = body(&exchange.request_body) {
        let text = String::from_utf8_lossy(&sent);
        entry["request"]["postData"] =
            json!({ "mimeType": find(&exchange.request_headers, "content-type"), "text": text, "params": [] });
    }
    if exchange.is_socket() {
        let said = body(&exchange.body).and_then(Result::ok);
        let said: Value = said.and_then(|said| serde_json::from_slice(&said).ok()).unwrap_or_default();
        entry["_webSocketMessages"] = said["messages"].clone();
        entry["response"]["headers"] = json!([]);
        entry["response"]["content"]["mimeType"] = "".into();
    }
    let content = &mut entry["response"]["content"];
    match body(&exchange.body).filter(|_| !exchange.is_socket()) {
        Some(Ok(bytes)) => {
            content["size"] = bytes.len().into();
            match String::from_utf8(bytes) {
                Ok(text) => content["text"] = text.into(),
                Err(error) => {
                    content["encoding"] = "base64".into();
                    content["text"] = STANDARD.encode(error.as_bytes()).into();
                }
            }
        }
        Some(Err(_)) => content["comment"] = "the file of the body is missing".into(),
        None if exchange.body_omitted => {
            content["size"] = (-1).into();
            content["comment"] = "not recorded".into();
        }
        None => {}
    }
    if let Some(error) = &exchange.failure {
        entry["response"]["_error"] = error.clone().into();
    }
    entry
}

fn entry(record: &StepRecord, request: &RequestFact, denied: Option<String>) -> Value {
    let mut entry = json!({
        "pageref": id(record), "startedDateTime": utc(record.execution.ts_ms), "time": 0,
        "request": {
            "method": request.method, "url": request.url, "httpVersion": "", "cookies": [], "headers": [],
            "queryString": query(&request.url), "headersSize": -1, "bodySize": -1,
        },
        "response": {
            "status": request.status.unwrap_or(0), "statusText": "", "httpVersion": "", "cookies": [], "headers": [],
            "content": { "size": -1, "mimeType": "", "comment": "not recorded" }, "redirectURL": "",
            "headersSize": -1, "bodySize": -1,
        },
        "cache": {},
        "timings": { "blocked": -1, "dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": 0, "receive": 0,
                     "comment": "not recorded" },
    });
    // Chrome's name for it; an own member begins with an underscore.
    if let Some(error) = denied.or_else(|| request.failure.clone()) {
        entry["response"]["_error"] = error.into();
    }
    entry
}
