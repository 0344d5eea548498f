//! Progress of a run: lines on standard error, with untrusted text escaped.

pub(crate) use cuebook_grammar::render::counted;

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _};

use cuebook::network::{Decision, Verdict as Judgement};
use cuebook_grammar::action::Action;
use cuebook_grammar::outcome::{Judged, remark};
use cuebook_grammar::plan::Violation;
use cuebook_grammar::record::{LoggedEvent, StepOrigin, StepRecord, StepResult};
use cuebook_grammar::seam::Repair;
use cuebook_grammar::step::Step;
use cuebook_grammar::verdict::Verdict;
use cuebook_repair::{Listener, RunEvent};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::FmtSpan;

use crate::text::{plain, plain_lines};

/// Says which messages of an MCP client are skipped: one that is no JSON cannot be answered.
const MESSAGES: &str = "rmcp::transport::async_rw";

/// Sends tracing to standard error: warnings, or more with `-v`, and then a line for each span that ends, with its time.
pub(crate) fn start_tracing(verbosity: u8) {
    let level = match verbosity {
        0 => "warn",
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    let spans = if verbosity == 0 { FmtSpan::NONE } else { FmtSpan::CLOSE };
    let subscriber = tracing_subscriber::fmt()
        .with_span_events(spans)
        .with_env_filter(EnvFilter::new(format!("off,cuebook={level},cuebook_cdp={level},cuebook_probe={level},cuebook_page_modeler={level},cuebook_planner={level},cuebook_executor={level},cuebook_repair={level},cuebook_datalayer={level},cuebook_network={level},{MESSAGES}=debug")))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .finish();
    // This is the only subscriber of the process.
    tracing::subscriber::set_global_default(subscriber).ok();
}

/// Prints a line on standard error. A closed pipe is ignored.
pub(crate) fn say(line: &str) {
    let mut stderr = std::io::stderr().lock();
    writeln!(stderr, "{}", plain_lines(line)).ok();
}

/// Prints one violation a line, indented.
pub(crate) fn say_violations<'a>(violations: impl IntoIterator<Item = &'a Violation>) {
    let mut violations = violations.into_iter();
    for violation in violations.by_ref().take(VIOLATIONS) {
        say(&format!("  {}", plain(&violation.in_words())));
    }
    match violations.count() {
        0 => {}
        more => say(&format!("  … and {more} more")),
    }
}

/// Violations that are printed.
const VIOLATIONS: usize = 20;

/// Places that are named at the end of a run.
const DENIED_PLACES: usize = 5;

/// Prints which places the proxy denied to pages, without those that Chrome contacts by itself.
pub(crate) fn say_denied(decisions: &[Decision]) {
    let mut places: BTreeMap<(&str, u16, &str), usize> = BTreeMap::new();
    for decision in decisions.iter().filter(|one| one.verdict.is_denial() && one.verdict != Judgement::BrowserInternal)
    {
        *places.entry((&decision.host, decision.port, decision.verdict.rule())).or_default() += 1;
    }
    for ((host, port, rule), count) in places.iter().take(DENIED_PLACES) {
        say(&format!("note: {} to {}:{port} denied by rule {rule}", counted(*count, "request"), plain(host)));
    }
    if let Some(more @ 1..) = places.len().checked_sub(DENIED_PLACES) {
        say(&format!("note: requests to {} denied", counted(more, "further place")));
    }
}

/// Prints the events of a run.
pub(crate) struct Narrator;

impl Listener for Narrator {
    fn event(&mut self, event: RunEvent<'_>) {
        match event {
            RunEvent::Observed(observation) => say(&format!(
                "  observed {} ({})",
                plain(&observation.url),
                counted(observation.candidates.len(), "candidate")
            )),
            RunEvent::Planned(plan) => say(&format!("  a plan of {}", counted(plan.steps().len(), "step"))),
            RunEvent::Rejected(violations) => {
                say("  the plan does not pass the check:");
                say_violations(violations);
            }
            RunEvent::Noted(note) => say(&format!("  note: {}", plain(note))),
            RunEvent::StepBegun { plan_index, origin, step, target } => {
                let why = match origin {
                    StepOrigin::Plan => "",
                    StepOrigin::Repair => " (repair)",
                    StepOrigin::Start => " (start)",
                    StepOrigin::Person => " (person)",
                };
                let number = plan_index.map_or_else(String::new, |index| (index + 1).to_string());
                say(&format!("{number:>3}  {}{why}", plain(&describe(step, target))));
            }
            RunEvent::StepEnded(record) => say_end(record),
            RunEvent::Logged(LoggedEvent::ReadAsMarkdown { .. }) => {
                say("     note: the schema asks for nothing, so the page was read as Markdown");
            }
            RunEvent::Logged(LoggedEvent::DraftTaken { taken, others }) => {
                say(&format!("     draft {} of {} was taken", u64::from(*taken) + 1, others.len() + 1));
            }
            RunEvent::Repairing(repair) => say(&format!("     repair: {}", name_of(repair))),
            _ => {}
        }
    }
}

fn say_end(record: &StepRecord) {
    let took = record.execution.duration_ms;
    match (&record.result, &record.failure) {
        (StepResult::Ok, _) => {
            let (kind, effects) = (record.action.action.kind(), record.effects.as_ref());
            let note = remark(kind, record.no_observed_effect, &record.post_check, effects);
            let note = note.map_or_else(String::new, |note| format!(", {}", plain(&note)));
            say(&format!("     ok in {took} ms{note}"));
            let changes = record.action.action.condition().is_none();
            let vacuous = record.post_check.iter().filter(|judged| changes && judged.vacuous && !judged.default);
            for judged in vacuous {
                say(&format!("     note: `{}` already held before the step", judged.condition.tag()));
            }
        }
        (_, Some(failure)) => {
            say(&format!("     {}: {}", failure.cause.as_str(), plain(&failure.message)));
            let missed = record.post_check.iter().filter(|judged| judged.verdict != Verdict::Holds && !judged.default);
            for judged in missed {
                say(&format!("       {}", verdict_line(judged)));
            }
        }
        (_, None) => say("     not run"),
    }
}

fn verdict_line(judged: &Judged) -> String {
    let verdict = match judged.verdict {
        Verdict::Holds => "holds",
        Verdict::Fails => "fails",
        Verdict::Unknown => "unknown",
    };
    let condition = serde_json::to_string(&judged.condition).unwrap_or_else(|_| judged.condition.tag().to_owned());
    format!("{verdict}: {}", plain(&condition.chars().take(300).collect::<String>()))
}

/// A step in one line: `click button "Log in"`.
pub(crate) fn describe(step: &Step, target: Option<&str>) -> String {
    let verb = step.action.kind().meta().name;
    let named = step.action.target().map(ToString::to_string);
    let object = match (target, &named) {
        (Some(title), Some(id)) => format!("{verb} {id} {title}"),
        (None, Some(id)) => format!("{verb} {id}"),
        _ => verb.to_owned(),
    };
    match &step.action {
        Action::Navigate(navigate) => format!("{verb} {}", navigate.url),
        Action::WaitFor(wait) => format!("{verb} {}", wait.condition.tag()),
        Action::ScrollUntil(search) => match (&search.text, &search.condition) {
            (Some(text), _) => format!("{verb} {:?}", text.as_str()),
            (_, Some(condition)) => format!("{verb} {}", condition.tag()),
            _ => object,
        },
        Action::Press(press) => format!("{object} {}", press.keys),
        _ => object,
    }
}

fn name_of(repair: &Repair) -> String {
    match repair {
        Repair::Insert(steps) => steps.iter().map(|step| describe(step, None)).collect::<Vec<_>>().join(", then "),
        Repair::Retarget { from, to } => format!("{from} is now {to}"),
        Repair::Reobserve(_) => "observe again".to_owned(),
        Repair::Rewrite { step, .. } => describe(step, None),
        Repair::Replan => "a new plan".to_owned(),
        Repair::Abandon => "none".to_owned(),
    }
}
