//! Templates: text with places to fill in.
//!
//! Invariants:
//! - A template is checked when it is read: an unknown place is an error there, never in a prompt.
//! - Filled-in text is not expanded again: `{{task}}` in a page stays as it is.

use std::path::PathBuf;

/// Why a template cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// The file cannot be read.
    #[error("the template {} cannot be read", .path.display())]
    File {
        /// Path of the template's file.
        path: PathBuf,
        /// Error of the file system.
        #[source]
        source: std::io::Error,
    },
    /// The file is too large.
    #[error("the template {} is larger than {MAX_BYTES} bytes", .path.display())]
    TooLarge {
        /// Path of the template's file.
        path: PathBuf,
    },
    /// The directory has no template.
    #[error("{} has no template: expected any of {known}", .path.display())]
    NoTemplate {
        /// Directory that was to hold templates.
        path: PathBuf,
        /// The names of templates.
        known: String,
    },
    /// A place is unknown.
    #[error("{template}, line {line}: {{{{{name}}}}} is not one of {known}")]
    UnknownPlace {
        /// File name of the template.
        template: &'static str,
        /// 1-based line of the place.
        line: usize,
        /// The text between the braces.
        name: String,
        /// The places that this template knows, as text.
        known: String,
    },
    /// A place is not closed.
    #[error("{template}, line {line}: expected }}}} after {{{{")]
    Unclosed {
        /// File name of the template.
        template: &'static str,
        /// 1-based line of the opening braces.
        line: usize,
    },
    /// A required place is missing.
    #[error("{template}: the place {{{{{name}}}}} is missing")]
    Missing {
        /// File name of the template.
        template: &'static str,
        /// Name of the place, without braces.
        name: &'static str,
    },
}

/// Upper bound of a template in bytes.
pub(super) const MAX_BYTES: u64 = 256 << 10;

/// A template whose places are known, and whose required places are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Place(String),
}

/// A place of a template: its name, and whether it is required.
pub(super) type Place = (&'static str, Need);

/// Need of a place in a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// The template must have it.
    Required,
    /// The template may omit it.
    Optional,
}

impl Template {
    /// Reads a template whose places are among `places`.
    pub(super) fn read(name: &'static str, text: &str, places: &[Place]) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut rest = text.trim_end();
        let line_of = |rest: &str| {
            let read = text.len() - rest.len().min(text.len());
            text.get(..read).unwrap_or(text).lines().count().max(1)
        };
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((place, behind)) = after.split_once("}}").filter(|(place, _)| !place.contains('\n')) else {
                return Err(TemplateError::Unclosed { template: name, line: line_of(after) });
            };
            if !places.iter().any(|(known, _)| *known == place.trim()) {
                let known: Vec<String> = places.iter().map(|(known, _)| format!("{{{{{known}}}}}")).collect();
                let known = if known.is_empty() { "no place".to_owned() } else { known.join(", ") };
                let place = place.chars().take(60).collect();
                return Err(TemplateError::UnknownPlace { template: name, line: line_of(after), name: place, known });
            }
            parts.push(Part::Text(before.to_owned()));
            parts.push(Part::Place(place.trim().to_owned()));
            rest = behind;
        }
        parts.push(Part::Text(rest.to_owned()));
        let has = |place: &str| parts.iter().any(|part| *part == Part::Place(place.to_owned()));
        match places.iter().find(|(place, need)| *need == Need::Required && !has(place)) {
            Some((place, _)) => Err(TemplateError::Missing { template: name, name: place }),
            None => Ok(Self { parts }),
        }
    }

    /// Fills in the places. An empty value also removes the empty lines around its place.
    pub(super) fn fill(&self, value: &dyn Fn(&str) -> String) -> String {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                // An empty place leaves two empty lines.
                Part::Text(text) if out.is_empty() || out.ends_with("\n\n") => {
                    out.push_str(text.trim_start_matches('\n'))
                }
                Part::Text(text) => out.push_str(text),
                Part::Place(place) => out.push_str(&value(place)),
            }
        }
        out.trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACES: &[Place] = &[("task", Need::Required), ("page", Need::Optional)];

    fn error(text: &str) -> String {
        Template::read("turn.txt", text, PLACES).unwrap_err().to_string()
    }

    #[test]
    fn filled_in_text_is_not_expanded_again() {
        let template = Template::read("turn.txt", "do {{task}}:\n{{ page }}\n", PLACES).unwrap();
        let filled = template.fill(&|place| if place == "task" { "{{page}}".to_owned() } else { "P".to_owned() });
        assert_eq!(filled, "do {{page}}:\nP");
    }

    #[test]
    fn an_empty_place_leaves_no_empty_lines_behind() {
        let template = Template::read("turn.txt", "{{task}}\n\n{{page}}\n\nend", PLACES).unwrap();
        assert_eq!(template.fill(&|place| if place == "task" { "T".to_owned() } else { String::new() }), "T\n\nend");
    }

    #[test]
    fn errors_state_the_line() {
        assert_eq!(error("{{task}}\n{{pgae}}"), "turn.txt, line 2: {{pgae}} is not one of {{task}}, {{page}}");
        assert_eq!(error("a\nb {{task\n}}"), "turn.txt, line 2: expected }} after {{");
        assert_eq!(error("{{page}}"), "turn.txt: the place {{task}} is missing");
    }
}
