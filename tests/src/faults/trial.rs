//! One run under one fault.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use cuebook_cdp::{Browser, LaunchOptions, Transport};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::Fault;
use super::processes::{browsers, leftovers, renderers, signal};
use super::servers::{End, ServerReply, link, serve, whole};
use crate::hostile::{chrome, mixed};
use crate::{Shop, endpoint};

/// `--timeout` and `--plan-timeout` of every run.
const LIMIT: Duration = Duration::from_secs(5);
/// Steps of the job, the opening of its page included.
const STEPS: u32 = 5;
/// Time that the browser's start and end, and a busy machine, may take beyond the time limits.
const MARGIN: Duration = Duration::from_secs(30);
/// Time within which a killed process has to be gone.
const GONE: Duration = Duration::from_secs(10);

/// Result of one run with a fault.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Its place in the soak.
    pub number: usize,
    /// The fault that broke the run.
    pub fault: Fault,
    /// `ok`, `failed: pageCrashed` and the like; `killed` where the fault is that.
    pub outcome: String,
    /// Duration of the run.
    pub took: Duration,
    /// Promises that were not kept.
    pub violations: Vec<String>,
}

/// A poll interval, or the duration of a fault.
pub(super) fn pause(duration: Duration) {
    #[expect(clippy::disallowed_methods, reason = "the soak has no runtime: its threads wait for other processes")]
    std::thread::sleep(duration);
}

/// Numbers drawn from a seed.
struct Draw {
    state: u64,
    /// How long an undisturbed run takes: faults come within that.
    usual: Duration,
}

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.state = mixed(self.state);
        (self.state >> 8).checked_rem(bound).unwrap_or(0)
    }

    fn moment(&mut self) -> Duration {
        Duration::from_millis(self.below(u64::try_from(self.usual.as_millis()).unwrap_or(u64::MAX)))
    }
}

/// Where one run takes place.
struct Stage {
    folder: TempDir,
    shop: Shop,
    cuebook: PathBuf,
}

/// A browser that somebody else uses.
struct Theirs {
    browser: Browser,
    runtime: Runtime,
    port: u16,
    path: String,
    _profiles: TempDir,
}

/// A folder on a small disk.
struct SmallDisk(PathBuf);

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// How long the job takes when nothing breaks.
///
/// # Errors
/// If it does not succeed.
pub(super) fn undisturbed(cuebook: &Path) -> Result<Duration> {
    let stage = Stage::new(cuebook)?;
    let mut draw = Draw { state: 0, usual: Duration::ZERO };
    let began = Instant::now();
    let status = stage.job(Fault::Killed, &mut draw, None)?.status()?;
    ensure!(status.success() && stage.shop.hits("counter") == 4, "an undisturbed run did not succeed: {status}");
    Ok(began.elapsed())
}

/// Carries out one run.
///
/// # Errors
/// If it could not be tried.
pub(super) fn run(cuebook: &Path, fault: Fault, number: usize, seed: u64, usual: Duration) -> Result<Trial> {
    let mut draw = Draw { state: mixed(seed ^ mixed(number as u64)), usual };
    let stage = Stage::new(cuebook)?;
    let theirs = match fault {
        Fault::LinkCut | Fault::LinkSilent | Fault::TabClosed => Some(Theirs::open()?),
        _ => None,
    };
    let mut disk = None;
    if fault == Fault::DiskFull {
        let out = stage.out();
        fs::create_dir_all(&out)?;
        let size = format!("size={}k", 4 + 4 * draw.below(16));
        let mut mount = Command::new("mount");
        let mounted = mount.args(["-t", "tmpfs", "-o", &size, "none"]).arg(&out).stderr(Stdio::null()).status();
        if !mounted.is_ok_and(|status| status.success()) {
            return Ok(Trial {
                number,
                fault,
                outcome: "not tried: a small disk can be mounted by root only".to_owned(),
                took: Duration::ZERO,
                violations: Vec::new(),
            });
        }
        disk = Some(SmallDisk(out));
    }
    let mut command = stage.job(fault, &mut draw, theirs.as_ref())?;
    let began = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot run {command:?}"))?;
    stage.break_it(fault, &mut draw, &mut child, theirs.as_ref())?;
    let limit = (LIMIT + Duration::from_secs(2)) * STEPS + LIMIT + MARGIN;
    let mut violations = Vec::new();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if began.elapsed() > limit {
            violations.push(format!("run {number} did not end within {limit:?}"));
            child.kill()?;
            break child.wait()?;
        }
        pause(Duration::from_millis(10));
    };
    let took = began.elapsed();
    let outcome = stage.outcome(fault, status.code(), &mut violations)?;
    stage.judge_log(number, &mut violations)?;
    if status.code().is_none() || fault == Fault::Killed {
        // The next start removes what a killed one left.
        let next = stage.command(&["observe", &stage.shop.url("/counter")], MARGIN)?.status()?;
        if !next.success() {
            violations.push(format!("run {number}: the next start failed with {next}"));
        }
    }
    let until = Instant::now() + GONE;
    loop {
        let mut left = leftovers(&stage.temporary());
        if let Some(theirs) = &theirs {
            let tabs = theirs.browser.pages().len();
            left.extend((tabs != 1).then(|| format!("{tabs} tabs instead of 1")));
        }
        if left.is_empty() {
            break;
        }
        if Instant::now() > until {
            violations.push(format!("run {number} left {}", left.join(", ")));
            break;
        }
        pause(Duration::from_millis(20));
    }
    if let Some(theirs) = theirs {
        theirs.close();
    }
    drop(disk);
    let violations = violations.into_iter().map(|what| format!("{}: {what} ({outcome})", fault.name())).collect();
    Ok(Trial { number, fault, outcome, took, violations })
}

impl Theirs {
    fn open() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let profiles = TempDir::new()?;
        let mut options = LaunchOptions::new(chrome(None)?, profiles.path());
        options.transport = Transport::WebSocket;
        let browser = runtime.block_on(Browser::launch(&options, Instant::now() + MARGIN))?;
        let (port, path) = endpoint(profiles.path())?;
        Ok(Self { browser, runtime, port, path, _profiles: profiles })
    }

    fn close(self) {
        let _inside = self.runtime.enter();
        drop(self.browser);
    }
}

impl Stage {
    fn new(cuebook: &Path) -> Result<Self> {
        let stage = Self { folder: TempDir::new()?, shop: Shop::open()?, cuebook: cuebook.to_owned() };
        fs::create_dir_all(stage.temporary())?;
        Ok(stage)
    }

    fn temporary(&self) -> PathBuf {
        self.folder.path().join("tmp")
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn command(&self, args: &[&str], limit: Duration) -> Result<Command> {
        let mut command = Command::new(&self.cuebook);
        command
            .args(args)
            .args(["--json", "--timeout", &format!("{}s", limit.as_secs())])
            .env("TMPDIR", self.temporary());
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command.stdout(File::create(self.folder.path().join("stdout"))?);
        command.stderr(File::create(self.folder.path().join("stderr"))?);
        Ok(command)
    }

    /// Returns the command to run: clicks on a counter unless the fault is about a model or a page.
    fn job(&self, fault: Fault, draw: &mut Draw, theirs: Option<&Theirs>) -> Result<Command> {
        let out = self.out().display().to_string();
        let counter = self.shop.url("/counter");
        if let Some(server) = model(fault, draw) {
            let base = format!("http://{}", serve(move |number, _| server(number))?);
            let url = self.shop.url("/login");
            let job = ["run", "Log in as ann", "--url", &url, "--out", &out, "--planner", "ollama", "--model", "tiny"];
            return self.command(&[&job[..], &["--base-url", &base, "--plan-timeout", "5s"]].concat(), LIMIT);
        }
        let url = match page(fault, draw)? {
            Some(url) => url,
            None => counter,
        };
        let plan = self.folder.path().join("plan.json");
        fs::write(&plan, plan_of(fault).to_string())?;
        let plan = plan.display().to_string();
        let mut args = vec!["exec", &plan, "--url", &url, "--out", &out, "--no-repair"];
        let is_watched =
            matches!(fault, Fault::BrowserKilled | Fault::Terminated | Fault::Interrupted | Fault::PageStuck);
        if is_watched && draw.below(3) == 0 {
            args = vec!["observe", &url];
        }
        let address;
        if let Some(theirs) = theirs {
            let (end, after) = match fault {
                Fault::LinkCut => (End::Cut, draw.moment()),
                Fault::LinkSilent => (End::Silent, draw.moment()),
                _ => (End::Cut, Duration::from_secs(600)),
            };
            let port = link(theirs.port, end, after)?;
            address = format!("ws://127.0.0.1:{port}{}", theirs.path);
            args.extend(["--cdp", &address]);
        }
        if fault == Fault::NoFiles {
            let mut shell = Command::new("sh");
            let inner = self.command(&args, LIMIT)?;
            shell.arg("-c").arg(format!("ulimit -n {}; exec \"$0\" \"$@\"", 8 + draw.below(240)));
            shell.arg(inner.get_program()).args(inner.get_args()).env("TMPDIR", self.temporary());
            shell.current_dir(self.folder.path()).stdin(Stdio::null());
            shell.stdout(File::create(self.folder.path().join("stdout"))?);
            shell.stderr(File::create(self.folder.path().join("stderr"))?);
            return Ok(shell);
        }
        self.command(&args, LIMIT)
    }

    /// Faults that come from outside while it runs.
    fn break_it(&self, fault: Fault, draw: &mut Draw, child: &mut Child, theirs: Option<&Theirs>) -> Result<()> {
        let moment = draw.moment();
        if !matches!(
            fault,
            Fault::BrowserKilled
                | Fault::RendererKilled
                | Fault::TabClosed
                | Fault::Killed
                | Fault::Terminated
                | Fault::Interrupted
                | Fault::Suspended
        ) {
            return Ok(());
        }
        pause(moment);
        let pid = child.id();
        if matches!(fault, Fault::Terminated | Fault::Interrupted) {
            // Before anything is begun, a signal ends `cuebook` as it ends any process.
            let until = Instant::now() + GONE;
            let is_idle = || fs::read_dir(self.temporary()).is_ok_and(|mut entries| entries.next().is_none());
            while is_idle() && child.try_wait()?.is_none() && Instant::now() < until {
                pause(Duration::from_millis(5));
            }
        }
        match fault {
            Fault::Killed => child.kill()?,
            Fault::Terminated => signal("-TERM", pid),
            Fault::Interrupted => signal("-INT", pid),
            Fault::Suspended => {
                signal("-STOP", pid);
                pause(Duration::from_millis(500 + draw.below(3_000)));
                signal("-CONT", pid);
            }
            Fault::TabClosed => {
                let Some(Theirs { browser, runtime, .. }) = theirs else { return Ok(()) };
                // The first one is its user's.
                for page in browser.pages().into_iter().skip(1) {
                    runtime.block_on(page.close(Instant::now() + GONE)).ok();
                }
            }
            _ => {
                let until = Instant::now() + GONE;
                loop {
                    let found: Vec<u32> = browsers(&self.temporary())
                        .into_iter()
                        .flat_map(
                            |browser| if fault == Fault::BrowserKilled { vec![browser] } else { renderers(browser) },
                        )
                        .collect();
                    for pid in &found {
                        signal("-KILL", *pid);
                    }
                    if !found.is_empty() || child.try_wait()?.is_some() || Instant::now() > until {
                        break;
                    }
                    pause(Duration::from_millis(10));
                }
            }
        }
        Ok(())
    }

    /// How it ended, in the words of its report.
    fn outcome(&self, fault: Fault, code: Option<i32>, violations: &mut Vec<String>) -> Result<String> {
        let stderr = fs::read(self.folder.path().join("stderr"))?;
        let stderr = String::from_utf8_lossy(&stderr);
        if stderr.contains("panicked at") {
            violations.push(format!("it panicked: {}", stderr.chars().rev().take(400).collect::<String>()));
        }
        let Some(code) = code else {
            if fault != Fault::Killed {
                violations.push("it was ended by a signal".to_owned());
            }
            return Ok("killed".to_owned());
        };
        let stdout = fs::read(self.folder.path().join("stdout"))?;
        let Ok(document) = serde_json::from_slice::<Value>(&stdout) else {
            // A shell that cannot start it says so itself.
            if fault == Fault::NoFiles && code >= 126 {
                return Ok("not started".to_owned());
            }
            violations.push(format!("exit code {code} without a document: {stderr}"));
            return Ok(format!("exit {code}"));
        };
        if document["candidates"].is_array() {
            let is_typed =
                code == 0 || (code == 1 && !document["truncated"].is_null()) || document["status"].is_number();
            if !is_typed {
                violations.push(format!("an observation with exit code {code}"));
            }
            return Ok(if code == 0 { "observed".to_owned() } else { "observed in part".to_owned() });
        }
        let result = document["result"].as_str().unwrap_or_default();
        let error = document["error"]["code"].as_str();
        let expected = match result {
            "ok" => 0,
            "failed" => 1,
            "invalid" => 2,
            "error" => 3,
            "blocked" => 4,
            "interrupted" => 130,
            _ => -1,
        };
        if expected != code || (result != "ok" && error.is_none_or(|error| error == "unknown")) {
            violations.push(format!("exit code {code} with result {result:?} and error {error:?}"));
        }
        let is_program = matches!(error, Some("modelerBroken" | "executorBroken" | "handlerBroken"));
        if is_program || (fault == Fault::RendererKilled && error == Some("targetStale")) {
            violations.push(format!("the fault is called {error:?}: {}", document["error"]["message"]));
        }
        Ok(error.map_or(result.to_owned(), |error| format!("{result}: {error}")))
    }

    /// The log is readable, and tells the truth about the clicks that the server counted.
    fn judge_log(&self, number: usize, violations: &mut Vec<String>) -> Result<()> {
        let Ok(runs) = fs::read_dir(self.out()) else { return Ok(()) };
        for run in runs {
            let log = run?.path().join("log.jsonl");
            if !log.exists() {
                continue;
            }
            let log = match cuebook_datalayer::Run::read(&log) {
                Ok(log) => log,
                Err(error) => {
                    // A run that ended before its header was written has no log to read.
                    if fs::metadata(&log).is_ok_and(|meta| meta.len() > 0) && fs::read(&log)?.contains(&b'\n') {
                        violations.push(format!("run {number}: its log cannot be read: {error}"));
                    }
                    continue;
                }
            };
            let is_click = |action: &Value| action["type"] == "click";
            let action = |step: &cuebook_grammar::step::Step| serde_json::to_value(&step.action).unwrap_or_default();
            let committed = log.steps.iter().filter(|record| is_click(&action(&record.action)) && record.input_sent);
            let committed = u64::try_from(committed.count())?;
            let open = log.open.iter().filter(|intent| is_click(&action(&intent.action))).count();
            let begun = committed + u64::try_from(open)?;
            let counted = self.shop.hits("counter");
            if counted > begun {
                violations.push(format!("run {number}: {counted} clicks were counted, {begun} begun"));
            }
        }
        Ok(())
    }
}

/// The server of a fault of models.
type ModelServer = Box<dyn Fn(usize) -> ServerReply + Send + Sync>;

fn model(fault: Fault, draw: &mut Draw) -> Option<ModelServer> {
    let line = |content: &str, done: bool| {
        format!(
            "{}\n",
            json!({ "model": "tiny", "message": { "role": "assistant", "content": content }, "done": done })
        )
    };
    let kind = "application/x-ndjson";
    let half = line("{\"version\": \"1.0\", \"steps\": [{\"type\": \"cli", false);
    let open = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n");
    let chunk = format!("{:x}\r\n{half}\r\n", half.len());
    let choice = draw.below(4);
    let after = Duration::from_millis(draw.below(500));
    let answer = match fault {
        Fault::ModelSlow => ServerReply::Drip(open + &chunk, Duration::from_millis(20 + draw.below(200))),
        Fault::ModelStalls => ServerReply::Stall(match choice {
            0 => String::new(),
            1 => open,
            2 => open + &chunk,
            _ => (open + &chunk).chars().take(90).collect(),
        }),
        Fault::ModelMalformed => {
            let body = match choice {
                0 => half + &line("", true),
                1 => line("I would rather talk about the weather.", false) + &line("", true),
                2 => line("{\"version\":\"1.0\",\"steps\":[]}{\"version\":\"1.0\",\"steps\":[]}", true),
                _ => "\u{0}<html>".to_owned(),
            };
            ServerReply::After(after, whole("200 OK", kind, &body))
        }
        Fault::ModelBusy => {
            let again = if choice < 2 { "\r\nRetry-After: 1" } else { "" };
            ServerReply::After(after, whole(&format!("429 Too Many Requests{again}"), "application/json", "{}"))
        }
        Fault::ModelBroken => {
            let status = ["500 Internal Server Error", "502 Bad Gateway", "503 Service Unavailable", "529 Overloaded"];
            let status = status.get(usize::try_from(choice).unwrap_or(0)).copied().unwrap_or("500 Error");
            ServerReply::After(after, whole(status, "text/plain", "down"))
        }
        Fault::ModelReset => ServerReply::HangUp,
        _ => return None,
    };
    Some(Box::new(move |_| answer.clone()))
}

/// The URL of a page that breaks; `None` if the fault is another one.
fn page(fault: Fault, draw: &mut Draw) -> Result<Option<String>> {
    const HTML: &str = "text/html";
    let shows = |script: &str| whole("200 OK", HTML, &format!("<title>Page</title><button>Count</button>{script}"));
    let after = draw.moment().as_millis();
    let choice = usize::try_from(draw.below(6))?;
    let nothing = Duration::ZERO;
    let answer = match fault {
        Fault::PageSlow => ServerReply::After(Duration::from_secs(if choice % 2 == 0 { 3 } else { 10 }), shows("")),
        Fault::PageStuck => match choice % 3 {
            0 => ServerReply::Stall(String::new()),
            1 => ServerReply::Stall(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<button>Count</button>".to_owned(),
            ),
            _ => ServerReply::Drip(
                format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{}", "<p>x".repeat(9_999)),
                Duration::from_millis(50),
            ),
        },
        Fault::PageBroken => ServerReply::After(nothing, whole("500 Internal Server Error", HTML, "<h1>Broken</h1>")),
        Fault::PageOffline => ServerReply::HangUp,
        Fault::PageRestless => {
            let script = [
                format!("<script>setTimeout(() => {{ while (true); }}, {after})</script>"),
                "<script>setInterval(() => alert('again'), 10)</script>".to_owned(),
                "<meta http-equiv=refresh content=0>".to_owned(),
                format!("<script>setTimeout(() => location.reload(), {})</script>", after / 10),
                "<script>onbeforeunload = () => 'stay'; setInterval(() => location.reload(), 100)</script>".to_owned(),
                "<script>setInterval(() => history.pushState(0, '', '?' + Math.random()), 1)</script>".to_owned(),
            ];
            ServerReply::After(nothing, shows(script.get(choice).map_or("", String::as_str)))
        }
        _ => return Ok(None),
    };
    let goes_offline = fault == Fault::PageOffline && choice % 2 == 0;
    let first = shows("<script>document.querySelector('button').onclick = () => location.assign('/next')</script>");
    let address = serve(move |number, _| match number {
        0 if goes_offline => ServerReply::After(nothing, first.clone()),
        _ => answer.clone(),
    })?;
    Ok(Some(format!("http://{address}/")))
}

/// A plan that clicks a counter. The button has two names, in turn: a run that does the very same thing again and again
/// is stopped as stuck.
fn plan_of(fault: Fault) -> Value {
    let is_counter = !matches!(
        fault,
        Fault::PageSlow | Fault::PageStuck | Fault::PageBroken | Fault::PageOffline | Fault::PageRestless
    );
    let post = json!([{ "kind": "requestObserved", "method": "POST", "url": "/hit\\?", "status": 200 }]);
    let click = |target: &str| {
        let mut step = json!({ "type": "click", "targetRef": target });
        if is_counter {
            step["post"] = post.clone();
        }
        step
    };
    let steps: Vec<Value> = ["byRole", "byCss"].into_iter().cycle().take(STEPS as usize - 1).map(click).collect();
    json!({
        "version": "1.0",
        "candidates": {
            "byRole": { "strategy": "byRole", "role": "button", "name": "Count", "exact": true },
            "byCss": { "strategy": "css", "selector": if is_counter { "#hit" } else { "button" } },
        },
        "steps": steps,
    })
}
