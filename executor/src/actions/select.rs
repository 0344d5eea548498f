//! Options: of native selects by script, of custom list boxes by clicks.

use std::time::{Duration, Instant};

use cuebook_grammar::action::{MouseButton, OptionChoice, Select};
use cuebook_grammar::id::NodeKey;
use cuebook_grammar::outcome::{Cause, Stage, StepFailure};
use cuebook_grammar::text_match::collapse_white_space;
use serde_json::{Value, json};

use crate::run::Run;
use crate::script::{Chosen, Expected, Listed, ListedOption, Need};
use crate::stop::Part;

const POLL: Duration = Duration::from_millis(60);
/// A failure names at most so many options.
const NAMED: usize = 20;

impl Run<'_> {
    /// Chooses options.
    pub(crate) async fn select(&mut self, action: &Select) -> Part<()> {
        let choices = &action.option.choices;
        let wanted = Value::Array(choices.iter().map(as_json).collect());
        let words: Vec<String> = choices.iter().map(in_words).collect();
        if self.choose_native(&wanted, &words).await? {
            return Ok(());
        }
        for choice in choices {
            self.choose_custom(choice).await?;
        }
        Ok(())
    }

    /// Chooses options of a native select; `false` if the target is none. Options that a page fills in
    /// late are waited for.
    pub(crate) async fn choose_native(&mut self, wanted: &Value, words: &[String]) -> Part<bool> {
        let by = self.ready_by();
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
                return Ok(false);
            }
            let need = Need { visible: true, enabled: true, ..Need::default() };
            if let Err(stop) = self.ready(&main.key, need, by).await {
                self.again_or(stop)?;
                continue;
            }
            self.arm(None).await?;
            if Instant::now() >= self.until {
                return Err(crate::stop::out_of_time(Stage::Act));
            }
            let args = [main.key.node.into(), wanted.clone()];
            self.input_at.get_or_insert(Instant::now());
            let chosen: Chosen =
                self.ask(&world, "(cb, id, choices) => cb.act.choose(id, choices)", &args, Stage::Act).await?;
            if chosen.ok {
                self.evidence.input_sent = true;
                return Ok(true);
            }
            if chosen.single {
                let message = format!("expected one option for a select that takes one, saw {}", words.len());
                return Err(self.act_failure(Cause::InvalidArgument, message, None));
            }
            if Instant::now() >= by || !chosen.native {
                let position = chosen.missing.or(chosen.disabled).unwrap_or(0);
                let word = words.get(position).map_or("", String::as_str);
                return Err(self.no_option(word, chosen.disabled.is_some(), &chosen.known).into());
            }
            self.pause(Stage::Act, POLL).await?;
        }
    }

    /// Opens a custom list by a click, and clicks the option.
    async fn choose_custom(&mut self, choice: &OptionChoice) -> Part<()> {
        let by = self.ready_by();
        let mut is_opened = false;
        loop {
            let main = self.resolve_main(by).await?;
            let world = self.world_of(&main.key, Stage::Actionability).await?;
            let listed: Option<Listed> =
                self.ask(&world, "(cb, id) => cb.act.listed(id)", &[main.key.node.into()], Stage::Act).await?;
            let Some(listed) = listed else {
                self.main_is_gone()?;
                continue;
            };
            let is_list = main.facts.role == cuebook_grammar::role::Role::ListBox;
            let is_open = is_opened || listed.expanded || is_list;
            if is_open && let Some(option) = find(&listed.rows, choice) {
                if option.selected && !option.disabled {
                    return Ok(());
                }
                if option.disabled {
                    return Err(self.no_option(&in_words(choice), true, &labels(&listed.rows)).into());
                }
                let key = NodeKey { node: option.id, ..main.key.clone() };
                let ready = self.ready(&key, Need::pointer(None), by).await?;
                // Lists that choose on the press close before the release; what counts is that the option
                // was pressed.
                let expects = Expected { types: &["mousedown"], count: 1 };
                return self.click_expecting(&key, &ready, MouseButton::Left, 1, 0, expects).await;
            }
            if !is_open {
                let ready = self.ready(&main.key, Need::pointer(None), by).await?;
                self.click_at(&main.key, &main.facts.tag, &ready, MouseButton::Left, 1, 0).await?;
                is_opened = true;
                continue;
            }
            if Instant::now() >= by {
                return Err(self.no_option(&in_words(choice), false, &labels(&listed.rows)).into());
            }
            self.pause(Stage::Act, POLL).await?;
        }
    }

    fn no_option(&self, wanted: &str, is_disabled: bool, known: &[String]) -> StepFailure {
        let known: Vec<String> = known.iter().take(NAMED).map(|label| label.chars().take(100).collect()).collect();
        let message = if is_disabled {
            format!("expected option {wanted} to be enabled, saw it disabled")
        } else {
            format!("expected option {wanted}, saw {known:?}")
        };
        let mut failure = StepFailure::new(Stage::Act, Cause::OptionNotFound, message);
        failure.facts.target = self.step.action().target().cloned();
        failure.facts.expected = Some(wanted.to_owned());
        failure.facts.matches = known;
        failure
    }
}

fn labels(rows: &[ListedOption]) -> Vec<String> {
    rows.iter().map(|row| row.label.clone()).collect()
}

fn find<'a>(rows: &'a [ListedOption], choice: &OptionChoice) -> Option<&'a ListedOption> {
    let by_value = |text: &str| rows.iter().find(|row| row.value.as_deref() == Some(text));
    let by_label = |text: &str| {
        let wanted = collapse_white_space(text);
        rows.iter().find(|row| collapse_white_space(&row.label) == wanted)
    };
    match choice {
        OptionChoice::Text(text) => by_value(text).or_else(|| by_label(text)),
        OptionChoice::Value(text) => by_value(text),
        OptionChoice::Label(text) => by_label(text),
        OptionChoice::Index(index) => usize::try_from(index.get()).ok().and_then(|index| rows.get(index)),
    }
}

fn as_json(choice: &OptionChoice) -> Value {
    match choice {
        OptionChoice::Text(text) => json!({ "text": text }),
        OptionChoice::Value(text) => json!({ "value": text }),
        OptionChoice::Label(text) => json!({ "label": text }),
        OptionChoice::Index(index) => json!({ "index": index }),
    }
}

fn in_words(choice: &OptionChoice) -> String {
    match choice {
        OptionChoice::Text(text) | OptionChoice::Value(text) | OptionChoice::Label(text) => {
            format!("{:?}", text.chars().take(100).collect::<String>())
        }
        OptionChoice::Index(index) => format!("number {}", index.get()),
    }
}
