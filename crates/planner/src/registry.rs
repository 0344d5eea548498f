//! Actions of one's own: name, schema of arguments, what they do to the world, and the code that does it.
//!
//! ```
//! use cuebook_grammar::effect::EffectClass;
//! use cuebook_grammar::policy::Policy;
//! use cuebook_planner::Registry;
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
//! - A model may call what is registered and opened in the policy, and nothing else.
//! - An action runs only with arguments that fit its schema, whoever wrote them and whatever constrained that.
//! - Every schema is one that a grammar can bound, so that engines under a grammar can write each call.

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use cuebook_decoding::specialise;
use cuebook_grammar::action::Action;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::facts::{EventFacts, Facts, Sample};
use cuebook_grammar::id::PageId;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::{Cause, Evidence, Judged, Stage, StepFailure, StepOutcome, StepSuccess, Timings};
use cuebook_grammar::plan::{BoundStep, StatedCondition};
use cuebook_grammar::policy::{Policy, RegisteredAction};
use cuebook_grammar::seam::ActionHandler;
use cuebook_grammar::wire::ShortText;
use serde_json::Value;

use crate::words::one_line;

/// How long an action may take where its step says nothing.
const TIME: Duration = Duration::from_secs(30);

type Failure = Box<dyn Error + Send + Sync>;
type Running = Pin<Box<dyn Future<Output = Result<Value, Failure>> + Send>>;
type Code = Box<dyn Fn(Value) -> Running + Send + Sync>;

/// Why an action cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The name is no identifier of at most 60 characters.
    #[error("expected a name of letters, digits, `_` and `-`, saw `{0}`")]
    Name(String),
    /// The name is taken, by another action or by a verb of the language.
    #[error("expected a name that is not taken, saw `{0}`")]
    Taken(String),
    /// The description is too long.
    #[error("expected a description of at most 200 characters for `{0}`")]
    Description(String),
    /// No grammar can bound the arguments.
    #[error(
        "expected a schema of closed objects, bounded strings and integers, booleans, enums and arrays of those for `{0}`"
    )]
    Schema(String),
}

/// No other actions.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoOthers;

impl ActionHandler for NoOthers {
    type Error = Infallible;

    fn actions(&self) -> Vec<RegisteredAction> {
        Vec::new()
    }

    async fn handle(&mut self, step: &BoundStep, _: Deadline) -> Result<StepOutcome, Infallible> {
        let verb = step.action().kind().meta().name;
        let message = format!("expected somebody who carries out `{verb}`, saw nobody");
        Ok(StepOutcome::Failed(Box::new(StepFailure::new(Stage::Act, Cause::Unsupported, message))))
    }
}

/// Registered actions, and another handler for what is not registered here.
pub struct Registry<H = NoOthers> {
    entries: Vec<(RegisteredAction, Code)>,
    others: H,
}

impl<H> fmt::Debug for Registry<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries.iter().map(|(action, _)| action.name.as_str())).finish()
    }
}

impl Registry {
    /// A registry without actions.
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
    /// Registers an action. `description` is what a planner reads of it, `effect` what a repair and a confirmation go
    /// by; `schema` is JSON Schema of an object. `code` gets arguments that fit the schema, and what it answers goes
    /// into the history; it is dropped at the step's deadline.
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
        let shown = one_line(name, 60);
        let is_name = (1..=60).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        let short_name = ShortText::new(name).ok().filter(|_| is_name).ok_or(RegistryError::Name(shown.clone()))?;
        let is_verb = cuebook_grammar::action::ActionKind::ALL.iter().any(|kind| kind.meta().name == name);
        if is_verb || self.entries.iter().any(|(known, _)| known.name.as_str() == name) {
            return Err(RegistryError::Taken(shown));
        }
        let description = ShortText::new(description)
            .ok()
            .filter(|text| text.chars().count() <= 200)
            .ok_or_else(|| RegistryError::Description(shown.clone()))?;
        let action = RegisteredAction { name: short_name, schema, effect, description };
        let blank = Observation::blank(PageId::new("none"), "about:blank");
        let spec = specialise(&blank, &Policy::default().registering(action.clone()));
        if !spec.left_out().registered.is_empty() {
            return Err(RegistryError::Schema(shown));
        }
        let code = move |args: Value| -> Running {
            let running = code(args);
            Box::pin(async move { running.await.map_err(Into::into) })
        };
        self.entries.push((action, Box::new(code)));
        Ok(self)
    }

    /// With another handler for what is not registered here, such as the executor's for requests and files.
    #[must_use]
    pub fn with_others<O>(self, others: O) -> Registry<O> {
        Registry { entries: self.entries, others }
    }

    /// The policy with every action of the registry opened to planners.
    #[must_use]
    pub fn opened_in(&self, policy: Policy) -> Policy {
        self.entries.iter().fold(policy, |policy, (action, _)| policy.registering(action.clone()))
    }
}

impl<H: ActionHandler> ActionHandler for Registry<H> {
    type Error = H::Error;

    fn actions(&self) -> Vec<RegisteredAction> {
        let mut actions: Vec<RegisteredAction> = self.entries.iter().map(|(action, _)| action.clone()).collect();
        actions.extend(self.others.actions());
        actions
    }

    async fn handle(&mut self, step: &BoundStep, deadline: Deadline) -> Result<StepOutcome, H::Error> {
        let Action::Call(call) = step.action() else { return self.others.handle(step, deadline).await };
        let Some((action, code)) = self.entries.iter().find(|(action, _)| action.name == call.name) else {
            return self.others.handle(step, deadline).await;
        };
        let args = call.args.clone().map_or_else(|| Value::Object(serde_json::Map::new()), Value::Object);
        let began = Instant::now();
        let done = match misfit(&action.schema, &args) {
            Some(Misfit { path, message }) => Err(failure(Cause::InvalidArgument, format!("args{path}: {message}"))),
            None => {
                let until = deadline.within(began, step.timeout().unwrap_or(TIME)).instant();
                match tokio::time::timeout_at(until.into(), code(args)).await {
                    Ok(Ok(data)) => Ok(data),
                    Ok(Err(error)) => {
                        let message =
                            format!("expected `{}` to succeed: {}", action.name, one_line(&told(error.as_ref()), 400));
                        Err(begun(failure(Cause::PostconditionFailed, message)))
                    }
                    Err(_) => {
                        let message = format!("expected `{}` to end before the deadline of the step", action.name);
                        Err(begun(failure(Cause::DeadlineExceeded, message)))
                    }
                }
            }
        };
        let evidence = evidence(step, done.is_ok(), began.elapsed());
        Ok(match done {
            Ok(data) => StepOutcome::Succeeded(StepSuccess { evidence, data: Some(data), ..StepSuccess::default() }),
            Err(mut failure) => {
                let input_sent = failure.evidence.input_sent;
                failure.evidence = Evidence { input_sent, ..evidence };
                StepOutcome::Failed(failure)
            }
        })
    }
}

fn failure(cause: Cause, message: String) -> Box<StepFailure> {
    Box::new(StepFailure::new(Stage::Act, cause, message))
}

/// The failure of code that ran: it may have done something, and a repair does not just run it again.
fn begun(mut failure: Box<StepFailure>) -> Box<StepFailure> {
    failure.evidence.input_sent = true;
    failure
}

fn told(error: &(dyn Error + 'static)) -> String {
    let mut out = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        out.push_str(": ");
        out.push_str(&error.to_string());
        source = error.source();
    }
    out
}

/// What no page shows: that the action was carried out is its effect.
fn evidence(step: &BoundStep, is_done: bool, took: Duration) -> Evidence {
    let events = EventFacts { any_effect: is_done.then_some(true), ..EventFacts::default() };
    let facts = Facts { samples: vec![Sample::default()], events, ..Facts::default() };
    let judged = |stated: &StatedCondition| Judged {
        condition: stated.condition.clone(),
        verdict: stated.condition.evaluate(&facts),
        vacuous: false,
        default: stated.is_default,
        latency_ms: None,
    };
    let post: Vec<Judged> = step.post().iter().map(judged).collect();
    let act_ms = u32::try_from(took.as_millis()).unwrap_or(u32::MAX);
    Evidence {
        post_facts: (!post.is_empty()).then_some(facts),
        post,
        input_sent: is_done,
        timings: Timings { act_ms, ..Timings::default() },
        ..Evidence::default()
    }
}

/// Where arguments do not fit their schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misfit {
    /// JSON pointer into the arguments.
    pub(crate) path: String,
    /// Expected against seen.
    pub(crate) message: String,
}

/// The first misfit of a value, for the closed subset of JSON Schema that grammars bound. What lies beyond the subset
/// is not judged.
pub(crate) fn misfit(schema: &Value, value: &Value) -> Option<Misfit> {
    fit(schema, value, "").err()
}

fn fit(schema: &Value, value: &Value, path: &str) -> Result<(), Misfit> {
    let no = |expected: String| {
        let message = format!("expected {expected}, saw {}", one_line(&value.to_string(), 80));
        Err(Misfit { path: path.to_owned(), message })
    };
    if let Some(constant) = schema.get("const").filter(|constant| *constant != value) {
        return no(constant.to_string());
    }
    let listed = schema.get("enum").and_then(Value::as_array);
    if let Some(listed) = listed.filter(|listed| !listed.contains(value)) {
        return no(format!("one of {}", one_line(&Value::Array(listed.clone()).to_string(), 200)));
    }
    let bound = |name: &str| schema.get(name).and_then(Value::as_i64);
    let count = |name: &str| schema.get(name).and_then(Value::as_u64);
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => {
            let Some(object) = value.as_object() else { return no("an object".to_owned()) };
            let properties = schema.get("properties").and_then(Value::as_object);
            for name in schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
            {
                if !object.contains_key(name) {
                    return no(format!("`{name}`"));
                }
            }
            for (name, member) in object {
                let Some(inner) = properties.and_then(|properties| properties.get(name)) else {
                    return no(format!("no `{}`", one_line(name, 60)));
                };
                fit(inner, member, &format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")))?;
            }
            Ok(())
        }
        Some("array") => {
            let Some(items) = value.as_array() else { return no("an array".to_owned()) };
            if let Some(most) = count("maxItems").filter(|most| items.len() as u64 > *most) {
                return no(format!("at most {most} items"));
            }
            let inner = schema.get("items").unwrap_or(&Value::Null);
            items.iter().enumerate().try_for_each(|(index, item)| fit(inner, item, &format!("{path}/{index}")))
        }
        Some("string") => {
            let Some(text) = value.as_str() else { return no("a string".to_owned()) };
            let length = text.chars().count() as u64;
            match (count("minLength"), count("maxLength")) {
                (Some(least), _) if length < least => no(format!("at least {least} characters")),
                (_, Some(most)) if length > most => no(format!("at most {most} characters")),
                _ => Ok(()),
            }
        }
        Some("integer") => {
            let Some(number) = value.as_i64() else { return no("an integer".to_owned()) };
            match (bound("minimum"), bound("maximum")) {
                (Some(least), _) if number < least => no(format!("at least {least}")),
                (_, Some(most)) if number > most => no(format!("at most {most}")),
                _ => Ok(()),
            }
        }
        Some("boolean") if !value.is_boolean() => no("true or false".to_owned()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
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
                Some("nobody") => Err(std::io::Error::other("no such\naddress")),
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
    async fn code_gets_arguments_that_fit_and_its_answer_is_the_steps_data() {
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
    async fn code_that_fails_or_does_not_end_is_a_failure_that_may_have_done_something() {
        for (to, cause) in [("nobody", Cause::PostconditionFailed), ("never", Cause::DeadlineExceeded)] {
            let StepOutcome::Failed(failure) = call(json!({ "to": to })).await else { panic!("{to}") };
            assert_eq!((failure.cause, failure.evidence.input_sent), (cause, true));
        }
        let StepOutcome::Failed(failure) = call(json!({ "to": "nobody" })).await else { panic!("done") };
        assert_eq!(failure.message, "expected `send` to succeed: no such address");
    }

    #[test]
    fn what_cannot_be_registered_says_why() {
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
