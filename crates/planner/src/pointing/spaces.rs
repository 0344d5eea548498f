//! The spaces whose actions are calls of a tool: OpenAI's and Anthropic's.
//!
//! Sources: OpenAI, "Computer use", the items `computer_call` of the tools `computer` and `computer_use_preview`;
//! Anthropic, "Computer use tool", versions 2025-01-24 and 2025-11-24.

use cuebook_grammar::action::{Modifier, MouseButton};
use cuebook_grammar::render::quoted;
use serde_json::{Map, Value};

use super::act::{Act, Spot, Unit};
use super::{COMPUTER, Space, TOOLS, keys};

/// Pixels of one step of a wheel.
pub(super) const NOTCH: f64 = 100.0;

/// Most steps of a wheel that one action may turn.
const NOTCHES: f64 = 100.0;

/// The actions of one call.
///
/// # Errors
/// If the call is none of the space or lacks something; the text tells the model.
pub(super) fn read_call(space: Space, name: &str, arguments: &str) -> Result<Vec<Act>, String> {
    let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
    let arguments: Map<String, Value> = serde_json::from_str(arguments)
        .map_err(|_| format!("the arguments of `{name}` are no JSON object: {}", quoted(arguments, 80)))?;
    let fields = Fields { action: name, fields: &arguments };
    if name != COMPUTER {
        return fields.beside().map(|act| vec![act]);
    }
    if let Some(question) = safety_question(&arguments) {
        return Ok(vec![Act::Ask { question }]);
    }
    match space {
        Space::OpenAi => match (arguments.get("actions"), arguments.get("action")) {
            (Some(Value::Array(actions)), _) => actions.iter().map(openai).collect(),
            (_, Some(action)) => Ok(vec![openai(action)?]),
            _ => Err("expected `actions`".to_owned()),
        },
        _ => {
            let action = fields.text("action")?;
            anthropic(&Fields { action: &action, fields: &arguments }).map(|act| vec![act])
        }
    }
}

/// The question that the provider wants a person to answer before the action is carried out.
fn safety_question(call: &Map<String, Value>) -> Option<String> {
    let checks = call.get("pending_safety_checks")?.as_array().filter(|checks| !checks.is_empty())?;
    let said = |check: &Value| {
        let text = |name: &str| check.get(name).and_then(Value::as_str);
        text("message").or_else(|| text("code")).unwrap_or_default().to_owned()
    };
    let said: Vec<String> = checks.iter().take(5).map(said).collect();
    let said: String = said.join("; ").chars().take(500).collect();
    Some(format!("The provider of the model asks for a person before it goes on: {said}. How shall I go on?"))
}

/// The arguments of an action.
#[derive(Clone, Copy)]
struct Fields<'a> {
    action: &'a str,
    fields: &'a Map<String, Value>,
}

impl Fields<'_> {
    fn seen(&self, name: &str) -> String {
        self.fields.get(name).map_or_else(|| "nothing".to_owned(), |seen| quoted(&seen.to_string(), 60))
    }

    fn expected(&self, name: &str, what: &str) -> String {
        format!("the `{name}` of `{}` is {}: it is to be {what}", quoted(self.action, 40), self.seen(name))
    }

    fn text(&self, name: &str) -> Result<String, String> {
        let text = self.fields.get(name).and_then(Value::as_str);
        text.map(str::to_owned).ok_or_else(|| self.expected(name, "a text"))
    }

    fn number(&self, name: &str) -> Result<f64, String> {
        let number = self.fields.get(name).and_then(Value::as_f64).filter(|number| number.is_finite());
        number.ok_or_else(|| self.expected(name, "a number"))
    }

    /// A point as two numbers by name.
    fn xy(&self) -> Result<Spot, String> {
        Ok(Spot::new(self.number("x")?, self.number("y")?, Unit::Pixel))
    }

    /// A point as a list of two numbers.
    fn pair(&self, name: &str) -> Result<Spot, String> {
        let pair = self.fields.get(name).and_then(pair);
        pair.ok_or_else(|| self.expected(name, "[x, y] in pixels of the picture"))
    }

    /// One of the tools beside the computer.
    fn beside(&self) -> Result<Act, String> {
        match self.action {
            "navigate" => Ok(Act::Navigate { url: self.text("url")? }),
            "go_back" => Ok(Act::Back),
            "finish" => Ok(Act::Finish { result: self.text("result").unwrap_or_default() }),
            "fail" => Ok(Act::Fail { reason: self.text("reason")? }),
            "ask_user" => Ok(Act::Ask { question: self.text("question")? }),
            other => {
                let names: Vec<&str> = [COMPUTER].into_iter().chain(TOOLS.iter().map(|(name, ..)| *name)).collect();
                Err(format!("{} is no tool here: call one of {}", quoted(other, 40), names.join(", ")))
            }
        }
    }

    fn unknown(&self, known: &str) -> String {
        format!("{} is no action here: use one of {known}", quoted(self.action, 40))
    }
}

fn pair(value: &Value) -> Option<Spot> {
    let number = |at: usize| value.get(at).and_then(Value::as_f64).filter(|number| number.is_finite());
    (value.as_array()?.len() == 2).then_some(())?;
    Some(Spot::new(number(0)?, number(1)?, Unit::Pixel))
}

fn openai(action: &Value) -> Result<Act, String> {
    let Value::Object(object) = action else {
        return Err(format!("an action is an object, not {}", quoted(&action.to_string(), 60)));
    };
    let kind = object.get("type").and_then(Value::as_str).unwrap_or_default();
    let fields = Fields { action: kind, fields: object };
    let held = || held(object.get("keys"));
    match kind {
        "click" => {
            let button = match object.get("button").and_then(Value::as_str).unwrap_or("left") {
                "left" => MouseButton::Left,
                "right" => MouseButton::Right,
                "wheel" | "middle" => MouseButton::Middle,
                "back" => return Ok(Act::Back),
                _ => return Err(fields.expected("button", "left, right, wheel or back")),
            };
            Ok(Act::Click { at: fields.xy()?, button, count: 1, modifiers: held()? })
        }
        "double_click" => Ok(Act::Click { at: fields.xy()?, button: MouseButton::Left, count: 2, modifiers: held()? }),
        "move" => Ok(Act::Move { at: fields.xy()? }),
        "scroll" => {
            let by = |short: &str, long: &str| fields.number(short).or_else(|_| fields.number(long)).unwrap_or(0.0);
            let at = fields.xy()?;
            Ok(Act::Scroll { at: Some(at), x: by("scroll_x", "scrollX"), y: by("scroll_y", "scrollY") })
        }
        "type" => Ok(Act::Type { text: fields.text("text")? }),
        "keypress" => {
            let keys = object.get("keys").and_then(Value::as_array);
            let keys: Option<Vec<&str>> = keys.and_then(|keys| keys.iter().map(Value::as_str).collect());
            let keys = keys.ok_or_else(|| fields.expected("keys", "a list of keys"))?;
            Ok(Act::Keys { keys: keys::chord(keys)? })
        }
        "drag" => {
            let spot = |value: &Value| match value {
                Value::Object(point) => Fields { action: kind, fields: point }.xy().ok(),
                other => pair(other),
            };
            let path = object.get("path").and_then(Value::as_array);
            let path: Option<Vec<Spot>> = path.and_then(|path| path.iter().map(spot).collect());
            let path = path.filter(|path| path.len() > 1);
            Ok(Act::Drag { path: path.ok_or_else(|| fields.expected("path", "two points or more"))? })
        }
        "wait" => Ok(Act::Wait),
        "screenshot" => Ok(Act::Look),
        _ => Err(fields.unknown("click, double_click, move, scroll, type, keypress, drag, wait, screenshot")),
    }
}

/// Keys that are held during a click: `["CTRL"]` or `ctrl+shift`.
fn held(keys: Option<&Value>) -> Result<Vec<Modifier>, String> {
    let named: Vec<&str> = match keys {
        Some(Value::Array(keys)) => keys.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(keys)) => keys.split('+').filter(|key| !key.trim().is_empty()).collect(),
        _ => Vec::new(),
    };
    let modifier = |key: &str| match keys::chord([key.trim()])?.as_str() {
        "Control" => Ok(Modifier::Control),
        "Alt" => Ok(Modifier::Alt),
        "Shift" => Ok(Modifier::Shift),
        "Meta" => Ok(Modifier::Meta),
        other => Err(format!("{} cannot be held: only ctrl, alt, shift and meta can", quoted(other, 40))),
    };
    named.into_iter().map(modifier).collect()
}

fn anthropic(fields: &Fields<'_>) -> Result<Act, String> {
    let click = |button: MouseButton, count: u8| {
        let modifiers = held(fields.fields.get("text"))?;
        Ok(Act::Click { at: fields.pair("coordinate")?, button, count, modifiers })
    };
    match fields.action {
        "left_click" => click(MouseButton::Left, 1),
        "right_click" => click(MouseButton::Right, 1),
        "middle_click" => click(MouseButton::Middle, 1),
        "double_click" => click(MouseButton::Left, 2),
        "triple_click" => click(MouseButton::Left, 3),
        "mouse_move" => Ok(Act::Move { at: fields.pair("coordinate")? }),
        "left_click_drag" => Ok(Act::Drag { path: vec![fields.pair("start_coordinate")?, fields.pair("coordinate")?] }),
        "scroll" => {
            let amount = fields.number("scroll_amount")?;
            if !(0.0..=NOTCHES).contains(&amount) {
                return Err(fields.expected("scroll_amount", "0 to 100"));
            }
            let direction = fields.text("scroll_direction")?;
            let (x, y) = towards(&direction, amount * NOTCH)
                .ok_or_else(|| fields.expected("scroll_direction", "up, down, left or right"))?;
            Ok(Act::Scroll { at: fields.pair("coordinate").ok(), x, y })
        }
        "type" => Ok(Act::Type { text: fields.text("text")? }),
        "key" => Ok(Act::Keys { keys: keys::chord(fields.text("text")?.split('+').map(str::trim))? }),
        "wait" => Ok(Act::Wait),
        "screenshot" | "zoom" => Ok(Act::Look),
        "left_mouse_down" | "left_mouse_up" => {
            Err(format!("`{}` is not available: use left_click_drag for what is dragged", fields.action))
        }
        "hold_key" | "cursor_position" => Err(format!("`{}` is not available", fields.action)),
        _ => Err(fields.unknown(
            "left_click, right_click, middle_click, double_click, triple_click, mouse_move, left_click_drag, scroll, \
             type, key, wait, screenshot",
        )),
    }
}

/// A distance in a direction, to the right and down.
pub(super) fn towards(direction: &str, distance: f64) -> Option<(f64, f64)> {
    match direction {
        "up" => Some((0.0, -distance)),
        "down" => Some((0.0, distance)),
        "left" => Some((-distance, 0.0)),
        "right" => Some((distance, 0.0)),
        _ => None,
    }
}
