//! Jobs on the built-in site under drift, many times over.
//!
//! The oracle is the site's own state. What a run caused is compared with what its job asks for: nothing else may have
//! happened, whatever the report says, and all of it if the report says ok.

pub mod beside;
mod peer;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use cuebook_grammar::report::{RunReport, RunResult};
use cuebook_network::drift::{Drift, DriftKind, Drifter};
use serde_json::{Value, json};

use crate::Stage;

/// Time for what a page reported to arrive.
const ARRIVAL: Duration = Duration::from_secs(3);
const QUIET: Duration = Duration::from_millis(300);

/// Something to do on the site: where, the steps as [`crate::Script`] has them, and what the site has seen afterwards.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its name in results.
    pub name: &'static str,
    path: &'static str,
    steps: Value,
    /// Events that have to happen, each once.
    wanted: Vec<String>,
    /// Events that may happen on the way, such as a box that is closed.
    allowed: &'static [&'static str],
}

fn click(target: &str) -> Value {
    json!({ "type": "click", "targetRef": target })
}

fn to(target: &str, url: &str) -> Value {
    json!({ "type": "click", "targetRef": target, "post": [{ "kind": "urlChanges", "to": url }] })
}

fn set(target: &str, value: &str) -> Value {
    json!({ "type": "setValue", "targetRef": target, "value": value })
}

fn enter(target: &str, text: &str) -> Value {
    json!({ "type": "type", "targetRef": target, "text": text })
}

/// All jobs; a trial runs one of them.
#[must_use]
pub fn jobs() -> Vec<Job> {
    let job = |name, path, steps: Value, wanted: &[&str], allowed| Job {
        name,
        path,
        steps,
        wanted: wanted.iter().map(|event| (*event).to_owned()).collect(),
        allowed,
    };
    let login = || {
        vec![
            enter("textbox \"Email\"", "ann"),
            enter("textbox \"Password\"", "correct-horse"),
            to("button \"Log in\"", "/dashboard"),
        ]
    };
    let with = |mut first: Vec<Value>, more: Value| {
        first.extend(more.as_array().into_iter().flatten().cloned());
        Value::Array(first)
    };
    let select = |target: &str, option: &str| json!({ "type": "select", "targetRef": target, "option": option });
    vec![
        job(
            "log in and out",
            "/login",
            with(login(), json!([to("button \"Log out\"", "/login")])),
            &["login ann true", "logout"],
            &[],
        ),
        job(
            "order from the dashboard",
            "/login",
            with(login(), json!([select("combobox \"Size\"", "Large"), to("button \"Order\"", "/order/")])),
            &["login ann true", "order Fountain pen Large 1"],
            &[],
        ),
        job(
            "order from the shop",
            "/shop",
            json!([
                select("combobox \"Size\" [Scissors]", "Small"),
                to("button \"Add to cart\" [Scissors]", "/cart"),
                to("link \"Check out\"", "/checkout"),
                enter("textbox \"Full name\"", "Ann Lee"),
                enter("textbox \"Email\"", "ann@example.com"),
                set("textbox \"Delivery date\"", "2027-03-03"),
                enter("textbox \"Card number\"", "4242 4242 4242 4242"),
                { "type": "check", "targetRef": "checkbox \"I accept the terms\"" },
                to("button \"Place order\"", "/order/")
            ]),
            &["order Scissors Small 1"],
            &[],
        ),
        job(
            "delete an invoice",
            "/orders?confirm=dialog",
            json!([click("button \"Delete\" [INV-1005]"), to("button \"Yes, delete it\"", "done=deleted")]),
            &["deleted INV-1005"],
            &[],
        ),
        job(
            "keep an invoice",
            "/orders?confirm=dialog",
            json!([click("button \"Delete\" [INV-1003]"), click("button \"Keep it\"")]),
            &[],
            &[],
        ),
        job(
            "edit an invoice",
            "/orders",
            json!([
                to("button \"Edit\" [INV-1004]", "/edit"),
                set("textbox \"Customer\"", "Kim Park"),
                to("button \"Save changes\"", "done=saved")
            ]),
            &["edited INV-1004 Kim Park"],
            &[],
        ),
        job(
            "archive from a menu",
            "/menus",
            json!([click("button \"Actions\""), click("menuitem \"Archive\"")]),
            &["menu {\"choice\":\"Archive\"}"],
            &[],
        ),
        job(
            "continue past a newsletter",
            "/newsletter",
            json!([click("button \"Continue\"")]),
            &["hit newsletter.continue"],
            &["hit newsletter.closed"],
        ),
        job("reserve a seat", "/virtual", json!([click("button \"Reserve seat 5\"")]), &["seat {\"seat\":\"5\"}"], &[]),
        job(
            "save preferences",
            "/drift",
            json!([
                enter("textbox \"Display name\"", "Ann"),
                enter("textbox \"Company\"", "Lee"),
                to("button \"Save preferences\"", "saved=yes")
            ]),
            &[
                "drift {\"action\":\"save\",\"company\":\"Lee\",\"display-name\":\"Ann\",\"newsletter\":\"Never\",\"phone\":\"\"}",
            ],
            &[],
        ),
        job(
            "save an address",
            "/dialogs",
            json!([
                click("button \"Open address book\""),
                enter("textbox \"City\"", "Bern"),
                click("button \"Save address\"")
            ]),
            &["address {\"city\":\"Bern\"}", "hit dialog.modal-saved"],
            &["hit dialog.cookies-declined"],
        ),
    ]
}

/// How a plan names its targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// By the ids of an observation, as a model does.
    Observed,
    /// By locators, as a person who writes a plan does.
    Declared,
}

/// How a run under drift ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Done, without a repair.
    Solved,
    /// Done, with at least one.
    Repaired,
    /// Not done, and the report says so; nothing happened that the job does not ask for.
    Failed,
    /// Something else happened than the report says or the job asks for.
    SilentlyWrong,
}

/// One run under drift.
#[derive(Debug)]
pub struct Trial {
    /// 0-based number of the trial.
    pub number: u64,
    /// Name of the job that was run.
    pub job: &'static str,
    /// How it was named.
    pub naming: Naming,
    /// The kinds, with their strengths in percent.
    pub kinds: Vec<(DriftKind, u8)>,
    /// Judgement by the site's own state, not by the report alone.
    pub verdict: Verdict,
    /// Why it failed, or what was wrong.
    pub note: String,
    /// From its start to its report.
    pub took: Duration,
}

/// The events of a state, sorted.
fn events(state: &Value) -> Vec<String> {
    let list = |name: &str| state[name].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
    let mut all: Vec<String> = Vec::new();
    all.extend(list("logins").iter().map(|it| format!("login {} {}", text(&it["user"]), it["accepted"])));
    all.extend((0..state["logouts"].as_u64().unwrap_or(0)).map(|_| "logout".to_owned()));
    all.extend(list("orders").iter().map(|order| {
        let lines = order["lines"].as_array().cloned().unwrap_or_default();
        let lines = lines.iter().map(|it| format!("{} {} {}", text(&it["name"]), text(&it["size"]), it["quantity"]));
        format!("order {}", lines.collect::<Vec<_>>().join(", "))
    }));
    all.extend(list("submissions").iter().map(|it| format!("{} {}", text(&it["form"]), it["fields"])));
    all.extend(list("uploads").iter().map(|it| format!("upload {it}")));
    all.extend(list("deleted").iter().map(|it| format!("deleted {}", text(it))));
    all.extend(list("edited").iter().map(|number| {
        let invoices = list("invoices");
        let edited = invoices.iter().find(|invoice| invoice["number"] == *number);
        format!("edited {} {}", text(number), edited.map(|it| text(&it["customer"])).unwrap_or_default())
    }));
    for (name, count) in state["hits"].as_object().into_iter().flatten() {
        all.extend((0..count.as_u64().unwrap_or(0)).map(|_| format!("hit {name}")));
    }
    all.sort();
    all
}

/// Returns the events in `seen` beyond `wanted` and `allowed`, and the `wanted` events that are missing.
fn compared(seen: &[String], job: &Job) -> (Vec<String>, Vec<String>) {
    let mut missing = job.wanted.clone();
    let mut beyond = Vec::new();
    for event in seen {
        if let Some(at) = missing.iter().position(|one| one == event) {
            missing.remove(at);
        } else if !job.allowed.contains(&event.as_str()) {
            beyond.push(event.clone());
        }
    }
    (beyond, missing)
}

/// The job and the drift of the trial of this number.
fn drawn(seed: u64, number: u64) -> Result<(Job, Drift)> {
    let jobs = jobs();
    let index = usize::try_from(number).unwrap_or(0) % jobs.len();
    let job = jobs.get(index).context("no job")?.clone();
    Ok((job, Drift::mixed(seed.wrapping_mul(1_000_003).wrapping_add(number))))
}

/// Runs the trial of this number: job, naming and drift are drawn from it and the seed.
///
/// # Errors
/// If the browser or the site breaks.
pub async fn trial(stage: &Stage, seed: u64, number: u64) -> Result<Trial> {
    let (job, drift) = drawn(seed, number)?;
    let is_observed = (number / jobs().len() as u64).is_multiple_of(2);
    let naming = if is_observed { Naming::Observed } else { Naming::Declared };
    stage.reset(seed);
    let drifter = Drifter::begin(stage.browser(), drift.clone(), Instant::now() + Duration::from_secs(30)).await?;
    let began = Instant::now();
    let report = match naming {
        Naming::Observed => stage.play_beside(job.path, &job.steps).await?,
        Naming::Declared => stage.exec_beside(job.path, &declared(&job.steps)).await?,
    };
    let took = began.elapsed();
    drop(drifter);
    let (verdict, note) = judged(stage, &job, &Ending::of(&report)).await;
    Ok(Trial { number, job: job.name, naming, kinds: drift.kinds().collect(), verdict, note, took })
}

/// How a run ended by its own account.
enum Ending {
    Done {
        is_repaired: bool,
    },
    /// Not done, for the reason that it reports.
    Failed(String),
}

impl Ending {
    fn of(report: &RunReport) -> Self {
        if report.result == RunResult::Ok {
            return Self::Done { is_repaired: report.steps.iter().any(|step| step.repairs > 0) };
        }
        let error = report.error.as_ref();
        Self::Failed(error.map(|error| format!("{}: {}", error.code, error.message)).unwrap_or_default())
    }
}

async fn judged(stage: &Stage, job: &Job, ending: &Ending) -> (Verdict, String) {
    let began = Instant::now();
    let patience = if matches!(ending, Ending::Done { .. }) { ARRIVAL } else { QUIET };
    let (beyond, missing) = loop {
        let (beyond, missing) = compared(&events(&stage.state()), job);
        // What happens twice happens a moment later.
        if began.elapsed() >= patience || missing.is_empty() && began.elapsed() >= QUIET {
            break (beyond, missing);
        }
        tokio::time::sleep(Duration::from_millis(30)).await;
    };
    if !beyond.is_empty() {
        return (Verdict::SilentlyWrong, format!("also happened: {}", beyond.join("; ")));
    }
    match ending {
        Ending::Failed(why) => (Verdict::Failed, why.clone()),
        Ending::Done { .. } if !missing.is_empty() => {
            (Verdict::SilentlyWrong, format!("did not happen: {}", missing.join("; ")))
        }
        Ending::Done { is_repaired: true } => (Verdict::Repaired, String::new()),
        Ending::Done { is_repaired: false } => (Verdict::Solved, String::new()),
    }
}

/// Returns the steps with a declared locator for each pick.
fn declared(steps: &Value) -> Value {
    let mut candidates = serde_json::Map::new();
    let mut steps = steps.clone();
    for step in steps.as_array_mut().into_iter().flatten() {
        let Some(pick) = step["targetRef"].as_str().map(ToOwned::to_owned) else { continue };
        let name = format!("t{}", candidates.len());
        candidates.insert(name.clone(), locator(&pick));
        step["targetRef"] = json!(name);
    }
    json!({ "version": "1.0", "candidates": candidates, "steps": steps })
}

fn locator(pick: &str) -> Value {
    let Pick { role, name, within } = Pick::read(pick);
    let mut locator = json!({ "strategy": "byRole", "role": role, "name": name, "exact": true });
    if let Some(context) = within {
        locator["within"] = json!({ "strategy": "css", "selector": "tr, article", "hasText": context });
    }
    locator
}

/// `role "name" [text of the row or article that it is in]`
struct Pick<'a> {
    role: &'a str,
    name: &'a str,
    within: Option<&'a str>,
}

impl<'a> Pick<'a> {
    fn read(pick: &'a str) -> Self {
        let (role, rest) = pick.split_once(" \"").unwrap_or((pick, ""));
        let (name, rest) = rest.rsplit_once('"').unwrap_or((rest, ""));
        let within = rest.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(context, _)| context);
        Self { role, name, within }
    }
}

/// How often each verdict came.
fn counted(verdicts: impl Iterator<Item = Verdict>) -> Value {
    let all: Vec<Verdict> = verdicts.collect();
    let with = |verdict| all.iter().filter(|one| **one == verdict).count();
    json!({ "runs": all.len(), "solved": with(Verdict::Solved), "repaired": with(Verdict::Repaired),
        "failed": with(Verdict::Failed), "silentlyWrong": with(Verdict::SilentlyWrong) })
}

/// The figures of many trials.
#[must_use]
pub fn figures(seed: u64, trials: &[Trial]) -> Value {
    let count = |of: &dyn Fn(&Trial) -> bool| counted(trials.iter().filter(|it| of(it)).map(|it| it.verdict));
    let mut kinds = serde_json::Map::new();
    for kind in DriftKind::ALL {
        kinds.insert(kind.to_string(), count(&|trial| trial.kinds.iter().any(|(one, _)| *one == kind)));
    }
    let mut by_job = serde_json::Map::new();
    for job in jobs() {
        by_job.insert(job.name.to_owned(), count(&|trial| trial.job == job.name));
    }
    let mut causes: BTreeMap<String, u64> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| trial.verdict == Verdict::Failed) {
        let cause = trial.note.split(':').next().unwrap_or_default();
        *causes.entry(cause.to_owned()).or_default() += 1;
    }
    let wrong = trials.iter().filter(|trial| trial.verdict == Verdict::SilentlyWrong);
    let wrong: Vec<Value> = wrong.map(|it| json!({ "trial": it.number, "job": it.job, "note": it.note })).collect();
    json!({ "seed": seed, "all": count(&|_| true), "observed": count(&|it| it.naming == Naming::Observed),
        "declared": count(&|it| it.naming == Naming::Declared), "jobs": by_job, "kinds": kinds, "causes": causes,
        "silentlyWrong": wrong })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_beyond_a_job_is_seen() {
        let all = jobs();
        let job = all.iter().find(|job| job.name == "delete an invoice").unwrap();
        let state = |deleted: Value| json!({ "deleted": deleted });
        assert_eq!(compared(&events(&state(json!(["INV-1005"]))), job), (vec![], vec![]));
        let other = compared(&events(&state(json!(["INV-1004"]))), job);
        assert_eq!(other, (vec!["deleted INV-1004".to_owned()], vec!["deleted INV-1005".to_owned()]));
        let twice = compared(&events(&state(json!(["INV-1005", "INV-1005"]))), job);
        assert_eq!(twice.0.len(), 1);
    }
}
