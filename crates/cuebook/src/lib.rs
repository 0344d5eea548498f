//! An agent in ten lines, and the crates it is made of.
//!
//! ```no_run
//! use cuebook::prelude::*;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let mut agent = Agent::builder().build().await?;
//! agent.open("https://example.com/login").await?;
//! let page = agent.observe(Scope::View).await?;
//! println!("{}", render::text(&page, &TextOptions::default()));
//! agent.act(SetValue::to(CandidateId(1), "ann")).await?;
//! let report = agent.run("Log in as ann with password correct-horse").await?;
//! println!("{} steps", report.steps.len());
//! agent.close().await?;
//! # Ok(())
//! # }
//! ```
//!
//! Every layer can be replaced in the [builder](Agent::builder): by a value of any type that implements its seam, or by
//! a box ([`grammar::seam::boxed`]) if the type is selected at run time. A planner can come from a configuration file
//! ([`PlannerConfig`]). The defaults are those of the command line, with two differences: what needs consent is denied,
//! and only the report of a run is kept until [`runs_in`](AgentBuilder::runs_in) names a folder.
//!
//! An agent holds its layers in boxes, which costs an allocation per call of a layer. To keep the types, use
//! [`repair::Controller`] over [`repair::Layers`], as the agent does.
//!
//! Features: `models` (planners over Ollama, OpenAI and Anthropic) and `fetch` (the action of that name), on by default;
//! without both, no HTTP client is built. `eval` (agents for evaluations, in the module `measured`) and `keyring` (secrets in
//! the system's keyring) are off by default.
//!
//! Invariants:
//! - Every step of an agent goes through the controller: checked, bound, logged before input, judged, repaired.
//! - Only [`environment`] reads the environment, and only for what the builder does not state.
//! - Prints nothing, exits nothing.

mod agent;
mod browser;
mod builder;
mod context;
mod contexts;
mod detect;
pub mod egress;
pub mod environment;
mod error;
mod events;
mod extract;
pub mod fresh;
mod journal;
mod keeping;
mod live;
#[cfg(feature = "eval")]
pub mod measured;
#[cfg(feature = "models")]
mod models;
mod planners;
pub mod secrets;
mod session;
mod storage;
#[cfg(feature = "models")]
mod tools;

pub use agent::Agent;
pub use browser::{BrowserSource, Containment, Isolation, Tab, launch_under};
pub use builder::{AgentBuilder, SETTLING, upload_roots};
pub use context::BrowserContext;
pub use contexts::Contexts;
pub use detect::Detected;
pub use error::{AgentError, StorageError};
pub use events::{AgentEvent, AgentEvents};
pub use extract::ExtractError;
pub use journal::{ConsoleMessage, PageRequest, PageRequestDetails};
pub use live::Live;
pub use planners::{Engine, PlannerConfig, PlannerConfigError, PromptSource};
pub use session::Session;
pub use storage::CookieEntry;
#[cfg(feature = "models")]
pub use tools::PageTools;

pub use cuebook_cdp as cdp;
pub use cuebook_cdp::{ColorScheme, Device, Emulation, Geolocation};
pub use cuebook_datalayer as datalayer;
#[cfg(feature = "models")]
pub use cuebook_decoding as decoding;
#[cfg(feature = "eval")]
pub use cuebook_eval as eval;
pub use cuebook_executor as executor;
pub use cuebook_grammar as grammar;
pub use cuebook_network as network;
pub use cuebook_outside as outside;
pub use cuebook_page_modeler as page_modeler;
pub use cuebook_planner as planner;
pub use cuebook_recorder as recorder;
pub use cuebook_repair as repair;
/// The JSON crate of the seams.
pub use serde_json;

/// The names that most agents use.
pub mod prelude {
    pub use cuebook_grammar::act::Act;
    pub use cuebook_grammar::action::{
        Action, Call, Click, DragTo, Finish, Hover, Navigate, Press, Select, SetValue, TypeText,
    };
    pub use cuebook_grammar::condition::Condition;
    pub use cuebook_grammar::id::CandidateId;
    pub use cuebook_grammar::locator::Locator;
    pub use cuebook_grammar::observation::{Observation, Scope};
    pub use cuebook_grammar::plan::{Author, PlanDraft};
    pub use cuebook_grammar::policy::Policy;
    pub use cuebook_grammar::render::{self, TextOptions};
    pub use cuebook_grammar::report::{RunFailure, RunReport, RunResult};
    pub use cuebook_grammar::role::Role;
    pub use cuebook_grammar::step::Step;

    pub use crate::PlannerConfig;
    pub use crate::environment::FromEnv;
    pub use crate::{Agent, AgentBuilder, AgentError, AgentEvent, BrowserSource};
}
