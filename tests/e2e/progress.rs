//! Tests of what counts as progress for a run that does the same again and again.

use anyhow::{Result, ensure};
use cuebook_tests::cuebook;
use serde_json::Value;

use super::rungs::Pages;

/// Presses `Generate` twelve times, one plan each; the report and how often the page was pressed.
fn press_twelve_times(page: &'static str) -> Result<(Value, usize)> {
    let pages = Pages::serve(page)?;
    let script = r#"n=0; while read -r request; do n=$((n + 1)); step='{"type":"finish"}'
id=$(printf %s "$request" | grep -o '"id":"c[0-9]*","role":"button","type":"plain","label":"Generate"' | cut -d'"' -f4)
[ $n -gt 12 ] || step='{"type":"click","targetRef":"'$id'"}'
echo '{"version":"1.0","steps":['"$step"']}'; done"#;
    let file = pages.folder.path().join("presses.sh");
    std::fs::write(&file, script)?;
    let (planner, out) = (format!("exec:sh {}", file.display()), pages.folder.path().to_string_lossy().into_owned());
    let args = ["run", "press", "--url", &pages.origin, "--planner", &planner, "--json", "--out", &out];
    let report = cuebook(&args)?.json()?;
    Ok((report, pages.done().len()))
}

#[test]
fn a_text_that_each_press_changes_is_progress() -> Result<()> {
    let (report, pressed) = press_twelve_times(
        "<button onclick=\"did('made'); say.textContent = `Poem ${++n}`\">Generate</button><p id=say>Nothing yet</p>\
        <script>let n = 0</script>",
    )?;
    ensure!(report["result"] == "ok" && pressed == 12, "{pressed} {report:#}");
    Ok(())
}

#[test]
fn a_text_that_ticks_by_itself_is_no_progress() -> Result<()> {
    let (report, pressed) = press_twelve_times(
        "<button onclick=\"did('nothing')\">Generate</button><p id=say>0 visitors</p>\
        <script>let n = 0; setInterval(() => { say.textContent = `${++n} visitors` }, 150)</script>",
    )?;
    ensure!(report["error"]["code"] == "stuck" && pressed < 10, "{pressed} {report:#}");
    Ok(())
}
