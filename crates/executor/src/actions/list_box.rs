//! Options that a page draws itself: list boxes, combo boxes with a popup, suggestions of a field.
//!
//! Invariants:
//! - An option belongs to the target: it is in the list that the target is or names, or it appeared when the target was
//!   opened. An option of another list with the same words does not count.
//! - Each option is clicked with the same guard as any other click.

use std::time::{Duration, Instant};

use cuebook_grammar::action::{OptionChoice, OptionChoices};
use cuebook_grammar::outcome::{Cause, Stage};
use cuebook_probe::ProbeWorld;

use crate::actions::ActResult;
use crate::actions::enter_text::unless_gone;
use crate::actions::select::in_words;
use crate::retry::Tries;
use crate::run::{Resolved, StepRun};
use crate::script::{ListKind, Listed, ListedOption, Need};
use crate::stage::Target;
use crate::stop::{Part, Stop};

/// How long a field may take to show its options before text is typed to filter them.
const OPENING: Duration = Duration::from_millis(300);
/// The most labels that are remembered while a list is scrolled.
const MAX_LABELS: usize = 2_000;

/// The state of the search for one option.
#[derive(Debug, Default)]
struct Search {
    /// The options that were shown before the list was opened.
    before: Vec<u64>,
    opened: Option<Instant>,
    typed: bool,
    /// The list was scrolled to its start.
    restarted: bool,
    /// The whole list was seen.
    scrolled: bool,
    labels: Vec<String>,
}

impl StepRun<'_> {
    /// Chooses options of a list that the page draws.
    pub(crate) async fn choose_listed(&mut self, option: &OptionChoices) -> Part<ActResult> {
        let choices = option.choices.as_slice();
        let (main, _, listed) = self.listed(&[]).await?;
        let several = choices.len() > 1;
        match listed.kind {
            ListKind::None => {
                let message = format!("the target is no list and opens none: {}", main.facts.tag);
                Err(self.act_failure(Cause::InvalidArgument, message).into())
            }
            ListKind::Data | ListKind::List if several && !listed.several => {
                let message = format!("the list accepts one option, the step names {}", choices.len());
                Err(self.act_failure(Cause::InvalidArgument, message).into())
            }
            ListKind::Data => match choices {
                [choice] => self.choose_suggested(&listed.rows, choice).await,
                _ => self.clear().await,
            },
            ListKind::List | ListKind::Control => {
                if listed.kind == ListKind::List && listed.several {
                    self.unchoose(&main, &listed.rows, choices).await?;
                }
                let mut acted = ActResult::nothing(&main);
                for choice in choices {
                    acted = self.choose_one(choice).await?;
                }
                // A control that is gone has taken its choice.
                if option.is_list
                    && listed.kind == ListKind::Control
                    && let Some((main, _, listed)) = unless_gone(self.listed(&[]).await)?
                {
                    let mut rows = listed.rows;
                    rows.retain(|row| listed.named && row.chosen);
                    self.unchoose(&main, &rows, choices).await?;
                }
                Ok(acted)
            }
        }
    }

    /// The target and its options now.
    async fn listed(&mut self, before: &[u64]) -> Part<(Target<Resolved>, ProbeWorld, Listed)> {
        loop {
            let main = self.resolve_main(self.ready_by()).await?;
            let world = self.world_of(&main.key, Stage::Actionability).await?;
            let args = [main.key.node.into(), before.into()];
            let listed: Option<Listed> =
                self.ask(&world, "(cb, id, before) => cb.act.listed(id, before)", &args, Stage::Act).await?;
            match listed {
                Some(listed) => return Ok((main, world, listed)),
                None => self.main_is_gone()?,
            }
        }
    }

    /// Enters an option of a data list: its suggestions are text that the field takes.
    async fn choose_suggested(&mut self, rows: &[ListedOption], choice: &OptionChoice) -> Part<ActResult> {
        let Some(option) = find(rows, choice) else {
            let labels: Vec<String> = rows.iter().filter_map(|row| row.value.clone()).collect();
            return Err(self.no_option(&in_words(choice), false, &labels).into());
        };
        let value = option.value.clone().unwrap_or_else(|| option.label.clone());
        let entry = self.entry(false).await?;
        self.replace(&entry, &value).await
    }

    /// Deselects other options: a list for several ends with exactly the requested ones.
    async fn unchoose(&mut self, main: &Target<Resolved>, rows: &[ListedOption], choices: &[OptionChoice]) -> Part<()> {
        for choice in choices {
            match find(rows, choice) {
                Some(option) if option.disabled => {
                    return Err(self.no_option(&in_words(choice), true, &labels(rows)).into());
                }
                _ => {}
            }
        }
        let wanted: Vec<u64> = choices.iter().filter_map(|choice| find(rows, choice)).map(|row| row.id).collect();
        let unwanted = rows.iter().filter(|row| row.chosen && !row.disabled && !wanted.contains(&row.id));
        for id in unwanted.map(|row| row.id).collect::<Vec<_>>() {
            self.press_option(&main.part(|main| main.at(id))).await?;
        }
        Ok(())
    }

    async fn press_option(&mut self, option: &Target<Resolved>) -> Part<ActResult> {
        let ready = self.ready(option, Need::pointer(None), self.ready_by()).await?;
        // Lists that choose on the press close before the release; the press is what counts.
        self.press_once(&ready).await
    }

    /// Opens the list if necessary, finds the option and clicks it.
    async fn choose_one(&mut self, choice: &OptionChoice) -> Part<ActResult> {
        let mut by = self.ready_by();
        let mut search = Search::default();
        let mut tries = Tries::default();
        loop {
            let (main, world, listed) = self.listed(&search.before).await?;
            let is_open = search.opened.is_some() || listed.expanded || listed.kind == ListKind::List;
            if !is_open {
                search.before = listed.rows.iter().map(|row| row.id).collect();
                let ready = self.ready(&main, Need::pointer(None), by).await?;
                self.click_once(&ready).await?;
                search.opened = Some(Instant::now());
                by = self.ready_by();
                continue;
            }
            if let Some(option) = find(&listed.rows, choice) {
                if option.disabled {
                    return Err(self.no_option(&in_words(choice), true, &labels(&listed.rows)).into());
                }
                if option.chosen {
                    return Ok(ActResult::nothing(&main));
                }
                match self.press_option(&main.part(|main| main.at(option.id))).await {
                    // A list that is rendered again while it is scrolled shows the same option again.
                    Err(Stop::Failed(failure)) if failure.cause == Cause::TargetStale && Instant::now() < by => {
                        self.pause(Stage::Act, tries.rest()).await?;
                        continue;
                    }
                    pressed => return pressed,
                }
            }
            search.remember(&listed.rows);
            if self.look_further(&main, &world, &listed, choice, &mut search).await? {
                // While options keep appearing, the time starts again.
                by = self.ready_by();
                continue;
            }
            if Instant::now() >= by {
                return Err(self.no_option(&in_words(choice), false, &search.labels).into());
            }
            self.pause(Stage::Act, tries.rest()).await?;
        }
    }

    /// Scrolls the list on, or types into the field that it belongs to; `true` if that may have brought options.
    async fn look_further(
        &mut self,
        main: &Resolved,
        world: &ProbeWorld,
        listed: &Listed,
        choice: &OptionChoice,
        search: &mut Search,
    ) -> Part<bool> {
        let is_index = choice.name().is_none();
        if !listed.rows.is_empty() && !search.scrolled && !is_index && Instant::now() < self.answer_by() {
            let args = [main.key.node.into(), search.before.as_slice().into(), false.into()];
            let on = "(cb, id, before, back) => cb.act.scrollList(id, before, back)";
            if self.ask(world, on, &args, Stage::Act).await? {
                return Ok(true);
            }
            if !search.restarted {
                search.restarted = true;
                let back = [args[0].clone(), args[1].clone(), true.into()];
                return self.ask(world, on, &back, Stage::Act).await;
            }
            search.scrolled = true;
        }
        let waited = search.opened.is_none_or(|opened| opened.elapsed() >= OPENING);
        let Some(text) = choice.name() else { return Ok(false) };
        if !listed.typed || search.typed || !waited {
            return Ok(false);
        }
        search.typed = true;
        search.scrolled = false;
        let entry = self.entry(false).await?;
        self.replace(&entry, "").await?;
        self.type_after(&entry, text, None).await?;
        Ok(true)
    }
}

impl Search {
    fn remember(&mut self, rows: &[ListedOption]) {
        for row in rows {
            if self.labels.len() < MAX_LABELS && !self.labels.contains(&row.label) {
                self.labels.push(row.label.clone());
            }
        }
    }
}

fn labels(rows: &[ListedOption]) -> Vec<String> {
    rows.iter().map(|row| row.label.clone()).collect()
}

fn find<'a>(rows: &'a [ListedOption], choice: &OptionChoice) -> Option<&'a ListedOption> {
    let called = |choice: &OptionChoice, name: fn(&ListedOption) -> &str| {
        let mut all = rows.iter().enumerate();
        all.find(|(position, row)| choice.means(*position, row.value.as_deref(), name(row))).map(|(_, row)| row)
    };
    let meant = |choice: &OptionChoice| called(choice, |row| &row.label).or_else(|| called(choice, |row| &row.text));
    match choice {
        OptionChoice::Text(text) => meant(&OptionChoice::Value(text.clone())).or_else(|| meant(choice)),
        choice => meant(choice),
    }
}
