//! What may be written on the command line.
//!
//! Invariant: flags that are wrong end with exit code 2, and with `--json` in a report like any other.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use cuebook_decoding::emit::Target;
use cuebook_grammar::profile::Profile;
use cuebook_grammar::report::{ErrorCode, RunError, RunReport, RunResult};

use crate::exit::{self, Output};
use crate::wait_for::{WaitFor, wait_for};

/// The command line as read.
pub(crate) struct Arguments {
    pub(crate) command: Command,
    pub(crate) output: Output,
    pub(crate) verbosity: u8,
}

/// Lets a language model drive a browser without being able to hallucinate.
#[derive(Parser)]
#[command(name = "cuebook", version, propagate_version = true, max_term_width = 100)]
struct Line {
    #[command(subcommand)]
    command: Command,
    /// Print one JSON document on standard output, and nothing else there
    #[arg(long, global = true)]
    json: bool,
    /// Print no progress on standard error
    #[arg(long, global = true)]
    quiet: bool,
    /// Say more on standard error; twice for more still
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
}

/// What to do.
#[derive(Subcommand)]
#[expect(clippy::large_enum_variant, reason = "there is one value a process")]
pub(crate) enum Command {
    /// Carry out a task given in words
    Run(RunArgs),
    /// Run a plan from a file, with checks, repair and log
    Exec(ExecArgs),
    /// Print what a page offers to act on
    Observe(ObserveArgs),
    /// Check a plan without a browser
    Check(CheckArgs),
    /// Print a schema
    Schema(SchemaArgs),
    /// Judge the conditions of a run again, from its log, without a browser
    Judge(JudgeArgs),
    /// Say whether everything that is needed is there
    Doctor(DoctorArgs),
    /// Serve the built-in site
    Site(SiteArgs),
    /// Measure observations and clicks in process
    #[command(hide = true)]
    Bench(BenchArgs),
}

/// Where the browser comes from.
#[derive(Args, Clone)]
pub(crate) struct BrowserArgs {
    /// The browser's executable; else $CHROME, then the usual places
    #[arg(long, value_name = "FILE", env = "CUEBOOK_CHROME", conflicts_with = "cdp")]
    pub(crate) chrome: Option<PathBuf>,
    /// Attach to a running browser: http://host:port or ws://…. It keeps its window, viewport and sandbox
    #[arg(long, value_name = "URL", env = "CUEBOOK_CDP")]
    pub(crate) cdp: Option<String>,
    /// Show the browser's window
    #[arg(long, env = "CUEBOOK_HEADED", conflicts_with = "cdp")]
    pub(crate) headed: bool,
    /// The size of the viewport in CSS pixels; else the plan's, else 1280x720
    #[arg(long, value_name = "WxH", value_parser = viewport, env = "CUEBOOK_VIEWPORT", conflicts_with = "cdp")]
    pub(crate) viewport: Option<(u32, u32)>,
    /// Start Chrome without its sandbox; done by itself for root only
    #[arg(long, conflicts_with = "cdp")]
    pub(crate) no_sandbox: bool,
}

/// What a run may do, and where its log goes.
#[derive(Args, Clone)]
pub(crate) struct RunOptions {
    #[command(flatten)]
    pub(crate) browser: BrowserArgs,
    /// Where runs are logged, one folder each
    #[arg(long, value_name = "DIR", default_value = "cuebook-runs", env = "CUEBOOK_OUT")]
    pub(crate) out: PathBuf,
    /// The most time for a step and all within it, such as 500ms, 3s or 2m
    #[arg(long, value_name = "DURATION", value_parser = duration, env = "CUEBOOK_TIMEOUT")]
    pub(crate) timeout: Option<Duration>,
    /// Another origin to act on: a host, *.host, or scheme://host:port. May be repeated
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow: Vec<String>,
    /// What is allowed and declared, as a JSON file; `cuebook schema policy` prints its form
    #[arg(long, value_name = "FILE", env = "CUEBOOK_POLICY")]
    pub(crate) policy: Option<PathBuf>,
    /// Consent given ahead, as CLASS@ORIGIN with class write, credential, send, money or destructive.
    /// May be repeated
    #[arg(long, value_name = "GRANT")]
    pub(crate) grant: Vec<String>,
    /// A directory whose files may be read and uploaded. May be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
    /// A directory whose pages may be opened, by file: URLs. May be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) file_root: Vec<PathBuf>,
    /// Screenshots before and after every step
    #[arg(long)]
    pub(crate) record: bool,
    /// Do not repair steps that fail
    #[arg(long)]
    pub(crate) no_repair: bool,
    /// How much happens without asking
    #[arg(long, value_enum, default_value = "auto", env = "CUEBOOK_PROFILE")]
    pub(crate) profile: ProfileName,
}

/// Arguments of `run`.
#[derive(Args)]
pub(crate) struct RunArgs {
    /// The task in words
    pub(crate) task: String,
    /// Where to start
    #[arg(long, value_name = "URL", value_parser = url_parser())]
    pub(crate) url: String,
    /// Who plans
    #[arg(long, value_enum, default_value = "lexical", env = "CUEBOOK_PLANNER")]
    pub(crate) planner: PlannerName,
    /// The plan of the scripted planner
    #[arg(long, value_name = "FILE", required_if_eq("planner", "scripted"))]
    pub(crate) plan: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    /// Wait before planning: css=SELECTOR, text=WORDS, url=PART, or a condition as JSON
    #[arg(long, value_name = "CONDITION", value_parser = wait_for)]
    pub(crate) wait_for: Option<WaitFor>,
    /// Open the page, plan once, print the plan and what the check says of it, and carry out nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Say of each step why it is taken, on what, at which risk and under which conditions
    #[arg(long)]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) options: RunOptions,
}

/// The model behind a planner.
#[derive(Args, Clone)]
#[command(next_help_heading = "Models")]
pub(crate) struct EngineArgs {
    /// The model, as its server names it
    #[arg(long, value_name = "NAME", env = "CUEBOOK_MODEL")]
    pub(crate) model: Option<String>,
    /// Where its server is; else $OLLAMA_HOST, $OPENAI_BASE_URL or $ANTHROPIC_BASE_URL, then the usual place
    #[arg(long, value_name = "URL", env = "CUEBOOK_BASE_URL")]
    pub(crate) base_url: Option<String>,
    /// How the grammar reaches the model of an `openai` server; `strict` for OpenAI itself, `schema` for others
    #[arg(long, value_enum, value_name = "MODE", env = "CUEBOOK_ENGINE_MODE")]
    pub(crate) engine_mode: Option<EngineMode>,
    /// The variable of the environment that holds the key; else OPENAI_API_KEY or ANTHROPIC_API_KEY
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) api_key_env: Option<String>,
    /// Prompts of your own: a folder with any of system.txt, plan.txt, calls.txt, lines.txt, described.txt,
    /// turn.txt and reformulate.txt
    #[arg(long, value_name = "DIR", env = "CUEBOOK_PROMPT")]
    pub(crate) prompt: Option<PathBuf>,
    /// Send a picture of the page along, candidates marked by id; for models that see
    #[arg(long)]
    pub(crate) vision: bool,
    /// The most time for one plan, retries included
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "2m", env = "CUEBOOK_PLAN_TIMEOUT")]
    pub(crate) plan_timeout: Duration,
    /// The most tokens of one answer, thoughts included; else 4096, and 16384 for OpenAI's and Anthropic's own models
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(64..))]
    pub(crate) answer_tokens: Option<u32>,
    /// The most tokens, read and written, of all answers of the run
    #[arg(long, value_name = "TOKENS", default_value_t = 2_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) run_tokens: u64,
}

/// Arguments of `exec`.
#[derive(Args)]
pub(crate) struct ExecArgs {
    /// The plan: a JSON file, or - for standard input
    pub(crate) plan: PathBuf,
    /// Where to start; its origin is allowed
    #[arg(long, value_name = "URL", value_parser = url_parser())]
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) options: RunOptions,
}

/// Arguments of `observe`.
#[derive(Args)]
pub(crate) struct ObserveArgs {
    /// The page
    #[arg(value_parser = url_parser())]
    pub(crate) url: String,
    /// How to print it
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: ObservationFormat,
    /// How much of the page
    #[arg(long, value_enum, default_value = "full")]
    pub(crate) scope: ScopeName,
    /// The most tokens of output (text and YAML: 6,000 unless stated)
    #[arg(long, value_name = "TOKENS")]
    pub(crate) budget: Option<usize>,
    /// Wait before looking: css=SELECTOR, text=WORDS, url=PART, or a condition as JSON
    #[arg(long, value_name = "CONDITION", value_parser = wait_for)]
    pub(crate) wait_for: Option<WaitFor>,
    /// A directory whose pages may be opened, by file: URLs. May be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) file_root: Vec<PathBuf>,
    /// The most time for loading and looking
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "30s", env = "CUEBOOK_TIMEOUT")]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) browser: BrowserArgs,
}

/// Arguments of `check`.
#[derive(Args)]
pub(crate) struct CheckArgs {
    /// The plan: a JSON file, or - for standard input
    pub(crate) plan: PathBuf,
    #[command(flatten)]
    pub(crate) ground: GroundArgs,
    /// Check it as a model's plan: observed ids only
    #[arg(long)]
    pub(crate) model: bool,
}

/// A page and a policy, without a browser.
#[derive(Args)]
pub(crate) struct GroundArgs {
    /// The observation that it is about, as `observe --format json` prints it
    #[arg(long, value_name = "FILE")]
    pub(crate) observation: Option<PathBuf>,
    /// Where it would start, else where the observation was made; its origin is allowed
    #[arg(long, value_name = "URL", value_parser = url_parser())]
    pub(crate) url: Option<String>,
    /// Another origin to act on. May be repeated
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow: Vec<String>,
    /// A directory whose files may be read and uploaded. May be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
    /// A directory whose pages may be opened, by file: URLs. May be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) file_root: Vec<PathBuf>,
    /// What is allowed and declared, as a JSON file
    #[arg(long, value_name = "FILE", env = "CUEBOOK_POLICY")]
    pub(crate) policy: Option<PathBuf>,
    /// How much happens without asking
    #[arg(long, value_enum, default_value = "auto", env = "CUEBOOK_PROFILE")]
    pub(crate) profile: ProfileName,
}

/// Arguments of `schema`.
#[derive(Args)]
pub(crate) struct SchemaArgs {
    /// Which document
    #[arg(value_enum, default_value = "plan")]
    pub(crate) document: DocumentName,
    /// For whom: one of the dialects of decoders, of a plan
    #[arg(long, value_parser = dialect(), default_value = "json-schema")]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) ground: GroundArgs,
}

/// Arguments of `judge`.
#[derive(Args)]
pub(crate) struct JudgeArgs {
    /// The folder of a run
    pub(crate) run: PathBuf,
}

/// Arguments of `doctor`.
#[derive(Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) browser: BrowserArgs,
    /// Only look; start nothing
    #[arg(long)]
    pub(crate) quick: bool,
}

/// Arguments of `site`.
#[derive(Args)]
pub(crate) struct SiteArgs {
    /// The port; 0 for any that is free
    #[arg(long, default_value_t = 8737)]
    pub(crate) port: u16,
    /// What its data is drawn from
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

/// Arguments of `bench`.
#[derive(Args)]
pub(crate) struct BenchArgs {
    /// The page: one with a button and a text field in view, and a second button
    #[arg(long, value_name = "URL", value_parser = url_parser())]
    pub(crate) url: String,
    /// How often each is measured
    #[arg(long, default_value_t = 20)]
    pub(crate) rounds: u32,
    /// Write a whole observation to this file, as a model reads it
    #[arg(long, value_name = "FILE")]
    pub(crate) text: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) options: RunOptions,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ProfileName {
    /// Every step is confirmed
    Assisted,
    /// Reading runs, writing is confirmed
    SemiAuto,
    /// Reading and reversible writing run
    Auto,
    /// High-risk tools are open within what was declared
    Unleashed,
}

impl From<ProfileName> for Profile {
    fn from(name: ProfileName) -> Self {
        match name {
            ProfileName::Assisted => Self::Assisted,
            ProfileName::SemiAuto => Self::SemiAuto,
            ProfileName::Auto => Self::Auto,
            ProfileName::Unleashed => Self::Unleashed,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlannerName {
    /// No model: clauses of the instruction are matched to candidates
    Lexical,
    /// A plan from a file
    Scripted,
    /// A model of Ollama
    Ollama,
    /// A model of OpenAI, or of a server that speaks like it, such as llama.cpp and vLLM
    #[value(name = "openai")]
    OpenAi,
    /// A model of Anthropic, or of a server that speaks like it
    Anthropic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineMode {
    /// `response_format` with OpenAI's strict schema
    Strict,
    /// `response_format` with a schema that states every bound
    Schema,
    /// Calls of tools, one a step
    Tools,
    /// `grammar`, as llama.cpp's server takes it
    LlamaCpp,
    /// The same for plans of a step a line, which take a fraction of the tokens
    LlamaCppLines,
    /// `structured_outputs`, as vLLM takes it
    Vllm,
    /// No constraint: the form stands in the prompt, and the check decides
    Plain,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ObservationFormat {
    /// Lines such as `- button "Submit" [c2]`
    Text,
    /// The observation document
    Json,
    /// An outline like Playwright's
    Yaml,
    /// The accessible structure of the main frame, as Playwright's ARIA snapshots
    Aria,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ScopeName {
    /// The viewport and half a viewport around it
    View,
    /// The whole page
    Full,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum DocumentName {
    /// A plan
    Plan,
    /// An observation
    Observation,
    /// A step record
    StepRecord,
    /// The record of a call of a model
    PlanningRecord,
    /// A report
    Report,
    /// A policy file
    Policy,
}

/// Reads the name of a dialect.
fn dialect() -> impl TypedValueParser<Value = Target> {
    let names = Target::ALL.map(|target| {
        let help = match target {
            Target::JsonSchema => "JSON Schema 2020-12",
            Target::OpenAi => "`response_format` of structured outputs",
            Target::Tools => "Function definitions, one a verb",
            Target::Anthropic => "Anthropic's tools",
            Target::Gemini => "Gemini's `responseSchema`",
            Target::Ollama => "Ollama's `format`, and llama.cpp's `json_schema`",
            Target::Gbnf => "Grammars of llama.cpp",
            Target::Lark => "Grammars of llguidance",
            Target::Ebnf => "Grammars of XGrammar, as vLLM and SGLang take them",
            Target::Line => "The line form, in GBNF",
        };
        PossibleValue::new(target.as_str()).help(help)
    });
    PossibleValuesParser::new(names)
        .map(|name| Target::ALL.into_iter().find(|target| target.as_str() == name).unwrap_or(Target::JsonSchema))
}

impl Arguments {
    /// Reads the process's arguments; on wrong ones, prints why and gives the exit code.
    pub(crate) fn read() -> Result<Self, ExitCode> {
        let line = Line::try_parse().map_err(|error| {
            let asked_for = !error.use_stderr();
            let wants_json = std::env::args_os().any(|argument| argument == "--json");
            if asked_for || !wants_json {
                // Help, version and complaints look best as clap prints them; a closed pipe is nobody's loss.
                error.print().ok();
            } else {
                let message = error.render().to_string();
                let error = RunError::new(ErrorCode::Usage, message);
                exit::print_json(&RunReport::without_run(RunResult::Invalid, Some(error)));
            }
            ExitCode::from(if asked_for { exit::OK } else { exit::INVALID })
        })?;
        let output = Output { json: line.json, quiet: line.quiet };
        Ok(Self { command: line.command, output, verbosity: line.verbose })
    }
}

/// `500ms`, `3s`, `2m`.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("expected a duration such as 500ms, 3s or 2m, saw `{}`", crate::text::plain(text));
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

/// Reads a URL that people write.
fn url_parser() -> impl TypedValueParser<Value = String> {
    StringValueParser::new().map(|text| page_url(&text))
}

/// The URL that is meant: a host without a scheme gets `http` if it is an address or a single label, as local machines
/// are named, and `https` otherwise.
fn page_url(text: &str) -> String {
    let text = text.trim();
    let (front, rest) = text.split_once(':').unwrap_or((text, ""));
    let port = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let is_scheme = text.contains(':') && !is_port && !front.contains(['/', '[', '.']);
    if is_scheme || text.is_empty() || text.starts_with(['/', '.']) {
        return text.to_owned();
    }
    let with = |scheme: &str| url::Url::parse(&format!("{scheme}://{text}")).ok();
    let Some(url) = with("https") else { return text.to_owned() };
    let is_near = match url.host() {
        Some(url::Host::Domain(name)) => !name.trim_end_matches('.').contains('.') || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(_) | url::Host::Ipv6(_)) => true,
        None => false,
    };
    if is_near { with("http").unwrap_or(url) } else { url }.to_string()
}

fn viewport(text: &str) -> Result<(u32, u32), String> {
    let wrong = || format!("expected WIDTHxHEIGHT from 100x100 to 10000x10000, saw `{}`", crate::text::plain(text));
    let (width, height) = text.split_once(['x', 'X']).ok_or_else(wrong)?;
    let side = |text: &str| text.parse().ok().filter(|side| (100..=10_000).contains(side)).ok_or_else(wrong);
    Ok((side(width)?, side(height)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Line::command().debug_assert();
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
    fn what_an_attached_browser_cannot_be_made_to_do_is_an_error() {
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
