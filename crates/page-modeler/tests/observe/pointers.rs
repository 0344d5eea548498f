//! Tests of elements that only react to the pointer.

use cuebook_grammar::observation::Scope;
use cuebook_grammar::secret::FactText;

use crate::stage::{Stage, check, lines_of, serve};

#[tokio::test(flavor = "multi_thread")]
async fn an_element_with_the_pointer_cursor_is_offered_once() {
    check(
        "<div id=d style='cursor:pointer'>Open <b>me</b></div><div>Plain</div>",
        &["generic \"Open me\""],
        "d.style.cursor = ''",
        &[],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_element_with_nothing_but_a_listener_is_offered() {
    check(
        "<div id=a>Listens</div><div id=b>Assigned</div><div id=c>Silent</div><div id=d>Hovers</div><x-a></x-a><script>
         const root = document.querySelector('x-a').attachShadow({mode: 'closed'});
         root.innerHTML = '<p id=p>Deep</p><p>Dumb</p>'; root.getElementById('p').addEventListener('pointerdown', () => {});
         a.addEventListener('click', () => {}); b.onclick = () => {}; d.addEventListener('mousemove', () => {});</script>",
        &["generic \"Listens\"", "generic \"Assigned\"", "paragraph \"Deep\""],
        "b.onclick = null; b.textContent = 'Given up'",
        &["generic \"Listens\"", "paragraph \"Deep\""],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_listens_is_offered_without_its_address_too() {
    check(
        "<a id=it href=/away>Away</a><script>it.addEventListener('click', () => 1)</script>",
        &["link \"Away\""],
        "it.removeAttribute('href'); it.textContent = 'Here'",
        &["link \"Here\""],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn among_many_elements_that_listen_each_is_offered() {
    let mut stage = Stage::on(
        "<body><script>for (let i = 0; i < 150; i++) for (const tag of ['button', 'p']) {
            const one = document.createElement(tag);
            one.textContent = tag + i;
            one.addEventListener('click', () => 1);
            document.body.append(one);
        }</script>",
    )
    .await;
    let seen = stage.observe(Scope::Full).await;
    assert_eq!(seen.candidates.len(), 300, "{:?}", lines_of(&seen));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_for_all_makes_nothing_a_candidate() {
    check(
        "<div id=app style='min-height:500px'><ul id=list><li>One</li><li>Two</li></ul><main><p>Text</p><button>Real</button></main></div><script>
         for (const one of [window, document, document.documentElement, document.body, app, list]) one.addEventListener('click', () => {});</script>",
        &["button \"Real\""],
        "list.firstElementChild.addEventListener('click', () => {}); list.title = 'x'",
        &["listitem \"One\"", "button \"Real\""],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_element_that_accepts_drops_is_always_offered() {
    check(
        "<ul id=todo aria-label=Todo><li draggable=true>Card</li><li><button>Add</button></li></ul><ul aria-label=Done></ul>
         <script>for (const one of [document, document.body, todo]) one.addEventListener('drop', () => {})</script>",
        &["list \"Todo\"", "listitem \"Card\"", "button \"Add\""],
        "todo.replaceWith(todo.cloneNode(true))",
        &["listitem \"Card\"", "button \"Add\""],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_root_that_listens_to_everything_accepts_no_drops() {
    check(
        "<div id=root style='min-height:500px'><p>Text</p><button>Add</button></div>
         <script>for (const kind of Object.keys(HTMLElement.prototype).filter((name) => name.startsWith('on'))) root.addEventListener(kind.slice(2), () => {})</script>",
        &["button \"Add\""],
        "root.title = 'x'",
        &["button \"Add\""],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_for_choosing_is_seen_through_the_box_that_stands_for_it() {
    let select = |name: &str, cursor: &str| {
        format!(
            "<label for={name}>{name}</label><div class=box style='cursor:{cursor};border:1px solid;padding:4px'><div class=box>\
             <input id={name} role=combobox aria-haspopup=listbox aria-expanded=false readonly style='opacity:0;width:4px;cursor:inherit'>\
             <span id={name}Shown></span></div></div>"
        )
    };
    let listens = "<script>for (const box of document.querySelectorAll('.box')) box.addEventListener('mousedown', () => {})</script>";
    let mut stage = Stage::on(&(select("City", "pointer") + &select("Tags", "text") + listens)).await;
    assert_eq!(lines_of(&stage.observe(Scope::Full).await), ["combobox \"City\"", "combobox \"Tags\""]);
    stage.page_script("CityShown.textContent = 'Graz'; 0").await;
    let observed = stage.observe(Scope::Full).await;
    let values = observed.candidates.iter().map(|candidate| candidate.value.as_ref().and_then(FactText::clear));
    assert_eq!(values.collect::<Vec<_>>(), [Some("Graz"), None]);
}

#[tokio::test(flavor = "multi_thread")]
async fn items_of_a_list_that_is_sorted_by_the_pointer_are_offered() {
    check(
        "<ol id=list style='touch-action:none'><li>One</li><li>Two</li></ol><script>list.addEventListener('pointerdown', () => {})</script>",
        &["listitem \"One\"", "listitem \"Two\""],
        "list.style.touchAction = 'auto'; list.replaceChildren(...list.children)",
        &[],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_of_a_list_that_listens_for_them_are_offered_if_focusable() {
    check(
        "<ul id=menu><li><div tabindex=-1>Angola</div></li><li tabindex=-1>Andorra</li><li>Plain</li></ul>
         <ul><li><div tabindex=-1>Elsewhere</div></li></ul><script>menu.addEventListener('click', () => {})</script>",
        &["generic \"Angola\"", "listitem \"Andorra\""],
        "menu.title = 'x'",
        &["generic \"Angola\"", "listitem \"Andorra\""],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_listens_is_offered_with_what_stands_in_it() {
    check(
        "<table><tr id=r><td>Anna</td><td><button>Edit</button></td></tr><tr><td>Ben</td><td><button>Edit</button></td></tr></table>
         <script>r.addEventListener('click', () => {})</script>",
        &["row \"Anna Edit\"", "button \"Edit\" [row: Anna]", "button \"Edit\" [row: Ben]"],
        "r.replaceWith(r.cloneNode(true))",
        &["button \"Edit\" [row: Anna]", "button \"Edit\" [row: Ben]"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_lets_the_pointer_through_is_offered_only_if_its_children_catch_it() {
    check(
        "<div style='pointer-events:none'><button id=b>Dead</button><button style='pointer-events:auto'>Alive</button></div>
         <input aria-label=Typed style='pointer-events:none'>",
        &["button \"Alive\""],
        "b.style.pointerEvents = 'auto'",
        &["button \"Dead\"", "button \"Alive\""],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transparent_overlay_covers_unless_it_lets_the_pointer_through() {
    check(
        "<body style='margin:0'><button>Under</button><div id=veil style='position:fixed;inset:0;opacity:0'></div>",
        &["button \"Under\" covered"],
        "veil.style.pointerEvents = 'none'",
        &["button \"Under\""],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn listeners_are_found_in_frames_of_any_process() {
    let inner = "<p id=p>Inner</p><script>p.addEventListener('click', () => {})</script>";
    let port = serve(vec![
        (
            "/",
            "<p id=p>Outer</p><script>p.addEventListener('click', () => {})</script><iframe src=/in></iframe><iframe src='http://localhost:PORT/out'></iframe>"
                .to_owned(),
        ),
        ("/in", inner.to_owned()),
        ("/out", inner.replace("Inner", "Other")),
    ]);
    let mut stage = Stage::at(&format!("http://127.0.0.1:{port}/")).await;
    for _ in 0..2 {
        let seen = stage.observe(Scope::Full).await;
        assert_eq!(lines_of(&seen), ["paragraph \"Outer\"", "paragraph \"Inner\"", "paragraph \"Other\""]);
    }
}
