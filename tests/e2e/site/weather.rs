//! Pages that are slow, covered, restless, drifting, hostile or large.

use anyhow::Result;
use cuebook_grammar::report::RunResult;
use cuebook_tests::Stage;
use serde_json::json;

use super::{click, enter, set};

#[tokio::test]
async fn a_button_that_wakes_up_late_is_waited_for() -> Result<()> {
    let stage = Stage::open().await?;
    let steps = json!([click("button \"Confirm shipment\""), click("button \"Track parcel\"")]);
    stage.plays("/slow", &steps).await?;
    stage.eventually(|stage| stage.hits("slow.late") == 1 && stage.hits("slow.track") == 1).await
}

#[tokio::test]
async fn a_button_that_never_wakes_up_is_never_clicked() -> Result<()> {
    let stage = Stage::open().await?;
    let report = stage.play("/slow?delay=60000", &json!([click("button \"Confirm shipment\"")])).await?;
    assert_eq!(report.result, RunResult::Failed);
    assert_eq!(report.error.map(|error| error.code.to_string()).as_deref(), Some("notEnabled"));
    assert_eq!(stage.hits("slow.late"), 0);
    Ok(())
}

#[tokio::test]
async fn stock_that_loads_on_request_and_a_page_that_takes_its_time() -> Result<()> {
    let stage = Stage::open().await?;
    let steps = json!([
        { "type": "click", "targetRef": "button \"Load stock\"", "post": [
            { "kind": "requestObserved", "method": "GET", "url": "/slow/response" } ] },
        { "type": "click", "targetRef": "link \"A page that takes two seconds\"",
          "timeoutMs": 8000, "post": [{ "kind": "titleMatches", "pattern": "At last" }] }
    ]);
    stage.plays("/slow", &steps).await?;
    stage.eventually(|stage| stage.hits("slow.loaded") == 1).await
}

#[tokio::test]
async fn an_overlay_is_closed_before_what_it_covers() -> Result<()> {
    let stage = Stage::open().await?;
    let steps = json!([
        enter("textbox \"Email\"", "ann@example.com"),
        click("button \"Subscribe\""),
        click("button \"Continue\"")
    ]);
    stage.plays("/newsletter", &steps).await?;
    stage.eventually(|stage| stage.hits("newsletter.continue") == 1).await?;
    assert_eq!(stage.reported("newsletter"), json!({ "email": "ann@example.com" }));
    Ok(())
}

#[tokio::test]
async fn what_is_covered_is_opened_by_repair_and_never_clicked_through() -> Result<()> {
    let stage = Stage::open().await?;
    let report = stage.play("/newsletter", &json!([click("button \"Continue\"")])).await?;
    assert_eq!(report.result, RunResult::Ok, "{report:#?}");
    stage.eventually(|stage| stage.hits("newsletter.continue") == 1).await?;
    assert_eq!(stage.hits("newsletter.closed"), 1, "its own control closed it");
    Ok(())
}

#[tokio::test]
async fn a_transparent_cover_without_a_control_stays_a_failure() -> Result<()> {
    let stage = Stage::open().await?;
    let report = stage.play("/covered", &json!([click("button \"Pay now\"")])).await?;
    assert_eq!(report.error.map(|error| error.code.to_string()).as_deref(), Some("covered"));
    assert_eq!((stage.hits("covered.button"), stage.hits("covered.overlay")), (0, 0));
    let stage = Stage::open().await?;
    stage.plays("/covered", &json!([click("button \"Pay later\""), click("button \"Pay in parts\"")])).await?;
    stage.eventually(|stage| stage.hits("covered.free") == 1 && stage.hits("covered.through") == 1).await
}

#[tokio::test]
async fn a_toast_of_five_milliseconds_is_seen() -> Result<()> {
    let stage = Stage::open().await?;
    stage.plays("/toast", &json!([click("button \"Save draft\"")])).await?;
    stage.eventually(|stage| stage.hits("toast") == 1).await
}

#[tokio::test]
async fn preferences_on_markup_that_is_never_the_same() -> Result<()> {
    let stage = Stage::open().await?;
    for name in ["Ann", "Bea", "Cleo"] {
        let steps = json!([
            set("textbox \"Display name\"", name),
            { "type": "select", "targetRef": "combobox \"Newsletter\"", "option": "Weekly" },
            click("button \"Save preferences\"")
        ]);
        stage.plays("/drift", &steps).await?;
        stage.eventually(|stage| stage.state().to_string().contains(name)).await?;
    }
    Ok(())
}

#[tokio::test]
async fn rows_that_are_rebuilt_five_times_a_second() -> Result<()> {
    let stage = Stage::open().await?;
    stage.plays("/drift?mode=rerender", &json!([click("button \"Pick Wax\""), click("button \"Pick Ink\"")])).await?;
    stage.eventually(|stage| stage.hits("rerender.Wax") == 1 && stage.hits("rerender.Ink") == 1).await?;
    assert_eq!(stage.hits("rerender.Paper") + stage.hits("rerender.Thread"), 0);
    Ok(())
}

#[tokio::test]
async fn a_button_that_settles_is_caught_and_one_that_never_does_is_not() -> Result<()> {
    let stage = Stage::open().await?;
    stage.plays("/drift?mode=move", &json!([click("button \"Catch me\"")])).await?;
    stage.eventually(|stage| stage.hits("move.settles") == 1).await?;
    let report = stage.play("/drift?mode=move", &json!([click("button \"Chase me\"")])).await?;
    assert_eq!(report.error.map(|error| error.code.to_string()).as_deref(), Some("notStable"));
    assert_eq!(stage.hits("move.never"), 0);
    Ok(())
}

#[tokio::test]
async fn what_takes_the_targets_place_under_the_pointer_gets_no_click() -> Result<()> {
    let stage = Stage::open().await?;
    let report = stage.play("/drift?mode=swap", &json!([click("button \"Keep subscription\"")])).await?;
    // The press reached the target and the page answered it: what came after the press is ignored.
    assert_eq!(report.steps.len(), 2, "{report:#?}");
    assert_eq!((stage.hits("swap.other"), stage.hits("swap.wanted")), (0, 0));
    Ok(())
}

#[tokio::test]
async fn a_page_that_never_settles_is_operated() -> Result<()> {
    let stage = Stage::open().await?;
    let report = stage.plays("/slow/restless", &json!([click("link \"Shop\"")])).await?;
    assert_eq!(report.steps.len(), 2);
    Ok(())
}

#[tokio::test]
async fn a_page_that_overrides_everything_notices_nothing() -> Result<()> {
    let stage = Stage::open().await?;
    stage.plays("/hostile", &json!([click("button \"Buy\"")])).await?;
    stage.eventually(|stage| stage.hits("hostile.buy") == 1).await?;
    assert_eq!(stage.hits("hostile.noticed"), 0);
    Ok(())
}

#[tokio::test]
async fn one_of_a_thousand_controls_far_below_the_fold() -> Result<()> {
    let stage = Stage::open().await?;
    let steps = json!([set("textbox \"Field 20\"", "here"), click("button \"Button 45\""), click("button \"Pad 50\"")]);
    stage.plays("/grid?n=1000", &steps).await?;
    stage.eventually(|stage| stage.hits("grid.button") == 1 && stage.hits("grid.div") == 1).await
}

#[tokio::test]
async fn a_counter_counts_every_click_once() -> Result<()> {
    let stage = Stage::open().await?;
    stage.plays("/counter", &json!(vec![click("button \"Count\""); 5])).await?;
    stage.eventually(|stage| stage.hits("counter") == 5).await
}

#[tokio::test]
async fn a_file_is_downloaded() -> Result<()> {
    let stage = Stage::open().await?;
    let steps =
        json!([{ "type": "click", "targetRef": "link \"Price list\"", "post": [{ "kind": "downloadStarted" }] }]);
    stage.plays("/", &steps).await?;
    Ok(())
}

#[tokio::test]
async fn the_start_page_leads_to_every_room() -> Result<()> {
    let stage = Stage::open().await?;
    let steps = json!([
        { "type": "click", "targetRef": "link \"Widgets\"", "post": [{ "kind": "urlChanges", "to": "/widgets" }] },
        { "type": "goBack", "post": [{ "kind": "titleMatches", "pattern": "Paper, pens" }] },
        { "type": "click", "targetRef": "link \"Seats\"", "post": [{ "kind": "urlChanges", "to": "/virtual" }] },
        { "type": "reload" }
    ]);
    stage.plays("/", &steps).await?;
    Ok(())
}
