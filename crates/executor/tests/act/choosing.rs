//! Options that are chosen or listed, and files that are uploaded.

use cuebook_executor::ExecutorOptions;
use cuebook_grammar::outcome::Cause;
use serde_json::Value;
use serde_json::json;

use crate::lab::{Labs, css_of, failed, lab, lab_with, quick, succeeded};

#[tokio::test]
async fn options_are_chosen_or_listed() {
    let page = "<select id=s><option value=a>Apple</option><option value=b>Banana</option><option value=c disabled>Cherry</option></select>\
        <select id=m multiple><option>One</option><option>Two</option><option>Three</option></select>\
        <div id=combo role=combobox aria-expanded=false aria-controls=list tabindex=0>Pick</div><ul id=list role=listbox hidden>\
        <li role=option>Red</li><li role=option>Green</li></ul>\
        <script>let heard = []; s.addEventListener('change', () => heard.push(s.value)); combo.addEventListener('click', () => { list.hidden = false; combo.ariaExpanded = 'true'; });\
        for (const o of list.children) o.addEventListener('mousedown', () => { combo.textContent = o.textContent; list.hidden = true; combo.ariaExpanded = 'false'; });</script>";
    let mut lab = lab(&[("/", page)]).await;
    let choose = |id: &str, option: Value| {
        (json!({"it": css_of(id)}), json!({"type": "select", "targetRef": "it", "option": option}))
    };
    for (id, option, read, expected) in [
        ("#s", json!("b"), "s.value", json!("b")),
        ("#s", json!("Apple"), "s.value", json!("a")),
        ("#s", json!(1), "s.value", json!("b")),
        (
            "#m",
            json!(["One", {"label": "Three"}]),
            "[...m.selectedOptions].map((o) => o.label)",
            json!(["One", "Three"]),
        ),
        ("#combo", json!("Green"), "combo.textContent", json!("Green")),
    ] {
        let (candidates, step) = choose(id, option);
        succeeded(lab.step(candidates, step).await);
        assert_eq!(lab.eval(read).await, expected);
    }
    assert_eq!(lab.eval("heard.join()").await, "b,a,b");
    let (candidates, step) = choose("#s", json!("Kiwi"));
    let failure = failed(lab.step(candidates, step).await);
    assert_eq!(failure.cause, Cause::OptionNotFound);
    assert_eq!(failure.facts.matches, ["Apple", "Banana", "Cherry"]);
    let (candidates, step) = choose("#s", json!("Cherry"));
    assert_eq!(failed(lab.step(candidates, step).await).cause, Cause::OptionNotFound);
}

#[tokio::test]
async fn a_choice_that_is_drawn_over_its_field_is_no_cover() {
    let labs = Labs::open().await;
    // A placeholder lies over the field, and the box around both opens the list.
    let page = |cursor: &str, over: &str| {
        format!(
            "<style>.over {{ position: absolute; inset: 0 }}</style><div id=box style='cursor: {cursor}; position: relative; \
             width: 200px; padding: 4px'><input id=it role=combobox aria-controls=list aria-expanded=false readonly \
             style='opacity: 0; cursor: inherit'>{over}</div><ul id=list role=listbox hidden><li role=option>Graz</li></ul>\
             <script>box.onclick = () => {{ list.hidden = false; it.ariaExpanded = 'true' }}; \
             list.onclick = () => {{ it.value = 'Graz'; list.hidden = true; it.ariaExpanded = 'false' }}</script>"
        )
    };
    let it = json!({"it": css_of("#it")});
    let mut lab = labs.lab(&[("/", &page("pointer", "<div class=over>Select</div>"))]).await;
    succeeded(lab.step(it.clone(), json!({"type": "select", "targetRef": "it", "option": "Graz"})).await);
    assert_eq!(lab.eval("it.value").await, "Graz");
    for (cursor, over) in [
        ("pointer", "<div class=over><svg class=over></svg></div>"),
        ("pointer", "<button class=over>Clear</button>"),
        ("default", "<div class=over>Loading</div>"),
    ] {
        let mut lab = labs.lab(&[("/", &page(cursor, over))]).await;
        let failure = failed(lab.step(it.clone(), json!({"type": "click", "targetRef": "it"})).await);
        assert_eq!(
            (failure.cause, failure.evidence.input_sent),
            (Cause::Covered, false),
            "{over}: {}",
            failure.message
        );
    }
}

#[tokio::test]
async fn files_come_from_declared_directories_only() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("note.txt"), "hello").unwrap();
    let options = ExecutorOptions { upload_roots: vec![folder.path().to_owned()], ..quick() };
    let page = "<input id=f type=file><script>f.addEventListener('change', () => { document.title = f.files[0].name; });</script>";
    let mut lab = lab_with(&[("/", page)], options).await;
    let f = json!({"f": css_of("#f")});
    let step = json!({"type": "upload", "targetRef": "f", "files": ["note.txt"], "post": [{"kind": "titleMatches", "pattern": "note"}]});
    succeeded(lab.step(f.clone(), step).await);
    let failure = failed(lab.step(f, json!({"type": "upload", "targetRef": "f", "files": ["/etc/hostname"]})).await);
    assert_eq!(failure.cause, Cause::PolicyBlocked);
}

#[tokio::test]
async fn a_drawn_box_that_keeps_a_field_for_its_form_is_checked() {
    let labs = Labs::open().await;
    for inner in ["<input type=hidden name=a>", "<input type=checkbox style='display:none'>"] {
        let page = format!(
            "<div id=it role=checkbox aria-checked=false tabindex=0 onclick=\"this.ariaChecked = String(this.ariaChecked !== 'true')\">{inner}Red</div>"
        );
        let mut lab = labs.lab(&[("/", &page)]).await;
        succeeded(lab.step(json!({"it": css_of("#it")}), json!({"type": "check", "targetRef": "it"})).await);
        assert_eq!(lab.eval("it.ariaChecked").await, "true", "{inner}");
    }
}

#[tokio::test]
async fn a_box_that_is_partly_on_goes_where_the_step_says() {
    let labs = Labs::open().await;
    let page = "<div id=it role=checkbox aria-checked=mixed tabindex=0 onclick=\"this.ariaChecked = String(this.ariaChecked !== 'true')\">All</div>";
    for (verb, expected) in [("check", "true"), ("uncheck", "false")] {
        let mut lab = labs.lab(&[("/", page)]).await;
        succeeded(lab.step(json!({"it": css_of("#it")}), json!({"type": verb, "targetRef": "it"})).await);
        assert_eq!(lab.eval("it.ariaChecked").await, expected);
    }
}
