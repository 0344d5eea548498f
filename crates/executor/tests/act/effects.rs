//! Effect records: what a step did, and what it did not.

use cuebook_grammar::outcome::EffectRecord;
use serde_json::{Value, json};

use crate::lab::{Lab, css_of, lab, succeeded};

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
async fn states_that_change_are_told_in_words() {
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
async fn focus_and_scroll_and_url_are_told() {
    let page = "<button id=go onclick=\"field.focus({preventScroll: true}); window.scrollTo(0, 500); history.pushState({}, '', '/pushed')\">Go</button><input id=field><div style='height:3000px'></div>";
    let record = of_click(page).await;
    assert_eq!(record.focus.as_deref(), Some("input#field"));
    assert!(record.scrolled && !record.new_document);
    assert!(record.url_after.unwrap().ends_with("/pushed"));
}

#[tokio::test]
async fn errors_of_the_page_are_told() {
    let page = "<button id=go onclick=\"const i = new Image(); i.src = '/no-such.png'; console.error('by hand'); setTimeout(() => { throw new Error('boom') }, 0)\">Go</button>";
    let mut lab = lab(&[("/", page)]).await;
    let step = json!({"type": "click", "targetRef": "go", "post": [{"kind": "requestObserved", "url": "no-such", "status": 404}]});
    let record = succeeded(lab.step(json!({"go": css_of("#go")}), step).await).evidence.effects.unwrap();
    assert!(record.console_errors.iter().any(|text| text.contains("404")), "{:?}", record.console_errors);
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
