//! Commands on a session that stays, as a person types them.
#![cfg(unix)]

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
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
    fn run(&self, words: &[&str]) -> Result<String> {
        let output = self.output(words)?;
        let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(output.status.success(), "{words:?}: {}\n{stdout}\n{stderr}", output.status);
        Ok(stdout.into_owned())
    }

    /// The exit code of a command, and what it prints.
    fn fails(&self, words: &[&str]) -> Result<(i32, String)> {
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
    for (words, expected, part) in [
        (&["click", "c999"][..], 2, "`c999` is no candidate"),
        (&["click", "the big button"], 2, "name an element by its id"),
        (&["click"], 2, "browser_click needs target"),
        (&["wait", "--text", "a", "--time", "1"], 2, "one of text, textGone and time"),
        (&["wait", "--time", "31"], 2, "from 0 to 30 seconds, not 31"),
        (&["route", "http://a.test/", "--body-file", "/etc"], 2, "expected a file"),
        (&["route", "http://a.test/", "--body-file", "x", "--body", "y"], 2, "one of body, bodyFile and block"),
        (&["close", "-s", "nobody"], 2, "no open session nobody; open are codes"),
        (&["save", "-s", "nobody", "plan.json"], 2, "no open session nobody; open are codes"),
        (&["tab-list"], 2, "`tab-list` is `cuebook tab list` here"),
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
