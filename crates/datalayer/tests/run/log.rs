//! Tests of the log's promises: durable before it returns, readable wherever it was cut, silent about secrets.

use std::fs;
use std::sync::Arc;

use super::sample::{call, end, header, intent, password_record, record};
use cuebook_datalayer::error::Doing;
use cuebook_datalayer::judge::{Mismatch, Side};
use cuebook_datalayer::log::EntryKind;
use cuebook_datalayer::{
    ArtifactStore, DataError, Entry, JsonlLog, MemoryLog, Observations, Run, RunDir, ValueRedactor, judge,
};
use cuebook_grammar::facts::Facts;
use cuebook_grammar::id::{ObservationId, PageId, RunId};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::planning::CallEnd;
use cuebook_grammar::record::{RECORD_VERSION, RunHeader, StepRecord, StepResult};
use cuebook_grammar::seam::{Redactor, StepLog, StepTicket};
use cuebook_grammar::verdict::Verdict;
use serde_json::json;

fn dir() -> (tempfile::TempDir, RunDir) {
    let out = tempfile::tempdir().unwrap();
    let dir = RunDir::create(out.path(), &RunId::new("r1")).unwrap();
    (out, dir)
}

/// The log of a call, two steps that ran, a call, a step that was begun, and the end.
async fn small_log() -> Vec<u8> {
    let (_out, dir) = dir();
    let mut log = JsonlLog::create(&dir, None).unwrap();
    log.open(&header()).await.unwrap();
    log.planned(&call(0)).await.unwrap();
    for index in 0..2 {
        let ticket = log.begin(&intent(index)).await.unwrap();
        log.commit(ticket, &password_record(index)).await.unwrap();
    }
    log.planned(&call(1)).await.unwrap();
    log.begin(&intent(2)).await.unwrap();
    log.close(&end()).await.unwrap();
    fs::read(dir.log_path()).unwrap()
}

async fn written(record: &StepRecord, redactor: Option<Arc<dyn Redactor>>) -> (String, StepRecord) {
    let (_out, dir) = dir();
    let mut log = JsonlLog::create(&dir, redactor).unwrap();
    log.open(&header()).await.unwrap();
    let ticket = log.begin(&intent(record.step_index)).await.unwrap();
    log.commit(ticket, record).await.unwrap();
    let text = fs::read_to_string(dir.log_path()).unwrap();
    (text, Run::read(&dir.log_path()).unwrap().steps.pop().unwrap())
}

#[tokio::test]
async fn each_entry_is_in_the_file_before_its_call_returns() {
    let (_out, dir) = dir();
    let mut log = JsonlLog::create(&dir, None).unwrap();
    let lines = || fs::read_to_string(dir.log_path()).unwrap().lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(lines().is_empty());

    log.open(&header()).await.unwrap();
    assert!(lines().last().unwrap().starts_with(r#"{"entry":"header","schemaVersion":"1."#));

    let ticket = log.begin(&intent(0)).await.unwrap();
    assert_eq!(lines().len(), 2);
    assert!(lines().last().unwrap().starts_with(r#"{"entry":"begin","schemaVersion":"1."#));
    let run = Run::read(&dir.log_path()).unwrap();
    assert_eq!((run.open, run.steps.len()), (vec![intent(0)], 0));

    log.commit(ticket, &record(0)).await.unwrap();
    assert_eq!(lines().len(), 3);
    let run = Run::read(&dir.log_path()).unwrap();
    assert_eq!((run.open.len(), run.steps, run.end), (0, vec![record(0)], None));

    log.close(&end()).await.unwrap();
    let run = Run::read(&dir.log_path()).unwrap();
    assert_eq!((run.header, run.end, run.torn), (Some(header()), Some(end()), None));
}

#[tokio::test]
async fn a_log_cut_at_any_byte_is_readable_and_loses_no_committed_step() {
    let whole = small_log().await;
    for cut in 0..=whole.len() {
        let log = &whole[..cut];
        let run = Run::read_bytes(log).unwrap_or_else(|error| panic!("cut at {cut}: {error}"));

        let ends: Vec<usize> = log.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(at, _)| at + 1).collect();
        let kinds: Vec<EntryKind> = log[..ends.last().copied().unwrap_or(0)]
            .split_inclusive(|b| *b == b'\n')
            .map(|line| Entry::read(line).unwrap().unwrap().kind())
            .collect();
        let count = |kind| kinds.iter().filter(|seen| **seen == kind).count();
        assert_eq!(run.header.is_some(), count(EntryKind::Header) == 1, "cut at {cut}");
        assert_eq!(run.steps.len(), count(EntryKind::Commit), "cut at {cut}");
        assert_eq!(run.calls.len(), count(EntryKind::Planning), "cut at {cut}");
        assert_eq!(run.open.len(), count(EntryKind::Begin) - count(EntryKind::Commit), "cut at {cut}");
        assert_eq!(run.end.is_some(), count(EntryKind::End) == 1, "cut at {cut}");

        let rest = cut - ends.last().copied().unwrap_or(0);
        let torn = run.torn.map(|torn| (torn.line, torn.offset, torn.bytes));
        let expected = (ends.len() as u64 + 1, (cut - rest) as u64, rest as u64);
        assert_eq!(torn, (rest > 0).then_some(expected), "cut at {cut}");
    }
}

#[tokio::test]
async fn blocks_of_zeros_at_the_end_are_a_tear() {
    let whole = small_log().await;
    let steps = Run::read_bytes(&whole).unwrap().steps.len();
    for tail in [vec![0; 5_000], [vec![0; 100], b"\"result\":\"ok\"}\n".to_vec()].concat()] {
        let run = Run::read_bytes(&[whole.clone(), tail].concat()).unwrap();
        assert_eq!(run.steps.len(), steps);
        assert!(run.torn.is_some());
    }
}

#[tokio::test]
async fn a_bad_line_in_the_middle_is_an_error_with_its_number() {
    let whole = String::from_utf8(small_log().await).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let with = |at: usize, line: &str| {
        let mut lines = lines.clone();
        lines[at] = line;
        Run::read_bytes(format!("{}\n", lines.join("\n")).as_bytes()).unwrap_err()
    };
    let cause = |error: &DataError| match error {
        DataError::Line { source, .. } => source.to_string(),
        other => panic!("expected a line, saw {other}"),
    };
    for (at, line, expected) in [
        (3, "{\"entry\":", "not a JSON object"),
        (3, "[]", "not a JSON object"),
        (3, "", "not a JSON object"),
        (3, "\0", "not a JSON object"),
        (1, r#"{"entry":"other"}"#, "at `/entry`"),
        (1, r#"{"runId":"r1"}"#, "at `/entry`"),
        (1, r#"{"entry":"begin","runId":7}"#, "at `/runId`"),
        (1, r#"{"entry":"planning","runId":7}"#, "at `/runId`"),
        (0, r#"{"entry":"header","schemaVersion":"2.0"}"#, "record version `2.0` cannot be read, only 1.x"),
        (2, r#"{"entry":"begin","schemaVersion":"2.0"}"#, "record version `2.0` cannot be read, only 1.x"),
        (0, r#"{"entry":"header","schemaVersion":"1"}"#, "record version `1` cannot be read, only 1.x"),
        (0, lines[1], "expected a header, saw another entry"),
        (1, lines[0], "saw a second header"),
        (1, lines[6], "expected calls that are numbered from 0"),
        (2, lines[1], "expected calls that are numbered from 0"),
        (2, lines[3], "expected a begin before the one commit for step 0, attempt 1"),
        (4, lines[2], "expected one begin for step 0, attempt 1"),
        (3, lines[2], "expected one begin for step 0, attempt 1"),
        (6, lines[8], "expected nothing after the end"),
    ] {
        let error = with(at, line);
        let message = cause(&error);
        assert!(message.contains(expected), "line {}: {message}", at + 1);
        let line_of_error = at as u64 + if line == lines[8] { 2 } else { 1 };
        assert_eq!(error.line(), Some(line_of_error), "{message}");
    }
    for at in [1, 4] {
        let other_run = lines[at].replace("\"r1\"", "\"r2\"");
        assert_eq!(cause(&with(at, &other_run)), "the log is of run r1, and has an entry of run r2");
    }
}

#[tokio::test]
async fn fields_of_a_later_minor_version_are_ignored() {
    let whole = String::from_utf8(small_log().await).unwrap();
    let mut later = whole.replace(&format!("\"schemaVersion\":\"{RECORD_VERSION}\""), "\"schemaVersion\":\"1.999\"");
    for object in
        ["{\"entry\":", "\"execution\":{", "\"call\":{", "\"postFacts\":{", "\"samples\":[{", "\"postCheck\":[{"]
    {
        let (front, member) = object.split_once('{').unwrap();
        assert!(later.contains(object), "{object}");
        later = later.replace(object, &format!("{front}{{\"later\":[1],{member}"));
    }
    let (run, of_later) = (Run::read_bytes(whole.as_bytes()).unwrap(), Run::read_bytes(later.as_bytes()).unwrap());
    assert_eq!(of_later.header.unwrap().schema_version, "1.999");
    assert_eq!((of_later.calls.len(), of_later.open.len(), of_later.end), (2, 1, run.end));
    for (step, later) in run.steps.iter().zip(&of_later.steps) {
        assert_eq!(*later, StepRecord { schema_version: "1.999".into(), ..step.clone() });
    }
    assert_eq!(of_later.steps.len(), 2);
    let unheard_step = whole.replace("\"targetRef\":\"c1\"", "\"targetRef\":\"c1\",\"later\":1");
    assert!(Run::read_bytes(unheard_step.as_bytes()).is_err(), "a step says all that it does");
}

#[tokio::test]
async fn entries_of_a_kind_that_a_later_minor_version_added_are_passed_over() {
    let log = String::from_utf8(small_log().await).unwrap();
    let whole = Run::read_bytes(log.as_bytes()).unwrap();
    let at = log.find("{\"entry\":\"end\"").unwrap();
    let with = |version: &str| {
        format!("{}{{\"entry\":\"unheard\",\"schemaVersion\":\"{version}\"}}\n{}", &log[..at], &log[at..])
    };
    assert_eq!(Run::read_bytes(with("1.999").as_bytes()).unwrap(), whole);
    assert!(Run::read_bytes(with(RECORD_VERSION).as_bytes()).is_err(), "this version has no such kind");
    assert!(Run::read_bytes(with("2.0").as_bytes()).is_err());
}

// ------------------------------------------------------------------------------------ observations

/// A page whose candidates have these numbers and names.
fn page(id: u64, candidates: &[(u32, &str)]) -> Observation {
    let of = |(number, name): &(u32, &str)| {
        json!({ "id": format!("c{number}"), "role": "button", "name": name,
                "fingerprint": { "role": "button", "name": name, "path": "main > form > button" } })
    };
    let mut page = Observation::blank(PageId::new("tab"), "https://shop.test/");
    page.id = ObservationId(id);
    page.title = format!("Page {id}");
    page.candidates = serde_json::from_value(candidates.iter().map(of).collect()).unwrap();
    page
}

#[tokio::test]
async fn observations_are_kept_by_what_changed_and_read_back_in_any_order() {
    let (_out, dir) = dir();
    let mut log = JsonlLog::create(&dir, None).unwrap();
    log.open(&header()).await.unwrap();
    let mut candidates: Vec<(u32, &str)> = (1..=40).map(|number| (number, "Buy now")).collect();
    let mut pages = Vec::new();
    for id in 1..=100_u64 {
        match id % 4 {
            0 => drop(candidates.remove(5)),
            1 => candidates.insert(3, (100 + u32::try_from(id).unwrap(), "Later")),
            2 => candidates[7].1 = "Sold out",
            _ => candidates.reverse(),
        }
        pages.push(page(id, &candidates));
        log.observed(&RunId::new("r1"), id, pages.last().unwrap()).await.unwrap();
    }
    log.close(&end()).await.unwrap();
    let run = Run::read(&dir.log_path()).unwrap();
    assert_eq!(run.observations.len(), 100);
    let whole = run.observations.iter().filter(|record| record.base.is_none()).count();
    assert!((2..=10).contains(&whole), "{whole} of 100 are whole");
    let mut read = Observations::new(&run.observations, ArtifactStore::new(&dir, None));
    for at in (0..100).chain([99, 3, 30, 0, 1]) {
        assert_eq!(read.read(pages[at].id).unwrap().as_ref(), Some(&pages[at]));
    }
    assert_eq!(read.read(ObservationId(199)).unwrap(), None);
    // Entry by entry, as an export reads a log; not each of them is asked for.
    let mut following = Observations::following(ArtifactStore::new(&dir, None));
    for (record, page) in run.observations.iter().zip(&pages) {
        following.add(record.clone());
        if page.id.0 % 7 != 0 {
            assert_eq!(following.read(page.id).unwrap().as_ref(), Some(page));
        }
    }

    // A base that was changed or lost is an error of this observation, not another page.
    let (base, on_it) =
        run.observations.iter().zip(&run.observations[1..]).find(|(_, next)| next.base.is_some()).unwrap();
    fs::write(dir.path().join(&base.content.path), "{}").unwrap();
    let mut read = Observations::new(&run.observations, ArtifactStore::new(&dir, None));
    assert!(matches!(read.read(on_it.observation), Err(DataError::Artifact { .. })));
}

#[tokio::test]
async fn equal_pages_have_one_digest() {
    let (_out, dir) = dir();
    let mut log = JsonlLog::create(&dir, None).unwrap();
    log.open(&header()).await.unwrap();
    let seen = Observation { title: String::new(), ..page(1, &[(1, "Buy now")]) };
    for id in 1..=2 {
        let mut log =
            JsonlLog::create(&RunDir::create(dir.path(), &RunId::new(format!("r{id}"))).unwrap(), None).unwrap();
        log.open(&RunHeader { run_id: RunId::new(format!("r{id}")), ..header() }).await.unwrap();
        log.observed(&RunId::new(format!("r{id}")), 0, &Observation { id: ObservationId(id), ..seen.clone() })
            .await
            .unwrap();
    }
    let digest =
        |run: &str| Run::read(&dir.path().join(run).join("log.jsonl")).unwrap().observations[0].content.sha256.clone();
    assert_eq!(digest("r1"), digest("r2"));
}

#[tokio::test]
async fn a_line_beyond_the_bound_is_an_error_and_not_read_whole() {
    let mut log = small_log().await;
    log.extend(std::iter::repeat_n(b'x', (64 << 20) + 1));
    let error = Run::read_bytes(&log).unwrap_err();
    assert!(matches!(&error, DataError::Line { source, .. } if matches!(**source, DataError::TooLong { .. })));
}

#[tokio::test]
async fn what_cannot_be_made_is_an_error_at_creation() {
    let (_out, dir) = dir();
    fs::create_dir(dir.log_path()).unwrap();
    let error = JsonlLog::create(&dir, None).err().unwrap();
    assert!(matches!(error, DataError::Io { doing: Doing::Create, .. }), "{error}");

    fs::remove_dir(dir.log_path()).unwrap();
    drop(JsonlLog::create(&dir, None).unwrap());
    assert!(JsonlLog::create(&dir, None).is_err(), "the log of a run is never written over");

    fs::remove_dir_all(dir.path()).unwrap();
    assert!(JsonlLog::create(&dir, None).is_err());
}

async fn keeps_the_rules<L: StepLog<Error = DataError>>(new: impl Fn() -> L) {
    let forged = || StepTicket { step_index: 0, attempt: 1 };

    let mut log = new();
    assert!(matches!(log.begin(&intent(0)).await, Err(DataError::OutOfOrder { .. })));
    assert!(matches!(log.open(&header()).await, Err(DataError::LogRefuses)));

    let mut log = new();
    log.open(&header()).await.unwrap();
    assert!(matches!(log.commit(forged(), &record(0)).await, Err(DataError::Ticket { .. })));

    let mut log = new();
    log.open(&header()).await.unwrap();
    let ticket = log.begin(&intent(0)).await.unwrap();
    assert!(matches!(log.commit(ticket, &record(1)).await, Err(DataError::Ticket { .. })));
    assert!(matches!(log.begin(&intent(1)).await, Err(DataError::LogRefuses)));

    let mut log = new();
    log.open(&header()).await.unwrap();
    let ticket = log.begin(&intent(0)).await.unwrap();
    log.commit(ticket, &record(0)).await.unwrap();
    assert!(matches!(log.commit(forged(), &record(0)).await, Err(DataError::Ticket { .. })));

    let mut log = new();
    log.open(&header()).await.unwrap();
    log.close(&end()).await.unwrap();
    assert!(matches!(log.begin(&intent(0)).await, Err(DataError::OutOfOrder { .. })));

    let mut log = new();
    log.open(&header()).await.unwrap();
    log.planned(&call(0)).await.unwrap();
    assert!(matches!(log.planned(&call(0)).await, Err(DataError::OutOfOrder { .. })));

    let mut log = new();
    log.open(&header()).await.unwrap();
    log.planned(&call(0)).await.unwrap();
    let mut of_no_call = intent(0);
    of_no_call.planning = Some(3);
    assert!(matches!(log.begin(&of_no_call).await, Err(DataError::OutOfOrder { .. })));

    let mut log = new();
    log.open(&header()).await.unwrap();
    let mut other = intent(0);
    other.run_id = RunId::new("r2");
    assert!(matches!(log.begin(&other).await, Err(DataError::OtherRun { .. })));
}

#[tokio::test]
async fn entries_out_of_order_are_refused_on_disk_and_in_memory() {
    let out = tempfile::tempdir().unwrap();
    let next = std::cell::Cell::new(0);
    keeps_the_rules(|| {
        next.set(next.get() + 1);
        let dir = RunDir::create(out.path(), &RunId::new(format!("r{}", next.get()))).unwrap();
        JsonlLog::create(&dir, None).unwrap()
    })
    .await;
    keeps_the_rules(MemoryLog::default).await;
}

#[tokio::test]
async fn the_log_in_memory_tells_what_the_one_on_disk_tells() {
    let mut memory = MemoryLog::default();
    memory.open(&header()).await.unwrap();
    memory.planned(&call(0)).await.unwrap();
    for index in 0..2 {
        let ticket = memory.begin(&intent(index)).await.unwrap();
        memory.commit(ticket, &password_record(index)).await.unwrap();
    }
    memory.planned(&call(1)).await.unwrap();
    memory.begin(&intent(2)).await.unwrap();
    memory.close(&end()).await.unwrap();
    let disk: Vec<Entry> =
        small_log().await.split_inclusive(|b| *b == b'\n').map(|line| Entry::read(line).unwrap().unwrap()).collect();
    assert_eq!(memory.entries(), disk);
}

#[tokio::test]
async fn a_dropped_call_leaves_the_log_in_order() {
    let (_out, dir) = dir();
    let mut log = JsonlLog::create(&dir, None).unwrap();
    log.open(&header()).await.unwrap();
    let mut committed = Vec::new();
    for index in 0..50 {
        let intent = intent(index);
        let begin = log.begin(&intent);
        tokio::select! {
            biased;
            ticket = begin => { log.commit(ticket.unwrap(), &record(index)).await.unwrap(); committed.push(index); }
            () = tokio::task::yield_now(), if index % 5 != 0 => {}
        }
    }
    log.close(&end()).await.unwrap();
    let run = Run::read(&dir.log_path()).unwrap();
    assert!(committed.len() >= 10);
    assert_eq!(run.steps.iter().map(|record| record.step_index).collect::<Vec<_>>(), committed);
    assert!(run.open.is_sorted_by_key(|intent| intent.step_index));
    assert_eq!((run.torn, run.end), (None, Some(end())));
}

// --------------------------------------------------------------------------------------- redaction

const CANARY: &str = "CANARY-7f3a\"&é\n";

#[tokio::test]
async fn the_log_holds_no_secret_wherever_a_record_carries_it() {
    let redactor: Arc<dyn Redactor> = Arc::new(ValueRedactor::new([CANARY]));
    let mut record = record(0);
    record.url = "https://shop.test/?q=CANARY-7f3a%22%26%C3%A9%0A".into();
    record.data =
        Some(json!({ "cell": CANARY, CANARY: [["x", { "deep": CANARY }]], "html": "CANARY-7f3a&quot;&amp;&eacute;" }));
    record.post_facts = Some(Facts::at(cuebook_grammar::facts::Sample { title: CANARY.into(), ..Default::default() }));
    let (text, read) = written(&record, Some(redactor.clone())).await;
    assert!(!text.contains("7f3a"), "{text}");
    assert_eq!(text.lines().count(), 3);

    let mut call = call(0);
    call.call.input[0].text = format!("say {CANARY}");
    call.call.output = serde_json::to_string(CANARY).unwrap();
    call.call.reasoning = Some(CANARY.into());
    call.call.end = CallEnd::Failed { code: "x".into(), message: CANARY.into() };
    let (_out, dir) = dir();
    let mut log = JsonlLog::create(&dir, Some(redactor)).unwrap();
    log.open(&header()).await.unwrap();
    log.planned(&call).await.unwrap();
    let kept = fs::read_to_string(dir.log_path()).unwrap();
    assert!(!kept.contains("7f3a") && kept.matches("[redacted]").count() == 4, "{kept}");
    assert_eq!(read.url, "https://shop.test/?q=[redacted]%0A");
    assert_eq!(read.post_facts.unwrap().samples[0].title, "[redacted]\n");
}

#[tokio::test]
async fn a_secret_that_is_spelled_like_the_format_leaves_it_readable() {
    let words = ["reversible", "stepIndex", "targetRef", "runId", "1000", "shop.test", "\"result\":"];
    let redactor: Arc<dyn Redactor> = Arc::new(ValueRedactor::new(words));
    let mut record = record(0);
    record.data = Some(json!({ "text": "reversible, by targetRef", "code": 1000, "other": 7 }));
    record.execution.duration_ms = 1000;
    let (_, read) = written(&record, Some(redactor)).await;
    assert_eq!(read.action, record.action);
    assert_eq!(read.execution, record.execution);
    assert_eq!(read.url, "https://[redacted]/");
    assert_eq!(read.data, Some(json!({ "text": "[redacted], by [redacted]", "code": "[redacted]", "other": 7 })));
}

#[tokio::test]
async fn bounded_text_keeps_its_bound_when_the_mark_is_longer_than_the_secret() {
    let redactor: Arc<dyn Redactor> = Arc::new(ValueRedactor::new(["pass"]));
    let mut record = record(0);
    record.action.explanation = Some(cuebook_grammar::wire::ShortText::cut(&"pass ".repeat(10_000)));
    let (text, read) = written(&record, Some(redactor)).await;
    assert!(!text.contains("pass"));
    assert!(read.action.explanation.unwrap().as_str().starts_with("[redacted] [redacted]"));
}

#[tokio::test]
async fn what_is_nested_too_deeply_is_cut_and_not_lost_with_its_record() {
    let mut deep = json!("bottom");
    for _ in 0..1_000 {
        deep = json!([deep]);
    }
    let mut record = record(0);
    record.data = Some(json!({ "deep": deep, "flat": 1 }));
    let (_, read) = written(&record, None).await;
    let data = read.data.unwrap();
    assert_eq!(data["flat"], 1);
    assert!(data.to_string().contains("[nested too deeply]"));
}

#[tokio::test]
async fn records_survive_the_log_unchanged() {
    for record in [record(0), password_record(0)] {
        let redactor: Arc<dyn Redactor> = Arc::new(ValueRedactor::new(["not in it"]));
        assert_eq!(written(&record, None).await.1, record);
        assert_eq!(written(&record, Some(redactor)).await.1, record);
    }
}

// ----------------------------------------------------------------------------------------- judging

#[tokio::test]
async fn the_judge_agrees_on_redacted_facts_and_finds_a_tampered_verdict() {
    let whole = String::from_utf8(small_log().await).unwrap();
    assert!(!whole.contains("s3cret"), "the facts are digests");
    let honest = judge(&Run::read_bytes(whole.as_bytes()).unwrap());
    assert_eq!(honest.judged, 2);
    assert!(honest.agrees(), "{honest:?}");

    let line = whole.lines().nth(5).unwrap();
    let tampered = whole.replace(line, &line.replace("\"verdict\":\"holds\"", "\"verdict\":\"unknown\""));
    assert_ne!(whole, tampered);
    let found = judge(&Run::read_bytes(tampered.as_bytes()).unwrap());
    let kinds: Vec<_> = found.differences.iter().map(|d| (d.step_index, d.attempt, &d.what)).collect();
    assert!(
        matches!(
            kinds[..],
            [
                (
                    1,
                    1,
                    Mismatch::Verdict {
                        side: Side::Post,
                        position: 0,
                        recorded: Verdict::Unknown,
                        judged: Verdict::Holds,
                        ..
                    }
                ),
                (1, 1, Mismatch::Result { side: Side::Post, position: 0, recorded: Verdict::Unknown }),
            ]
        ),
        "{kinds:?}"
    );
}

#[test]
fn the_judge_finds_tampered_facts_vacuity_and_missing_facts() {
    let run = |change: fn(&mut StepRecord)| {
        let mut record = password_record(0);
        change(&mut record);
        let mut run = Run::default();
        run.steps.push(record);
        judge(&run).differences
    };
    assert!(run(|_| {}).is_empty());
    let failed = run(|record| {
        record.post_facts.as_mut().unwrap().samples =
            record.post_facts.as_ref().unwrap().before.clone().into_iter().collect()
    });
    assert!(
        matches!(failed[..], [ref d] if matches!(d.what, Mismatch::Verdict { judged: Verdict::Fails, .. })),
        "{failed:?}"
    );
    let none = run(|record| record.post_facts = None);
    assert!(
        matches!(none[..], [ref d] if matches!(d.what, Mismatch::Verdict { judged: Verdict::Unknown, .. })),
        "{none:?}"
    );
    let vacuous = run(|record| record.post_check[0].vacuous = true);
    assert!(
        matches!(vacuous[..], [ref d] if matches!(d.what, Mismatch::Vacuous { recorded: true, .. })),
        "{vacuous:?}"
    );
    let moved = run(|record| {
        record.pre_facts = record.post_facts.clone();
        record.pre_check = std::mem::take(&mut record.post_check);
        record.pre_check[0].verdict = Verdict::Fails;
        record.result = StepResult::Failed;
    });
    assert!(matches!(moved[..], [ref d] if matches!(d.what, Mismatch::Verdict { side: Side::Pre, .. })), "{moved:?}");
}
