//! Text, values and keys.

use cuebook_grammar::outcome::{Cause, StepOutcome};
use serde_json::json;

use crate::lab::{Labs, css_of, failed, lab, succeeded};

#[tokio::test]
async fn typing_reaches_a_field_that_listens_to_keys() {
    let page = "<input id=i><script>let keys = []; i.addEventListener('keydown', (e) => keys.push(e.key)); \
        i.addEventListener('keypress', (e) => { if (!/[0-9]/.test(e.key)) e.preventDefault(); });</script>";
    let mut lab = lab(&[("/", page)]).await;
    let failure =
        failed(lab.step(json!({"i": css_of("#i")}), json!({"type": "type", "targetRef": "i", "text": "a1b2"})).await);
    assert_eq!(failure.cause, Cause::PostconditionFailed);
    assert_eq!(lab.eval("[i.value, keys.join('')]").await, json!(["12", "a1b2"]));
    succeeded(lab.step(json!({"i": css_of("#i")}), json!({"type": "type", "targetRef": "i", "text": "34"})).await);
    assert_eq!(lab.eval("i.value").await, "1234");
}

#[tokio::test]
async fn values_are_typed_set_and_cleared() {
    let page = "<input id=t value='ab'><input id=m type=email value='a@b.c'><textarea id=x>one</textarea><input id=d type=date><input id=c type=color>\
        <input id=r type=range min=0 max=10><div id=e contenteditable>old</div><input id=n type=number value=5>\
        <script>let heard = []; for (const t of ['input', 'change']) document.addEventListener(t, (e) => heard.push(t + ' ' + e.target.id));</script>";
    let mut lab = lab(&[("/", page)]).await;
    let cases = [
        (json!({"type": "type", "targetRef": "it", "text": "cé😀"}), "#t", "t.value", "abcé😀"),
        (json!({"type": "type", "targetRef": "it", "text": "om"}), "#m", "m.value", "a@b.com"),
        (json!({"type": "type", "targetRef": "it", "text": "\ntwo"}), "#x", "x.value", "one\ntwo"),
        (json!({"type": "type", "targetRef": "it", "text": "er"}), "#e", "e.textContent", "older"),
        (json!({"type": "setValue", "targetRef": "it", "value": "new"}), "#t", "t.value", "new"),
        (json!({"type": "setValue", "targetRef": "it", "value": "new"}), "#e", "e.textContent", "new"),
        (json!({"type": "setValue", "targetRef": "it", "value": "42"}), "#n", "n.value", "42"),
        (json!({"type": "setValue", "targetRef": "it", "value": "2025-01-31"}), "#d", "d.value", "2025-01-31"),
        (json!({"type": "setValue", "targetRef": "it", "value": "#AABBCC"}), "#c", "c.value", "#aabbcc"),
        (json!({"type": "setValue", "targetRef": "it", "value": "7"}), "#r", "r.value", "7"),
        (json!({"type": "clear", "targetRef": "it"}), "#t", "t.value", ""),
        (json!({"type": "clear", "targetRef": "it"}), "#e", "e.textContent", ""),
        (json!({"type": "clear", "targetRef": "it"}), "#d", "d.value", ""),
    ];
    for (mut step, target, read, expected) in cases {
        if target == "#c" {
            step["post"] = json!([{"kind": "valueEquals", "target": "it", "value": "#aabbcc"}]);
        }
        succeeded(lab.step(json!({"it": css_of(target)}), step.clone()).await);
        assert_eq!(lab.eval(read).await, expected, "{step}");
    }
    assert_eq!(lab.eval("heard.includes('input d') && heard.includes('change d')").await, true);
    let bad = json!({"type": "setValue", "targetRef": "it", "value": "yesterday"});
    assert_eq!(failed(lab.step(json!({"it": css_of("#d")}), bad).await).cause, Cause::InvalidArgument);
}

#[tokio::test]
async fn a_form_that_is_drawn_anew_with_each_key_gets_all_of_them() {
    let page = "<div id=root></div><script>let name = '', draws = 0; const draw = () => { draws++; const at = document.activeElement?.selectionStart; \
        root.innerHTML = `<label>Name <input id=it value=\"${name}\"></label>`; it.oninput = () => { name = it.value; draw() }; \
        if (at !== undefined) { FOCUS } }; draw()</script>";
    let typed = json!({"type": "type", "targetRef": "it", "text": "Ada"});
    let labs = Labs::open().await;
    let mut lab = labs.lab(&[("/", &page.replace("FOCUS", "it.focus(); it.setSelectionRange(at, at)"))]).await;
    succeeded(lab.step(json!({"it": css_of("#it")}), typed.clone()).await);
    assert_eq!(lab.eval("[name, draws]").await, json!(["Ada", 4]));
    let set = json!({"type": "setValue", "targetRef": "it", "value": "Eve"});
    let success = succeeded(lab.step(json!({"it": css_of("#it")}), set).await);
    assert!(success.evidence.post[0].latency_ms.is_some(), "it was seen before the end of the step");
    // Nobody could go on typing here.
    let mut lab = labs.lab(&[("/", &page.replace("FOCUS", ""))]).await;
    assert_eq!(failed(lab.step(json!({"it": css_of("#it")}), typed).await).cause, Cause::TargetStale);
    assert_eq!(lab.eval("name").await, "A");
}

#[tokio::test]
async fn what_a_field_completes_with_the_rest_selected_was_entered() {
    let page = "<input id=it><script>it.oninput = () => { const at = it.value.length; if ('germany'.startsWith(it.value.toLowerCase()) && at > 1) { \
        it.value = WHOLE; it.setSelectionRange(at, it.value.length) } }</script>";
    let typed = |text: &str| json!({"type": "type", "targetRef": "it", "text": text});
    let labs = Labs::open().await;
    for (whole, is_there) in [("'germany'", true), ("'Albania'", false)] {
        let mut lab = labs.lab(&[("/", &page.replace("WHOLE", whole))]).await;
        let outcome = lab.step(json!({"it": css_of("#it")}), typed("Ger")).await;
        assert_eq!(matches!(outcome, StepOutcome::Succeeded(_)), is_there, "{whole}: {outcome:?}");
    }
}

#[tokio::test]
async fn text_goes_on_where_an_editor_has_put_the_caret_at_its_end() {
    let page = "<div id=it contenteditable><p>One</p><p id=line><br></p><p id=last><br></p></div><script>\
        it.focus(); getSelection().collapse(LINE, 0)</script>";
    let labs = Labs::open().await;
    for (line, text) in [("line", "One|two|"), ("it.firstChild.firstChild", "One||two")] {
        let mut lab = labs.lab(&[("/", &page.replace("LINE", line))]).await;
        let typed = json!({"type": "type", "targetRef": "it", "text": "two"});
        succeeded(lab.step(json!({"it": css_of("#it")}), typed).await);
        assert_eq!(lab.eval("[...it.children].map((one) => one.textContent).join('|')").await, text, "{line}");
    }
}

#[tokio::test]
async fn text_spreads_over_boxes_of_one_character_and_over_no_others() {
    let (three, four) = ("<input>".repeat(3), "<input>".repeat(4));
    let page = |fields: &str, script: &str| {
        format!(
            "<style>input{{width:40px;height:30px}}</style><input id=other style='width:300px'>{fields}<script>\
             const boxes = [...document.querySelectorAll('input')].slice(1); {script}</script>"
        )
    };
    let spreads = |how: &str| {
        format!("boxes.forEach((box, at) => box.oninput = () => {{ box.value = box.value.slice(-1); {how} }})")
    };
    let next = spreads("boxes[at + 1]?.focus()");
    let late = spreads("setTimeout(() => boxes[at + 1]?.focus(), 40)");
    let labs = Labs::open().await;
    for (page, text, expected) in [
        (page(&format!("<div>{four}</div>"), &next), "1234", "1,2,3,4"),
        // A page passes on the focus once it has drawn itself; a row need not have a parent of its own.
        (page(&four, &late), "1234", "1,2,3,4"),
        (page(&format!("<div>{three}<b>-</b>{three}</div>"), &next), "123456", "1,2,3,4,5,6"),
        (page(&format!("{three}<b>-</b>{three}"), &next), "123456", "1,2,3,4,5,6"),
        (page("<div><input><input><input value=255></div>", ""), "12", "12,,255"),
    ] {
        let mut lab = labs.lab(&[("/", &page)]).await;
        let first = json!({"it": {"strategy": "css", "selector": "input:not(#other)", "nth": 0}});
        succeeded(lab.step(first, json!({"type": "type", "targetRef": "it", "text": text})).await);
        assert_eq!(lab.eval("boxes.map((box) => box.value).join()").await, expected, "{page}");
    }
    // A shadow root is a parent, and no element.
    let shadow = "<div id=host></div><script>const root = host.attachShadow({ mode: 'open' }); \
        root.innerHTML = \"<input style='width:300px'><input id=it style='width:40px;height:30px'>\"</script>";
    let mut lab = labs.lab(&[("/", shadow)]).await;
    succeeded(lab.step(json!({"it": css_of("#it")}), json!({"type": "type", "targetRef": "it", "text": "12"})).await);
    assert_eq!(lab.eval("root.querySelector('#it').value").await, "12");
}

#[tokio::test]
async fn a_field_for_tags_passes_on_what_is_typed() {
    let page = |keeps: &str| {
        format!(
            "<h1>Tags</h1><div><p><span id=tags></span><input id=i></p></div><script>i.addEventListener('input', () => {{ \
             if (!i.value.endsWith(',')) return; const tag = i.value.slice(0, -1); i.value = ''; {keeps} }})</script>"
        )
    };
    let typed = |text: &str| json!({"type": "type", "targetRef": "i", "text": text});
    for text in ["red,", "red,blue", "red, blue"] {
        let mut lab = lab(&[("/", &page("tags.append(tag + ' ')"))]).await;
        succeeded(lab.step(json!({"i": css_of("#i")}), typed(text)).await);
        let left = lab.eval("tags.textContent + i.value.trim()").await;
        assert_eq!(left, if text == "red," { "red " } else { "red blue" });
        let mut lab = self::lab(&[("/", &page(""))]).await;
        let failure = failed(lab.step(json!({"i": css_of("#i")}), typed(text)).await);
        assert_eq!(failure.cause, Cause::PostconditionFailed, "{text}: it is nowhere");
    }
}

#[tokio::test]
async fn a_field_may_change_in_the_frame_after_its_focus() {
    let labs = Labs::open().await;
    let selects = "this.select()";
    let unlocks = "this.readOnly = false";
    let locked = format!("<input id=i readonly onfocus=\"setTimeout(() => {unlocks})\" onblur='this.readOnly = true'>");
    let (typed, set) = (json!({"type": "type", "text": "Bet"}), json!({"type": "setValue", "value": "Bet"}));
    for (field, mut step, expected) in [
        (format!("<input id=i onfocus=\"requestAnimationFrame(() => {selects})\">"), typed.clone(), "Bet"),
        (format!("<input id=i value=Al onfocus=\"requestAnimationFrame(() => {selects})\">"), typed.clone(), "AlBet"),
        (locked.clone(), typed, "Bet"),
        (locked, set, "Bet"),
    ] {
        let mut lab = labs.lab(&[("/", &format!("{field}<input>"))]).await;
        step["targetRef"] = json!("i");
        succeeded(lab.step(json!({"i": css_of("#i")}), step).await);
        assert_eq!(lab.eval("i.value").await, expected, "{field}");
    }
}

#[tokio::test]
async fn what_is_selected_in_a_field_with_the_focus_gives_way_to_what_is_typed() {
    let page =
        "<input id=t value=hello><input id=n type=number value=12><div id=e contenteditable>one two</div><p id=p>x</p>";
    let mut lab = lab(&[("/", page)]).await;
    lab.eval("t.focus(), t.setSelectionRange(2, 4)").await;
    let typed = |text: &str| json!({"type": "type", "targetRef": "it", "text": text});
    succeeded(lab.step(json!({"it": css_of("#t")}), typed("y")).await);
    assert_eq!(lab.eval("t.value").await, "heyo");
    for (css, text, read) in [("#n", "7", "n.value"), ("#e", "three", "e.textContent")] {
        let it = json!({"it": css_of(css)});
        lab.eval(&format!("document.querySelector('{css}').focus()")).await;
        succeeded(lab.step(it.clone(), json!({"type": "selectText", "targetRef": "it"})).await);
        succeeded(lab.step(it, typed(text)).await);
        assert_eq!(lab.eval(read).await, text);
    }
    // Without the focus, what was selected once does not count.
    lab.eval("t.setSelectionRange(0, 2), e.focus()").await;
    succeeded(lab.step(json!({"it": css_of("#t")}), typed("!")).await);
    assert_eq!(lab.eval("t.value").await, "heyo!");
}

#[tokio::test]
async fn an_element_that_cannot_be_focused_leaves_the_focus_where_it_is() {
    let mut lab = lab(&[("/", "<input id=i><p id=p>x</p>")]).await;
    lab.eval("i.focus()").await;
    let success = succeeded(lab.step(json!({"p": css_of("#p")}), json!({"type": "focus", "targetRef": "p"})).await);
    assert!(success.evidence.no_observed_effect);
    assert_eq!(lab.eval("document.activeElement.id").await, "i");
}

#[tokio::test]
async fn keys_and_chords_arrive() {
    let page = "<form onsubmit=\"document.title = 'sent'; return false\"><input id=i value=text></form>\
        <script>let keys = []; addEventListener('keydown', (e) => keys.push([e.ctrlKey, e.shiftKey, e.key, e.code].join(' ')));</script>";
    let mut lab = lab(&[("/", page)]).await;
    let i = json!({"i": css_of("#i")});
    succeeded(lab.step(i.clone(), json!({"type": "press", "targetRef": "i", "keys": "Enter", "post": [{"kind": "titleMatches", "pattern": "sent"}]})).await);
    succeeded(lab.step(i.clone(), json!({"type": "press", "keys": "Control+Shift+K"})).await);
    assert_eq!(lab.eval("keys.at(-1)").await, "true true K KeyK");
    succeeded(lab.step(i.clone(), json!({"type": "press", "targetRef": "i", "keys": "Control+a"})).await);
    assert_eq!(lab.eval("i.selectionEnd - i.selectionStart").await, 4);
    assert_eq!(failed(lab.step(i, json!({"type": "press", "keys": "Hyper+q"})).await).cause, Cause::InvalidArgument);
}

#[tokio::test]
async fn an_editor_with_a_hidden_text_area_gets_what_is_typed() {
    let page = "<style>.editor { position: relative; width: 400px; height: 120px } .lines { cursor: text; min-height: 100px }</style>\
        <div class=editor><div style='overflow: hidden; position: relative; width: 3px; height: 0'>\
        <textarea id=i style='position: absolute; bottom: -1em; width: 1000px; height: 1em'></textarea></div>\
        <div class=lines><pre id=line></pre></div></div>\
        <script>i.addEventListener('input', () => { line.textContent += i.value; i.value = ''; });</script>";
    let mut lab = lab(&[("/", page)]).await;
    let step = json!({"type": "type", "targetRef": "i", "text": "let a = 1;"});
    succeeded(lab.step(json!({"i": css_of("#i")}), step).await);
    assert_eq!(lab.eval("line.textContent").await, "let a = 1;");
}

#[tokio::test]
async fn a_field_that_is_as_wide_as_its_text_is_typed_into() {
    let labs = Labs::open().await;
    for (cursor, cause) in [("text", None), ("default", Some(Cause::NotVisible))] {
        let page = format!(
            "<div style='display:flex;width:300px;cursor:{cursor}'><b>one</b><input id=i style='border:0;padding:0;width:0' \
             oninput=\"i.style.width = i.value.length + 'ch'\"></div>"
        );
        let mut lab = labs.lab(&[("/", &page)]).await;
        let step = json!({"type": "type", "targetRef": "i", "text": "two"});
        let outcome = lab.step(json!({"i": css_of("#i")}), step).await;
        let seen = if let StepOutcome::Failed(failure) = outcome { Some(failure.cause) } else { None };
        assert_eq!(seen, cause, "{cursor}");
        assert_eq!(lab.eval("i.value").await, if cause.is_none() { "two" } else { "" });
    }
}

#[tokio::test]
async fn a_mask_is_filled_at_its_first_blank() {
    let labs = Labs::open().await;
    // Only what is typed at a blank counts, as with masks that show their blanks.
    let mask = "let raw = ''; const draw = () => { let k = 0; i.value = '__-____'.replaceAll('_', () => raw[k++] ?? '_'); \
        const at = i.value.indexOf('_'); if (at >= 0) i.setSelectionRange(at, at) }; let at = 0; \
        i.onbeforeinput = () => { at = i.selectionStart }; i.oninput = (event) => { \
        if (!event.data) raw = ''; else if (at < i.value.length - 1 && raw.length < 6) raw += event.data; draw() }; draw()";
    let text = "let raw; i.value = 'snake_'";
    for (script, expected) in [(mask, "ab-1234"), (text, "snake_ab1234")] {
        let mut lab = labs.lab(&[("/", &format!("<input id=i><script>{script}</script>"))]).await;
        let it = json!({"i": css_of("#i")});
        succeeded(lab.step(it.clone(), json!({"type": "type", "targetRef": "i", "text": "ab1234"})).await);
        assert_eq!(lab.eval("i.value").await, expected);
        succeeded(lab.step(it, json!({"type": "clear", "targetRef": "i"})).await);
    }
}

#[tokio::test]
async fn a_value_that_a_field_does_not_take_leaves_what_is_in_it() {
    let page = "<input id=number type=number value=12><input id=short maxlength=3 value=abc><textarea id=area maxlength=3>abc</textarea>\
        <input id=date type=date value=2025-01-31><input id=color type=color value=#112233><input id=range type=range value=7>\
        <select id=select><option>One<option>Two</select>";
    let mut lab = lab(&[("/", page)]).await;
    for (field, value, kept) in [
        ("number", "twelve", "12"),
        ("number", "1,5", "12"),
        ("short", "abcd", "abc"),
        ("area", "abcd", "abc"),
        ("date", "tomorrow", "2025-01-31"),
        ("color", "reddish", "#112233"),
        ("range", "most", "7"),
        ("select", "Three", "One"),
    ] {
        let step = json!({"type": "setValue", "targetRef": "it", "value": value});
        let failure = failed(lab.step(json!({"it": css_of(&format!("#{field}"))}), step).await);
        let expected = if field == "select" { Cause::OptionNotFound } else { Cause::InvalidArgument };
        assert_eq!(failure.cause, expected, "{field}: {}", failure.message);
        assert_eq!(lab.eval(&format!("document.querySelector('#{field}').value")).await, kept, "{field}");
    }
}

#[tokio::test]
async fn a_box_is_checked_where_the_step_says_or_not_at_all_in_a_dry_run() {
    let page = "<div id=it role=checkbox aria-checked=false style='width:200px;height:40px' \
        onclick=\"if (event.offsetX < 20) this.ariaChecked = 'true'; else document.title = 'missed'\">x</div>";
    let mut lab = lab(&[("/", page)]).await;
    let it = json!({"it": css_of("#it")});
    let dry = json!({"type": "check", "targetRef": "it", "dryRun": true});
    let success = succeeded(lab.step(it.clone(), dry).await);
    assert!(!success.evidence.input_sent);
    assert_eq!(lab.eval("it.ariaChecked").await, "false");
    succeeded(lab.step(it, json!({"type": "check", "targetRef": "it", "position": {"x": 5, "y": 5}})).await);
    assert_eq!(lab.eval("[it.ariaChecked, document.title].join()").await, "true,");
}

#[tokio::test]
async fn what_follows_a_line_break_stands_in_the_line_that_it_began() {
    // It makes a paragraph of a line break, and leaves the caret in the one before.
    let page = "<div id=it contenteditable><p><br></p></div><script>it.addEventListener('beforeinput', (e) => { \
        if (!e.data?.includes('\\n') && !/^insert(Paragraph|LineBreak)$/.test(e.inputType)) return; \
        e.preventDefault(); const { anchorNode } = getSelection(); const p = document.createElement('p'); \
        p.append(document.createElement('br')); (anchorNode.parentElement.closest('p') ?? anchorNode).after(p); \
        });</script>";
    let mut lab = lab(&[("/", page)]).await;
    succeeded(
        lab.step(json!({"it": css_of("#it")}), json!({"type": "type", "targetRef": "it", "text": "one\ntwo\nthree"}))
            .await,
    );
    assert_eq!(
        lab.eval("Array.from(it.querySelectorAll('p'), (p) => p.innerText.trim())").await,
        json!(["one", "two", "three"])
    );
}

#[tokio::test]
async fn what_is_typed_into_a_part_of_a_date_replaces_it() {
    let page = "<span id=it role=spinbutton contenteditable aria-label=Day>03</span><script>let typed = ''; \
        it.addEventListener('beforeinput', (e) => { e.preventDefault(); typed += e.data; \
        it.textContent = typed.padStart(2, '0'); });</script>";
    let mut lab = lab(&[("/", page)]).await;
    let it = json!({"it": css_of("#it")});
    succeeded(lab.step(it.clone(), json!({"type": "type", "targetRef": "it", "text": "7"})).await);
    assert_eq!(lab.eval("it.textContent").await, "07");
    let failure = failed(lab.step(it, json!({"type": "type", "targetRef": "it", "text": "9"})).await);
    assert_eq!(failure.cause, Cause::PostconditionFailed, "it holds 79");
}

#[tokio::test]
async fn a_field_that_works_by_keys_gets_all_of_them() {
    let page = "<input id=it value='yyyy-mm'><script>let digits = ''; it.onkeydown = (e) => { if (!/^[0-9]$/.test(e.key)) return; e.preventDefault(); \
        digits += e.key; it.value = digits.padEnd(6, '-') }; it.onfocus = () => { it.value = '' }</script>";
    let mut lab = lab(&[("/", page)]).await;
    let typed = json!({"type": "type", "targetRef": "it", "text": "202405", "post": [{"kind": "valueEquals", "target": "it", "value": "202405"}]});
    succeeded(lab.step(json!({"it": css_of("#it")}), typed).await);
}

#[tokio::test]
async fn a_card_number_that_the_page_groups_is_the_one_that_was_entered() {
    let labs = Labs::open().await;
    let page = "<input id=it autocomplete=cc-number oninput=\"this.value = this.value.replace(/\\D/g, '').replace(/(.{4})(?=.)/g, '$1 ')\">";
    for verb in ["type", "setValue"] {
        let mut lab = labs.lab(&[("/", page)]).await;
        let text = if verb == "type" { "text" } else { "value" };
        let step = json!({"type": verb, "targetRef": "it", text: "4242424242424242"});
        let success = succeeded(lab.step(json!({"it": css_of("#it")}), step).await);
        assert_eq!(lab.eval("it.value").await, "4242 4242 4242 4242", "{verb}");
        assert!(!format!("{:?}", success.evidence).contains("4242"), "{verb}");
    }
}
