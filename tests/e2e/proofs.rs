//! Ends with evidence: plans with goals and answers with places, on the built-in site.

use std::path::Path;

use anyhow::{Result, ensure};
use cuebook_tests::{CliOutput, Shop};
use serde_json::{Value, json};

fn exec(shop: &Shop, folder: &Path, page: &str, plan: &Value) -> Result<CliOutput> {
    let file = folder.join("plan.json");
    std::fs::write(&file, plan.to_string())?;
    shop.cuebook(&["exec", &file.display().to_string(), "--url", &shop.url(page)])
}

fn deleting(invoice: &str, goal: &Value, finish: &Value) -> Value {
    let delete = |number: &str| {
        json!({ "strategy": "byRole", "role": "button", "name": "Delete",
                "within": { "strategy": "byRole", "role": "row", "hasText": number } })
    };
    json!({
        "version": "1.0",
        "candidates": { "delete": delete(invoice), "wanted": delete("INV-1002") },
        "goal": goal,
        "steps": [{ "type": "click", "targetRef": "delete", "post": [{ "kind": "urlChanges" }] }, finish],
    })
}

#[test]
fn a_goal_on_the_page_decides_how_a_plan_ends() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let finish = json!({ "type": "finish" });
    let goal =
        json!([{ "kind": "absent", "target": "wanted" }, { "kind": "requestObserved", "method": "POST", "url": "." }]);
    // The right invoice, and another one.
    for (invoice, code) in [("INV-1002", 0), ("INV-1003", 5)] {
        let shop = Shop::open()?;
        let ended = exec(&shop, folder.path(), "/orders?confirm=none", &deleting(invoice, &goal, &finish))?;
        ensure!(ended.code == code, "{invoice}: {ended:?}");
        let run = cuebook_datalayer::Run::read(&ended.run_dir()?.join("log.jsonl"))?;
        let end = run.end.and_then(|end| end.conclusion);
        let end = end.ok_or_else(|| anyhow::anyhow!("expected how it ended"))?;
        ensure!(end.goal.len() == 2 && end.goal_facts.is_some(), "{end:#?}");
        ensure!(end.unproven.is_some() == (code == 5), "{end:#?}");
        if code == 5 {
            let report = ended.json()?;
            ensure!(report["result"] == "unproven" && report["error"]["code"] == "unproven", "{report}");
        }
    }
    Ok(())
}

#[test]
fn an_answer_is_looked_up_where_it_is_said_to_stand() -> Result<()> {
    let (shop, folder) = (Shop::open()?, tempfile::tempdir()?);
    for (from, code) in [("INV-1005", 0), ("INV-9999", 5), ("c9999", 5)] {
        let finish = json!({ "type": "finish", "result": "8", "from": [from] });
        let plan = json!({ "version": "1.0", "steps": [finish] });
        let ended = exec(&shop, folder.path(), "/orders", &plan)?;
        ensure!(ended.code == code, "{from}: {ended:?}");
    }
    Ok(())
}
