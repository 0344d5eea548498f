//! OpenTelemetry spans by the semantic conventions for generative AI, as OTLP in JSON: a request of spans a line.
//!
//! Sources: <https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>, where ids are hexadecimal and 64-bit
//! integers are text; <https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-agent-spans/>.
//!
//! Invariants:
//! - Ids are digests of what a span is about, so exporting a run again gives the same spans.
//! - A run's span is the last of its trace, and covers all others.
//! - Prompts and outputs of models are in no span: backends cut or refuse long attributes.

use cuebook_grammar::planning::CallEnd;
use cuebook_grammar::record::{PlanningRecord, RunEnd, RunHeader, RunResult, StepRecord, StepResult};
use serde_json::{Value, json};

use crate::error::ExportError;
use crate::folder::Part;
use crate::job::Job;
use crate::locating;
use crate::source::{ExportEntry, Pages, RunSource, digest, word};

/// Spans of a line: about 200 KiB, which collectors take in one request.
const LINE: usize = 256;
/// `SPAN_KIND_INTERNAL` of OTLP's enum `SpanKind`, for runs and steps.
const INTERNAL: u8 = 1;
/// `SPAN_KIND_CLIENT` of OTLP's enum `SpanKind`, for calls of models.
const CLIENT: u8 = 3;

/// Writes the trace of a run.
pub(crate) fn trace(job: &mut Job<'_>, run: &RunSource, part: &mut Part) -> Result<(), ExportError> {
    let mut trace =
        Trace { run: &run.id, header: None, end: None, time: (run.started_ms, run.started_ms), spans: Vec::new() };
    job.read(run, &mut |seen, _: &Pages| {
        match seen {
            ExportEntry::Header(header) => trace.header = Some(header),
            ExportEntry::Planning(record) => trace.chat(&record),
            ExportEntry::Step(record) => trace.tool(&record),
            ExportEntry::End(end) => trace.end = Some(end),
            ExportEntry::Observed(_) => {}
        }
        if trace.spans.len() < LINE { Ok(()) } else { part.line(&trace.request()) }
    })?;
    trace.agent();
    part.line(&trace.request())
}

/// The spans of a run that are not written yet.
struct Trace<'a> {
    run: &'a str,
    header: Option<Box<RunHeader>>,
    end: Option<Box<RunEnd>>,
    /// The times that its spans cover.
    time: (u64, u64),
    spans: Vec<Value>,
}

impl Trace<'_> {
    fn trace_id(&self) -> String {
        let half = |which: &str| digest([self.run.as_bytes(), which.as_bytes()]);
        half("trace, first half") + &half("trace, second half")
    }

    fn span_id(&self, kind: &str, number: u32, attempt: u32) -> String {
        digest([self.run.as_bytes(), kind.as_bytes(), &number.to_le_bytes(), &attempt.to_le_bytes()])
    }

    fn agent_id(&self) -> String {
        self.span_id("run", 0, 0)
    }

    fn add(&mut self, id: &str, (name, kind): (String, u8), (start_ms, end_ms): (u64, u64), more: Value) {
        self.time = (self.time.0.min(start_ms), self.time.1.max(end_ms));
        let nanoseconds = |ms: u64| ms.saturating_mul(1_000_000).to_string();
        let mut span = json!({
            "traceId": self.trace_id(), "spanId": id, "name": name, "kind": kind, "flags": 1,
            "startTimeUnixNano": nanoseconds(start_ms), "endTimeUnixNano": nanoseconds(end_ms),
        });
        let agent = self.agent_id();
        if id != agent {
            span["parentSpanId"] = agent.into();
        }
        if let (Some(span), Value::Object(more)) = (span.as_object_mut(), more) {
            span.extend(more);
        }
        self.spans.push(span);
    }

    /// A call of a model.
    fn chat(&mut self, record: &PlanningRecord) {
        let call = &record.call;
        let error = match &call.end {
            CallEnd::Accepted => None,
            CallEnd::Invalid { .. } => Some(("invalidPlan".to_owned(), String::new())),
            CallEnd::Failed { code, message } => Some((code.clone(), message.clone())),
        };
        let attributes = attributes([
            ("gen_ai.operation.name", "chat".into()),
            ("gen_ai.provider.name", call.engine.as_str().into()),
            ("gen_ai.request.model", call.model.as_deref().into()),
            ("gen_ai.usage.input_tokens", counted(call.input_tokens)),
            ("gen_ai.usage.output_tokens", counted(call.output_tokens)),
            ("error.type", error.as_ref().map(|(kind, _)| kind.as_str()).into()),
            ("cuebook.planning.index", record.planning_index.into()),
            ("cuebook.planning.purpose", word(&call.purpose).into()),
            ("cuebook.planning.attempts", call.attempts.into()),
        ]);
        let id = self.span_id("planning", record.planning_index, 0);
        let name = call.model.as_ref().map_or_else(|| "chat".to_owned(), |model| format!("chat {model}"));
        let time = (record.ts_ms.saturating_sub(call.latency_ms), record.ts_ms);
        let status = status(error.map(|(_, message)| message));
        self.add(&id, (name, CLIENT), time, json!({ "attributes": attributes, "status": status }));
    }

    /// An attempt of a step. It is linked to the call that planned it.
    fn tool(&mut self, record: &StepRecord) {
        let (failure, verb) = (record.failure.as_ref(), record.action.action.kind().meta().name);
        let is_error = record.result != StepResult::Ok;
        let error = failure.map_or_else(|| word(&record.result), |failure| word(&failure.cause));
        let attributes = attributes([
            ("gen_ai.operation.name", "execute_tool".into()),
            ("gen_ai.tool.name", verb.into()),
            ("gen_ai.tool.type", "function".into()),
            ("gen_ai.tool.call.id", format!("{}.{}", record.step_index, record.attempt).into()),
            ("error.type", is_error.then_some(error).into()),
            ("url.full", record.url.as_str().into()),
            ("cuebook.step.title", locating::title(record).into()),
            ("cuebook.step.index", record.step_index.into()),
            ("cuebook.step.attempt", record.attempt.into()),
            ("cuebook.step.origin", word(&record.origin).into()),
            ("cuebook.step.result", word(&record.result).into()),
            ("cuebook.step.effect_class", word(&record.effect_class).into()),
            ("cuebook.failure.stage", failure.map(|failure| word(&failure.stage)).into()),
        ]);
        let links: Vec<Value> = record
            .planning
            .map(|call| json!({ "traceId": self.trace_id(), "spanId": self.span_id("planning", call, 0) }))
            .into_iter()
            .collect();
        let id = self.span_id("step", record.step_index, record.attempt);
        let start = record.execution.ts_ms;
        let time = (start, start.saturating_add(record.execution.duration_ms));
        let message = failure.map(|failure| failure.message.clone()).unwrap_or_default();
        let status = status(is_error.then_some(message));
        let more = json!({ "attributes": attributes, "status": status, "links": links });
        self.add(&id, (format!("execute_tool {verb}"), INTERNAL), time, more);
    }

    /// Adds the span of the run, the parent of all others.
    fn agent(&mut self) {
        let Some(header) = self.header.take() else { return };
        let result = self.end.as_ref().map(|end| end.result);
        let error = result.filter(|result| *result != RunResult::Ok).map(|result| word(&result));
        let attributes = attributes([
            ("gen_ai.operation.name", "invoke_agent".into()),
            ("gen_ai.provider.name", "cuebook".into()),
            ("gen_ai.agent.name", "cuebook".into()),
            ("error.type", error.clone().into()),
            ("url.full", header.url.as_deref().into()),
            ("cuebook.run.id", header.run_id.as_str().into()),
            ("cuebook.run.command", header.command.as_str().into()),
            ("cuebook.run.task", header.task.as_deref().into()),
            ("cuebook.run.browser", header.browser.as_deref().into()),
            ("cuebook.run.result", result.map(|result| word(&result)).into()),
        ]);
        let end_ms = self.end.as_ref().map_or(0, |end| end.ts_ms).max(self.time.1);
        let more = json!({ "attributes": attributes, "status": status(error) });
        let id = self.agent_id();
        self.add(&id, ("invoke_agent cuebook".to_owned(), INTERNAL), (self.time.0, end_ms), more);
    }

    /// `ExportTraceServiceRequest` with the spans so far.
    fn request(&mut self) -> Value {
        let version = env!("CARGO_PKG_VERSION");
        let resource = attributes([("service.name", "cuebook".into()), ("service.version", version.into())]);
        json!({ "resourceSpans": [{
            "resource": { "attributes": resource },
            "scopeSpans": [{
                "scope": { "name": "cuebook-export", "version": version },
                "spans": std::mem::take(&mut self.spans),
                "schemaUrl": "https://opentelemetry.io/schemas/1.37.0",
            }],
        }] })
    }
}

/// Servers that do not count report 0.
fn counted(tokens: u64) -> Value {
    if tokens == 0 { Value::Null } else { tokens.into() }
}

/// `Status`: an error with a message, or unset.
fn status(error: Option<String>) -> Value {
    error.map_or_else(
        || json!({}),
        |message| if message.is_empty() { json!({ "code": 2 }) } else { json!({ "code": 2, "message": message }) },
    )
}

/// Those that have a value. 64-bit integers are signed there.
fn attributes<const N: usize>(all: [(&str, Value); N]) -> Vec<Value> {
    let value = |value: Value| match value {
        Value::Null => None,
        Value::Number(number) => Some(json!({ "intValue": number.as_i64().unwrap_or(i64::MAX).to_string() })),
        other => Some(json!({ "stringValue": other })),
    };
    all.into_iter().filter_map(|(key, one)| Some(json!({ "key": key, "value": value(one)? }))).collect()
}
