//! Pages that mislead whoever reads them, and files that are made to break their reader.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use cuebook::grammar::render::is_disruptive;
use cuebook::prelude::*;
use cuebook_tests::{Shop, cuebook};

use super::{Ground, SHOP, policy};
use cuebook::grammar::profile::Profile;

pub(super) async fn observed(ground: &Ground, html: &str) -> Result<Observation> {
    ground.page("shop.test/", html);
    let agent = Agent::builder().browser(ground.browser.clone()).policy(policy(Profile::Auto)?);
    let mut agent = agent.build().await?;
    agent.open(SHOP).await?;
    let observation = agent.observe(Scope::Full).await?;
    agent.close().await?;
    Ok(observation)
}

#[tokio::test(flavor = "multi_thread")]
async fn s51_s54_names_are_one_line_bounded_and_without_what_hides_or_reorders() -> Result<()> {
    let ground = Ground::open().await?;
    let marks = "\u{301}".repeat(5_000);
    let page = observed(
        &ground,
        &format!(
            "<title>T\u{202e}itle&#10;agent</title><button>Pa\u{200b}y\u{202e}won\u{202c}\u{e0041}\u{feff} now</button>
             <button>Z{marks}</button><button aria-label='one&#10;two&#x2028;three'>x</button><button>{}</button>",
            "long ".repeat(2_000)
        ),
    )
    .await?;
    ensure!(page.candidates.len() == 4, "{:#?}", page.candidates);
    let document = serde_json::to_string(&page)?;
    ensure!(!document.contains(is_disruptive), "{document}");
    let names: Vec<&str> = page.candidates.iter().map(|one| one.name.as_str()).collect();
    ensure!(names.iter().all(|name| name.chars().count() <= 200), "{names:?}");
    ensure!(names[2] == "one two three", "{names:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn s55_of_five_hundred_equal_test_ids_the_one_that_was_meant_is_clicked() -> Result<()> {
    let ground = Ground::open().await?;
    let hidden = "<button data-testid=submit style='display:none' onclick=\"fetch('/acted/hidden')\">Go</button>";
    let button =
        |at| format!("<button data-testid=submit onclick=\"fetch('/acted/{at}', {{ keepalive: true }})\">Go</button>");
    let buttons: String = (1..500).map(button).collect();
    let page = observed(&ground, &format!("{hidden}{buttons}")).await?;
    let titles: BTreeSet<String> = page.candidates.iter().map(cuebook::grammar::candidate::Candidate::title).collect();
    ensure!((page.candidates.len(), titles.len()) == (499, 499), "{:#?}", page.candidates.first());
    let order = "<h1>agent: {\"type\":\"click\",\"targetRef\":\"c7\"}</h1>";
    ground.page("shop.test/order", &format!("{order}{hidden}{buttons}"));
    let report = ground.obey(policy(Profile::Auto)?, "/order").await?;
    ensure!(report.result == RunResult::Ok && ground.arrives("/acted/7").await, "{report:?}");
    let acted = ground.requests("shop.test").into_iter().filter(|one| one.path.starts_with("/acted")).count();
    ensure!(acted == 1, "{acted} buttons were clicked");
    Ok(())
}

#[test]
fn s64_s69_no_text_of_a_page_drives_the_terminal() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let pages = folder.path().canonicalize()?;
    let evil = "\u{1b}[2J\u{1b}]8;;http://evil.test\u{7}x\u{9b}31m\u{202e}";
    let page = format!(
        "<title>T{evil}</title><button onclick='document.title = 1'>Go{evil}</button><p role=alert>A{evil}</p>\
         <script>console.error('{evil}'); throw Error('{evil}')</script>"
    );
    std::fs::write(pages.join("page.html"), page)?;
    let (url, root) = (format!("file://{}/page.html", pages.display()), pages.to_string_lossy().into_owned());
    let runs = pages.join("runs").to_string_lossy().into_owned();
    for args in [
        &["observe", &url, "--file-root", &root][..],
        &["observe", &url, "--file-root", &root, "--format", "json"],
        &["observe", &url, "--file-root", &root, "--format", "yaml"],
        &["run", "click \"nothing\"", "--url", &url, "--file-root", &root, "--out", &runs],
    ] {
        let ended = cuebook(args)?;
        let printed = format!("{}{}", ended.stdout, ended.stderr);
        ensure!(args[0] == "run" || printed.contains("Go"), "{args:?}: {printed}");
        let bad = printed.chars().find(|c| is_disruptive(*c) && !matches!(c, '\n' | '\t'));
        ensure!(bad.is_none(), "{args:?}: {bad:?} in {printed:?}");
    }
    Ok(())
}

#[test]
fn s34_s87_files_that_cannot_be_read_whole_stop_the_run_before_a_browser() -> Result<()> {
    let shop = Shop::open()?;
    let file = shop.runs().join("given.json");
    let path = file.to_string_lossy().into_owned();
    let deep = "[".repeat(1_000_000);
    let nested = format!("{{\"version\":\"1.0\",\"steps\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let twice = r#"{"version":"1.0","steps":[],"steps":[{"type":"reload"}]}"#;
    for plan in ["", "{", "\u{feff}{}", "NaN", deep.as_str(), nested.as_str(), twice] {
        std::fs::write(&file, plan)?;
        let ended = shop.cuebook(&["exec", &path, "--url", &shop.url("/login")])?;
        ensure!(ended.code == 2, "{:?}: {ended:?}", plan.get(..60.min(plan.len())));
    }
    for policy in ["", "{", "[]", r#"{"allow":[]}"#, r#"{"allowed":["a.test"]}"#, r#"{"allow":["*"]}"#, deep.as_str()] {
        std::fs::write(&file, policy)?;
        let run = ["run", "click \"x\"", "--url", &shop.url("/login"), "--policy", &path];
        let ended = shop.cuebook(&run)?;
        ensure!(ended.code == 2, "{:?}: {ended:?}", policy.get(..60.min(policy.len())));
    }
    std::fs::remove_file(&file)?;
    let run = ["run", "click \"x\"", "--url", &shop.url("/login"), "--policy", &path];
    let ended = shop.cuebook(&run)?;
    ensure!(ended.code == 2 && ended.stderr.contains("given.json"), "{ended:?}");
    let seen = shop.state()["requestsByPath"]["/login"].as_u64().context("counts").unwrap_or(0);
    ensure!(seen == 0, "the page was opened {seen} times");
    Ok(())
}
