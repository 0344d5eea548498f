//! The commands and calls that the documents of sessions show, as they stand there.
#![cfg(unix)]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use cuebook_grammar::policy::command_words;
use cuebook_session::ToolSet;
use cuebook_testkit::serve;
use serde_json::{Value, json};

use super::shell::Shell;
use cuebook_tests::{McpClient, Shop};

/// A page on which each command in a sentence or a table has something to act on.
const PAGE: &str = "<title>Documents</title><label>Email <input></label>
    <button draggable=true ondragstart=\"event.dataTransfer.setData('text/plain', 'X')\">X</button>
    <label><input type=checkbox> Keep</label><select aria-label=Colour><option>Red<option>Blue</select>
    <label>File <input type=file></label><button ondragover='event.preventDefault()'
    ondrop=\"event.preventDefault(); this.after('Dropped')\" onclick=\"alert('T')\">Ask</button><p>Text T</p>";
/// Stand for the words that a command leaves open, by the verb if that matters.
const OPEN: [(&str, &str, &str); 30] = [
    ("type", "TARGET", "c1"),
    ("select", "TARGET", "c4"),
    ("upload", "TARGET", "c5"),
    ("", "TARGET", "c3"),
    ("", "[TARGET]", "c3"),
    ("", "[DIRECTION]", "down"),
    ("", "[PIXELS]", "100"),
    ("", "WHAT", "text"),
    ("", "STATE", "visible"),
    ("", "AREA", "local"),
    ("", "FROM", "c2"),
    ("", "TO", "c6"),
    ("", "TEXT", "Text"),
    ("", "T", "Text"),
    ("", "VALUE…", "Blue"),
    ("", "VALUE", "Blue"),
    ("", "KEY", "Tab"),
    ("", "WIDTH", "800"),
    ("", "HEIGHT", "600"),
    ("", "[LEVEL]", "error"),
    ("", "[FILTER]", "failed"),
    ("", "CLIENT", "claude"),
    ("", "PLAN", "plan.json"),
    ("batch", "FILE", "plan.json"),
    ("upload", "FILE…", "plan.json"),
    ("pdf", "FILE", "page.pdf"),
    ("save", "FILE", "saved.json"),
    ("", "FILE", "state.json"),
    ("save", "[--last", "--last"),
    ("save", "N]", "1"),
];
/// Commands, and what has to be done before.
const BEFORE: [(&str, &str); 3] = [
    ("tab select t2", "tab new URL"),
    ("dialog", "click --role button --name Ask"),
    ("dialog --accept", "click --role button --name Ask"),
];
/// Several commands that stand as one, or in a short form.
const SEVERAL: [(&str, &[&str]); 4] = [
    ("tab list|new|select|close", &["tab list", "tab new URL", "tab select t1", "tab close t2"]),
    ("close [--all]", &["close --all", "start --root ."]),
    ("delete-data", &["close", "delete-data", "start --root ."]),
    ("start", &["close", "start --root .", "open URL"]),
];
/// Commands that are not run here, and why.
const NOT_RUN: [(&str, &str); 8] = [
    ("events", "goes on to the end of the session: `what_happens_in_a_session_is_told_to_its_end` runs it"),
    (
        "evaluate SCRIPT",
        "is refused by the policy: `verbs_of_other_projects_do_the_same` runs it with one that opens it",
    ),
    ("detach", "needs an attached browser: `a_session_is_detached_from_a_browser_that_stays` has one"),
    ("mcp", "serves a client: every test of MCP runs it"),
    ("mcp -s NAME", "serves a client: `a_client_of_mcp_and_the_commands_of_a_shell_share_a_session` runs it"),
    ("report", "is named without the run that it needs: `docs/logs.md` has it whole"),
    ("attach --cdp 9222", "needs a browser with this port: the tests of sharing have one"),
    ("start --cdp PORT", "as above"),
];

fn read(document: &str) -> Result<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("no root")?;
    Ok(std::fs::read_to_string(root.join(document))?)
}

/// The blocks of a document in this language.
fn blocks<'t>(text: &'t str, language: &str) -> impl Iterator<Item = &'t str> {
    text.split("```").skip(1).step_by(2).filter_map(move |block| block.strip_prefix(language)?.strip_prefix('\n'))
}

/// The texts between backquotes in a line.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The commands in the shell blocks of a document that call `cuebook` by its name, without their comments.
fn commands_of(document: &str) -> Result<Vec<String>> {
    let text = read(document)?;
    let lines = blocks(&text, "sh").flat_map(str::lines).filter(|line| line.starts_with("cuebook "));
    Ok(lines.map(|line| line.split(" # ").next().unwrap_or(line).trim_end().to_owned()).collect())
}

/// The commands in the sentences and tables of a document, without the name of the program. In a table of commands, the
/// first column has them.
fn commands_in_text(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut is_of_commands = false;
    for line in text.split("```").step_by(2).flat_map(str::lines) {
        is_of_commands = line.starts_with("| command |") || is_of_commands && line.starts_with('|');
        // A bar that is escaped ends no cell.
        let line = line.replace("\\|", "¦");
        let cell = line.split('|').nth(1).filter(|_| is_of_commands).unwrap_or_default();
        let named = spans(&line).filter_map(|span| span.strip_prefix("cuebook "));
        commands.extend(spans(cell).chain(named).map(|command| command.replace('¦', "|")));
    }
    commands
}

/// The words of a command, with something for each that it leaves open.
fn completed(command: &str, url: &str) -> Result<Vec<String>> {
    let words = command_words(command)?;
    let verb = words.first().cloned().unwrap_or_default();
    let of = |word: &str| OPEN.iter().find(|(of, open, _)| (of.is_empty() || *of == verb) && *open == word);
    let words = words.into_iter().map(|word| match of(&word) {
        Some((_, _, value)) => (*value).to_owned(),
        None if word == "URL" => url.to_owned(),
        None => word,
    });
    Ok(words.collect())
}

/// Runs a command in the folder of the shell.
fn does(shell: &Shell<'_>, document: &str, words: &[String]) -> Result<()> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let folder = shell.shop.runs();
    let output = shell.command(&words)?.current_dir(folder).env("HOME", folder).output()?;
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    ensure!(output.status.success(), "{document}: {}: {}\n{said}", words.join(" "), output.status);
    Ok(())
}

/// Runs the commands in the text of a document in one session, in their order. Returns those that are not run.
fn run_in_text(document: &str, name: &'static str, at_least: usize) -> Result<Vec<String>> {
    let shop = Shop::open()?;
    let shell = Shell { shop: &shop, name };
    let url = format!("http://127.0.0.1:{}/", serve([("/", PAGE)]));
    std::fs::write(shop.runs().join("plan.json"), r#"{ "version": "1.0", "steps": [{ "type": "reload" }] }"#)?;
    let commands = commands_in_text(&read(document)?);
    ensure!(commands.len() >= at_least, "{document}: {commands:?}");
    does(&shell, document, &completed("start --root .", &url)?)?;
    let mut left = Vec::new();
    for shown in &commands {
        let several = SEVERAL.iter().find(|(short, _)| short == shown).map(|(_, several)| *several);
        for command in several.unwrap_or(&[shown]) {
            if NOT_RUN.iter().any(|(not, _)| not == command) {
                left.push((*command).to_owned());
                continue;
            }
            for command in BEFORE.iter().filter(|(of, _)| of == command).map(|(_, before)| before).chain([command]) {
                does(&shell, document, &completed(command, &url)?)?;
            }
        }
    }
    Ok(left)
}

fn run_all(document: &str, at_least: usize, addresses: &[(&str, &str)]) -> Result<()> {
    let shop = Shop::open()?;
    let shell = Shell { shop: &shop, name: "documents" };
    std::os::unix::fs::symlink(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples"), shop.runs().join("examples"))?;
    std::fs::write(shop.runs().join("list.json"), "[]")?;
    let commands = commands_of(document)?;
    ensure!(commands.len() >= at_least, "{document}: {commands:?}");
    for written in commands {
        let meant = addresses.iter().fold(written.clone(), |it, (shown, served)| it.replace(shown, served));
        let words = command_words(&meant.replace("http://127.0.0.1:8737", shop.origin()))?;
        does(&shell, document, words.get(1..).unwrap_or_default())?;
    }
    Ok(())
}

#[test]
fn every_command_of_the_page_on_sessions_does_what_it_should() -> Result<()> {
    run_all("docs/sessions.md", 6, &[])
}

#[test]
fn every_command_of_the_page_on_state_does_what_it_should() -> Result<()> {
    run_all("docs/state.md", 15, &[])
}

#[test]
fn the_readme_begins_with_commands_that_do_what_they_should() -> Result<()> {
    let port = serve([("/", "<title>Example</title><a href=/more>Learn more</a>"), ("/more", "<h1>More</h1>")]);
    run_all("README.md", 3, &[("https://example.org", &format!("http://127.0.0.1:{port}"))])
}

#[test]
fn every_command_in_sentences_and_tables_does_what_it_should() -> Result<()> {
    let mut left = Vec::new();
    for (document, name, at_least) in [
        ("docs/sessions.md", "tables", 35),
        ("docs/migrating.md", "migrating", 12),
        ("docs/state.md", "stated", 4),
        ("docs/mcp.md", "served", 4),
    ] {
        left.extend(run_in_text(document, name, at_least)?);
    }
    let stale: Vec<_> = NOT_RUN.iter().filter(|(shown, _)| !left.iter().any(|left| left == shown)).collect();
    ensure!(stale.is_empty(), "no document shows {stale:?}");
    Ok(())
}

/// The arguments of the servers in the configurations that a document shows.
fn servers(document: &str) -> Result<Vec<Vec<String>>> {
    let text = read(document)?;
    let mut servers = Vec::new();
    for block in blocks(&text, "json").filter(|block| block.contains("mcpServers")) {
        let configuration: Value = serde_json::from_str(block)?;
        for server in configuration["mcpServers"].as_object().context("no servers")?.values() {
            ensure!(server["command"] == "cuebook", "{document}: {server}");
            servers.push(serde_json::from_value(server["args"].clone())?);
        }
    }
    Ok(servers)
}

#[test]
fn a_client_that_is_configured_as_shown_gets_the_tools_that_are_shown() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let page = read("docs/mcp.md")?;
    let rows = page.lines().filter(|line| line.starts_with("| `browser_"));
    let shown: Vec<&str> = rows.flat_map(|row| spans(row.split('|').nth(1).unwrap_or_default())).collect();
    let configured = [servers("README.md")?, servers("docs/mcp.md")?].concat();
    ensure!(configured.len() == 2 && shown.len() > 25, "{configured:?} {shown:?}");
    for arguments in configured {
        ensure!(arguments.first().is_some_and(|command| command == "mcp"), "{arguments:?}");
        let flags: Vec<&str> = arguments.iter().skip(1).map(String::as_str).collect();
        let mut client = McpClient::start(&flags, folder.path())?;
        ensure!(client.hello["serverInfo"]["name"] == "cuebook", "{}", client.hello);
        let listed = client.request("tools/list", json!({}))?;
        let tools = listed["tools"].as_array().context("no tools")?;
        let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        let missing: Vec<&&str> = names.iter().filter(|name| !shown.contains(*name)).collect();
        ensure!(!names.is_empty() && missing.is_empty(), "docs/mcp.md lacks {missing:?} of {names:?}");
    }
    let all: Vec<&str> = ToolSet::All.tools().into_iter().map(|tool| tool.name).collect();
    let unknown: Vec<&&str> = shown.iter().filter(|name| !all.contains(*name)).collect();
    ensure!(unknown.is_empty(), "docs/mcp.md has {unknown:?}, and no server has");
    Ok(())
}

#[test]
fn the_servers_over_http_that_are_shown_say_where_they_serve() -> Result<()> {
    let shop = Shop::open()?;
    let shell = Shell { shop: &shop, name: "http" };
    let commands = commands_of("docs/mcp.md")?;
    ensure!(commands.len() == 2, "{commands:?}");
    for written in commands {
        // The port of the first one may be taken.
        let words =
            command_words(&written.replace("--http 127.0.0.1:0", "--http").replace("--http", "--http 127.0.0.1:0"))?;
        let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        let mut server = shell.command(&words)?;
        let mut server = server.env_remove("CUEBOOK_SESSION").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let says: Box<dyn std::io::Read> = match words.contains(&"--json") {
            true => Box::new(server.stdout.take().context("no standard output")?),
            false => Box::new(server.stderr.take().context("no standard error")?),
        };
        let mut said = String::new();
        let mut says = BufReader::new(says);
        let is_said = |said: &str| said.contains("/mcp") && (said.contains("Bearer ") || said.contains("\"token\""));
        while !is_said(&said) && says.read_line(&mut said)? > 0 {}
        server.kill()?;
        server.wait()?;
        ensure!(said.contains("http://127.0.0.1:") && is_said(&said), "{written}: {said}");
    }
    Ok(())
}
