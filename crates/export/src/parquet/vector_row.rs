//! The rows of the table of vectors.

use super::column::{Column, Time, Vector, nulls, rows, structure};

rows! { pub(super),
    /// A plan and the page that it was made for.
    VectorRow {
        run_id: String, started: Time, site: String, url: String, title: String, task: Option<String>,
        observation: i64, plan_id: Option<String>, planning_index: Option<i64>, first_step: i64, steps_json: String,
        outcome: &'static str, failure_cause: Option<String>, run_result: Option<String>, page_vector: Option<Vector>,
        plan_vector: Option<Vector>,
    }
}
