//! The command line.
//!
//! Invariant: invalid flags end with exit code 2, and with `--json` in a report.

mod eval;
mod setup;
mod verbs;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgGroup, ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use cuebook::network::drift::Drifts;
use cuebook::{ColorScheme, Containment, Device, Emulation, Engine, Geolocation};
use cuebook_datalayer::traffic::Setting;
use cuebook_decoding::emit::Target;
use cuebook_export::{Format, Redaction};
use cuebook_grammar::Document;
use cuebook_grammar::id::CredentialRef;
use cuebook_grammar::observation::Scope;
use cuebook_grammar::policy::{BadCommand, Gate, command_words};
use cuebook_grammar::profile::Profile;
use cuebook_grammar::report::{ErrorCode, RunError, RunReport, RunResult};
use cuebook_planner::OpenAiMode;
use cuebook_repair::Rungs;
use cuebook_repair::Sight;

pub(crate) use eval::{Errors, EvalArgs, EvalCommand, EvalPlanner, EvalRunArgs, ModelError};

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
    /// Measure an agent on suites of tasks: how many it solves, and how often it is silently wrong
    Eval(Box<EvalArgs>),
    /// Judge a recorded run again, without a browser
    Judge(JudgeArgs),
    /// Write a recorded run, or what many come to, as one page of HTML
    Report(ReportArgs),
    /// Show a run in a browser on this machine while it goes on, or when it has ended
    View(ViewArgs),
    /// Count how reliable recorded runs were, and what they cost
    Stats(StatsArgs),
    /// Remove recorded runs by age, number or total size; the newest are kept
    Prune(PruneArgs),
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

/// The browser to use.
#[derive(Args, Clone)]
#[command(next_help_heading = "Browser")]
pub(crate) struct BrowserArgs {
    /// Executable of the browser [default: $CHROME, then the usual locations]
    #[arg(long, value_name = "FILE", conflicts_with = "cdp")]
    pub(crate) chrome: Option<PathBuf>,
    /// Attach to a running browser, at its port, host:port, http://host:port or ws://…; its window, viewport and sandbox
    /// stay as they are. The tab is new, without the cookies of the browser's user
    #[arg(long, value_name = "PORT|URL", value_parser = endpoint)]
    pub(crate) cdp: Option<String>,
    /// Use an open tab of that browser instead, with its user's cookies: its title or URL, or a part of either. It
    /// stays open
    #[arg(long, value_name = "TITLE|URL", requires = "cdp", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) tab: Option<String>,
    /// Start with a copy of the profile of a person's Chrome, its user data directory: cookies, logins and storage. The
    /// original is only read
    #[arg(long, value_name = "DIR", conflicts_with = "cdp")]
    pub(crate) copy_profile: Option<PathBuf>,
    /// Show the browser window
    #[arg(long, conflicts_with = "cdp")]
    pub(crate) headed: bool,
    /// Size of the viewport in CSS pixels [default: that of the plan, else 1280x720]
    #[arg(long, value_name = "WxH", value_parser = viewport, conflicts_with = "cdp")]
    pub(crate) viewport: Option<(u32, u32)>,
    /// Start Chrome without its sandbox; implied for root
    #[arg(long, conflicts_with = "cdp")]
    pub(crate) no_sandbox: bool,
    #[command(flatten)]
    pub(crate) pages: EmulationArgs,
    /// Needs of the run's traffic; no flag.
    #[arg(skip)]
    pub(crate) wire: Wire,
    /// Directory where a launched browser puts downloads, for the run to keep; no flag.
    #[arg(skip)]
    pub(crate) downloads: Option<PathBuf>,
}

/// Settings that pages see in place of the machine's own.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Pages see")]
pub(crate) struct EmulationArgs {
    /// Screen, touch and user agent of a device, such as "Pixel 7" or "iPhone 15"
    #[arg(long, value_name = "NAME", value_parser = device, conflicts_with = "viewport")]
    pub(crate) device: Option<Device>,
    /// Language, such as de-DE
    #[arg(long, value_name = "TAG")]
    pub(crate) locale: Option<String>,
    /// Time zone, such as Europe/Berlin
    #[arg(long, value_name = "ZONE")]
    pub(crate) timezone: Option<String>,
    /// Place of the machine; a page learns it with --permission geolocation@ORIGIN
    #[arg(long, value_name = "LAT,LON[,METRES]", allow_hyphen_values = true)]
    pub(crate) geolocation: Option<Geolocation>,
    /// Colours that the person prefers: light or dark
    #[arg(long, value_name = "SCHEME", value_parser = color_scheme)]
    pub(crate) color_scheme: Option<ColorScheme>,
}

impl EmulationArgs {
    /// The settings; `None` if there are none.
    pub(crate) fn emulation(&self) -> Option<Emulation> {
        let emulation = Emulation {
            device: self.device.clone(),
            locale: self.locale.clone(),
            timezone: self.timezone.clone(),
            geolocation: self.geolocation,
            color_scheme: self.color_scheme,
            offline: false,
        };
        (emulation != Emulation::default()).then_some(emulation)
    }
}

/// Needs of a run's traffic that its browser has to meet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wire {
    pub(crate) setting: Option<Setting>,
    /// `true` if pages drift during the run.
    pub(crate) is_drifting: bool,
    /// `true` if nothing may reach the network.
    pub(crate) is_offline: bool,
}

/// Policy of what is allowed on a page.
#[derive(Args, Clone)]
#[command(next_help_heading = "Policy")]
pub(crate) struct PolicyArgs {
    /// Allow acting on another origin: a host, *.host, or scheme://host:port; can be repeated
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow: Vec<String>,
    /// Let pages load from another origin, where the run may not act; can be repeated. Without --allow and --policy, all
    /// public origins are open
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) read: Vec<String>,
    /// Hold every request that a step causes and that may change something until you agree: effects, or off. The
    /// profiles assisted and semiAuto hold them for planners
    #[arg(long, value_name = "GATE", value_parser = gate())]
    pub(crate) gate: Option<Gate>,
    /// Policy file in JSON; `cuebook schema policy` prints its schema
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Allow reading and uploading the files in a directory; can be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
    /// Allow opening the pages in a directory by file: URLs; can be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) file_root: Vec<PathBuf>,
    /// Grant pages of an origin a permission, such as geolocation@https://maps.test; can be repeated
    #[arg(long, value_name = "NAME@ORIGIN")]
    pub(crate) permission: Vec<String>,
    /// Which steps run without confirmation
    #[arg(long, value_parser = profile(), default_value = "auto")]
    pub(crate) profile: Profile,
}

/// Means that keep Chrome behind the proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Isolation {
    #[default]
    Auto,
    Namespace,
    Flags,
}

/// How Chrome reaches the network.
#[derive(Args, Clone)]
pub(crate) struct ContainmentArgs {
    /// Start Chrome without the proxy of the policy, which then holds for steps and navigations only
    #[arg(long, conflicts_with_all = ["cdp", "isolation"])]
    pub(crate) direct: bool,
    /// Means to keep Chrome behind the proxy: a network namespace of Linux, flags of Chrome, or the first that works
    #[arg(long, value_enum, default_value_t, conflicts_with = "cdp")]
    pub(crate) isolation: Isolation,
}

impl ContainmentArgs {
    pub(crate) const fn containment(&self) -> Containment {
        match self.isolation {
            _ if self.direct => Containment::None,
            Isolation::Auto => Containment::Proxy,
            Isolation::Namespace => Containment::Namespace,
            Isolation::Flags => Containment::Flags,
        }
    }
}

/// Options of whatever acts in a browser and keeps a log. A flattened group sets the heading of the flags after it, so
/// groups come last.
#[derive(Args, Clone)]
pub(crate) struct SessionOptions {
    /// Directory for the logs; each run gets a subdirectory
    #[arg(long, value_name = "DIR", default_value = "cuebook-runs")]
    pub(crate) out: PathBuf,
    /// File in TOML that declares secrets, readable for you alone; plans name them by `credentialRef`
    #[arg(long, value_name = "FILE")]
    pub(crate) secrets: Option<PathBuf>,
    /// Begin with the cookies and the local storage of a file, as Playwright and --save-storage write it
    #[arg(long, value_name = "FILE", conflicts_with = "tab")]
    pub(crate) storage: Option<PathBuf>,
    /// Time limit of a step, such as 500ms, 3s or 2m
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) containment: ContainmentArgs,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// Consent in advance to CLASS@ORIGIN, where CLASS is write, credential, send, money or destructive;
    /// can be repeated
    #[arg(long, value_name = "GRANT")]
    pub(crate) grant: Vec<String>,
    #[command(flatten)]
    pub(crate) browser: BrowserArgs,
}

/// Options of a run.
#[derive(Args, Clone)]
pub(crate) struct RunOptions {
    /// Take screenshots before and after every step
    #[arg(long)]
    pub(crate) record: bool,
    /// Record the network traffic with its bodies, for `replay --offline`. Pages get fixed randomness, a clock that moves
    /// with their timers, and UTC and en-US unless flags set others
    #[arg(long, conflicts_with_all = ["cdp", "device", "geolocation", "color_scheme"])]
    pub(crate) record_network: bool,
    /// Change what pages get, for experiments: mixed, all, or kinds of drift such as changed-texts,overlays
    #[arg(long, value_name = "KINDS")]
    pub(crate) drift: Option<Drifts>,
    /// Seed of the drift
    #[arg(long, value_name = "N", default_value_t = 0, requires = "drift")]
    pub(crate) drift_seed: u64,
    /// Copy each file that a step downloads to this directory, under the name that the page suggests
    #[arg(long, value_name = "DIR", conflicts_with = "cdp")]
    pub(crate) downloads: Option<PathBuf>,
    /// Save cookies and local storage to a file once the run is done, readable for you alone. A run that ends otherwise
    /// leaves the file as it was
    #[arg(long, value_name = "FILE", conflicts_with = "tab")]
    pub(crate) save_storage: Option<PathBuf>,
    /// Do not repair failed steps
    #[arg(long)]
    pub(crate) no_repair: bool,
    /// Repair by these rungs only: wait, scroll, fingerprint, locators, candidates, dismiss, frames, retype, replan
    #[arg(long, value_name = "RUNGS", conflicts_with = "no_repair")]
    pub(crate) repair_rungs: Option<Rungs>,
    #[command(flatten)]
    pub(crate) session: SessionOptions,
}

/// The page of a run while it goes on.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Live view")]
pub(crate) struct WatchArgs {
    /// Show what goes on in a browser on this machine, with a picture of each step; the address of the page is printed.
    /// Questions of `run` and `exec` can be answered there too
    #[arg(long)]
    pub(crate) watch: bool,
    /// Port of the page [default: any that is free]
    #[arg(long, value_name = "PORT", requires = "watch")]
    pub(crate) port: Option<u16>,
    /// Open the page in the system's browser
    #[arg(long, requires = "watch")]
    pub(crate) open: bool,
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

/// A session, by its name.
#[derive(Args, Clone, Debug)]
pub(crate) struct SessionName {
    /// Name of the session [default: one for the project folder]
    #[arg(short = 's', long, value_name = "NAME")]
    pub(crate) session: Option<String>,
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
    /// Planner to use: auto, lexical, scripted, recorded, ollama, openai, anthropic, or exec:COMMAND. auto is what is
    /// configured (--model, --base-url), else an Ollama that answers, else a provider whose key is in the environment,
    /// else lexical, which needs no model
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
    #[command(flatten)]
    pub(crate) options: RunOptions,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
}

/// The model of a planner.
#[derive(Args, Clone)]
#[command(next_help_heading = "Models")]
pub(crate) struct EngineArgs {
    /// Name of the model on its server
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Address of the server [default: $OLLAMA_HOST, $OPENAI_BASE_URL or $ANTHROPIC_BASE_URL, then the usual one]
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// How an `openai` server gets the grammar [default: strict for OpenAI itself, schema for others]
    #[arg(long, value_parser = engine_mode(), value_name = "MODE")]
    pub(crate) engine_mode: Option<OpenAiMode>,
    /// Environment variable that holds the key [default: OPENAI_API_KEY or ANTHROPIC_API_KEY]
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) api_key_env: Option<String>,
    /// Directory with your own prompts: any of system.txt, plan.txt, calls.txt, lines.txt, turn.txt
    /// and reformulate.txt
    #[arg(long, value_name = "DIR")]
    pub(crate) prompt: Option<PathBuf>,
    /// Send a picture of the page, with the candidates labelled by id; needs a model with vision
    #[arg(long)]
    pub(crate) vision: bool,
    /// Time limit of one plan, retries included
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "2m")]
    pub(crate) plan_timeout: Duration,
    /// Token limit of one answer, reasoning included [default: 4096; 16384 for models of OpenAI and Anthropic]
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(64..))]
    pub(crate) answer_tokens: Option<u32>,
    /// Token limit of a run: input and output of all requests
    #[arg(long, value_name = "TOKENS", default_value_t = 2_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) run_tokens: u64,
}

impl EngineArgs {
    /// Returns the form in which the planner gets a page. The flag is the consent to send pictures to its server.
    pub(crate) const fn sight(&self) -> Sight {
        if self.vision { Sight::Pictures } else { Sight::Words }
    }
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
pub(crate) struct CheckArgs {
    /// Plan: a JSON file, or - for standard input
    pub(crate) plan: PathBuf,
    /// Check it like the plan of a model: targets must be ids of the observation
    #[arg(long)]
    pub(crate) model: bool,
    #[command(flatten)]
    pub(crate) ground: GroundArgs,
}

/// A page and a policy, without a browser.
#[derive(Args)]
pub(crate) struct GroundArgs {
    /// Observation of the page, as printed by `cuebook observe --format json`
    #[arg(long, value_name = "FILE")]
    pub(crate) observation: Option<PathBuf>,
    /// Page to start on, whose origin is allowed [default: the page of the observation]
    #[arg(long, value_name = "URL", value_parser = url_parser())]
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
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
const NOT_REPEATED: [&str; 5] = ["out", "record", "record_network", "chrome", "headed"];

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

/// A step and the secret for it.
fn credential(text: &str) -> Result<(u32, CredentialRef), String> {
    let wrong = || format!("{text:?} is not STEP=SECRET such as 2=shop_password");
    let (step, name) = text.split_once('=').ok_or_else(wrong)?;
    let step = step.parse().ok().filter(|step| *step > 0).ok_or_else(wrong)?;
    Ok((step, CredentialRef::new(name)))
}

fn field_credential(text: &str) -> Result<(String, CredentialRef), String> {
    let parts = text.rsplit_once('=').filter(|(field, name)| !field.trim().is_empty() && !name.trim().is_empty());
    let wrong = || format!("{text:?} is not FIELD=SECRET such as Password=shop_password");
    parts.map(|(field, name)| (field.to_owned(), CredentialRef::new(name))).ok_or_else(wrong)
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
    /// Accept drift: recordings of cases that passed are changed to fit the page
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

/// A part and the number of parts.
fn shard(text: &str) -> Result<(u32, u32), String> {
    let parts = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
    parts.filter(|(part, of)| (1..=*of).contains(part)).ok_or_else(|| format!("{text:?} is not a part such as 1/3"))
}

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
    /// Directory of a run, or name of an open session [default: the session of the project folder]
    #[arg(value_name = "RUN|SESSION")]
    pub(crate) run: Option<PathBuf>,
    /// Port of the page [default: any that is free]
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Open the page in the system's browser
    #[arg(long)]
    pub(crate) open: bool,
}

#[derive(Args)]
pub(crate) struct StatsArgs {
    /// Directories of runs, or of several runs
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
    /// Price of a model per million tokens read and written, such as gpt-5=1.25,10; may be repeated
    #[arg(long = "price", value_name = "MODEL=IN,OUT", value_parser = price)]
    pub(crate) prices: Vec<Price>,
}

/// Price of a model, in any currency.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Price {
    /// The model, as its server names it.
    pub(crate) model: String,
    /// Price of a million tokens that it reads.
    pub(crate) input: f64,
    /// Price of a million tokens that it writes.
    pub(crate) output: f64,
}

fn price(text: &str) -> Result<Price, String> {
    let amount = |text: &str| text.trim().parse().ok().filter(|amount: &f64| amount.is_finite() && *amount >= 0.0);
    // A model's name may hold `=`; its price holds none.
    let parts = text.rsplit_once('=').and_then(|(model, amounts)| Some((model, amounts.split_once(',')?)));
    let price = parts.and_then(|(model, (input, output))| {
        Some(Price { model: model.to_owned(), input: amount(input)?, output: amount(output)? })
    });
    price.ok_or_else(|| format!("{text:?} is not MODEL=IN,OUT with prices per million tokens"))
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

/// A number and one of some units, which stand for factors.
fn in_units(text: &str, units: &[(&str, u64)], expected: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text.get(digits.len()..).unwrap_or_default();
    let factor = units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
    let number: Option<u64> = digits.parse().ok();
    number
        .zip(factor)
        .and_then(|(number, factor)| number.checked_mul(factor))
        .ok_or_else(|| format!("`{}` is not {expected}", crate::text::plain(text)))
}

fn age(text: &str) -> Result<Duration, String> {
    let seconds =
        in_units(text, &[("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)], "an age such as 30d, 12h, 5m or 0s")?;
    Ok(Duration::from_secs(seconds))
}

fn size(text: &str) -> Result<u64, String> {
    let units = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000), ("B", 1)];
    in_units(text, &units, "a size such as 10GB, 500MB or 0B")
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

fn format() -> impl TypedValueParser<Value = Format> {
    choice(Format::ALL.map(|format| {
        let help = match format {
            Format::Parquet => "Tables of runs, steps, conditions, candidates, requests and planning, by date",
            Format::StepLog => "One step a line, with the fields of a plain step log",
            Format::Sft => "Chats with tool calls, for supervised fine-tuning",
            Format::HuggingFace => "A folder for Hugging Face `datasets`: the same chats in splits, with a card",
            Format::Preferences => "Pairs of a step that failed and the one that worked on the same page",
            Format::PlaywrightTrace => "One trace a run, for `npx playwright show-trace`",
            Format::PlaywrightTest => "One test a run, for `npx playwright test`",
            Format::Har => "One HTTP archive a run",
            Format::Mind2Web => "Actions with their candidates, as in Multimodal-Mind2Web",
            Format::Otlp => "OpenTelemetry spans of a run, its calls of models and its steps, as OTLP in JSON",
        };
        (format.as_str(), format, help)
    }))
}

fn redaction() -> impl TypedValueParser<Value = Redaction> {
    choice(Redaction::ALL.map(|redaction| {
        let help = match redaction {
            Redaction::None => "Keep everything that is in the log, which holds no secrets of its run",
            Redaction::Strict => "Keep the structure only: no texts, values, queries or pictures",
        };
        (redaction.as_str(), redaction, help)
    }))
}

/// A number from 0 to 1.
fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("{text:?} is not a number from 0 to 1"))
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

/// A value that is written as one of a few names, each with its help.
fn choice<T: Clone + Send + Sync + 'static, const N: usize>(
    values: [(&'static str, T, &'static str); N],
) -> impl TypedValueParser<Value = T> {
    let names = PossibleValuesParser::new(values.clone().map(|(name, _, help)| PossibleValue::new(name).help(help)));
    names.try_map(move |name| {
        let known = values.iter().find(|(known, ..)| *known == name);
        known.map(|(_, value, _)| value.clone()).ok_or_else(|| format!("unknown value `{name}`"))
    })
}

fn profile() -> impl TypedValueParser<Value = Profile> {
    choice([
        ("assisted", Profile::Assisted, "None: every step is confirmed"),
        ("semi-auto", Profile::SemiAuto, "Reading"),
        ("auto", Profile::Auto, "Reading and reversible writing"),
        ("unleashed", Profile::Unleashed, "As auto; high-risk actions are available within the policy"),
    ])
}

fn gate() -> impl TypedValueParser<Value = Gate> {
    choice([
        ("effects", Gate::Effects, "Requests with a method other than GET, HEAD and OPTIONS wait for consent"),
        ("off", Gate::Off, "Only requests that the policy file names do"),
    ])
}

/// A planner, as `--planner` names it.
#[derive(Clone, Debug)]
pub(crate) enum PlannerArg {
    /// The planner that is configured, answers or has a key.
    Auto,
    /// A program and its arguments.
    Exec(Vec<String>),
    /// A planner that the flag names.
    Of(Engine),
}

fn planner(text: &str) -> Result<PlannerArg, String> {
    if let Some(command) = text.strip_prefix("exec:") {
        return command_words(command).map(PlannerArg::Exec).map_err(|error| match error {
            BadCommand::Shell(c) => format!("no shell reads the command, and `{c}` needs one: quote it"),
            error => error.to_string(),
        });
    }
    let engines =
        [Engine::Lexical, Engine::Scripted, Engine::Recorded, Engine::Ollama, Engine::OpenAi, Engine::Anthropic];
    let named = engines.into_iter().find(|engine| engine.as_str() == text).map(PlannerArg::Of);
    named.or_else(|| (text == "auto").then_some(PlannerArg::Auto)).ok_or_else(|| {
        let names: Vec<&str> = engines.iter().map(|engine| engine.as_str()).collect();
        format!("expected auto, {} or exec:COMMAND", names.join(", "))
    })
}

fn engine_mode() -> impl TypedValueParser<Value = OpenAiMode> {
    choice([
        ("strict", OpenAiMode::Strict, "`response_format` with OpenAI's strict schema"),
        ("schema", OpenAiMode::Schema, "`response_format` with a schema of what a step may be"),
        ("tools", OpenAiMode::Tools, "Tool calls, one per step"),
        ("llama-cpp", OpenAiMode::LlamaCpp, "`grammar` of llama.cpp's server"),
        ("llama-cpp-lines", OpenAiMode::LlamaCppLines, "The same for plans of one step a line: fewer tokens"),
        ("vllm", OpenAiMode::Vllm, "`structured_outputs` of vLLM"),
        ("plain", OpenAiMode::Plain, "No constraint: the prompt names the actions"),
    ])
}

fn scope() -> impl TypedValueParser<Value = Scope> {
    choice([
        ("view", Scope::View, "The viewport and half a viewport around it"),
        ("full", Scope::Full, "The whole page"),
    ])
}

fn document() -> impl TypedValueParser<Value = Document> {
    choice([
        ("plan", Document::Plan, "A plan"),
        ("observation", Document::Observation, "An observation"),
        ("step-record", Document::StepRecord, "The record of a step"),
        ("planning-record", Document::PlanningRecord, "The record of a call of a model"),
        ("report", Document::Report, "The report of a run"),
        ("policy", Document::Policy, "A policy file"),
        ("planner-input", Document::PlannerInput, "What a planner that is a program gets"),
    ])
}

fn dialect() -> impl TypedValueParser<Value = Target> {
    choice(Target::ALL.map(|target| {
        let help = match target {
            Target::JsonSchema => "JSON Schema 2020-12",
            Target::OpenAi => "`response_format` of OpenAI's structured outputs",
            Target::Tools => "Function definitions, at most twenty",
            Target::Anthropic => "Anthropic's tools",
            Target::Gemini => "Gemini's `responseSchema`",
            Target::Ollama => "Ollama's `format` and llama.cpp's `json_schema`",
            Target::Compatible => "`json_schema` of vLLM, SGLang and other compatible servers",
            Target::Gbnf => "Grammar of llama.cpp",
            Target::Lark => "Grammar of llguidance",
            Target::Ebnf => "Grammar of XGrammar, for vLLM",
            Target::Line => "The line form, as a grammar of llama.cpp",
        };
        (target.as_str(), target, help)
    }))
}

/// Commands that set up this machine. Files that are wrong do not keep them from running.
const UNCONFIGURED: [&str; 6] = ["config", "doctor", "install", "skill", "completions", "man"];

/// The whole command line, with the verbs of sessions, without variables and files.
pub(crate) fn line() -> clap::Command {
    let command = Line::command().mut_subcommand("minimize", |command| {
        command.mut_arg("out", |out| out.default_value("repro").help("Directory to write, which is missing or empty"))
    });
    grouped(command.subcommands(verbs::commands()))
}

impl Arguments {
    /// Parses the arguments of the process, with settings of files and variables. Prints help and errors itself, and
    /// returns the exit code.
    pub(crate) fn read() -> Result<Self, ExitCode> {
        let words: Vec<_> = std::env::args_os().collect();
        let wants_json = words.iter().any(|argument| argument == "--json");
        let applied = configured(line(), &words);
        let Applied { line: mut command, configured } =
            applied.map_err(|refusal| refusal.print(Output { json: wants_json, quiet: false }))?;
        let wants_json = wants_json || configured.contains("json");
        let parsed = command.try_get_matches_from_mut(words).and_then(|matches| {
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

/// The commands by what they are for.
const GROUPS: [(&str, &[&str]); 11] = [
    ("Run tasks and plans", &["run", "exec", "observe"]),
    (
        "Hold a browser",
        &["open", "back", "batch", "save", "start", "sessions", "events", "pause", "resume", "close", "mcp"],
    ),
    ("Look and read", &["snapshot", "find", "read", "screenshot", "pdf"]),
    ("Act", &["click", "type", "select", "press", "hover", "drag", "upload", "dialog"]),
    ("Wait and switch tabs", &["wait", "tab"]),
    ("State and settings of a session", &["cookies", "state-save", "state-load", "emulate", "resize"]),
    ("Console and network of a session", &["console", "requests", "route", "unroute"]),
    ("Write plans and policies", &["record", "check", "schema", "policy"]),
    ("Test and measure", &["test", "replay", "minimize", "eval"]),
    ("Read recorded runs", &["view", "report", "stats", "judge", "query", "export", "prune"]),
    ("Set up", &["doctor", "config", "install", "skill", "completions", "man", "site", "help"]),
];

/// Lists the commands by groups: clap has headings for flags only.
fn grouped(command: clap::Command) -> clap::Command {
    let mut list = String::new();
    for (heading, names) in GROUPS {
        list.push_str(&format!("{heading}:\n"));
        for name in names {
            let about = match command.find_subcommand(name).and_then(clap::Command::get_about) {
                Some(about) => about.to_string(),
                None => "Print this message or the help of the given command".to_owned(),
            };
            list.push_str(&format!("  {name:<13}{about}\n"));
        }
        list.push('\n');
    }
    let list = list.trim_end();
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}\n\nOptions:\n{{options}}"
    ))
}

/// Parses `500ms`, `3s` or `2m`: at least 1 ms, at most a day.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{}` is not a duration such as 500ms, 3s or 2m", crate::text::plain(text));
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let unit = text.get(digits.len()..).unwrap_or_default();
    let millis = match unit {
        "ms" => Some(number),
        "s" => number.checked_mul(1_000),
        "m" => number.checked_mul(60_000),
        _ => None,
    };
    match millis {
        Some(millis) if (1..=86_400_000).contains(&millis) => Ok(Duration::from_millis(millis)),
        _ => Err(wrong()),
    }
}

/// Completes the address of a browser: `9222` is a port of this machine, `host:9222` speaks HTTP.
fn endpoint(text: &str) -> Result<String, String> {
    let text = text.trim();
    let wrong = || format!("`{}` is not a port, host:port, http://host:port or ws://…", crate::text::plain(text));
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    if is_port(text) {
        return Ok(format!("http://127.0.0.1:{text}"));
    }
    if text.contains("://") {
        return url::Url::parse(text).map(|_| text.to_owned()).map_err(|_| wrong());
    }
    let host = text.rsplit_once(':').filter(|(host, port)| !host.is_empty() && is_port(port));
    let url = host.map(|_| format!("http://{text}")).filter(|url| url::Url::parse(url).is_ok());
    url.ok_or_else(wrong)
}

fn url_parser() -> impl TypedValueParser<Value = String> {
    StringValueParser::new().map(|text| page_url(&text))
}

/// Schemes that digits may follow, as a port follows a host.
const SCHEMES: [&str; 7] = ["javascript", "data", "file", "about", "blob", "mailto", "tel"];

/// Completes a URL without a scheme: `http` for IP addresses and hosts of one label, as local machines have, else
/// `https`.
fn page_url(text: &str) -> String {
    let text = text.trim();
    let (front, rest) = text.split_once(':').unwrap_or((text, ""));
    let port = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let names_scheme = SCHEMES.iter().any(|scheme| front.eq_ignore_ascii_case(scheme));
    let is_scheme = names_scheme || text.contains(':') && !is_port && !front.contains(['/', '[', '.']);
    if is_scheme || text.is_empty() || text.starts_with(['/', '.']) {
        return text.to_owned();
    }
    let with = |scheme: &str| url::Url::parse(&format!("{scheme}://{text}")).ok();
    let Some(url) = with("https") else { return text.to_owned() };
    let is_local = match url.host() {
        Some(url::Host::Domain(name)) => !name.trim_end_matches('.').contains('.') || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(_) | url::Host::Ipv6(_)) => true,
        None => false,
    };
    if is_local { with("http").unwrap_or(url) } else { url }.to_string()
}

fn device(text: &str) -> Result<Device, String> {
    let names = || Device::names().collect::<Vec<_>>().join(", ");
    Device::named(text).ok_or_else(|| format!("`{}` is no device: {}", crate::text::plain(text), names()))
}

fn color_scheme(text: &str) -> Result<ColorScheme, String> {
    match text {
        "light" => Ok(ColorScheme::Light),
        "dark" => Ok(ColorScheme::Dark),
        other => Err(format!("`{}` is neither light nor dark", crate::text::plain(other))),
    }
}

fn viewport(text: &str) -> Result<(u32, u32), String> {
    let wrong = || format!("`{}` is not WIDTHxHEIGHT from 100x100 to 10000x10000", crate::text::plain(text));
    let (width, height) = text.split_once(['x', 'X']).ok_or_else(wrong)?;
    let side = |text: &str| text.parse().ok().filter(|side| (100..=10_000).contains(side)).ok_or_else(wrong);
    Ok((side(width)?, side(height)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_stands_in_one_group() {
        let command = line();
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
        let mut shown: Vec<&str> = shown.map(clap::Command::get_name).collect();
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
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
    fn the_address_of_a_browser_may_be_its_port() {
        assert_eq!(endpoint("9377").unwrap(), "http://127.0.0.1:9377");
        assert_eq!(endpoint("box:9377").unwrap(), "http://box:9377");
        assert_eq!(endpoint("[::1]:9377").unwrap(), "http://[::1]:9377");
        for whole in ["http://127.0.0.1:9377", "ws://127.0.0.1:9377/devtools/browser/1"] {
            assert_eq!(endpoint(whole).unwrap(), whole);
        }
        for wrong in ["", "0", "99999", "box", ":9377", "box:0", "http://"] {
            assert!(endpoint(wrong).unwrap_err().contains("is not a port"), "{wrong}");
        }
    }

    #[test]
    fn what_a_browser_would_run_is_no_host() {
        for scheme in ["javascript:1", "JavaScript:1", "data:1", "tel:110"] {
            assert_eq!(page_url(scheme), scheme);
        }
        assert_eq!(page_url("localhost:8737"), "http://localhost:8737/");
    }

    #[test]
    fn durations_carry_their_unit() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("3s"), Ok(Duration::from_secs(3)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for wrong in ["", "3", "s", "-1s", "0s", "3h", "99999999999999999999s", "1.5s", "３s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ages_and_sizes_carry_their_units() {
        assert_eq!(age("30d"), Ok(Duration::from_secs(30 * 86_400)));
        assert_eq!(age("0s"), Ok(Duration::ZERO));
        assert_eq!(size("10GB"), Ok(10_000_000_000));
        for wrong in ["", "3", "d", "-1d", "1.5d", "3w", "99999999999999999999d", "18446744073709551615d"] {
            assert!(age(wrong).is_err() && size(&wrong.replace('d', "GB")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_host_without_a_scheme_gets_one() {
        for (written, meant) in [
            ("example.org", "https://example.org/"),
            ("example.org:8443/a?b#c", "https://example.org:8443/a?b#c"),
            ("127.0.0.1:8790/x", "http://127.0.0.1:8790/x"),
            ("[::1]:80/", "http://[::1]/"),
            ("localhost:3000", "http://localhost:3000/"),
            ("shop.localhost", "http://shop.localhost/"),
            ("intranet/start", "http://intranet/start"),
            (" https://a.test/b ", "https://a.test/b"),
        ] {
            assert_eq!(page_url(written), meant);
        }
        for kept in
            ["about:blank", "javascript:alert(1)", "file:///etc/passwd", "mailto:a@b.c", "/etc/passwd", "", "::"]
        {
            assert_eq!(page_url(kept), kept);
        }
    }

    #[test]
    fn flags_of_a_launched_browser_conflict_with_cdp() {
        for flags in [&["--viewport", "800x600"][..], &["--headed"], &["--no-sandbox"], &["--chrome", "/bin/chrome"]] {
            let line = ["cuebook", "observe", "a.test", "--cdp", "http://127.0.0.1:9222"].iter().chain(flags);
            let error = Line::try_parse_from(line).err().map(|error| error.kind());
            assert_eq!(error, Some(clap::error::ErrorKind::ArgumentConflict), "{flags:?}");
        }
    }

    #[test]
    fn viewports_are_two_numbers() {
        assert_eq!(viewport("332x214"), Ok((332, 214)));
        for wrong in ["", "x", "10x10", "1280", "1280x", "99999x100"] {
            assert!(viewport(wrong).is_err(), "{wrong}");
        }
    }
}

/// Why there are no sessions on a system without Unix sockets.
#[cfg(not(unix))]
pub(crate) fn without_sockets() -> exit::Refusal {
    let why = "sessions need Unix sockets; `cuebook mcp` serves one browser to one client";
    exit::Refusal::invalid(ErrorCode::Usage, why)
}
