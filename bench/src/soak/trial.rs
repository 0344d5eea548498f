//! One kill: start `cuebook`, kill it at a drawn moment, compare its log with the server's count, start
//! it once more, and look for what is left.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use xtask::site::Site;

use super::ledger::{self, Clicks, Unreadable};
use super::leftovers;
use super::random::Random;

/// The longest that a run, killed or not, may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// After a click was begun, the kill comes within this.
const AFTER_BEGIN: u64 = 60;

/// Where the trials take place.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) cuebook: PathBuf,
    pub(super) chrome: PathBuf,
    pub(super) site: Site,
    pub(super) plan: PathBuf,
    /// Everything that runs leave, their temporary files included.
    pub(super) folder: PathBuf,
}

/// Figures of a run that nothing disturbs; its duration bounds the moments of the kills.
#[derive(Debug)]
pub(super) struct Calm {
    pub(super) counted: u64,
    pub(super) committed: u64,
    pub(super) took: Duration,
}

/// When the kill comes.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// So long after the start.
    AfterStart(Duration),
    /// After this many clicks began and this delay, which falls between two durable lines more often than chance does.
    AfterClick { begun: u64, then: Duration },
}

/// A promise that was not kept.
#[derive(Debug)]
pub(super) enum Violation {
    Log(Unreadable),
    LostClicks { committed: u64, counted: u64 },
    UnloggedClicks { begun: u64, counted: u64 },
    Leftovers(Vec<String>),
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Log(unreadable) => unreadable.fmt(f),
            Self::LostClicks { committed, counted } => {
                write!(f, "the server counted {counted} clicks, fewer than the {committed} that are committed")
            }
            Self::UnloggedClicks { begun, counted } => {
                write!(f, "the server counted {counted} clicks, more than the {begun} that were begun")
            }
            Self::Leftovers(left) => {
                write!(f, "the next start left {}", left.join(", "))
            }
        }
    }
}

/// Result of one kill.
#[derive(Debug)]
pub(super) struct Trial {
    number: u32,
    moment: Moment,
    /// It was faster than the kill.
    pub(super) ended_itself: bool,
    pub(super) clicks: Clicks,
    pub(super) counted: u64,
    pub(super) violations: Vec<Violation>,
}

impl Trial {
    pub(super) fn to_json(&self) -> Value {
        let moment = match self.moment {
            Moment::AfterStart(after) => json!({ "afterStartMs": millis(after) }),
            Moment::AfterClick { begun, then } => json!({ "afterClick": begun, "thenMs": millis(then) }),
        };
        let violations: Vec<String> = self.violations.iter().map(ToString::to_string).collect();
        json!({
            "kill": self.number,
            "moment": moment,
            "endedItself": self.ended_itself,
            "begun": self.clicks.begun,
            "counted": self.counted,
            "committed": self.clicks.committed,
            "tornLastLine": self.clicks.is_torn,
            "violations": violations,
        })
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Stage {
    /// Runs the plan to its end.
    ///
    /// # Errors
    /// If it does not succeed.
    pub(super) fn run_undisturbed(&self) -> Result<Calm> {
        let out = self.folder.join("runs/undisturbed");
        let before = self.hits()?;
        let began = Instant::now();
        let mut child = self.start(&out)?;
        let succeeded = wait(&mut child)?;
        let took = began.elapsed();
        ensure!(succeeded, "an undisturbed run of {} did not succeed; see {}", self.plan.display(), out.display());
        let clicks = ledger::read(&out)?.map_err(|unreadable| anyhow::anyhow!("{unreadable}"))?;
        Ok(Calm { counted: self.hits()? - before, committed: clicks.committed, took })
    }

    /// Kills one run.
    ///
    /// # Errors
    /// If the soak itself cannot go on; a broken promise is in the trial.
    pub(super) fn kill_once(&self, number: u32, usual: Duration, random: &mut Random) -> Result<Trial> {
        let out = self.folder.join(format!("runs/{number}"));
        let moment = draw(usual, random);
        let before = self.hits()?;
        let mut child = self.start(&out)?;
        let ended_itself = !await_moment(moment, &mut child, &out)?;
        // It may have ended by itself, which is as good.
        let _ = child.kill();
        child.wait()?;

        let mut violations = Vec::new();
        let clicks = ledger::read(&out)?.unwrap_or_else(|unreadable| {
            violations.push(Violation::Log(unreadable));
            Clicks::default()
        });
        // What is committed has been answered: it counts already, with the browser still running.
        let at_once = self.hits()? - before;
        self.start_normally()?;
        let left = leftovers::remaining(&self.folder.join("tmp"));
        // An input that was under way when its sender died arrives before that browser is gone.
        let counted = self.hits()? - before;
        if violations.is_empty() {
            if at_once < clicks.committed {
                violations.push(Violation::LostClicks { committed: clicks.committed, counted: at_once });
            }
            if counted > clicks.begun {
                violations.push(Violation::UnloggedClicks { begun: clicks.begun, counted });
            }
        }
        if !left.is_empty() {
            violations.push(Violation::Leftovers(left));
        }
        Ok(Trial { number, moment, ended_itself, clicks, counted, violations })
    }

    /// Returns the server's count of clicks so far.
    fn hits(&self) -> Result<u64> {
        Ok(self.site.state()?["hits"]["counter"].as_u64().unwrap_or(0))
    }

    fn start(&self, out: &Path) -> Result<Child> {
        let mut command = self.command()?;
        command.arg("exec").arg(&self.plan).args(["--json", "--quiet", "--url"]);
        command.arg(format!("{}/counter", self.site.origin())).arg("--out").arg(out);
        command.spawn().with_context(|| format!("cannot run {command:?}"))
    }

    /// A start that ends as it should, and clicks nothing.
    fn start_normally(&self) -> Result<()> {
        let mut command = self.command()?;
        command.args(["observe", "--json", "--quiet"]).arg(format!("{}/counter", self.site.origin()));
        let mut child = command.spawn().with_context(|| format!("cannot run {command:?}"))?;
        ensure!(wait(&mut child)?, "{command:?} did not succeed");
        Ok(())
    }

    /// `cuebook` with everything temporary below the soak's own folder.
    fn command(&self) -> Result<Command> {
        let temporary = self.folder.join("tmp");
        std::fs::create_dir_all(&temporary)?;
        let mut command = Command::new(&self.cuebook);
        command
            .current_dir(&self.folder)
            .env("CHROME", &self.chrome)
            .env("TMPDIR", &temporary)
            .env("TMP", &temporary)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        Ok(command)
    }
}

/// Half of the kills at any time of a run, half shortly after a click was begun.
fn draw(usual: Duration, random: &mut Random) -> Moment {
    if random.below(2) == 0 {
        Moment::AfterStart(Duration::from_millis(random.below(millis(usual))))
    } else {
        let begun = 1 + random.below(super::CLICKS as u64);
        Moment::AfterClick { begun, then: Duration::from_millis(random.below(AFTER_BEGIN)) }
    }
}

/// Waits for the moment. False if the child ended before it came.
fn await_moment(moment: Moment, child: &mut Child, out: &Path) -> Result<bool> {
    let began = Instant::now();
    let mut reached: Option<Instant> = None;
    loop {
        if child.try_wait()?.is_some() {
            return Ok(false);
        }
        let due = match moment {
            Moment::AfterStart(after) => Some(began + after),
            Moment::AfterClick { begun, then } => {
                if reached.is_none() && ledger::read(out)?.is_ok_and(|clicks| clicks.begun >= begun) {
                    reached = Some(Instant::now());
                }
                reached.map(|at| at + then)
            }
        };
        let now = Instant::now();
        match due {
            Some(due) if due <= now => return Ok(true),
            _ if now > began + PATIENCE => bail!("cuebook did not reach {moment:?} in time"),
            Some(due) => wait_until(due),
            None => wait_until(now + Duration::from_millis(2)),
        }
    }
}

/// At most 5 ms at a time: the child may end first.
fn wait_until(due: Instant) {
    let rest = due.saturating_duration_since(Instant::now()).min(Duration::from_millis(5));
    #[expect(clippy::disallowed_methods, reason = "a poll interval inside a deadline, where nothing can be awaited")]
    std::thread::sleep(rest);
}

/// Returns `true` if the child succeeds; it is killed when patience ends.
fn wait(child: &mut Child) -> Result<bool> {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if Instant::now() > until {
            child.kill()?;
            child.wait()?;
            bail!("cuebook did not end in time");
        }
        leftovers::pause();
    }
}
