//! Templates: text with places that are filled in.
//!
//! Invariants:
//! - A template is checked when it is read: a place that nobody fills is an error there, never in a prompt.
//! - What is filled in is not looked at again: a page that says `{{task}}` says just that.

use std::path::PathBuf;

/// Why a template cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// The file cannot be read.
    #[error("the template {} cannot be read", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file is larger than any template.
    #[error("expected a template of at most {MAX_BYTES} bytes in {}", .path.display())]
    TooLarge {
        /// Which.
        path: PathBuf,
    },
    /// A directory without any template.
    #[error("expected one of {known} in {}, saw none", .path.display())]
    NoTemplate {
        /// Where.
        path: PathBuf,
        /// What templates are called.
        known: String,
    },
    /// A place that nobody fills.
    #[error("{template}, line {line}: expected one of {known}, saw {{{{{name}}}}}")]
    UnknownPlace {
        /// The template.
        template: &'static str,
        /// From 1.
        line: usize,
        /// What stands between the braces.
        name: String,
        /// What may.
        known: String,
    },
    /// Braces that do not close.
    #[error("{template}, line {line}: expected }}}} after {{{{")]
    Unclosed {
        /// The template.
        template: &'static str,
        /// From 1.
        line: usize,
    },
    /// A template that leaves out what no prompt can do without.
    #[error("{template}: expected {{{{{name}}}}}, saw it nowhere")]
    Missing {
        /// The template.
        template: &'static str,
        /// What is missing.
        name: &'static str,
    },
}

/// The largest template, in bytes.
pub(super) const MAX_BYTES: u64 = 256 << 10;

/// A template that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Place(String),
}

/// A place of a template: its name, and whether a prompt can do without it.
pub(super) type Place = (&'static str, Need);

/// Whether a prompt can do without a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// It must be there.
    Required,
    /// It may be left out.
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
                let known = if known.is_empty() { "no place at all".to_owned() } else { known.join(", ") };
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

    /// The text with its places filled in. Empty lines around a place that is empty go with it.
    pub(super) fn fill(&self, value: &dyn Fn(&str) -> String) -> String {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                // Two empty lines in a row are what an empty place leaves behind.
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
    fn places_are_filled_and_what_fills_them_is_not_looked_at_again() {
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
    fn faults_are_told_with_their_line() {
        assert_eq!(error("{{task}}\n{{pgae}}"), "turn.txt, line 2: expected one of {{task}}, {{page}}, saw {{pgae}}");
        assert_eq!(error("a\nb {{task\n}}"), "turn.txt, line 2: expected }} after {{");
        assert_eq!(error("{{page}}"), "turn.txt: expected {{task}}, saw it nowhere");
    }
}
