//! `cuebook record`: what a person does in a browser, as a plan.

use std::sync::Arc;
use std::time::Duration;

use cuebook::recorder::{RecordError, Recorded};
use cuebook::{Live, Tab};
use cuebook_datalayer::ValueRedactor;
use cuebook_datalayer::replay::Recording;
use cuebook_grammar::plan::{PlanContext, PlanDraft};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::report::{ErrorCode, RunResult};
use cuebook_grammar::wire::ShortText;
use cuebook_page_modeler::ModelerOptions;
use serde::Serialize;

use super::replay::unreadable;
use crate::args::RecordArgs;
use crate::browser::{close_tab, open_under};
use crate::compose::digest_key;
use crate::exit::{Exit, Output, Refusal, print_json};
use crate::ground;
use crate::interrupt::Signals;
use crate::new_file::NewFile;
use crate::progress::{counted, say};
use crate::text::{plain, with_sources};

/// Time limit for starting a browser.
const STARTING: Duration = Duration::from_secs(30);

/// Document that `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    plan: &'a PlanDraft,
    /// The secrets that the plan names, each with its field.
    credentials: Vec<Credential<'a>>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct Credential<'a> {
    name: &'a str,
    field: &'a str,
}

pub(crate) async fn run(args: RecordArgs, output: Output) -> Exit {
    match recorded(args, output).await {
        Ok(()) => Exit::OK,
        Err(refusal) => refusal.print(output),
    }
}

async fn recorded(mut args: RecordArgs, output: Output) -> Result<(), Refusal> {
    let shown = plain(&args.output.display().to_string());
    // Before anything is done that would be lost.
    let file = NewFile::at(&args.output, args.force, "--force replaces it, and --output names another file")?;
    let policy = ground::starting_at(Policy::default(), &args.url)?;
    args.browser.headed |= args.browser.cdp.is_none() && !args.headless;
    let mut signals = Signals::listen();
    let opening = open_under(policy, &args.browser, &args.containment, STARTING);
    let tab = signals.guard(opening).await.map_err(|refusal| without_window(refusal, &args))?;
    let done = record(&tab, &args, signals, output).await;
    close_tab(tab).await;
    let recorded = done?;
    let plan = plan(&recorded, &args)?;
    let text = serde_json::to_string_pretty(&plan).map_err(|error| unreadable(&error))?;
    file.write(&(text + "\n"))?;
    tell(&recorded, &plan, &shown, &args, output);
    Ok(())
}

async fn record(tab: &Tab, args: &RecordArgs, mut signals: Signals, output: Output) -> Result<Recorded, Refusal> {
    let live = Live::on(tab, digest_key()?, Arc::new(ValueRedactor::default()));
    let recorder = live.recorder(ModelerOptions::default());
    let named = args.credential.iter().cloned();
    let recorder = named.fold(recorder, |recorder, (field, secret)| recorder.naming(field, secret));
    if !output.quiet {
        let end = if args.time.is_some() { "" } else { "; Ctrl-C ends the recording, and so does closing the tab" };
        say(&format!("recording {}{end}", plain(&args.url)));
    }
    let time = args.time;
    let stop = async move {
        let over = async {
            match time {
                Some(time) => tokio::time::sleep(time).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = signals.next() => {}
            () = over => {}
        }
    };
    recorder.record(&tab.page, &args.url, stop).await.map_err(|error| match error {
        RecordError::Goto(_) => Refusal {
            result: RunResult::Failed,
            ..Refusal::unusable(ErrorCode::NavigationFailed, with_sources(&error))
        },
        _ => Refusal::unusable(ErrorCode::BrowserBroken, with_sources(&error)),
    })
}

/// The steps as a plan of the operator.
fn plan(recorded: &Recorded, args: &RecordArgs) -> Result<PlanDraft, Refusal> {
    if recorded.steps.is_empty() {
        let notes: Vec<String> = recorded.notes.iter().map(|note| plain(&note.to_string())).collect();
        let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
        let message = format!("nothing was done on the page that a plan could repeat: no plan is written{notes}");
        return Err(Refusal { result: RunResult::Failed, ..Refusal::invalid(ErrorCode::InvalidPlan, message) });
    }
    let done = recorded.steps.iter().map(|done| (done.step.clone(), done.targets.clone()));
    let recording = Recording::of_steps(Some(args.url.clone()), done).map_err(|error| unreadable(&error))?;
    // A plan that stays on one origin is for any copy of the site.
    let origins = Some(&recorded.origins).filter(|origins| origins.len() > 1);
    let allowed_domains = origins.map(|origins| origins.iter().map(|origin| ShortText::cut(origin)).collect());
    let context = PlanContext { allowed_domains, viewport: recorded.viewport, ..PlanContext::default() };
    Ok(PlanDraft { context: Some(context), ..recording.plan })
}

fn tell(recorded: &Recorded, plan: &PlanDraft, shown: &str, args: &RecordArgs, output: Output) {
    if output.json {
        let credential = |(name, field)| Credential { name, field };
        print_json(&Document {
            plan,
            credentials: recorded
                .credentials
                .iter()
                .map(|(name, field)| (name.as_str(), field.as_str()))
                .map(credential)
                .collect(),
            notes: recorded.notes.iter().map(ToString::to_string).collect(),
        });
    }
    if output.quiet {
        return;
    }
    say(&format!("{} in {shown}", counted(plan.steps.len(), "step")));
    for (name, field) in &recorded.credentials {
        let (name, field) = (plain(name.as_str()), plain(field));
        say(&format!(
            "the field {field:?} gets the secret {name}: declare it in a file for --secrets, or set its variable"
        ));
    }
    for note in &recorded.notes {
        say(&format!("note: {}", plain(&note.to_string())));
    }
    say(&format!("run it with: cuebook exec {shown} --url {}", plain(&args.url)));
}

/// A refusal to start a browser with a window says how to do without one.
fn without_window(mut refusal: Refusal, args: &RecordArgs) -> Refusal {
    if args.browser.headed && refusal.result == RunResult::Error {
        refusal.error.message.push_str("; a window needs a display: --cdp attaches to a browser that has one");
    }
    refusal
}
