//! A trace of version 8, which the viewers of Playwright 1.58 to 1.65 open.
//!
//! Source: Playwright's `packages/trace/src/trace.ts` and `traceModernizer.ts`. Rules that a loader enforces: an `after`
//! names a call that began before it; the last line is whole. A rule of newer viewers: the `after` line comes before the
//! snapshot that it names, or that is shown on the wrong tab.
//!
//! A page is shown by its picture: a snapshot of one `IMG`, whose content each snapshot overrides with its own.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};

use cuebook_datalayer::run_dir::utc;
use cuebook_grammar::facts::RequestFact;
use cuebook_grammar::geometry::Rect;
use cuebook_grammar::outcome::ArtifactRef;
use cuebook_grammar::record::{RecordedTarget, RunHeader, StepRecord};
use serde_json::{Value, json};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::code;
use crate::error::ExportError;
use crate::folder::Part;
use crate::job::Job;
use crate::locating;
use crate::source::{ExportEntry, Pages, RunSource};

/// The newest version that all of these viewers read.
const VERSION: u32 = 8;
/// The id of the only tab, in the form that older viewers expect.
const PAGE: &str = "page@1";
const FRAME: &str = "frame@1";
/// The address of the picture in every snapshot.
const PICTURE: &str = "http://cuebook.invalid/picture.png";

/// Writes the trace of a run.
pub(crate) fn trace(job: &mut Job<'_>, run: &RunSource, part: &mut Part) -> Result<(), ExportError> {
    let mut zip = ZipWriter::new(part.handle()?);
    let packed = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated).large_file(true);
    let stored = packed.compression_method(CompressionMethod::Stored);
    zip.start_file("trace.trace", packed)?;
    let mut trace =
        Trace { zip: BufWriter::with_capacity(1 << 16, zip), started_ms: run.started_ms, pictures: BTreeMap::new() };
    let mut requests = Vec::new();
    job.read(run, &mut |seen, pages: &Pages| match seen {
        ExportEntry::Header(header) => trace.header(&header),
        ExportEntry::Step(record) => {
            let at = trace.at(record.execution.ts_ms);
            let effects = record.effects.iter().flat_map(|effects| &effects.requests);
            requests.extend(effects.map(|request| (at, record.execution.ts_ms, request.clone())));
            let viewport = pages.last().map_or((1280.0, 720.0), |page| (page.viewport.width, page.viewport.height));
            trace.step(&record, viewport)
        }
        _ => Ok(()),
    })?;
    let (pictures, zip) = (trace.pictures, trace.zip.into_inner());
    let mut zip = zip.map_err(|error| ExportError::Io { path: run.path(), source: error.into_error() })?;
    let io = |source| ExportError::Io { path: run.path(), source };

    zip.start_file("trace.network", packed)?;
    writeln!(zip, "{}", picture_resource(run.started_ms)).map_err(io)?;
    for (at, ts_ms, request) in requests {
        writeln!(zip, "{}", resource(at, ts_ms, &request)).map_err(io)?;
    }
    for (name, picture) in pictures {
        if let Some(bytes) = run.picture(&picture) {
            zip.start_file(format!("resources/{name}"), stored)?;
            zip.write_all(&bytes).map_err(io)?;
        }
    }
    zip.finish()?.sync_data().map_err(io)
}

struct Trace {
    zip: BufWriter<ZipWriter<File>>,
    started_ms: u64,
    /// Pictures that snapshots show, by their names in the archive.
    pictures: BTreeMap<String, ArtifactRef>,
}

impl Trace {
    /// Milliseconds since the start of the run.
    const fn at(&self, ts_ms: u64) -> u64 {
        ts_ms.saturating_sub(self.started_ms)
    }

    fn line(&mut self, event: &Value) -> Result<(), ExportError> {
        writeln!(self.zip, "{event}").map_err(|source| ExportError::Io { path: "trace.trace".into(), source })
    }

    fn header(&mut self, header: &RunHeader) -> Result<(), ExportError> {
        let event = json!({
            "version": VERSION, "type": "context-options", "origin": "library", "browserName": "chromium",
            "options": {}, "platform": "linux", "wallTime": header.ts_ms, "monotonicTime": 0,
            "sdkLanguage": "javascript", "contextId": "context@1",
            "title": header.task.as_deref().unwrap_or(header.run_id.as_str()),
        });
        self.line(&event)
    }

    /// The events of an attempt: before, log, input, after, and the pictures.
    fn step(&mut self, record: &StepRecord, viewport: (f64, f64)) -> Result<(), ExportError> {
        let id = format!("call@{}.{}", record.step_index, record.attempt);
        let start = self.at(record.execution.ts_ms);
        let end = start.saturating_add(record.execution.duration_ms);
        let picture = |kind: &str| record.artifacts.iter().find(|one| one.kind == kind);
        let before = picture("screenshotBefore").map(|picture| ("before", start, picture));
        let after = picture("screenshotAfter").or_else(|| picture("screenshot")).map(|picture| ("after", end, picture));
        let name = |one: &(&str, u64, &ArtifactRef)| format!("{}@{id}", one.0);
        let action = &record.action.action;
        let target = action.targets().first().and_then(|target| locating::locator(record, target));
        let mut params = serde_json::to_value(&record.action)?;
        if let (Some(locator), Value::Object(params)) = (&target, &mut params) {
            params.insert("selector".to_owned(), code::selector(locator).into());
        }
        let mut event = json!({
            "type": "before", "callId": id, "startTime": start, "class": "Frame",
            "method": action.kind().meta().name, "params": params, "title": locating::title(record), "pageId": PAGE,
        });
        if let Some(before) = &before {
            event["beforeSnapshot"] = name(before).into();
        }
        self.line(&event)?;
        for (judged, when) in record
            .pre_check
            .iter()
            .zip(std::iter::repeat(start))
            .chain(record.post_check.iter().zip(std::iter::repeat(end)))
        {
            let words = judged.condition.in_words_naming(&|target| locating::target(record, target));
            let message = format!("{words}: {}", code::verdict(judged.verdict));
            self.line(&json!({ "type": "log", "callId": id, "time": when, "message": message }))?;
        }
        let point = center(record).filter(|_| record.input_sent).map(|(x, y)| json!({ "x": x, "y": y }));
        // Without one, the viewer shows the page after the action in its place.
        let input = before.map(|(_, at, picture)| ("input", at, picture)).filter(|_| record.input_sent);
        if let Some(input) = &input {
            let mut event = json!({ "type": "input", "callId": id, "inputSnapshot": name(input) });
            if let Some(point) = &point {
                event["point"] = point.clone();
            }
            self.line(&event)?;
        }
        let mut event = json!({ "type": "after", "callId": id, "endTime": end });
        if let Some(after) = &after {
            event["afterSnapshot"] = name(after).into();
        }
        if let Some(failure) = &record.failure {
            let message = format!("{}: {}", failure.cause.as_str(), failure.message);
            event["error"] = json!({ "name": failure.cause.as_str(), "message": message });
        }
        if let Some(point) = point {
            event["point"] = point;
        }
        self.line(&event)?;
        for one in [before, input, after].into_iter().flatten() {
            let snapshot = name(&one);
            self.snapshot(&id, &snapshot, record, one, viewport)?;
        }
        for (kind, text) in console(record) {
            let event = json!({ "type": "console", "messageType": kind, "text": text, "args": [], "time": end, "pageId": PAGE,
                                "location": { "url": record.url, "lineNumber": 0, "columnNumber": 0 } });
            self.line(&event)?;
        }
        Ok(())
    }

    fn snapshot(
        &mut self,
        call: &str,
        name: &str,
        record: &StepRecord,
        (phase, at, picture): (&str, u64, &ArtifactRef),
        (width, height): (f64, f64),
    ) -> Result<(), ExportError> {
        // A digest that is none is nothing that the archive could hold.
        if !picture.sha256.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Ok(());
        }
        let file = format!("{}.{}", picture.sha256, locating::extension(&picture.media_type));
        self.pictures.insert(file.clone(), picture.clone());
        let url = record.effects.as_ref().and_then(|effects| effects.url_after.as_ref()).filter(|_| phase == "after");
        let style = "display:block;width:100vw;height:auto";
        let html = json!(["HTML", {}, ["HEAD", {}, ["BASE", { "href": PICTURE }]],
                          ["BODY", { "style": "margin:0" }, ["IMG", { "src": PICTURE, "style": style }]]]);
        self.line(&json!({ "type": "frame-snapshot", "snapshot": {
            "callId": call, "snapshotName": name, "pageId": PAGE, "frameId": FRAME,
            "frameUrl": url.unwrap_or(&record.url), "doctype": "html", "html": html,
            "viewport": { "width": width, "height": height }, "timestamp": at, "wallTime": self.started_ms.saturating_add(at),
            "collectionTime": 0, "resourceOverrides": [{ "url": PICTURE, "sha1": file }], "isMainFrame": true } }))?;
        self.line(&json!({ "type": "screencast-frame", "pageId": PAGE, "sha1": file, "width": width, "height": height,
                           "timestamp": at }))
    }
}

/// The middle of the target: where it was observed, or where the facts found it.
fn center(record: &StepRecord) -> Option<(f64, f64)> {
    let target = *record.action.action.targets().first()?;
    let rect = match record.candidates.get(target)? {
        RecordedTarget::Observed(candidate) => candidate.rect,
        RecordedTarget::Declared(_) => {
            let facts = record.pre_facts.iter().chain(&record.post_facts);
            let mut samples = facts.flat_map(|facts| facts.before.iter().chain(&facts.samples));
            samples.find_map(|sample| sample.targets.get(target)?.element.as_ref()?.rect)
        }
    };
    let middle = rect.filter(Rect::has_area)?.center();
    Some((middle.x, middle.y))
}

/// Returns the errors on the page's console, and its problems as warnings, each with its level.
fn console(record: &StepRecord) -> impl Iterator<Item = (&'static str, &str)> {
    let effects = record.effects.iter();
    let errors = effects.clone().flat_map(|effects| &effects.console_errors).map(|text| ("error", text.as_str()));
    errors.chain(effects.flat_map(|effects| &effects.problems).map(|problem| ("warning", problem.message.as_str())))
}

/// A request as an entry of HAR with the members of the viewer.
fn resource(at: u64, ts_ms: u64, request: &RequestFact) -> Value {
    let mut snapshot = har_entry(ts_ms, &request.method, &request.url, request.status.map_or(-1, i32::from));
    snapshot["_monotonicTime"] = json!(at);
    snapshot["_frameref"] = FRAME.into();
    if let Some(failure) = &request.failure {
        snapshot["response"]["_failureText"] = failure.as_str().into();
    }
    json!({ "type": "resource-snapshot", "snapshot": snapshot })
}

/// The picture that all snapshots refer to. It comes first, so that it is there for each of them.
fn picture_resource(ts_ms: u64) -> Value {
    let mut snapshot = har_entry(ts_ms, "GET", PICTURE, 200);
    snapshot["_frameref"] = FRAME.into();
    snapshot["response"]["content"]["mimeType"] = "image/png".into();
    json!({ "type": "resource-snapshot", "snapshot": snapshot })
}

fn har_entry(ts_ms: u64, method: &str, url: &str, status: i32) -> Value {
    json!({
        "pageref": PAGE, "startedDateTime": utc(ts_ms), "time": 0,
        "request": { "method": method, "url": url, "httpVersion": "HTTP/1.1", "cookies": [], "headers": [],
                     "queryString": [], "headersSize": -1, "bodySize": -1 },
        "response": { "status": status, "statusText": "", "httpVersion": "HTTP/1.1", "cookies": [], "headers": [],
                      "content": { "size": -1, "mimeType": "x-unknown" }, "headersSize": -1, "bodySize": -1,
                      "redirectURL": "" },
        "cache": {}, "timings": { "send": -1, "wait": -1, "receive": -1 },
    })
}
