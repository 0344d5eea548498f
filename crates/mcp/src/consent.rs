//! Questions to the person, through the client.

use std::time::Duration;

use cuebook_grammar::seam::ConfirmReply;
use rmcp::RoleServer;
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitationAction, ElicitationSchema, InputRequest, InputRequests,
    InputRequiredResult, InputResponses, ProtocolVersion,
};
use rmcp::service::RequestContext;
use serde_json::Value;

/// Time for a person to answer through the client. A question that waits longer is denied.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Name of the one input that is asked for.
const CONSENT: &str = "consent";

/// A client's way to ask its person.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asking {
    /// It answers a request of the server.
    Elicits,
    /// It calls again with the answer (since protocol version 2026-07-28).
    ByInput,
    /// It has none: a tool has to answer.
    ByTool,
}

impl Asking {
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Self {
        let can_elicit = context.client_capabilities().is_some_and(|capabilities| capabilities.elicitation.is_some());
        let has_requests = context.protocol_version().as_ref().is_none_or(ProtocolVersion::has_initialize);
        match (can_elicit, has_requests) {
            (true, true) => Self::Elicits,
            (true, false) => Self::ByInput,
            (false, _) => Self::ByTool,
        }
    }
}

fn form(question: &str) -> Option<ElicitRequestParams> {
    let requested_schema = ElicitationSchema::builder().build().ok()?;
    Some(ElicitRequestParams::FormElicitationParams { meta: None, message: question.to_owned(), requested_schema })
}

/// Asks the person through the client.
pub(crate) async fn asked_through(context: &RequestContext<RoleServer>, question: &str) -> ConfirmReply {
    let Some(asked) = form(question) else { return ConfirmReply::Unanswered };
    match context.peer.create_elicitation_with_timeout(asked, Some(PATIENCE)).await {
        Ok(reply) => match reply.action {
            ElicitationAction::Accept => ConfirmReply::Yes(None),
            ElicitationAction::Decline => ConfirmReply::No,
            _ => ConfirmReply::Unanswered,
        },
        Err(error) => {
            tracing::debug!(%error, "the client does not pass the question on");
            ConfirmReply::Unanswered
        }
    }
}

/// Asks the client to call again with its person's answer. `id` comes back with it.
pub(crate) fn input_required(question: &str, id: &str) -> Option<InputRequiredResult> {
    let asked = InputRequest::Elicitation(ElicitRequest::new(form(question)?));
    Some(InputRequiredResult::new(Some(InputRequests::from([(CONSENT.to_owned(), asked)])), Some(id.to_owned())))
}

/// The answer in a call that was made again.
pub(crate) fn in_response(responses: Option<&InputResponses>) -> ConfirmReply {
    let action = responses.and_then(|responses| responses.get(CONSENT)?.get("action").and_then(Value::as_str));
    match action {
        Some("accept") => ConfirmReply::Yes(None),
        Some("decline") => ConfirmReply::No,
        _ => ConfirmReply::Unanswered,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_accept_is_consent() {
        for (responses, is_yes) in [
            (json!({ "consent": { "action": "accept", "content": {} } }), true),
            (json!({ "consent": { "action": "decline" } }), false),
            (json!({ "consent": { "action": "cancel" } }), false),
            (json!({ "consent": "accept" }), false),
            (json!({ "other": { "action": "accept" } }), false),
        ] {
            let read: InputResponses = serde_json::from_value(responses.clone()).unwrap();
            assert_eq!(matches!(in_response(Some(&read)), ConfirmReply::Yes(_)), is_yes, "{responses}");
        }
        assert!(!matches!(in_response(None), ConfirmReply::Yes(_)));
    }

    #[test]
    fn the_question_goes_to_the_client_as_a_form() {
        let asked = serde_json::to_value(input_required("Delete it?", "q7")).unwrap();
        assert_eq!(asked["requestState"], "q7");
        assert_eq!(asked["inputRequests"]["consent"]["params"]["message"], "Delete it?");
    }
}
