//! The handler of what lies outside of the page, whatever its type.
//!
//! A run need not have one, and need not say of which type it is: so it is no parameter of the controller.

use std::future::Future;
use std::pin::Pin;

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::outcome::StepOutcome;
use cuebook_grammar::plan::BoundStep;
use cuebook_grammar::seam::ActionHandler;

/// What breaks a handler, whatever its type.
pub(super) type AnyError = Box<dyn std::error::Error + Send + Sync>;

type Handling<'a> = Pin<Box<dyn Future<Output = Result<StepOutcome, AnyError>> + Send + 'a>>;

/// An [`ActionHandler`] behind a pointer.
pub(super) trait AnyHandler: Send {
    fn handle<'a>(&'a mut self, step: &'a BoundStep, deadline: Deadline) -> Handling<'a>;
}

impl<H: ActionHandler> AnyHandler for H {
    fn handle<'a>(&'a mut self, step: &'a BoundStep, deadline: Deadline) -> Handling<'a> {
        Box::pin(async move { ActionHandler::handle(self, step, deadline).await.map_err(AnyError::from) })
    }
}
