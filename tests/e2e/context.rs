//! The surroundings of a session's pages: settings, state, console, requests.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result, bail, ensure};
use cuebook::prelude::*;
use cuebook::secrets::Secrets;
use cuebook_grammar::policy::PolicyFile;
use cuebook_session::{Answer, Asker, Call, Handle, Order, Request, ToolSet};
use cuebook_testkit::serve;
use cuebook_tests::Shop;
use serde_json::{Value, json};

use super::secrets::files;

const LOGIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/plans/login.json");
/// Says what a page sees, and its frame of another site.
const SEEN: &str = "<title>seen</title><p id=seen></p><iframe src='http://localhost:PORT/frame'></iframe><script>
    const seen = () => [navigator.language, Intl.DateTimeFormat().resolvedOptions().timeZone, devicePixelRatio,
        matchMedia('(prefers-color-scheme: dark)').matches, /Pixel|Mobile/.test(navigator.userAgent),
        navigator.maxTouchPoints, navigator.onLine].join(' ');
    document.getElementById('seen').textContent = 'page ' + seen();
    addEventListener('message', event => document.getElementById('seen').append(' frame ' + event.data));
    navigator.geolocation.getCurrentPosition(
        at => document.title = [at.coords.latitude, at.coords.longitude, at.coords.accuracy].join(' '),
        () => document.title = 'nowhere');
</script>";
const FRAME: &str = "<script>parent.postMessage([navigator.language,
    Intl.DateTimeFormat().resolvedOptions().timeZone, /Mobile/.test(navigator.userAgent)].join(' '), '*')</script>";
/// Shows the browser that a page and its workers name, and the one that the server sees in their requests.
const WORKERS: &str = "<title>workers</title><body><script>
    const named = from => ['|', from, navigator.userAgent, navigator.language].join(' ');
    let left = 4;
    const says = text => {
        document.body.appendChild(document.createElement('p')).textContent = text;
        if (--left === 0) document.body.append('all four');
    };
    const shows = async () => {
        says(named('page'));
        new Worker('/w.js?dedicated').onmessage = event => says(event.data);
        new SharedWorker('/w.js?shared').port.onmessage = event => says(event.data);
        navigator.serviceWorker.onmessage = event => says(event.data);
        await navigator.serviceWorker.register('/w.js?service');
        (await navigator.serviceWorker.ready).active.postMessage('');
    };
    shows();
</script>";
const WORKER: &str = "const of = location.search.slice(1);
    const answers = async to => {
        const seen = await (await fetch('/agent')).text();
        to.postMessage(['|', of, navigator.userAgent, navigator.language, 'sends', seen].join(' '));
    };
    if (of === 'dedicated') answers(self);
    if (of === 'shared') onconnect = event => answers(event.ports[0]);
    if (of === 'service') onmessage = event => event.waitUntil(answers(event.source));";
/// Asks a server, writes to the console, and throws.
const ASKS: &str = "<p id=said></p><script>
    console.log('hello', 1); console.warn('careful'); console.error('broken');
    fetch('/api/data', { method: 'POST', body: 'sent', headers: { authorization: 'Bearer hush', 'x-shown': 'yes' } })
        .then(async answer => document.getElementById('said').textContent = answer.status + ' ' + await answer.text());
    setTimeout(() => { throw new Error('uncaught') });
</script>";

/// A server that lets nobody in who does not say `ann:pa55word`. Counts those whom it let in.
fn guarded() -> std::io::Result<(u16, Arc<AtomicUsize>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let (port, entered) = (listener.local_addr()?.port(), Arc::new(AtomicUsize::new(0)));
    let count = entered.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let head = BufReader::new(&stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
            // Read whole, or the answer may be lost with what was not.
            let head: Vec<String> = head.collect();
            let is_known = head.iter().any(|line| line.eq_ignore_ascii_case("authorization: basic YW5uOnBhNTV3b3Jk"));
            count.fetch_add(usize::from(is_known), Ordering::SeqCst);
            let (status, more) = match is_known {
                true => ("200 OK", ""),
                false => ("401 Unauthorized", "WWW-Authenticate: Basic realm=staging\r\n"),
            };
            let body = format!("<h1>{status}</h1>");
            let length = body.len();
            write!(&stream, "HTTP/1.1 {status}\r\n{more}Content-Type: text/html\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}").ok();
        }
    });
    Ok((port, entered))
}

/// A server of [`WORKERS`]. At `/agent` it says which browser and language a request names.
fn of_workers() -> std::io::Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let head = BufReader::new(&stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
            let head: Vec<String> = head.map(|line| line.replace(": ", " ")).collect();
            let of = |name: &str| head.iter().find_map(|line| line.strip_prefix(name)).unwrap_or("none").trim();
            let path = head.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
            let (kind, body) = match path.split('?').next() {
                Some("/w.js") => ("text/javascript", WORKER.to_owned()),
                Some("/agent") => ("text/plain", format!("{} {}", of("User-Agent"), of("Accept-Language"))),
                _ => ("text/html", WORKERS.to_owned()),
            };
            let length = body.len();
            write!(
                &stream,
                "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            )
            .ok();
        }
    });
    Ok(port)
}

#[tokio::test]
async fn a_server_that_wants_authentication_gets_the_secret_for_its_origin_and_no_other_one() -> Result<()> {
    let ((port, entered), (other, strangers)) = (guarded()?, guarded()?);
    let (origin, elsewhere) = (format!("http://127.0.0.1:{port}"), format!("http://127.0.0.1:{other}"));
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("secrets.toml");
    std::fs::write(&file, format!("[staging]\nvalue = \"ann:pa55word\"\norigins = [\"{origin}\"]\n"))?;
    #[cfg(unix)]
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    let rule = |url: &str| json!({ "requests": [{ "url": url, "do": "allow", "basicAuth": "staging" }] }).to_string();
    for (url, path, is_let_in) in
        [(&origin, &origin, true), (&elsewhere, &elsewhere, false), (&origin, &elsewhere, false)]
    {
        let policy = Policy::default().with_file(&PolicyFile::read(&rule(url))?)?;
        let secrets = Secrets::on(None).with_file(&file)?;
        let mut agent = Agent::builder().policy(policy).secrets(secrets).runs_in(folder.path()).build().await?;
        let opened = agent.open(&format!("{path}/")).await;
        let page = agent.observe(Scope::View).await?;
        agent.close().await?;
        let text = render::text(&page, &TextOptions::default());
        assert_eq!(text.contains("200 OK"), is_let_in, "{text}");
        if url == &elsewhere {
            let why = opened.map(drop).unwrap_err().to_string();
            ensure!(why.contains("basicAuth") && why.contains("staging"), "{why}");
        }
    }
    ensure!(entered.load(Ordering::SeqCst) > 0 && strangers.load(Ordering::SeqCst) == 0);
    for path in files(folder.path())?.into_iter().filter(|path| *path != file) {
        let bytes = std::fs::read(&path)?;
        let has = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
        ensure!(!has("pa55word") && !has("YW5uOnBhNTV3b3Jk"), "{}", path.display());
    }
    Ok(())
}

struct Desk {
    port: u16,
    handle: Handle,
    runs: tempfile::TempDir,
}

impl Desk {
    async fn open(permission: Option<&str>) -> Result<Self> {
        let port = serve([
            ("/seen", SEEN),
            ("/frame", FRAME),
            ("/asks", ASKS),
            ("/api/data", "from the server"),
            ("/shelf", SHELF),
        ]);
        let runs = tempfile::tempdir()?;
        let (asker, questions) = Asker::new();
        let mut policy = Policy::default().reading(&format!("http://localhost:{port}"))?;
        if let Some(permission) = permission {
            policy = policy.permitting(&permission.replace("PORT", &port.to_string()))?;
        }
        let agent = Agent::builder().runs_in(runs.path()).confirm(asker).policy(policy).journal(true).build().await?;
        let handle = Handle::start(agent.begin().await?, questions, true);
        Ok(Self { port, handle, runs })
    }

    async fn tool(&self, name: &str, arguments: Value) -> Result<Answer> {
        let tool = ToolSet::All.tools().into_iter().find(|tool| tool.name == name).context("no such tool")?;
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        match tool.order(arguments).map_err(anyhow::Error::msg)? {
            Order::Call(request) => Ok(self.handle.call(Request { is_confined: true, ..request }).await?),
            other => bail!("{other:?}"),
        }
    }

    async fn ok(&self, name: &str, arguments: Value) -> Result<String> {
        let answer = self.tool(name, arguments).await?;
        ensure!(answer.error.is_none(), "{answer}");
        Ok(answer.result.join("\n"))
    }

    async fn refused(&self, name: &str, arguments: Value) -> Result<String> {
        self.tool(name, arguments).await?.error.context("it was not refused")
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Opens a page and waits for a text on it, and returns the page.
    async fn shows(&self, path: &str, text: &str) -> Result<String> {
        self.handle.call(Request::of(Call::Open(self.url(path)))).await?;
        self.ok("browser_wait_for", json!({ "text": text })).await.with_context(|| format!("waiting for {text}"))?;
        let page = self.handle.call(Request::of(Call::Look)).await?;
        Ok(format!("{page}"))
    }
}

#[tokio::test]
async fn pages_frames_and_new_tabs_see_the_settings_until_they_are_taken_back() -> Result<()> {
    let desk = Desk::open(Some("geolocation@http://127.0.0.1:PORT")).await?;
    let plain = desk.shows("/seen", "frame ").await?;
    ensure!(plain.contains(" 1 false false 0 true frame"), "a page is online: {plain}");
    let berlin = json!({ "device": "pixel 7", "locale": "de-DE", "timezone": "Europe/Berlin", "colorScheme": "dark",
        "geolocation": "52.5,-13.25,7" });
    let said = desk.ok("browser_emulate", berlin).await?;
    ensure!(said.contains("Pixel 7, 412x839") && said.contains("at 52.5,-13.25"), "{said}");
    for wrong in [
        json!({ "timezone": "Mars/Phobos" }),
        json!({ "locale": "not a language" }),
        json!({ "device": "brick" }),
        json!({ "geolocation": "north" }),
        json!({ "viewport": "0x5" }),
    ] {
        desk.refused("browser_emulate", wrong.clone()).await.with_context(|| wrong.to_string())?;
    }
    let expected = "page de-DE Europe/Berlin 2.625 true true 1 true frame de-DE Europe/Berlin true";
    let seen = desk.shows("/seen", "frame de-DE").await?;
    ensure!(seen.contains(expected) && seen.contains("52.5 -13.25 7"), "{seen}");
    desk.ok("browser_tabs", json!({ "action": "new" })).await?;
    ensure!(desk.shows("/seen", "frame de-DE").await?.contains(expected), "in another tab");

    desk.ok("browser_emulate", json!({ "offline": "true" })).await?;
    let answer = desk.tool("browser_navigate", json!({ "url": desk.url("/frame") })).await?;
    ensure!(answer.error.is_some(), "{answer}");
    let failed = desk.ok("browser_network_requests", json!({ "filter": "failed" })).await?;
    ensure!(failed.contains("ERR_INTERNET_DISCONNECTED"), "{failed}");
    desk.ok("browser_emulate", json!({ "reset": true })).await?;
    let plain_again = desk.shows("/seen", "frame ").await?;
    ensure!(plain_again.contains(" 1 false false 0 true frame"), "{plain_again}");
    Ok(())
}

#[tokio::test]
async fn workers_of_every_kind_name_the_browser_and_language_of_their_page() -> Result<()> {
    let desk = Desk { port: of_workers()?, ..Desk::open(None).await? };
    // Once before, so that the shared worker and the service worker run already.
    let plain = desk.shows("/", "all four").await?;
    ensure!(!plain.contains("iPhone") && plain.contains("HeadlessChrome"), "{plain}");
    for (device, agent) in [("iPhone 15", "(iPhone; CPU"), ("Pixel 7", "(Linux; Android 10; K)")] {
        desk.ok("browser_emulate", json!({ "device": device, "locale": "de-DE" })).await?;
        let seen = desk.shows("/", "all four").await?;
        for from in ["page", "dedicated", "shared", "service"] {
            let said = seen.lines().find(|line| line.contains(&format!("| {from} "))).context(seen.clone())?;
            let places = if from == "page" { 1 } else { 2 };
            ensure!(said.matches(agent).count() == places && said.matches("de-DE").count() == places, "{said}");
        }
    }
    desk.ok("browser_emulate", json!({ "reset": true })).await?;
    let again = desk.shows("/", "all four").await?;
    ensure!(!again.contains("Android") && !again.contains("de-DE"), "{again}");
    Ok(())
}

#[tokio::test]
async fn console_and_requests_are_listed_and_a_rule_answers_in_place_of_the_server() -> Result<()> {
    let desk = Desk::open(None).await?;
    ensure!(desk.shows("/asks", "200 from the server").await?.contains("from the server"));
    let messages = desk.ok("browser_console_messages", json!({ "level": "warning" })).await?;
    ensure!(messages.contains("\"careful\"") && messages.contains("\"broken\"") && messages.contains("uncaught"));
    ensure!(!messages.contains("hello"), "{messages}");
    let requests = desk.ok("browser_network_requests", json!({ "filter": "/api/data" })).await?;
    let line = requests.lines().find(|line| line.contains("POST")).context(requests.clone())?;
    let index: u64 = line.split('.').next().context("a number")?.parse()?;
    let details = desk.ok("browser_network_requests", json!({ "index": index })).await?;
    for shown in ["x-shown: yes", "authorization: [redacted]", "sent", "from the server"] {
        ensure!(details.contains(shown), "no {shown:?} in {details}");
    }
    ensure!(!details.contains("hush"), "{details}");
    desk.refused("browser_network_requests", json!({ "index": 9_999 })).await?;

    let url = desk.url("/api/*");
    let body = "{\"down\":true,\"token\":\"0123456789abcdef\"}";
    let rule = json!({ "url": url, "methods": ["POST"], "status": 503, "body": body, "headers": ["X-A: b"] });
    desk.ok("browser_route", rule).await?;
    ensure!(desk.ok("browser_route", json!({})).await?.contains("/api/*"));
    desk.shows("/asks", "503 {\"down\":true").await?;
    let requests = desk.ok("browser_network_requests", json!({ "filter": "/api/data" })).await?;
    let index: u64 = requests.lines().last().and_then(|line| line.split('.').next()).context("a number")?.parse()?;
    let details = desk.ok("browser_network_requests", json!({ "index": index })).await?;
    ensure!(details.contains("\"down\":true") && !details.contains("0123456789abcdef"), "{details}");
    for wrong in [
        json!({ "url": url, "status": 99 }),
        json!({ "url": url, "headers": ["none"] }),
        json!({ "url": "", "block": true }),
    ] {
        let is_refused = match desk.tool("browser_route", wrong.clone()).await {
            Ok(answer) => answer.error.is_some(),
            Err(_) => true,
        };
        ensure!(is_refused, "{wrong}");
    }
    std::fs::write(desk.runs.path().join("body.json"), "{\"from\": \"a file\"}")?;
    let of_file = |file: &str| json!({ "url": url, "bodyFile": file });
    let elsewhere = desk.refused("browser_route", of_file("/etc/hostname")).await?;
    ensure!(elsewhere.contains("--root"), "{elsewhere}");
    let saved = desk.ok("browser_storage_state", json!({ "filename": "state.json" })).await?;
    let folder = saved.split(" to ").nth(1).and_then(|path| path.lines().next()).context(saved.clone())?;
    std::fs::copy(desk.runs.path().join("body.json"), std::path::Path::new(folder).with_file_name("body.json"))?;
    desk.ok("browser_route", of_file("body.json")).await?;
    desk.shows("/asks", "200 {\"from\":\"a file\"}").await?;
    desk.ok("browser_unroute", json!({ "url": url })).await?;
    desk.refused("browser_unroute", json!({ "url": url })).await?;
    desk.shows("/asks", "200 from the server").await?;

    let written = desk.ok("browser_snapshot", json!({ "filename": "page.txt" })).await?;
    let path = written.strip_prefix("ok: the page is in ").and_then(|rest| rest.split(", some").next());
    let path = path.context(written.clone())?;
    ensure!(std::fs::read_to_string(path)?.contains("200 from the server"), "{path}");
    desk.refused("browser_snapshot", json!({ "filename": "/tmp/page.txt" })).await?;
    let saved = desk.ok("browser_pdf_save", json!({ "filename": "page.pdf" })).await?;
    let path = saved.split(" to ").nth(1).context(saved.clone())?;
    ensure!(path.starts_with(&desk.runs.path().display().to_string()), "{path}");
    ensure!(std::fs::read(path)?.starts_with(b"%PDF-"));
    desk.refused("browser_pdf_save", json!({ "filename": "../page.pdf" })).await?;
    Ok(())
}

/// A list, a field and a box, and something hidden.
const SHELF: &str = "<title>shelf</title><h1>Shelf</h1><ul><li>Blue mug</li><li>Red mug</li></ul>
    <label>City <input value=Ulm></label><label><input type=checkbox checked> Gift</label>
    <button>Order</button><button style='visibility: hidden'>Ghost</button>";

#[tokio::test]
async fn what_a_page_shows_is_verified_and_points_need_a_profile() -> Result<()> {
    let desk = Desk::open(None).await?;
    desk.handle.call(Request::of(Call::Open(desk.url("/shelf")))).await?;
    let element = |role: &str, name: &str| json!({ "role": role, "accessibleName": name });
    let value = |target: &str, kind: &str, value: &str| json!({ "target": target, "type": kind, "value": value });
    let city = "label=City";
    for (tool, holds, fails) in [
        ("browser_verify_element_visible", element("button", "Order"), element("button", "Ghost")),
        ("browser_verify_element_visible", element("heading", "Shelf"), element("link", "Order")),
        ("browser_verify_text_visible", json!({ "text": "blue MUG" }), json!({ "text": "Ghost" })),
        (
            "browser_verify_list_visible",
            json!({ "items": ["Blue mug", "Red"] }),
            json!({ "items": ["Blue mug", "Green mug"] }),
        ),
        ("browser_verify_value", value(city, "textbox", "Ulm"), value(city, "textbox", "Bonn")),
        ("browser_verify_value", value("label=Gift", "checkbox", "true"), value("label=Gift", "checkbox", "false")),
    ] {
        desk.ok(tool, holds).await?;
        let why = desk.refused(tool, fails.clone()).await?;
        ensure!(!why.contains("e0") && !why.contains("e1"), "{tool} {fails}: {why}");
    }
    // The field that a call entered keeps the focus for the next one.
    let typed = json!({ "target": city, "text": "Rome", "slowly": true });
    desk.ok("browser_type", typed).await?;
    desk.ok("browser_press_key", json!({ "key": "Backspace" })).await?;
    desk.ok("browser_verify_value", value(city, "textbox", "UlmRom")).await?;
    let clicked = desk.refused("browser_mouse_click_xy", json!({ "x": 30, "y": 30 })).await?;
    ensure!(clicked.contains("unleashed"), "{clicked}");
    Ok(())
}

#[tokio::test]
async fn cookies_are_saved_cleared_and_loaded_and_their_values_are_never_shown() -> Result<()> {
    let desk = Desk::open(None).await?;
    desk.handle.call(Request::of(Call::Open(desk.url("/frame")))).await?;
    let set = json!({ "action": "set", "name": "session", "value": "hush", "url": desk.url("/") });
    desk.ok("browser_cookies", set).await?;
    let listed = desk.ok("browser_cookies", json!({})).await?;
    ensure!(listed.contains("\"session\" of 127.0.0.1/: session") && !listed.contains("hush"), "{listed}");
    let saved = desk.ok("browser_storage_state", json!({ "filename": "state.json" })).await?;
    ensure!(saved.contains("1 cookie") && !saved.contains("hush"), "{saved}");
    desk.ok("browser_cookies", json!({ "action": "clear", "name": "other" })).await?;
    ensure!(desk.ok("browser_cookies", json!({})).await?.contains("1 cookie"));
    ensure!(desk.ok("browser_cookies", json!({ "action": "clear" })).await?.contains("removed 1"));
    ensure!(desk.ok("browser_cookies", json!({})).await?.contains("0 cookies"));
    desk.ok("browser_set_storage_state", json!({ "filename": "state.json" })).await?;
    ensure!(desk.ok("browser_cookies", json!({})).await?.contains("1 cookie"));
    let log = files(desk.runs.path())?.into_iter().find(|path| path.ends_with("log.jsonl")).context("no log")?;
    let log = std::fs::read_to_string(log)?;
    let changes: Vec<&str> = log.lines().filter(|line| line.contains("contextChanged")).collect();
    ensure!(changes.len() == 4 && changes[0].contains("setCookie") && !log.contains("hush"), "{changes:#?}");
    for file in ["/etc/hostname", "../state.json", "nowhere.json"] {
        desk.refused("browser_set_storage_state", json!({ "filename": file })).await.context(file)?;
    }
    Ok(())
}

#[test]
fn a_run_begins_logged_in_by_a_state_that_only_a_run_which_is_done_replaces() -> Result<()> {
    let shop = Shop::open()?;
    let state = shop.runs().join("state.json");
    let file = state.to_str().context("a path")?;
    let login: Value = serde_json::from_str(&std::fs::read_to_string(LOGIN)?)?;
    let flags = ["--save-storage", file, "--locale", "de-DE", "--device", "Pixel 7", "--no-repair"];
    let out = shop.exec("/login", &login, &flags)?;
    assert_eq!(out.code, 0, "{}", out.stderr);
    let saved = std::fs::read_to_string(&state)?;
    ensure!(saved.contains("\"cookies\"") && saved.contains("\"httpOnly\""), "{saved}");

    let is_in = json!({ "version": "1.0", "steps": [
        { "type": "assert", "condition": { "kind": "urlMatches", "pattern": "^[^?]*/dashboard$" } } ] });
    assert_eq!(shop.exec("/dashboard", &is_in, &["--storage", file])?.code, 0);
    let out = shop.exec("/dashboard", &is_in, &["--save-storage", file, "--no-repair", "--timeout", "1s"])?;
    assert_eq!((out.code, std::fs::read_to_string(&state)?), (1, saved), "{}", out.stderr);

    let profile = shop.runs().display().to_string();
    for (flags, said) in [
        (["--copy-profile", &*profile], "Local State"),
        (["--device", "brick"], "iPhone 15"),
        (["--timezone", "Mars/Phobos"], "Mars/Phobos"),
        (["--permission", "camera"], "PERMISSION@ORIGIN"),
        (["--storage", "/nowhere.json"], "/nowhere.json"),
    ] {
        let out = shop.exec("/dashboard", &is_in, &flags)?;
        let text = out.stdout + &out.stderr;
        ensure!(out.code != 0 && text.contains(said), "{flags:?}: {text}");
    }
    Ok(())
}
