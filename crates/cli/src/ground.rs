//! The page and the policy that the flags state.

use std::path::{Path, PathBuf};

use cuebook_datalayer::traffic::Volatile;
use cuebook_grammar::id::PageId;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::policy::{Outside, Policy, PolicyFile, VolatileParts};
use cuebook_grammar::report::ErrorCode;
use cuebook_grammar::wire::ShortText;

use crate::args::{GroundArgs, PolicyArgs};
use crate::exit::Refusal;
use crate::input;
use crate::text::plain;

/// The page and the policy for a plan or a grammar. Without an observation, the page is blank.
pub(crate) fn ground(args: &GroundArgs) -> Result<(Observation, Policy), Refusal> {
    let observed = args.observation.as_deref().map(observation).transpose()?;
    let start = args.url.as_deref().or(observed.as_ref().map(|seen| seen.url.as_str()));
    let policy = policy(&args.policy, &[], start)?;
    let blank = || Observation::blank(PageId::new("none"), args.url.as_deref().unwrap_or("about:blank"));
    Ok((observed.unwrap_or_else(blank), policy))
}

/// Reads an observation, as `cuebook observe --format json` prints it.
pub(crate) fn observation(path: &Path) -> Result<Observation, Refusal> {
    Observation::read(&input::text(path)?).map_err(|error| {
        let message = format!("{} is not an observation: {error}", path.display());
        Refusal::invalid(ErrorCode::Malformed, plain(&message))
    })
}

/// The policy of a run that starts on `start`.
pub(crate) fn policy(args: &PolicyArgs, grants: &[String], start: Option<&str>) -> Result<Policy, Refusal> {
    let refuse = |error: &dyn std::error::Error| Refusal::invalid(ErrorCode::InvalidPolicy, error.to_string());
    let mut policy = page_roots(&args.file_root, Policy::new(args.profile))?;
    if let Some(url) = start {
        policy = starting_at(policy, url)?;
    }
    if let Some(path) = &args.policy {
        policy = with_file(path, policy)?;
    }
    policy = roots(&args.root, policy)?;
    for entry in &args.allow {
        policy = policy.allowing(entry).map_err(|error| refuse(&error))?;
    }
    for entry in &args.read {
        policy = policy.reading(entry).map_err(|error| refuse(&error))?;
    }
    for entry in &args.permission {
        policy = policy.permitting(entry).map_err(|error| refuse(&error))?;
    }
    if let Some(gate) = args.gate {
        policy = policy.gating(gate);
    }
    for grant in grants {
        policy = policy.granting(grant).map_err(|error| refuse(&error))?;
    }
    Ok(policy)
}

/// Allows the origin of the page to start on.
pub(crate) fn starting_at(policy: Policy, url: &str) -> Result<Policy, Refusal> {
    policy.starting_at(url).map_err(|error| Refusal::invalid(ErrorCode::InvalidUrl, error.to_string()))
}

/// Adds a policy file. Its relative directories are relative to the file.
fn with_file(path: &Path, policy: Policy) -> Result<Policy, Refusal> {
    let shown = plain(&path.display().to_string());
    let refuse = |why: String| Refusal::invalid(ErrorCode::InvalidPolicy, format!("{shown}: {}", plain(&why)));
    let mut file = PolicyFile::read(&input::text(path)?).map_err(|error| refuse(error.to_string()))?;
    let beside = path.parent().unwrap_or(Path::new(""));
    for list in [&mut file.roots.read, &mut file.roots.write] {
        let declared: Vec<PathBuf> = list.iter().map(|root| beside.join(root.as_str())).collect();
        *list = spellings(&declared).map_err(&refuse)?;
    }
    policy.with_file(&file).map_err(|error| refuse(error.to_string()))
}

/// The rules for volatile parts that files state.
pub(crate) fn volatile<'a>(parts: impl IntoIterator<Item = &'a VolatileParts>) -> Result<Volatile, Refusal> {
    Volatile::new(parts)
        .map_err(|error| Refusal::invalid(ErrorCode::InvalidPolicy, plain(&format!("volatile: {error}"))))
}

/// Opens directories for reading and uploads.
fn roots(dirs: &[PathBuf], policy: Policy) -> Result<Policy, Refusal> {
    let refuse = |why: String| Refusal::invalid(ErrorCode::InvalidPolicy, format!("--root: {}", plain(&why)));
    let read_roots = spellings(dirs).map_err(refuse)?.iter().map(ToString::to_string).collect();
    Ok(policy.opening(Outside { read_roots, ..Outside::default() }))
}

/// Opens the pages in directories.
pub(crate) fn page_roots(dirs: &[PathBuf], policy: Policy) -> Result<Policy, Refusal> {
    let refuse = |why: String| Refusal::invalid(ErrorCode::InvalidPolicy, format!("--file-root: {}", plain(&why)));
    let dirs = spellings(dirs).map_err(refuse)?;
    Ok(dirs.iter().fold(policy, |policy, dir| policy.opening_pages(dir.to_string())))
}

/// The canonical paths of directories, and also the absolute path as given if links make it another one: a plan may use
/// either.
fn spellings(dirs: &[PathBuf]) -> Result<Vec<ShortText>, String> {
    let mut all = Vec::new();
    for dir in dirs {
        let found = dir.canonicalize().ok().filter(|found| found.is_dir());
        let found = found.ok_or_else(|| format!("`{}` is not a directory", dir.display()))?;
        let named = Some(dir).filter(|dir| dir.is_absolute() && **dir != found);
        for spelling in std::iter::once(&found).chain(named) {
            let text = spelling.to_str().ok_or_else(|| format!("the path of `{}` is not UTF-8", dir.display()))?;
            all.push(ShortText::new(text).map_err(|error| error.to_string())?);
        }
    }
    Ok(all)
}
