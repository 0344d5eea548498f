//! Composition: from flags to a browser, layers, and a controller.
//!
//! Order matters: what can be refused without a browser is refused before one is started, and the folder of
//! the log exists before anything can act.

use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use cuebook::environment::{self, EnvironmentSecrets, FromEnv as _};
use cuebook::{BrowserSource, SETTLING, Tab, fresh, upload_roots};
use cuebook_cdp::{LaunchOptions, Sandbox, SearchPlaces, Window, find_chrome};
use cuebook_datalayer::{ArtifactStore, JsonlLog, RunDir, ValueRedactor};
use cuebook_executor::{ExecutorOptions, LiveExecutor, ScreenshotMode};
use cuebook_grammar::id::RunId;
use cuebook_grammar::plan::PlanDraft;
use cuebook_grammar::policy::Policy;
use cuebook_grammar::report::{ErrorCode, RunReport, RunResult};
use cuebook_grammar::seam::Redactor;
use cuebook_grammar::secret::DigestKey;
use cuebook_outside::{OutsideHandler, OutsideOptions};
use cuebook_page_modeler::{LivePageModeler, ModelerOptions};
use cuebook_repair::{Budgets, Controller, Interrupt, Ladder, Layers, RunRequest, Sight, Work};
use url::Url;

use crate::args::{BrowserArgs, RunOptions};
use crate::confirm::Terminal;
use crate::exit::{Exit, Output, Refusal, print_json};
use crate::explain::Explainer;
use crate::planner::AnyPlanner;
use crate::progress::{self, Narrator};
use crate::text::plain;
use crate::wait_for::WaitFor;

/// The most time that starting or reaching a browser may take.
const BROWSER_PATIENCE: Duration = Duration::from_secs(30);
/// The most time that its end may take.
const CLOSING_PATIENCE: Duration = Duration::from_secs(5);

/// The viewport in CSS pixels where neither a flag nor a plan states one.
const VIEWPORT: (u32, u32) = (1280, 720);

/// Starts or reaches the browser that the flags state, and opens a tab.
pub(crate) async fn open_tab(args: &BrowserArgs) -> Result<Tab, Refusal> {
    let until = Instant::now() + BROWSER_PATIENCE;
    let source = match &args.cdp {
        Some(endpoint) => BrowserSource::Attach(endpoint.clone()),
        None => launch_options(args)?.into(),
    };
    Tab::open(source, until).await.map_err(|error| Refusal::unusable(ErrorCode::NoBrowser, with_sources(&error)))
}

fn launch_options(args: &BrowserArgs) -> Result<LaunchOptions, Refusal> {
    let binary = find_chrome(&search_places(args)).map_err(|error| {
        let hint = "install Chrome or Chromium (Debian: apt-get install chromium), set $CHROME, or use --chrome";
        Refusal::unusable(ErrorCode::NoBrowser, format!("{}; {hint}", with_sources(&error)))
    })?;
    let mut options = LaunchOptions::new(binary, environment::profile_root());
    options.window = if args.headed { Window::Headed } else { Window::Headless };
    options.viewport = args.viewport.unwrap_or(VIEWPORT);
    options.sandbox = if args.no_sandbox { Sandbox::Off } else { Sandbox::Default };
    Ok(options)
}

/// Where a browser may be: where the flag says, or as this machine tells.
pub(crate) fn search_places(args: &BrowserArgs) -> SearchPlaces {
    SearchPlaces { explicit: args.chrome.clone(), ..SearchPlaces::from_env() }
}

/// Ends the browser if we started it; else closes our tab only.
pub(crate) async fn close_tab(tab: Tab) {
    if let Err(error) = tab.close(Instant::now() + CLOSING_PATIENCE).await {
        tracing::debug!(%error, "the browser did not close in order");
    }
}

/// An error and what caused it, in one line.
pub(crate) fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    plain(&text)
}

/// Makes the browser as large as the plan wants it, where no flag says otherwise; what the plan does not get is said.
pub(crate) fn fit_viewport(args: &mut BrowserArgs, draft: &PlanDraft) {
    let Some(wanted) = draft.context.as_ref().and_then(|context| context.viewport) else { return };
    let wanted = (wanted.width, wanted.height);
    let instead = match args.viewport {
        _ if args.cdp.is_some() => "the browser of --cdp keeps its own".to_owned(),
        Some((width, height)) if (width, height) != wanted => format!("--viewport makes it {width}x{height}"),
        _ => {
            args.viewport = Some(wanted);
            return;
        }
    };
    progress::say(&format!("note: the plan was made for a viewport of {}x{}; {instead}", wanted.0, wanted.1));
}

/// The policy that the flags state.
pub(crate) fn policy(options: &RunOptions, url: Option<&str>) -> Result<Policy, Refusal> {
    let refuse = |error: &dyn std::error::Error| Refusal::invalid(ErrorCode::InvalidPolicy, error.to_string());
    let mut policy = crate::input::page_roots(&options.file_root, Policy::new(options.profile.into()))?;
    if let Some(url) = url {
        policy = policy.starting_at(url).map_err(|error| Refusal::invalid(ErrorCode::InvalidUrl, error.to_string()))?;
    }
    if let Some(path) = &options.policy {
        policy = crate::input::policy(path, policy)?;
    }
    policy = crate::input::roots(&options.root, policy)?;
    for entry in &options.allow {
        policy = policy.allowing(entry).map_err(|error| refuse(&error))?;
    }
    for grant in &options.grant {
        policy = policy.granting(grant).map_err(|error| refuse(&error))?;
    }
    Ok(policy)
}

fn budgets(options: &RunOptions) -> Budgets {
    let mut budgets = Budgets::default();
    if let Some(timeout) = options.timeout {
        budgets.step = timeout;
        budgets.step_limit = timeout;
        budgets.observation = budgets.observation.min(timeout);
    }
    if options.no_repair {
        budgets.repairs_per_step = 0;
        budgets.repairs_per_run = 0;
    }
    budgets
}

/// The executor's options that the flags state.
pub(crate) fn executor_options(options: &RunOptions, policy: &Policy) -> ExecutorOptions {
    let screenshots = if options.record { ScreenshotMode::Every } else { ScreenshotMode::FirstFailurePageChange };
    ExecutorOptions { screenshots, upload_roots: upload_roots(policy), ..ExecutorOptions::default() }
}

/// A planner is shown a page that has settled; the steps of a plan wait for what they need themselves.
fn modeler_options(work: &Work) -> ModelerOptions {
    match work {
        Work::Task(_) => ModelerOptions { settling: SETTLING, ..ModelerOptions::default() },
        Work::Plan(_) => ModelerOptions::default(),
    }
}

/// A key for the digests of a run.
pub(crate) fn digest_key() -> Result<DigestKey, Refusal> {
    fresh::digest_key().map_err(no_randomness)
}

fn no_randomness(error: std::io::Error) -> Refusal {
    Refusal::unusable(ErrorCode::NoRandomness, format!("the system gives no random bytes: {error}"))
}

/// The folder of a new run, with its log writable.
pub(crate) fn run_dir(options: &RunOptions) -> Result<(RunDir, RunId), Refusal> {
    let run_id = fresh::run_id().map_err(no_randomness)?;
    let dir = RunDir::create(&options.out, &run_id)
        .map_err(|error| Refusal::invalid(ErrorCode::LogUnavailable, with_sources(&error)))?;
    Ok((dir, run_id))
}

/// What is to be run.
pub(crate) struct Job {
    pub(crate) work: Work,
    pub(crate) planner: AnyPlanner,
    /// Where it starts.
    pub(crate) url: Option<String>,
    /// The most time for one plan; the controller's own where nothing is stated.
    pub(crate) plan_timeout: Option<Duration>,
    pub(crate) telling: Telling,
    /// What the planner gets of a page.
    pub(crate) sight: Sight,
    /// What is waited for where it starts.
    pub(crate) wait_for: Option<WaitFor>,
}

/// How much is told of plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Telling {
    /// How many steps they have.
    Steps,
    /// Why each step is as it is.
    Reasons,
}

/// Runs a task or a plan from flags to report, and prints the report.
pub(crate) async fn run(job: Job, options: &RunOptions, output: Output) -> Exit {
    match drive(job, options, output).await {
        Ok(report) => tell(&report, output),
        Err(refusal) => refusal.tell(output),
    }
}

async fn drive(job: Job, options: &RunOptions, output: Output) -> Result<RunReport, Refusal> {
    let Job { work, planner, url, plan_timeout, telling, sight, wait_for } = job;
    let policy = policy(options, url.as_deref())?;
    let (dir, run_id) = run_dir(options)?;
    let digest = digest_key()?;
    let redactor = Arc::new(ValueRedactor::default());
    let log = JsonlLog::create(&dir, Some(redactor.clone()))
        .map_err(|error| Refusal::invalid(ErrorCode::LogUnavailable, with_sources(&error)))?;
    let artifacts = ArtifactStore::new(&dir, Some(redactor.clone()));
    let interrupt = Interrupt::default();
    tokio::spawn(interrupt_on_signals(interrupt.clone()));

    let tab = open_tab(&options.browser).await?;
    let origin = url.as_deref().and_then(|url| Url::parse(url).ok()).map(|url| url.origin().ascii_serialization());
    let secrets = EnvironmentSecrets::on(origin);
    let browser_version = tab.browser.version().product.clone();
    let layers = Layers {
        modeler: LivePageModeler::new(tab.browser.clone(), digest.clone(), modeler_options(&work)),
        planner,
        executor: LiveExecutor::new(
            tab.browser.clone(),
            digest.clone(),
            secrets,
            artifacts,
            executor_options(options, &policy),
        ),
        repair: Ladder,
        log,
        confirm: Terminal::new(output.json),
    };
    let redactor: Arc<dyn Redactor> = redactor;
    let kept_redactor = redactor.clone();
    let mut budgets = budgets(options);
    if let Some(time) = plan_timeout {
        budgets.planning = time;
    }
    let explaining = digest.clone();
    let mut controller = Controller::new(layers, digest, redactor).with_budgets(budgets).with_interrupt(interrupt);
    if let Some(WaitFor(draft)) = wait_for {
        controller = controller.with_opening(draft);
    }
    let outside = OutsideOptions { path: environment::path(), ..OutsideOptions::default() };
    controller = controller.with_handler(OutsideHandler::new(outside));
    let narrator = (!output.quiet).then_some(Narrator);
    controller = match (telling, narrator) {
        (Telling::Reasons, narrator) => controller.with_listener(Explainer::new(narrator, explaining)),
        (Telling::Steps, Some(narrator)) => controller.with_listener(narrator),
        (Telling::Steps, None) => controller,
    };
    let report = controller
        .run(RunRequest {
            run_id,
            run_dir: Some(dir.path().display().to_string()),
            work,
            start_url: url,
            page: tab.page.clone(),
            policy,
            sight,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            browser: Some(browser_version),
        })
        .await;
    drop(controller);
    close_tab(tab).await;
    if let Err(error) = cuebook_datalayer::write_report(&dir, &report, Some(kept_redactor.as_ref())) {
        progress::say(&format!("note: the report could not be stored: {}", with_sources(&error)));
    }
    Ok(report)
}

#[cfg(unix)]
type Signal = tokio::signal::unix::Signal;
#[cfg(windows)]
type Signal = tokio::signal::windows::CtrlC;

/// The first Ctrl-C or polite kill ends the run in order, the second one ends the process at once. The browser that we
/// started ends with the pipe to it. Signals count from this call on, not from the first poll.
fn interrupt_on_signals(interrupt: Interrupt) -> impl Future<Output = ()> + Send {
    #[cfg(unix)]
    let mut signals = {
        use tokio::signal::unix::{SignalKind, signal};
        [signal(SignalKind::interrupt()), signal(SignalKind::terminate())]
    };
    #[cfg(windows)]
    let mut signals = [tokio::signal::windows::ctrl_c()];
    async move {
        next_of(&mut signals).await;
        interrupt.trigger();
        next_of(&mut signals).await;
        exit_at_once();
    }
}

async fn next_of(signals: &mut [std::io::Result<Signal>]) {
    std::future::poll_fn(|context| {
        let mut polled = signals.iter_mut().flatten().map(|signal| signal.poll_recv(context));
        if polled.any(|polled| polled.is_ready()) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

#[expect(clippy::disallowed_methods, reason = "whoever interrupts twice does not want to wait for an orderly end")]
fn exit_at_once() {
    std::process::exit(i32::from(RunResult::Interrupted.exit_code()));
}

/// Prints the report: the document with `--json`, else a line or two.
fn tell(report: &RunReport, output: Output) -> Exit {
    if output.json {
        print_json(report);
    } else if let Some(answer) = &report.answer {
        crate::exit::print_text(&format!("{}\n", crate::text::plain_lines(answer)));
    }
    if !output.quiet {
        let what = match report.result {
            RunResult::Ok => "done",
            RunResult::Failed => "failed",
            RunResult::Blocked => "blocked",
            RunResult::Invalid => "invalid",
            RunResult::Error => "error",
            RunResult::Interrupted => "interrupted",
        };
        let why = report.error.as_ref().map_or_else(String::new, |error| format!(": {}", error.message));
        progress::say(&format!("{what}{why}"));
        for violation in report.error.iter().flat_map(|error| &error.violations) {
            progress::say(&format!("  {}", violation.in_words()));
        }
        if let Some(dir) = &report.run_dir {
            progress::say(&format!("log: {dir}"));
        }
    }
    Exit::of(report.result)
}
