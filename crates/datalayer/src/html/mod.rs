//! Runs as pages of HTML. Of one run: the verdict first, then its pictures, one step large, and all steps beside it; as one
//! file that needs nothing else, or live. Of many: what fails, what is flaky, what is slow.
//!
//! Invariants:
//! - What pages, models and plans said is text: every value is escaped, and the page's policy lets nothing but our own
//!   script run, and nothing be requested but what the server of a live page has.
//! - A live page is the page of a file with its pictures beside it: both come from the same parts.
//! - Pictures are within the page, up to a bound; what is left out is named.

mod calls;
mod conditions;
mod events;
mod overview;
mod shell;
mod stage;
mod step;
mod suite;
mod timeline;
mod words;

use cuebook_grammar::outcome::{DeniedRequest, EffectRecord};
use cuebook_grammar::record::{StepOrigin, StepRecord, StepResult};
use cuebook_grammar::render::one_line;
use cuebook_grammar::report::RunReport;
use maud::{Markup, html};
use serde::Serialize;

use crate::artifact::ArtifactStore;
use crate::in_words;
use crate::log::Run;
use crate::replay::{Comparison, Divergence};
use crate::run_dir::utc;
pub use overview::overview;
use shell::{Kind, document};
use stage::{Source, Stages};
pub(crate) use stage::{picture_scale, target_of};
pub use suite::{SuiteCase, suite};
use timeline::Item;
pub use timeline::Shown;
use words::{counted, mark, result_of, said, seconds, sign};

/// How many lines of the network and the console are listed for a run, and how many differences of a replay.
const LISTED: usize = 200;
/// The longest address of a run, in characters.
const ADDRESS: usize = 200;

/// Documents of a run that lie beside its log and are not in it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside<'a> {
    /// The answer, and why the run ended.
    pub report: Option<&'a RunReport>,
    /// How the run differs from the one that it replays.
    pub comparison: Option<&'a Comparison>,
}

/// The page of a run, as one file. Linear in the log and the pictures.
#[must_use]
pub fn page(run: &Run, beside: Beside<'_>, artifacts: &ArtifactStore) -> String {
    let mut stages = Stages::of(run, artifacts, Source::Within);
    let parts = Parts::of(run, Shown::default(), &mut stages);
    let body = html! { (frame(run, beside, &parts, false)) (stages.definitions()) };
    document(&title(run, false), Kind::Run, &body)
}

/// The page of a run that may still go on, for a server that answers `picture/<digest>` and the stream `events` beside it,
/// which sends an [`Update`] for all that comes after [`Shown::all`].
#[must_use]
pub fn live_page(run: &Run, beside: Beside<'_>, artifacts: &ArtifactStore, is_running: bool) -> String {
    let parts = Parts::of(run, Shown::default(), &mut Stages::of(run, artifacts, Source::Beside));
    document(&title(run, is_running), Kind::Live(Shown::all(run)), &frame(run, beside, &parts, is_running))
}

/// The parts of a live page that changed: some are replaced, some are added at the end of their list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Update {
    title: String,
    /// Contents of elements, by their ids.
    replaced: [(&'static str, String); 3],
    /// Contents added to the end of elements, by their ids.
    added: [(&'static str, String); 3],
    /// How much the page shows from now on.
    pub shown: Shown,
    /// `true` if the run goes on.
    pub is_running: bool,
}

/// Returns the parts that a page lacks which shows a part of a run.
#[must_use]
pub fn update(run: &Run, beside: Beside<'_>, artifacts: &ArtifactStore, shown: Shown, is_running: bool) -> Update {
    let Parts { strip, rows, panels } = Parts::of(run, shown, &mut Stages::of(run, artifacts, Source::Beside));
    let joined = |parts: Vec<Markup>| parts.into_iter().map(Markup::into_string).collect::<String>();
    Update {
        title: title(run, is_running),
        replaced: [
            ("head", head(run, beside, is_running).into_string()),
            ("open", open(run, is_running).into_string()),
            ("more", more(run, beside).into_string()),
        ],
        added: [("strip", joined(strip)), ("rows", joined(rows)), ("panels", joined(panels))],
        shown: Shown::all(run),
        is_running,
    }
}

/// A question that a step waits for, to be put into the element `question` of a live page. `takes_text` if the answer is
/// more than consent.
#[must_use]
pub fn question(number: u64, text: &str, takes_text: bool) -> String {
    let form = html! {
        div.card role="alertdialog" aria-labelledby="question-title" aria-describedby="question-text" tabindex="-1"
            data-number=(number) {
            h2 #question-title { "The run asks" }
            p #question-text { (text) }
            div.answers {
                @if takes_text {
                    label for="answer" { "Your answer" }
                    input #answer type="text" autocomplete="off";
                    button.yes type="button" value="text" disabled { "Answer" }
                } @else {
                    button.yes type="button" value="yes" disabled { "Allow" }
                }
                button type="button" value="no" disabled { "Deny" }
                span.faint { "Without an answer it is denied." }
            }
        }
    };
    form.into_string()
}

/// The lists of a page.
struct Parts {
    strip: Vec<Markup>,
    rows: Vec<Markup>,
    panels: Vec<Markup>,
}

impl Parts {
    /// Everything after the part that was shown.
    fn of(run: &Run, shown: Shown, stages: &mut Stages<'_>) -> Self {
        let mut parts = Self { strip: Vec::new(), rows: Vec::new(), panels: Vec::new() };
        for item in timeline::items(run, shown) {
            parts.rows.push(timeline::row(item, run));
            match item {
                Item::Step(at) => {
                    let Some(record) = run.steps.get(at) else { continue };
                    let stage = stages.stage(at, record);
                    if let Some(small) = stage.small() {
                        parts.strip.push(frame_of_strip(at, record, small));
                    }
                    parts.panels.push(step::step(at, record, run, &stage, stages));
                }
                Item::Event(at) => parts.panels.extend(run.events.get(at).map(|(_, record)| events::panel(at, record))),
                Item::Call(at) => parts.panels.extend(run.calls.get(at).map(|record| calls::call(at, record))),
            }
        }
        parts
    }
}

fn frame_of_strip(at: usize, record: &StepRecord, small: &Markup) -> Markup {
    let (sign, word) = mark(record);
    html! {
        li { a href={ "#step-" (at) } {
            (small)
            span.number { (at + 1) } " " span class=(word) { span aria-hidden="true" { (sign) " " } (word) }
        } }
    }
}

fn title(run: &Run, is_running: bool) -> String {
    let subject = run.header.as_ref().map_or_else(|| "a run".to_owned(), in_words::run);
    format!("{}: {subject}", said(result_of(run, is_running)))
}

/// The URL that a run started on; where none was stated, that of the page it is on.
fn address(run: &Run) -> Option<&str> {
    let stated = run.header.as_ref().and_then(|header| header.url.as_deref());
    stated.or_else(|| run.steps.last().map(words::left_at)).filter(|url| *url != "about:blank")
}

/// All of a page but what its pictures share.
fn frame(run: &Run, beside: Beside<'_>, parts: &Parts, is_running: bool) -> Markup {
    html! {
        main {
            header #head { (head(run, beside, is_running)) }
            div #question aria-live="assertive" {}
            nav.strip aria-label="Pictures of the steps" hidden[parts.strip.is_empty()] {
                ol #strip { @for one in &parts.strip { (one) } }
            }
            section.chosen aria-label="The chosen step" {
                div.tools.walk {
                    button #previous type="button" { span aria-hidden="true" { "← " } "Previous" }
                    a href="#steps" { "All steps" }
                    button #next type="button" { "Next" span aria-hidden="true" { " →" } }
                }
                div.tools {
                    label.ghosts { input #candidates type="checkbox"; " Other candidates" }
                    label.live hidden[!is_running] { input #follow type="checkbox" checked; " Follow the run" }
                    span.live #state role="status" {}
                }
                div #panels { @for one in &parts.panels { (one) } }
                @if parts.panels.is_empty() { p.none { "No step yet." } }
            }
            section.timeline aria-labelledby="steps" {
                h2 #steps { "Steps" }
                div.tools role="search" {
                    fieldset.filter {
                        legend.away { "Show" }
                        @for (value, name) in [("all", "All"), ("bad", "Failed"), ("repair", "Repairs")] {
                            label {
                                input type="radio" name="filter" value=(value) checked[value == "all"];
                                span { (name) " " output {} }
                            }
                        }
                    }
                    label.away for="search" { "Search steps" }
                    input #search type="search" placeholder="Search steps" autocomplete="off";
                    output #found for="search" {}
                }
                ol #rows { @for one in &parts.rows { (one) } }
                div #open { (open(run, is_running)) }
            }
            div #more { (more(run, beside)) }
        }
        footer.keys {
            @for (key, name) in [("j", "next"), ("k", "previous"), ("f", "next failure"), ("b", "before or after"),
                                 ("c", "candidates"), ("/", "search")] {
                span { kbd { (key) } " " (name) } " "
            }
        }
    }
}

/// Steps that have no record.
fn open(run: &Run, is_running: bool) -> Markup {
    html! { @for intent in &run.open { (timeline::open(intent, is_running)) } }
}

fn head(run: &Run, Beside { report, comparison }: Beside<'_>, is_running: bool) -> Markup {
    let result = result_of(run, is_running);
    let header = run.header.as_ref();
    let took = header.zip(run.end.as_ref()).map(|(header, end)| end.ts_ms.saturating_sub(header.ts_ms));
    let mut failed = run.steps.iter().enumerate().rev().filter(|(_, record)| record.result != StepResult::Ok);
    let last = failed.next();
    let tokens: u64 = run.calls.iter().map(|call| call.call.input_tokens.saturating_add(call.call.output_tokens)).sum();
    let error = report.and_then(|report| report.error.as_ref());
    let subject = header.map(in_words::subject);
    html! {
        div.title {
            span class={ "badge " (result) } { span aria-hidden="true" { (sign(result)) " " } (said(result)) }
            h1 { (subject.as_deref().unwrap_or("A run")) }
            @if let Some(url) = address(run) { p.address { (one_line(url, ADDRESS)) } }
        }
        ul.figures {
            @match (took, header) {
                (Some(took), _) => li { (seconds(took)) },
                (None, Some(header)) if is_running => li { "for " span data-since=(header.ts_ms) { "a while" } },
                _ => {}
            }
            li { (counted(run.steps.len(), "step")) }
            @let failed = failed.count() + usize::from(last.is_some());
            @if failed > 0 { li { (failed) " failed" } }
            @if let Some(repairs) = repairs(run) { li { "Repairs: " (repairs) } }
            @if !run.calls.is_empty() {
                li { (counted(run.calls.len(), "call")) " of models, " (counted(tokens, "token")) }
            }
        }
        @if let Some(error) = error {
            p.why {
                strong { (error.code) } ": " (error.message)
                @if let Some((at, record)) = last {
                    br;
                    a href={ "#step-" (at) } { "Step " (at + 1) } ", " (timeline::title(record))
                }
            }
        } @else if let Some((at, record)) = last.filter(|_| !matches!(result, "ok" | "running")) {
            p.why { a href={ "#step-" (at) } { "Step " (at + 1) } ", the last one that failed: " (timeline::title(record)) }
        }
        @if result == "cutOff" {
            p.why { "The log ends before the run did: the process was killed, or is still running." }
        }
        @if let Some(comparison) = comparison { (replayed(run, comparison)) }
        @if let Some(answer) = report.and_then(|report| report.answer.as_deref()) {
            h2 { "Answer" }
            pre tabindex="0" { (answer) }
        }
    }
}

/// Facts of a run besides its steps.
fn more(run: &Run, beside: Beside<'_>) -> Markup {
    let report = beside.report;
    html! {
        (troubles(run))
        section aria-labelledby="about" {
            h2 #about { "About this run" }
            dl.facts {
                @if let Some(header) = &run.header {
                    dt { "Run" } dd { (header.run_id.as_str()) }
                    dt { "Began" } dd { (utc(header.ts_ms).replace('T', " ").chars().take(19).collect::<String>()) " UTC" }
                    @if let Some(browser) = &header.browser {
                        dt { "Browser" } dd { (browser) @if let Some(path) = &header.browser_path { " (" (path) ")" } }
                    }
                    dt { "Command" } dd { "cuebook " (header.command) ", version " (header.cuebook) }
                }
                @for line in report.iter().flat_map(|report| report.late.in_words()) {
                    dt { "After the last step" } dd { (line) }
                }
                @if let Some(report) = report {
                    dt { "Origins enforced on" } dd {
                        (report.enforcement)
                        @if let Some(note) = &report.enforcement_note { " (" (note) ")" }
                    }
                }
            }
        }
    }
}

/// Returns the number of repairs in words and the time that they took; `None` without repairs.
fn repairs(run: &Run) -> Option<String> {
    let inserted = run.steps.iter().filter(|record| record.origin == StepOrigin::Repair);
    let again = run.steps.iter().filter(|record| record.origin != StepOrigin::Repair && record.attempt > 1);
    let took: u64 = inserted.clone().chain(again.clone()).map(|record| record.execution.duration_ms).sum();
    let parts = [counted(inserted.count(), "inserted step"), counted(again.count(), "further attempt")];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.starts_with("0 ")).collect();
    (!parts.is_empty()).then(|| format!("{}, {}", parts.join(", "), seconds(took)))
}

/// Kind and details of a difference, after the words of its step.
fn details_of(divergence: &Divergence) -> Markup {
    html! {
        ": " (divergence.kind.as_str())
        @if !divergence.recorded.is_empty() { " was " (divergence.recorded.join(", ")) }
        @if !divergence.replayed.is_empty() { " is " (divergence.replayed.join(", ")) }
        @if let Some(picture) = &divergence.picture { ", marked in " code { (picture) } }
    }
}

/// The first difference to the run that was replayed, and the others.
fn replayed(run: &Run, comparison: &Comparison) -> Markup {
    let recorded = comparison.recorded.as_ref().map_or("a recording", |run| run.as_str());
    let place = |divergence: &Divergence| {
        let index = divergence.step.checked_sub(1);
        let of = |record: &StepRecord| match index {
            None => record.origin == StepOrigin::Start,
            Some(index) => record.plan_index == Some(index),
        };
        run.steps.iter().position(of)
    };
    let line = |divergence: &Divergence| {
        html! {
            @match place(divergence) {
                Some(at) => a href={ "#step-" (at) } { (divergence.action) },
                None => (divergence.action),
            }
            (details_of(divergence))
        }
    };
    html! {
        @if let Some((first, rest)) = comparison.divergences.split_first() {
            p.why { strong { "First divergence" } " from " (recorded) ": " (line(first)) }
            @if !rest.is_empty() {
                details {
                    summary { (counted(rest.len(), "more difference")) }
                    div { ul { @for one in rest.iter().take(LISTED) { li { (line(one)) } } } }
                }
            }
        } @else {
            p.good { "A replay of " (recorded) ", without a difference." }
        }
    }
}

/// Requests that failed and errors of the console, over all steps.
fn troubles(run: &Run) -> Markup {
    let all = run.steps.iter().enumerate();
    let mut lines = all.flat_map(|(at, record)| record.effects.iter().flat_map(trouble).map(move |line| (at, line)));
    let shown: Vec<(usize, (&str, String))> = lines.by_ref().take(LISTED).collect();
    let more = lines.count();
    html! {
        @if !shown.is_empty() {
            h2 { "Network and console" }
            div.table tabindex="0" role="group" aria-label="Requests that failed and errors of the console" { table {
                thead { tr { th scope="col" { "Step" } th scope="col" { "Where" } th scope="col" { "What" } } }
                tbody { @for (at, (place, text)) in &shown { tr {
                    td { a href={ "#step-" (at) } { (at + 1) } } td { (place) } td.long { (text) }
                } } }
            } }
            @if more > 0 { p.faint { (more) " more in the steps." } }
        }
    }
}

/// Returns the problems on the wire and in the console during one step, each with its source.
fn trouble(effects: &EffectRecord) -> impl Iterator<Item = (&'static str, String)> {
    let requests = effects.requests.iter().filter(|request| request.is_problem());
    let requests = requests.map(|request| ("network", request.in_words()));
    let denied = effects.denied.iter().map(|denied| ("network", DeniedRequest::in_words(denied)));
    requests.chain(denied).chain(effects.console_errors.iter().map(|said| ("console", said.clone())))
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::record::RECORD_VERSION;
    use cuebook_grammar::seam::{ArtifactKind, ArtifactSink as _};
    use serde_json::{Value, json};

    use super::*;
    use crate::run_dir::RunDir;

    /// A run of these steps, given by their members besides the usual ones.
    fn run(header: Value, steps: &[Value]) -> Run {
        let whole = |mut entry: Value, members: &Value| {
            for (name, value) in members.as_object().unwrap() {
                entry[name] = value.clone();
            }
            format!("{entry}\n")
        };
        let usual = json!({ "entry": "header", "schemaVersion": RECORD_VERSION, "runId": "r", "tsMs": 1, "cuebook": "0",
                            "command": "exec" });
        let mut log = whole(usual, &header);
        for (index, step) in steps.iter().enumerate() {
            let action = step.get("action").cloned().unwrap_or_else(|| json!({ "type": "press", "keys": "Enter" }));
            let begin = json!({ "entry": "begin", "schemaVersion": RECORD_VERSION, "runId": "r", "stepIndex": index,
                                "origin": "plan", "attempt": 1, "action": action, "tsMs": 2 });
            let usual = json!({ "entry": "commit", "schemaVersion": RECORD_VERSION, "runId": "r", "stepIndex": index,
                                "origin": "plan", "attempt": 1, "action": action, "url": "http://a.test/",
                                "risk": "write", "effectClass": "reversible", "result": "ok",
                                "execution": { "tsMs": 2, "durationMs": 40 } });
            log += &format!("{begin}\n{}", whole(usual, step));
        }
        Run::read_bytes(log.as_bytes()).unwrap()
    }

    fn store() -> (tempfile::TempDir, ArtifactStore) {
        let out = tempfile::tempdir().unwrap();
        let dir = RunDir::create(out.path(), &cuebook_grammar::id::RunId::new("r")).unwrap();
        (out, ArtifactStore::new(&dir, None))
    }

    /// A picture of this many bytes, that begins as one does.
    async fn picture(store: &ArtifactStore, bytes: usize, last: u8) -> Value {
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x05\0\0\0\x02\xd0".to_vec();
        png.resize(bytes, last);
        json!(store.store(ArtifactKind::ScreenshotAfter, "image/png", png).await.unwrap())
    }

    #[test]
    fn only_a_run_that_goes_on_can_be_followed() {
        let (run, (_out, store)) = (run(json!({}), &[json!({})]), store());
        let follow = |is_running| {
            let page = live_page(&run, Beside::default(), &store, is_running);
            let at = page.find("<input id=\"follow\"").unwrap();
            page[page[..at].rfind("<label").unwrap()..at].to_owned()
        };
        assert_eq!(follow(true), "<label class=\"live\">");
        assert_eq!(follow(false), "<label class=\"live\" hidden>");
    }

    #[test]
    fn a_session_has_its_name_and_the_address_of_its_page() {
        let effects = json!({ "urlAfter": "http://a.test/<b>", "newDocument": true, "mutations": {} });
        let header = json!({ "command": "session", "session": "shop" });
        let (run, (_out, store)) = (run(header, &[json!({ "effects": effects })]), store());
        let page = live_page(&run, Beside::default(), &store, true);
        for part in ["<title>running: Session shop</title>", "<h1>Session shop</h1>", "http://a.test/&lt;b&gt;</p>"] {
            assert!(page.contains(part), "{part} in {page}");
        }
    }

    #[tokio::test]
    async fn a_step_without_a_picture_has_an_earlier_one_of_its_page() {
        let (_out, store) = store();
        let seen = json!({ "artifacts": [picture(&store, 100, 1).await] });
        let scrolled = json!({ "inputSent": true });
        let elsewhere = json!({ "inputSent": true, "url": "http://b.test/" });
        let run = run(json!({}), &[seen, scrolled.clone(), scrolled, elsewhere]);
        let page = page(&run, Beside::default(), &store);
        let mut panels = page.split("<article").skip(1);
        let mut panel = || panels.next().unwrap();
        assert!(!panel().contains("As of step"), "it has its own");
        assert!(panel().contains("Taken after step 1"), "nothing was done to the page since");
        assert!(panel().contains("As of step 1: the page may have changed since."));
        assert!(panel().contains("No picture of this step"), "another page");
        assert_eq!(page.matches("<li><a href=\"#step-").count(), 2, "the strip has no earlier page");
    }

    #[tokio::test]
    async fn where_pictures_are_left_out_the_step_that_is_shown_first_has_its_own() {
        let (_out, store) = store();
        let mut steps = Vec::new();
        for number in 0..3 {
            steps.push(json!({ "artifacts": [picture(&store, 20 << 20, number).await] }));
        }
        let page = page(&run(json!({}), &steps), Beside::default(), &store);
        let mut panels = page.split("<article").skip(1).map(|panel| panel.contains("Not in this page"));
        assert_eq!([panels.next(), panels.next(), panels.next()], [Some(false), Some(true), Some(false)]);
    }

    #[test]
    fn a_row_names_the_cause_of_a_failure_and_leaves_its_text_to_the_step() {
        let failure = json!({ "stage": "postcondition", "cause": "covered", "message": "a dialog is above it" });
        let (run, (_out, store)) = (run(json!({}), &[json!({ "result": "failed", "failure": failure })]), store());
        let page = page(&run, Beside::default(), &store);
        assert_eq!(page.matches("a dialog is above it").count(), 1);
        assert!(page.contains("<span class=\"failed\">failed</span>: covered"), "{page}");
    }
}
