//! Pages that are not there yet, show nothing, or do not answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::render::{TextOptions, text};
use cuebook_grammar::seam::PageModeler as _;
use cuebook_grammar::secret::DigestKey;
use cuebook_page_modeler::{LivePageModeler, ModelerOptions, Settling};

use crate::stage::{Stage, names, serve};

fn shown(observation: &Observation) -> String {
    text(observation, &TextOptions::default())
}

impl Stage {
    fn settling(&mut self, quiet: u64, limit: u64) {
        let settling = Settling { quiet: Duration::from_millis(quiet), limit: Duration::from_millis(limit) };
        let options = ModelerOptions { settling, ..ModelerOptions::default() };
        self.modeler = LivePageModeler::new(Arc::clone(&self.browser), DigestKey::new([5; 32]), options);
    }

    async fn observe_within(&mut self, time: Duration) -> Observation {
        let deadline = Deadline::after(Instant::now(), time);
        self.modeler.observe(&self.id.clone(), Scope::Full, deadline).await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_builds_itself_later_is_seen_as_it_becomes() {
    for before in ["", "Loading…", "<img src=x width=20 height=20 alt=logo>"] {
        let html = format!(
            "<div id=app>{before}</div><script>setTimeout(() => {{ app.innerHTML = '<button>Late</button>' }}, 400)</script>"
        );
        let mut stage = Stage::on(&html).await;
        assert_eq!(names(&stage.observe(Scope::View).await), ["Late"], "{before}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_waited_for_until_it_is_quiet_where_that_is_asked_for() {
    let html = "<div id=app><button>1</button></div><script>let at = 1; const more = () => { \
        app.insertAdjacentHTML('beforeend', `<button>${++at}</button>`); if (at < 5) setTimeout(more, 100); }; \
        setTimeout(more, 100)</script>";
    let mut stage = Stage::on(html).await;
    stage.settling(1_000, 10_000);
    assert_eq!(names(&stage.observe(Scope::View).await), ["1", "2", "3", "4", "5"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_shows_nothing_is_said_to_be_empty() {
    let mut stage = Stage::on("<div id=app></div><script>0</script>").await;
    stage.settling(0, 300);
    let seen = stage.observe(Scope::View).await;
    assert!(seen.sketch.empty && shown(&seen).contains("the page is empty"), "{seen:?}");
    for html in ["<p>Read me</p>", "<canvas width=90 height=90></canvas>", "<button>Go</button>"] {
        let seen = Stage::on(html).await.observe(Scope::View).await;
        assert!(!seen.sketch.empty && !shown(&seen).contains("empty"), "{html}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_of_the_document_belongs_to_the_observation() {
    let port = serve(vec![("/", "<button>Here</button>".to_owned())]);
    let mut stage = Stage::at(&format!("http://127.0.0.1:{port}/missing")).await;
    let missing = stage.observe(Scope::Full).await;
    assert_eq!(missing.status, Some(404));
    assert!(shown(&missing).lines().next().is_some_and(|line| line.ends_with("status=404")), "{}", shown(&missing));
    stage.go(&format!("http://127.0.0.1:{port}/")).await;
    let found = stage.observe(Scope::Full).await;
    assert!(found.status == Some(200) && !shown(&found).contains("status"));
    stage.go("about:blank").await;
    assert_eq!(stage.observe(Scope::Full).await.status, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_does_not_answer_is_an_observation_that_says_so() {
    let mut stage = Stage::on("<title>Busy</title><button>First</button>").await;
    stage.observe(Scope::Full).await;
    stage.page_script("setTimeout(() => { const end = Date.now() + 4000; while (Date.now() < end); }); 0").await;
    let busy = stage.observe_within(Duration::from_millis(1_500)).await;
    assert_eq!((busy.unseen(), busy.candidates.len()), (Some("it did not answer"), 0));
    assert_eq!((busy.title.as_str(), busy.truncated.map(|left_out| left_out.frames)), ("Busy", Some(1)));
    assert!(shown(&busy).contains("nothing was seen of the page: it did not answer"), "{}", shown(&busy));
    assert_eq!(names(&stage.observe(Scope::Full).await), ["First"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_replaces_itself_without_end_is_observed_or_said_to() {
    let port = serve(vec![("/", "<meta http-equiv=refresh content=0><button>First</button>".to_owned())]);
    let mut stage = Stage::on("").await;
    let url = format!("location = 'http://127.0.0.1:{port}/'; 0");
    stage.page_script(&url).await;
    let seen = stage.observe_within(Duration::from_secs(3)).await;
    assert!(names(&seen) == ["First"] || seen.unseen().is_some() || seen.url == stage.page.url(), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_boxes_too_deep_in_each_other_none_is_measured() {
    // Chrome's layout does not outlive 3,000 of them, and begins with the first question about a box.
    let mut stage = Stage::on("<title>Deep</title><button>Near</button><div id=s></div>").await;
    stage.observe(Scope::Full).await;
    let nest = "let at = s; for (let i = 0; i < 2600; i++) at = at.appendChild(document.createElement('div')); 0";
    stage.page_script(nest).await;
    let seen = stage.observe(Scope::Full).await;
    assert_eq!((seen.title.as_str(), names(&seen).len()), ("Deep", 0));
    assert!(seen.truncated.is_some_and(|left_out| left_out.elements > 2_600), "{:?}", seen.truncated);
    stage.page_script("s.textContent = ''; 0").await;
    assert_eq!(names(&stage.observe(Scope::Full).await), ["Near"]);
}
