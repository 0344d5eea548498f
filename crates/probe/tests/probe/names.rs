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
    assert_eq!(located.matches.len(), 22);
    let keys: Vec<_> = located.matches.iter().map(|found| found.key.clone()).collect();
    let names = probe.browser_names(&keys, until()).await.unwrap();
    for found in &located.matches {
        let browser = &names[&found.key];
        assert_eq!((browser.role, &browser.name), (Some(found.facts.role), &found.facts.name), "{:?}", found.facts);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_read_from_content_leaves_menus_out_and_takes_values_in() {
    let stage = stage().await;
    let (_page, probe) = stage
        .page_of(
            "<label for=a>Flash <span role=menu><span role=menuitem>1</span></span> times</label><input id=a>\
             <label for=b>Flash <span role=combobox aria-label=n tabindex=0>3</span> times</label><input id=b>\
             <label for=c>Flash <span role=combobox aria-owns=l></span> times</label><input id=c>\
             <ul id=l role=listbox><li role=option>1<li role=option aria-selected=true>2</ul>\
             <button id=d>one<span><span> </span></span>two</button>",
        )
        .await;
    for (selector, name) in [("#a", "Flash times"), ("#b", "Flash 3 times"), ("#c", "Flash 2 times"), ("#d", "one two")]
    {
        assert_eq!(only(&probe, selector).await.name, name, "{selector}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_page_names_itself_has_that_name_whatever_its_role() {
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
