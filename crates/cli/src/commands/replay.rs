//! `cuebook replay`: a recorded run again, without a planner, and what differs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use cuebook_datalayer::replay::{
    Comparison, Divergence, DivergenceKind, Likeness, Recording, compare, compare_pictures,
};
use cuebook_datalayer::traffic::FixtureRules;
use cuebook_datalayer::{ArtifactStore, Observations, Run, RunDir};
use cuebook_grammar::geometry::ViewportSize;
use cuebook_grammar::id::CredentialRef;
use cuebook_grammar::plan::PlanDraft;
use cuebook_grammar::record::{EventRecord, LoggedEvent};
use cuebook_grammar::report::{ErrorCode, RunReport, RunResult};
use serde::Serialize;
use similar::TextDiff;

use crate::args::ReplayArgs;
use crate::browser::fit_viewport;
use crate::compose::{self, Job};
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::ground;
use crate::progress::{self, counted};
use crate::text::{plain, plain_lines, with_sources};
use crate::traffic::Offline;

pub(crate) const COMPARISON: &str = "replay.json";
const HEALED: &str = "healed-plan.json";

/// Document that `--json` prints: the report of the run, and the comparison.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Replayed<'a> {
    #[serde(flatten)]
    report: &'a RunReport,
    replay: &'a Comparison,
    /// Requests of a replay without a network; absent for other replays.
    #[serde(skip_serializing_if = "Option::is_none")]
    offline: Option<&'a Offline>,
    /// The file of the healed plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    healed_plan: Option<PathBuf>,
}

pub(crate) async fn run(args: ReplayArgs, output: Output) -> Exit {
    match Box::pin(replayed(args, output)).await {
        Ok(exit) => exit,
        Err(refusal) => refusal.print(output),
    }
}

async fn replayed(args: ReplayArgs, output: Output) -> Result<Exit, Refusal> {
    let likeness = Likeness::ignoring(&args.ignore)
        .map_err(|error| Refusal::invalid(ErrorCode::Usage, format!("--ignore: {}", plain(&error.to_string()))))?
        .comparing(args.requests.0);
    let dir = RunDir::open(&args.run).map_err(|error| unreadable(&error))?;
    let recorded = Run::read(&dir.log_path()).map_err(|error| unreadable(&error))?;
    let pictures = ArtifactStore::new(&dir, None);
    let mut recording = recording(&recorded, &pictures, &args.credential, usize::MAX)?
        .with_traffic(&dir)
        .map_err(|error| unreadable(&error))?;
    if let Some(url) = &args.url {
        recording = recording.starting_on(url);
    }
    let mut options = args.options;
    fit_viewport(&mut options.session.browser, &recording.plan);
    let secrets = compose::secrets(&options.session, recording.url.as_deref())?;

    let is_change = |(_, record): &&(usize, EventRecord)| matches!(record.event, LoggedEvent::ContextChanged { .. });
    let changes = recorded.events.iter().filter(is_change).count();
    if changes > 0 {
        let changes = counted(changes, "change");
        progress::say(&format!("note: not repeated: {changes} of what pages see, made between the steps of the run"));
    }
    let mut job = Job::replay(&recording, secrets);
    if args.offline {
        job.fixtures = Some((dir.clone(), FixtureRules { is_strict: args.strict, ..FixtureRules::default() }));
    }
    let policy = ground::policy(&options.session.policy, &[], recording.url.as_deref())?;
    let likeness = likeness.without(ground::volatile([policy.volatile()])?);
    let ended = compose::drive(job, &options, output, None).await?;
    compose::conclude(&ended.report, output);
    let run = Run::read(&ended.dir.log_path()).map_err(|error| unreadable(&error))?;
    let comparison = compare(&recording, &run, Some(&ended.dir), &likeness);
    let mut comparison = comparison.map_err(|error| unreadable(&error))?;
    comparison.add(compare_pictures(&recording, &pictures, (&run, &ended.dir), args.similarity));
    write(&ended.dir.path().join(COMPARISON), &comparison)?;
    let mut text = in_words(&comparison);
    let mut healed_plan = None;
    if args.heal && comparison.drift().next().is_some() {
        match recording.healed(&run) {
            Some(healed) => {
                let path = ended.dir.path().join(HEALED);
                write(&path, &healed.plan)?;
                let _ = write!(text, "healed plan: {}\n{}", path.display(), diff(&recording.plan, &healed.plan));
                healed_plan = Some(path);
            }
            None => progress::say("note: the plan is not healed, as the replay did not carry out all of its steps"),
        }
    }
    let misses = ended.offline.as_ref().map_or(0, |offline| offline.missed);
    if let Some(offline) = &ended.offline {
        text.push_str(&offline.in_words());
    }
    if output.json {
        print_json(&Replayed {
            report: &ended.report,
            replay: &comparison,
            offline: ended.offline.as_ref(),
            healed_plan,
        });
    } else {
        print_text(&plain_text(&text));
    }
    Ok(match ended.report.result {
        RunResult::Ok | RunResult::Failed if comparison.is_equal() && misses == 0 => Exit::OK,
        RunResult::Ok | RunResult::Failed => Exit::FAILED,
        other => Exit::of(other),
    })
}

/// Returns the recording of at most `last` steps of a run, in the viewport that it had.
pub(crate) fn recording(
    run: &Run,
    store: &ArtifactStore,
    credentials: &[(u32, CredentialRef)],
    last: usize,
) -> Result<Recording, Refusal> {
    let credentials: BTreeMap<_, _> = credentials.iter().cloned().collect();
    let mut recording = Recording::of_last(run, &credentials, last).map_err(|error| {
        Refusal::invalid(ErrorCode::InvalidPlan, format!("{}{}", with_sources(&error), hint(&error)))
    })?;
    if let Some(context) = &mut recording.plan.context {
        context.viewport = viewport(run, store);
    }
    Ok(recording)
}

pub(crate) fn unreadable(error: &(dyn std::error::Error + 'static)) -> Refusal {
    Refusal::invalid(ErrorCode::Unreadable, with_sources(error))
}

/// Returns advice on a run that cannot be replayed; empty if there is none.
fn hint(error: &cuebook_datalayer::DataError) -> &'static str {
    use cuebook_datalayer::{DataError, Unreplayable};
    match error {
        DataError::Unreplayable { why: Unreplayable::Text, .. } => {
            " with --credential STEP=SECRET, where SECRET is a name from the file of --secrets or of the environment"
        }
        _ => "",
    }
}

/// The viewport of the first observation that the log holds.
fn viewport(run: &Run, store: &ArtifactStore) -> Option<ViewportSize> {
    let first = run.observations.first()?;
    let seen = Observations::new(&run.observations, store.clone()).read(first.observation).ok()??.viewport;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a viewport is a small whole number")]
    let size = |side: f64| (200.0..=20_000.0).contains(&side).then_some(side as u32);
    Some(ViewportSize { width: size(seen.width)?, height: size(seen.height)? })
}

pub(crate) fn write(path: &Path, document: &impl Serialize) -> Result<(), Refusal> {
    let cannot = |error: &dyn std::fmt::Display| {
        Refusal::unusable(ErrorCode::CannotWrite, format!("{}: {error}", path.display()))
    };
    let json = serde_json::to_string_pretty(document).map_err(|error| cannot(&error))?;
    fs::write(path, json + "\n").map_err(|error| cannot(&error))
}

/// The differences, the first divergence first.
fn in_words(comparison: &Comparison) -> String {
    let steps = counted(comparison.steps as usize, "step");
    let recorded = comparison.recorded.as_ref().map_or("the recording", |run| run.as_str());
    let Some(first) = comparison.divergences.first() else { return format!("{steps} replayed, equal to {recorded}\n") };
    let mut out = format!("first divergence: {}\n", divergence_in_words(first));
    for more in comparison.divergences.iter().skip(1) {
        let _ = writeln!(out, "                  {}", divergence_in_words(more));
    }
    let differences = counted(comparison.divergences.len(), "difference");
    let _ = writeln!(out, "{steps} of {recorded} replayed, {differences}");
    out
}

/// `step 3 (click button "Save"): url was /a, is /b`.
pub(crate) fn divergence_in_words(divergence: &Divergence) -> String {
    // Of a picture, its name says nothing.
    let said = |item: &str| match (divergence.kind, item.split_once(' ')) {
        (DivergenceKind::Picture, Some((_, how))) => plain(how),
        (DivergenceKind::Picture, None) => String::new(),
        _ => plain(item),
    };
    let listed = |items: &[String]| items.iter().map(|item| said(item)).collect::<Vec<_>>().join(", ");
    let parts = [("was", &divergence.recorded), ("is", &divergence.replayed)];
    let parts: Vec<String> = parts
        .iter()
        .map(|(verb, items)| (verb, listed(items)))
        .filter(|(_, items)| !items.is_empty())
        .map(|(verb, items)| format!("{verb} {items}"))
        .collect();
    let step = match divergence.step {
        0 => "start".to_owned(),
        number => format!("step {number}"),
    };
    let marked =
        divergence.picture.as_ref().map(|picture| format!(", marked in {}", plain(picture))).unwrap_or_default();
    format!("{step} ({}): {} {}{marked}", plain(&divergence.action), divergence.kind.as_str(), parts.join(", "))
        .trim_end()
        .to_owned()
}

/// Returns the changes to a plan, as a unified diff of its JSON.
pub(crate) fn diff(recorded: &PlanDraft, healed: &PlanDraft) -> String {
    let [old, new] = [recorded, healed].map(|plan| serde_json::to_string_pretty(plan).unwrap_or_default() + "\n");
    TextDiff::from_lines(&old, &new).unified_diff().context_radius(3).header("recorded", "healed").to_string()
}

fn plain_text(text: &str) -> String {
    format!("{}\n", plain_lines(text))
}
