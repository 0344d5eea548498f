//! Groups of arguments that several commands share.

use super::values::{
    color_scheme, device, duration, endpoint, engine_mode, gate, profile, url_parser, viewport, vision_engine,
};
use clap::{Args, ValueEnum};
use cuebook::network::drift::Drifts;
use cuebook::{ColorScheme, Containment, Device, Emulation, Engine, Geolocation};
use cuebook_datalayer::traffic::Setting;
use cuebook_grammar::policy::Gate;
use cuebook_grammar::profile::Profile;
use cuebook_planner::OpenAiMode;
use cuebook_repair::Rungs;
use cuebook_repair::Sight;
use std::path::PathBuf;
use std::time::Duration;

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
    /// Keep for every step what is kept of a failed one: screenshots before and after it and of its target, the
    /// accessible structure around the target, and its changes
    #[arg(long)]
    pub(crate) record: bool,
    /// Keep the messages between Cuebook and the browser, as `cdp.jsonl` in the folder of the run, without what is typed,
    /// bodies, cookies and values of header fields
    #[arg(long)]
    pub(crate) record_cdp: bool,
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
    /// Repair by these rungs only: wait, scroll, fingerprint, locators, candidates, box, dismiss, frames, retype, replan
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

/// A session, by its name.
#[derive(Args, Clone, Debug)]
pub(crate) struct SessionName {
    /// Name of the session [default: one for the project folder]
    #[arg(short = 's', long, value_name = "NAME")]
    pub(crate) session: Option<String>,
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
    /// How an `openai` or `anthropic` server gets the grammar; computer and ui-tars are for models that point at a picture, and need
    /// --vision [default: strict for OpenAI itself, schema for others]
    #[arg(long, value_parser = engine_mode(), value_name = "MODE")]
    pub(crate) engine_mode: Option<OpenAiMode>,
    /// Environment variable that holds the key [default: OPENAI_API_KEY or ANTHROPIC_API_KEY]
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) api_key_env: Option<String>,
    /// Prompts: full, compact (for models below 3 billion parameters), or a directory with your own: any of system.txt,
    /// plan.txt, calls.txt, lines.txt, turn.txt and reformulate.txt [default: what fits the model]
    #[arg(long, value_name = "full|compact|DIR")]
    pub(crate) prompt: Option<PathBuf>,
    /// Send a picture of the page, with the candidates labelled by id; needs a model with vision
    #[arg(long)]
    pub(crate) vision: bool,
    /// As --vision, but only after a step failed or the run repeats itself
    #[arg(long, conflicts_with = "vision")]
    pub(crate) vision_after_failure: bool,
    /// Have a model of ollama, openai or anthropic list what the picture of the page shows, for a planner that sees none;
    /// without --vision, the picture goes to this model alone
    #[arg(long, value_name = "ENGINE", value_parser = vision_engine())]
    pub(crate) vision_features: Option<Engine>,
    /// Name of the model that lists what pictures show
    #[arg(long, value_name = "NAME", requires = "vision_features")]
    pub(crate) vision_model: Option<String>,
    /// Address of that model's server [default: as of --base-url]
    #[arg(long, value_name = "URL", requires = "vision_features")]
    pub(crate) vision_base_url: Option<String>,
    /// Environment variable that holds that server's key [default: as of --api-key-env]
    #[arg(long, value_name = "VARIABLE", requires = "vision_features")]
    pub(crate) vision_api_key_env: Option<String>,
    /// Time limit of one plan, retries included
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "2m")]
    pub(crate) plan_timeout: Duration,
    /// Token limit of one answer, reasoning included [default: 4096; 16384 for models of OpenAI and Anthropic]
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(64..))]
    pub(crate) answer_tokens: Option<u32>,
    /// Token limit of a run: input and output of all requests
    #[arg(long, value_name = "TOKENS", default_value_t = 2_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) run_tokens: u64,
    /// Drafts of a repair that a model writes, of which the best is taken; each costs its tokens
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=3))]
    pub(crate) drafts: u8,
}

impl EngineArgs {
    /// Returns the form in which the planner gets a page. The flags are the consent to send pictures to a server.
    pub(crate) const fn sight(&self) -> Sight {
        match (self.vision, self.engine_mode) {
            (true, Some(mode)) if mode.points() => Sight::Bare,
            (true, _) => Sight::Pictures,
            (false, _) if self.vision_after_failure => Sight::AfterFailure,
            (false, _) if self.vision_features.is_some() => Sight::Bare,
            (false, _) => Sight::Words,
        }
    }
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
