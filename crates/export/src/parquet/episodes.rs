//! Episodes of an evaluation as one table, which joins with those of its runs.

use super::column::{Column, nulls, rows, structure};

rows! { pub,
    /// The result of one episode.
    EpisodeRow {
        /// Name of the task's suite.
        suite: String,
        /// Name of the task in its suite.
        task: String,
        /// Seed of the task in this episode.
        seed: i64,
        /// The part of the suite.
        split: String,
        /// The planner that was measured.
        planner: String,
        /// The kinds of drift, if there was any.
        drift: Option<String>,
        /// `true` if failed steps were repaired.
        repair: bool,
        /// `solved`, `failed`, `silentlyWrong` or `broken`.
        outcome: String,
        /// Solved, but reported as failed.
        denied: bool,
        /// Changes in the application that should not have happened.
        unwanted: Vec<String>,
        /// Steps of the agent's report, those that repairs inserted included.
        steps: i64,
        /// Repairs of these steps.
        repairs: i64,
        /// Calls of the planner.
        planner_calls: i64,
        /// Tokens read by a model.
        input_tokens: i64,
        /// Tokens written by a model.
        output_tokens: i64,
        /// Duration in milliseconds, without opening the page and judging.
        duration_ms: i64,
        /// The error code of the run.
        code: Option<String>,
        /// Description of the problem in words.
        why: Option<String>,
        /// `run_id` in the table `runs`.
        run_id: Option<String>,
    }
}
