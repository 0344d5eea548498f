//! The space of UI-TARS, which is text: `Thought: …`, then `Action: click(start_box='(x,y)')`.
//!
//! Source: UI-TARS 1.0 and 1.5, and Doubao 1.5, their prompts for a computer and a browser. A `start_box` is in pixels of
//! the picture as the model resizes it, a `<point>` in thousandths of its sides.

use cuebook_grammar::action::MouseButton;
use cuebook_grammar::render::quoted;

use super::act::{Act, Spot, Unit};
use super::keys;
use super::spaces::{NOTCH, towards};

/// Steps of the wheel of one action, which states a direction only.
const SCROLL: f64 = 5.0;

/// The most characters of an answer that are read.
const LONGEST: usize = 20_000;

/// The actions of an answer, and the thought before them.
///
/// # Errors
/// If the answer cannot be read; the text tells the model what is wrong with it.
pub(super) fn read(answer: &str) -> Result<(Vec<Act>, String), String> {
    let answer: String = answer.chars().take(LONGEST).collect();
    let (thought, actions) = answer.split_once("Action:").ok_or_else(|| {
        format!("the answer {} has no action: write `Thought: …`, then `Action: …`", quoted(answer.trim(), 80))
    })?;
    let thought = thought.trim().trim_start_matches("Thought:").trim().to_owned();
    let mut acts = Vec::new();
    let mut rest = actions.trim();
    while let Some((call, after)) = Call::first(rest)? {
        acts.extend(act(&call)?);
        rest = after.trim_start().trim_start_matches("Action:").trim_start_matches('`').trim_start();
    }
    Ok((acts, thought))
}

/// A call as UI-TARS writes it: `name(key='value', …)`.
struct Call {
    name: String,
    arguments: Vec<(String, String)>,
}

impl Call {
    /// The call at the beginning of a text, and the text after it; `None` if there is none.
    fn first(text: &str) -> Result<Option<(Self, &str)>, String> {
        let Some((name, rest)) = text.split_once('(') else { return Ok(None) };
        let name = name.trim().trim_matches('`').trim();
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(format!("{} is no action: write `name(key='value')`", quoted(text, 80)));
        }
        let mut call = Self { name: name.to_owned(), arguments: Vec::new() };
        let mut rest = rest.trim_start();
        loop {
            if let Some(after) = rest.strip_prefix(')') {
                return Ok(Some((call, after)));
            }
            let cut = || format!("`{name}(key='value')` is not whole: {}", quoted(text, 80));
            let (key, after) = rest.split_once('=').ok_or_else(cut)?;
            let after = after.trim_start();
            let mark = after.chars().next().filter(|mark| matches!(mark, '\'' | '"')).ok_or_else(cut)?;
            let (value, after) = quoted_text(after.get(1..).unwrap_or_default(), mark).ok_or_else(cut)?;
            call.arguments.push((key.trim().to_owned(), value));
            rest = after.trim_start().trim_start_matches(',').trim_start();
        }
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.arguments.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn text(&self, name: &str) -> Result<&str, String> {
        self.get(name).ok_or_else(|| format!("`{}` needs `{name}='…'`", self.name))
    }

    /// The place that the first of these arguments which is there states.
    fn spot(&self, names: [&str; 2]) -> Result<Spot, String> {
        let stated = names.into_iter().find_map(|name| self.get(name));
        let needs = || format!("`{}` needs `{}='(x,y)'`", self.name, names[0]);
        let stated = stated.ok_or_else(needs)?;
        spot(stated).ok_or_else(|| format!("{}, saw {}", needs(), quoted(stated, 60)))
    }
}

/// The text up to the closing mark, and what follows it.
fn quoted_text(text: &str, mark: char) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => match characters.next()?.1 {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                other => out.push(other),
            },
            mark_here if mark_here == mark => return Some((out, text.get(at + mark.len_utf8()..).unwrap_or_default())),
            other => out.push(other),
        }
    }
    None
}

/// A place: `(x,y)`, `[x1, y1, x2, y2]` or `<point>x y</point>`, with or without the model's own marks.
fn spot(text: &str) -> Option<Spot> {
    let unit = if text.contains("<point>") { Unit::Thousandth } else { Unit::Patch };
    let bare = ["<|box_start|>", "<|box_end|>", "<point>", "</point>"]
        .iter()
        .fold(text.to_owned(), |text, mark| text.replace(mark, " "));
    let numbers = bare.split(|c: char| matches!(c, '(' | ')' | '[' | ']' | ',') || c.is_whitespace());
    let numbers: Vec<f64> =
        numbers.filter(|part| !part.is_empty()).map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let at = match numbers[..] {
        [x, y] => Some((x, y)),
        [left, top, right, bottom] => Some((f64::midpoint(left, right), f64::midpoint(top, bottom))),
        _ => None,
    };
    at.filter(|(x, y)| x.is_finite() && y.is_finite()).map(|(x, y)| Spot::new(x, y, unit))
}

fn act(call: &Call) -> Result<Vec<Act>, String> {
    const START: [&str; 2] = ["start_box", "point"];
    let click = |button: MouseButton, count: u8| {
        let at = call.spot(START)?;
        Ok(vec![Act::Click { at, button, count, modifiers: Vec::new() }])
    };
    match call.name.as_str() {
        "click" => click(MouseButton::Left, 1),
        "left_double" => click(MouseButton::Left, 2),
        "right_single" => click(MouseButton::Right, 1),
        "long_press" => Ok(vec![Act::Hold { at: call.spot(START)? }]),
        "drag" => {
            let from = call.spot(["start_box", "start_point"])?;
            Ok(vec![Act::Drag { path: vec![from, call.spot(["end_box", "end_point"])?] }])
        }
        "hotkey" | "press" => {
            let keys = call.text("key")?.split([' ', '+']).filter(|key| !key.is_empty());
            Ok(vec![Act::Keys { keys: keys::chord(keys)? }])
        }
        // A line break at the end submits.
        "type" => {
            let text = call.text("content")?;
            let typed = text.trim_end_matches('\n');
            let enter = (typed.len() < text.len()).then(|| Act::Keys { keys: "Enter".to_owned() });
            let typed = (!typed.is_empty()).then(|| Act::Type { text: typed.to_owned() });
            Ok(typed.into_iter().chain(enter).collect())
        }
        "scroll" => {
            let direction = call.text("direction")?;
            let (x, y) = towards(direction.trim(), SCROLL * NOTCH)
                .ok_or_else(|| format!("{} is no direction: up, down, left or right", quoted(direction, 40)))?;
            Ok(vec![Act::Scroll { at: call.spot(START).ok(), x, y }])
        }
        "wait" => Ok(vec![Act::Wait]),
        "navigate" => Ok(vec![Act::Navigate { url: call.text("content")?.to_owned() }]),
        "navigate_back" => Ok(vec![Act::Back]),
        "finished" => Ok(vec![Act::Finish { result: call.get("content").unwrap_or_default().to_owned() }]),
        "call_user" => {
            let question = call.get("content").filter(|asked| !asked.trim().is_empty());
            let question = question.unwrap_or("I cannot go on without you. What shall I do?").to_owned();
            Ok(vec![Act::Ask { question }])
        }
        other => Err(format!(
            "{} is no action here: use one of click, left_double, right_single, long_press, drag, hotkey, type, scroll, \
             wait, navigate, navigate_back, finished and call_user",
            quoted(other, 40)
        )),
    }
}
