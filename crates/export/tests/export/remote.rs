//! Object stores and collectors: what arrives there, and what an interruption leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use cuebook_datalayer::RunDir;
use cuebook_export::{Bucket, Collector, ExportError, Exported, Format, Options, Redaction, export};
use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::memory::InMemory;
use object_store::path::Path as Key;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt as _,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use serde_json::Value;
use url::Url;

use crate::sample::{NOON, PNG, Runs, files};

const LIST: &str = "_cuebook-export.jsonl";

/// A store that breaks after some changes, as if the program were killed there.
#[derive(Debug)]
struct Breaking {
    inner: Arc<InMemory>,
    left: AtomicUsize,
}

impl Breaking {
    fn change(&self) -> Result<()> {
        let left = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        left.map(|_| ()).map_err(|_| object_store::Error::Generic { store: "test", source: "killed".into() })
    }
}

impl fmt::Display for Breaking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("breaking")
    }
}

#[async_trait::async_trait]
impl ObjectStore for Breaking {
    async fn put_opts(&self, location: &Key, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.change()?;
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(&self, at: &Key, options: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.change()?;
        self.inner.put_multipart_opts(at, options).await
    }

    async fn get_opts(&self, location: &Key, options: GetOptions) -> Result<GetResult> {
        self.inner.get_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Key>>) -> BoxStream<'static, Result<Key>> {
        if let Err(error) = self.change() {
            return futures_util::stream::once(async { Err(error) }).boxed();
        }
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Key>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Key>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Key, to: &Key, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

/// Runs, and a bucket for their exports.
struct Setting {
    runs: Runs,
    store: Arc<InMemory>,
    count: usize,
}

impl Setting {
    fn new() -> Self {
        let setting = Self { runs: Runs::new(), store: Arc::new(InMemory::new()), count: 0 };
        setting.runs.login("r1", NOON);
        setting
    }

    fn found(&self) -> Vec<RunDir> {
        RunDir::find(&[self.runs.path("r1").parent().unwrap().to_owned()]).unwrap()
    }

    async fn export_over(
        &mut self,
        store: Arc<dyn ObjectStore>,
        format: Format,
        rewrite: bool,
    ) -> Result<Exported, ExportError> {
        self.count += 1;
        let out = self.runs.out(&format!("work-{}", self.count));
        fs::create_dir_all(&out).unwrap();
        let options = Options { format, redaction: Redaction::None, out, rewrite, pictures: false };
        let bucket = Bucket::over(store, Key::from("a/b"), "memory://a/b");
        bucket.export(&self.found(), &options, &mut |_, _| {}).await
    }

    async fn export(&mut self, format: Format) -> Result<Exported, ExportError> {
        self.export_over(Arc::clone(&self.store) as _, format, false).await
    }

    /// The objects below the prefix, but for the list.
    async fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        let mut found = BTreeMap::new();
        let objects: Vec<ObjectMeta> = self.store.list(Some(&Key::from("a/b"))).try_collect().await.unwrap();
        for object in objects {
            let name = object.location.as_ref().strip_prefix("a/b/").unwrap().to_owned();
            let bytes = self.store.get(&object.location).await.unwrap().bytes().await.unwrap();
            found.insert(name, bytes.to_vec());
        }
        found.remove(LIST);
        found
    }

    /// The units that the list calls whole.
    async fn whole(&self) -> Vec<Value> {
        let list = self.store.get(&Key::from(format!("a/b/{LIST}"))).await.unwrap().bytes().await.unwrap();
        let lines = std::str::from_utf8(&list).unwrap().lines().skip(1);
        let units = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
        let last: BTreeMap<String, Value> = units.map(|unit| (unit["name"].to_string(), unit)).collect();
        last.into_values().filter(|unit| unit["inputs"] != "" && unit["files"] != Value::Array(Vec::new())).collect()
    }

    /// Returns the files that an export of the same runs writes into a folder.
    fn expected(&self, format: Format) -> BTreeMap<String, Vec<u8>> {
        let out = self.runs.out(&format!("expected-{}", self.count));
        let options = Options { format, redaction: Redaction::None, out: out.clone(), rewrite: false, pictures: false };
        export(&self.found(), &options, &mut |_, _| {}).unwrap();
        let mut files = files(&out);
        files.remove(LIST);
        files
    }
}

#[tokio::test]
async fn every_format_arrives_as_in_a_folder_and_once() {
    for format in Format::ALL {
        let mut setting = Setting::new();
        let first = setting.export(format).await.unwrap();
        let objects = setting.objects().await;
        assert!(!objects.is_empty() && objects == setting.expected(format), "{}", format.as_str());
        let again = setting.export(format).await.unwrap();
        assert_eq!((again.written.len(), again.kept), (0, first.written.len()), "{}", format.as_str());
        assert!(setting.objects().await == objects);
    }
}

#[tokio::test]
async fn new_runs_add_objects_and_a_run_that_ended_replaces_its_own() {
    let mut setting = Setting::new();
    let log = setting.runs.path("r1").join("log.jsonl");
    let whole = fs::read_to_string(&log).unwrap();
    let kept: Vec<&str> = whole.lines().filter(|line| !line.contains("\"end\",")).collect();
    fs::write(&log, kept.join("\n") + "\n").unwrap();
    setting.export(Format::Parquet).await.unwrap();
    let before = setting.objects().await;
    fs::write(&log, whole).unwrap();
    setting.runs.login("r2", NOON + 86_400_000);
    setting.export(Format::Parquet).await.unwrap();
    let after = setting.objects().await;
    assert_eq!((before.len(), after.len()), (6, 12));
    assert!(before.keys().all(|name| !after.contains_key(name)), "{:?}", after.keys());
    assert!(after == setting.expected(Format::Parquet));
}

#[tokio::test]
async fn wherever_an_export_breaks_the_next_one_mends_it() {
    let (mut breaks, mut is_done) = (0, false);
    while !is_done {
        let mut setting = Setting::new();
        let log = setting.runs.path("r1").join("log.jsonl");
        let whole = fs::read_to_string(&log).unwrap();
        let kept: Vec<&str> = whole.lines().filter(|line| !line.contains("\"end\",")).collect();
        fs::write(&log, kept.join("\n") + "\n").unwrap();
        setting.export(Format::Parquet).await.unwrap();
        // One part goes, one comes.
        fs::write(&log, whole).unwrap();
        let breaking = Breaking { inner: Arc::clone(&setting.store), left: AtomicUsize::new(breaks) };
        is_done = setting.export_over(Arc::new(breaking), Format::Parquet, false).await.is_ok();
        // Other runs than those of the broken export, so that its parts are of no use.
        setting.runs.login("r2", NOON);
        setting.export(Format::Parquet).await.unwrap();
        // Whatever is there is in the list, and each run is in it once.
        let whole = setting.whole().await;
        let names: Vec<&str> =
            whole.iter().flat_map(|unit| unit["files"].as_array().unwrap()).filter_map(Value::as_str).collect();
        let objects = setting.objects().await;
        assert_eq!(BTreeSet::from_iter(names), objects.keys().map(String::as_str).collect(), "after {breaks} changes");
        let runs = whole.iter().flat_map(|unit| unit["runs"].as_array().unwrap()).map(|run| run[0].as_str().unwrap());
        let mut runs: Vec<&str> = runs.collect();
        runs.sort_unstable();
        assert_eq!(runs, ["r1", "r2"], "after {breaks} changes");
        breaks += 1;
    }
    // The list twice, six that go, six that come, and the list at the end.
    assert!(breaks > 14, "{breaks}");
}

#[tokio::test]
async fn other_objects_and_other_exports_are_refused_and_left() {
    let mut setting = Setting::new();
    setting.store.put(&Key::from("a/b/mine.txt"), "mine".into()).await.unwrap();
    let error = setting.export(Format::Har).await.unwrap_err();
    assert!(error.to_string().contains("memory://a/b holds other objects:"), "{error}");
    setting.store.delete(&Key::from("a/b/mine.txt")).await.unwrap();
    // A neighbour, not below.
    setting.store.put(&Key::from("a/bc.txt"), "mine".into()).await.unwrap();
    setting.export(Format::Har).await.unwrap();
    setting.store.put(&Key::from("a/b/mine.txt"), "mine".into()).await.unwrap();
    let error = setting.export(Format::Parquet).await.unwrap_err();
    assert!(error.to_string().contains("memory://a/b holds a har export with redaction none"), "{error}");
    let store = Arc::clone(&setting.store);
    setting.export_over(store, Format::Parquet, true).await.unwrap();
    let mut objects = setting.objects().await;
    assert_eq!(objects.remove("mine.txt").as_deref(), Some(&b"mine"[..]));
    assert!(objects == setting.expected(Format::Parquet));
    setting.store.get(&Key::from("a/bc.txt")).await.unwrap();
}

#[tokio::test]
async fn a_large_file_is_uploaded_in_parts() {
    let mut setting = Setting::new();
    let log = setting.runs.path("r1").join("log.jsonl");
    let picture = |bytes: &[u8]| setting.runs.artifact("r1", "screenshotBefore", "image/png", "png", bytes).to_string();
    let large: Vec<u8> = (0..25 << 20).map(|at: u32| at.to_le_bytes()[at as usize % 3]).collect();
    let text = fs::read_to_string(&log).unwrap().replace(&picture(PNG), &picture(&large));
    fs::write(&log, text).unwrap();
    setting.export(Format::Mind2Web).await.unwrap();
    let objects = setting.objects().await;
    assert!(objects.values().any(|bytes| *bytes == large) && objects == setting.expected(Format::Mind2Web));
}

#[tokio::test]
async fn addresses_that_cannot_be_used_say_what_was_expected_and_no_secret() {
    let settings = || {
        let pairs = [("AWS_ACCESS_KEY_ID", "AKIDVISIBLE"), ("AWS_SECRET_ACCESS_KEY", "hush-hush"), ("AWS_X", "1")];
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    for url in ["s3://user:hush-hush@bucket/x", "s3:///x", "ftp://bucket/x", "s3://bucket/x?secret=hush-hush"] {
        let error = Bucket::open(&Url::parse(url).unwrap(), settings()).err().unwrap().to_string();
        assert!(error.starts_with("expected ") && !error.contains("hush"), "{error}");
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer = "<Error><Code>AccessDenied</Code><Message>AKIDVISIBLE hush-hush</Message></Error>";
    let app = Router::new().fallback(move || async move { (StatusCode::FORBIDDEN, answer) });
    listener.set_nonblocking(true).unwrap();
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    let server = tokio::spawn(axum::serve(listener, app).into_future());
    let endpoint = ("AWS_ENDPOINT_URL".to_owned(), format!("http://127.0.0.1:{port}"));
    let bucket = Bucket::open(&Url::parse("s3://bucket/x").unwrap(), settings().into_iter().chain([endpoint])).unwrap();
    let runs = Runs::new();
    let out = runs.out("work");
    fs::create_dir_all(&out).unwrap();
    let options = Options { format: Format::Har, redaction: Redaction::None, out, rewrite: false, pictures: false };
    let error = bucket.export(&[], &options, &mut |_, _| {}).await.unwrap_err().to_string();
    assert!(error.starts_with("cannot read s3://bucket/x: ") && error.contains("AccessDenied"), "{error}");
    assert!(!error.contains("hush") && !error.contains("VISIBLE"), "{error}");
    server.abort();
}

/// Requests that a collector received, and its way of answering.
#[derive(Default)]
struct Received {
    bodies: Mutex<Vec<Value>>,
    refusals: AtomicUsize,
    refuses_spans: bool,
}

async fn receive(
    State(received): State<Arc<Received>>,
    headers: HeaderMap,
    body: String,
) -> (StatusCode, &'static str) {
    assert_eq!([&headers["content-type"], &headers["x-token"]], ["application/json", "a=b c"]);
    if received.refusals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
        return (StatusCode::SERVICE_UNAVAILABLE, "busy");
    }
    received.bodies.lock().unwrap().push(serde_json::from_str(&body).unwrap());
    let partial = r#"{"partialSuccess":{"rejectedSpans":"5","errorMessage":"too old"}}"#;
    (StatusCode::OK, if received.refuses_spans { partial } else { "{}" })
}

async fn sent(received: Received) -> (Result<(), ExportError>, Arc<Received>) {
    let received = Arc::new(received);
    let app = Router::new().route("/v1/traces", post(receive)).with_state(Arc::clone(&received));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    let server = tokio::spawn(axum::serve(listener, app).into_future());
    let runs = Runs::new();
    runs.login("r1", NOON);
    let (out, exported) = runs.export(Format::Otlp, Redaction::None);
    let collector = Collector::open(&url, Some("x-token=a%3Db%20c")).unwrap();
    let sent = collector.send(&out, &exported.written).await;
    server.abort();
    (sent, received)
}

#[tokio::test]
async fn a_collector_that_is_busy_is_asked_again() {
    let (sent, received) = sent(Received { refusals: AtomicUsize::new(1), ..Received::default() }).await;
    sent.unwrap();
    let bodies = received.bodies.lock().unwrap();
    assert_eq!(bodies.len(), 1);
    assert_eq!(bodies[0]["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().map(Vec::len), Some(5));
}

#[tokio::test]
async fn spans_that_a_collector_refuses_are_an_error() {
    let (sent, _) = sent(Received { refuses_spans: true, ..Received::default() }).await;
    let error = sent.unwrap_err().to_string();
    assert!(error.contains("it refused 5 spans: too old"), "{error}");
}

#[test]
fn an_address_or_headers_that_a_collector_cannot_have_are_refused() {
    for (url, headers) in [("ftp://x/", ""), ("http://u:hush@x/", ""), ("http://x/", "hush"), ("http://x/", "a b=hush")]
    {
        let error = Collector::open(&Url::parse(url).unwrap(), Some(headers)).err().unwrap().to_string();
        assert!(error.contains("expected") && !error.contains("hush"), "{error}");
    }
}
