//! Secrets by reference: where they go, and where a plan cannot send them.

use anyhow::{Context as _, Result, ensure};
use cuebook_tests::{CliOutput, Shop, command, finished};
use serde_json::{Value, json};

const CANARY: &str = "CANARY-7f3a\"&é";

/// `cuebook exec` on the login page, with a secret called `shop` in the environment.
fn exec(shop: &Shop, steps: &Value, flags: &[&str]) -> Result<CliOutput> {
    let plan = json!({ "version": "1.0", "candidates": {
        "email": { "strategy": "byLabel", "text": "Email" },
        "password": { "strategy": "byLabel", "text": "Password" },
        "login": { "strategy": "byRole", "role": "button", "name": "Log in" },
        "title": { "strategy": "css", "selector": "h1" } }, "steps": steps });
    let file = shop.runs().join("plan.json");
    std::fs::write(&file, plan.to_string())?;
    let mut cuebook = command()?;
    cuebook.arg("exec").arg(&file).args(["--url", &shop.url("/login"), "--json", "--no-repair", "--out"]);
    cuebook.arg(shop.runs().join("runs")).args(flags).env("CUEBOOK_SECRET_SHOP", CANARY);
    let ended = finished(&mut cuebook)?;
    ensure!(!format!("{}{}", ended.stdout, ended.stderr).contains("CANARY"), "{ended:?}");
    Ok(ended)
}

fn typed(field: &str) -> Value {
    json!({ "type": "type", "targetRef": field, "credentialRef": "shop" })
}

#[test]
fn s42_s45_a_secret_stays_on_its_origin_where_a_run_may_act_elsewhere() -> Result<()> {
    let shop = Shop::open()?;
    let own = exec(&shop, &json!([typed("password")]), &[])?;
    ensure!(own.code == 0, "the control: {own:?}");
    let elsewhere = format!("{}/login", shop.second_origin());
    let steps = json!([{ "type": "navigate", "url": elsewhere }, typed("password")]);
    let checked = exec(&shop, &steps, &["--allow", shop.second_origin()])?;
    ensure!(checked.code == 4 && checked.json()?["error"]["violations"][0]["rule"] == "secretScope", "{checked:?}");
    // The plan says that it may be led elsewhere: the secret is refused at its step.
    let leads = json!([{ "kind": "urlMatches", "pattern": "login" }]);
    let steps = json!([{ "type": "navigate", "url": elsewhere, "post": leads }, typed("password")]);
    let refused = exec(&shop, &steps, &["--allow", shop.second_origin()])?;
    ensure!(refused.code == 4, "{refused:?}");
    let report = refused.json()?;
    let step = report["steps"].as_array().and_then(|steps| steps.last()).context("no steps")?;
    ensure!(
        step["failure"]["cause"] == "policyBlocked" && step["failure"]["facts"]["rule"] == "secretScope",
        "{step:#}"
    );
    let unknown = exec(&shop, &json!([{ "type": "type", "targetRef": "password", "credentialRef": "bank" }]), &[])?;
    ensure!(unknown.code != 0 && unknown.stdout.contains("no credential is called `bank`"), "{unknown:?}");
    Ok(())
}

#[test]
fn s44_the_name_of_a_secret_is_typed_as_it_stands() -> Result<()> {
    let shop = Shop::open()?;
    let named = json!({ "type": "type", "targetRef": "email", "text": "credentialRef:shop CUEBOOK_SECRET_SHOP" });
    let ended = exec(&shop, &json!([named, typed("password"), { "type": "click", "targetRef": "login" }]), &[])?;
    let logins = shop.state()["logins"].clone();
    ensure!(logins[0]["user"] == "credentialRef:shop CUEBOOK_SECRET_SHOP", "{logins}: {ended:?}");
    Ok(())
}
