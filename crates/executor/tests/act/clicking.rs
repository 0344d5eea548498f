//! Clicks, and what stands in their way.

use cuebook_grammar::outcome::{Cause, Stage, StepOutcome};
use serde_json::json;

use crate::lab::{LOGGING, Labs, css_of, failed, lab, succeeded};

#[tokio::test]
async fn a_click_reaches_its_target_with_all_its_events() {
    let page = format!("{LOGGING}<button id=go onclick=\"document.title = 'clicked'\">Go</button>");
    let mut lab = lab(&[("/", &page)]).await;
    let success = succeeded(
        lab.step(
            json!({"go": {"strategy": "byRole", "role": "button", "name": "Go"}}),
            json!({"type": "click", "targetRef": "go", "post": [{"kind": "titleMatches", "pattern": "^clicked$"}]}),
        )
        .await,
    );
    assert!(success.evidence.input_sent);
    assert_eq!(lab.eval("log.join()").await, "pointerdown go,mousedown go,pointerup go,mouseup go,click go");
}

#[tokio::test]
async fn a_covered_button_fails_and_names_the_blocker() {
    let page = format!(
        "{LOGGING}<button id=go>Go</button><div id=overlay style='position:fixed;inset:0'><span>Wait</span></div>"
    );
    let mut lab = lab(&[("/", &page)]).await;
    let failure = failed(lab.click("#go").await);
    assert_eq!((failure.stage, failure.cause), (Stage::Actionability, Cause::Covered), "{}", failure.message);
    assert_eq!(failure.facts.blocker.as_deref(), Some("div#overlay"));
    assert!(!failure.evidence.input_sent);
    assert_eq!(lab.eval("log.length").await, 0);
}

#[tokio::test]
async fn what_cannot_be_acted_on_says_why() {
    let page = "<button id=off disabled>Off</button><button id=gone style='visibility:hidden'>Gone</button>\
        <div style='position:relative'><button id=moving style='position:absolute'>Moving</button></div><input id=fixed readonly>\
        <table role=grid><td id=cell>7</table>\
        <button id=far style='position:fixed;top:-500px'>Far</button>\
        <script>let x = 0; const go = () => { moving.style.left = (x++ % 300) + 'px'; requestAnimationFrame(go); }; go();</script>";
    let mut lab = lab(&[("/", page)]).await;
    for (target, cause) in [
        ("#off", Cause::NotEnabled),
        ("#gone", Cause::NotVisible),
        ("#moving", Cause::NotStable),
        ("#far", Cause::NotInView),
    ] {
        let failure = failed(lab.click(target).await);
        assert_eq!((failure.stage, failure.cause), (Stage::Actionability, cause), "{target}: {}", failure.message);
        assert!(!failure.evidence.input_sent);
    }
    for (target, hint) in [("#fixed", "is read-only; "), ("#cell", "double-click it")] {
        let typed = json!({"type": "type", "targetRef": "it", "text": "x", "timeoutMs": 500});
        let failure = failed(lab.step(json!({"it": css_of(target)}), typed).await);
        assert_eq!(failure.cause, Cause::NotEditable);
        assert!(failure.message.contains(hint), "{}", failure.message);
    }
}

#[tokio::test]
async fn scrolling_brings_a_target_from_under_a_sticky_header() {
    let page = "<div style='position:fixed;top:0;left:0;right:0;height:200px;background:red' id=head></div>\
        <div style='height:3000px'></div><button id=go onclick='document.title = \"hit\"'>Go</button><div style='height:3000px'></div>\
        <script>addEventListener('load', () => scrollTo(0, 3050));</script>";
    let mut lab = lab(&[("/", page)]).await;
    succeeded(lab.click("#go").await);
    assert_eq!(lab.eval("document.title").await, "hit");
}

#[tokio::test]
async fn clicks_have_buttons_counts_modifiers_and_positions() {
    let page = "<div id=it style='width:200px;height:100px;background:gray'>x</div><script>let seen = []; \
        for (const t of ['click', 'dblclick', 'contextmenu', 'auxclick']) it.addEventListener(t, (e) => { e.preventDefault(); \
        seen.push([t, e.button, e.shiftKey, Math.round(e.offsetX), Math.round(e.offsetY)].join(' ')); });</script>";
    let mut lab = lab(&[("/", page)]).await;
    let it = json!({"it": css_of("#it")});
    for (more, expected) in [
        (json!({"count": 2, "modifiers": ["Shift"]}), "click 0 true 100 50,click 0 true 100 50,dblclick 0 true 100 50"),
        (json!({"position": {"x": 10, "y": 20}}), "click 0 false 10 20"),
        (json!({"button": "right"}), "contextmenu 2 false 100 50,auxclick 2 false 100 50"),
        (json!({"button": "middle"}), "auxclick 1 false 100 50"),
        (json!({"dryRun": true}), ""),
    ] {
        let mut step = json!({"type": "click", "targetRef": "it"});
        step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        succeeded(lab.step(it.clone(), step).await);
        assert_eq!(lab.eval("seen.splice(0).join()").await, expected, "{more}");
    }
}

#[tokio::test]
async fn a_label_receives_the_click_for_its_hidden_check_box() {
    let page = "<style>#box{position:absolute;opacity:0;width:0;height:0} .tucked{position:absolute;left:9px;top:50px;width:1px;height:1px} \
        #stars{position:absolute;left:0;top:40px}</style><label>Agree <input type=checkbox id=box></label>\
        <div id=stars><label for=s1>First</label><label for=s2>Second</label></div>\
        <input type=radio id=s1 name=s class=tucked><input type=radio id=s2 name=s class=tucked>\
        <style>.let{position:absolute;clip:rect(0,0,0,0);pointer-events:none}</style><div style='position:relative'>\
        <input type=radio id=l1 name=l class=let><label for=l1>Left</label><input type=radio id=l2 name=l class=let><label for=l2>Right</label></div>\
        <div><button id=hs role=switch aria-checked=false onclick=\"this.ariaChecked = this.ariaChecked !== 'true'\"\
        style='position:absolute;width:1px;height:1px;padding:0;border:0;overflow:hidden;clip:rect(0,0,0,0)'></button><label for=hs>Wifi</label></div>\
        <input type=radio id=r1 name=r><input type=radio id=r2 name=r checked>\
        <div role=switch aria-checked=false id=sw tabindex=0 onclick=\"this.setAttribute('aria-checked', this.getAttribute('aria-checked') !== 'true')\">S</div><p id=p>x</p>";
    let mut lab = lab(&[("/", page)]).await;
    let on = |id: &str| (json!({"it": css_of(id)}), json!({"type": "check", "targetRef": "it"}));
    // The second star lies over the label of the first, as the second radio button that lets the pointer through does.
    for id in ["#box", "#s2", "#l2", "#r1", "#sw", "#hs"] {
        let (candidates, step) = on(id);
        succeeded(lab.step(candidates.clone(), step.clone()).await);
        // Twice is once.
        let again = succeeded(lab.step(candidates, step).await);
        assert!(!again.evidence.input_sent, "{id}");
    }
    assert_eq!(
        lab.eval("[box.checked, s2.checked, l2.checked, r1.checked, sw.ariaChecked, hs.ariaChecked]").await,
        json!([true, true, true, true, "true", "true"])
    );
    succeeded(lab.step(json!({"it": css_of("#box")}), json!({"type": "uncheck", "targetRef": "it"})).await);
    assert_eq!(lab.eval("box.checked").await, false);
    let (candidates, step) = on("#p");
    assert_eq!(failed(lab.step(candidates, step).await).cause, Cause::InvalidArgument);
}

#[tokio::test]
async fn each_click_of_a_count_finds_what_the_one_before_drew() {
    let page = "<button id=it>More</button><output id=o>3</output><script>let shown = 3; it.onclick = () => { const next = shown + 1; \
        requestAnimationFrame(() => { shown = next; o.textContent = next }) }</script>";
    let mut lab = lab(&[("/", page)]).await;
    succeeded(lab.step(json!({"it": css_of("#it")}), json!({"type": "click", "targetRef": "it", "count": 3})).await);
    assert_eq!(lab.eval("o.textContent").await, "6");
}

#[tokio::test]
async fn a_symbol_that_is_all_of_its_target_is_no_cover() {
    let labs = Labs::open().await;
    let svg = "<svg width=40 height=40><path d='M0 0h40v40H0z'/></svg>";
    let chosen = "onclick=\"document.title = 'chosen'\"";
    let star = format!("<b role=radio aria-checked=false tabindex=0 {chosen} style='display:block'>{svg}</b>");
    let delete = format!("<button aria-label=Delete {chosen} style='all:unset;display:block'>{svg}</button>");
    let cases = [
        (star.clone(), true),
        // It would be pressed by another name than its own, or only one of two.
        (delete, false),
        (format!("{star}{star}"), false),
    ];
    for (inner, is_chosen) in cases {
        let page = format!("<ul><li id=it style='display:inline-block'>{inner}</ul>");
        let mut lab = labs.lab(&[("/", &page)]).await;
        let outcome = lab.click("#it").await;
        assert_eq!(matches!(outcome, StepOutcome::Succeeded(_)), is_chosen, "{inner}: {outcome:?}");
        assert_eq!(lab.eval("document.title").await, if is_chosen { "chosen" } else { "" }, "{inner}");
    }
}

#[tokio::test]
async fn what_a_focus_brings_over_its_field_is_no_cover() {
    let labs = Labs::open().await;
    let over =
        "<div id=over hidden style='position:fixed;left:0;top:0;width:300px;height:300px;background:#fff'>1 2 3</div>";
    let opens = "over.hidden = false";
    let clicked = |target: &str| format!("{target}{over}");
    for (target, expected) in [
        (format!("<input id=it onfocus='{opens}'>"), None),
        // A press that gives no focus is not answered by what covers its target.
        (format!("<button id=it onmousedown='{opens}'>Go</button>"), Some(Cause::Covered)),
    ] {
        let mut lab = labs.lab(&[("/", &clicked(&target))]).await;
        let outcome = lab.click("#it").await;
        let cause = if let StepOutcome::Failed(failure) = outcome { Some(failure.cause) } else { None };
        assert_eq!(cause, expected, "{target}");
        assert_eq!(lab.eval("over.hidden").await, false, "{target}");
    }
}

#[tokio::test]
async fn what_is_drawn_anew_without_what_was_entered_is_not_clicked() {
    let labs = Labs::open().await;
    let page = |more: &str| {
        format!(
            "<div id=root></div><p id=said></p><script>const draw = () => {{ root.innerHTML = \
             '<input id=it><button id=go>Save</button>'; it.onblur = () => {{ said.textContent = 'Valid'; draw() }}; \
             go.onclick = () => {{ document.title = 'saved' }}; {more} }}; draw()</script>"
        )
    };
    let typed = json!({"type": "type", "targetRef": "it", "text": "ann"});
    let mut lab = labs.lab(&[("/", &page(""))]).await;
    succeeded(lab.step(json!({"it": css_of("#it")}), typed.clone()).await);
    let failure = failed(lab.click("#go").await);
    assert_eq!((failure.cause, failure.evidence.input_sent), (Cause::InputLost, true), "{}", failure.message);
    assert_eq!(lab.eval("document.title + said.textContent").await, "Valid");
    // What is no control is known by its text.
    let cells = page("go.remove(); root.insertAdjacentHTML('beforeend', '<table><td id=go>Bert')");
    let mut lab = labs.lab(&[("/", &cells)]).await;
    succeeded(lab.step(json!({"it": css_of("#it")}), typed.clone()).await);
    let twice = json!({"type": "click", "targetRef": "it", "count": 2});
    assert_eq!(failed(lab.step(json!({"it": css_of("#go")}), twice).await).cause, Cause::TargetStale);
    // What a press itself did is an answer, whatever the page draws then.
    let mut lab =
        labs.lab(&[("/", &page("go.onmousedown = () => { go.remove(); document.title = 'pressed' };"))]).await;
    succeeded(lab.step(json!({"it": css_of("#it")}), typed).await);
    succeeded(lab.click("#go").await);
    assert_eq!(lab.eval("document.title").await, "pressed");
}

#[tokio::test]
async fn a_label_that_makes_up_the_target_works_its_control() {
    let labs = Labs::open().await;
    let label = "<label style='display:block;padding:8px'><input type=checkbox> Red</label>";
    for (target, is_on) in [
        (format!("<div id=it>{label}</div>"), true),
        (format!("<div id=it role=option tabindex=0><div>{label}</div></div>"), true),
        ("<div id=it><label for=box style='display:block'>Red</label></div><input id=box type=checkbox>".into(), true),
        (format!("<div id=it>{label}<p style='padding:20px'>A colour</p></div>"), false),
    ] {
        let mut lab = labs.lab(&[("/", &target)]).await;
        succeeded(lab.click("#it").await);
        assert_eq!(lab.eval("document.querySelector('input').checked").await, is_on, "{target}");
    }
}

#[tokio::test]
async fn the_part_that_says_what_the_target_is_called_is_pressed() {
    // A sign for the order, which no name has, appears and hides; a filter stands beside.
    let page = "<div role=columnheader id=it style='display:flex;width:200px;height:40px;padding:0 16px'><div id=label style='flex:1;cursor:pointer'>\
        Price<i id=sign aria-hidden=true hidden>▲</i></div><span id=filter aria-hidden=true>≡</span></div><script>window.log = []; \
        label.onclick = () => { sign.hidden = !sign.hidden; log.push('sorted') }; filter.onclick = () => log.push('filter')</script>";
    let mut lab = lab(&[("/", page)]).await;
    for _ in 0..3 {
        succeeded(lab.click("#it").await);
    }
    assert_eq!(lab.eval("log.join()").await, "sorted,sorted,sorted");
}

#[tokio::test]
async fn what_lies_in_the_part_that_makes_up_the_target_is_pressed() {
    // The listener is on the inner part, and a sign comes into its middle.
    let page = "<div role=columnheader id=it style='width:200px;padding:0 20px'><div id=label style='cursor:pointer;display:flex;justify-content:center'>\
        Age</div></div><script>let sorted = 0; label.onclick = () => { sorted++; label.innerHTML = '<span>Age</span>'; label.firstChild.setAttribute('style', 'padding:0 30px') }</script>";
    let mut lab = lab(&[("/", page)]).await;
    succeeded(lab.click("#it").await);
    succeeded(lab.click("#it").await);
    assert_eq!(lab.eval("sorted").await, 2);
}

#[tokio::test]
async fn an_entry_that_is_taken_on_the_press_was_clicked() {
    let labs = Labs::open().await;
    let page = |ends: &str| {
        format!(
            "<input id=it><div id=list><div id=go>Graz, Austria</div></div><script>const take = () => {{ it.value = 'Graz, Austria'; {ends} }}; \
             go.onmousedown = take</script>"
        )
    };
    let redrawn = "list.innerHTML = list.innerHTML; list.firstChild.onmousedown = take";
    for ends in ["list.style.display = 'none'", "list.hidden = true", redrawn] {
        let mut lab = labs.lab(&[("/", &page(ends))]).await;
        let it = json!({"it": css_of("#it")});
        succeeded(lab.step(it, json!({"type": "type", "targetRef": "it", "text": "Gra"})).await);
        succeeded(lab.click("#go").await);
        assert_eq!(lab.eval("it.value").await, "Graz, Austria", "{ends}");
    }
}

#[tokio::test]
async fn what_is_drawn_anew_as_the_focus_leaves_a_field_is_pressed_again() {
    let page = "<div id=root></div><script>let name = '', on = false; window.heard = []; const draw = () => { root.innerHTML = \
        `<input id=name value=\"${name}\"><label>Accept <input type=checkbox id=box ${on ? 'checked' : ''}></label><button id=go>Go</button>`; \
        root.querySelector('#name').onchange = (e) => { name = e.target.value; draw() }; box.onchange = () => { on = box.checked; heard.push(on) }; \
        PRESS; go.onclick = () => heard.push('go') }; draw()</script>";
    let labs = Labs::open().await;
    let cases = [
        ("click", "#box", "", json!([true])),
        ("check", "#box", "", json!([true])),
        ("click", "#go", "", json!(["go"])),
    ];
    // A press that already did something is not made again.
    let toggles = "box.onmousedown = () => { on = !on; heard.push(on); draw() }";
    let sends = "go.onmousedown = () => { heard.push('sent'); document.body.append('Sent') }";
    let once = [("click", "#box", toggles, json!([true])), ("click", "#go", sends, json!(["sent"]))];
    for (verb, target, press, heard) in cases.into_iter().chain(once) {
        let mut lab = labs.lab(&[("/", &page.replace("PRESS", press))]).await;
        let set = json!({"type": "setValue", "targetRef": "n", "value": "Ada"});
        succeeded(lab.step(json!({"n": css_of("#name")}), set).await);
        let outcome = lab.step(json!({"it": css_of(target)}), json!({"type": verb, "targetRef": "it"})).await;
        assert_eq!(lab.eval("heard").await, heard, "{verb} {target} {press}: {outcome:?}");
        if press.is_empty() {
            succeeded(outcome);
        }
        assert_eq!(lab.eval("name").await, "Ada");
    }
}
