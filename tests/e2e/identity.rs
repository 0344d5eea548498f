//! A candidate is what it was about when it was observed: pages that sort, filter, paginate, put in again, count,
//! animate and translate themselves between the observation and the input, and under the pointer.
//!
//! Two errors are counted: a step that acts on something else than what was observed, and one that goes stale
//! although its target is about the same. `docs/benchmarks.md` states the figures.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::time::{Duration, Instant};

use cuebook_cdp::protocol::js_protocol::runtime::EvaluateParams;
use cuebook_datalayer::MemoryArtifacts;
use cuebook_executor::{ExecutorOptions, LiveExecutor, ScreenshotMode};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::PageId;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::outcome::{Cause, StepOutcome};
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::profile::Profile;
use cuebook_grammar::seam::{DenyAll, Executor as _, NoSecrets, PageModeler as _};
use cuebook_grammar::secret::DigestKey;
use cuebook_page_modeler::{LivePageModeler, ModelerOptions};
use cuebook_tests::Stage;
use serde_json::{Value, json};

/// When a page changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// After it was observed, before the step.
    Before,
    /// When the pointer or the focus comes.
    Reached,
    /// Every few milliseconds, from before it was observed on.
    Always,
}

/// Result of a step on a changing page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Became {
    /// It moved away from under the pointer and nothing was hit: the controller tries again.
    Moved,
    /// It acted on what was observed.
    Right,
    /// It acted on something else.
    Wrong,
    /// It acted on nothing and says so.
    Stale,
    /// Its report differs from its effect.
    Other,
}

struct Trial {
    name: &'static str,
    html: &'static str,
    /// The context label or name by which the target is picked, and which the page reports once it is acted on.
    target: &'static str,
    change: &'static str,
}

const fn trial(name: &'static str, html: &'static str, target: &'static str, change: &'static str) -> Trial {
    Trial { name, html, target, change }
}

/// The nodes stay, and what they are about is exchanged: `says` gives the one text to the other.
const RECYCLED: [Trial; 18] = [
    trial(
        "row",
        "<table><tr><td class=w>Alice<td><button>Edit</button><tr><td class=w>Bob<td><button>Edit</button></table>",
        "Bob",
        "swap()",
    ),
    trial(
        "row of words contained",
        "<table><tr><td class=w>Bob<td><button>Edit</button><tr><td class=w>Carl<td><button>Edit</button></table>",
        "Bob",
        "says(0, 'Alice Cooper (Bob)')",
    ),
    trial(
        "list item",
        "<ul><li><span class=w>Alice</span> <button>Edit</button><li><span class=w>Bob</span> <button>Edit</button></ul>",
        "Bob",
        "swap()",
    ),
    trial(
        "article",
        "<article><h3 class=w>Alice</h3><button>Edit</button></article><article><h3 class=w>Bob</h3><button>Edit</button></article>",
        "Bob",
        "swap()",
    ),
    trial(
        "section",
        "<section><h2 class=w>Alice</h2><button>Edit</button></section><section><h2 class=w>Bob</h2><button>Edit</button></section>",
        "Bob",
        "swap()",
    ),
    trial(
        "labelled region",
        "<section aria-label=Alice class=w><button>Edit</button></section><section aria-label=Bob class=w><button>Edit</button></section>",
        "Bob",
        "label(0, 'Bob'); label(1, 'Alice')",
    ),
    trial(
        "fieldset",
        "<fieldset><legend class=w>Alice</legend><button>Edit</button></fieldset><fieldset><legend class=w>Bob</legend><button>Edit</button></fieldset>",
        "Bob",
        "swap()",
    ),
    trial(
        "group",
        "<div role=group aria-label=Alice class=w><button>Edit</button></div><div role=group aria-label=Bob class=w><button>Edit</button></div>",
        "Bob",
        "label(0, 'Bob'); label(1, 'Alice')",
    ),
    trial(
        "heading",
        "<h2 class=w>Alice</h2><button>Edit</button><h2 class=w>Bob</h2><button>Edit</button>",
        "Bob",
        "swap()",
    ),
    trial("heading of the page", "<h1 class=w>Bob</h1><h2>Orders</h2><button>Edit</button>", "Bob", "says(0, 'Alice')"),
    trial(
        "title bar of a card",
        "<div><div><h3 class=w>Bob</h3></div><div><button>Edit</button></div></div>",
        "Bob",
        "says(0, 'Alice')",
    ),
    trial(
        "dialog's name",
        "<div role=dialog aria-label=Bob class=w><button>Edit</button></div>",
        "Bob",
        "label(0, 'Alice')",
    ),
    trial(
        "dialog's question",
        "<div role=dialog aria-label=Question><p class=w>Bob</p><button>Edit</button></div>",
        "Bob",
        "says(0, 'Alice')",
    ),
    trial("title", "<button>Edit</button>", "Bob", "document.title = 'Alice'"),
    trial(
        "card without a role",
        "<div><div><b class=w>Alice</b><button>Edit</button></div><div><b class=w>Bob</b><button>Edit</button></div></div>",
        "Bob",
        "swap()",
    ),
    trial(
        "row of controls",
        "<ul><li><button class=w>Alice</button><button>Edit</button><li><button class=w>Bob</button><button>Edit</button></ul>",
        "Bob",
        "swap()",
    ),
    trial("page of a table", "<table><tr><td class=w>Bob<td><button>Edit</button></table>", "Bob", "says(0, 'Dora')"),
    trial("name", "<button class=w>Bob</button>", "Bob", "says(0, 'Alice')"),
];

/// The target is about the same all the time; something else changes.
const ALIKE: [Trial; 25] = [
    trial(
        "clock in the header",
        "<header><span class=t>0</span></header><h1>Bob</h1><button>Edit</button>",
        "Bob",
        "says(0, n)",
    ),
    trial(
        "unread counts",
        "<nav><a href='#i'>Inbox</a> <span class=t>0</span></nav><h1>Bob</h1><button>Edit</button>",
        "Bob",
        "says(0, n)",
    ),
    trial(
        "count in a heading",
        "<h1>Bob</h1><h2 class=t>Orders (0)</h2><button>Edit</button>",
        "Bob",
        "says(0, `Orders (${n})`)",
    ),
    trial("count in the title", "<h1>Bob</h1><button>Edit</button>", "Bob", "document.title = `(${n}) Bob`"),
    trial("count in the only title", "<button>Edit</button>", "Bob", "document.title = `(${n}) Bob`"),
    trial(
        "carousel by its name",
        "<h1>Bob</h1><div class=carousel><h3 class=t>Offer</h3><p>Now</p></div><button>Edit</button>",
        "Bob",
        "says(0, `Offer ${n}`)",
    ),
    trial(
        "carousel by its role",
        "<h1>Bob</h1><section aria-roledescription=carousel><h3 class=t>Offer</h3></section><button>Edit</button>",
        "Bob",
        "says(0, `Offer ${n}`)",
    ),
    trial(
        "carousel of hidden slides",
        "<h1>Bob</h1><div><div class=s><h3>One</h3></div><div class=s hidden><h3>Two</h3></div></div><button>Edit</button>",
        "Bob",
        "for (const one of document.querySelectorAll('.s')) one.hidden = !one.hidden",
    ),
    trial(
        "feed above",
        "<h1>Bob</h1><div id=feed style='height: 4em; overflow: hidden'><div><h3>First</h3></div><div><h3>Second</h3></div></div><button>Edit</button>",
        "Bob",
        "if (n < 40) feed.insertAdjacentHTML('beforeend', `<div><h3>News ${n}</h3></div>`)",
    ),
    trial(
        "progress in the row",
        "<table><tr><td>Bob<td><progress value=0 max=100></progress><span role=progressbar class=t>0 %</span><td><button>Edit</button></table>",
        "Bob",
        "says(0, `${n} %`)",
    ),
    trial(
        "relative time in the row",
        "<table><tr><td>Bob<td><time datetime=2026-01-01 class=t>now</time><td><button>Edit</button></table>",
        "Bob",
        "says(0, `${n} s ago`)",
    ),
    trial(
        "countdown in the dialog",
        "<div role=dialog aria-label=Bob><p>Stay? <span role=timer class=t>9</span></p><button>Edit</button></div>",
        "Bob",
        "says(0, n)",
    ),
    trial(
        "another row",
        "<table><tr><td class=t>Alice<td><button>Edit</button><tr><td>Bob<td><button>Edit</button></table>",
        "Bob",
        "says(0, `Alice ${n}`)",
    ),
    trial(
        "another section",
        "<section><h2 class=t>Alice</h2><button>Edit</button></section><section><h2>Bob</h2><button>Edit</button></section>",
        "Bob",
        "says(0, `Alice ${n}`)",
    ),
    trial(
        "sorted by moving nodes",
        "<ul id=list><li>Alice <button>Edit</button><li>Bob <button>Edit</button></ul>",
        "Bob",
        "if (n < 2) list.append(list.firstElementChild)",
    ),
    trial(
        "sorted by rewriting nodes",
        "<ul><li><span class=w>Alice</span> <button>Edit</button><li><span class=w>Bob</span> <button>Edit</button></ul>",
        "Bob",
        "if (n < 2) swap()",
    ),
    trial(
        "put in again",
        "<ul id=list><li>Alice <button>Edit</button><li>Bob <button>Edit</button></ul>",
        "Bob",
        "if (n < 2) list.innerHTML = list.innerHTML",
    ),
    trial(
        "filtered",
        "<table><tr id=other><td>Alice<td><button>Edit</button><tr><td>Bob<td><button>Edit</button></table>",
        "Bob",
        "other.hidden = n % 2",
    ),
    trial(
        "another table paginates",
        "<table><tr><td class=t>Page 1<td><button>Open</button></table><h2>Bob</h2><button>Edit</button>",
        "Bob",
        "says(0, `Page ${n}`)",
    ),
    trial(
        "animated",
        "<h1>Bob</h1><p id=box style='position:absolute;top:300px'>x</p><button>Edit</button>",
        "Bob",
        "box.style.left = `${n % 100}px`; box.className = `c${n}`",
    ),
    trial(
        "translated around",
        "<nav><a class=t href='#h'>Home</a></nav><h1>Bob</h1><p class=t>Welcome</p><button>Edit</button><footer class=t>Imprint</footer>",
        "Bob",
        "says(0, n % 2 ? 'Start' : 'Home'); says(1, n % 2 ? 'Willkommen' : 'Welcome'); says(2, n % 2 ? 'Impressum' : 'Imprint')",
    ),
    trial(
        "tip in the target",
        "<style>.tip{display:none;position:absolute}button:hover .tip{display:block}</style><h1>Bob</h1><button>Edit<b class=tip>Edits it</b></button>",
        "Bob",
        "0",
    ),
    trial(
        "generated tip",
        "<style>button:hover::after{content:'Edits it';position:absolute}</style><h1>Bob</h1><button>Edit</button>",
        "Bob",
        "0",
    ),
    trial(
        "actions of the row",
        "<style>.a{display:none}tr:hover .a{display:inline}</style><table><tr><td>Bob <span class=a><a href='#x'>View</a> | <a href='#y'>Move</a></span><td><button>Edit</button></table>",
        "Bob",
        "0",
    ),
    trial(
        "log beside",
        "<section aria-label=Log><ul id=feed></ul></section><h1>Bob</h1><button>Edit</button>",
        "Bob",
        "if (n < 40) feed.insertAdjacentHTML('beforeend', `<li>${n}</li>`)",
    ),
];

/// Script of each page: its texts by number, and the subject of a button when it is pressed, in the page's own words.
const SCRIPT: &str = r"
    window.log = []; window.n = 0;
    const all = (name) => [...document.querySelectorAll(name)];
    window.texts = () => all('.w').length ? all('.w') : all('.t');
    window.says = (at, text) => { texts()[at].textContent = String(text); };
    window.label = (at, text) => { texts()[at].setAttribute('aria-label', text); };
    window.swap = () => { const [a, b] = texts(); [a.textContent, b.textContent] = [b.textContent, a.textContent]; };
    window.aboutOf = (button) => {
      for (let up = button; up && up !== document.body; up = up.parentElement) {
        const said = `${up.getAttribute('aria-label') ?? ''} ${up.textContent}`;
        if (/Bob|Alice|Dora|Carl/.test(said.replace('Alice Cooper (Bob)', 'Alice'))) return said;
        for (let before = up.previousElementSibling; before; before = before.previousElementSibling) {
          if (/Bob|Alice/.test(before.textContent) && (before.matches('h1,h2,h3') || before.querySelector('h1,h2,h3'))) return before.textContent;
        }
      }
      return document.title;
    };
    const note = (event) => { if (event.target.matches?.('button')) log.push(aboutOf(event.target).replace('Alice Cooper (Bob)', 'Alice')); };
    document.addEventListener('click', note, true);
    document.title = 'Bob';";

struct Bench {
    stage: Stage,
    modeler: LivePageModeler,
    executor: LiveExecutor,
    page: PageId,
}

fn soon() -> Deadline {
    Deadline::after(Instant::now(), Duration::from_secs(20))
}

impl Bench {
    async fn open() -> Self {
        let stage = Stage::open().await.unwrap();
        let key = DigestKey::new([5; 32]);
        let page = PageId::new(stage.tab().unwrap().target_id().as_str());
        let modeler = LivePageModeler::new(stage.browser().clone(), key.clone(), ModelerOptions::default());
        let options = ExecutorOptions {
            screenshots: ScreenshotMode::Off,
            effect_timeout: Duration::from_millis(30),
            ready_timeout: Duration::from_millis(1_000),
            ..ExecutorOptions::default()
        };
        let executor = LiveExecutor::new(stage.browser().clone(), key, NoSecrets, MemoryArtifacts::default(), options);
        Self { stage, modeler, executor, page }
    }

    async fn eval(&self, expression: &str) -> Value {
        let params = EvaluateParams {
            return_by_value: Some(true),
            await_promise: Some(true),
            ..EvaluateParams::new(expression)
        };
        let tab = self.stage.tab().unwrap();
        let reply = tab.session().request(params, soon().instant()).await.unwrap();
        let reply: Value = reply.parse().unwrap();
        assert_eq!(reply.get("exceptionDetails"), None, "{expression}");
        reply["result"]["value"].clone()
    }

    /// Writes a new document; `0` keeps the value of the script from the answer.
    async fn write(&self, html: &str) {
        let document = json!(format!("<!doctype html><body>{html}</body>"));
        self.eval(&format!("document.open(); document.write({document}); document.close(); 0")).await;
        self.eval(&format!("{{{SCRIPT}}} 0")).await;
        if html.contains(":hover") {
            // The pointer of the step before rests somewhere on this document, which Chrome finds out by a timer.
            self.eval("new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 300))").await;
        }
    }

    async fn observe(&mut self) -> Observation {
        self.modeler.observe(&self.page.clone(), Scope::View, soon()).await.unwrap()
    }

    async fn run(&mut self, seen: &Observation, candidates: Value, step: Value) -> StepOutcome {
        let plan = json!({ "version": "1.0", "candidates": candidates, "steps": [step] });
        let draft = PlanDraft::read(&plan.to_string(), Author::Operator).unwrap();
        let bound = draft.check(seen, &Policy::new(Profile::Unleashed)).unwrap().bind(0, seen).unwrap();
        self.executor.run_step(&self.page, &bound, seen, &mut DenyAll, soon()).await.unwrap()
    }

    /// The button that is about the target.
    async fn aimed(&mut self, trial: &Trial) -> (Observation, String) {
        let seen = self.observe().await;
        let at = self.eval("all = [...document.querySelectorAll('button')].filter((one) => one.textContent === 'Edit' || document.querySelectorAll('button').length === 1); all.findIndex((one) => /Bob/.test(aboutOf(one)))").await;
        let at =
            usize::try_from(at.as_u64().unwrap_or_else(|| panic!("{}: nothing about {}", trial.name, trial.target)))
                .unwrap();
        let is_meant =
            |name: &str| name == "Edit" || seen.candidates.iter().filter(|one| one.name == "Edit").count() == 0;
        let mut buttons: Vec<_> =
            seen.candidates.iter().filter(|one| one.role.as_str() == "button" && is_meant(&one.name)).collect();
        buttons.sort_by(|a, b| {
            let place = |one: &cuebook_grammar::candidate::Candidate| one.rect.map(|rect| (rect.y, rect.x)).unwrap();
            place(a).partial_cmp(&place(b)).unwrap()
        });
        // A page that filters may show fewer by now than when it was asked.
        let target = buttons.get(at).or(buttons.last()).unwrap();
        assert!(!target.ambiguous, "{}: {}", trial.name, target.title());
        let id = target.id.to_string();
        (seen, id)
    }

    async fn one(&mut self, trial: &Trial, when: When) -> (Became, String) {
        self.write(trial.html).await;
        let change = trial.change;
        if when == When::Always {
            self.eval(&format!("window.ticking = setInterval(() => {{ n++; {change} }}, 15); new Promise((done) => setTimeout(done, 60))")).await;
        }
        let (seen, id) = self.aimed(trial).await;
        match when {
            When::Before => drop(self.eval(&format!("n++; {change}; 0")).await),
            When::Reached => {
                drop(
                    self.eval(&format!(
                        "document.addEventListener('pointermove', () => {{ if (!n++) {{ {change} }} }}, true); 0"
                    ))
                    .await,
                );
            }
            When::Always => {}
        }
        let outcome = self.run(&seen, json!({}), json!({ "type": "click", "targetRef": id })).await;
        self.eval("clearInterval(window.ticking); 0").await;
        let log: Vec<String> = serde_json::from_value(self.eval("log").await).unwrap();
        let report = format!("{} {when:?}: {log:?} {outcome:?}", trial.name);
        let became = match &outcome {
            StepOutcome::Succeeded(_) if log.len() == 1 && log[0].contains("Bob") => Became::Right,
            _ if log.iter().any(|about| !about.contains("Bob")) => Became::Wrong,
            StepOutcome::Failed(failure) if log.is_empty() && failure.cause != Cause::TargetStale => Became::Moved,
            StepOutcome::Failed(_) if log.is_empty() => Became::Stale,
            _ => Became::Other,
        };
        (became, report)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_node_was_about_is_what_gets_the_click() {
    let mut bench = Bench::open().await;
    let mut followed = 0;
    for trial in &RECYCLED {
        for when in [When::Before, When::Reached] {
            let (became, report) = bench.one(trial, when).await;
            assert!(matches!(became, Became::Right | Became::Stale | Became::Moved), "{became:?}: {report}");
            followed += u32::from(became == Became::Right);
        }
    }
    // Where the texts were exchanged, the other node is about it now.
    assert!(followed >= 10, "followed {followed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changes_elsewhere_makes_no_step_stale() {
    let mut bench = Bench::open().await;
    for trial in &ALIKE {
        for when in [When::Before, When::Reached, When::Always] {
            let (became, report) = bench.one(trial, when).await;
            assert!(matches!(became, Became::Right | Became::Moved), "{became:?}: {report}");
        }
    }
}

/// A menu of which the items are called by their text.
const MENU: &str =
    "<style>.below { display: none } li:hover > .below { display: block }</style><ul role=menu aria-label=Main";

/// The menu, away from where the pointer was in the trial before.
fn menu(trial: usize, items: &str) -> String {
    format!("{MENU} style='margin-top: {}px'>{items}<li role=menuitem tabindex=0>Edit</li></ul>", 20 + trial % 4 * 150)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_menu_item_that_opens_its_menu_under_the_pointer_is_the_same_item() {
    let mut bench = Bench::open().await;
    let below = "<ul class=below role=menu><li role=menuitem>New</li><li role=menuitem>Open</li></ul>";
    let adding = "this.onmouseenter = null; this.insertAdjacentHTML('beforeend', '<ul role=menu><li role=menuitem>New</li></ul>')";
    let pages = [
        ("styled", format!("<li role=menuitem tabindex=0 id=it>File {below}</li>")),
        ("plain list", format!("<li role=menuitem tabindex=0 id=it>File {}</li>", below.replace("role=menu>", ">"))),
        ("in a part", format!("<li role=menuitem tabindex=0 id=it><span>File</span><div>{below}</div></li>")),
        ("added", format!("<li role=menuitem tabindex=0 id=it onmouseenter=\"{adding}\">File</li>")),
    ];
    for (at, (name, items)) in pages.iter().enumerate() {
        for is_hovered in [false, true] {
            bench.write(&menu(2 * at + usize::from(is_hovered), items)).await;
            bench.eval("it.addEventListener('click', () => log.push('clicked')); 0").await;
            let seen = bench.observe().await;
            let file = seen.candidates.iter().find(|one| one.name == "File");
            let id = file.unwrap_or_else(|| panic!("{name}: {:?}", seen.candidates)).id.to_string();
            if is_hovered {
                let hovered = bench.run(&seen, json!({}), json!({ "type": "hover", "targetRef": id })).await;
                assert!(matches!(hovered, StepOutcome::Succeeded(_)), "{name}: {hovered:?}");
            }
            let outcome = bench.run(&seen, json!({}), json!({ "type": "click", "targetRef": id })).await;
            assert!(matches!(outcome, StepOutcome::Succeeded(_)), "{name} {is_hovered}: {outcome:?}");
            assert_eq!(bench.eval("log").await, json!(["clicked"]), "{name} {is_hovered}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_menu_item_that_becomes_another_under_the_pointer_is_not_clicked() {
    let mut bench = Bench::open().await;
    let below = "<ul class=below role=menu><li role=menuitem>New</li></ul>";
    let changes = [
        "this.firstChild.textContent = 'Delete '",
        "this.lastElementChild.remove(); this.firstChild.textContent = 'New '",
        "this.insertAdjacentHTML('afterbegin', '<b>Delete </b>')",
    ];
    for (at, change) in changes.into_iter().enumerate() {
        let item = format!("<li role=menuitem tabindex=0 id=it onmouseenter=\"{change}\">File {below}</li>");
        bench.write(&menu(at, &item)).await;
        bench.eval("it.addEventListener('click', () => log.push('clicked')); 0").await;
        let seen = bench.observe().await;
        let id = seen.candidates.iter().find(|one| one.name == "File").unwrap().id.to_string();
        let outcome = bench.run(&seen, json!({}), json!({ "type": "click", "targetRef": id })).await;
        let StepOutcome::Failed(failure) = outcome else { panic!("{change}: {outcome:?}") };
        assert_eq!(failure.cause, Cause::TargetStale, "{}", failure.message);
        // What is there now is what a step would find that began again.
        assert!(failure.evidence.input_sent, "{change}: it may be repeated");
        assert_eq!(bench.eval("log").await, json!([]), "{change}");
    }
}
