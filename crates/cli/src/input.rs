//! Files and standard input, with bounds.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use cuebook_grammar::id::PageId;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::policy::{Outside, Policy, PolicyFile};
use cuebook_grammar::report::ErrorCode;
use cuebook_grammar::wire::ShortText;

use crate::args::GroundArgs;
use crate::exit::Refusal;
use crate::text::plain;

/// The largest plan or observation that is read: 64 MiB.
const MAX_BYTES: u64 = 64 << 20;

/// Reads a text file, or standard input for `-`.
pub(crate) fn text(path: &Path) -> Result<String, Refusal> {
    let shown = plain(&path.display().to_string());
    let unreadable =
        |error: std::io::Error| Refusal::invalid(ErrorCode::Unreadable, format!("{shown} cannot be read: {error}"));
    let mut bytes = Vec::new();
    if path.as_os_str() == "-" {
        std::io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    } else {
        File::open(path).map_err(unreadable)?.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Refusal::invalid(
            ErrorCode::TooLarge,
            format!("expected at most {MAX_BYTES} bytes in {shown}, saw more"),
        ));
    }
    String::from_utf8(bytes)
        .map_err(|error| Refusal::invalid(ErrorCode::Malformed, format!("expected UTF-8 in {shown}: {error}")))
}

/// The page and the policy that a plan or a grammar is about; a blank page where none is named.
pub(crate) fn ground(args: &GroundArgs) -> Result<(Observation, Policy), Refusal> {
    let observed: Option<Observation> = match &args.observation {
        Some(path) => Some(Observation::read(&text(path)?).map_err(|error| {
            let shown = plain(&path.display().to_string());
            Refusal::invalid(
                ErrorCode::Malformed,
                format!("expected an observation in {shown}: {}", plain(&error.to_string())),
            )
        })?),
        None => None,
    };
    let mut start = page_roots(&args.file_root, Policy::new(args.profile.into()))?;
    if let Some(url) = args.url.as_deref().or(observed.as_ref().map(|seen| seen.url.as_str())) {
        start = start.starting_at(url).map_err(|error| Refusal::invalid(ErrorCode::InvalidUrl, error.to_string()))?;
    }
    if let Some(path) = &args.policy {
        start = policy(path, start)?;
    }
    start = roots(&args.root, start)?;
    for entry in &args.allow {
        start = start.allowing(entry).map_err(|error| Refusal::invalid(ErrorCode::InvalidPolicy, error.to_string()))?;
    }
    let blank = || Observation::blank(PageId::new("none"), args.url.as_deref().unwrap_or("about:blank"));
    Ok((observed.unwrap_or_else(blank), start))
}

/// Adds what a policy file says. Directories that it names relatively lie beside it.
pub(crate) fn policy(path: &Path, policy: Policy) -> Result<Policy, Refusal> {
    let shown = plain(&path.display().to_string());
    let refuse = |why: String| Refusal::invalid(ErrorCode::InvalidPolicy, format!("{shown}: {}", plain(&why)));
    let mut file = PolicyFile::read(&text(path)?).map_err(|error| refuse(error.to_string()))?;
    let beside = path.parent().unwrap_or(Path::new(""));
    for list in [&mut file.roots.read, &mut file.roots.write] {
        let declared: Vec<PathBuf> = list.iter().map(|root| beside.join(root.as_str())).collect();
        *list = spellings(&declared).map_err(&refuse)?;
    }
    policy.with_file(&file).map_err(|error| refuse(error.to_string()))
}

/// Opens directories for reading.
pub(crate) fn roots(dirs: &[PathBuf], policy: Policy) -> Result<Policy, Refusal> {
    let refuse = |why: String| Refusal::invalid(ErrorCode::InvalidPolicy, format!("--root: {}", plain(&why)));
    let read_roots = spellings(dirs).map_err(refuse)?.iter().map(ToString::to_string).collect();
    Ok(policy.opening(Outside { read_roots, ..Outside::default() }))
}

/// Opens pages in files below directories.
pub(crate) fn page_roots(dirs: &[PathBuf], policy: Policy) -> Result<Policy, Refusal> {
    let refuse = |why: String| Refusal::invalid(ErrorCode::InvalidPolicy, format!("--file-root: {}", plain(&why)));
    let dirs = spellings(dirs).map_err(refuse)?;
    Ok(dirs.iter().fold(policy, |policy, dir| policy.opening_pages(dir.to_string())))
}

/// Directories as they are, and as they were named where that leads there by a link: a plan may name a file either way.
fn spellings(dirs: &[PathBuf]) -> Result<Vec<ShortText>, String> {
    let mut all = Vec::new();
    for dir in dirs {
        let found = dir.canonicalize().ok().filter(|found| found.is_dir());
        let found = found.ok_or_else(|| format!("expected a directory, saw `{}`", dir.display()))?;
        let named = Some(dir).filter(|dir| dir.is_absolute() && **dir != found);
        for spelling in std::iter::once(&found).chain(named) {
            let text = spelling.to_str().ok_or_else(|| format!("expected a path in UTF-8 for `{}`", dir.display()))?;
            all.push(ShortText::new(text).map_err(|error| error.to_string())?);
        }
    }
    Ok(all)
}
