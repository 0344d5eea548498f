//! Repository chores: `cargo xtask help` lists them.
//!
//! Invariant: it links no crate of this workspace. It executes `cargo` and `cuebook`, as a user
//! would, so that nothing works here only.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a chore reports to the terminal that started it")]

mod bench;
mod check_deps;
mod chrome;
mod commands;
mod conformance;
mod demo;
mod engine;
mod gen_schema;
mod interop;
mod lint;
mod site;
mod soak;
mod test;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
    /// All of lint, then every test, in real Chrome (installed if it is missing and this is
    /// Debian or alike, as root)
    Test(test::Arguments),
    /// Write the files in `schemas/` anew
    GenSchema,
    /// Start the built-in site, run a task and a plan file on it, and show what happened
    Demo,
    /// Drive pages that nobody here wrote: MiniWoB++ tasks and Django's admin (needs Python)
    Interop(interop::Arguments),
    /// Measure observations and clicks beside Playwright's (needs Node)
    Bench(bench::Arguments),
    /// Build llama.cpp's server and a model of random weights, and run cuebook with them: whatever noise writes
    /// under a grammar is a plan (needs Python and a C++ compiler; the first build takes a while)
    Engine(engine::Arguments),
    /// Carry out other people's tests, in neutral form, and compare with the committed ratchet
    Conformance(conformance::Arguments),
    /// Kill cuebook again and again, and compare its log with what the server counted; or change pages under
    /// the pointer again and again, and count what reached a wrong target; or decode plans from noise and check
    /// each
    Soak(soak::Arguments),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().chore {
        Chore::CheckDeps => check_deps::run(),
        Chore::Lint => lint::run(),
        Chore::Test(arguments) => test::run(&arguments),
        Chore::GenSchema => gen_schema::run(),
        Chore::Demo => demo::run(),
        Chore::Interop(arguments) => interop::run(&arguments),
        Chore::Bench(arguments) => bench::run(&arguments),
        Chore::Engine(arguments) => engine::run(&arguments),
        Chore::Conformance(arguments) => conformance::run(&arguments),
        Chore::Soak(arguments) => soak::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nfailed: {error:#}");
            ExitCode::FAILURE
        }
    }
}
