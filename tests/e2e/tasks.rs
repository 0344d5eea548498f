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

#[test]
fn a_login_that_the_server_refuses_is_not_ok() -> Result<()> {
    let shop = Shop::open()?;
    let ended = shop.run("/login", "Log in as ann with password wrong-horse", &[])?;
    assert_eq!(ended.code, 1, "{ended:?}");
    assert_eq!(ended.json()?["error"]["code"], "needsAnswer", "{ended:?}");
    assert_eq!(shop.state()["logins"], json!([{ "user": "ann", "accepted": false }]));
    Ok(())
}

#[test]
fn a_sentence_that_is_not_understood_is_not_typed_into_the_password() -> Result<()> {
    let shop = Shop::open()?;
    let ended = shop.run("/login", "Log in as ann with password correct-horse and make me a sandwich", &[])?;
    assert_eq!(ended.json()?["error"]["code"], "needsAnswer", "{ended:?}");
    assert_eq!(shop.state()["logins"], json!([]));
    Ok(())
}

#[test]
fn a_deletion_whose_confirmation_is_open_is_not_ok() -> Result<()> {
    for how in ["native", "dialog"] {
        let shop = Shop::open()?;
        let grant = format!("destructive@{}", shop.origin());
        let path = format!("/orders?confirm={how}");
        let ended = shop.run(&path, "Press the first Delete", &["--grant", &grant])?;
        assert_eq!(ended.json()?["error"]["code"], "needsAnswer", "{how}: {ended:?}");
        assert_eq!(shop.state()["deleted"], json!([]), "{how}");
    }
    Ok(())
}

#[test]
fn what_the_page_does_not_do_is_not_ok() -> Result<()> {
    let shop = Shop::open()?;
    for task in ["Find the cheapest flight to Rome", "Type Rome into City and press Enter"] {
        let ended = shop.run("/menus", task, &[])?;
        assert_eq!(ended.json()?["result"], "failed", "{task}: {ended:?}");
    }
    Ok(())
}
