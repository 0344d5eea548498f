//! Downloads: reported when they start, and how they ended.

use cuebook_cdp::protocol::browser_protocol::browser::{SetDownloadBehaviorBehavior, SetDownloadBehaviorParams};
use cuebook_grammar::facts::DownloadEnd;
use cuebook_grammar::outcome::Cause;
use cuebook_grammar::seam::ArtifactKind;
use serde_json::json;

use crate::lab::{css_of, failed, lab, lab_in, quick, succeeded};

fn get() -> serde_json::Value {
    json!({"go": css_of("#go")})
}

#[tokio::test]
async fn a_download_is_reported_with_its_name_and_size_and_stored() {
    let pages = [("/", "<a id=go href='/file.bin' download='report.txt'>Get</a>"), ("/file.bin", "twelve bytes")];
    let mut lab = lab(&pages).await;
    let step =
        json!({"type": "click", "targetRef": "go", "post": [{"kind": "downloadCompleted", "filename": "report"}]});
    let success = succeeded(lab.step(get(), step).await);
    let effects = success.evidence.effects.unwrap();
    let download = &effects.downloads[0];
    assert_eq!(download.filename, "report.txt");
    assert_eq!((download.end, download.bytes), (Some(DownloadEnd::Completed), Some(12)));
    assert!(!effects.new_document);
    let stored = &success.evidence.artifacts[0];
    assert_eq!(download.sha256.as_ref(), Some(&stored.sha256));
    let kept = lab.shelf.0.lock().unwrap();
    assert!(kept.iter().any(|(kind, bytes)| *kind == ArtifactKind::Download && bytes == b"twelve bytes"));
}

#[tokio::test]
async fn another_name_and_no_download_fail_the_condition() {
    let pages = [("/", "<a id=go href='/file.bin' download>Get</a><a id=no href='#x'>No</a>"), ("/file.bin", "data")];
    let mut lab = lab(&pages).await;
    let step =
        json!({"type": "click", "targetRef": "go", "post": [{"kind": "downloadStarted", "filename": "invoice"}]});
    assert_eq!(failed(lab.step(get(), step).await).cause, Cause::PostconditionFailed);
    let step = json!({"type": "click", "targetRef": "go", "post": [{"kind": "downloadStarted"}]});
    assert_eq!(failed(lab.step(json!({"go": css_of("#no")}), step).await).cause, Cause::PostconditionFailed);
}

#[tokio::test]
async fn a_download_that_the_page_makes_itself_is_reported() {
    let page = "<button id=go onclick=\"const a = document.createElement('a'); a.href = window.URL.createObjectURL(new Blob(['a,b'])); a.download = 'table.csv'; a.click();\">Export</button>";
    let mut lab = lab(&[("/", page)]).await;
    let step =
        json!({"type": "click", "targetRef": "go", "post": [{"kind": "downloadStarted", "filename": "table.csv"}]});
    let success = succeeded(lab.step(get(), step).await);
    assert_eq!(success.evidence.effects.unwrap().downloads[0].bytes, Some(3));
}

#[tokio::test]
async fn a_download_that_does_not_end_is_reported_as_started_only() {
    // A short beginning is held back until the browser knows what it is.
    let body = format!("{}NEVER", "begin".repeat(2_000));
    let pages = [("/", "<a id=go href='/slow.bin'>Get</a>"), ("/slow.bin", &body)];
    let mut lab = lab(&pages).await;
    let step = json!({"type": "click", "targetRef": "go", "post": [{"kind": "downloadCompleted"}]});
    let failure = failed(lab.step(get(), step).await);
    assert!(failure.message.contains("under way"), "{}", failure.message);
    let step = json!({"type": "click", "targetRef": "go", "post": [{"kind": "downloadStarted"}]});
    let success = succeeded(lab.step(get(), step).await);
    let effects = success.evidence.effects.unwrap();
    assert_eq!((effects.downloads[0].end, effects.downloads[0].bytes), (None, None));
}

#[tokio::test]
async fn a_browser_that_refuses_downloads_says_that_it_was_cancelled() {
    let pages = [("/", "<a id=go href='/file.bin' download>Get</a>"), ("/file.bin", "data")];
    let mut lab = lab_in(cuebook_testkit::browser, &pages, quick()).await;
    let params = SetDownloadBehaviorParams {
        events_enabled: Some(true),
        ..SetDownloadBehaviorParams::new(SetDownloadBehaviorBehavior::Deny)
    };
    lab.browser.session().request(params, crate::lab::soon()).await.unwrap();
    let step = json!({"type": "click", "targetRef": "go", "post": [{"kind": "downloadStarted"}]});
    let success = succeeded(lab.step(get(), step).await);
    assert_eq!(success.evidence.effects.unwrap().downloads[0].end, Some(DownloadEnd::Canceled));
}

#[tokio::test]
async fn navigating_to_a_file_downloads_it() {
    let mut lab = lab(&[("/", "<p>x</p>"), ("/file.bin", "data")]).await;
    let url = lab.url("/file.bin");
    let step = json!({"type": "navigate", "url": url, "post": [{"kind": "downloadStarted"}]});
    let success = succeeded(lab.step(json!({}), step).await);
    assert_eq!(success.evidence.effects.unwrap().downloads[0].filename, "file.bin");
}

#[tokio::test]
async fn a_download_that_begins_while_a_step_waits_is_in_its_record() {
    let page = "<button id=go onclick=\"this.after('Preparing'); setTimeout(() => { const a = document.createElement('a'); a.href = window.URL.createObjectURL(new Blob(['a,b'])); a.download = 'table.csv'; a.click(); }, 500)\">Export</button>";
    let mut lab = lab(&[("/", page)]).await;
    succeeded(lab.step(get(), json!({"type": "click", "targetRef": "go"})).await);
    let success = succeeded(lab.step(json!({}), json!({"type": "waitForIdle", "quietMs": 1000})).await);
    let downloads = success.evidence.effects.unwrap().downloads;
    assert_eq!((downloads[0].filename.as_str(), downloads[0].bytes), ("table.csv", Some(3)));
    let kept = lab.shelf.0.lock().unwrap();
    assert!(kept.iter().any(|(kind, bytes)| *kind == ArtifactKind::Download && bytes == b"a,b"));
}

#[tokio::test]
async fn a_download_is_waited_for_as_long_as_its_bytes_come() {
    let slow = ["begin".repeat(2_000).as_str(); 4].join("PAUSE");
    let pages = [("/", "<a id=go href='/slow.bin'>Get</a>"), ("/slow.bin", slow.as_str())];
    let mut lab = lab(&pages).await;
    let step = json!({"type": "click", "targetRef": "go", "timeoutMs": 10_000});
    let success = succeeded(lab.step(get(), step).await);
    let download = &success.evidence.effects.unwrap().downloads[0];
    assert_eq!((download.end, download.bytes), (Some(DownloadEnd::Completed), Some(40_000)));
}

#[tokio::test]
async fn a_download_that_is_asked_for_may_pause() {
    let part = "begin".repeat(2_000);
    let body = format!("{part}PAUSEPAUSEPAUSEPAUSE{part}");
    let pages = [("/", "<a id=go href='/slow.bin'>Get</a>"), ("/slow.bin", body.as_str())];
    let mut lab = lab(&pages).await;
    let step = json!({"type": "click", "targetRef": "go", "post": [{"kind": "downloadCompleted"}]});
    let success = succeeded(lab.step(get(), step).await);
    assert_eq!(success.evidence.effects.unwrap().downloads[0].bytes, Some(20_000));
}
