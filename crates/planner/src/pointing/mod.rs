//! Models that use a computer: they see a picture and answer with an action of a space of their own, at points of it.
//!
//! Such an action becomes a step of the grammar before anything else sees it. A point that hits a candidate becomes the
//! step on that candidate, at this place of it; one that hits none becomes a step at the point, which the policy has to
//! open.
//!
//! Invariants:
//! - Pure. Whatever a model writes is a step, or a line that says what is wrong with it.
//! - Nothing is guessed: a point off the picture, an unknown action and a missing argument are refused.

mod act;
mod keys;
mod spaces;
mod steps;
mod uitars;

use cuebook_grammar::geometry::ViewportSize;
use cuebook_grammar::seam::Image;

pub(crate) use act::Act;
pub(crate) use steps::plan;

/// An action space, as a model was trained on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Space {
    /// OpenAI's computer tool: `click`, `double_click`, `scroll`, `keypress`, `drag`, …
    OpenAi,
    /// Anthropic's computer tool: `left_click`, `key`, `left_click_drag`, …
    Anthropic,
    /// The text of UI-TARS: `click(start_box='(x,y)')`, `hotkey(key='…')`, `finished(content='…')`, …
    UiTars,
}

/// Name of the tool whose calls are actions of a space.
pub(crate) const COMPUTER: &str = "computer";

/// Name and purpose of a tool's only argument.
type Argument = (&'static str, &'static str);

/// Tools beside that one, which these spaces lack: name, purpose and argument.
pub(crate) const TOOLS: [(&str, &str, Option<Argument>); 5] = [
    ("navigate", "Opens a URL in this tab.", Some(("url", "An absolute URL."))),
    ("go_back", "Goes back in the history of this tab.", None),
    (
        "finish",
        "Ends the task as done.",
        Some(("result", "The answer as the page writes it, if the task asks for one; otherwise empty.")),
    ),
    ("fail", "Ends the task as one that cannot be done.", Some(("reason", "Why it cannot be done."))),
    ("ask_user", "Asks the user, who alone can decide.", Some(("question", "The question."))),
];

/// The JSON Schema of the arguments of one of [`TOOLS`].
pub(crate) fn parameters(argument: Option<Argument>) -> serde_json::Value {
    let names: Vec<&str> = argument.iter().map(|(name, _)| *name).collect();
    let properties: serde_json::Map<String, serde_json::Value> = argument
        .iter()
        .map(|(name, purpose)| ((*name).to_owned(), serde_json::json!({ "type": "string", "description": purpose })))
        .collect();
    serde_json::json!({
        "type": "object", "properties": properties, "required": names, "additionalProperties": false,
    })
}

/// The answer of a model, as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Text beside the calls; for [`Space::UiTars`] the answer itself.
    pub(crate) text: String,
    /// Calls of tools: names, and arguments as JSON text.
    pub(crate) calls: Vec<(String, String)>,
}

/// The actions of an answer, in order, and the model's thought.
///
/// # Errors
/// If the answer cannot be read; the text tells the model what is wrong with it.
pub(crate) fn read(space: Space, answer: &Answer) -> Result<(Vec<Act>, String), String> {
    let (acts, thought) = match space {
        Space::UiTars => uitars::read(&answer.text)?,
        Space::OpenAi | Space::Anthropic => {
            let acts = answer.calls.iter().map(|(name, arguments)| spaces::read_call(space, name, arguments));
            let acts: Vec<Vec<Act>> = acts.collect::<Result<_, _>>()?;
            (acts.into_iter().flatten().collect(), answer.text.trim().to_owned())
        }
    };
    if acts.is_empty() {
        let names: Vec<&str> = TOOLS.iter().map(|(name, ..)| *name).collect();
        let expected = match space {
            Space::UiTars => "`Action:` with an action".to_owned(),
            _ => format!("a call of `{COMPUTER}` or of {}", names.join(", ")),
        };
        return Err(format!("the answer has no action: expected {expected}"));
    }
    if acts.len() > MOST {
        return Err(format!("{} actions at once are more than {MOST}", acts.len()));
    }
    Ok((acts, thought))
}

/// Most actions of one answer.
const MOST: usize = 20;

/// The size of a PNG in pixels, by its header. `None` for another picture.
pub(crate) fn size_of(image: &Image) -> Option<ViewportSize> {
    const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
    let sides = image.bytes.strip_prefix(SIGNATURE)?.get(8..16)?;
    let side = |at: usize| sides.get(at..at + 4).and_then(|side| side.try_into().ok()).map(u32::from_be_bytes);
    Some(ViewportSize { width: side(0)?, height: side(4)? })
}

#[cfg(test)]
mod tests;
