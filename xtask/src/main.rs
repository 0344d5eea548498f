//! Repository chores: `cargo xtask help` lists them.
//!
//! Invariant: it links no crate of this workspace. It executes `cargo` and `cuebook`, as a user
//! would, so that nothing works here only.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a chore reports to the terminal that started it")]

mod check_deps;
mod circles;
mod comments;
mod conformance;
mod coverage;
mod demo;
mod eval;
mod gen_schema;
#[cfg(test)]
mod house;
mod interop;
mod lint;
mod models;
mod nightly;
mod package;
mod teach;
mod test;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::{Parser, Subcommand};
use xtask::commands::cargo;

/// Repository chores. Each exits with 0 if all went well, 1 if not, 2 on wrong usage.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Compare what the crates depend on with what they may depend on
    CheckDeps,
    /// Check dependencies, formatting, lints and documentation
    Lint,
    /// The tests, in real Chrome (installed if it is missing and this is Debian or alike, as root)
    Test(test::Arguments),
    /// Rewrite the files in `schemas/`
    GenSchema,
    /// Start the built-in site, run a task and a plan file on it, and show what happened
    Demo,
    /// Check against TypeScript, Django, readers of exports, axe, token masks and `BrowserGym` (needs Python and Node)
    Interop(interop::Arguments),
    /// Measure observations and clicks beside Playwright's (needs Node)
    #[command(disable_help_flag = true)]
    Bench(Measured),
    /// Build llama.cpp's server and a model of random weights, and run cuebook with them: whatever noise writes
    /// under a grammar is a plan (needs Python and a C++ compiler; the first build takes a while)
    #[command(disable_help_flag = true)]
    Engine(Measured),
    /// Download the suites and models that are other people's (needs Python)
    Fetch(eval::FetchArguments),
    /// Measure an agent on suites: `cuebook eval`, where --suite also takes miniwob and all, and --planner model:smollm2,
    /// model:gemma270m or model:FILE.gguf, which is served meanwhile. With --extract, the questions of `eval/extract`
    #[command(disable_help_flag = true)]
    Eval(Measured),
    /// Teach a small model by the logs of an oracle, and measure it before and after, on tasks that it saw and on others
    /// (needs Python; some hours on two cores; a run that broke off goes on)
    Teach(teach::Arguments),
    /// Carry out other people's tests, in neutral form, and compare with the committed ratchet
    Conformance(conformance::Arguments),
    /// All tests, trials and suites in bounded counts, beside their baselines; writes target/nightly/DATE.json
    Nightly,
    /// Make the packages of a release from a built program: archives, npm, a Homebrew formula, server.json
    Package(package::Arguments),
    /// Kill cuebook again and again, and compare its log with what the server counted; or change pages under
    /// the pointer again and again, and count what reached a wrong target; or decode plans from noise and check
    /// each; or read addresses as the policy and as Chrome do
    #[command(disable_help_flag = true)]
    Soak(Measured),
}

/// Arguments of a measurement, for the program in `bench/`: `--help` lists them.
#[derive(Debug, clap::Args)]
struct Measured {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    arguments: Vec<OsString>,
}

/// Builds and runs `bench/`, which stands outside the workspace: nothing else has to build it.
fn measure(name: &str, measured: &Measured) -> Result<()> {
    let program =
        ["run", "--quiet", "--manifest-path", "bench/Cargo.toml", "--target-dir", "target/measure", "--", name];
    let status = cargo(&program).args(&measured.arguments).status()?;
    ensure!(status.success(), "{name}: {status}");
    Ok(())
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().chore {
        Chore::CheckDeps => check_deps::run(),
        Chore::Lint => lint::run(),
        Chore::Test(arguments) => test::run(&arguments),
        Chore::GenSchema => gen_schema::run(),
        Chore::Demo => demo::run(),
        Chore::Interop(arguments) => interop::run(&arguments),
        Chore::Bench(arguments) => measure("bench", &arguments),
        Chore::Engine(arguments) => measure("engine", &arguments),
        Chore::Fetch(arguments) => eval::fetch(&arguments),
        Chore::Eval(arguments) => eval::run(&arguments.arguments),
        Chore::Teach(arguments) => teach::run(&arguments),
        Chore::Conformance(arguments) => conformance::run(&arguments),
        Chore::Nightly => nightly::run(),
        Chore::Package(arguments) => package::run(&arguments),
        Chore::Soak(arguments) => measure("soak", &arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nfailed: {error:#}");
            ExitCode::FAILURE
        }
    }
}
