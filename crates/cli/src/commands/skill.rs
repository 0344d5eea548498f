//! `cuebook skill`: a document that teaches a coding agent the commands of sessions.

use cuebook_session::ToolSet;

use crate::args::line;
use crate::exit::{Exit, print_text};

/// The document but for its table, which is made from the command line.
const DOCUMENT: &str = include_str!("skill.md");
/// Place of the table.
const TABLE: &str = "{{commands}}";

pub(crate) fn print() -> Exit {
    print_text(&document());
    Exit::OK
}

/// The document, with the commands that this build has.
pub(crate) fn document() -> String {
    let line = line();
    let mut table = String::from("| command | does |\n|---|---|\n");
    for tool in ToolSet::All.tools() {
        let Some(verb) = tool.verb else { continue };
        let is_needed = |place: &str| tool.arguments.iter().any(|it| it.name == place && it.is_needed);
        let place = |place: &&str| if is_needed(place) { format!(" <{place}>") } else { format!(" [{place}]") };
        let places: String = verb.places.iter().map(place).collect();
        let about = line.find_subcommand(verb.name).and_then(|command| command.get_about());
        let about = about.map(ToString::to_string).unwrap_or_default();
        table.push_str(&format!("| `cuebook {}{places}` | {about} |\n", verb.name));
    }
    DOCUMENT.replace(TABLE, table.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuebook_grammar::policy::command_words;

    #[test]
    fn every_command_of_the_skill_document_is_one() {
        let document = document();
        let blocks = document.split("```").skip(1).step_by(2);
        let lines = blocks.flat_map(str::lines).filter(|line| line.starts_with("cuebook "));
        let lines: Vec<&str> = lines.map(|line| line.split("  #").next().unwrap_or(line)).collect();
        assert!(lines.len() > 15, "{lines:?}");
        for written in lines {
            let words = command_words(written).unwrap_or_else(|error| panic!("{written}: {error}"));
            line().try_get_matches_from(words).unwrap_or_else(|error| panic!("{written}: {error}"));
        }
        // Commands within sentences are named, at least.
        for quoted in document.split('`').filter_map(|part| part.strip_prefix("cuebook ")) {
            let name = quoted.split_whitespace().next().unwrap_or_default();
            assert!(name == "help" || line().find_subcommand(name).is_some(), "{quoted}");
        }
    }

    #[test]
    fn the_skill_document_has_a_name_and_a_description_and_every_verb() {
        let document = document();
        let front = document.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).unwrap().0;
        let value = |key: &str| front.lines().find_map(|line| line.strip_prefix(&format!("{key}: "))).unwrap();
        assert_eq!(value("name"), "cuebook");
        assert!((40..1024).contains(&value("description").len()));
        for tool in cuebook_session::ToolSet::All.tools() {
            let Some(verb) = tool.verb else { continue };
            assert!(document.contains(&format!("| `cuebook {}", verb.name)), "{}", verb.name);
        }
        assert!(!document.contains("{{"));
    }
}
