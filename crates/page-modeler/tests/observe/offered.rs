//! Tests of elements that are candidates, and of those that are not.

use cuebook_grammar::candidate::{ControlKind, Placement};
use cuebook_grammar::observation::Scope;
use cuebook_grammar::role::Role;

use crate::stage::{Stage, named, names};

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_cannot_act_on_is_not_offered() {
    let mut stage = Stage::on(
        r#"<style>.sr{position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0 0 0 0)}</style>
        <button>Seen</button><button style="display:none">None</button><button style="visibility:hidden">Invisible</button>
        <div style="opacity:0"><button>Transparent</button></div><button class=sr>One pixel</button>
        <button style="position:absolute;left:-9999px">Far left</button><button aria-hidden=true tabindex=-1 disabled>Unheard</button>
        <div style="height:0;overflow:hidden"><button>Collapsed</button></div><div hidden><a href=#>Hidden</a></div>
        <details><summary>More</summary><button>Folded</button></details>
        <button style="clip-path:inset(100%)">Clipped</button><div inert><button>Inert</button></div>
        <input type=checkbox id=c class=sr><label for=c style="display:inline-block;padding:10px">Agree</label>
        <input type=file id=f style="display:none"><label for=f>Upload</label>
        <div style="cursor:pointer" id=div>Pointer <span>inside</span></div><div onclick="x()">Handler</div><div contenteditable>Rich</div>
        <div style="height:100px;overflow:auto"><div style="height:400px"></div><button>Scrolled</button></div>
        <div style="margin-top:5000px"><button>Below</button></div>"#,
    )
    .await;
    let seen = stage.observe(Scope::Full).await;
    let expected = ["Seen", "More", "Agree", "Upload", "Pointer inside", "Handler", "Rich", "Scrolled", "Below"];
    assert_eq!(names(&seen), expected);
    let agree = named(&seen, "Agree");
    assert_eq!((agree.role, agree.control), (Role::Checkbox, ControlKind::Check));
    assert!(agree.rect.unwrap().width > 20.0);
    assert_eq!(named(&seen, "Upload").control, ControlKind::File);
    assert_eq!(named(&seen, "Below").placement, Placement::OffView);
    assert!(named(&seen, "Scrolled").scroll_container.is_some());
    let view = stage.observe(Scope::View).await;
    assert!(!names(&view).contains(&"Below"));
    assert_eq!(view.truncated.unwrap().off_view, 1);
    // Transparent, One pixel, Far left, Collapsed, Clipped: the key Tab reaches them.
    assert_eq!((seen.truncated.unwrap().keyboard, view.truncated.unwrap().keyboard), (5, 5));
}

#[tokio::test(flavor = "multi_thread")]
async fn s53_headings_and_notices_that_nobody_could_read_are_not_read() {
    const SHINES: &str = "background:linear-gradient(red,blue);-webkit-background-clip:text;color:transparent";
    let mut stage = Stage::on(&format!(
        r#"<body style="background:#fff"><h1>Seen</h1><h2 style="opacity:0">Faded</h2><h2 style="color:transparent">Transparent</h2>
        <h2 style="color:#fefefe">White on white</h2><div style="background:#123"><h2 style="color:#123456">Almost</h2>
        <h2 style="color:rgb(17 34 51)">Same</h2><h2 style="color:#fff">Light on dark</h2></div>
        <h2 style="color:#fff"><span style="color:#000">Inner</span></h2><h2 style="color:#000"><b style="color:#fff">Lost</b></h2>
        <h2 style="{SHINES}">Gradient</h2><h2 style="color:transparent;text-shadow:0 0 1px #000">Shadow</h2>
        <div style="background-image:url(data:,)"><h2 style="color:#fff">Before a picture</h2></div>
        <div role=alert style="color:#fff">Pay twice</div><div role=alert>Paid</div>"#
    ))
    .await;
    let seen = stage.observe(Scope::Full).await;
    let headings: Vec<_> = seen.sketch.headings.iter().map(|heading| heading.text.as_str()).collect();
    assert_eq!(headings, ["Seen", "Almost", "Light on dark", "Inner", "Gradient", "Shadow", "Before a picture"]);
    let live: Vec<_> = seen.sketch.live.iter().map(|live| live.text.as_str()).collect();
    assert_eq!(live, ["Paid"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_without_a_name_are_labelled_by_the_text_beside_them() {
    let mut stage = Stage::on(
        "<form><p><label>Username</label><input></p><p><label>Password</label><input type=password></p></form>
         <p class=datetime>Date: <input type=text name=d0><br>Time: <input type=text name=d1></p>
         <table><tr><td>Street *</td><td><div><input></div></td></tr></table>
         <ul><li>Colour <select><option>Red</select></li></ul><div><input type=checkbox> Remember</div>
         <div><label for=z>Not mine</label><input id=y><input id=z></div><label>Wrapped <input></label>",
    )
    .await;
    let seen = stage.observe(Scope::View).await;
    let told: Vec<_> = seen.candidates.iter().map(|c| (c.name.as_str(), c.label.as_deref().unwrap_or(""))).collect();
    let expected = [
        ("", "Username"),
        ("", "Password"),
        ("", "Date"),
        ("", "Time"),
        ("", "Street"),
        ("", "Colour"),
        ("", "Remember"),
        ("", ""),
        ("Not mine", ""),
        ("Wrapped", ""),
    ];
    assert_eq!(told, expected);
    let user = &seen.candidates[0];
    assert_eq!((user.context.as_deref(), user.ambiguous), (Some("label: Username"), false));
    assert!(seen.candidates.iter().filter(|c| c.label.is_some()).all(|c| !c.ambiguous), "{:?}", seen.candidates);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_control_off_the_middle_of_its_widget_is_a_candidate_of_its_own() {
    let mut stage = Stage::on(
        "<style>[role=tab] { width: 120px; padding-top: 26px } button { width: 120px; height: 26px; margin: 0 }</style>
         <div role=tablist><div role=tab tabindex=0><button>Submit</button></div></div>",
    )
    .await;
    let seen = stage.observe(Scope::View).await;
    let told: Vec<_> = seen.candidates.iter().map(|c| (c.role.as_str(), c.name.as_str())).collect();
    assert_eq!(told, [("tab", "Submit"), ("button", "Submit")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_widget_made_of_two_elements_is_one_candidate() {
    let mut stage = Stage::on(
        "<style>div { display: inline-block } li { display: inline-block } a { display: inline-block; padding: 4px }</style>
         <ul role=tablist><li role=tab tabindex=0><a href='#tab-2'>Tab 2</a></li></ul><div role=menu><div role=menuitem tabindex=-1><a href='#m'>Item</a></div></div>
         <button><a href='#x'>Both</a></button><div onclick='0'><span style='cursor:pointer'>Handler</span></div>
         <div onclick='0'><button>Wrapped</button></div><div tabindex=0><div tabindex=0><a href='#t'>Thrice</a></div></div>
         <div role=option tabindex=0 aria-label=Pick><input type=checkbox aria-label=Pick style='width:40px;height:40px'></div>
         <div onclick='0' style='padding:60px'><button>Small</button></div><div onclick='0' id=two><button>L</button><button>R</button></div>",
    )
    .await;
    let seen = stage.observe(Scope::View).await;
    let told: Vec<_> = seen.candidates.iter().map(|c| (c.role.as_str(), c.name.as_str())).collect();
    let expected = [
        ("tab", "Tab 2"),
        ("menuitem", "Item"),
        ("button", "Both"),
        ("generic", "Handler"),
        ("button", "Wrapped"),
        ("link", "Thrice"),
        ("option", "Pick"),
        ("checkbox", "Pick"),
        ("generic", "Small"),
        ("button", "Small"),
        ("generic", "L R"),
        ("button", "L"),
        ("button", "R"),
    ];
    assert_eq!(told, expected);
    assert!(named(&seen, "Tab 2").destination.as_deref().is_some_and(|to| to.ends_with("#tab-2")));
}
