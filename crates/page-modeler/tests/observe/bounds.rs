//! Tests that anything too large is cut and counted: in time, within a budget of tokens, and within a bound of memory.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::observation::{Observation, Scope, Truncation};
use cuebook_grammar::render::{TextOptions, estimate_tokens, text, yaml};
use cuebook_grammar::seam::PageModeler as _;
use cuebook_grammar::secret::DigestKey;
use cuebook_page_modeler::{LivePageModeler, ModelerOptions};

use crate::stage::{Stage, named, names};

/// The most memory of an observation of any page, in mebibytes.
const GROWTH: u64 = 300;

/// The most memory that this process has had in mebibytes; 0 where the system does not tell it.
fn peak() -> u64 {
    if !cfg!(target_os = "linux") {
        return 0;
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

/// Looks at what `script` makes of a page, once per scope, within the deadline of the call, and renders it.
async fn observed<const N: usize>(script: &str, scopes: [Scope; N]) -> [Observation; N] {
    let mut stage = Stage::on("<title>Hostile</title><button>Still here</button><div id=stage></div>").await;
    let script = format!("(() => {{ const stage = document.getElementById('stage'); {script}; return 0; }})()");
    stage.page_script(&script).await;
    // What a slow machine takes is not what is bounded here.
    stage.modeler = modeler(&stage, ModelerOptions { time: Duration::from_secs(60), ..ModelerOptions::default() });
    let before = peak();
    let mut observations = Vec::new();
    for scope in scopes {
        let observation = within_two_minutes(&mut stage, scope).await;
        assert_eq!(named(&observation, "Still here").context, None);
        let shown = shown_within(&observation, 500);
        let left_out = observation.truncated.unwrap_or_default();
        assert_eq!(left_out == Truncation::default(), observation.truncated.is_none());
        for (count, what) in [(left_out.elements, "elements not looked at"), (left_out.frames, "frames not entered")] {
            assert_eq!(shown.contains(&format!("{count} {what}")), count > 0, "{shown}");
        }
        observations.push(observation);
    }
    let growth = peak().saturating_sub(before);
    assert!(growth < GROWTH, "{growth} MiB");
    observations.try_into().unwrap()
}

fn modeler(stage: &Stage, options: ModelerOptions) -> LivePageModeler {
    LivePageModeler::new(Arc::clone(&stage.browser), DigestKey::new([5; 32]), options)
}

async fn within_two_minutes(stage: &mut Stage, scope: Scope) -> Observation {
    let deadline = Deadline::after(Instant::now(), Duration::from_secs(120));
    stage.modeler.observe(&stage.id, scope, deadline).await.unwrap()
}

/// Text and YAML, both within the budget; returns the text.
fn shown_within(observation: &Observation, budget: usize) -> String {
    let options = TextOptions { budget, ..TextOptions::default() };
    for shown in [yaml(observation, &options), text(observation, &options)] {
        assert!(estimate_tokens(&shown) <= budget, "{} of {budget} in {shown}", estimate_tokens(&shown));
    }
    text(observation, &options)
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_twins_are_seen_distinguished_and_shown_within_a_budget() {
    let [full, view] =
        observed("stage.innerHTML = '<p><button>Twin</button>'.repeat(10000)", [Scope::Full, Scope::View]).await;
    assert_eq!((full.candidates.len(), full.truncated), (10_001, None));
    let contexts: HashSet<&str> = full.candidates.iter().filter_map(|twin| twin.context.as_deref()).collect();
    let ambiguous = full.candidates.iter().filter(|twin| twin.ambiguous).count();
    assert_eq!(contexts.len() + ambiguous, 10_000);
    let left_out = view.truncated.unwrap();
    assert_eq!(view.candidates.len() as u64 + left_out.off_view + left_out.candidates, 10_001);
    assert!(shown_within(&full, 500).contains("candidates beyond the budget"));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_more_candidates_than_the_bound_the_rest_is_counted() {
    let mut stage = Stage::on("<script>document.write('<button>Twin</button>'.repeat(500))</script>").await;
    stage.modeler = modeler(&stage, ModelerOptions { candidates: 200, ..ModelerOptions::default() });
    let full = stage.observe(Scope::Full).await;
    assert_eq!((full.candidates.len(), full.truncated.unwrap().candidates), (200, 300));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_walk_that_takes_too_long_stops_and_counts_the_rest() {
    let mut stage = Stage::on("<button>First</button><script>document.write('<p>'.repeat(20000))</script>").await;
    stage.modeler = modeler(&stage, ModelerOptions { time: Duration::from_millis(1), ..ModelerOptions::default() });
    let full = stage.observe(Scope::Full).await;
    assert_eq!(names(&full), ["First"]);
    let left_out = full.truncated.unwrap();
    assert!((1..20_000).contains(&left_out.elements), "{left_out:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_million_nodes_those_beyond_the_bound_are_counted() {
    let script = "stage.innerHTML = '<div> </div>'.repeat(500000) + '<button>Beyond</button>'";
    let [full] = observed(script, [Scope::Full]).await;
    let left_out = full.truncated.unwrap();
    assert!((300_000..300_010).contains(&left_out.elements), "{left_out:?}");
    assert_eq!(names(&full), ["Still here"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_ten_thousand_levels_those_beyond_the_bound_are_counted() {
    // Chrome's own layout recurses: it does not outlive 3,000 boxes in each other. The rest has no box.
    let [full, view] = observed(
        "let at = stage;
         for (let i = 0; i < 10000; i++) {
             at = at.appendChild(document.createElement('div'));
             if (i === 100) at.innerHTML = '<button>Deep</button>';
             if (i >= 1000) at.style.display = 'contents';
         }
         at.innerHTML = '<button>Deepest</button>'",
        [Scope::Full, Scope::View],
    )
    .await;
    for seen in [full, view] {
        let left_out = seen.truncated.unwrap();
        assert!((9_000..10_010).contains(&left_out.elements), "{left_out:?}");
        assert_eq!(names(&seen), ["Still here", "Deep"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_fifty_megabytes_of_text_only_the_beginning_is_read() {
    // Chrome's own layout takes 20 s for so much text in one node: what is long is not shown, or does not wrap.
    let [full, view] = observed(
        "const long = 'word '.repeat(10485760);
         stage.innerHTML = '<ul><li><a href=/a>Beside</a><span hidden></span></li></ul><button>Long</button><button></button><textarea></textarea>';
         const [about, label, button, text] = stage.querySelectorAll('span, button, textarea');
         about.append(long);
         label.title = long;
         button.setAttribute('aria-label', long);
         text.style.display = 'none';
         text.value = long",
        [Scope::Full, Scope::View],
    )
    .await;
    for seen in [full, view] {
        assert_eq!(seen.candidates.len(), 4, "{:?}", names(&seen));
        assert!(named(&seen, "Beside").context.as_ref().is_none_or(|context| context.len() < 1_000));
        let last = seen.candidates.last().unwrap();
        assert!(last.name.starts_with("word word") && last.name.len() <= 1_000, "{}", last.name.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_five_megabytes_in_and_beside_a_button_only_the_beginning_is_read() {
    let [full, view] = observed(
        "stage.innerHTML = '<ul><li><a href=/a>Beside</a></li><li><button></button></li></ul><textarea></textarea>';
         const [beside, inside, field] = stage.querySelectorAll('li, textarea');
         beside.append('word '.repeat(500000));
         inside.firstChild.append('word '.repeat(500000));
         field.value = 'word '.repeat(10000);
         for (const one of stage.querySelectorAll('li')) one.style.cssText = 'white-space: nowrap; overflow: hidden'",
        [Scope::Full, Scope::View],
    )
    .await;
    for seen in [full, view] {
        assert_eq!(seen.candidates.len(), 4, "{:?}", names(&seen));
        assert!(named(&seen, "Beside").context.as_ref().is_none_or(|context| context.len() < 1_000));
        let long = seen.candidates.iter().find(|one| one.name.starts_with("word word")).unwrap();
        assert!(long.name.len() <= 1_000, "{}", long.name.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_more_frames_than_the_bound_the_rest_is_counted() {
    // Chrome alone takes a minute until 1,000 frames stand, its own bound for a page: half as many again as ours are made.
    let [full] = observed(
        "for (let i = 0; i < 150; i++) {
             const frame = document.createElement('iframe');
             frame.style.cssText = 'width: 30px; height: 30px';
             frame.srcdoc = '<body style=margin:0><button style=width:20px;height:20px>' + i + '</button>';
             stage.append(frame);
         }",
        [Scope::Full],
    )
    .await;
    assert_eq!((full.frames.len(), full.truncated.unwrap().frames), (100, 51));
    assert!(full.candidates.len() > 50, "{:?}", names(&full));
}
