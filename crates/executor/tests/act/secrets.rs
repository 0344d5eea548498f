//! Passwords: where they go and where they never show.

use cuebook_grammar::outcome::Cause;
use serde_json::json;

use crate::lab::{PASSWORD, css_of, failed, lab, succeeded};

#[tokio::test]
async fn a_password_is_in_no_evidence() {
    let page = "<input id=p type=password><input id=user><p id=echo></p><script>p.addEventListener('input', () => { \
        echo.textContent = 'you typed ' + p.value; document.title = p.value; history.replaceState({}, '', '?q=' + encodeURIComponent(p.value).replace(/%20/g, '+')); });</script>";
    let mut lab = lab(&[("/", page)]).await;
    let p = json!({"p": css_of("#p"), "echo": css_of("#echo")});
    let step = json!({"type": "type", "targetRef": "p", "text": "hunter2secret", "post": [
        {"kind": "valueEquals", "target": "p", "value": "hunter2secret"}, {"kind": "valueContains", "target": "p", "value": "er2sec"},
        {"kind": "visible", "target": "echo"}]});
    let success = succeeded(lab.step(p.clone(), step).await);
    let told = serde_json::to_string(&success.evidence).unwrap();
    assert!(!told.contains("hunter2secret") && !told.contains("er2sec"), "{told}");
    assert!(success.evidence.sensitive.iter().any(|target| target.as_str() == "p"));

    let step = json!({"type": "setValue", "targetRef": "p", "credentialRef": "shop", "post": [{"kind": "changed", "target": "p"}]});
    let success = succeeded(lab.step(p.clone(), step).await);
    assert!(!serde_json::to_string(&success.evidence).unwrap().contains(PASSWORD));
    assert_eq!(lab.eval("p.value").await, PASSWORD);
    let asked = lab.secrets.asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].is_password_field);

    let failing = json!({"type": "setValue", "targetRef": "p", "value": "hunter2again", "post": [{"kind": "valueEquals", "target": "p", "value": "other2again"}]});
    let failure = failed(lab.step(p, failing).await);
    assert_eq!(failure.cause, Cause::PostconditionFailed);
    let told = format!("{failure:?}{}", serde_json::to_string(&failure.evidence).unwrap());
    assert!(!told.contains("hunter2again") && !told.contains("other2again"), "{told}");
}

#[tokio::test]
async fn a_secret_is_not_given_to_another_origin() {
    let mut lab =
        lab(&[("/", "<iframe src='http://localhost:PORT/inner'></iframe>"), ("/inner", "<input id=p type=password>")])
            .await;
    let step = json!({"type": "type", "targetRef": "p", "credentialRef": "shop"});
    let failure = failed(lab.step(json!({"p": css_of("#p")}), step).await);
    assert_eq!(failure.cause, Cause::PolicyBlocked, "{}", failure.message);
    assert!(!failure.evidence.input_sent);
    let asked = lab.secrets.asked.lock().unwrap().clone();
    assert_eq!(asked[0].origin, format!("http://localhost:{}", lab.port));
    assert_eq!(asked[0].page_origin, format!("http://127.0.0.1:{}", lab.port));
}
