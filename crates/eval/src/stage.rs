//! The application of a suite as one worker has it: where it is, how an episode begins there, and who judges it.

use std::sync::Arc;
use std::time::Duration;

use cuebook_grammar::action::{Action, WaitFor};
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::report::{RunReport, RunResult};
use cuebook_grammar::step::Step;
use cuebook_grammar::wire::Millis;
use cuebook_site::{Site, SiteHandle};
use serde_json::Value;
use url::Url;

use crate::error::BoxError;
use crate::error::Broken;
use crate::miniwob::MiniWob;
use crate::oracle::Script;
use crate::paths;
use crate::process::{self, Served};
use crate::subject::Subject;
use crate::suite::{Server, Suite, Task};

/// Time for a condition of a goal to come true.
const GOAL: u32 = 5_000;
/// Time for what an episode caused to arrive at its judge: a request that was sent as a page closed.
const GRACE: Duration = Duration::from_millis(500);

/// The application of a suite, for one worker.
pub(crate) struct Stage {
    suite: Arc<Suite>,
    base: String,
    worker: usize,
    application: Application,
}

enum Application {
    Running,
    Site(SiteHandle),
    MiniWob(MiniWob),
    Command(#[expect(dead_code, reason = "it is served while this lives")] Served),
}

/// An episode that begins.
pub(crate) struct Opening {
    pub(crate) url: String,
    pub(crate) origin: String,
    /// Further origins that may be acted on.
    pub(crate) allow: Vec<String>,
    pub(crate) script: Option<Script>,
    /// The state of the application before it.
    before: Value,
    /// The episode of a page that reports.
    number: u64,
}

/// Combined verdict of the judges.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Judgement {
    pub(crate) is_solved: bool,
    /// Failures to do what the task should have done.
    pub(crate) missing: Vec<String>,
    /// Changes that should not have happened.
    pub(crate) unwanted: Vec<String>,
}

impl Stage {
    /// Starts the application of a suite for the worker of this 0-based number.
    pub(crate) async fn open(suite: Arc<Suite>, worker: usize) -> Result<Self, BoxError> {
        let (application, base) = match &suite.server {
            Server::Running => (Application::Running, suite.url.clone()),
            Server::Site => {
                let site = Site::builder().build().bind(0).await?;
                let base = site.url("/");
                (Application::Site(site), base)
            }
            Server::MiniWob(package) => {
                let pages = MiniWob::serve(package).await?;
                let base = pages.origin();
                (Application::MiniWob(pages), base)
            }
            Server::Command(words) => {
                let variables = [("CUEBOOK_WORKER", worker.to_string())];
                let served = Served::start(words, &suite.directory, &variables).await?;
                let base = suite.url.replace("{port}", &served.port.to_string());
                (Application::Command(served), base)
            }
        };
        Ok(Self { suite, base, worker, application })
    }

    pub(crate) const fn suite(&self) -> &Arc<Suite> {
        &self.suite
    }

    fn state(&self) -> Value {
        match &self.application {
            Application::Site(site) => site.state(),
            _ => Value::Null,
        }
    }

    fn variables(&self, task: &Task, seed: u64) -> Vec<(&'static str, String)> {
        vec![
            ("CUEBOOK_URL", self.base.clone()),
            ("CUEBOOK_TASK", task.name.clone()),
            ("CUEBOOK_SEED", seed.to_string()),
            ("CUEBOOK_WORKER", self.worker.to_string()),
        ]
    }

    /// Puts the application into the state that the task starts from.
    pub(crate) async fn begin(&mut self, task: &Task, seed: u64) -> Result<Opening, Broken> {
        if let Application::Site(site) = &self.application {
            site.reset(seed);
        }
        if let Some(words) = &self.suite.reset {
            let ended = process::run("reset", words, &self.suite.directory, &self.variables(task, seed)).await?;
            if ended.code != Some(0) {
                let message = format!("exit code {:?}: {}", ended.code, ended.said);
                return Err(Broken::Command { command: "reset", message });
            }
        }
        let before = self.state();
        let (number, url) = match &mut self.application {
            Application::MiniWob(pages) => pages.begin(&task.name, seed),
            _ => (0, paths::filled(&task.url, &before)?),
        };
        let malformed = |error: url::ParseError| Broken::Subject(format!("{url}: {error}"));
        let url = Url::parse(&self.base).and_then(|base| base.join(&url)).map_err(malformed)?;
        let script = task.script.as_ref().map(|script| script.filled(&before)).transpose()?;
        let (origin, port) = (url.origin().ascii_serialization(), url.port_or_known_default());
        let port = port.map_or_else(String::new, |port| port.to_string());
        let allow = self.suite.allow.iter().map(|origin| origin.replace("{port}", &port)).collect();
        Ok(Opening { origin, allow, url: url.to_string(), script, before, number })
    }

    /// The instruction, once the page was opened.
    pub(crate) async fn instruction(&self, task: &Task, opening: &Opening) -> Result<String, Broken> {
        match (&task.instruction, &self.application) {
            (Some(text), _) => paths::filled(text, &opening.before),
            (None, Application::MiniWob(pages)) => {
                pages.instruction(opening.number).await.ok_or(Broken::Silent("its instruction"))
            }
            (None, _) => Err(Broken::Silent("its instruction")),
        }
    }

    /// Judges if the task was done: by the application, never by the agent's report.
    pub(crate) async fn judge<S: Subject>(
        &self,
        task: &Task,
        seed: u64,
        opening: &Opening,
        report: &RunReport,
        subject: &mut S,
    ) -> Result<Judgement, Broken> {
        let mut judgement = Judgement::default();
        if let Some(answer) = &task.answer {
            let (answer, seen) =
                (paths::filled(answer, &opening.before)?, report.answer.as_deref().unwrap_or_default());
            if !seen.to_lowercase().contains(&answer.to_lowercase()) {
                judgement.missing.push(format!("the answer does not contain {answer:?}: {seen:?}"));
            }
        }
        if !task.goal.is_empty() {
            let judged = subject.follow(goal(task)).await;
            if judged.result != RunResult::Ok {
                let why = judged.error.map_or_else(|| "it does not hold".to_owned(), |error| error.message);
                judgement.missing.push(format!("the goal: {why}"));
            }
        }
        match &self.application {
            Application::Site(_) => {
                let wanted = task.wanted.iter().map(|(path, value)| {
                    Ok((paths::filled(path, &opening.before)?, paths::filled_value(value, &opening.before)?))
                });
                let wanted = wanted.collect::<Result<_, Broken>>()?;
                let removed: Result<Vec<String>, Broken> =
                    task.removed.iter().map(|path| paths::filled(path, &opening.before)).collect();
                let (removed, ignored) = (removed?, &self.suite.ignore);
                let compare = || paths::difference(&opening.before, &self.state(), &wanted, &removed, ignored);
                // What a page sent last may not have arrived.
                if !compare().missing.is_empty() {
                    tokio::time::sleep(GRACE).await;
                }
                let difference = compare();
                judgement.missing.extend(difference.missing);
                judgement.unwanted = difference.unwanted;
            }
            Application::MiniWob(pages) => {
                let ended = pages.reward(opening.number, GRACE).await;
                if ended.reward != Some(1.0) {
                    let reward =
                        ended.reward.map_or_else(|| "no reward".to_owned(), |reward| format!("reward {reward}"));
                    let reason = ended.reason.map_or_else(String::new, |reason| format!(": {reason}"));
                    judgement.missing.push(format!("{reward}{reason}"));
                }
            }
            Application::Running | Application::Command(_) => {}
        }
        if let Some(words) = &self.suite.oracle {
            let mut variables = self.variables(task, seed);
            variables.push(("CUEBOOK_ANSWER", report.answer.clone().unwrap_or_default()));
            let ended = process::run("oracle", words, &self.suite.directory, &variables).await?;
            match ended.code {
                Some(0) => {}
                Some(1) => judgement.missing.push(ended.said),
                code => {
                    let message = format!("the exit code is {code:?}, neither 0 nor 1: {}", ended.said);
                    return Err(Broken::Command { command: "oracle", message });
                }
            }
        }
        judgement.is_solved = judgement.missing.is_empty() && judgement.unwanted.is_empty();
        Ok(judgement)
    }
}

/// The plan that waits for each condition of a goal.
fn goal(task: &Task) -> PlanDraft {
    let judged = |condition: &cuebook_grammar::condition::Condition| {
        let mut step = Step::from(Action::WaitFor(WaitFor { condition: condition.clone() }));
        step.timeout_ms = Some(Millis::clamped(GOAL));
        step
    };
    let steps = task.goal.iter().map(judged).collect();
    PlanDraft { candidates: task.candidates.clone(), ..PlanDraft::of(Author::Operator, steps) }
}
