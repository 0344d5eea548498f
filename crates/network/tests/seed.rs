//! Seeded randomness, in Chrome: callers do not shift one another.

use std::time::{Duration, Instant};

use cuebook_cdp::protocol::browser_protocol::page::NavigateParams;
use cuebook_cdp::protocol::js_protocol::runtime::EvaluateParams;
use cuebook_cdp::{Browser, LaunchOptions, SearchPlaces, find_chrome};
use cuebook_network::traffic::page_script;
use serde_json::Value;

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(40)
}

#[expect(clippy::disallowed_methods, reason = "a test is its own composition root")]
fn places() -> SearchPlaces {
    SearchPlaces {
        chrome_variable: std::env::var_os("CHROME"),
        path: std::env::var_os("PATH"),
        home: std::env::var_os("HOME").map(Into::into),
        ..SearchPlaces::default()
    }
}

/// Returns a script for a page that polls `times` before it sends a form, and reports the numbers that it draws for the
/// form: both by the same helper.
fn drawn(times: usize) -> String {
    format!(
        "(() => {{ const id = () => Math.random() + '/' + crypto.getRandomValues(new Uint8Array(2)).join();
        const poll = () => id(); const send = () => [id(), id()];
        for (let i = 0; i < {times}; i++) poll();
        return JSON.stringify([send(), send()]); }})()"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn how_often_a_page_polls_shifts_no_numbers_of_others() {
    let root = tempfile::tempdir().unwrap();
    let mut options = LaunchOptions::new(find_chrome(&places()).unwrap(), root.path());
    options.page_script = Some(page_script(7, 1_700_000_000_000));
    let browser = Browser::launch(&options, soon()).await.unwrap();
    let page = browser.pages().into_iter().next().unwrap();
    let mut seen: Vec<Vec<Value>> = Vec::new();
    for times in [2, 5, 5] {
        page.session().request(NavigateParams::new("data:text/html,<p>x"), soon()).await.unwrap();
        let asked = EvaluateParams { return_by_value: Some(true), ..EvaluateParams::new(drawn(times)) };
        let answer = page.session().request(asked, soon()).await.unwrap();
        let answer: Value = answer.parse().unwrap();
        seen.push(serde_json::from_str(answer["result"]["value"].as_str().unwrap()).unwrap());
    }
    assert_eq!(seen[0], seen[1], "the forms");
    assert_ne!(seen[0][0], seen[0][1], "each line of a script draws for itself");
    assert_ne!(seen[0][0][0], seen[0][0][1]);
    assert_eq!(seen[1], seen[2], "a document has the same numbers each time");
}
