//! Readers of every form that a model writes a plan in. All return a `PlanDraft`.
//!
//! Each reader is lenient in form and strict in content, and every error names a path, what was expected and
//! what was seen. Nothing here is trusted: a draft is checked afterwards, even if its decoding was constrained.

mod browser_dom;
mod element;
mod form;
mod json;
mod likeness;
mod line;
mod malformed;
mod planner_output;
mod thought_action;
mod tool_call;

pub use browser_dom::{dom_plan, dom_steps};
pub use element::ElementName;
pub use form::{Form, form_of, read, read_as};
pub(crate) use json::camel;
pub use line::is_step_line;
