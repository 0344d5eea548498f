//! Seams as values of one type: `Box<dyn BoxedPlanner>` and its siblings, for layers that are chosen while a program
//! runs, such as a planner that a configuration file names.
//!
//! Each boxed trait is implemented for every implementation of its seam, and its box implements the seam again, with
//! [`BoxError`] for an error. The price is one allocation a call.
//!
//! ```
//! use cuebook_grammar::seam::boxed::BoxedConfirm;
//! use cuebook_grammar::seam::{Confirm, NobodyConfirms};
//!
//! fn wants_a_confirmer(_: impl Confirm) {}
//! let chosen: Box<dyn BoxedConfirm> = Box::new(NobodyConfirms);
//! wants_a_confirmer(chosen);
//! ```

use std::error::Error;
use std::fmt;
use std::pin::Pin;

use super::{
    ActionHandler, ArtifactKind, ArtifactSink, Confirm, ConfirmReply, ConfirmRequest, Executor, Finding, Image,
    PageModeler, PlanReply, PlanRequest, PlanSink, Planner, Query, Repair, RepairBudget, RepairCase, RepairPolicy,
    SecretRefusal, SecretScope, SecretSource, StepLog, StepTicket,
};
use crate::deadline::Deadline;
use crate::id::{CredentialRef, PageId};
use crate::observation::{Observation, Scope};
use crate::outcome::{ArtifactRef, StepOutcome};
use crate::plan::BoundStep;
use crate::policy::RegisteredAction;
use crate::record::{PlanningRecord, RunEnd, RunHeader, StepIntent, StepRecord};
use crate::secret::Secret;

/// A future on the heap.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The error of a boxed layer. Displays and has the source of the error that it holds.
pub struct BoxError(Box<dyn Error + Send + Sync>);

impl BoxError {
    /// Holds an error.
    pub fn new(error: impl Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }

    /// The error that it holds, for `downcast_ref`.
    #[must_use]
    pub fn get_ref(&self) -> &(dyn Error + Send + Sync + 'static) {
        self.0.as_ref()
    }
}

impl fmt::Debug for BoxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for BoxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Error for BoxError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// A [`PageModeler`] of any type, with [`BoxError`] for its errors.
pub trait BoxedPageModeler: Send {
    /// [`PageModeler::observe`].
    fn observe<'a>(
        &'a mut self,
        page: &'a PageId,
        scope: Scope,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Observation, BoxError>>;

    /// [`PageModeler::explore`].
    fn explore<'a>(
        &'a mut self,
        page: &'a PageId,
        query: &'a Query,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Finding, BoxError>>;

    /// [`PageModeler::picture`].
    fn picture<'a>(
        &'a mut self,
        page: &'a PageId,
        observation: &'a Observation,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Option<Image>, BoxError>>;
}

impl<T: PageModeler> BoxedPageModeler for T {
    fn observe<'a>(
        &'a mut self,
        page: &'a PageId,
        scope: Scope,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Observation, BoxError>> {
        Box::pin(async move { PageModeler::observe(self, page, scope, deadline).await.map_err(BoxError::new) })
    }

    fn explore<'a>(
        &'a mut self,
        page: &'a PageId,
        query: &'a Query,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Finding, BoxError>> {
        Box::pin(async move { PageModeler::explore(self, page, query, deadline).await.map_err(BoxError::new) })
    }

    fn picture<'a>(
        &'a mut self,
        page: &'a PageId,
        observation: &'a Observation,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Option<Image>, BoxError>> {
        Box::pin(async move { PageModeler::picture(self, page, observation, deadline).await.map_err(BoxError::new) })
    }
}

impl PageModeler for Box<dyn BoxedPageModeler> {
    type Error = BoxError;

    async fn observe(&mut self, page: &PageId, scope: Scope, deadline: Deadline) -> Result<Observation, BoxError> {
        BoxedPageModeler::observe(&mut **self, page, scope, deadline).await
    }

    async fn explore(&mut self, page: &PageId, query: &Query, deadline: Deadline) -> Result<Finding, BoxError> {
        BoxedPageModeler::explore(&mut **self, page, query, deadline).await
    }

    async fn picture(
        &mut self,
        page: &PageId,
        observation: &Observation,
        deadline: Deadline,
    ) -> Result<Option<Image>, BoxError> {
        BoxedPageModeler::picture(&mut **self, page, observation, deadline).await
    }
}

/// A [`Planner`] of any type, with [`BoxError`] for its errors.
pub trait BoxedPlanner: Send + Sync {
    /// [`Planner::plan`].
    fn plan<'a>(
        &'a self,
        request: &'a PlanRequest<'a>,
        sink: &'a mut dyn PlanSink,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<PlanReply, BoxError>>;
}

impl<T: Planner> BoxedPlanner for T {
    fn plan<'a>(
        &'a self,
        request: &'a PlanRequest<'a>,
        sink: &'a mut dyn PlanSink,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<PlanReply, BoxError>> {
        Box::pin(async move { Planner::plan(self, request, sink, deadline).await.map_err(BoxError::new) })
    }
}

impl Planner for Box<dyn BoxedPlanner> {
    type Error = BoxError;

    async fn plan(
        &self,
        request: &PlanRequest<'_>,
        sink: &mut dyn PlanSink,
        deadline: Deadline,
    ) -> Result<PlanReply, BoxError> {
        BoxedPlanner::plan(&**self, request, sink, deadline).await
    }
}

/// An [`Executor`] of any type, with [`BoxError`] for its errors.
pub trait BoxedExecutor: Send {
    /// [`Executor::run_step`].
    fn run_step<'a>(
        &'a mut self,
        page: &'a PageId,
        step: &'a BoundStep,
        ground: &'a Observation,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<StepOutcome, BoxError>>;
}

impl<T: Executor> BoxedExecutor for T {
    fn run_step<'a>(
        &'a mut self,
        page: &'a PageId,
        step: &'a BoundStep,
        ground: &'a Observation,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<StepOutcome, BoxError>> {
        Box::pin(async move { Executor::run_step(self, page, step, ground, deadline).await.map_err(BoxError::new) })
    }
}

impl Executor for Box<dyn BoxedExecutor> {
    type Error = BoxError;

    async fn run_step(
        &mut self,
        page: &PageId,
        step: &BoundStep,
        ground: &Observation,
        deadline: Deadline,
    ) -> Result<StepOutcome, BoxError> {
        BoxedExecutor::run_step(&mut **self, page, step, ground, deadline).await
    }
}

/// An [`ActionHandler`] of any type, with [`BoxError`] for its errors.
pub trait BoxedActionHandler: Send {
    /// [`ActionHandler::actions`].
    fn actions(&self) -> Vec<RegisteredAction>;

    /// [`ActionHandler::handle`].
    fn handle<'a>(
        &'a mut self,
        step: &'a BoundStep,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<StepOutcome, BoxError>>;
}

impl<T: ActionHandler> BoxedActionHandler for T {
    fn actions(&self) -> Vec<RegisteredAction> {
        ActionHandler::actions(self)
    }

    fn handle<'a>(
        &'a mut self,
        step: &'a BoundStep,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<StepOutcome, BoxError>> {
        Box::pin(async move { ActionHandler::handle(self, step, deadline).await.map_err(BoxError::new) })
    }
}

impl ActionHandler for Box<dyn BoxedActionHandler> {
    type Error = BoxError;

    fn actions(&self) -> Vec<RegisteredAction> {
        BoxedActionHandler::actions(&**self)
    }

    async fn handle(&mut self, step: &BoundStep, deadline: Deadline) -> Result<StepOutcome, BoxError> {
        BoxedActionHandler::handle(&mut **self, step, deadline).await
    }
}

/// A [`StepLog`] of any type, with [`BoxError`] for its errors.
pub trait BoxedStepLog: Send {
    /// [`StepLog::open`].
    fn open<'a>(&'a mut self, header: &'a RunHeader) -> BoxFuture<'a, Result<(), BoxError>>;

    /// [`StepLog::begin`].
    fn begin<'a>(&'a mut self, intent: &'a StepIntent) -> BoxFuture<'a, Result<StepTicket, BoxError>>;

    /// [`StepLog::commit`].
    fn commit<'a>(&'a mut self, ticket: StepTicket, record: &'a StepRecord) -> BoxFuture<'a, Result<(), BoxError>>;

    /// [`StepLog::planned`].
    fn planned<'a>(&'a mut self, record: &'a PlanningRecord) -> BoxFuture<'a, Result<(), BoxError>>;

    /// [`StepLog::close`].
    fn close<'a>(&'a mut self, end: &'a RunEnd) -> BoxFuture<'a, Result<(), BoxError>>;
}

impl<T: StepLog> BoxedStepLog for T {
    fn open<'a>(&'a mut self, header: &'a RunHeader) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async move { StepLog::open(self, header).await.map_err(BoxError::new) })
    }

    fn begin<'a>(&'a mut self, intent: &'a StepIntent) -> BoxFuture<'a, Result<StepTicket, BoxError>> {
        Box::pin(async move { StepLog::begin(self, intent).await.map_err(BoxError::new) })
    }

    fn commit<'a>(&'a mut self, ticket: StepTicket, record: &'a StepRecord) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async move { StepLog::commit(self, ticket, record).await.map_err(BoxError::new) })
    }

    fn planned<'a>(&'a mut self, record: &'a PlanningRecord) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async move { StepLog::planned(self, record).await.map_err(BoxError::new) })
    }

    fn close<'a>(&'a mut self, end: &'a RunEnd) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async move { StepLog::close(self, end).await.map_err(BoxError::new) })
    }
}

impl StepLog for Box<dyn BoxedStepLog> {
    type Error = BoxError;

    async fn open(&mut self, header: &RunHeader) -> Result<(), BoxError> {
        BoxedStepLog::open(&mut **self, header).await
    }

    async fn begin(&mut self, intent: &StepIntent) -> Result<StepTicket, BoxError> {
        BoxedStepLog::begin(&mut **self, intent).await
    }

    async fn commit(&mut self, ticket: StepTicket, record: &StepRecord) -> Result<(), BoxError> {
        BoxedStepLog::commit(&mut **self, ticket, record).await
    }

    async fn planned(&mut self, record: &PlanningRecord) -> Result<(), BoxError> {
        BoxedStepLog::planned(&mut **self, record).await
    }

    async fn close(&mut self, end: &RunEnd) -> Result<(), BoxError> {
        BoxedStepLog::close(&mut **self, end).await
    }
}

/// An [`ArtifactSink`] of any type, with [`BoxError`] for its errors.
pub trait BoxedArtifactSink: Send + Sync {
    /// [`ArtifactSink::store`].
    fn store<'a>(
        &'a self,
        kind: ArtifactKind,
        media_type: &'a str,
        bytes: Vec<u8>,
    ) -> BoxFuture<'a, Result<ArtifactRef, BoxError>>;
}

impl<T: ArtifactSink> BoxedArtifactSink for T {
    fn store<'a>(
        &'a self,
        kind: ArtifactKind,
        media_type: &'a str,
        bytes: Vec<u8>,
    ) -> BoxFuture<'a, Result<ArtifactRef, BoxError>> {
        Box::pin(async move { ArtifactSink::store(self, kind, media_type, bytes).await.map_err(BoxError::new) })
    }
}

impl ArtifactSink for Box<dyn BoxedArtifactSink> {
    type Error = BoxError;

    async fn store(&self, kind: ArtifactKind, media_type: &str, bytes: Vec<u8>) -> Result<ArtifactRef, BoxError> {
        BoxedArtifactSink::store(&**self, kind, media_type, bytes).await
    }
}

/// A [`SecretSource`] of any type, with [`BoxError`] for its errors.
pub trait BoxedSecretSource: Send + Sync {
    /// [`SecretSource::resolve`].
    fn resolve<'a>(
        &'a self,
        reference: &'a CredentialRef,
        scope: &'a SecretScope,
    ) -> BoxFuture<'a, Result<Secret, SecretRefusal>>;
}

impl<T: SecretSource> BoxedSecretSource for T {
    fn resolve<'a>(
        &'a self,
        reference: &'a CredentialRef,
        scope: &'a SecretScope,
    ) -> BoxFuture<'a, Result<Secret, SecretRefusal>> {
        Box::pin(SecretSource::resolve(self, reference, scope))
    }
}

impl SecretSource for Box<dyn BoxedSecretSource> {
    async fn resolve(&self, reference: &CredentialRef, scope: &SecretScope) -> Result<Secret, SecretRefusal> {
        BoxedSecretSource::resolve(&**self, reference, scope).await
    }
}

/// A [`Confirm`] of any type, with [`BoxError`] for its errors.
pub trait BoxedConfirm: Send {
    /// [`Confirm::confirm`].
    fn confirm<'a>(&'a mut self, request: &'a ConfirmRequest, deadline: Deadline) -> BoxFuture<'a, ConfirmReply>;
}

impl<T: Confirm> BoxedConfirm for T {
    fn confirm<'a>(&'a mut self, request: &'a ConfirmRequest, deadline: Deadline) -> BoxFuture<'a, ConfirmReply> {
        Box::pin(Confirm::confirm(self, request, deadline))
    }
}

impl Confirm for Box<dyn BoxedConfirm> {
    async fn confirm(&mut self, request: &ConfirmRequest, deadline: Deadline) -> ConfirmReply {
        BoxedConfirm::confirm(&mut **self, request, deadline).await
    }
}

/// [`RepairPolicy`] waits for nothing and has no error: the trait itself can stand in a box.
impl<T: RepairPolicy + ?Sized> RepairPolicy for Box<T> {
    fn next(&mut self, case: &RepairCase<'_>, observation: &Observation, budget: &RepairBudget) -> Repair {
        (**self).next(case, observation, budget)
    }
}
