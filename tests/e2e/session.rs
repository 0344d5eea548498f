//! A session in this process: calls in, answers out.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use cuebook::prelude::*;
use cuebook_cdp::protocol::js_protocol::runtime::EvaluateParams;
use cuebook_datalayer::replay::Recording;
use cuebook_datalayer::{Run, judge};
use cuebook_grammar::action::ActionKind;
use cuebook_grammar::record::{LoggedEvent, StepOrigin};
use cuebook_grammar::seam::ConfirmReply;
use cuebook_session::{Answer, Asker, Call, ContextCall, Event, Handle, Progress, Request};
use cuebook_tests::Person;
use serde_json::{Value, json};

/// A session on a page of the built-in site.
struct Desk {
    site: cuebook_site::SiteHandle,
    handle: Handle,
    tab: cuebook_cdp::Page,
    _runs: tempfile::TempDir,
}

impl Desk {
    async fn open(path: &str) -> Result<(Self, Answer)> {
        let site = cuebook_site::Site::builder().build().bind(0).await?;
        let runs = tempfile::tempdir()?;
        let (asker, questions) = Asker::new();
        let agent = Agent::builder().runs_in(runs.path()).confirm(asker).build().await?;
        let browser = agent.browser().context("no browser")?;
        let tab = browser.page(&cuebook_cdp::TargetId::from(agent.page().as_str())).context("no tab")?;
        let handle = Handle::start(agent.begin().await?, questions, true);
        let url = site.url(path);
        let desk = Self { site, handle, tab, _runs: runs };
        let answer = desk.call(Call::Open(url)).await?;
        Ok((desk, answer))
    }

    async fn call(&self, call: Call) -> Result<Answer> {
        Ok(self.handle.call(Request::of(call)).await?)
    }

    async fn act(&self, step: Value) -> Result<Answer> {
        self.call(Call::Act(vec![step])).await
    }

    fn hits(&self, name: &str) -> u64 {
        self.site.state()["hits"][name].as_u64().unwrap_or(0)
    }
}

/// The id of the element whose line has this text.
fn id_of(answer: &Answer, text: &str) -> Result<String> {
    let shown = answer.snapshot.as_deref().context("no snapshot")?;
    let line = shown.lines().find(|line| line.contains(text)).with_context(|| shown.to_owned())?;
    let id = line.split_once("[c").and_then(|(_, rest)| rest.split_once(']'));
    Ok(format!("c{}", id.with_context(|| line.to_owned())?.0))
}

#[tokio::test]
async fn ids_stay_valid_from_call_to_call_and_one_of_a_former_page_is_refused() -> Result<()> {
    let (desk, page) = Desk::open("/counter").await?;
    let count = id_of(&page, "button \"Count\"")?;
    for _ in 0..3 {
        let answer = desk.act(json!({ "type": "click", "targetRef": count })).await?;
        ensure!(answer.error.is_none(), "{answer}");
    }
    assert_eq!(desk.hits("counter"), 3);
    desk.call(Call::Open(desk.site.url("/login"))).await?;
    let answer = desk.act(json!({ "type": "click", "targetRef": count })).await?;
    let why = answer.error.context("it was bound to something else")?;
    ensure!(why.contains(&format!("`{count}` is no candidate")), "{why}");
    assert_eq!(desk.hits("counter"), 3);
    Ok(())
}

#[tokio::test]
async fn an_answer_has_what_changed_and_the_whole_page_on_request() -> Result<()> {
    let (desk, page) = Desk::open("/login").await?;
    ensure!(page.page.iter().any(|line| line.starts_with("- Page Title: Sign in")), "{page}");
    let email = id_of(&page, "textbox \"Email\"")?;
    let changed = desk.act(json!({ "type": "setValue", "targetRef": email, "value": "ann" })).await?;
    let shown = changed.snapshot.as_deref().context("no snapshot")?;
    // Who set a value knows it.
    assert_eq!(shown, "nothing else changed\n");
    ensure!(changed.page.is_empty(), "the address is the one that was shown: {changed}");
    let whole = desk.call(Call::Look).await?;
    ensure!(whole.snapshot.as_deref().is_some_and(|shown| shown.contains("button \"Log in\"")), "{whole}");
    let mut same = Request::of(Call::Act(vec![json!({ "type": "hover", "targetRef": email })]));
    same.shows_all = true;
    let whole = desk.handle.call(same).await?;
    ensure!(whole.snapshot.as_deref().is_some_and(|shown| shown.contains("value=\"ann\"")), "{whole}");
    ensure!(whole.page.iter().any(|line| line.starts_with("- Page URL: ")), "{whole}");
    Ok(())
}

#[tokio::test]
async fn what_a_page_makes_of_values_is_shown_and_what_was_set_is_not() -> Result<()> {
    const MAKES_ELSE: &str = "<title>Form</title><label>Town <input></label> <label>Yes <input type=checkbox></label> \
        <label>Code <input oninput='town.ariaInvalid = true; price.textContent = 7'></label> <p id=price>5</p> \
        <script>town = document.querySelector('input')</script>";
    let port = cuebook_testkit::serve([("/", MAKES_ELSE)]);
    let (desk, _) = Desk::open("/login").await?;
    let page = desk.call(Call::Open(format!("http://127.0.0.1:{port}/"))).await?;
    let [town, yes, code] = ["textbox \"Town\"", "checkbox \"Yes\"", "textbox \"Code\""].map(|it| id_of(&page, it));
    let [town, yes, code] = [town?, yes?, code?];
    let set = |id: &str, value: &str| json!({ "type": "setValue", "targetRef": id, "value": value });
    let steps = vec![set(&town, "Ulm"), set(&code, "x"), json!({ "type": "check", "targetRef": yes })];
    let answer = desk.call(Call::Act(steps)).await?;
    let shown = answer.snapshot.context("no snapshot")?;
    // The first field was set as it should be, and is invalid since the second was.
    ensure!(
        shown.contains("~ textbox \"Town\"") && shown.contains("[invalid]") && shown.contains("+ \"7\""),
        "{shown}"
    );
    ensure!(!shown.contains("\"Code\"") && !shown.contains("\"Yes\""), "{shown}");
    Ok(())
}

#[tokio::test]
async fn nothing_of_a_call_runs_if_one_of_its_elements_is_not_there() -> Result<()> {
    let (desk, _) = Desk::open("/login").await?;
    let steps = vec![
        json!({ "type": "setValue", "targetRef": "label=Email", "value": "ann" }),
        json!({ "type": "setValue", "targetRef": "label=Passphrase", "value": "x" }),
    ];
    let answer = desk.call(Call::Act(steps)).await?;
    assert_eq!(answer.error.as_deref(), Some("step 2: there is no field \"Passphrase\" on the page"));
    let whole = desk.call(Call::Look).await?;
    ensure!(!whole.snapshot.context("no snapshot")?.contains("value=\"ann\""));
    Ok(())
}

#[tokio::test]
async fn a_plan_is_checked_whole_and_stops_at_the_first_step_that_fails() -> Result<()> {
    let (desk, _) = Desk::open("/counter").await?;
    let good = json!({ "type": "click", "targetRef": "button \"Count\"" });
    let never = json!({ "type": "assert", "condition": { "kind": "urlMatches", "pattern": "/nowhere" } });
    let dry = Call::Plan { plan: json!([good]), is_dry: true };
    ensure!(desk.call(dry).await?.error.is_none() && desk.hits("counter") == 0);
    let bad = Call::Plan { plan: json!({ "steps": [good, { "type": "click", "targetRef": "c999" }] }), is_dry: false };
    ensure!(desk.call(bad).await?.error.is_some() && desk.hits("counter") == 0, "checked before anything runs");
    let stopped = desk.call(Call::Plan { plan: json!([good, never, good]), is_dry: false }).await?;
    ensure!(stopped.error.as_deref().is_some_and(|why| why.contains("1 of 3 steps succeeded")), "{stopped}");
    assert_eq!(desk.hits("counter"), 1);
    Ok(())
}

#[tokio::test]
async fn what_a_plan_narrows_holds_for_a_plan_of_one_step() -> Result<()> {
    let (desk, _) = Desk::open("/counter").await?;
    let step = json!({ "type": "click", "targetRef": "button \"Count\"" });
    let plan = json!({ "context": { "allowedDomains": ["https://elsewhere.test"] }, "steps": [step] });
    let answer = desk.call(Call::Plan { plan, is_dry: false }).await?;
    ensure!(answer.error.as_deref().is_some_and(|why| why.contains("allowedDomains")), "{answer}");
    assert_eq!(desk.hits("counter"), 0);
    Ok(())
}

#[tokio::test]
async fn an_element_that_is_described_can_be_read_and_its_text_is_fenced() -> Result<()> {
    let (desk, _) = Desk::open("/counter").await?;
    let query = json!({ "kind": "text", "targetRef": "role=button[name=\"Count\"]" });
    let answer = desk.act(json!({ "type": "extract", "query": query })).await?;
    ensure!(answer.to_string().contains("```\nCount\n```"), "{answer}");
    Ok(())
}

#[tokio::test]
async fn a_question_goes_to_whoever_called_and_silence_denies() -> Result<()> {
    let (desk, _) = Desk::open("/dialogs").await?;
    let ask = json!({ "type": "click", "targetRef": "button \"Ask to confirm\"" });
    let accept = || Request::of(Call::Act(vec![json!({ "type": "acceptDialog" })]));
    desk.act(ask.clone()).await?;
    let silent = desk.handle.call(accept()).await?;
    ensure!(silent.error.as_deref().is_some_and(|why| why.contains("confirmationDenied")), "{silent}");
    let mut running = desk.handle.begin(accept()).await?;
    let Progress::Asks(question) = running.next().await? else { anyhow::bail!("no question") };
    ensure!(question.text.contains("Subscribe to the price list?"), "{}", question.text);
    question.answer(ConfirmReply::Yes(None));
    let Progress::Done(answer) = running.next().await? else { anyhow::bail!("another question") };
    ensure!(answer.error.is_none() && answer.modal.is_none(), "{answer}");
    Ok(())
}

#[tokio::test]
async fn a_text_is_waited_for_until_it_is_there_or_gone_and_an_interrupt_ends_that() -> Result<()> {
    let (desk, _) = Desk::open("/counter").await?;
    for (text, is_gone) in [("counted by the SERVER: 0", false), ("never there", true)] {
        let answer = desk.call(Call::Wait { text: text.to_owned(), is_gone }).await?;
        ensure!(answer.error.is_none(), "{text}: {answer}");
    }
    let long = std::time::Duration::from_secs(20);
    for call in [Call::Wait { text: "never".to_owned(), is_gone: false }, Call::Pause(long)] {
        let mut running = desk.handle.begin(Request::of(call)).await?;
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        running.cancel();
        let Progress::Done(answer) = running.next().await? else { anyhow::bail!("a question") };
        ensure!(answer.error.as_deref().is_some_and(|why| why.contains("interrupted")), "{answer}");
    }
    let counted = desk.act(json!({ "type": "click", "targetRef": "button \"Count\"" })).await?;
    ensure!(counted.error.is_none() && desk.hits("counter") == 1, "{counted}");
    Ok(())
}

#[tokio::test]
async fn tabs_keep_their_names_and_a_call_names_its_tab() -> Result<()> {
    let (desk, first) = Desk::open("/counter").await?;
    let count = id_of(&first, "button \"Count\"")?;
    let second = desk.call(Call::NewTab(Some(desk.site.url("/login")))).await?;
    ensure!(
        second.tabs.len() == 2 && second.tabs.last().is_some_and(|tab| tab.starts_with("- t2 (current)")),
        "{second}"
    );
    let click = Call::Act(vec![json!({ "type": "click", "targetRef": count })]);
    let elsewhere = desk.call(click.clone()).await?;
    ensure!(elsewhere.error.is_some() && desk.hits("counter") == 0, "the id is of the other tab: {elsewhere}");
    let there = desk.handle.call(Request { tab: Some("t1".to_owned()), ..Request::of(click) }).await?;
    ensure!(there.error.is_none() && desk.hits("counter") == 1, "{there}");
    desk.call(Call::CloseTab(Some("t2".to_owned()))).await?;
    let third = desk.call(Call::NewTab(None)).await?;
    ensure!(third.tabs.iter().any(|tab| tab.starts_with("- t3 (current)")), "{third}");
    let gone = desk.call(Call::SelectTab("t2".to_owned())).await?;
    assert_eq!(gone.error.as_deref(), Some("there is no tab \"t2\"; open are t1, t3"));
    for name in ["t1", "t3"] {
        let closed = desk.call(Call::CloseTab(Some(name.to_owned()))).await?;
        ensure!(closed.error.is_none(), "{name}: {closed}");
    }
    let none = desk.call(Call::Tabs).await?;
    ensure!(none.error.is_none() && none.tabs.is_empty(), "{none}");
    let blind = desk.call(Call::Look).await?;
    ensure!(blind.error.as_deref().is_some_and(|why| why.ends_with("no tab is open: open an address")), "{blind}");
    let opened = desk.call(Call::Open(desk.site.url("/counter"))).await?;
    ensure!(opened.error.is_none() && opened.snapshot.is_some(), "{opened}");
    Ok(())
}

#[tokio::test]
async fn what_an_open_dialog_holds_is_refused_at_once() -> Result<()> {
    let (desk, _) = Desk::open("/counter").await?;
    let alert = EvaluateParams::new("setTimeout(() => alert('Stop'))");
    desk.tab.session().call(alert, std::time::Instant::now() + std::time::Duration::from_secs(10)).await?;
    let shown = desk.call(Call::Look).await?;
    ensure!(shown.modal.is_some(), "{shown}");
    let named = |target: &str| Call::Act(vec![json!({ "type": "click", "targetRef": target })]);
    let printed = Call::Context(ContextCall::Pdf("page.pdf".to_owned()));
    let sought = Call::Act(vec![json!({ "type": "searchPage", "query": "Count" })]);
    for call in [named("button \"Count\""), named("css=button"), printed, sought] {
        let refused = desk.call(call.clone()).await?;
        ensure!(refused.error.as_deref().is_some_and(|why| why.contains("dialogOpen")), "{call:?}: {refused}");
    }
    let answered = desk.act(json!({ "type": "acceptDialog" })).await?;
    ensure!(answered.error.is_none() && answered.modal.is_none(), "{answered}");
    assert_eq!(desk.hits("counter"), 0);
    Ok(())
}

#[tokio::test]
async fn a_page_that_an_address_of_this_machine_opens_does_not_open_the_rest_of_it() -> Result<()> {
    let (desk, _) = Desk::open("/counter").await?;
    let steps = vec![json!({ "type": "navigate", "url": "http://10.0.0.1/" })];
    let private = desk.call(Call::Act(steps)).await?;
    ensure!(private.error.as_deref().is_some_and(|why| why.contains("not a public address")), "{private}");
    // The port of another server of this machine, which nobody named.
    let other = desk.site.second_origin().to_owned();
    let steps = vec![json!({ "type": "navigate", "url": other })];
    let unnamed = desk.call(Call::Act(steps)).await?;
    ensure!(unnamed.error.is_some(), "{unnamed}");
    Ok(())
}

#[tokio::test]
async fn a_session_is_one_run_that_ends_as_its_last_act_did() -> Result<()> {
    let (desk, _) = Desk::open("/counter").await?;
    desk.act(json!({ "type": "click", "targetRef": "button \"Count\"" })).await?;
    desk.act(json!({ "type": "findElements", "selector": "#nowhere" })).await?;
    let (agent, report) = desk.handle.end().await?;
    agent.close().await?;
    assert_eq!(report.result, RunResult::Ok);
    assert_eq!(report.steps.iter().map(|step| step.index).collect::<Vec<_>>(), [0, 1, 2][..report.steps.len()]);
    let log = std::path::PathBuf::from(report.run_dir.context("no folder")?).join("log.jsonl");
    let run = cuebook_datalayer::Run::read(&log)?;
    assert_eq!(run.header.context("no header")?.command, "session");
    ensure!(desk.handle.call(Request::of(Call::Look)).await.is_err(), "the session has ended");
    Ok(())
}

#[tokio::test]
async fn a_person_who_takes_over_is_alone_and_their_steps_are_in_the_log() -> Result<()> {
    let (desk, _) = Desk::open("/counter").await?;
    let mut events = desk.handle.events();
    let mut running = desk.handle.begin(Request::of(Call::Pause(std::time::Duration::from_secs(30)))).await?;
    let since_ms = desk.handle.pause().await?;
    let Progress::Done(interrupted) = running.next().await? else { anyhow::bail!("a question") };
    ensure!(interrupted.error.as_deref().is_some_and(|why| why.contains("interrupted")), "{interrupted}");
    let click = json!({ "type": "click", "targetRef": "button \"Count\"" });
    let refused = desk.act(click.clone()).await?;
    ensure!(refused.error.as_deref().is_some_and(|why| why.contains("a person has taken over")), "{refused}");
    Person::at(desk.tab.clone()).clicks("button", "count").await?;
    // The page shows what the server counted once it has answered.
    let mut looks = 0;
    while !desk.call(Call::Look).await?.to_string().contains("Counted by the server: 1") {
        looks += 1;
        ensure!(looks < 100, "the click is not shown");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let back = desk.handle.resume().await?.context("nobody had it")?;
    assert_eq!((back.since_ms, back.steps, desk.hits("counter")), (since_ms, 1, 1));
    ensure!(desk.handle.resume().await?.is_none(), "once");
    ensure!(desk.act(click).await?.error.is_none() && desk.hits("counter") == 2);
    let mut told = Vec::new();
    while let Some(event) = events.waiting() {
        told.push(event);
    }
    ensure!(told.contains(&Event::Paused { since_ms }), "{told:?}");
    ensure!(told.iter().any(|event| matches!(event, Event::Resumed { steps: 1, .. })), "{told:?}");

    let (agent, report) = desk.handle.end().await?;
    agent.close().await?;
    ensure!(report.steps.iter().filter(|step| step.origin == StepOrigin::Person).count() == 1, "{report:?}");
    let run = Run::read(&PathBuf::from(report.run_dir.context("no folder")?).join("log.jsonl"))?;
    let [(before, record)] = &run.events[..] else { anyhow::bail!("{:?}", run.events) };
    let LoggedEvent::HandedBack { since_ms: since, steps: 1, .. } = record.event else { anyhow::bail!("{record:?}") };
    assert_eq!((since, run.steps[before - 1].origin), (since_ms, StepOrigin::Person));
    ensure!(run.open.is_empty() && judge(&run).agrees(), "{run:?}");
    let plan = Recording::of(&run, &Default::default())?.plan;
    let clicks = plan.steps.iter().filter(|step| step.action.kind() == ActionKind::Click).count();
    assert_eq!((clicks, plan.candidates.len()), (2, 1), "a replay does both: {plan:?}");
    Ok(())
}
