//! Calls about what surrounds the pages of a session: state, settings, console, requests.
//!
//! Invariants:
//! - No value of a cookie or of a storage is in an answer, or in the log.
//! - A call that changes what pages see is logged before it is carried out.
//! - A file that a model names lies in the folder of the run, or, to be read, in a directory that uploads may come from.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use cuebook::{ColorScheme, Device, Emulation, Geolocation, PageRequest, Session};
use cuebook_grammar::policy::RequestEntry;
use cuebook_grammar::render::{counted, one_line, quoted};
use cuebook_grammar::secret::MASK;
use serde_json::{Map, Value, json};

use crate::answer::{Answer, fenced};
use crate::call::ContextCall;

/// The most lines of a list.
const LINES: usize = 200;
/// The folder of a run for files that calls name.
const FOLDER: &str = "files";
/// The largest body that a file may have, in bytes: the log keeps it.
const BODY: u64 = 1 << 20;

/// Where the files of a call may lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Files {
    /// Wherever the caller says, who is a person or has a shell.
    Anywhere,
    /// In the folder of the run; those that are read in these directories too.
    In(Vec<PathBuf>),
}

impl Files {
    /// Those of a call, which a model may have written.
    pub(crate) fn of(session: &Session, is_confined: bool) -> Self {
        if is_confined { Self::In(cuebook::upload_roots(session.policy())) } else { Self::Anywhere }
    }

    /// The path of a file to write. Its folder exists.
    fn to_write(&self, name: &str, log: Option<&str>) -> Result<PathBuf, String> {
        match self {
            Self::Anywhere => Ok(PathBuf::from(name)),
            Self::In(_) => {
                let folder = Path::new(log.ok_or("the session keeps no folder for files")?).join(FOLDER);
                let path = folder.join(plain_name(name)?);
                std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
                Ok(path)
            }
        }
    }

    /// Writes a file, and returns its path.
    pub(crate) fn write(&self, name: &str, log: Option<&str>, bytes: &[u8]) -> Result<PathBuf, String> {
        let path = self.to_write(name, log)?;
        std::fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    /// The path of a file to read.
    fn to_read(&self, name: &str, log: Option<&str>) -> Result<PathBuf, String> {
        let Self::In(roots) = self else { return Ok(PathBuf::from(name)) };
        if let (Ok(name), Some(log)) = (plain_name(name), log) {
            let path = Path::new(log).join(FOLDER).join(name);
            if path.exists() {
                return Ok(path);
            }
        }
        let is_below =
            |path: &Path| roots.iter().any(|root| root.canonicalize().is_ok_and(|root| path.starts_with(root)));
        match Path::new(name).canonicalize() {
            Ok(path) if is_below(&path) => Ok(path),
            _ => Err(format!(
                "{} is neither a file that this session saved nor one in a directory that it may read (--root)",
                quoted(name, 120)
            )),
        }
    }
}

/// A name that cannot leave its folder.
fn plain_name(name: &str) -> Result<&str, String> {
    let is_plain = Path::new(name).file_name().is_some_and(|file| file == name) && !name.contains(['/', '\\', ':']);
    if is_plain { Ok(name) } else { Err(format!("{} is no plain file name", quoted(name, 120))) }
}

/// Carries out a call.
pub(crate) async fn perform(session: &mut Session, files: &Files, call: ContextCall) -> Answer {
    match carried_out(session, files, call).await {
        Ok(result) => Answer { result, ..Answer::default() },
        Err(why) => Answer::failed(why),
    }
}

/// The call as the log keeps it.
fn kept(call: &ContextCall) -> Value {
    json!(match call {
        ContextCall::SetCookie { name, url, .. } => {
            ContextCall::SetCookie { name: name.clone(), value: MASK.to_owned(), url: url.clone() }
        }
        call => call.clone(),
    })
}

async fn carried_out(session: &mut Session, files: &Files, call: ContextCall) -> Result<Vec<String>, String> {
    let log = session.log().map(str::to_owned);
    let log = log.as_deref();
    let context = session.context().map_err(said)?;
    // The log has what was answered, and not where it came from.
    let call = match call {
        ContextCall::RouteFile { mut rule, file } => {
            rule["do"]["respond"]["body"] = body(&text_of(&files.to_read(&file, log)?)?);
            ContextCall::Route(rule)
        }
        call => call,
    };
    if !call.only_looks() {
        session.note_change(kept(&call)).await.map_err(said)?;
    }
    match call {
        ContextCall::SaveState(name) => {
            let path = files.to_write(&name, log)?;
            let cookies = context.save_storage(&path).await.map_err(said)?;
            let mut result =
                vec![format!("ok: saved {} and the storage to {}", counted(cookies.len(), "cookie"), path.display())];
            let first = cookies.iter().filter_map(|cookie| cookie.expires).reduce(f64::min);
            result.extend(first.map(|first| format!("the first of them expires {}", at(first))));
            Ok(result)
        }
        ContextCall::LoadState(name) => {
            let path = files.to_read(&name, log)?;
            let (cookies, origins) = context.load_storage(&path).await.map_err(said)?;
            let (cookies, origins) = (counted(cookies, "cookie"), counted(origins, "origin"));
            Ok(vec![format!("ok: loaded {cookies} and the storage of {origins}; reload the page to use them")])
        }
        ContextCall::Cookies(name) => {
            let mut cookies = context.cookies().await.map_err(said)?;
            cookies.retain(|cookie| name.as_ref().is_none_or(|name| cookie.name == *name));
            let lines = cookies.iter().map(|cookie| {
                let expires = cookie.expires.map_or("session".to_owned(), |expires| format!("until {}", at(expires)));
                let flags = [(cookie.http_only, ", httpOnly"), (cookie.secure, ", secure")];
                let flags: String = flags.into_iter().filter(|(is_on, _)| *is_on).map(|(_, flag)| flag).collect();
                let (domain, path) = (one_line(&cookie.domain, 100), one_line(&cookie.path, 100));
                format!("- {} of {domain}{path}: {expires}{flags}", quoted(&cookie.name, 80))
            });
            Ok(listed(format!("ok: {}", counted(cookies.len(), "cookie")), lines.collect()))
        }
        ContextCall::SetCookie { name, value, url } => {
            let url = url.unwrap_or_else(|| context.url());
            context.set_cookie(&name, &value, &url).await.map_err(said)?;
            Ok(vec![format!("ok: set the cookie {} for {}", quoted(&name, 80), quoted(&url, 200))])
        }
        ContextCall::ClearCookies(name) => {
            let count = context.clear_cookies(name.as_deref()).await.map_err(said)?;
            Ok(vec![format!("ok: removed {}", counted(count, "cookie"))])
        }
        ContextCall::Storage { is_session, key } => {
            let mut stored = context.stored(is_session).await.map_err(said)?;
            stored.retain(|(name, _)| key.as_ref().is_none_or(|key| name == key));
            let verdict = format!("ok: {}; values are never shown", counted(stored.len(), "key"));
            let line = |(name, length): &(String, usize)| {
                format!("- {}: {}", quoted(name, 200), counted(*length, "character"))
            };
            Ok(listed(verdict, stored.iter().map(line).collect()))
        }
        ContextCall::Credentials => {
            let policy = session.policy();
            let entered = policy.bound_secrets().map(|(name, origins)| {
                format!("- {}: entered at {}", quoted(name.as_str(), 80), one_line(&origins.join(", "), 300))
            });
            let sent = policy.request_secrets().map(|(name, origin)| {
                format!(
                    "- {}: sent to {} with each request (HTTP Basic)",
                    quoted(name.as_str(), 80),
                    one_line(&origin, 300)
                )
            });
            let lines: Vec<String> = entered.chain(sent).collect();
            Ok(listed(format!("ok: {}; values are never shown", counted(lines.len(), "secret")), lines))
        }
        ContextCall::Emulate(members) => {
            let former = context.emulation();
            let emulation = emulated(former, &members)?;
            context.emulate(emulation.clone()).await.map_err(said)?;
            Ok(vec![format!("ok: pages see {}", one_line(&emulation.to_string(), 300))])
        }
        ContextCall::Console(level) => {
            let (messages, missed) = context.console();
            let rank = |level: &str| ["error", "warning", "info", "log", "debug"].iter().position(|it| *it == level);
            let meant = messages.iter().filter(|message| rank(&message.level) <= rank(&level));
            let lines: Vec<String> = meant
                .map(|message| {
                    let at = if message.at.is_empty() {
                        String::new()
                    } else {
                        format!(" ({})", one_line(&message.at, 200))
                    };
                    format!("- {}: {}{at}", one_line(&message.level, 20), quoted(&message.text, 500))
                })
                .collect();
            Ok(listed(format!("ok: {}{}", counted(lines.len(), "message"), lost(missed)), lines))
        }
        ContextCall::Requests(filter) => {
            let (requests, missed) = context.requests();
            let is_meant = |entry: &&PageRequest| match filter.as_deref() {
                None => true,
                Some("failed") => entry.failure.is_some() || entry.status.is_some_and(|status| status >= 400),
                Some(part) => entry.url.contains(part),
            };
            let lines: Vec<String> = requests.iter().filter(is_meant).map(line).collect();
            Ok(listed(format!("ok: {}{}", counted(lines.len(), "request"), lost(missed)), lines))
        }
        ContextCall::Request(index) => {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is whole")]
            let details = context.request_details(index as u64).await;
            let details =
                details.ok_or_else(|| format!("there is no request {index}; browser_network_requests lists them"))?;
            let mut result = vec![line(&details.entry)];
            for (title, headers) in [("request", &details.request_headers), ("response", &details.response_headers)] {
                let lines =
                    headers.iter().map(|(name, value)| format!("{name}: {}", value.as_str().unwrap_or_default()));
                let lines: Vec<String> = lines.collect();
                result.push(format!("headers of the {title}:\n{}", fenced(&lines.join("\n"))));
            }
            let bodies = [("request", details.request_body), ("response", details.response_body)];
            for (title, body) in bodies {
                result.extend(body.map(|body| format!("body of the {title}:\n{}", fenced(&body))));
            }
            Ok(result)
        }
        // Its file was read above.
        ContextCall::Route(rule) | ContextCall::RouteFile { rule, .. } => {
            let rule: RequestEntry = serde_json::from_value(rule).map_err(said)?;
            let policy = session.policy().clone().with_request(&rule).map_err(said)?;
            session.judge_by(policy);
            Ok(vec![format!("ok: requests to {} are answered here from the next step on", quoted(&rule.url, 200))])
        }
        ContextCall::Unroute(url) => {
            let mut policy = session.policy().clone();
            let count = policy.remove_requests(&url);
            session.judge_by(policy);
            match count {
                0 => Err(format!("there is no rule for {}; browser_route without a URL lists them", quoted(&url, 200))),
                _ => Ok(vec![format!("ok: removed {}", counted(count, "rule"))]),
            }
        }
        ContextCall::Routes => {
            let rules: Vec<String> =
                session.policy().request_rules().map(|url| format!("- {}", one_line(url, 300))).collect();
            Ok(listed(format!("ok: {}", counted(rules.len(), "rule")), rules))
        }
        ContextCall::Pdf(name) => {
            let printed = context.pdf().await.map_err(said)?;
            let path = files.write(&name, log, &printed)?;
            Ok(vec![format!("ok: saved {} bytes to {}", printed.len(), path.display())])
        }
    }
}

/// A body as it was written: one that is JSON is sent as what it is.
pub(crate) fn body(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
        _ => json!(text),
    }
}

/// The text of a file for a body.
fn text_of(path: &Path) -> Result<String, String> {
    let refused = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    // Before it is opened, which would wait for whoever writes a pipe.
    let about = std::fs::metadata(path).map_err(|error| refused(&error))?;
    if !about.is_file() {
        return Err(refused(&"expected a file with the body of an answer"));
    }
    if about.len() > BODY {
        return Err(refused(&format!("the body has {} bytes, and {BODY} are the most", about.len())));
    }
    let mut text = String::new();
    // It may grow meanwhile.
    let file = std::fs::File::open(path).map_err(|error| refused(&error))?;
    file.take(BODY).read_to_string(&mut text).map_err(|error| refused(&error))?;
    Ok(text)
}

fn said(error: impl std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(next) = source {
        let next_text = next.to_string();
        if !text.contains(&next_text) {
            text.push_str(&format!(": {next_text}"));
        }
        source = next.source();
    }
    text
}

/// Seconds since 1970 as a time.
fn at(seconds: f64) -> String {
    let time = std::time::Duration::try_from_secs_f64(seconds).ok();
    let time = time.and_then(|time| std::time::UNIX_EPOCH.checked_add(time));
    time.map_or_else(|| "some day".to_owned(), httpdate::fmt_http_date)
}

fn lost(missed: u64) -> String {
    if missed == 0 { String::new() } else { format!(" ({missed} reports were lost)") }
}

/// The newest lines below a verdict.
fn listed(verdict: String, mut lines: Vec<String>) -> Vec<String> {
    let left_out = lines.len().saturating_sub(LINES);
    lines.drain(..left_out);
    let left_out = (left_out > 0).then(|| format!("- {left_out} older ones are left out"));
    std::iter::once(verdict).chain(left_out).chain(lines).collect()
}

fn line(entry: &PageRequest) -> String {
    let state = match (&entry.failure, entry.status) {
        (Some(failure), _) => format!("failed: {}", one_line(failure, 100)),
        (None, Some(status)) => status.to_string(),
        (None, None) => "open".to_owned(),
    };
    let kind = entry.media_type.as_deref().map(|kind| format!(" {}", one_line(kind, 60))).unwrap_or_default();
    let took = entry.took_ms.map(|took| format!(" {took} ms")).unwrap_or_default();
    format!("{}. {} {} {state}{kind}{took}", entry.index, one_line(&entry.method, 20), quoted(&entry.url, 500))
}

/// Settings, with those that a call names.
fn emulated(former: Emulation, members: &Map<String, Value>) -> Result<Emulation, String> {
    let mut now = if members.get("reset") == Some(&Value::Bool(true)) { Emulation::default() } else { former };
    for (name, value) in members {
        let text = value.as_str().unwrap_or_default();
        let stated = (!text.is_empty()).then(|| text.to_owned());
        match name.as_str() {
            "device" => {
                let device = stated.map(|name| {
                    let names = || Device::names().collect::<Vec<_>>().join(", ");
                    Device::named(&name).ok_or_else(|| format!("{} is no device: {}", quoted(&name, 80), names()))
                });
                now.device = device.transpose()?;
            }
            "viewport" => now.device = stated.map(|size| Device::of_size(&size)).transpose().map_err(said)?,
            "locale" => now.locale = stated,
            "timezone" => now.timezone = stated,
            "geolocation" => {
                now.geolocation = stated.map(|place| place.parse::<Geolocation>()).transpose().map_err(said)?
            }
            "colorScheme" => {
                now.color_scheme = match text {
                    "dark" => Some(ColorScheme::Dark),
                    "light" => Some(ColorScheme::Light),
                    _ => None,
                };
            }
            "offline" => now.offline = text == "true",
            _ => {}
        }
    }
    Ok(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_a_model_names_stays_in_its_folder() {
        let run = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::fs::write(elsewhere.path().join("state.json"), "{}").unwrap();
        let log = run.path().to_str();
        let files = Files::In(vec![elsewhere.path().to_owned()]);
        assert_eq!(files.to_write("state.json", log), Ok(run.path().join("files/state.json")));
        for name in ["../state.json", "/etc/passwd", "a/b", "..", ".", "", "c:\\x"] {
            assert!(files.to_write(name, log).unwrap_err().contains("no plain file name"), "{name}");
            assert!(files.to_read(name, log).unwrap_err().contains("--root"), "{name}");
        }
        let allowed = elsewhere.path().join("state.json");
        assert_eq!(files.to_read(allowed.to_str().unwrap(), log), Ok(allowed.canonicalize().unwrap()));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("/etc/hostname", elsewhere.path().join("link")).unwrap();
            assert!(files.to_read(elsewhere.path().join("link").to_str().unwrap(), log).is_err());
        }
        assert_eq!(Files::Anywhere.to_write("a/b.json", None), Ok(PathBuf::from("a/b.json")));
    }

    #[test]
    fn a_body_is_a_file_of_text_of_bounded_length() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            text_of(&path)
        };
        let most = usize::try_from(BODY).unwrap();
        assert_eq!(file("most", &vec![b'a'; most]).unwrap().len(), most);
        assert!(
            file("more", &vec![b'a'; most + 1]).unwrap_err().contains("has 1048577 bytes, and 1048576 are the most")
        );
        assert!(file("picture", b"\x89PNG\xff").unwrap_err().contains("valid UTF-8"));
        assert!(text_of(folder.path()).unwrap_err().contains("expected a file"));
        assert_eq!(body("{\"a\": 1}"), json!({ "a": 1 }));
        assert_eq!(body("1"), json!("1"));
    }

    #[test]
    fn settings_that_are_not_named_stay() {
        let read = |former: Emulation, members: Value| emulated(former, members.as_object().unwrap());
        let german = read(Emulation::default(), json!({ "locale": "de-DE", "offline": "true" })).unwrap();
        let dark = read(german.clone(), json!({ "colorScheme": "dark", "offline": "false" })).unwrap();
        assert_eq!(
            (dark.locale.as_deref(), dark.color_scheme, dark.offline),
            (Some("de-DE"), Some(ColorScheme::Dark), false)
        );
        assert_eq!(read(dark, json!({ "reset": true })), Ok(Emulation::default()));
        assert!(read(german.clone(), json!({ "device": "Nokia" })).unwrap_err().contains("Pixel 7"));
        assert!(read(german, json!({ "geolocation": "91,0" })).unwrap_err().contains("-90"));
    }
}
