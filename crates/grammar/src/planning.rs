//! Calls of a model: what a planner reports about each one, so that a run can show the prompt, the output and the result.
//!
//! Invariants:
//! - Plain values; no type of any model's client.
//! - Before a call is recorded, secrets are removed from its texts, which are cut at [`MAX_CALL_TEXT`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::Violation;
use crate::vision::{MAX_FEATURES, VisionFeature};

/// The most characters of one text of a call that a record keeps.
pub const MAX_CALL_TEXT: usize = 200_000;

/// The most messages of a call's input that a record keeps: the first ones.
pub const MAX_CALL_MESSAGES: usize = 100;

/// Why a model was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum CallPurpose {
    /// For a plan, where no failed step is to be repaired.
    Plan,
    /// For a plan after a step had failed.
    Repair,
    /// For a corrected output after an invalid plan.
    Reformulate,
    /// For values that a page does not label, as quotes of its text.
    Fill,
    /// For the features of a picture. Since records 1.13.
    Look,
}

impl CallPurpose {
    /// Returns `true` if the answer is a plan.
    #[must_use]
    pub const fn is_for_plan(self) -> bool {
        !matches!(self, Self::Fill | Self::Look)
    }
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MessageRole {
    /// The instructions to the model.
    System,
    /// The request to the model: the task, the page, and corrections.
    User,
    /// An earlier output of the model.
    Assistant,
    /// A tool that the model called.
    Tool,
}

/// One message of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptMessage {
    /// Author of the message.
    pub role: MessageRole,
    /// Its text; pictures are named, not kept.
    pub text: String,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CallEnd {
    /// Its output is a draft that the planner handed out.
    Accepted,
    /// Its output is no valid plan.
    Invalid {
        /// Faults of the output.
        violations: Vec<Violation>,
    },
    /// The output is missing or incomplete.
    Failed {
        /// A stable code of the engine.
        code: String,
        /// Description of the failure.
        message: String,
    },
}

/// One more draft that the same call was answered with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OtherDraft {
    /// Output of the model.
    pub output: String,
    /// Outcome of the draft: accepted if it is a valid plan.
    pub end: CallEnd,
}

/// One call of a model, as its engine reports it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanningCall {
    /// The engine: `ollama`, `openai`, `anthropic`, `tokenMask`, …
    pub engine: String,
    /// The model, as its server names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Why it was called.
    pub purpose: CallPurpose,
    /// Messages sent to the model, oldest first.
    pub input: Vec<PromptMessage>,
    /// Output of the model, even if incomplete.
    pub output: String,
    /// Its own summary of its reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Its confidence, from 0 to 1; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Tokens read; 0 where the server does not say.
    pub input_tokens: u64,
    /// Tokens written; 0 where the server does not say.
    pub output_tokens: u64,
    /// From the first request to the end, in milliseconds.
    pub latency_ms: u64,
    /// From the first request to the first whole step, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_step_ms: Option<u64>,
    /// Requests that were sent, retries included.
    pub attempts: u32,
    /// Outcome of the call: accepted, invalid or failed.
    pub end: CallEnd,
    /// The drafts beside `output`, where several were asked for. `output` is the one that was taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OtherDraft>,
    /// Features of the page's picture that the request had, as another model found them. Since records 1.13.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<VisionFeature>,
}

impl CallEnd {
    fn kept(self, keep: &dyn Fn(String) -> String) -> Self {
        let violation = |violation: Violation| Violation {
            path: keep(violation.path),
            message: keep(violation.message),
            ..violation
        };
        match self {
            Self::Accepted => Self::Accepted,
            Self::Invalid { violations } => {
                Self::Invalid { violations: violations.into_iter().take(MAX_CALL_MESSAGES).map(violation).collect() }
            }
            Self::Failed { code, message } => Self::Failed { code, message: keep(message) },
        }
    }
}

impl PlanningCall {
    /// Returns the call with each text passed through `clean` and then cut at [`MAX_CALL_TEXT`] characters, and with at
    /// most [`MAX_CALL_MESSAGES`] messages. Linear in the texts.
    #[must_use]
    pub fn kept(self, clean: &dyn Fn(&str) -> String) -> Self {
        let keep = |text: String| cut(clean(&text));
        let message = |message: PromptMessage| PromptMessage { role: message.role, text: keep(message.text) };
        let feature = |feature: VisionFeature| VisionFeature { label: keep(feature.label), ..feature };
        let other = |draft: OtherDraft| OtherDraft { output: keep(draft.output), end: draft.end.kept(&keep) };
        Self {
            input: self.input.into_iter().take(MAX_CALL_MESSAGES).map(message).collect(),
            output: keep(self.output),
            reasoning: self.reasoning.map(keep),
            confidence: self.confidence.filter(|confidence| confidence.is_finite()),
            end: self.end.kept(&keep),
            others: self.others.into_iter().take(MAX_CALL_MESSAGES).map(other).collect(),
            features: self.features.into_iter().take(MAX_FEATURES).map(feature).collect(),
            ..self
        }
    }
}

fn cut(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(MAX_CALL_TEXT) {
        text.truncate(end);
        text.push_str(" … [cut]");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Point, Rect};
    use crate::plan::ViolationCode;
    use crate::vision::FeatureKind;

    fn call(end: CallEnd) -> PlanningCall {
        let text = || "say friend".to_owned();
        let feature = VisionFeature {
            label: text(),
            kind: FeatureKind::Icon,
            rect: Rect::default(),
            center: Point::default(),
            confidence: None,
            candidate: None,
        };
        PlanningCall {
            engine: "fake".to_owned(),
            model: None,
            purpose: CallPurpose::Plan,
            input: vec![PromptMessage { role: MessageRole::User, text: text() }; MAX_CALL_MESSAGES + 5],
            output: "é".repeat(MAX_CALL_TEXT + 1),
            reasoning: Some(text()),
            confidence: Some(f64::NAN),
            input_tokens: 1,
            output_tokens: 2,
            latency_ms: 3,
            first_step_ms: None,
            attempts: 1,
            others: vec![OtherDraft { output: text(), end: end.clone() }],
            features: vec![feature; MAX_FEATURES + 1],
            end,
        }
    }

    #[test]
    fn what_is_kept_is_clean_and_bounded_in_every_text() {
        let clean = |text: &str| text.replace("friend", "[redacted]");
        let failed = CallEnd::Failed { code: "cut".to_owned(), message: "saw friend".to_owned() };
        let violation = Violation::new(ViolationCode::UnknownTarget, "/steps/friend", "saw friend");
        let invalid = CallEnd::Invalid { violations: vec![violation; MAX_CALL_MESSAGES + 1] };
        for end in [CallEnd::Accepted, failed, invalid] {
            let kept = call(end).kept(&clean);
            assert_eq!((kept.input.len(), kept.features.len()), (MAX_CALL_MESSAGES, MAX_FEATURES));
            assert_eq!(kept.output.chars().count(), MAX_CALL_TEXT + " … [cut]".chars().count());
            assert!(kept.output.ends_with("[cut]"));
            let text = serde_json::to_string(&kept).unwrap();
            assert!(!text.contains("friend"), "{text}");
            assert_eq!(serde_json::from_str::<PlanningCall>(&text).unwrap(), kept);
        }
    }
}
