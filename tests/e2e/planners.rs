//! `cuebook run`: plans that are shown and explained, and flags of planners that cannot work.

use anyhow::Result;
use cuebook_tests::{CliOutput, Shop, cuebook};
use serde_json::{Value, json};

const TASK: &str = "Log in as ann with password correct-horse";

/// Runs the task on the login page with these flags.
fn run(shop: &Shop, flags: &[&str]) -> Result<CliOutput> {
    let url = shop.url("/login");
    let mut args = vec!["run", TASK, "--url", &url, "--planner", "lexical"];
    args.extend(flags);
    shop.cuebook(&args)
}

#[test]
fn a_dry_run_shows_a_checked_plan_and_touches_nothing() -> Result<()> {
    let shop = Shop::open()?;
    let ended = run(&shop, &["--dry-run"])?;
    assert_eq!(ended.code, 0, "{ended:?}");
    let plan = ended.json()?;
    assert_eq!((&plan["dryRun"], &plan["result"], &plan["error"]), (&json!(true), &json!("ok"), &Value::Null));
    let reported: Vec<(&Value, &Value)> =
        plan["steps"].as_array().into_iter().flatten().map(|step| (&step["target"], &step["risk"])).collect();
    let expected = [
        (json!("textbox \"Email\""), json!("write")),
        (json!("textbox \"Password\""), json!("credential")),
        (json!("button \"Log in\""), json!("credential")),
    ];
    assert_eq!(reported, expected.iter().map(|(target, risk)| (target, risk)).collect::<Vec<_>>());
    // The password is a digest here as in every record, and no login was sent.
    assert!(plan["steps"][1]["action"]["text"]["redacted"].is_string(), "{plan:#}");
    assert_eq!(shop.state()["logins"], json!([]));
    Ok(())
}

#[test]
fn an_explained_run_says_of_each_step_why_it_is_taken() -> Result<()> {
    let shop = Shop::open()?;
    let ended = run(&shop, &["--explain"])?;
    assert_eq!(ended.code, 0, "{ended:?}");
    for line in ["     on: button \"Log in\"", "     risk: write", "     after: anyEffect() (by default)", "     why: "]
    {
        assert!(ended.stderr.contains(line), "{line} in {}", ended.stderr);
    }
    assert!(!ended.stderr.contains("correct-horse"), "{}", ended.stderr);
    assert_eq!(shop.state()["logins"], json!([{ "user": "ann", "accepted": true }]));
    Ok(())
}

#[test]
fn a_key_that_is_missing_is_told_before_a_browser_starts() -> Result<()> {
    for planner in ["openai", "anthropic"] {
        let ended = cuebook(&[
            "run",
            "x",
            "--url",
            "http://127.0.0.1:1/",
            "--planner",
            planner,
            "--model",
            "m",
            "--api-key-env",
            "CUEBOOK_NO_SUCH_KEY",
            "--chrome",
            "/nowhere/chrome",
            "--json",
        ])?;
        assert_eq!(ended.code, 3, "{ended:?}");
        let report = ended.json()?;
        assert_eq!(report["error"]["code"], "noKey");
        assert!(report["error"]["message"].to_string().contains("$CUEBOOK_NO_SUCH_KEY"), "{report:#}");
    }
    Ok(())
}

#[test]
fn what_cannot_work_is_exit_code_2() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let empty = folder.path().to_string_lossy().into_owned();
    for (flags, code) in [
        (vec!["--planner", "ollama", "--base-url", "localhost"], "invalidEngine"),
        (vec!["--planner", "ollama", "--prompt", &empty], "invalidPrompt"),
        (vec!["--planner", "anthropic", "--base-url", "http://127.0.0.1:9"], "usage"),
    ] {
        let mut args = vec!["run", "x", "--url", "http://127.0.0.1:1/", "--json"];
        args.extend(flags);
        let ended = cuebook(&args)?;
        assert_eq!(ended.code, 2, "{ended:?}");
        assert_eq!(ended.json()?["error"]["code"], code, "{ended:?}");
    }
    Ok(())
}
