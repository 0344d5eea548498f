//! Running other programs: what they are called, where they run, and what their failure says.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// The directory of the workspace.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// A variable of the environment, if it is set to something.
#[expect(clippy::disallowed_methods, reason = "xtask is one of the crates that may")]
pub fn environment(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The cargo that runs this, with arguments, in the root of the workspace.
pub fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(environment("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    // It says of this package what build scripts ask of theirs: they would run again after each `cargo build`, and half
    // of the workspace would be compiled again.
    for (name, _) in std::env::vars_os() {
        if ["CARGO_MANIFEST_", "CARGO_PKG_"].iter().any(|it| name.to_string_lossy().starts_with(it)) {
            command.env_remove(name);
        }
    }
    command
}

/// Runs one stage of a chore: prints what it does and how long it took.
///
/// # Errors
/// If the program cannot be started or does not succeed.
pub fn stage(title: &str, command: &mut Command) -> Result<()> {
    println!("\n== {title}");
    let began = Instant::now();
    let status = command.status().with_context(|| format!("{title}: cannot run {command:?}"))?;
    if !status.success() {
        bail!("{title}: {status}");
    }
    println!("== {title}: {} s", began.elapsed().as_secs());
    Ok(())
}

/// Runs a program and returns its standard output.
///
/// # Errors
/// If the program cannot be started, does not succeed, or prints what is not text.
pub fn output_of(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("{command:?} printed what is not text"))
}

/// Returns `true` if cargo has a subcommand, such as `nextest`.
pub fn has_subcommand(name: &str) -> bool {
    let mut command = cargo(&[name, "--version"]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// A Python that is new enough: `$PYTHON`, else the usual names.
///
/// # Errors
/// If there is none.
pub fn python() -> Result<String> {
    let named = environment("PYTHON").map(|name| name.to_string_lossy().into_owned());
    let check = "import sys; print(sys.version_info >= (3, 10))";
    named
        .into_iter()
        .chain(["python3", "python"].map(str::to_owned))
        .find(|name| output_of(Command::new(name).args(["-c", check])).is_ok_and(|answer| answer.trim() == "True"))
        .context("no Python found. Install Python 3.10 or later, or set PYTHON to the path of one")
}

/// How `cuebook` is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildProfile {
    /// Without optimisations, for quick builds.
    Dev,
    /// Optimised: what measurements use.
    Release,
}

/// Builds `cuebook` and returns where the executable is.
///
/// # Errors
/// If it does not build, or cargo does not say where it put it.
pub fn build_cuebook() -> Result<PathBuf> {
    build_cuebook_as(BuildProfile::Dev)
}

/// Builds `cuebook` with a profile and returns where the executable is.
///
/// # Errors
/// As [`build_cuebook`].
pub fn build_cuebook_as(profile: BuildProfile) -> Result<PathBuf> {
    let profile = match profile {
        BuildProfile::Dev => "--profile=dev",
        BuildProfile::Release => "--profile=release",
    };
    built("cuebook", &[profile, "--package", "cuebook-cli"])
}

/// Builds `cuebook` with every feature and returns where the executable is.
///
/// # Errors
/// As [`build_cuebook`].
pub fn build_whole_cuebook() -> Result<PathBuf> {
    built("cuebook", &["--all-features", "--package", "cuebook-cli"])
}

/// Builds `cuebook` with queues in object stores, optimised, and returns where the executable is.
///
/// # Errors
/// As [`build_cuebook`].
pub fn build_remote_cuebook() -> Result<PathBuf> {
    built("cuebook", &["--release", "--features", "remote", "--package", "cuebook-cli"])
}

/// Builds the program of conformance and trials, and returns where the executable is. With the tests, whose dependencies
/// have further features: after them, or before, nothing is compiled twice.
///
/// # Errors
/// As [`build_cuebook`].
pub fn build_trials() -> Result<PathBuf> {
    built("cuebook-trials", &["--workspace", "--tests"])
}

/// Builds `cuebook` and a benchmark of the facade, optimised, and returns where the executables are. In one build, so that
/// their dependencies have the same features.
///
/// # Errors
/// As [`build_cuebook`].
pub fn build_cuebook_and_benchmark(name: &str) -> Result<(PathBuf, PathBuf)> {
    let arguments = ["--release", "--package", "cuebook-cli", "--package", "cuebook", "--bench", name];
    let messages = build("cuebook", &arguments)?;
    Ok((executable("cuebook", &messages)?, executable(name, &messages)?))
}

/// Builds everything that the tests run, and returns where the program that opens browsers for them is.
///
/// # Errors
/// As [`build_cuebook`].
pub fn build_tests(features: &[&str]) -> Result<PathBuf> {
    println!("\n== build");
    let began = Instant::now();
    let messages = output_of(cargo(&["build", "--workspace", "--bins", "--tests", MESSAGES]).args(features))?;
    println!("== build: {} s", began.elapsed().as_secs());
    executable("cuebook-test-browsers", &messages)
}

fn built(name: &str, arguments: &[&str]) -> Result<PathBuf> {
    executable(name, &build(name, arguments)?)
}

/// Builds a program and returns cargo's messages.
fn build(name: &str, arguments: &[&str]) -> Result<String> {
    println!("\n== build {name}");
    output_of(cargo(&["build", "--bin", name, MESSAGES]).args(arguments))
}

fn executable(name: &str, messages: &str) -> Result<PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .find_map(|message| {
            // The tests inside a program are an executable of the same name.
            let is_tests = message["target"]["kind"][0] == "bin" && message["profile"]["test"] == true;
            let is_it = message["target"]["name"] == name && !is_tests;
            message["executable"].as_str().filter(|_| is_it).map(PathBuf::from)
        })
        .with_context(|| format!("cargo built no executable called {name}"))
}

/// Has cargo say where it put what it built, and still show its errors to people.
const MESSAGES: &str = "--message-format=json-render-diagnostics";

#[cfg(test)]
mod tests {
    use super::executable;

    #[test]
    fn the_tests_inside_a_program_are_not_the_program() {
        let message = |kind: &str, test: bool, path: &str| {
            let target = serde_json::json!({ "name": "trials", "kind": [kind] });
            serde_json::json!({ "target": target, "profile": { "test": test }, "executable": path }).to_string()
        };
        let messages = [message("bin", true, "/deps/trials-1"), message("bin", false, "/trials")].join("\n");
        assert_eq!(executable("trials", &messages).unwrap().to_str(), Some("/trials"));
        let benchmark = message("bench", true, "/deps/trials-2");
        assert_eq!(executable("trials", &benchmark).unwrap().to_str(), Some("/deps/trials-2"));
        assert!(executable("other", &messages).is_err());
    }
}
