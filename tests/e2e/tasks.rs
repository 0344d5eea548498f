//! Tasks in words, with the lexical planner, and the server as the oracle.

use anyhow::Result;
use cuebook_tests::Shop;
use serde_json::json;

#[test]
fn a_login_in_words_is_a_login() -> Result<()> {
    let shop = Shop::open()?;
    let ended = shop.run("/login", "Log in as ann with password correct-horse", &[])?;
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(shop.state()["logins"], json!([{ "user": "ann", "accepted": true }]));
    assert!(!ended.stdout.contains("correct-horse") && !ended.stderr.contains("correct-horse"));
    Ok(())
}

#[test]
fn ordering_without_a_grant_is_blocked_and_names_the_grant() -> Result<()> {
    let shop = Shop::open()?;
    let task = "Log in as ann with password correct-horse, then select Large and press Order";
    let ended = shop.run("/login", task, &[])?;
    assert_eq!(ended.code, 4, "{ended:?}");
    let report = ended.json()?;
    assert_eq!(report["result"], "blocked");
    assert_eq!(report["error"]["code"], "confirmationDenied");
    let grant = format!("money@{}", shop.origin());
    assert!(report["error"]["message"].as_str().unwrap_or_default().contains(&grant), "{report:#}");
    assert_eq!(shop.state()["orders"], json!([]));

    let granted = shop.run("/login", task, &["--grant", &grant])?;
    assert_eq!(granted.code, 0, "{granted:?}");
    assert_eq!(shop.state()["orders"][0]["lines"][0]["size"], "Large");
    Ok(())
}

#[test]
fn of_twins_the_planner_asks_which() -> Result<()> {
    let shop = Shop::open()?;
    let ended = shop.run("/orders?confirm=none", "Press Delete", &[])?;
    assert_eq!(ended.code, 1, "{ended:?}");
    let report = ended.json()?;
    assert_eq!(report["error"]["code"], "needsAnswer", "{report:#}");
    assert_eq!(shop.state()["deleted"], json!([]));
    Ok(())
}
