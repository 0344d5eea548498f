//! What a page may do in the middle of a gesture, and who gets nothing of it.

use cuebook_grammar::outcome::Cause;
use cuebook_grammar::outcome::StepOutcome;
use serde_json::json;

use crate::lab::{LOGGING, css_of, failed, lab, succeeded};

#[tokio::test]
async fn a_swapped_target_gets_no_event() {
    let swap = "const swap = () => { const a = document.getElementById('a'), b = document.getElementById('b'); \
        a.style.left = '300px'; b.style.left = '0'; };";
    for (name, trigger) in [
        ("pointermove", "document.addEventListener('pointermove', swap, true);"),
        ("mousemove", "document.addEventListener('mousemove', swap, true);"),
        ("pointerdown", "document.addEventListener('pointerdown', swap, true);"),
        ("mousedown", "document.addEventListener('mousedown', swap, true);"),
    ] {
        let page = format!(
            "<style>button{{position:absolute;top:0;width:100px;height:40px}}</style><button id=a style='left:0'>Save</button>\
             <button id=b style='left:300px'>Delete</button>{LOGGING}<script>{swap}{trigger}</script>"
        );
        let mut lab = lab(&[("/", &page)]).await;
        let failure = failed(lab.click("#a").await);
        assert!(
            matches!(failure.cause, Cause::NotStable | Cause::Covered),
            "{name}: {:?} {}",
            failure.cause,
            failure.message
        );
        assert!(failure.evidence.input_sent, "{name}");
        let wrong = lab.eval("log.filter((entry) => entry.endsWith(' b') || entry.startsWith('click')).join()").await;
        assert_eq!(wrong, "", "{name}");
    }
}

#[tokio::test]
async fn a_target_that_moves_away_by_timer_gets_no_wrong_click() {
    let page = format!(
        "<style>button{{position:absolute;top:0;width:100px;height:40px}}</style><button id=a style='left:0'>Save</button>\
         <button id=b style='left:300px'>Delete</button>{LOGGING}\
         <script>let there = false; const move = () => {{ there = !there; a.style.left = there ? '300px' : '0'; \
         b.style.left = there ? '0' : '300px'; setTimeout(move, 70); }}; move();</script>"
    );
    let mut lab = lab(&[("/", &page)]).await;
    for _ in 0..8 {
        let outcome = lab.click("#a").await;
        let wrong = lab.eval("log.filter((entry) => entry.endsWith(' b')).join()").await;
        assert_eq!(wrong, "", "{outcome:?}");
        let clicks = lab.eval("log.filter((entry) => entry === 'click a').length").await;
        let is_clicked = clicks.as_u64().unwrap() > 0;
        assert_eq!(matches!(outcome, StepOutcome::Succeeded(_)), is_clicked, "{outcome:?}");
        lab.eval("log.length = 0").await;
    }
}

#[tokio::test]
async fn a_document_that_comes_in_the_middle_of_a_gesture_gets_nothing() {
    let evil = format!(
        "<title>evil</title><button id=b style='position:fixed;inset:0;width:100%;height:100%'>Delete</button>{LOGGING}"
    );
    let start = "<button id=a style='position:fixed;inset:0;width:100%;height:100%' onmousedown=\"location.href = '/evil'\">Hold</button>";
    let mut lab = lab(&[("/", start), ("/evil", &evil)]).await;
    let step = json!({"type": "longPress", "targetRef": "a", "durationMs": 600});
    let failure = failed(lab.step(json!({"a": css_of("#a")}), step).await);
    assert_eq!(failure.cause, Cause::EffectUnknown, "{}", failure.message);
    assert!(failure.evidence.input_sent);
    assert_eq!(lab.eval("[document.title, log.join()]").await, json!(["evil", ""]));
}

#[tokio::test]
async fn a_stolen_focus_gets_no_character() {
    let page = "<input id=a><input id=b><script>a.addEventListener('input', () => { if (a.value.length === 2) b.focus(); });</script>";
    let mut lab = lab(&[("/", page)]).await;
    let failure =
        failed(lab.step(json!({"a": css_of("#a")}), json!({"type": "type", "targetRef": "a", "text": "abcdef"})).await);
    assert_eq!(failure.cause, Cause::NotEditable, "{}", failure.message);
    assert!(failure.evidence.input_sent);
    assert_eq!(lab.eval("[a.value, b.value]").await, json!(["ab", ""]));
}

#[tokio::test]
async fn a_page_that_rewrites_its_own_world_changes_nothing() {
    let page = "<script>const boom = () => { throw new Error('boom'); }; window.clicks = []; \
        const add = EventTarget.prototype.addEventListener; add.call(document, 'click', (e) => { clicks[clicks.length] = e.target.id; });\
        Array.prototype.push = boom; Array.prototype.map = boom; Array.prototype.filter = boom; JSON.stringify = boom; JSON.parse = boom;\
        Element.prototype.getBoundingClientRect = boom; Element.prototype.querySelectorAll = boom; Node.prototype.contains = boom;\
        EventTarget.prototype.addEventListener = boom; Event.prototype.composedPath = boom; Event.prototype.stopImmediatePropagation = boom;\
        window.requestAnimationFrame = boom; window.setTimeout = boom; window.MutationObserver = boom; window.Promise = boom; window.Symbol = boom;</script>\
        <form><input name=parentNode><input name=isConnected><button id=go type=button>Go</button></form><input id=i><img name=title><img name=body>";
    let mut lab = lab(&[("/", page)]).await;
    succeeded(lab.click("#go").await);
    assert_eq!(lab.eval("clicks[0]").await, "go");
    succeeded(lab.step(json!({"i": css_of("#i")}), json!({"type": "type", "targetRef": "i", "text": "fine"})).await);
}
