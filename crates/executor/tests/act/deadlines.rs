//! After the deadline of a step nothing of it fires any more.

use std::time::Duration;

use cuebook_cdp::protocol::browser_protocol::input::{DispatchMouseEventParams, DispatchMouseEventType, MouseButton};
use cuebook_executor::{ExecutorOptions, PeopleInput};
use cuebook_grammar::outcome::{Cause, Stage, StepOutcome};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::lab::{LOGGING, Lab, css_of, failed, lab, lab_with, quick, soon, succeeded};

const SHORT: Duration = Duration::from_millis(700);

/// Returns the page's record of events once it is idle again, and a while after.
async fn seen_later(lab: &mut Lab, read: &str) -> Value {
    let wait = json!({"type": "waitForIdle", "quietMs": 1500});
    succeeded(lab.step(json!({}), wait).await);
    lab.eval(read).await
}

#[tokio::test]
async fn a_button_that_becomes_clickable_after_the_deadline_is_not_clicked() {
    let page = format!(
        "{LOGGING}<button id=go>Go</button><div id=veil style='position:fixed;inset:0'></div><script>setTimeout(() => veil.remove(), 3000);</script>"
    );
    let mut lab = lab(&[("/", &page)]).await;
    let click = json!({"type": "click", "targetRef": "it"});
    let failure = failed(lab.step_within(json!({"it": css_of("#go")}), click, SHORT).await);
    assert_eq!(failure.cause, Cause::Covered, "{}", failure.message);
    let gone = json!({"type": "waitFor", "condition": {"kind": "absent", "target": "veil"}});
    succeeded(lab.step(json!({"veil": css_of("#veil")}), gone).await);
    assert_eq!(seen_later(&mut lab, "log.join()").await, "");
}

#[tokio::test]
async fn a_click_that_a_busy_page_handles_after_the_deadline_is_stopped() {
    // The page stops answering when it sees the pointer, and for longer than the step has.
    let page = format!(
        "<button id=go>Go</button><script>addEventListener('pointermove', function hang(e) {{ if (!e.clientX) return; \
         removeEventListener('pointermove', hang); const end = performance.now() + 3000; while (performance.now() < end); }});</script>{LOGGING}"
    );
    let mut lab = lab(&[("/", &page)]).await;
    let click = json!({"type": "click", "targetRef": "it"});
    let failure = failed(lab.step_within(json!({"it": css_of("#go")}), click, SHORT).await);
    assert_eq!(failure.cause, Cause::DeadlineExceeded, "{}", failure.message);
    assert!(failure.evidence.input_sent);
    assert_eq!(seen_later(&mut lab, "log.join()").await, "");
    // The next step finds everything as it should be.
    succeeded(lab.click("#go").await);
    assert_eq!(lab.eval("log.at(-1)").await, "click go");
}

#[tokio::test]
async fn text_that_a_busy_page_handles_after_the_deadline_is_not_entered() {
    let page = "<input id=i><script>i.addEventListener('input', () => { if (i.value === 'ab') { \
        const end = performance.now() + 3000; while (performance.now() < end); } });</script>";
    let mut lab = lab(&[("/", page)]).await;
    let text = json!({"type": "type", "targetRef": "i", "text": "abcdefghij"});
    let failure = failed(lab.step_within(json!({"i": css_of("#i")}), text, SHORT).await);
    assert_eq!(failure.cause, Cause::DeadlineExceeded, "{}", failure.message);
    assert_eq!(seen_later(&mut lab, "i.value").await, "ab");
}

#[tokio::test]
async fn a_value_that_a_busy_page_handles_after_the_deadline_is_not_set() {
    let busy = "onfocus=\"const end = performance.now() + 3000; while (performance.now() < end);\"";
    let page = format!(
        "<input id=t {busy}><input id=d type=date><select id=s><option>One</option><option>Two</option></select>\
         <script>const hold = () => {{ const end = performance.now() + 1500; while (performance.now() < end); }};</script>"
    );
    let mut lab = lab(&[("/", &page)]).await;
    let value = json!({"type": "setValue", "targetRef": "it", "value": "late"});
    let failure = failed(lab.step_within(json!({"it": css_of("#t")}), value, SHORT).await);
    assert_eq!(failure.cause, Cause::DeadlineExceeded, "{}", failure.message);
    assert_eq!(seen_later(&mut lab, "t.value").await, "");
    // Scripted changes too: the page is busy from just before the step on, in the middle of it.
    for (target, step) in [
        ("#d", json!({"type": "setValue", "targetRef": "it", "value": "2025-01-31"})),
        ("#s", json!({"type": "select", "targetRef": "it", "option": "Two"})),
    ] {
        for delay in [10, 25] {
            lab.eval(&format!("void setTimeout(hold, {delay})")).await;
            let outcome = lab.step_within(json!({"it": css_of(target)}), step.clone(), SHORT).await;
            let after = seen_later(&mut lab, "[d.value, s.selectedIndex]").await;
            if let StepOutcome::Failed(failure) = outcome
                && failure.stage == Stage::Act
            {
                assert_eq!(after, json!(["", 0]), "{delay} {failure:?}");
            }
            lab.eval("d.value = ''; s.selectedIndex = 0").await;
        }
    }
}

#[tokio::test]
async fn a_button_held_at_the_deadline_is_released_and_nothing_is_clicked() {
    let page = format!("{LOGGING}<button id=go>Go</button><button id=next>Next</button>");
    let mut lab = lab(&[("/", &page)]).await;
    let hold = json!({"type": "longPress", "targetRef": "it", "durationMs": 3000});
    let failure = failed(lab.step_within(json!({"it": css_of("#go")}), hold, SHORT).await);
    assert_eq!(failure.cause, Cause::DeadlineExceeded, "{}", failure.message);
    assert_eq!(seen_later(&mut lab, "log.splice(0).join()").await, "pointerdown go,mousedown go");
    let is_held =
        "new Promise((resolve) => { addEventListener('mousemove', (e) => resolve(e.buttons), {once: true}); })";
    lab.eval(&format!("window.held = {is_held}; 0")).await;
    succeeded(lab.click("#next").await);
    assert_eq!(lab.eval("held").await, 0);
    assert_eq!(lab.eval("log.join()").await, "pointerdown next,mousedown next,pointerup next,mouseup next,click next");
}

#[tokio::test]
async fn keys_after_a_dialog_are_dropped_with_the_step_that_it_ended() {
    let page = "<input id=i oninput=\"if (i.value === 'ab') alert('stop')\">";
    let mut lab = lab(&[("/", page)]).await;
    let text = json!({"type": "type", "targetRef": "i", "text": "abcdef"});
    assert_eq!(failed(lab.step(json!({"i": css_of("#i")}), text).await).cause, Cause::DialogOpen);
    succeeded(lab.step(json!({}), json!({"type": "acceptDialog"})).await);
    assert_eq!(seen_later(&mut lab, "i.value").await, "ab");
}

#[tokio::test]
async fn a_closed_browser_accepts_input_of_steps_only() {
    for (people, expected) in [(PeopleInput::Never, ""), (PeopleInput::Between, "pointerdown go,mousedown go")] {
        let page = format!("{LOGGING}<button id=go style='position:fixed;left:0;top:0'>Go</button>");
        let mut lab = lab_with(&[("/", &page)], ExecutorOptions { people, ..quick() }).await;
        succeeded(lab.step(json!({}), json!({"type": "waitForIdle", "quietMs": 1100})).await);
        dispatched(&lab, DispatchMouseEventType::MousePressed, 5).await;
        assert_eq!(lab.eval("log.splice(0).join()").await, expected, "{people:?}");
        succeeded(lab.click("#go").await);
        assert_eq!(lab.eval("log.at(-1)").await, "click go");
    }
}

/// Sends one event as a late one of ours arrives: dated when the browser took it.
async fn dispatched(lab: &Lab, kind: DispatchMouseEventType, at: i32) {
    let event = DispatchMouseEventParams {
        button: Some(MouseButton::Left),
        buttons: Some(1),
        click_count: Some(1),
        ..DispatchMouseEventParams::new(kind, at, at)
    };
    lab.tab().session().request(event, soon()).await.unwrap();
}

#[tokio::test]
async fn input_that_the_browser_handles_after_the_deadline_reaches_nothing() {
    let page = format!(
        "<button id=go style='position:fixed;left:0;top:0;width:100px;height:60px'>Go</button><script>addEventListener('pointermove', function hang(e) {{ \
         if (!e.clientX) return; removeEventListener('pointermove', hang); \
         const end = performance.now() + 2500; while (performance.now() < end); }});</script>{LOGGING}"
    );
    let mut lab = lab(&[("/", &page)]).await;
    let click = json!({"type": "click", "targetRef": "it"});
    let failure = failed(lab.step_within(json!({"it": css_of("#go")}), click, SHORT).await);
    assert_eq!(failure.cause, Cause::DeadlineExceeded, "{}", failure.message);
    // Both are under way while the page hangs: what is sent once ours was answered is a person's.
    let kinds = [DispatchMouseEventType::MousePressed, DispatchMouseEventType::MouseReleased];
    join_all(kinds.map(|kind| dispatched(&lab, kind, 20))).await;
    assert_eq!(seen_later(&mut lab, "log.join()").await, "");
    // All of ours was answered: what comes now is a person's.
    dispatched(&lab, DispatchMouseEventType::MousePressed, 20).await;
    assert_eq!(lab.eval("log.join()").await, "pointerdown go,mousedown go");
}

#[tokio::test]
async fn a_step_that_is_cancelled_lets_go_of_what_it_held() {
    let page = format!(
        "{LOGGING}<button id=go>Go</button><script>go.addEventListener('pointerdown', (e) => go.setPointerCapture(e.pointerId));\
         go.addEventListener('lostpointercapture', () => {{ document.title = 'let go'; }});</script>"
    );
    let mut lab = lab(&[("/", &page)]).await;
    let hold = json!({"type": "longPress", "targetRef": "it", "durationMs": 15000});
    let step = lab.step(json!({"it": css_of("#go")}), hold);
    assert!(tokio::time::timeout(Duration::from_secs(3), step).await.is_err());
    let free = json!({"type": "waitFor", "condition": {"kind": "titleMatches", "pattern": "let go"}});
    succeeded(lab.step(json!({}), free).await);
    assert_eq!(lab.eval("log.splice(0).join()").await, "pointerdown go,mousedown go");
    succeeded(lab.click("#go").await);
    assert_eq!(lab.eval("log.at(-1)").await, "click go");
}
