//! The sketch, and observations as text.

use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::render::{TextOptions, text, yaml};

use crate::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn the_page_is_sketched_and_rendered() {
    let mut stage = Stage::on(
        "<html lang=de><title>Shop</title><meta name=description content='All of it'><meta property=og:type content=website>
         <h1>Users</h1><form id=login><input aria-label=User value=me><input type=password aria-label=Pass><select aria-label=Size><option>S<option selected>M</select></form>
         <table id=results><caption>Last <b>results</b></caption><tr><th>a<th>b<tr><td>1<td>2<tr><td>3<td>4</table><div role=alert>Saved</div><button disabled>Go \"now\"</button>",
    )
    .await;
    let seen = stage.observe(Scope::View).await;
    let sketch = &seen.sketch;
    assert_eq!((sketch.page_type.as_deref(), sketch.language.as_deref()), (Some("website"), Some("de")));
    let landmarks: Vec<_> = sketch.landmarks.iter().map(|l| l.summary.as_str()).collect();
    assert_eq!(landmarks, ["form#login: 3 inputs", "table#results \"Last results\": 2 cols, 2 rows"]);
    assert_eq!(sketch.headings[0].text, "Users");
    assert_eq!((sketch.live[0].kind.as_str(), sketch.live[0].text.as_str()), ("alert", "Saved"));
    let text = text(&seen, &TextOptions::default());
    for line in [
        "- textbox \"User\" [c1] value=\"me\"",
        "- combobox \"Size\" [c3] value=\"M\" options=\"S\"|\"M\"",
        "- h1 \"Users\"",
        "landmarks form#login: 3 inputs; table#results 'Last results': 2 cols, 2 rows",
        "- button \"Go \\\"now\\\"\" [c4] [disabled]",
        "alert \"Saved\"",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    assert!(
        yaml(&seen, &TextOptions::default()).contains("- textbox \"User\" [c1]: \"me\""),
        "{}",
        yaml(&seen, &TextOptions::default())
    );
    let back: Observation = serde_json::from_str(&serde_json::to_string(&seen).unwrap()).unwrap();
    assert_eq!(back.fingerprint, seen.fingerprint);
}
