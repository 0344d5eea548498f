//! Observations of small pages in real Chrome.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::collections::{HashMap, HashSet};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebook_cdp::{Browser, ChromeBinary, LaunchOptions, Page, PageEvent, PlaceKind, SearchPlaces, find_chrome};
use cuebook_grammar::action::{FindElements, ResolveSelector, SearchPage};
use cuebook_grammar::candidate::{Candidate, ControlKind, NameSource, Placement};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::PageId;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::role::Role;
use cuebook_grammar::seam::{Finding, PageModeler as _, Query};
use cuebook_grammar::secret::DigestKey;
use cuebook_page_modeler::render::{text, yaml};
use cuebook_page_modeler::{LivePageModeler, ModelerOptions};
use cuebook_probe::{Ask, Probe};
use serde_json::{Value, json};

/// Serves `pages` by path on a loopback port until the process ends.
fn serve(pages: Vec<(&'static str, String)>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let pages: HashMap<&str, String> =
        pages.into_iter().map(|(path, body)| (path, body.replace("PORT", &port.to_string()))).collect();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let pages = pages.clone();
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                let Ok(read) = stream.read(&mut buffer) else { return };
                let request = String::from_utf8_lossy(&buffer[..read]).into_owned();
                let path = request.split(' ').nth(1).unwrap_or("/");
                let (status, body) = pages.get(path).map_or(("404 Not Found", ""), |body| ("200 OK", body));
                let head = format!(
                    "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
            });
        }
    });
    port
}

fn until() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

struct Stage {
    page: Page,
    id: PageId,
    modeler: LivePageModeler,
    browser: Arc<Browser>,
    _profiles: tempfile::TempDir,
}

impl Stage {
    async fn at(url: &str) -> Self {
        let profiles = tempfile::tempdir().unwrap();
        let binary = find_chrome(&SearchPlaces::default())
            .unwrap_or_else(|_| ChromeBinary { path: PathBuf::from("/usr/bin/chromium"), found_by: PlaceKind::System });
        let browser = Browser::launch(&LaunchOptions::new(binary, profiles.path()), until()).await.unwrap();
        let browser = Arc::new(browser);
        let page = browser.new_page("about:blank", until()).await.unwrap();
        let modeler = LivePageModeler::new(Arc::clone(&browser), DigestKey::new([5; 32]), ModelerOptions::default());
        let stage = Self { id: PageId::new(page.target_id().as_str()), page, modeler, browser, _profiles: profiles };
        stage.go(url).await;
        stage
    }

    async fn on(html: &str) -> Self {
        let port = serve(vec![("/", html.to_owned())]);
        Self::at(&format!("http://127.0.0.1:{port}/")).await
    }

    async fn go(&self, url: &str) {
        let mut events = self.page.events();
        self.page.session().call_raw("Page.navigate", json!({ "url": url }), until()).await.unwrap();
        let loaded = async {
            while let Some(event) = events.next().await {
                if let PageEvent::Lifecycle { frame, name, .. } = event
                    && name == "load"
                    && frame == self.page.main_frame().id
                    && self.page.url() == url
                {
                    return;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(20), loaded).await.unwrap();
    }

    async fn observe(&mut self, scope: Scope) -> Observation {
        let deadline = Deadline::after(Instant::now(), Duration::from_secs(30));
        self.modeler.observe(&self.id.clone(), scope, deadline).await.unwrap()
    }

    async fn explore(&mut self, query: Query) -> Finding {
        let deadline = Deadline::after(Instant::now(), Duration::from_secs(30));
        self.modeler.explore(&self.id.clone(), &query, deadline).await.unwrap()
    }

    /// Runs an expression in the page's own world.
    async fn page_script(&self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let reply = self.page.session().call_raw("Runtime.evaluate", params, until()).await.unwrap();
        let value: Value = reply.parse().unwrap();
        assert_eq!(value.get("exceptionDetails"), None, "{expression}");
        value["result"]["value"].clone()
    }
}

fn names(observation: &Observation) -> Vec<&str> {
    observation.candidates.iter().map(|c| c.name.as_str()).collect()
}

fn named<'a>(observation: &'a Observation, name: &str) -> &'a Candidate {
    let found: Vec<_> = observation.candidates.iter().filter(|c| c.name == name).collect();
    assert_eq!(found.len(), 1, "{name} in {:?}", names(observation));
    found[0]
}

#[tokio::test(flavor = "multi_thread")]
async fn twins_in_rows_lists_and_dialogs_carry_contexts() {
    let mut stage = Stage::on(
        "<table><tr><th>Mail</th><th></th></tr><tr><td>john@example.com</td><td><button>Edit</button></td></tr>
         <tr><td>jane@example.com</td><td><button>Edit</button></td></tr></table>
         <ul><li>Invoice 7 <button>Delete</button><li>Invoice 8 <button>Delete</button></ul>
         <div role=dialog aria-label=Settings><button>Save</button></div><div role=dialog aria-label=Profile><button>Save</button></div>
         <p><button>Same</button><button>Same</button></p>",
    )
    .await;
    let seen = stage.observe(Scope::View).await;
    let contexts = |name: &str| -> Vec<_> {
        seen.candidates.iter().filter(|c| c.name == name).map(|c| c.context.clone().unwrap_or_default()).collect()
    };
    assert_eq!(contexts("Edit"), ["row: john@example.com", "row: jane@example.com"]);
    assert_eq!(contexts("Delete"), ["list item: Invoice 7", "list item: Invoice 8"]);
    assert_eq!(contexts("Save"), ["dialog: Settings", "dialog: Profile"]);
    let ambiguous: Vec<_> = seen.candidates.iter().filter(|c| c.ambiguous).map(|c| c.name.as_str()).collect();
    assert_eq!(ambiguous, ["Same", "Same"]);
    assert!(seen.candidates.iter().all(|c| c.name_source == NameSource::Browser));
    // Every locator of a candidate leads to its own node.
    let probe = Probe::attach(stage.page.clone(), DigestKey::new([5; 32]), until()).await.unwrap();
    for candidate in &seen.candidates {
        assert!(!candidate.locators.is_empty(), "{}", candidate.title());
        for locator in &candidate.locators {
            let located = probe.locate(locator, &Ask::default(), until()).await.unwrap();
            let found = located.unique().unwrap_or_else(|| panic!("{} by {locator}", candidate.title()));
            assert_eq!(Some(&found.key), candidate.node.as_ref(), "{} by {locator}", candidate.title());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_cannot_act_on_is_not_offered() {
    let mut stage = Stage::on(
        r#"<style>.sr{position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0 0 0 0)}</style>
        <button>Seen</button><button style="display:none">None</button><button style="visibility:hidden">Invisible</button>
        <div style="opacity:0"><button>Transparent</button></div><button class=sr>One pixel</button>
        <button style="position:absolute;left:-9999px">Far left</button><button aria-hidden=true tabindex=-1 disabled>Unheard</button>
        <div style="height:0;overflow:hidden"><button>Collapsed</button></div><div hidden><a href=#>Hidden</a></div>
        <details><summary>More</summary><button>Folded</button></details>
        <button style="clip-path:inset(100%)">Clipped</button><div inert><button>Inert</button></div>
        <input type=checkbox id=c class=sr><label for=c style="display:inline-block;padding:10px">Agree</label>
        <input type=file id=f style="display:none"><label for=f>Upload</label>
        <div style="cursor:pointer" id=div>Pointer <span>inside</span></div><div onclick="x()">Handler</div><div contenteditable>Rich</div>
        <div style="height:100px;overflow:auto"><div style="height:400px"></div><button>Scrolled</button></div>
        <div style="margin-top:5000px"><button>Below</button></div>"#,
    )
    .await;
    let seen = stage.observe(Scope::Full).await;
    let expected = ["Seen", "More", "Agree", "Upload", "Pointer inside", "Handler", "Rich", "Scrolled", "Below"];
    assert_eq!(names(&seen), expected);
    let agree = named(&seen, "Agree");
    assert_eq!((agree.role, agree.control), (Role::Checkbox, ControlKind::Check));
    assert!(agree.rect.unwrap().width > 20.0);
    assert_eq!(named(&seen, "Upload").control, ControlKind::File);
    assert_eq!(named(&seen, "Below").placement, Placement::OffView);
    assert!(named(&seen, "Scrolled").scroll_container.is_some());
    let view = stage.observe(Scope::View).await;
    assert!(!names(&view).contains(&"Below"));
    assert_eq!(view.truncated.unwrap().off_view, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_covers_a_candidate_is_named() {
    let mut stage = Stage::on(
        r#"<body style="margin:0"><button style="position:absolute;left:10px;top:10px;width:100px;height:40px">Under</button>
        <div id=overlay style="position:absolute;left:0;top:0;width:300px;height:200px;background:#ccc"></div>
        <button style="position:absolute;left:400px;top:10px;width:100px;height:40px"><span>Free</span></button>"#,
    )
    .await;
    let seen = stage.observe(Scope::View).await;
    assert_eq!(names(&seen), ["Free", "Under"]);
    let occlusion = named(&seen, "Under").occlusion.clone().unwrap();
    assert_eq!((occlusion.ratio, occlusion.by.as_str()), (1.0, "div#overlay"));
    assert_eq!(named(&seen, "Free").occlusion, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_and_nested_shadow_roots_are_walked() {
    let mut stage = Stage::on(
        "<div id=outer></div><x-card></x-card><div id=plain style='height:30px'></div><script>
         outer.attachShadow({mode:'open'}).innerHTML = '<button>In open</button>';
         const card = document.querySelector('x-card').attachShadow({mode:'closed'});
         card.innerHTML = '<button>In closed</button><y-card></y-card><slot></slot>';
         document.querySelector('x-card').innerHTML = '<button>Slotted</button>';
         card.querySelector('y-card').attachShadow({mode:'closed'}).innerHTML = '<button>Deep closed</button>';
         plain.attachShadow({mode:'closed'}).innerHTML = '<button>In plain</button>';
         </script>",
    )
    .await;
    let seen = stage.observe(Scope::View).await;
    let found: HashSet<_> = names(&seen).into_iter().collect();
    let expected = HashSet::from(["In open", "In closed", "Deep closed", "Slotted", "In plain"]);
    assert_eq!(found, expected);
    assert!(seen.candidates.iter().all(|c| c.occlusion.is_none()), "{:?}", seen.candidates);
}

#[tokio::test(flavor = "multi_thread")]
async fn candidates_of_frames_have_the_tabs_coordinates() {
    let button = |name: &str| {
        format!(
            "<body style='margin:0'><button style='position:absolute;left:11px;top:13px;width:50px;height:20px'>{name}</button>"
        )
    };
    let port = serve(vec![
        (
            "/",
            "<body style='margin:0'><iframe title=same src='/same' style='position:absolute;left:20px;top:30px;width:200px;height:100px;border:2px solid'></iframe>
             <iframe title=doc srcdoc=\"<body style='margin:0'><button style='position:absolute;left:11px;top:13px;width:50px;height:20px'>Srcdoc</button>\" style='position:absolute;left:300px;top:30px;width:200px;height:100px;border:0'></iframe>
             <iframe title=outer src='http://localhost:PORT/outer' style='position:absolute;left:40px;top:200px;width:500px;height:300px;border:4px solid;padding:6px'></iframe>
             <iframe title=scaled src='/same2' style='position:absolute;left:600px;top:200px;width:200px;height:100px;border:0;transform:scale(0.5);transform-origin:0 0'></iframe>
             <iframe title=hidden src='/same' style='display:none'></iframe>"
                .to_owned(),
        ),
        ("/same", button("Same")),
        ("/same2", button("Scaled")),
        (
            "/outer",
            "<body style='margin:0'><button style='position:absolute;left:300px;top:10px;width:50px;height:20px'>Outer</button>
             <iframe title=inner src='http://127.0.0.1:PORT/inner' style='position:absolute;left:30px;top:50px;width:200px;height:200px;border:0'></iframe>"
                .to_owned(),
        ),
        ("/inner", button("Inner")),
    ]);
    let mut stage = Stage::at(&format!("http://127.0.0.1:{port}/")).await;
    let seen = stage.observe(Scope::View).await;
    let corner = |name: &str| named(&seen, name).rect.map(|rect| (rect.x, rect.y, rect.width)).unwrap();
    assert_eq!(corner("Same"), (33.0, 45.0, 50.0));
    assert_eq!(corner("Srcdoc"), (311.0, 43.0, 50.0));
    assert_eq!(corner("Outer"), (350.0, 220.0, 50.0));
    assert_eq!(corner("Inner"), (40.0 + 10.0 + 30.0 + 11.0, 200.0 + 10.0 + 50.0 + 13.0, 50.0));
    assert_eq!(corner("Scaled"), (605.5, 206.5, 25.0));
    let inner = named(&seen, "Inner");
    let frame = &seen.frames[usize::try_from(inner.frame).unwrap()];
    assert!(frame.out_of_process && frame.origin.starts_with("http://127.0.0.1"), "{frame:?}");
    assert_eq!(seen.frames.iter().filter(|frame| frame.omitted.is_some()).count(), 1);
    assert!(seen.candidates.iter().all(|c| c.placement == Placement::InView && c.occlusion.is_none()));
    // What the browser hits at the middle of the box is the candidate.
    let probe = Probe::attach(stage.page.clone(), DigestKey::new([5; 32]), until()).await.unwrap();
    for candidate in &seen.candidates {
        let key = candidate.node.clone().unwrap();
        let world = probe.world_of(&key, until()).await.unwrap();
        let placement = probe.frame_offset(world.frame(), until()).await.unwrap();
        let local = placement.to_local(candidate.center().unwrap());
        let hit: bool = world
            .call(
                "(cb, id, x, y) => cb.elementAt(x, y) === cb.byId(id)",
                &[key.node.into(), local.x.into(), local.y.into()],
                until(),
            )
            .await
            .unwrap();
        assert!(hit, "{}", candidate.title());
        for locator in &candidate.locators {
            let located = probe.locate(locator, &Ask::default(), until()).await.unwrap();
            assert_eq!(located.unique().map(|found| &found.key), Some(&key), "{} by {locator}", candidate.title());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn something_above_a_frame_covers_what_is_in_it() {
    let mut stage = Stage::on(
        r#"<body style="margin:0"><iframe srcdoc="<body style='margin:0'><button style='width:90px;height:40px'>Inside</button>" style="border:0"></iframe>
        <div id=veil style="position:fixed;inset:0;background:#0008"></div>"#,
    )
    .await;
    let seen = stage.observe(Scope::View).await;
    assert_eq!(named(&seen, "Inside").occlusion.as_ref().map(|o| o.by.as_str()), Some("div#veil"));
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_stay_with_their_elements_and_are_never_reused() {
    let mut stage = Stage::on(
        "<ul id=list><li><button>One</button></li><li><button>Two</button></li><li><button>Three</button></li></ul>",
    )
    .await;
    let first = stage.observe(Scope::View).await;
    let id = |seen: &Observation, name: &str| named(seen, name).id;
    stage.page_script("list.append(list.firstElementChild)").await;
    let moved = stage.observe(Scope::View).await;
    for name in ["One", "Two", "Three"] {
        assert_eq!(id(&moved, name), id(&first, name), "{name}");
    }
    assert_eq!(names(&moved), ["Two", "Three", "One"]);
    let delta = moved.delta.clone().unwrap();
    assert!(delta.came.is_empty() && delta.went.is_empty() && delta.changed.is_empty(), "{delta:?}");
    stage
        .page_script("list.querySelector('button').remove(); list.querySelectorAll('button')[0].disabled = true")
        .await;
    let removed = stage.observe(Scope::View).await;
    let delta = removed.delta.clone().unwrap();
    assert_eq!((delta.went, delta.changed), (vec![id(&first, "Two")], vec![id(&first, "Three")]));
    assert_eq!(removed.recent.iter().map(|c| c.id).collect::<Vec<_>>(), [id(&first, "Two")]);
    stage.page_script("list.innerHTML = list.innerHTML").await;
    let rebuilt = stage.observe(Scope::View).await;
    let before: HashSet<_> = first.candidates.iter().map(|c| c.id).collect();
    assert!(rebuilt.candidates.iter().all(|c| !before.contains(&c.id)));
    stage.page_script("list.querySelector('button').textContent = 'Renamed'").await;
    let renamed = stage.observe(Scope::View).await;
    let seen: HashSet<_> = rebuilt.candidates.iter().map(|c| c.id).collect();
    assert!(!seen.contains(&id(&renamed, "Renamed")));
    assert_eq!(renamed.fingerprint, rebuilt.fingerprint);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_watches_itself_and_breaks_its_builtins_notices_nothing() {
    let mut stage = Stage::on(
        "<script>window.noticed = [];
         for (const [owner, name] of [[Array.prototype, 'map'], [Array.prototype, 'push'], [JSON, 'stringify'], [Document.prototype, 'querySelectorAll'], [Element.prototype, 'getAttribute'], [Document.prototype, 'elementFromPoint'], [window, 'getComputedStyle']]) {
           const real = owner[name];
           owner[name] = function (...args) { if (!window.quiet) window.noticed.push(name); return Reflect.apply(real, this, args); };
         }
         new MutationObserver((records) => { for (const record of records) window.noticed[window.noticed.length] = record.type; }).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
         </script><form><input name=parentNode aria-label=Clobber><input name=getAttribute aria-label=Also><button>Go</button></form><img name=getElementById><img name=querySelectorAll>",
    )
    .await;
    stage.page_script("window.noticed.length = 0; window.globals = Object.getOwnPropertyNames(window).length; 0").await;
    let seen = stage.observe(Scope::Full).await;
    assert_eq!(names(&seen), ["Clobber", "Also", "Go"]);
    stage.explore(Query::Search(search("Go"))).await;
    let noticed = stage.page_script("window.quiet = true; JSON.stringify([window.noticed, window.globals - Object.getOwnPropertyNames(window).length + 2, typeof __cuebook])").await;
    assert_eq!(noticed, Value::String("[[],0,\"undefined\"]".into()));
}

fn search(query: &str) -> SearchPage {
    serde_json::from_value(json!({ "query": query })).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_typed_password_is_nowhere_in_an_observation() {
    let mut stage = Stage::on(
        "<form><label>User <input name=user></label><label>Password <input type=password id=p></label>
         <label>Code <input id=code autocomplete=one-time-code></label><h2 id=echo></h2><button id=b>Log in</button></form>",
    )
    .await;
    stage
        .page_script("p.value = 'hunter2!'; code.value = '884422'; echo.textContent = 'You typed hunter2!'; b.title = 'hunter2!'; document.title = 'x hunter2!'")
        .await;
    for (scope, show) in [(Scope::View, ""), (Scope::Full, "p.type = 'text'")] {
        stage.page_script(&format!("{show};0")).await;
        let seen = stage.observe(scope).await;
        let json = serde_json::to_string(&seen).unwrap()
            + &text::render(&seen, &text::TextOptions::default())
            + &yaml::render(&seen);
        assert!(!json.contains("hunter2") && !json.contains("884422"), "{json}");
        assert_eq!(named(&seen, "Password").control, ControlKind::Password);
        assert_eq!(seen.candidates.len(), 4);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_ten_thousand_candidates_is_cut_and_counted() {
    let mut stage = Stage::on("<script>document.write('<button>x</button>'.repeat(10000))</script>").await;
    let full = stage.observe(Scope::Full).await;
    assert_eq!(full.candidates.len(), 3_000);
    assert_eq!(full.truncated.unwrap().candidates, 7_000);
    let view = stage.observe(Scope::View).await;
    let left_out = view.truncated.unwrap();
    assert_eq!(view.candidates.len() as u64 + left_out.off_view + left_out.candidates, 10_000);
    let options = text::TextOptions { budget: 2_000, ..text::TextOptions::default() };
    let shown = text::render(&view, &options);
    assert!(shown.chars().count() <= 2_000, "{}", shown.chars().count());
    assert!(shown.contains("left out: "), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dialog_that_blocks_the_page_is_observed() {
    let mut stage = Stage::on("<button>Go</button>").await;
    let before = stage.observe(Scope::View).await;
    stage.page_script("setTimeout(() => confirm('Really?'), 0); 0").await;
    let shown = async {
        while stage.page.dialog().is_none() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), shown).await.unwrap();
    let blocked = stage.observe(Scope::View).await;
    assert_eq!(blocked.dialog.as_ref().map(|dialog| dialog.message.as_str()), Some("Really?"));
    assert_eq!(blocked.recent.len(), before.candidates.len());
    stage.page.dialog().unwrap().answer(&cuebook_cdp::DialogAnswer::Dismiss, until()).await.unwrap();
    let after = stage.observe(Scope::View).await;
    assert_eq!(named(&after, "Go").id, named(&before, "Go").id);
    assert_eq!(stage.browser.pages().len(), after.tabs.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_is_sketched_and_rendered() {
    let mut stage = Stage::on(
        "<html lang=de><title>Shop</title><meta name=description content='All of it'><meta property=og:type content=website>
         <h1>Users</h1><form id=login><input aria-label=User value=me><input type=password aria-label=Pass><select aria-label=Size><option>S<option selected>M</select></form>
         <table id=results><tr><th>a<th>b<tr><td>1<td>2<tr><td>3<td>4</table><div role=alert>Saved</div><button disabled>Go \"now\"</button>",
    )
    .await;
    let seen = stage.observe(Scope::View).await;
    let sketch = &seen.sketch;
    assert_eq!((sketch.page_type.as_deref(), sketch.language.as_deref()), (Some("website"), Some("de")));
    let landmarks: Vec<_> = sketch.landmarks.iter().map(|l| l.summary.as_str()).collect();
    assert_eq!(landmarks, ["form#login: 3 inputs", "table#results: 2 cols, 2 rows"]);
    assert_eq!(sketch.headings[0].text, "Users");
    assert_eq!((sketch.live[0].kind.as_str(), sketch.live[0].text.as_str()), ("alert", "Saved"));
    let text = text::render(&seen, &text::TextOptions::default());
    for line in [
        "- textbox \"User\" [c1] value=\"me\"",
        "- combobox \"Size\" [c3]",
        "- button \"Go \\\"now\\\"\" [c4] [disabled]",
        "alert \"Saved\"",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    assert!(yaml::render(&seen).contains("- textbox \"User\" [ref=c1]: \"me\""), "{}", yaml::render(&seen));
    let back: Observation = serde_json::from_str(&serde_json::to_string(&seen).unwrap()).unwrap();
    assert_eq!(back.fingerprint, seen.fingerprint);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_searched_and_its_elements_are_found() {
    let mut stage = Stage::on(
        "<p>Order 4711 is ready</p><ul><li id=li>Invoice 7 <a href=/seven>Open</a><li>Invoice 8 <a href=/eight>Open</a></ul><button id=go><span>Go</span></button><button id=no style='display:none'>No</button>",
    )
    .await;
    let seen = stage.observe(Scope::View).await;
    let query: SearchPage = serde_json::from_value(json!({ "query": "Invoice \\d", "regex": true })).unwrap();
    let Finding::Data(hits) = stage.explore(Query::Search(query)).await else { panic!("no data") };
    assert_eq!(hits["total"], 2);
    assert_eq!(hits["hits"][1]["match"], "Invoice 8");
    assert_eq!(hits["hits"][1]["nearest"], seen.candidates[1].id.to_string());
    let query: FindElements = serde_json::from_value(json!({ "selector": "a", "attributes": ["href"] })).unwrap();
    let Finding::Data(found) = stage.explore(Query::Find(query)).await else { panic!("no data") };
    assert_eq!(found["total"], 2);
    assert!(found["elements"][0]["attributes"]["href"].as_str().unwrap().ends_with("/seven"), "{found}");
    let resolve = |value: Value| -> ResolveSelector { serde_json::from_value(value).unwrap() };
    let go = named(&seen, "Go").id;
    assert_eq!(stage.explore(Query::Resolve(resolve(json!({ "css": "#go" })))).await, Finding::Candidate(go));
    for refused in [json!({ "css": "a" }), json!({ "css": "#no" }), json!({ "css": "p[" }), json!({ "xpath": "//x[" })]
    {
        let finding = stage.explore(Query::Resolve(resolve(refused.clone()))).await;
        assert!(matches!(finding, Finding::Refused(_)), "{refused}: {finding:?}");
    }
    let Finding::Data(Value::String(text)) = stage.explore(Query::Snapshot(Scope::View)).await else {
        panic!("no text")
    };
    assert!(text.contains("- button \"Go\""), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_observation_that_builds_on_the_last_one_equals_one_from_scratch() {
    let mut stage = Stage::on(
        "<style id=rules>#quiet{opacity:0}.x{color:red}</style>
         <label for=mail id=label>Mail</label><input id=mail><input id=check type=checkbox aria-labelledby=says><span id=says>Yes</span>
         <select id=size aria-label=Size><option>S<option>M</select><textarea id=text aria-label=Text></textarea>
         <button id=b>One</button><button id=quiet>Quiet</button><div id=plain>Plain</div><div id=host style='height:30px'>h</div>
         <div id=scroller style='height:60px;width:200px;overflow:auto'><button>Up</button><div style='height:300px'></div><button>Down</button></div>
         <div id=veil style='position:absolute;left:0;top:0;width:1px;height:1px'></div><form><img name=styleSheets><img name=activeElement></form>
         <div style='height:3000px'></div><button>Far</button>",
    )
    .await;
    let changes = [
        "0",
        "mail.value = 'typed'",
        "check.checked = true",
        "check.indeterminate = true",
        "size.selectedIndex = 1",
        "text.value = 'more'",
        "size.options[0].text = 'XS'",
        "label.textContent = 'E-mail'",
        "says.firstChild.data = 'No'",
        "b.disabled = true",
        "rules.sheet.cssRules[0].style.opacity = 1",
        "rules.sheet.insertRule('#plain { cursor: pointer }', 1)",
        "rules.sheet.cssRules[1].style.cursor = 'default'",
        "scroller.scrollTop = 300",
        "scrollTo(0, 2900)",
        "scrollTo(0, 0)",
        "b.focus(); mail.focus()",
        "veil.animate([{ width: '900px', height: '400px' }], { duration: 1, fill: 'forwards' }).finish()",
        "document.getAnimations().forEach((one) => one.cancel())",
        "host.attachShadow({ mode: 'open' }).innerHTML = '<button>Inner</button>'",
        "host.shadowRoot.querySelector('button').textContent = 'Renamed'",
        "b.remove()",
        "history.pushState(0, '', '?next')",
        "document.title = 'Other'",
        "mail.setCustomValidity('no')",
    ];
    for change in changes {
        stage.page_script(&format!("{change}; 0")).await;
        for scope in [Scope::View, Scope::Full] {
            for turn in ["after the change", "again"] {
                let built = stage.observe(scope).await;
                let mut fresh = LivePageModeler::new(
                    Arc::clone(&stage.browser),
                    DigestKey::new([5; 32]),
                    ModelerOptions::default(),
                );
                let deadline = Deadline::after(Instant::now(), Duration::from_secs(30));
                let scratch = fresh.observe(&stage.id, scope, deadline).await.unwrap();
                // The walk that the built one leaves behind must be its own again, not the fresh one's.
                let again = stage.observe(scope).await;
                for seen in [&built, &again] {
                    assert_eq!(comparable(seen), comparable(&scratch), "{turn}: {change}, {scope:?}");
                }
            }
            stage.observe(scope).await;
        }
    }
}

/// What two modelers must agree on.
fn comparable(seen: &Observation) -> Value {
    let mut candidates = seen.candidates.clone();
    for candidate in &mut candidates {
        candidate.id = cuebook_grammar::id::CandidateId(0);
    }
    json!({ "candidates": candidates, "sketch": seen.sketch, "title": seen.title, "url": seen.url, "viewport": seen.viewport })
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_without_a_name_are_labelled_by_the_text_beside_them() {
    let mut stage = Stage::on(
        "<form><p><label>Username</label><input></p><p><label>Password</label><input type=password></p></form>
         <p class=datetime>Date: <input type=text name=d0><br>Time: <input type=text name=d1></p>
         <table><tr><td>Street *</td><td><div><input></div></td></tr></table>
         <ul><li>Colour <select><option>Red</select></li></ul><div><input type=checkbox> Remember</div>
         <div><label for=z>Not mine</label><input id=y><input id=z></div><label>Wrapped <input></label>",
    )
    .await;
    let seen = stage.observe(Scope::View).await;
    let told: Vec<_> = seen.candidates.iter().map(|c| (c.name.as_str(), c.label.as_deref().unwrap_or(""))).collect();
    let expected = [
        ("", "Username"),
        ("", "Password"),
        ("", "Date"),
        ("", "Time"),
        ("", "Street"),
        ("", "Colour"),
        ("", "Remember"),
        ("", ""),
        ("Not mine", ""),
        ("Wrapped", ""),
    ];
    assert_eq!(told, expected);
    let user = &seen.candidates[0];
    assert_eq!((user.context.as_deref(), user.ambiguous), (Some("label: Username"), false));
    assert!(seen.candidates.iter().filter(|c| c.label.is_some()).all(|c| !c.ambiguous), "{:?}", seen.candidates);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_widget_made_of_two_elements_is_one_candidate() {
    let mut stage = Stage::on(
        "<style>div { display: inline-block } li { display: inline-block } a { display: inline-block; padding: 4px }</style>
         <ul role=tablist><li role=tab tabindex=0><a href='#tab-2'>Tab 2</a></li></ul><div role=menu><div role=menuitem tabindex=-1><a href='#m'>Item</a></div></div>
         <button><a href='#x'>Both</a></button><div onclick='0'><span style='cursor:pointer'>Handler</span></div>
         <div onclick='0'><button>Wrapped</button></div><div tabindex=0><div tabindex=0><a href='#t'>Thrice</a></div></div>
         <div role=option tabindex=0 aria-label=Pick><input type=checkbox aria-label=Pick style='width:40px;height:40px'></div>
         <div onclick='0' style='padding:60px'><button>Small</button></div><div onclick='0' id=two><button>L</button><button>R</button></div>",
    )
    .await;
    let seen = stage.observe(Scope::View).await;
    let told: Vec<_> = seen.candidates.iter().map(|c| (c.role.as_str(), c.name.as_str())).collect();
    let expected = [
        ("tab", "Tab 2"),
        ("menuitem", "Item"),
        ("button", "Both"),
        ("generic", "Handler"),
        ("button", "Wrapped"),
        ("link", "Thrice"),
        ("option", "Pick"),
        ("checkbox", "Pick"),
        ("generic", "Small"),
        ("button", "Small"),
        ("generic", "L R"),
        ("button", "L"),
        ("button", "R"),
    ];
    assert_eq!(told, expected);
    assert!(named(&seen, "Tab 2").destination.as_deref().is_some_and(|to| to.ends_with("#tab-2")));
}
