//! Pages written as text, and plans read as text.
//!
//! A line is a candidate: `role "name"`, then any of `[context]`, `form=…`, `value=…`, `label="…"`,
//! `placeholder="…"`, `testid=…`, `options=a|b|c`, `to=/path`, and the words `checked`, `disabled`, `ambiguous`,
//! `expanded`, `collapsed`, `popup`, `password`, `email`, `multiline`, `multi`, `pressed`, `required`. Ids count
//! from c1. A line `heading Thank you` is a heading of the page.

use std::time::{Duration, Instant};

use cuebook_grammar::action::{Action, OptionChoice};
use cuebook_grammar::candidate::{Candidate, ControlKind, Fingerprint, SelectOption};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::facts::{States, Toggle};
use cuebook_grammar::id::{CandidateId, ObservationId, PageId, TargetRef};
use cuebook_grammar::observation::{FrameSummary, Heading, OBSERVATION_VERSION, Observation, Scope, Sketch, Viewport};
use cuebook_grammar::plan::PlanDraft;
use cuebook_grammar::policy::Policy;
use cuebook_grammar::role::Role;
use cuebook_grammar::seam::{HistoryEntry, IgnoreSteps, PlanRequest, Planner};
use cuebook_grammar::secret::FactText;
use cuebook_grammar::step::Step;
use cuebook_grammar::text_match::collapse_white_space;

use crate::Lexical;

const HERE: &str = "http://shop.test/start";

/// A page of these candidates.
pub(crate) fn page(lines: &str) -> Observation {
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    let (headings, lines): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with("heading "));
    let headings = headings.into_iter().map(|line| Heading { level: 1, text: line["heading ".len()..].to_owned() });
    let candidates = lines.into_iter().enumerate();
    let candidates = candidates.map(|(index, line)| candidate(u32::try_from(index + 1).unwrap(), line)).collect();
    Observation {
        schema_version: OBSERVATION_VERSION.to_owned(),
        id: ObservationId(1),
        page: PageId::new("p1"),
        scope: Scope::View,
        url: HERE.to_owned(),
        title: "Start".to_owned(),
        status: None,
        viewport: Viewport {
            width: 800.0,
            height: 600.0,
            page_width: 800.0,
            page_height: 600.0,
            ..Viewport::default()
        },
        frames: vec![FrameSummary {
            parent: None,
            url: HERE.to_owned(),
            origin: "http://shop.test".to_owned(),
            name: String::new(),
            out_of_process: false,
            omitted: None,
        }],
        candidates,
        recent: Vec::new(),
        sketch: Sketch { headings: headings.collect(), ..Sketch::default() },
        dialog: None,
        tabs: Vec::new(),
        truncated: None,
        delta: None,
        fingerprint: "0".repeat(16),
    }
}

/// What follows `key=` on the line, quoted or up to a space.
fn part(line: &str, key: &str) -> Option<String> {
    let rest = line.split_once(&format!(" {key}="))?.1;
    Some(match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next().unwrap_or_default().to_owned(),
        None => rest.split(' ').next().unwrap_or_default().to_owned(),
    })
}

fn candidate(id: u32, line: &str) -> Candidate {
    let (role, rest) = line.split_once(' ').unwrap_or((line, ""));
    let name =
        rest.trim_start().strip_prefix('"').and_then(|rest| rest.split('"').next()).unwrap_or_default().to_owned();
    let after =
        rest.trim_start().strip_prefix('"').and_then(|rest| rest.split_once('"')).map_or(rest, |(_, after)| after);
    let line = format!(" {after}");
    let bare = line.split('"').step_by(2).collect::<String>();
    let has = |word: &str| bare.split_whitespace().any(|seen| seen == word);
    let role = Role::parse(role).unwrap_or_else(|| panic!("{role} is no role"));
    let control = match role {
        _ if has("password") => ControlKind::Password,
        _ if has("multiline") => ControlKind::Multiline,
        _ if has("date") => ControlKind::DateTime,
        _ if has("file") => ControlKind::File,
        Role::ComboBox | Role::ListBox if part(&line, "options").is_some() => ControlKind::Select,
        Role::TextBox | Role::SearchBox => ControlKind::Text,
        Role::SpinButton => ControlKind::Number,
        Role::Slider => ControlKind::Range,
        Role::Checkbox | Role::Radio | Role::Switch => ControlKind::Check,
        _ => ControlKind::Plain,
    };
    let checkable = role.is_checkable();
    let states = States {
        disabled: has("disabled"),
        readonly: has("readonly"),
        required: has("required"),
        editable: role.is_text_entry(),
        focused: has("focused"),
        multiselectable: has("multi"),
        checked: checkable.then_some(if has("checked") { Toggle::True } else { Toggle::False }),
        expanded: if has("expanded") {
            Some(true)
        } else if has("collapsed") {
            Some(false)
        } else {
            None
        },
        haspopup: has("popup").then(|| "menu".to_owned()),
        ..States::default()
    };
    let options =
        part(&line, "options").map(|all| all.split('|').map(str::to_owned).collect::<Vec<_>>()).unwrap_or_default();
    let options = options.into_iter().map(|label| SelectOption {
        value: label.to_lowercase(),
        label,
        selected: false,
        disabled: false,
    });
    let context =
        line.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(context, _)| context.to_owned());
    let destination =
        part(&line, "to").map(|path| if path.starts_with('/') { format!("http://shop.test{path}") } else { path });
    Candidate {
        id: CandidateId(id),
        role,
        fingerprint: Fingerprint {
            role,
            name: name.clone(),
            path: format!("html/body/{id}"),
            ..Fingerprint::default()
        },
        name,
        name_source: Default::default(),
        context,
        ambiguous: has("ambiguous"),
        description: part(&line, "description"),
        states,
        control,
        value: part(&line, "value").map(FactText::Clear),
        options: options.collect(),
        label: part(&line, "label"),
        placeholder: part(&line, "placeholder"),
        test_id: part(&line, "testid"),
        destination,
        form: part(&line, "form"),
        rect: None,
        placement: Default::default(),
        occlusion: None,
        scroll_container: None,
        frame: 0,
        depth: 0,
        locators: Vec::new(),
        node: None,
        about: None,
    }
}

pub(super) fn policy() -> Policy {
    Policy::default().starting_at(HERE).unwrap()
}

/// The draft for a task.
pub(super) fn draft(task: &str, observation: &Observation, history: &[HistoryEntry]) -> PlanDraft {
    let policy = policy();
    let request = PlanRequest { history, ..PlanRequest::new(task, observation, &policy) };
    let deadline = Deadline::after(Instant::now(), Duration::from_secs(5));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let reply = runtime.block_on(Lexical.plan(&request, &mut IgnoreSteps, deadline)).unwrap();
    let [draft] = reply.drafts.try_into().unwrap();
    if let Err(violations) = PlanDraft::check(&draft, observation, &policy) {
        panic!("{task}: {violations:?}");
    }
    draft
}

/// The plan for a task on a page that nothing was done on, one step a line.
pub(super) fn plan(task: &str, observation: &Observation) -> String {
    draft(task, observation, &[]).steps.iter().map(text).collect::<Vec<_>>().join("; ")
}

/// A step in short: `type c1 ann`, `click c3`, `select c2 Large`.
pub(super) fn text(step: &Step) -> String {
    let verb = step.action.kind().meta().name;
    let target = step.action.target().map(|target| format!(" {target}")).unwrap_or_default();
    let more = match &step.action {
        Action::Select(select) => {
            let texts = select.option.choices.iter().map(|choice| match choice {
                OptionChoice::Text(text) | OptionChoice::Label(text) | OptionChoice::Value(text) => {
                    text.as_str().to_owned()
                }
                OptionChoice::Index(index) => index.get().to_string(),
                other => format!("{other:?}"),
            });
            format!(" {}", texts.collect::<Vec<_>>().join("+"))
        }
        Action::Press(press) => format!(" {}", press.keys.as_str()),
        Action::Navigate(navigate) => format!(" {}", navigate.url.as_str()),
        Action::Fail(fail) => format!(" {}", fail.reason.as_str()),
        Action::AskUser(ask) => format!(" {}", ask.question.as_str()),
        Action::Finish(finish) => {
            finish.result.as_ref().map(|result| format!(" {}", result.as_str())).unwrap_or_default()
        }
        Action::SearchPage(search) => format!(" {}", search.query.as_str()),
        Action::DragTo(drag) => format!(" {}", drag.to),
        Action::Scroll(scroll) => scroll.direction.map(|direction| format!(" {direction:?}")).unwrap_or_default(),
        Action::SwitchTab(switch) => format!(" {}", switch.tab.get()),
        Action::Upload(upload) => {
            format!(" {}", upload.files.iter().map(|file| file.as_str()).collect::<Vec<_>>().join("+"))
        }
        action => {
            let typed = action.text().and_then(|text| text.clear()).map(|text| format!(" {text}"));
            typed.or_else(|| action.credential().map(|name| format!(" {{{name}}}"))).unwrap_or_default()
        }
    };
    format!("{verb}{target}{more}")
}

/// What the history says of a step that succeeded.
pub(super) fn done(step: &Step, observation: &Observation) -> HistoryEntry {
    let candidate = step.action.target().and_then(TargetRef::candidate_id).and_then(|id| observation.candidate(id));
    HistoryEntry { target: candidate.map(Candidate::title), ..HistoryEntry::of(step.clone()) }
}

/// What a run does with its pages in turn: every plan's steps succeed, and after each plan the next page is
/// there; the last one stays. Ends with the step that ends the run.
pub(super) fn run(task: &str, pages: &[&str]) -> Vec<String> {
    let mut history: Vec<HistoryEntry> = Vec::new();
    let mut said = Vec::new();
    for turn in 0..12 {
        let observation = page(pages[turn.min(pages.len() - 1)]);
        let draft = draft(task, &observation, &history);
        said.push(draft.steps.iter().map(text).collect::<Vec<_>>().join("; "));
        let ends = ["finish", "fail", "askUser"];
        if draft.steps.iter().any(|step| ends.contains(&step.action.kind().meta().name)) {
            return said;
        }
        history.extend(draft.steps.iter().map(|step| done(step, &observation)));
    }
    panic!("expected {task:?} to end, saw {said:?}");
}

/// Asserts a table of tasks and plans, and says every line that differs.
pub(super) fn assert_plans(observation: &Observation, table: &[(&str, &str)]) {
    let wrong: Vec<String> = table
        .iter()
        .filter_map(|(task, expected)| {
            let seen = plan(task, observation);
            (collapse_white_space(&seen) != *expected)
                .then(|| format!("{task}\n  expected {expected}\n  saw      {seen}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
