//! What a model writes for itself to read again: the end of its thought, after `Remember:`.
//!
//! Every dialect holds a thought, so every dialect holds a memory, and no grammar needs a member for it.

use cuebook_grammar::render::{cut, one_line};
use cuebook_grammar::seam::MEMORY;

/// What stands before it.
const MARK: &str = "remember:";

/// The memory in a thought, in one line of at most [`MEMORY`] characters; `None` if it has none.
pub(super) fn memory_in(thought: &str) -> Option<String> {
    // ASCII only, so that the positions stay.
    let lower = thought.to_ascii_lowercase();
    let is_word = |at: usize| !lower.get(..at).is_some_and(|before| before.ends_with(char::is_alphanumeric));
    let at = lower.match_indices(MARK).map(|(at, _)| at).filter(|at| is_word(*at)).last()?;
    let said = thought.get(at + MARK.len()..)?.trim();
    (!said.is_empty()).then(|| cut(&one_line(said, MEMORY * 2), MEMORY))
}

/// The text of the member `reasoningSummary` in the beginning of a plan as JSON.
pub(super) fn summary_in(json: &str) -> Option<String> {
    let (_, behind) =
        ["\"reasoningSummary\"", "\"reasoning_summary\""].iter().find_map(|name| json.split_once(name))?;
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
}
