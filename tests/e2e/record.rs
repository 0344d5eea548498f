//! `cuebook record`: a person acts in a browser over a connection of their own, and what was recorded is done again on a
//! fresh site.

mod persons;
mod scene;

use anyhow::{Context as _, Result};
use cuebook_tests::Shop;
use serde_json::{Value, json};

use scene::{CARD, PASSWORD, Scene, repeat, repeats, soon};

#[test]
fn a_login_is_repeated_with_the_password_by_name() -> Result<()> {
    let shop = Shop::open()?;
    let scene = Scene::open(&shop.url("/login"))?;
    let person = scene.person(&shop.url("/login"))?;
    scene.does(person.enters("email", "user@example.com"))?;
    scene.does(person.enters("password", PASSWORD))?;
    scene.does(person.clicks("button", "log in"))?;
    scene.tab(&shop.url("/dashboard"))?;
    let recording = scene.end()?;
    assert_eq!(recording.verbs()?, ["setValue", "setValue", "click"], "{:?}", recording.file);
    let plan = recording.plan()?;
    assert_eq!(plan["steps"][0]["value"], "user@example.com");
    assert_eq!((&plan["steps"][1]["credentialRef"], &plan["steps"][1]["value"]), (&json!("password"), &Value::Null));
    assert_eq!(plan["steps"][2]["post"][0], json!({ "kind": "urlChanges", "to": "/dashboard" }));
    assert_eq!(recording.output.json()?["credentials"], json!([{ "name": "password", "field": "Password" }]));
    assert!(!format!("{:?}{:?}", recording.file, recording.output).contains(PASSWORD));
    assert_eq!(recording.left, 1, "nothing is left but the plan");
    repeats(&recording, "/login", |shop| shop.state()["logins"][0]["accepted"] == json!(true))
}

#[test]
fn an_order_with_lists_a_box_and_a_card_is_repeated() -> Result<()> {
    let shop = Shop::open()?;
    let scene = Scene::open(&shop.url("/shop"))?;
    let person = scene.person(&shop.url("/shop"))?;
    scene.does(person.chooses_by_arrows("#notebook-size", 1))?;
    scene.does(person.clicks_near("button", "add to cart", "notebook"))?;
    scene.does(person.clicks("link", "check out"))?;
    scene.does(person.enters("full name", "Ann Archer"))?;
    scene.does(person.enters("email", "ann@example.com"))?;
    scene.does(person.enters("card number", CARD))?;
    scene.does(person.clicks("field", "i accept the terms"))?;
    let recording = scene.end()?;
    assert_eq!(
        recording.verbs()?,
        ["select", "click", "click", "setValue", "setValue", "setValue", "check"],
        "{:?}",
        recording.file
    );
    let plan = recording.plan()?;
    assert_eq!(plan["steps"][5]["credentialRef"], "card_number");
    assert!(!format!("{:?}{:?}", recording.file, recording.output).contains("4111"));
    let ordered = |shop: &Shop| shop.state()["requestsByPath"]["/cart/add"] == json!(1);
    repeats(&recording, "/shop", ordered)
}

#[test]
fn a_recording_in_which_nothing_was_done_writes_no_plan() -> Result<()> {
    let shop = Shop::open()?;
    let scene = Scene::open(&shop.url("/login"))?;
    scene.tab(&shop.url("/login"))?;
    let recording = scene.end()?;
    assert_eq!((recording.output.code, recording.file.is_none()), (1, true), "{:?}", recording.output);
    assert!(recording.output.stderr.contains("nothing was done"), "{:?}", recording.output);
    Ok(())
}

#[test]
fn what_a_page_does_by_itself_is_no_step() -> Result<()> {
    const FORGED: &str = "(() => {
        const field = document.querySelector('#email'), button = document.querySelector('button[type=submit]');
        field.focus();
        document.execCommand('insertText', false, 'forged');
        field.dispatchEvent(new InputEvent('input', { bubbles: true }));
        field.dispatchEvent(new Event('change', { bubbles: true }));
        for (const type of ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click']) {
            button.dispatchEvent(new PointerEvent(type, { bubbles: true, button: 0 }));
        }
        document.querySelector('input[type=checkbox]').click();
        return field.value;
    })()";
    let shop = Shop::open()?;
    let scene = Scene::open(&shop.url("/login"))?;
    let person = scene.person(&shop.url("/login"))?;
    assert_eq!(scene.does(person.reads(FORGED))?, json!("forged"), "the page did act");
    let recording = scene.end()?;
    assert_eq!((recording.output.code, &recording.file), (1, &None), "{:?}", recording.output);
    Ok(())
}

#[test]
fn a_tab_that_is_closed_ends_the_recording_and_what_was_done_is_kept() -> Result<()> {
    let shop = Shop::open()?;
    let scene = Scene::open(&shop.url("/login"))?;
    let person = scene.person(&shop.url("/login"))?;
    scene.does(person.enters("email", "user@example.com"))?;
    let tab = scene.tab(&shop.url("/login"))?;
    scene.does(async { Ok(tab.close(soon()).await?) })?;
    let recording = scene.ended()?;
    assert_eq!(recording.verbs()?, ["setValue"], "{:?}", recording.output);
    repeats(&recording, "/login", |shop| shop.state()["logins"] == json!([]))
}

#[test]
fn a_browser_that_dies_leaves_what_was_done() -> Result<()> {
    let shop = Shop::open()?;
    let scene = Scene::open(&shop.url("/counter"))?;
    let person = scene.person(&shop.url("/counter"))?;
    scene.does(person.clicks("button", "count"))?;
    scene.crashes();
    let recording = scene.ended()?;
    assert_eq!((recording.output.code, recording.verbs()?), (0, vec!["click".to_owned()]), "{:?}", recording.output);
    repeats(&recording, "/counter", |shop| shop.hits("counter") == 1)
}

#[test]
fn the_run_of_a_recorded_plan_is_exported_and_healed_like_any_other() -> Result<()> {
    let shop = Shop::open()?;
    let scene = Scene::open(&shop.url("/login"))?;
    let person = scene.person(&shop.url("/login"))?;
    scene.does(person.enters("email", "user@example.com"))?;
    scene.does(person.clicks("button", "log in"))?;
    let recording = scene.end()?;
    let fresh = Shop::open()?;
    let run = repeat(&fresh, "/login", &recording.plan()?, &["--no-repair"])?.run_dir()?;
    let run = run.to_str().context("expected a name in UTF-8")?;

    let out = fresh.runs().join("exported");
    let folder = out.to_str().context("expected a name in UTF-8")?;
    fresh.cuebook(&["export", run, "--to", "playwright-test", "--redact", "none", "--out", folder])?;
    let files: Vec<_> = std::fs::read_dir(&out)?.collect::<Result<_, _>>()?;
    let script = files.iter().find(|file| file.file_name().to_string_lossy().ends_with(".spec.ts"));
    let script = std::fs::read_to_string(script.context("expected a script")?.path())?;
    assert!(script.contains(r#".fill("user@example.com")"#), "{script}");
    assert!(script.contains(r#"page.getByRole("button", { name: "Log in", exact: true }).click()"#), "{script}");

    // With this seed, the button is called otherwise.
    let drift = ["--drift", "changed-texts", "--drift-seed", "1"];
    let replayed = fresh.cuebook(&[&["replay", run, "--heal"], &drift[..]].concat())?;
    let report = replayed.json()?;
    assert_eq!(report["result"], "ok", "{replayed:?}");
    let healed = report["healedPlan"].as_str().with_context(|| format!("expected a healed plan: {replayed:?}"))?;
    let healed: Value = serde_json::from_str(&std::fs::read_to_string(healed)?)?;
    repeat(&Shop::open()?, "/login", &healed, &[&["--no-repair"], &drift[..]].concat()).map(drop)
}
