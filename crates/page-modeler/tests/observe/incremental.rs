//! An observation that builds on the last one equals one from scratch, and costs less.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::seam::PageModeler as _;
use cuebook_grammar::secret::DigestKey;
use cuebook_page_modeler::{LivePageModeler, ModelerOptions};
use serde_json::{Value, json};

use crate::stage::Stage;

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
        // An element that may hold a closed root is looked into after the first walk.
        stage.observe(Scope::Full).await;
        let seen = stage.observe(Scope::Full).await;
        // What is animated looks different at any time.
        assert_eq!(stage.is_unchanged(&seen).await, !change.contains("cancel()"), "before {change}");
        stage.page_script(&format!("{change}; 0")).await;
        // A field that nobody has used does not show yet what is wrong with it.
        let shows_nothing = change == "0" || change.contains("setCustomValidity");
        assert_eq!(stage.is_unchanged(&seen).await, shows_nothing, "{change}");
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

/// Returns the parts of an observation on which two modelers must agree.
fn comparable(seen: &Observation) -> Value {
    let mut candidates = seen.candidates.clone();
    for candidate in &mut candidates {
        candidate.id = cuebook_grammar::id::CandidateId(0);
    }
    json!({ "candidates": candidates, "sketch": seen.sketch, "title": seen.title, "url": seen.url, "viewport": seen.viewport })
}

/// Counts the commands that this thread sends to the browser.
#[derive(Clone, Default)]
struct Commands(Arc<AtomicU64>);

impl tracing::Subscriber for Commands {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.name() == "cdp.call"
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, _: &tracing::Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test]
async fn an_observation_after_a_small_change_takes_a_fraction_of_the_commands() {
    let buttons: String = (0..100).map(|n| format!("<button id=b{n}><b>Button</b> {n}</button>")).collect();
    let mut stage = Stage::on(&buttons).await;
    let commands = Commands::default();
    let _counted = tracing::subscriber::set_default(commands.clone());
    let mut costs = Vec::new();
    for change in ["0", "b7.textContent = 'Other'", "0"] {
        stage.page_script(&format!("{change}; 0")).await;
        commands.0.store(0, Ordering::Relaxed);
        assert_eq!(stage.observe(Scope::View).await.candidates.len(), 100);
        costs.push(commands.0.load(Ordering::Relaxed));
    }
    let [first, changed, same] = costs[..] else { panic!("{costs:?}") };
    assert!(first > 100 && changed * 10 < first && same <= changed, "{costs:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_did_not_change_keeps_its_candidates() {
    let mut stage = Stage::on("<button>One</button><button id=b><b>Two</b></button>").await;
    let first = stage.observe(Scope::Full).await;
    let second = stage.observe(Scope::Full).await;
    assert!(second.candidates.is_same(&first.candidates) && second.id != first.id);
    assert_eq!(second.delta.map(|delta| (delta.came, delta.went, delta.changed)), Some(Default::default()));
    let view = stage.observe(Scope::View).await;
    assert!(!view.candidates.is_same(&first.candidates), "another part of the page was asked for");
    stage.page_script("b.textContent = 'Three'; 0").await;
    let changed = stage.observe(Scope::Full).await;
    let names: Vec<_> = changed.candidates.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["One", "Three"]);
    stage
        .page_script(
            "document.body.insertAdjacentHTML('beforeend', '<iframe srcdoc=\"<button>Four</button>\"></iframe>'); 0",
        )
        .await;
    let framed = stage.observe(Scope::Full).await;
    let again = stage.observe(Scope::Full).await;
    assert!(
        !again.candidates.is_same(&framed.candidates),
        "a frame may cover what lies below it without a trace there"
    );
}
