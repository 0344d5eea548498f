//! Pages that change under the pointer: no event of a gesture reaches what was not meant.
//!
//! `cargo xtask soak --races N` runs the same trials in large numbers, by the variables that are read here.

use cuebook_cdp::protocol::browser_protocol::input::{DispatchMouseEventParams, DispatchMouseEventType, MouseButton};
use cuebook_executor::ExecutorOptions;
use cuebook_grammar::outcome::StepOutcome;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

use crate::lab::{Lab, environment, lab_with, quick, soon, succeeded};

const PAGE: &str = include_str!("page.html");
const DECOY: &str = "<!doctype html><body style='margin:0'><button id=decoy style='width:100%;height:50px'>Delete</button><script>\
    for (const type of ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'auxclick', 'dblclick', 'contextmenu'])\
    addEventListener(type, () => parent.postMessage({ type, name: 'decoy' }, '*'), true);\
    addEventListener('message', (event) => { if (event.data === 'ping') parent.postMessage({ pong: true }, '*'); });</script>";

/// When the page changes. Those that do so at a fixed event of the gesture come first.
const MODES: [&str; 16] = [
    "pointermove",
    "mousemove",
    "pointerdown",
    "mousedown",
    "pointerup",
    "coveredOnMove",
    "removedOnPress",
    "frameSlidOnMove",
    "frameSlidOnPress",
    "frameInsertedOnMove",
    "frameRewrittenOnMove",
    "timer",
    "timerAfterMove",
    "frame",
    "frameAfterMove",
    "frameSlidByTimer",
];
const WORKERS: usize = 3;
const TRIALS: usize = 300;

/// Events that a page saw in one trial.
#[derive(Deserialize)]
struct TrialEvents {
    wrong: Vec<String>,
    clicks: u32,
    presses: u32,
}

/// Results of the trials of one mode.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Tally {
    trials: u32,
    /// The target was clicked, and the step says so.
    clicked: u32,
    /// Input was sent, and the guard stopped it.
    stopped: u32,
    /// Nothing was sent: the target was not ready, or the guard stopped all of the gesture.
    refused: u32,
    wrong_events: u32,
    /// The step says that the target was clicked, and it was not.
    false_successes: u32,
    /// The step says that it failed, and the target was clicked.
    false_failures: u32,
    /// The step says that nothing was sent, and the page got a press or a click.
    false_refusals: u32,
    examples: Vec<String>,
}

async fn race_lab() -> Lab {
    let options = ExecutorOptions {
        ready_timeout: Duration::from_millis(300),
        step_timeout: Duration::from_secs(3),
        effect_timeout: Duration::from_millis(50),
        ..quick()
    };
    let mut lab = lab_with(&[("/", PAGE), ("/decoy", DECOY)], options).await;
    // The decoy's document has to be older than a new one that has not been called yet.
    let wait = json!({"type": "waitForIdle", "quietMs": 1000});
    succeeded(lab.step(json!({}), wait).await);
    lab
}

async fn one(lab: &mut Lab, mode: &str, seed: usize, tally: &mut Tally) {
    lab.eval(&format!("begin({mode:?}, {seed})")).await;
    let outcome = lab.click("#a").await;
    let seen: TrialEvents = serde_json::from_value(lab.eval("end()").await).unwrap();
    tally.trials += 1;
    tally.wrong_events += u32::try_from(seen.wrong.len()).unwrap();
    let (said, sent) = match &outcome {
        StepOutcome::Succeeded(success) => (true, success.evidence.input_sent),
        StepOutcome::Failed(failure) => (false, failure.evidence.input_sent),
    };
    // A page that takes the target away when it is pressed has taken the press.
    let acts = if mode == "removedOnPress" { seen.presses } else { seen.clicks };
    match (said, acts) {
        (true, 1) => tally.clicked += 1,
        (true, _) => tally.false_successes += 1,
        (false, 0) if sent => tally.stopped += 1,
        (false, 0) => tally.refused += 1,
        (false, _) => tally.false_failures += 1,
    }
    let is_false_refusal = !sent && seen.presses + seen.clicks > 0;
    tally.false_refusals += u32::from(is_false_refusal);
    let is_odd = !seen.wrong.is_empty() || said != (acts == 1) || is_false_refusal;
    if is_odd && tally.examples.len() < 5 {
        tally.examples.push(format!("{mode} {seed}: {:?} {} clicks, {outcome:?}", seen.wrong, seen.clicks));
    }
}

async fn run(trials: usize, seed: usize) -> BTreeMap<&'static str, Tally> {
    let workers = (0..WORKERS).map(|worker| async move {
        let mut tallies: BTreeMap<&'static str, Tally> = BTreeMap::new();
        let mut lab = race_lab().await;
        for trial in (worker..trials).step_by(WORKERS) {
            let mode = MODES[trial / WORKERS % MODES.len()];
            one(&mut lab, mode, seed + trial, tallies.entry(mode).or_default()).await;
        }
        tallies
    });
    let mut all: BTreeMap<&'static str, Tally> = BTreeMap::new();
    for (mode, part) in join_all(workers).await.into_iter().flatten() {
        let tally = all.entry(mode).or_default();
        tally.trials += part.trials;
        tally.clicked += part.clicked;
        tally.stopped += part.stopped;
        tally.refused += part.refused;
        tally.wrong_events += part.wrong_events;
        tally.false_successes += part.false_successes;
        tally.false_failures += part.false_failures;
        tally.false_refusals += part.false_refusals;
        tally.examples.extend(part.examples);
    }
    all
}

fn number(name: &str) -> Option<usize> {
    environment(name)?.to_str()?.parse().ok()
}

#[tokio::test]
async fn no_event_of_a_gesture_reaches_what_the_page_moves_under_the_pointer() {
    let trials = number("CUEBOOK_RACES").unwrap_or(TRIALS);
    let tallies = run(trials, number("CUEBOOK_RACES_SEED").unwrap_or(1)).await;
    if let Some(file) = environment("CUEBOOK_RACES_OUT") {
        std::fs::write(file, serde_json::to_vec_pretty(&tallies).unwrap()).unwrap();
    }
    let told = serde_json::to_string_pretty(&tallies).unwrap();
    let sum = |of: fn(&Tally) -> u32| tallies.values().map(of).sum::<u32>();
    assert_eq!(sum(|tally| tally.trials) as usize, trials);
    assert_eq!(sum(|tally| tally.wrong_events), 0, "{told}");
    assert_eq!(sum(|tally| tally.false_successes) + sum(|tally| tally.false_failures), 0, "{told}");
    assert_eq!(sum(|tally| tally.false_refusals), 0, "{told}");
    // The pages did attack, and the gestures were real.
    assert!(tallies["mousedown"].stopped > 0 && tallies["frameSlidOnPress"].stopped > 0, "{told}");
    // What was stopped as a whole counts as never sent.
    assert!(tallies["mousemove"].refused > 0 && tallies["frameSlidOnMove"].refused > 0, "{told}");
    assert!(sum(|tally| tally.clicked) > 0, "{told}");
}

/// Attacks with the same pages without the executor, which shows that the trials above could fail.
#[tokio::test]
async fn input_without_a_guard_hits_what_the_page_moves_under_the_pointer() {
    let lab = race_lab().await;
    for mode in &MODES[..4] {
        lab.eval(&format!("begin({mode:?}, 1)")).await;
        let middle = lab.eval("[trial.x + 60, trial.y + 25]").await;
        let session = lab.tab().session().clone();
        for (kind, button, buttons) in [
            (DispatchMouseEventType::MouseMoved, MouseButton::None, 0),
            (DispatchMouseEventType::MousePressed, MouseButton::Left, 1),
            (DispatchMouseEventType::MouseReleased, MouseButton::Left, 0),
        ] {
            let (x, y) = (middle[0].as_f64().unwrap(), middle[1].as_f64().unwrap());
            let event = DispatchMouseEventParams {
                button: Some(button),
                buttons: Some(buttons),
                click_count: Some(1),
                ..DispatchMouseEventParams::new(kind, x, y)
            };
            session.request(event, soon()).await.unwrap();
        }
        let seen: Value = lab.eval("end()").await;
        assert!(!seen["wrong"].as_array().unwrap().is_empty(), "{mode}");
    }
}
