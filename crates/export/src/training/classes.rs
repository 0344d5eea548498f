//! Classes of steps: how often each is in a data set, the weight of what is rare, and which are missing.

use std::collections::BTreeMap;
use std::path::Path;

use cuebook_grammar::action::{Action, ActionKind};
use cuebook_grammar::step::Step;
use serde::{Deserialize, Serialize};

use crate::error::ExportError;

/// A class of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Class {
    /// Clicks, drags and other gestures of the pointer.
    Point,
    /// Enters text or values.
    Enter,
    /// Presses keys, or gives a target the focus.
    Press,
    /// Chooses options of a list.
    Choose,
    /// Turns check boxes on or off.
    Toggle,
    /// Scrolls to what is not in view.
    Scroll,
    /// Goes to another page or tab, or answers a dialog.
    Go,
    /// Reads or searches the page.
    Read,
    /// Waits for a condition, or states one.
    Await,
    /// Anything else: files, scripts, registered actions.
    Other,
    /// Asks the user a question.
    AskUser,
    /// Gives the task up with a reason.
    Fail,
    /// Ends the task without an answer.
    Finish,
    /// Ends the task with an answer.
    FinishWithAnswer,
}

impl Class {
    const ALL: [Self; 14] = [
        Self::Point,
        Self::Enter,
        Self::Press,
        Self::Choose,
        Self::Toggle,
        Self::Scroll,
        Self::Go,
        Self::Read,
        Self::Await,
        Self::Other,
        Self::AskUser,
        Self::Fail,
        Self::Finish,
        Self::FinishWithAnswer,
    ];

    fn of(step: &Step) -> Self {
        use ActionKind as Kind;
        match step.action.kind() {
            Kind::Click | Kind::Hover | Kind::DragTo | Kind::LongPress | Kind::SelectText => Self::Point,
            Kind::Type | Kind::SetValue | Kind::Clear => Self::Enter,
            Kind::Press | Kind::Focus => Self::Press,
            Kind::Select => Self::Choose,
            Kind::Check | Kind::Uncheck => Self::Toggle,
            Kind::Scroll | Kind::ScrollUntil => Self::Scroll,
            Kind::Navigate | Kind::GoBack | Kind::GoForward | Kind::Reload => Self::Go,
            Kind::SwitchTab | Kind::CloseTab | Kind::AcceptDialog | Kind::DismissDialog => Self::Go,
            Kind::Extract | Kind::SearchPage | Kind::FindElements | Kind::Snapshot | Kind::GetDom => Self::Read,
            Kind::WaitFor | Kind::WaitForIdle | Kind::Assert => Self::Await,
            Kind::AskUser => Self::AskUser,
            Kind::Fail => Self::Fail,
            Kind::Finish if matches!(&step.action, Action::Finish(finish) if finish.result.is_some()) => {
                Self::FinishWithAnswer
            }
            Kind::Finish => Self::Finish,
            _ => Self::Other,
        }
    }

    /// The class as data sets name it.
    pub(super) fn name(self) -> String {
        crate::source::word(&self)
    }
}

/// The classes of the steps of a plan, each once, in the order of their declaration.
pub(super) fn classes(steps: &[Step]) -> Vec<Class> {
    let mut classes: Vec<Class> = steps.iter().map(Class::of).collect();
    classes.sort_unstable();
    classes.dedup();
    classes
}

/// The file of the counts in an export.
pub(super) const FILE: &str = "classes.json";

/// Upper bound of a weight.
const MOST: f64 = 8.0;

/// Examples of a class, and what one of them should count.
#[derive(Serialize, Deserialize)]
pub(super) struct Share {
    pub(super) examples: u64,
    /// 1 for the most frequent class; the square root of how much rarer a class is, at most 8.
    pub(super) weight: f64,
}

/// Counts of examples by class.
#[derive(Default)]
pub(super) struct Counts(BTreeMap<Class, u64>);

impl Counts {
    pub(super) fn add(&mut self, classes: &[Class]) {
        classes.iter().for_each(|class| *self.0.entry(*class).or_default() += 1);
    }

    /// The shares of all classes, also of those without examples.
    pub(super) fn shares(&self) -> BTreeMap<Class, Share> {
        let most = self.0.values().max().copied().unwrap_or_default();
        let share = |class: Class| {
            let examples = self.0.get(&class).copied().unwrap_or_default();
            #[expect(clippy::cast_precision_loss, reason = "a weight")]
            let weight = (most.max(1) as f64 / examples.max(1) as f64).sqrt().min(MOST);
            (class, Share { examples, weight: (weight * 100.0).round() / 100.0 })
        };
        Class::ALL.into_iter().map(share).collect()
    }
}

/// The classes of steps of which a data set that was exported to `out` has no example; the class of other steps is not
/// asked for.
///
/// # Errors
/// [`ExportError`] if `out` has no data set for training.
pub fn missing(out: &Path) -> Result<Vec<String>, ExportError> {
    let path = out.join(FILE);
    let text = std::fs::read(&path).map_err(|source| ExportError::Io { path, source })?;
    let shares: BTreeMap<Class, Share> = serde_json::from_slice(&text)?;
    let lacks = |class: &Class| *class != Class::Other && shares.get(class).is_none_or(|share| share.examples == 0);
    Ok(Class::ALL.into_iter().filter(lacks).map(Class::name).collect())
}
