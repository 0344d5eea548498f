//! Tests of actions outside of the page, done and refused: on files, a server and commands of the test's own.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cuebook_grammar::Delivery;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::PageId;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::{Cause, StepFailure, StepOutcome};
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::policy::{Policy, PolicyFile, Rule};
use cuebook_grammar::profile::Profile;
use cuebook_grammar::seam::ActionHandler as _;
use serde_json::{Value, json};

use crate::blocking::blocking;
use crate::{OutsideHandler, OutsideOptions};

async fn run(file: &Value, step: Value) -> StepOutcome {
    let file = PolicyFile::read(&file.to_string()).unwrap();
    let policy = Policy::new(Profile::Unleashed).with_file(&file).unwrap();
    let page = Observation::blank(PageId::new("none"), "about:blank");
    let plan = json!({ "version": "1.0", "steps": [step] });
    let draft = PlanDraft::read_value(plan, Author::Operator).unwrap();
    let bound = draft.check(&page, &policy).unwrap().bind(0, &page).unwrap();
    let options = OutsideOptions {
        max_bytes: 10_000,
        path: Some("/usr/local/bin:/usr/bin:/bin".into()),
        ..OutsideOptions::default()
    };
    let deadline = Deadline::after(Instant::now(), Duration::from_secs(20));
    OutsideHandler::new(options).handle(&bound, deadline).await.unwrap()
}

async fn data(file: &Value, step: Value) -> Value {
    match run(file, step).await {
        StepOutcome::Succeeded(success) => {
            let post = &success.evidence.post;
            assert!(post.iter().all(|one| one.verdict.holds()), "what was done is an effect: {post:?}");
            success.data.unwrap()
        }
        StepOutcome::Failed(failure) => panic!("the step failed: {failure:?}"),
    }
}

async fn failed(file: &Value, step: Value) -> StepFailure {
    match run(file, step).await {
        StepOutcome::Failed(failure) => *failure,
        StepOutcome::Succeeded(success) => panic!("the step succeeded: {success:?}"),
    }
}

/// Runs a step. Returns `true` if the record says that its input was sent, and the cause of its failure if it failed.
async fn sent(file: &Value, step: Value) -> (bool, Option<Cause>) {
    match run(file, step).await {
        StepOutcome::Succeeded(success) => (success.evidence.input_sent, None),
        StepOutcome::Failed(failure) => (failure.evidence.input_sent, Some(failure.cause)),
    }
}

fn rule(failure: &StepFailure) -> Option<Rule> {
    assert_eq!(failure.cause, Cause::PolicyBlocked, "{failure:?}");
    failure.facts.rule
}

fn read(path: &str) -> Value {
    json!({ "type": "readFile", "path": path })
}

fn write(path: &str) -> Value {
    json!({ "type": "writeFile", "path": path, "content": "new" })
}

// ------------------------------------------------------------------------------------------- files

#[tokio::test]
async fn files_below_a_declared_directory_are_read_and_written_whole() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("in")).unwrap();
    std::fs::write(root.path().join("in/a.txt"), "old").unwrap();
    std::fs::write(root.path().join("bytes"), [0xff, 0x00]).unwrap();
    let file = json!({ "roots": { "write": [root.path()] } });
    assert_eq!(data(&file, read("in/a.txt")).await, "old");
    assert_eq!(data(&file, read(root.path().join("in/a.txt").to_str().unwrap())).await, "old");
    assert_eq!(data(&file, read("bytes")).await, json!({ "base64": "/wA=" }));
    assert_eq!(data(&file, write("in/a.txt")).await["bytes"], 3);
    assert_eq!(data(&file, write("in/b.txt")).await["bytes"], 3);
    assert_eq!(std::fs::read_to_string(root.path().join("in/a.txt")).unwrap(), "new");
    let names = std::fs::read_dir(root.path().join("in")).unwrap().count();
    assert_eq!(names, 2, "nothing is left beside the files");
}

#[cfg(unix)]
#[tokio::test]
async fn no_path_leads_out_of_a_declared_directory() {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().join("root");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(outer.path().join("secret"), "secret").unwrap();
    std::os::unix::fs::symlink(outer.path().join("secret"), root.join("link")).unwrap();
    std::os::unix::fs::symlink("../secret", root.join("relative")).unwrap();
    std::os::unix::fs::symlink(outer.path(), root.join("dir")).unwrap();
    let file = json!({ "roots": { "read": [root], "write": [root] } });
    let absolute = outer.path().join("secret");
    let twisted = root.join("../secret");
    for path in [
        "link",
        "relative",
        "dir/secret",
        "../secret",
        "a/../../secret",
        "/etc/passwd",
        absolute.to_str().unwrap(),
        twisted.to_str().unwrap(),
        "..\\secret",
        "C:\\secret",
        "C:secret",
        "a\0b",
    ] {
        assert_eq!(rule(&failed(&file, read(path)).await), Some(Rule::Root), "{path:?}");
    }
    for path in ["dir/planted", "../planted", absolute.to_str().unwrap()] {
        assert_eq!(rule(&failed(&file, write(path)).await), Some(Rule::Root), "{path:?}");
    }
    assert_eq!(std::fs::read_to_string(outer.path().join("secret")).unwrap(), "secret");
    assert!(!outer.path().join("planted").exists());
    // A link is replaced, not followed.
    data(&file, write("link")).await;
    assert_eq!(std::fs::read_to_string(outer.path().join("secret")).unwrap(), "secret");
}

#[tokio::test]
async fn files_that_are_missing_too_large_or_none_fail() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("large"), vec![b'x'; 10_001]).unwrap();
    std::fs::create_dir(root.path().join("dir")).unwrap();
    let file = json!({ "roots": { "write": [root.path()] } });
    for path in ["missing", "large", "dir", "."] {
        assert_eq!(failed(&file, read(path)).await.cause, Cause::InvalidArgument, "{path}");
    }
    for path in ["dir", "missing/a"] {
        assert_eq!(failed(&file, write(path)).await.cause, Cause::InvalidArgument, "{path}");
    }
}

#[tokio::test]
async fn a_written_file_was_sent_and_a_read_or_refused_one_was_not() {
    let root = tempfile::tempdir().unwrap();
    let file = json!({ "roots": { "write": [root.path()] } });
    assert_eq!(sent(&file, write("a.txt")).await, (true, None));
    assert_eq!(sent(&file, read("a.txt")).await, (false, None));
    assert_eq!(sent(&file, write("missing/a")).await, (false, Some(Cause::InvalidArgument)));
    assert_eq!(sent(&file, write("../a")).await, (false, Some(Cause::PolicyBlocked)));
}

#[tokio::test]
async fn work_whose_deadline_was_reported_does_not_act_any_more() {
    let (acted, release) = (Arc::new(Mutex::new(false)), Arc::new(std::sync::Barrier::new(2)));
    let (acts, released) = (acted.clone(), release.clone());
    let (ended, end) = std::sync::mpsc::channel();
    let late = blocking(Instant::now(), move |gate| {
        released.wait();
        let passed = gate.pass().map(|()| *acts.lock().unwrap() = true);
        ended.send(()).unwrap();
        passed.map(|()| (Delivery::Sent, Value::Null))
    });
    let failed = late.await.unwrap_err();
    assert_eq!((failed.delivery, failed.failure.cause), (Delivery::NotSent, Cause::DeadlineExceeded));
    release.wait();
    tokio::task::spawn_blocking(move || end.recv().unwrap()).await.unwrap();
    assert!(!*acted.lock().unwrap());
}

#[tokio::test]
async fn work_that_acts_at_the_deadline_is_awaited_and_says_what_it_did() {
    let (passed, is_passed) = std::sync::mpsc::channel();
    let release = Arc::new(std::sync::Barrier::new(2));
    let released = release.clone();
    let until = Instant::now() + Duration::from_millis(100);
    let acting = blocking(until, move |gate| {
        gate.pass()?;
        passed.send(()).unwrap();
        released.wait();
        Ok((Delivery::Sent, json!("done")))
    });
    let releasing = tokio::spawn(async move {
        tokio::time::sleep_until((until + Duration::from_millis(20)).into()).await;
        tokio::task::spawn_blocking(move || {
            is_passed.recv().unwrap();
            release.wait();
        })
        .await
        .unwrap();
    });
    assert_eq!(acting.await.unwrap(), (Delivery::Sent, json!("done")));
    releasing.await.unwrap();
}

// ---------------------------------------------------------------------------------------- commands

fn shell(command: &str) -> Value {
    json!({ "type": "shell", "command": command })
}

#[cfg(unix)]
#[tokio::test]
async fn a_declared_command_runs_without_shell_and_environment() {
    let root = tempfile::tempdir().unwrap();
    let file = json!({ "roots": { "read": [root.path()] }, "commands": ["printf *", "env", "pwd"], "shellLines": ["echo $((1+1)) | cat"] });
    let done = data(&file, shell("printf '%s' '$HOME; id'")).await;
    assert_eq!(done, json!({ "exitCode": 0, "stdout": "$HOME; id", "stderr": "" }));
    assert_eq!(data(&file, shell("env")).await["stdout"], "PATH=/usr/local/bin:/usr/bin:/bin\n");
    let here = data(&file, shell("pwd")).await["stdout"].as_str().unwrap().trim().to_owned();
    assert_eq!(Path::new(&here).canonicalize().unwrap(), root.path().canonicalize().unwrap());
    assert_eq!(data(&file, shell("echo $((1+1)) | cat")).await["stdout"], "2\n");
}

#[cfg(unix)]
#[tokio::test]
async fn a_command_that_fails_or_floods_says_so() {
    let file = json!({ "commands": ["false", "nowhere-to-be-found"], "shellLines": ["echo no >&2; exit 3", "yes | head -c 30000"] });
    let failure = failed(&file, shell("echo no >&2; exit 3")).await;
    assert_eq!(failure.cause, Cause::PostconditionFailed);
    assert_eq!(failure.facts.seen.as_deref(), Some("exit code 3: no\n"));
    assert_eq!(failed(&file, shell("nowhere-to-be-found")).await.cause, Cause::InvalidArgument);
    let flood = data(&file, shell("yes | head -c 30000")).await;
    assert_eq!(flood["stdout"].as_str().map(str::len), Some(10_000));
    assert_eq!(flood["truncated"]["bytes"], 20_000);
}

#[cfg(unix)]
#[tokio::test]
async fn what_a_late_command_started_ends_with_it() {
    let root = tempfile::tempdir().unwrap();
    let line = "(sleep 3; touch late) & sleep 60";
    let file = json!({ "roots": { "write": [root.path()] }, "shellLines": [line, "sleep 60 & echo $!"] });
    let step = json!({ "type": "shell", "command": line, "timeoutMs": 300 });
    assert_eq!(failed(&file, step).await.cause, Cause::DeadlineExceeded);
    let pid = data(&file, shell("sleep 60 & echo $!")).await["stdout"].as_str().map(|text| text.trim().to_owned());
    if let Some(pid) = pid.filter(|pid| !pid.is_empty()) {
        let gone = || {
            let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            state.is_empty() || state.contains(") Z ")
        };
        let until = Instant::now() + Duration::from_secs(10);
        while !gone() {
            assert!(Instant::now() < until, "process {pid} is still there");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    assert!(!root.path().join("late").exists());
}

#[cfg(unix)]
#[tokio::test]
async fn a_command_that_ran_was_sent_however_it_ended() {
    let file = json!({ "commands": ["true", "false", "sleep 60", "nowhere-to-be-found"] });
    assert_eq!(sent(&file, shell("true")).await, (true, None));
    assert_eq!(sent(&file, shell("false")).await, (true, Some(Cause::PostconditionFailed)));
    let late = json!({ "type": "shell", "command": "sleep 60", "timeoutMs": 200 });
    assert_eq!(sent(&file, late).await, (true, Some(Cause::DeadlineExceeded)));
    assert_eq!(sent(&file, shell("nowhere-to-be-found")).await, (false, Some(Cause::InvalidArgument)));
}

// ---------------------------------------------------------------------------------------- requests

/// A server that answers each path with a fixed text, and keeps what it was sent.
fn serve(answers: &'static [(&'static str, &'static str)]) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = seen.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = String::new();
            while reader.read_line(&mut head).is_ok_and(|count| count > 2) {}
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_ascii_lowercase().strip_prefix("content-length:").map(|n| n.trim().parse().unwrap())
                })
                .unwrap_or(0);
            let mut body = vec![0; length];
            reader.read_exact(&mut body).ok();
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            kept.lock().unwrap().push(format!("{head}{}", String::from_utf8_lossy(&body)));
            let port = port.to_string();
            let answer =
                answers.iter().find(|(known, _)| *known == path).map_or("HTTP/1.1 404 No\r\n\r\nnothing here", |a| a.1);
            stream.write_all(answer.replace("{port}", &port).as_bytes()).ok();
        }
    });
    (port, seen)
}

const SITE: &[(&str, &str)] = &[
    ("/", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nSet-Cookie: a=b\r\n\r\nhello"),
    ("/away", "HTTP/1.1 302 Found\r\nLocation: http://localhost:{port}/\r\n\r\n"),
    ("/metadata", "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n\r\n"),
    ("/keep", "HTTP/1.1 307 Kept\r\nLocation: http://localhost:{port}/\r\n\r\n"),
    ("/around", "HTTP/1.1 302 Found\r\nLocation: /around\r\n\r\n"),
    ("/home", "HTTP/1.1 303 Other\r\nLocation: /\r\n\r\n"),
];

fn fetch(url: &str) -> Value {
    json!({ "type": "fetch", "url": url })
}

#[tokio::test]
async fn a_declared_host_is_asked_without_cookies_and_answers_within_bounds() {
    let (port, seen) = serve(SITE);
    let here = format!("http://127.0.0.1:{port}");
    let file = json!({ "hosts": [here] });
    let step = json!({ "type": "fetch", "url": format!("{here}/"), "method": "post", "headers": { "X-A": "1" }, "body": "data" });
    let answer = data(&file, step).await;
    assert_eq!(answer["status"], 200);
    assert_eq!(answer["body"], "hello");
    assert_eq!(answer["headers"], json!({ "content-type": "text/plain" }));
    let sent = seen.lock().unwrap().join("").to_ascii_lowercase();
    assert!(sent.starts_with("post / http/1.1") && sent.ends_with("data") && sent.contains("x-a: 1"), "{sent}");
    assert!(!sent.contains("cookie") && !sent.contains("referer"), "{sent}");
    let led =
        data(&file, json!({ "type": "fetch", "url": format!("{here}/home"), "method": "POST", "body": "x" })).await;
    assert_eq!(led["url"], format!("{here}/"));
    let missing = failed(&file, fetch(&format!("{here}/nope"))).await;
    assert_eq!((missing.cause, missing.facts.status), (Cause::HttpError, Some(404)));
    assert_eq!(missing.facts.seen.as_deref(), Some("nothing here"));
}

#[tokio::test]
async fn each_hop_of_a_redirect_is_judged_and_a_refused_one_is_not_sent() {
    let (port, seen) = serve(SITE);
    let here = format!("http://127.0.0.1:{port}");
    let narrow = json!({ "hosts": [here] });
    for path in ["/away", "/metadata"] {
        assert_eq!(rule(&failed(&narrow, fetch(&format!("{here}{path}"))).await), Some(Rule::Redirect), "{path}");
    }
    assert_eq!(seen.lock().unwrap().len(), 2, "one request each, and none to where it was led");
    assert_eq!(failed(&narrow, fetch(&format!("{here}/around"))).await.cause, Cause::NavigationFailed);
    let wide = json!({ "hosts": [here, format!("http://localhost:{port}")] });
    let step = json!({ "type": "fetch", "url": format!("{here}/away"), "headers": { "X-Token": "t" } });
    assert_eq!(data(&wide, step).await["body"], "hello");
    assert!(!seen.lock().unwrap().last().unwrap().to_lowercase().contains("x-token"));
    let posted = json!({ "type": "fetch", "url": format!("{here}/keep"), "method": "POST", "body": "secret" });
    assert_eq!(rule(&failed(&wide, posted).await), Some(Rule::Redirect));
}

#[tokio::test]
async fn fields_of_the_connection_or_a_session_are_no_part_of_a_plan() {
    let file = json!({ "hosts": ["http://127.0.0.1:9"] });
    for (name, value) in
        [("Cookie", "a=b"), ("Host", "evil.test"), ("Proxy-Authorization", "x"), ("X\r\nY", "z"), ("X-A", "a\r\nb: c")]
    {
        let step = json!({ "type": "fetch", "url": "http://127.0.0.1:9/", "headers": { name: value } });
        assert_eq!(failed(&file, step).await.cause, Cause::InvalidArgument, "{name}");
    }
    let step = json!({ "type": "fetch", "url": "http://127.0.0.1:9/", "method": "TRACE" });
    assert_eq!(failed(&file, step).await.cause, Cause::InvalidArgument);
}

#[tokio::test]
async fn a_server_that_never_answers_costs_the_deadline_and_no_more() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = format!("http://{}", listener.local_addr().unwrap());
    let step = json!({ "type": "fetch", "url": here, "method": "POST", "timeoutMs": 300 });
    assert_eq!(sent(&json!({ "hosts": [here] }), step).await, (true, Some(Cause::DeadlineExceeded)));
}

#[tokio::test]
async fn a_request_was_sent_unless_there_was_no_connection() {
    let (port, _) = serve(SITE);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (here, nowhere) = (format!("http://127.0.0.1:{port}"), format!("http://127.0.0.1:{closed}"));
    let file = json!({ "hosts": [here, nowhere] });
    let post = |url: String| json!({ "type": "fetch", "url": url, "method": "POST", "body": "x" });
    assert_eq!(sent(&file, post(format!("{here}/"))).await, (true, None));
    assert_eq!(sent(&file, post(format!("{here}/nope"))).await, (true, Some(Cause::HttpError)));
    assert_eq!(sent(&file, post(format!("{here}/metadata"))).await, (true, Some(Cause::PolicyBlocked)));
    assert_eq!(sent(&file, post(format!("{nowhere}/"))).await, (false, Some(Cause::NavigationFailed)));
}

fn stock(command: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { "sku": { "type": "string", "maxLength": 20 } },
        "required": ["sku"] });
    let action = json!({ "name": "stock", "description": "Looks up the stock", "effect": "readOnly", "schema": schema,
        "command": command });
    json!({ "actions": [action] })
}

fn lookup(sku: &Value) -> Value {
    json!({ "type": "call", "name": "stock", "args": { "sku": sku } })
}

#[cfg(unix)]
#[tokio::test]
async fn a_registered_program_is_contained_like_a_command_and_answers_json() {
    assert_eq!(data(&stock("cat"), lookup(&json!("p-1"))).await, json!({ "sku": "p-1" }));
    // No shell, no environment, and an input that nobody reads.
    let environment = data(&stock(r#"sh -c 'echo "[$(env | grep -c HOME)]"'"#), lookup(&json!("p-1"))).await;
    assert_eq!(environment, json!([0]));
}

#[cfg(unix)]
#[tokio::test]
async fn a_registered_program_that_fails_or_prints_no_json_says_so() {
    let failure = failed(&stock("sh -c 'echo no stock >&2; exit 4'"), lookup(&json!("p-1"))).await;
    assert_eq!(
        (failure.cause, failure.facts.seen.as_deref()),
        (Cause::PostconditionFailed, Some("exit code 4: no stock\n"))
    );
    let failure = failed(&stock("echo hello"), lookup(&json!("p-1"))).await;
    assert!(failure.message.starts_with("`stock` printed no JSON document: `hello"), "{}", failure.message);
    let failure = failed(&stock("cat"), lookup(&json!(7))).await;
    assert_eq!((failure.cause, failure.evidence.input_sent), (Cause::InvalidArgument, false));
    assert_eq!(failure.message, "args/sku: expected a string, saw 7");
    let mut late = lookup(&json!("p-1"));
    late["timeoutMs"] = json!(200);
    assert_eq!(sent(&stock("sleep 60"), late).await, (true, Some(Cause::DeadlineExceeded)));
}
