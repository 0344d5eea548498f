//! A run's JSON report in lines for people.

use std::fmt::Write as _;

use serde_json::Value;

/// One line a step, then the result and where the log is. Unknown parts are left out.
pub(super) fn lines(report: &Value) -> String {
    let mut text = String::new();
    for step in report["steps"].as_array().into_iter().flatten() {
        let kind = word(&step["action"]["type"], "?");
        let origin = match word(&step["origin"], "plan") {
            "repair" => " (repair)",
            "start" => " (start)",
            _ => "",
        };
        let subject = ["targetRef", "url", "condition", "query"]
            .iter()
            .find_map(|key| step["action"].get(key))
            .map(plain)
            .unwrap_or_default();
        let (index, result) = (plain(&step["index"]), word(&step["result"], "?"));
        let duration = &step["durationMs"];
        line(&mut text, &format!("{index:>3}  {result:<8} {kind} {subject}{origin}  {duration} ms"));
        if let Some(failure) = step["failure"].as_object() {
            let of = |key| failure.get(key).map(plain).unwrap_or_default();
            line(&mut text, &format!("       {} at {}: {}", of("cause"), of("stage"), of("message")));
        }
    }
    if let Some(error) = report["error"].as_object() {
        let of = |key| error.get(key).map(plain).unwrap_or_default();
        line(&mut text, &format!("error: {}: {}", of("code"), of("message")));
    }
    line(&mut text, &format!("result: {}", word(&report["result"], "unknown")));
    line(&mut text, &format!("log: {}", word(&report["runDir"], "none")));
    text
}

fn word<'a>(value: &'a Value, otherwise: &'a str) -> &'a str {
    value.as_str().unwrap_or(otherwise)
}

/// Text as it is, anything else as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Appends a line without control characters: a page may have chosen parts of it.
fn line(text: &mut String, content: &str) {
    let visible = content.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
    let visible: String = visible.take(300).collect();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{visible}");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::lines;

    #[test]
    fn steps_failures_and_the_log_are_told() {
        let report = json!({
            "result": "failed", "runDir": "cuebook-runs/1", "error": null,
            "steps": [
                { "index": 0, "origin": "start", "action": { "type": "navigate", "url": "http://x/" },
                  "result": "ok", "failure": null, "durationMs": 12 },
                { "index": 1, "origin": "plan", "action": { "type": "click", "targetRef": "c3" },
                  "result": "failed", "durationMs": 7,
                  "failure": { "stage": "act", "cause": "covered", "message": "by div#overlay" } },
            ],
        });
        assert_eq!(
            lines(&report),
            "  0  ok       navigate http://x/ (start)  12 ms\n  1  failed   click c3  7 ms\n       \
             covered at act: by div#overlay\nresult: failed\nlog: cuebook-runs/1\n"
        );
    }

    #[test]
    fn a_page_cannot_drive_the_terminal() {
        let report = json!({ "result": "\u{1b}[2Jok\nresult: ok", "steps": "none" });
        let text = lines(&report);
        assert!(!text.contains('\u{1b}'));
        assert_eq!(text.lines().count(), 2);
    }
}
