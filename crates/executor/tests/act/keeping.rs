//! Tests that values entered by a run are still there before later input, and before the run ends.

use std::time::Duration;

use cuebook_executor::ExecutorOptions;
use cuebook_grammar::action::Action;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::facts::DownloadEnd;
use cuebook_grammar::outcome::{Cause, StepFailure};
use cuebook_grammar::seam::{ArtifactKind, Executor as _, Finished};
use serde_json::{Value, json};

use crate::lab::{Lab, Labs, css_of, failed, lab, lab_with, soon, succeeded};

async fn finish(lab: &mut Lab) -> Finished {
    let page = lab.page.clone();
    lab.executor.finish(&page, false, Deadline::at(soon())).await.unwrap()
}

async fn end(lab: &mut Lab) -> Option<Box<StepFailure>> {
    finish(lab).await.against
}

fn it() -> Value {
    json!({"it": css_of("#it")})
}

#[tokio::test]
async fn a_value_that_the_page_drops_after_its_step_is_lost() {
    let labs = Labs::open().await;
    let late = "setTimeout(() => {";
    let cases = [
        (format!("<input id=it oninput=\"{late} this.value = '' }}, 400)\">"), json!({"type": "type", "text": "Ann"})),
        (
            format!("<input id=it value=old oninput=\"{late} this.value = 'old' }}, 400)\">"),
            json!({"type": "setValue", "value": "new"}),
        ),
        (
            format!("<input id=it type=checkbox onchange=\"{late} this.checked = false }}, 400)\">"),
            json!({"type": "check"}),
        ),
        (
            format!("<select id=it onchange=\"{late} this.value = 'a' }}, 400)\"><option>a<option>b</select>"),
            json!({"type": "select", "option": "b"}),
        ),
        (
            format!("<div><input id=it oninput=\"{late} this.parentNode.innerHTML = '<input id=it>' }}, 400)\"></div>"),
            json!({"type": "type", "text": "Ann"}),
        ),
    ];
    for (page, mut step) in cases {
        let page = format!("{page}<button id=go onclick=\"document.title = 'pressed'\">Go</button>");
        let mut lab = labs.lab(&[("/", &page)]).await;
        step["targetRef"] = json!("it");
        succeeded(lab.step(it(), step).await);
        lab.eval("new Promise((resolve) => setTimeout(resolve, 600))").await;
        let failure = failed(lab.click("#go").await);
        assert_eq!(failure.cause, Cause::InputLost, "{page}: {}", failure.message);
        assert!(!failure.evidence.input_sent && failure.facts.again.is_some(), "{page}");
        assert_eq!(lab.eval("document.title").await, "", "{page}");
        assert_eq!(end(&mut lab).await.map(|failure| failure.cause), Some(Cause::InputLost), "{page}");
    }
}

#[tokio::test]
async fn what_a_press_uses_up_is_not_lost_and_what_a_blur_drops_is() {
    let chat = "<textarea id=it></textarea><button id=go onclick=\"log.append(it.value); it.value = ''\">Send</button><p id=log></p>";
    let mut chat = lab(&[("/", chat)]).await;
    succeeded(chat.step(it(), json!({"type": "type", "targetRef": "it", "text": "one\ntwo"})).await);
    succeeded(chat.click("#go").await);
    assert_eq!(chat.eval("log.textContent").await, "one\ntwo");
    assert_eq!(end(&mut chat).await.map(|failure| failure.message), None);

    let list = "<input id=it role=combobox aria-autocomplete=list aria-controls=list onblur=\"this.value = ''\"><ul id=list role=listbox></ul>\
        <input id=next><button id=go>Go</button>";
    let mut list = lab(&[("/", list)]).await;
    succeeded(list.step(it(), json!({"type": "type", "targetRef": "it", "text": "Paris"})).await);
    succeeded(list.step(json!({"n": css_of("#next")}), json!({"type": "type", "targetRef": "n", "text": "4"})).await);
    let failure = failed(list.click("#go").await);
    assert_eq!(failure.cause, Cause::InputLost, "{}", failure.message);
    assert!(matches!(failure.facts.again.as_deref(), Some(Action::Select(_))), "text is no choice there");
}

#[tokio::test]
async fn a_combo_box_that_makes_tags_passes_on_what_enter_takes() {
    // The page shows the text once more while it is typed, to measure it, and offers it in a list.
    let page = |takes: &str| {
        format!(
            "<p><span id=tags></span><input id=it role=combobox aria-autocomplete=list aria-controls=list><span id=mirror></span>\
             <ul id=list role=listbox hidden></ul></p><script>it.oninput = () => {{ mirror.textContent = it.value; list.hidden = false; \
             list.innerHTML = '<li role=option></li>'; list.firstChild.textContent = it.value }}; it.onkeydown = (event) => {{ \
             if (event.key !== 'Enter') return; {takes}; it.value = mirror.textContent = '' }}</script>"
        )
    };
    let labs = Labs::open().await;
    let passed = "const tag = document.createElement('b'); tag.textContent = it.value; tags.append(tag)";
    for (takes, expected) in [(passed, None), ("tags.textContent = 'No'", Some(Cause::InputLost))] {
        let mut lab = labs.lab(&[("/", &page(takes))]).await;
        succeeded(lab.step(it(), json!({"type": "type", "targetRef": "it", "text": "foo"})).await);
        succeeded(lab.step(it(), json!({"type": "press", "targetRef": "it", "keys": "Enter"})).await);
        assert_eq!(end(&mut lab).await.map(|failure| failure.cause), expected, "{takes}");
    }
}

#[tokio::test]
async fn what_a_press_makes_of_values_is_its_effect() {
    let labs = Labs::open().await;
    let fields = "<form><input id=it value=x><input id=other type=checkbox></form>";
    for (go, expected) in [
        ("<button id=go onclick=\"it.value = 'Graz'\">Swap</button>", "Graz"),
        ("<button id=go onclick=\"Promise.resolve().then(() => { it.value = '' })\">Clear</button>", ""),
        (
            "<button id=go onclick=\"queueMicrotask(() => setTimeout(() => { it.value = 'Graz' }))\">Swap</button>",
            "Graz",
        ),
        ("<button id=go type=button onclick=\"document.forms[0].reset()\">Reset</button>", "x"),
    ] {
        let page =
            format!("{fields}{go}<button id=next onclick=\"document.title = 'saved ' + it.value\">Save</button>");
        let mut lab = labs.lab(&[("/", &page)]).await;
        succeeded(lab.step(it(), json!({"type": "setValue", "targetRef": "it", "value": "Bern"})).await);
        let swapped = succeeded(lab.click("#go").await);
        assert!(!swapped.evidence.no_observed_effect, "{go}");
        succeeded(lab.click("#next").await);
        assert_eq!(lab.eval("document.title").await, format!("saved {expected}").trim_end(), "{go}");
    }
    // So is what it makes of them when a server has answered.
    let page = format!(
        "{fields}<button id=go onclick=\"fetch('/new', {{method: 'POST'}}).then(() => {{ it.value = 'Graz' }})\">New</button>\
         <button id=next onclick=\"document.title = 'saved ' + it.value\">Save</button>"
    );
    let mut lab = labs.lab(&[("/", &page), ("/new", "WAIT 300\nok")]).await;
    succeeded(lab.step(it(), json!({"type": "setValue", "targetRef": "it", "value": "Bern"})).await);
    lab.click("#go").await;
    succeeded(lab.click("#next").await);
    assert_eq!(lab.eval("document.title").await, "saved Graz");
    // What the page drops by itself while a press does nothing is lost all the same.
    let dead = format!("{fields}<button id=go>Nothing</button><button id=next>Save</button>");
    let mut lab = labs.lab(&[("/", &dead)]).await;
    succeeded(lab.step(it(), json!({"type": "setValue", "targetRef": "it", "value": "Bern"})).await);
    lab.eval("document.getElementById('go').addEventListener('click', () => setTimeout(() => { it.value = '' }, 300))")
        .await;
    lab.click("#go").await;
    lab.eval("new Promise((resolve) => setTimeout(resolve, 400))").await;
    assert_eq!(failed(lab.click("#next").await).cause, Cause::InputLost);
}

#[tokio::test]
async fn a_run_waits_for_what_it_changes_and_hears_that_it_was_refused() {
    let labs = Labs::open().await;
    let page = |path: &str| {
        format!(
            "<button id=go onclick=\"document.title = 'Saving'; setTimeout(() => fetch('{path}', {{method: 'POST'}}), 200)\">Save</button>"
        )
    };
    for (path, answer, expected) in
        [("/slow", "WAIT 900\nok", None), ("/refused", "STATUS 500\nno", Some(Cause::HttpError))]
    {
        let mut lab = labs.lab(&[("/", &page(path)), (path, answer)]).await;
        succeeded(lab.click("#go").await);
        lab.eval("new Promise((resolve) => setTimeout(resolve, 400))").await;
        let ended = end(&mut lab).await;
        assert_eq!(ended.as_ref().map(|failure| failure.cause), expected, "{path}: {ended:?}");
    }
    let mut lab = labs.lab(&[("/", &page("/never")), ("/never", "WAIT 30000\nok")]).await;
    succeeded(lab.click("#go").await);
    lab.eval("new Promise((resolve) => setTimeout(resolve, 400))").await;
    let tab = lab.page.clone();
    let soon = Deadline::after(std::time::Instant::now(), std::time::Duration::from_millis(300));
    let failure = lab.executor.finish(&tab, false, soon).await.unwrap().against.unwrap();
    assert_eq!(failure.cause, Cause::EffectPending);
    assert!(failure.message.starts_with("POST /never, which `click css=\"#go\"` sent"), "{}", failure.message);
}

#[tokio::test]
async fn what_is_refused_while_a_later_step_runs_speaks_against_the_end() {
    let page = "<button id=go onclick=\"document.title = 'Saved'; fetch('/refused', {method: 'POST'}).catch(() => 0)\">Save</button>\
        <button id=next onclick=\"setTimeout(() => { document.title = 'Next' }, 900)\">Next</button>";
    let pages = [("/", page), ("/refused", "WAIT 600\nSTATUS 500\nno")];
    let idle = json!({"type": "waitForIdle", "quietMs": 500});
    let next = json!({"type": "click", "targetRef": "it", "post": [{"kind": "titleMatches", "pattern": "Next"}]});
    let wait = json!({"type": "waitFor", "condition": {"kind": "titleMatches", "pattern": "Next"}});
    let saved = json!({"type": "click", "targetRef": "it", "post": [{"kind": "titleMatches", "pattern": "Saved"}]});
    let plans = [
        (vec![("#go", idle)], Some(Cause::HttpError)),
        (vec![("#next", next.clone())], Some(Cause::HttpError)),
        // It began, or ended, when the refusal was known.
        (vec![("#next", next.clone()), ("#next", next)], None),
        (vec![("#next", json!({"type": "click", "targetRef": "it"})), ("#go", wait)], None),
    ];
    for (steps, expected) in plans {
        let mut lab = lab(&pages).await;
        succeeded(lab.step(json!({"it": css_of("#go")}), saved.clone()).await);
        for (target, step) in &steps {
            succeeded(lab.step(json!({"it": css_of(target)}), step.clone()).await);
        }
        let ended = end(&mut lab).await;
        assert_eq!(ended.as_ref().map(|failure| failure.cause), expected, "{steps:?}: {ended:?}");
    }
}

#[tokio::test]
async fn what_is_refused_within_a_step_speaks_against_the_end_too() {
    let labs = Labs::open().await;
    let saves = "fetch('/refused', {method: 'POST'}).then(() => { document.title = 'Refused' })";
    let page = format!("<button id=go onclick=\"{saves}\">Save</button>");
    let form = "<form method=post action='/refused'><button id=go>Save</button></form>";
    let again =
        format!("<button id=go onclick=\"{saves}.then(() => fetch('/kept', {{method: 'POST'}}))\">Save</button>");
    let stated = json!([{"kind": "titleMatches", "pattern": "Refused"}]);
    let cases = [
        (page.as_str(), json!([]), Some(Cause::HttpError)),
        (page.as_str(), stated, None),
        (form, json!([]), Some(Cause::HttpError)),
        (again.as_str(), json!([]), Some(Cause::HttpError)),
    ];
    for (page, post, expected) in cases {
        let pages = [("/", page), ("/refused", "STATUS 422\n<p>too short</p>"), ("/kept", "ok")];
        let mut lab = labs.lab(&pages).await;
        let go = json!({"go": css_of("#go")});
        succeeded(lab.step(go, json!({"type": "click", "targetRef": "go", "post": post})).await);
        let ended = end(&mut lab).await;
        assert_eq!(ended.as_ref().map(|failure| failure.cause), expected, "{page} {post}: {ended:?}");
    }
}

#[tokio::test]
async fn a_field_that_is_used_for_another_row_has_lost_nothing() {
    let labs = Labs::open().await;
    // Where the row goes that was filled in: out of view, or to another field.
    for (others, expected) in [("['b', 'c']", None), ("['b', 'a']", Some("12")), ("['b', 'a:0']", Some("0"))] {
        let page = format!(
            "<p><input id=one></p><p><input id=two></p><button id=go>Go</button><script>const held = {{a: '', b: '7', c: '9'}}; \
             const show = (rows) => [one, two].forEach((field, at) => {{ const [row, value] = rows[at].split(':'); \
             field.ariaLabel = 'Price of ' + row; field.value = value ?? held[row]; }}); show(['a', 'b']); \
             one.oninput = () => {{ held.a = one.value; setTimeout(() => show({others}), 200); one.oninput = null }}</script>"
        );
        let mut lab = labs.lab(&[("/", &page)]).await;
        let first = json!({"it": {"strategy": "byLabel", "text": "Price of a"}});
        succeeded(lab.step(first, json!({"type": "setValue", "targetRef": "it", "value": "12"})).await);
        lab.eval("new Promise((resolve) => setTimeout(resolve, 400))").await;
        let ended = end(&mut lab).await;
        let is_lost = expected.is_some_and(|value| value != "12");
        assert_eq!(
            ended.as_ref().map(|failure| failure.cause),
            is_lost.then_some(Cause::InputLost),
            "{others}: {ended:?}"
        );
        assert!(ended.is_none_or(|failure| failure.facts.seen.as_deref() == expected), "{others}");
    }
}

#[tokio::test]
async fn a_press_that_makes_the_page_drop_a_value_activates_nothing() {
    let labs = Labs::open().await;
    // What the page does as the focus leaves the field, and whether what was entered is lost by it.
    let cases = [
        ("12", "this.value = ''", true),
        ("12", "this.value = Math.round(this.value / 5) * 5", true),
        ("12", "this.value = Number(this.value).toFixed(2)", false),
        ("12", "this.value += ' pieces'", false),
        ("0151 23", "this.value = '+49 ' + this.value.slice(1)", false),
        ("0151 23", "this.value = '+49 51 23'", true),
        ("0", "this.value = '+5'", true),
        ("05/07/2024", "this.value = '5/7/2024'", false),
        ("1/12/2024", "this.value = '11/2/2024'", true),
        ("12", "tags.append(this.value + ' '); this.value = ''", false),
        ("12", "setTimeout(() => { this.value = '' }, 300)", false),
    ];
    for (entered, leaves, is_lost) in cases {
        let page = format!(
            "<p><span id=tags></span><input id=it onblur=\"{leaves}\"></p>\
             <button id=go onclick=\"document.title = 'pressed'\">Go</button>"
        );
        let mut lab = labs.lab(&[("/", &page)]).await;
        succeeded(lab.step(it(), json!({"type": "setValue", "targetRef": "it", "value": entered})).await);
        let pressed = lab.click("#go").await;
        assert_eq!(lab.eval("document.title").await, if is_lost { "" } else { "pressed" }, "{leaves}");
        if is_lost {
            let failure = failed(pressed);
            assert_eq!(failure.cause, Cause::InputLost, "{leaves}: {}", failure.message);
            let held = format!("textbox \"\" held {entered:?} and holds");
            assert!(failure.message.starts_with(&held), "{}", failure.message);
        } else {
            succeeded(pressed);
        }
    }
}

#[tokio::test]
async fn the_field_is_left_and_a_page_may_save_before_the_end() {
    let labs = Labs::open().await;
    let snaps = "<input id=it onblur=\"this.value = Math.round(this.value / 5) * 5\">";
    let tags = "<p><span id=tags></span><input id=it onblur=\"tags.append(this.value); this.value = ''\"></p>";
    let saves = "<input id=it onchange=\"fetch('/save', {method: 'POST'}).then(() => { document.title = 'saved' })\">";
    let says = "<p id=says role=status>Saved</p><input id=it oninput=\"says.textContent = 'Editing…'; \
        setTimeout(() => { says.textContent = 'Saved'; document.title = 'saved' }, 900)\">";
    let cases = [(snaps, Some(Cause::InputLost), ""), (tags, None, ""), (saves, None, "saved"), (says, None, "saved")];
    for (page, expected, title) in cases {
        let mut lab = labs.lab(&[("/", page), ("/save", "WAIT 300\nok")]).await;
        succeeded(lab.step(it(), json!({"type": "setValue", "targetRef": "it", "value": "12"})).await);
        let ended = end(&mut lab).await;
        assert_eq!(ended.as_ref().map(|failure| failure.cause), expected, "{page}: {ended:?}");
        lab.eval("new Promise((resolve) => setTimeout(resolve, 50))").await;
        assert_eq!(lab.eval("document.title").await, title, "{page}");
    }
}

#[tokio::test]
async fn what_is_entered_again_in_a_field_drawn_anew_is_what_counts() {
    let page = "<div id=root></div><script>let name = ''; const ask = () => { root.innerHTML = '<label>Name <input id=it></label><button id=next>Next</button>'; \
        it.value = name; it.oninput = () => { name = it.value }; next.onclick = () => { root.innerHTML = '<button id=back>Back</button>'; \
        back.onclick = ask } }; ask()</script>";
    let mut lab = lab(&[("/", page)]).await;
    let set = |value: &str| json!({"type": "setValue", "targetRef": "it", "value": value});
    succeeded(lab.step(it(), set("ada")).await);
    succeeded(lab.click("#next").await);
    succeeded(lab.click("#back").await);
    succeeded(lab.step(it(), set("eve")).await);
    succeeded(lab.click("#next").await);
    assert_eq!(end(&mut lab).await, None);
    assert_eq!(lab.eval("name").await, "eve");
}

#[tokio::test]
async fn a_run_ends_after_the_work_of_a_control_that_says_that_it_is_at_work() {
    let labs = Labs::open().await;
    let works = |says: &str| {
        format!(
            "<button id=go onclick=\"go.disabled = true; {says}; setTimeout(() => {{ document.title = 'sent'; go.disabled = false; \
             go.ariaBusy = null; go.textContent = 'Send' }}, 1500)\"><span id=word>Send</span></button>"
        )
    };
    for (says, target) in [
        ("go.textContent = 'Sending…'", "#go"),
        ("go.ariaBusy = 'true'", "#word"),
        ("document.body.ariaBusy = 'true'; go.hidden = true", "#go"),
    ] {
        let mut lab = labs.lab(&[("/", &works(says))]).await;
        succeeded(lab.click(target).await);
        assert_eq!(end(&mut lab).await, None);
        assert_eq!(lab.eval("document.title").await, "sent", "{says}");
    }
}

#[tokio::test]
async fn a_page_that_says_that_it_saves_is_not_reloaded_before() {
    let page = "<p id=says role=status>Saved</p><input id=it oninput=\"says.textContent = 'Saving…'; \
        setTimeout(() => { says.textContent = 'Saved'; sessionStorage.kept = this.value }, 700)\">";
    let mut lab = lab(&[("/", page)]).await;
    succeeded(lab.step(it(), json!({"type": "setValue", "targetRef": "it", "value": "12"})).await);
    succeeded(lab.step(json!({}), json!({"type": "reload"})).await);
    assert_eq!(lab.eval("sessionStorage.kept ?? ''").await, "12");
}

#[tokio::test]
async fn what_a_step_requested_is_shown_before_the_next_one_acts() {
    let labs = Labs::open().await;
    let page = |method: &str| {
        format!(
            "<button id=next onclick=\"history.pushState({{}}, '', '?bea'); fetch('/user', {{method: '{method}'}})\
             .then(() => {{ go.textContent = 'Bea' }})\">Next</button>\
             <button id=go onclick=\"document.title = this.textContent\">Ann</button>"
        )
    };
    let moved = json!([{"kind": "urlChanges", "to": "?bea"}]);
    // A stream is not waited for beyond the time of a condition.
    for (method, answer, expected) in
        [("GET", "WAIT 800\nok", "Bea"), ("POST", "WAIT 800\nok", "Bea"), ("GET", "WAIT 30000\nok", "Ann")]
    {
        let mut lab = labs.lab(&[("/", &page(method)), ("/user", answer)]).await;
        let next = json!({"type": "click", "targetRef": "it", "post": moved});
        succeeded(lab.step(json!({"it": css_of("#next")}), next).await);
        succeeded(lab.click("#go").await);
        assert_eq!(lab.eval("document.title").await, expected, "{method} {answer}");
    }
}

/// A button whose consequences come 300 ms after it was pressed.
fn later(work: &str) -> String {
    format!(
        "<button id=go onclick=\"document.title = 'Working'; setTimeout(() => {{ {work} }}, 300)\">Go</button>\
         <button id=next onclick=\"document.title = 'Next'\">Next</button>"
    )
}

const EXPORT: &str = "const a = document.createElement('a'); a.download = 'table.csv'; \
    a.href = window.URL.createObjectURL(new Blob(['a,b'])); a.click();";

#[tokio::test]
async fn what_comes_after_a_step_is_in_the_next_record() {
    let work = format!("{EXPORT} fetch('/refused', {{method: 'POST'}}); window.open('/tab')");
    let pages = [("/", later(&work)), ("/refused", "STATUS 500\nno".to_owned()), ("/tab", "tab".to_owned())];
    let pages: Vec<(&str, &str)> = pages.iter().map(|(path, page)| (*path, page.as_str())).collect();
    let mut lab = lab(&pages).await;
    let first = succeeded(lab.click("#go").await).evidence.effects.unwrap();
    assert!(first.late.is_empty() && first.downloads.is_empty(), "{first:?}");
    lab.eval("new Promise((resolve) => setTimeout(resolve, 800))").await;
    let late = succeeded(lab.click("#next").await).evidence.effects.unwrap().late;
    assert_eq!(late.downloads.len(), 1, "{late:?}");
    let download = &late.downloads[0];
    assert_eq!((download.filename.as_str(), download.end), ("table.csv", Some(DownloadEnd::Completed)));
    assert!(download.sha256.is_some(), "{download:?}");
    assert_eq!(late.requests.first().and_then(|request| request.status), Some(500), "{late:?}");
    assert!(late.new_tabs.first().is_some_and(|url| url.ends_with("/tab")), "{late:?}");
    let again = succeeded(lab.click("#next").await).evidence.effects.unwrap_or_default();
    assert!(again.late.is_empty(), "told once");
}

#[tokio::test]
async fn a_download_that_begins_after_the_last_step_is_kept() {
    let mut lab = lab(&[("/", &later(EXPORT))]).await;
    succeeded(lab.click("#go").await);
    lab.eval("new Promise((resolve) => setTimeout(resolve, 500))").await;
    let ended = finish(&mut lab).await;
    assert_eq!(ended.against.map(|failure| failure.message), None);
    assert_eq!(ended.late.downloads.len(), 1);
    assert!(ended.late.downloads[0].sha256.is_some(), "{:?}", ended.late);
    let kept = lab.shelf.0.lock().unwrap();
    assert!(kept.iter().any(|(kind, bytes)| *kind == ArtifactKind::Download && bytes == b"a,b"));
}

#[tokio::test]
async fn a_step_that_waits_sees_a_download_that_began_before_it() {
    let mut lab = lab(&[("/", &later(EXPORT))]).await;
    succeeded(lab.click("#go").await);
    lab.eval("new Promise((resolve) => setTimeout(resolve, 500))").await;
    let waits = json!({"type": "waitFor", "condition": {"kind": "downloadCompleted", "filename": "table"}});
    succeeded(lab.step(json!({}), waits).await);
}

#[tokio::test]
async fn a_run_does_not_end_well_while_a_download_is_under_way() {
    let body = format!("{}NEVER", "begin".repeat(2_000));
    let mut lab = lab(&[("/", "<a id=go href='/slow.bin'>Get</a>"), ("/slow.bin", &body)]).await;
    succeeded(lab.click("#go").await);
    let tab = lab.page.clone();
    let soon = Deadline::after(std::time::Instant::now(), std::time::Duration::from_millis(300));
    let ended = lab.executor.finish(&tab, false, soon).await.unwrap();
    let failure = ended.against.unwrap();
    assert_eq!(failure.cause, Cause::EffectPending);
    assert!(failure.message.contains("slow.bin"), "{}", failure.message);
}

#[tokio::test]
async fn a_condition_waits_for_the_answer_that_it_depends_on() {
    let page = "<button id=go onclick=\"fetch('/slow').then(() => { document.title = 'Done' })\">Go</button>";
    let options = ExecutorOptions { post_timeout: Duration::from_millis(300), ..ExecutorOptions::default() };
    let mut lab = lab_with(&[("/", page), ("/slow", "WAIT 900\nok")], options).await;
    let done = json!({"type": "click", "targetRef": "it", "post": [{"kind": "titleMatches", "pattern": "Done"}]});
    succeeded(lab.step(json!({"it": css_of("#go")}), done).await);
}

#[tokio::test]
async fn a_row_that_answers_what_is_typed_is_the_same_row() {
    let labs = Labs::open().await;
    let row = |answer: &str| {
        format!(
            "<ul><li><input id=it aria-label=Price> <b id=who>Paint</b> <span id=total>0</span></ul>\
             <script>it.addEventListener('input', () => {{ {answer} }})</script>"
        )
    };
    for answer in [
        "total.textContent = it.value * 3",
        "setTimeout(() => { total.textContent = it.value * 3 }, 20)",
        "it.parentNode.insertAdjacentHTML('beforeend', '<em>Unsaved changes</em>')",
        "who.textContent = 'Paint for ' + it.value",
    ] {
        let mut lab = labs.lab(&[("/", &row(answer))]).await;
        let typed = json!({"type": "type", "targetRef": "it", "text": "25", "delayMs": 60});
        succeeded(lab.step(it(), typed).await);
        assert_eq!(lab.eval("it.value").await, "25", "{answer}");
    }
    // The key may still be down when the row changes.
    for late in [6, 10, 20] {
        let change = format!("setTimeout(() => {{ who.textContent = 'Varnish' }}, {late})");
        let mut lab = labs.lab(&[("/", &row(&change))]).await;
        let typed = json!({"type": "type", "targetRef": "it", "text": "25", "delayMs": 200});
        let failure = failed(lab.step(it(), typed).await);
        assert_eq!(failure.cause, Cause::TargetStale, "{}", failure.message);
        assert_eq!(lab.eval("it.value").await, "2", "the rest is not for this row");
    }
}

#[tokio::test]
async fn fields_may_write_their_text_their_own_way() {
    let mask = "<input id=it><script>let digits = ''; const late = 40; it.addEventListener('input', () => { \
        digits = it.value.replace(/\\D/g, '').slice(0, 10); it.value = '(' + digits.padEnd(3, '_').slice(0, 3) + ') ' + digits.slice(3); \
        const at = it.value.length; setTimeout(() => it.setSelectionRange(at, at), late); });</script>";
    let mut mask = lab(&[("/", mask)]).await;
    succeeded(mask.step(it(), json!({"type": "type", "targetRef": "it", "text": "5550142387"})).await);
    assert_eq!(mask.eval("digits").await, "5550142387");

    let amount =
        "<input id=it oninput=\"this.value = (Number(this.value.replace(/\\D/g, ''))).toLocaleString('en') + '.00'\">";
    let mut amount = lab(&[("/", amount)]).await;
    let set = |value: &str| json!({"type": "setValue", "targetRef": "it", "value": value});
    succeeded(amount.step(it(), set("1250")).await);
    let failure = failed(amount.step(it(), set("12.50")).await);
    assert_eq!(failure.cause, Cause::PostconditionFailed);
    assert!(failure.facts.seen.unwrap().contains("1,250.00"), "what the field made of it");

    let mut line = lab(&[("/", "<input id=it>")]).await;
    for step in [json!({"type": "type", "targetRef": "it", "text": "a\nb"}), set("a\nb")] {
        assert_eq!(failed(line.step(it(), step).await).cause, Cause::InvalidArgument);
    }
    assert_eq!(line.eval("it.value").await, "");

    let rich = "<div id=it contenteditable role=textbox aria-multiline=true></div><script>it.addEventListener('keydown', (e) => { if (e.key === 'Enter') document.title = 'sent'; });</script>";
    let mut rich = lab(&[("/", rich)]).await;
    succeeded(rich.step(it(), json!({"type": "type", "targetRef": "it", "text": "one\ntwo"})).await);
    assert_eq!(
        rich.eval("[it.innerText.trim().split(/\\n+/).join('|'), document.title]").await,
        json!(["one|two", ""])
    );
}

#[tokio::test]
async fn boxes_of_one_character_are_one_field() {
    let page = "<fieldset><legend>Code</legend><span id=row></span></fieldset><script>\
        const boxes = Array.from({length: 4}, (_, at) => { const box = document.createElement('input'); box.maxLength = 1; \
        box.id = at ? 'b' + at : 'it'; if (!at) box.autocomplete = 'one-time-code'; box.setAttribute('aria-label', 'Digit ' + (at + 1)); \
        box.addEventListener('input', () => boxes[at + 1]?.focus()); row.append(box); return box; });</script>";
    let mut lab = lab(&[("/", page)]).await;
    succeeded(lab.step(it(), json!({"type": "type", "targetRef": "it", "text": "4801"})).await);
    assert_eq!(lab.eval("boxes.map((box) => box.value).join('')").await, "4801");
    let second = json!({"it": css_of("#b2")});
    let success = succeeded(lab.step(second, json!({"type": "setValue", "targetRef": "it", "value": "7"})).await);
    let facts = serde_json::to_string(&success.evidence).unwrap();
    assert!(!facts.contains("\"7\""), "the boxes of a code share its secrecy: {facts}");
}

#[tokio::test]
async fn what_held_before_proves_nothing() {
    let page = "<p id=status>Saved</p><button id=idle>Save</button>\
        <button id=go onclick=\"setTimeout(() => { note.textContent = 'kept' }, 100)\">Keep</button><p id=note></p>";
    let mut lab = lab(&[("/", page)]).await;
    let post = json!([{"kind": "elementTextEquals", "target": "status", "text": "Saved"}]);
    for (button, is_unseen) in [("#idle", true), ("#go", false)] {
        let candidates = json!({"it": css_of(button), "status": css_of("#status")});
        let step = json!({"type": "click", "targetRef": "it", "post": post});
        let success = succeeded(lab.step(candidates, step).await);
        assert_eq!(success.evidence.no_observed_effect, is_unseen, "{button}");
        assert!(success.evidence.post.iter().any(|judged| judged.vacuous && !judged.default), "{button}");
    }
}

#[tokio::test]
async fn what_becomes_true_was_not_before() {
    let page = "<p id=status>Saved</p><button id=idle onclick=\"note.textContent = 'seen'\">Look</button><p id=note></p>\
        <input id=f oninput=\"status.textContent = 'Saving'; setTimeout(() => { status.textContent = 'Saved' }, 300)\">";
    let page = page.replace("status.textContent", "document.getElementById('status').textContent");
    let mut lab = lab(&[("/", &page)]).await;
    let saved = json!({"kind": "elementTextEquals", "target": "status", "text": "Saved"});
    let post = json!([{"kind": "becomes", "condition": saved}]);
    let step = |verb: Value| {
        let mut step = verb;
        step["post"] = post.clone();
        step
    };
    let field = json!({"f": css_of("#f"), "status": css_of("#status")});
    let typed = step(json!({"type": "type", "targetRef": "f", "text": "x"}));
    succeeded(lab.step(field, typed).await);
    assert_eq!(lab.eval("document.getElementById('status').textContent").await, "Saved", "it was waited for");
    let button = json!({"b": css_of("#idle"), "status": css_of("#status")});
    let failure = failed(lab.step(button, step(json!({"type": "click", "targetRef": "b"}))).await);
    assert_eq!(failure.cause, Cause::PostconditionFailed);
    assert!(failure.message.ends_with("from the beginning"), "{}", failure.message);
}

#[tokio::test]
async fn keys_for_what_has_the_focus_are_the_runs_own() {
    let mut lab = lab(&[("/", "<input id=it value=Ulm>")]).await;
    succeeded(lab.step(it(), json!({"type": "type", "targetRef": "it", "text": "Rome"})).await);
    let press = json!({"type": "press", "keys": "Backspace", "post": [{"kind": "anyEffect"}]});
    succeeded(lab.step(json!({}), press).await);
    assert_eq!(end(&mut lab).await, None, "what the keys left is what the run entered");
    assert_eq!(lab.eval("it.value").await, "UlmRom");
}

#[tokio::test]
async fn a_server_elsewhere_that_cannot_be_reached_speaks_against_no_run() {
    let labs = Labs::open().await;
    for (host, expected) in [("localhost", None), ("127.0.0.1", Some(Cause::HttpError))] {
        // Port 9 answers nobody.
        let page = format!(
            "<button id=it onclick=\"fetch('http://{host}:9/count', {{ method: 'POST', mode: 'no-cors' }})\
             .catch(() => {{ document.title = 'sent' }})\">Go</button>"
        );
        let mut lab = labs.lab(&[("/", &page)]).await;
        succeeded(lab.click("#it").await);
        let ended = end(&mut lab).await;
        assert_eq!(ended.map(|failure| failure.cause), expected, "{host}");
        assert_eq!(lab.eval("document.title").await, "sent");
    }
}

#[tokio::test]
async fn a_press_elsewhere_that_empties_a_field_activates_nothing() {
    let labs = Labs::open().await;
    let go = "<button id=go onclick=\"document.title = 'pressed'\">Go</button>";
    let tab = "<div id=go role=tab tabindex=0 onclick=\"document.title = 'pressed'\">Go</div>";
    let outside = "addEventListener('mousedown', (e) => { if (e.target !== it) it.value = '' })";
    for (button, script, is_lost) in [
        (go, outside, true),
        (tab, "it.onblur = () => { it.value = '' }", true),
        // One that is there to empty the field.
        (go, "go.onmousedown = (e) => { e.preventDefault(); it.value = '' }", false),
        ("", "go.onmousedown = () => { it.value = ''; document.title = 'pressed' }", false),
    ] {
        let beside = if button.is_empty() { "<button id=go>x</button>" } else { "" };
        let page = format!("<div><input id=it>{beside}</div>{button}<script>{script}</script>");
        let mut lab = labs.lab(&[("/", &page)]).await;
        succeeded(lab.step(it(), json!({"type": "setValue", "targetRef": "it", "value": "12"})).await);
        let pressed = lab.click("#go").await;
        if is_lost {
            assert_eq!(failed(pressed).cause, Cause::InputLost, "{script}");
        } else {
            succeeded(pressed);
        }
        assert_eq!(lab.eval("document.title").await, if is_lost { "" } else { "pressed" }, "{script}");
    }
}

#[tokio::test]
async fn a_combo_box_emptied_by_a_press_of_no_choice_lost_its_text() {
    let labs = Labs::open().await;
    // What is pressed, and whether it may be a choice.
    for (pressed, is_lost) in [
        ("<button id=go>Go</button>", true),
        ("<label><input type=checkbox id=go> Go</label>", true),
        ("<div id=go tabindex=0>Paris Nord</div>", false),
        ("<div style='position:absolute;top:80px'><button id=go>Paris Nord</button></div>", false),
    ] {
        let page = format!(
            "<div><input id=it role=combobox onchange=\"this.value = ''\"></div>{pressed}\
             <script>go.onclick = () => {{ document.title = 'pressed' }}</script>"
        );
        let mut lab = labs.lab(&[("/", &page)]).await;
        succeeded(lab.step(it(), json!({"type": "type", "targetRef": "it", "text": "Paris"})).await);
        let outcome = lab.click("#go").await;
        if is_lost {
            assert_eq!(failed(outcome).cause, Cause::InputLost, "{pressed}");
        } else {
            succeeded(outcome);
        }
        assert_eq!(lab.eval("document.title").await, if is_lost { "" } else { "pressed" }, "{pressed}");
    }
}

#[tokio::test]
async fn tab_leaves_a_field_and_takes_nothing_from_it() {
    let labs = Labs::open().await;
    // What the page makes of the value as the focus leaves the field, and whether that is a loss.
    for (leaves, is_lost) in [
        ("this.value = ''", true),
        ("setTimeout(() => { this.value = 'Draft' }, 200)", true),
        ("this.value += ', France'", false),
        ("tags.append(this.value); this.value = ''", false),
        // One field for all cells takes the value on, and keeps the focus.
        ("this.focus(); this.value = ''", false),
    ] {
        let page = format!("<p><span id=tags></span><input id=it onchange=\"{leaves}\"></p><button>Go</button>");
        let mut lab = labs.lab(&[("/", &page)]).await;
        succeeded(lab.step(it(), json!({"type": "type", "targetRef": "it", "text": "Paris"})).await);
        succeeded(lab.step(it(), json!({"type": "press", "targetRef": "it", "keys": "Tab"})).await);
        lab.eval("new Promise((resolve) => setTimeout(resolve, 300))").await;
        let ended = end(&mut lab).await;
        assert_eq!(ended.is_some(), is_lost, "{leaves}: {ended:?}");
    }
}

#[tokio::test]
async fn a_choice_that_is_gone_with_the_form_that_an_answer_replaced_is_lost() {
    let labs = Labs::open().await;
    // Leaving the name posts the form as it is then; the answer draws it anew.
    for (kept, expected) in [("''", Some(Cause::InputLost)), ("country.value", None)] {
        let page = format!(
            "<div id=root></div><script>let posted = 0; const draw = (chosen) => {{ root.innerHTML = '<form id=form><label>Name <input id=who></label> \
             <label>Country <select id=country><option value=\"\">-<option value=at>Austria</select></label></form>'; country.value = chosen; \
             who.value = posted ? 'Ann' : ''; form.onchange = () => {{ if (!posted++) fetch('/post', {{method: 'POST'}}).then(() => draw({kept})) }} }}; draw('')</script>"
        );
        let mut lab = labs.lab(&[("/", &page), ("/post", "WAIT 200\nok")]).await;
        let fields = json!({"who": css_of("#who"), "it": css_of("#country")});
        let typed = json!({"type": "type", "targetRef": "who", "text": "Ann"});
        succeeded(lab.step(fields.clone(), typed).await);
        succeeded(lab.step(fields, json!({"type": "select", "targetRef": "it", "option": "Austria"})).await);
        let ended = end(&mut lab).await;
        assert_eq!(ended.map(|failure| failure.cause), expected, "{kept}");
    }
}

#[tokio::test]
async fn a_run_does_not_end_before_what_a_page_puts_off_a_little() {
    let labs = Labs::open().await;
    let page = "<input id=it><script>let timer; it.oninput = () => { clearTimeout(timer); \
        timer = setTimeout(() => fetch('/save', {method: 'POST'}).then(() => { document.title = 'saved' }), 300) }</script>";
    let mut lab = labs.lab(&[("/", page), ("/save", "WAIT 200\nok")]).await;
    succeeded(lab.step(it(), json!({"type": "setValue", "targetRef": "it", "value": "12"})).await);
    assert_eq!(end(&mut lab).await, None);
    lab.eval("new Promise((resolve) => setTimeout(resolve, 50))").await;
    assert_eq!(lab.eval("document.title").await, "saved");
}
