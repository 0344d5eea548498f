//! What people see while a run goes on: lines on standard error, with everything from a page escaped.

use std::io::{IsTerminal as _, Write as _};

use cuebook_grammar::outcome::{Judged, remark};
use cuebook_grammar::record::{StepOrigin, StepRecord, StepResult};
use cuebook_grammar::seam::Repair;
use cuebook_grammar::step::Step;
use cuebook_grammar::verdict::Verdict;
use cuebook_repair::{Listener, RunEvent};
use tracing_subscriber::EnvFilter;

use crate::text::{plain, plain_lines};

/// Sends tracing to standard error: warnings, or more with `-v`.
pub(crate) fn start_tracing(verbosity: u8) {
    let level = match verbosity {
        0 => "warn",
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(format!("off,cuebook={level},cuebook_cdp={level},cuebook_probe={level},cuebook_page_modeler={level},cuebook_planner={level},cuebook_executor={level},cuebook_repair={level},cuebook_datalayer={level}")))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .finish();
    // A second subscriber cannot come about in this process; if it did, the first one stays.
    tracing::subscriber::set_global_default(subscriber).ok();
}

/// Prints a line on standard error. A closed standard error is nobody's loss.
pub(crate) fn say(line: &str) {
    let mut stderr = std::io::stderr().lock();
    writeln!(stderr, "{}", plain_lines(line)).ok();
}

/// Tells of a run line by line.
pub(crate) struct Narrator;

impl Listener for Narrator {
    fn event(&mut self, event: RunEvent<'_>) {
        match event {
            RunEvent::Observed(observation) => say(&format!(
                "  looked at {} ({})",
                plain(&observation.url),
                counted(observation.candidates.len(), "candidate")
            )),
            RunEvent::Planned(plan) => say(&format!("  a plan of {}", counted(plan.steps().len(), "step"))),
            RunEvent::Rejected(violations) => {
                say("  the draft does not pass the check:");
                for violation in violations {
                    say(&format!("    {}", plain(&violation.in_words())));
                }
            }
            RunEvent::Noted(note) => say(&format!("  note: {}", plain(note))),
            RunEvent::StepBegun { plan_index, origin, step, target } => {
                let why = match origin {
                    StepOrigin::Plan => "",
                    StepOrigin::Repair => " (repair)",
                    StepOrigin::Start => " (start)",
                };
                let number = plan_index.map_or_else(String::new, |index| (index + 1).to_string());
                say(&format!("{number:>3}  {}{why}", plain(&describe(step, target))));
            }
            RunEvent::StepEnded(record) => tell_end(record),
            RunEvent::Repairing(repair) => say(&format!("     repair: {}", name_of(repair))),
            _ => {}
        }
    }
}

fn tell_end(record: &StepRecord) {
    let took = record.execution.duration_ms;
    match (&record.result, &record.failure) {
        (StepResult::Ok, _) => {
            let note = remark(record.no_observed_effect, record.effects.as_ref());
            let note = note.map_or_else(String::new, |note| format!(", {}", plain(&note)));
            say(&format!("     ok in {took} ms{note}"));
            let changes = record.action.action.condition().is_none();
            let vacuous = record.post_check.iter().filter(|judged| changes && judged.vacuous && !judged.default);
            for judged in vacuous {
                say(&format!("     note: `{}` held already before the step", judged.condition.tag()));
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

/// A number of things: `1 step`, `2 steps`.
pub(crate) fn counted(count: usize, thing: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{ending}")
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
        cuebook_grammar::action::Action::Navigate(navigate) => format!("{verb} {}", navigate.url),
        cuebook_grammar::action::Action::WaitFor(wait) => format!("{verb} {}", wait.condition.tag()),
        cuebook_grammar::action::Action::Press(press) => format!("{object} {}", press.keys),
        _ => object,
    }
}

fn name_of(repair: &Repair) -> String {
    match repair {
        Repair::Insert(steps) => steps.iter().map(|step| describe(step, None)).collect::<Vec<_>>().join(", then "),
        Repair::Retarget { from, to } => format!("{from} is {to} now"),
        Repair::Reobserve(_) => "look again".to_owned(),
        Repair::Rewrite { step, .. } => describe(step, None),
        Repair::Replan => "a new plan".to_owned(),
        Repair::Abandon => "none".to_owned(),
    }
}
