//! Agents from the facade alone: the examples as they stand, and what a run leaves to the next one.

use std::process::Command;
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, Result};
use cuebook::decoding::emit::{Body, Target};
use cuebook::grammar::seam::boxed::BoxedPlanner;
use cuebook::grammar::seam::{PlanReply, PlanRequest, PlanSink, Planner};
use cuebook::grammar::{action::ActionKind, deadline::Deadline, record::StepOrigin, report::ErrorCode, wire::Millis};
use cuebook::prelude::*;
use cuebook_tests::Shop;
use serde_json::json;

/// Runs an example and returns what it prints.
fn printed(example: &str, arguments: &[&str]) -> Result<String> {
    let output =
        Command::new(env!("CARGO_BIN_EXE_cuebook-examples")).env("EXAMPLE", example).args(arguments).output()?;
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    anyhow::ensure!(output.status.success(), "{example}: {}\n{stdout}\n{stderr}", output.status);
    Ok(stdout.into_owned())
}

#[test]
fn the_example_of_ten_lines_logs_in() -> Result<()> {
    let printed = printed("agent", &[])?;
    assert!(printed.contains("textbox \"Email\""), "{printed}");
    assert!(printed.contains("/dashboard"), "{printed}");
    Ok(())
}

#[test]
fn the_example_of_a_login_signs_in_stays_signed_in_and_reads_the_cart() -> Result<()> {
    let printed = printed("login", &[])?;
    assert!(printed.contains("Click Ok in") && printed.contains("1 × Fountain pen, Medium"), "{printed}");
    Ok(())
}

#[test]
fn the_example_of_several_agents_over_one_browser_keeps_their_users_apart() -> Result<()> {
    let printed = printed("several", &[])?;
    let lines: Vec<_> = printed.lines().collect();
    assert!(lines.len() == 2 && lines.iter().all(|line| line.contains("Dashboard")), "{printed}");
    Ok(())
}

#[test]
fn the_example_with_layers_of_its_own_clicks_once_and_logs_every_step() -> Result<()> {
    let shop = Shop::open()?;
    let printed = printed("own_layers", &[&shop.url("/counter"), "Count"])?;
    assert_eq!(shop.hits("counter"), 1, "{printed}");
    assert_eq!(printed.lines().collect::<Vec<_>>(), ["navigate: Ok", "click: Ok", "call: Ok"]);
    Ok(())
}

#[test]
fn the_example_with_a_planner_of_its_own_clicks_what_the_task_names() -> Result<()> {
    let shop = Shop::open()?;
    printed("own_planner", &[&shop.url("/counter"), "Count"])?;
    assert_eq!(shop.hits("counter"), 1);
    Ok(())
}

/// Keeps the names of the candidates that it was shown, and has no plan.
#[derive(Clone, Default)]
struct Watching(Arc<Mutex<Vec<String>>>);

impl Planner for Watching {
    type Error = std::convert::Infallible;

    async fn plan(&self, asked: &PlanRequest<'_>, _: &mut dyn PlanSink, _: Deadline) -> Result<PlanReply, Self::Error> {
        let names = asked.observation.candidates.iter().map(|candidate| candidate.name.clone());
        self.0.lock().expect("not poisoned").extend(names);
        Ok(PlanReply::none("it only looks"))
    }
}

#[tokio::test]
async fn ids_tab_and_policy_go_on_from_run_to_run_and_each_run_has_a_folder() -> Result<()> {
    let site = cuebook_site::Site::builder().build().bind(0).await?;
    let runs = tempfile::tempdir()?;
    let seen = Watching::default();
    let planner: Box<dyn BoxedPlanner> = Box::new(seen.clone());
    let mut agent = Agent::builder().planner(planner).runs_in(runs.path()).build().await?;

    agent.open(&site.url("/login")).await?;
    let page = agent.observe(Scope::View).await?;
    let report = agent.act(SetValue::to(page.find(Role::TextBox, "Email")?, "ann")).await?;
    let run_dir = report.run_dir.context("no folder")?;
    let log = std::fs::read_to_string(std::path::Path::new(&run_dir).join("log.jsonl"))?;
    assert!(log.contains("setValue"), "{log}");

    // A planner that has no plan fails the task, and says why.
    let failure = agent.run("anything").await.unwrap_err();
    assert_eq!((failure.report.result, failure.error.message.as_str()), (RunResult::Failed, "it only looks"));
    assert!(seen.0.lock().unwrap().iter().any(|name| name == "Email"));

    // A page that was neither opened nor allowed stays closed.
    let refused = agent.act(Navigate::to("https://elsewhere.test/")).await.unwrap_err();
    assert_eq!(refused.report.result, RunResult::Blocked, "{refused:?}");
    assert_eq!(std::fs::read_dir(runs.path())?.count(), 4);
    agent.close().await?;
    Ok(())
}

#[tokio::test]
async fn a_login_names_fields_by_locators_and_buttons_by_what_was_observed() -> Result<()> {
    let site = cuebook_site::Site::builder().build().bind(0).await?;
    let mut agent = Agent::builder().build().await?;
    agent.open(&site.url("/login")).await?;
    agent.act(SetValue::at(Locator::test_id("email-input"), "user@example.com")).await?;
    agent.act(TypeText::at(Locator::test_id("password-input"), "hunter2")).await?;
    let page = agent.observe(Scope::View).await?;
    let missing = page.find(Role::Button, "Sign in").unwrap_err().to_string();
    assert!(missing.contains("there is no button \"Sign in\": there is button \"Log in\""), "{missing}");
    let button = page.find(Role::Button, "Log in")?;
    agent.act(Click::on(button).expect(Condition::url_changes_to("/dashboard"))).await?;

    // What is expected and does not come fails the step.
    let timeout_ms = Some(Millis::clamped(300));
    let nowhere = Condition::url_changes_to("/nowhere");
    let hover = Act::at(Locator::css("h1"), |it| Step { timeout_ms, ..Hover::over(it).expect(nowhere) });
    let failed = agent.act(hover).await.unwrap_err();
    assert_eq!(failed.error.code, ErrorCode::PostconditionFailed, "{failed:?}");
    agent.close().await?;
    Ok(())
}

#[tokio::test]
async fn a_custom_model_loop_gets_the_page_as_tools_and_its_calls_are_checked() -> Result<()> {
    let site = cuebook_site::Site::builder().build().bind(0).await?;
    let mut agent = Agent::builder().build().await?;
    agent.open(&site.url("/shop")).await?;
    let tools = agent.tools(Target::Tools).await?;
    let Body::Json(request) = &tools.body else { anyhow::bail!("{:?}", tools.body) };
    let about = tools.page.candidates.iter().find(|one| one.role == Role::Link).context("no link")?.id;
    assert!(request.to_string().contains(&format!("\"{about}\"")), "{request:#}");

    let call = |target: &str| {
        let arguments = json!({ "targetRef": target }).to_string();
        json!({ "role": "assistant", "tool_calls": [{ "type": "function",
            "function": { "name": "click", "arguments": arguments } }] })
    };
    assert_eq!(agent.call(&call(&about.to_string())).await?.steps.len(), 1);
    let refused = agent.call(&call("c999")).await.unwrap_err();
    assert!(refused.report.steps.is_empty(), "{refused:?}");
    let malformed = agent.call(&json!({ "role": "assistant", "content": "done" })).await.unwrap_err();
    assert_eq!(malformed.error.code, ErrorCode::Malformed, "{malformed:?}");
    agent.close().await?;
    Ok(())
}

#[derive(Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
struct Mug {
    name: String,
    weight: String,
    sizes: Vec<Size>,
}

#[derive(Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
struct Size {
    size: String,
    price: f64,
}

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Stocked {
    #[expect(dead_code, reason = "the page does not say it")]
    stock: u32,
}

#[tokio::test]
async fn a_value_of_an_own_type_is_read_from_the_page_or_what_lacks_is_named() -> Result<()> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/pages").canonicalize()?;
    let policy = Policy::default().opening_pages(folder.display().to_string());
    let mut agent = Agent::builder().policy(policy).build().await?;
    agent.open(&format!("file://{}/mug.html", folder.display())).await?;
    let size = |size: &str, price| Size { size: size.to_owned(), price };
    let sizes = vec![size("Small", 9.5), size("Large", 12.5)];
    assert_eq!(agent.extract::<Mug>().await?, Mug { name: "Blue mug".into(), weight: "350 g".into(), sizes });
    let error = agent.extract::<Stocked>().await.unwrap_err().to_string();
    assert!(error.contains("missing field `stock`; not on the page: /stock"), "{error}");
    agent.close().await?;
    Ok(())
}

/// A page that opens a modal dialog when it is asked to. Its title says what was pressed.
const MODAL: &str = "<!doctype html><title>none</title><button onclick='d.showModal()'>Ask</button>\
    <button id=save onclick='document.title += \" saved\"'>Save</button>\
    <dialog id=d aria-label='Keep draft?'><button onclick='document.title += \" cancelled\"; d.close()'>Cancel</button>\
    </dialog>";

/// Why each click of a run was made.
fn clicks(report: &RunReport) -> Vec<StepOrigin> {
    let clicks = report.steps.iter().filter(|step| matches!(step.action.action, Action::Click(_)));
    clicks.map(|step| step.origin).collect()
}

#[tokio::test]
async fn one_act_presses_nothing_else_and_a_plan_reports_what_it_pressed() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("modal.html");
    std::fs::write(&file, MODAL)?;
    let policy = Policy::default().opening_pages(folder.path().display().to_string());
    let mut agent = Agent::builder().policy(policy).build().await?;
    agent.open(&format!("file://{}", file.display())).await?;
    let page = agent.observe(Scope::View).await?;
    let (ask, save) = (page.find(Role::Button, "Ask")?, page.find(Role::Button, "Save")?);
    agent.act(Click::on(ask)).await?;

    let timeout_ms = Some(Millis::clamped(1_000));
    let alone = agent.act(Step { timeout_ms, ..Step::from(Action::from(Click::on(save))) }).await.unwrap_err();
    assert_eq!(alone.error.code, ErrorCode::Covered, "{alone:?}");
    assert_eq!(clicks(&alone.report), [StepOrigin::Plan], "{alone:?}");
    assert_eq!(agent.observe(Scope::View).await?.title, "none");

    let plan = r##"{ "version": "1.0", "candidates": { "save": { "strategy": "css", "selector": "#save" } },
        "steps": [{ "type": "click", "targetRef": "save", "timeoutMs": 1000 }] }"##;
    let plan = PlanDraft::read(plan, Author::Operator).map_err(|why| anyhow::anyhow!("{why:?}"))?;
    let whole = agent.follow(plan).await?;
    assert!(clicks(&whole).contains(&StepOrigin::Repair), "{whole:?}");
    assert_eq!(agent.observe(Scope::View).await?.title, "none cancelled saved");
    agent.close().await?;
    Ok(())
}

#[tokio::test]
async fn the_field_of_one_act_keeps_the_focus_for_the_next() -> Result<()> {
    const SEARCH: &str = "<title>none</title><label>Search <input id=q \
        onkeydown=\"if (event.key === 'Enter') document.title = this.value\"></label>";
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("search.html");
    std::fs::write(&file, SEARCH)?;
    let policy = Policy::default().opening_pages(folder.path().display().to_string());
    let mut agent = Agent::builder().policy(policy).build().await?;
    agent.open(&format!("file://{}", file.display())).await?;
    agent.act(SetValue::at(Locator::role(Role::TextBox, "Search"), "mugs")).await?;
    agent.act(Press::keys("Enter")).await?;
    assert_eq!(agent.observe(Scope::View).await?.title, "mugs");
    agent.close().await?;
    Ok(())
}

#[test]
fn a_run_that_is_repaired_fits_on_the_stack_of_a_worker_with_room_to_spare() -> Result<()> {
    // Workers of tokio have 2 MiB; a build without optimisation takes the most.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(1_500 << 10).build()?;
    runtime.block_on(runtime.spawn(async {
        let site = cuebook_site::Site::builder().build().bind(0).await?;
        let mut agent = Agent::builder().build().await?;
        agent.open(&site.url("/newsletter")).await?;
        let report = agent.run("Click Continue").await?;
        assert!(clicks(&report).contains(&StepOrigin::Repair), "{report:#?}");
        Ok(agent.close().await?)
    }))?
}

#[tokio::test]
async fn storage_goes_from_browser_to_browser_and_no_request_is_made_for_it() -> Result<()> {
    let site = cuebook_site::Site::builder().build().bind(0).await?;
    let origin = site.url("").trim_end_matches('/').to_owned();
    let folder = tempfile::tempdir()?;
    let (given, kept) = (folder.path().join("given.json"), folder.path().join("kept.json"));
    let cookie = |name: &str, expires: f64| {
        json!({ "name": name, "value": "a=\"b\"", "domain": "127.0.0.1", "path": "/", "expires": expires,
            "httpOnly": true, "secure": false, "sameSite": "Lax" })
    };
    let entries = json!([{ "name": "a \"key\"", "value": "</script>" }]);
    let apart = json!({ "name": "apart", "value": "1", "domain": "widget.test", "path": "/", "expires": -1.0, "httpOnly": false,
        "secure": true, "sameSite": "None", "partitionKey": "https://top.test", "_crHasCrossSiteAncestor": true });
    let state = json!({
        "cookies": [cookie("session", -1.0), cookie("kept", 4_000_000_000.0), cookie("expired", 1.0), apart],
        "origins": [{ "origin": "https://shop.invalid", "localStorage": entries }, { "origin": origin, "localStorage": entries }],
    });
    std::fs::write(&given, state.to_string())?;

    // The second browser has what the first one kept, of an origin that does not exist too.
    for (from, to) in [(&given, &kept), (&kept, &given)] {
        let mut agent = Agent::builder().storage(from).viewport(640, 480).build().await?;
        agent.open(&site.url("/login")).await?;
        assert_eq!(agent.observe(Scope::View).await?.viewport.width, 640.0);
        agent.save_storage(to).await?;
        agent.close().await?;
        let text = std::fs::read_to_string(to)?;
        let saved: serde_json::Value = serde_json::from_str(&text)?;
        let mut names: Vec<_> =
            saved["cookies"].as_array().context("no cookies")?.iter().map(|one| &one["name"]).collect();
        names.sort_by_key(|name| name.to_string());
        assert_eq!(names, ["apart", "kept", "session"], "{saved:#}");
        let named = |name: &str| saved["cookies"].as_array()?.iter().find(|one| one["name"] == name);
        assert_eq!((named("kept").map(|one| &one["value"]), named("apart")), (Some(&json!("a=\"b\"")), Some(&apart)));
        let mut origins = saved["origins"].as_array().context("no origins")?.clone();
        origins.sort_by_key(|one| one["origin"].to_string());
        let expected = json!([{ "origin": origin, "localStorage": entries },
            { "origin": "https://shop.invalid", "localStorage": entries }]);
        assert_eq!(json!(origins), expected);
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(to)?.permissions()) & 0o777, 0o600);
    }

    for (text, expected) in [
        ("{", "no storage state"),
        (r#"{"cookies":[{"name":"a","value":482913}]}"#, "no storage state"),
        (r#"{"cookies":[{"name":"a;b","value":"","domain":"shop.test","path":"/"}]}"#, "the cookie \"a;b\""),
        (r#"{"origins":[{"origin":"shop.test"}]}"#, "not the origin of a page"),
        (r#"{"origins":[{"origin":"https://shop.test/path"}]}"#, "not the origin of a page"),
        (r#"{"origins":[{"origin":"file:///etc"}]}"#, "not the origin of a page"),
    ] {
        std::fs::write(&given, text)?;
        let refused = Agent::builder().storage(&given).build().await.unwrap_err().to_string();
        assert!(refused.contains(expected) && !refused.contains("482913"), "{refused}");
    }
    Ok(())
}

#[tokio::test]
async fn events_of_every_run_reach_every_stream_which_ends_with_the_agent() -> Result<()> {
    let site = cuebook_site::Site::builder().build().bind(0).await?;
    let mut agent = Agent::builder().build().await?;
    let (mut first, mut ends) = (agent.events(), 0);
    agent.open(&site.url("/login")).await?;
    let mut second = agent.events();
    agent.act(Hover::at(Locator::css("h1"))).await?;
    agent.close().await?;
    while let Some(event) = first.next().await {
        ends += usize::from(matches!(event, AgentEvent::Ended(_)));
    }
    assert_eq!(ends, 2);
    let mut begun = Vec::new();
    while let Some(event) = second.next().await {
        if let AgentEvent::StepBegun { step, .. } = event {
            begun.push(step.action.kind());
        }
    }
    assert_eq!(begun, [ActionKind::Hover]);
    Ok(())
}
