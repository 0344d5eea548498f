//! A view over HTTP: who is refused, what is delivered as a log grows, and what hostile text becomes.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test that calls them")]

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use cuebook_datalayer::{ArtifactStore, JsonlLog, RunDir, run_id};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::record::RECORD_VERSION;
use cuebook_grammar::seam::{ArtifactKind, ArtifactSink as _, Confirm as _, ConfirmReply, ConfirmRequest, DenyAll};
use cuebook_view::{Questions, View};
use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;

const SOON: Duration = Duration::from_secs(60);
const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(2)>";

/// A folder of a run whose log has a header.
struct Setting {
    dir: RunDir,
    questions: Questions,
    _out: TempDir,
}

impl Setting {
    fn new() -> Self {
        Self::of(json!({ "command": "exec", "plan": "plan.json", "url": "http://shop.test/" }))
    }

    /// The log of a run whose header has these members.
    fn of(mut header: Value) -> Self {
        let out = TempDir::new().unwrap();
        let dir = RunDir::create(out.path(), &run_id(0, [1, 2, 3])).unwrap();
        let setting = Self { dir, questions: Questions::default(), _out: out };
        let more = json!({
            "entry": "header", "schemaVersion": RECORD_VERSION, "runId": "r", "tsMs": 1, "cuebook": "0.1.0",
        });
        header.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        setting.write(&header);
        setting
    }

    /// Appends an entry, whole.
    fn write(&self, entry: &Value) {
        self.append(&format!("{entry}\n"));
    }

    fn append(&self, text: &str) {
        let path = self.dir.log_path();
        let mut log = OpenOptions::new().create(true).append(true).open(path).unwrap();
        log.write_all(text.as_bytes()).unwrap();
    }

    /// A step that failed, with a text of a page.
    fn step(&self, index: u32, text: &str, artifacts: &Value) {
        let action = json!({ "type": "click", "targetRef": "go" });
        self.write(&json!({
            "entry": "begin", "schemaVersion": RECORD_VERSION, "runId": "r", "stepIndex": index, "origin": "plan",
            "attempt": 1, "action": action, "tsMs": 2,
        }));
        self.write(&json!({
            "entry": "commit", "schemaVersion": RECORD_VERSION, "runId": "r", "stepIndex": index, "origin": "plan",
            "attempt": 1, "action": action, "url": text, "risk": "write", "effectClass": "reversible",
            "candidates": { "go": { "declared": { "strategy": "css", "selector": text } } },
            "execution": { "tsMs": 2, "durationMs": 40 }, "artifacts": artifacts, "result": "failed",
            "failure": { "stage": "postcondition", "cause": "covered", "message": text },
        }));
    }

    async fn view(&self) -> View {
        View::open(&self.dir, 0, self.questions.clone()).await.unwrap()
    }
}

fn client() -> Client {
    Client::builder().no_proxy().build().unwrap()
}

async fn page(view: &View) -> String {
    client().get(view.url()).send().await.unwrap().text().await.unwrap()
}

/// Server-sent events, one after another.
struct Events {
    response: Response,
    text: String,
}

impl Events {
    async fn of(view: &View, steps: usize) -> Self {
        let url = format!("{}events?steps={steps}&calls=0", view.url());
        let response = client().get(url).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        Self { response, text: String::new() }
    }

    /// The data of the next event of this name.
    async fn next(&mut self, name: &str) -> Value {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let data = event.strip_prefix(&format!("event: {name}\ndata: ")).map(str::to_owned);
                self.text = rest.to_owned();
                match data {
                    Some(data) => return serde_json::from_str(&data).unwrap(),
                    None => continue,
                }
            }
            let chunk = timeout(SOON, self.response.chunk()).await.expect("nothing came").unwrap();
            self.text.push_str(std::str::from_utf8(&chunk.expect("the stream ended")).unwrap());
        }
    }

    /// The first update of which something holds.
    async fn until(&mut self, holds: impl Fn(&Value) -> bool) -> Value {
        loop {
            let update = self.next("update").await;
            if holds(&update) {
                return update;
            }
        }
    }
}

#[tokio::test]
async fn only_the_page_itself_is_answered() {
    let setting = Setting::new();
    let view = setting.view().await;
    let url = view.url().to_owned();
    let origin = url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
    let port = origin.rsplit(':').next().unwrap();
    let (wrong, short) = (format!("{origin}/{}/", "0".repeat(32)), format!("{}/", &url[..url.len() - 3]));
    let get = |url: &str, headers: &[(&str, &str)]| {
        let mut request = client().get(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        async { request.send().await.unwrap() }
    };
    for url in [wrong.as_str(), short.as_str(), &origin, &format!("{origin}/events"), &format!("{wrong}picture/x")] {
        let refused = get(url, &[]).await;
        assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{url}");
        assert!(!refused.text().await.unwrap().contains("plan.json"), "{url}");
    }
    let foreign = format!("shop.test:{port}");
    for headers in [
        &[("host", "shop.test")][..],
        &[("host", &foreign)],
        &[("host", "127.0.0.1")],
        &[("origin", "http://shop.test")],
        &[("origin", "null")],
        &[("origin", &format!("https://127.0.0.1:{port}"))],
        &[("origin", &format!("{origin}.shop.test"))],
    ] {
        assert_eq!(get(&url, headers).await.status(), StatusCode::FORBIDDEN, "{headers:?}");
        assert_eq!(get(&format!("{url}events?steps=0&calls=0"), headers).await.status(), StatusCode::FORBIDDEN);
    }
    let answer = |origin: Option<String>| {
        let request = client().post(format!("{url}answer")).json(&json!({ "number": 0, "allow": true }));
        let request = origin.into_iter().fold(request, |request, origin| request.header("origin", origin));
        async { request.send().await.unwrap().status() }
    };
    assert_eq!(answer(None).await, StatusCode::FORBIDDEN, "a page always states its origin");
    assert_eq!(answer(Some("http://shop.test".to_owned())).await, StatusCode::FORBIDDEN);
    assert_eq!(answer(Some(origin.clone())).await, StatusCode::CONFLICT, "there is no question");
    let form = client().post(format!("{url}answer")).header("origin", &origin).body("number=0&allow=true");
    assert_eq!(form.send().await.unwrap().status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let shown = get(&url, &[("host", &format!("localhost:{port}")), ("origin", &origin)]).await;
    assert_eq!(shown.status(), StatusCode::OK);
    assert_eq!(shown.headers()["content-security-policy"], "frame-ancestors 'none'");
    assert!(shown.text().await.unwrap().contains("plan.json"));
}

#[tokio::test]
async fn a_step_is_delivered_when_it_has_ended_and_its_text_stays_text() {
    let setting = Setting::new();
    setting.step(0, "first", &json!([]));
    let view = setting.view().await;
    assert!(page(&view).await.contains("id=\"step-0\""));
    let mut events = Events::of(&view, 1).await;
    let first = events.next("update").await;
    assert_eq!((&first["shown"]["steps"], &first["added"][1][1]), (&json!(1), &json!("")), "the page has it");
    setting.step(1, HOSTILE, &json!([]));
    let update = events.until(|update| update["shown"]["steps"] == 2).await;
    let panels = update["added"][2][1].as_str().unwrap();
    assert!(panels.contains("id=\"step-1\"") && !panels.contains("id=\"step-0\""), "{panels}");
    for html in [&page(&view).await, panels, update["added"][1][1].as_str().unwrap()] {
        assert!(html.contains("&lt;img src=x onerror=alert(2)&gt;") && !html.contains("<img"), "{html}");
        assert_eq!(html.matches("<script>").count(), if html.contains("<html") { 2 } else { 0 });
    }
    // Half of a line is not shown, and its other half makes it whole.
    let end = json!({ "entry": "end", "runId": "r", "tsMs": 9, "result": "failed" }).to_string();
    setting.append(&end[..20]);
    setting.append(&format!("{}\n", &end[20..]));
    let update = events.until(|update| update["title"].as_str().unwrap().starts_with("failed")).await;
    assert_eq!(update["isRunning"], false);
    view.end().await;
    events.next("over").await;
}

#[tokio::test]
async fn the_page_of_a_session_names_it_also_when_it_goes_on() {
    let setting = Setting::of(json!({ "command": "session", "session": "desk" }));
    let view = View::open(&setting.dir, 0, Questions::default()).await.unwrap();
    assert!(page(&view).await.contains("<h1>Session desk</h1>"));
    let update = Events::of(&view, 0).await.next("update").await;
    assert_eq!(update["title"], "cut off: Session desk");
    assert!(update["replaced"][0][1].as_str().unwrap().contains("<h1>Session desk</h1>"));
}

#[tokio::test]
async fn a_run_counts_as_running_while_its_log_is_written() {
    let out = TempDir::new().unwrap();
    let dir = RunDir::create(out.path(), &run_id(0, [4, 5, 6])).unwrap();
    let log = JsonlLog::create(&dir, None).unwrap();
    let view = View::open(&dir, 0, Questions::default()).await.unwrap();
    let mut events = Events::of(&view, 0).await;
    assert_eq!(events.next("update").await["isRunning"], true);
    drop(log);
    events.until(|update| update["isRunning"] == false).await;
}

#[tokio::test]
async fn only_pictures_that_the_log_names_are_served() {
    let setting = Setting::new();
    let store = ArtifactStore::new(&setting.dir, None);
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x05\0\0\0\x02\xd0".to_vec();
    let picture = store.store(ArtifactKind::ScreenshotAfter, "image/png", png.clone()).await.unwrap();
    let markup = b"<script>alert(1)</script>".to_vec();
    let fake = store.store(ArtifactKind::ScreenshotAfter, "image/png", markup).await.unwrap();
    let unnamed = store.store(ArtifactKind::ScreenshotAfter, "image/png", [&png[..], b"x"].concat()).await.unwrap();
    let mut elsewhere = json!(unnamed);
    (elsewhere["path"], elsewhere["sha256"]) = (json!("../../../etc/passwd"), json!("../passwd"));
    setting.step(0, "first", &json!([picture, fake, elsewhere]));
    let view = setting.view().await;
    let get = |name: &str| client().get(format!("{}picture/{name}", view.url())).send();
    let shown = get(&picture.sha256).await.unwrap();
    assert_eq!((shown.status(), &shown.headers()["content-type"]), (StatusCode::OK, &"image/png".parse().unwrap()));
    assert_eq!(shown.bytes().await.unwrap(), png);
    for name in [&fake.sha256, &unnamed.sha256, "..%2Fpasswd", "..%2F..%2Flog.jsonl"] {
        assert_eq!(get(name).await.unwrap().status(), StatusCode::NOT_FOUND, "{name}");
    }
}

#[tokio::test]
async fn a_question_is_answered_in_the_page_once() {
    let setting = Setting::new();
    let view = setting.view().await;
    let mut events = Events::of(&view, 0).await;
    let mut asking = setting.questions.beside(DenyAll);
    let request = ConfirmRequest { question: format!("Pay {HOSTILE}?"), grant: Some("money@shop.test".to_owned()) };
    let origin = view.url().splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
    let page = async {
        let form = loop {
            let form = events.next("question").await.as_str().unwrap().to_owned();
            if !form.is_empty() {
                break form;
            }
        };
        assert!(form.contains("&lt;img src=x") && !form.contains("<img"), "{form}");
        let answer = || {
            let request = client().post(format!("{}answer", view.url())).header("origin", &origin);
            request.json(&json!({ "number": 0, "allow": true })).send()
        };
        let first = answer().await.unwrap().status();
        (first, answer().await.unwrap().status())
    };
    let deadline = Deadline::after(Instant::now(), SOON);
    let (reply, statuses) = tokio::join!(asking.confirm(&request, deadline), page);
    assert_eq!(reply, ConfirmReply::Yes(None));
    assert_eq!(statuses, (StatusCode::NO_CONTENT, StatusCode::CONFLICT));
    assert_eq!(events.next("question").await, "", "it is taken away");
}

#[tokio::test]
async fn a_log_that_is_none_is_no_view() {
    let setting = Setting::new();
    setting.append("no entry\n");
    let error = View::open(&setting.dir, 0, Questions::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "the log cannot be shown");
    let missing = RunDir::open(Path::new("/")).unwrap();
    assert!(View::open(&missing, 0, Questions::default()).await.is_err());
}
