//! Scripts of a plan's own, in the page's world.

use cuebook_grammar::outcome::Cause;
use serde_json::{Value, json};

use crate::lab::{Lab, failed, lab, succeeded};

fn evaluate(script: &str) -> Value {
    json!({"type": "evaluate", "script": script})
}

async fn value(lab: &mut Lab, script: &str) -> Value {
    succeeded(lab.step(json!({}), evaluate(script)).await).data.unwrap()
}

#[tokio::test]
async fn a_script_sees_the_pages_own_variables_and_its_effects_are_judged() {
    let mut lab = lab(&[("/", "<p id=p>old</p><script>var mine = {a: [1, 2]}</script>")]).await;
    assert_eq!(value(&mut lab, "mine").await, json!({"a": [1, 2]}));
    assert_eq!(value(&mut lab, "new Promise((done) => setTimeout(() => done('late'), 20))").await, "late");
    assert_eq!(value(&mut lab, "undefined").await, Value::Null);
    assert_eq!(value(&mut lab, "NaN").await, "NaN");
    assert_eq!(value(&mut lab, "typeof __cuebook").await, "undefined");
    let step = json!({"type": "evaluate", "script": "document.querySelector('#p').textContent = 'new'",
        "post": [{"kind": "elementTextEquals", "target": "it", "text": "new"}]});
    let success = succeeded(lab.step(json!({"it": crate::lab::css_of("#p")}), step).await);
    assert!(!success.evidence.post[0].vacuous);
}

#[tokio::test]
async fn scripts_that_throw_never_end_or_say_too_much_fail() {
    let mut lab = lab(&[("/", "")]).await;
    for script in ["throw new Error('no')", "null.x", "(", "Promise.reject('no')", "'x'.repeat(300000)", "window"] {
        assert_eq!(failed(lab.step(json!({}), evaluate(script)).await).cause, Cause::InvalidArgument, "{script}");
    }
    let step = json!({"type": "evaluate", "script": "new Promise(() => {})", "timeoutMs": 500});
    assert_eq!(failed(lab.step(json!({}), step).await).cause, Cause::DeadlineExceeded);
    let step = json!({"type": "evaluate", "script": "alert('hi')"});
    let success = succeeded(lab.step(json!({}), step).await);
    assert_eq!(success.evidence.effects.unwrap().dialogs.len(), 1);
}
