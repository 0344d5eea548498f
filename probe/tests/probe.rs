//! The probe against real Chrome: roles, names, facts and locators on pages of a few lines.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use cuebook_cdp::{Browser, ChromeBinary, LaunchOptions, Page, PlaceKind, SearchPlaces, find_chrome};
use cuebook_grammar::facts::{ElementFacts, Toggle};
use cuebook_grammar::geometry::Point;
use cuebook_grammar::locator::Locator;
use cuebook_grammar::role::Role;
use cuebook_grammar::secret::{DigestKey, FactText};
use cuebook_probe::{Ask, Located, Probe, ProbeError};
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
    browser: Browser,
    _profiles: tempfile::TempDir,
}

async fn stage() -> Stage {
    let profiles = tempfile::tempdir().unwrap();
    let binary = find_chrome(&SearchPlaces::default())
        .unwrap_or_else(|_| ChromeBinary { path: PathBuf::from("/usr/bin/chromium"), found_by: PlaceKind::System });
    let browser = Browser::launch(&LaunchOptions::new(binary, profiles.path()), until()).await.unwrap();
    Stage { browser, _profiles: profiles }
}

impl Stage {
    async fn open(&self, url: &str) -> (Page, Probe) {
        let page = self.browser.new_page("about:blank", until()).await.unwrap();
        let probe = Probe::attach(page.clone(), DigestKey::new([3; 32]), until()).await.unwrap();
        let mut events = page.events();
        page.session().call_raw("Page.navigate", json!({ "url": url }), until()).await.unwrap();
        let loaded = async {
            while let Some(event) = events.next().await {
                if let cuebook_cdp::PageEvent::Lifecycle { frame, name, .. } = event
                    && name == "load"
                    && frame == page.main_frame().id
                    && page.url() != "about:blank"
                {
                    return;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(20), loaded).await.unwrap();
        (page, probe)
    }

    async fn page_of(&self, html: &str) -> (Page, Probe) {
        let port = serve(vec![("/", html.to_owned())]);
        self.open(&format!("http://127.0.0.1:{port}/")).await
    }
}

async fn locate(probe: &Probe, locator: Value) -> Located {
    let locator: Locator = serde_json::from_value(locator).unwrap();
    probe.locate(&locator, &Ask::with_text(), until()).await.unwrap()
}

fn texts(located: &Located) -> Vec<&str> {
    located.matches.iter().map(|found| found.facts.text.as_ref().and_then(FactText::clear).unwrap_or("")).collect()
}

async fn only(probe: &Probe, selector: &str) -> ElementFacts {
    let located = locate(probe, json!({ "strategy": "css", "selector": selector })).await;
    located.unique().unwrap_or_else(|| panic!("{selector}: {}", located.matches.len())).facts.clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn locators_find_what_they_name() {
    let stage = stage().await;
    let (_page, probe) = stage
        .page_of(
            r#"<main><h2>People</h2>
            <table><tr><td>john@example.com</td><td><button>Edit</button></td></tr>
                   <tr><td>jane@example.com</td><td><button>Edit</button></td></tr></table>
            <label for=m>E-mail</label><input id=m placeholder="you@host" data-testid=mail>
            <p>Total: <b>5</b></p><img alt="A cat" src=x><span title="Hint">?</span>
            <button>Log in</button><button>Log in and set a password</button>
            <div id=host></div></main>
            <script>host.attachShadow({mode:'open'}).innerHTML='<button class=deep>Deep</button>'</script>"#,
        )
        .await;
    let cases = [
        (json!({ "strategy": "byTestId", "testId": "mail" }), 1),
        (json!({ "strategy": "byRole", "role": "button", "name": "Edit" }), 2),
        (json!({ "strategy": "byRole", "role": "button", "name": "Edit", "nth": 1 }), 1),
        (json!({ "strategy": "byRole", "role": "button", "name": "log in" }), 1),
        (json!({ "strategy": "byRole", "role": "button", "name": "log in", "exact": false }), 2),
        (json!({ "strategy": "byRole", "role": "button", "name": { "regex": "^Log in$" } }), 1),
        (json!({ "strategy": "byRole", "role": "heading", "states": { "level": 2 } }), 1),
        (json!({ "strategy": "byLabel", "text": "E-mail" }), 1),
        (json!({ "strategy": "byPlaceholder", "text": "you@" }), 1),
        (json!({ "strategy": "byAltText", "text": "a cat" }), 1),
        (json!({ "strategy": "byTitle", "text": "Hint" }), 1),
        (json!({ "strategy": "text", "text": "total: 5" }), 1),
        (json!({ "strategy": "text", "text": { "regex": "^Total: \\d$" } }), 1),
        (json!({ "strategy": "css", "selector": "button.deep" }), 1),
        (json!({ "strategy": "xpath", "expression": "//table//button" }), 2),
        (
            json!({ "strategy": "byRole", "role": "button", "within": { "strategy": "byRole", "role": "row", "hasText": "jane@example.com" } }),
            1,
        ),
        (
            json!({ "strategy": "byRole", "role": "row", "has": { "strategy": "byRole", "role": "button", "name": "Edit" } }),
            2,
        ),
        (json!({ "strategy": "byRole", "role": "button", "name": "Nothing" }), 0),
    ];
    for (locator, count) in cases {
        let located = locate(&probe, locator.clone()).await;
        assert_eq!(located.matches.len(), count, "{locator}: {:?}", texts(&located));
    }
    let total = locate(&probe, json!({ "strategy": "text", "text": "Total" })).await;
    assert_eq!(total.unique().unwrap().facts.tag, "p");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_selector_that_the_browser_refuses_is_said_to_be_bad() {
    let stage = stage().await;
    let (_page, probe) = stage.page_of("<p>x").await;
    for locator in
        [json!({ "strategy": "css", "selector": "p[" }), json!({ "strategy": "xpath", "expression": "//p[" })]
    {
        let locator: Locator = serde_json::from_value(locator).unwrap();
        let error = probe.locate(&locator, &Ask::default(), until()).await.unwrap_err();
        assert!(matches!(error, ProbeError::BadSelector { .. }), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn facts_tell_states_values_and_three_kinds_of_visibility() {
    let stage = stage().await;
    let (_page, probe) = stage
        .page_of(
            r##"<fieldset disabled><input id=off value=x></fieldset><input id=ro readonly required>
            <input type=checkbox id=check checked><select id=pick multiple><option value=1 selected>One<option value=2 selected>Two</select>
            <div id=clear style="opacity:0;width:9px;height:9px"></div><div id=gone style="display:none">x</div>
            <div id=far style="margin-top:3000px">far</div><input id=bad aria-invalid=true aria-errormessage=why><span id=why>Too short</span>
            <button id=menu aria-haspopup=true aria-expanded=false aria-describedby=why>Menu</button>"##,
        )
        .await;
    assert!(only(&probe, "#off").await.states.disabled);
    let readonly = only(&probe, "#ro").await.states;
    assert!(readonly.readonly && readonly.required && !readonly.editable);
    assert_eq!(only(&probe, "#check").await.states.checked, Some(Toggle::True));
    let pick = only(&probe, "#pick").await;
    assert_eq!((pick.role, pick.selected_values), (Role::ListBox, vec!["1".to_owned(), "2".to_owned()]));
    assert_eq!(only(&probe, "#clear").await.visible, Some(true));
    assert_eq!(only(&probe, "#gone").await.visible, Some(false));
    assert_eq!(only(&probe, "#far").await.in_viewport, Some(0.0));
    assert_eq!(only(&probe, "#bad").await.error_message.as_deref(), Some("Too short"));
    let menu = only(&probe, "#menu").await;
    assert_eq!(menu.states.haspopup.as_deref(), Some("menu"));
    assert_eq!((menu.states.expanded, menu.description.as_deref()), (Some(false), Some("Too short")));
}

#[tokio::test(flavor = "multi_thread")]
async fn password_like_fields_tell_digests_only() {
    let stage = stage().await;
    let (_page, probe) = stage
        .page_of(
            r#"<input id=a type=password value=hunter2><input id=b autocomplete=one-time-code value=hunter2>
            <label>Your PIN <input id=c value=hunter2></label><input id=d name=apiToken value=hunter2>
            <input id=e name=city value=Paris>"#,
        )
        .await;
    let ask = Ask { attributes: vec!["value".into()], properties: vec!["value".into()], text: true, compare: vec![] };
    for id in ["#a", "#b", "#c", "#d"] {
        let locator: Locator = serde_json::from_value(json!({ "strategy": "css", "selector": id })).unwrap();
        let located = probe.locate(&locator, &ask, until()).await.unwrap();
        let facts = &located.unique().unwrap().facts;
        assert!(facts.sensitive, "{id}");
        assert!(!serde_json::to_string(facts).unwrap().contains("hunter2"), "{id}");
        let again = probe.facts_of(&located.unique().unwrap().key, &ask, until()).await.unwrap().unwrap();
        assert_eq!(again.value, facts.value);
    }
    assert_eq!(only(&probe, "#e").await.value, Some(FactText::Clear("Paris".into())));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_good_until_its_document_goes() {
    let stage = stage().await;
    let (page, probe) = stage.page_of("<button>Go</button>").await;
    let key = locate(&probe, json!({ "strategy": "byRole", "role": "button" })).await.unique().unwrap().key.clone();
    let other = Probe::attach(page.clone(), DigestKey::new([4; 32]), until()).await.unwrap();
    assert_eq!(other.facts_of(&key, &Ask::default(), until()).await.unwrap().unwrap().name, "Go");
    let world = probe.world_of(&key, until()).await.unwrap();
    world
        .call::<Value>("(cb, id) => { cb.byId(id).remove(); return null; }", &[key.node.into()], until())
        .await
        .unwrap();
    assert_eq!(probe.facts_of(&key, &Ask::default(), until()).await.unwrap(), None);
    page.session().call_raw("Page.reload", json!({}), until()).await.unwrap();
    let gone = async {
        while probe.world_of(&key, until()).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_and_names_agree_with_the_browsers_own() {
    let stage = stage().await;
    let (_page, probe) = stage
        .page_of(
            r##"<button>Save <b>now</b></button><button aria-label="Close dialog">x</button><button title=tip></button>
            <span id=l1>Hello</span><button aria-labelledby="l1">nope</button>
            <label for=i1>Name <em>required</em></label><input id=i1><label>Wrap <input value=v> times</label>
            <label>Flash <input type=checkbox> the screen <input value=3> times</label>
            <input placeholder="Search here"><input type=submit><input type=image alt=Buy><input type=number aria-label=n>
            <a href=#>Link <img alt=pic src=x></a><select aria-label=s><option>A</select><textarea title=t></textarea>
            <details><summary>More</summary>x</details><div role="foo button">a<div>b</div>c</div>
            <div role=button>Div <span hidden>no</span><span aria-hidden=true>no</span> btn</div>
            <div role=switch aria-checked=true>sw</div><h3>Head</h3><div role=tab>tb</div><button><img src=a alt=Del></button>"##,
        )
        .await;
    let located = locate(
        &probe,
        json!({ "strategy": "css", "selector": "button, input, a, select, textarea, summary, [role], h3" }),
    )
    .await;
    assert_eq!(located.matches.len(), 22);
    let keys: Vec<_> = located.matches.iter().map(|found| found.key.clone()).collect();
    let names = probe.browser_names(&keys, until()).await.unwrap();
    for found in &located.matches {
        let browser = &names[&found.key];
        assert_eq!((browser.role, &browser.name), (Some(found.facts.role), &found.facts.name), "{:?}", found.facts);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_are_searched_and_placed_across_processes() {
    let inner = "<body style='margin:0'><button style='position:absolute;left:10px;top:20px;width:60px;height:20px'>In</button>";
    let port = serve(vec![
        (
            "/",
            "<body style='margin:0'><button>Out</button>
             <iframe name=one src='http://localhost:PORT/middle' style='position:absolute;left:100px;top:50px;width:400px;height:300px;border:5px solid'></iframe>"
                .to_owned(),
        ),
        (
            "/middle",
            "<body style='margin:0'><iframe name=two src='http://127.0.0.1:PORT/inner' style='position:absolute;left:7px;top:9px;width:200px;height:100px;border:0;padding:3px'></iframe>"
                .to_owned(),
        ),
        ("/inner", inner.to_owned()),
    ]);
    let stage = stage().await;
    let (page, probe) = stage.open(&format!("http://127.0.0.1:{port}/")).await;
    assert_eq!(page.frames().len(), 3);
    assert!(page.frames().iter().filter(|frame| frame.is_session_root).count() >= 2);
    let everywhere = locate(&probe, json!({ "strategy": "byRole", "role": "button" })).await;
    assert_eq!(texts(&everywhere), ["Out", "In"]);
    let path = json!([{ "strategy": "css", "selector": "iframe" , "nth": 0 }, { "strategy": "css", "selector": "[name=two]" }]);
    let inside = locate(&probe, json!({ "strategy": "byRole", "role": "button", "frame": path })).await;
    let found = inside.unique().unwrap();
    let frame = page.frames()[2].id.clone();
    assert_eq!(found.key.frame, frame.as_str());
    let placement = probe.frame_offset(&frame, until()).await.unwrap();
    assert_eq!(placement.origin, Point { x: 100.0 + 5.0 + 7.0 + 3.0, y: 50.0 + 5.0 + 9.0 + 3.0 });
    let rect = placement.rect(found.facts.rect.unwrap());
    assert_eq!((rect.x, rect.y), (125.0, 87.0));
}
