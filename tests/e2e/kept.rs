//! Browsers that run one case of a suite, or one replay of a search, after another: nothing stays of the one before, and no
//! browser stays in the end.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use cuebook_tests::command;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::replay::{Changing, text};

/// A browser that notes each of its starts, and a place for the profiles.
pub(super) struct Counted(TempDir);

impl Counted {
    pub(super) fn new() -> Result<Self> {
        let folder = TempDir::new()?;
        let program = cuebook_testkit::browser(folder.path()).binary.path;
        let script = format!(
            "#!/bin/sh\necho $$ >>'{}'\nexec '{}' \"$@\"\n",
            folder.path().join("starts").display(),
            program.display(),
        );
        fs::create_dir(folder.path().join("tmp"))?;
        let chrome = folder.path().join("chrome");
        fs::write(&chrome, script)?;
        fs::set_permissions(&chrome, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        Ok(Self(folder))
    }

    pub(super) fn chrome(&self) -> PathBuf {
        self.0.path().join("chrome")
    }

    /// `cuebook` with this browser.
    fn command(&self, args: &[&str]) -> Result<Command> {
        let mut command = command()?;
        command.args(args).arg("--chrome").arg(self.chrome()).env("TMPDIR", self.0.path().join("tmp"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }

    /// The process ids of all starts.
    pub(super) fn starts(&self) -> Vec<String> {
        let ids = fs::read_to_string(self.0.path().join("starts")).unwrap_or_default();
        ids.lines().map(str::to_owned).collect()
    }

    /// Processes and profiles that are left.
    fn left(&self) -> Result<Vec<PathBuf>> {
        let processes = self.starts().into_iter().map(|id| Path::new("/proc").join(id)).filter(|path| path.exists());
        let mut left: Vec<PathBuf> = processes.collect();
        for root in fs::read_dir(self.0.path().join("tmp"))? {
            let inside = fs::read_dir(root?.path()).into_iter().flatten().flatten().map(|entry| entry.path());
            left.extend(inside.filter(|path| path.to_string_lossy().contains("/profile-")));
        }
        Ok(left)
    }
}

/// A suite for pages of `site`: the name, path, plan and expected text of `#said` of each case, and what else it has.
fn suite(site: &Changing, cases: &[(&str, &str, Value, &str, &str)]) -> Result<PathBuf> {
    let mut suite = format!("url = \"{}\"\n", site.origin);
    for (number, (name, path, plan, said, more)) in cases.iter().enumerate() {
        let file = site.folder.path().join(format!("{number}.json"));
        fs::write(&file, plan.to_string())?;
        suite.push_str(&format!(
            "[[case]]\nname = \"{name}\"\nurl = \"{path}\"\nplan = \"{number}.json\"\n{more}\n\
             expect = [{{ kind = \"elementTextEquals\", target = \"said\", text = \"{said}\" }}]\n\
             candidates.said = {{ strategy = \"css\", selector = \"#said\" }}\n"
        ));
    }
    let path = site.folder.path().join("suite.toml");
    fs::write(&path, suite)?;
    Ok(path)
}

/// A plan that presses `#go`.
fn press(post: &Value) -> Value {
    json!({ "version": "1.0", "candidates": { "go": { "strategy": "css", "selector": "#go" } },
            "steps": [{ "type": "click", "targetRef": "go", "post": post }] })
}

/// A plan that waits for `#said` to contain a text.
fn wait(said: &str) -> Value {
    let has_text = json!({ "kind": "elementTextContains", "target": "said", "text": said });
    json!({ "version": "1.0", "candidates": { "said": { "strategy": "css", "selector": "#said" } },
            "steps": [{ "type": "waitFor", "condition": has_text, "timeoutMs": 10_000 }] })
}

fn test(site: &Changing, counted: &Counted, suite: &Path, flags: &[&str]) -> Result<(Option<i32>, Value)> {
    let runs = site.folder.path().join("runs");
    let args = [&["test", text(suite)?, "--json", "--out", text(&runs)?], flags].concat();
    let ended = counted.command(&args)?.output()?;
    let results = serde_json::from_slice(&ended.stdout).context(String::from_utf8_lossy(&ended.stderr).into_owned())?;
    Ok((ended.status.code(), results))
}

fn passed(results: &Value) -> Vec<bool> {
    results["cases"].as_array().into_iter().flatten().map(|case| case["status"] == "passed").collect()
}

const STAIN: &str =
    "<button id=go onclick='stain()'>Go</button><input id=secret value='carried over'><p id=said></p><script>
    const stain = async () => {
        secret.select();
        document.execCommand('copy');
        open('/popup');
        document.cookie = 'stain=1; max-age=600';
        localStorage.stain = sessionStorage.stain = 1;
        await (await caches.open('stain')).put('/stained', new Response('1'));
        await new Promise(done => { indexedDB.open('stain', 1).onsuccess = done; });
        await navigator.serviceWorker.register('/worker.js', { scope: '/' });
        await navigator.serviceWorker.ready;
        said.textContent = 'all stained';
    };</script>";

const POPUP: &str =
    "<script>new BroadcastChannel('stain').onmessage = ({ target }) => target.postMessage('here');</script>";

const LEAVE: &str = "<button id=go onclick='leave()'>Go</button><p id=said>left</p><script>const leave = () => {
    onbeforeunload = event => event.preventDefault();
    setTimeout(() => alert('left'));
    };</script>";

const LOOK: &str = "<p id=said></p><script>(async () => {
    const channel = new BroadcastChannel('stain');
    const answered = new Promise(done => {
        channel.onmessage = () => done(true);
        setTimeout(() => done(false), 300);
    });
    channel.postMessage('who is here?');
    const found = {
        cookie: document.cookie,
        storage: localStorage.stain,
        session: sessionStorage.stain,
        cache: await caches.has('stain'),
        database: (await indexedDB.databases()).length,
        worker: (await navigator.serviceWorker.getRegistrations()).length,
        clipboard: await navigator.clipboard.readText(),
        popup: await answered,
    };
    said.textContent = 'found ' + (Object.keys(found).filter(name => found[name]).join(', ') || 'nothing');
    })();</script>";

#[test]
fn a_case_sees_nothing_of_what_earlier_ones_in_its_browser_left() -> Result<()> {
    let (site, counted) = (Changing::open()?, Counted::new()?);
    for (path, page) in [("/stain", STAIN), ("/popup", POPUP), ("/leave", LEAVE), ("/look", LOOK), ("/worker.js", "")] {
        site.put(path, page);
    }
    let everything = "found cookie, storage, session, cache, database, worker, clipboard, popup";
    let alert = json!([{ "kind": "dialogOpened", "dialog": "alert" }]);
    let suite = suite(
        &site,
        &[
            ("Stain", "/stain", press(&json!([])), "all stained", ""),
            ("Look", "/look", wait("found"), "found nothing", ""),
            ("Stain what is shared", "/stain", press(&json!([])), "all stained", "context = \"shared\""),
            ("Look at what is shared", "/look", wait("found"), everything, "context = \"shared\""),
            ("Look beside it", "/look", wait("found"), "found nothing", ""),
            ("Leave dialogs", "/leave", press(&alert), "left", ""),
            ("Look after dialogs", "/look", wait("found"), "found nothing", ""),
        ],
    )?;
    let grant = format!("clipboard-read@{}", site.origin);
    let (_, results) = test(&site, &counted, &suite, &["--permission", &grant])?;
    // The expectation behind the alert fails.
    assert_eq!(passed(&results), [true, true, true, true, true, false, true], "{results:#}");
    assert_eq!(counted.starts().len(), 1, "{results:#}");
    assert_eq!(counted.left()?, [] as [PathBuf; 0]);
    Ok(())
}

#[test]
fn each_case_reaches_what_its_own_policy_allows() -> Result<()> {
    let (site, other, counted) = (Changing::open()?, Changing::open()?, Counted::new()?);
    let asks = |page: &str| {
        format!(
            "<p id=said></p><script>(async () => {{
            const script = document.createElement('script');
            script.src = '{}/there.js';
            const loaded = new Promise(done => {{
                script.onload = () => done('reached');
                script.onerror = () => done('denied');
            }});
            document.head.append(script);
            const got = await loaded;
            said.textContent = got + ' ' + (await (await fetch('/rule')).text()) + ' {page}';
            }})();</script>",
            other.origin
        )
    };
    site.put("/", &asks("here"));
    other.put("/", &asks("there"));
    other.put("/there.js", "");
    let there = format!("{}/", other.origin);
    let suite = suite(
        &site,
        &[
            ("The other site", &there, wait("by rule"), "reached by rule there", ""),
            ("This site", "/", wait("by rule"), "denied by rule here", ""),
            ("The other one again", &there, wait("by rule"), "reached by rule there", ""),
        ],
    )?;
    let policy = site.folder.path().join("policy.json");
    let answer = json!({ "respond": { "status": 200, "body": "by rule" } });
    let rules = [&site, &other].map(|site| json!({ "url": format!("{}/rule", site.origin), "do": answer }));
    fs::write(&policy, json!({ "requests": rules }).to_string())?;
    let (code, results) = test(&site, &counted, &suite, &["--policy", text(&policy)?])?;
    assert_eq!((code, counted.starts().len()), (Some(0), 1), "{results:#}");
    Ok(())
}

#[test]
fn a_suite_starts_a_browser_for_each_job_and_each_viewport_and_closes_them_all() -> Result<()> {
    let (site, counted) = (Changing::open()?, Counted::new()?);
    site.put("/", "<p id=said></p><script>said.textContent = `${innerWidth} wide`</script>");
    let narrow = || {
        let mut plan = wait("wide");
        plan["context"] = json!({ "viewport": { "width": 800, "height": 600 } });
        plan
    };
    let cases = [
        ("Wide", "/", wait("wide"), "1280 wide", ""),
        ("Wide as well", "/", wait("wide"), "1280 wide", ""),
        ("Narrow", "/", narrow(), "800 wide", ""),
        ("Narrow as well", "/", narrow(), "800 wide", ""),
    ];
    let whole = suite(&site, &cases)?;
    let (code, results) = test(&site, &counted, &whole, &[])?;
    assert_eq!((code, counted.starts().len()), (Some(0), 2), "{results:#}");
    // The junit file cannot be written.
    let wide = suite(&site, &[&cases[..2], &[("A third one", "/", wait("wide"), "1280 wide", "")]].concat())?;
    let (code, results) = test(&site, &counted, &wide, &["--jobs", "2", "--junit", "/nowhere/junit.xml"])?;
    assert_eq!((code, &results["error"]["code"]), (Some(3), &json!("cannotWrite")), "{results:#}");
    assert_eq!(counted.starts().len(), 2 + 2, "{results:#}");
    assert_eq!(counted.left()?, [] as [PathBuf; 0]);
    Ok(())
}

/// Runs two cases, sends a signal to the browser between them, and returns how many browsers were started.
fn with_signal_between(signal: &str) -> Result<usize> {
    let (site, counted) = (Changing::open()?, Counted::new()?);
    site.put("/", "<p id=said>it is here</p>");
    let cases = [("One", "/", wait("here"), "it is here", ""), ("Two", "/", wait("here"), "it is here", "")];
    let suite = suite(&site, &cases)?;
    let runs = site.folder.path().join("runs");
    // The line about the first case does not fit into the pipe until somebody reads it.
    let (mut lines, mut full) = std::io::pipe()?;
    full.write_all(&[b'\n'; 1 << 16])?;
    let mut command = counted.command(&["test", text(&suite)?, "--out", text(&runs)?])?;
    let mut child = command.stdout(full).stderr(Stdio::null()).spawn()?;
    drop(command);
    site.until(|| site.folder.path().join("suite.recordings/one.json").exists())?;
    let seen = Instant::now();
    site.until(|| seen.elapsed() > Duration::from_millis(500))?;
    let id = counted.starts().pop().context("a browser was started")?;
    // The program may be a script that starts the browser and waits for it.
    let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children"))?;
    let sent = Command::new("kill").args([signal, &id]).args(children.split_whitespace()).status()?;
    ensure!(sent.success(), "there is no process {id}");
    let mut said = String::new();
    lines.read_to_string(&mut said)?;
    assert_eq!(child.wait()?.code(), Some(0), "{said}");
    assert_eq!(counted.left()?, [] as [PathBuf; 0]);
    Ok(counted.starts().len())
}

#[test]
fn a_browser_that_was_killed_between_two_cases_is_replaced() -> Result<()> {
    assert_eq!(with_signal_between("-KILL")?, 2);
    Ok(())
}

#[test]
fn a_browser_that_does_not_answer_after_a_case_is_replaced() -> Result<()> {
    assert_eq!(with_signal_between("-STOP")?, 2);
    Ok(())
}

#[test]
fn a_browser_that_dies_in_a_case_fails_only_that() -> Result<()> {
    let (site, counted) = (Changing::open()?, Counted::new()?);
    site.put("/", "<p id=said>it is here</p>");
    site.put("/never", "<p id=said></p>");
    let cases = [("One", "/never", wait("never"), "", ""), ("Two", "/", wait("here"), "it is here", "")];
    let (suite, runs) = (suite(&site, &cases)?, site.folder.path().join("runs"));
    let child = counted.command(&["test", text(&suite)?, "--json", "--out", text(&runs)?])?.spawn()?;
    site.until(|| begun(&runs) > 0)?;
    let id = counted.starts().pop().context("a browser was started")?;
    Command::new("kill").args(["-KILL", &id]).status()?;
    let ended = child.wait_with_output()?;
    let results: Value = serde_json::from_slice(&ended.stdout)?;
    assert_eq!((passed(&results), counted.starts().len()), (vec![false, true], 2), "{results:#}");
    Ok(())
}

/// Counts the runs that have begun: their browsers are open.
fn begun(runs: &Path) -> usize {
    let logs = fs::read_dir(runs).into_iter().flatten().flatten().map(|run| run.path().join("log.jsonl"));
    logs.filter(|log| fs::metadata(log).is_ok_and(|log| log.len() > 0)).count()
}

/// Ends `cuebook` by a signal, and returns its exit code.
fn terminated(child: Child) -> Result<Option<i32>> {
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status()?;
    Ok(child.wait_with_output()?.status.code())
}

#[test]
fn a_signal_leaves_no_browser_of_a_suite_or_a_search() -> Result<()> {
    let (site, counted) = (Changing::open()?, Counted::new()?);
    site.put("/", "<p id=said></p>");
    let cases = ["One", "Two", "Three"].map(|name| (name, "/", wait("never"), "", ""));
    let (suite, runs) = (suite(&site, &cases)?, site.folder.path().join("runs"));
    let child = counted.command(&["test", text(&suite)?, "--jobs", "2", "--out", text(&runs)?])?.spawn()?;
    site.until(|| begun(&runs) == 2)?;
    assert_eq!((terminated(child)?, counted.starts().len()), (Some(130), 2));
    assert_eq!(counted.left()?, [] as [PathBuf; 0]);

    // The whole is replayed in a browser of its own, and then a part of it in another one.
    let never = json!({ "kind": "urlMatches", "pattern": "/never" });
    let wait = json!({ "type": "waitFor", "condition": never, "timeoutMs": 1_500 });
    let plan = json!({ "version": "1.0", "steps": [{ "type": "reload" }, wait] });
    let file = site.folder.path().join("plan.json");
    fs::write(&file, plan.to_string())?;
    let failed = site.cuebook(&["exec", text(&file)?, "--url", &site.origin, "--no-repair"])?;
    let (run, repro) = (failed.run_dir()?, site.folder.path().join("repro"));
    let child = counted.command(&["minimize", text(&run)?, "--no-repair", "--out", text(&repro)?])?.spawn()?;
    site.until(|| counted.starts().len() == 2 + 2)?;
    assert_eq!(terminated(child)?, Some(130));
    assert_eq!(counted.left()?, [] as [PathBuf; 0]);
    Ok(())
}
