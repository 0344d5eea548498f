//! What is too large is cut and counted.

use cuebook_grammar::observation::Scope;
use cuebook_page_modeler::render::{estimate_tokens, text};

use crate::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_candidates_are_all_seen_and_shown_within_a_budget() {
    let mut stage = Stage::on("<script>document.write('<button>x</button>'.repeat(10000))</script>").await;
    let full = stage.observe(Scope::Full).await;
    assert_eq!(full.candidates.len(), 10_000);
    assert_eq!(full.truncated, None);
    let view = stage.observe(Scope::View).await;
    let left_out = view.truncated.unwrap();
    assert_eq!(view.candidates.len() as u64 + left_out.off_view + left_out.candidates, 10_000);
    let options = text::TextOptions { budget: 500, ..text::TextOptions::default() };
    let shown = text::render(&view, &options);
    assert!(estimate_tokens(&shown) <= 500, "{}", estimate_tokens(&shown));
    assert!(shown.contains("left out: "), "{shown}");
}
