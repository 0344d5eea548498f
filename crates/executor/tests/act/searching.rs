//! Scrolling on until something is there.

use std::time::Duration;

use cuebook_grammar::outcome::{Cause, StepSuccess};
use serde_json::{Value, json};

use crate::lab::{Lab, css_of, failed, lab, succeeded};

/// A pane beside a long page that draws those of its 1,000 rows that are in view.
const VIRTUAL: &str = "<style>body { margin: 0; height: 6000px } #list { position: fixed; right: 0; top: 0; width: 300px; \
    height: 400px; overflow: auto } .row { position: absolute; height: 40px }</style>\
    <p role=option>Row of another list</p><div id=list role=listbox>\
    <div id=all style='height:40000px;position:relative'></div></div><script>\
    const draw = () => { const from = Math.max(0, Math.floor(list.scrollTop / 40) - 2); all.innerHTML = ''; \
      for (let n = from; n < Math.min(1000, from + 15); n++) all.insertAdjacentHTML('beforeend', \
        `<div role=option class=row style='top:${n * 40}px'>Row ${n}</div>`) }; \
    list.onscroll = draw; draw()</script>";

/// A page to which each look at its end adds ten posts, as long as there are fewer than MOST.
const FEED: &str = "<style>p { height: 100px; margin: 0 }</style><div id=feed></div><script>\
    let count = 0, loading = false; \
    const add = () => { for (let n = 0; n < 10; n++) feed.insertAdjacentHTML('beforeend', `<p>Post ${++count}.</p>`) }; \
    const more = async () => { if (loading || count >= MOST || scrollY + innerHeight < document.body.scrollHeight - 200) return; \
      loading = true; await fetch('/more'); add(); loading = false }; \
    addEventListener('scroll', more); add()</script>";

fn feed(most: &str) -> String {
    FEED.replace("MOST", most)
}

async fn feed_of(most: &str) -> Lab {
    lab(&[("/", &feed(most)), ("/more", "WAIT 300\nmore")]).await
}

fn until(found: Value) -> Value {
    let mut step = json!({"type": "scrollUntil"});
    step.as_object_mut().unwrap().extend(found.as_object().unwrap().clone());
    step
}

fn moves(success: &StepSuccess) -> u64 {
    success.data.as_ref().unwrap()["moves"].as_u64().unwrap()
}

#[tokio::test]
async fn the_pane_that_holds_its_kin_is_scrolled_until_a_row_is_drawn() {
    let mut lab = lab(&[("/", VIRTUAL)]).await;
    let row = json!({"row": {"strategy": "byRole", "role": "option", "name": "Row 300", "exact": true}});
    let success = succeeded(lab.step(row, until(json!({"targetRef": "row"}))).await);
    assert!(moves(&success) > 20, "{:?}", success.data);
    assert!(success.evidence.post[0].verdict.holds() && success.evidence.post[0].default);
    assert_eq!(lab.eval("scrollY").await, 0, "the page stays where it was");
    assert_eq!(lab.eval("list.scrollTop > 11600 && list.scrollTop <= 12000").await, true);
}

#[tokio::test]
async fn a_container_and_a_direction_are_kept_to() {
    let mut lab = lab(&[("/", VIRTUAL)]).await;
    lab.eval("list.scrollTop = 20000").await;
    let candidates = json!({"list": css_of("#list")});
    let step = until(json!({"text": "Row 450", "container": "list", "direction": "up"}));
    succeeded(lab.step(candidates.clone(), step).await);
    assert_eq!(lab.eval("list.scrollTop > 17600 && list.scrollTop <= 18000 && scrollY === 0").await, true);
    // Without waiting for the event: until it comes, the list still has the row.
    lab.eval("list.scrollTop = 800; draw()").await;
    let step = until(json!({"text": "Row 450", "container": "list", "direction": "up"}));
    let failure = failed(lab.step(candidates, step).await);
    assert_eq!(failure.cause, Cause::TargetNotFound);
    let words = &failure.message;
    assert!(words.contains("scrolled up in 3 moves by 800 px, to the end of div#list"), "{words}");
}

#[tokio::test]
async fn what_a_page_loads_as_it_is_scrolled_is_waited_for() {
    let mut lab = feed_of("200").await;
    let success = succeeded(lab.step(json!({}), until(json!({"text": "post 75."}))).await);
    assert!(moves(&success) > 5, "{:?}", success.data);
    assert_eq!(lab.eval("count >= 75 && count < 200").await, true);
    let posts = json!({"posts": css_of("#feed p")});
    let many = json!({"kind": "count", "target": "posts", "atLeast": 120});
    let success = succeeded(lab.step(posts.clone(), until(json!({"condition": many}))).await);
    assert!(success.evidence.post[0].verdict.holds() && !success.evidence.post[0].vacuous);
    let success = succeeded(lab.step(posts, until(json!({"condition": many}))).await);
    assert_eq!(moves(&success), 0, "it holds already");
}

#[tokio::test]
async fn what_never_comes_is_looked_for_to_the_end_and_no_further() {
    let mut lab = feed_of("30").await;
    let never = json!({"it": {"strategy": "text", "text": "Never"}});
    let failure = failed(lab.step(never, until(json!({"targetRef": "it"}))).await);
    assert_eq!(failure.cause, Cause::TargetNotFound, "{}", failure.message);
    assert!(failure.message.contains("to the end of the page; state the `container`"), "{}", failure.message);
    assert_eq!(lab.eval("count").await, 30);
    assert_eq!(lab.eval("Math.ceil(scrollY + innerHeight) >= document.body.scrollHeight").await, true);
    let titled = json!({"kind": "titleMatches", "pattern": "never"});
    let failure = failed(lab.step(json!({}), until(json!({"condition": titled}))).await);
    assert_eq!(failure.cause, Cause::PostconditionFailed);
    assert!(failure.message.contains("expected the title to match"), "{}", failure.message);
    assert!(failure.message.contains("scrolled down in 0 moves by 0 px"), "{}", failure.message);
}

#[tokio::test]
async fn a_page_without_end_is_scrolled_until_the_time_of_the_step_is_over() {
    let page = feed("1e9").replace("await fetch('/more'); ", "");
    let mut lab = lab(&[("/", &page)]).await;
    let step = until(json!({"text": "Never"}));
    let failure = failed(lab.step_within(json!({}), step, Duration::from_secs(3)).await);
    assert_eq!(failure.cause, Cause::TargetNotFound, "{}", failure.message);
    assert!(failure.message.contains("was over before the end; state a longer `timeoutMs`"), "{}", failure.message);
}

#[tokio::test]
async fn what_ticks_at_the_end_of_a_page_is_no_progress() {
    let page = "<div style='height:2000px'></div><h1 style='height:900px'></h1><script>let n = 0; \
        setInterval(() => { document.querySelector('h1').textContent = ++n }, 10)</script>";
    let mut lab = lab(&[("/", page)]).await;
    let failure = failed(lab.step(json!({}), until(json!({"text": "Never"}))).await);
    assert!(failure.message.contains("to the end of the page"), "{}", failure.message);
}

#[tokio::test]
async fn after_one_pane_another_is_scrolled_and_then_what_is_around_them() {
    let page = "<style>body { margin: 0; height: 1500px } div { overflow: auto } p { height: 100px; margin: 0 }</style>\
        <div id=a style='height:600px'><div id=b style='height:300px'></div></div><script>\
        for (let n = 0; n < 40; n++) { b.insertAdjacentHTML('beforeend', `<p>Inner ${n}</p>`); \
          a.insertAdjacentHTML('beforeend', `<p>Outer ${n}</p>`) } \
        a.onscroll = () => { if (a.scrollTop + a.clientHeight >= a.scrollHeight - 5 && !window.last) { window.last = true; \
          setTimeout(() => a.insertAdjacentHTML('beforeend', '<p>The last of all</p>'), 400) } }</script>";
    let mut lab = lab(&[("/", page)]).await;
    let success = succeeded(lab.step(json!({}), until(json!({"text": "the last of all"}))).await);
    assert!(moves(&success) > 3, "{:?}", success.data);
    assert!(success.evidence.post[0].verdict.holds());
}

#[tokio::test]
async fn a_target_that_is_found_by_nothing_says_where_more_of_the_page_is() {
    let page = "<style>body { margin: 0 }</style><div style='height:3000px'></div>";
    let mut lab = lab(&[("/", page)]).await;
    let failure = failed(lab.click("#never").await);
    let below = "; 2280 px of the page lie below what is in view: a `scrollUntil` step looks there";
    assert!(failure.message.ends_with(below), "{}", failure.message);
    lab.eval("scrollTo(0, 3000)").await;
    let failure = failed(lab.click("#never").await);
    assert!(failure.message.ends_with("; it is scrolled to the end"), "{}", failure.message);
    // What is called so is more useful than where else to look.
    lab.eval("document.body.insertAdjacentHTML('beforeend', '<select aria-label=Fruits></select><button hidden>Fruits</button>')")
        .await;
    let button = json!({"it": {"strategy": "byRole", "role": "button", "name": "fruits"}});
    let failure = failed(lab.step(button, json!({"type": "click", "targetRef": "it"})).await);
    assert!(failure.message.ends_with("; there is combobox \"Fruits\""), "{}", failure.message);
}

#[tokio::test]
async fn a_target_below_its_panes_edge_is_not_in_view_though_in_the_viewport() {
    let page =
        "<div id=pane style='height:100px;overflow:auto'><div style='height:300px'></div><p id=it>Here</p></div>";
    let mut lab = lab(&[("/", page)]).await;
    let it = json!({"it": css_of("#it")});
    let post = json!([{"kind": "inViewport", "target": "it"}]);
    succeeded(lab.step(it.clone(), json!({"type": "scroll", "targetRef": "it", "post": post})).await);
    lab.eval("pane.scrollTop = 0").await;
    let success = succeeded(lab.step(it, until(json!({"targetRef": "it"}))).await);
    assert_eq!(moves(&success), 0, "it is in the document, so it is only brought into view");
}
