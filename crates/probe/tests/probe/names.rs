//! Roles and names, beside the browser's own.

use serde_json::json;

use crate::stage::{locate, only, stage, until};

#[tokio::test(flavor = "multi_thread")]
async fn roles_and_names_agree_with_the_browsers_own() {
    let stage = stage().await;
    let (_page, probe) = stage
        .page_of(
            r##"<button>Save <b>now</b></button><button aria-label="Close dialog">x</button><button title=tip></button>
            <span id=l1>Hello</span><button aria-labelledby="l1">nope</button>
            <label for=i1>Name <em>required</em></label><input id=i1><label>Wrap <input value=v> times</label>
            <label>Email<input>required</label><label>Terms<span><input type=checkbox></span>apply</label>
            <button>a<span style="visibility:hidden">b<i style="visibility:visible">c</i></span></button>
            <label>Flash <input type=checkbox> the screen <input value=3> times</label>
            <input placeholder="Search here"><input type=submit><input type=image alt=Buy><input type=number aria-label=n>
            <a href=#>Link <img alt=pic src=x></a><select aria-label=s><option>A</select><textarea title=t></textarea>
            <details><summary>More</summary>x</details><div role="foo button">a<div>b</div>c</div>
            <div role=button>Div <span hidden>no</span><span aria-hidden=true>no</span> btn</div>
            <div role=switch aria-checked=true>sw</div><h3>Head</h3><div role=tab>tb</div><button><img src=a alt=Del></button>"##,
        )
        .await;
    let located = locate(
        &probe,
        json!({ "strategy": "css", "selector": "button, input, a, select, textarea, summary, [role], h3" }),
    )
    .await;
    assert_eq!(located.matches.len(), 25);
    let keys: Vec<_> = located.matches.iter().map(|found| found.key.clone()).collect();
    let names = probe.browser_names(&keys, until()).await.unwrap();
    for found in &located.matches {
        let browser = &names[&found.key];
        assert_eq!((browser.role, &browser.name), (Some(found.facts.role), &found.facts.name), "{:?}", found.facts);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_from_content_omits_menus_and_includes_values() {
    let stage = stage().await;
    let (_page, probe) = stage
        .page_of(
            "<label for=a>Flash <span role=menu><span role=menuitem>1</span></span> times</label><input id=a>\
             <label for=b>Flash <span role=combobox aria-label=n tabindex=0>3</span> times</label><input id=b>\
             <label for=c>Flash <span role=combobox aria-owns=l></span> times</label><input id=c>\
             <ul id=l role=listbox><li role=option>1<li role=option aria-selected=true>2</ul>\
             <button id=d>one<span><span> </span></span>two</button>\
             <ul role=menu><li id=e role=menuitem><span>File</span><ul role=menu><li role=menuitem>New</ul>\
             <li id=f role=menuitem>Edit <div><ul><li role=menuitem>Cut</ul></div>\
             <li id=g role=menuitem>Two <ul><li>lines</ul></ul>",
        )
        .await;
    let menus = [("#e", "File"), ("#f", "Edit"), ("#g", "Two lines")];
    let others = [("#a", "Flash times"), ("#b", "Flash 3 times"), ("#c", "Flash 2 times"), ("#d", "one two")];
    for (selector, name) in others.into_iter().chain(menus) {
        assert_eq!(only(&probe, selector).await.name, name, "{selector}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_the_page_states_counts_for_every_role() {
    let stage = stage().await;
    let (_page, probe) = stage
        .page_of(
            "<div id=a aria-label=Box>x</div><div id=b aria-labelledby=c>x</div><p id=c>Word</p>\
             <iframe id=d title=Frame></iframe><abbr id=e title=Full>F</abbr><div id=f title=Tip>x</div>\
             <div id=g role=none aria-label=No>x</div>",
        )
        .await;
    for (selector, name) in [("#a", "Box"), ("#b", "Word"), ("#c", ""), ("#d", "Frame"), ("#e", "Full"), ("#f", "")] {
        assert_eq!(only(&probe, selector).await.name, name, "{selector}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn words_do_not_run_together_where_the_labelled_field_stands_between_them() {
    let stage = stage().await;
    let (_page, probe) = stage
        .page_of(
            "<style>.must::after { content: 'required' } .pre::before { content: 'Your' }</style>\
             <label>Email<input id=a>required</label><label class=must>Email<input id=b></label>\
             <label class=pre><input id=c>email</label><label>Terms<span><input type=checkbox id=d></span>apply</label>\
             <label>Size<select id=e><option>S</select>of shirt</label>\
             <label>Al<b>mo</b>st<input id=f></label>",
        )
        .await;
    for (selector, name) in [
        ("#a", "Email required"),
        ("#b", "Email required"),
        ("#c", "Your email"),
        ("#d", "Terms apply"),
        ("#e", "Size of shirt"),
        ("#f", "Almost"),
    ] {
        let facts = only(&probe, selector).await;
        assert_eq!((facts.name.as_str(), facts.labels), (name, vec![name.to_owned()]), "{selector}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_visible_within_the_invisible_is_a_part_of_a_name() {
    let stage = stage().await;
    let (_page, probe) = stage
        .page_of(
            "<style>.off { visibility: hidden } .on { visibility: visible }</style>\
             <button id=a>Buy <span class=off>now <b class=on>today</b> or <i>never</i></span></button>\
             <button id=b><span class=off>x<span class=on style='display:none'>y</span></span>Go</button>\
             <span id=l class=off>gone <b class=on>Shown</b></span><input id=c aria-labelledby=l>\
             <button id=d>Up<span class=off aria-hidden=true><b class=on>date</b></span></button>",
        )
        .await;
    for (selector, name) in [("#a", "Buy today"), ("#b", "Go"), ("#c", "gone Shown"), ("#d", "Up")] {
        assert_eq!(only(&probe, selector).await.name, name, "{selector}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_has_each_part_of_the_page_once() {
    let stage = stage().await;
    let (_page, probe) = stage
        .page_of(
            "<p id=outer>Ship <b id=inner>today</b></p>\
             <input id=a aria-labelledby='outer inner'><input id=b aria-labelledby='inner outer'>\
             <input id=c aria-labelledby='inner inner'><input id=d aria-labelledby='inner'>\
             <input id=e aria-labelledby='outer'><input id=f aria-labelledby='e outer' aria-label=Way>\
             <h2 id=g>Ship <span id=s>today</span> <input type=checkbox aria-labelledby=s></h2>\
             <button id=h aria-labelledby='h inner'>Send</button><i id=i aria-describedby='outer inner'>x</i>",
        )
        .await;
    let all = "#a, #b, #c, #d, #e, #f, #g, #h";
    let located = locate(&probe, json!({ "strategy": "css", "selector": all })).await;
    let names: Vec<&str> = located.matches.iter().map(|found| found.facts.name.as_str()).collect();
    // Read together, in any order, each has the name that it has alone.
    let expected =
        ["Ship today", "today Ship", "today", "today", "Ship today", "Ship today", "Ship today", "Send today"];
    assert_eq!(names, expected);
    for (selector, name) in all.split(", ").zip(expected) {
        assert_eq!(only(&probe, selector).await.name, name, "{selector}");
    }
    assert_eq!(only(&probe, "#i").await.description.as_deref(), Some("Ship today"));
}
