//! Each rung of the ladder: a page where only it helps, and one with a near miss that must not be touched.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, ensure};
use axum::Router;
use axum::extract::Path;
use axum::response::Html;
use axum::routing::{get, post};
use cuebook_tests::cuebook;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Pages of a test, and what they report.
pub(super) struct Pages {
    pub(super) origin: String,
    done: Arc<Mutex<Vec<String>>>,
    pub(super) folder: TempDir,
    _runtime: tokio::runtime::Runtime,
}

impl Pages {
    pub(super) fn serve(page: &'static str) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let done = Arc::<Mutex<Vec<String>>>::default();
        let reports = done.clone();
        let folder = TempDir::new()?;
        let (asked, changed) = (folder.path().join("asked"), folder.path().join("changed"));
        // A page changes once its planner was asked: what the planner names is another thing by then, or gone.
        const HEAD: &str = "<!doctype html><title>Page</title><link rel=icon href='data:,'><script>\
            window.did = (what) => fetch('/did/' + what, { method: 'POST', keepalive: true });\
            const onceAsked = (change) => { let isOver = false; const asking = setInterval(async () => {\
            if (isOver || await (await fetch('/asked')).text() !== 'yes' || isOver) return; isOver = true;\
            clearInterval(asking); await change(); fetch('/changed', { method: 'POST' }) }, 100) };</script>";
        let shown = move || async move { Html(format!("{HEAD}{page}")) };
        let router = Router::new()
            .route("/", get(shown))
            .fallback(get(shown))
            .route("/asked", get(move || async move { if asked.exists() { "yes" } else { "no" } }))
            .route("/changed", post(move || async move { drop(std::fs::write(&changed, "")) }))
            .route(
                "/did/{what}",
                post(move |Path(what): Path<String>| async move {
                    reports.lock().unwrap_or_else(PoisonError::into_inner).push(what);
                }),
            );
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
        let origin = format!("http://{}/", listener.local_addr()?);
        runtime.spawn(async move { axum::serve(listener, router).await });
        Ok(Self { origin, done, folder, _runtime: runtime })
    }

    /// Plans one click on the candidate with this line of the planner's request, lets the page change, and clicks; the
    /// report and what the page reported.
    fn run(&self, line: &str, flags: &[&str]) -> Result<(Value, Vec<String>)> {
        let folder = self.folder.path();
        for signal in ["asked", "changed"] {
            if folder.join(signal).exists() {
                std::fs::remove_file(folder.join(signal))?;
            }
        }
        let script = format!(
            r#"read -r request
id=$(printf %s "$request" | grep -o '"id":"c[0-9]*",{line}' | head -n 1 | cut -d'"' -f4)
touch {folder}/asked; until [ -e {folder}/changed ]; do sleep 0.02; done
echo '{{"version":"1.0","steps":[{{"type":"click","targetRef":"'$id'","timeoutMs":1500}},{{"type":"finish"}}]}}'
while read -r request; do echo '{{"version":"1.0","steps":[{{"type":"fail","reason":"once is enough"}}]}}'; done"#,
            folder = folder.display()
        );
        let file = folder.join("planner.sh");
        std::fs::write(&file, script)?;
        let planner = format!("exec:sh {}", file.display());
        let out = folder.to_string_lossy().into_owned();
        let mut args = vec!["run", "once", "--url", &self.origin, "--planner", &planner, "--json", "--out", &out];
        args.extend(flags);
        let report = cuebook(&args)?.json()?;
        Ok((report, self.done()))
    }

    /// Takes the reports of the page since the last call.
    pub(super) fn done(&self) -> Vec<String> {
        std::mem::take(&mut *self.done.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Executes one step, with flags; returns the report and what the page reported.
    fn exec(&self, target: &Value, step: &Value, flags: &[&str]) -> Result<(Value, Vec<String>)> {
        let plan = json!({ "version": "1.0", "candidates": { "it": target }, "steps": [step] });
        let file = self.folder.path().join("plan.json");
        std::fs::write(&file, plan.to_string())?;
        let (file, out) = (file.to_string_lossy().into_owned(), self.folder.path().to_string_lossy().into_owned());
        let mut args = vec!["exec", &file, "--url", &self.origin, "--json", "--out", &out];
        args.extend(flags);
        let report = cuebook(&args)?.json()?;
        Ok((report, self.done()))
    }
}

const ALL: [&str; 9] =
    ["wait", "scroll", "fingerprint", "locators", "candidates", "dismiss", "frames", "retype", "replan"];

/// With the rung alone the step succeeds and the log names it; with all others it fails, and nothing is done.
fn only_helps(rung: &str, page: &'static str, target: &Value, step: &Value, done: &[&str]) -> Result<()> {
    let pages = Pages::serve(page)?;
    only_helps_in(rung, done, |flags| pages.exec(target, step, flags))
}

/// With the rung alone the work succeeds and the log names it; with all others it fails, and nothing is done.
fn only_helps_in(rung: &str, done: &[&str], work: impl Fn(&[&str]) -> Result<(Value, Vec<String>)>) -> Result<()> {
    let (report, seen) = work(&["--repair-rungs", rung])?;
    ensure!(report["result"] == "ok", "{rung}: {report:#}");
    ensure!(seen == done, "{rung}: {seen:?} {report:#}");
    let named = format!("rung: {rung}");
    let dir = report["runDir"].as_str().unwrap_or_default();
    let log = std::fs::read_to_string(std::path::Path::new(dir).join("log.jsonl"))?;
    ensure!(log.contains(&named), "the log does not name it: {log}");
    ensure!(log.contains("durationMs"), "nor what it cost");

    let others: Vec<&str> = ALL.into_iter().filter(|one| *one != rung).collect();
    let (report, seen) = work(&["--repair-rungs", &others.join(",")])?;
    ensure!(report["result"] == "failed", "without {rung}: {report:#}");
    ensure!(seen.is_empty(), "without {rung}: {seen:?}");
    Ok(())
}

/// With all rungs the step fails or is not consented to, and nothing is done.
fn is_left_alone(page: &'static str, target: &Value, step: &Value) -> Result<()> {
    let pages = Pages::serve(page)?;
    let (report, seen) = pages.exec(target, step, &[])?;
    ensure!(report["result"] != "ok", "{report:#}");
    ensure!(seen.is_empty(), "{seen:?}");
    Ok(())
}

fn button(name: &str) -> Value {
    json!({ "strategy": "byRole", "role": "button", "name": name, "exact": true })
}

fn click() -> Value {
    json!({ "type": "click", "targetRef": "it", "timeoutMs": 1_200 })
}

#[test]
fn waiting_helps_where_a_button_wakes_up() -> Result<()> {
    const PAGE: &str = "<button id=b disabled onclick=\"did('saved')\">Save</button>\
        <script>setTimeout(() => { b.disabled = false }, 1700)</script>";
    only_helps("wait", PAGE, &button("Save"), &click(), &["saved"])?;
    const ASLEEP: &str = "<button disabled onclick=\"did('saved')\">Save</button>\
        <button onclick=\"did('draft')\">Save draft</button>";
    is_left_alone(ASLEEP, &button("Save"), &click())
}

#[test]
fn waiting_helps_where_a_button_runs_from_the_pointer() -> Result<()> {
    // The guard stops each press before the page sees any of it, more often than the executor tries.
    const PAGE: &str = "<style>button { position: absolute; left: 0; top: 40px; width: 120px; height: 40px }</style>\
        <button id=b onclick=\"did('sent')\">Send</button><script>let left = 5; b.addEventListener('pointermove', () => {\
        if (left-- > 0) b.style.left = b.style.left === '300px' ? '0' : '300px' })</script>";
    only_helps("wait", PAGE, &button("Send"), &click(), &["sent"])?;
    // This one is pressed: it may have done what it does, and is not pressed again.
    const PRESSED: &str = "<style>button { position: absolute; left: 0; top: 40px; width: 120px; height: 40px }</style>\
        <button id=b>Send</button><script>b.addEventListener('mousedown', () => {\
        did('pressed'); b.style.left = b.style.left === '300px' ? '0' : '300px' })</script>";
    let pages = Pages::serve(PRESSED)?;
    let (report, seen) = pages.exec(&button("Send"), &click(), &[])?;
    ensure!(report["result"] == "failed", "{report:#}");
    ensure!(seen == ["pressed"], "{seen:?}");
    Ok(())
}

#[test]
fn scrolling_on_helps_where_a_list_draws_what_is_in_view() -> Result<()> {
    const PAGE: &str = "<div style='height: 3000px'></div><div id=end></div><script>\
        addEventListener('scroll', () => { if (scrollY > 600 && !end.firstChild) \
        end.innerHTML = '<button onclick=\"did(9)\">Row 9</button>' })</script>";
    only_helps("scroll", PAGE, &button("Row 9"), &click(), &["9"])?;
    const OTHER: &str = "<div style='height: 3000px'></div><button onclick=\"did(8)\">Row 8</button>";
    is_left_alone(OTHER, &button("Row 9"), &click())
}

#[test]
fn scrolling_to_the_target_helps_where_it_must_be_in_view_before_the_step() -> Result<()> {
    const PAGE: &str = "<p>Terms</p><div style='height: 3000px'></div><button onclick=\"did('agreed')\">Agree</button>";
    let step = json!({ "type": "click", "targetRef": "it", "timeoutMs": 1_200,
                       "pre": [{ "kind": "inViewport", "target": "it" }] });
    only_helps("scroll", PAGE, &button("Agree"), &step, &["agreed"])?;
    // This one cannot be brought into view, and what can be seen is another one.
    const FOLDED: &str = "<button onclick=\"did('all')\">Agree to all</button>\
        <div style='height: 0; overflow: hidden'><button onclick=\"did('agreed')\">Agree</button></div>";
    is_left_alone(FOLDED, &button("Agree"), &step)
}

#[test]
fn what_checks_the_browser_is_waited_for_and_what_looks_like_it_is_not() -> Result<()> {
    const PAGE: &str = "<main id=challenge-form>Just a moment</main><script>setTimeout(() => {\
        document.querySelector('main').outerHTML = '<button onclick=\"did(`in`)\">Enter</button>' }, 3500)</script>";
    let (report, seen) = Pages::serve(PAGE)?.exec(&button("Enter"), &click(), &["--no-repair"])?;
    ensure!(report["result"] == "ok" && seen == ["in"], "{seen:?} {report:#}");
    const SLOW: &str = "<main>Just a moment</main><script>setTimeout(() => {\
        document.querySelector('main').outerHTML = '<button onclick=\"did(`in`)\">Enter</button>' }, 3500)</script>";
    let (report, seen) = Pages::serve(SLOW)?.exec(&button("Enter"), &click(), &["--no-repair"])?;
    ensure!(report["error"]["code"] == "targetNotFound" && seen.is_empty(), "{seen:?} {report:#}");
    Ok(())
}

#[test]
fn a_test_for_humans_that_stays_ends_a_plan_with_a_code_of_its_own() -> Result<()> {
    const PAGE: &str = "<div class=g-recaptcha style='width:304px;height:78px'>I'm not a robot</div>\
        <button onclick=\"did('exit')\">Exit</button>";
    let (report, seen) = Pages::serve(PAGE)?.exec(&button("Enter"), &click(), &[])?;
    ensure!(report["error"]["code"] == "challenge" && seen.is_empty(), "{seen:?} {report:#}");
    let message = report["error"]["message"].as_str().unwrap_or_default();
    ensure!(message.contains("shows a test for humans") && message.contains("\"Page\""), "{message}");
    let step = report["steps"].as_array().into_iter().flatten().find(|step| step["origin"] == "plan");
    ensure!(step.is_some_and(|step| step["failure"]["cause"] == "targetNotFound"), "{report:#}");
    Ok(())
}

#[test]
fn another_locator_helps_where_a_name_is_spelled_otherwise() -> Result<()> {
    const PAGE: &str =
        "<button onclick=\"did('in')\">LOG IN \u{2192}</button> <button onclick=\"did('out')\">Log out</button>";
    only_helps("locators", PAGE, &button("Log in"), &click(), &["in"])?;
    const OTHER: &str = "<button onclick=\"did('google')\">Log in with Google</button>";
    is_left_alone(OTHER, &button("Log in"), &click())?;
    const TWO: &str = "<button onclick=\"did('one')\">LOG IN!</button><button onclick=\"did('two')\">LOG IN?</button>";
    is_left_alone(TWO, &button("Log in"), &click())?;
    const DELETES: &str = "<form method=post action='/did/deleted'><input type=hidden name=_method value=delete>\
        <button>DELETE ACCOUNT</button></form>";
    is_left_alone(DELETES, &button("Delete account"), &click())
}

const COVER: &str = "position: fixed; left: 0; right: 0; top: 0; height: 200px; background: #ccc; z-index: 9";

#[test]
fn closing_the_cover_helps_and_no_other_button_is_pressed() -> Result<()> {
    const PAGE: &str = "<button onclick=\"did('continue')\">Continue</button>\
        <div style='margin-top: 300px'><button onclick=\"did('account')\">Close</button></div>\
        <div id=cover style='position: fixed; left: 0; right: 0; top: 0; height: 200px; background: #ccc; z-index: 9'>\
        <p style='margin-top: 90px'>News</p><button onclick=\"cover.remove()\">Close</button></div>";
    assert!(PAGE.contains(COVER));
    only_helps("dismiss", PAGE, &button("Continue"), &click(), &["continue"])?;
    const WITHOUT: &str = "<button onclick=\"did('continue')\">Continue</button>\
        <div style='margin-top: 300px'><button onclick=\"did('account')\">Close</button></div>\
        <div style='position: fixed; left: 0; right: 0; top: 0; height: 200px; background: #ccc; z-index: 9'>News</div>";
    is_left_alone(WITHOUT, &button("Continue"), &click())
}

#[test]
fn a_banner_about_cookies_is_refused_and_an_offer_is_not_declined() -> Result<()> {
    const PAGE: &str = "<div style='height: 400px'></div><button onclick=\"did('continue')\">Continue</button>\
        <div id=cookie-consent style='position: fixed; inset: 0; background: #ccc; z-index: 9'>We use cookies.\
        <button onclick=\"did('accepted')\">Accept all</button>\
        <button onclick=\"document.getElementById('cookie-consent').remove(), did('refused')\">Reject all</button></div>";
    only_helps("dismiss", PAGE, &button("Continue"), &click(), &["refused", "continue"])?;
    // One that covers a part of the view, and has no marks but its words.
    const BANNER: &str = "<button onclick=\"did('continue')\">Continue</button>\
        <div id=b role=dialog aria-label=Cookies \
        style='position: fixed; left: 0; right: 0; top: 0; height: 200px; background: #ccc; z-index: 9'>\
        We value your privacy <button onclick=\"did('accepted')\">Accept all</button>\
        <button onclick=\"b.remove(), did('refused')\">Reject all</button> \
        <button onclick=\"did('managed')\">Manage</button></div>";
    only_helps("dismiss", BANNER, &button("Continue"), &click(), &["refused", "continue"])?;
    const OFFER: &str = "<button onclick=\"did('continue')\">Continue</button>\
        <div style='position: fixed; inset: 0; background: #ccc; z-index: 9'><p>An offer for your house.</p>\
        <button onclick=\"did('accepted')\">Accept</button><button onclick=\"did('declined')\">Decline</button></div>";
    is_left_alone(OFFER, &button("Continue"), &click())
}

#[test]
fn typing_slowly_helps_where_a_field_drops_keys() -> Result<()> {
    // The first keys are dropped while the field "starts", however slowly they come.
    const PAGE: &str = "<label>Name <input id=f></label><script>let keys = 0;\
        f.addEventListener('keydown', (event) => { if (event.key.length === 1 && ++keys > 1 && keys < 4) \
        event.preventDefault() });\
        f.addEventListener('beforeinput', (event) => { if (!event.data || event.data.length > 1) event.preventDefault() });\
        f.addEventListener('keydown', () => { if (f.seen) return; f.seen = 1;\
        setTimeout(() => { if (f.value !== 'Ann') f.value = '' }, 60) });\
        f.addEventListener('input', () => { if (f.value === 'Ann') did('Ann') })</script>";
    let step = json!({ "type": "type", "targetRef": "it", "text": "Ann", "timeoutMs": 4_000 });
    only_helps("retype", PAGE, &json!({ "strategy": "byLabel", "text": "Name" }), &step, &["Ann"])?;
    const UPPER: &str = "<label>Name <input id=f></label><script>\
        f.addEventListener('input', () => { f.value = f.value.toUpperCase().slice(0, 2) })</script>";
    is_left_alone(UPPER, &json!({ "strategy": "byLabel", "text": "Name" }), &step)?;
    // One that takes a code, and empties itself for the next one.
    const CODE: &str = "<label>Name <input id=f></label><script>f.addEventListener('input', () => {\
        if (f.value.length === 3) { did(f.value); f.value = '' } })</script>";
    let pages = Pages::serve(CODE)?;
    let (report, seen) = pages.exec(&json!({ "strategy": "byLabel", "text": "Name" }), &step, &[])?;
    ensure!(report["result"] == "failed" && seen == ["Ann"], "{seen:?} {report:#}");
    Ok(())
}

/// With all rungs the click on what the planner named is not made, and nothing else is clicked.
fn is_left_alone_once_changed(page: &'static str, line: &str) -> Result<()> {
    let pages = Pages::serve(page)?;
    let (report, seen) = pages.run(line, &[])?;
    ensure!(report["result"] != "ok", "{report:#}");
    ensure!(seen.is_empty(), "{seen:?}");
    Ok(())
}

#[test]
fn what_does_the_same_helps_where_a_link_is_called_otherwise() -> Result<()> {
    const LINK: &str = r#""role":"link","type":"plain","label":"Read more""#;
    const PAGE: &str = "<h1>News</h1><a id=it href='#next' onclick=\"did('next')\">Read more</a>\
        <p><a href='#other' onclick=\"did('other')\">All news</a>\
        <script>onceAsked(() => { it.textContent = 'Continue' })</script>";
    let pages = Pages::serve(PAGE)?;
    only_helps_in("candidates", &["next"], |flags| pages.run(LINK, flags))?;
    const ELSEWHERE: &str = "<h1>News</h1><a id=it href='#next' onclick=\"did('next')\">Read more</a>\
        <script>onceAsked(() => { it.textContent = 'Continue'; it.href = '#elsewhere' })</script>";
    is_left_alone_once_changed(ELSEWHERE, LINK)?;
    const TWO: &str = "<h1>News</h1><a id=it href='#next' onclick=\"did('next')\">Read more</a>\
        <p><a href='#next' onclick=\"did('too')\">Next</a>\
        <script>onceAsked(() => { it.textContent = 'Continue' })</script>";
    is_left_alone_once_changed(TWO, LINK)
}

#[test]
fn a_fingerprint_helps_where_a_frame_was_loaded_again() -> Result<()> {
    // The rows around the buttons say something else by then, and only their test ids tell the two apart.
    const OPEN: &str = r#""role":"button","type":"plain","label":"Open","locatorHint":"byTestId=\\"b\\"#;
    const PAGE: &str = "<iframe id=f></iframe><script>\
        const row = (name, id) => `<li>${name} <button data-testid=${id} onclick=\"parent.did('${id}')\">Open</button></li>`;\
        const load = (rows) => new Promise((loaded) => { f.onload = loaded; f.srcdoc = `<ul>${rows}</ul>` });\
        load(row('Ann', 'a') + row('Bob', 'b'));\
        onceAsked(() => load(row('Ann, 1 new', 'a') + row('Bob, 2 new', 'b')))</script>";
    let pages = Pages::serve(PAGE)?;
    only_helps_in("fingerprint", &["b"], |flags| pages.run(OPEN, flags))?;
    const OTHERS: &str = "<iframe id=f></iframe><script>\
        const row = (name, id) => `<li>${name} <button data-testid=${id} onclick=\"parent.did('${id}')\">Open</button></li>`;\
        const load = (rows) => new Promise((loaded) => { f.onload = loaded; f.srcdoc = `<ul>${rows}</ul>` });\
        load(row('Ann', 'a') + row('Bob', 'b'));\
        onceAsked(() => load(row('Carl', 'c') + row('Dora', 'd')))</script>";
    is_left_alone_once_changed(OTHERS, OPEN)
}

#[test]
fn looking_at_the_whole_page_helps_where_a_frame_reloaded_out_of_view() -> Result<()> {
    const OPEN: &str = r#""role":"button","type":"plain","label":"Open","locatorHint":"byTestId=\\"b\\"#;
    const PAGE: &str = "<p id=more></p><iframe id=f></iframe><script>\
        const row = (name, id) => `<li>${name} <button data-testid=${id} onclick=\"parent.did('${id}')\">Open</button></li>`;\
        const load = (rows) => new Promise((loaded) => { f.onload = loaded; f.srcdoc = `<ul>${rows}</ul>` });\
        load(row('Ann', 'a') + row('Bob', 'b'));\
        onceAsked(() => { more.style.height = '9000px'; return load(row('Ann, 1 new', 'a') + row('Bob, 2 new', 'b')) })</script>";
    let pages = Pages::serve(PAGE)?;
    // What it finds has to be recognised, so a second rung has a part in it.
    let (report, seen) = pages.run(OPEN, &["--repair-rungs", "fingerprint,frames"])?;
    ensure!(report["result"] == "ok" && seen == ["b"], "{seen:?} {report:#}");
    let others: Vec<&str> = ALL.into_iter().filter(|one| *one != "frames").collect();
    let (report, seen) = pages.run(OPEN, &["--repair-rungs", &others.join(",")])?;
    ensure!(report["result"] == "failed" && seen.is_empty(), "{seen:?} {report:#}");
    let (report, seen) = pages.run(OPEN, &[])?;
    ensure!(report["result"] == "ok" && seen == ["b"], "with all rungs: {seen:?} {report:#}");

    const OTHERS: &str = "<p id=more></p><iframe id=f></iframe><script>\
        const row = (name, id) => `<li>${name} <button data-testid=${id} onclick=\"parent.did('${id}')\">Open</button></li>`;\
        const load = (rows) => new Promise((loaded) => { f.onload = loaded; f.srcdoc = `<ul>${rows}</ul>` });\
        load(row('Ann', 'a') + row('Bob', 'b'));\
        onceAsked(() => { more.style.height = '9000px'; return load(row('Carl', 'c') + row('Dora', 'd')) })</script>";
    is_left_alone_once_changed(OTHERS, OPEN)
}

#[test]
fn a_link_of_the_same_name_to_another_address_is_not_followed() -> Result<()> {
    const LINK: &str = r#""role":"link","type":"plain","label":"Details""#;
    const ELSEWHERE: &str = "<div id=list><a href='#7' onclick=\"did('seven')\">Details</a></div>\
        <script>onceAsked(() => { list.innerHTML = '<a href=\"#8\" onclick=\"did(`eight`)\">DETAILS</a>' })</script>";
    is_left_alone_once_changed(ELSEWHERE, LINK)
}

/// A program that repairs a plan by a click on the button with this name.
fn repairs_by_clicking(pages: &Pages, name: &str) -> Result<String> {
    let script = format!(
        r#"while read -r request; do
id=$(printf %s "$request" | grep -o '"id":"c[0-9]*","role":"button","type":"[a-z]*","label":"{name}"' | cut -d'"' -f4)
echo '{{"version":"1.0","steps":[{{"type":"click","targetRef":"'${{id:-c999}}'"}},{{"type":"finish"}}]}}'; done"#
    );
    let file = pages.folder.path().join("repairs.sh");
    std::fs::write(&file, script)?;
    Ok(format!("exec:sh {}", file.display()))
}

#[test]
fn a_planner_helps_where_a_button_has_another_name() -> Result<()> {
    const PAGE: &str =
        "<button onclick=\"did('kept')\">Keep changes</button> <button onclick=\"did('left')\">Leave</button>";
    let pages = Pages::serve(PAGE)?;
    let planner = repairs_by_clicking(&pages, "Keep changes")?;
    let work =
        |rungs: &str| pages.exec(&button("Save"), &click(), &["--repair-planner", &planner, "--repair-rungs", rungs]);
    let (report, seen) = work("replan")?;
    ensure!(report["result"] == "ok" && seen == ["kept"], "{seen:?} {report:#}");
    let others: Vec<&str> = ALL.into_iter().filter(|one| *one != "replan").collect();
    let (report, seen) = work(&others.join(","))?;
    ensure!(report["result"] == "failed" && seen.is_empty(), "{seen:?} {report:#}");
    ensure!(report["usage"]["plannerCalls"] == 0, "{report:#}");

    // A planner's click on what deletes something needs a consent that the plan does not carry.
    const DELETES: &str = "<form method=post action='/did/deleted'><input type=hidden name=_method value=delete>\
        <button>Delete account</button></form>";
    for name in ["Delete account", "Nothing"] {
        let pages = Pages::serve(DELETES)?;
        let planner = repairs_by_clicking(&pages, name)?;
        let (report, seen) = pages.exec(&button("Save"), &click(), &["--repair-planner", &planner])?;
        ensure!(report["result"] != "ok" && seen.is_empty(), "{name}: {seen:?} {report:#}");
    }
    Ok(())
}
