//! An agent in ten lines, and the crates that it is made of.
//!
//! ```no_run
//! use cuebook::prelude::*;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let mut agent = Agent::builder().build().await?;
//! agent.open("https://example.com/login").await.into_result()?;
//! let page = agent.observe(Scope::View).await?;
//! println!("{}", render::text(&page, &TextOptions::default()));
//! agent.act(SetValue::to("c1", "ann")).await.into_result()?;
//! let report = agent.run("Log in as ann with password correct-horse").await;
//! println!("{:?}", report.result);
//! agent.close().await?;
//! # Ok(())
//! # }
//! ```
//!
//! Every layer can be replaced in the [builder](Agent::builder): by a value of any type that implements its seam, or by
//! a box of one ([`grammar::seam::boxed`]) where it is chosen while the program runs. A planner can come from a
//! configuration file ([`PlannerConfig`]). What is not replaced is what the command line uses, with two differences:
//! nobody is asked for consent, and nothing is kept of a run beyond its report until
//! [`runs_in`](AgentBuilder::runs_in) names a folder.
//!
//! An agent holds its layers in boxes, which costs an allocation for each call of a layer. Whoever wants their types
//! uses [`repair::Controller`] over [`repair::Layers`], as the agent does.
//!
//! Invariants:
//! - Whatever an agent does goes through the controller: checked, bound, logged before input, judged, repaired.
//! - Only [`environment`] reads the environment, and only where the builder was given nothing else.
//! - Prints nothing, exits nothing.

mod agent;
mod browser;
mod builder;
pub mod environment;
mod error;
pub mod fresh;
mod keeping;
#[cfg(feature = "models")]
mod planners;

pub use agent::Agent;
pub use browser::{BrowserSource, Tab};
pub use builder::{AgentBuilder, SETTLING, upload_roots};
pub use error::AgentError;
#[cfg(feature = "models")]
pub use planners::{Engine, EngineMode, PlannerConfig, PlannerConfigError};

pub use cuebook_cdp as cdp;
pub use cuebook_datalayer as datalayer;
pub use cuebook_executor as executor;
pub use cuebook_grammar as grammar;
pub use cuebook_lexical as lexical;
pub use cuebook_outside as outside;
pub use cuebook_page_modeler as page_modeler;
pub use cuebook_planner as planner;
pub use cuebook_repair as repair;
/// The JSON of arguments, schemas and answers in the seams.
pub use serde_json;

/// What most agents name.
pub mod prelude {
    pub use cuebook_grammar::action::{
        Action, Call, Click, DragTo, Finish, Hover, Navigate, Press, Select, SetValue, TypeText,
    };
    pub use cuebook_grammar::condition::Condition;
    pub use cuebook_grammar::observation::{Observation, Scope};
    pub use cuebook_grammar::plan::{Author, PlanDraft};
    pub use cuebook_grammar::policy::Policy;
    pub use cuebook_grammar::render::{self, TextOptions};
    pub use cuebook_grammar::report::{RunReport, RunResult};
    pub use cuebook_grammar::step::Step;

    #[cfg(feature = "models")]
    pub use crate::PlannerConfig;
    pub use crate::environment::FromEnv;
    pub use crate::{Agent, AgentBuilder, AgentError, BrowserSource};
}
