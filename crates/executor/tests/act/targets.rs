//! From what a step names to one element, or a failure.

use cuebook_grammar::candidate::{About, Candidate};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::{Cause, StepOutcome};
use cuebook_grammar::secret::DigestKey;
use cuebook_probe::Ask;
use cuebook_probe::Probe;
use serde_json::json;

use crate::lab::{LOGGING, Lab, Labs, css_of, failed, lab, soon, succeeded};

#[tokio::test]
async fn a_target_is_found_once_or_the_step_fails() {
    let page = "<button>Edit</button><button>Edit</button>";
    let mut lab = lab(&[("/", page)]).await;
    let click = json!({"type": "click", "targetRef": "it"});
    let edit = json!({"it": {"strategy": "byRole", "role": "button", "name": "Edit"}});
    let failure = failed(lab.step(edit, click.clone()).await);
    assert_eq!(failure.cause, Cause::TargetAmbiguous);
    assert_eq!(failure.facts.matches, ["button \"Edit\"", "button \"Edit\""]);
    let failure = failed(lab.step(json!({"it": {"strategy": "byRole", "role": "link"}}), click.clone()).await);
    assert_eq!(failure.cause, Cause::TargetNotFound);
    succeeded(lab.step(json!({"it": {"strategy": "byRole", "role": "button", "name": "Edit", "nth": 1}}), click).await);
    assert_eq!(lab.eval("document.activeElement === document.querySelectorAll('button')[1]").await, true);
}

#[tokio::test]
async fn a_step_that_may_not_run_yet_has_its_target_waited_for_untouched() {
    let page = format!(
        "{LOGGING}<div style='height: 3000px'></div><script>
        for (const t of ['focusin', 'scroll']) addEventListener(t, () => log.push(t), true);
        setTimeout(() => {{
            const save = document.body.appendChild(document.createElement('button'));
            save.disabled = true;
            save.textContent = 'Save';
            setTimeout(() => {{ save.disabled = false; window.ready = true; }}, 200);
        }}, 200);
        </script>"
    );
    let mut lab = lab(&[("/", &page)]).await;
    let save = json!({"it": {"strategy": "byRole", "role": "button", "name": "Save"}});
    let click = json!({"type": "click", "targetRef": "it"});
    lab.prepare(save.clone(), click.clone()).await;
    assert_eq!(lab.eval("window.ready").await, true, "it was waited for until it could be pressed");
    assert_eq!(lab.eval("[log.length, scrollY]").await, json!([0, 0]), "nothing was sent to the page");
    succeeded(lab.step(save, click).await);
    // What never comes is left to the step, which says why.
    lab.prepare(json!({"it": css_of("#nowhere")}), json!({"type": "click", "targetRef": "it"})).await;
}

#[tokio::test]
async fn a_position_that_another_element_takes_is_stale() {
    let labs = Labs::open().await;
    for moment in ["pointerover", "mousemove"] {
        let page = format!(
            "{LOGGING}<style>li {{ height: 50px }}</style>
            <ul><li>Ann <button>Remove</button><li style='padding-left: 200px'>Bob <button>Remove</button>
            <li style='padding-left: 400px'>Cleo <button>Remove</button></ul>
            <script>
            const list = document.querySelector('ul');
            addEventListener('{moment}', function sort(e) {{ if (!e.clientX) return; removeEventListener('{moment}', sort, true);
            list.prepend(list.lastElementChild); }}, true);
            addEventListener('click', (e) => {{ document.title += e.target.parentNode.textContent; }});
            </script>"
        );
        let mut lab = labs.lab(&[("/", &page)]).await;
        let target = json!({"it": {"strategy": "css", "selector": "li button", "nth": 1}});
        let outcome = lab.step(target, json!({"type": "click", "targetRef": "it"})).await;
        assert_eq!(failed(outcome).cause, Cause::TargetStale, "{moment}");
        assert_eq!(lab.eval("document.title").await, "", "{moment}");
    }
}

#[tokio::test]
async fn a_target_that_comes_late_is_waited_for() {
    let page = "<script>setTimeout(() => { document.body.innerHTML = '<button id=go onclick=\"document.title = 1\">Go</button>'; }, 300);</script><body>";
    let mut lab = lab(&[("/", page)]).await;
    succeeded(lab.click("#go").await);
    assert_eq!(lab.eval("document.title").await, "1");
}

#[tokio::test]
async fn an_observed_candidate_is_that_element_or_nothing() {
    let page = format!("{LOGGING}<button id=go class=x>Save</button>");
    let mut lab = lab(&[("/", &page)]).await;
    let mut observation = observed(&lab, &["#go"]).await;
    let click = json!({"type": "click", "targetRef": "c1"});
    succeeded(lab.step_on(&observation, click.clone()).await);

    lab.eval("go.textContent = 'Delete'; log.length = 0").await;
    let failure = failed(lab.step_on(&observation, click.clone()).await);
    assert_eq!(failure.cause, Cause::TargetStale);
    assert!(failure.facts.seen.unwrap().contains("Delete"));

    lab.eval("document.body.innerHTML = '<button id=go>Save</button><button>Save</button>'").await;
    let failure = failed(lab.step_on(&observation, click.clone()).await);
    assert_eq!(failure.cause, Cause::TargetStale);
    assert_eq!(lab.eval("log.length").await, 0);

    // A candidate that was read from a file has no digest: its locators are followed.
    observation.candidates[0].about = None;
    observation.candidates[0].locators = vec![serde_json::from_value(css_of("#go")).unwrap()];
    succeeded(lab.step_on(&observation, click).await);
}

#[tokio::test]
async fn a_button_of_a_row_that_is_used_again_is_another_one() {
    let page = format!(
        "{LOGGING}<table><tr><td id=who>john@example.com</td><td><button id=go>Edit</button></td></tr></table>"
    );
    let mut lab = lab(&[("/", &page)]).await;
    let observation = observed(&lab, &["#go"]).await;
    let click = json!({"type": "click", "targetRef": "c1"});
    succeeded(lab.step_on(&observation, click.clone()).await);
    lab.eval("log.length = 0; who.textContent = 'mary@example.com'").await;
    assert_eq!(failed(lab.step_on(&observation, click).await).cause, Cause::TargetStale);
    assert_eq!(lab.eval("log.length").await, 0);
}

/// An observation of elements by their selectors, `c1` first, with what each is about now.
async fn observed(lab: &Lab, selectors: &[&str]) -> Observation {
    let probe = Probe::attach(lab.tab(), DigestKey::new([9; 32]), soon()).await.unwrap();
    let mut observation = lab.observation();
    for (index, selector) in selectors.iter().enumerate() {
        let locator = serde_json::from_value(css_of(selector)).unwrap();
        let found = probe.locate(&locator, &Ask::with_text(), soon()).await.unwrap().unique().unwrap().clone();
        let world = probe.world_of(&found.key, soon()).await.unwrap();
        let args = [found.key.node.into()];
        let key: String = world.call("(cb, id) => cb.meaningOf(cb.byId(id)).key", &args, soon()).await.unwrap();
        let control = if found.facts.tag == "select" { "select" } else { "plain" };
        let mut candidate: Candidate = serde_json::from_value(json!({
            "id": format!("c{}", index + 1), "role": found.facts.role, "name": found.facts.name, "control": control,
            "states": {"editable": true}, "fingerprint": {"role": found.facts.role, "name": found.facts.name, "path": ""},
        }))
        .unwrap();
        if found.facts.tag == "input" {
            let kind = if found.facts.role.is_checkable() { "check" } else { "text" };
            candidate.control = serde_json::from_value(json!(kind)).unwrap();
        }
        candidate.about = Some(About { role: found.facts.role, key, part: None });
        candidate.node = Some(found.key);
        observation.candidates.push(candidate);
    }
    observation
}

/// A row of which `who` is the text, with a control in it.
fn row(control: &str) -> String {
    format!("{LOGGING}<table><tr><td id=who width=200>Bob<td>{control}</table>")
}

const ROBBED: &str = "who.textContent = 'Alice'";

#[tokio::test]
async fn no_verb_acts_on_a_node_that_is_about_something_else_now() {
    let labs = Labs::open().await;
    let end = "<p id=from draggable=true>Card</p>";
    let verbs = [
        ("<button id=it>Edit</button>", json!({"type": "click", "targetRef": "c1"})),
        ("<button id=it>Edit</button>", json!({"type": "hover", "targetRef": "c1"})),
        ("<button id=it>Edit</button>", json!({"type": "press", "targetRef": "c1", "keys": "x"})),
        ("<input id=it aria-label=Note>", json!({"type": "type", "targetRef": "c1", "text": "x"})),
        ("<input id=it aria-label=Note>", json!({"type": "setValue", "targetRef": "c1", "value": "x"})),
        ("<input id=it aria-label=Paid type=checkbox>", json!({"type": "check", "targetRef": "c1"})),
        (
            "<select id=it aria-label=Size><option>S<option>M</select>",
            json!({"type": "select", "targetRef": "c1", "option": "M"}),
        ),
        (
            "<p id=it tabindex=0 ondragover='event.preventDefault()'>Slot</p>",
            json!({"type": "dragTo", "targetRef": "c2", "to": "c1"}),
        ),
    ];
    for (control, step) in verbs {
        let page = format!(
            "{}{end}<script>window.acts = []; for (const type of ['click', 'keydown', 'input', 'change', 'drop', 'mouseup']) addEventListener(type, (event) => {{ acts.push(type); document.title = type; }}, true)</script>",
            row(control)
        );
        let mut lab = labs.lab(&[("/", &page)]).await;
        let observation = observed(&lab, &["#it", "#from"]).await;
        lab.eval(ROBBED).await;
        let failure = failed(lab.step_on(&observation, step.clone()).await);
        assert_eq!(
            (failure.cause, failure.evidence.input_sent),
            (Cause::TargetStale, false),
            "{step}: {}",
            failure.message
        );
        assert_eq!(lab.eval("acts.join()").await, "", "{step}");
        lab.eval("who.textContent = 'Bob'").await;
        succeeded(lab.step_on(&observation, step).await);
    }
}

#[tokio::test]
async fn a_target_that_becomes_another_on_hover_or_focus_is_not_hit() {
    let labs = Labs::open().await;
    let cases = [
        (
            "pointermove",
            "<button id=it>Edit</button>",
            "who.textContent = 'Alice'",
            json!({"type": "click", "targetRef": "c1"}),
        ),
        (
            "pointermove",
            "<button id=it>Edit</button>",
            "it.textContent = 'Delete'",
            json!({"type": "click", "targetRef": "c1"}),
        ),
        (
            "pointermove",
            "<input id=it aria-label=Paid type=checkbox>",
            "who.textContent = 'Alice'",
            json!({"type": "check", "targetRef": "c1"}),
        ),
        (
            "focusin",
            "<input id=it aria-label=Note>",
            "who.textContent = 'Alice'",
            json!({"type": "type", "targetRef": "c1", "text": "x"}),
        ),
        (
            "focusin",
            "<input id=it aria-label=Note>",
            "who.textContent = 'Alice'",
            json!({"type": "setValue", "targetRef": "c1", "value": "x"}),
        ),
        (
            "focusin",
            "<button id=it>Edit</button>",
            "it.textContent = 'Delete'",
            json!({"type": "press", "targetRef": "c1", "keys": "Enter"}),
        ),
    ];
    for (event, control, change, step) in cases {
        let page = format!(
            "{}<script>window.acts = []; for (const type of ['click', 'keydown', 'input', 'change']) addEventListener(type, (event) => acts.push(type), true); addEventListener({event:?}, (e) => {{ if (e.clientX !== 0) {{ {change} }} }}, true)</script>",
            row(control)
        );
        let mut lab = labs.lab(&[("/", &page)]).await;
        let observation = observed(&lab, &["#it"]).await;
        let failure = failed(lab.step_on(&observation, step.clone()).await);
        assert_eq!(failure.cause, Cause::TargetStale, "{step}: {}", failure.message);
        assert_eq!(lab.eval("acts.join()").await, "", "{step}");
    }
}

#[tokio::test]
async fn a_meaning_that_moved_to_another_node_is_followed_unless_destructive() {
    let page = |name: &str| {
        format!(
            "<ul id=list><li><b>Alice</b> <button>{name}</button><li><b>Bob</b> <button id=it>{name}</button></ul>\
            <script>window.acts = []; addEventListener('click', (event) => acts.push(event.target.parentNode.querySelector('b').textContent), true)</script>"
        )
    };
    let click = json!({"type": "click", "targetRef": "c1"});
    let swap = "const [a, b] = document.querySelectorAll('b'); [a.textContent, b.textContent] = ['Bob', 'Alice']; 0";
    let mut lab = lab(&[("/", &page("Edit")), ("/delete", &page("Delete"))]).await;
    let observation = observed(&lab, &["#it"]).await;
    lab.eval(swap).await;
    succeeded(lab.step_on(&observation, click.clone()).await);
    assert_eq!(lab.eval("acts.join()").await, "Bob");
    // Two that are about the same are none.
    lab.eval("for (const one of document.querySelectorAll('b')) one.textContent = 'Carl'").await;
    assert_eq!(failed(lab.step_on(&observation, click.clone()).await).cause, Cause::TargetStale);

    let url = lab.url("/delete");
    succeeded(lab.step(json!({}), json!({"type": "navigate", "url": url})).await);
    let observation = observed(&lab, &["#it"]).await;
    lab.eval(swap).await;
    assert_eq!(failed(lab.step_on(&observation, click).await).cause, Cause::TargetStale);
    assert_eq!(lab.eval("acts.join()").await, "");
}

#[tokio::test]
async fn identity_holds_in_frames_and_shadow_roots() {
    let inner = row("<button id=it>Edit</button>");
    let shadow = "<div id=host></div><script>host.attachShadow({mode: 'open'}).innerHTML = '<ul><li><span>Bob</span> <button id=it>Edit</button></ul>'</script>";
    let click = json!({"type": "click", "targetRef": "c1"});
    for (page, change) in [
        ("<iframe src=/inner></iframe>", "frames[0].document.getElementById('who').textContent = 'Alice'"),
        (shadow, "host.shadowRoot.querySelector('span').textContent = 'Alice'"),
    ] {
        let mut lab = lab(&[("/", page), ("/inner", &inner)]).await;
        let observation = observed(&lab, &["#it"]).await;
        succeeded(lab.step_on(&observation, click.clone()).await);
        lab.eval(change).await;
        assert_eq!(failed(lab.step_on(&observation, click.clone()).await).cause, Cause::TargetStale, "{page}");
    }
}

#[tokio::test]
async fn what_a_field_opens_by_its_focus_takes_nothing_from_its_meaning() {
    let labs = Labs::open().await;
    let page = "<label id=l for=i>Fruit tags</label><input id=i role=combobox aria-expanded=false aria-controls=pop><script>\
        i.onfocus = () => { i.ariaExpanded = 'true'; const pop = document.createElement('ul'); pop.id = 'pop'; pop.role = 'listbox'; \
        pop.setAttribute('aria-labelledby', 'l'); pop.innerHTML = '<li role=option>Fig'; document.body.append(pop); i.onfocus = null }</script>";
    for locator in [
        json!({"strategy": "byRole", "role": "combobox", "name": {"regex": "Fruit"}}),
        json!({"strategy": "byLabel", "text": "Fruit"}),
    ] {
        let mut lab = labs.lab(&[("/", page)]).await;
        let step = json!({"type": "type", "targetRef": "it", "text": "Fi"});
        succeeded(lab.step(json!({"it": locator}), step).await);
        assert_eq!(lab.eval("i.value").await, "Fi");
    }
}

#[tokio::test]
async fn a_declared_locator_means_the_same_node_at_the_first_event() {
    let rows = "<ul id=list><li><b>Alice</b> <button>Edit</button><li><b>Bob</b> <button>Edit</button></ul>\
        <script>window.acts = []; window.turns = 0; addEventListener('click', (event) => acts.push(event.target.parentNode.querySelector('b').textContent), true);\
        addEventListener('pointermove', () => { if (turns++ < LIMIT) { const [a, b] = document.querySelectorAll('b'); [a.textContent, b.textContent] = [b.textContent, a.textContent]; } }, true)</script>";
    let edit = json!({"strategy": "byRole", "role": "button", "name": "Edit",
        "within": {"strategy": "byRole", "role": "listitem", "hasText": "Bob"}});
    let click = json!({"type": "click", "targetRef": "it"});
    // It is looked up again, and found where it is by then.
    let mut lab = lab(&[("/", &rows.replace("LIMIT", "1")), ("/always", &rows.replace("LIMIT", "Infinity"))]).await;
    succeeded(lab.step(json!({"it": edit}), click.clone()).await);
    assert_eq!(lab.eval("acts.join()").await, "Bob");
    let url = lab.url("/always");
    succeeded(lab.step(json!({}), json!({"type": "navigate", "url": url})).await);
    let outcome = lab.step(json!({"it": edit}), click).await;
    let acts = lab.eval("acts.join()").await;
    assert!(
        matches!(&outcome, StepOutcome::Failed(failure) if failure.cause == Cause::TargetStale) && acts == "",
        "{acts}: {outcome:?}"
    );
}
