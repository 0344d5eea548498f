//! Registered actions: each has a name, a schema of its arguments, an effect class, and the code that runs.
//!
//! ```
//! use cuebook_grammar::effect::EffectClass;
//! use cuebook_grammar::policy::Policy;
//! use cuebook_outside::Registry;
//! use serde_json::{Value, json};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let schema = json!({
//!     "type": "object",
//!     "properties": { "minutes": { "type": "integer", "minimum": 1, "maximum": 60 } },
//!     "required": ["minutes"],
//! });
//! let registry = Registry::new().with("remind", "Reminds the user", EffectClass::Reversible, schema, |args| async move {
//!     Ok::<Value, std::io::Error>(json!({ "in": args["minutes"] }))
//! })?;
//! let policy = registry.opened_in(Policy::default());
//! assert!(policy.registered("remind").is_some());
//! # Ok(())
//! # }
//! ```
//!
//! Invariants:
//! - A model may call only what is both registered and opened in the policy.
//! - An action runs only with arguments that fit its schema, even if a grammar already constrained the model.
//! - A grammar can bound every schema, so that engines under a grammar can write every call.

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use cuebook_grammar::Delivery;
use cuebook_grammar::action::Action;
use cuebook_grammar::arguments::Shape;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::outcome::{Cause, StepOutcome};
use cuebook_grammar::plan::BoundStep;
use cuebook_grammar::policy::{Policy, RegisteredAction};
use cuebook_grammar::seam::ActionHandler;
use serde_json::Value;

use crate::done::{Failed, outcome, shown, with_sources};

/// Timeout of an action whose step states none.
const TIME: Duration = Duration::from_secs(30);

type Failure = Box<dyn Error + Send + Sync>;
type Running = Pin<Box<dyn Future<Output = Result<Value, Failure>> + Send>>;
type Code = Box<dyn Fn(Value) -> Running + Send + Sync>;

/// Why an action cannot be registered.
pub use cuebook_grammar::policy::BadAction as RegistryError;

/// Handles no action: each fails as unsupported.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoOthers;

impl ActionHandler for NoOthers {
    type Error = Infallible;

    fn actions(&self) -> Vec<RegisteredAction> {
        Vec::new()
    }

    async fn handle(&mut self, step: &BoundStep, _: Deadline) -> Result<StepOutcome, Infallible> {
        let verb = step.action().kind().meta().name;
        let message = format!("no handler carries out `{verb}`");
        let failed = Failed::new(Delivery::NotSent, Cause::Unsupported, message);
        Ok(outcome(step, Err(failed), Duration::ZERO))
    }
}

/// Registered actions, and a fallback handler for the others.
pub struct Registry<H = NoOthers> {
    entries: Vec<Entry>,
    others: H,
}

struct Entry {
    action: RegisteredAction,
    shape: Shape,
    code: Code,
}

impl<H> fmt::Debug for Registry<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries.iter().map(|entry| entry.action.name.as_str())).finish()
    }
}

impl Registry {
    /// Returns a registry without actions, and without a handler for others.
    #[must_use]
    pub const fn new() -> Self {
        Self { entries: Vec::new(), others: NoOthers }
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

impl<H> Registry<H> {
    /// Registers an action. Planners read `description`; repairs and confirmations depend on `effect`; `schema` is a
    /// JSON Schema of an object. `code` gets arguments that fit the schema. Its result goes into the history. Its
    /// future is dropped at the deadline of the step.
    ///
    /// # Errors
    /// [`RegistryError`].
    pub fn with<F, E>(
        mut self,
        name: &str,
        description: &str,
        effect: EffectClass,
        schema: Value,
        code: impl Fn(Value) -> F + Send + Sync + 'static,
    ) -> Result<Self, RegistryError>
    where
        F: Future<Output = Result<Value, E>> + Send + 'static,
        E: Into<Failure>,
    {
        let (action, shape) = RegisteredAction::checked(name, description, effect, schema)?;
        if self.entries.iter().any(|known| known.action.name == action.name) {
            return Err(RegistryError::Taken(name.to_owned()));
        }
        let code = move |args: Value| -> Running {
            let running = code(args);
            Box::pin(async move { running.await.map_err(Into::into) })
        };
        self.entries.push(Entry { action, shape, code: Box::new(code) });
        Ok(self)
    }

    /// Sets the fallback handler, such as [`OutsideHandler`](crate::OutsideHandler) for requests and files.
    #[must_use]
    pub fn with_others<O>(self, others: O) -> Registry<O> {
        Registry { entries: self.entries, others }
    }

    /// Opens every action of the registry in `policy`, so that planners may call it.
    #[must_use]
    pub fn opened_in(&self, policy: Policy) -> Policy {
        self.entries.iter().fold(policy, |policy, entry| policy.registering(entry.action.clone()))
    }
}

impl<H: ActionHandler> ActionHandler for Registry<H> {
    type Error = H::Error;

    fn actions(&self) -> Vec<RegisteredAction> {
        let mut actions: Vec<RegisteredAction> = self.entries.iter().map(|entry| entry.action.clone()).collect();
        actions.extend(self.others.actions());
        actions
    }

    async fn handle(&mut self, step: &BoundStep, deadline: Deadline) -> Result<StepOutcome, H::Error> {
        let Action::Call(call) = step.action() else { return self.others.handle(step, deadline).await };
        let Some(Entry { action, shape, code }) = self.entries.iter().find(|entry| entry.action.name == call.name)
        else {
            return self.others.handle(step, deadline).await;
        };
        let args = call.args.clone().map_or_else(|| Value::Object(serde_json::Map::new()), Value::Object);
        let began = Instant::now();
        let done = match shape.fit(&args) {
            Err(misfit) => {
                let message = format!("args{}: {}", misfit.path, misfit.message);
                Err(Failed::new(Delivery::NotSent, Cause::InvalidArgument, message))
            }
            Ok(()) => {
                let until = deadline.within(began, step.timeout().unwrap_or(TIME)).instant();
                match tokio::time::timeout_at(until.into(), code(args)).await {
                    Ok(Ok(data)) => Ok((Delivery::Sent, data)),
                    // Code that failed may have had an effect before.
                    Ok(Err(error)) => {
                        let message =
                            format!("`{}` failed: {}", action.name, shown(&with_sources(error.as_ref()), 400));
                        Err(Failed::new(Delivery::Unknown, Cause::PostconditionFailed, message))
                    }
                    Err(_) => {
                        let message = format!("`{}` did not end before the deadline of the step", action.name);
                        Err(Failed::new(Delivery::Unknown, Cause::DeadlineExceeded, message))
                    }
                }
            }
        };
        Ok(outcome(step, done, began.elapsed()))
    }
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::id::PageId;
    use cuebook_grammar::observation::Observation;
    use cuebook_grammar::plan::{Author, PlanDraft};
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "to": { "type": "string", "maxLength": 20 },
                "copies": { "type": "integer", "minimum": 1, "maximum": 3 },
                "format": { "enum": ["pdf", "html"] },
                "tags": { "type": "array", "items": { "type": "string" }, "maxItems": 2 },
            },
            "required": ["to"],
        })
    }

    fn registry() -> Registry {
        let code = |args: Value| async move {
            match args["to"].as_str() {
                Some("unknown") => Err(std::io::Error::other("no such\naddress")),
                Some("never") => std::future::pending().await,
                _ => Ok(json!({ "sent": args["to"] })),
            }
        };
        Registry::new().with("send", "Sends it", EffectClass::Destructive, schema(), code).unwrap()
    }

    async fn call(args: Value) -> StepOutcome {
        let mut registry = registry();
        let page = Observation::blank(PageId::new("none"), "about:blank");
        let policy = registry.opened_in(Policy::default());
        let step = json!({ "type": "call", "name": "send", "args": args, "timeoutMs": 50 });
        let draft = PlanDraft::read_value(json!({ "version": "1.0", "steps": [step] }), Author::Operator).unwrap();
        let bound = draft.check(&page, &policy).unwrap().bind(0, &page).unwrap();
        let deadline = Deadline::after(Instant::now(), Duration::from_secs(9));
        registry.handle(&bound, deadline).await.unwrap()
    }

    #[tokio::test]
    async fn code_gets_arguments_that_fit_and_its_result_is_the_data_of_the_step() {
        let StepOutcome::Succeeded(success) = call(json!({ "to": "ann", "copies": 2 })).await else { panic!("failed") };
        assert_eq!(success.data, Some(json!({ "sent": "ann" })));
        assert!(success.evidence.post.iter().all(|judged| judged.verdict == cuebook_grammar::verdict::Verdict::Holds));
    }

    #[tokio::test]
    async fn arguments_that_do_not_fit_never_reach_the_code() {
        for (args, place) in [
            (json!({}), "args: expected `to`"),
            (json!({ "to": 3 }), "args/to: expected a string, saw 3"),
            (json!({ "to": "a", "cc": "b" }), "args: expected no `cc`"),
            (json!({ "to": "a", "copies": 9 }), "args/copies: expected at most 3, saw 9"),
            (json!({ "to": "a", "format": "doc" }), "args/format: expected one of [\"pdf\",\"html\"], saw \"doc\""),
            (json!({ "to": "a", "tags": ["a", 1] }), "args/tags/1: expected a string, saw 1"),
        ] {
            let StepOutcome::Failed(failure) = call(args).await else { panic!("{place}") };
            assert_eq!(failure.cause, Cause::InvalidArgument);
            assert!(failure.message.starts_with(place), "{}", failure.message);
            assert!(!failure.evidence.input_sent);
        }
    }

    #[tokio::test]
    async fn code_that_fails_or_does_not_end_may_have_had_an_effect() {
        for (to, cause) in [("unknown", Cause::PostconditionFailed), ("never", Cause::DeadlineExceeded)] {
            let StepOutcome::Failed(failure) = call(json!({ "to": to })).await else { panic!("{to}") };
            assert_eq!((failure.cause, failure.evidence.input_sent), (cause, true));
        }
        let StepOutcome::Failed(failure) = call(json!({ "to": "unknown" })).await else { panic!("done") };
        assert_eq!(failure.message, r"`send` failed: no such\naddress");
    }

    #[test]
    fn an_action_that_cannot_be_registered_is_an_error() {
        let with = |name: &str, schema: Value| {
            let code = |_| async { Ok::<Value, std::io::Error>(Value::Null) };
            registry().with(name, "d", EffectClass::ReadOnly, schema, code).map(drop)
        };
        let open = json!({ "type": "object", "properties": { "a": { "type": "string", "pattern": "x" } } });
        assert_eq!(with("a b", schema()), Err(RegistryError::Name("a b".to_owned())));
        assert_eq!(with("send", schema()), Err(RegistryError::Taken("send".to_owned())));
        assert_eq!(with("click", schema()), Err(RegistryError::Taken("click".to_owned())));
        assert_eq!(with("open", open), Err(RegistryError::Schema("open".to_owned())));
        assert_eq!(with("fine", schema()), Ok(()));
    }
}
