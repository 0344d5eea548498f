//! The memory that a model writes for itself to read again: the end of its thought, after `Remember:`.
//!
//! Every form of answer holds a thought, so every one holds a memory, and no grammar needs a member for it: the
//! `reasoningSummary` of a plan, the lines of reasoning before steps, the parameter `thought` of each tool.

use cuebook_grammar::render::{cut, one_line};
use cuebook_grammar::seam::MEMORY;

/// The mark that stands before the memory.
const MARK: &str = "remember:";

/// The memory in a thought, in one line of at most [`MEMORY`] characters; `None` if it has none. It ends with its
/// paragraph: the thoughts of several calls are a paragraph each.
pub(super) fn memory_in(thought: &str) -> Option<String> {
    // ASCII only, so that the positions stay.
    let lower = thought.to_ascii_lowercase();
    let is_word = |at: usize| !lower.get(..at).is_some_and(|before| before.ends_with(char::is_alphanumeric));
    let at = lower.match_indices(MARK).map(|(at, _)| at).filter(|at| is_word(*at)).last()?;
    let said = thought.get(at + MARK.len()..)?.trim();
    let said = said.split_once("\n\n").map_or(said, |(said, _)| said.trim());
    (!said.is_empty()).then(|| cut(&one_line(said, MEMORY * 2), MEMORY))
}

/// The text of the member `reasoningSummary` in the beginning of a plan as JSON.
pub(super) fn summary_in(json: &str) -> Option<String> {
    text_of(&["\"reasoningSummary\"", "\"reasoning_summary\""], json)
}

/// The thought in the beginning of the arguments of a call, if it comes first.
pub(super) fn thought_in(arguments: &str) -> Option<String> {
    let first = arguments.trim_start().strip_prefix('{')?.trim_start();
    if first.starts_with(THOUGHT) { text_of(&[THOUGHT], first) } else { None }
}

/// The quoted name of the parameter of every tool.
const THOUGHT: &str = "\"thought\"";

/// The text of the first member of one of these names.
fn text_of(names: &[&str], json: &str) -> Option<String> {
    let (_, behind) = names.iter().find_map(|name| json.split_once(name))?;
    let text = behind.trim_start().strip_prefix(':')?.trim_start();
    serde_json::Deserializer::from_str(text).into_iter::<String>().next()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_thought_is_remembered_in_one_line() {
        let of = |thought: &str| memory_in(thought);
        assert_eq!(of("The first shop. Remember: A costs 35.90.").as_deref(), Some("A costs 35.90."));
        assert_eq!(of("REMEMBER: a\nb").as_deref(), Some("a b"));
        assert_eq!(of("Remember: a. Remember: b").as_deref(), Some("b"));
        assert_eq!(of("Remember: a\n\nThen the second call.").as_deref(), Some("a"));
        for nothing in ["", "Remember:", "Remember the milk", "Misremember: x", "ẞremember: x"] {
            assert_eq!(of(nothing), None, "{nothing}");
        }
        assert_eq!(of(&format!("Remember: {}", "é ".repeat(900))).unwrap().chars().count(), MEMORY);
    }

    #[test]
    fn the_summary_is_read_while_the_plan_goes_on() {
        let plan = r#"{"version":"1.0","reasoningSummary": "say \"x\". Remember: y","steps":[{"type":"#;
        assert_eq!(summary_in(plan).as_deref(), Some("say \"x\". Remember: y"));
        assert_eq!(summary_in(r#"{"reasoningSummary":null,"last":"#), None);
        assert_eq!(summary_in(r#"{"reasoningSummary":"cut o"#), None);
    }

    #[test]
    fn the_thought_of_a_call_is_read_while_its_arguments_go_on() {
        let of = |arguments: &str| thought_in(arguments);
        assert_eq!(of(r#" { "thought" : "a \"b\"", "targetRef": "c"#).as_deref(), Some("a \"b\""));
        for nothing in ["", "{", r#"{"thought":"cut o"#, r#"{"text":"x","thought":"late"}"#, r#"{"thought":3}"#] {
            assert_eq!(of(nothing), None, "{nothing}");
        }
    }
}
