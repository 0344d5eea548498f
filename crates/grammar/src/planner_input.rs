//! Input of a planner, as one JSON document: the published form of [`PlanRequest`], for planners in any language.
//!
//! The names of members are those of the planner specification; values that have a form of their own, such as
//! candidates and steps, keep it.
//!
//! Invariants:
//! - It states what a model's prompt states, and no more: no secret, only the names of secrets; nothing that a
//!   redactor or the page modeler took out.
//! - The texts of a page are data. They are in `context.page`, `context.visual`, `history`, `failure` and `memory.plans`.

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::action::{Action, ActionKind};
use crate::calendar;
use crate::candidate::{Candidate, ControlKind};
use crate::deadline::millis;
use crate::effect::EffectClass;
use crate::id::{CandidateId, CredentialRef};
use crate::observation::Observation;
use crate::outcome::{Judged, StepFailure};
use crate::plan::Violation;
use crate::policy::Policy;
use crate::profile::Profile;
use crate::record::{CaseRun, Failure};
use crate::render::{self, Overflow, Standing, TextOptions};
use crate::risk::RiskClass;
use crate::role::Role;
use crate::seam::{Exemplar, HistoryEntry, PlanRequest, Stuck};
use crate::step::{RiskLevel, Step};
use crate::vision::VisionFeature;

/// The version of the document. The major version is raised when an older reader would misread it, the minor version
/// when a member is added.
pub const PLANNER_INPUT_VERSION: &str = "1.4";

fn readable<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    crate::wire::readable_version(deserializer, PLANNER_INPUT_VERSION)
}

/// The input of a planner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannerInput {
    /// The version of this document: `1.4`. A later minor version may have further members.
    #[serde(deserialize_with = "readable")]
    #[schemars(regex(pattern = r"^1\.[0-9]+$"))]
    pub schema_version: String,
    /// The task, in words.
    pub goal: String,
    /// The test case that the task belongs to, and by which the result will be judged. Since 1.3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_case: Option<TestCase>,
    /// The page that is open before the planner.
    pub context: PlannerContext,
    /// How much happens without asking.
    #[serde(serialize_with = "profile_name")]
    #[schemars(schema_with = "profile_schema")]
    pub capability_profile: Profile,
    /// The tools that a step may name.
    pub tool_catalog: Vec<Tool>,
    /// Steps that ran so far, oldest first.
    pub history: Vec<PastStep>,
    /// The failure that the plan is to repair; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// The conditions of the failed step that did not hold, judged again on this page. Since 1.1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_now: Vec<Judged>,
    /// Steps that lead back to where the failed step began, where nothing was sent to a server. Since 1.3.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways_back: Vec<Step>,
    /// Memory of the planner: its state, its note, and known plans.
    pub memory: PlannerMemory,
    /// The questions that the user answered.
    pub questions: Vec<Answered>,
    /// The names of the secrets that a step may enter with `credentialRef`.
    pub secrets: Vec<CredentialRef>,
    /// The files that a step may upload, at most 50. Since 1.2.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Number of further files that it may upload, which are not listed. Since 1.2.
    #[serde(default, skip_serializing_if = "is_none")]
    pub more_files: u32,
    /// Extent to which the last plans repeat each other without changing the page: `no`, `hint`, or `warning`, after
    /// which the run ends.
    pub stuck: StuckWord,
    /// 0-based number of this request within the run; it stays the same when an invalid plan is requested again.
    pub plan: u32,
    /// The day in UTC: `2024-02-29`. Since 1.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub today: Option<String>,
    /// Remaining budgets of the run; absent if it has none. Since 1.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Budget>,
    /// Faults of the former answer to this request, if it is requested again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<Violation>,
}

const fn is_none(count: &u32) -> bool {
    *count == 0
}

/// Test case of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestCase {
    /// Its name in the suite.
    pub name: String,
    /// Its importance in one word, such as `critical`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
    /// Conditions that must hold in the end, in words.
    pub expect: Vec<String>,
}

impl TestCase {
    fn of(case: &CaseRun) -> Self {
        Self { name: case.name.clone(), priority: case.priority.clone(), expect: case.expect.clone() }
    }
}

/// Context of a planner: the page that is open, and its picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannerContext {
    /// The page that is open.
    pub page: PlannerPage,
    /// The picture of the page and its features, where the user allowed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visual: Option<Visual>,
}

/// A page as planners get it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannerPage {
    /// URL of the page.
    pub url: String,
    /// Its origin, as the browser serialises it.
    pub origin: String,
    /// Title of the page.
    pub title: String,
    /// The page as `cuebook observe` prints it.
    pub text: String,
    /// Candidates of the page.
    pub interactables: Vec<Interactable>,
}

/// A candidate that steps may name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interactable {
    /// Its id, which steps name.
    pub id: CandidateId,
    /// Its ARIA role, explicit or implied by the element.
    pub role: Role,
    /// The kind of control.
    pub r#type: ControlKind,
    /// Its accessible name or a substitute, at most 200 characters.
    pub label: String,
    /// How it is found again, in words: `role=button name="Log in"`.
    #[serde(rename = "locatorHint", default, skip_serializing_if = "Option::is_none")]
    pub locator_hint: Option<String>,
    /// All that was observed of it: states, value, options, box, and more.
    pub candidate: Candidate,
}

/// A picture of a page, and what a vision model found on it. At least one of the two is there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Visual {
    /// The bytes, in Base64; absent if the planner gets the features alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub screenshot: Option<String>,
    /// `image/png` or another type; absent without a picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Things that a vision model found on the picture, at most 60. Since 1.4.
    #[serde(rename = "visionFeatures", default, skip_serializing_if = "Vec::is_empty")]
    pub vision_features: Vec<VisionFeature>,
}

/// A tool that a step may name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// The verb, or the name of a registered action.
    pub name: String,
    /// Purpose of the tool.
    pub description: String,
    /// JSON Schema of its arguments.
    pub schema: Value,
    /// The least that it risks; its target may raise that.
    pub risk_level: RiskLevel,
    /// The least effect that it has.
    pub effect: EffectClass,
}

/// A step of the past.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PastStep {
    /// The step that ran, redacted.
    pub step: Step,
    /// Target of the step, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The cause and message of its failure; absent if it succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// A remark on its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    /// Data that the step read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// `true` if the page was another one afterwards.
    pub changed_page: bool,
}

/// Memory of a planner: its state, its note, and known plans.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannerMemory {
    /// State that the planner itself asked to have returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    /// Note that the planner wrote after `Remember:` in its reasoning, at most 300 characters. Since 1.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Plans that worked on pages like this. They name the candidates of this page.
    pub plans: Vec<KnownPlan>,
}

/// A plan that worked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KnownPlan {
    /// Task of the plan, in words.
    pub task: String,
    /// Similarity of its page to this one, from 0 to 1.
    pub likeness: f64,
    /// Steps of the plan.
    pub steps: Vec<Step>,
}

/// Remaining budgets of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Budget {
    /// Plans left, including this one.
    pub plans: u32,
    /// Time left, in milliseconds.
    pub time_ms: u64,
}

/// A question to the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answered {
    /// Question to the user.
    pub question: String,
    /// Answer of the user.
    pub answer: String,
}

/// [`Stuck`] on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StuckWord {
    /// No repetition, or hardly any.
    No,
    /// Often enough to mention it.
    Hint,
    /// The run ends soon unless the planner does something else.
    Warning,
}

impl PlannerInput {
    /// The document of a request, without pictures: whoever sends it adds them to [`PlannerContext::visual`] where the
    /// user allowed them. Costs a copy of the observation and about 45 KB of tools.
    ///
    /// ```
    /// use cuebook_grammar::{id::PageId, observation::Observation, planner_input::PlannerInput, policy::Policy};
    /// use cuebook_grammar::seam::PlanRequest;
    ///
    /// let page = Observation::blank(PageId::new("tab"), "https://shop.test/");
    /// let input = PlannerInput::of(&PlanRequest::new("Buy a pencil", &page, &Policy::default()));
    /// assert_eq!(input.context.page.url, "https://shop.test/");
    /// assert!(input.tool_catalog.iter().any(|tool| tool.name == "click"));
    /// ```
    #[must_use]
    pub fn of(request: &PlanRequest<'_>) -> Self {
        Self {
            schema_version: PLANNER_INPUT_VERSION.to_owned(),
            goal: request.task.to_owned(),
            test_case: request.case.map(TestCase::of),
            context: PlannerContext {
                page: PlannerPage::of(request.observation),
                visual: (!request.features.is_empty())
                    .then(|| Visual { vision_features: request.features.to_vec(), ..Visual::default() }),
            },
            capability_profile: request.policy.profile(),
            tool_catalog: tools(request.policy),
            history: request.history.iter().map(PastStep::of).collect(),
            failure: request.failure.map(|failure| Failure {
                stage: failure.stage,
                cause: failure.cause,
                message: failure.message.clone(),
                facts: failure.facts.clone(),
            }),
            failed_now: request.failed_now.to_vec(),
            ways_back: request.failure.map(StepFailure::ways_back).unwrap_or_default(),
            memory: PlannerMemory {
                state: request.state.cloned(),
                note: request.memory.map(str::to_owned),
                plans: request.exemplars.iter().map(KnownPlan::of).collect(),
            },
            questions: request.history.iter().filter_map(Answered::of).collect(),
            secrets: Vec::new(),
            files: Vec::new(),
            more_files: 0,
            stuck: match request.stuck {
                Stuck::No => StuckWord::No,
                Stuck::Hint => StuckWord::Hint,
                Stuck::Warning | Stuck::Stop => StuckWord::Warning,
            },
            plan: request.plan,
            today: request.now_ms.map(calendar::date),
            left: request.left.map(|left| Budget { plans: left.plans, time_ms: millis(left.time) }),
            violations: Vec::new(),
        }
    }
}

impl PlannerPage {
    fn of(observation: &Observation) -> Self {
        let options = TextOptions { overflow: Overflow::Brief, standing: Standing::OwnLine, ..TextOptions::default() };
        let origin = url::Url::parse(&observation.url).map(|url| url.origin().ascii_serialization());
        Self {
            url: observation.url.clone(),
            origin: origin.unwrap_or_default(),
            title: observation.title.clone(),
            text: render::text(observation, &options),
            interactables: observation.candidates.iter().map(Interactable::of).collect(),
        }
    }
}

impl Interactable {
    fn of(candidate: &Candidate) -> Self {
        Self {
            id: candidate.id,
            role: candidate.role,
            r#type: candidate.control,
            label: candidate.name.clone(),
            locator_hint: candidate.locators.first().map(ToString::to_string),
            candidate: candidate.clone(),
        }
    }
}

impl PastStep {
    fn of(entry: &HistoryEntry) -> Self {
        let remarks = [entry.remark.as_deref(), entry.refused.as_deref()];
        let mut remarks: Vec<&str> = remarks.into_iter().flatten().collect();
        if entry.no_effect {
            remarks.push("no effect seen");
        }
        Self {
            step: entry.step.clone(),
            target: entry.target.clone(),
            failure: entry.failure.clone(),
            remark: (!remarks.is_empty()).then(|| remarks.join(", ")),
            data: entry.data.clone(),
            changed_page: entry.changed_page,
        }
    }
}

impl KnownPlan {
    fn of(exemplar: &Exemplar) -> Self {
        Self { task: exemplar.task.clone(), likeness: exemplar.likeness, steps: exemplar.steps.clone() }
    }
}

impl Answered {
    fn of(entry: &HistoryEntry) -> Option<Self> {
        let Action::AskUser(ask) = &entry.step.action else { return None };
        let answer = entry.data.as_ref()?.as_str()?.to_owned();
        Some(Self { question: ask.question.to_string(), answer })
    }
}

/// The tools that a plan may name under a policy: verbs, then registered actions.
fn tools(policy: &Policy) -> Vec<Tool> {
    let offered = VERBS.iter().filter(|(kind, _)| policy.offers(*kind)).map(|(_, tool)| tool.clone());
    let registered = policy.registered_actions().iter().map(|action| Tool {
        name: action.name.to_string(),
        description: action.description.to_string(),
        schema: action.schema.clone(),
        risk_level: level(action.effect),
        effect: action.effect,
    });
    let registered = registered.filter(|_| policy.offers(ActionKind::Call));
    offered.chain(registered).collect()
}

fn level(effect: EffectClass) -> RiskLevel {
    match RiskClass::from(effect) {
        RiskClass::Read => RiskLevel::Low,
        RiskClass::Write => RiskLevel::Medium,
        _ => RiskLevel::High,
    }
}

/// Every verb but `call`: registered actions are tools of their own names.
static VERBS: LazyLock<Vec<(ActionKind, Tool)>> = LazyLock::new(|| {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let schemas = Action::variant_schemas(&mut generator);
    let definitions = generator.take_definitions(true);
    let tools = ActionKind::ALL.iter().zip(schemas).map(|(kind, schema)| {
        let meta = kind.meta();
        let tool = Tool {
            name: meta.name.to_owned(),
            description: kind.purpose().to_owned(),
            schema: arguments(schema, &definitions),
            risk_level: level(meta.effect),
            effect: meta.effect,
        };
        (*kind, tool)
    });
    tools.filter(|(kind, _)| *kind != ActionKind::Call).collect()
});

/// The schema of an action without its tag, which is the name of the tool, with the definitions that it needs.
fn arguments(schema: Schema, definitions: &Map<String, Value>) -> Value {
    let mut schema = schema.to_value();
    let mut text = schema.to_string();
    let mut needed = Map::new();
    let is_needed = |text: &str, name: &str| text.contains(&format!("\"#/$defs/{name}\""));
    while let Some((name, definition)) =
        definitions.iter().find(|(name, _)| !needed.contains_key(*name) && is_needed(&text, name))
    {
        let definition = without_descriptions(definition.clone());
        text.push_str(&definition.to_string());
        needed.insert(name.clone(), definition);
    }
    if let Value::Object(object) = &mut schema {
        object.remove("description");
        if let Some(Value::Object(properties)) = object.get_mut("properties") {
            properties.remove("type");
        }
        if let Some(Value::Array(required)) = object.get_mut("required") {
            required.retain(|name| name != "type");
        }
        if !needed.is_empty() {
            object.insert("$defs".to_owned(), Value::Object(needed));
        }
    }
    schema
}

/// Half of the bytes of the conditions are words about them.
fn without_descriptions(schema: Value) -> Value {
    match schema {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(name, value)| name != "description" || !value.is_string());
            kept.map(|(name, value)| (name, without_descriptions(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(without_descriptions).collect(),
        value => value,
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn profile_name<S: Serializer>(profile: &Profile, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match profile {
        Profile::SemiAuto => "semi_auto",
        profile => profile.as_str(),
    })
}

fn profile_schema(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({ "enum": ["assisted", "semi_auto", "auto", "unleashed"] })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::action::{AskUser, Click};
    use crate::condition::Condition;
    use crate::id::RunId;
    use crate::outcome::{Cause, Stage};
    use crate::policy::{PolicyFile, RegisteredAction};
    use crate::record::{CasePart, CaseRun};
    use crate::sample;
    use crate::seam::RemainingBudget;
    use crate::verdict::Verdict;
    use crate::vision;
    use crate::wire::{self, ShortText};

    /// A request with something in every member.
    fn document() -> PlannerInput {
        let page = sample::page("textbox \"User\" value=ann\ntextbox \"Password\" password\nbutton \"Log in\"");
        let schema = json!({ "type": "object", "properties": { "minutes": { "type": "integer", "maximum": 60 } } });
        let remind = RegisteredAction::new("remind", "Reminds the user", EffectClass::Reversible, schema);
        let policy = Policy::new(Profile::SemiAuto).starting_at(&page.url).unwrap().registering(remind);
        let question = Step::from(Action::AskUser(AskUser { question: ShortText::cut("Which account?") }));
        let click = Step::from(Action::from(Click::on(CandidateId(3))));
        let history = [
            HistoryEntry { data: Some(json!("the blue one")), ..HistoryEntry::of(question) },
            HistoryEntry {
                no_effect: true,
                refused: Some("POST /login answered 422".into()),
                ..HistoryEntry::of(click)
            },
        ];
        let failure = StepFailure::new(Stage::Postcondition, Cause::PostconditionFailed, "expected a new URL");
        let failed_now = [Judged {
            condition: Condition::url_changes_to("/home"),
            verdict: Verdict::Fails,
            vacuous: false,
            default: false,
            latency_ms: None,
        }];
        let exemplars = [Exemplar { task: "Log in".into(), steps: Vec::new(), likeness: 0.9 }];
        let case = CaseRun {
            id: RunId::new("r1"),
            suite: "shop".to_owned(),
            name: "Log in".to_owned(),
            attempt: 1,
            part: CasePart::Steps,
            priority: Some("critical".to_owned()),
            expect: vec!["the URL matches \"/home\"".to_owned()],
        };
        let found = json!({ "features": [{ "label": "Magnifier", "kind": "icon", "box": [8, 8, 24, 24] }] });
        let features = vision::features(&found, (800.0, 600.0), &page);
        let request = PlanRequest {
            history: &history,
            features: &features,
            failure: Some(&failure),
            exemplars: &exemplars,
            stuck: Stuck::Stop,
            memory: Some("the blue one costs 35.90"),
            failed_now: &failed_now,
            now_ms: Some(1_709_164_800_000),
            left: Some(RemainingBudget { plans: 7, time: Duration::from_secs(90) }),
            case: Some(&case),
            ..PlanRequest::new("Log in as ann", &page, &policy)
        };
        let violation = Violation::new(crate::plan::ViolationCode::UnknownTarget, "/steps/0/targetRef", "saw c9");
        PlannerInput {
            secrets: vec![CredentialRef::new("shop")],
            files: vec!["cv.pdf".to_owned()],
            more_files: 2,
            violations: vec![violation],
            ..PlannerInput::of(&request)
        }
    }

    /// The golden document. `UPDATE_SCHEMAS=1` writes it; a change of it that is no addition raises the version.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test's switch")]
    fn the_document_is_the_golden_one_and_survives_the_wire() {
        let mut input = document();
        // Schemas of tools are judged below; here they would hide the rest.
        input.tool_catalog.retain(|tool| matches!(tool.name.as_str(), "click" | "finish" | "remind"));
        let text = format!("{}\n", serde_json::to_string_pretty(&input).unwrap());
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/planner-input-1.4.json");
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            std::fs::create_dir_all(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden")).unwrap();
            std::fs::write(path, &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), text);
        // Nodes and digests of meaning never cross the wire.
        assert_eq!(wire::read::<PlannerInput>(wire::parse(&text).unwrap()).unwrap(), input);
        let validator = jsonschema::draft202012::new(&crate::schema_of(crate::Document::PlannerInput)).unwrap();
        assert!(validator.is_valid(&serde_json::to_value(document()).unwrap()));
        let other = text.replace("\"schema_version\": \"1.4\"", "\"schema_version\": \"2.0\"");
        let error = wire::read::<PlannerInput>(wire::parse(&other).unwrap()).unwrap_err();
        assert!(error.message.contains("version `2.0` cannot be read, only 1.x"), "{error}");
    }

    #[test]
    fn the_schema_of_a_tool_takes_what_a_step_takes_and_nothing_else() {
        let input = document();
        let schema = |name: &str| {
            let tool = input.tool_catalog.iter().find(|tool| tool.name == name);
            jsonschema::draft202012::new(&tool.unwrap_or_else(|| panic!("{name}")).schema).unwrap()
        };
        assert!(schema("click").is_valid(&json!({ "targetRef": "c3" })));
        assert!(!schema("click").is_valid(&json!({ "targetRef": "c3", "type": "click" })));
        let nested = json!({ "condition": { "kind": "not", "condition": { "kind": "visible", "target": "c1" } } });
        assert!(schema("waitFor").is_valid(&nested));
        assert!(schema("goBack").is_valid(&json!({})) && schema("remind").is_valid(&json!({ "minutes": 5 })));
        let size = serde_json::to_string(&input.tool_catalog).unwrap().len();
        assert!(size < 70_000, "{size} bytes of tools");
    }

    #[test]
    fn tools_beyond_the_profile_or_the_policy_are_not_in_the_catalogue() {
        let names = |policy: &Policy| tools(policy).into_iter().map(|tool| tool.name).collect::<Vec<_>>();
        let has = |policy: &Policy, name: &str| names(policy).iter().any(|known| known == name);
        let (auto, unleashed) = (Policy::default(), Policy::new(Profile::Unleashed));
        for name in ["shell", "fetch", "readFile", "writeFile", "evaluate", "clickPoint", "resolveSelector"] {
            assert!(!has(&auto, name) && has(&unleashed, name), "{name}");
        }
        assert!(has(&auto, "click") && !has(&auto, "call"));
        let file = PolicyFile::read(r#"{ "deny": ["click"] }"#).unwrap();
        assert!(!has(&Policy::default().with_file(&file).unwrap(), "click"));
    }

    #[test]
    fn answers_of_the_user_and_remarks_reach_the_planner() {
        let input = document();
        let answered = Answered { question: "Which account?".into(), answer: "the blue one".into() };
        assert_eq!(input.questions, [answered]);
        assert_eq!(input.history[1].remark.as_deref(), Some("POST /login answered 422, no effect seen"));
        assert_eq!(input.stuck, StuckWord::Warning);
        let text = serde_json::to_string(&input).unwrap();
        assert!(text.contains(r#""capability_profile":"semi_auto""#), "{text}");
        assert!(text.contains(r#""locatorHint":"#) || input.context.page.interactables[0].locator_hint.is_none());
    }
}
