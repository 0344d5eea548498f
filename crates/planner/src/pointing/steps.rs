//! From actions on a picture to a plan of steps, on the observation that the picture shows.

use cuebook_grammar::action::{ActionKind, MouseButton};
use cuebook_grammar::candidate::{Candidate, Capability, ControlKind};
use cuebook_grammar::geometry::{Point, ViewportSize};
use cuebook_grammar::id::CandidateId;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::{Author, PlanDraft, Violation, ViolationCode, Violations};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::render::{one_line, quoted};
use serde_json::{Value, json};

use super::act::{Act, Spot, Unit};

/// Multiple of pixels to which UI-TARS resizes the sides of a picture. Source: Qwen2.5-VL, `smart_resize`, which changes
/// nothing else between 280 × 280 and 12.8 million pixels.
const PATCH: f64 = 28.0;

/// Pixels beyond an edge of the picture that still mean the edge.
const SLACK: f64 = 2.0;

/// Most points between the ends of a drag.
const VIA: usize = 64;

/// The plan of these actions. Its steps say where the model pointed, and what lay there.
///
/// # Errors
/// The first action that is no step, with the reason in words for the model.
pub(crate) fn plan(
    acts: &[Act],
    observation: &Observation,
    policy: &Policy,
    picture: Option<ViewportSize>,
) -> Result<PlanDraft, Violations> {
    let mut ground = Ground { observation, policy, picture, focus: None };
    let mut steps = Vec::new();
    for (index, act) in acts.iter().enumerate() {
        match ground.steps(act) {
            Ok(more) => steps.extend(more),
            Err(message) => {
                let path = format!("/actions/{index}");
                return Err(vec![Violation::new(ViolationCode::InvalidArgument, path, message)].into());
            }
        }
    }
    PlanDraft::read_value(json!({ "version": "1.0", "steps": steps }), Author::Model)
}

/// The page below the picture, and what the actions before have done to it.
struct Ground<'a> {
    observation: &'a Observation,
    policy: &'a Policy,
    /// The size of the picture; `None` if there was none.
    picture: Option<ViewportSize>,
    /// Candidate that an earlier action of the answer clicked.
    focus: Option<CandidateId>,
}

/// A point of the viewport, what lies there, and both in words.
struct Hit<'a> {
    at: Point,
    candidate: Option<&'a Candidate>,
    words: String,
}

impl Hit<'_> {
    /// The point, from the top left corner of the candidate's box.
    fn position(&self) -> Point {
        let corner = self.candidate.and_then(|it| it.rect).map_or((0.0, 0.0), |rect| (rect.x, rect.y));
        Point { x: hundredths(self.at.x - corner.0), y: hundredths(self.at.y - corner.1) }
    }
}

impl<'a> Ground<'a> {
    fn steps(&mut self, act: &Act) -> Result<Vec<Value>, String> {
        let needs_page = !matches!(act, Act::Keys { .. } | Act::Type { .. } | Act::Finish { .. } | Act::Fail { .. })
            && !matches!(act, Act::Ask { .. } | Act::Wait | Act::Look);
        if needs_page && let Some(dialog) = &self.observation.dialog {
            return Err(format!(
                "a dialog {} is open and covers the page: press Enter to accept it, Escape to dismiss it",
                quoted(&dialog.message, 100)
            ));
        }
        let step = match act {
            Act::Click { at, button, count, modifiers } => {
                let hit = self.hit(*at)?;
                let is_plain = *button == MouseButton::Left && *count == 1 && modifiers.is_empty();
                let mut step = match hit.candidate {
                    // Its list of options is no part of the picture.
                    Some(list) if list.control == ControlKind::Select && is_plain => {
                        json!({ "type": "focus", "targetRef": list.id })
                    }
                    Some(candidate) => {
                        let mut step =
                            json!({ "type": "click", "targetRef": candidate.id, "position": hit.position() });
                        if !modifiers.is_empty() {
                            put(&mut step, "modifiers", json!(modifiers));
                        }
                        step
                    }
                    None => {
                        self.opened(ActionKind::ClickPoint, &hit)?;
                        if !modifiers.is_empty() {
                            return Err("no keys can be held where nothing that has a name lies".to_owned());
                        }
                        json!({ "type": "clickPoint", "point": hit.at })
                    }
                };
                if *button != MouseButton::Left {
                    put(&mut step, "button", json!(button));
                }
                if *count > 1 {
                    put(&mut step, "count", json!(count));
                }
                self.focus = hit.candidate.map(|candidate| candidate.id);
                explained(step, &hit.words)
            }
            Act::Hold { at } => {
                let hit = self.hit(*at)?;
                let step = match hit.candidate {
                    Some(candidate) => json!({ "type": "longPress", "targetRef": candidate.id }),
                    None => {
                        self.opened(ActionKind::LongPressPoint, &hit)?;
                        json!({ "type": "longPressPoint", "point": hit.at })
                    }
                };
                explained(step, &hit.words)
            }
            Act::Move { at } => {
                let hit = self.hit(*at)?;
                let candidate = hit.candidate.ok_or_else(|| format!("{}: nothing to hover", hit.words))?;
                let step = json!({ "type": "hover", "targetRef": candidate.id, "position": hit.position() });
                explained(step, &hit.words)
            }
            Act::Drag { path } => self.drag(path)?,
            Act::Scroll { at, x, y } => {
                let [x, y] = [x, y].map(|by| by.round().clamp(-10_000.0, 10_000.0) as i64);
                match at {
                    Some(at) => {
                        let hit = self.hit(*at)?;
                        let step = json!({ "type": "scroll", "point": hit.at, "deltaX": x, "deltaY": y });
                        explained(step, &hit.words)
                    }
                    None => json!({ "type": "scroll", "deltaX": x, "deltaY": y }),
                }
            }
            Act::Type { text } => self.typed(text)?,
            Act::Keys { keys } => match (&self.observation.dialog, keys.as_str()) {
                (Some(_), "Enter" | "Space") => json!({ "type": "acceptDialog" }),
                (Some(_), "Escape") => json!({ "type": "dismissDialog" }),
                (Some(dialog), _) => {
                    let said = quoted(&dialog.message, 100);
                    return Err(format!("the dialog {said} takes Enter and Escape only"));
                }
                (None, keys) => {
                    let mut step = json!({ "type": "press", "keys": keys });
                    if let Some(focus) = self.focused() {
                        put(&mut step, "targetRef", json!(focus.id));
                    }
                    step
                }
            },
            Act::Wait => json!({ "type": "waitForIdle" }),
            Act::Look => json!({ "type": "snapshot" }),
            Act::Navigate { url } => json!({ "type": "navigate", "url": url }),
            Act::Back => json!({ "type": "goBack" }),
            Act::Finish { result } if result.trim().is_empty() => json!({ "type": "finish" }),
            Act::Finish { result } => json!({ "type": "finish", "result": result.trim() }),
            Act::Fail { reason } => json!({ "type": "fail", "reason": reason }),
            Act::Ask { question } => json!({ "type": "askUser", "question": question }),
        };
        Ok(vec![step])
    }

    /// A drag from one candidate to another, or within one, takes data along where the page uses that; any other one, and
    /// a path with corners, needs points.
    fn drag(&self, path: &[Spot]) -> Result<Value, String> {
        let hits: Vec<Hit<'_>> = path.iter().map(|spot| self.hit(*spot)).collect::<Result<_, _>>()?;
        let (Some(from), Some(to)) = (hits.first(), hits.last()) else {
            return Err("a drag needs two points".to_owned());
        };
        let words = format!("{}; to {}", from.words, to.words);
        let between = hits.get(1..hits.len() - 1).unwrap_or_default();
        let is_open = self.policy.offers(ActionKind::DragPoints);
        let step = match (from.candidate, to.candidate) {
            (Some(start), Some(end)) if start.id != end.id || between.is_empty() || !is_open => json!({
                "type": "dragTo", "targetRef": start.id, "to": end.id,
                "position": from.position(), "toPosition": to.position(),
            }),
            _ => {
                self.opened(ActionKind::DragPoints, if from.candidate.is_none() { from } else { to })?;
                let mut step = json!({ "type": "dragPoints", "from": from.at, "to": to.at });
                if between.len() > VIA {
                    return Err(format!("a path of {} points has more than {}", hits.len(), VIA + 2));
                }
                if !between.is_empty() {
                    put(&mut step, "via", between.iter().map(|hit| json!(hit.at)).collect());
                }
                step
            }
        };
        Ok(explained(step, &words))
    }

    fn typed(&self, text: &str) -> Result<Value, String> {
        if let Some(dialog) = &self.observation.dialog {
            let is_prompt = dialog.kind == cuebook_grammar::facts::DialogKind::Prompt;
            let refused = || "the dialog that is open takes no text: press Enter or Escape".to_owned();
            return is_prompt.then(|| json!({ "type": "acceptDialog", "text": text })).ok_or_else(refused);
        }
        let Some(field) = self.focused() else {
            return Err("no field has the focus: click one first, then type".to_owned());
        };
        if field.control == ControlKind::Select {
            let labels = field.options.iter().map(|option| option.label.as_str());
            let chosen = labels.clone().find(|label| label.trim().eq_ignore_ascii_case(text.trim()));
            let known: Vec<String> = labels.take(20).map(|label| quoted(label, 40)).collect();
            return match chosen {
                Some(label) => Ok(json!({ "type": "select", "targetRef": field.id, "option": label })),
                None => Err(format!("{} is no option of it: choose one of {}", quoted(text, 40), known.join(", "))),
            };
        }
        if field.supports(Capability::Text) {
            return Ok(json!({ "type": "type", "targetRef": field.id, "text": text }));
        }
        if field.supports(Capability::Value) {
            return Ok(json!({ "type": "setValue", "targetRef": field.id, "value": text }));
        }
        Err(format!("{} has the focus and takes no text: click a field first", one_line(&field.title(), 120)))
    }

    /// Candidate that an action before clicked, else the one that has the focus on the page.
    fn focused(&self) -> Option<&'a Candidate> {
        match self.focus {
            Some(id) => self.observation.candidate(id),
            None => self.observation.candidates.iter().find(|candidate| candidate.states.focused),
        }
    }

    /// Where a place of the picture lies in the viewport, and what lies there.
    fn hit(&self, spot: Spot) -> Result<Hit<'a>, String> {
        let viewport = &self.observation.viewport;
        let picture = self.picture.ok_or("there was no picture to point at: take a screenshot first")?;
        let (width, height) = (f64::from(picture.width.max(1)), f64::from(picture.height.max(1)));
        let patched = |side: f64| (side / PATCH).round().max(1.0) * PATCH;
        let (unit_x, unit_y) = match spot.unit {
            Unit::Pixel => (width, height),
            Unit::Patch => (patched(width), patched(height)),
            Unit::Thousandth => (1_000.0, 1_000.0),
        };
        let Point { x, y } = spot.point;
        let is_on = |at: f64, side: f64| at.is_finite() && at >= -SLACK && at <= side + SLACK;
        if !is_on(x, unit_x) || !is_on(y, unit_y) {
            return Err(format!(
                "({x}, {y}) lies off the picture: expected x from 0 to {unit_x}, y from 0 to {unit_y}"
            ));
        }
        let scaled = |at: f64, unit: f64, side: f64| hundredths((at / unit * side).clamp(0.0, (side - 1.0).max(0.0)));
        let at = Point { x: scaled(x, unit_x, viewport.width), y: scaled(y, unit_y, viewport.height) };
        // What nothing tells from its twin has no name, but it has a place.
        let candidate = self.observation.under(at).filter(|candidate| !candidate.ambiguous);
        let what = candidate.map_or_else(|| "nothing that has a name".to_owned(), |it| one_line(&it.title(), 120));
        Ok(Hit { at, candidate, words: format!("at ({:.0}, {:.0}) of the viewport: {what}", at.x, at.y) })
    }

    fn opened(&self, kind: ActionKind, hit: &Hit<'_>) -> Result<(), String> {
        if self.policy.offers(kind) {
            return Ok(());
        }
        let (verb, profile) = (kind.meta().name, self.policy.profile().as_str());
        Err(format!("{}, and the profile {profile} does not open `{verb}`: point at a control, or give up", hit.words))
    }
}

/// Rounded, so that a log states no more than a pointer can mean.
fn hundredths(at: f64) -> f64 {
    (at * 100.0).round() / 100.0
}

fn put(step: &mut Value, name: &str, value: Value) {
    if let Value::Object(fields) = step {
        fields.insert(name.to_owned(), value);
    }
}

/// The step with where the model pointed, for people and the log.
fn explained(mut step: Value, words: &str) -> Value {
    put(&mut step, "explanation", Value::String(words.chars().take(300).collect()));
    step
}
