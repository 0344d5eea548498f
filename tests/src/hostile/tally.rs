//! Counts of faults, by what the page knows of the program's report.

use cuebook_grammar::report::RunResult;
use serde::Serialize;
use serde_json::Value;

use super::pages::Case;
use super::stage::Trial;

/// Results of the trials of one kind.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tally {
    /// Number of all trials.
    pub trials: usize,
    /// The step succeeded, and the page did what was meant.
    pub done: usize,
    /// The step failed, and the page did nothing.
    pub stopped: usize,
    /// No step was run: the planner did not find its target.
    pub skipped: usize,
    /// Something else than what was meant happened, or an event reached a decoy.
    pub wrong: usize,
    /// The step passed for done, and the page did nothing or took it back.
    pub false_success: usize,
    /// The page did it more than once.
    pub double: usize,
    /// The step failed on a page that only did what it should, or passed for without effect where the page shows one.
    pub needless: usize,
    /// The page did it, and the step says that no input was sent.
    pub denied: usize,
    /// Input reached the page after the step was over.
    pub late: usize,
    /// A button or a drag was left held, or a person was not heard afterwards.
    pub leftover: usize,
    /// The trial itself broke.
    pub broken: usize,
    /// The first faults of each case.
    pub examples: Vec<String>,
}

/// Result of a trial of commands, with the report and the observation in words.
#[derive(Debug)]
pub(crate) enum Came {
    Done,
    Stopped,
    Wrong(String),
    FalseSuccess(String),
    Double(String),
    Needless(String),
}

/// Examples of each case and fault.
const EXAMPLES: usize = 3;

impl Tally {
    /// How many faults there are, of any kind.
    #[must_use]
    pub fn faults(&self) -> usize {
        self.wrong
            + self.false_success
            + self.double
            + self.needless
            + self.denied
            + self.late
            + self.leftover
            + self.broken
    }

    pub(crate) fn count(&mut self, case: &Case, moment: &str, trial: &Trial) {
        self.trials += 1;
        let account = &trial.account;
        let want = case.header.want.as_str();
        let acted = account.did.iter().filter(|did| did.what == want).count();
        let last = trial.records.last();
        // A step ran of which nothing came: the run says so, as its planner stated no goal.
        let is_unproven = trial.result == RunResult::Unproven && last.is_some_and(|record| record["result"] == "ok");
        let is_ok = trial.result == RunResult::Ok || is_unproven;
        let is_flagged = is_unproven || last.is_some_and(is_flagged);
        // Text that only partly arrived is no other act.
        let is_other = |what: &str| what != want && !(want.starts_with(what) && case.verb() == "type");
        let mut faults = Vec::new();
        let mut fault = |holds: bool, counter: &mut usize, name: &'static str| {
            if holds {
                *counter += 1;
                faults.push(name);
            }
        };
        let is_wrong = !account.decoys.is_empty() || account.did.iter().any(|did| is_other(&did.what));
        let is_late = !account.late.is_empty() || account.did.iter().any(|did| did.late);
        fault(is_wrong, &mut self.wrong, "wrong");
        fault(
            is_ok && acted == 0 && !is_flagged && case.kind != super::Kind::Late,
            &mut self.false_success,
            "false success",
        );
        fault(acted > 1, &mut self.double, "double");
        fault(
            case.is_benign() && (!is_ok || acted == 0 || (is_flagged && case.kind == super::Kind::Empty)),
            &mut self.needless,
            "needless",
        );
        let is_denied = !is_ok && acted > 0 && last.is_some_and(|record| record["inputSent"] != true);
        fault(is_denied, &mut self.denied, "denied");
        fault(is_late, &mut self.late, "late");
        fault(account.held.is_some() || trial.hears == Some(false), &mut self.leftover, "leftover");
        self.done += usize::from(is_ok && acted == 1);
        self.stopped += usize::from(!is_ok && acted == 0);
        self.skipped += usize::from(trial.records.is_empty());
        if trial.records.is_empty() && moment != "interrupt" {
            faults.push("skipped");
        }
        if !faults.is_empty() {
            let did: Vec<&str> = account.did.iter().map(|did| did.what.as_str()).collect();
            let held = account.held.as_deref().unwrap_or_default();
            self.example(format!(
                "{}/{} {moment}: {} — did {did:?}, decoys {:?}, late {:?}, held {held:?}, heard {:?}, {:?} after {} attempts, {}{}",
                case.kind.name(),
                case.name,
                faults.join(", "),
                account.decoys,
                account.late,
                trial.hears,
                trial.result,
                trial.records.len(),
                if is_flagged { "flagged " } else { "" },
                trial.message,
            ));
        }
    }

    /// Counts a trial of commands.
    pub(crate) fn came(&mut self, name: &str, came: Came) {
        self.trials += 1;
        let (counter, what, why) = match came {
            Came::Done => return self.done += 1,
            Came::Stopped => return self.stopped += 1,
            Came::Wrong(why) => (&mut self.wrong, "wrong", why),
            Came::FalseSuccess(why) => (&mut self.false_success, "false success", why),
            Came::Double(why) => (&mut self.double, "double", why),
            Came::Needless(why) => (&mut self.needless, "needless", why),
        };
        *counter += 1;
        self.example(format!("{name}: {what} — {why}"));
    }

    pub(crate) fn broken(&mut self, name: &str, why: &str) {
        self.trials += 1;
        self.broken += 1;
        self.example(format!("{name}: broken — {why}"));
    }

    fn example(&mut self, example: String) {
        let head = |text: &str| text.split(" — ").next().unwrap_or_default().to_owned();
        if self.examples.iter().filter(|known| head(known) == head(&example)).count() < EXAMPLES {
            self.examples.push(example);
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.trials += other.trials;
        self.done += other.done;
        self.stopped += other.stopped;
        self.skipped += other.skipped;
        self.wrong += other.wrong;
        self.false_success += other.false_success;
        self.double += other.double;
        self.needless += other.needless;
        self.denied += other.denied;
        self.late += other.late;
        self.leftover += other.leftover;
        self.broken += other.broken;
        other.examples.into_iter().for_each(|example| self.example(example));
    }
}

/// Returns `true` if the record says that nothing came of the step, or that something went wrong.
fn is_flagged(record: &Value) -> bool {
    let has = |what: &str| record["effects"][what].as_array().is_some_and(|all| !all.is_empty());
    record["noObservedEffect"] == true || has("problems") || has("dialogs")
}
