//! Episodes of an evaluation as one table, which joins with those of its runs.

use super::column::{Column, nulls, rows, structure};

rows! { pub,
    /// The result of one episode.
    EpisodeRow {
        /// Its suite.
        suite: String,
        /// Its task.
        task: String,
        /// Its seed.
        seed: i64,
        /// The part of the suite.
        split: String,
        /// The planner that was measured.
        planner: String,
        /// The kinds of drift, if there was any.
        drift: Option<String>,
        /// Whether failed steps were repaired.
        repair: bool,
        /// `solved`, `failed`, `silentlyWrong` or `broken`.
        outcome: String,
        /// Solved, but reported as failed.
        denied: bool,
        /// What changed in the application and should not have.
        unwanted: Vec<String>,
        /// Steps that ran.
        steps: i64,
        /// Repairs of them.
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
        /// What is wrong, in words.
        why: Option<String>,
        /// `run_id` in the table `runs`.
        run_id: Option<String>,
    }
}
