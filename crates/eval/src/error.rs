//! Why nothing can be measured.

use std::path::PathBuf;

/// Any error of an agent.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why an evaluation cannot run, or its results cannot be kept. What an agent does is never one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// The file of a suite is not understood.
    #[error("{}: {message}", path.display())]
    Suite {
        /// Path of the suite's file.
        path: PathBuf,
        /// The expected and the seen content, with its line.
        message: String,
    },
    /// A file or directory.
    #[error("{}", path.display())]
    File {
        /// Path of the file or directory.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A result of an earlier evaluation cannot be read.
    #[error("{} line {line} is not the result of an episode", path.display())]
    Result {
        /// Path of the results: a file, or an object of the queue.
        path: PathBuf,
        /// 1-based line; always 1 for an object of the queue.
        line: usize,
        /// Error of the JSON parser.
        source: serde_json::Error,
    },
    /// An episode has two results.
    #[error("{key} has two results: {} and another one", path.display())]
    Twice {
        /// Suite, task and seed of the episode.
        key: String,
        /// File or directory that has the second result.
        path: PathBuf,
    },
    /// The queue of episodes.
    #[error("the queue: {message}")]
    Queue {
        /// Why, in the words of the store.
        message: String,
    },
    /// The application of a suite does not start.
    #[error("the application of the suite {suite}")]
    Server {
        /// Name of the suite.
        suite: String,
        /// Error of the application's start.
        source: BoxError,
    },
}

/// Why one episode could not be judged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    /// A command of the suite.
    #[error("{command}: {message}")]
    Command { command: &'static str, message: String },
    /// The page of a task did not report.
    #[error("the page of the task did not report {0}")]
    Silent(&'static str),
    /// A placeholder of a task.
    #[error("{{{0}}} is not in the state of the application")]
    Placeholder(String),
    /// The agent could not be made, opened or asked.
    #[error("{0}")]
    Subject(String),
}
