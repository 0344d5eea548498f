use std::path::Path;
use std::time::Instant;

use cuebook_decoding::Caps;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::CredentialRef;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::planning::{CallEnd, CallPurpose, PlanningCall};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::sample;
use cuebook_grammar::seam::{Image, PlanReply, PlanRequest, PlanSink, Planner as _};
use cuebook_grammar::step::Step;
use serde_json::json;

use super::*;
use crate::converse::{Limits, ModelError, ModelPlanner};

const GOOD: &str = r#"{"version":"1.0","steps":[{"type":"click","targetRef":"c2"}]}"#;

fn shell(script: &str) -> ModelPlanner<Process> {
    let words = ["sh", "-c", script].map(str::to_owned).to_vec();
    ModelPlanner::new(Process::new(words, []))
}

/// Events that a sink saw, and a file that it makes at the first step.
#[derive(Default)]
struct RecordingSink {
    calls: Vec<PlanningCall>,
    steps: Vec<&'static str>,
    at_first: Option<std::path::PathBuf>,
}

impl PlanSink for RecordingSink {
    fn step_ready(&mut self, _: usize, _: usize, step: &Step) {
        self.steps.push(step.action.kind().meta().name);
        if let Some(path) = self.at_first.take() {
            std::fs::write(path, "").unwrap();
        }
    }

    fn call_ended(&mut self, call: PlanningCall) {
        self.calls.push(call);
    }
}

fn page() -> Observation {
    sample::page("textbox \"User\"\nbutton \"Sign in\"")
}

async fn ask(planner: &ModelPlanner<Process>, seen: &mut RecordingSink) -> Result<PlanReply, ModelError> {
    within(planner, seen, Duration::from_secs(20)).await
}

async fn within(
    planner: &ModelPlanner<Process>,
    seen: &mut RecordingSink,
    time: Duration,
) -> Result<PlanReply, ModelError> {
    let page = page();
    let policy = Policy::default().starting_at(&page.url).unwrap();
    let images = [Image { media_type: "image/png".to_owned(), bytes: vec![1, 2, 3] }];
    let request = PlanRequest { images: &images, ..PlanRequest::new("Sign in", &page, &policy) };
    planner.plan(&request, seen, Deadline::after(Instant::now(), time)).await
}

fn said(error: &ModelError) -> String {
    cuebook_grammar::render::with_sources(error)
}

#[tokio::test]
async fn one_program_answers_every_request_and_each_is_recorded_with_its_tokens() {
    let planner = shell(&format!(
        r#"n=0; while read -r line; do n=$((n+1))
        echo '{{"usage":{{"inputTokens":'$n',"outputTokens":7}},"reasoning":"thought '$n'"}}'; echo '{GOOD}'; done"#
    ));
    let mut seen = RecordingSink::default();
    for number in 1..=2 {
        let reply = ask(&planner, &mut seen).await.unwrap();
        assert_eq!(reply.drafts[0].steps.len(), 1);
        assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (number, 7));
    }
    let call = &seen.calls[1];
    assert_eq!((call.engine.as_str(), call.purpose, call.attempts), ("process", CallPurpose::Plan, 1));
    assert_eq!((call.end.clone(), call.reasoning.as_deref()), (CallEnd::Accepted, Some("thought 2")));
    // The record holds the document, and names the picture.
    let text = &call.input[0].text;
    let document: Value = serde_json::from_str(text.split_once("\n[picture").unwrap().0).unwrap();
    assert_eq!((&document["goal"], &document["schema_version"]), (&json!("Sign in"), &json!("1.4")));
    assert!(text.ends_with("[picture: image/png, 3 bytes]") && !text.contains("AQID"));
}

#[tokio::test]
async fn what_a_program_wants_to_remember_is_remembered_however_it_answers() {
    let reasoning = r#"{"reasoning":"Seen. Remember: it costs 35.90."}"#;
    for answer in [
        format!("echo '{reasoning}'; echo '{GOOD}'"),
        format!(r#"echo '{reasoning}'; echo '{{"type":"focus","targetRef":"c1"}}'; echo '{{"done":true}}'"#),
        format!(r#"echo '{{"type":"focus","targetRef":"c1"}}'; echo '{}'"#, reasoning.replace('}', r#","done":true}"#)),
    ] {
        let planner = shell(&format!("while read -r line; do {answer}; done"));
        let reply = ask(&planner, &mut RecordingSink::default()).await.unwrap();
        assert_eq!(reply.memory.as_deref(), Some("it costs 35.90."), "{answer}");
    }
}

#[tokio::test]
async fn a_step_is_ready_while_the_next_one_is_still_to_come() {
    let folder = tempfile::tempdir().unwrap();
    let flag = folder.path().join("first");
    // The second step waits for what happens at the first.
    let planner = shell(&format!(
        r#"read -r line; echo '{{"type":"focus","targetRef":"c1"}}'
        while [ ! -e '{}' ]; do sleep 0.01; done; echo '{{"type":"click","targetRef":"c2"}}'; echo '{{"done":true}}'; cat"#,
        flag.display()
    ));
    let mut seen = RecordingSink { at_first: Some(flag), ..RecordingSink::default() };
    let reply = ask(&planner, &mut seen).await.unwrap();
    assert_eq!((seen.steps, reply.drafts[0].steps.len()), (vec!["focus", "click"], 2));
}

#[tokio::test]
async fn the_form_of_the_planner_specification_is_read_and_a_refusal_is_no_plan() {
    let planner = shell(
        r#"read -r line; echo '{"tool":"click","args":{"id":"c2"},"estimated_risk":"low"}'
        echo '{"done":true}'; read -r line; echo '{"refusal":"there is nothing to do"}'; cat"#,
    );
    let mut seen = RecordingSink::default();
    assert_eq!(ask(&planner, &mut seen).await.unwrap().drafts[0].steps[0].action.kind().meta().name, "click");
    let reply = ask(&planner, &mut seen).await.unwrap();
    assert_eq!((reply.drafts.len(), reply.note.as_deref()), (0, Some("the model refuses: there is nothing to do")));
}

#[tokio::test]
async fn of_a_programs_drafts_as_many_count_as_are_asked_for_and_are_valid() {
    let bad = GOOD.replace("c2", "c9");
    let script = format!(r#"while read -r line; do echo '{{ "drafts": [{bad}, {GOOD}, {GOOD}, {GOOD}]}}'; done"#);
    let page = page();
    let policy = Policy::default().starting_at(&page.url).unwrap();
    let planner = shell(&script);
    let mut seen = RecordingSink::default();
    let deadline = Deadline::after(Instant::now(), Duration::from_secs(20));
    let request = PlanRequest { beam: 3, ..PlanRequest::new("Sign in", &page, &policy) };
    let reply = planner.plan(&request, &mut seen, deadline).await.unwrap();
    assert_eq!(reply.drafts.len(), 2);
    assert_eq!((seen.calls.len(), seen.calls[0].end.clone()), (1, CallEnd::Accepted));
    let error = planner.plan(&PlanRequest { beam: 1, ..request }, &mut seen, deadline).await.unwrap_err();
    assert!(matches!(error, ModelError::Invalid { .. }), "{}", said(&error));

    let none = shell("while read -r line; do echo '{\"drafts\": []}'; done");
    assert!(matches!(ask(&none, &mut seen).await, Err(ModelError::Invalid { .. })));
}

#[tokio::test]
async fn an_invalid_plan_is_retried_with_its_violations_and_its_rest_is_skipped() {
    // It goes on writing after its first step was refused.
    let planner = shell(&format!(
        r#"while read -r line; do case "$line" in *'"violations":[{{"code":"unknownTarget"'*) echo '{GOOD}';;
        *) echo '{{"type":"click","targetRef":"c9"}}'; sleep 0.1; echo '{{"type":"focus","targetRef":"c1"}}'
        echo '{{"done":true}}';; esac; done"#
    ));
    let mut seen = RecordingSink::default();
    let reply = ask(&planner, &mut seen).await.unwrap();
    assert_eq!(reply.drafts[0].steps[0].action.kind().meta().name, "click");
    assert_eq!((reply.drafts[0].steps.len(), seen.steps.as_slice()), (1, ["click"].as_slice()));
    assert!(matches!(seen.calls[0].end, CallEnd::Invalid { .. }));
    assert_eq!(seen.calls[1].purpose, CallPurpose::Reformulate);
    assert_eq!(seen.calls[1].input.len(), 1);
}

#[tokio::test]
async fn what_is_no_json_and_no_form_is_an_invalid_answer_that_shows_it() {
    for (line, shown) in [
        ("loading the model", "`loading the model`"),
        ("{}{}", "`{}{}`"),
        (r#"{"plan":"click"}"#, "unknown field `plan`"),
        (r#"{"type":"click","type":"press"}"#, "`type` appears twice"),
    ] {
        let mut seen = RecordingSink::default();
        let error = ask(&shell(&format!("while read -r l; do echo '{line}'; done")), &mut seen).await.unwrap_err();
        assert!(matches!(error, ModelError::Invalid { .. }) && said(&error).contains(shown), "{}", said(&error));
        assert_eq!(seen.calls.len(), 2);
    }
}

#[tokio::test]
async fn a_crashed_program_is_restarted_once_with_its_last_words_in_the_error() {
    let planner = shell("echo first >&2; printf 'key \\033[2J lost\\n' >&2; exit 3");
    let mut seen = RecordingSink::default();
    let error = ask(&planner, &mut seen).await.unwrap_err();
    assert_eq!((error.code(), seen.calls[0].attempts), ("exited", 2));
    assert_eq!(
        said(&error),
        "process gave no answer after 2 requests to sh: the program ended (exit code 3) before its answer was complete; \
         its standard error ends: first / key \\u{1b}[2J lost"
    );

    let folder = tempfile::tempdir().unwrap();
    let flag = folder.path().join("crashed").display().to_string();
    let planner = shell(&format!("[ -e {flag} ] || {{ : >{flag}; exit 1; }}; read -r line; echo '{GOOD}'; cat"));
    assert_eq!(ask(&planner, &mut seen).await.unwrap().drafts.len(), 1);
}

#[tokio::test]
async fn a_program_may_end_with_each_answer() {
    let planner = shell(&format!("read -r line; echo '{GOOD}'"));
    let mut seen = RecordingSink::default();
    for _ in 0..3 {
        assert_eq!(ask(&planner, &mut seen).await.unwrap().drafts.len(), 1);
    }
}

/// The process of which `path` holds the id ends soon. On a busy machine the shell may have been ended before it began,
/// and so has written nothing.
async fn ends(path: &Path) -> bool {
    let id = std::fs::read_to_string(path).unwrap_or_default();
    if id.trim().is_empty() {
        return true;
    }
    for _ in 0..200 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", id.trim()));
        if !Path::new("/proc/self").exists() || stat.map_or(true, |stat| stat.contains(") Z ")) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

#[tokio::test]
async fn silence_ends_by_the_deadline_and_ends_the_program_with_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let child = folder.path().join("child");
    let script = format!("sleep 600 & echo $! >'{}'; read -r line; wait", child.display());
    let planner = shell(&script);
    let mut seen = RecordingSink::default();
    let error = within(&planner, &mut seen, Duration::from_millis(1500)).await.unwrap_err();
    assert!(said(&error).starts_with("process gave no complete answer within "), "{}", said(&error));
    assert!(ends(&child).await);

    let limits = Limits { first_byte: Duration::from_millis(1500), retries: 0, ..Limits::default() };
    let error = ask(&shell(&script).with_limits(limits), &mut seen).await.unwrap_err();
    assert!(said(&error).contains("sent nothing for 1.5 s"), "{}", said(&error));
    assert!(ends(&child).await);

    // Nobody waits any more, as after Ctrl-C.
    let planner = shell(&script);
    let _ = std::fs::remove_file(&child);
    tokio::select! {
        _ = ask(&planner, &mut seen) => panic!("it never answers"),
        () = async { while std::fs::read(&child).map_or(true, |id| id.is_empty()) { tokio::time::sleep(Duration::from_millis(10)).await; } } => {}
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(ends(&child).await);
    assert!(seen.calls.iter().any(|call| matches!(&call.end, CallEnd::Failed { code, .. } if code == "cancelled")));
}

#[tokio::test]
async fn a_line_without_end_is_an_error() {
    let error = ask(&shell("read -r line; yes x | tr -d '\\n'"), &mut RecordingSink::default()).await.unwrap_err();
    assert!(said(&error).ends_with("the answer is longer than 1048576 bytes"), "{}", said(&error));
}

#[tokio::test]
async fn a_program_that_is_not_there_is_an_error_that_names_it() {
    let planner = ModelPlanner::new(Process::new(vec!["/nowhere/planner".to_owned(), "--key=x".to_owned()], []));
    let error = ask(&planner, &mut RecordingSink::default()).await.unwrap_err();
    assert_eq!(error.code(), "notStarted");
    assert!(
        said(&error).starts_with("process gave no answer after 1 request to /nowhere/planner: "),
        "{}",
        said(&error)
    );
}

#[tokio::test]
async fn it_gets_names_of_secrets_and_the_picture_and_no_withheld_variable() {
    let folder = tempfile::tempdir().unwrap();
    let got = folder.path().join("got");
    let script = format!("read -r line; printf '%s\\n' \"$line\" \"[$HOME]\" >'{}'; echo '{GOOD}'; cat", got.display());
    let words = ["sh", "-c", &script].map(str::to_owned).to_vec();
    let files = vec!["cv.pdf".to_owned()];
    let caps = Caps { credentials: vec![CredentialRef::new("shop")], files, more_files: 2, ..Caps::default() };
    let planner = ModelPlanner::new(Process::new(words, [OsString::from("HOME")])).with_caps(caps);
    ask(&planner, &mut RecordingSink::default()).await.unwrap();
    let got = std::fs::read_to_string(got).unwrap();
    let (document, home) = got.trim_end().split_once('\n').unwrap();
    let document: Value = serde_json::from_str(document).unwrap();
    assert_eq!(document["secrets"], json!(["shop"]));
    assert_eq!((&document["files"], &document["more_files"]), (&json!(["cv.pdf"]), &json!(2)));
    assert_eq!(document["context"]["visual"], json!({ "screenshot": "AQID", "media_type": "image/png" }));
    assert_eq!(home, "[]");
}
