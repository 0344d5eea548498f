//! A process that is killed at any moment loses no step that it reported as committed.

use std::collections::BTreeSet;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use super::sample::{call, header, intent, password_record};
use cuebook_datalayer::{JsonlLog, Run, RunDir};
use cuebook_grammar::id::RunId;
use cuebook_grammar::seam::StepLog;

/// In the current folder of a process that is to write until it is killed.
const ENDLESS: &str = "endless";
const REPORT: &str = "committed ";
const KILLS: u64 = 20;

/// Commits steps and reports each one once it is durable: a few of them on its own, without end as a child.
#[tokio::test]
async fn every_reported_step_is_in_the_log() {
    let is_child = Path::new(ENDLESS).exists();
    let own = tempfile::tempdir().unwrap();
    let out = if is_child { Path::new("out") } else { own.path() };
    let dir = RunDir::create(out, &RunId::new("r1")).unwrap();
    let mut log = JsonlLog::create(&dir, None).unwrap();
    log.open(&header()).await.unwrap();
    let mut reported = 0;
    while is_child || reported < 20 {
        log.planned(&call(reported)).await.unwrap();
        let ticket = log.begin(&intent(reported)).await.unwrap();
        log.commit(ticket, &password_record(reported)).await.unwrap();
        // The harness captures print macros, not the stream; a closed pipe means that the parent is gone.
        let mut stdout = io::stdout().lock();
        if writeln!(stdout, "{REPORT}{reported}").and_then(|()| stdout.flush()).is_err() {
            return;
        }
        reported += 1;
    }
    let run = Run::read(&dir.log_path()).unwrap();
    assert_eq!(run.steps.len(), usize::try_from(reported).unwrap());
    assert_eq!(run.open, []);
}

#[test]
fn a_killed_process_loses_no_committed_step() {
    let random = |n: u64| {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u64(n);
        hasher.finish()
    };
    for kill in 0..KILLS {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(ENDLESS), "").unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill::every_reported_step_is_in_the_log", "--nocapture"])
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut reports = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let number = |line: String| line.split_once(REPORT).and_then(|(_, number)| number.parse::<u32>().ok());

        let before_kill = usize::try_from(random(kill) % 60 + 1).unwrap();
        let mut reported: BTreeSet<u32> = reports.by_ref().filter_map(number).take(before_kill).collect();
        assert_eq!(reported.len(), before_kill, "the child commits until it is killed");
        // Somewhere within the next entry or two.
        for _ in 0..random(kill) % 200_000 {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        reported.extend(reports.filter_map(number));

        let run = Run::read(&folder.path().join("out/r1/log.jsonl")).unwrap();
        let committed: BTreeSet<u32> = run.steps.iter().map(|record| record.step_index).collect();
        assert!(reported.is_subset(&committed), "kill {kill}: {:?}", reported.difference(&committed));
        assert!(committed.len() <= reported.len() + 1, "one step at most is committed and not yet reported");
        let calls = run.calls.len();
        assert!(calls == committed.len() || calls == committed.len() + 1, "a call comes before its step");
        assert!(run.open.len() <= 1 && run.end.is_none());
    }
}
