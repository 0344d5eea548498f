//! Runs and verifies the steps of a plan, with the crates for the language, the wire and the executor alone.
//!
//! `cargo run -p cuebook-executor --example execute -- [URL PLAN.json]`; without arguments, on a
//! small page with a plan for it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use cuebook_cdp::{Browser, LaunchOptions, SearchPlaces, find_chrome};
use cuebook_executor::{ExecutorOptions, LiveExecutor, ScreenshotMode};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::PageId;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::{ArtifactRef, StepOutcome};
use cuebook_grammar::plan::{Author, PlanDraft, Violation};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::seam::{ArtifactKind, ArtifactSink, DenyAll, Executor as _, NoSecrets};
use cuebook_grammar::secret::DigestKey;

/// The button greets the name in the field.
const PAGE: &str = "data:text/html,<title>Greeting</title><label>Name <input></label>\
    <button onclick=\"out.textContent = 'Hello ' %2b document.querySelector('input').value\">Greet</button>\
    <p role=status id=out></p>";

/// The plan of an operator may declare locators; that of a model uses observed ids.
const PLAN: &str = r#"{
  "version": "1.0",
  "candidates": {
    "name":  { "strategy": "byLabel", "text": "Name" },
    "greet": { "strategy": "byRole", "role": "button", "name": "Greet" },
    "out":   { "strategy": "byRole", "role": "status" }
  },
  "steps": [
    { "type": "type", "targetRef": "name", "text": "Ann" },
    { "type": "click", "targetRef": "greet",
      "post": [{ "kind": "elementTextEquals", "target": "out", "text": "Hello Ann" }] }
  ]
}"#;

#[tokio::main]
#[expect(clippy::disallowed_methods, clippy::print_stdout, reason = "an example is its own composition root")]
async fn main() -> anyhow::Result<()> {
    let (url, plan) = match (std::env::args().nth(1), std::env::args().nth(2)) {
        (Some(url), Some(file)) => (url, std::fs::read_to_string(file)?),
        _ => (PAGE.to_owned(), PLAN.to_owned()),
    };
    let places = SearchPlaces {
        path: std::env::var_os("PATH"),
        chrome_variable: std::env::var_os("CHROME"),
        ..SearchPlaces::default()
    };
    for line in carry_out(&url, &plan, &places).await? {
        println!("{line}");
    }
    Ok(())
}

/// The outcome of each step, up to the first failure.
async fn carry_out(url: &str, plan: &str, places: &SearchPlaces) -> anyhow::Result<Vec<String>> {
    let deadline = Deadline::after(Instant::now(), Duration::from_secs(30));
    let profiles = tempfile::tempdir()?;
    let options = LaunchOptions::new(find_chrome(places)?, profiles.path());
    let browser = Arc::new(Browser::launch(&options, deadline.instant()).await?);
    // The executor is created first, so that its guard is in the page from the first document on.
    let options = ExecutorOptions { screenshots: ScreenshotMode::Off, ..ExecutorOptions::default() };
    let key = DigestKey::new([7; 32]); // Use a random key if logs are kept.
    let mut executor = LiveExecutor::new(browser.clone(), key, NoSecrets, KeepNothing, options);
    let tab = browser.new_page(url, deadline.instant()).await?;
    let page = PageId::new(tab.target_id().as_str());

    // No observation is needed: declared locators are resolved, and awaited, when their step starts.
    let ground = Observation::blank(page.clone(), url);
    let plan = PlanDraft::read(plan, Author::Operator)
        .and_then(|draft| draft.check(&ground, &Policy::default()))
        .map_err(|violations| refused(&violations))?;

    let mut lines = Vec::new();
    for index in 0..plan.steps().len() {
        let step = plan.bind(index, &ground).map_err(|violations| refused(&violations))?;
        let outcome = executor.run_step(&page, &step, &ground, &mut DenyAll, deadline).await?;
        let verb = step.action().kind().meta().name;
        let judged: Vec<String> =
            outcome.evidence().post.iter().map(|one| format!("{} {:?}", one.condition.tag(), one.verdict)).collect();
        match &outcome {
            StepOutcome::Succeeded(_) => lines.push(format!("{verb}: {}", judged.join(", "))),
            // Expected failure is data: the stage, the cause and the facts.
            StepOutcome::Failed(failure) => {
                lines.push(format!("{verb}: {} at {:?}: {}", failure.cause.as_str(), failure.stage, failure.message));
            }
        }
        if let Some(effects) = &outcome.evidence().effects {
            lines.push(format!("  effects {}", serde_json::to_string(effects)?));
        }
        if matches!(outcome, StepOutcome::Failed(_)) {
            break;
        }
    }
    browser.close(deadline.instant()).await?;
    Ok(lines)
}

fn refused(violations: &[Violation]) -> anyhow::Error {
    anyhow!(violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

/// Discards pictures and downloads.
struct KeepNothing;

impl ArtifactSink for KeepNothing {
    type Error = Infallible;

    async fn store(&self, kind: ArtifactKind, media_type: &str, bytes: Vec<u8>) -> Result<ArtifactRef, Infallible> {
        let bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let (kind, media_type) = (kind.as_str().to_owned(), media_type.to_owned());
        Ok(ArtifactRef { kind, media_type, bytes, sha256: String::new(), path: String::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "a test is its own composition root")]
    async fn both_steps_do_what_the_plan_says() {
        let places = SearchPlaces {
            path: std::env::var_os("PATH"),
            chrome_variable: std::env::var_os("CHROME"),
            ..SearchPlaces::default()
        };
        let lines = carry_out(PAGE, PLAN, &places).await.unwrap();
        assert!(lines.contains(&"type: valueEquals Holds".to_owned()), "{lines:#?}");
        assert!(lines.contains(&"click: elementTextEquals Holds".to_owned()), "{lines:#?}");
    }
}
