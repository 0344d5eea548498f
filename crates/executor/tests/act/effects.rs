//! Effect records: what a step did, and what it did not.

use cuebook_grammar::action::ActionKind;
use cuebook_grammar::outcome::{Cause, EffectRecord, ProblemKind, StepSuccess, remark};
use serde_json::{Value, json};

use crate::lab::{Lab, Labs, css_of, failed, lab, succeeded};

async fn effects(lab: &mut Lab, css: &str) -> EffectRecord {
    succeeded(lab.click(css).await).evidence.effects.unwrap()
}

async fn of_click(page: &str) -> EffectRecord {
    let mut lab = lab(&[("/", page), ("/next", "<p>next</p>")]).await;
    effects(&mut lab, "#go").await
}

#[tokio::test]
async fn a_dialog_that_comes_and_a_row_that_goes_are_named() {
    let page = "<button id=go onclick=\"row.remove(); document.body.insertAdjacentHTML('beforeend', '<div role=dialog aria-label=Settings><button>Undo</button></div>')\">Go</button><table><tr id=row><td>x</table>";
    let record = of_click(page).await;
    assert!(record.mutations.notable.iter().any(|text| text == "+dialog \"Settings\""), "{record:?}");
    assert!(record.mutations.notable.iter().any(|text| text.starts_with("-row")), "{record:?}");
    assert!(record.mutations.notable.iter().any(|text| text == "+button \"Undo\""), "{record:?}");
    assert_eq!((record.mutations.added, record.mutations.removed), (1, 1));
}

#[tokio::test]
async fn something_that_is_shown_or_hidden_is_named_like_what_came_or_went() {
    let page = "<button id=go onclick=\"menu.hidden = false; note.style.display = 'none'\">Go</button><ul id=menu role=menu aria-label=More hidden><li role=menuitem>Cut</ul><div id=note role=status>Saved</div>";
    let record = of_click(page).await;
    assert!(record.mutations.notable.iter().any(|text| text == "+menu \"More\""), "{record:?}");
    assert!(record.mutations.notable.iter().any(|text| text.starts_with("-status")), "{record:?}");
}

#[tokio::test]
async fn states_that_change_are_reported_in_words() {
    let page = "<button id=go aria-expanded=false onclick=\"this.ariaExpanded = 'true'; tab.ariaSelected = 'true'; save.disabled = true\">Menu</button><div role=tab id=tab aria-selected=false>One</div><button id=save>Save</button>";
    let record = of_click(page).await;
    for words in [
        "button \"Menu\": expanded false → true",
        "tab \"One\": selected false → true",
        "button \"Save\": disabled false → true",
    ] {
        assert!(record.states.iter().any(|text| text == words), "{words} in {:?}", record.states);
    }
}

#[tokio::test]
async fn nothing_that_changes_leaves_no_states_and_no_names() {
    let record =
        of_click("<div id=go style='width:50px;height:50px' onmousedown='event.preventDefault()'>x</div>").await;
    assert_eq!(record, EffectRecord::default());
}

#[tokio::test]
async fn focus_and_scroll_and_url_are_reported() {
    let page = "<button id=go onclick=\"field.focus({preventScroll: true}); window.scrollTo(0, 500); history.pushState({}, '', '/pushed')\">Go</button><input id=field><div style='height:3000px'></div>";
    let record = of_click(page).await;
    assert_eq!(record.focus.as_deref(), Some("input#field"));
    assert!(record.scrolled && !record.new_document);
    assert!(record.url_after.unwrap().ends_with("/pushed"));
}

#[tokio::test]
async fn errors_of_the_page_and_its_scripts_are_reported() {
    let page = "<button id=go onclick=\"const i = new Image(); i.src = '/no-such.png'; console.error('by hand', 7, {}, \
        new RangeError('far')); console.warn('no error'); console.assert(1 > 2, 'one is more'); setTimeout(() => { \
        throw new Error('boom') }, 0); Promise.reject(new TypeError('kept'))\">Go</button>\
        <script>console.error('before the step')</script>";
    let mut lab = lab(&[("/", page)]).await;
    let step = json!({"type": "click", "targetRef": "go", "post": [{"kind": "requestObserved", "url": "no-such", "status": 404}]});
    let record = succeeded(lab.step(json!({"go": css_of("#go")}), step).await).evidence.effects.unwrap();
    let said = record.console_errors.join("\n");
    let place = lab.url("/:1");
    for part in ["by hand 7 Object RangeError: far", "Assertion failed: one is more", "Uncaught Error: boom", "404"] {
        assert!(said.contains(part), "{part} in {said}");
    }
    assert!(said.contains(&format!("Uncaught (in promise) TypeError: kept ({place})")), "{said}");
    assert!(!said.contains("no error") && !said.contains("before") && !said.contains("at HTML"), "{said}");
}

#[tokio::test]
async fn a_flood_in_the_console_costs_a_step_neither_its_errors_nor_its_memory() {
    let page = "<button id=go onclick=\"for (let i = 0; i < 500; i++) console.log('line', { i }); \
        for (let i = 0; i < 12; i++) console.error('x'.repeat(3e5)); console.error('last')\">Go</button>";
    let record = of_click(page).await;
    assert_eq!(record.console_errors.len(), 10, "{record:?}");
    assert!(record.console_errors.iter().all(|said| said.chars().count() <= 300 && said.contains(":1)")), "{record:?}");
    let mut lab = lab(&[("/", page)]).await;
    lab.eval("console.error({}, document.body)").await;
    let calm = effects(&mut lab, "#go").await;
    assert_eq!(calm.console_errors.len(), 10);
}

#[tokio::test]
async fn a_failed_step_reports_what_is_around_its_target_and_what_changed_there() {
    let page = "<main><h1>Orders</h1><label>Code <input id=code type=password value=s3cr3t></label><ul><li>One \
        <button id=go onclick=\"this.disabled = true; this.closest('li').append('stopped'); note.textContent = 'Kept'\">Pay\
        </button></ul><p id=note role=status></p></main>";
    let mut lab = lab(&[("/", page)]).await;
    let go = json!({"go": css_of("#go"), "none": css_of("#none")});
    let step = json!({"type": "click", "targetRef": "go", "post": [{"kind": "urlMatches", "pattern": "nowhere"}]});
    let failure = failed(lab.step(go.clone(), step).await);
    let kinds: Vec<_> = failure.evidence.artifacts.iter().map(|artifact| artifact.kind.as_str()).collect();
    assert_eq!(kinds, ["axSubtree", "domDiff"]);
    let text = |at: usize| String::from_utf8(lab.shelf.0.lock().unwrap()[at].1.clone()).unwrap();
    let (around, diff) = (text(0), text(1));
    assert!(
        around.contains("- heading \"Orders\" [level=1]") && around.contains("- button \"Pay\" [disabled]"),
        "{around}"
    );
    assert!(around.contains("•••") && !around.contains("s3cr3t"), "{around}");
    let lines: Vec<String> = diff.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for line in ["- - button \"Pay\"", "+ - button \"Pay\" [disabled]", "+ - text: stopped", "+ - status: Kept"] {
        assert!(lines.iter().any(|seen| seen == line), "{line} in {diff}");
    }
    // Nothing was found: the page as a whole, and no difference.
    let failure = failed(lab.step(go, json!({"type": "click", "targetRef": "none"})).await);
    let kinds: Vec<_> = failure.evidence.artifacts.iter().map(|artifact| artifact.kind.as_str()).collect();
    assert_eq!((failure.cause, kinds), (Cause::TargetNotFound, vec!["axSubtree"]));
    lab.shelf.0.lock().unwrap().clear();
    lab.eval("go.disabled = false").await;
    succeeded(lab.click("#go").await);
    assert!(lab.shelf.0.lock().unwrap().is_empty(), "a step that succeeds leaves nothing");
}

#[tokio::test]
async fn a_clock_that_ran_before_is_background_and_no_effect() {
    let page = "<p id=clock>0</p><div id=go style='width:50px;height:50px' onmousedown='event.preventDefault()'>x</div><script>let n = 0; setInterval(() => { clock.textContent = ++n; clock.dataset.n = n; }, 30);</script>";
    let mut lab = lab(&[("/", page)]).await;
    effects(&mut lab, "#go").await;
    tokio::time::sleep(std::time::Duration::from_millis(700)).await;
    let success = succeeded(lab.click("#go").await);
    assert!(success.evidence.no_observed_effect, "{:?}", success.evidence.effects);
    assert!(success.evidence.effects.unwrap().mutations.background > 0);
}

#[tokio::test]
async fn what_the_step_does_beside_a_clock_is_an_effect() {
    let page = "<p id=clock>0</p><button id=go onclick=\"note.textContent = 'done'\">Go</button><p id=note></p><script>let n = 0; setInterval(() => { clock.textContent = ++n; }, 30);</script>";
    let mut lab = lab(&[("/", page)]).await;
    effects(&mut lab, "#go").await;
    tokio::time::sleep(std::time::Duration::from_millis(700)).await;
    lab.eval("note.textContent = ''").await;
    let record = effects(&mut lab, "#go").await;
    assert!(record.mutations.texts + record.mutations.added > 0, "{record:?}");
}

#[tokio::test]
async fn a_new_document_is_one_effect() {
    let record = of_click("<a id=go href=/next>Next</a>").await;
    assert!(record.new_document && record.changes_page());
    assert_eq!(json!(record.mutations)["added"], Value::from(0));
}

fn remark_of(success: &StepSuccess) -> String {
    let evidence = &success.evidence;
    remark(ActionKind::Click, evidence.no_observed_effect, &evidence.post, evidence.effects.as_ref())
        .unwrap_or_default()
}

/// A page on which nothing answers the click but the browser and what follows the pointer.
#[tokio::test]
async fn what_follows_the_pointer_the_press_and_the_focus_is_no_effect() {
    let labs = Labs::open().await;
    for page in [
        "<button id=go>Go</button>",
        "<a id=go tabindex=0>Go</a>",
        "<div tabindex=0><span id=go>Go</span></div>",
        "<label id=go>Go <input></label>",
        "<input id=go>",
        "<style>#go:hover, #go:focus, #go:active { color: red }</style><button id=go>Go</button>",
        "<button id=go onmouseover=\"this.className = 'over'\" onmousedown=\"this.classList.add('down')\" \
            onmouseup=\"this.classList.remove('down')\" onfocus=\"this.style.outline = '2px solid'\">Go</button>",
        "<div class=field><button id=go onfocus=\"this.parentElement.classList.add('focused')\">Go</button></div>",
        "<button id=go onmousedown=\"this.append(document.createElement('i')); setTimeout(() => this.firstElementChild.remove(), 200)\">Go</button>",
        "<button id=go onmousedown=\"this.dataset.pressed = ''; setTimeout(() => delete this.dataset.pressed, 100)\">Go</button>",
        "<button id=go onmouseenter=\"document.body.insertAdjacentHTML('beforeend', '<div role=tooltip>Goes</div>')\">Go</button>",
        "<button id=go onmouseenter=\"setTimeout(() => document.body.insertAdjacentHTML('beforeend', '<div role=tooltip>Goes</div>'), 100)\">Go</button>",
        "<input id=other autofocus onblur=\"this.className = ''\" class=on><button id=go>Go</button>",
        "<button id=go onmousedown=\"this.textContent = 'Going'\">Go</button>",
        "<button id=go onfocus=\"this.setAttribute('aria-label', 'Go now')\">Go</button>",
    ] {
        let mut lab = labs.lab(&[("/", page)]).await;
        let success = succeeded(lab.click("#go").await);
        assert!(success.evidence.no_observed_effect, "{page}: {:?}", success.evidence.effects);
        assert!(remark_of(&success).starts_with("no effect seen"), "{page}");
    }
    for host in ["127.0.0.1", "localhost"] {
        let outer = format!("<iframe id=inner src='http://{host}:PORT/inner'></iframe>");
        let mut lab = labs.lab(&[("/", &outer), ("/inner", "<button id=go>Go</button>")]).await;
        let go = json!({"strategy": "css", "selector": "#go", "frame": [css_of("#inner")]});
        let success = succeeded(lab.step(json!({"go": go}), json!({"type": "click", "targetRef": "go"})).await);
        assert!(success.evidence.no_observed_effect, "{host}: {:?}", success.evidence.effects);
    }
}

#[tokio::test]
async fn what_the_page_makes_of_a_click_is_an_effect_however_small() {
    let labs = Labs::open().await;
    for page in [
        "<button id=go onclick=\"this.classList.toggle('on')\">Star</button>",
        "<button id=go onclick=\"this.style.color = 'red'\">Go</button>",
        "<button id=go onmousedown=\"this.setAttribute('aria-expanded', 'true')\">Go</button>",
        "<button id=go onclick=\"this.textContent = 'Gone'\">Go</button>",
        "<button id=go onclick=\"field.focus()\">Go</button><input id=field>",
        "<button id=go onclick=\"setTimeout(() => { this.dataset.state = 'open' }, 200)\">Go</button>",
        "<label id=go>Go <input type=checkbox></label>",
    ] {
        let mut lab = labs.lab(&[("/", page)]).await;
        let success = succeeded(lab.click("#go").await);
        assert!(!success.evidence.no_observed_effect, "{page}: {:?}", success.evidence.effects);
    }
    // What hovering does to others is what it is for; what it does to the target is not.
    let hover = json!({"type": "hover", "targetRef": "it"});
    for (page, is_effect) in [
        ("<button id=it onmouseover=\"this.className = 'over'\">Go</button>", false),
        ("<li onmouseover=\"this.className = 'open'\"><button id=it>Go</button></li>", true),
    ] {
        let mut lab = labs.lab(&[("/", page)]).await;
        let success = succeeded(lab.step(json!({"it": css_of("#it")}), hover.clone()).await);
        assert_eq!(!success.evidence.no_observed_effect, is_effect, "{page}: {:?}", success.evidence.effects);
    }
    let mut lab = labs.lab(&[("/", "<input id=it>")]).await;
    let success = succeeded(lab.step(json!({"it": css_of("#it")}), json!({"type": "focus", "targetRef": "it"})).await);
    assert!(!success.evidence.no_observed_effect, "{:?}", success.evidence.effects);
}

#[tokio::test]
async fn a_form_stopped_by_validation_is_reported_in_browser_or_page_words() {
    let labs = Labs::open().await;
    for (page, expected) in [
        (
            "<form action=/sent><input aria-label=Email type=email required><button id=go>Send</button></form>",
            "textbox \"Email\": Please fill out this field.",
        ),
        (
            "<input id=e aria-label=Email aria-errormessage=m><p id=m></p><button id=go onclick=\"m.textContent = 'Not an address'; e.ariaInvalid = 'true'\">Send</button>",
            "textbox \"Email\": Not an address",
        ),
    ] {
        let mut lab = labs.lab(&[("/", page), ("/sent", "sent")]).await;
        let success = succeeded(lab.click("#go").await);
        let problems = &success.evidence.effects.as_ref().unwrap().problems;
        assert!(
            problems.iter().any(|one| one.kind == ProblemKind::Validation && one.message == expected),
            "{problems:?}"
        );
        assert_eq!(success.evidence.no_observed_effect, page.contains("required"));
    }
}

#[tokio::test]
async fn requests_of_a_step_that_fail_are_reported() {
    let labs = Labs::open().await;
    let pages = [("/save", "STATUS 500\nno"), ("/slow", "WAIT 700\nSTATUS 503\nno"), ("/fine", "yes"), ("/", "")];
    for (act, expected) in [
        ("fetch('/save', {method: 'POST'})", "POST /save answered 500"),
        ("fetch('/gone?key=1').catch(() => {})", "GET /gone answered 404"),
        ("fetch('http://127.0.0.1:9/x').catch(() => {})", "GET /x failed: net::"),
        ("this.textContent = 'Saving'; fetch('/slow', {method: 'POST'})", "POST /slow answered 503"),
        ("const x = new XMLHttpRequest(); x.open('PUT', '/save'); x.send()", "PUT /save answered 500"),
        ("location = '/gone'", "GET /gone answered 404"),
        ("fetch('/fine')", ""),
        ("fetch('/fine', {signal: AbortSignal.abort()}).catch(() => {})", ""),
        ("const i = new Image(); i.src = '/no-picture'", ""),
    ] {
        let page = format!("<button id=go onclick=\"{act}\">Go</button>");
        let mut pages = pages;
        pages[3].1 = &page;
        let mut lab = labs.lab(&pages).await;
        let success = succeeded(lab.click("#go").await);
        let problems = &success.evidence.effects.as_ref().unwrap().problems;
        match expected {
            "" => assert!(problems.is_empty(), "{act}: {problems:?}"),
            expected => {
                assert!(problems.iter().any(|one| one.message.starts_with(expected)), "{act}: {problems:?}");
                assert!(remark_of(&success).contains(&format!("but {expected}")), "{act}");
            }
        }
    }
}

#[tokio::test]
async fn what_a_new_page_fails_to_load_is_no_problem_of_the_step() {
    let next = "<p>Welcome</p><script>fetch('/gone').catch(() => {})</script>";
    let mut lab = lab(&[("/", "<a id=go href=/next>Go</a>"), ("/next", next)]).await;
    let success = succeeded(lab.click("#go").await);
    assert_eq!(success.evidence.effects.unwrap().problems, []);
}

#[tokio::test]
async fn errors_that_the_page_shows_are_reported() {
    let labs = Labs::open().await;
    for (act, expected) in [
        ("out.setAttribute('role', 'alert'); out.textContent = 'Could not save'", "the page says \"Could not save\""),
        ("polite.textContent = 'Something went wrong'", "the page says \"Something went wrong\""),
        ("polite.innerHTML = '<b class=text-danger>Nein</b>'", "the page says \"Nein\""),
        ("polite.textContent = 'Saved'", ""),
        ("location = '/next'", "the page says \"Wrong password\""),
    ] {
        let page = format!(
            "<button id=go onclick=\"{act}\">Go</button><p id=out></p><p id=polite aria-live=polite>Hello</p><p role=alert>Old news</p>"
        );
        let mut lab = labs.lab(&[("/", &page), ("/next", "<p role=alert>Wrong password</p>")]).await;
        let success = succeeded(lab.click("#go").await);
        let problems = success.evidence.effects.unwrap().problems;
        let told: Vec<&str> = problems.iter().map(|one| one.message.as_str()).collect();
        assert_eq!(told, if expected.is_empty() { vec![] } else { vec![expected] }, "{act}");
    }
}

#[tokio::test]
async fn a_page_that_leads_back_is_reported() {
    let page = "<a id=go href=/account>Account</a><a id=soft href=/soft>Soft</a>";
    let pages =
        [("/", page), ("/account", "LOCATION /?next=account\n"), ("/soft", "<script>location.replace('/')</script>")];
    let mut lab = lab(&pages).await;
    for (css, expected) in [("#go", "GET /account led back to /"), ("#soft", "GET /soft led back to /")] {
        let success = succeeded(lab.click(css).await);
        assert!(remark_of(&success).contains(expected), "{css}: {:?}", success.evidence.effects);
    }
}

#[tokio::test]
async fn a_change_that_the_page_reverts_does_not_pass_by_default() {
    let labs = Labs::open().await;
    let cases = [
        ("<input id=it oninput=\"this.value = ''\">", json!({"type": "type", "text": "Ann"})),
        ("<input id=it value=old oninput=\"this.value = 'old'\">", json!({"type": "setValue", "value": "new"})),
        (
            "<input id=it type=checkbox onchange=\"requestAnimationFrame(() => { this.checked = false })\">",
            json!({"type": "check"}),
        ),
        (
            "<input id=it type=checkbox onchange=\"fetch('/slow').then(() => { this.checked = false })\">",
            json!({"type": "check"}),
        ),
    ];
    for (page, mut step) in cases {
        let mut lab = labs.lab(&[("/", page), ("/slow", "WAIT 700\nno")]).await;
        step["targetRef"] = json!("it");
        let failure = failed(lab.step(json!({"it": css_of("#it")}), step).await);
        assert_eq!(failure.cause, Cause::PostconditionFailed, "{page}");
        assert!(failure.evidence.input_sent && failure.facts.seen.is_some(), "{page}");
    }
}

#[tokio::test]
async fn a_field_that_is_gone_with_its_document_is_no_failure() {
    let page = "<form action=/next><input id=it oninput=\"this.form.submit()\"></form>";
    let mut lab = lab(&[("/", page), ("/next", "<p>Welcome</p>")]).await;
    let success = succeeded(
        lab.step(json!({"it": css_of("#it")}), json!({"type": "setValue", "targetRef": "it", "value": "1234"})).await,
    );
    assert!(success.evidence.effects.unwrap().new_document);
}

#[tokio::test]
async fn what_says_the_same_again_has_not_changed() {
    let labs = Labs::open().await;
    let away = "out.setAttribute('aria-label', 'Busy'); out.title = 'x'; out.lang = 'de'";
    let back = "out.setAttribute('aria-label', 'Idle'); out.removeAttribute('title'); out.removeAttribute('lang')";
    let text = "word.data = 'Busy'; word.data = 'Idle'; row.textContent = 'Busy'; row.textContent = 'One'";
    for (script, is_effect) in [
        (format!("{away}; {back}"), false),
        (away.to_owned(), true),
        (text.to_owned(), false),
        ("word.data = 'Busy'".to_owned(), true),
        ("row.textContent = 'Two'".to_owned(), true),
        ("row.textContent = ''".to_owned(), true),
    ] {
        let page = format!(
            "<button id=go onclick=\"{script}\">Go</button><p id=out aria-label=Idle>Idle</p><p id=row>One</p>\
             <script>const word = out.firstChild</script>"
        );
        let mut lab = labs.lab(&[("/", &page)]).await;
        let success = succeeded(lab.click("#go").await);
        assert_eq!(!success.evidence.no_observed_effect, is_effect, "{script}: {:?}", success.evidence.effects);
    }
}

#[tokio::test]
async fn what_a_page_draws_as_a_slider_takes_keys_and_says_so() {
    let page = "<div role=slider tabindex=0 id=it aria-valuenow=5 onkeydown=\"this.ariaValueNow = 6\">x</div>";
    let mut lab = lab(&[("/", page)]).await;
    let it = json!({"it": css_of("#it")});
    let failure = failed(lab.step(it.clone(), json!({"type": "setValue", "targetRef": "it", "value": "6"})).await);
    assert_eq!(failure.cause, Cause::NotEditable);
    assert!(failure.message.contains("press ArrowRight"), "{}", failure.message);
    succeeded(lab.step(it, json!({"type": "press", "targetRef": "it", "keys": "ArrowRight"})).await);
    assert_eq!(lab.eval("it.ariaValueNow").await, "6");
    let frozen = "<div role=slider tabindex=0 id=it aria-readonly=true>x</div>";
    let mut lab = crate::lab::lab(&[("/", frozen)]).await;
    let step = json!({"type": "setValue", "targetRef": "it", "value": "6"});
    let failure = failed(lab.step(json!({"it": css_of("#it")}), step).await);
    assert!(failure.message.contains("read-only"), "{}", failure.message);
}
