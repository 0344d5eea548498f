//! `cuebook observe`: prints what can be acted on.

use std::sync::Arc;
use std::time::Instant;

use cuebook::{Live, Tab};
use cuebook_datalayer::ValueRedactor;
use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::policy::Policy;
use cuebook_grammar::render::{self, TextOptions};
use cuebook_grammar::secret::DigestKey;

use crate::args::{ObservationFormat, ObserveArgs};
use crate::browser::{close_tab, open_under};
use crate::compose::digest_key;
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::ground;
use crate::interrupt::Signals;
use crate::opening;
use crate::progress;
use crate::text::plain;

/// The result, by format.
enum ObserveOutput {
    Observation(Box<Observation>),
    /// The accessibility tree as YAML, and the observation before it.
    Aria(String, Box<Observation>),
}

pub(crate) async fn run(args: ObserveArgs, output: Output) -> Exit {
    match observe(&args, output).await {
        Ok(ObserveOutput::Aria(yaml, observation)) => {
            print_text(&yaml);
            print_text("\n");
            judged(&observation, output)
        }
        Ok(ObserveOutput::Observation(observation)) => {
            let format = if output.json { ObservationFormat::Json } else { args.format };
            // Text has a default budget; a document has none.
            let mut options = TextOptions::default();
            if let Some(budget) = args.budget {
                options = TextOptions { budget, text: budget, ..options };
            } else if matches!(format, ObservationFormat::Json) {
                options.budget = usize::MAX;
            }
            match format {
                ObservationFormat::Json | ObservationFormat::Aria => {
                    print_json(&render::fit(&observation, &options).with_meanings());
                }
                ObservationFormat::Text => print_text(&render::text(&observation, &options)),
                ObservationFormat::Yaml => print_text(&render::yaml(&observation, &options)),
            }
            if args.locators && !output.json {
                print_text(&locators(&observation));
            }
            judged(&observation, output)
        }
        Err(refusal) => refusal.print(output),
    }
}

/// The best locator of each candidate, as a plan declares it.
fn locators(observation: &Observation) -> String {
    let line = |candidate: &Candidate| {
        let locator = serde_json::to_string(candidate.locators.first()?).ok()?;
        Some(format!("  \"{}\": {}\n", candidate.id, plain(&locator)))
    };
    let lines: String = observation.candidates.iter().filter_map(line).collect();
    format!("locators, for `candidates` of a plan:\n{lines}")
}

/// Reports what is wrong with a page that was printed nevertheless: an error of its server, or a page that hangs.
fn judged(observation: &Observation, output: Output) -> Exit {
    let wrong = match (observation.status, observation.unseen()) {
        (Some(status @ 400..), _) => format!("the server answered with status {status}"),
        (_, Some(why)) if observation.dialog.is_none() => format!("the page cannot be observed: {why}"),
        _ => {
            if observation.sketch.empty && !output.quiet {
                progress::say("note: the page is empty");
            }
            return Exit::OK;
        }
    };
    progress::say(&format!("error: {wrong}"));
    Exit::FAILED
}

async fn observe(args: &ObserveArgs, output: Output) -> Result<ObserveOutput, Refusal> {
    let mut policy = ground::page_roots(&args.file_root, Policy::default())?;
    if let Some(url) = &args.url {
        policy = ground::starting_at(policy, url)?;
    }
    let digest = digest_key()?;
    let deadline = Deadline::after(Instant::now(), args.timeout);
    let mut signals = Signals::listen();
    let tab = signals.guard(open_under(policy.clone(), &args.browser, &args.containment, args.timeout)).await?;
    let observed = signals.guard(open(&tab, args, output, &policy, digest, deadline)).await;
    close_tab(tab).await;
    observed
}

async fn open(
    tab: &Tab,
    args: &ObserveArgs,
    output: Output,
    policy: &Policy,
    digest: DigestKey,
    deadline: Deadline,
) -> Result<ObserveOutput, Refusal> {
    let live = Live::on(tab, digest, Arc::new(ValueRedactor::default()));
    let mut modeler = opening::modeler(&live);
    opening::open(tab, &live, args.url.as_deref(), policy, args.wait_for.as_ref(), deadline).await?;
    let mut observation = opening::observe(&mut modeler, tab, args.scope, deadline).await?;
    opening::read(&mut modeler, &mut observation, deadline).await;
    if matches!(args.format, ObservationFormat::Aria) && !output.json {
        // The observation has found the closed shadow roots.
        let snapshot = modeler
            .aria_snapshot(&tab.page, None, deadline.instant())
            .await
            .map_err(|error| opening::broken(&error))?;
        return Ok(ObserveOutput::Aria(snapshot.yaml, Box::new(observation)));
    }
    Ok(ObserveOutput::Observation(Box::new(observation)))
}
