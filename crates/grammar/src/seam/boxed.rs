//! Seams as values of one type: `Box<dyn BoxedPlanner>` and its siblings, for layers that are chosen while a program
//! runs, such as a planner that a configuration file names.
//!
//! Each boxed trait is implemented for every implementation of its seam, and its box implements the seam again, with
//! [`BoxError`] for an error. The price is one allocation a call.
//!
//! ```
//! use cuebook_grammar::seam::boxed::BoxedConfirm;
//! use cuebook_grammar::seam::{Confirm, DenyAll};
//!
//! fn wants_a_confirmer(_: impl Confirm) {}
//! let chosen: Box<dyn BoxedConfirm> = Box::new(DenyAll);
//! wants_a_confirmer(chosen);
//! ```

use std::error::Error;
use std::fmt;

pub use super::BoxFuture;
use super::{
    ActionHandler, ArtifactKind, ArtifactSink, Confirm, ConfirmReply, ConfirmRequest, EffectGate, Executor, Finding,
    Finished, Image, LookRequest, PageModeler, PlanReply, PlanRequest, PlanSink, Planner, Query, Repair, RepairBudget,
    RepairCase, RepairPolicy, SecretRefusal, SecretScope, SecretSource, StepLog, StepTicket,
};
use crate::deadline::Deadline;
use crate::filling::{FillReply, FillRequest};
use crate::id::{CredentialRef, PageId, RunId};
use crate::observation::{Observation, Scope};
use crate::outcome::{ArtifactRef, Cause, StepOutcome};
use crate::plan::BoundStep;
use crate::policy::RegisteredAction;
use crate::record::{EventRecord, PlanningRecord, RunEnd, RunHeader, StepIntent, StepRecord};
use crate::secret::Secret;

/// The error of a boxed layer. Displays and has the source of the error that it holds.
pub struct BoxError(Box<dyn Error + Send + Sync>);

impl BoxError {
    /// Wraps the error of a layer. One that is boxed already stays as it is, so that [`get_ref`](Self::get_ref) finds it.
    pub fn new(error: impl Error + Send + Sync + 'static) -> Self {
        let error: Box<dyn Error + Send + Sync> = Box::new(error);
        error.downcast::<Self>().map_or_else(Self, |boxed| *boxed)
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

/// How an argument of a boxed method is passed, its reference named.
macro_rules! argument {
    ($lifetime:lifetime [] $type:ty) => { $type };
    ($lifetime:lifetime [&] $type:ty) => { &$lifetime $type };
    ($lifetime:lifetime [&mut] $type:ty) => { &$lifetime mut $type };
}

/// Declares the boxed form of a seam, implements it for every implementation of the seam, and the seam for its box.
/// `[&]` and `[&mut]` stand before the type of an argument that is a reference, `[]` before one that is a value.
macro_rules! boxed {
    ($(
        $boxed:ident for $seam:ident: $($bound:ident)+ {
            $( sync fn $plain:ident() -> $plain_output:ty; )?
            $( fn $method:ident([$($own:tt)+] $(, $name:ident: [$($by:tt)*] $type:ty)*) -> $output:ty; )+
        }
    )+) => { $(
        #[doc = concat!("A [`", stringify!($seam), "`] of any type, with [`BoxError`] for its errors.")]
        pub trait $boxed: $($bound +)+ {
            $(
                #[doc = concat!("[`", stringify!($seam), "::", stringify!($plain), "`].")]
                fn $plain(&self) -> $plain_output;
            )?
            $(
                #[doc = concat!("[`", stringify!($seam), "::", stringify!($method), "`].")]
                fn $method<'a>(
                    self: argument!('a [$($own)+] Self),
                    $($name: argument!('a [$($by)*] $type)),*
                ) -> BoxFuture<'a, Result<$output, BoxError>>;
            )+
        }

        impl<T: $seam> $boxed for T {
            $( fn $plain(&self) -> $plain_output { $seam::$plain(self) } )?
            $(
                fn $method<'a>(
                    self: argument!('a [$($own)+] Self),
                    $($name: argument!('a [$($by)*] $type)),*
                ) -> BoxFuture<'a, Result<$output, BoxError>> {
                    Box::pin(async move { $seam::$method(self, $($name),*).await.map_err(BoxError::new) })
                }
            )+
        }

        impl $seam for Box<dyn $boxed + '_> {
            type Error = BoxError;

            $( fn $plain(&self) -> $plain_output { $boxed::$plain(&**self) } )?
            $(
                async fn $method(self: $($own)+ Self, $($name: $($by)* $type),*) -> Result<$output, BoxError> {
                    $boxed::$method($($own)+ **self, $($name),*).await
                }
            )+
        }
    )+ };
}

boxed! {
    BoxedPageModeler for PageModeler: Send {
        sync fn lost() -> Option<Cause>;
        fn observe([&mut], page: [&] PageId, scope: [] Scope, deadline: [] Deadline) -> Observation;
        fn prepare([&mut], page: [&] PageId, scope: [] Scope, deadline: [] Deadline) -> ();
        fn is_unchanged([&mut], seen: [&] Observation, deadline: [] Deadline) -> bool;
        fn explore([&mut], page: [&] PageId, query: [&] Query, deadline: [] Deadline) -> Finding;
        fn read([&mut], observation: [&mut] Observation, deadline: [] Deadline) -> ();
        fn picture([&mut], page: [&] PageId, seen: [&] Observation, deadline: [] Deadline) -> Option<Image>;
    }
    BoxedPlanner for Planner: Send Sync {
        fn plan([&], request: [&] PlanRequest<'_>, sink: [&mut] dyn PlanSink, deadline: [] Deadline) -> PlanReply;
        fn fill([&], request: [&] FillRequest<'_>, sink: [&mut] dyn PlanSink, deadline: [] Deadline) -> FillReply;
        fn look([&], request: [&] LookRequest<'_>, sink: [&mut] dyn PlanSink, deadline: [] Deadline) -> FillReply;
    }
    BoxedExecutor for Executor: Send {
        fn run_step(
            [&mut], page: [&] PageId, step: [&] BoundStep, ground: [&] Observation, gate: [&mut] dyn EffectGate,
            deadline: [] Deadline
        ) -> StepOutcome;
        fn prepare([&mut], page: [&] PageId, step: [&] BoundStep, deadline: [] Deadline) -> ();
        fn finish([&mut], page: [&] PageId, goes_on: [] bool, deadline: [] Deadline) -> Finished;
    }
    BoxedActionHandler for ActionHandler: Send {
        sync fn actions() -> Vec<RegisteredAction>;
        fn handle([&mut], step: [&] BoundStep, deadline: [] Deadline) -> StepOutcome;
    }
    BoxedStepLog for StepLog: Send {
        fn open([&mut], header: [&] RunHeader) -> ();
        fn begin([&mut], intent: [&] StepIntent) -> StepTicket;
        fn commit([&mut], ticket: [] StepTicket, record: [&] StepRecord) -> ();
        fn planned([&mut], record: [&] PlanningRecord) -> ();
        fn observed([&mut], run: [&] RunId, ts_ms: [] u64, observation: [&] Observation) -> ();
        fn happened([&mut], record: [&] EventRecord) -> ();
        fn close([&mut], end: [&] RunEnd) -> ();
    }
    BoxedArtifactSink for ArtifactSink: Send Sync {
        fn store([&], kind: [] ArtifactKind, media_type: [&] str, bytes: [] Vec<u8>) -> ArtifactRef;
    }
}

/// A [`SecretSource`] of any type, with [`BoxError`] for its errors.
pub trait BoxedSecretSource: Send + Sync {
    /// Boxed form of [`SecretSource::resolve`].
    fn resolve<'a>(
        &'a self,
        reference: &'a CredentialRef,
        scope: &'a SecretScope,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Secret, SecretRefusal>>;

    /// Boxed form of [`SecretSource::holds`].
    fn holds(&self, text: &str) -> bool;
}

impl<T: SecretSource> BoxedSecretSource for T {
    fn resolve<'a>(
        &'a self,
        reference: &'a CredentialRef,
        scope: &'a SecretScope,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Secret, SecretRefusal>> {
        Box::pin(SecretSource::resolve(self, reference, scope, deadline))
    }

    fn holds(&self, text: &str) -> bool {
        SecretSource::holds(self, text)
    }
}

impl SecretSource for Box<dyn BoxedSecretSource + '_> {
    async fn resolve(
        &self,
        reference: &CredentialRef,
        scope: &SecretScope,
        deadline: Deadline,
    ) -> Result<Secret, SecretRefusal> {
        BoxedSecretSource::resolve(&**self, reference, scope, deadline).await
    }

    fn holds(&self, text: &str) -> bool {
        BoxedSecretSource::holds(&**self, text)
    }
}

/// A [`Confirm`] of any type, with [`BoxError`] for its errors.
pub trait BoxedConfirm: Send {
    /// Boxed form of [`Confirm::confirm`].
    fn confirm<'a>(&'a mut self, request: &'a ConfirmRequest, deadline: Deadline) -> BoxFuture<'a, ConfirmReply>;
}

impl<T: Confirm> BoxedConfirm for T {
    fn confirm<'a>(&'a mut self, request: &'a ConfirmRequest, deadline: Deadline) -> BoxFuture<'a, ConfirmReply> {
        Box::pin(Confirm::confirm(self, request, deadline))
    }
}

impl Confirm for Box<dyn BoxedConfirm + '_> {
    async fn confirm(&mut self, request: &ConfirmRequest, deadline: Deadline) -> ConfirmReply {
        BoxedConfirm::confirm(&mut **self, request, deadline).await
    }
}

/// [`RepairPolicy`] waits for nothing and has no error: the trait itself can stand in a box.
impl<T: RepairPolicy + ?Sized> RepairPolicy for Box<T> {
    fn next(&mut self, case: &RepairCase<'_>, observation: &Observation, budget: &RepairBudget) -> Repair {
        (**self).next(case, observation, budget)
    }

    fn rung(&self) -> Option<&'static str> {
        (**self).rung()
    }
}
