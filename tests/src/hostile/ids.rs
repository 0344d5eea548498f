//! Plan files with ids of an observation, on registers that change between the commands.
//!
//! A trial observes a register, changes it, and executes a plan of one or two steps with that observation. The register
//! tells the server, by keys that it does not show, which record was acted on.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use axum::Router;
use axum::extract::{Path as Params, State};
use axum::response::Html;
use axum::routing::{any, get};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::desk::{Desk, Shared, Turn, called, evaluate};
use super::mixed;
use super::tally::Came;

/// A record of the register. Nothing shows its key.
#[derive(Clone, Debug, Serialize)]
struct Entry {
    key: String,
    name: String,
    town: String,
}

fn entry(key: &str, name: &str, town: &str) -> Entry {
    Entry { key: key.to_owned(), name: name.to_owned(), town: town.to_owned() }
}

/// The register as it is observed. Two records share a name, and several a town.
fn register() -> Vec<Entry> {
    let rows = [
        ("k1", "Ann Lee", "Oslo"),
        ("k2", "Bob Ray", "Rome"),
        ("k3", "Ann Lee", "Bern"),
        ("k4", "Cid Orr", "Oslo"),
        ("k5", "Dan Poe", "Bonn"),
        ("k6", "Eve Fox", "Rome"),
    ];
    rows.map(|(key, name, town)| entry(key, name, town)).to_vec()
}

/// Remainder of the target after the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TargetFate {
    There,
    Gone,
    /// Another record reads the same.
    Twice,
}

/// A layout of the page, the role and name of what a row offers, and the steps on it.
struct Layout {
    name: &'static str,
    control: (&'static str, &'static str),
    steps: Steps,
    /// Path of the request to the server, before the key.
    want: &'static str,
}

#[derive(Clone, Copy)]
enum Steps {
    Click,
    /// A click, and one on what it opens, by a declared locator.
    ClickThen(&'static str, &'static str),
    Check,
    /// A value in the row's field, and its button.
    Fill,
}

const CONFIRM: Steps = Steps::ClickThen("button", "Yes, delete");

const fn layout(name: &'static str, control: (&'static str, &'static str), steps: Steps, want: &'static str) -> Layout {
    Layout { name, control, steps, want }
}

const LAYOUTS: [Layout; 10] = [
    layout("table", ("button", "Delete"), CONFIRM, "delete"),
    layout("list", ("button", "Delete"), Steps::Click, "delete"),
    layout("cards", ("button", "Delete"), CONFIRM, "delete"),
    layout("plain", ("button", "Delete"), Steps::Click, "delete"),
    layout("grid", ("button", "Delete"), Steps::Click, "delete"),
    layout("groups", ("button", "Delete"), CONFIRM, "delete"),
    layout("menus", ("button", "Actions"), Steps::ClickThen("menuitem", "Delete"), "delete"),
    layout("forms", ("button", "Save"), Steps::Fill, "save"),
    layout("boxes", ("checkbox", "Done"), Steps::Check, "done"),
    layout("links", ("link", "Open"), Steps::Click, "open"),
];

/// Another record than the target's.
const fn other(at: usize) -> usize {
    if at == 0 { 1 } else { at - 1 }
}

type Change = fn(&mut Vec<Entry>, usize);

const CHANGES: [(&str, Change, TargetFate); 17] = [
    ("none", |_, _| {}, TargetFate::There),
    ("deleteOther", |all, at| _ = all.remove(other(at)), TargetFate::There),
    ("deleteTarget", |all, at| _ = all.remove(at), TargetFate::Gone),
    ("insert", |all, at| all.insert(at, entry("n1", "Zoe Kay", "Oslo")), TargetFate::There),
    (
        "insertMany",
        |all, _| {
            for number in 0..3 {
                all.insert(0, entry(&format!("n{number}"), &format!("New {number}"), "Rome"));
            }
            all.push(entry("n9", "Last One", "Bonn"));
        },
        TargetFate::There,
    ),
    ("reverse", |all, _| all.reverse(), TargetFate::There),
    ("sort", |all, _| all.sort_by(|a, b| (&a.town, &a.name).cmp(&(&b.town, &b.name))), TargetFate::There),
    (
        "filterKeeps",
        |all, at| {
            let kept = [all[other(at)].key.clone(), all[at].key.clone()];
            all.retain(|one| kept.contains(&one.key));
        },
        TargetFate::There,
    ),
    (
        "filterDrops",
        |all, at| {
            let town = all[at].town.clone();
            all.retain(|one| one.town != town);
        },
        TargetFate::Gone,
    ),
    (
        "paginate",
        |all, _| {
            *all = (1..6).map(|number| entry(&format!("p{number}"), &format!("Page Two {number}"), "Oslo")).collect()
        },
        TargetFate::Gone,
    ),
    ("renameNeighbour", |all, at| all[other(at)].name = format!("{} Jr.", all[at].name), TargetFate::There),
    ("redraw", |_, _| {}, TargetFate::There),
    (
        "duplicate",
        |all, at| {
            let twin = Entry { key: "twin".to_owned(), ..all[at].clone() };
            all.insert(at, twin);
        },
        TargetFate::Twice,
    ),
    (
        "namesakeInstead",
        |all, at| all[at] = Entry { key: "namesake".to_owned(), town: "Lima".to_owned(), ..all[at].clone() },
        TargetFate::Gone,
    ),
    (
        "deleteAndReverse",
        |all, at| {
            all.remove(other(at));
            all.reverse();
        },
        TargetFate::There,
    ),
    (
        "insertAndRename",
        |all, at| {
            all[other(at)].name = format!("Not {}", all[at].name);
            all.insert(0, entry("n1", "Zoe Kay", "Bern"));
        },
        TargetFate::There,
    ),
    (
        "replaceAndSort",
        |all, at| {
            all[at] = entry("n1", "Zoe Kay", "Oslo");
            all.sort_by(|a, b| b.name.cmp(&a.name));
        },
        TargetFate::Gone,
    ),
];

/// Where the register changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Each command launches a browser, and the server has another register for the second.
    Launched,
    /// Each command opens a tab of one browser.
    Reloaded,
    /// Both commands work in one tab, in which the page draws its register again, on nodes as stated.
    Live(&'static str),
}

const WAYS: [Way; 5] = [Way::Launched, Way::Reloaded, Way::Live("new"), Way::Live("records"), Way::Live("places")];
const HEADINGS: [&str; 3] = ["plain", "bracket", "number"];
/// How long a page takes to draw its register, in milliseconds.
const LATE: [u64; 3] = [0, 0, 400];

/// The register of a trial, and what was done to it.
#[derive(Debug, Default)]
struct Present {
    records: Vec<Entry>,
    facts: Value,
    did: Vec<String>,
}

/// The server of all trials. It ends with the runtime.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    port: u16,
    shared: Shared<Present>,
    layouts: Vec<usize>,
}

#[derive(Clone)]
struct Site {
    html: String,
    shared: Shared<Present>,
}

async fn page(State(site): State<Site>, Params(number): Params<usize>) -> Html<String> {
    let shared = site.shared.lock();
    let Some(present) = shared.get(&number) else { return Html("no such trial".to_owned()) };
    let mut facts = present.facts.clone();
    facts["records"] = json!(present.records);
    Html(site.html.replace("/*TRIAL*/", &facts.to_string()))
}

async fn did(State(site): State<Site>, Params((number, what)): Params<(usize, String)>) -> Html<&'static str> {
    if let Some(present) = site.shared.lock().get_mut(&number) {
        present.did.push(what);
    }
    Html("<title>Record</title><h1>Record</h1>")
}

async fn opened(state: State<Site>, Params((number, key)): Params<(usize, String)>) -> Html<&'static str> {
    did(state, Params((number, format!("open/{key}")))).await
}

impl Server {
    /// # Errors
    /// If the page cannot be read, no layout has one of the names, or there is no free port.
    pub(crate) async fn start(folder: &Path, names: &[String]) -> Result<Self> {
        let layouts: Vec<usize> = (0..LAYOUTS.len())
            .filter(|at| names.is_empty() || names.iter().any(|name| name == LAYOUTS[*at].name))
            .collect();
        ensure!(!layouts.is_empty(), "expected one of {}", LAYOUTS.map(|layout| layout.name).join(", "));
        let html = std::fs::read_to_string(folder.join("ids.html")).context("ids.html")?;
        let shared = Shared::default();
        let app = Router::new()
            .route("/{number}/", get(page))
            .route("/{number}/open/{key}", get(opened))
            .route("/{number}/did/{*what}", any(did))
            .with_state(Site { html, shared: shared.clone() });
        let listener = TcpListener::bind("127.0.0.1:0").await.context("cannot listen on 127.0.0.1")?;
        let port = listener.local_addr()?.port();
        tokio::spawn(async move { axum::serve(listener, app).await });
        Ok(Self { port, shared, layouts })
    }

    /// One trial, and its name.
    pub(crate) async fn trial(&self, desk: &Desk, turn: Turn) -> (String, Result<Came>) {
        let number = turn.number + turn.seed as usize;
        // Their counts share no factor: each pair has its turn.
        let layout = &LAYOUTS[self.layouts[number % self.layouts.len()]];
        let change = &CHANGES[number % CHANGES.len()];
        let drawn = mixed(turn.seed.wrapping_mul(1_000_003).wrapping_add(turn.number as u64)) >> 8;
        let pick = |of: usize, divided: u64| (drawn / divided) as usize % of;
        let (at, way) = (pick(6, 1), WAYS[pick(WAYS.len(), 6)]);
        let (heading, late) = (HEADINGS[pick(3, 30)], LATE[pick(3, 90)]);
        let name = format!("{} {} {way:?} {} {heading} {late} ms", layout.name, change.0, at + 1);
        let facts = json!({ "layout": layout.name, "heading": heading, "late": late });
        (name, self.judged(desk, turn.number, (layout, change, way, at), facts).await)
    }

    async fn judged(
        &self,
        desk: &Desk,
        number: usize,
        (layout, change, way, at): (&Layout, &(&str, Change, TargetFate), Way, usize),
        facts: Value,
    ) -> Result<Came> {
        let before = register();
        let key = before[at].key.clone();
        self.shared.lock().insert(number, Present { records: before.clone(), facts, did: Vec::new() });
        let url = format!("http://127.0.0.1:{}/{number}/", self.port);
        let tab = match way {
            Way::Live(_) => Some(desk.tab(&url).await?),
            _ => None,
        };
        let place = |own: &[&str]| -> Vec<String> {
            let flags = match way {
                Way::Launched => vec![],
                Way::Reloaded => vec!["--cdp", desk.endpoint()],
                Way::Live(_) => vec!["--cdp", desk.endpoint(), "--tab", &url],
            };
            own.iter().copied().chain(flags).chain(["--json"]).map(str::to_owned).collect()
        };
        let file = |name: &str| desk.path(name).to_string_lossy().into_owned();

        if tab.is_some() {
            tokio::time::sleep(std::time::Duration::from_millis(600)).await;
        }
        let observe = if tab.is_some() { place(&["observe"]) } else { place(&["observe", &url]) };
        let ended = called(observe).await?;
        ensure!(ended.code == 0, "observe: {ended:?}");
        std::fs::write(file("seen.json"), &ended.stdout)?;
        let plan = plan(layout, &ended.json()?, at)?;
        std::fs::write(file("plan.json"), plan.to_string())?;

        let mut after = before;
        change.1(&mut after, at);
        if let Some(present) = self.shared.lock().get_mut(&number) {
            present.records.clone_from(&after);
        }
        if let (Some(tab), Way::Live(nodes)) = (&tab, way) {
            let nodes = if change.0 == "redraw" { "new" } else { nodes };
            evaluate(tab, &format!("render({}, {nodes:?})", json!(after))).await?;
        }

        let (plan, seen, runs) = (file("plan.json"), file("seen.json"), file("runs"));
        let ended = called(place(&["exec", &plan, "--observation", &seen, "--out", &runs, "--timeout", "3s"])).await?;
        let report = ended.json()?;
        let did = self.shared.lock().remove(&number).map(|present| present.did).unwrap_or_default();
        Ok(came(layout, change.2, &key, &did, &report))
    }
}

/// The plan on the row at a position. Rows are in the order of the page.
fn plan(layout: &Layout, observed: &Value, at: usize) -> Result<Value> {
    let all = observed["candidates"].as_array().context("an observation has candidates")?;
    let id = |(role, name): (&str, &str)| {
        let mut rows = all.iter().filter(|one| one["role"] == role && one["name"] == name);
        rows.nth(at).map(|one| one["id"].clone()).with_context(|| format!("no {role} {name:?} in row {}", at + 1))
    };
    let target = id(layout.control)?;
    let (declared, steps) = match layout.steps {
        Steps::Click => (json!({}), json!([{ "type": "click", "targetRef": target }])),
        Steps::Check => (json!({}), json!([{ "type": "check", "targetRef": target }])),
        Steps::ClickThen(role, name) => (
            json!({ "next": { "strategy": "byRole", "role": role, "name": name } }),
            json!([{ "type": "click", "targetRef": target }, { "type": "click", "targetRef": "next" }]),
        ),
        Steps::Fill => (
            json!({}),
            json!([
                { "type": "setValue", "targetRef": id(("textbox", "Quantity"))?, "value": "7" },
                { "type": "click", "targetRef": target }
            ]),
        ),
    };
    Ok(json!({ "version": "1.0", "candidates": declared, "steps": steps }))
}

fn came(layout: &Layout, left: TargetFate, key: &str, did: &[String], report: &Value) -> Came {
    let said = || format!("did {did:?}, {} {}", report["result"], report["error"]["message"]);
    let of_another = |what: &String| what.split('/').nth(1) != Some(key);
    let want =
        if matches!(layout.steps, Steps::Fill) { format!("save/{key}/7") } else { format!("{}/{key}", layout.want) };
    let acted = did.iter().filter(|what| **what == want).count();
    let is_ok = report["result"] == "ok";
    match (did.iter().any(of_another), acted, is_ok) {
        (true, ..) => Came::Wrong(said()),
        (_, 2.., _) => Came::Double(said()),
        (_, 0, true) => Came::FalseSuccess(said()),
        (_, 1, true) => Came::Done,
        (_, 0, false) if left != TargetFate::There => Came::Stopped,
        _ => Came::Needless(said()),
    }
}
