//! Commands on a session that stays, as a person types them.
#![cfg(unix)]

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use cuebook_testkit::serve;
use cuebook_tests::{McpClient, Shop, command};
use serde_json::json;

/// A shell in which the sessions, profiles and logs lie in a folder of their own.
pub(super) struct Shell<'a> {
    pub(super) shop: &'a Shop,
    pub(super) name: &'static str,
}

impl Shell<'_> {
    pub(super) fn command(&self, words: &[&str]) -> Result<Command> {
        let mut command = command()?;
        command.args(words).env("CUEBOOK_SESSION", self.name).env("CUEBOOK_OUT", self.shop.runs().join("runs"));
        command.env("XDG_RUNTIME_DIR", self.shop.runs()).env("TMPDIR", self.shop.runs()).stdin(Stdio::null());
        Ok(command)
    }

    fn output(&self, words: &[&str]) -> Result<Output> {
        Ok(self.command(words)?.output()?)
    }

    /// Output of a command that does what it should.
    pub(super) fn run(&self, words: &[&str]) -> Result<String> {
        let output = self.output(words)?;
        let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(output.status.success(), "{words:?}: {}\n{stdout}\n{stderr}", output.status);
        Ok(stdout.into_owned())
    }

    /// The exit code of a command, and what it prints.
    pub(super) fn fails(&self, words: &[&str]) -> Result<(i32, String)> {
        let output = self.output(words)?;
        let said = [output.stdout, output.stderr].concat();
        Ok((output.status.code().context("a signal")?, String::from_utf8_lossy(&said).into_owned()))
    }
}

impl Drop for Shell<'_> {
    fn drop(&mut self) {
        self.output(&["close", "--all"]).ok();
    }
}

#[test]
fn a_person_logs_in_saves_what_was_done_and_runs_it_again() -> Result<()> {
    let shop = Shop::open()?;
    let shell = Shell { shop: &shop, name: "login" };
    let page = shell.run(&["open", &shop.url("/login")])?;
    ensure!(page.contains("button \"Log in\" [c"), "{page}");
    shell.run(&["type", "--label", "Email", "ann"])?;
    shell.run(&["type", "--label", "Password", "correct-horse"])?;
    let entered = shell.run(&["click", "--role", "button", "--name", "Log in"])?;
    ensure!(entered.contains("/dashboard"), "{entered}");
    let listed = shell.run(&["sessions", "--json"])?;
    ensure!(listed.contains("\"name\": \"login\""), "{listed}");

    let plan = shop.runs().join("plan.json").display().to_string();
    let (code, said) = shell.fails(&["save", &plan])?;
    ensure!(code == 2 && said.contains("--credential STEP=SECRET"), "{code} {said}");
    shell.run(&["save", &plan, "--credential", "3=password"])?;
    let (code, _) = shell.fails(&["save", &plan, "--credential", "3=password"])?;
    assert_ne!(code, 0, "it overwrote a plan");
    shell.run(&["close"])?;
    let (code, said) = shell.fails(&["close"])?;
    ensure!(code == 2 && said.contains("no open session login, nor another one"), "{code} {said}");

    let again = shell
        .command(&["exec", &plan, "--url", &shop.url("/login"), "--json"])?
        .env("CUEBOOK_SECRET_PASSWORD", "correct-horse")
        .output()?;
    ensure!(again.status.success(), "{}", String::from_utf8_lossy(&again.stdout));
    let login = json!({ "user": "ann", "accepted": true });
    assert_eq!(shop.state()["logins"], json!([login, login]));
    Ok(())
}

#[test]
fn a_session_is_a_run_that_can_be_run_again() -> Result<()> {
    let shop = Shop::open()?;
    let shell = Shell { shop: &shop, name: "replayed" };
    shell.run(&["open", &shop.url("/counter")])?;
    shell.run(&["click", "--css", "main button"])?;
    let listed: serde_json::Value = serde_json::from_str(&shell.run(&["sessions", "--json"])?)?;
    let log = listed[0]["log"].as_str().context("no log")?.to_owned();
    shell.run(&["close"])?;
    let page = shop.runs().join("page.html");
    shell.run(&["report", &log, "--out", &page.display().to_string()])?;
    ensure!(std::fs::read_to_string(page)?.contains("<h1>Session replayed</h1>"));
    let again = shop.cuebook(&["replay", &log])?;
    ensure!(again.code == 0 && shop.hits("counter") == 2, "{again:?}");
    Ok(())
}

#[test]
fn what_cannot_be_done_has_the_exit_code_of_a_run_and_the_session_lives_on() -> Result<()> {
    let shop = Shop::open()?;
    let shell = Shell { shop: &shop, name: "codes" };
    shell.run(&["open", &shop.url("/counter")])?;
    let long = shop.runs().join("long.json").display().to_string();
    std::fs::write(&long, json!([{ "type": "type", "targetRef": "c1", "text": "x".repeat(17 << 20) }]).to_string())?;
    for (words, expected, part) in [
        (&["click", "c999"][..], 2, "`c999` is no candidate"),
        (&["batch", &long], 2, "longer than the 16 MiB that a session takes"),
        (&["view", "-s", "nobody"], 2, "no open session nobody; open are codes"),
        (&["click", "the big button"], 2, "name an element by its id"),
        (&["click"], 2, "browser_click needs target"),
        (&["wait", "--text", "a", "--time", "1"], 2, "one of text, textGone and time"),
        (&["wait", "--time", "31"], 2, "from 0 to 30 seconds, not 31"),
        (&["route", "http://a.test/", "--body-file", "/etc"], 2, "expected a file"),
        (&["route", "http://a.test/", "--body-file", "x", "--body", "y"], 2, "one of body, bodyFile and block"),
        (&["close", "-s", "nobody"], 2, "no open session nobody; open are codes"),
        (&["save", "-s", "nobody", "plan.json"], 2, "no open session nobody; open are codes"),
        (&["keydown", "a"], 2, "there is no `keydown` here"),
        (&["tab", "select", "--tab", "t9"], 2, "open are t1"),
        (
            &["batch", "[{\"type\": \"assert\", \"condition\": {\"kind\": \"urlMatches\", \"pattern\": \"/x\"}}]"],
            1,
            "failed",
        ),
        (&["open", "file:///etc/passwd"], 4, "file: URLs are not allowed"),
        (&["start"], 2, "is open already"),
        (&["start", "-s", "other", "--out", "/proc/none"], 3, "/proc/none"),
        (&["start", "-s", "other", "--out", "/proc/none"], 3, "No such file or directory"),
        (&["clack"], 2, "clack"),
    ] {
        let (code, said) = shell.fails(words)?;
        ensure!(code == expected && said.contains(part), "{words:?}: {code} {said}");
    }
    let counted = shell.run(&["click", "button \"Count\"", "--json"])?;
    let answer: serde_json::Value = serde_json::from_str(&counted)?;
    assert_eq!((&answer["error"], &answer["report"]["result"]), (&json!(null), &json!("ok")));
    assert_eq!(shop.hits("counter"), 1);
    // The session that the environment names is the one that is shown.
    let mut view = shell.command(&["view", "--json"])?.stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    let read = view.stdout.take().map(|out| BufReader::new(out).read_line(&mut line));
    view.kill()?;
    view.wait()?;
    ensure!(read.is_some() && line.contains("http://127.0.0.1"), "{line:?}");
    Ok(())
}

/// A page with something for each verb. Its last script fails.
const PAGE: &str = "<title>Verbs</title><body style='height:3000px'><h1 class=big>More &amp; more</h1>
    <button ondblclick=\"o.textContent = 'twice'\">Go</button><output id=o></output><label>Name <input value=ann></label>
    <label><input type=checkbox> Keep</label><p class=row>1<p class=row>2<p hidden id=gone>Hidden</p>
    <a href=/x>Link</a><button disabled>Off</button><button onclick=\"this.remove()\">Once</button>
    <script>localStorage.token = 's3cret-value'; sessionStorage.step = '1'; document.cookie = 'lang=de';
    setTimeout(() => { throw new Error('boom') })</script>";

#[test]
fn verbs_of_other_projects_do_the_same() -> Result<()> {
    let shop = Shop::open()?;
    let shell = Shell { shop: &shop, name: "verbs" };
    let url = format!("http://127.0.0.1:{}/", serve([("/", PAGE), ("/next", "<title>Next</title><h1>Next")]));
    let next = format!("{url}next");
    shell.run(&[
        "start",
        "--profile",
        "unleashed",
        "--grant",
        &format!("destructive@{}", url.trim_end_matches('/')),
    ])?;
    shell.run(&["open", &url])?;
    for (words, part) in [
        (&["get", "title"][..], "\nVerbs\n"),
        (&["get", "url"], &*url),
        (&["get", "text", "css=.big"], "More & more"),
        (&["get", "html", "--css", ".big"], "More &amp; more"),
        (&["get", "value", "--label", "Name"], "ann"),
        (&["get", "attr", "text=Link", "href"], "/x"),
        (&["get", "count", "css=.row"], "\n2\n"),
        (&["get", "count", "css=.none"], "\n0\n"),
        (&["is", "visible", "text=More"], "true"),
        (&["is", "enabled", "--role", "button", "--name", "Go"], "true"),
        (&["check", "--label", "Keep"], "checked false → true"),
        (&["is", "checked", "label=Keep"], "true"),
        (&["is", "visible", "--role", "checkbox"], "true"),
        (&["uncheck", "label=Keep"], "checked true → false"),
        (&["dblclick", "button \"Go\""], "twice"),
        (&["diff"], "nothing"),
        (&["focus", "label=Name"], "ok: focus"),
        (&["scroll", "bottom"], "ok: scroll"),
        (&["scroll", "up", "100"], "ok: scroll"),
        (&["scroll", "--role", "button", "--name", "Go"], "ok: scroll"),
        (&["errors"], "boom"),
        (&["storage", "local"], "\"token\": 12 characters"),
        (&["storage", "session", "get", "step"], "1 key"),
        (&["localstorage-get", "other"], "0 keys"),
        (&["cookie-set", "theme", "dark"], "set the cookie"),
        (&["cookie-get", "theme"], "1 cookie\n"),
        (&["cookie-delete", "theme"], "removed 1 cookie"),
        (&["auth"], "0 secrets"),
        (&["eval", "document.title"], "Verbs"),
        (&["eval", "() => 6 * 7"], "42"),
        (&["set", "viewport", "800", "600"], "800x600"),
        (&["set", "offline", "on"], "offline"),
        (&["set", "offline", "off"], "800x600"),
        (&["set", "media", "dark"], "dark"),
        (&["tab-new", &next], "t2 (current)"),
        (&["tab-list"], "t2 (current): \"Next\""),
        (&["tab-select", "t1"], "t1 (current)"),
        (&["tab-close", "t2"], "a tab closed"),
        (&["goto", &next], "Next"),
        (&["go-back"], "Verbs"),
        (&["go-forward"], "Next"),
        (&["reload"], "loaded again"),
        (&["list"], "verbs"),
    ] {
        let said = shell.run(words)?;
        ensure!(said.contains(part) && !said.contains("s3cret"), "{words:?}: {said}");
    }
    shell.run(&["open", &url])?;
    shell.run(&["click", "button \"Once\""])?;
    for (words, expected, part) in [
        (&["is", "visible", "css=#gone"][..], 1, "\nfalse\n"),
        (&["is", "visible", "text=Nowhere"], 1, "\nfalse\n"),
        (&["is", "enabled", "text=Off"], 1, "\nfalse\n"),
        (&["is", "checked", "label=Keep"], 1, "\nfalse\n"),
        (&["is", "hungry", "c1"], 2, "one of visible, enabled, checked"),
        (&["is", "visible"], 2, "browser_is needs target"),
        (&["is", "visible", "the big button"], 2, "name an element by its id"),
        (&["get"], 2, "browser_get needs what"),
        (&["get", "colour"], 2, "one of text, value"),
        (&["get", "attr", "text=Link"], 2, "the name of an attribute"),
        (&["get", "text", "css=.none"], 1, "targetNotFound"),
        (&["get", "text", "css=.row"], 1, "targetAmbiguous"),
        (&["get", "value", "text=Link"], 1, "has no value"),
        (&["scroll", "sideways"], 2, "one of up, down, left, right, top, bottom"),
        (&["scroll", "top", "30"], 2, "with up, down, left and right"),
        (&["scroll", "c999"], 2, "`c999` is no candidate"),
        (&["focus"], 2, "browser_focus needs target"),
        (&["check", "c999"], 2, "`c999` is no candidate"),
        (&["uncheck", "button \"Go\""], 2, "Go"),
        (&["focus", "button \"Once\""], 2, "there is no button"),
        (&["storage", "both"], 2, "one of local, session"),
        (&["set", "credentials", "ann", "x"], 2, "there is no `set credentials` here"),
        (&["detach"], 2, "is its own"),
        (&["delete-data"], 2, "is open"),
    ] {
        let (code, said) = shell.fails(words)?;
        ensure!(code == expected && said.contains(part), "{words:?}: {code} {said}");
    }
    shell.run(&["kill-all"])?;
    ensure!(shell.run(&["delete-data"])?.contains("removed 1 run"));
    let (code, said) = shell.fails(&["delete-data"])?;
    ensure!(code == 2 && said.contains("no session verbs has left a run"), "{code} {said}");
    Ok(())
}

#[test]
fn without_a_terminal_nothing_is_consented_to_and_the_grant_is_named() -> Result<()> {
    let shop = Shop::open()?;
    let shell = Shell { shop: &shop, name: "consent" };
    shell.run(&["open", &shop.url("/dialogs")])?;
    shell.run(&["click", "button \"Ask to confirm\""])?;
    let (code, said) = shell.fails(&["dialog", "--accept"])?;
    ensure!(code == 4 && said.contains("--grant destructive@"), "{code} {said}");
    shell.run(&["dialog"])?;
    shell.run(&["close"])?;
    let grant = format!("destructive@{}", shop.origin());
    shell.run(&["start", "--grant", &grant])?;
    shell.run(&["open", &shop.url("/dialogs")])?;
    shell.run(&["click", "button \"Ask to confirm\""])?;
    let accepted = shell.run(&["dialog", "--accept"])?;
    ensure!(accepted.contains("ok: acceptDialog"), "{accepted}");

    // Whoever looks at the page of a session can be asked.
    shell.run(&["close"])?;
    shell.run(&["start", "--watch"])?;
    shell.run(&["open", &shop.url("/dialogs")])?;
    shell.run(&["click", "button \"Ask to confirm\""])?;
    let sessions: serde_json::Value = serde_json::from_str(&shell.run(&["sessions", "--json"])?)?;
    let view = sessions[0]["view"].as_str().context("no page")?.to_owned();
    let asking = shell.command(&["dialog", "--accept"])?.stdout(Stdio::piped()).spawn()?;
    tokio::runtime::Runtime::new()?.block_on(async {
        let (client, until) = (reqwest::Client::new(), std::time::Instant::now() + Duration::from_secs(50));
        loop {
            let answer = json!({ "number": 0, "allow": true });
            let origin = view.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
            let sent = client.post(format!("{view}answer")).header("origin", origin).json(&answer).send().await?;
            if sent.status() == 204 {
                return Ok(());
            }
            ensure!(std::time::Instant::now() < until, "no question: {}", sent.status());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })?;
    let accepted = asking.wait_with_output()?;
    let said = String::from_utf8_lossy(&accepted.stdout);
    ensure!(accepted.status.success() && said.contains("ok: acceptDialog"), "{said}");
    Ok(())
}

#[test]
fn a_client_of_mcp_and_the_commands_of_a_shell_share_a_session() -> Result<()> {
    let shop = Shop::open()?;
    let shell = Shell { shop: &shop, name: "shared" };
    shell.run(&["open", &shop.url("/counter")])?;
    let (code, said) = shell.fails(&["mcp", "-s", "nobody"])?;
    ensure!(code == 2 && said.contains("no open session nobody; open are shared"), "{code} {said}");
    let (code, said) = shell.fails(&["mcp", "-s", "shared", "--allow", "a.test"])?;
    ensure!(code == 2 && said.contains("--allow"), "{code} {said}");
    let mut client = McpClient::start(&["-s", "shared"], shop.runs())?;
    let clicked = client.call("browser_click", json!({ "target": "button \"Count\"" }))?;
    ensure!(!clicked.is_error && shop.hits("counter") == 1, "{clicked:?}");
    ensure!(shell.run(&["snapshot"])?.contains("Counted by the server: 1"));
    let elsewhere = client.call("browser_snapshot", json!({ "session": "nobody" }))?;
    ensure!(elsewhere.is_error && elsewhere.text.contains("open are shared"), "{elsewhere:?}");

    let count = json!({ "type": "click", "targetRef": "button \"Count\"" });
    let (_, progress) = client.follow("browser_run_plan", json!({ "plan": [count, count] }))?;
    ensure!(progress.last().is_some_and(|last| last["progress"] == 2.0), "{progress:?}");
    let waiting = json!({ "name": "browser_wait_for", "arguments": { "text": "never there" } });
    let id = client.begin("tools/call", waiting)?;
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }))?;
    client.call("browser_navigate", json!({ "url": shop.url("/dialogs") }))?;
    client.call("browser_click", json!({ "target": "button \"Ask to confirm\"" }))?;
    let asked = client.call("browser_handle_dialog", json!({ "accept": true }))?;
    ensure!(asked.text.contains("answer question q1"), "{asked:?}");
    let agreed = client.call("browser_confirm", json!({ "id": "q1", "decision": "allow" }))?;
    ensure!(agreed.text.contains("ok: acceptDialog"), "{agreed:?}");

    ensure!(client.leave()?.success());
    ensure!(shell.run(&["snapshot"])?.contains("Show alert"), "the session goes on without its client");
    let mut last = McpClient::start(&["-s", "shared"], shop.runs())?;
    let closed = last.call("browser_close", json!({}))?;
    ensure!(closed.text.contains("log: "), "{closed:?}");
    ensure!(shell.run(&["sessions", "--json"])?.trim() == "[]");
    Ok(())
}

#[test]
fn what_happens_in_a_session_is_told_to_its_end() -> Result<()> {
    let shop = Shop::open()?;
    let shell = Shell { shop: &shop, name: "watched" };
    let (code, said) = shell.fails(&["events"])?;
    ensure!(code == 2 && said.contains("nor another one"), "{code} {said}");
    shell.run(&["open", "about:blank"])?;
    let mut watching = shell.command(&["events", "--json"])?.stdout(Stdio::piped()).spawn()?;
    let output = BufReader::new(watching.stdout.take().context("no standard output")?);
    let (sender, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    // It watches once it has told something.
    let mut events: Vec<serde_json::Value> = Vec::new();
    while events.is_empty() {
        shell.run(&["pause"])?;
        shell.run(&["resume"])?;
        let line = told.recv_timeout(Duration::from_secs(1));
        events.extend(line.ok().map(|line| serde_json::from_str(&line)).transpose()?);
    }
    shell.run(&["pause"])?;
    shell.run(&["resume"])?;
    shell.run(&["open", &shop.url("/dialogs")])?;
    shell.run(&["click", "button \"Ask to confirm\""])?;
    shell.fails(&["dialog", "--accept"])?;
    shell.run(&["dialog"])?;
    shell.run(&["close"])?;
    for line in told {
        events.push(serde_json::from_str(&line)?);
    }
    ensure!(watching.wait()?.success());
    let of = |kind: &str| events.iter().filter(|event| event["kind"] == kind).collect::<Vec<_>>();
    for kind in ["paused", "resumed", "stepBegun", "stepEnded", "pageChanged", "dialog", "question", "ended"] {
        ensure!(!of(kind).is_empty(), "no {kind}: {events:?}");
    }
    ensure!(of("pageChanged")[0]["url"].as_str().is_some_and(|url| url.ends_with("/dialogs")), "{events:?}");
    ensure!(of("dialog")[0]["message"].as_str().is_some_and(|text| text.contains("Subscribe")), "{events:?}");
    let last = events.last().context("no event")?;
    ensure!(last["kind"] == "ended" && last["log"].is_string(), "{last}");
    Ok(())
}

#[test]
fn while_a_person_has_the_browser_nobody_else_acts() -> Result<()> {
    let shop = Shop::open()?;
    let shell = Shell { shop: &shop, name: "taken" };
    shell.run(&["open", &shop.url("/counter")])?;
    let mut client = McpClient::start(&["-s", "taken"], shop.runs())?;
    shell.run(&["pause"])?;
    let (code, said) = shell.fails(&["click", "button \"Count\""])?;
    ensure!(code == 2 && said.contains("a person has taken over") && said.contains("cuebook resume"), "{code} {said}");
    let refused = client.call("browser_click", json!({ "target": "button \"Count\"" }))?;
    ensure!(refused.is_error && refused.text.contains("a person has taken over"), "{refused:?}");
    let looked = client.call("browser_snapshot", json!({}))?;
    ensure!(!looked.is_error && looked.text.contains("button \"Count\""), "{looked:?}");
    assert_eq!(shop.hits("counter"), 0);
    shell.run(&["resume"])?;
    let clicked = client.call("browser_click", json!({ "target": "button \"Count\"" }))?;
    ensure!(!clicked.is_error && shop.hits("counter") == 1, "{clicked:?}");
    let (code, said) = shell.fails(&["resume"])?;
    ensure!(code == 2 && said.contains("nobody has taken"), "{code} {said}");
    Ok(())
}

#[test]
fn commands_that_start_one_session_at_once_share_it() -> Result<()> {
    let shop = Shop::open()?;
    let shell = Shell { shop: &shop, name: "once" };
    let url = shop.url("/counter");
    let spawned: Result<Vec<_>> = (0..8)
        .map(|_| Ok(shell.command(&["open", &url])?.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?))
        .collect();
    let mut started = 0;
    for command in spawned? {
        let output = command.wait_with_output()?;
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        ensure!(output.status.success() && said.contains("ok: navigate"), "{said}");
        started += usize::from(said.contains("started the session once"));
    }
    ensure!(started == 1, "{started} started it");
    let sessions: serde_json::Value = serde_json::from_str(&shell.run(&["sessions", "--json"])?)?;
    assert_eq!(sessions.as_array().map(Vec::len), Some(1), "{sessions}");
    let runs = std::fs::read_dir(shop.runs().join("runs"))?.count();
    ensure!(runs == 1, "{runs} runs: another session was open for a while");
    shell.run(&["close"])?;
    let left = || Ok::<_, anyhow::Error>(shell.run(&["sessions", "--json"])?.trim() == "[]");
    ensure!(left()?, "a session stays");
    Ok(())
}

/// A page whose scripts do not let go, by where it is opened.
const HANGS: [(&str, &str); 4] = [
    ("/click", "<title>Click</title><button onclick='while (true) {}'>Spin</button><button>Calm</button>"),
    ("/timer", "<title>Timer</title><button onclick='setInterval(() => { while (true) {} }, 1)'>Spin</button>"),
    ("/load", "<title>Load</title><h1>Load</h1><script>while (true) {}</script>"),
    ("/calm", "<title>Calm</title><h1>Calm</h1><button>Fine</button>"),
];

#[test]
fn a_page_that_hangs_fails_its_calls_and_is_left() -> Result<()> {
    let shop = Shop::open()?;
    let shell = Shell { shop: &shop, name: "hangs" };
    let url = format!("http://127.0.0.1:{}", serve(HANGS));
    let hangs = |words: &[&str]| -> Result<()> {
        let (code, said) = shell.fails(&[words, &["--json"]].concat())?;
        let answer: serde_json::Value = serde_json::from_str(&said).with_context(|| said.clone())?;
        let (why, error) = (&answer["error"], &answer["report"]["error"]["code"]);
        let is_said = why.as_str().is_some_and(|why| why.contains("does not let go") && why.contains("close the tab"));
        ensure!(code == 1 && is_said && error == "deadlineExceeded", "{words:?}: {code} {said}");
        Ok(())
    };
    let calm = format!("{url}/calm");
    let spin = ["click", "button \"Spin\""];
    for (path, words) in [("/click", &["read"][..]), ("/timer", &["storage", "local"])] {
        shell.run(&["open", &format!("{url}{path}")])?;
        // A timer begins after the click, which may be over by then.
        match path {
            "/click" => hangs(&spin)?,
            _ => drop(shell.fails(&spin)?),
        }
        hangs(words)?;
        let opened = shell.run(&["open", &calm])?;
        ensure!(opened.contains("h1 \"Calm\""), "{path}: {opened}");
    }
    shell.run(&["open", &format!("{url}/timer")])?;
    shell.fails(&spin)?;
    let reloaded = shell.run(&["reload"])?;
    ensure!(reloaded.contains("button \"Spin\""), "{reloaded}");
    hangs(&["open", &format!("{url}/load")])?;
    let tabs = shell.run(&["tab", "list"])?;
    ensure!(tabs.contains("t1 (current)"), "{tabs}");
    let other = shell.run(&["tab", "new", &calm])?;
    ensure!(other.contains("t2 (current)") && other.contains("h1 \"Calm\""), "{other}");
    hangs(&["tab", "select", "t1"])?;
    let calm = shell.run(&["tab", "select", "t2"])?;
    ensure!(calm.contains("h1 \"Calm\""), "{calm}");
    let closed = shell.run(&["tab", "close", "t1"])?;
    ensure!(closed.contains("closed a tab that did not answer"), "{closed}");
    ensure!(shell.run(&["click", "button \"Fine\""])?.contains("button \"Fine\""));
    shell.run(&["close"])?;
    Ok(())
}
