//! Starting, ending, attaching, and what is left behind.

use std::path::Path;
use std::time::Duration;

use cuebook_cdp::{Browser, LaunchError, LaunchOptions, Transport, sweep};

use crate::lab::{environment, eventually, group_members, lab, options, soon};

#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_browser_leaves_no_process_and_no_profile() {
    for transport in [Transport::Pipe, Transport::WebSocket] {
        let root = tempfile::tempdir().unwrap();
        let options = LaunchOptions { transport, ..options(root.path()) };
        let browser = Browser::launch(&options, soon()).await.unwrap();
        assert_eq!(browser.transport(), transport);
        let group = browser.process_id().unwrap();
        assert!(group_members(group) > 1);
        assert_eq!(sweep(root.path()).unwrap().in_use, 1, "the janitor leaves a live one alone");
        assert!(browser.is_alive());
        drop(browser);
        assert_eq!(group_members(group), 0);
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_the_browser_is_orderly_and_leaves_nothing() {
    let lab = lab().await;
    let group = lab.browser.process_id().unwrap();
    let page = lab.page();
    lab.browser.close(soon()).await.unwrap();
    assert!(page.closed() && !lab.browser.is_alive());
    assert_eq!(group_members(group), 0);
    assert_eq!(std::fs::read_dir(lab.root.path()).unwrap().count(), 0);
    lab.browser.close(soon()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_start_explains_itself_and_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let mut options = options(root.path());
    options.binary.path = "/bin/ls".into();
    let error = Browser::launch(&options, soon()).await.unwrap_err();
    let LaunchError::Exited { stderr, .. } = &error else { panic!("expected an exit, saw {error:?}") };
    assert!(!stderr.is_empty(), "the end of its standard error is kept");
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
    options.binary.path = root.path().join("absent");
    assert!(matches!(Browser::launch(&options, soon()).await, Err(LaunchError::Spawn { .. })));
}

/// Not a specification: the process that the janitor's tests kill. By default it does nothing.
#[tokio::test(flavor = "multi_thread")]
async fn helper_that_waits_to_be_killed() {
    let Some(root) = environment("CUEBOOK_CDP_TEST_LEAK") else { return };
    let root = Path::new(&root);
    let transport = if environment("CUEBOOK_CDP_TEST_PIPE").is_some() { Transport::Pipe } else { Transport::WebSocket };
    let options = LaunchOptions { transport, ..options(&root.join("profiles")) };
    let browser = Browser::launch(&options, soon()).await.unwrap();
    std::fs::write(root.join("part"), browser.process_id().unwrap().to_string()).unwrap();
    std::fs::rename(root.join("part"), root.join("started")).unwrap();
    tokio::time::sleep(Duration::from_secs(120)).await;
}

/// Starts a process that launches a browser, kills it, and returns the browser's group.
async fn leak(root: &Path, transport: Transport) -> u32 {
    let mut helper = std::process::Command::new(std::env::current_exe().unwrap());
    helper.args(["--exact", "life::helper_that_waits_to_be_killed"]).env("CUEBOOK_CDP_TEST_LEAK", root);
    if transport == Transport::Pipe {
        helper.env("CUEBOOK_CDP_TEST_PIPE", "1");
    }
    let mut helper = helper.stdout(std::process::Stdio::null()).spawn().unwrap();
    let started = root.join("started");
    eventually("the helper starts a browser", || started.exists()).await;
    helper.kill().unwrap();
    helper.wait().unwrap();
    std::fs::read_to_string(started).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_janitor_ends_a_browser_that_outlived_a_killed_owner() {
    let root = tempfile::tempdir().unwrap();
    let group = leak(root.path(), Transport::WebSocket).await;
    assert!(group_members(group) > 0, "a browser on a websocket outlives its owner");
    let report = sweep(&root.path().join("profiles")).unwrap();
    assert_eq!((report.killed, report.removed, report.in_use), (1, 1, 0));
    assert_eq!(group_members(group), 0);
    assert_eq!(std::fs::read_dir(root.path().join("profiles")).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_on_a_pipe_ends_with_its_killed_owner() {
    let root = tempfile::tempdir().unwrap();
    let group = leak(root.path(), Transport::Pipe).await;
    eventually("the browser exits by itself", || group_members(group) == 0).await;
    let report = sweep(&root.path().join("profiles")).unwrap();
    assert_eq!((report.killed, report.removed, report.in_use), (0, 1, 0));
}
