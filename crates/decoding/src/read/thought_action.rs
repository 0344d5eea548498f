//! `<Thought>…</Thought><Action>click(223)</Action>`: one thought, one action. A missing closing tag is put
//! up with, as decoders that stop at it leave it out.

use cuebook_grammar::plan::{Author, PlanDraft, Violations};
use cuebook_grammar::wire::LongText;

use super::json;
use super::line;
use super::malformed::malformed;

/// Returns `true` if the text has a thought or an action in tags.
pub(super) fn is_in(text: &str) -> bool {
    text.contains("<Action>") || text.contains("<Thought>")
}

pub(super) fn read(text: &str, author: Author) -> Result<PlanDraft, Violations> {
    if text.matches("<Action>").count() > 1 {
        return Err(vec![malformed("/action", "there is more than one <Action>")].into());
    }
    if text.matches("<Thought>").count() > 1 {
        return Err(vec![malformed("/thought", "there is more than one <Thought>")].into());
    }
    // A plan beside the tags is a second one. What stands within them is theirs.
    let begin = text.find("<Thought>").or_else(|| text.find("<Action>")).and_then(|at| text.get(..at));
    let end = text.rsplit_once("</Action>").map(|(_, rest)| rest);
    if [begin, end].into_iter().flatten().any(json::holds_plan) {
        return Err(vec![malformed("", "there are two plans, an <Action> and one in JSON")].into());
    }
    let thought = between(text, "<Thought>", "</Thought>");
    let Some(action) = between(text, "<Action>", "</Action>") else {
        return Err(vec![malformed("/action", "there is no <Action>…</Action>")].into());
    };
    let step = line::step(action.trim(), &[line::Habit::NumbersAreIds])
        .map_err(|error| vec![malformed("/action", error.to_string())])?;
    let plan = serde_json::json!({ "steps": [step] });
    let mut draft = json::draft(plan, author)?;
    draft.reasoning_summary = thought.map(|thought| LongText::cut(thought.trim())).filter(|text| !text.is_empty());
    Ok(draft)
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(open)?;
    Some(rest.split_once(close).map_or(rest, |(inner, _)| inner))
}
