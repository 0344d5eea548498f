//! Repairs on the built-in site: what only they reach, and what they must not touch.

use anyhow::Result;
use cuebook_tests::Shop;
use serde_json::{Value, json};

fn reserve(seat: &str) -> Value {
    json!({ "version": "1.0",
        "candidates": { "seat": { "strategy": "byRole", "role": "button", "name": format!("Reserve seat {seat}") } },
        "steps": [{ "type": "click", "targetRef": "seat", "timeoutMs": 2_000 }] })
}

fn reserved(shop: &Shop) -> Vec<Value> {
    let state = shop.state();
    let all = state["submissions"].as_array().into_iter().flatten();
    all.filter(|said| said["form"] == "seat").map(|said| said["fields"]["seat"].clone()).collect()
}

#[test]
fn a_row_that_a_list_has_not_drawn_is_scrolled_for() -> Result<()> {
    let shop = Shop::open()?;
    let ended = shop.exec("/virtual", &reserve("20"), &["--no-repair"])?;
    assert_eq!(ended.json()?["error"]["code"], "targetNotFound");

    let ended = shop.exec("/virtual", &reserve("20"), &[])?;
    let report = ended.json()?;
    assert_eq!(ended.code, 0, "{report:#}");
    assert!(shop.eventually(|shop| reserved(shop) == ["20"]), "{:?}", reserved(&shop));
    let repairs = report["steps"].as_array().into_iter().flatten().filter(|step| step["origin"] == "repair");
    let first = repairs.map(|step| (&step["action"]["type"], &step["action"]["explanation"])).next();
    let why = json!("repair 1 of step 1, which failed: targetNotFound; rung: scroll");
    assert_eq!(first, Some((&json!("scroll"), &why)), "{report:#}");
    Ok(())
}

#[test]
fn a_row_that_is_not_there_is_no_other_row() -> Result<()> {
    let shop = Shop::open()?;
    let ended = shop.exec("/virtual", &reserve("5"), &[])?;
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(shop.eventually(|shop| reserved(shop) == ["5"]));
    let report = shop.exec("/virtual", &reserve("2000"), &[])?.json()?;
    assert_eq!(report["error"]["code"], "targetNotFound", "{report:#}");
    assert_eq!(reserved(&shop), ["5"]);
    Ok(())
}
