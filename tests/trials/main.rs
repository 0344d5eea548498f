//! `cuebook-trials`: other people's tests and large numbers of trials, which measure rather than guard. One program for
//! all of them, because linking takes longer than compiling.
//!
//! `cargo xtask conformance`, `cargo xtask eval --extract` and `cargo xtask soak` build and run it.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal that started it")]

mod conformance;
mod drifts;
mod extract;
mod faults;
mod hostile;

use std::process::ExitCode;

use clap::Parser;

#[derive(Debug, Parser)]
#[command(name = "cuebook-trials")]
enum Trials {
    /// Other people's tests in neutral form, compared with the committed ratchet
    Conformance(conformance::Arguments),
    /// Jobs on the built-in site under mixed drifts; with `--peer`, every run is one by each side
    Drifts(drifts::Arguments),
    /// Questions with schemas on written pages, by labels and by a model's quotes
    Extract(extract::Arguments),
    /// Small jobs under faults of browser, process, disk, model and server
    Faults(faults::Arguments),
    /// Pages that mislead, through the whole loop, with the page as the oracle
    Hostile(hostile::Arguments),
}

fn main() -> ExitCode {
    let ended = match Trials::parse() {
        Trials::Conformance(arguments) => conformance::run(&arguments),
        Trials::Drifts(arguments) => drifts::run(&arguments),
        Trials::Extract(arguments) => extract::run(&arguments),
        Trials::Faults(arguments) => faults::run(&arguments),
        Trials::Hostile(arguments) => hostile::run(&arguments),
    };
    match ended {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("failed: {error:#}");
            ExitCode::from(2)
        }
    }
}
