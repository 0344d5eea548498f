//! The commands that the documents of sessions show, as they stand there.
#![cfg(unix)]

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use cuebook_grammar::policy::command_words;
use cuebook_testkit::serve;

use super::shell::Shell;
use cuebook_tests::Shop;

/// The commands in the shell blocks of a document that call `cuebook` by its name, without their comments.
fn commands_of(document: &str) -> Result<Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("no root")?;
    let text = std::fs::read_to_string(root.join(document))?;
    let blocks = text.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("sh\n"));
    let lines = blocks.flat_map(str::lines).filter(|line| line.starts_with("cuebook "));
    Ok(lines.map(|line| line.split(" # ").next().unwrap_or(line).trim_end().to_owned()).collect())
}

fn run_all(document: &str, at_least: usize, addresses: &[(&str, &str)]) -> Result<()> {
    let shop = Shop::open()?;
    let shell = Shell { shop: &shop, name: "documents" };
    std::os::unix::fs::symlink(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples"), shop.runs().join("examples"))?;
    let commands = commands_of(document)?;
    ensure!(commands.len() >= at_least, "{document}: {commands:?}");
    for written in commands {
        let meant = addresses.iter().fold(written.clone(), |it, (shown, served)| it.replace(shown, served));
        let words = command_words(&meant.replace("http://127.0.0.1:8737", shop.origin()))?;
        let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        let output = shell.command(&words)?.current_dir(shop.runs()).output()?;
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        ensure!(output.status.success(), "{document}: {written}: {}\n{said}", output.status);
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
