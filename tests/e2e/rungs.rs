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
struct Pages {
    origin: String,
    done: Arc<Mutex<Vec<String>>>,
    folder: TempDir,
    _runtime: tokio::runtime::Runtime,
}

impl Pages {
    fn serve(page: &'static str) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let done = Arc::<Mutex<Vec<String>>>::default();
        let reports = done.clone();
        const HEAD: &str = "<!doctype html><title>Page</title><link rel=icon href='data:,'><script>\
            const did = (what) => fetch('/did/' + what, { method: 'POST', keepalive: true });</script>";
        let router = Router::new().route("/", get(move || async move { Html(format!("{HEAD}{page}")) })).route(
            "/did/{what}",
            post(move |Path(what): Path<String>| async move {
                reports.lock().unwrap_or_else(PoisonError::into_inner).push(what);
            }),
        );
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
        let origin = format!("http://{}/", listener.local_addr()?);
        runtime.spawn(async move { axum::serve(listener, router).await });
        Ok(Self { origin, done, folder: TempDir::new()?, _runtime: runtime })
    }

    /// Executes one step, with flags; the report and what the page reported.
    fn exec(&self, target: &Value, step: &Value, flags: &[&str]) -> Result<(Value, Vec<String>)> {
        let plan = json!({ "version": "1.0", "candidates": { "it": target }, "steps": [step] });
        let file = self.folder.path().join("plan.json");
        std::fs::write(&file, plan.to_string())?;
        let (file, out) = (file.to_string_lossy().into_owned(), self.folder.path().to_string_lossy().into_owned());
        let mut args = vec!["exec", &file, "--url", &self.origin, "--json", "--out", &out];
        args.extend(flags);
        let report = cuebook(&args)?.json()?;
        let done = std::mem::take(&mut *self.done.lock().unwrap_or_else(PoisonError::into_inner));
        Ok((report, done))
    }
}

const ALL: [&str; 9] =
    ["wait", "scroll", "fingerprint", "locators", "candidates", "dismiss", "frames", "retype", "replan"];

/// With the rung alone the step succeeds and the log names it; with all others it fails, and nothing is done.
fn only_helps(rung: &str, page: &'static str, target: &Value, step: &Value, done: &[&str]) -> Result<()> {
    let pages = Pages::serve(page)?;
    let (report, seen) = pages.exec(target, step, &["--repair-rungs", rung])?;
    ensure!(report["result"] == "ok", "{rung}: {report:#}");
    ensure!(seen == done, "{rung}: {seen:?}");
    let named = format!("rung: {rung}");
    let dir = report["runDir"].as_str().unwrap_or_default();
    let log = std::fs::read_to_string(std::path::Path::new(dir).join("log.jsonl"))?;
    ensure!(log.contains(&named), "the log does not name it: {log}");
    ensure!(log.contains("durationMs"), "nor what it cost");

    let others: Vec<&str> = ALL.into_iter().filter(|one| *one != rung).collect();
    let (report, seen) = pages.exec(target, step, &["--repair-rungs", &others.join(",")])?;
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
    const OFFER: &str = "<button onclick=\"did('continue')\">Continue</button>\
        <div style='position: fixed; inset: 0; background: #ccc; z-index: 9'><p>An offer for your house.</p>\
        <button onclick=\"did('accepted')\">Accept</button><button onclick=\"did('declined')\">Decline</button></div>";
    is_left_alone(OFFER, &button("Continue"), &click())
}

#[test]
fn typing_slowly_helps_where_a_field_drops_keys() -> Result<()> {
    const PAGE: &str = "<label>Name <input id=f></label><script>let last = -1e9;\
        f.addEventListener('keydown', (event) => { if (event.timeStamp - last < 25 || !f.dataset.slow && !last) \
        event.preventDefault(); last = event.timeStamp });\
        f.addEventListener('beforeinput', (event) => { if (!event.data || event.data.length > 1) event.preventDefault() });\
        f.addEventListener('keydown', () => { if (f.seen) return; f.seen = 1;\
        setTimeout(() => { if (f.value !== 'Ann') f.value = '' }, 60) });\
        f.addEventListener('input', () => { if (f.value === 'Ann') did('Ann') })</script>";
    let step = json!({ "type": "type", "targetRef": "it", "text": "Ann", "timeoutMs": 4_000 });
    only_helps("retype", PAGE, &json!({ "strategy": "byLabel", "text": "Name" }), &step, &["Ann"])?;
    const UPPER: &str = "<label>Name <input id=f></label><script>\
        f.addEventListener('input', () => { f.value = f.value.toUpperCase().slice(0, 2) })</script>";
    is_left_alone(UPPER, &json!({ "strategy": "byLabel", "text": "Name" }), &step)
}
