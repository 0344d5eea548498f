//! Facts of one element: states, values, visibility, and what must not be reported.

use std::time::Duration;

use cuebook_cdp::protocol::browser_protocol::page::ReloadParams;
use cuebook_grammar::facts::Toggle;
use cuebook_grammar::locator::Locator;
use cuebook_grammar::role::Role;
use cuebook_grammar::secret::{DigestKey, FactText};
use cuebook_probe::{Ask, Probe};
use serde_json::{Value, json};

use crate::stage::{locate, only, stage, until};

#[tokio::test(flavor = "multi_thread")]
async fn facts_tell_states_values_and_three_kinds_of_visibility() {
    let stage = stage().await;
    let (_page, probe) = stage
        .page_of(
            r##"<fieldset disabled><input id=off value=x></fieldset><input id=ro readonly required>
            <input type=checkbox id=check checked><select id=pick multiple><option value=1 selected>One<option value=2 selected>Two</select>
            <div id=clear style="opacity:0;width:9px;height:9px"></div><div id=gone style="display:none">x</div>
            <div id=far style="margin-top:3000px">far</div><input id=bad aria-invalid=true aria-errormessage=why><span id=why>Too short</span>
            <button id=menu aria-haspopup=true aria-expanded=false aria-describedby=why>Menu</button>"##,
        )
        .await;
    assert!(only(&probe, "#off").await.states.disabled);
    let readonly = only(&probe, "#ro").await.states;
    assert!(readonly.readonly && readonly.required && !readonly.editable);
    assert_eq!(only(&probe, "#check").await.states.checked, Some(Toggle::True));
    let pick = only(&probe, "#pick").await;
    assert_eq!((pick.role, pick.selected_values), (Role::ListBox, vec!["1".to_owned(), "2".to_owned()]));
    assert_eq!(only(&probe, "#clear").await.visible, Some(true));
    assert_eq!(only(&probe, "#gone").await.visible, Some(false));
    assert_eq!(only(&probe, "#far").await.in_viewport, Some(0.0));
    assert_eq!(only(&probe, "#bad").await.error_message.as_deref(), Some("Too short"));
    let menu = only(&probe, "#menu").await;
    assert_eq!(menu.states.haspopup.as_deref(), Some("menu"));
    assert_eq!((menu.states.expanded, menu.description.as_deref()), (Some(false), Some("Too short")));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_editor_draws_for_itself_is_not_what_was_written() {
    let stage = stage().await;
    let drawn = "<span contenteditable=false style='position:absolute;pointer-events:none'>Type here</span>";
    let page = format!(
        "<div contenteditable id=a role=textbox><p>\u{feff}{drawn}<br></p></div>
         <div contenteditable id=b role=textbox><p>{drawn}Hello \u{feff}<b contenteditable=false>@Ann</b></p></div>"
    );
    let (_page, probe) = stage.page_of(&page).await;
    for (css, expected) in [("#a", ""), ("#b", "Hello @Ann")] {
        assert_eq!(only(&probe, css).await.value, Some(FactText::Clear(expected.to_owned())), "{css}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn password_like_fields_tell_digests_only() {
    let stage = stage().await;
    let (_page, probe) = stage
        .page_of(
            r#"<input id=a type=password value=hunter2><input id=b autocomplete=one-time-code value=hunter2>
            <label>Your PIN <input id=c value=hunter2></label><input id=d name=apiToken value=hunter2>
            <input id=e name=city value=Paris><input id=f style="-webkit-text-security: disc" value=hunter2>"#,
        )
        .await;
    let ask = Ask { attributes: vec!["value".into()], properties: vec!["value".into()], text: true, compare: vec![] };
    for id in ["#a", "#b", "#c", "#d", "#f"] {
        let locator: Locator = serde_json::from_value(json!({ "strategy": "css", "selector": id })).unwrap();
        let located = probe.locate(&locator, &ask, until()).await.unwrap();
        let facts = &located.unique().unwrap().facts;
        assert!(facts.sensitive, "{id}");
        assert!(!serde_json::to_string(facts).unwrap().contains("hunter2"), "{id}");
        let again = probe.facts_of(&located.unique().unwrap().key, &ask, until()).await.unwrap().unwrap();
        assert_eq!(again.value, facts.value);
    }
    assert_eq!(only(&probe, "#e").await.value, Some(FactText::Clear("Paris".into())));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_good_until_its_document_goes() {
    let stage = stage().await;
    let (page, probe) = stage.page_of("<button>Go</button>").await;
    let key = locate(&probe, json!({ "strategy": "byRole", "role": "button" })).await.unique().unwrap().key.clone();
    let other = Probe::attach(page.clone(), DigestKey::new([4; 32]), until()).await.unwrap();
    assert_eq!(other.facts_of(&key, &Ask::default(), until()).await.unwrap().unwrap().name, "Go");
    let world = probe.world_of(&key, until()).await.unwrap();
    world
        .call::<Value>("(cb, id) => { cb.byId(id).remove(); return null; }", &[key.node.into()], until())
        .await
        .unwrap();
    assert_eq!(probe.facts_of(&key, &Ask::default(), until()).await.unwrap(), None);
    page.session().request(ReloadParams::default(), until()).await.unwrap();
    let gone = async {
        while probe.world_of(&key, until()).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_label_answers_for_its_control_and_content_of_a_button_for_the_button() {
    let stage = stage().await;
    let (_page, probe) = stage
        .page_of(
            "<label id=off>Name <input disabled value=x></label><label id=on for=box>On</label>\
             <input type=checkbox id=box checked><button disabled><b id=inner>Go</b></button><label id=none>None</label>\
             <label id=secret>Password <input type=password value=hunter2></label><p id=plain>x</p>",
        )
        .await;
    let off = only(&probe, "#off").await;
    assert!(off.states.disabled);
    assert_eq!(off.value, Some(FactText::Clear("x".into())));
    assert_eq!(only(&probe, "#on").await.states.checked, Some(Toggle::True));
    assert!(only(&probe, "#inner").await.states.disabled);
    let none = only(&probe, "#none").await;
    assert!(!none.states.disabled && none.value.is_none());
    let secret = only(&probe, "#secret").await;
    assert!(secret.sensitive && !serde_json::to_string(&secret).unwrap().contains("hunter2"));
    assert!(!only(&probe, "#plain").await.states.disabled);
}
