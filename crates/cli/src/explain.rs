//! Explanations of plans: the reason, target, risk and conditions of each step.
//!
//! Invariant: text for a password-like field is a digest, as in every record.

use cuebook_decoding::write_line;
use cuebook_grammar::action::{Action, Nothing};
use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::condition::Condition;
use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::{BoundStep, CheckedStep, Plan, StatedCondition, Violation};
use cuebook_grammar::policy::Consent;
use cuebook_grammar::secret::DigestKey;
use cuebook_grammar::step::{RiskLevel, Step};
use cuebook_repair::{Listener, RunEvent};
use serde::Serialize;

use crate::progress::{Narrator, say};
use crate::text::plain;

/// The explanation of a step.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExplainedStep {
    index: usize,
    /// The step in the line form.
    line: String,
    action: Step,
    /// The title of its target.
    target: Option<String>,
    origin: Option<String>,
    /// The risk class of the target as observed.
    risk: Option<&'static str>,
    effect: Option<EffectClass>,
    /// The grant without which the operator has to confirm.
    missing_grant: Option<String>,
    /// The reason that the planner gives.
    explanation: Option<String>,
    estimated_risk: Option<RiskLevel>,
    confidence: Option<f64>,
    pre: Vec<Condition>,
    post: Vec<ExplainedCondition>,
    /// Why the step cannot run on the observed page.
    violations: Vec<Violation>,
}

/// A condition, and whether it is a default.
#[derive(Clone, Debug, Serialize)]
struct ExplainedCondition {
    condition: Condition,
    default: bool,
}

/// Explains every step of a plan on the page it was made for.
pub(crate) fn explained(plan: &Plan, observation: &Observation, key: &DigestKey) -> Vec<ExplainedStep> {
    let is_sensitive = |target: &TargetRef| {
        let candidate = target.candidate_id().and_then(|id| observation.candidate(id));
        candidate.is_some_and(Candidate::is_sensitive)
    };
    let explain = |(index, checked): (usize, &CheckedStep)| {
        let (bound, violations) = match plan.bind(index, observation) {
            Ok(bound) => (Some(bound), Vec::new()),
            Err(violations) => (None, violations.into_vec()),
        };
        let step = checked.step.redacted(&is_sensitive, key);
        let target = step.action.target().map(|target| {
            let candidate = target.candidate_id().and_then(|id| observation.candidate(id));
            candidate.map_or_else(|| target.to_string(), Candidate::title)
        });
        let post = |stated: &StatedCondition| ExplainedCondition {
            condition: stated.condition.redacted(&is_sensitive, key),
            default: stated.is_default,
        };
        let missing_grant = match bound.as_ref().map(BoundStep::consent) {
            Some(Consent::Ask { grant }) => Some(grant.clone()),
            _ => None,
        };
        let mut bare = step.clone();
        bare.pre.clear();
        bare.post.clear();
        bare.explanation = None;
        bare.estimated_risk = None;
        bare.confidence = None;
        ExplainedStep {
            index,
            line: write_line(&bare),
            target,
            origin: bound.as_ref().map(|bound| bound.origin().to_owned()).filter(|origin| !origin.is_empty()),
            risk: bound.as_ref().map(|bound| bound.risk().as_str()),
            effect: bound.as_ref().map(BoundStep::effect),
            missing_grant,
            explanation: step.explanation.as_ref().map(ToString::to_string),
            estimated_risk: step.estimated_risk,
            confidence: step.confidence.map(|confidence| confidence.get()),
            pre: step.pre.clone(),
            post: checked.post.iter().map(post).collect(),
            violations,
            action: step,
        }
    };
    plan.steps().iter().enumerate().map(explain).collect()
}

/// A condition in the line form.
fn in_words(condition: &Condition) -> String {
    let mut step = Step::from(Action::Reload(Nothing {}));
    step.post.push(condition.clone());
    let line = write_line(&step);
    line.split_once(" => ").map_or(line.as_str(), |(_, condition)| condition).to_owned()
}

/// The explanation of a step as lines.
pub(crate) fn lines(step: &ExplainedStep) -> Vec<String> {
    let mut lines = vec![format!("{:>3}  {}", step.index + 1, plain(&step.line))];
    let mut put = |name: &str, text: String| {
        if !text.is_empty() {
            lines.push(format!("     {name}: {}", plain(&text)));
        }
    };
    put("on", step.target.clone().unwrap_or_default());
    put("why", step.explanation.clone().unwrap_or_default());
    let estimated = step.estimated_risk.map_or_else(String::new, |risk| {
        let level = match risk {
            RiskLevel::Low => "low",
            RiskLevel::Medium => "medium",
            RiskLevel::High => "high",
        };
        format!(", estimated by the planner: {level}")
    });
    put("risk", step.risk.map_or_else(String::new, |risk| format!("{risk}{estimated}")));
    put("confidence", step.confidence.map_or_else(String::new, |confidence| format!("{confidence:.2}")));
    for condition in &step.pre {
        put("before", in_words(condition));
    }
    for ExplainedCondition { condition, default } in &step.post {
        put("after", format!("{}{}", in_words(condition), if *default { " (by default)" } else { "" }));
    }
    if let Some(grant) = &step.missing_grant {
        put("asks first", format!("--grant {grant} gives the consent"));
    }
    for violation in &step.violations {
        put("cannot run", violation.in_words());
    }
    lines
}

/// Prints the events of a run, and explains each plan.
pub(crate) struct Explainer {
    narrator: Option<Narrator>,
    observation: Option<Observation>,
    key: DigestKey,
}

impl Explainer {
    pub(crate) const fn new(narrator: Option<Narrator>, key: DigestKey) -> Self {
        Self { narrator, observation: None, key }
    }
}

impl Listener for Explainer {
    fn event(&mut self, event: RunEvent<'_>) {
        if let RunEvent::Observed(observation) = &event {
            self.observation = Some((*observation).clone());
        }
        let plan = match &event {
            RunEvent::Planned(plan) => Some(*plan),
            _ => None,
        };
        if let Some(narrator) = &mut self.narrator {
            narrator.event(event);
        }
        if let (Some(plan), Some(observation)) = (plan, &self.observation) {
            for step in explained(plan, observation, &self.key) {
                lines(&step).iter().for_each(|line| say(line));
            }
        }
    }
}
