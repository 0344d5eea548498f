//! Commands on a session that stays, as a person types them.
#![cfg(unix)]

use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, Result, ensure};
use cuebook_tests::{Shop, command};
use serde_json::json;

/// A shell in which the sessions, profiles and logs lie in a folder of their own.
struct Shell<'a> {
    shop: &'a Shop,
    name: &'static str,
}

impl Shell<'_> {
    fn command(&self, words: &[&str]) -> Result<Command> {
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
    ensure!(code == 2 && said.contains("no open session login"), "{code} {said}");

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
        (&["tab", "select", "--tab", "t9"], 2, "open are t1"),
        (
            &["batch", "[{\"type\": \"assert\", \"condition\": {\"kind\": \"urlMatches\", \"pattern\": \"/x\"}}]"],
            1,
            "failed",
        ),
        (&["open", "file:///etc/passwd"], 4, "file: URLs are not allowed"),
        (&["start"], 2, "is open already"),
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
    Ok(())
}
