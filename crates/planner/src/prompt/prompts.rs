//! The templates of all prompts.

use std::path::Path;

use cuebook_decoding::brief;
use cuebook_grammar::observation::{Observation, Viewport};
use cuebook_grammar::outcome::Cause;
use cuebook_grammar::plan::Violation;
use cuebook_grammar::render::one_line;
use cuebook_grammar::seam::PlanRequest;

use super::ground::{Form, Ground};
use super::template::{MAX_BYTES, Need, Place, Template, TemplateError};
use super::{grammar_words, sections};
use crate::pointing::Space;

/// The templates of all prompts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompts {
    is_compact: bool,
    system: Template,
    plan: Template,
    calls: Template,
    lines: Template,
    turn: Template,
    reformulate: Template,
    computer: Template,
    ui_tars: Template,
    look: Template,
}

/// A built-in template: its file, places and text.
struct Built {
    file: &'static str,
    places: &'static [Place],
    text: &'static str,
}

const SYSTEM: Built = Built {
    file: "system.txt",
    places: &[("form", Need::Required), ("max_steps", Need::Optional), ("beyond", Need::Optional)],
    text: include_str!("../../prompts/system.txt"),
};
const PLAN: Built = Built {
    file: "plan.txt",
    places: &[("actions", Need::Optional), ("conditions", Need::Optional)],
    text: include_str!("../../prompts/plan.txt"),
};
const CALLS: Built = Built { file: "calls.txt", places: &[], text: include_str!("../../prompts/calls.txt") };
const LINES: Built = Built { file: "lines.txt", places: PLAN.places, text: include_str!("../../prompts/lines.txt") };
const TURN: Built = Built {
    file: "turn.txt",
    places: &[
        ("task", Need::Required),
        ("page", Need::Required),
        ("registered", Need::Optional),
        ("declared", Need::Optional),
        ("case", Need::Optional),
        ("exemplars", Need::Optional),
        ("history", Need::Optional),
        ("memory", Need::Optional),
        ("failure", Need::Optional),
        ("now", Need::Optional),
    ],
    text: include_str!("../../prompts/turn.txt"),
};
const REFORMULATE: Built = Built {
    file: "reformulate.txt",
    places: &[("violations", Need::Required)],
    text: include_str!("../../prompts/reformulate.txt"),
};

const COMPUTER: Built = Built { file: "computer.txt", places: &[], text: include_str!("../../prompts/computer.txt") };
const UI_TARS: Built = Built { file: "ui-tars.txt", places: &[], text: include_str!("../../prompts/ui-tars.txt") };
const LOOK: Built = Built {
    file: "look.txt",
    places: &[
        ("task", Need::Required),
        ("page", Need::Required),
        ("case", Need::Optional),
        ("history", Need::Optional),
        ("memory", Need::Optional),
        ("failure", Need::Optional),
        ("now", Need::Optional),
    ],
    text: include_str!("../../prompts/look.txt"),
};

const ALL: [Built; 9] = [SYSTEM, PLAN, CALLS, LINES, TURN, REFORMULATE, COMPUTER, UI_TARS, LOOK];

/// How more of a page is seen.
const BEYOND: &str = " What follows \"# off view\" can be scrolled to; scrollUntil, searchPage and extract show more: search \
                      for what is not shown, once more in other words.";

/// Returns `true` if a page has nothing that scrolling or reading would show.
fn is_whole(page: &Observation) -> bool {
    let Viewport { width, height, page_width, page_height, .. } = page.viewport;
    page_height < height + 1.0 && page_width < width + 1.0 && page.panes.is_empty() && page.truncated.is_none()
}

/// Upper bound of the violations in a prompt.
const VIOLATIONS: usize = 8;

/// Upper bound in characters of a quoted answer.
const QUOTED: usize = 6_000;

impl Default for Prompts {
    fn default() -> Self {
        Self::with(&|built| Ok(built.text.to_owned())).unwrap_or_else(|error| unreachable!("built-in prompts: {error}"))
    }
}

impl Prompts {
    /// The brief form, [`cuebook_decoding::brief`]: the task, the page and what was done. For models below some three
    /// billion parameters, and for those that were trained with it.
    #[must_use]
    pub fn compact() -> Self {
        Self { is_compact: true, ..Self::default() }
    }

    pub(crate) const fn is_compact(&self) -> bool {
        self.is_compact
    }

    /// Templates from a directory: `system.txt`, `plan.txt`, `calls.txt`, `lines.txt`, `turn.txt`, `reformulate.txt`,
    /// and those for models that point, `computer.txt`, `ui-tars.txt` and `look.txt`. The default of a missing file is the built-in template.
    ///
    /// # Errors
    /// [`TemplateError`]: none of these files exists, or one cannot be read or has unknown places.
    pub fn from_dir(dir: &Path) -> Result<Self, TemplateError> {
        if !ALL.iter().any(|built| dir.join(built.file).is_file()) {
            let known = ALL.map(|built| built.file).join(", ");
            return Err(TemplateError::NoTemplate { path: dir.to_owned(), known });
        }
        Self::with(&|built| {
            let path = dir.join(built.file);
            let unreadable = |source| TemplateError::File { path: path.clone(), source };
            match std::fs::metadata(&path) {
                Ok(metadata) if metadata.len() > MAX_BYTES => Err(TemplateError::TooLarge { path }),
                Ok(_) => std::fs::read_to_string(&path).map_err(unreadable),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(built.text.to_owned()),
                Err(error) => Err(unreadable(error)),
            }
        })
    }

    fn with(text: &dyn Fn(&Built) -> Result<String, TemplateError>) -> Result<Self, TemplateError> {
        let read = |built: &Built| Template::read(built.file, &text(built)?, built.places);
        Ok(Self {
            is_compact: false,
            system: read(&SYSTEM)?,
            plan: read(&PLAN)?,
            calls: read(&CALLS)?,
            lines: read(&LINES)?,
            turn: read(&TURN)?,
            reformulate: read(&REFORMULATE)?,
            computer: read(&COMPUTER)?,
            ui_tars: read(&UI_TARS)?,
            look: read(&LOOK)?,
        })
    }

    pub(crate) fn system(&self, ground: &Ground<'_>) -> String {
        match ground.form {
            Form::Pointing(Space::UiTars) => return self.ui_tars.fill(&|_| String::new()),
            Form::Pointing(_) => return self.computer.fill(&|_| String::new()),
            _ => {}
        }
        if self.is_compact {
            return brief::SYSTEM.to_owned();
        }
        let is_whole = is_whole(ground.request.observation);
        let described = |place: &str| match place {
            "actions" => grammar_words::actions(ground.spec.document(), is_whole),
            "conditions" => grammar_words::conditions(ground.spec.document()),
            _ => String::new(),
        };
        let template = match ground.form {
            Form::Plan | Form::Pointing(_) => &self.plan,
            Form::Calls => &self.calls,
            Form::Lines => &self.lines,
        };
        let form = template.fill(&described);
        self.system.fill(&|place| match place {
            "form" => form.clone(),
            "beyond" if !is_whole => BEYOND.to_owned(),
            "max_steps" => ground.spec.caps().steps.to_string(),
            _ => String::new(),
        })
    }

    pub(crate) fn turn(&self, ground: &Ground<'_>) -> String {
        let is_pointing = matches!(ground.form, Form::Pointing(_));
        if self.is_compact && !is_pointing {
            let PlanRequest { task, observation, features, history, failure, .. } = ground.request;
            let unproven = failure.filter(|failure| failure.cause == Cause::Unproven);
            let unproven = unproven.map(|failure| failure.message.as_str());
            return brief::request_seeing(task, observation, features, history, unproven);
        }
        let template = if is_pointing { &self.look } else { &self.turn };
        template.fill(&|place| match place {
            "task" => sections::task(ground.request.task),
            "page" if is_pointing => sections::looked_at(ground.request),
            "page" => sections::page(ground),
            "registered" => sections::registered(ground.request.policy),
            "declared" => sections::declared(ground),
            "case" => ground.request.case.map(sections::case).unwrap_or_default(),
            "exemplars" => sections::exemplars(ground.request.exemplars),
            "history" => sections::history(ground.request.history, ground.request.stuck),
            "memory" => ground.request.memory.map(sections::memory).unwrap_or_default(),
            "failure" => {
                let again = ground.request.failed_now;
                ground.request.failure.map(|failure| sections::failure(failure, again)).unwrap_or_default()
            }
            "now" => sections::now(ground.request),
            _ => String::new(),
        })
    }

    pub(crate) fn reformulate(&self, violations: &[Violation]) -> String {
        let mut lines: Vec<String> = violations
            .iter()
            .take(VIOLATIONS)
            .map(|violation| {
                let path = if violation.path.is_empty() { "the answer" } else { &violation.path };
                // A message may quote the page.
                format!("| {}: {}", one_line(path, 100), one_line(&violation.message, 300))
            })
            .collect();
        if let Some(more) = violations.len().checked_sub(VIOLATIONS).filter(|more| *more > 0) {
            lines.push(format!("(and {more} more)"));
        }
        self.reformulate.fill(&|_| lines.join("\n"))
    }

    /// An answer, as it is quoted back to the model.
    pub(crate) fn quoted_answer(output: &str) -> String {
        if output.trim().is_empty() { "(nothing)".to_owned() } else { output.chars().take(QUOTED).collect() }
    }
}
