//! Prompts: what a model is told, from templates that a user can replace.
//!
//! Invariants:
//! - What comes from a page stands in lines that begin with `| `, and no page text can begin a line of its own.
//! - A prompt names candidates by id; it holds no selector, no node handle and no text of a password-like field.
//! - However long a run is, a prompt stays within the bounds of its sections: what is old is summed up.

mod grammar_words;
mod sections;
mod template;

use std::path::Path;

use cuebook_decoding::GrammarSpec;
use cuebook_decoding::emit::{Body, Emission};
use cuebook_grammar::plan::Violation;
use cuebook_grammar::seam::PlanRequest;

use cuebook_grammar::render::{json_line, one_line};
use template::{MAX_BYTES, Need, Place, Template};

pub use template::TemplateError;

/// What a prompt is about.
pub(crate) struct Ground<'a> {
    pub(crate) request: &'a PlanRequest<'a>,
    pub(crate) spec: &'a GrammarSpec,
    pub(crate) form: &'a Form,
}

/// The form of the answer that is asked for.
pub(crate) enum Form {
    /// A plan as JSON, constrained.
    Plan,
    /// Calls of tools.
    Calls,
    /// A step a line.
    Lines,
    /// A plan as JSON, of this schema, unconstrained.
    Described(Emission),
}

/// The templates of all prompts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompts {
    system: Template,
    plan: Template,
    calls: Template,
    lines: Template,
    described: Template,
    turn: Template,
    reformulate: Template,
}

/// A template by its file: its places, and its built-in text.
struct Built {
    file: &'static str,
    places: &'static [Place],
    text: &'static str,
}

const SYSTEM: Built = Built {
    file: "system.txt",
    places: &[("form", Need::Required), ("max_steps", Need::Optional)],
    text: include_str!("../../prompts/system.txt"),
};
const PLAN: Built = Built {
    file: "plan.txt",
    places: &[("actions", Need::Optional), ("conditions", Need::Optional)],
    text: include_str!("../../prompts/plan.txt"),
};
const CALLS: Built = Built { file: "calls.txt", places: &[], text: include_str!("../../prompts/calls.txt") };
const LINES: Built = Built { file: "lines.txt", places: PLAN.places, text: include_str!("../../prompts/lines.txt") };
const DESCRIBED: Built = Built {
    file: "described.txt",
    places: &[("schema", Need::Required)],
    text: include_str!("../../prompts/described.txt"),
};
const TURN: Built = Built {
    file: "turn.txt",
    places: &[
        ("task", Need::Required),
        ("page", Need::Required),
        ("registered", Need::Optional),
        ("declared", Need::Optional),
        ("exemplars", Need::Optional),
        ("history", Need::Optional),
        ("failure", Need::Optional),
    ],
    text: include_str!("../../prompts/turn.txt"),
};
const REFORMULATE: Built = Built {
    file: "reformulate.txt",
    places: &[("violations", Need::Required)],
    text: include_str!("../../prompts/reformulate.txt"),
};

const ALL: [Built; 7] = [SYSTEM, PLAN, CALLS, LINES, DESCRIBED, TURN, REFORMULATE];

/// The most violations that a model is told of.
const VIOLATIONS: usize = 8;

/// The most characters of an answer that are quoted back to the model.
const QUOTED: usize = 6_000;

impl Default for Prompts {
    fn default() -> Self {
        Self::with(&|built| Ok(built.text.to_owned())).unwrap_or_else(|error| unreachable!("built-in prompts: {error}"))
    }
}

impl Prompts {
    /// Templates from a directory: `system.txt`, `plan.txt`, `calls.txt`, `lines.txt`, `described.txt`, `turn.txt`
    /// and `reformulate.txt`. The built-in one stands in for a file that is not there.
    ///
    /// # Errors
    /// [`TemplateError`]: none of these files, one that cannot be read, or one with places that nobody fills.
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

    /// The built-in templates as files: name and text.
    pub fn built_in() -> impl Iterator<Item = (&'static str, &'static str)> {
        ALL.into_iter().map(|built| (built.file, built.text))
    }

    fn with(text: &dyn Fn(&Built) -> Result<String, TemplateError>) -> Result<Self, TemplateError> {
        let read = |built: &Built| Template::read(built.file, &text(built)?, built.places);
        Ok(Self {
            system: read(&SYSTEM)?,
            plan: read(&PLAN)?,
            calls: read(&CALLS)?,
            lines: read(&LINES)?,
            described: read(&DESCRIBED)?,
            turn: read(&TURN)?,
            reformulate: read(&REFORMULATE)?,
        })
    }

    pub(crate) fn system(&self, ground: &Ground<'_>) -> String {
        let described = |place: &str| match (place, ground.form) {
            ("actions", _) => grammar_words::actions(ground.spec.document()),
            ("conditions", _) => grammar_words::conditions(ground.spec.document()),
            // It spells out options of the page, so that it is data as well.
            ("schema", Form::Described(Emission { body: Body::Json(schema), .. })) => {
                format!("| {}", json_line(schema))
            }
            _ => String::new(),
        };
        let template = match ground.form {
            Form::Plan => &self.plan,
            Form::Calls => &self.calls,
            Form::Lines => &self.lines,
            Form::Described(_) => &self.described,
        };
        let form = template.fill(&described);
        self.system.fill(&|place| match place {
            "form" => form.clone(),
            "max_steps" => ground.spec.caps().steps.to_string(),
            _ => String::new(),
        })
    }

    pub(crate) fn turn(&self, ground: &Ground<'_>) -> String {
        self.turn.fill(&|place| match place {
            "task" => sections::task(ground.request.task),
            "page" => sections::page(ground),
            "registered" => sections::registered(ground.request.policy),
            "declared" => sections::declared(ground.spec.caps()),
            "exemplars" => sections::exemplars(ground.request.exemplars),
            "history" => sections::history(ground.request.history, ground.request.stuck),
            "failure" => ground.request.failure.map(sections::failure).unwrap_or_default(),
            _ => String::new(),
        })
    }

    pub(crate) fn reformulate(&self, violations: &[Violation]) -> String {
        let mut lines: Vec<String> = violations
            .iter()
            .take(VIOLATIONS)
            .map(|violation| {
                let path = if violation.path.is_empty() { "the answer" } else { &violation.path };
                // A message may name what is on the page.
                format!("| {}: {}", one_line(path, 100), one_line(&violation.message, 300))
            })
            .collect();
        if let Some(more) = violations.len().checked_sub(VIOLATIONS).filter(|more| *more > 0) {
            lines.push(format!("(and {more} more)"));
        }
        self.reformulate.fill(&|_| lines.join("\n"))
    }

    /// What the model wrote, as it is quoted back to it.
    #[expect(clippy::unused_self, reason = "a template may come to say how")]
    pub(crate) fn quoted_answer(&self, output: &str) -> String {
        if output.trim().is_empty() { "(nothing)".to_owned() } else { output.chars().take(QUOTED).collect() }
    }
}

#[cfg(test)]
mod tests;
