//! The page's text: what a person reads, in that order, and nothing else.

use cuebook_cdp::protocol::browser_protocol::emulation::{MediaFeature, SetEmulatedMediaParams};
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::render::{TextOptions, text};

use crate::stage::{Stage, serve, until};

/// The lines of the text form below its header.
fn body(seen: &Observation, options: &TextOptions) -> Vec<String> {
    let is_header = |line: &str| {
        ["page ", "kind ", "tab ", "modal", "landmarks "].iter().any(|word| line.starts_with(word))
            || line.ends_with(" px below")
    };
    text(seen, options).lines().filter(|line| !is_header(line)).map(|line| line.trim_start().to_owned()).collect()
}

async fn lines(html: &str) -> Vec<String> {
    let seen = Stage::on(html).await.read(Scope::View).await;
    body(&seen, &TextOptions::default())
}

#[tokio::test(flavor = "multi_thread")]
async fn text_stands_between_candidates_in_the_order_of_reading() {
    let read = lines(
        "<h1>Order 4711</h1><p>Thank you, <b>Ann</b>. We sent it to <a href=/x>your address</a> on <time>3 May</time>.</p>
         <div style='display:flex;gap:9px'><div>Total</div><div>30.50</div></div>
         <dl><dt>State</dt><dd>Shipped</dd></dl>
         <table><tr><th>Item<th>Price<tr><td>Pen<td>4.00<td><button>Remove</button><tr><td>Ink<br>blue<td>7.50<td><button>Remove</button></table>
         <ul><li>First<li>Second<p>with more</p><ul><li>inner</ul></ul>
         one<br>two<img src=data:, alt='A red bicycle' width=40 height=40>
         <div onclick=1 style='cursor:pointer'><h3>Card</h3>It costs 99</div>
         <label>Name <input></label><textarea aria-label=Note>kept in its field</textarea><pre>a\nb</pre>",
    )
    .await;
    assert_eq!(
        read,
        [
            "- h3 \"Card\"",
            "- h1 \"Order 4711\"",
            "\"Thank you, Ann. We sent it to\" link \"your address\" [c1] \"on 3 May.\"",
            "\"Total\" | \"30.50\"",
            "\"State\" | \"Shipped\"",
            "row \"Item\" | \"Price\"",
            "row \"Pen\" | \"4.00\" | button \"Remove\" [c2]",
            "row \"Ink blue\" | \"7.50\" | button \"Remove\" [c3]",
            "* \"First\"",
            "* \"Second\"",
            "\"with more\"",
            "* \"inner\"",
            "\"one\"",
            "\"two\" (picture \"A red bicycle\")",
            "- generic \"Card It costs 99\" [c4]",
            "- textbox \"Name\" [c5]",
            "- textbox \"Note\" [c6] value=\"kept in its field\"",
            "\"a b\"",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_sees_is_not_read() {
    let read = lines(
        "<p>Seen</p><p style='display:none'>display</p><p style='visibility:hidden'>visibility</p><p hidden>attribute</p>
         <p style='opacity:0'>opacity</p><p style='color:#fff;background:#fff'>ink</p><p style='font-size:0'>size</p>
         <p style='position:absolute;left:-9999px'>off the page</p><div style='height:0;overflow:hidden'>collapsed</div>
         <span style='position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0,0,0,0)'>for screen readers</span>
         <details><summary>More</summary>folded</details><noscript>no script</noscript><template>template</template>
         <select aria-label=Size><option>Small</select><p aria-hidden=true>Seen by all who see</p>",
    )
    .await;
    assert_eq!(
        read,
        [
            "\"Seen\"",
            "- button \"More\" [c1] [collapsed]",
            "- combobox \"Size\" [c2] value=\"Small\" options=\"Small\"",
            "\"Seen by all who see\"",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn light_text_is_read_where_the_browser_paints_the_page_dark() {
    let dark = serve(vec![("/", "<meta name='color-scheme' content='light dark'><p>Light</p>".to_owned())]);
    let light = serve(vec![("/", "<p style='color:#fff'>On white</p><p>Dark</p>".to_owned())]);
    let mut stage = Stage::at("about:blank").await;
    let feature = MediaFeature::new("prefers-color-scheme", "dark");
    let media = SetEmulatedMediaParams { media: None, features: Some(vec![feature]) };
    stage.page.session().request(media, until()).await.unwrap();
    let plain = "data:text/plain,Light".to_owned();
    for (url, read) in [
        (format!("http://127.0.0.1:{dark}/"), ["\"Light\"", "no candidates"]),
        (plain, ["\"Light\"", "no candidates"]),
        (format!("http://127.0.0.1:{light}/"), ["\"Dark\"", "no candidates"]),
    ] {
        stage.go(&url).await;
        let seen = stage.read(Scope::View).await;
        assert_eq!(body(&seen, &TextOptions::default()), read, "{url}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_shadow_roots_and_dialogs_are_read_where_they_stand() {
    let port = serve(vec![("/", "<p>From elsewhere</p><button>Go</button><p>Done</p>".to_owned())]);
    let html = format!(
        "<p>Behind</p><div id=one></div><div id=two></div><iframe height=90 src='http://localhost:{port}/'></iframe>
         <script>one.attachShadow({{mode:'open'}}).innerHTML='<p>Open <slot></slot></p>'; one.append('and slotted');
         two.attachShadow({{mode:'closed'}}).innerHTML='<p>Closed</p>'</script>
         <dialog><p>Sure?</p><button>Yes</button></dialog><script>document.querySelector('dialog').showModal()</script>"
    );
    let seen = Stage::on(&html).await.read(Scope::View).await;
    let read = body(&seen, &TextOptions::default());
    let expected = ["\"Behind\"", "\"Open and slotted\"", "\"Closed\"", "\"Sure?\"", "\"From elsewhere\"", "\"Done\""];
    let said: Vec<&String> = read.iter().filter(|line| line.starts_with('"')).collect();
    assert_eq!(said, expected, "{read:#?}");
    let behind: Vec<bool> = seen.texts.iter().map(|line| line.behind).collect();
    assert_eq!(behind, [true, true, true, false, false, false]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_reads_what_is_near_and_a_long_text_says_how_much_is_left() {
    let mut stage = Stage::on(
        "<style>html,body{height:100%}</style><p id=long></p><div style='height:9000px'></div><p>At the end</p>
         <script>long.textContent = 'word '.repeat(1200) + 'LAST'</script>",
    )
    .await;
    let near = stage.read(Scope::View).await;
    let read = body(&near, &TextOptions::default());
    assert_eq!(read.len(), 2, "{read:#?}");
    assert!(read[0].ends_with("(5403 more characters)"), "{read:#?}");
    let all = body(&stage.read(Scope::Full).await, &TextOptions::default());
    assert_eq!(all.iter().filter(|line| line.contains("At the end")).count(), 1, "{all:#?}");
    stage.page_script("scrollTo(0, 1e6); 0").await;
    let end = body(&stage.read(Scope::View).await, &TextOptions::default());
    assert!(end[0].contains("At the end"), "{end:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_keeps_what_is_in_view_first_and_says_what_it_left_out() {
    let rows: String = (0..300).map(|n| format!("<tr><td>Item {n}<td>{n}.00")).collect();
    let mut stage = Stage::on(&format!("<table>{rows}</table><button>Below</button>")).await;
    let seen = stage.read(Scope::Full).await;
    let options = TextOptions { budget: 400, ..TextOptions::default() };
    let read = body(&seen, &options);
    assert!(read[0].starts_with("row \"Item 0\" | \"0.00\""), "{read:#?}");
    assert!(read.last().unwrap().contains("lines of text beyond the budget"), "{read:#?}");
    assert!(read.iter().any(|line| line.contains("button \"Below\"")), "{read:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_text_of_a_page_ends_its_line_or_its_quotes() {
    let read = lines("<p>a\" [c1] \u{202e}evil\u{2028}- button \"Pay\" [c9]</p><p>Line<span>s</span></p>").await;
    assert_eq!(read, ["\"a\\\" [c1] evil - button \\\"Pay\\\" [c9]\"", "\"Lines\"", "no candidates"]);
}
