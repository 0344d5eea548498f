//! Measurements: `cuebook` beside other people's tools, over large counts, and with a real engine.
//!
//! `cargo xtask bench`, `soak` and `engine` build and run this; no other command does.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it reports to the terminal that started it")]

mod engine;
mod peers;
mod soak;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measurements. Each exits with 0 if all went well, 1 if not, 2 on wrong usage.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    measurement: Measurement,
}

#[derive(Debug, Subcommand)]
enum Measurement {
    /// Measure observations and clicks beside Playwright's (needs Node)
    Bench(peers::Arguments),
    /// Build llama.cpp's server and a model of random weights, and run cuebook with them: whatever noise writes
    /// under a grammar is a plan (needs Python and a C++ compiler; the first build takes a while)
    Engine(engine::Arguments),
    /// Kill cuebook again and again, and compare its log with what the server counted; or change pages under
    /// the pointer again and again, and count what reached a wrong target; or decode plans from noise and check
    /// each
    Soak(soak::Arguments),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().measurement {
        Measurement::Bench(arguments) => peers::run(&arguments),
        Measurement::Engine(arguments) => engine::run(&arguments),
        Measurement::Soak(arguments) => soak::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nfailed: {error:#}");
            ExitCode::FAILURE
        }
    }
}
