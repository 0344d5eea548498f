//! Tests of watching while a step runs: every kind of locator, by events, in every frame.

use cuebook_grammar::outcome::Cause;
use serde_json::{Value, json};

use crate::lab::{css_of, failed, lab, succeeded};

fn click(post: Value) -> Value {
    json!({"type": "click", "targetRef": "go", "post": post})
}

/// Shows a toast for five milliseconds, into which a click on `#go` leads.
const TOASTING: &str = "<script>const flash = () => setTimeout(() => { const t = document.createElement('div'); t.className = 'toast'; t.innerHTML = '<b>Saved</b> 3 items';\
    box.append(t); setTimeout(() => t.remove(), 5); }, 30);</script>";

#[tokio::test]
async fn a_toast_is_seen_with_every_kind_of_locator() {
    let page = format!(
        "<button id=go onclick='flash()'>Go</button><section id=other><div class=toast>Old</div></section><section id=box aria-label=Box></section>{TOASTING}"
    );
    let mut lab = lab(&[("/", &page)]).await;
    for locator in [
        css_of("#box .toast"),
        json!({"strategy": "css", "selector": ".toast", "within": css_of("#box")}),
        json!({"strategy": "css", "selector": ".toast", "within": {"strategy": "byRole", "role": "region", "name": "Box"}}),
        json!({"strategy": "css", "selector": ".toast", "has": {"strategy": "text", "text": "Saved"}}),
        json!({"strategy": "css", "selector": ".toast", "within": {"strategy": "css", "selector": "section", "has": {"strategy": "text", "text": "Saved"}}}),
        json!({"strategy": "css", "selector": ".toast", "hasText": "3 items"}),
        json!({"strategy": "text", "text": "Saved 3 items"}),
    ] {
        let candidates = json!({"go": css_of("#go"), "toast": locator});
        let step = click(json!([{"kind": "appears", "target": "toast"}]));
        let success = succeeded(lab.step(candidates, step).await);
        assert!(success.evidence.post[0].verdict.holds(), "{locator}");
    }
}

#[tokio::test]
async fn a_toast_within_a_named_frame_is_seen() {
    for host in ["127.0.0.1", "localhost"] {
        let outer =
            format!("<iframe id=one src='/still'></iframe><iframe id=two src='http://{host}:PORT/inner'></iframe>");
        let inner = format!("<button id=go onclick='flash()'>Go</button><div id=box></div>{TOASTING}");
        let mut lab = lab(&[("/", &outer), ("/inner", &inner), ("/still", "<div class=toast>Old</div>")]).await;
        let candidates =
            json!({"go": css_of("#go"), "toast": {"strategy": "css", "selector": ".toast", "frame": [css_of("#two")]}});
        succeeded(lab.step(candidates, click(json!([{"kind": "appears", "target": "toast"}]))).await);
    }
}

#[tokio::test]
async fn a_frame_that_the_step_brings_is_watched_by_its_path() {
    let page = "<button id=go onclick=\"const f = document.createElement('iframe'); f.id = 'new'; f.src = '/inner'; document.body.append(f)\">Go</button>";
    let inner =
        "<p>soon</p><script>setTimeout(() => { document.querySelector('p').textContent = 'ready'; }, 150);</script>";
    let mut lab = lab(&[("/", page), ("/inner", inner)]).await;
    let candidates = json!({"go": css_of("#go"), "p": {"strategy": "css", "selector": "p", "frame": [css_of("#new")]}});
    let step = click(json!([{"kind": "elementTextEquals", "target": "p", "text": "ready"}]));
    succeeded(lab.step(candidates, step).await);
}

#[tokio::test]
async fn what_lies_elsewhere_does_not_count() {
    let page = "<button id=go onclick=\"other.innerHTML = '<i class=toast>Saved</i>'\">Go</button><div id=box></div><div id=other></div>";
    let mut lab = lab(&[("/", page)]).await;
    let candidates =
        json!({"go": css_of("#go"), "toast": {"strategy": "css", "selector": ".toast", "within": css_of("#box")}});
    let failure = failed(lab.step(candidates, click(json!([{"kind": "exists", "target": "toast"}]))).await);
    assert_eq!(failure.cause, Cause::PostconditionFailed);
}

#[tokio::test]
async fn every_condition_on_an_element_holds_after_its_change_and_fails_without() {
    let page = "<button id=go onclick='act()'>Go</button><input id=i title=Old aria-label=Name><label id=l><input id=c type=checkbox>C</label><select id=s><option>One<option>Two</select>\
        <p id=p>old</p><div id=d aria-expanded=false role=button>D</div><div id=gone>x</div><div id=far style='position:absolute;top:3000px'>far</div><script>let act = () => {};</script>";
    let mut lab = lab(&[("/", page)]).await;
    for (condition, action) in [
        (json!({"kind": "exists", "target": "new"}), "p.insertAdjacentHTML('afterend', '<u id=new>n</u>')"),
        (json!({"kind": "absent", "target": "gone"}), "gone.remove()"),
        (json!({"kind": "hidden", "target": "p"}), "p.style.display = 'none'"),
        (json!({"kind": "visible", "target": "p"}), "p.style.display = ''"),
        (json!({"kind": "disappears", "target": "p"}), "p.style.visibility = 'hidden'"),
        (json!({"kind": "appears", "target": "p"}), "p.style.visibility = ''"),
        (json!({"kind": "not", "condition": {"kind": "enabled", "target": "i"}}), "i.disabled = true"),
        (json!({"kind": "enabled", "target": "i"}), "i.disabled = false"),
        (json!({"kind": "not", "condition": {"kind": "editable", "target": "i"}}), "i.readOnly = true"),
        (json!({"kind": "editable", "target": "i"}), "i.readOnly = false"),
        (json!({"kind": "checked", "target": "c"}), "c.checked = true"),
        (json!({"kind": "checked", "target": "c", "checked": false}), "c.checked = false"),
        (json!({"kind": "focused", "target": "i"}), "i.focus()"),
        (json!({"kind": "titleMatches", "pattern": "^New"}), "document.title = 'New one'"),
        (json!({"kind": "urlMatches", "pattern": "#there$"}), "location.hash = 'there'"),
        (json!({"kind": "urlChanges", "to": "/pushed"}), "history.pushState({}, '', '/pushed')"),
        (json!({"kind": "attrEquals", "target": "i", "name": "title", "value": "New"}), "i.title = 'New'"),
        (json!({"kind": "attrEquals", "target": "i", "name": "value", "value": "live"}), "i.value = 'live'"),
        (json!({"kind": "propertyEquals", "target": "i", "name": "maxLength", "value": 7}), "i.maxLength = 7"),
        (json!({"kind": "valueEquals", "target": "i", "value": "v1"}), "i.value = 'v1'"),
        (json!({"kind": "valueContains", "target": "i", "value": "2"}), "i.value = 'v2'"),
        (json!({"kind": "elementTextContains", "target": "p", "text": "new"}), "p.textContent = 'the new text'"),
        (json!({"kind": "elementTextEquals", "target": "p", "text": "exact"}), "p.textContent = ' exact '"),
        (json!({"kind": "ariaState", "target": "d", "name": "expanded", "value": "true"}), "d.ariaExpanded = 'true'"),
        (json!({"kind": "count", "target": "rows", "equals": 3}), "p.innerHTML = '<i class=row></i>'.repeat(3)"),
        (json!({"kind": "nameEquals", "target": "i", "text": "Full name"}), "i.ariaLabel = 'Full name'"),
        (
            json!({"kind": "descriptionEquals", "target": "i", "text": "As printed"}),
            "i.title = ''; i.setAttribute('aria-description', 'As printed')",
        ),
        (
            json!({"kind": "errorMessageEquals", "target": "i", "text": "Too short"}),
            "i.setAttribute('aria-invalid', 'true'); gone2.textContent = 'Too short'; i.setAttribute('aria-errormessage', 'gone2')",
        ),
        (json!({"kind": "roleEquals", "target": "d", "role": "link"}), "d.setAttribute('role', 'link')"),
        (json!({"kind": "classContains", "target": "d", "class": "on"}), "d.className = 'off on'"),
        (json!({"kind": "selectedValues", "target": "s", "values": ["Two"]}), "s.value = 'Two'"),
        (json!({"kind": "changed", "target": "s", "aspect": "value"}), "s.value = 'One'"),
        (json!({"kind": "changed", "target": "p", "aspect": "box"}), "p.style.paddingTop = '30px'"),
        (json!({"kind": "inViewport", "target": "far"}), "far.scrollIntoView({behavior: 'instant'})"),
        (
            json!({"kind": "allOf", "conditions": [{"kind": "exists", "target": "p"}, {"kind": "titleMatches", "pattern": "both"}]}),
            "document.title = 'both'",
        ),
        (
            json!({"kind": "anyOf", "conditions": [{"kind": "exists", "target": "never"}, {"kind": "titleMatches", "pattern": "either"}]}),
            "document.title = 'either'",
        ),
    ] {
        let mut all = json!({"new": css_of("#new"), "rows": css_of(".row"), "never": css_of("#never")});
        for id in ["go", "i", "c", "s", "p", "d", "gone", "far"] {
            all[id] = css_of(&format!("#{id}"));
        }
        lab.eval("scrollTo(0, 0); document.getElementById('gone2') || document.body.insertAdjacentHTML('beforeend', '<em id=gone2></em>'); act = () => {}").await;
        let mut step = click(json!([condition]));
        step["timeoutMs"] = json!(900);
        let failure = failed(lab.step(all.clone(), step.clone()).await);
        assert_eq!(failure.cause, Cause::PostconditionFailed, "{condition}: {}", failure.message);
        lab.eval(&format!("act = () => setTimeout(() => {{ {action} }}, 20)")).await;
        step["timeoutMs"] = json!(5_000);
        let success = succeeded(lab.step(all, step).await);
        assert!(!success.evidence.post[0].vacuous, "{condition}");
    }
}

#[tokio::test]
async fn the_content_of_a_frame_is_placed_in_the_tabs_coordinates() {
    let outer = "<button id=go onclick=\"window.scrollTo(0, 2000)\" style='position:fixed'>Go</button><div style='height:2100px'></div><iframe src='/inner' style='width:300px;height:200px;margin-left:50px;border:0'></iframe><div style='height:2000px'></div>";
    let mut lab = lab(&[
        ("/", outer),
        ("/inner", "<body style='margin:0'><p id=p style='margin:0;position:absolute;left:10px;top:20px'>inner</p>"),
    ])
    .await;
    let candidates = json!({"go": css_of("#go"), "p": css_of("#p")});
    let success = succeeded(lab.step(candidates, click(json!([{"kind": "inViewport", "target": "p"}]))).await);
    assert!(!success.evidence.post[0].vacuous);
    let facts = success.evidence.post_facts.unwrap();
    let p = cuebook_grammar::id::TargetRef::new("p").unwrap();
    let last = facts.samples.iter().rev().find_map(|sample| sample.targets[&p].element.clone()).unwrap();
    let rect = last.rect.unwrap();
    assert!((rect.x - 68.0).abs() < 1.5 && rect.y > 100.0 && rect.y < 200.0, "{rect:?}");
}
