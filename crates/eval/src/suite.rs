//! The file of a suite, in TOML.
//!
//! Invariants:
//! - What is not understood is an error with its line, never ignored.
//! - Names of tasks are unique, and every task has something that judges it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cuebook_grammar::condition::Condition;
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::locator::Locator;
use cuebook_grammar::profile::Profile;
use serde::Deserialize;
use serde_json::Value;

use crate::error::EvalError;
use crate::oracle::Script;
use crate::paths::is_path;

const SITE: &str = include_str!("../suites/site.toml");
/// The names of the suites that are built in.
const BUILT_IN: [(&str, &str); 1] = [("site", SITE)];

/// Tasks, and the application that they are about.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Suite {
    /// Name of the suite, as results state it.
    pub name: String,
    /// Server of the application.
    pub server: Server,
    /// Where the application is, with `{port}` where the port of its server belongs. Empty for those that are built in.
    pub url: String,
    /// The viewport of its pages in CSS pixels.
    pub viewport: (u32, u32),
    /// The profile that its tasks need: that of points, for instance, for tasks about pictures.
    pub profile: Profile,
    /// The consents that its tasks need, on the origin of the application: `write`, `destructive`, …
    pub grants: Vec<String>,
    /// Further origins that its tasks act on, with `{port}` where the port of its server belongs.
    pub allow: Vec<String>,
    /// The command of a planner that can do the tasks without a model, after `exec:`.
    pub planner: Option<Vec<String>>,
    /// Names that mean the same to a person, for the planner `oracle`.
    pub alike: Vec<Vec<String>>,
    /// Run before each episode.
    pub reset: Option<Vec<String>>,
    /// Run after each episode: exit code 0 if it was solved, 1 if not.
    pub oracle: Option<Vec<String>>,
    /// Members of the application's state that may change in any way.
    pub ignore: Vec<String>,
    /// Its tasks, in the order of the file.
    pub tasks: Vec<Arc<Task>>,
    /// The tasks that are not run, and why.
    pub skipped: BTreeMap<String, String>,
    /// The directory that its commands run in.
    pub directory: PathBuf,
}

/// Who serves the application of a suite.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Server {
    /// It runs already, at the URL of the suite.
    Running,
    /// The built-in site, one for each worker.
    Site,
    /// The pages of the package `miniwob`, below this directory.
    MiniWob(PathBuf),
    /// A program for each worker. It listens on the port that replaces `{port}`.
    Command(Vec<String>),
}

/// One task of a suite; an episode is a task with a seed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Task {
    /// Its name, unique in the suite.
    pub name: String,
    /// Which part of the suite it belongs to: `test` unless stated.
    pub split: String,
    /// The task in words. `None` if its page states it.
    pub instruction: Option<String>,
    /// The page to start on, relative to the URL of the suite.
    pub url: String,
    /// Conditions that must hold on the page in the end.
    pub goal: Vec<Condition>,
    /// The targets of the goal.
    pub candidates: BTreeMap<TargetRef, Locator>,
    /// Changes that the state of the application must have had: a value for each place.
    pub wanted: BTreeMap<String, Value>,
    /// Places that must be gone from the state.
    pub removed: Vec<String>,
    /// Text that the agent's answer must contain, in any letter case.
    pub answer: Option<String>,
    /// How it is done, for the planner `oracle`.
    pub script: Option<Script>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSuite {
    name: String,
    #[serde(default)]
    url: String,
    server: Option<RawServer>,
    viewport: Option<(u32, u32)>,
    #[serde(default)]
    profile: Profile,
    #[serde(default)]
    grants: Vec<String>,
    #[serde(default)]
    allow: Vec<String>,
    planner: Option<Vec<String>>,
    #[serde(default)]
    alike: Vec<Vec<String>>,
    reset: Option<Vec<String>>,
    oracle: Option<Vec<String>>,
    #[serde(default)]
    ignore: Vec<String>,
    #[serde(rename = "task", default)]
    tasks: Vec<toml::Spanned<RawTask>>,
    #[serde(default)]
    skipped: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawServer {
    Site,
    MiniWob(PathBuf),
    Command(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTask {
    name: String,
    split: Option<String>,
    instruction: Option<String>,
    #[serde(default)]
    url: String,
    #[serde(default)]
    goal: Vec<Condition>,
    #[serde(default)]
    candidates: BTreeMap<TargetRef, Locator>,
    #[serde(default)]
    wanted: BTreeMap<String, Value>,
    #[serde(default)]
    removed: Vec<String>,
    answer: Option<String>,
    plan: Option<Vec<Value>>,
}

impl Suite {
    /// A suite that is built in: `site`.
    ///
    /// # Errors
    /// [`EvalError::Suite`] if there is none of that name.
    pub fn built_in(name: &str) -> Result<Self, EvalError> {
        match BUILT_IN.iter().find(|(own, _)| *own == name) {
            Some((_, text)) => Self::parse(text, Path::new(name)),
            None => {
                let known: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
                let message = format!("expected a file, or one of {}", known.join(", "));
                Err(EvalError::Suite { path: name.into(), message })
            }
        }
    }

    /// Reads a suite.
    ///
    /// # Errors
    /// [`EvalError::File`], [`EvalError::Suite`].
    pub fn read(path: &Path) -> Result<Self, EvalError> {
        let text = std::fs::read_to_string(path).map_err(|source| EvalError::File { path: path.to_owned(), source })?;
        Self::parse(&text, path)
    }

    fn parse(text: &str, path: &Path) -> Result<Self, EvalError> {
        let refuse = |at: Option<usize>, message: &str| {
            let line = at.map_or_else(String::new, |at| format!("line {}: ", line_of(text, at)));
            EvalError::Suite { path: path.to_owned(), message: format!("{line}{message}") }
        };
        let raw: RawSuite =
            toml::from_str(text).map_err(|error| refuse(error.span().map(|span| span.start), error.message()))?;
        let directory = match path.parent() {
            Some(parent) if parent != Path::new("") => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let server = match raw.server {
            None if raw.url.is_empty() => return Err(refuse(None, "the suite has neither `url` nor `server`")),
            None => Server::Running,
            Some(RawServer::Site) => Server::Site,
            Some(RawServer::MiniWob(package)) => Server::MiniWob(directory.join(package)),
            Some(RawServer::Command(words)) if words.is_empty() || raw.url.is_empty() => {
                return Err(refuse(None, "a `server` that is a command needs words, and a `url` with its {port}"));
            }
            Some(RawServer::Command(words)) => Server::Command(words),
        };
        let is_judged = raw.oracle.is_some() || matches!(server, Server::MiniWob(_));
        let mut suite = Self {
            name: raw.name,
            server,
            url: raw.url,
            viewport: raw.viewport.unwrap_or((1280, 720)),
            profile: raw.profile,
            grants: raw.grants,
            allow: raw.allow,
            planner: raw.planner,
            alike: raw.alike,
            reset: raw.reset,
            oracle: raw.oracle,
            ignore: raw.ignore,
            tasks: Vec::new(),
            skipped: raw.skipped,
            directory,
        };
        let mut names = BTreeSet::new();
        for task in raw.tasks {
            let at = Some(task.span().start);
            let task = task.into_inner();
            if task.name.trim().is_empty() || !names.insert(task.name.clone()) || suite.skipped.contains_key(&task.name)
            {
                return Err(refuse(at, &format!("the name {:?} is empty or in use", task.name)));
            }
            let task = suite.task(task, is_judged).map_err(|message| refuse(at, &message))?;
            suite.tasks.push(Arc::new(task));
        }
        if suite.tasks.is_empty() {
            return Err(refuse(None, "the suite has no [[task]]"));
        }
        Ok(suite)
    }

    fn task(&self, raw: RawTask, is_judged: bool) -> Result<Task, String> {
        let name = &raw.name;
        let states = !raw.wanted.is_empty() || !raw.removed.is_empty();
        if states && self.server != Server::Site {
            return Err(format!("{name:?} has `wanted` or `removed`, which are for the built-in site; use `oracle`"));
        }
        if !is_judged && !states && raw.goal.is_empty() && raw.answer.is_none() {
            return Err(format!("nothing judges {name:?}: it needs `goal`, `answer` or an `oracle`"));
        }
        if raw.instruction.is_none() && !matches!(self.server, Server::MiniWob(_)) {
            return Err(format!("{name:?} has no `instruction`"));
        }
        if let Some(path) = raw.wanted.keys().chain(&raw.removed).find(|path| !path.contains('{') && !is_path(path)) {
            return Err(format!("{path:?} of {name:?} is not a place such as orders[0].cents"));
        }
        let mut named = raw.goal.iter().flat_map(Condition::targets);
        if let Some(target) = named.find(|target| !raw.candidates.contains_key(*target)) {
            return Err(format!("the goal of {name:?} names {target}, which is not in its `candidates`"));
        }
        let script = raw.plan.map(Script::of).transpose().map_err(|why| format!("the `plan` of {name:?}: {why}"))?;
        Ok(Task {
            name: raw.name,
            split: raw.split.unwrap_or_else(|| "test".to_owned()),
            instruction: raw.instruction,
            url: raw.url,
            goal: raw.goal,
            candidates: raw.candidates,
            wanted: raw.wanted,
            removed: raw.removed,
            answer: raw.answer,
            script,
        })
    }
}

/// Returns the 1-based line of the byte offset `at`.
fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Suite, String> {
        Suite::parse(text, Path::new("suites/own.toml")).map_err(|error| error.to_string())
    }

    const TASK: &str = "[[task]]\nname = \"log in\"\ninstruction = \"Log in\"\nanswer = \"ok\"\n";

    #[test]
    fn the_built_in_suites_are_understood() {
        for (name, _) in BUILT_IN {
            let suite = Suite::built_in(name).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(suite.name, name);
            assert!(suite.tasks.iter().all(|task| task.script.is_some()), "the planner oracle can do all of {name}");
        }
    }

    #[test]
    fn a_suite_of_a_user_has_defaults() {
        let suite = parse(&format!("name = \"own\"\nurl = \"http://shop.test/\"\n{TASK}")).unwrap();
        assert_eq!((&suite.server, suite.viewport), (&Server::Running, (1280, 720)));
        assert_eq!((suite.tasks[0].split.as_str(), suite.directory.as_path()), ("test", Path::new("suites")));
    }

    #[test]
    fn what_is_wrong_is_an_error_with_its_line() {
        let head = "name = \"own\"\nurl = \"http://shop.test/\"\n";
        for (text, expected) in [
            (String::new(), "missing field `name`"),
            ("name = \"own\"\n".to_owned(), "the suite has neither `url` nor `server`"),
            (head.to_owned(), "the suite has no [[task]]"),
            (format!("{head}colour = 1\n{TASK}"), "line 3: unknown field `colour`"),
            (format!("{head}{TASK}{TASK}"), "line 7: the name \"log in\" is empty or in use"),
            (format!("{head}{}", TASK.replace("answer = \"ok\"\n", "")), "line 3: nothing judges \"log in\""),
            (format!("{head}{}", TASK.replace("instruction", "split")), "line 3: \"log in\" has no `instruction`"),
            (format!("{head}{TASK}wanted = {{ a = 1 }}\n"), "line 3: \"log in\" has `wanted`"),
            (
                format!("{head}{TASK}goal = [{{ kind = \"visible\", target = \"x\" }}]\n"),
                "line 3: the goal of \"log in\" names x",
            ),
            (format!("{head}{TASK}plan = [{{ type = \"clik\" }}]\n"), "line 3: the `plan` of \"log in\""),
            (format!("name = \"own\"\nserver = {{ command = [\"x\"] }}\n{TASK}"), "a `server` that is a command"),
        ] {
            let error = parse(&text).err().unwrap_or_else(|| panic!("accepted: {text}"));
            assert!(error.contains(expected), "{text}: {error}, not {expected}");
        }
    }
}
