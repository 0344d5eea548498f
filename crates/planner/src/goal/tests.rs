use std::time::{Duration, Instant};

use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::{Cause, Stage, StepFailure};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::sample;
use cuebook_grammar::seam::{HistoryEntry, IgnoreSteps, PlannedStep};
use serde_json::Value;

use super::*;

const PAGE: &str = "textbox \"Email\"\ncheckbox \"News\"\nlink \"Cart\" to=/cart\nbutton \"Show the size guide\"\n\
                    button \"Delete account\"\nbutton \"More\"";

fn goal(conditions: Value) -> Goal {
    let candidates = json!({
        "email": { "strategy": "byLabel", "text": "Email" }, "news": { "strategy": "byRole", "role": "checkbox", "name": "News" },
        "guide": { "strategy": "byRole", "role": "dialog", "name": "Size guide" },
    });
    Goal::read(&json!({ "goal": conditions, "candidates": candidates }).to_string()).unwrap()
}

/// The plan after the condition at `failed` did not hold.
async fn after(planner: &impl Planner<Error = Infallible>, failed: &Condition, state: Option<&Value>) -> PlanReply {
    let page: Observation = sample::page(PAGE);
    let policy = Policy::default().starting_at(&page.url).unwrap();
    let history = [HistoryEntry {
        failure: Some("assertionFailed".to_owned()),
        planned: Some(PlannedStep { plan: 0, step: 0 }),
        ..HistoryEntry::of(step(json!({ "type": "assert", "condition": failed })).unwrap())
    }];
    let checked = json!({ "before": 0, "tried": state.map_or(&Value::Null, |state| &state["tried"]) });
    let checked = if state.is_some() { checked } else { json!({ "before": 0 }) };
    let state = Some(&checked);
    let failure = StepFailure::new(Stage::Act, Cause::PostconditionFailed, "it does not hold");
    let request =
        PlanRequest { history: &history, failure: Some(&failure), state, ..PlanRequest::new("goal", &page, &policy) };
    let deadline = Deadline::after(Instant::now(), Duration::from_secs(10));
    planner.plan(&request, &mut IgnoreSteps, deadline).await.unwrap()
}

fn steps(reply: &PlanReply) -> Vec<Value> {
    reply.drafts[0].steps.iter().map(|step| serde_json::to_value(step).unwrap()).collect()
}

#[tokio::test]
async fn a_condition_that_is_the_effect_of_a_step_gets_that_step() {
    let cases = [
        (
            json!({ "kind": "valueEquals", "target": "email", "value": "ann" }),
            json!({ "type": "setValue", "targetRef": "email", "value": "ann" }),
        ),
        (json!({ "kind": "checked", "target": "news" }), json!({ "type": "check", "targetRef": "news" })),
        (
            json!({ "kind": "checked", "target": "news", "checked": false }),
            json!({ "type": "uncheck", "targetRef": "news" }),
        ),
    ];
    for (condition, expected) in cases {
        let goal = goal(json!([condition]));
        let reply = after(&GoalPlanner::new(goal.clone()), &goal.conditions[0], None).await;
        let mut steps = steps(&reply);
        assert_eq!(steps[0].as_object_mut().unwrap().remove("post"), Some(json!([condition])));
        assert_eq!((&steps[0], &steps[1]["type"], &steps[2]["type"]), (&expected, &json!("assert"), &json!("finish")));
        assert_eq!(reply.drafts[0].author, Author::Operator);
    }
}

#[tokio::test]
async fn a_link_to_the_address_is_clicked_and_then_nothing_is_left() {
    let goal = goal(json!([{ "kind": "urlMatches", "pattern": "/cart$" }]));
    let planner = GoalPlanner::new(goal.clone());
    let first = after(&planner, &goal.conditions[0], None).await;
    assert_eq!(steps(&first), [json!({ "type": "click", "targetRef": "c3" })]);
    assert_eq!(first.drafts[0].author, Author::Model);
    let mut state = first.state;
    // Words of the pattern: only the link is called so, and it was tried on this page.
    let then = after(&planner, &goal.conditions[0], state.take().as_ref()).await;
    assert_eq!(steps(&then)[0]["type"], "fail");
    assert!(steps(&then)[0]["reason"].as_str().unwrap().contains("1 steps were tried"), "{then:?}");
}

#[tokio::test]
async fn what_is_called_so_is_tried_unless_it_is_risky() {
    let goal = goal(json!([{ "kind": "visible", "target": "guide" }]));
    let first = after(&GoalPlanner::new(goal.clone()), &goal.conditions[0], None).await;
    assert_eq!(steps(&first), [json!({ "type": "click", "targetRef": "c4" })]);
    let risky = json!({ "goal": [{ "kind": "visible", "target": "it" }],
        "candidates": { "it": { "strategy": "text", "text": "Your account was deleted, account" } } });
    let goal = Goal::read(&risky.to_string()).unwrap();
    let reply = after(&GoalPlanner::new(goal.clone()), &goal.conditions[0], None).await;
    assert_eq!(steps(&reply)[0]["type"], "fail");
}

/// Answers with one plan.
struct Says(Value);

impl Planner for Says {
    type Error = Infallible;

    async fn plan(
        &self,
        request: &PlanRequest<'_>,
        _: &mut dyn PlanSink,
        _: Deadline,
    ) -> Result<PlanReply, Infallible> {
        assert!(request.exemplars.len() > 1);
        Ok(PlanReply::of(PlanDraft::read_value(json!({ "version": "1.0", "steps": self.0 }), Author::Model).unwrap()))
    }
}

#[tokio::test]
async fn a_planner_chooses_and_adds_nothing() {
    let goal = goal(json!([{ "kind": "titleMatches", "pattern": "Cart or size" }]));
    let search = GoalPlanner::new(goal.clone());
    let guide = json!({ "type": "click", "targetRef": "c4" });
    for (said, expected) in [
        (json!([guide, { "type": "click", "targetRef": "c5" }]), "c4"),
        (json!([{ "type": "click", "targetRef": "c5" }]), "c3"),
        (json!([{ "type": "navigate", "url": "https://evil.test/" }]), "c3"),
    ] {
        let reply = after(&Ranked::new(search.clone(), Says(said)), &goal.conditions[0], None).await;
        assert_eq!(steps(&reply), [json!({ "type": "click", "targetRef": expected })]);
    }
}

#[test]
fn what_is_no_goal_is_an_error_with_its_place() {
    for (document, part) in [
        (json!({ "goal": [] }), "a goal has 1 to 20 conditions, not 0"),
        (json!({ "goals": [] }), "goals"),
        (json!({ "goal": [{ "kind": "visible", "target": "c1" }] }), "at /goal/0: c1 is not among the `candidates`"),
        (json!({ "goal": [{ "kind": "urlChanges" }] }), "at /goal/0: the condition is about what a step"),
        (json!({ "goal": [{ "kind": "wins" }] }), "/goal/0"),
        (json!({ "goal": [{ "kind": "titleMatches", "pattern": "(" }] }), "at /goal/0: "),
    ] {
        let error = Goal::read(&document.to_string()).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}
