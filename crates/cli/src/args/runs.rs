//! The flags of commands that read recorded runs.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args};
use cuebook_datalayer::metrics::By;
use cuebook_export::{Format, Redaction};
use cuebook_grammar::report::ErrorCode;

use super::SessionName;
use super::values::{
    Price, Words, age, command_line, duration, factor, format, group_of_runs, price, redaction, share, size,
    test_id_attribute, webhook,
};

#[derive(Args)]
pub(crate) struct JudgeArgs {
    /// Directory of the run
    pub(crate) run: PathBuf,
}

#[derive(Args)]
pub(crate) struct ReportArgs {
    /// Directory of a run, for its page; or directories of runs or of several runs, for the page of all of them
    #[arg(required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// File to write [default: report.html in the directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Open it in the system's browser
    #[arg(long)]
    pub(crate) open: bool,
}

#[derive(Args)]
pub(crate) struct ViewArgs {
    /// Directory of a run, or name of an open session [default: the session of --session]
    #[arg(value_name = "RUN|SESSION")]
    pub(crate) run: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) name: SessionName,
    /// Port of the page [default: any that is free]
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Open the page in the system's browser
    #[arg(long)]
    pub(crate) open: bool,
}

#[derive(Args)]
pub(crate) struct FilmArgs {
    /// Directory of a run that was recorded with pictures
    pub(crate) run: PathBuf,
    /// File to write [default: film.png in the directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Open it in the system's browser
    #[arg(long)]
    pub(crate) open: bool,
}

#[derive(Args)]
pub(crate) struct StatsArgs {
    /// Directories of runs, of several runs, or of exports to Parquet
    #[arg(required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// Print Prometheus' text format
    #[arg(long, conflicts_with = "json")]
    pub(crate) prometheus: bool,
    /// Fail if a rate is worse than in this file, an earlier output with --json
    #[arg(long, value_name = "FILE")]
    pub(crate) gate: Option<PathBuf>,
    /// How much a rate may fall under --gate, as a share
    #[arg(long, value_name = "SHARE", default_value_t = 0.02, requires = "gate", value_parser = share)]
    pub(crate) tolerance: f64,
    /// How many times slower a 90th percentile may be under --gate
    #[arg(long, value_name = "FACTOR", default_value_t = 1.5, requires = "gate", value_parser = factor)]
    pub(crate) slower: f64,
    /// Count each day (in UTC), site or task apart, besides all runs together
    #[arg(long, value_name = "GROUP", value_parser = group_of_runs())]
    pub(crate) by: Option<By>,
    /// Price of a model per million tokens read and written, such as gpt-5=1.25,10; may be repeated
    #[arg(long = "price", value_name = "MODEL=IN,OUT", value_parser = price)]
    pub(crate) prices: Vec<Price>,
}

#[derive(Args)]
pub(crate) struct SuggestArgs {
    /// Directories of runs, or of several runs
    #[arg(required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// Directory with the source of the application: HTML, JSX, TSX and Vue files
    #[arg(long, value_name = "DIR")]
    pub(crate) source: PathBuf,
    /// Write the changes into the files; without it, they are printed as a patch
    #[arg(long)]
    pub(crate) write: bool,
    /// Attribute that carries the ids
    #[arg(long, value_name = "NAME", default_value = "data-testid", value_parser = test_id_attribute())]
    pub(crate) attribute: String,
}

#[cfg(not(feature = "suggest"))]
impl SuggestArgs {
    pub(crate) fn refused(&self) -> crate::exit::Refusal {
        let message = "this build reads no source: build it with `cargo install cuebook-cli --features suggest`";
        crate::exit::Refusal::invalid(ErrorCode::Usage, message)
    }
}

#[derive(Args)]
pub(crate) struct AlertsArgs {
    /// Directories of runs, or of several runs
    #[arg(required_unless_present = "prometheus")]
    pub(crate) runs: Vec<PathBuf>,
    /// TOML file of the rules: [[rule]] with name, rate, and min, max or drop
    #[arg(long, value_name = "FILE")]
    pub(crate) rules: PathBuf,
    /// Command that gets each alert as JSON on standard input; no shell reads it
    #[arg(long, value_name = "COMMAND", value_parser = command_line)]
    pub(crate) exec: Option<Words>,
    /// URL that each alert is posted to as JSON
    #[arg(long, value_name = "URL", hide_env_values = true, value_parser = webhook)]
    pub(crate) webhook: Option<String>,
    /// Look once, and exit with 1 if an alert is active
    #[arg(long)]
    pub(crate) once: bool,
    /// Time between two looks
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration, conflicts_with = "once")]
    pub(crate) every: Duration,
    /// File of the runs that were read and the active alerts [default: cuebook-watch.json in the first RUNS]
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
    /// Print the rules for Prometheus, in YAML, and read no runs
    #[arg(long, conflicts_with_all = ["runs", "exec", "webhook", "once", "state", "json"])]
    pub(crate) prometheus: bool,
}

#[derive(Args)]
#[command(group(ArgGroup::new("limit").args(["older", "larger", "keep"]).required(true).multiple(true)))]
pub(crate) struct PruneArgs {
    /// Directories of runs, or of several runs
    #[arg(required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// Remove runs whose log was last written longer ago, such as 30d or 12h
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub(crate) older: Option<Duration>,
    /// Remove the oldest runs beyond this size of all together, such as 500MB or 10GB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) larger: Option<u64>,
    /// Remove all but the newest runs
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,
    /// Only say what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Args)]
pub(crate) struct ExportArgs {
    /// Directories of runs, or of several runs
    #[arg(required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// Format in which the runs are written
    #[arg(long, value_name = "FORMAT", value_parser = format())]
    pub(crate) to: Format,
    /// Where to write: a directory that is empty, missing, or written by an export of this format; the same in a
    /// bucket, as s3://…, gs://… or az://…; with --to otlp the http URL of a collector. What is whole there is kept
    #[arg(long, value_name = "DIR|URL")]
    pub(crate) out: PathBuf,
    /// Parts to remove. There is no default: an export may hold texts of pages, typed values, URLs and pictures
    #[arg(long, value_name = "PROFILE", value_parser = redaction())]
    pub(crate) redact: Option<Redaction>,
    /// Remove an export that is there, and make it again
    #[arg(long)]
    pub(crate) rewrite: bool,
    /// With --to sft or hf: chats for models that see, with the picture of the page in each request; runs need --record
    #[arg(long)]
    pub(crate) pictures: bool,
    /// With --to sft or hf: fail if a class of steps has no example
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Args)]
pub(crate) struct QueryArgs {
    /// Directories of runs, or of several runs
    #[arg(required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// A SELECT over `runs`, `steps`, `conditions`, `candidates`, `requests` and `planning`
    pub(crate) sql: String,
    /// Print the rows as CSV
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Keep the tables in this directory for the next query; an export to parquet with --redact none
    #[arg(long, value_name = "DIR")]
    pub(crate) tables: Option<PathBuf>,
}

#[cfg(not(feature = "query"))]
impl QueryArgs {
    pub(crate) fn refused(&self) -> crate::exit::Refusal {
        let message = "this build has no SQL engine: build it with `cargo install cuebook-cli --features query`, or \
                       export with --to parquet and use DuckDB";
        crate::exit::Refusal::invalid(ErrorCode::Usage, message)
    }
}
