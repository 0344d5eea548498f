//! A whole run with nothing but the language: every part is a fake, and the loop is thirty lines.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::{CredentialRef, RunId};
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::outcome::{Cause, StepFailure, StepOutcome, StepSuccess};
use cuebook_grammar::plan::{Author, BoundStep, Plan, PlanDraft};
use cuebook_grammar::policy::{Consent, Policy};
use cuebook_grammar::record::{
    CdpCounts, Execution, RECORD_VERSION, RunEnd, RunHeader, StepIntent, StepOrigin, StepRecord, StepResult,
};
use cuebook_grammar::report::RunResult;
use cuebook_grammar::seam::{
    ActionHandler, ArtifactKind, ArtifactSink, Confirm, ConfirmReply, ConfirmRequest, DenyAll, ExchangeTimes, Executor,
    Finding, FixtureSource, HttpRequest, HttpResponse, IgnoreSteps, PageModeler, PlanMemory, PlanRequest, Planner,
    Query, Redactor, Repair, RepairBudget, RepairCase, RepairPolicy, SecretRefusal, SecretScope, SecretSource, StepLog,
    StepTicket, TrafficSink,
};
use outside_agent::{
    FakeArtifacts, FakeConfirm, FakeError, FakeExecutor, FakeHandler, FakeLog, FakeMemory, FakeModeler, FakePlanner,
    FakeRedactor, FakeRepair, FakeSecrets, FakeTape, LogEntry, PASSWORD, PASSWORD_REF, Place, Shop, Thing,
};
use serde_json::json;

/// Runs a future that waits for nothing.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("expected a future that waits for nothing"),
    }
}

fn soon() -> Deadline {
    Deadline::after(Instant::now(), Duration::from_secs(60))
}

fn policy() -> Policy {
    Policy::default().starting_at(Place::Login.url()).unwrap()
}

struct Agent {
    shop: Shop,
    modeler: FakeModeler,
    executor: FakeExecutor,
    secrets: FakeSecrets,
}

impl Agent {
    fn new() -> Self {
        let (shop, secrets) = (Shop::new(), FakeSecrets::of_the_shop());
        Self { modeler: FakeModeler::of(&shop), executor: FakeExecutor::on(&shop, secrets.clone()), shop, secrets }
    }

    fn look(&self) -> Observation {
        self.modeler.look(Scope::View)
    }

    fn plan(&self, steps: serde_json::Value) -> Plan {
        let draft = json!({ "version": "1.0", "steps": steps, "candidates": {
            "user": { "strategy": "byTestId", "testId": "user" },
            "password": { "strategy": "byTestId", "testId": "password" },
            "login": { "strategy": "byRole", "role": "button", "name": "Log in" },
            "field": { "strategy": "byRole", "role": "textbox" },
            "nothing": { "strategy": "byTestId", "testId": "nothing" }
        } });
        PlanDraft::read_value(draft, Author::Operator).unwrap().check(&self.look(), &policy()).unwrap()
    }

    fn run(&mut self, plan: &Plan, index: usize) -> StepOutcome {
        let ground = self.look();
        let step = plan.bind(index, &ground).unwrap();
        now(self.executor.run_step(&Shop::page(), &step, &ground, &mut DenyAll, soon())).unwrap()
    }

    /// Runs one step that an operator wrote.
    fn exec(&mut self, step: serde_json::Value) -> StepOutcome {
        let plan = self.plan(json!([step]));
        self.run(&plan, 0)
    }
}

fn success(outcome: StepOutcome) -> StepSuccess {
    match outcome {
        StepOutcome::Succeeded(success) => success,
        StepOutcome::Failed(failure) => panic!("expected success, saw {failure:?}"),
    }
}

fn failure(outcome: StepOutcome) -> StepFailure {
    match outcome {
        StepOutcome::Failed(failure) => *failure,
        StepOutcome::Succeeded(success) => panic!("expected a failure, saw {success:?}"),
    }
}

fn intent(step: &BoundStep, step_index: u32) -> StepIntent {
    StepIntent {
        schema_version: RECORD_VERSION.into(),
        run_id: RunId::new("r1"),
        step_index,
        plan_index: None,
        origin: StepOrigin::Plan,
        attempt: 1,
        planning: None,
        plan_id: None,
        action: step.step().clone(),
        ts_ms: 0,
    }
}

fn record(step: &BoundStep, step_index: u32, success: StepSuccess) -> StepRecord {
    StepRecord {
        schema_version: RECORD_VERSION.into(),
        run_id: RunId::new("r1"),
        step_index,
        plan_index: None,
        origin: StepOrigin::Plan,
        attempt: 1,
        planning: None,
        plan_id: None,
        action: step.step().clone(),
        candidates: Default::default(),
        observation: None,
        url: String::new(),
        risk: step.risk(),
        effect_class: step.effect(),
        pre_check: success.evidence.pre,
        pre_facts: success.evidence.pre_facts,
        execution: Execution { ts_ms: 0, duration_ms: 0, timings: Default::default(), cdp: CdpCounts::default() },
        post_check: success.evidence.post,
        post_facts: success.evidence.post_facts,
        effects: success.evidence.effects,
        target_box: success.evidence.target_box,
        selectors: success.evidence.selectors,
        artifacts: Vec::new(),
        result: StepResult::Ok,
        failure: None,
        data: success.data,
        input_sent: success.evidence.input_sent,
        no_observed_effect: success.evidence.no_observed_effect,
    }
}

fn header() -> RunHeader {
    RunHeader {
        schema_version: RECORD_VERSION.into(),
        run_id: RunId::new("r1"),
        ts_ms: 0,
        plan: None,
        session: None,
        case: None,
        cuebook: "0".into(),
        browser: None,
        browser_path: None,
        command: "run".into(),
        task: Some("buy a pencil".into()),
        url: None,
    }
}

#[test]
fn an_agent_of_fakes_buys_a_pencil_and_asks_before_it_pays() {
    let mut agent = Agent::new();
    let planner = FakePlanner::default();
    let mut confirm = FakeConfirm::answering([ConfirmReply::Yes(None)]);
    let mut log = FakeLog::default();
    let policy = policy();
    now(log.open(&header())).unwrap();
    let mut index = 0;
    let mut answer = None;
    while answer.is_none() {
        let ground = now(agent.modeler.observe(&Shop::page(), Scope::View, soon())).unwrap();
        let request = PlanRequest::new("buy a pencil", &ground, &policy);
        let reply = now(planner.plan(&request, &mut IgnoreSteps, soon())).unwrap();
        let plan = reply.drafts[0].check(&ground, &policy).unwrap();
        for position in 0..plan.steps().len() {
            let step = plan.bind(position, &ground).unwrap();
            if let cuebook_grammar::action::Action::Finish(finish) = step.action() {
                answer = finish.result.clone();
                break;
            }
            if let Consent::Ask { grant } = step.consent() {
                let request = ConfirmRequest { question: "Buy?".into(), grant: Some(grant.clone()) };
                assert_eq!(now(confirm.confirm(&request, soon())), ConfirmReply::Yes(None));
            }
            let ticket = now(log.begin(&intent(&step, index))).unwrap();
            let outcome = now(agent.executor.run_step(&Shop::page(), &step, &ground, &mut DenyAll, soon())).unwrap();
            now(log.commit(ticket, &record(&step, index, success(outcome)))).unwrap();
            index += 1;
        }
    }
    now(log.close(&RunEnd {
        run_id: RunId::new("r1"),
        ts_ms: 0,
        result: RunResult::Ok,
        conclusion: None,
        late: Default::default(),
    }))
    .unwrap();

    assert_eq!(answer.unwrap().as_str(), "Thank you");
    assert_eq!((agent.shop.place(), agent.shop.orders()), (Place::Confirmation, 1));
    assert_eq!((agent.shop.clicks(Thing::LogIn), agent.shop.clicks(Thing::Buy)), (1, 1));
    assert_eq!(agent.secrets.given(), [CredentialRef::new(PASSWORD_REF)]);
    assert_eq!(planner.requests().len(), 3);
    let grants: Vec<_> = confirm.asked().into_iter().map(|request| request.grant).collect();
    assert_eq!(grants, [Some("money@https://shop.test".to_owned())]);

    let steps = log.steps();
    assert_eq!(steps.iter().map(|step| step.step_index).collect::<Vec<_>>(), [0, 1, 2, 3]);
    for record in &steps {
        let facts = record.post_facts.as_ref().unwrap();
        for judged in &record.post_check {
            assert_eq!(judged.condition.evaluate(facts), judged.verdict);
        }
    }
    assert!(matches!(log.entries().last(), Some(LogEntry::End(_))));
}

#[test]
fn ids_stay_while_a_page_stays_and_are_never_reused() {
    let agent = Agent::new();
    let ids = |observation: &Observation| observation.candidates.iter().map(|c| c.id).collect::<Vec<_>>();
    let (first, again) = (agent.look(), agent.look());
    assert_eq!(ids(&first), ids(&again));
    assert!(again.id > first.id);
    agent.shop.reload();
    let reloaded = agent.look();
    assert!(ids(&reloaded).iter().all(|id| first.candidate(*id).is_none()));
    assert_eq!(reloaded.rebind(&first.candidates[0].fingerprint), Ok(&reloaded.candidates[0]));
}

#[test]
fn a_stale_id_never_hits_another_thing() {
    let mut agent = Agent::new();
    let ground = agent.look();
    let id = ground.candidates[2].id.to_string();
    let draft = json!({ "version": "1.0", "steps": [{ "type": "click", "targetRef": id }] });
    let plan = PlanDraft::read_value(draft, Author::Model).unwrap().check(&ground, &policy()).unwrap();
    let step = plan.bind(0, &ground).unwrap();
    agent.shop.reload();
    let outcome = now(agent.executor.run_step(&Shop::page(), &step, &ground, &mut DenyAll, soon())).unwrap();
    assert_eq!(failure(outcome).cause, Cause::TargetStale);
    assert_eq!(agent.shop.clicks(Thing::LogIn), 0);
}

#[test]
fn a_wrong_password_fails_the_postcondition_and_shows_an_alert() {
    let mut agent = Agent::new();
    let plan = agent.plan(json!([
        { "type": "type", "targetRef": "user", "text": "ada" },
        { "type": "type", "targetRef": "password", "text": "wrong" },
        { "type": "click", "targetRef": "login", "post": [{ "kind": "urlChanges" }] }
    ]));
    success(agent.run(&plan, 0));
    success(agent.run(&plan, 1));
    let failed = failure(agent.run(&plan, 2));
    assert_eq!(failed.cause, Cause::PostconditionFailed);
    assert!(failed.evidence.input_sent && !failed.evidence.no_observed_effect);
    assert_eq!(agent.look().sketch.live.len(), 1);
    assert_eq!(agent.shop.place(), Place::Login);
}

#[test]
fn targets_resolve_to_one_thing_or_say_why_not() {
    let mut agent = Agent::new();
    assert_eq!(failure(agent.exec(json!({ "type": "click", "targetRef": "nothing" }))).cause, Cause::TargetNotFound);
    assert_eq!(failure(agent.exec(json!({ "type": "click", "targetRef": "field" }))).cause, Cause::TargetAmbiguous);
    let typed = success(agent.exec(json!({ "type": "type", "targetRef": "user", "text": "ada" })));
    assert!(typed.evidence.post.iter().all(|judged| judged.default && judged.verdict.holds()));
    let read = success(agent.exec(json!({ "type": "extract", "query": { "kind": "text", "targetRef": "user" } })));
    assert_eq!(read.data, Some(json!("ada")));
}

#[test]
fn what_the_shop_does_not_know_is_a_failure_with_a_cause() {
    let mut agent = Agent::new();
    let away = failure(agent.exec(json!({ "type": "navigate", "url": "https://shop.test/nowhere" })));
    assert_eq!((away.cause, away.facts.status), (Cause::HttpError, Some(404)));
    assert_eq!(failure(agent.exec(json!({ "type": "goBack" }))).cause, Cause::Unsupported);
    let pre = json!([{ "kind": "valueEquals", "target": "user", "value": "ada" }]);
    let failed = failure(agent.exec(json!({ "type": "click", "targetRef": "login", "pre": pre })));
    assert_eq!((failed.cause, agent.shop.clicks(Thing::LogIn)), (Cause::PreconditionFailed, 0));
    let waited = json!({ "type": "waitFor", "condition": { "kind": "urlMatches", "pattern": "/shop$" } });
    assert_eq!(failure(agent.exec(waited)).cause, Cause::PostconditionFailed);
    let behind_login = success(agent.exec(json!({
        "type": "navigate", "url": "https://shop.test/shop", "post": [{ "kind": "urlMatches", "pattern": "/login" }]
    })));
    assert!(behind_login.evidence.effects.unwrap().new_document);
}

#[test]
fn nothing_fires_after_the_deadline_or_on_another_tab() {
    let mut agent = Agent::new();
    let ground = agent.look();
    let plan = agent.plan(json!([{ "type": "click", "targetRef": "login" }]));
    let step = plan.bind(0, &ground).unwrap();
    let passed = Deadline::after(Instant::now(), Duration::ZERO);
    let outcome = now(agent.executor.run_step(&Shop::page(), &step, &ground, &mut DenyAll, passed)).unwrap();
    assert_eq!(failure(outcome).cause, Cause::DeadlineExceeded);
    let other = cuebook_grammar::id::PageId::new("other");
    let broken = now(agent.executor.run_step(&other, &step, &ground, &mut DenyAll, soon()));
    assert!(matches!(broken, Err(FakeError::OtherPage { .. })));
    assert!(now(agent.modeler.observe(&other, Scope::View, soon())).is_err());
    assert_eq!(agent.shop.clicks(Thing::LogIn), 0);
}

#[test]
fn a_secret_is_given_to_its_own_origin_and_kind_of_field_only() {
    let mut agent = Agent::new();
    let into_user = json!({ "type": "type", "targetRef": "user", "credentialRef": PASSWORD_REF });
    let failed = failure(agent.exec(into_user));
    assert_eq!((failed.cause, failed.facts.rule.unwrap().as_str()), (Cause::PolicyBlocked, "secretScope"));
    assert!(agent.secrets.given().is_empty());

    let typed = success(agent.exec(json!({ "type": "type", "targetRef": "password", "credentialRef": PASSWORD_REF })));
    assert_eq!(typed.evidence.sensitive.iter().map(|target| target.as_str()).collect::<Vec<_>>(), ["password"]);
    let seen = serde_json::to_string(&agent.look()).unwrap();
    assert!(!seen.contains(PASSWORD), "no observation holds the text of a password field");

    let scope =
        SecretScope { origin: "https://evil.test".into(), page_origin: Shop::origin().into(), is_password_field: true };
    let refused = now(agent.secrets.resolve(&CredentialRef::new(PASSWORD_REF), &scope, soon())).unwrap_err();
    assert!(matches!(refused, SecretRefusal::OutOfScope { .. }));
    let unknown = now(agent.secrets.resolve(&CredentialRef::new("other"), &scope, soon())).unwrap_err();
    assert!(matches!(unknown, SecretRefusal::Unknown(_)));
}

#[test]
fn reading_questions_are_answered_or_refused() {
    let mut agent = Agent::new();
    let mut ask = |query: &Query| now(agent.modeler.explore(&Shop::page(), query, soon())).unwrap();
    let search = serde_json::from_value(json!({ "query": "Log in" })).unwrap();
    assert_eq!(ask(&Query::Search(search)), Finding::Data(json!({ "matches": 2 })));
    assert!(
        matches!(ask(&Query::Snapshot(Scope::View)), Finding::Data(text) if text.as_str().unwrap().contains("Welcome"))
    );
    let find = serde_json::from_value(json!({ "selector": "button" })).unwrap();
    assert!(matches!(ask(&Query::Find(find)), Finding::Refused(_)));
}

#[test]
fn repair_looks_again_then_replans_then_gives_up() {
    let mut agent = Agent::new();
    let ground = agent.look();
    let plan = agent.plan(json!([{ "type": "click", "targetRef": "nothing" }]));
    let step = plan.bind(0, &ground).unwrap();
    let failed = failure(agent.run(&plan, 0));
    let mut policy = FakeRepair::default();
    let mut next = |attempt, can_replan, left| {
        let budget = RepairBudget { step_attempts_left: left, run_repairs_left: left, can_replan };
        policy.next(&RepairCase { step: &step, failure: &failed, attempt }, &ground, &budget)
    };
    assert_eq!(next(0, true, 3), Repair::Reobserve(Scope::View));
    assert_eq!(next(1, true, 2), Repair::Replan);
    assert_eq!(next(1, false, 1), Repair::Abandon);
    assert_eq!(next(0, true, 0), Repair::Abandon);
    assert_eq!(policy.causes(), [Cause::TargetNotFound; 4]);
}

#[test]
fn the_log_keeps_its_order() {
    let mut agent = Agent::new();
    let plan = agent.plan(json!([{ "type": "click", "targetRef": "login" }]));
    let step = plan.bind(0, &agent.look()).unwrap();
    let done = success(agent.run(&plan, 0));
    let mut log = FakeLog::default();
    assert!(now(log.begin(&intent(&step, 0))).is_err());
    now(log.open(&header())).unwrap();
    assert!(now(log.open(&header())).is_err());
    let forged = StepTicket { step_index: 0, attempt: 1 };
    assert!(now(log.commit(forged, &record(&step, 0, done.clone()))).is_err());
    let ticket = now(log.begin(&intent(&step, 0))).unwrap();
    now(log.commit(ticket, &record(&step, 0, done))).unwrap();
    now(log.close(&RunEnd {
        run_id: RunId::new("r1"),
        ts_ms: 0,
        result: RunResult::Ok,
        conclusion: None,
        late: Default::default(),
    }))
    .unwrap();
    assert!(now(log.begin(&intent(&step, 1))).is_err());
    assert_eq!(log.entries().len(), 4);
}

#[test]
fn the_rest_keeps_and_answers_in_memory() {
    let files = FakeArtifacts::default();
    let put = |kind| now(files.store(kind, "image/png", b"pixels".to_vec())).unwrap();
    let (before, after) = (put(ArtifactKind::ScreenshotBefore), put(ArtifactKind::ScreenshotAfter));
    assert_eq!((files.count(), files.read(&after)), (1, Some(b"pixels".to_vec())));
    assert_eq!((before.sha256.len(), before.sha256 == after.sha256), (64, true));

    let tape = FakeTape::default();
    let request = HttpRequest {
        method: "GET".into(),
        url: "https://shop.test/a".into(),
        headers: Vec::new(),
        body: Vec::new(),
        resource_type: "Document".into(),
    };
    let reply = Ok(HttpResponse { status: 200, headers: Vec::new(), body: Some(b"hello".to_vec()) });
    assert_eq!(now(tape.reply(&request)), Ok(None));
    let times = ExchangeTimes { requested_ms: None, responded_ms: 0, ended_ms: 0 };
    now(tape.record(request.clone(), reply.clone(), times)).unwrap();
    assert_eq!(now(tape.reply(&request)), Ok(Some(reply)));
    assert_eq!(now(tape.reply(&HttpRequest { method: "POST".into(), ..request.clone() })), Ok(None));
    assert_eq!(tape.missed().len(), 2);

    let agent = Agent::new();
    let memory = FakeMemory::default();
    memory.remember(&Observation::blank(Shop::page(), "https://shop.test/"), "other", Vec::new());
    memory.remember(&agent.look(), "log in", Vec::new());
    let nearest = now(memory.nearest(&agent.look(), 1)).unwrap();
    assert_eq!(
        nearest.iter().map(|found| (found.task.as_str(), found.likeness)).collect::<Vec<_>>(),
        [("log in", 1.0)]
    );

    let redactor = FakeRedactor::default();
    assert_eq!(redactor.redact("a secret"), "a secret");
    redactor.learn("secret");
    redactor.learn("a");
    assert_eq!(redactor.redact("a secret"), "a [redacted]");

    let mut absent = FakeConfirm::default();
    let request = ConfirmRequest { question: "Really?".into(), grant: None };
    assert_eq!(now(absent.confirm(&request, soon())), ConfirmReply::Unanswered);
    assert_eq!(absent.asked(), [request]);
}

#[test]
fn a_registered_action_runs_outside_the_page() {
    let agent = Agent::new();
    let mut handler = FakeHandler::default();
    let policy = handler.actions().into_iter().fold(policy(), Policy::registering);
    let ground = agent.look();
    let bind = |step: serde_json::Value| {
        let draft = json!({ "version": "1.0", "steps": [step] });
        let plan = PlanDraft::read_value(draft, Author::Operator).unwrap().check(&ground, &policy).unwrap();
        plan.bind(0, &ground).unwrap()
    };
    let call = bind(json!({ "type": "call", "name": "notify", "args": { "text": "half way" } }));
    success(now(handler.handle(&call, soon())).unwrap());
    assert_eq!(handler.calls()[0]["text"], "half way");
    let other = bind(json!({ "type": "navigate", "url": "https://shop.test/shop" }));
    assert_eq!(failure(now(handler.handle(&other, soon())).unwrap()).cause, Cause::Unsupported);
}
