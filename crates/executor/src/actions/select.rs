//! Options of native selects, chosen by script; [`super::list_box`] handles all other lists.

use std::time::Instant;

use cuebook_grammar::action::{OptionChoice, Select};
use cuebook_grammar::outcome::{Cause, Stage, StepFailure};
use cuebook_grammar::render::cut;
use serde_json::{Value, json};

use crate::actions::ActResult;
use crate::retry::Tries;
use crate::run::{Entered, StepRun};
use crate::script::{Chosen, Need};
use crate::stop::Part;

/// The most options that a failure names.
const NAMED: usize = 20;

impl StepRun<'_> {
    /// Chooses options. A native select for one option takes the first; the result lists the others.
    pub(crate) async fn select(&mut self, action: &Select) -> Part<ActResult> {
        let choices = &action.option.choices;
        let wanted = Value::Array(choices.iter().map(as_json).collect());
        let words: Vec<String> = choices.iter().map(in_words).collect();
        let acted = match self.choose_native(&wanted, &words).await? {
            Some(acted) => acted,
            None => self.choose_listed(&action.option).await?,
        };
        let left_out = match acted.entered {
            Some(Entered::Options(chosen)) => words.get(chosen..).unwrap_or_default(),
            _ => &[],
        };
        Ok(ActResult { data: (!left_out.is_empty()).then(|| json!({ "notChosen": left_out })), ..acted })
    }

    /// Chooses options of a native select; `None` if the target is none. Options that the page adds late are waited
    /// for.
    pub(crate) async fn choose_native(&mut self, wanted: &Value, words: &[String]) -> Part<Option<ActResult>> {
        let by = self.ready_by();
        let mut tries = Tries::default();
        loop {
            let main = self.resolve_main(by).await?;
            let world = self.world_of(&main.key, Stage::Actionability).await?;
            let is_native: bool = self
                .ask(
                    &world,
                    "(cb, id) => cb.act.field(id)?.kind === 'select'",
                    &[main.key.node.into()],
                    Stage::Actionability,
                )
                .await?;
            if !is_native {
                return Ok(None);
            }
            let need = Need { visible: true, enabled: true, ..Need::default() };
            let ready = match self.ready(&main, need, by).await {
                Ok(ready) => ready,
                Err(stop) => {
                    self.retry_if_stale(stop)?;
                    continue;
                }
            };
            let args = [main.key.node.into(), wanted.clone()];
            let look = "(cb, id, choices) => cb.act.choose(id, choices, false)";
            let mut chosen: Chosen = self.ask(&world, look, &args, Stage::Act).await?;
            if chosen.ok {
                let sent = self.script(&ready).await?;
                let choose = "(cb, id, choices, expected) => cb.act.choose(id, choices, true, expected)";
                let [target, choices] = args;
                let args = [target, choices, chosen.meaning.into()];
                chosen = self.ask(&world, choose, &args, Stage::Act).await?;
                if chosen.ok {
                    let entered = (chosen.chosen < words.len()).then_some(Entered::Options(chosen.chosen));
                    return Ok(Some(ActResult { entered, ..ActResult::by(sent) }));
                }
                // The page may have reacted to the focus: the options are read once more.
            }
            if let Some(now) = &chosen.stale {
                return Err(self.became(now).into());
            }
            if let Some(position) = chosen.changed {
                let word = words.get(position).map_or("", String::as_str);
                let message = format!("option {word} changed its name or value when its list got the focus");
                return Err(self.act_failure(Cause::TargetStale, message).into());
            }
            if Instant::now() >= by || !chosen.native {
                let position = chosen.missing.or(chosen.disabled).unwrap_or(0);
                let word = words.get(position).map_or("", String::as_str);
                return Err(self.no_option(word, chosen.disabled.is_some(), &chosen.known).into());
            }
            self.pause(Stage::Act, tries.rest()).await?;
        }
    }

    pub(crate) fn no_option(&self, wanted: &str, is_disabled: bool, known: &[String]) -> StepFailure {
        let known: Vec<String> = nearest(known, wanted).into_iter().take(NAMED).map(|label| cut(label, 100)).collect();
        let message = if is_disabled {
            format!("option {wanted} is disabled")
        } else if known.is_empty() {
            format!(
                "there is no option {wanted}, nor any other with the role of one; click its text if it is on the page"
            )
        } else {
            format!("there is no option {wanted}; the nearest are {known:?}")
        };
        let mut failure = StepFailure::new(Stage::Act, Cause::OptionNotFound, message);
        failure.facts.target = self.step.action().target().cloned();
        failure.facts.expected = Some(wanted.to_owned());
        failure.facts.matches = known;
        failure
    }
}

fn as_json(choice: &OptionChoice) -> Value {
    match choice {
        OptionChoice::Text(text) => json!({ "text": text }),
        OptionChoice::Value(text) => json!({ "value": text }),
        OptionChoice::Label(text) => json!({ "label": text }),
        OptionChoice::Index(index) => json!({ "index": index }),
        OptionChoice::Every(traits) => json!(traits),
    }
}

pub(crate) fn in_words(choice: &OptionChoice) -> String {
    let quoted = |text: &str| format!("{:?}", cut(text, 100));
    match choice {
        OptionChoice::Text(text) | OptionChoice::Value(text) | OptionChoice::Label(text) => quoted(text),
        OptionChoice::Index(index) => format!("number {}", index.get()),
        OptionChoice::Every(traits) => {
            let value = traits.value.as_ref().map(|text| format!("of value {}", quoted(text)));
            let label = traits.label.as_ref().map(|text| format!("labelled {}", quoted(text)));
            let index = traits.index.map(|index| format!("number {}", index.get()));
            [value, label, index].into_iter().flatten().collect::<Vec<_>>().join(", ")
        }
    }
}

/// The labels that look like what was wanted first; the others as they stand.
fn nearest<'a>(known: &'a [String], wanted: &str) -> Vec<&'a String> {
    let plain = |text: &str| cut(text.trim_matches('"'), 60).to_lowercase();
    let wanted = plain(wanted);
    let far = |label: &String| {
        let label = plain(label);
        let apart = strsim::levenshtein(&wanted, &label);
        let is_part = !label.is_empty() && !wanted.is_empty() && (label.contains(&wanted) || wanted.contains(&label));
        if is_part || apart <= (wanted.chars().count() / 3).max(1) { apart } else { usize::MAX }
    };
    let mut sorted: Vec<&String> = known.iter().collect();
    sorted.sort_by_cached_key(|label| far(label));
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_look_like_the_wanted_one_come_first() {
        let known = ["Denmark", "Germany", "Deutschland"].map(str::to_owned);
        assert_eq!(nearest(&known, "\"Deutchland\""), ["Deutschland", "Denmark", "Germany"]);
        assert_eq!(nearest(&known, "\"Violet\""), ["Denmark", "Germany", "Deutschland"]);
    }
}
