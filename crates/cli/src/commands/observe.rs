//! `cuebook observe`: what a page offers to act on.

use std::time::Instant;

use cuebook::Tab;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::render::{self, TextOptions};
use cuebook_grammar::report::ErrorCode;
use cuebook_grammar::secret::DigestKey;

use crate::args::{ObservationFormat, ObserveArgs, ScopeName};
use crate::compose::{close_tab, digest_key, open_tab};
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::opening;
use crate::progress;

/// What was asked for.
enum Seen {
    Observation(Box<Observation>),
    /// The accessible structure, as YAML, and the observation before it.
    Aria(String, Box<Observation>),
}

pub(crate) async fn run(args: ObserveArgs, output: Output) -> Exit {
    match observe(&args, output).await {
        Ok(Seen::Aria(yaml, observation)) => {
            print_text(&yaml);
            print_text("\n");
            judged(&observation, output)
        }
        Ok(Seen::Observation(observation)) => {
            let format = if output.json { ObservationFormat::Json } else { args.format };
            // A document is whole unless a budget is stated; text for people and models has one of its own.
            let mut options = TextOptions::default();
            if let Some(budget) = args.budget {
                options.budget = budget;
            } else if matches!(format, ObservationFormat::Json) {
                options.budget = usize::MAX;
            }
            match format {
                ObservationFormat::Json | ObservationFormat::Aria => {
                    print_json(&render::fit(&observation, &options));
                }
                ObservationFormat::Text => print_text(&render::text(&observation, &options)),
                ObservationFormat::Yaml => print_text(&render::yaml(&observation, &options)),
            }
            judged(&observation, output)
        }
        Err(refusal) => refusal.tell(output),
    }
}

/// Says what is wrong with a page that was printed all the same: its server answered with an error, or it did not
/// answer itself.
fn judged(observation: &Observation, output: Output) -> Exit {
    let wrong = match (observation.status, observation.unseen()) {
        (Some(status @ 400..), _) => format!("the server answered with status {status}"),
        (_, Some(why)) if observation.dialog.is_none() => format!("nothing was seen of the page: {why}"),
        _ => {
            if observation.sketch.empty && !output.quiet {
                progress::say("note: the page is empty: nothing to act on, no text, no picture");
            }
            return Exit::OK;
        }
    };
    progress::say(&format!("error: {wrong}"));
    Exit::FAILED
}

async fn observe(args: &ObserveArgs, output: Output) -> Result<Seen, Refusal> {
    let policy = crate::input::page_roots(&args.file_root, Policy::default())?
        .starting_at(&args.url)
        .map_err(|error| Refusal::invalid(ErrorCode::InvalidUrl, error.to_string()))?;
    let digest = digest_key()?;
    let deadline = Deadline::after(Instant::now(), args.timeout);
    let tab = open_tab(&args.browser).await?;
    let observed = look(&tab, args, output, &policy, digest, deadline).await;
    close_tab(tab).await;
    observed
}

async fn look(
    tab: &Tab,
    args: &ObserveArgs,
    output: Output,
    policy: &Policy,
    digest: DigestKey,
    deadline: Deadline,
) -> Result<Seen, Refusal> {
    let mut modeler = opening::modeler(tab, digest.clone());
    opening::open(tab, &args.url, policy, digest, args.wait_for.as_ref(), deadline).await?;
    let scope = match args.scope {
        ScopeName::View => Scope::View,
        ScopeName::Full => Scope::Full,
    };
    let observation = opening::look(&mut modeler, tab, scope, deadline).await?;
    if matches!(args.format, ObservationFormat::Aria) && !output.json {
        // After the observation: closed shadow roots are known by then.
        let snapshot = modeler
            .aria_snapshot(&tab.page, None, deadline.instant())
            .await
            .map_err(|error| opening::broken(&error))?;
        return Ok(Seen::Aria(snapshot.yaml, Box::new(observation)));
    }
    Ok(Seen::Observation(Box::new(observation)))
}
