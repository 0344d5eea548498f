//! Replays of recorded runs: on the same page, on a page that drifted, and of logs that lie.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{StatusCode, Uri};
use axum::response::{Html, IntoResponse as _};
use axum::routing::{any, get};
use cuebook_grammar::record::RECORD_VERSION;
use cuebook_tests::{CliOutput, Shop, cuebook};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

type Pages = Arc<Mutex<BTreeMap<String, (StatusCode, String)>>>;

/// A server whose pages the test changes.
pub(super) struct Changing {
    pub(super) origin: String,
    pages: Pages,
    requested: Arc<Mutex<Vec<String>>>,
    pub(super) folder: TempDir,
    runtime: Runtime,
}

impl Changing {
    pub(super) fn open() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let (pages, requested) = (Pages::default(), Arc::<Mutex<Vec<String>>>::default());
        let seen = requested.clone();
        let serve = move |State(pages): State<Pages>, uri: Uri| async move {
            let pages = pages.lock().unwrap_or_else(PoisonError::into_inner);
            let (status, body) = pages.get(uri.path()).cloned().unwrap_or((StatusCode::NOT_FOUND, String::new()));
            if uri.path().ends_with(".js") {
                return (status, [(CONTENT_TYPE, "text/javascript")], body).into_response();
            }
            (status, Html(format!("<!doctype html><title>Test</title><body>{body}"))).into_response()
        };
        let serve = move |pages: State<Pages>, uri: Uri| {
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(uri.path().to_owned());
            serve(pages, uri)
        };
        let none = get(|| async { StatusCode::NO_CONTENT });
        let router = Router::new().route("/favicon.ico", none).fallback(any(serve)).with_state(pages.clone());
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
        let origin = format!("http://{}", listener.local_addr()?);
        runtime.spawn(async move { axum::serve(listener, router).await });
        Ok(Self { origin, pages, requested, folder: TempDir::new()?, runtime })
    }

    /// Waits until something holds, for a minute.
    pub(super) fn until(&self, holds: impl Fn() -> bool) -> Result<()> {
        for _ in 0..3_000 {
            if holds() {
                return Ok(());
            }
            self.runtime.block_on(async { tokio::time::sleep(Duration::from_millis(20)).await });
        }
        anyhow::bail!("it never came true")
    }

    /// The paths that were asked for so far, in order.
    pub(super) fn requested(&self) -> Vec<String> {
        self.requested.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn put(&self, path: &str, body: &str) {
        self.answer(path, StatusCode::OK, body);
    }

    fn answer(&self, path: &str, status: StatusCode, body: &str) {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.insert(path.to_owned(), (status, body.to_owned()));
    }

    /// Runs `cuebook` with a folder for runs.
    pub(super) fn cuebook(&self, args: &[&str]) -> Result<CliOutput> {
        let out = self.folder.path().join("runs");
        cuebook(&[args, &["--out", text(&out)?, "--json"]].concat())
    }

    fn run(&self, task: &str) -> Result<CliOutput> {
        let ended = self.cuebook(&["run", task, "--url", &self.origin])?;
        assert_eq!(ended.code, 0, "{ended:?}");
        Ok(ended)
    }
}

pub(super) fn text(path: &Path) -> Result<&str> {
    path.to_str().context("expected a path in UTF-8")
}

/// The kinds of the divergences, with their steps.
fn kinds(replayed: &Value) -> Vec<(u64, String)> {
    let all = replayed["replay"]["divergences"].as_array().cloned().unwrap_or_default();
    all.iter().map(|one| (one["step"].as_u64().unwrap_or(99), one["kind"].as_str().unwrap_or("").to_owned())).collect()
}

const SAVE: &str = "<h1>Draft</h1><label>Title <input id=title></label><p id=said></p>\
                    <button id=save onclick=\"said.textContent = 'kept ' + title.value\">Save draft</button>";

#[test]
fn a_run_on_a_page_of_random_markup_replays_without_a_planner() -> Result<()> {
    let shop = Shop::open()?;
    let task = "Fill in Display name with Ann and Phone with 12345 and press \"Save preferences\"";
    let recorded = shop.run("/drift", task, &[])?.run_dir()?;
    for times in 2..=4 {
        // The pictures differ, because the page does.
        let ended = shop.cuebook(&["replay", text(&recorded)?, "--similarity", "0"])?;
        assert_eq!(ended.code, 0, "{ended:?}");
        let report = ended.json()?;
        assert_eq!((&report["result"], kinds(&report)), (&json!("ok"), vec![]), "{report:#}");
        assert_eq!(report["usage"]["plannerCalls"], 0);
        assert_eq!(report["replay"]["steps"], 3);
        let state = shop.state();
        let saved = state["submissions"].as_array().into_iter().flatten();
        let saved = saved.filter(|one| one["form"] == "drift" && one["fields"]["phone"] == "12345").count();
        assert_eq!(saved, times, "{state}");
        let log = fs::read_to_string(ended.run_dir()?.join("log.jsonl"))?;
        assert!(log.lines().next().is_some_and(|header| header.contains(r#""command":"replay""#)), "{log}");
    }
    Ok(())
}

#[test]
fn a_renamed_button_is_found_by_its_id_and_healed() -> Result<()> {
    let site = Changing::open()?;
    site.put("/", SAVE);
    let recorded = site.run("Type Hello into Title. Press \"Save draft\"")?.run_dir()?;
    site.put("/", &SAVE.replace("Save draft", "Keep draft"));

    let replay = ["replay", text(&recorded)?, "--similarity", "0", "--timeout", "3s", "--heal"];
    let ended = site.cuebook(&replay)?;
    assert_eq!(ended.code, 1, "{ended:?}");
    let report = ended.json()?;
    assert_eq!((&report["result"], kinds(&report)), (&json!("ok"), vec![(2, "target".to_owned())]), "{report:#}");
    let first = &report["replay"]["divergences"][0];
    assert_eq!(first["recorded"], json!([r#"role=button name="Save draft""#]));
    assert_eq!(first["replayed"], json!([r#"button "Keep draft""#]));

    let healed = Path::new(report["healedPlan"].as_str().context("expected a healed plan")?);
    let plan = fs::read_to_string(healed)?;
    assert!(plan.contains("Keep draft") && !plan.contains("\"Save draft\""), "{plan}");
    let passed = site.cuebook(&["exec", text(healed)?, "--url", &site.origin])?;
    assert_eq!(passed.code, 0, "{passed:?}");
    // The replay is a recording itself.
    let again = site.cuebook(&["replay", text(&ended.run_dir()?)?, "--similarity", "0"])?;
    assert_eq!((again.code, kinds(&again.json()?)), (0, vec![]), "{again:?}");

    let shown = cuebook(&[&replay[..], &["--out", text(&site.folder.path().join("shown"))?]].concat())?;
    assert_eq!(shown.code, 1, "{shown:?}");
    for part in [
        "first divergence: step 2 (click button \"Save draft\"): target",
        "-      \"name\": \"Save draft\"",
        "+      \"name\": \"Keep draft\"",
    ] {
        assert!(shown.stdout.contains(part), "{part} in {}", shown.stdout);
    }
    Ok(())
}

#[test]
fn what_is_not_found_again_is_the_first_divergence_and_nothing_is_guessed() -> Result<()> {
    let site = Changing::open()?;
    site.put("/", SAVE);
    let recorded = site.run("Type Hello into Title. Press \"Save draft\"")?.run_dir()?;
    site.put("/", &SAVE.replace("Save draft", "Throw away").replace("id=save", ""));
    let ended = site.cuebook(&["replay", text(&recorded)?, "--timeout", "2s", "--heal"])?;
    assert_eq!(ended.code, 1, "{ended:?}");
    let report = ended.json()?;
    assert_eq!(report["error"]["code"], "targetNotFound", "{report:#}");
    assert_eq!(report["replay"]["divergences"][0]["kind"], "outcome", "{report:#}");
    assert_eq!(report["replay"]["divergences"][0]["replayed"], json!(["failed: targetNotFound"]));
    assert_eq!(report["healedPlan"], Value::Null);
    Ok(())
}

#[test]
fn another_answer_of_the_server_is_named_by_step() -> Result<()> {
    let site = Changing::open()?;
    let page = |to: &str| {
        format!(
            "<button onclick=\"fetch('/log?t=' + Date.now()).then(() => fetch('{to}')).then(() => p.textContent = 'x')\">Go</button><p id=p></p>"
        )
    };
    site.put("/log", "");
    site.put("/old", "");
    site.put("/new", "");
    site.put("/", &page("/old"));
    let recorded = site.run("Press Go")?.run_dir()?;
    let recorded = text(&recorded)?;
    let same = site.cuebook(&["replay", recorded])?;
    assert_eq!((same.code, kinds(&same.json()?)), (0, vec![]), "a time in a query is no difference: {same:?}");

    site.put("/", &page("/new"));
    let differs = site.cuebook(&["replay", recorded])?;
    let report = differs.json()?;
    assert_eq!((differs.code, kinds(&report)), (1, vec![(1, "requests".to_owned())]), "{report:#}");
    assert_eq!(report["replay"]["divergences"][0]["recorded"], json!(["GET /old 200"]));
    assert_eq!(report["replay"]["divergences"][0]["replayed"], json!(["GET /new 200"]));
    let ignored = site.cuebook(&["replay", recorded, "--ignore", "/(old|new)$"])?;
    assert_eq!(ignored.code, 0, "{ignored:?}");

    site.put("/", &page("/old"));
    site.answer("/old", StatusCode::INTERNAL_SERVER_ERROR, "");
    let broken = site.cuebook(&["replay", recorded])?.json()?;
    let kinds = kinds(&broken);
    assert!(kinds.contains(&(1, "requests".to_owned())), "{broken:#}");
    Ok(())
}

#[test]
fn a_recording_of_one_build_is_replayed_on_another() -> Result<()> {
    let (site, build) = (Changing::open()?, Changing::open()?);
    let page = "<button onclick=\"fetch('/save').then(() => p.textContent = 'x')\">Go</button><p id=p></p>";
    for one in [&site, &build] {
        one.put("/save", "");
        one.put("/saved", "");
        one.put("/", page);
    }
    let recorded = site.run("Press Go")?.run_dir()?;
    site.put("/", "<p>The old build is down.");
    let replay = ["replay", text(&recorded)?, "--url", &build.origin];
    let same = site.cuebook(&replay)?;
    let report = same.json()?;
    assert_eq!((same.code, kinds(&report)), (0, vec![]), "{report:#}");
    assert_eq!(report["steps"][0]["action"]["url"], build.origin, "{report:#}");

    build.put("/", &page.replace("/save", "/saved"));
    let differs = site.cuebook(&replay)?;
    let report = differs.json()?;
    assert_eq!((differs.code, kinds(&report)), (1, vec![(1, "requests".to_owned())]), "{report:#}");
    assert_eq!(report["replay"]["divergences"][0]["replayed"], json!(["GET /saved 200"]));
    Ok(())
}

#[test]
fn a_failure_replays_as_the_same_failure() -> Result<()> {
    let site = Changing::open()?;
    site.put("/", SAVE);
    let plan = json!({
        "version": "1.0", "candidates": { "save": { "strategy": "byRole", "role": "button", "name": "Save draft" } },
        "steps": [{ "type": "click", "targetRef": "save", "post": [{ "kind": "urlMatches", "pattern": "nowhere" }] }],
    });
    let file = site.folder.path().join("plan.json");
    fs::write(&file, plan.to_string())?;
    let failed = site.cuebook(&["exec", text(&file)?, "--url", &site.origin, "--no-repair"])?;
    assert_eq!(failed.code, 1, "{failed:?}");
    let again = site.cuebook(&["replay", text(&failed.run_dir()?)?, "--no-repair"])?;
    assert_eq!((again.code, kinds(&again.json()?)), (0, vec![]), "{again:?}");
    assert_eq!(again.json()?["result"], "failed");
    Ok(())
}

#[test]
fn a_password_is_asked_for_again_before_a_browser_starts() -> Result<()> {
    let shop = Shop::open()?;
    let recorded = shop.run("/login", "Log in as ann with password correct-horse", &[])?;
    assert_eq!(recorded.code, 0, "{recorded:?}");
    let recorded = recorded.run_dir()?;
    let refused = shop.cuebook(&["replay", text(&recorded)?, "--chrome", "/nowhere"])?;
    let report = refused.json()?;
    assert_eq!((refused.code, &report["error"]["code"], &report["runId"]), (2, &json!("invalidPlan"), &Value::Null));
    let message = report["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("step 2 (type textbox \"Password\")") && message.contains("--credential"), "{message}");

    let secrets = shop.runs().join("secrets.toml");
    fs::write(&secrets, "shop_password.value = \"correct-horse\"\n")?;
    #[cfg(unix)]
    fs::set_permissions(&secrets, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    let flags = ["--credential", "2=shop_password", "--secrets", text(&secrets)?];
    let ended = shop.cuebook(&[&["replay", text(&recorded)?][..], &flags].concat())?;
    assert_eq!((ended.code, kinds(&ended.json()?)), (0, vec![]), "{ended:?}");
    assert_eq!(shop.state()["logins"].as_array().map_or(0, Vec::len), 2);
    let needless = shop.cuebook(&["replay", text(&recorded)?, "--credential", "1=shop_password"])?;
    assert_eq!(needless.code, 2, "{needless:?}");
    Ok(())
}

#[test]
fn a_log_that_lies_is_refused_or_replayed_and_breaks_nothing() -> Result<()> {
    let out = TempDir::new()?;
    let run = out.path().join("run");
    fs::create_dir(&run)?;
    let header = json!({ "entry": "header", "schemaVersion": RECORD_VERSION, "runId": "r", "tsMs": 1, "cuebook": "0",
                         "command": "\u{1b}[2J", "task": "\u{202e}", "url": "javascript:alert(1)" });
    let commit = |action: &Value, candidates: &Value| {
        json!({ "entry": "commit", "schemaVersion": RECORD_VERSION, "runId": "r", "stepIndex": 0, "origin": "plan",
                "attempt": 1, "url": "about:blank", "risk": "write", "effectClass": "reversible", "action": action,
                "candidates": candidates, "execution": { "tsMs": 1, "durationMs": 1 }, "result": "ok" })
    };
    let begin = json!({ "entry": "begin", "schemaVersion": RECORD_VERSION, "runId": "r", "stepIndex": 0,
                        "origin": "plan", "attempt": 1, "action": { "type": "reload" }, "tsMs": 1 });
    let css = |selector: &str| json!({ "c1": { "declared": { "strategy": "css", "selector": selector } } });
    let click = json!({ "type": "click", "targetRef": "c1" });
    let cases = [
        ("nonsense\n".to_owned(), 2),
        (format!("{header}\n"), 2),
        (format!("{header}\n{begin}\n{}\n", commit(&click, &json!({}))), 2),
        (format!("{header}\n{begin}\n{}\n", commit(&click, &css("> \u{1b}[31m"))), 4),
        (
            format!(
                "{header}\n{begin}\n{}\n",
                commit(&json!({ "type": "evaluate", "script": "[redacted]" }), &json!({}))
            ),
            2,
        ),
    ];
    for (log, code) in cases {
        fs::write(run.join("log.jsonl"), &log)?;
        let ended = cuebook(&["replay", text(&run)?, "--out", text(&out.path().join("replays"))?, "--json"])?;
        assert!(ended.code == code || ended.code == 2, "{log}\n{ended:?}");
        assert!(!ended.stderr.contains('\u{1b}') && !ended.stderr.contains("panicked"), "{ended:?}");
        ended.json()?;
    }
    Ok(())
}

/// Neither its name nor its path is what it was; another role there is another thing.
#[test]
fn what_lies_where_the_target_lay_is_found_at_last() -> Result<()> {
    let site = Changing::open()?;
    let at = "style='position:absolute;left:300px;top:1200px;width:120px;height:40px'";
    site.put("/", &format!("<main><p>Drafts</p><button {at} onclick='this.dataset.on = 1'>Save</button></main>"));
    let run = site.run("Press \"Save\"")?.run_dir()?;
    let replay = || site.cuebook(&["replay", text(&run)?, "--timeout", "3s"]);
    let other = "<section><h2>Invoices</h2><ul><li>one</li></ul></section><form><div>";
    site.put(
        "/",
        &format!("{other}<button type=button {at} onclick='this.dataset.on = 1'>Keep it</button></div></form>"),
    );
    let found = replay()?.json()?;
    let divergence = &found["replay"]["divergences"][0];
    assert_eq!((&found["result"], &divergence["kind"]), (&json!("ok"), &json!("target")), "{found:#}");
    assert_eq!(divergence["replayed"], json!(["button \"Keep it\""]), "{found:#}");
    site.put("/", &format!("{other}<a href='#x' {at}>Keep it</a></div></form>"));
    let lost = replay()?;
    assert_eq!((lost.code, lost.json()?["error"]["code"].as_str()), (1, Some("targetNotFound")), "{lost:?}");
    Ok(())
}

/// Once, where its postcondition failed; never after a step at a point.
#[test]
fn a_step_whose_postcondition_failed_is_undone_as_it_states() -> Result<()> {
    let site = Changing::open()?;
    site.put(
        "/",
        "<button onclick=\"box.hidden = false\">Settings</button>\
         <div id=box role=dialog aria-label=Wrong hidden>Wrong</div>\
         <script>onkeydown = e => { if (e.key == 'Escape') { box.hidden = true; fetch('/closed.js') } }</script>",
    );
    site.put("/closed.js", "");
    let run = |verb: Value, flags: &[&str]| -> Result<(i32, Vec<Value>)> {
        let plan = site.folder.path().join("plan.json");
        let candidates = json!({ "it": { "strategy": "byRole", "role": "button", "name": "Settings" },
                                 "right": { "strategy": "byRole", "role": "dialog", "name": "Right" } });
        let mut step = json!({ "post": [{ "kind": "visible", "target": "right" }],
                               "undo": [{ "type": "press", "keys": "Escape" }], "timeoutMs": 1500 });
        step.as_object_mut().context("a step")?.extend(verb.as_object().cloned().unwrap_or_default());
        fs::write(&plan, json!({ "version": "1.0", "candidates": candidates, "steps": [step] }).to_string())?;
        let grant = format!("destructive@{}", site.origin);
        let args = ["exec", text(&plan)?, "--url", &site.origin, "--grant", &grant];
        let ended = site.cuebook(&[&args[..], flags].concat())?;
        let steps = ended.json()?["steps"].as_array().cloned().unwrap_or_default();
        let undone = steps.into_iter().filter(|step| step["origin"] == "repair" && step["action"]["type"] == "press");
        Ok((ended.code, undone.collect()))
    };
    let click = json!({ "type": "click", "targetRef": "it" });
    let (code, undone) = run(click.clone(), &[])?;
    assert_eq!((code, undone.len()), (1, 1), "the failure stands: {undone:#?}");
    assert_eq!(undone[0]["action"]["explanation"], "undoes step 1, whose postcondition failed");
    assert_eq!(
        (&undone[0]["result"], undone[0]["effects"]["requests"][0]["status"].as_u64()),
        (&json!("ok"), Some(200))
    );
    assert_eq!(run(click, &["--no-repair"])?.1.len(), 0);
    let at = json!({ "type": "clickPoint", "point": { "x": 30, "y": 20 } });
    assert_eq!(run(at, &[])?.1.len(), 0, "what a point hits may be anything");
    Ok(())
}
