//! The network: what a step asked for, and when it is quiet.

use cuebook_grammar::outcome::Cause;
use serde_json::{Value, json};

use crate::lab::{css_of, failed, lab, succeeded};

fn click(post: Value) -> Value {
    json!({"type": "click", "targetRef": "go", "post": post})
}

fn go() -> Value {
    json!({"go": css_of("#go")})
}

#[tokio::test]
async fn requests_are_recorded_without_being_asked_for() {
    let page = "<button id=go onclick=\"fetch('/data', {method: 'POST'}); fetch('/missing')\">Go</button>";
    let mut lab = lab(&[("/", page), ("/data", "ok")]).await;
    let step =
        click(json!([{"kind": "not", "condition": {"kind": "titleMatches", "pattern": "x"}}, {"kind": "networkIdle"}]));
    let success = succeeded(lab.step(go(), step).await);
    let seen: Vec<(String, bool, Option<u16>)> = success
        .evidence
        .effects
        .unwrap()
        .requests
        .into_iter()
        .map(|r| (r.method, r.url.ends_with("/data"), r.status))
        .collect();
    assert_eq!(seen, [("POST".into(), true, Some(200)), ("GET".into(), false, Some(404))]);
    let success = succeeded(lab.click("#go").await);
    assert_eq!(success.evidence.effects.unwrap().requests.len(), 2);
}

#[tokio::test]
async fn a_request_is_reported_by_method_url_and_status() {
    let page = "<button id=go onclick=\"fetch('/data?id=7', {method: 'PUT'})\">Go</button>";
    for (condition, holds) in [
        (json!({"method": "PUT", "url": r"/data\?id=\d$", "status": 200}), true),
        (json!({"method": "put"}), true),
        (json!({"method": "POST", "url": "/data"}), false),
        (json!({"url": "/data$"}), false),
        (json!({"url": "/data", "status": 500}), false),
    ] {
        let mut lab = lab(&[("/", page), ("/data", "ok")]).await;
        let mut condition = condition;
        condition["kind"] = json!("requestObserved");
        let outcome = lab.step(go(), click(json!([condition]))).await;
        if holds {
            succeeded(outcome);
        } else {
            assert_eq!(failed(outcome).cause, Cause::PostconditionFailed, "{condition}");
        }
    }
}

#[tokio::test]
async fn a_request_before_the_input_does_not_count() {
    let mut lab = lab(&[("/", "<button id=go>Go</button><script>fetch('/early')</script>"), ("/early", "x")]).await;
    let failure = failed(lab.step(go(), click(json!([{"kind": "requestObserved", "url": "/early"}]))).await);
    assert_eq!(failure.cause, Cause::PostconditionFailed);
    assert!(failure.evidence.effects.unwrap().requests.is_empty());
}

#[tokio::test]
async fn a_request_that_fails_says_why() {
    let page = "<button id=go onclick=\"fetch('http://127.0.0.1:1/x').catch(() => { document.title = 'failed' })\">Go</button>";
    let mut lab = lab(&[("/", page)]).await;
    let success = succeeded(lab.step(go(), click(json!([{"kind": "titleMatches", "pattern": "failed"}]))).await);
    let requests = success.evidence.effects.unwrap().requests;
    assert!(requests[0].failure.as_deref().is_some_and(|why| why.contains("ERR_")), "{requests:?}");
}

#[tokio::test]
async fn polling_beside_the_work_is_not_waited_for_and_streams_do_not_count() {
    // Each of these pages has something that never ends; its own work does.
    for noise in [
        "new EventSource('/stream')",
        "new WebSocket('ws://127.0.0.1:PORT/never')",
        "fetch('/stream').then(() => {})",
        "navigator.sendBeacon('/beacon', 'x')",
    ] {
        let page = format!(
            "<button id=go onclick=\"fetch('/data').then((r) => r.text()).then(() => {{ document.title = 'done' }})\">Go</button><script>{noise}</script>"
        );
        let mut lab = lab(&[("/", &page), ("/data", "ok"), ("/stream", "data: x\n\nNEVER"), ("/beacon", "")]).await;
        let success = succeeded(lab.step(go(), click(json!([{"kind": "networkIdle", "timeoutMs": 4000}]))).await);
        assert_eq!(lab.eval("document.title").await, "done", "{noise}");
        // Quiet is half a second of nothing; the record says when it was there, not when the page last changed.
        assert!(success.evidence.post[0].latency_ms.unwrap() > 250, "{:?}", success.evidence.post);
    }
}

#[tokio::test]
async fn a_page_that_polls_all_the_time_is_quiet_beside_its_polling() {
    let page = "<button id=go onclick=\"fetch('/data').then(() => { document.title = 'done' })\">Go</button><script>setInterval(() => fetch('/poll'), 100)</script>";
    let mut lab = lab(&[("/", page), ("/data", "ok"), ("/poll", "x")]).await;
    tokio::time::sleep(std::time::Duration::from_millis(800)).await;
    let success = succeeded(lab.step(go(), click(json!([{"kind": "networkIdle", "timeoutMs": 4000}]))).await);
    let urls: Vec<String> = success.evidence.effects.unwrap().requests.into_iter().map(|request| request.url).collect();
    assert!(urls.iter().all(|url| url.ends_with("/data")) && urls.len() == 1, "{urls:?}");
}

#[tokio::test]
async fn traffic_of_the_step_itself_that_never_rests_leaves_quiet_unknown() {
    let page = "<button id=go onclick=\"setInterval(() => fetch('/poll?' + Math.random()), 60)\">Go</button>";
    let mut lab = lab(&[("/", page), ("/poll", "x")]).await;
    let failure = failed(lab.step(go(), click(json!([{"kind": "networkIdle", "timeoutMs": 1200}]))).await);
    assert_eq!(failure.cause, Cause::EffectUnknown);
}

#[tokio::test]
async fn a_request_under_way_keeps_the_page_busy() {
    let page = "<button id=go onclick=\"fetch('/hang')\">Go</button>";
    let mut lab = lab(&[("/", page), ("/hang", "NEVER")]).await;
    let failure = failed(lab.step(go(), click(json!([{"kind": "networkIdle", "timeoutMs": 1200}]))).await);
    assert_eq!(failure.cause, Cause::EffectUnknown);
}

#[tokio::test]
async fn requests_of_a_frame_of_another_process_and_of_a_worker_are_reported() {
    let worker = "<button id=go onclick=\"new Worker(window.URL.createObjectURL(new Blob(['fetch(`http://127.0.0.1:PORT/data`)'])))\">Go</button>";
    let framed = "<iframe src='http://localhost:PORT/inner'></iframe>";
    for (outer, inner) in [(framed, "<button id=go onclick=\"fetch('/data')\">Go</button>"), (worker, "")] {
        let mut lab = lab(&[("/", outer), ("/inner", inner), ("/data", "ok")]).await;
        succeeded(lab.step(go(), click(json!([{"kind": "requestObserved", "url": "/data$"}]))).await);
    }
}

#[tokio::test]
async fn what_an_answer_has_a_page_request_next_is_awaited_too() {
    let page = "<button id=go onclick=\"document.title = 'Saving'; fetch('/first', {method: 'POST'}).then(() => \
        fetch('/second', {method: 'POST'})).then(() => { document.title = 'Saved' })\">Save</button>\
        <button id=next onclick=\"seen = document.title\">Next</button><script>let seen = '';</script>";
    let mut lab = lab(&[("/", page), ("/first", "WAIT 300\nok"), ("/second", "WAIT 300\nok")]).await;
    succeeded(lab.click("#go").await);
    lab.click("#next").await;
    assert_eq!(lab.eval("seen").await, "Saved");
}
