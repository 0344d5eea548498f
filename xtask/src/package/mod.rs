//! The packages of a release from built programs: archives with their digests, npm packages, a Homebrew formula and
//! `server.json`.
//!
//! Invariant: names and versions come from `Cargo.toml` and the table of platforms; nothing else states them.

mod archive;
mod manifests;
mod platform;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use cargo_metadata::MetadataCommand;
use serde_json::Value;
use xtask::commands::{output_of, root, stage};

use archive::Entry;
use manifests::Project;
use platform::{PLATFORMS, Platform};

/// Shells with completions, and the files of those in an archive.
const SHELLS: [(&str, &str); 4] = [
    ("bash", "completions/cuebook.bash"),
    ("zsh", "completions/_cuebook"),
    ("fish", "completions/cuebook.fish"),
    ("powershell", "completions/_cuebook.ps1"),
];

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Program to pack [default: target/release/cuebook]
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Platform of the program; this one unless stated
    #[arg(long, value_name = "TARGET")]
    target: Option<String>,
    /// Pack no program: make the rest from the archives of all platforms, which lie in the folder
    #[arg(long, conflicts_with_all = ["binary", "target"])]
    join: bool,
    /// Folder for the packages
    #[arg(long, value_name = "DIR", default_value = "target/package")]
    out: PathBuf,
}

/// Packs a program, and writes everything that follows from the archives in the folder.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let project = project()?;
    let out = root().join(&arguments.out);
    fs::create_dir_all(&out)?;
    if !arguments.join {
        let target = match &arguments.target {
            Some(target) => target.clone(),
            None => host()?,
        };
        let platform = Platform::of(&target).with_context(|| {
            let known: Vec<_> = PLATFORMS.iter().map(|platform| platform.target).collect();
            format!("no release is made for {target}: expected one of {}", known.join(", "))
        })?;
        let built = Path::new("target/release").join(platform.program());
        let binary = root().join(arguments.binary.as_ref().unwrap_or(&built));
        let mut entries = entries(platform, &binary)?;
        entries.extend(of_the_program(&binary, &out.join("man"))?);
        archive::pack(platform, &project.version, &entries, &out)?;
    }
    let archives = archives(&project, &out);
    if arguments.join {
        let missing = |platform: &&Platform| !archives.iter().any(|(there, _)| there.target == platform.target);
        let missing: Vec<_> = PLATFORMS.iter().filter(missing).map(|one| one.archive(&project.version)).collect();
        ensure!(missing.is_empty(), "expected {} in {}", missing.join(", "), out.display());
    }
    let mut digests = BTreeMap::new();
    let mut sums = String::new();
    for (platform, file) in &archives {
        let digest = archive::digest(file)?;
        sums.push_str(&format!("{digest}  {}\n", platform.archive(&project.version)));
        digests.insert(platform.target, digest);
    }
    fs::write(out.join("SHA256SUMS"), sums)?;
    fs::write(out.join("cuebook.rb"), project.formula(&digests))?;
    write_json(&out.join("server.json"), &project.server())?;
    npm(&project, &archives, &out.join("npm"))?;
    for (platform, file) in &archives {
        println!("{}  {}", &digests[platform.target][..16], file.display());
    }
    println!("SHA256SUMS, cuebook.rb, server.json and npm/ in {}", out.display());
    Ok(())
}

/// The program, and what goes with it.
fn entries(platform: &Platform, binary: &Path) -> Result<Vec<Entry>> {
    let read = |file: &Path| {
        fs::read(file)
            .with_context(|| format!("{} cannot be read (cargo build --release -p cuebook-cli)", file.display()))
    };
    let plain = |path: &str, content| Entry { path: path.to_owned(), content, is_program: false };
    let program = Entry { path: platform.program().to_owned(), content: read(binary)?, is_program: true };
    let mut entries = vec![program];
    for file in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "CHANGELOG.md"] {
        entries.push(plain(file, read(&root().join(file))?));
    }
    Ok(entries)
}

/// Completions and manual pages, which the program writes itself. `folder` is for the pages, and removed.
fn of_the_program(binary: &Path, folder: &Path) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for (shell, file) in SHELLS {
        let written = Command::new(binary).args(["completions", shell]).stdin(Stdio::null()).output();
        match written {
            Ok(written) if written.status.success() => {
                entries.push(Entry { path: file.to_owned(), content: written.stdout, is_program: false });
            }
            // A program for another processor, or of before there were any.
            _ => {
                println!("no completions and no manual: {} does not write them here", binary.display());
                return Ok(Vec::new());
            }
        }
    }
    stage("manual", Command::new(binary).arg("man").arg(folder))?;
    let mut pages: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    pages.sort_by_key(fs::DirEntry::file_name);
    for page in pages {
        let path = format!("man/{}", page.file_name().to_string_lossy());
        entries.push(Entry { path, content: fs::read(page.path())?, is_program: false });
    }
    fs::remove_dir_all(folder)?;
    Ok(entries)
}

/// The archives that lie in the folder.
fn archives(project: &Project, out: &Path) -> Vec<(&'static Platform, PathBuf)> {
    let of = |platform: &'static Platform| (platform, out.join(platform.archive(&project.version)));
    PLATFORMS.iter().map(of).filter(|(_, file)| file.is_file()).collect()
}

/// Writes a folder for each npm package: that with the launcher, and one for each archive.
fn npm(project: &Project, archives: &[(&Platform, PathBuf)], out: &Path) -> Result<()> {
    if out.exists() {
        fs::remove_dir_all(out)?;
    }
    let launcher = root().join("packaging/npm");
    let main = out.join("cuebook");
    fs::create_dir_all(main.join("bin"))?;
    write_json(&main.join("package.json"), &project.npm_main())?;
    fs::copy(launcher.join("README.md"), main.join("README.md"))?;
    fs::copy(launcher.join("bin/cuebook.js"), main.join("bin/cuebook.js"))?;
    with_licences(&main)?;
    for (platform, file) in archives {
        let folder = out.join(platform.package().trim_start_matches("@cuebook/"));
        fs::create_dir_all(&folder)?;
        write_json(&folder.join("package.json"), &project.npm_platform(platform))?;
        let readme =
            format!("The program of [cuebook](https://www.npmjs.com/package/cuebook) for {}.\n", platform.target);
        fs::write(folder.join("README.md"), readme)?;
        let program = folder.join(platform.program());
        fs::write(&program, archive::program(platform, &project.version, file)?)?;
        with_licences(&folder)?;
        executable(&program)?;
    }
    Ok(())
}

fn with_licences(folder: &Path) -> Result<()> {
    for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(root().join(file), folder.join(file))?;
    }
    Ok(())
}

#[cfg(unix)]
fn executable(file: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(fs::set_permissions(file, fs::Permissions::from_mode(0o755))?)
}

/// On Windows there is no such permission, so packages are joined elsewhere.
#[cfg(not(unix))]
fn executable(_: &Path) -> Result<()> {
    Ok(())
}

fn write_json(file: &Path, value: &Value) -> Result<()> {
    Ok(fs::write(file, format!("{}\n", serde_json::to_string_pretty(value)?))?)
}

/// Reads what packages repeat from the manifest of the command line.
fn project() -> Result<Project> {
    let metadata = MetadataCommand::new().current_dir(root()).no_deps().exec().context("cargo metadata failed")?;
    let package = metadata.packages.into_iter().find(|package| package.name == "cuebook-cli");
    let package = package.context("expected a package cuebook-cli")?;
    Ok(Project {
        version: package.version.to_string(),
        repository: package.repository.context("expected `repository` of cuebook-cli")?,
        license: package.license.context("expected `license` of cuebook-cli")?,
    })
}

/// The platform that this compiler builds for.
fn host() -> Result<String> {
    let rustc = output_of(Command::new("rustc").arg("-vV"))?;
    match rustc.lines().find_map(|line| line.strip_prefix("host: ")) {
        Some(host) => Ok(host.to_owned()),
        None => bail!("rustc -vV names no host"),
    }
}
