//! The published schemas: JSON Schema 2020-12, generated from the types.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::observation::Observation;
use crate::plan::PlanDraft;
use crate::planner_input::PlannerInput;
use crate::policy::PolicyFile;
use crate::record::{PlanningRecord, StepRecord};
use crate::report::RunReport;

/// A document with a published schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Document {
    /// A plan before the check: [`PlanDraft`].
    Plan,
    /// A page at one moment: [`Observation`].
    Observation,
    /// A step that ran, as logged: [`StepRecord`].
    StepRecord,
    /// The record of a call of a model.
    PlanningRecord,
    /// The report of a run.
    Report,
    /// The policy file of an operator: [`PolicyFile`].
    Policy,
    /// The input of a planner.
    PlannerInput,
}

impl Document {
    /// Every document that has a published schema.
    pub const ALL: [Self; 7] = [
        Self::Plan,
        Self::Observation,
        Self::StepRecord,
        Self::PlanningRecord,
        Self::Report,
        Self::Policy,
        Self::PlannerInput,
    ];

    /// The file under `schemas/` that holds its schema.
    #[must_use]
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Plan => "plan.schema.json",
            Self::Observation => "observation.schema.json",
            Self::StepRecord => "step-record.schema.json",
            Self::PlanningRecord => "planning-record.schema.json",
            Self::Report => "report.schema.json",
            Self::Policy => "policy.schema.json",
            Self::PlannerInput => "planner-input.schema.json",
        }
    }
}

/// The schema of a document. Costs a few milliseconds; the result is always the same.
#[must_use]
pub fn schema_of(document: Document) -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let schema = match document {
        Document::Plan => generator.into_root_schema_for::<PlanDraft>(),
        Document::Observation => generator.into_root_schema_for::<Observation>(),
        Document::StepRecord => generator.into_root_schema_for::<StepRecord>(),
        Document::PlanningRecord => generator.into_root_schema_for::<PlanningRecord>(),
        Document::Report => generator.into_root_schema_for::<RunReport>(),
        Document::Policy => generator.into_root_schema_for::<PolicyFile>(),
        Document::PlannerInput => generator.into_root_schema_for::<PlannerInput>(),
    };
    schema.to_value()
}
