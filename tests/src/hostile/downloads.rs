//! Downloads of every kind, by the command line with `--downloads DIR`.
//!
//! A file counts as kept if its bytes are those that the server or the page made, and the record of its step names them.
//! A download that ends otherwise has to be in the record, and nothing of it in the directory.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use axum::Router;
use axum::body::Body;
use axum::extract::{Path as Params, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{any, get};
use futures_util::stream;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;

use super::desk::{Desk, Shared, Turn, called};
use super::tally::Came;

/// Required result of a download.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    /// This many complete files.
    Kept(usize),
    /// The file, or a record that says that it is not complete.
    KeptOrUnfinished,
    /// A record that says that there is no file, or that something went wrong.
    Lost,
    /// Nothing: no download began.
    Nothing,
    /// One file where a step waits beyond its beginning, 2 s after the click.
    KeptIfWaiting,
}

struct Case {
    name: &'static str,
    /// The page's control, called "Get", and its scripts. `TEXT` is the content as a literal of a script.
    html: &'static str,
    want: Want,
}

const fn case(name: &'static str, html: &'static str, want: Want) -> Case {
    Case { name, html, want }
}

const CASES: [Case; 22] = [
    case("attachment", "<a href='file/attachment'>Get</a>", Want::Kept(1)),
    case("attribute", "<a href='file/inline' download='named.txt'>Get</a>", Want::Kept(1)),
    case(
        "blob",
        "<button>Get</button><script>go(() => {
           const url = URL.createObjectURL(new Blob([TEXT]));
           save(url, 'blob.txt');
           setTimeout(() => URL.revokeObjectURL(url), 1000);
         })</script>",
        Want::Kept(1),
    ),
    case(
        "data",
        "<button>Get</button><script>go(() => save('data:text/plain,' + encodeURIComponent(TEXT), 'data.txt'))</script>",
        Want::Kept(1),
    ),
    case("slow", "<a href='file/slow'>Get</a>", Want::Kept(1)),
    case("pausing", "<a href='file/pausing'>Get</a>", Want::KeptOrUnfinished),
    case("pathName", "<a href='file/path'>Get</a>", Want::Kept(1)),
    case(
        "longName",
        "<button>Get</button><script>go(() => save('file/inline', 'x'.repeat(4000) + '.txt'))</script>",
        Want::Kept(1),
    ),
    case("controlName", "<a href='file/control'>Get</a>", Want::Kept(1)),
    case("missing", "<a href='file/missing' download='missing.txt'>Get</a>", Want::Lost),
    case("dropped", "<a href='file/dropped'>Get</a>", Want::Lost),
    case(
        "revoked",
        "<button>Get</button><script>go(() => {
           const url = URL.createObjectURL(new Blob([TEXT]));
           URL.revokeObjectURL(url);
           save(url, 'revoked.txt');
         })</script>",
        Want::Nothing,
    ),
    case(
        "stopped",
        "<button>Get</button><script>go(() => { location = 'file/late'; setTimeout(() => stop(), 200); })</script>",
        Want::Nothing,
    ),
    case(
        "two",
        "<button>Get</button><script>go(() => { save('file/attachment', ''); save('file/second', ''); })</script>",
        Want::Kept(2),
    ),
    case(
        "later",
        "<button>Get</button><script>go(() => setTimeout(() => save('file/attachment', ''), 600))</script>",
        Want::Kept(1),
    ),
    case(
        "afterFetch",
        "<button>Get</button><script>go(async () => {
           const answer = await fetch('file/late');
           save(URL.createObjectURL(await answer.blob()), 'fetched.txt');
         })</script>",
        Want::Kept(1),
    ),
    case(
        "muchLater",
        "<button>Get</button><script>go(() => setTimeout(() => save('file/attachment', ''), 2000))</script>",
        Want::KeptIfWaiting,
    ),
    case("missingAttachment", "<a href='file/gone'>Get</a>", Want::Lost),
    case("newTab", "<a href='file/attachment' target=_blank>Get</a>", Want::Kept(1)),
    case("form", "<form method=post action='file/attachment'><button>Get</button></form>", Want::Kept(1)),
    case("empty", "<a href='file/empty'>Get</a>", Want::Kept(1)),
    case(
        "frame",
        "<button>Get</button><script>go(() => {
           const frame = document.createElement('iframe');
           frame.hidden = true;
           frame.src = 'file/attachment';
           document.body.append(frame);
         })</script>",
        Want::Kept(1),
    ),
];

/// Step that follows the one that downloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Nothing,
    AnotherStep,
    /// The step itself states that the download is complete.
    Stated,
    /// A step that waits for a text, which the page shows 4 s after the click.
    Waiting,
}

const THEN: [Then; 4] = [Then::Nothing, Then::AnotherStep, Then::Stated, Then::Waiting];

/// The content of a trial's files.
fn content(number: usize, file: usize) -> String {
    format!("file {file} of trial {number}: ").repeat(3_000)
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn page(State(pages): State<Shared<String>>, Params(number): Params<usize>) -> Html<String> {
    Html(pages.lock().get(&number).cloned().unwrap_or_default())
}

fn named(name: &str, body: Body) -> Response {
    let disposition = HeaderValue::from_str(&format!("attachment; {name}"));
    let headers = disposition.map(|value| [(CONTENT_DISPOSITION, value)]);
    (headers.unwrap_or_else(|_| [(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"))]), body).into_response()
}

/// Parts of a text with a pause before each but the first.
fn trickling(text: &str, parts: usize, pause: Duration) -> Body {
    let size = text.len().div_ceil(parts);
    let parts: Vec<Vec<u8>> = text.as_bytes().chunks(size).map(<[u8]>::to_vec).collect();
    Body::from_stream(stream::unfold((parts.into_iter(), Duration::ZERO), move |(mut parts, wait)| async move {
        tokio::time::sleep(wait).await;
        Some((Ok::<_, Infallible>(parts.next()?), (parts, pause)))
    }))
}

async fn file(Params((number, what)): Params<(usize, String)>) -> Response {
    let text = content(number, 0);
    let whole = |text: String| Body::from(text);
    match what.as_str() {
        "attachment" => named("filename=\"report.txt\"", whole(text)),
        "second" => named("filename=\"second.txt\"", whole(content(number, 1))),
        "inline" => ([(CONTENT_TYPE, "text/plain")], text).into_response(),
        "empty" => named("filename=\"empty.txt\"", Body::empty()),
        "path" => named("filename=\"../../../../../../tmp/report.txt\"", whole(text)),
        "control" => named("filename*=UTF-8''re%00po%0Art%1B%5B31m%E2%80%AEgpj.txt", whole(text)),
        "slow" => named("filename=\"slow.txt\"", trickling(&text, 8, Duration::from_millis(400))),
        "pausing" => named("filename=\"pausing.txt\"", trickling(&text, 3, Duration::from_millis(2_500))),
        "gone" => {
            let mut answer = named("filename=\"gone.txt\"", whole(text));
            *answer.status_mut() = StatusCode::NOT_FOUND;
            answer
        }
        "late" => {
            tokio::time::sleep(Duration::from_millis(700)).await;
            named("filename=\"late.txt\"", whole(text))
        }
        "dropped" => {
            let length = text.len() * 3;
            let parts = [Ok(text.into_bytes()), Err(io::Error::other("dropped"))];
            let slowly = stream::unfold(parts.into_iter(), |mut parts| async move {
                let part = parts.next()?;
                if part.is_err() {
                    tokio::time::sleep(Duration::from_millis(300)).await;
                }
                Some((part, parts))
            });
            let mut answer = named("filename=\"dropped.txt\"", Body::from_stream(slowly));
            answer.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
            answer
        }
        _ => (StatusCode::NOT_FOUND, "there is no such file").into_response(),
    }
}

/// The server of all trials. It ends with the runtime.
#[derive(Clone)]
pub(crate) struct Server {
    port: u16,
    pages: Shared<String>,
    cases: Vec<usize>,
}

impl Server {
    /// # Errors
    /// If no case has one of the names, or there is no free port.
    pub(crate) async fn start(names: &[String]) -> Result<Self> {
        let is_meant = |at: &usize| names.is_empty() || names.iter().any(|name| name == CASES[*at].name);
        let cases: Vec<usize> = (0..CASES.len()).filter(is_meant).collect();
        ensure!(!cases.is_empty(), "expected one of {}", CASES.map(|case| case.name).join(", "));
        let pages = Shared::default();
        let app = Router::new()
            .route("/{number}/", get(page))
            .route("/{number}/file/{what}", any(file))
            .with_state(pages.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.context("cannot listen on 127.0.0.1")?;
        let port = listener.local_addr()?.port();
        tokio::spawn(async move { axum::serve(listener, app).await });
        Ok(Self { port, pages, cases })
    }

    /// One trial, and its name.
    pub(crate) async fn trial(&self, desk: &Desk, turn: Turn) -> (String, Result<Came>) {
        let number = turn.number + turn.seed as usize;
        let case = &CASES[self.cases[number % self.cases.len()]];
        let then = THEN[(number + number / self.cases.len()) % THEN.len()];
        (format!("{} {then:?}", case.name), self.judged(desk, turn.number, case, then).await)
    }

    async fn judged(&self, desk: &Desk, number: usize, case: &Case, then: Then) -> Result<Came> {
        let text = json!(content(number, 0)).to_string();
        let page = format!(
            "<!doctype html><meta charset=utf-8><title>Files</title><h1>Files</h1><script>
             const go = (action) => document.querySelector('button').addEventListener('click', action);
             const save = (href, download) => Object.assign(document.createElement('a'), {{ href, download }}).click();
             addEventListener('click', () => setTimeout(() => document.querySelector('output').append('Ready'), 4000), {{ once: true }});
             </script>{}<p><input aria-label=Note></p><output></output>",
            case.html.replace("TEXT", &text)
        );
        self.pages.lock().insert(number, page);
        let url = format!("http://127.0.0.1:{}/{number}/", self.port);
        let mut click = json!({ "type": "click", "targetRef": "get" });
        if then == Then::Stated {
            click["post"] = json!([{ "kind": "downloadCompleted" }]);
        }
        let mut steps = vec![click];
        match then {
            Then::AnotherStep => steps.push(json!({ "type": "setValue", "targetRef": "note", "value": "next" })),
            Then::Waiting => steps.push(json!({ "type": "waitFor", "timeoutMs": 9_000,
                "condition": { "kind": "visible", "target": "ready" } })),
            Then::Nothing | Then::Stated => {}
        }
        let plan = json!({
            "version": "1.0",
            "candidates": {
                "get": { "strategy": "text", "text": "Get", "exact": true },
                "note": { "strategy": "byLabel", "text": "Note" },
                "ready": { "strategy": "text", "text": "Ready", "exact": true }
            },
            "steps": steps,
        });
        let folder = desk.path(&format!("downloads-{number}"));
        let into = folder.join("into");
        std::fs::create_dir(&folder)?;
        std::fs::write(folder.join("plan.json"), plan.to_string())?;
        let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
        let (plan, into_text, runs) = (path("plan.json"), path("into"), path("runs"));
        let line = ["exec", &plan, "--url", &url, "--downloads", &into_text, "--out", &runs, "--json"];
        let ended = called(line.map(str::to_owned).to_vec()).await?;
        let report = ended.json()?;
        self.pages.lock().remove(&number);
        let outside = std::fs::read_dir(&folder)?.count() - usize::from(into.exists());
        ensure!(outside == 2, "a file lies beside the directory");
        let want = match case.want {
            Want::KeptIfWaiting if matches!(then, Then::Waiting | Then::Stated) => Want::Kept(1),
            Want::KeptIfWaiting => Want::Nothing,
            want => want,
        };
        came(case.name, want, number, &files(&into)?, &report)
    }
}

/// The digests of the files in a directory, with their names.
fn files(folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut all = BTreeMap::new();
    if folder.exists() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            all.insert(digest(&std::fs::read(entry.path())?), entry.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(all)
}

/// Everything in a report that is under a name.
fn under<'a>(report: &'a Value, name: &str, found: &mut Vec<&'a Value>) {
    match report {
        Value::Object(members) => {
            for (key, value) in members {
                if key == name {
                    found.extend(value.as_array().into_iter().flatten());
                }
                under(value, name, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| under(item, name, found)),
        _ => {}
    }
}

fn came(name: &str, want: Want, number: usize, kept: &BTreeMap<String, String>, report: &Value) -> Result<Came> {
    let (mut told, mut problems) = (Vec::new(), Vec::new());
    under(report, "downloads", &mut told);
    under(report, "problems", &mut problems);
    let said = || {
        let told: Vec<String> = told.iter().map(|one| one.to_string().chars().take(300).collect()).collect();
        let names: Vec<String> = kept.values().map(|name| name.chars().take(80).collect()).collect();
        format!("{} {}, kept {names:?}, told {told:?}, {problems:?}", report["result"], report["error"]["message"])
    };
    let count = if let Want::Kept(count) = want { count } else { 1 };
    let bytes: Vec<String> =
        (0..count).map(|file| if name == "empty" { String::new() } else { content(number, file) }).collect();
    let whole: Vec<String> = bytes.iter().map(|bytes| digest(bytes.as_bytes())).collect();
    let is_told = |(digest, bytes): (&String, &String)| {
        told.iter()
            .any(|one| one["sha256"] == digest.as_str() && one["bytes"] == bytes.len() && one["end"] == "completed")
    };
    let all_told = whole.iter().zip(&bytes).all(is_told);
    let all_kept = whole.iter().all(|digest| kept.contains_key(digest));
    let claims = told.iter().filter(|one| one["end"] == "completed").count();
    // What is claimed, or lies there, is whole.
    if kept.keys().any(|digest| !whole.contains(digest)) || claims != kept.len() {
        return Ok(Came::FalseSuccess(said()));
    }
    let is_ok = report["result"] == "ok";
    Ok(match want {
        Want::Kept(_) | Want::KeptOrUnfinished if all_kept && all_told && is_ok => Came::Done,
        Want::KeptOrUnfinished if !told.is_empty() && kept.is_empty() => Came::Stopped,
        Want::Kept(count) if told.len() < count => Came::FalseSuccess(format!("silent: {}", said())),
        Want::Lost if kept.is_empty() && (!told.is_empty() || !problems.is_empty()) => Came::Stopped,
        Want::Nothing | Want::KeptIfWaiting if kept.is_empty() => Came::Stopped,
        Want::Lost => Came::FalseSuccess(format!("silent: {}", said())),
        _ => Came::Needless(said()),
    })
}
