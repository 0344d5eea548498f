//! The command line.
//!
//! Invariant: invalid flags end with exit code 2, and with `--json` in a report.

mod eval;
mod groups;
mod listing;
mod runs;
mod setup;
mod values;
mod verbs;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use cuebook_decoding::emit::Target;
use cuebook_grammar::Document;
use cuebook_grammar::id::CredentialRef;
use cuebook_grammar::observation::Scope;
use cuebook_grammar::report::{ErrorCode, RunError, RunReport, RunResult};

pub(crate) use groups::{
    BrowserArgs, ContainmentArgs, EngineArgs, GroundArgs, PolicyArgs, RunOptions, SessionName, SessionOptions,
    WatchArgs, Wire,
};
pub(crate) use runs::{
    AlertsArgs, ExportArgs, FilmArgs, JudgeArgs, PruneArgs, QueryArgs, ReportArgs, StatsArgs, SuggestArgs, ViewArgs,
};
pub(crate) use values::{Aspects, PlannerArg, Price};

use values::{
    aspects, credential, dialect, document, duration, field_credential, planner, scope, shard, share, url_parser,
};

pub(crate) use eval::{Errors, EvalArgs, EvalCommand, EvalPlanner, EvalRunArgs, Goals, ModelError};

pub(crate) use setup::{Client, CompletionsArgs, ConfigCommand, DoctorArgs, InstallArgs, KeyArgs, ManArgs, ShowArgs};
pub(crate) use verbs::VerbCall;

use crate::config::apply::{Applied, applied, called, with_variables};
use crate::config::fields::Table;
use crate::config::files::{Places, Settings};
use crate::exit::{self, Output};
use crate::progress;
use crate::wait_for::{WaitFor, wait_for};

/// The parsed command line.
pub(crate) struct Arguments {
    pub(crate) command: Command,
    pub(crate) output: Output,
    pub(crate) verbosity: u8,
}

/// Drive a browser with plans that are checked, verified and logged.
#[derive(Parser)]
#[command(name = "cuebook", version, propagate_version = true, max_term_width = 100)]
struct Line {
    #[command(subcommand)]
    command: Command,
    /// Print one JSON document on standard output, and nothing else
    #[arg(long, global = true)]
    json: bool,
    /// Print no progress on standard error
    #[arg(long, global = true)]
    quiet: bool,
    /// Print more details on standard error; repeat for even more
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Carry out a task given in words
    Run(Box<RunArgs>),
    /// Run a plan from a file
    Exec(ExecArgs),
    /// Print the candidates of a page: what can be acted on
    Observe(ObserveArgs),
    /// Record what you do in a browser, as a plan
    Record(Box<RecordArgs>),
    /// Check a plan without a browser
    Check(CheckArgs),
    /// Print the schema of a document, or the grammar of a page
    Schema(SchemaArgs),
    /// Say what a policy decides, and by which rule
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Run a recorded run again, without a planner, and say what differs
    Replay(ReplayArgs),
    /// Find the fewest steps and recorded responses with which a run still fails the same way
    #[command(visible_alias = "minimise")]
    Minimize(MinimizeArgs),
    /// Run the test cases of a suite: record them first, replay them from then on
    Test(TestArgs),
    /// Propose test cases for the pages of a site, as a suite to edit
    Propose(Box<ProposeArgs>),
    /// Measure an agent on suites of tasks: how many it solves, and how often it is silently wrong
    Eval(Box<EvalArgs>),
    /// Judge a recorded run again, without a browser
    Judge(JudgeArgs),
    /// Write a recorded run, or what many come to, as one page of HTML
    Report(ReportArgs),
    /// Show a run in a browser on this machine while it goes on, or when it has ended
    View(ViewArgs),
    /// Write the pictures of a run as a film, an animated PNG that browsers play
    Film(FilmArgs),
    /// Count how reliable recorded runs were, and what they cost
    Stats(StatsArgs),
    /// Say when recorded runs break a rule, and when they recover
    #[command(name = "watch")]
    Alerts(Box<AlertsArgs>),
    /// Remove recorded runs by age, number or total size; the newest are kept
    Prune(PruneArgs),
    /// Propose test ids in the source of an application for targets that recorded runs found by texts or places
    Suggest(SuggestArgs),
    /// Write recorded runs in the formats of other software
    Export(ExportArgs),
    /// Ask the tables of recorded runs by SQL (needs a build with the feature `query`)
    Query(QueryArgs),
    /// Start a session with a browser, policy and time limits of its own; other commands start one without flags
    #[command(visible_alias = "attach")]
    Start(Box<StartArgs>),
    /// Serve a session; `start` runs this
    #[command(hide = true)]
    Serve(Box<StartArgs>),
    /// List the open sessions
    Sessions,
    /// Write what was done in a session as a plan, by locators
    Save(SaveArgs),
    /// Leave the browser that a session was attached to: the session ends, the browser stays
    Detach(SessionName),
    /// Remove what closed sessions keep: their runs, with pictures, downloads and files
    DeleteData(DeleteDataArgs),
    /// Print what happens in a session, until it ends
    Events(SessionName),
    /// Take the browser of a session over: whoever else acts in it is refused, and may look
    Pause(SessionName),
    /// Hand the browser of a session back
    Resume(SessionName),
    /// A command on an open session
    #[command(skip)]
    Verb(Box<VerbCall>),
    /// Serve browser tools to clients of the Model Context Protocol, over standard input and output or HTTP
    Mcp(Box<McpArgs>),
    /// Check this machine: the browser, its sandbox, the planner, files and clients; --fix mends what it can
    Doctor(DoctorArgs),
    /// Print or change settings that hold for every run
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Add the MCP server, or the skill document, to the configuration of a client
    Install(InstallArgs),
    /// Print a document that teaches a coding agent the commands of sessions
    Skill,
    /// Print the completions of a shell
    Completions(CompletionsArgs),
    /// Write the manual pages to a directory
    Man(ManArgs),
    /// Serve the built-in demo site
    Site(SiteArgs),
    /// Measure observations and steps in this process
    #[command(hide = true)]
    Bench(BenchArgs),
}

/// Tools that `cuebook mcp` offers.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Tools {
    /// One for each thing that a person does with a page
    #[default]
    Core,
    /// Three: look, run a plan, read
    Slim,
    /// The one tool `browser_dom`
    Dom,
    /// The tools of all other sets
    All,
}

#[derive(Args)]
pub(crate) struct StartArgs {
    #[command(flatten)]
    pub(crate) name: SessionName,
    /// End the session when no command came for this long; one with a window, or of a browser that runs anyway, stays
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "60m")]
    pub(crate) idle: Duration,
    #[command(flatten)]
    pub(crate) options: SessionOptions,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
}

#[derive(Args)]
pub(crate) struct DeleteDataArgs {
    #[command(flatten)]
    pub(crate) name: SessionName,
    /// Directory with the logs of the sessions
    #[arg(long, value_name = "DIR", default_value = "cuebook-runs")]
    pub(crate) out: PathBuf,
    /// Only say what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Args)]
pub(crate) struct SaveArgs {
    /// File to write, which must not exist
    pub(crate) plan: PathBuf,
    /// Only the last steps
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) last: Option<u32>,
    /// Enter a secret in a step whose text is not in the log; steps count from 1; can be repeated
    #[arg(long, value_name = "STEP=SECRET", value_parser = credential)]
    pub(crate) credential: Vec<(u32, CredentialRef)>,
    #[command(flatten)]
    pub(crate) name: SessionName,
}

/// Flags that an open session has had already.
const SET_AT_START: [&str; 7] = ["allow", "read", "gate", "root", "file_root", "grant", "tab"];

#[derive(Args)]
pub(crate) struct McpArgs {
    /// Set of tools to offer
    #[arg(long, value_enum, default_value_t)]
    pub(crate) tools: Tools,
    /// Serve this open session, with the browser and the policy that `cuebook start` or another command gave it; tools name
    /// others by `session`
    #[arg(short = 's', long = "session", value_name = "NAME", conflicts_with_all = SET_AT_START)]
    pub(crate) of_session: Option<String>,
    /// Write the ids of the page that was last shown into the schemas of the tools, and notify the client when they change
    #[arg(long)]
    pub(crate) live_schema: bool,
    /// Serve HTTP at this address instead, at /mcp, for any number of clients [default: 127.0.0.1:8931]
    #[arg(long, value_name = "HOST:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:8931")]
    pub(crate) http: Option<SocketAddr>,
    /// Token that clients have to send as `Authorization: Bearer` [default: a new one, which is printed]
    #[arg(long, value_name = "TOKEN", hide_env_values = true, requires = "http")]
    pub(crate) token: Option<String>,
    /// Name by which clients reach the server, besides localhost; can be repeated
    #[arg(long, value_name = "HOST", requires = "http")]
    pub(crate) host: Vec<String>,
    /// End a session when no call came for this long
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "60m", requires = "http")]
    pub(crate) idle: Duration,
    #[command(flatten)]
    pub(crate) session: SessionOptions,
}

#[derive(Args)]
pub(crate) struct RunArgs {
    /// Task in words, quoted as one argument
    #[arg(required_unless_present = "goal")]
    pub(crate) task: Option<String>,
    /// Conditions that are to hold in the end, in place of a task: a JSON file, or - for standard input. A search finds
    /// the steps, without a model; a --planner that is named chooses among what it finds
    #[arg(long, value_name = "FILE", conflicts_with_all = ["task", "dry_run", "plan"])]
    pub(crate) goal: Option<PathBuf>,
    /// Page to start on; its origin is allowed
    #[arg(long, value_name = "URL", value_parser = url_parser())]
    pub(crate) url: String,
    /// Planner to use: auto, lexical, scripted, recorded, ollama, openai, anthropic, local:FILE.gguf, or exec:COMMAND.
    /// auto is what is configured (--model, --base-url), else an Ollama that answers, else a provider whose key is in the
    /// environment, else lexical, which needs no model
    #[arg(long, value_parser = planner, default_value = "auto", value_name = "PLANNER")]
    pub(crate) planner: PlannerArg,
    /// Recorded run whose answers of a model the planner `recorded` replays
    #[arg(long, value_name = "RUN", required_if_eq("planner", "recorded"))]
    pub(crate) calls: Option<PathBuf>,
    /// Plan of the scripted planner: a JSON file, or - for standard input
    #[arg(long, value_name = "FILE", required_if_eq("planner", "scripted"))]
    pub(crate) plan: Option<PathBuf>,
    /// Show the planner what worked on pages like the current one in earlier runs, or the search for a --goal what
    /// controls did there: a run's directory, or one of runs, such as that of --out
    #[arg(long, value_name = "DIR", conflicts_with = "dry_run")]
    pub(crate) known_plans: Option<PathBuf>,
    /// Wait before planning for css=SELECTOR, text=WORDS, url=PART, or a condition in JSON
    #[arg(long, value_name = "CONDITION", value_parser = wait_for)]
    pub(crate) wait_for: Option<WaitFor>,
    /// Open the page, plan once, check and print the plan, and do not run it
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Explain each step of a plan: its reason, target, risk and conditions
    #[arg(long)]
    pub(crate) explain: bool,
    /// Have the planner's model fill what an `extract` by a JSON Schema leaves open: it sends the page's text to its server,
    /// and only quotes that stand in that text count
    #[arg(long)]
    pub(crate) fill_by_model: bool,
    #[command(flatten)]
    pub(crate) options: RunOptions,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
}

#[derive(Args)]
pub(crate) struct ExecArgs {
    /// Plan: a JSON file, or - for standard input
    pub(crate) plan: PathBuf,
    /// Page to start on; its origin is allowed [default: the page of the observation]
    #[arg(long, value_name = "URL", value_parser = url_parser())]
    pub(crate) url: Option<String>,
    /// Observation whose ids the plan names, as printed by `cuebook observe --format json`, or - for standard input: each
    /// is bound to what means the same on the page now [default: the plan names no ids]
    #[arg(long, value_name = "FILE")]
    pub(crate) observation: Option<PathBuf>,
    /// Answer every request from the recording in a directory, that of a run with --record-network or of `minimize`;
    /// nothing reaches the network
    #[arg(long, value_name = "DIR", conflicts_with_all = ["cdp", "direct", "record_network"])]
    pub(crate) fixtures: Option<PathBuf>,
    /// Planner that repairs a failed step of the plan, after what needs no planner was tried: ollama, openai, anthropic,
    /// auto, recorded or exec:COMMAND. Its steps are a model's: what is consequential needs --grant or a confirmation
    #[arg(long, value_parser = planner, value_name = "PLANNER", conflicts_with = "no_repair")]
    pub(crate) repair_planner: Option<PlannerArg>,
    /// Recorded run whose answers of a model the repair planner `recorded` replays
    #[arg(long, value_name = "RUN", required_if_eq("repair_planner", "recorded"))]
    pub(crate) calls: Option<PathBuf>,
    /// Have the repair planner's model fill what an `extract` by a JSON Schema leaves open: it sends the page's text to its
    /// server, and only quotes that stand in that text count
    #[arg(long, requires = "repair_planner")]
    pub(crate) fill_by_model: bool,
    #[command(flatten)]
    pub(crate) options: RunOptions,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
}

#[derive(Args)]
pub(crate) struct ObserveArgs {
    /// Page to observe; without one, the page that the tab of --tab shows, as it is
    #[arg(value_parser = url_parser(), required_unless_present = "tab")]
    pub(crate) url: Option<String>,
    /// Format of the output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: ObservationFormat,
    /// Part of the page to observe
    #[arg(long, value_parser = scope(), default_value = "full")]
    pub(crate) scope: Scope,
    /// Token limit of the output [default: 6000 for text and yaml, none for json]
    #[arg(long, value_name = "TOKENS")]
    pub(crate) budget: Option<usize>,
    /// Print the locator of each candidate too, as a plan declares it; json and yaml always have them
    #[arg(long)]
    pub(crate) locators: bool,
    /// Wait before observing for css=SELECTOR, text=WORDS, url=PART, or a condition in JSON
    #[arg(long, value_name = "CONDITION", value_parser = wait_for)]
    pub(crate) wait_for: Option<WaitFor>,
    /// Allow opening the pages in a directory by file: URLs; can be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) file_root: Vec<PathBuf>,
    /// Time limit for loading and observing the page
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "30s")]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) containment: ContainmentArgs,
    #[command(flatten)]
    pub(crate) browser: BrowserArgs,
}

#[derive(Args)]
pub(crate) struct RecordArgs {
    /// Page to begin on
    #[arg(value_parser = url_parser())]
    pub(crate) url: String,
    /// File to write the plan to
    #[arg(short, long, value_name = "FILE", default_value = "plan.json")]
    pub(crate) output: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    pub(crate) force: bool,
    /// End after this time; otherwise by Ctrl-C, or when the last tab or the browser is closed
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    pub(crate) time: Option<Duration>,
    /// Call what goes into a field by the name of a secret, and keep nothing of it; the field by its name, label or
    /// placeholder; can be repeated. What goes into password-like fields is never kept
    #[arg(long, value_name = "FIELD=SECRET", value_parser = field_credential)]
    pub(crate) credential: Vec<(String, CredentialRef)>,
    /// Start the browser without a window; then only another program can act in it
    #[arg(long, conflicts_with_all = ["cdp", "headed"])]
    pub(crate) headless: bool,
    #[command(flatten)]
    pub(crate) containment: ContainmentArgs,
    #[command(flatten)]
    pub(crate) browser: BrowserArgs,
}

#[derive(Args)]
pub(crate) struct ProposeArgs {
    /// Page to start on; its origin is allowed. Its links are followed, and nothing is typed, clicked or sent
    #[arg(value_parser = url_parser())]
    pub(crate) url: String,
    /// Upper bound of the number of cases
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u32).range(1..=200))]
    pub(crate) max: u32,
    /// File to write the suite to, which must not exist [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Time limit for looking at pages
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "2m")]
    pub(crate) time_limit: Duration,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    #[command(flatten)]
    pub(crate) containment: ContainmentArgs,
    #[command(flatten)]
    pub(crate) browser: BrowserArgs,
}

#[derive(Args)]
pub(crate) struct CheckArgs {
    /// Plan: a JSON file, or - for standard input
    pub(crate) plan: PathBuf,
    /// Check it like the plan of a model: targets must be ids of the observation
    #[arg(long)]
    pub(crate) model: bool,
    /// File in TOML that declares secrets: a step that enters one where it does not belong is refused
    #[arg(long, value_name = "FILE")]
    pub(crate) secrets: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) ground: GroundArgs,
}

#[derive(Subcommand)]
pub(crate) enum PolicyCommand {
    /// Say whether a run may act on a URL and whether its pages may load it
    Explain(ExplainArgs),
}

#[derive(Args)]
pub(crate) struct ExplainArgs {
    /// URL that the policy is asked about
    pub(crate) target: String,
    /// Method of the request
    #[arg(long, default_value = "GET")]
    pub(crate) method: String,
    #[command(flatten)]
    pub(crate) ground: GroundArgs,
}

#[derive(Args)]
pub(crate) struct SchemaArgs {
    /// Document whose JSON Schema is printed
    #[arg(value_parser = document(), default_value = "plan")]
    pub(crate) document: Document,
    /// Dialect of the decoder that a plan is written for
    #[arg(long, value_parser = dialect(), default_value = "json-schema")]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) ground: GroundArgs,
}

#[derive(Args)]
pub(crate) struct ReplayArgs {
    /// Directory of the run
    pub(crate) run: PathBuf,
    /// Page to start on instead, such as another build of the site; its origin is allowed
    #[arg(long, value_name = "URL", value_parser = url_parser())]
    pub(crate) url: Option<String>,
    /// Answer every request from the recording, which was made with --record-network; nothing reaches the network
    #[arg(long, conflicts_with_all = ["cdp", "url", "direct"])]
    pub(crate) offline: bool,
    /// A request that comes more often than in the recording is a miss, instead of getting the last response again
    #[arg(long, requires = "offline")]
    pub(crate) strict: bool,
    /// Write a plan that fits the page as it is now, and show what changed in it
    #[arg(long)]
    pub(crate) heal: bool,
    /// Do not compare URLs and requests, such as `POST https://shop.test/log`, in which this regular expression is
    /// found; can be repeated
    #[arg(long, value_name = "PATTERN")]
    pub(crate) ignore: Vec<String>,
    /// Parts by which requests are compared: method, url, status and body; bodies where both runs have --record-network
    #[arg(long, value_name = "PARTS", default_value = "method,url,status", value_parser = aspects)]
    pub(crate) requests: Aspects,
    /// Enter a secret in a step whose text is not in the log; steps count from 1; can be repeated
    #[arg(long, value_name = "STEP=SECRET", value_parser = credential)]
    pub(crate) credential: Vec<(u32, CredentialRef)>,
    /// How alike screenshots must be, from 0 to 1; compared where both runs took them
    #[arg(long, value_name = "SHARE", default_value_t = 0.95, value_parser = share)]
    pub(crate) similarity: f64,
    #[command(flatten)]
    pub(crate) options: RunOptions,
}

#[derive(Args)]
pub(crate) struct MinimizeArgs {
    /// Directory of the run, which ended with a step that failed
    pub(crate) run: PathBuf,
    /// Answer every request from the recording, which was made with --record-network, and leave out of it what is not
    /// needed
    #[arg(long, conflicts_with_all = ["cdp", "direct"])]
    pub(crate) offline: bool,
    /// How often the run is replayed in search of a smaller one; three more replays confirm the result
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_replays: u32,
    /// Time limit of the search
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "10m")]
    pub(crate) time_limit: Duration,
    /// Enter a secret in a step whose text is not in the log; steps count from 1; can be repeated
    #[arg(long, value_name = "STEP=SECRET", value_parser = credential)]
    pub(crate) credential: Vec<(u32, CredentialRef)>,
    #[command(flatten)]
    pub(crate) options: RunOptions,
    /// The options as they were stated; no flag.
    #[arg(skip)]
    pub(crate) stated: Vec<String>,
}

/// Options that concern a run and not what it does.
const NOT_REPEATED: [&str; 6] = ["out", "record", "record_cdp", "record_network", "chrome", "headed"];

/// The options of a run that differ from their defaults, as flags with absolute paths.
fn stated(matches: &ArgMatches, configured: &BTreeSet<String>) -> Vec<String> {
    let options = RunOptions::augment_args(clap::Command::new("options"));
    let is_stated = |arg: &&Arg| {
        let source = matches.value_source(arg.get_id().as_str());
        let is_own = matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable));
        (is_own || configured.contains(arg.get_id().as_str())) && !NOT_REPEATED.contains(&arg.get_id().as_str())
    };
    let mut flags = Vec::new();
    for arg in options.get_arguments().filter(is_stated) {
        let flag = format!("--{}", arg.get_long().unwrap_or_default());
        if !arg.get_action().takes_values() {
            // A file may say that it is off.
            flags.extend(matches.get_flag(arg.get_id().as_str()).then_some(flag));
            continue;
        }
        let names = arg.get_value_names().unwrap_or_default();
        let is_path = names.iter().any(|name| matches!(name.as_str(), "FILE" | "DIR"));
        for value in matches.get_raw(arg.get_id().as_str()).into_iter().flatten() {
            let path = std::path::absolute(value).ok().filter(|_| is_path);
            let value = path.map_or_else(|| value.to_owned(), PathBuf::into_os_string);
            flags.push(format!("{flag}={}", value.to_string_lossy()));
        }
    }
    flags
}

#[derive(Args)]
pub(crate) struct TestArgs {
    /// Suite: a TOML file
    pub(crate) suite: PathBuf,
    /// Only cases whose name contains this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Only one part of the cases, such as 1/3; a case is always in the same part
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub(crate) shard: Option<(u32, u32)>,
    /// How often a case that failed is tried again; if it then passes, it is reported as flaky
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=10))]
    pub(crate) retries: u32,
    /// How many cases run at once, each in a browser of its own; shared cases run one after another
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) jobs: u8,
    /// Write the results as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write the results as one page of HTML
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Accept drift and other differences: recordings of cases that passed are changed to fit the page
    #[arg(long)]
    pub(crate) update: bool,
    /// Page that the URLs of the suite are relative to, instead of its own
    #[arg(long, value_name = "URL", value_parser = url_parser())]
    pub(crate) url: Option<String>,
    /// Planner for cases without a plan or a recording: as for `run`
    #[arg(long, value_parser = planner, default_value = "lexical", value_name = "PLANNER")]
    pub(crate) planner: PlannerArg,
    #[command(flatten)]
    pub(crate) options: RunOptions,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

#[derive(Args)]
pub(crate) struct SiteArgs {
    /// Port to listen on; 0 for any free port
    #[arg(long, default_value_t = 8737)]
    pub(crate) port: u16,
    /// Seed of the generated data
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Args)]
pub(crate) struct BenchArgs {
    /// Page with two buttons and a text field; the first button and the field must be in view
    #[arg(long, value_name = "URL", value_parser = url_parser())]
    pub(crate) url: String,
    /// Samples per metric, after one round that warms up
    #[arg(long, default_value_t = 20)]
    pub(crate) rounds: u32,
    /// Write the text form of a full observation to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) text: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) options: RunOptions,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ObservationFormat {
    /// Lines such as `- button "Submit" [c2]`
    Text,
    /// The observation as one JSON document
    Json,
    /// An outline like Playwright's
    Yaml,
    /// The accessibility tree of the main frame, like Playwright's ARIA snapshots
    Aria,
}

/// Commands that set up this machine. Files that are wrong do not keep them from running.
const UNCONFIGURED: [&str; 6] = ["config", "doctor", "install", "skill", "completions", "man"];

/// The whole command line, with the verbs of sessions, without variables and files.
pub(crate) fn line() -> clap::Command {
    let command = Line::command().mut_subcommand("minimize", |command| {
        command.mut_arg("out", |out| out.default_value("repro").help("Directory to write, which is missing or empty"))
    });
    listing::grouped(command.subcommands(verbs::commands()))
}

impl Arguments {
    /// Parses the arguments of the process, with settings of files and variables. Prints help and errors itself, and
    /// returns the exit code.
    pub(crate) fn read() -> Result<Self, ExitCode> {
        let mut words: Vec<_> = std::env::args_os().collect();
        let refused = verbs::put_in_our_words(&mut words).err();
        let wants_json = words.iter().any(|argument| argument == "--json");
        let applied = configured(line(), &words);
        let Applied { line: mut command, configured } =
            applied.map_err(|refusal| refusal.print(Output { json: wants_json, quiet: false }))?;
        let wants_json = wants_json || configured.contains("json");
        let matches = match refused {
            Some(refused) => Err(refused),
            None => command.try_get_matches_from_mut(words),
        };
        let parsed = matches.and_then(|matches| {
            if let Some(call) = verbs::called(&matches)? {
                let output = Output { json: matches.get_flag("json"), quiet: matches.get_flag("quiet") };
                let verbosity = matches.get_count("verbose");
                return Ok(Err(Self { command: Command::Verb(Box::new(call)), output, verbosity }));
            }
            Ok(Ok((Line::from_arg_matches(&matches)?, matches)))
        });
        let parsed = parsed.map_err(|error| {
            let error = error.format(&mut command);
            let is_help = !error.use_stderr();
            if is_help || !wants_json {
                error.print().ok();
            } else {
                let message = error.render().to_string();
                let error = RunError::new(ErrorCode::Usage, message);
                exit::print_json(&RunReport::without_run(RunResult::Invalid, Some(error)));
            }
            ExitCode::from(if is_help { exit::OK } else { exit::INVALID })
        })?;
        let (mut line, matches) = match parsed {
            Ok(line) => line,
            Err(verb) => return Ok(verb),
        };
        if let (Command::Minimize(arguments), Some((_, matches))) = (&mut line.command, matches.subcommand()) {
            arguments.stated = stated(matches, &configured);
        }
        let output = Output { json: line.json, quiet: line.quiet };
        Ok(Self { command: line.command, output, verbosity: line.verbose })
    }
}

/// The command line with the settings of files and variables. Says which keys of a file have no effect on the command.
fn configured(line: clap::Command, words: &[OsString]) -> Result<Applied, exit::Refusal> {
    let is_typed = |flags: &[&str]| words.iter().any(|word| flags.iter().any(|flag| word == flag));
    let Some(command) = called(&line, words).filter(|_| !is_typed(&["--help", "-h"])) else {
        return Ok(Applied { line: with_variables(line), configured: BTreeSet::new() });
    };
    let command = command.get_name().to_owned();
    let sets_up = UNCONFIGURED.contains(&command.as_str());
    let table = Table::of(&line);
    let settings = match Settings::read(&Places::of_this_process(), &table) {
        Err(_) if sets_up => Settings::default(),
        read => read?,
    };
    if !sets_up && !is_typed(&["--quiet"]) {
        for note in settings.notes(&command, &table) {
            progress::say(&note);
        }
    }
    Ok(applied(line, words, &settings)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands in the shell blocks of a document, without what the shell does with them.
    fn shown(text: &str) -> Vec<String> {
        let blocks = text.split("```").skip(1).step_by(2).filter_map(|block| {
            // In a console, answers stand below what was typed.
            let typed =
                |block: &str| block.lines().filter_map(|line| line.strip_prefix("$ ")).collect::<Vec<_>>().join("\n");
            block.strip_prefix("sh\n").map(str::to_owned).or_else(|| block.strip_prefix("console\n").map(typed))
        });
        let joined = blocks.map(|block| block.replace("\\\n", " "));
        let mut commands = Vec::new();
        for line in joined.flat_map(|block| block.lines().map(str::to_owned).collect::<Vec<_>>()) {
            let Some((_, call)) = line.split_once("cuebook ").filter(|(before, _)| {
                before.split(' ').all(|word| word.is_empty() || word.contains('=') || word.ends_with('/'))
            }) else {
                continue;
            };
            let ends = ["  #", " # ", " | ", " > ", " 2>", " &", " <("];
            let end = ends.iter().filter_map(|end| call.find(end)).min().unwrap_or(call.len());
            commands.push(format!("cuebook {}", &call[..end]));
        }
        commands
    }

    #[test]
    fn every_command_that_the_documents_show_is_one() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let docs = std::fs::read_dir(format!("{root}/docs")).unwrap().map(|entry| entry.unwrap().path());
        let mut count = 0;
        let mut wrong = Vec::new();
        for document in docs
            .filter(|path| path.extension().is_some_and(|it| it == "md"))
            .chain([format!("{root}/README.md").into()])
        {
            for written in shown(&std::fs::read_to_string(&document).unwrap()) {
                count += 1;
                let parsed = cuebook_grammar::policy::command_words(&written).map_err(|error| error.to_string());
                let parsed =
                    parsed.and_then(|words| line().try_get_matches_from(words).map_err(|error| error.to_string()));
                wrong.extend(parsed.err().map(|error| format!("{}: {written}: {error}", document.display())));
            }
        }
        assert!(count >= 60, "{count}");
        assert!(wrong.is_empty(), "{} of {count}\n{}", wrong.len(), wrong.join("\n"));
    }

    #[test]
    fn every_command_that_the_documents_name_in_a_sentence_is_one() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
        let command = line();
        let mut count = 0;
        for path in std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()) {
            let Some(text) =
                std::fs::read_to_string(&path).ok().filter(|_| path.extension().is_some_and(|it| it == "md"))
            else {
                continue;
            };
            for span in text.split('`').skip(1).step_by(2).filter_map(|span| span.strip_prefix("cuebook ")) {
                let Some(word) = span.split_whitespace().next().filter(|word| word.starts_with(char::is_lowercase))
                else {
                    continue;
                };
                count += 1;
                assert!(command.find_subcommand(word).is_some(), "{}: {span}", path.display());
            }
        }
        assert!(count >= 100, "{count}");
    }

    #[test]
    fn each_command_stands_in_one_group() {
        let command = line();
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
        let mut shown: Vec<&str> = shown.map(clap::Command::get_name).collect();
        let mut listed: Vec<&str> = listing::GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        listed.retain(|name| *name != "help");
        shown.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, shown);
        let help = line().render_help().to_string();
        assert!(
            help.contains("Run tasks and plans:") && !help.contains("Commands:") && help.contains("--json"),
            "{help}"
        );
    }

    #[test]
    fn the_command_line_is_consistent() {
        with_variables(line()).debug_assert();
    }

    #[test]
    fn flags_of_a_launched_browser_conflict_with_cdp() {
        for flags in [&["--viewport", "800x600"][..], &["--headed"], &["--no-sandbox"], &["--chrome", "/bin/chrome"]] {
            let line = ["cuebook", "observe", "a.test", "--cdp", "http://127.0.0.1:9222"].iter().chain(flags);
            let error = Line::try_parse_from(line).err().map(|error| error.kind());
            assert_eq!(error, Some(clap::error::ErrorKind::ArgumentConflict), "{flags:?}");
        }
    }
}
