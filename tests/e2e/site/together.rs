//! Several runs at once over one browser, each in its own tab.

use anyhow::Result;
use cuebook_grammar::report::RunResult;
use cuebook_tests::Stage;
use serde_json::json;

use super::{check_out, click, click_to, enter, select, set};

#[tokio::test(flavor = "multi_thread")]
async fn runs_at_once_over_one_browser_do_each_their_own() -> Result<()> {
    let stage = Stage::open().await?;
    let order = json!(
        [
            vec![
                select("combobox \"Size\" [Desk lamp]", "Small"),
                click_to("button \"Add to cart\" [Desk lamp]", "/cart")
            ],
            check_out()
        ]
        .concat()
    );
    let edit = json!([
        enter("searchbox \"Search invoices\"", "INV-1003"),
        click_to("button \"Apply\"", "INV-1003"),
        click_to("button \"Edit\"", "/edit"),
        set("textbox \"Customer\"", "Kim Park"),
        click_to("button \"Save changes\"", "done=saved")
    ]);
    let delete = json!([
        click("button \"Delete\" [INV-1004]"),
        { "type": "acceptDialog", "post": [{ "kind": "urlChanges", "to": "done=deleted" }] }
    ]);
    let (ordered, edited, deleted) = tokio::join!(
        stage.play("/shop", &order),
        stage.play_beside("/orders", &edit),
        stage.play_beside("/orders", &delete),
    );
    for report in [ordered?, edited?, deleted?] {
        assert_eq!(report.result, RunResult::Ok, "{report:#?}");
    }
    let state = stage.state();
    assert_eq!(state["orders"][0]["delivery"]["notes"], "Ring twice");
    assert_eq!(state["orders"].as_array().map_or(0, Vec::len), 1);
    assert_eq!((&state["edited"], &state["deleted"]), (&json!(["INV-1003"]), &json!(["INV-1004"])));
    let saved = state["invoices"].as_array().into_iter().flatten().find(|invoice| invoice["number"] == "INV-1003");
    assert_eq!(saved.map(|invoice| invoice["customer"].clone()), Some(json!("Kim Park")));
    Ok(())
}
