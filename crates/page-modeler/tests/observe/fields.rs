//! Form fields: what they are called, of which kind they are, and through what they are used.

use cuebook_grammar::candidate::ControlKind;
use cuebook_grammar::observation::{Observation, Scope};

use crate::stage::{Stage, check, lines_of, named};

#[tokio::test(flavor = "multi_thread")]
async fn a_label_names_its_field_until_it_is_for_another() {
    check(
        "<label for=a id=l>Mail</label><input id=a><input id=b aria-label=Other><label>City <input></label>",
        &["textbox \"Mail\"", "textbox \"Other\"", "textbox \"City\""],
        "l.htmlFor = 'b'; b.removeAttribute('aria-label')",
        &["textbox \"\"", "textbox \"Mail\"", "textbox \"City\""],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fieldset_distinguishes_equal_fields_and_disables_them() {
    check(
        "<fieldset id=f><legend>Home</legend><label>Street <input></label></fieldset>
         <fieldset><legend>Work</legend><label>Street <input></label></fieldset>",
        &["textbox \"Street\" [group: Home]", "textbox \"Street\" [group: Work]"],
        "f.disabled = true; f.nextElementSibling.querySelector('legend').remove()",
        &["textbox \"Street\" [group: Home] disabled", "textbox \"Street\" [2 of 2]"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reference_to_a_label_does_not_leave_its_shadow_root() {
    check(
        "<span id=t>Outer</span><x-a></x-a><script>
         document.querySelector('x-a').attachShadow({mode: 'open'}).innerHTML = '<span id=s>Inner</span><button aria-labelledby=s>x</button><button id=b aria-labelledby=t>y</button>';
         </script>",
        &["button \"Inner\"", "button \"y\""],
        "document.querySelector('x-a').shadowRoot.getElementById('b').ariaLabelledByElements = [t]",
        &["button \"Inner\"", "button \"Outer\""],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_of_every_type_are_of_their_kind() {
    let mut stage = Stage::on(
        "<input type=date aria-label=date><input type=time aria-label=time><input type=month aria-label=month><input type=week aria-label=week>
         <input type=datetime-local aria-label=local><input type=color aria-label=color><input type=range aria-label=range>
         <input type=number aria-label=number><input type=file aria-label=file><input type=search aria-label=search>
         <textarea aria-label=area></textarea><select aria-label=select><option>x</select><input type=radio aria-label=radio><input type=hidden>",
    )
    .await;
    let kinds = |seen: &cuebook_grammar::observation::Observation| -> Vec<(String, ControlKind)> {
        seen.candidates.iter().map(|c| (c.name.clone(), c.control)).collect()
    };
    use ControlKind as Kind;
    let expected = [
        ("date", Kind::DateTime),
        ("time", Kind::DateTime),
        ("month", Kind::DateTime),
        ("week", Kind::DateTime),
        ("local", Kind::DateTime),
        ("color", Kind::Color),
        ("range", Kind::Range),
        ("number", Kind::Number),
        ("file", Kind::File),
        ("search", Kind::Text),
        ("area", Kind::Multiline),
        ("select", Kind::Select),
        ("radio", Kind::Check),
    ]
    .map(|(name, kind)| (name.to_owned(), kind));
    assert_eq!(kinds(&stage.observe(Scope::Full).await), expected);
    stage.page_script("document.querySelector('[type=date]').type = 'text'; 0").await;
    assert_eq!(kinds(&stage.observe(Scope::Full).await)[0], ("date".to_owned(), Kind::Text));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editable_region_is_a_field_while_it_is_editable() {
    check(
        "<div id=e contenteditable aria-label=Note role=textbox><p>Text <b>bold</b></p></div><div contenteditable=plaintext-only>Plain</div>",
        &["textbox \"Note\"", "generic \"Plain\""],
        "e.contentEditable = 'false'; e.removeAttribute('role')",
        &["generic \"Plain\""],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hidden_input_is_used_through_the_label_that_is_seen() {
    check(
        "<style>.off{position:absolute;opacity:0;width:0;height:0} label{display:inline-block;padding:8px}</style>
         <input class=off type=checkbox id=c><label for=c id=l>Dark mode</label>
         <label><input class=off type=radio name=r><span>Red</span></label>
         <input type=file id=f hidden><label for=f>Picture</label>",
        &["checkbox \"Dark mode\"", "radio \"Red\"", "button \"Picture\""],
        "l.style.display = 'none'",
        &["radio \"Red\"", "button \"Picture\""],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn options_of_a_select_belong_to_it_and_those_of_a_portal_stand_alone() {
    let mut stage = Stage::on(
        "<label>Size <select id=s><option>S<option disabled>M</select></label>
         <div role=combobox tabindex=0 aria-label=Colour aria-expanded=true aria-controls=list>Pick</div>
         <div id=portal><ul role=listbox id=list aria-label=Colours><li role=option>Red</li><li role=option aria-selected=true>Blue</li></ul></div>",
    )
    .await;
    let seen = stage.observe(Scope::Full).await;
    let offered =
        ["combobox \"Size\"", "combobox \"Colour\"", "listbox \"Colours\"", "option \"Red\"", "option \"Blue\""];
    assert_eq!(lines_of(&seen), offered);
    let labels = |seen: &cuebook_grammar::observation::Observation| -> Vec<(String, bool)> {
        named(seen, "Size").options.iter().map(|option| (option.label.clone(), option.disabled)).collect()
    };
    assert_eq!(labels(&seen), [("S".to_owned(), false), ("M".to_owned(), true)]);
    assert_eq!(named(&seen, "Blue").states.selected, Some(true));
    stage.page_script("portal.hidden = true; s.options[1].remove(); 0").await;
    let closed = stage.observe(Scope::Full).await;
    assert_eq!(lines_of(&closed), offered[..2]);
    assert_eq!(labels(&closed).len(), 1);
}

/// An editor that takes its input through a text area of its own, as CodeMirror 5, Ace and Monaco do.
const EDITOR: &str = "<style>.editor { position: relative; width: 400px; height: 120px; border: 1px solid }
    .lines { cursor: text; min-height: 100px } .number { user-select: none }</style>
    <div class=editor><div style='overflow: hidden; position: relative; width: 3px; height: 0'>
    <textarea aria-label=Code style='position: absolute; bottom: -1em; width: 1000px; height: 1em'></textarea></div>
    <div class=lines><div><span class=number>1</span><pre>let a</pre></div><div><span class=number>2</span><pre>a = 1</pre></div></div></div>";

#[tokio::test(flavor = "multi_thread")]
async fn the_visible_part_of_an_editor_represents_its_hidden_text_area() {
    let mut stage = Stage::on(EDITOR).await;
    let seen = stage.observe(Scope::Full).await;
    let editor = named(&seen, "Code");
    assert_eq!((editor.control, editor.occlusion.is_none()), (ControlKind::Multiline, true));
    assert!(editor.rect.is_some_and(|rect| rect.width > 390.0 && rect.height > 110.0), "{:?}", editor.rect);
    assert_eq!(editor.value.as_ref().and_then(|value| value.clear()), Some("let a\na = 1"));
    // A text area that is hidden from people in a form, to catch what fills in every field, stays hidden.
    let mut stage = Stage::on(
        "<form><label>Mail <input></label><p>Words</p><div style='overflow: hidden; height: 0; width: 3px'><textarea aria-label=Trap></textarea></div></form>",
    )
    .await;
    assert_eq!(lines_of(&stage.observe(Scope::Full).await), ["textbox \"Mail\""]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_option_that_is_not_shown_is_not_offered() {
    let mut stage = Stage::on(
        "<style>.no{display:none}</style><select aria-label=Size><option>S<option class=no>M<optgroup class=no label=More><option>L</optgroup></select>",
    )
    .await;
    let seen = stage.observe(Scope::View).await;
    let labels: Vec<_> = named(&seen, "Size").options.iter().map(|option| option.label.as_str()).collect();
    assert_eq!(labels, ["S"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_spelt_as_it_is_written_wherever_it_stands() {
    let mut stage = Stage::on(
        "<style>button{text-transform:uppercase}</style><button>Add order</button><div style='height:3000px'></div><button>Straße</button>",
    )
    .await;
    let names = |seen: &Observation| seen.candidates.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
    let first = stage.observe(Scope::Full).await;
    assert_eq!(names(&first), ["Add order", "Straße"]);
    stage.page_script("scrollTo(0, 3000); 0").await;
    let second = stage.observe(Scope::Full).await;
    assert_eq!(names(&second), names(&first));
    assert_eq!(second.candidates[1].id, first.candidates[1].id);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_markup_states_of_a_field_or_an_item_is_a_state_of_it() {
    let long = "x".repeat(300);
    let page = format!(
        "<input aria-label=Code maxlength=20><textarea aria-label=Note maxlength=500></textarea>
         <input aria-label=Any maxlength=-3><input type=number aria-label=Sum maxlength=3>
         <input type=file aria-label=Scan accept='.pdf, image/*'><input type=file aria-label=Long accept='{long}'>
         <ul role=listbox><li role=option tabindex=0 aria-posinset=12 aria-setsize=340>Twelfth</li>
         <li role=option tabindex=0 aria-posinset=13 aria-setsize=-1>Endless</li>
         <li role=option tabindex=0 aria-posinset=1e99>Odd</li></ul>"
    );
    let mut stage = Stage::on(&page).await;
    let seen = stage.observe(Scope::View).await;
    let bounds = |name: &str| named(&seen, name).bounds.clone();
    assert_eq!([bounds("Code").max_length, bounds("Note").max_length], [Some(20), Some(500)]);
    assert_eq!([bounds("Any"), bounds("Sum"), bounds("Odd")], [(); 3].map(|()| Default::default()));
    assert_eq!(bounds("Scan").accept.as_deref(), Some(".pdf, image/*"));
    assert!(bounds("Long").accept.is_some_and(|kinds| kinds.chars().count() <= 201));
    assert_eq!((bounds("Twelfth").position, bounds("Twelfth").set_size), (Some(12), Some(340)));
    assert_eq!((bounds("Endless").position, bounds("Endless").set_size), (Some(13), None));
    let text = cuebook_grammar::render::text(&seen, &Default::default());
    for said in ["[max 20]", "[max 500]", "[\".pdf, image/*\"]", "[12 of 340]", "[13]"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    stage.page_script("document.querySelector('[role=option]').setAttribute('aria-posinset', '11'); 0").await;
    assert_eq!(named(&stage.observe(Scope::View).await, "Twelfth").bounds.position, Some(11));
}
