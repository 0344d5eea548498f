//! Scripts of a plan.
//!
//! They run in the page's world, not in ours: they need the page's variables and must not break the probe. The page can
//! forge their result.

use cuebook_cdp::Page;
use cuebook_cdp::protocol::js_protocol::runtime::EvaluateParams;
use cuebook_grammar::action::Evaluate;
use cuebook_grammar::outcome::{Cause, Stage};
use cuebook_grammar::render::cut;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::actions::ActResult;
use crate::error::ExecutorError;
use crate::run::StepRun;
use crate::stop::{Part, Stop, call_stop, failed};

/// The most bytes of JSON that a script may return.
const MAX_ANSWER: usize = 200_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Returned<'a> {
    #[serde(borrow)]
    result: Remote<'a>,
    #[serde(default)]
    exception_details: Option<Thrown>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Remote<'a> {
    #[serde(borrow, default)]
    value: Option<&'a RawValue>,
    /// Numbers that JSON cannot write.
    #[serde(default)]
    unserializable_value: Option<String>,
}

#[derive(Deserialize)]
struct Thrown {
    text: String,
    #[serde(default)]
    exception: Option<Exception>,
}

#[derive(Deserialize)]
struct Exception {
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    value: Option<Value>,
}

impl StepRun<'_> {
    /// Evaluates an expression in the page; a promise is awaited, and the value comes back as JSON.
    pub(crate) async fn evaluate(&mut self, action: &Evaluate) -> Part<ActResult> {
        self.watch().await?;
        self.about_to_send()?;
        let params = EvaluateParams {
            return_by_value: Some(true),
            await_promise: Some(true),
            // No rights that only a person's gesture gives.
            user_gesture: Some(false),
            ..EvaluateParams::new(action.script.as_str())
        };
        let page: Page = self.page.clone();
        let call = page.session().request(params, self.until);
        let reply = match self.race(Stage::Act, call).await? {
            Ok(reply) => reply,
            Err(cuebook_cdp::CallError::Protocol { .. }) => {
                let message = "the script returned no value that JSON can express, or its document was replaced";
                return failed(Stage::Act, Cause::InvalidArgument, message);
            }
            Err(error) => return Err(call_stop(error, Stage::Act)),
        };
        let returned: Returned<'_> = reply.parse().map_err(|error| Stop::Broken(ExecutorError::Wire(error)))?;
        if let Some(thrown) = returned.exception_details {
            let exception = thrown.exception.unwrap_or(Exception { description: None, value: None });
            let thrown =
                exception.description.or_else(|| exception.value.map(|value| value.to_string())).unwrap_or(thrown.text);
            let first = cut(thrown.lines().next().unwrap_or_default(), 500);
            return failed(Stage::Act, Cause::InvalidArgument, format!("the script threw: {first}"));
        }
        let raw = returned.result.value.map_or("null", RawValue::get);
        if raw.len() > MAX_ANSWER {
            let message = format!("the script returned {} bytes, at most {MAX_ANSWER} are allowed", raw.len());
            return failed(Stage::Act, Cause::InvalidArgument, message);
        }
        let data = match returned.result.unserializable_value {
            Some(number) => Value::String(number),
            None => serde_json::from_str(raw).unwrap_or(Value::Null),
        };
        Ok(ActResult { data: Some(data), ..self.untargeted() })
    }
}
