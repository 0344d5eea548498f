//! Models that use a computer, as scripts that look at the picture: they find what they mean by its colour, and answer in
//! the action space of OpenAI, of Anthropic or of UI-TARS. Their servers are simulated, the browser is not.
//!
//! Each task is a page that sets its title to `done`, which nothing but the task does.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use cuebook::Live;
use cuebook_datalayer::replay::Method;
use cuebook_datalayer::{MemoryArtifacts, MemoryLog, ValueRedactor};
use cuebook_executor::ExecutorOptions;
use cuebook_grammar::id::{PageId, RunId};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::profile::Profile;
use cuebook_grammar::report::{RunReport, RunResult};
use cuebook_grammar::risk::RiskClass;
use cuebook_grammar::seam::{DenyAll, NoSecrets};
use cuebook_grammar::secret::DigestKey;
use cuebook_page_modeler::ModelerOptions;
use cuebook_planner::{Anthropic, ModelPlanner, OpenAi, OpenAiMode, OpenAiResponses};
use cuebook_probe::picture::Canvas;
use cuebook_repair::{Ladder, Layers, RunRequest, Sight, Work};
use cuebook_tests::Stage;
use serde_json::{Value, json};

use super::engines::servers::{Dialect, Part, Play, Request, ScriptedReply, Server};

/// Far beyond the time that anything here needs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A colour that the script looks for.
type Ink = [u8; 3];
const RED: Ink = [200, 0, 0];
const GREEN: Ink = [0, 160, 0];
const BLUE: Ink = [0, 0, 200];
const ORANGE: Ink = [240, 140, 0];
const PURPLE: Ink = [140, 0, 140];
const CYAN: Ink = [0, 200, 200];

/// A move of a script, on the picture that it is shown.
#[derive(Clone, Copy, Debug)]
enum Move {
    Click(Ink),
    Double(Ink),
    Right(Ink),
    Drag(&'static [Ink]),
    /// Turns the wheel down by this many steps.
    Wheel(Ink, i32),
    Type(&'static str),
    Enter,
}

/// A task: its page, its moves, and how they are carried out, by element or by point.
struct Task {
    name: &'static str,
    html: &'static str,
    moves: &'static [Move],
    by: &'static [Method],
}

use Method::{Coordinates as Point, Dom as Element};

/// The head of each page: its body has no margin, and `ink` draws a box.
const HEAD: &str = "<!doctype html><title>open</title><style>body { margin: 0; font: 16px sans-serif } canvas, .at { position: absolute }\
    </style><script>const done = () => { document.title = 'done' }; const near = (x, y, a, b, by = 15) => Math.hypot(x - a, y - b) < by; \
    const pen = (id) => document.getElementById(id).getContext('2d'); \
    const ink = (c, r, g, b, x, y, w, h) => { c.fillStyle = `rgb(${r},${g},${b})`; c.fillRect(x, y, w, h) };</script>";

static TASKS: [Task; 11] = [
    Task {
        name: "canvas-buttons",
        html: "<canvas id=c width=400 height=200 style='left:40px;top:30px'></canvas><script>\
            ink(pen('c'), 200, 0, 0, 20, 20, 100, 40); ink(pen('c'), 0, 160, 0, 220, 120, 100, 40);\
            c.onclick = (e) => { if (e.offsetX > 220 && e.offsetX < 320 && e.offsetY > 120 && e.offsetY < 160) done() }</script>",
        moves: &[Move::Click(GREEN)],
        by: &[Element],
    },
    Task {
        name: "map",
        html: "<canvas id=c width=600 height=400 style='left:20px;top:20px'></canvas><script>\
            let zoom = 1, x = 100, held = null; const draw = () => { pen('c').clearRect(0, 0, 600, 400); \
            ink(pen('c'), 0, 0, 200, x, 100, 20 * zoom, 20 * zoom); ink(pen('c'), 240, 140, 0, 500, 300, 20, 20) }; draw();\
            document.onwheel = (e) => { zoom = Math.min(3, zoom + Math.sign(e.deltaY)); draw() };\
            document.onmousedown = (e) => { held = e.clientX }; document.onmouseup = () => { held = null; if (zoom > 1 && x > 300) done() };\
            document.onmousemove = (e) => { if (held !== null) { x += e.clientX - held; held = e.clientX; draw() } }</script>",
        moves: &[Move::Wheel(BLUE, 2), Move::Drag(&[BLUE, ORANGE])],
        by: &[Point, Point],
    },
    Task {
        name: "drawn-slider",
        html: "<div class=at style='left:50px;top:60px;width:400px;height:6px;background:#ccc'></div>\
            <div class=at style='left:440px;top:90px;width:12px;height:12px;background:rgb(240,140,0)'></div>\
            <div class=at id=h style='left:50px;top:52px;width:20px;height:20px;background:rgb(0,0,200)'></div><script>\
            let held = false; h.onpointerdown = () => { held = true }; document.onpointerup = () => { held = false; if (parseInt(h.style.left) > 420) done() };\
            document.onpointermove = (e) => { if (held) h.style.left = Math.min(440, e.clientX - 10) + 'px' }</script>",
        moves: &[Move::Drag(&[BLUE, ORANGE])],
        by: &[Point],
    },
    Task {
        name: "icon-without-a-name",
        html: "<div class=at onclick='' style='left:20px;top:20px;width:24px;height:24px;background:rgb(200,0,0)'></div>\
            <div class=at onclick='done()' style='left:60px;top:20px;width:24px;height:24px;background:rgb(0,160,0)'></div>\
            <div class=at onclick='' style='left:100px;top:20px;width:24px;height:24px;background:rgb(0,0,200)'></div>",
        moves: &[Move::Click(GREEN)],
        by: &[],
    },
    Task {
        name: "image-map",
        html: "<img class=at usemap=#m width=300 height=200 style='left:30px;top:30px' src=\"data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' \
            width='300' height='200'%3E%3Crect x='20' y='20' width='80' height='60' fill='rgb(200,0,0)'/%3E%3Crect x='180' y='110' \
            width='80' height='60' fill='rgb(0,160,0)'/%3E%3C/svg%3E\"><map name=m><area shape=rect coords='20,20,100,80' href='#north' alt=North>\
            <area shape=rect coords='180,110,260,170' href='#south' alt=South></map><script>onhashchange = () => { if (location.hash === '#south') done() }</script>",
        moves: &[Move::Click(GREEN)],
        by: &[],
    },
    Task {
        name: "signature-pad",
        html: "<canvas id=c width=500 height=300 style='left:30px;top:30px;background:#eee'></canvas><script>\
            const dots = [[50, 50], [200, 250], [400, 60]]; const met = new Set(); let down = false;\
            [[200, 0, 0], [0, 160, 0], [0, 0, 200]].forEach((rgb, i) => ink(pen('c'), ...rgb, dots[i][0] - 8, dots[i][1] - 8, 16, 16));\
            const draw = (e) => { if (down) dots.forEach(([x, y], i) => { if (near(e.offsetX, e.offsetY, x, y)) met.add(i) }) };\
            document.onmousedown = (e) => { down = true; draw(e) }; document.onmousemove = draw;\
            document.onmouseup = () => { down = false; if (met.size === 3) done() }</script>",
        moves: &[Move::Drag(&[RED, GREEN, BLUE])],
        by: &[],
    },
    Task {
        name: "canvas-drag-and-drop",
        html: "<canvas id=c width=500 height=300 style='left:30px;top:30px'></canvas><script>\
            ink(pen('c'), 140, 0, 140, 40, 40, 40, 40); ink(pen('c'), 240, 140, 0, 380, 200, 60, 60); let held = false;\
            c.onmousedown = (e) => { held = near(e.offsetX, e.offsetY, 60, 60, 25) };\
            c.onmouseup = (e) => { if (held && near(e.offsetX, e.offsetY, 410, 230, 35)) done(); held = false }</script>",
        moves: &[Move::Drag(&[PURPLE, ORANGE])],
        by: &[Element],
    },
    Task {
        name: "canvas-double-click",
        html: "<canvas id=c width=300 height=200 style='left:30px;top:30px'></canvas><script>\
            ink(pen('c'), 0, 200, 200, 100, 60, 50, 50); document.ondblclick = (e) => { if (near(e.offsetX, e.offsetY, 125, 85, 30)) done() }</script>",
        moves: &[Move::Double(CYAN)],
        by: &[Point],
    },
    Task {
        name: "canvas-menu",
        html: "<canvas id=c width=400 height=300 style='left:30px;top:30px'></canvas><script>\
            ink(pen('c'), 0, 0, 200, 60, 60, 50, 50); let open = false;\
            document.oncontextmenu = (e) => { e.preventDefault(); if (near(e.offsetX, e.offsetY, 85, 85, 30)) { open = true; document.title = 'menu'; \
            ink(pen('c'), 0, 160, 0, 100, 120, 120, 30); ink(pen('c'), 200, 0, 0, 100, 160, 120, 30) } };\
            document.onclick = (e) => { if (open && near(e.offsetX, e.offsetY, 160, 135, 30)) done() }</script>",
        moves: &[Move::Right(BLUE), Move::Click(GREEN)],
        by: &[Point, Point],
    },
    Task {
        name: "field-found-by-point",
        html: "<form onsubmit='if (f.value === \"Ann Lee\") done(); return false'><input id=f class=at \
            style='left:60px;top:80px;width:200px;height:30px;background:rgb(0,200,200);border:0'></form>",
        moves: &[Move::Click(CYAN), Move::Type("Ann Lee"), Move::Enter],
        by: &[Element, Element, Element],
    },
    Task {
        name: "scrolled-canvas-list",
        html: "<canvas id=c width=300 height=400 style='left:40px;top:40px'></canvas><script>\
            let top_ = 0; const draw = () => { pen('c').clearRect(0, 0, 300, 400); for (let i = 0; i < 30; i++) \
            ink(pen('c'), ...(i === 20 ? [140, 0, 140] : i % 2 ? [240, 140, 0] : [250, 200, 120]), 0, i * 40 - top_, 300, 40) }; draw();\
            document.onwheel = (e) => { top_ = Math.max(0, Math.min(1000, top_ + e.deltaY)); document.title = 'at ' + top_; draw() };\
            document.onclick = (e) => { if (Math.floor((e.offsetY + top_) / 40) === 20) done() }</script>",
        moves: &[Move::Wheel(ORANGE, 7), Move::Click(PURPLE)],
        by: &[Point, Point],
    },
];

/// The middle of what has this colour in the picture.
fn middle(picture: &Canvas, ink: Ink) -> Option<(f64, f64)> {
    let (mut x, mut y, mut count) = (0_u32, 0_u32, 0_u32);
    for at_y in 0..picture.height() {
        for at_x in 0..picture.width() {
            let seen = picture.at(at_x, at_y);
            if seen.iter().zip(ink).all(|(a, b)| a.abs_diff(b) < 12) {
                (x, y, count) = (x + u32::try_from(at_x).ok()?, y + u32::try_from(at_y).ok()?, count + 1);
            }
        }
    }
    (count > 40).then(|| (f64::from(x) / f64::from(count), f64::from(y) / f64::from(count)))
}

/// The picture of a request, wherever its server expects it.
fn picture(value: &Value) -> Option<Canvas> {
    match value {
        Value::String(text) => {
            let bytes = text.strip_prefix("data:image/png;base64,").unwrap_or(text);
            let bytes =
                bytes.starts_with("iVBORw0KGgo").then(|| base64::engine::general_purpose::STANDARD.decode(bytes));
            Canvas::read(&bytes?.ok()?)
        }
        Value::Array(items) => items.iter().find_map(picture),
        Value::Object(members) => members.values().find_map(picture),
        _ => None,
    }
}

/// A space, with the server that speaks it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Client {
    OpenAi,
    Anthropic,
    UiTars,
}

impl Client {
    const fn dialect(self) -> Dialect {
        match self {
            Self::OpenAi => Dialect::Responses,
            Self::Anthropic => Dialect::Anthropic,
            Self::UiTars => Dialect::OwnServer,
        }
    }

    /// Actions in the space; the last one of a script ends the task.
    fn says(self, picture: &Canvas, next: Option<&Move>) -> Vec<Part> {
        let at = |ink: Ink| middle(picture, ink).unwrap_or_else(|| panic!("{ink:?} is not in the picture"));
        let computer = |action: Value| vec![Part::Call("computer".to_owned(), action.to_string())];
        let text = |action: String| vec![Part::Text(format!("Thought: Next.\nAction: {action}"))];
        match self {
            Self::OpenAi => {
                let point = |ink: Ink| at(ink);
                let click = |kind: &str, ink: Ink, button: &str| {
                    let (x, y) = point(ink);
                    computer(json!({ "actions": [{ "type": kind, "x": x, "y": y, "button": button }] }))
                };
                match next {
                    None => vec![Part::Call("finish".to_owned(), "{\"result\":\"\"}".to_owned())],
                    Some(Move::Click(ink)) => click("click", *ink, "left"),
                    Some(Move::Double(ink)) => click("double_click", *ink, "left"),
                    Some(Move::Right(ink)) => click("click", *ink, "right"),
                    Some(Move::Drag(inks)) => {
                        let path: Vec<Value> =
                            inks.iter().map(|ink| point(*ink)).map(|(x, y)| json!({ "x": x, "y": y })).collect();
                        computer(json!({ "action": { "type": "drag", "path": path } }))
                    }
                    Some(Move::Wheel(ink, steps)) => {
                        let (x, y) = point(*ink);
                        computer(
                            json!({ "action": { "type": "scroll", "x": x, "y": y, "scroll_x": 0, "scroll_y": 100 * steps } }),
                        )
                    }
                    Some(Move::Type(text)) => computer(json!({ "action": { "type": "type", "text": text } })),
                    Some(Move::Enter) => computer(json!({ "action": { "type": "keypress", "keys": ["ENTER"] } })),
                }
            }
            Self::Anthropic => {
                let pair = |ink: Ink| json!([at(ink).0.round(), at(ink).1.round()]);
                let click = |action: &str, ink: Ink| computer(json!({ "action": action, "coordinate": pair(ink) }));
                match next {
                    None => vec![Part::Call("finish".to_owned(), "{\"result\":\"\"}".to_owned())],
                    Some(Move::Click(ink)) => click("left_click", *ink),
                    Some(Move::Double(ink)) => click("double_click", *ink),
                    Some(Move::Right(ink)) => click("right_click", *ink),
                    // It has straight lines only: one stroke for each.
                    Some(Move::Drag(inks)) => inks
                        .windows(2)
                        .flat_map(|ends| {
                            computer(json!({ "action": "left_click_drag", "start_coordinate": pair(ends[0]), "coordinate": pair(ends[1]) }))
                        })
                        .collect(),
                    Some(Move::Wheel(ink, steps)) => computer(json!({
                        "action": "scroll", "coordinate": pair(*ink), "scroll_direction": "down", "scroll_amount": steps,
                    })),
                    Some(Move::Type(text)) => computer(json!({ "action": "type", "text": text })),
                    Some(Move::Enter) => computer(json!({ "action": "key", "text": "Return" })),
                }
            }
            Self::UiTars => {
                // Sides as the model resizes them.
                let patched = |side: usize| (side as f64 / 28.0).round() * 28.0 / side as f64;
                let (wide, high) = (patched(picture.width()), patched(picture.height()));
                let spot = |ink: Ink| format!("'({:.0},{:.0})'", at(ink).0 * wide, at(ink).1 * high);
                match next {
                    None => text("finished(content='')".to_owned()),
                    Some(Move::Click(ink)) => text(format!("click(start_box={})", spot(*ink))),
                    Some(Move::Double(ink)) => text(format!("left_double(start_box={})", spot(*ink))),
                    Some(Move::Right(ink)) => text(format!("right_single(start_box={})", spot(*ink))),
                    Some(Move::Drag(inks)) => {
                        let strokes: Vec<String> = inks
                            .windows(2)
                            .map(|ends| format!("drag(start_box={}, end_box={})", spot(ends[0]), spot(ends[1])))
                            .collect();
                        text(strokes.join("\n"))
                    }
                    Some(Move::Wheel(ink, _)) => text(format!("scroll(start_box={}, direction='down')", spot(*ink))),
                    Some(Move::Type(typed)) => text(format!("type(content='{typed}')")),
                    Some(Move::Enter) => text("hotkey(key='enter')".to_owned()),
                }
            }
        }
    }
}

/// Runs a script against a page.
async fn carry_out(
    stage: &Stage,
    client: Client,
    url: &str,
    profile: Profile,
    moves: &'static [Move],
) -> Result<(RunReport, MemoryLog, Vec<Request>)> {
    let next = AtomicUsize::new(0);
    let answer = move |_: usize, request: &Request| -> Option<Play> {
        let dialect = client.dialect();
        let picture = picture(&request.json()).unwrap_or_else(|| panic!("no picture: {}", request.json()));
        let at = next.fetch_add(1, Ordering::SeqCst);
        Some(dialect.saying(&ScriptedReply::of(client.says(&picture, moves.get(at)))))
    };
    let server = Server::choosing(answer).await;
    let origin = server.origin();
    let log = MemoryLog::default();
    let report = match client {
        Client::OpenAi => {
            let engine = OpenAiResponses::new(&format!("{origin}/v1"), "tiny")?;
            run_with(stage, ModelPlanner::new(engine), url, profile, log.clone()).await?
        }
        Client::Anthropic => {
            run_with(stage, ModelPlanner::new(Anthropic::new(&origin, "tiny")?.pointing()?), url, profile, log.clone())
                .await?
        }
        Client::UiTars => {
            let engine = OpenAi::new(&format!("{origin}/v1"), "tiny")?.with_mode(OpenAiMode::UiTars);
            run_with(stage, ModelPlanner::new(engine), url, profile, log.clone()).await?
        }
    };
    Ok((report, log, server.requests()))
}

async fn run_with<P: cuebook_grammar::seam::Planner + 'static>(
    stage: &Stage,
    planner: P,
    url: &str,
    profile: Profile,
    log: MemoryLog,
) -> Result<RunReport> {
    let live = Live::new(stage.browser().clone(), DigestKey::new([7; 32]), Arc::new(ValueRedactor::default()));
    let layers = Layers {
        modeler: live.modeler(ModelerOptions::default()),
        planner: Arc::new(planner),
        executor: live.executor(NoSecrets, MemoryArtifacts::default(), ExecutorOptions::default()),
        repair: Ladder::default(),
        log,
        confirm: DenyAll,
    };
    let tab = PageId::new(stage.tab().context("the stage has a tab")?.target_id().as_str());
    let policy = Policy::new(profile).starting_at(url)?;
    let work = Work::Task("Do what the picture asks for".to_owned());
    let mut request = RunRequest::new(RunId::new("pointing"), work, tab, policy).starting_at(url.to_owned());
    request.sight = Sight::Bare;
    Ok(live.controller(layers).run(request).await)
}

async fn title(stage: &Stage) -> Result<String> {
    let page = stage.tab().context("the stage has a tab")?;
    let until = Instant::now() + PATIENCE;
    let world = page.world(&page.main_frame().id, until).await?;
    Ok(world.call("() => document.title", &[], until).await?)
}

/// The tasks with a kind of move that no earlier one has: how a space writes moves is tested by one of each kind.
fn one_of_each_kind() -> impl Iterator<Item = &'static Task> {
    let mut known = HashSet::new();
    let kind = |step: &Move| (std::mem::discriminant(step), matches!(step, Move::Drag([_, _, _, ..])));
    TASKS.iter().filter(move |task| task.moves.iter().filter(|step| known.insert(kind(step))).count() > 0)
}

async fn solves(client: Client, tasks: impl IntoIterator<Item = &'static Task>) -> Result<()> {
    let stage = Stage::open().await?;
    let pages = TASKS.iter().map(|task| (format!("/{}", task.name), format!("{HEAD}{}", task.html)));
    let port = cuebook_testkit::serve(pages.collect::<Vec<_>>());
    for task in tasks {
        let url = format!("http://127.0.0.1:{port}/{}", task.name);
        let (report, log, requests) = carry_out(&stage, client, &url, Profile::Unleashed, task.moves).await?;
        let about = || format!("{} by {client:?}: {report:#?}", task.name);
        ensure!(report.result == RunResult::Ok, "{}", about());
        ensure!(title(&stage).await? == "done", "{}: {}", title(&stage).await?, about());
        ensure!(requests.len() == task.moves.len() + 1, "one picture, one action: {}", about());
        // The log says of each step where the model pointed, by what it was carried out, and at which risk.
        let steps: Vec<_> = log.steps().into_iter().filter(|step| step.planning.is_some()).collect();
        let by: Vec<Method> = steps.iter().map(|step| Method::of(&step.action.action)).collect();
        ensure!(task.by.is_empty() || by.starts_with(task.by), "{by:?}: {}", about());
        for step in &steps {
            let said = step.action.explanation.as_ref().map(ToString::to_string).unwrap_or_default();
            let verb = step.action.action.kind().meta().name;
            ensure!(
                matches!(verb, "type" | "press") || said.contains("of the viewport: "),
                "{verb} {said}: {}",
                about()
            );
            ensure!(step.risk <= RiskClass::Write, "{verb} {:?}: {}", step.risk, about());
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scripted_client_of_openais_computer_tool_solves_the_tasks() -> Result<()> {
    solves(Client::OpenAi, &TASKS).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scripted_client_of_anthropics_computer_tool_makes_each_kind_of_move() -> Result<()> {
    solves(Client::Anthropic, one_of_each_kind()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scripted_client_of_ui_tars_makes_each_kind_of_move() -> Result<()> {
    solves(Client::UiTars, one_of_each_kind()).await
}

/// The twelfth task must not be done: what lies at the point is destructive.
#[tokio::test(flavor = "multi_thread")]
async fn a_point_on_what_is_destructive_is_refused_by_name_and_by_words() -> Result<()> {
    let stage = Stage::open().await?;
    let style = "left:30px;top:30px;width:200px;height:60px;background:rgb(200,0,0);border:0";
    let button = format!("{HEAD}<button class=at style='{style}' onclick='done()'>Delete everything</button>");
    // Nothing says of it that it can be pressed.
    let words =
        format!("{HEAD}<div class=at style='{style}'>Delete everything</div><script>document.onclick = done</script>");
    let port = cuebook_testkit::serve([("/button", button), ("/words", words)]);
    for client in [Client::OpenAi, Client::Anthropic, Client::UiTars] {
        for (path, verb) in [("button", "click"), ("words", "clickPoint")] {
            let url = format!("http://127.0.0.1:{port}/{path}");
            let (report, log, _) = carry_out(&stage, client, &url, Profile::Unleashed, &[Move::Click(RED)]).await?;
            let about = || format!("{path} by {client:?}: {report:#?}");
            ensure!(report.result == RunResult::Blocked, "{}", about());
            let grant = format!("destructive@http://127.0.0.1:{port}");
            ensure!(format!("{report:?}").contains(&grant), "{}", about());
            ensure!(title(&stage).await? == "open", "{}", about());
            ensure!(log.steps().iter().any(|step| step.action.action.kind().meta().name == verb), "{}", about());
        }
    }
    Ok(())
}

/// Without the profile that opens points, the model is told, and told again: nothing is pressed.
#[tokio::test(flavor = "multi_thread")]
async fn a_point_that_no_policy_opens_is_refused_and_the_model_told() -> Result<()> {
    let stage = Stage::open().await?;
    let page = format!(
        "{HEAD}<div class=at style='left:30px;top:30px;width:80px;height:60px;background:rgb(0,160,0)'></div>\
        <script>document.onclick = done</script>"
    );
    let port = cuebook_testkit::serve([("/", page)]);
    let url = format!("http://127.0.0.1:{port}/");
    let moves: &[Move] = &[Move::Click(GREEN), Move::Click(GREEN)];
    let (report, log, requests) = carry_out(&stage, Client::Anthropic, &url, Profile::Auto, moves).await?;
    ensure!(report.result != RunResult::Ok && title(&stage).await? == "open", "{report:#?}");
    ensure!(log.steps().iter().all(|step| step.planning.is_none()), "{report:#?}");
    let told = requests.get(1).context("it is asked again")?.json().to_string();
    ensure!(told.contains("the profile auto does not open `clickPoint`"), "{told}");
    Ok(())
}
