//! Values of the caller's own types, read from the page.

use cuebook_grammar::action::{Extract, ExtractKind, ExtractQuery};
use cuebook_grammar::report::RunFailure;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::agent::Agent;

/// Why a page did not yield a value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// The step that reads failed.
    #[error(transparent)]
    Step(#[from] RunFailure),
    /// The page lacks a required member, or has another kind of value for it.
    #[error("the page does not fill the type: {source}{}", missing(.unfilled))]
    Unfit {
        /// The first member that does not fit.
        source: serde_json::Error,
        /// JSON pointers to the members that nothing on the page is called.
        unfilled: Vec<String>,
    },
}

fn missing(unfilled: &[String]) -> String {
    if unfilled.is_empty() { String::new() } else { format!("; not on the page: {}", unfilled.join(", ")) }
}

impl Agent {
    /// Reads a value from the page, by the names that its type gives its members: headings of tables, terms, labels,
    /// microdata. Nothing is guessed by position, and no model is called, unless
    /// [`Budgets::fills`](cuebook_repair::Budgets::fills) lets the planner's model quote the rest from the page's text. One
    /// run, as [`act`](Self::act) is.
    ///
    /// ```no_run
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Order {
    ///     number: String,
    ///     total: f64,
    /// }
    ///
    /// # async fn run(agent: &mut cuebook::Agent) -> Result<(), Box<dyn std::error::Error>> {
    /// let order: Order = agent.extract().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ExtractError`], with what is not on the page.
    pub async fn extract<T: DeserializeOwned + JsonSchema>(&mut self) -> Result<T, ExtractError> {
        let schema = schemars::schema_for!(T);
        let is_object = schema.get("type").is_some_and(|kind| kind == "object");
        let schema = schema.as_object().cloned();
        let query = ExtractQuery { target_ref: None, kind: ExtractKind::Schema, name: None, pattern: None, schema };
        let report = self.act(Extract { query }).await?;
        let data = report.steps.into_iter().next_back().and_then(|step| step.data).unwrap_or_default();
        let (value, notes) = without_notes(data);
        let value = match value {
            // Beside notes, what is no object stands in a member.
            Value::Object(mut members) if !is_object && !notes.is_empty() => {
                members.remove("value").unwrap_or_default()
            }
            value => value,
        };
        serde_json::from_value(value).map_err(|source| {
            let unfilled = notes.get("$unfilled").and_then(Value::as_array).into_iter().flatten();
            let unfilled = unfilled.filter_map(Value::as_str).map(str::to_owned).collect();
            ExtractError::Unfit { source, unfilled }
        })
    }
}

/// Takes the members that the step adds, whose names begin with `$`, out of what it read.
fn without_notes(data: Value) -> (Value, Map<String, Value>) {
    match data {
        Value::Object(members) => {
            let (notes, members) = members.into_iter().partition(|(name, _)| name.starts_with('$'));
            (Value::Object(members), notes)
        }
        data => (data, Map::new()),
    }
}
