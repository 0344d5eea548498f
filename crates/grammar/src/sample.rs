//! Pages written as text, for tests.
//!
//! A line is a candidate: `role "name"`, then any of `[context]`, `form=…`, `value=…`, `label="…"`,
//! `placeholder="…"`, `testid=…`, `options=a|b|c`, `to=/path`, and the words `checked`, `disabled`, `ambiguous`,
//! `expanded`, `collapsed`, `popup`, `password`, `multiline`, `multi`, `readonly`, `required`, `date`, `file`. Ids count
//! from c1. A line `heading Orders` is a heading of the page; `alert …` and `status …` are texts that it announces.

use crate::candidate::{Activation, Bounds, Candidate, ControlKind, Fingerprint, SelectOption};
use crate::facts::{States, Toggle};
use crate::id::{CandidateId, ObservationId, PageId};
use crate::observation::{FrameSummary, Heading, LiveText, Observation, Sketch, Viewport};
use crate::role::Role;
use crate::secret::FactText;

/// The URL of a page.
pub const HERE: &str = "http://shop.test/start";

/// A page of these candidates.
#[must_use]
pub fn page(lines: &str) -> Observation {
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    let (mut headings, mut live) = (Vec::new(), Vec::new());
    let is_candidate = |line: &&str| match line.split_once(' ') {
        Some(("heading", text)) => {
            headings.push(Heading { level: 1, text: text.to_owned() });
            false
        }
        Some((kind @ ("alert" | "status" | "error"), text)) => {
            live.push(LiveText { kind: kind.to_owned(), text: text.to_owned() });
            false
        }
        _ => true,
    };
    let lines: Vec<&str> = lines.filter(is_candidate).collect();
    let candidates = lines.into_iter().enumerate();
    let candidates =
        candidates.map(|(index, line)| candidate(u32::try_from(index + 1).unwrap_or(u32::MAX), line)).collect();
    Observation {
        id: ObservationId(1),
        title: "Start".to_owned(),
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
        sketch: Sketch { headings, live, ..Sketch::default() },
        fingerprint: "0".repeat(16),
        ..Observation::blank(PageId::new("p1"), HERE)
    }
}

/// Returns the text after `key=` on the line, quoted or up to a space.
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
    let role = Role::parse(role).unwrap_or_default();
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
        bounds: Bounds::default(),
        options: options.collect(),
        label: part(&line, "label"),
        placeholder: part(&line, "placeholder"),
        test_id: part(&line, "testid"),
        destination,
        form: part(&line, "form"),
        activation: Activation::default(),
        surroundings: part(&line, "asks"),
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
