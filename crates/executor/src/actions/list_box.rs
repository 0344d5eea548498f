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
use crate::script::{ListKind, Listed, ListedOption, ListedTag, Need};
use crate::stage::Target;
use crate::stop::{Part, Stop};

/// How long a field may take to show its options before text is typed to filter them.
const OPENING: Duration = Duration::from_millis(300);
/// The most options that are deselected.
const MAX_OTHERS: usize = 200;
/// How long a list may take to show that another option is chosen.
const REDRAWN: Duration = Duration::from_millis(150);
/// The most labels that are remembered while a list is scrolled.
const MAX_LABELS: usize = 2_000;

/// An option that was chosen, as it was called then.
#[derive(Debug)]
struct Chosen {
    id: u64,
    label: String,
}

impl Chosen {
    /// Returns `true` if a row is this option, and not another one that its element draws by now.
    fn is(&self, row: &ListedOption) -> bool {
        row.id == self.id && row.label.contains(without_marks(&self.label))
    }
}

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
        let (main, _, listed) = self.listed(&[], &[]).await?;
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
                let mut chosen = Vec::new();
                for choice in choices {
                    acted = self.choose_one(choice, &mut chosen).await?;
                }
                if option.is_list && listed.kind == ListKind::Control {
                    self.unchoose_others(choices, &chosen).await?;
                }
                Ok(acted)
            }
        }
    }

    /// The target and its options now: those of its list, or those that were not there `before`.
    async fn listed(&mut self, before: &[u64], chosen: &[u64]) -> Part<(Target<Resolved>, ProbeWorld, Listed)> {
        loop {
            let main = self.resolve_main(self.ready_by()).await?;
            let world = self.world_of(&main.key, Stage::Actionability).await?;
            let args = [main.key.node.into(), before.into(), chosen.into()];
            let function = "(cb, id, before, chosen) => cb.act.listed(id, before, chosen)";
            let listed: Option<Listed> = self.ask(&world, function, &args, Stage::Act).await?;
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

    /// Deselects, one by one, the options of the list that a control has opened but for those that were `chosen`.
    async fn unchoose_others(&mut self, choices: &[OptionChoice], chosen: &[Chosen]) -> Part<()> {
        let ids: Vec<u64> = chosen.iter().map(|one| one.id).collect();
        let (mut is_told, mut is_sure, mut is_whole) = (false, false, false);
        let mut pressed = Vec::new();
        for _ in 0..MAX_OTHERS {
            // A control that is gone has taken its choice.
            let Some((main, _, listed)) = unless_gone(self.listed(&[], &ids).await)? else { break };
            let rows = &listed.rows;
            // A list for one that still shows its former choice is about to drop it.
            let several = rows.iter().filter(|row| row.selected).count() > 1;
            is_told |= rows.iter().any(|row| row.chosen);
            if several && !is_told && !std::mem::replace(&mut is_sure, true) {
                self.pause(Stage::Act, REDRAWN).await?;
                continue;
            }
            // What is typed to find an option hides the others.
            if listed.known && is_told && listed.typed && !std::mem::replace(&mut is_whole, true) {
                let entry = self.entry(false).await?;
                self.replace(&entry, "").await?;
                self.pause(Stage::Act, REDRAWN).await?;
                continue;
            }
            let named: Vec<u64> = choices.iter().filter_map(|choice| find(rows, choice)).map(|row| row.id).collect();
            let is_wanted = |row: &ListedOption| named.contains(&row.id) || chosen.iter().any(|one| one.is(row));
            let is_other = |row: &&ListedOption| {
                let is_chosen = row.chosen || (several && row.selected);
                listed.known && is_chosen && !row.disabled && !is_wanted(row) && !pressed.contains(&row.label)
            };
            let Some(other) = rows.iter().find(is_other) else {
                let is_other = |tag: &&ListedTag| !choices.iter().any(|choice| means(choice, &tag.label));
                let Some(tag) = listed.tags.iter().find(is_other).filter(|tag| !pressed.contains(&tag.label)) else {
                    break;
                };
                let ready =
                    self.ready(&main.part(|main| main.at(tag.id)), Need::pointer(None), self.ready_by()).await?;
                self.click_once(&ready).await?;
                pressed.push(tag.label.clone());
                continue;
            };
            match self.press_option(&main.part(|main| main.at(other.id))).await {
                // The list was drawn anew meanwhile.
                Err(Stop::Failed(failure)) if failure.cause == Cause::TargetStale => {
                    self.pause(Stage::Act, REDRAWN).await?;
                }
                done => {
                    done?;
                    pressed.push(other.label.clone());
                }
            }
            is_whole = false;
        }
        Ok(())
    }

    /// Deselects other options of a list box for several.
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

    /// Opens the list if necessary, finds the option, clicks it and adds it to those that were `chosen`.
    async fn choose_one(&mut self, choice: &OptionChoice, chosen: &mut Vec<Chosen>) -> Part<ActResult> {
        let mut by = self.ready_by();
        let mut search = Search::default();
        let mut tries = Tries::default();
        loop {
            let (main, world, listed) = self.listed(&search.before, &[]).await?;
            let is_open = search.opened.is_some() || listed.expanded || listed.kind == ListKind::List;
            if !is_open {
                search.before = listed.rows.iter().map(|row| row.id).collect();
                let ready = self.ready(&main, Need::pointer(None), by).await?;
                self.click_once(&ready).await?;
                search.opened = Some(Instant::now());
                by = self.ready_by();
                continue;
            }
            if listed.tags.iter().any(|tag| means(choice, &tag.label)) {
                return Ok(ActResult::nothing(&main));
            }
            if let Some(option) = find(&listed.rows, choice) {
                if option.disabled {
                    return Err(self.no_option(&in_words(choice), true, &labels(&listed.rows)).into());
                }
                chosen.push(Chosen { id: option.id, label: option.label.clone() });
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

/// A label without the symbols around it, such as the tick of an option that is chosen.
fn without_marks(label: &str) -> &str {
    label.trim_matches(|c: char| c.is_whitespace() || (!c.is_ascii() && !c.is_alphanumeric()))
}

/// Returns `true` if a choice names an option by this label alone.
fn means(choice: &OptionChoice, label: &str) -> bool {
    choice.means(usize::MAX, None, label)
}

fn find<'a>(rows: &'a [ListedOption], choice: &OptionChoice) -> Option<&'a ListedOption> {
    let called = |choice: &OptionChoice, name: fn(&ListedOption) -> &str| {
        let mut all = rows.iter().enumerate();
        all.find(|(position, row)| choice.means(*position, row.value.as_deref(), name(row))).map(|(_, row)| row)
    };
    let meant = |choice: &OptionChoice| {
        let unmarked = |row: &ListedOption| {
            let mut names = [&row.label, &row.text].into_iter().map(|name| without_marks(name));
            names.any(|name| !name.is_empty() && choice.means(usize::MAX, None, name))
        };
        let mut marked = rows.iter().filter(|row| unmarked(row));
        called(choice, |row| &row.label)
            .or_else(|| called(choice, |row| &row.text))
            .or_else(|| marked.next().filter(|_| marked.next().is_none()))
    };
    match choice {
        OptionChoice::Text(text) => meant(&OptionChoice::Value(text.clone())).or_else(|| meant(choice)),
        choice => meant(choice),
    }
}
