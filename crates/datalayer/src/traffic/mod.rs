//! The traffic of a run: recorded beside its log, and read back as fixtures.
//!
//! `network.jsonl` begins with the [`Setting`] of the run; each further line is an exchange, in the order in which responses
//! began. Bodies are artifacts.
//!
//! Invariants:
//! - Secrets are removed before anything is written or compared, so that a digest tells nothing about them.
//! - Values of `Cookie` and `Authorization` are never written, and tokens that servers hand out are replaced by placeholders
//!   wherever they stand. What else a page holds is in its recording as it came.
//! - Equal requests get the replies of the recording in their order.

mod tokens;
mod volatile;

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cuebook_grammar::outcome::ArtifactRef;
use cuebook_grammar::redaction::{redacted_data, redacted_json};
use cuebook_grammar::seam::{
    ArtifactKind, ArtifactSink as _, ExchangeTimes, FixtureSource, HttpReply, HttpRequest, HttpResponse, Redactor,
    TrafficSink,
};
use cuebook_grammar::wire::{self, ReadError};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

pub use self::tokens::Tokens;
use self::tokens::is_named_token;
pub use self::volatile::Volatile;
use crate::artifact::ArtifactStore;
use crate::artifact_name::sha256;
use crate::error::{DataError, Doing};
use crate::log::{MAX_LINE, StepClock};
use crate::run_dir::RunDir;

/// The version of the format.
pub const TRAFFIC_VERSION: &str = "1.1";

/// Request headers whose values are not written.
const CREDENTIALS: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];
/// Bodies beyond this are not served: a recording may come from anywhere.
const MAX_BODY: u64 = 64 << 20;

/// Setting that a replay has to share with the recording, so that pages make the same requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Setting {
    /// Version of the format: [`TRAFFIC_VERSION`] when written.
    pub schema_version: String,
    /// The seed of randomness.
    pub seed: u32,
    /// When each document's clock begins: milliseconds since 1970.
    pub epoch_ms: u64,
    /// Width and height in CSS pixels.
    pub viewport: (u32, u32),
    /// The time zone, such as `UTC`.
    pub timezone: String,
    /// The language, such as `en-US`.
    pub locale: String,
}

impl Setting {
    /// A setting in UTC and American English.
    #[must_use]
    pub fn new(seed: u32, epoch_ms: u64, viewport: (u32, u32)) -> Self {
        Self {
            schema_version: TRAFFIC_VERSION.to_owned(),
            seed,
            epoch_ms,
            viewport,
            timezone: "UTC".to_owned(),
            locale: "en-US".to_owned(),
        }
    }
}

/// A request and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exchange {
    /// When its response began: milliseconds since 1970.
    pub ts_ms: u64,
    /// When the request was sent: milliseconds since 1970; absent if the browser did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_ms: Option<u64>,
    /// When the body had come: milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<u64>,
    /// Index of the step that had begun last when the request was sent; absent before the first step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_index: Option<u32>,
    /// HTTP method of the request.
    pub method: String,
    /// Absolute URL of the request, with the values of tokens replaced.
    pub url: String,
    /// Type of the resource, as Chrome spells it.
    pub resource_type: String,
    /// Names and values of the request's header fields.
    pub request_headers: Vec<(String, String)>,
    /// The body that was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_body: Option<ArtifactRef>,
    /// The status; absent if there was no response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Names and values of the response's header fields.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// The body that came, if it is not empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<ArtifactRef>,
    /// The body was a stream, or too large, and is not kept.
    #[serde(default)]
    pub body_omitted: bool,
    /// Why there was no response, as Chrome spells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl Exchange {
    /// Returns `true` if it is a WebSocket. Its body is then the messages that went over it, as JSON: `messages`, each
    /// with `type` (`send` or `receive`), `time` (seconds since 1970), `opcode` and `data`, and how many were
    /// `omitted`.
    #[must_use]
    pub fn is_socket(&self) -> bool {
        self.resource_type == "WebSocket"
    }
}

fn path_of(dir: &RunDir) -> PathBuf {
    dir.path().join("network.jsonl")
}

// ------------------------------------------------------------------------------------------ recording

/// Writes the traffic of a run. Clones share the file.
#[derive(Clone)]
pub struct TrafficLog {
    file: Arc<Mutex<File>>,
    path: PathBuf,
    store: ArtifactStore,
    redactor: Option<Arc<dyn Redactor>>,
    tokens: Arc<Tokens>,
    clock: StepClock,
}

impl TrafficLog {
    /// Creates the file in the folder of a run whose steps begin by `clock`. Blocks.
    ///
    /// # Errors
    /// [`DataError::Io`], also if there is one.
    pub fn create(
        dir: &RunDir,
        setting: &Setting,
        redactor: Option<Arc<dyn Redactor>>,
        clock: StepClock,
    ) -> Result<Self, DataError> {
        let path = path_of(dir);
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(DataError::io(Doing::Create, &path))?;
        let store = ArtifactStore::new(dir, redactor.clone());
        let log = Self { file: Arc::new(Mutex::new(file)), path, store, redactor, tokens: Arc::default(), clock };
        log.append(setting)?;
        Ok(log)
    }

    fn append<T: Serialize + DeserializeOwned>(&self, body: &T) -> Result<(), DataError> {
        let mut line = redacted_json(body, self.redactor.as_deref())?;
        line.push('\n');
        let written = lock(&self.file).write_all(line.as_bytes());
        written.map_err(DataError::io(Doing::Write, &self.path))
    }

    async fn store(
        &self,
        kind: ArtifactKind,
        media_type: &str,
        body: Vec<u8>,
    ) -> Result<Option<ArtifactRef>, DataError> {
        if body.is_empty() {
            return Ok(None);
        }
        self.store.store(kind, media_type, body).await.map(Some)
    }
}

impl TrafficSink for TrafficLog {
    type Error = DataError;

    async fn record(&self, request: HttpRequest, reply: HttpReply, times: ExchangeTimes) -> Result<(), DataError> {
        let sent = media_type(&request.headers);
        let (status, headers, body, failure) = match reply {
            Ok(HttpResponse { status, headers, body }) => (Some(status), headers, body, None),
            Err(failure) => (None, Vec::new(), None, Some(failure)),
        };
        let came = media_type(&headers);
        self.tokens.learn(&headers, &came, body.as_deref().unwrap_or_default());
        let replaced = |(name, value): (String, String)| (name, self.tokens.replaced(&value));
        let hidden = |(name, value): (String, String)| {
            if holds_credentials(&name) {
                (name, cuebook_grammar::secret::MASK.to_owned())
            } else {
                replaced((name, value))
            }
        };
        let body_omitted = body.is_none() && failure.is_none();
        let body = self.tokens.replaced_in(&came, body.unwrap_or_default());
        let sent_body = self.tokens.replaced_in(&sent, request.body);
        self.append(&Exchange {
            ts_ms: times.responded_ms,
            requested_ms: times.requested_ms,
            ended_ms: Some(times.ended_ms),
            step_index: self.clock.step_at(times.requested_ms.unwrap_or(times.responded_ms)),
            method: request.method,
            url: self.tokens.replaced(&request.url),
            resource_type: request.resource_type,
            request_headers: request.headers.into_iter().map(hidden).collect(),
            request_body: self.store(ArtifactKind::RequestBody, &sent, sent_body).await?,
            status,
            headers: headers.into_iter().map(replaced).collect(),
            body_omitted,
            body: self.store(ArtifactKind::ResponseBody, &came, body).await?,
            failure,
        })
    }
}

/// Returns `true` if a header field of a request has a value that is not shown or written.
#[must_use]
pub fn holds_credentials(name: &str) -> bool {
    CREDENTIALS.iter().any(|secret| name.eq_ignore_ascii_case(secret)) || is_named_token(name)
}

/// The media type that header fields state, without its parameters.
fn media_type(headers: &[(String, String)]) -> String {
    let stated = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let stated = stated.and_then(|(_, value)| value.split(';').next()).unwrap_or_default();
    stated.trim().to_ascii_lowercase()
}

fn lock<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

// -------------------------------------------------------------------------------------------- reading

/// The exchanges of a run, one after another.
pub struct Exchanges {
    source: BufReader<File>,
    buffer: Vec<u8>,
    path: PathBuf,
    line: u64,
}

impl Exchanges {
    /// Opens the traffic of a run; `None` if it was not recorded. Blocks.
    ///
    /// # Errors
    /// [`DataError::Io`]; [`DataError::Line`] if it does not begin with a setting.
    pub fn open(dir: &RunDir) -> Result<Option<(Setting, Self)>, DataError> {
        let path = path_of(dir);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(DataError::io(Doing::Read, &path)(error)),
        };
        let mut exchanges = Self { source: BufReader::new(file), buffer: Vec::new(), path, line: 0 };
        let setting: Setting = exchanges.read().unwrap_or_else(|| {
            Err(exchanges.wrong(DataError::NotAnEntry(ReadError::new("the file is empty: it lacks its setting"))))
        })?;
        wire::check_version(&setting.schema_version, TRAFFIC_VERSION)
            .map_err(|error| exchanges.wrong(DataError::NotAnEntry(error)))?;
        Ok(Some((setting, exchanges)))
    }

    fn read<T: DeserializeOwned>(&mut self) -> Option<Result<T, DataError>> {
        self.line += 1;
        self.buffer.clear();
        let bytes = match self.source.by_ref().take(MAX_LINE + 1).read_until(b'\n', &mut self.buffer) {
            Ok(0) => return None,
            Ok(bytes) => bytes as u64,
            Err(error) => return Some(Err(DataError::io(Doing::Read, &self.path)(error))),
        };
        if bytes > MAX_LINE {
            return Some(Err(self.wrong(DataError::TooLong { limit: MAX_LINE, seen: bytes })));
        }
        let read = serde_json::from_slice(&self.buffer);
        Some(read.map_err(|source| self.wrong(DataError::NotJson { column: source.column(), source })))
    }

    fn wrong(&self, source: DataError) -> DataError {
        DataError::Line { line: self.line, source: Box::new(source) }
    }
}

/// A line that a crash cut off is the last one, and is left out.
impl Iterator for Exchanges {
    type Item = Result<Exchange, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.read()?;
        let is_cut_off = read.is_err() && !self.buffer.ends_with(b"\n") && self.buffer.len() as u64 <= MAX_LINE;
        if is_cut_off { None } else { Some(read) }
    }
}

// ------------------------------------------------------------------------------------------- fixtures

/// Rules that distinguish requests, and handle those beyond the recording.
#[derive(Clone, Debug, Default)]
pub struct FixtureRules {
    /// Parts of requests that do not distinguish them.
    pub volatile: Volatile,
    /// `true` if a request that comes more often than in the recording is a miss. Otherwise it gets the last reply
    /// again, as a page that asks at intervals needs it.
    pub is_strict: bool,
    /// The positions of the exchanges that are there at all; `None` for all.
    pub only: Option<BTreeSet<usize>>,
}

/// The replies of a recording. Clones share their state.
#[derive(Clone)]
pub struct Fixtures(Arc<Inner>);

struct Inner {
    store: ArtifactStore,
    redactor: Option<Arc<dyn Redactor>>,
    rules: FixtureRules,
    queues: Mutex<HashMap<Key, Queue>>,
    misses: Mutex<Vec<String>>,
    /// WebSockets of the recording, by their URLs.
    sockets: BTreeSet<String>,
    served: Mutex<BTreeSet<usize>>,
}

/// Key that is equal for equal requests.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    method: String,
    url: String,
    body: String,
    range: String,
}

#[derive(Default)]
struct Queue {
    replies: Vec<(usize, Exchange)>,
    asked: usize,
}

impl Fixtures {
    /// Reads the recording of a run; `None` if there is none. Bodies are read when they are needed. Blocks.
    ///
    /// # Errors
    /// As [`Exchanges`].
    pub fn open(
        dir: &RunDir,
        rules: FixtureRules,
        redactor: Option<Arc<dyn Redactor>>,
    ) -> Result<Option<(Setting, Self)>, DataError> {
        let Some((setting, exchanges)) = Exchanges::open(dir)? else { return Ok(None) };
        // What was written is free of secrets already.
        let mut inner = Inner {
            store: ArtifactStore::new(dir, None),
            redactor,
            rules,
            queues: Mutex::default(),
            misses: Mutex::default(),
            sockets: BTreeSet::new(),
            served: Mutex::default(),
        };
        for (position, exchange) in exchanges.enumerate() {
            let exchange = exchange?;
            let is_left_out = inner.rules.only.as_ref().is_some_and(|only| !only.contains(&position));
            // Chrome asks nobody for a WebSocket.
            if exchange.is_socket() && inner.sockets.len() < MAX_MISSES {
                inner.sockets.insert(exchange.url.clone());
            }
            if is_left_out || exchange.is_socket() {
                continue;
            }
            let body = match &exchange.request_body {
                Some(body) => inner.store.read(body)?,
                None => Vec::new(),
            };
            let key = inner.key(&exchange.method, &exchange.url, &exchange.request_headers, &body);
            lock(&inner.queues).entry(key).or_default().replies.push((position, exchange));
        }
        Ok(Some((setting, Self(Arc::new(inner)))))
    }

    /// Methods and URLs of the requests that the recording does not have, redacted, the first 100.
    #[must_use]
    pub fn misses(&self) -> Vec<String> {
        lock(&self.0.misses).clone()
    }

    /// URLs of the recorded WebSockets, the first 100. They cannot be replayed: without a network, they fail.
    #[must_use]
    pub fn sockets(&self) -> Vec<String> {
        self.0.sockets.iter().cloned().collect()
    }

    /// The positions of the exchanges that were needed so far.
    #[must_use]
    pub fn served(&self) -> BTreeSet<usize> {
        lock(&self.0.served).clone()
    }
}

/// Copies the setting of a recording, the exchanges at the positions of `only`, and their bodies, into a folder without a
/// recording. Blocks.
///
/// # Errors
/// As [`Exchanges`], and of the artifacts.
pub fn copy(from: &RunDir, only: &BTreeSet<usize>, to: &RunDir) -> Result<(), DataError> {
    let Some((setting, exchanges)) = Exchanges::open(from)? else { return Ok(()) };
    let (store, log) = (ArtifactStore::new(from, None), TrafficLog::create(to, &setting, None, StepClock::default())?);
    for (position, exchange) in exchanges.enumerate() {
        let exchange = exchange?;
        if !only.contains(&position) {
            continue;
        }
        for body in [&exchange.request_body, &exchange.body].into_iter().flatten() {
            let bytes = store.read(body)?;
            let path = to.path().join(&body.path);
            let folder = path.parent().unwrap_or(to.path());
            fs::create_dir_all(folder).map_err(DataError::io(Doing::Create, folder))?;
            fs::write(&path, bytes).map_err(DataError::io(Doing::Write, &path))?;
        }
        log.append(&exchange)?;
    }
    Ok(())
}

impl Inner {
    fn key(&self, method: &str, url: &str, headers: &[(String, String)], body: &[u8]) -> Key {
        let clean = |text: &str| match &self.redactor {
            Some(redactor) => redactor.redact(text).into_owned(),
            None => text.to_owned(),
        };
        let find = |name: &str| headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let mut url = clean(url);
        if let Ok(mut parsed) = Url::parse(&url) {
            let is_volatile = |name: &str| self.rules.volatile.is_volatile(name);
            if parsed.query_pairs().any(|(name, _)| is_volatile(&name)) {
                let kept: Vec<(String, String)> = parsed
                    .query_pairs()
                    .filter(|(name, _)| !is_volatile(name))
                    .map(|(n, v)| (n.into(), v.into()))
                    .collect();
                parsed.query_pairs_mut().clear().extend_pairs(kept);
            }
            parsed.set_fragment(None);
            url = parsed.into();
        }
        let text = String::from_utf8_lossy(body);
        // As it is stored.
        let mut body = match serde_json::from_str::<Value>(&text) {
            Ok(mut value @ (Value::Object(_) | Value::Array(_))) => {
                self.rules.volatile.strip(&mut value);
                redacted_data(&value, self.redactor.as_deref()).to_string()
            }
            _ => clean(&text),
        };
        // Browsers separate the parts of a form at random.
        let kind = find("content-type").map_or("", |(_, value)| value.as_str());
        if let Some((_, boundary)) = kind.split_once("boundary=").filter(|(_, boundary)| !boundary.is_empty()) {
            body = body.replace(boundary.trim_matches('"'), "boundary");
        }
        Key {
            method: method.to_ascii_uppercase(),
            url,
            body: if body.is_empty() { String::new() } else { sha256(body.as_bytes()) },
            range: find("range").map(|(_, value)| value.clone()).unwrap_or_default(),
        }
    }

    /// The next reply to a request.
    fn next(&self, key: &Key) -> Option<Exchange> {
        let whole = Key { range: String::new(), ..key.clone() };
        // Of what was got whole, a part or the head can be given.
        let of_get = Key { method: "GET".to_owned(), ..whole.clone() };
        let is_head = key.method == "HEAD";
        let mut queues = lock(&self.queues);
        for known in [Some(key), Some(&whole), is_head.then_some(&of_get)].into_iter().flatten() {
            let Some(queue) = queues.get_mut(known) else { continue };
            let at = queue.asked;
            queue.asked += 1;
            let found = queue.replies.get(at).or_else(|| queue.replies.last().filter(|_| !self.rules.is_strict));
            return found.map(|(position, exchange)| {
                lock(&self.served).insert(*position);
                exchange.clone()
            });
        }
        None
    }
}

/// Misses beyond these are counted by who serves them.
const MAX_MISSES: usize = 100;

impl FixtureSource for Fixtures {
    type Error = DataError;

    async fn reply(&self, request: &HttpRequest) -> Result<Option<HttpReply>, DataError> {
        let key = self.0.key(&request.method, &request.url, &request.headers, &request.body);
        let Some(exchange) = self.0.next(&key) else {
            let mut misses = lock(&self.0.misses);
            if misses.len() < MAX_MISSES {
                misses.push(format!("{} {}", key.method, key.url));
            }
            return Ok(None);
        };
        if let Some(failure) = exchange.failure {
            return Ok(Some(Err(failure)));
        }
        let body = match exchange.body {
            Some(body) if body.bytes > MAX_BODY => {
                return Err(DataError::TooLong { limit: MAX_BODY, seen: body.bytes });
            }
            Some(body) => {
                let store = self.0.store.clone();
                let read = tokio::task::spawn_blocking(move || store.read(&body));
                read.await.map_err(|_| DataError::WorkerGone)??
            }
            None => Vec::new(),
        };
        let status = exchange.status.unwrap_or(200);
        Ok(Some(Ok(HttpResponse { status, headers: exchange.headers, body: Some(body) })))
    }
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::id::RunId;

    use super::*;
    use crate::redactor::ValueRedactor;

    fn request(method: &str, url: &str, headers: &[(&str, &str)], body: &str) -> HttpRequest {
        HttpRequest {
            method: method.to_owned(),
            url: url.to_owned(),
            headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            body: body.as_bytes().to_vec(),
            resource_type: "XHR".to_owned(),
        }
    }

    fn said(text: &str) -> HttpReply {
        let headers = vec![("content-type".to_owned(), "text/plain".to_owned())];
        Ok(HttpResponse { status: 200, headers, body: Some(text.as_bytes().to_vec()) })
    }

    /// A recording of these exchanges, and the folder that holds it.
    async fn recording(exchanges: Vec<(HttpRequest, HttpReply)>, secret: &str) -> (tempfile::TempDir, RunDir) {
        let out = tempfile::tempdir().unwrap();
        let dir = RunDir::create(out.path(), &RunId::new("r1")).unwrap();
        let redactor: Arc<dyn Redactor> = Arc::new(ValueRedactor::new([secret]));
        let (setting, clock) = (Setting::new(7, 1_000, (1280, 720)), StepClock::default());
        let log = TrafficLog::create(&dir, &setting, Some(redactor), clock).unwrap();
        let times = ExchangeTimes { requested_ms: None, responded_ms: 5, ended_ms: 5 };
        for (request, reply) in exchanges {
            log.record(request, reply, times).await.unwrap();
        }
        (out, dir)
    }

    async fn body(fixtures: &Fixtures, request: &HttpRequest) -> Option<String> {
        let reply = fixtures.reply(request).await.unwrap()?;
        Some(reply.map_or_else(|failure| failure, |reply| String::from_utf8(reply.body.unwrap()).unwrap()))
    }

    #[tokio::test]
    async fn equal_requests_get_the_replies_in_their_order_and_then_the_last_again() {
        let poll = || request("GET", "https://shop.test/poll?n=1&_=17", &[], "");
        let posted = |text: &str| request("POST", "https://shop.test/poll?n=1", &[], text);
        let exchanges = vec![
            (poll(), said("one")),
            (posted("a"), said("A")),
            (poll(), said("two")),
            (posted("b"), Err("TimedOut".into())),
        ];
        let (_out, dir) = recording(exchanges, "unused-secret").await;
        let open = |is_strict| {
            let rules = FixtureRules { is_strict, ..FixtureRules::default() };
            Fixtures::open(&dir, rules, None).unwrap().unwrap()
        };
        let (setting, fixtures) = open(false);
        assert_eq!(setting, Setting::new(7, 1_000, (1280, 720)));
        let later = request("GET", "https://shop.test/poll?n=1&_=99#top", &[], "");
        for expected in ["one", "two", "two"] {
            assert_eq!(body(&fixtures, &later).await.as_deref(), Some(expected));
        }
        assert_eq!(body(&fixtures, &posted("b")).await.as_deref(), Some("TimedOut"));
        assert_eq!(body(&fixtures, &posted("a")).await.as_deref(), Some("A"));
        assert_eq!(body(&fixtures, &posted("c")).await, None);
        assert_eq!(fixtures.misses(), ["POST https://shop.test/poll?n=1"]);

        let (_, strict) = open(true);
        for expected in [Some("one"), Some("two"), None] {
            assert_eq!(body(&strict, &poll()).await.as_deref(), expected);
        }
        assert_eq!(body(&strict, &request("HEAD", "https://shop.test/other", &[], "")).await, None);
    }

    #[tokio::test]
    async fn secrets_are_in_no_recording_and_requests_with_them_are_still_found() {
        let secret = "correct-horse 7";
        let json = |text: &str| request("POST", "https://shop.test/in", &[("Content-Type", "application/json")], text);
        let form = request(
            "POST",
            "https://shop.test/in",
            &[
                ("content-type", "application/x-www-form-urlencoded"),
                ("Cookie", "id=correct-horse"),
                ("Authorization", "Basic eA=="),
            ],
            "password=correct-horse+7",
        );
        let parts = |boundary: &str| {
            let kind = format!("multipart/form-data; boundary={boundary}");
            let text = format!("--{boundary}\r\nname=p\r\n\r\ncorrect-horse 7\r\n--{boundary}--");
            request("POST", "https://shop.test/in", &[("content-type", &kind)], &text)
        };
        let exchanges = vec![
            (json("{ \"password\": \"correct-horse 7\" }"), said("json")),
            (form.clone(), said("you said correct-horse 7")),
            (parts("----a1"), said("parts")),
        ];
        let (_out, dir) = recording(exchanges, secret).await;
        let mut files = vec![path_of(&dir)];
        for folder in std::fs::read_dir(dir.artifacts_path()).unwrap() {
            files.extend(std::fs::read_dir(folder.unwrap().path()).unwrap().map(|file| file.unwrap().path()));
        }
        assert_eq!(files.len(), 7);
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(!text.contains("horse") && !text.contains("eA=="), "{}: {text}", file.display());
        }
        let redactor: Arc<dyn Redactor> = Arc::new(ValueRedactor::new([secret]));
        let (_, fixtures) = Fixtures::open(&dir, FixtureRules::default(), Some(redactor)).unwrap().unwrap();
        assert_eq!(body(&fixtures, &json("{ \"password\": \"correct-horse 7\" }")).await.as_deref(), Some("json"));
        assert!(body(&fixtures, &form).await.is_some());
        assert_eq!(body(&fixtures, &parts("----b2")).await.as_deref(), Some("parts"));
        assert_eq!(body(&fixtures, &json("{ \"password\": \"wrong\" }")).await, None);
    }

    #[tokio::test]
    async fn s47_tokens_are_placeholders_and_requests_with_those_are_found() {
        let page = request("GET", "https://shop.test/", &[], "");
        let form_of_page = b"<input name=csrf value=0123456789abcdef>".to_vec();
        let headers = [
            ("Content-Type", "text/html"),
            ("Set-Cookie", "sid=session-of-ada; HttpOnly"),
            ("Set-Cookie", "csrf=0123456789abcdef"),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let form = [("Content-Type", "application/x-www-form-urlencoded"), ("X-CSRF-Token", "0123456789abcdef")];
        let post = |token: &str| request("POST", "https://shop.test/save", &form, &format!("a=1&csrf={token}"));
        let exchanges = vec![
            (page.clone(), Ok(HttpResponse { status: 200, headers, body: Some(form_of_page) })),
            (post("0123456789abcdef"), said("saved for session-of-ada")),
        ];
        let (_out, dir) = recording(exchanges, "unused-secret").await;
        let mut files = vec![path_of(&dir)];
        for folder in std::fs::read_dir(dir.artifacts_path()).unwrap() {
            files.extend(std::fs::read_dir(folder.unwrap().path()).unwrap().map(|file| file.unwrap().path()));
        }
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(!text.contains("0123456789abcdef") && !text.contains("session-of-ada"), "{text}");
        }
        let (_, fixtures) = Fixtures::open(&dir, FixtureRules::default(), None).unwrap().unwrap();
        let seen = body(&fixtures, &page).await.unwrap();
        let token = seen.split("value=").nth(1).unwrap().trim_end_matches('>').to_owned();
        assert!(body(&fixtures, &post(&token)).await.unwrap().starts_with("saved"), "{token}");
    }

    #[tokio::test]
    async fn a_part_or_the_head_is_given_of_what_was_got_whole() {
        let film = |method, headers: &[(&str, &str)]| request(method, "https://shop.test/film", headers, "");
        let part = film("GET", &[("Range", "bytes=5-6")]);
        let (_out, dir) =
            recording(vec![(film("GET", &[]), said("whole")), (part.clone(), said("part"))], "unused-secret").await;
        let (_, fixtures) = Fixtures::open(&dir, FixtureRules::default(), None).unwrap().unwrap();
        assert_eq!(body(&fixtures, &part).await.as_deref(), Some("part"));
        assert_eq!(body(&fixtures, &film("GET", &[("range", "bytes=0-")])).await.as_deref(), Some("whole"));
        assert_eq!(body(&fixtures, &film("HEAD", &[])).await.as_deref(), Some("whole"));
    }

    #[tokio::test]
    async fn a_recording_that_is_cut_off_or_wrong_says_so() {
        let (_out, dir) =
            recording(vec![(request("GET", "https://a.test/", &[], ""), said("a"))], "unused-secret").await;
        let path = path_of(&dir);
        let whole = std::fs::read_to_string(&path).unwrap();
        let open = || Fixtures::open(&dir, FixtureRules::default(), None).map(|found| found.is_some());
        std::fs::write(&path, format!("{whole}{}", &whole[..20])).unwrap();
        assert!(open().unwrap(), "an incomplete last line is left out");
        std::fs::write(&path, format!("{}nonsense\n{whole}", whole)).unwrap();
        assert!(matches!(open().unwrap_err(), DataError::Line { line: 3, .. }));
        std::fs::write(
            &path,
            whole.replace(&format!("\"schemaVersion\":\"{TRAFFIC_VERSION}\""), "\"schemaVersion\":\"2.0\""),
        )
        .unwrap();
        assert!(matches!(open().unwrap_err(), DataError::Line { line: 1, .. }));
        std::fs::write(&path, "").unwrap();
        assert!(matches!(open().unwrap_err(), DataError::Line { .. }));
        std::fs::remove_file(&path).unwrap();
        assert!(!open().unwrap());
    }
}
