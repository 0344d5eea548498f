//! Composition: from flags to a browser, layers, and a controller.
//!
//! Order matters: what can be refused without a browser is refused before one is started, and the folder of
//! the log exists before anything can act.

use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cuebook_cdp::{Browser, LaunchOptions, Sandbox, Window, find_chrome};
use cuebook_datalayer::{ArtifactStore, JsonlLog, RunDir, ValueRedactor};
use cuebook_executor::{ExecutorOptions, LiveExecutor, ScreenshotMode};
use cuebook_grammar::id::{CredentialRef, PageId};
use cuebook_grammar::plan::PlanDraft;
use cuebook_grammar::policy::Policy;
use cuebook_grammar::report::{ErrorCode, RunReport, RunResult};
use cuebook_grammar::seam::{Redactor, SecretRefusal, SecretScope, SecretSource};
use cuebook_grammar::secret::{DigestKey, Secret};
use cuebook_outside::{OutsideHandler, OutsideOptions};
use cuebook_page_modeler::{LivePageModeler, ModelerOptions};
use cuebook_repair::{Budgets, Controller, Interrupt, Ladder, Layers, RunRequest, Sight, Work};
use url::Url;

use crate::args::{BrowserArgs, RunOptions};
use crate::confirm::Terminal;
use crate::environment;
use crate::exit::{Exit, Output, Refusal, print_json};
use crate::explain::Explainer;
use crate::opening::SETTLING;
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

/// A browser and the tab of this run in it.
pub(crate) struct Stage {
    pub(crate) browser: Arc<Browser>,
    pub(crate) page: PageId,
    is_ours: bool,
}

impl Stage {
    /// Starts or reaches a browser, and opens a tab.
    pub(crate) async fn open(args: &BrowserArgs) -> Result<Self, Refusal> {
        let until = Instant::now() + BROWSER_PATIENCE;
        let unusable = |error: &dyn std::error::Error| Refusal::unusable(ErrorCode::NoBrowser, with_sources(error));
        let browser = match &args.cdp {
            Some(endpoint) => Browser::attach(endpoint, until).await.map_err(|error| unusable(&error))?,
            None => {
                let binary = find_chrome(&environment::search_places(args.chrome.clone())).map_err(|error| {
                    let hint =
                        "install Chrome or Chromium (Debian: apt-get install chromium), set $CHROME, or use --chrome";
                    Refusal::unusable(ErrorCode::NoBrowser, format!("{}; {hint}", with_sources(&error)))
                })?;
                let root = environment::profile_root();
                if let Err(error) = cuebook_cdp::sweep(&root) {
                    progress::say(&format!("note: what a former run left behind cannot be cleared: {error}"));
                }
                let mut options = LaunchOptions::new(binary, root);
                options.window = if args.headed { Window::Headed } else { Window::Headless };
                options.viewport = args.viewport.unwrap_or(VIEWPORT);
                options.sandbox = if args.no_sandbox { Sandbox::Off } else { Sandbox::Default };
                Browser::launch(&options, until).await.map_err(|error| unusable(&error))?
            }
        };
        let page = browser.new_page("about:blank", until).await.map_err(|error| unusable(&error))?;
        if args.cdp.is_none() {
            // The tab that a browser opens by itself is nobody's.
            for other in browser.pages().into_iter().filter(|other| other.target_id() != page.target_id()) {
                other.close(until).await.ok();
            }
        }
        let page = PageId::new(page.target_id().as_str());
        Ok(Self { browser: Arc::new(browser), page, is_ours: args.cdp.is_none() })
    }

    /// Ends the browser if we started it; else closes our tab only.
    pub(crate) async fn close(self) {
        let until = Instant::now() + CLOSING_PATIENCE;
        let closed = if self.is_ours {
            self.browser.close(until).await.map_err(|error| error.to_string())
        } else {
            let page = self.browser.pages().into_iter().find(|page| page.target_id().as_str() == self.page.as_str());
            match page {
                Some(page) => page.close(until).await.map_err(|error| error.to_string()),
                None => Ok(()),
            }
        };
        if let Err(error) = closed {
            tracing::debug!(error, "the browser did not close in order");
        }
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

/// Secrets from the environment, bound to the origin that the run starts on.
pub(crate) struct EnvironmentSecrets {
    origin: Option<String>,
}

impl SecretSource for EnvironmentSecrets {
    async fn resolve(&self, reference: &CredentialRef, scope: &SecretScope) -> Result<Secret, SecretRefusal> {
        let bound_here = self.origin.as_deref() == Some(scope.origin.as_str()) && scope.page_origin == scope.origin;
        if !bound_here {
            return Err(SecretRefusal::OutOfScope { reference: reference.clone(), origin: scope.origin.clone() });
        }
        environment::secret(reference.as_str())
            .map(Secret::new)
            .ok_or_else(|| SecretRefusal::Unknown(reference.clone()))
    }
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
    let outside = policy.outside();
    let upload_roots = outside.read_roots.iter().chain(&outside.write_roots).map(Into::into).collect();
    let screenshots = if options.record { ScreenshotMode::Every } else { ScreenshotMode::FirstFailurePageChange };
    ExecutorOptions { screenshots, upload_roots, ..ExecutorOptions::default() }
}

/// A planner is shown a page that has settled; the steps of a plan wait for what they need themselves.
fn modeler_options(work: &Work) -> ModelerOptions {
    match work {
        Work::Task(_) => ModelerOptions { settling: SETTLING, ..ModelerOptions::default() },
        Work::Plan(_) => ModelerOptions::default(),
    }
}

/// Random bytes of the operating system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Refusal> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        Refusal::unusable(ErrorCode::NoRandomness, format!("the system gives no random bytes: {error}"))
    })?;
    Ok(bytes)
}

/// The folder of a new run, with its log writable.
pub(crate) fn run_dir(options: &RunOptions) -> Result<(RunDir, cuebook_grammar::id::RunId), Refusal> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let run_id = cuebook_datalayer::run_id(u64::try_from(now.as_millis()).unwrap_or(u64::MAX), random()?);
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
    let digest = DigestKey::new(random()?);
    let redactor = Arc::new(ValueRedactor::default());
    let log = JsonlLog::create(&dir, Some(redactor.clone()))
        .map_err(|error| Refusal::invalid(ErrorCode::LogUnavailable, with_sources(&error)))?;
    let artifacts = ArtifactStore::new(&dir, Some(redactor.clone()));
    let interrupt = Interrupt::default();
    tokio::spawn(interrupt_on_signals(interrupt.clone()));

    let stage = Stage::open(&options.browser).await?;
    let origin = url.as_deref().and_then(|url| Url::parse(url).ok()).map(|url| url.origin().ascii_serialization());
    let secrets = EnvironmentSecrets { origin };
    let browser_version = stage.browser.version().product.clone();
    let layers = Layers {
        modeler: LivePageModeler::new(stage.browser.clone(), digest.clone(), modeler_options(&work)),
        planner,
        executor: LiveExecutor::new(
            stage.browser.clone(),
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
            page: stage.page.clone(),
            policy,
            sight,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            browser: Some(browser_version),
        })
        .await;
    drop(controller);
    stage.close().await;
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
