//! Moments: what lives for five milliseconds, what came before the click, pages that watch themselves, frames.

use anyhow::Result;
use cuebook_tests::Shop;
use serde_json::{Value, json};

fn plan(candidates: Value, steps: Value) -> Value {
    json!({ "version": "1.0", "candidates": candidates, "steps": steps })
}

#[test]
fn a_toast_of_five_milliseconds_satisfies_an_armed_postcondition() -> Result<()> {
    let shop = Shop::open()?;
    let plan = plan(
        json!({ "button": { "strategy": "byRole", "role": "button", "name": "Save draft" },
                "toast": { "strategy": "byRole", "role": "status", "hasText": { "regex": "." } } }),
        json!([{ "type": "click", "targetRef": "button", "post": [{ "kind": "appears", "target": "toast" }] }]),
    );
    let ended = shop.exec("/toast", &plan, &["--no-repair"])?;
    assert_eq!(ended.code, 0, "{ended:?}");
    let judged = std::process::Command::new(cuebook_tests::command()?.get_program())
        .args(["judge", &ended.run_dir()?.to_string_lossy(), "--json"])
        .output()?;
    let judged: Value = serde_json::from_slice(&judged.stdout)?;
    assert_eq!(judged["agrees"], true, "{judged:#}");
    assert!(judged["judged"].as_u64().unwrap_or(0) >= 2);
    Ok(())
}

#[test]
fn a_page_that_overrides_everything_and_watches_itself_notices_nothing() -> Result<()> {
    let shop = Shop::open()?;
    let ended = shop.run("/hostile", "click \"Buy\"", &["--grant", &format!("money@{}", shop.origin())])?;
    let report = ended.json()?;
    assert_eq!(ended.code, 0, "{report:#}");
    assert_eq!(shop.hits("hostile.buy"), 1, "{report:#}");
    assert_eq!(shop.hits("hostile.noticed"), 0);
    Ok(())
}

#[test]
fn an_out_of_process_frame_is_seen_and_operated() -> Result<()> {
    let shop = Shop::open()?;
    let observed = shop.cuebook(&["observe", &shop.url("/frames"), "--format", "json"])?.json()?;
    let frames = observed["frames"].as_array().cloned().unwrap_or_default();
    let far = frames.iter().position(|frame| frame["outOfProcess"] == true);
    assert!(far.is_some(), "{frames:#?}");
    let inside = observed["candidates"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|c| c["frame"].as_u64() == far.map(|f| f as u64));
    let roles: Vec<_> = inside.map(|candidate| candidate["role"].clone()).collect();
    assert!(roles.contains(&json!("button")) && roles.contains(&json!("textbox")), "{roles:?}");
    Ok(())
}
