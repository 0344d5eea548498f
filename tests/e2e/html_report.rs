//! The page of a run: what it shows, and that nothing in it can act.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cuebook_cdp::protocol::browser_protocol::{audits, network};
use cuebook_cdp::protocol::js_protocol::runtime::EvaluateParams;
use cuebook_cdp::{Browser, Page, WaitUntil};
use cuebook_datalayer::metrics::Collector;
use cuebook_datalayer::{ArtifactStore, Entries, Run, RunDir, html, run_id};
use cuebook_grammar::record::RECORD_VERSION;
use cuebook_grammar::report::RunReport;
use cuebook_grammar::seam::{ArtifactKind, ArtifactSink as _};
use cuebook_tests::{Shop, cuebook};
use serde_json::{Value, json};
use tempfile::TempDir;

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

async fn shown(path: &std::path::Path, viewport: (u32, u32)) -> Result<(Browser, Page, TempDir)> {
    let profiles = TempDir::new()?;
    let mut options = cuebook_testkit::browser(profiles.path());
    options.viewport = viewport;
    let browser = Browser::launch(&options, soon()).await?;
    let page = browser.pages().into_iter().next().context("expected a tab")?;
    page.session().request(network::EnableParams::default(), soon()).await?;
    page.goto(&format!("file://{}", path.display()), WaitUntil::Load, soon()).await?;
    Ok((browser, page, profiles))
}

async fn asked(page: &Page, expression: &str) -> Result<Value> {
    let asked =
        EvaluateParams { return_by_value: Some(true), await_promise: Some(true), ..EvaluateParams::new(expression) };
    let reply: Value = page.session().request(asked, soon()).await?.parse()?;
    ensure!(reply.get("exceptionDetails").is_none(), "{expression}: {reply}");
    Ok(reply["result"]["value"].clone())
}

#[test]
fn a_run_that_failed_says_first_why_and_shows_where() -> Result<()> {
    let shop = Shop::open()?;
    let plan = json!({
        "version": "1.0", "candidates": { "button": { "strategy": "byRole", "role": "button", "name": "Save draft" } },
        "steps": [{ "type": "click", "targetRef": "button", "explanation": "The draft is to be kept",
                    "post": [{ "kind": "urlMatches", "pattern": "nowhere" }] }],
    });
    let ended = shop.exec("/toast", &plan, &["--record", "--no-repair", "--isolation", "auto"])?;
    let dir = ended.run_dir()?;
    let written = cuebook(&["report", dir.to_str().context("expected UTF-8")?, "--json"])?;
    assert_eq!(written.code, 0, "{written:?}");
    let path = dir.join("report.html");
    assert_eq!(written.json()?["report"], json!(path));
    let runtime = tokio::runtime::Runtime::new()?;
    for viewport in [(1280, 720), (390, 844)] {
        runtime.block_on(looked_at(&path, viewport))?;
    }
    a_film_of_it_plays_in_a_browser(&dir)?;
    let broken = cuebook(&["report", shop.runs().join("none").to_str().context("expected UTF-8")?, "--json"])?;
    assert_eq!((broken.code, &broken.json()?["error"]["code"]), (2, &json!("unreadable")));
    Ok(())
}

/// A browser plays what it can decode, frame by frame.
fn a_film_of_it_plays_in_a_browser(dir: &std::path::Path) -> Result<()> {
    let name = dir.to_str().context("expected UTF-8")?;
    let written = cuebook(&["film", name, "--json"])?;
    let film = written.json()?;
    assert_eq!((written.code, &film["film"], &film["frames"]), (0, &json!(dir.join("film.png")), &json!(4)), "{film}");
    fs::write(dir.join("film.html"), "<img id=film src=film.png>")?;
    let played = tokio::runtime::Runtime::new()?.block_on(async {
        let (_browser, page, _profiles) = shown(&dir.join("film.html"), (1280, 720)).await?;
        let decoded = "(async () => { const frames = new ImageDecoder({ type: 'image/png', data: Uint8Array.from(atob(DATA), \
                       (letter) => letter.charCodeAt(0)) }); await frames.tracks.ready; const lasts = []; \
                       for (let at = 0; at < frames.tracks.selectedTrack.frameCount; at++) \
                       lasts.push((await frames.decode({ frameIndex: at })).image.duration / 1000); \
                       await film.decode(); return [film.naturalWidth, film.naturalHeight, ...lasts] })()";
        let data = STANDARD.encode(fs::read(dir.join("film.png"))?);
        asked(&page, &decoded.replace("DATA", &format!("'{data}'"))).await
    })?;
    let played: Vec<u64> = serde_json::from_value(played)?;
    assert_eq!(json!(played[..2]), json!([film["width"], film["height"]]));
    assert_eq!((played.len(), json!(played[2..].iter().sum::<u64>())), (6, film["durationMs"].clone()), "{film}");
    fs::remove_dir_all(dir.join("artifacts"))?;
    let without = cuebook(&["film", name, "--json"])?;
    assert_eq!(without.code, 2, "{without:?}");
    ensure!(dir.join("film.png").exists() && !dir.join("film.part").exists(), "the film that was there stays");
    Ok(())
}

async fn looked_at(path: &std::path::Path, viewport: (u32, u32)) -> Result<()> {
    let (_browser, page, _profiles) = shown(path, viewport).await?;
    let said = asked(&page, "document.body.innerText").await?;
    let said = said.as_str().context("expected text")?;
    assert!(said.trim_start().starts_with("✗ failed"), "the verdict comes first: {said}");
    for part in [
        "postconditionFailed",
        "click role=button name=\"Save draft\"",
        "the URL to match",
        "fails",
        "The draft is to be kept",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    assert_eq!(said.matches(", saw the URL").count(), 1, "the failure is said once: {said}");
    let seen = asked(
        &page,
        "[document.querySelectorAll('svg image').length, document.querySelectorAll('.step:not([hidden])').length,
              document.documentElement.scrollWidth <= innerWidth,
              document.querySelectorAll('.step:not([hidden]) .before .target').length]",
    )
    .await?;
    assert!(seen[0].as_u64() >= Some(2), "pictures: {seen}");
    assert_eq!((&seen[1], &seen[2]), (&json!(1), &json!(true)), "the failed step is shown, and nothing overflows");
    assert_eq!(seen[3], 1, "what was clicked is marked");
    let flag = "(() => {
        const [flag, target] = ['.flag circle', '.before .target'].map((part) =>
            document.querySelector(`.step:not([hidden]) ${part}`).getBBox());
        const covered = Math.max(0, target.x + target.width - flag.x) * Math.max(0, flag.y + flag.height - target.y);
        return [flag.width <= 24, covered / (target.width * target.height) < 0.05];
    })()";
    assert_eq!(asked(&page, flag).await?, json!([true, true]), "the sign is small, and beside what was clicked");
    let is_narrow = viewport.0 < 960;
    assert_eq!(asked(&page, "document.querySelector('.walk a').checkVisibility()").await?, is_narrow);
    if is_narrow {
        let seen = "(selector) => { const { top, bottom } = document.querySelector(selector).getBoundingClientRect(); \
                    return top >= 0 && bottom <= innerHeight }";
        assert_eq!(asked(&page, &format!("({seen})('.walk a')")).await?, true, "the way to the steps is seen at once");
        let there = format!(
            "(async () => {{
                document.querySelector('.walk a').click();
                await new Promise((done) => setTimeout(done, 100));
                const isThere = ({seen})('#rows [aria-current]');
                document.querySelector('#rows [aria-current]').click();
                const {{ top, bottom }} = document.querySelector('.step:not([hidden]) h2').getBoundingClientRect();
                return [isThere, top >= 0 && bottom <= innerHeight, [top, bottom, innerHeight, scrollY]];
            }})()"
        );
        let went = asked(&page, &there).await?;
        assert_eq!((&went[0], &went[1]), (&json!(true), &json!(true)), "there and back: {went}");
    }
    let found = asked(
            &page,
            "(() => { const search = document.querySelector('#search'); search.value = 'postconditionFAILED';
                      search.dispatchEvent(new Event('input')); return document.querySelector('#found').textContent })()",
        )
        .await?;
    assert_eq!(found, "1 of 2 steps");
    let keys = "((keys) => { for (const key of keys) document.body.dispatchEvent(new KeyboardEvent('keydown', \
                { key, bubbles: true })); return document.querySelector('.step:not([hidden])').id })";
    asked(&page, "document.querySelector('#search').value = ''; filter()").await?;
    assert_eq!(asked(&page, &format!("{keys}(['k'])")).await?, "step-0");
    assert_eq!(asked(&page, &format!("{keys}(['ArrowRight'])")).await?, "step-1");
    assert_eq!(asked(&page, &format!("{keys}(['ArrowLeft', 'f'])")).await?, "step-1", "the next failure");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_many_runs_needs_no_colours_and_breaks_no_number() -> Result<()> {
    let out = TempDir::new()?;
    let mut collector = Collector::default();
    for (number, result) in ["ok", "failed", "interrupted", "ok"].iter().enumerate() {
        let id = format!("2026-11-27T17425{number}Z-1a428{number}");
        let target = "button with a long name ".repeat(5);
        let action = json!({ "type": "click", "targetRef": "go" });
        let usual = json!({ "schemaVersion": RECORD_VERSION, "runId": id, "tsMs": 1 });
        let mut lines = [
            json!({ "entry": "header", "cuebook": "0", "command": "exec" }),
            json!({ "entry": "begin", "stepIndex": 0, "origin": "plan", "attempt": 1, "action": action }),
            json!({ "entry": "commit", "stepIndex": 0, "origin": "plan", "attempt": 1, "action": action,
                    "url": "http://a.test/", "risk": "write", "effectClass": "reversible",
                    "candidates": { "go": { "declared": { "strategy": "css", "selector": target } } },
                    "execution": { "tsMs": 2, "durationMs": 876 * (number + 1) },
                    "result": if *result == "failed" { "failed" } else { "ok" },
                    "failure": (*result == "failed").then(|| json!({ "stage": "postcondition",
                        "cause": "postconditionFailed", "message": "no" })) }),
            json!({ "entry": "end", "result": result }),
        ];
        for (at, line) in lines.iter_mut().enumerate() {
            for (name, value) in usual.as_object().context("an object")? {
                line[name] = value.clone();
            }
            line["tsMs"] = json!(1 + at * 1_500);
        }
        let log: String = lines.iter().map(|line| format!("{line}\n")).collect();
        collector.add_run(Entries::new(log.as_bytes(), &out.path().join("log.jsonl")))?;
    }
    let path = out.path().join("all.html");
    fs::write(&path, html::overview(&collector, None, &|_| None))?;
    let (_browser, page, _profiles) = shown(&path, (390, 844)).await?;
    let bars = "Array.from(document.querySelectorAll('.chart rect:not(.base)'), (bar) => {
        const base = document.querySelector('.chart .base').y.baseVal.value;
        const isHollow = getComputedStyle(bar).fill === 'none';
        return [bar.y.baseVal.value < base ? 'up' : 'down', isHollow, bar.textContent.split(': ')[1]];
    })";
    let expected =
        json!([["up", false, "ok"], ["down", false, "failed"], ["down", true, "interrupted"], ["up", false, "ok"]]);
    assert_eq!(asked(&page, bars).await?, expected);
    let broken = "Array.from(document.querySelectorAll('td')).filter((cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        const lines = new Set(Array.from(range.getClientRects(), (box) => box.top));
        return /^[0-9.]+( m?s)?$/.test(cell.textContent) && lines.size > 1;
    }).map((cell) => cell.textContent)";
    assert_eq!(asked(&page, broken).await?, json!([]));
    assert_eq!(asked(&page, "document.documentElement.scrollWidth <= innerWidth").await?, true);
    Ok(())
}

/// Strings that would run, load or break something if any place took them for markup.
fn payload(number: usize) -> String {
    const ACT: &str = "hacked=1";
    let act = match number % 5 {
        0 => ACT.to_owned(),
        1 => format!("window['{ACT}'];{ACT}"),
        2 => "fetch('http://evil.test/')".to_owned(),
        3 => format!("&#{};acked=1", u32::from('h')),
        _ => format!("eval(atob('aGFja2VkPTE='));{ACT}"),
    };
    let markup = match number / 5 % 20 {
        0 => format!("<script>{act}</script>"),
        1 => format!("</script><script>{act}</script>"),
        2 => format!("</style><img src=x onerror=\"{act}\">"),
        3 => format!("\"><svg onload=\"{act}\">"),
        4 => format!("'><iframe srcdoc='<script>parent.{act}</script>'>"),
        5 => format!("--><img src=http://evil.test/{number} onload={act}>"),
        6 => format!("]]><a href=\"javascript:{act}\">x</a>"),
        7 => format!("</title><body onpageshow=\"{act}\">"),
        8 => format!("</pre></details><details open ontoggle=\"{act}\">"),
        9 => format!("<base href=http://evil.test/><link rel=stylesheet href=x.css>{act}"),
        10 => format!("<meta http-equiv=refresh content='0;url=data:text/html,<script>{act}</script>'>"),
        11 => format!("<input autofocus onfocus=\"{act}\">"),
        12 => format!("\u{2028}<math><mtext></form><form><mglyph><style></math><img src onerror=\"{act}\">"),
        13 => format!("<template shadowrootmode=open><script>{act}</script>"),
        14 => format!("\" onmouseover=\"{act}\" style=\"background:url(http://evil.test/)\" x=\""),
        15 => format!("<noscript><p title=\"</noscript><img src=x onerror={act}>\">"),
        16 => format!("${{{act}}} {{{{constructor.constructor('{act}')()}}}}"),
        17 => format!("<object data=\"data:text/html,<script>{act}</script>\">"),
        18 => format!("\u{202e}<scr\u{0}ipt>{act}</script>\u{feff}"),
        _ => format!("<video><source onerror=\"{act}\"></video><form action=javascript:{act}><button>"),
    };
    format!("{markup}#{number}")
}

#[tokio::test(flavor = "multi_thread")]
async fn s68_ten_thousand_hostile_strings_run_and_request_nothing() -> Result<()> {
    let out = TempDir::new()?;
    let dir = RunDir::create(out.path(), &run_id(0, [1, 2, 3]))?;
    let mut count = 0;
    let mut text = || {
        count += 1;
        payload(count)
    };
    let id = text();
    let mut lines = vec![json!({
        "entry": "header", "schemaVersion": RECORD_VERSION, "runId": id, "tsMs": 1, "cuebook": text(),
        "browser": text(), "browserPath": text(), "command": text(), "task": text(), "url": text(),
    })];
    lines.push(json!({
        "entry": "planning", "schemaVersion": RECORD_VERSION, "runId": id, "planningIndex": 0, "tsMs": 2,
        "call": { "engine": text(), "model": text(), "purpose": "plan", "output": text(), "reasoning": text(),
                  "input": [{ "role": "system", "text": text() }, { "role": "user", "text": text() }],
                  "inputTokens": 1, "outputTokens": 1, "latencyMs": 1, "attempts": 1,
                  "end": { "failed": { "code": text(), "message": text() } } },
    }));
    let store = ArtifactStore::new(&dir, None);
    let mut files = Vec::new();
    let mut kept = Vec::new();
    for kind in [ArtifactKind::AxSubtree, ArtifactKind::DomDiff] {
        for line in ["", "+", "-", "@@ "] {
            files.push(format!("{line}{}", text()));
        }
        kept.push(json!(store.store(kind, "text/plain", files.join("\n").into_bytes()).await?));
    }
    for index in 0..500 {
        let record = json!({
            "entry": "commit", "schemaVersion": RECORD_VERSION, "runId": id, "stepIndex": index, "origin": "plan",
            "attempt": 1, "planning": 0, "url": text(), "risk": "write", "effectClass": "reversible",
            "action": { "type": "type", "targetRef": "go", "text": text(), "explanation": text() },
            "candidates": { "go": { "declared": { "strategy": "css", "selector": text() } } },
            "execution": { "tsMs": 2, "durationMs": 40 },
            "preCheck": [{ "condition": { "kind": "titleMatches", "pattern": text() }, "verdict": "fails" }],
            "postCheck": [{ "condition": { "kind": "elementTextContains", "target": "go", "text": text() },
                            "verdict": "unknown" }],
            "postFacts": { "samples": [{ "atMs": 1, "url": text(), "title": text(), "targets": {} }] },
            "effects": { "urlAfter": text(), "states": [text()], "consoleErrors": [text()], "newTabs": [text()],
                         "dialogs": [{ "kind": "alert", "message": text() }],
                         "requests": [{ "method": text(), "url": text(), "failure": text(), "durationMs": 1 }] },
            "artifacts": [{ "kind": "screenshot", "sha256": text(), "mediaType": text(), "bytes": 1, "path": text() },
                          kept[0], kept[1]],
            "data": { "said": text() }, "result": "failed",
            "failure": { "stage": "postcondition", "cause": "covered", "message": text() },
        });
        let begin = json!({
            "entry": "begin", "schemaVersion": RECORD_VERSION, "runId": id, "stepIndex": index, "origin": "plan",
            "attempt": 1, "action": { "type": "click", "targetRef": "go" }, "tsMs": 2,
        });
        lines.extend([begin, record]);
    }
    let comparison = json!({ "schemaVersion": "1.0", "recorded": text(), "replayed": text(), "steps": 500,
        "divergences": [{ "step": 1, "action": text(), "kind": "url", "recorded": [text()], "replayed": [text()] },
                        { "step": 0, "action": text(), "kind": "console", "recorded": [], "replayed": [text()] }] });
    let report = json!({ "schemaVersion": "1.3", "result": "failed", "answer": text(), "steps": [], "enforcement": "egress",
        "enforcementNote": text(), "usage": { "plannerCalls": 0, "inputTokens": 0, "outputTokens": 0 },
        "error": { "code": "covered", "message": text() } });
    ensure!(count >= 10_000, "{count} strings");
    let log: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let run = Run::read_bytes(log.as_bytes())?;
    let (report, comparison) = (RunReport::read(&report.to_string())?, serde_json::from_value(comparison)?);
    let beside = html::Beside { report: Some(&report), comparison: Some(&comparison) };
    let path = out.path().join("report.html");
    fs::write(&path, html::page(&run, beside, &store))?;
    let said = is_inert(&path, 500, 1).await?;
    // Not all fields are shown; those that are, are shown as they are.
    let shown = (1..count).step_by(47).filter(|number| said.contains(&payload(*number))).count();
    assert!(shown > count / 47 / 2, "{shown} of {} are shown as they are", count / 47);
    for kept in &files {
        assert!(said.contains(kept), "{kept}");
    }

    let mut collector = Collector::default();
    for _ in 0..3 {
        collector.add_run(Entries::new(log.as_bytes(), &path))?;
    }
    fs::write(&path, html::overview(&collector, None, &|_| None))?;
    let said = is_inert(&path, 0, 0).await?;
    assert!(said.contains("What fails") && said.contains("#1"), "{said}");
    Ok(())
}

/// Opens a page, touches all of it, and makes sure that it runs nothing but its own scripts and requests nothing. Returns its
/// text.
async fn is_inert(path: &std::path::Path, steps: usize, scripts: usize) -> Result<String> {
    let (browser, page, _profiles) = shown(path, (1280, 720)).await?;
    let mut events = page.session_events(&["Network.requestWillBeSent", "Audits.issueAdded"], 10_000);
    page.session().request(audits::EnableParams {}, soon()).await?;
    page.goto(&format!("file://{}?again", path.display()), WaitUntil::Load, soon()).await?;
    let seen = asked(
        &page,
        "(async () => {
            for (const panel of document.querySelectorAll('.panel')) panel.hidden = false;
            for (const details of document.querySelectorAll('details')) details.open = true;
            for (const field of document.querySelectorAll('input, a, summary')) { field.focus(); }
            await new Promise((done) => setTimeout(done, 1000));
            const links = Array.from(document.querySelectorAll('a')).filter((a) => !/^#/.test(a.getAttribute('href')));
            const handlers = Array.from(document.querySelectorAll('*')).filter((element) =>
                Array.from(element.attributes).some(({ name }) => /^on|^style$|^src/.test(name)));
            const strange = 'iframe,object,embed,base,form,template,math,img,video,body body,[http-equiv=refresh]';
            return { hacked: 'hacked' in globalThis, scripts: document.scripts.length, links: links.length,
                     handlers: handlers.length, strange: document.querySelectorAll(strange).length,
                     steps: document.querySelectorAll('article.step').length };
        })()",
    )
    .await?;
    let expected =
        json!({ "hacked": false, "scripts": scripts, "links": 0, "handlers": 0, "strange": 0, "steps": steps });
    assert_eq!(seen, expected);
    let all = asked(&page, "document.documentElement.textContent").await?;
    while let Some(delivery) = events.try_next() {
        let cuebook_cdp::Delivery::Event(event) = delivery else { anyhow::bail!("events were lost") };
        let event: Value = event.parse()?;
        let url = event["request"]["url"].as_str().unwrap_or_default();
        assert!(url.starts_with("file://") || url.starts_with("data:"), "{event}");
    }
    browser.close(soon()).await.ok();
    Ok(all.as_str().context("expected text")?.to_owned())
}
