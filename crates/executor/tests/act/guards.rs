//! Tests of pages that change in the middle of a gesture, and of elements that must receive none of it.

use cuebook_grammar::outcome::Cause;
use cuebook_grammar::outcome::StepOutcome;
use serde_json::json;

use crate::lab::{LOGGING, Labs, css_of, failed, lab, succeeded};

#[tokio::test]
async fn a_swapped_target_gets_no_event() {
    let labs = Labs::open().await;
    let swap = "const swap = (e) => { if (!e.clientX) return; const a = document.getElementById('a'), b = document.getElementById('b'); \
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
        let mut lab = labs.lab(&[("/", &page)]).await;
        let failure = failed(lab.click("#a").await);
        assert!(
            matches!(failure.cause, Cause::NotStable | Cause::Covered),
            "{name}: {:?} {}",
            failure.cause,
            failure.message
        );
        // What was stopped before the page saw a press counts as never sent.
        assert_eq!(failure.evidence.input_sent, name.ends_with("down"), "{name}: {}", failure.message);
        if !failure.evidence.input_sent {
            assert_eq!(lab.eval("log.join()").await, "", "{name}");
        }
        let wrong = lab.eval("log.filter((entry) => entry.endsWith(' b') || entry.startsWith('click')).join()").await;
        assert_eq!(wrong, "", "{name}");
    }
}

#[tokio::test]
async fn only_a_gesture_that_was_stopped_as_a_whole_counts_as_never_sent() {
    let labs = Labs::open().await;
    let page = |trigger: &str| {
        format!(
            "<style>button{{position:absolute;top:0;left:0;width:100px;height:40px}}</style><button id=a>Send</button>{LOGGING}\
             <script>const move = (e) => {{ if (e.clientX) a.style.left = a.style.left === '400px' ? '0' : '400px'; }};\
             a.addEventListener('{trigger}', move);</script>"
        )
    };
    let turned = "<a id=a href='#safe' style='position:absolute;top:0;left:0;width:100px;height:40px'>Send</a><script>\
        a.onpointermove = (e) => { if (e.clientX) { a.style.left = '400px'; a.href = '#evil'; } };</script>";
    let mut lab = labs.lab(&[("/", &format!("{turned}{LOGGING}"))]).await;
    let failure = failed(lab.click("#a").await);
    assert!(failure.evidence.input_sent, "it leads elsewhere by now: {}", failure.message);
    assert_eq!(lab.eval("[location.hash, log.length]").await, json!(["", 0]));
    for (trigger, action, is_sent) in [
        ("pointermove", json!({"type": "click", "targetRef": "a"}), false),
        ("pointermove", json!({"type": "longPress", "targetRef": "a", "durationMs": 50}), false),
        ("pointerdown", json!({"type": "click", "targetRef": "a"}), true),
        ("pointerdown", json!({"type": "longPress", "targetRef": "a", "durationMs": 50}), true),
        // The second press is one of its own.
        ("pointermove", json!({"type": "click", "targetRef": "a", "count": 2}), true),
    ] {
        let mut lab = labs.lab(&[("/", &page(trigger))]).await;
        let failure = failed(lab.step(json!({"a": css_of("#a")}), action.clone()).await);
        assert_eq!(failure.cause, Cause::NotStable, "{action}: {}", failure.message);
        assert_eq!(failure.evidence.input_sent, is_sent, "{trigger} {action}: {}", failure.message);
        let seen = lab.eval("log.length").await.as_u64().unwrap();
        assert_eq!(seen > 0, trigger == "pointerdown", "{trigger} {action}");
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
    // Longer than a document counts as new.
    let step = json!({"type": "longPress", "targetRef": "a", "durationMs": 2500,
        "post": [{"kind": "titleMatches", "pattern": "evil"}]});
    let success = succeeded(lab.step(json!({"a": css_of("#a")}), step).await);
    assert!(success.evidence.input_sent);
    assert_eq!(lab.eval("[document.title, log.join()]").await, json!(["evil", ""]));
    // Once all of it was answered, the document takes the next gesture.
    succeeded(lab.click("#b").await);
}

#[tokio::test]
async fn a_document_that_comes_while_text_is_typed_gets_none_of_it() {
    let start = "<input id=i oninput=\"if (i.value === 'ab') location.href = '/next'\">";
    let next = "<input id=j autofocus>";
    let mut lab = lab(&[("/", start), ("/next", next)]).await;
    let step = json!({"type": "type", "targetRef": "i", "text": "abcdefghijklmnop", "delayMs": 150});
    let failure = failed(lab.step(json!({"i": css_of("#i")}), step).await);
    assert_eq!(failure.cause, Cause::TargetStale, "{}", failure.message);
    assert!(failure.evidence.input_sent);
    assert_eq!(lab.eval("j.value").await, "");
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

/// A widget that acts on the press and goes away, over something that must not get the rest.
fn widget(acts: &str) -> String {
    format!(
        "<style>#it, #under {{ position: absolute; left: 0; top: 0; width: 200px; height: 60px }}</style><button id=under>Delete</button>\
         <div id=it role=option>Blue</div>{LOGGING}<script>it.addEventListener({acts});</script>"
    )
}

#[tokio::test]
async fn a_widget_that_acts_on_the_press_and_goes_away_was_pressed() {
    let labs = Labs::open().await;
    let step = |verb: &str| json!({"type": verb, "targetRef": "it", "durationMs": 300});
    for (acts, verb) in [
        ("'mousedown', () => { document.title = 'chosen'; it.remove(); }", "click"),
        ("'pointerdown', () => { document.title = 'chosen'; it.remove(); }", "click"),
        ("'mouseup', () => { document.title = 'chosen'; it.remove(); }", "click"),
        ("'mousedown', () => { document.title = 'chosen'; it.style.display = 'none'; }", "click"),
        ("'mousedown', () => { document.title = 'chosen'; it.replaceWith(it.cloneNode(true)); }", "click"),
        ("'mousedown', () => { document.title = 'chosen'; it.remove(); }", "longPress"),
        ("'mousedown', () => { document.title = 'chosen'; it.style.visibility = 'hidden'; }", "longPress"),
    ] {
        let mut lab = labs.lab(&[("/", &widget(acts))]).await;
        let mut pressed = step(verb);
        if verb == "click" {
            pressed.as_object_mut().unwrap().remove("durationMs");
        }
        let success = succeeded(lab.step(json!({"it": css_of("#it")}), pressed.clone()).await);
        assert!(success.evidence.input_sent, "{acts}");
        let rest = lab.eval("[document.title, log.filter((entry) => !entry.endsWith(' it')).join()]").await;
        assert_eq!(rest, json!(["chosen", ""]), "{acts} {verb}");
    }
}

#[tokio::test]
async fn what_was_stated_of_a_press_whose_rest_was_stopped_is_asked() {
    let mut lab = lab(&[("/", &widget("'mousedown', () => { document.title = 'chosen'; it.remove(); }"))]).await;
    let it = json!({"it": css_of("#it")});
    let step =
        |title: &str| json!({"type": "click", "targetRef": "it", "post": [{"kind": "titleMatches", "pattern": title}]});
    let failure = failed(lab.step(it.clone(), step("other")).await);
    assert_eq!(failure.cause, Cause::PostconditionFailed, "{}", failure.message);
    assert!(failure.evidence.input_sent);
    // The page did not answer the press: it moved the target away, as it may at any time.
    let page = widget("'mousedown', () => { it.style.left = '400px'; }");
    lab.eval(&format!("document.body.innerHTML = ''; document.write({}); document.close()", json!(page))).await;
    let failure = failed(lab.step(it, step("other")).await);
    assert_eq!(failure.cause, Cause::NotStable, "{}", failure.message);
    assert!(failure.evidence.input_sent);
}

#[tokio::test]
async fn a_control_within_the_target_is_not_the_target() {
    let labs = Labs::open().await;
    let hover = "<style>#card { position: relative; width: 300px; height: 120px; background: #ddd } \
        #bin { position: absolute; inset: 30px; opacity: 0 } #card:hover #bin { opacity: 1 } #late { display: none } #card:hover #late { display: block }</style>";
    let card =
        |inner: &str| format!("{hover}<div id=card role=button tabindex=0><p>Invoice 7</p>{inner}</div>{LOGGING}");
    for inner in
        ["<button id=bin>Delete</button>", "<div id=late><button id=bin style='opacity:1'>Delete</button></div>"]
    {
        let page = card(inner);
        let mut lab = labs.lab(&[("/", &page)]).await;
        succeeded(lab.click("#card").await);
        let log = lab.eval("log.join()").await;
        assert!(!log.as_str().unwrap().contains("bin"), "{inner}: {log}");
        assert!(log.as_str().unwrap().contains("click"), "{inner}: {log}");
    }
    let page = card("<button id=bin style='inset:0;opacity:1'>Delete</button>");
    let mut lab = labs.lab(&[("/", &page)]).await;
    let failure = failed(lab.click("#card").await);
    assert_eq!(failure.cause, Cause::Covered, "{}", failure.message);
    assert_eq!(failure.facts.blocker.as_deref(), Some("button#bin"));
    assert_eq!(lab.eval("log.join()").await, "");
}

#[tokio::test]
async fn a_control_that_the_target_consists_of_is_pressed_for_it() {
    let page = format!(
        "<ul><li role=menuitem id=item><a href='#there' style='display:block'>Open</a></li></ul>\
         <div id=combo role=combobox style='width:200px'><input id=field style='width:180px;height:30px'></div>{LOGGING}"
    );
    let mut lab = lab(&[("/", &page)]).await;
    succeeded(lab.click("#item").await);
    assert_eq!(lab.eval("location.hash").await, "#there");
    succeeded(lab.click("#combo").await);
    assert_eq!(lab.eval("document.activeElement.id").await, "field");
}

#[tokio::test]
async fn a_button_in_a_label_is_not_its_check_box() {
    let page = format!(
        "<label id=label style='display:inline-block;width:300px'><input type=checkbox id=box style='position:absolute;opacity:0'>\
         <button id=more type=button style='margin-left:100px;width:100px'>More</button></label>{LOGGING}"
    );
    let mut lab = lab(&[("/", &page)]).await;
    succeeded(lab.click("#label").await);
    assert_eq!(lab.eval("[box.checked, log.filter((entry) => entry.endsWith('more')).length]").await, json!([true, 0]));
}

#[tokio::test]
async fn what_a_page_makes_of_the_target_on_press_does_not_withhold_the_click() {
    let click = "onclick=\"document.title += this.id; return false\"";
    let page = format!(
        "<a id=link href='#plain' onmousedown=\"this.href = '#counted'\" {click}>Safe</a>\
         <button id=focus onfocus=\"this.textContent = 'Go now'\" {click}>Go</button>\
         <button id=down onmousedown=\"this.textContent = 'Sending'\" {click}>Send</button>\
         <button id=up onmouseup=\"this.setAttribute('aria-label', 'Sent')\" {click}>Send</button>\
         <button id=later onpointerdown=\"Promise.resolve().then(() => this.textContent = 'Later')\" {click}>Now</button>\
         <ul><li>Ann <button id=row onmousedown=\"note.textContent = 'saving'\" {click}>Save</button> <span id=note></span></ul>\
         <label id=label><span id=word>Off</span><input type=checkbox id=box onmousedown=\"word.textContent = 'On'\" {click}></label>"
    );
    let mut lab = lab(&[("/", &page)]).await;
    for target in ["link", "focus", "down", "up", "later", "row", "box"] {
        lab.eval("document.title = ''").await;
        succeeded(lab.click(&format!("#{target}")).await);
        assert_eq!(lab.eval("document.title").await, target);
    }
}

#[tokio::test]
async fn what_others_make_of_the_target_during_the_press_withholds_the_click() {
    let labs = Labs::open().await;
    // The press keeps the page busy; a timer of the page that is over by then comes before the release.
    let page = |control: &str, change: &str| {
        format!(
            "<ul><li><b id=who>Ann</b> {control}</ul><script>window.acts = []; addEventListener('click', () => acts.push('click'), true); \
             addEventListener('mousedown', () => setTimeout(() => {{ {change} }}, 150), true);</script>"
        )
    };
    for (control, change) in [
        ("<button id=it>Edit</button>", "it.textContent = 'Delete'"),
        ("<button id=it>Edit</button>", "who.textContent = 'Bob'"),
        ("<a id=it href='#one'>Open</a>", "it.href = '#two'"),
        ("<label>Pay <input id=it type=checkbox></label>", "it.parentNode.firstChild.data = 'Do not pay '"),
    ] {
        let mut lab = labs.lab(&[("/", &page(control, change))]).await;
        let press = json!({"type": "longPress", "targetRef": "it", "durationMs": 400});
        let failure = failed(lab.step(json!({"it": css_of("#it")}), press).await);
        assert_eq!(failure.cause, Cause::TargetStale, "{control} {change}: {}", failure.message);
        assert_eq!(lab.eval("acts.join()").await, "", "{control} {change}");
    }
}

#[tokio::test]
async fn a_field_within_an_editor_gets_no_key_for_the_editor() {
    let page = "<div id=editor contenteditable>text <span contenteditable=false><input id=inner></span></div>\
        <script>editor.addEventListener('focus', () => inner.focus());</script>";
    let mut lab = lab(&[("/", page)]).await;
    let step = json!({"type": "type", "targetRef": "it", "text": "abc"});
    let failure = failed(lab.step(json!({"it": css_of("#editor")}), step).await);
    assert_eq!(failure.cause, Cause::NotEditable, "{}", failure.message);
    assert_eq!(lab.eval("inner.value").await, "");
}

#[tokio::test]
async fn an_option_that_is_renamed_when_its_list_gets_the_focus_is_not_chosen() {
    let page = "<select id=s onfocus=\"s.options[1].text = 'Delete'; s.options[1].value = 'delete'\"><option>One</option><option>Two</option></select>";
    let mut lab = lab(&[("/", page)]).await;
    let step = json!({"type": "select", "targetRef": "it", "option": "Two"});
    let failure = failed(lab.step(json!({"it": css_of("#s")}), step).await);
    assert_eq!(failure.cause, Cause::TargetStale, "{}", failure.message);
    assert_eq!(lab.eval("s.selectedIndex").await, 0);
}
