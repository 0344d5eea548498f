//! Choosing: native selects, list boxes and combo boxes by their own popup.

use cuebook_grammar::outcome::Cause;
use serde_json::{Value, json};

use crate::lab::{Labs, css_of, failed, lab, succeeded};

fn choose(css: &str, option: Value) -> (Value, Value) {
    (json!({"it": css_of(css)}), json!({"type": "select", "targetRef": "it", "option": option}))
}

const SHIRTS: &str = "<select id=s><option value=s>Small</option><option value=m>Medium</option><option value=l disabled>Large</option>\
    <optgroup label=More disabled><option value=x>Extra</option></optgroup></select>";

#[tokio::test]
async fn a_native_select_is_chosen_by_value_label_and_number() {
    let mut lab = lab(&[("/", SHIRTS)]).await;
    for (option, expected) in [
        (json!({"value": "m"}), "m"),
        (json!({"label": "Small"}), "s"),
        (json!({"index": 1}), "m"),
        (json!("Small"), "s"),
        (json!({"value": "m", "label": "Medium"}), "m"),
        (json!({"value": "s", "label": "Small", "index": 0}), "s"),
    ] {
        let (it, step) = choose("#s", option.clone());
        succeeded(lab.step(it, step).await);
        assert_eq!(lab.eval("s.value").await, expected, "{option}");
    }
}

#[tokio::test]
async fn an_option_that_has_only_some_of_what_is_stated_is_not_meant() {
    let mut lab = lab(&[("/", SHIRTS)]).await;
    for option in [json!({"value": "m", "label": "Small"}), json!({"label": "Medium", "index": 0})] {
        let (it, step) = choose("#s", option.clone());
        assert_eq!(failed(lab.step(it, step).await).cause, Cause::OptionNotFound, "{option}");
    }
    assert_eq!(lab.eval("s.value").await, "s");
}

#[tokio::test]
async fn a_missing_option_names_the_nearest_first() {
    let many: String = (0..40).map(|n| format!("<option>Choice {n}</option>")).collect();
    let page = format!("<select id=s>{many}<option>Deutschland</option></select>");
    let mut lab = lab(&[("/", &page)]).await;
    let (it, step) = choose("#s", json!("Deutchland"));
    let failure = failed(lab.step(it, step).await);
    assert_eq!(failure.cause, Cause::OptionNotFound);
    assert_eq!(failure.facts.matches[0], "Deutschland");
    assert_eq!(lab.eval("s.value").await, "Choice 0");
}

#[tokio::test]
async fn a_disabled_option_and_one_of_a_disabled_group_are_refused() {
    let mut lab = lab(&[("/", SHIRTS)]).await;
    for option in ["Large", "Extra"] {
        let (it, step) = choose("#s", json!(option));
        let failure = failed(lab.step(it, step).await);
        assert_eq!(failure.cause, Cause::OptionNotFound, "{option}");
        assert!(failure.message.contains("disabled"), "{}", failure.message);
    }
    assert_eq!(lab.eval("s.value").await, "s");
}

#[tokio::test]
async fn several_values_replace_the_choice_and_a_single_select_takes_the_first() {
    let page = format!(
        "{SHIRTS}<select id=m multiple><option selected>A</option><option>B</option><option>C</option></select>"
    );
    let mut lab = lab(&[("/", &page)]).await;
    let (it, step) = choose("#m", json!(["B", "C"]));
    succeeded(lab.step(it, step).await);
    assert_eq!(lab.eval("[...m.selectedOptions].map((o) => o.label).join()").await, "B,C");
    let (it, step) = choose("#s", json!(["Medium", "Small"]));
    let outcome = succeeded(lab.step(it, step).await);
    assert_eq!(outcome.data, Some(json!({"notChosen": ["\"Small\""]})));
    assert_eq!(lab.eval("s.value").await, "m");
    let (it, step) = choose("#s", json!([]));
    succeeded(lab.step(it, step).await);
    assert_eq!(lab.eval("s.selectedIndex").await, -1);
}

/// A combo box whose popup is built in a portal at the end of the body when it opens.
const PORTAL: &str = "<button id=c role=combobox aria-haspopup=listbox aria-expanded=false>Pick</button><ul role=listbox id=other><li role=option>Blue</li></ul><script>\
    c.onclick = () => { if (document.getElementById('pop')) return; const l = document.createElement('div'); l.id = 'pop'; l.setAttribute('role', 'listbox');\
    for (const n of ['Red', 'Green', 'Blue']) { const o = document.createElement('div'); o.setAttribute('role', 'option'); o.textContent = n;\
    if (n === 'Green') o.setAttribute('aria-disabled', 'true');\
    o.onclick = () => { c.textContent = n + ' chosen'; l.remove(); c.setAttribute('aria-expanded', 'false'); c.removeAttribute('aria-controls'); }; l.append(o); }\
    setTimeout(() => { document.body.append(l); c.setAttribute('aria-controls', 'pop'); c.setAttribute('aria-expanded', 'true'); }, 80); };\
    document.querySelector('#other li').onclick = () => { c.textContent = 'wrong'; };</script>";

#[tokio::test]
async fn a_combo_box_with_a_portal_popup_selects_its_own_option() {
    let mut lab = lab(&[("/", PORTAL)]).await;
    let (it, mut step) = choose("#c", json!("Blue"));
    step["post"] = json!([{"kind": "elementTextEquals", "target": "it", "text": "Blue chosen"}]);
    succeeded(lab.step(it, step).await);
}

#[tokio::test]
async fn a_combo_box_around_its_field_says_that_its_list_is_open() {
    // What it refers to is not there, and the list stays open for the next choice.
    let page = "<div id=c role=combobox aria-expanded=false aria-controls=none><span id=tags></span><input id=i></div>\
        <script>i.onclick = () => { if (c.ariaExpanded === 'true') return; c.ariaExpanded = 'true'; const list = document.createElement('ul'); \
        list.role = 'listbox'; for (const name of ['Rome', 'Oslo', 'Bern']) { const one = document.createElement('li'); one.role = 'option'; \
        one.textContent = name; one.onclick = () => { const tag = document.createElement('b'); tag.textContent = name; tags.append(tag) }; \
        list.append(one) } document.body.append(list) }</script>";
    let mut lab = lab(&[("/", page)]).await;
    let (it, step) = choose("#i", json!(["Rome", "Bern"]));
    succeeded(lab.step(it, step).await);
    let (it, step) = choose("#i", json!("Oslo"));
    let success = succeeded(lab.step(it, step).await);
    assert!(!success.evidence.no_observed_effect, "the tags are seen");
    assert_eq!(lab.eval("tags.textContent").await, "RomeBernOslo");
}

#[tokio::test]
async fn a_control_that_opens_a_list_for_several_ends_with_what_an_array_names() {
    let page = "<div id=c role=combobox tabindex=0 aria-controls=pop aria-expanded=false>-</div><ul id=pop role=listbox hidden \
        aria-multiselectable=true></ul><ul role=listbox aria-multiselectable=true><li id=other role=option aria-selected=true>Bern</ul><script>\
        c.onclick = () => { pop.hidden = false; c.ariaExpanded = 'true' }; for (const name of ['Rome', 'Oslo', 'Bern']) { \
        const one = document.createElement('li'); one.role = 'option'; one.ariaSelected = 'false'; one.textContent = name; pop.append(one); \
        one.onclick = () => { one.ariaSelected = one.ariaSelected === 'false' } } \
        other.onclick = () => { other.ariaSelected = 'false' }; \
        const chosen = () => [...pop.children].filter((one) => one.ariaSelected === 'true').map((one) => one.textContent).join()</script>";
    let mut lab = lab(&[("/", page)]).await;
    for (option, expected) in [
        (json!(["Rome", "Bern"]), "Rome,Bern"),
        (json!("Oslo"), "Rome,Oslo,Bern"),
        (json!(["Oslo", "Bern"]), "Oslo,Bern"),
        (json!(["Bern"]), "Bern"),
    ] {
        let (it, step) = choose("#c", option.clone());
        succeeded(lab.step(it, step).await);
        assert_eq!(lab.eval("chosen()").await, expected, "{option}");
    }
    assert_eq!(lab.eval("other.ariaSelected").await, "true", "it is of another list");
}

#[tokio::test]
async fn an_array_is_exact_however_its_list_is_named_filtered_or_marked() {
    let list = |markup: &str, item: &str, around: &str| {
        format!(
            "{markup}<script>const root = document.querySelector('x-list')?.attachShadow({{mode: 'open'}}) ?? document; {around}\
             const all = new Set(); window.chosen = () => [...all].sort().join(); const c = root.querySelector('#c'), pop = root.querySelector('#pop'); \
             c.onclick = () => {{ pop.hidden = false; c.ariaExpanded = 'true' }}; for (const name of ['Rome', 'Oslo', 'Bern']) {{ \
             const one = document.createElement('div'); const draw = () => {{ one.ariaSelected = all.has(name); \
             one.textContent = all.has(name) ? name + ' ✓' : name }}; draw(); {item}; (document.querySelector('x-list') ?? pop).append(one); \
             one.onclick = () => {{ all.delete(name) || all.add(name); draw() }} }}</script>"
        )
    };
    let control = |names: &str| format!("<button id=c role=combobox aria-expanded=false {names}>Pick</button>");
    let pop = |is: &str| format!("<div id=pop role=listbox hidden {is}>");
    let (several, option) = ("aria-multiselectable=true", "one.role = 'option'");
    let slotted = format!("root.innerHTML = `{}{}<slot></slot></div>`;", control("aria-controls=pop"), pop(several));
    let labs = Labs::open().await;
    for (case, page) in [
        ("named", list(&(control("aria-controls=pop") + &pop(several) + "</div>"), option, "")),
        ("without a role", list(&(control("aria-controls=pop") + &pop(several) + "</div>"), "", "")),
        (
            "that does not say that it is for several",
            list(&(control("aria-controls=pop") + &pop("") + "</div>"), option, ""),
        ),
        ("named wrongly", list(&(control("aria-controls=other") + &pop(several) + "</div>"), option, "")),
        ("slotted", list("<x-list></x-list>", option, &slotted)),
    ] {
        let mut lab = labs.lab(&[("/", &page)]).await;
        for (option, expected) in
            [(json!(["Rome", "Bern"]), "Bern,Rome"), (json!(["Oslo"]), "Oslo"), (json!("Oslo"), "Oslo")]
        {
            // Pressed once more, it is no longer chosen; only a list for several says that it is.
            if option.is_string() && !page.contains(several) {
                continue;
            }
            let (it, step) = choose("#c", option);
            succeeded(lab.step(it, step).await);
            assert_eq!(lab.eval("chosen()").await, expected, "{case}");
        }
    }
}

#[tokio::test]
async fn an_element_that_draws_another_option_later_is_chosen_for_that() {
    // What is typed stays, and filters.
    let page = "<input id=c role=combobox aria-autocomplete=list aria-controls=pop aria-expanded=false><div id=pop role=listbox \
        aria-multiselectable=true hidden></div><script>const all = new Set(); const draw = () => { \
        const names = ['Rome', 'Oslo', 'Bern'].filter((name) => name.startsWith(c.value)); while (pop.children.length < names.length) { \
        const one = document.createElement('div'); one.role = 'option'; one.onclick = () => { const name = one.textContent; \
        all.delete(name) || all.add(name); c.value = name; draw() }; pop.append(one) } \
        while (pop.children.length > names.length) pop.lastChild.remove(); names.forEach((name, i) => { \
        pop.children[i].textContent = name; pop.children[i].ariaSelected = all.has(name) }) }; c.onclick = c.oninput = () => { \
        pop.hidden = false; c.ariaExpanded = 'true'; draw() }</script>";
    let mut lab = lab(&[("/", page)]).await;
    for (option, expected) in [(json!(["Rome", "Oslo"]), "Rome,Oslo"), (json!(["Bern"]), "Bern")] {
        let (it, step) = choose("#c", option);
        succeeded(lab.step(it, step).await);
        assert_eq!(lab.eval("[...all].join()").await, expected);
    }
}

#[tokio::test]
async fn an_entry_whose_box_has_a_name_is_pressed_on_its_text() {
    let page = "<button id=c role=combobox aria-expanded=false aria-haspopup=tree aria-controls=pop>Pick</button><div id=pop role=tree hidden \
        style='width:300px'></div><script>c.onclick = () => { pop.hidden = false; c.ariaExpanded = 'true' }; for (const name of ['Docs', 'Notes']) \
        { const one = document.createElement('div'); one.role = 'treeitem'; one.innerHTML = `<b role=checkbox aria-checked=false aria-label='Select ${name}'>\
        □</b> <span>${name}</span>`; one.lastChild.onclick = () => { document.title += name }; pop.append(one) }</script>";
    let mut lab = lab(&[("/", page)]).await;
    let (it, step) = choose("#c", json!("Notes"));
    succeeded(lab.step(it, step).await);
    assert_eq!(lab.eval("document.title").await, "Notes");
}

#[tokio::test]
async fn a_list_box_that_opens_shows_its_choice_and_may_tell_it_aloud() {
    let labs = Labs::open().await;
    let options = "<div id=menu hidden><p role=option>Rome</p><p role=option>Bern</p></div>";
    let script = "<script>const open = (is) => { menu.hidden = !is; c.ariaExpanded = is }; c.onclick = (event) => { \
        const one = event.target.closest('[role=option]'); if (one) said.textContent = one.textContent; open(menu.hidden) }</script>";
    for control in [
        format!("<div id=c role=listbox aria-expanded=false tabindex=0><div id=said>Pick</div>{options}</div>"),
        format!(
            "<div id=c role=combobox aria-expanded=false tabindex=0><div id=said role=alert>Pick</div>\
             <div role=listbox>{options}</div></div>"
        ),
    ] {
        let mut lab = labs.lab(&[("/", &format!("{control}{script}"))]).await;
        let (it, step) = choose("#c", json!("Bern"));
        let success = succeeded(lab.step(it, step).await);
        assert_eq!(lab.eval("said.textContent").await, "Bern", "{control}");
        let problems = &success.evidence.effects.as_ref().unwrap().problems;
        assert!(!success.evidence.no_observed_effect && problems.is_empty(), "{control}: {problems:?}");
    }
}

#[tokio::test]
async fn a_disabled_option_of_a_popup_is_refused_and_a_missing_one_named() {
    let mut lab = lab(&[("/", PORTAL)]).await;
    let (it, step) = choose("#c", json!("Green"));
    assert_eq!(failed(lab.step(it, step).await).cause, Cause::OptionNotFound);
    let (it, step) = choose("#c", json!("Violet"));
    let failure = failed(lab.step(it, step).await);
    assert_eq!(failure.cause, Cause::OptionNotFound);
    assert_eq!(failure.facts.matches, ["Red", "Green", "Blue"]);
    assert_eq!(lab.eval("c.textContent").await, "Pick");
}

#[tokio::test]
async fn an_option_that_only_scrolling_brings_is_found() {
    let page = "<div id=c role=combobox tabindex=0 aria-expanded=false aria-controls=pop>Pick</div><div id=pop role=listbox style='display:none;height:100px;overflow:auto;position:relative'><div id=pad style='height:20000px'></div></div><script>\
        const draw = () => { const from = Math.floor(pop.scrollTop / 20); pad.innerHTML = ''; for (let n = from; n < from + 7 && n < 1000; n++) { const o = document.createElement('div'); o.setAttribute('role', 'option');\
        o.style.cssText = 'position:absolute;height:20px;top:' + n * 20 + 'px'; o.textContent = 'Row ' + n; o.onclick = () => { c.textContent = o.textContent; pop.style.display = 'none'; c.setAttribute('aria-expanded', 'false'); }; pad.append(o); } };\
        pop.onscroll = () => requestAnimationFrame(draw); c.onclick = () => { pop.style.display = 'block'; c.setAttribute('aria-expanded', 'true'); draw(); };</script>";
    let mut lab = lab(&[("/", page)]).await;
    let (it, step) = choose("#c", json!("Row 150"));
    succeeded(lab.step(it, step).await);
    assert_eq!(lab.eval("c.textContent").await, "Row 150");
}

/// As Ant Design draws it: the list of roles has no area and holds the first entries, whose texts are values; those that
/// are seen have no role, and only some of them are there.
const MIRRORED: &str = "<input id=c role=combobox aria-haspopup=listbox aria-controls=pop aria-expanded=false readonly value=''><div id=drop style='display:none'>\
    <div id=pop role=listbox style='width:0;height:0;overflow:hidden'><div role=option aria-label='Row 0' aria-selected=false>v0</div></div>\
    <div id=roller style='height:100px;overflow-y:hidden;position:relative'><div id=pad style='height:3200px'></div></div></div><script>\
    const chosen = new Set(); const draw = () => { const from = Math.floor(roller.scrollTop / 20); pad.innerHTML = ''; for (let n = from; n < from + 7 && n < 160; n++) { const o = document.createElement('div'); o.title = 'Row ' + n;\
    o.ariaSelected = String(chosen.has(n)); o.style.cssText = 'position:absolute;height:20px;top:' + n * 20 + 'px'; o.innerHTML = '<b>Row ' + n + '</b>'; o.onclick = () => { if (!chosen.delete(n)) chosen.add(n); c.value = [...chosen].map((n) => 'Row ' + n).join(); draw(); }; pad.append(o); } };\
    roller.onscroll = () => requestAnimationFrame(draw); c.onclick = () => { drop.style.display = 'block'; c.ariaExpanded = 'true'; draw(); };</script>";

#[tokio::test]
async fn options_without_a_role_beside_a_list_without_area_are_chosen() {
    let labs = Labs::open().await;
    let mut lab = labs.lab(&[("/", MIRRORED)]).await;
    let (it, step) = choose("#c", json!(["Row 2", "Row 150"]));
    succeeded(lab.step(it, step).await);
    assert_eq!(lab.eval("c.value").await, "Row 2,Row 150");
    // One that is chosen stays so.
    let (it, step) = choose("#c", json!("Row 150"));
    succeeded(lab.step(it, step).await);
    assert_eq!(lab.eval("c.value").await, "Row 2,Row 150");
    let (it, step) = choose("#c", json!("Row 1500"));
    assert_eq!(failed(lab.step(it, step).await).cause, Cause::OptionNotFound);
}

#[tokio::test]
async fn an_option_with_a_named_picture_is_chosen_by_its_text() {
    let page = "<div id=c role=combobox tabindex=0 aria-expanded=false aria-controls=pop>Pick</div><div id=pop role=listbox hidden>\
        <div role=option><svg role=img aria-label=tick width=9 height=9></svg><span>Graz</span></div></div><script>\
        c.onclick = () => { pop.hidden = false; c.ariaExpanded = 'true' }; pop.onclick = () => { c.textContent = 'Graz'; pop.hidden = true }</script>";
    let mut lab = lab(&[("/", page)]).await;
    let (it, step) = choose("#c", json!("Graz"));
    succeeded(lab.step(it, step).await);
    assert_eq!(lab.eval("c.textContent").await, "Graz");
}

#[tokio::test]
async fn an_entry_of_a_tree_that_a_field_opens_is_chosen_by_its_text() {
    let page = "<input id=c role=combobox aria-haspopup=listbox aria-controls=none aria-expanded=false readonly><div id=drop role=tree hidden><div role=treeitem aria-expanded=true style='width:400px'>\
        <span onclick='c.value = `folded`'>v</span> <span title='Parent'><span>Parent</span></span></div><div role=treeitem style='width:400px'><span title='Leaf'><span>Leaf</span></span></div></div><script>\
        c.onclick = () => { drop.hidden = false; c.ariaExpanded = 'true' }; for (const s of document.querySelectorAll('[title]')) s.onclick = () => { c.value = s.title; drop.hidden = true; c.ariaExpanded = 'false' };</script>";
    let mut lab = lab(&[("/", page)]).await;
    let (it, step) = choose("#c", json!("Leaf"));
    succeeded(lab.step(it, step).await);
    assert_eq!(lab.eval("c.value").await, "Leaf");
}

#[tokio::test]
async fn an_autocomplete_field_is_typed_into_and_its_suggestion_chosen() {
    let page = "<input id=c role=combobox aria-autocomplete=list aria-expanded=false aria-controls=pop><ul id=pop role=listbox hidden></ul><script>\
        const all = ['Berlin', 'Bern', 'Paris', 'Madrid']; let picked = ''; c.oninput = () => setTimeout(() => { pop.innerHTML = ''; const hits = c.value ? all.filter((n) => n.toLowerCase().startsWith(c.value.toLowerCase())) : [];\
        for (const n of hits) { const o = document.createElement('li'); o.setAttribute('role', 'option'); o.textContent = n; o.onmousedown = (e) => { e.preventDefault(); picked = c.value = n; pop.hidden = true; c.setAttribute('aria-expanded', 'false'); }; pop.append(o); }\
        pop.hidden = !hits.length; c.setAttribute('aria-expanded', String(!!hits.length)); }, 60);</script>";
    let mut lab = lab(&[("/", page)]).await;
    let (it, step) = choose("#c", json!("Bern"));
    succeeded(lab.step(it, step).await);
    assert_eq!(lab.eval("picked").await, "Bern");
    let (it, step) = choose("#c", json!("Rome"));
    assert_eq!(failed(lab.step(it, step).await).cause, Cause::OptionNotFound);
}

#[tokio::test]
async fn a_field_with_a_data_list_accepts_a_value_of_the_list() {
    let page = "<input id=c list=l oninput='heard = value'><datalist id=l><option value=Chrome><option value=Firefox label='Fire fox'></datalist><script>let heard = '';</script>";
    let mut lab = lab(&[("/", page)]).await;
    let (it, step) = choose("#c", json!("Firefox"));
    succeeded(lab.step(it, step).await);
    assert_eq!(lab.eval("heard + c.value").await, "FirefoxFirefox");
    let (it, step) = choose("#c", json!("Opera"));
    let failure = failed(lab.step(it, step).await);
    assert_eq!(failure.cause, Cause::OptionNotFound);
    assert!(failure.facts.matches.contains(&"Chrome".to_owned()), "{:?}", failure.facts.matches);
    assert_eq!(lab.eval("c.value").await, "Firefox");
}

const PILLS: &str = "<ul id=l role=listbox aria-multiselectable=true>\
    <li role=option aria-selected=true>A</li><li role=option aria-selected=false>B</li><li role=option aria-selected=false>C</li></ul><script>\
    for (const o of l.children) o.onclick = () => o.setAttribute('aria-selected', String(o.getAttribute('aria-selected') !== 'true'));</script>";

#[tokio::test]
async fn a_list_box_for_several_ends_with_exactly_what_was_chosen() {
    let mut lab = lab(&[("/", PILLS)]).await;
    let (it, step) = choose("#l", json!(["B", "C"]));
    succeeded(lab.step(it, step).await);
    assert_eq!(
        lab.eval("[...l.children].filter((o) => o.ariaSelected === 'true').map((o) => o.textContent).join()").await,
        "B,C"
    );
}

#[tokio::test]
async fn a_list_box_for_one_refuses_two() {
    let page = PILLS.replace("aria-multiselectable=true", "");
    let mut lab = lab(&[("/", &page)]).await;
    let (it, step) = choose("#l", json!(["B", "C"]));
    assert_eq!(failed(lab.step(it, step).await).cause, Cause::InvalidArgument);
    assert_eq!(lab.eval("l.children[1].ariaSelected").await, "false");
}

#[tokio::test]
async fn selects_and_popups_in_shadow_roots_are_chosen() {
    let page = "<div id=host></div><script>const r = host.attachShadow({mode: 'open'}); r.innerHTML = `<select><option>One<option>Two</select><button role=combobox aria-controls=pop aria-expanded=false>Pick</button><div id=pop role=listbox hidden><div role=option>In</div><div role=option>Out</div></div>`;\
        const b = r.querySelector('button'), pop = r.querySelector('#pop'); b.onclick = () => { pop.hidden = false; b.ariaExpanded = 'true'; }; for (const o of pop.children) o.onclick = () => { b.textContent = o.textContent; pop.hidden = true; };</script>";
    let mut lab = lab(&[("/", page)]).await;
    let (it, step) = choose("select", json!("Two"));
    succeeded(lab.step(it, step).await);
    assert_eq!(lab.eval("r.querySelector('select').value").await, "Two");
    let (it, step) = choose("button", json!("Out"));
    succeeded(lab.step(it, step).await);
    assert_eq!(lab.eval("b.textContent").await, "Out");
}

#[tokio::test]
async fn an_option_that_is_not_shown_is_not_counted() {
    let page = "<select id=s><option>A<option style='display:none'>B<option>C</select>";
    let mut lab = lab(&[("/", page)]).await;
    let (it, step) = choose("#s", json!({"index": 1}));
    succeeded(lab.step(it, step).await);
    assert_eq!(lab.eval("s.value").await, "C");
}

#[tokio::test]
async fn a_row_that_becomes_another_as_its_field_gets_the_focus_is_not_changed() {
    let labs = Labs::open().await;
    let row = |name: &str| format!("<tr><td>{name}<td><select><option>Guest<option>Admin</select><input type=date>");
    let page = format!(
        "<table>{}{}</table><script>addEventListener('focusin', () => {{ const [a, b] = document.querySelectorAll('td:first-child');\
         [a.textContent, b.textContent] = [b.textContent, a.textContent]; }});</script>",
        row("Ann"),
        row("Bob")
    );
    let of_bob = |selector: &str| {
        let row = json!({"strategy": "byRole", "role": "row", "hasText": "Bob"});
        json!({"it": {"strategy": "css", "selector": selector, "within": row}})
    };
    for (selector, step) in [
        ("select", json!({"type": "select", "targetRef": "it", "option": "Admin"})),
        ("input", json!({"type": "setValue", "targetRef": "it", "value": "2026-01-31"})),
    ] {
        let mut lab = labs.lab(&[("/", &page)]).await;
        let failure = failed(lab.step(of_bob(selector), step).await);
        assert_eq!(failure.cause, Cause::TargetStale, "{failure:?}");
        let values = "[...document.querySelectorAll('select, input')].map((field) => field.value).join()";
        assert_eq!(lab.eval(values).await, "Guest,,Guest,");
    }
}

#[tokio::test]
async fn of_a_list_that_hides_what_is_chosen_the_other_choices_are_taken_out() {
    let page = "<div id=box><div id=values></div><input id=it role=combobox aria-haspopup=listbox aria-expanded=false aria-controls=list></div>\
        <div id=list role=listbox hidden></div><p>Basket</p><ul><li>Milk <button onclick=\"this.remove()\">Remove Milk</button></li></ul>\
        <script>let chosen = ['Alpha', 'Gamma']; const draw = () => { values.innerHTML = ''; for (const one of chosen) { const tag = document.createElement('span'); \
        tag.innerHTML = `${one} <b role=button aria-label='Remove ${one}'>x</b>`; tag.querySelector('b').onclick = () => { chosen = chosen.filter((other) => \
        other !== one); draw() }; values.append(tag) } list.innerHTML = ''; for (const one of ['Alpha', 'Beta', 'Gamma', 'Delta']) if (!chosen.includes(one)) { \
        const option = document.createElement('div'); option.role = 'option'; option.ariaSelected = 'false'; option.textContent = one; option.onclick = () => { \
        chosen.push(one); draw() }; list.append(option) } }; draw(); it.onmousedown = () => { list.hidden = false; it.ariaExpanded = 'true' }</script>";
    let labs = Labs::open().await;
    for (option, expected) in [
        (json!(["Beta"]), "Beta"),
        (json!(["Gamma"]), "Gamma"),
        (json!(["Gamma", "Delta"]), "Gamma,Delta"),
        (json!("Delta"), "Alpha,Gamma,Delta"),
        (json!("Alpha"), "Alpha,Gamma"),
    ] {
        let mut lab = labs.lab(&[("/", page)]).await;
        let (it, step) = choose("#it", option.clone());
        succeeded(lab.step(it, step).await);
        assert_eq!(lab.eval("chosen.join()").await, expected, "{option}");
        assert_eq!(lab.eval("document.querySelectorAll('li button').length").await, 1);
    }
}
