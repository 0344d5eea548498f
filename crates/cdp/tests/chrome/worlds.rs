//! Isolated worlds: when they run, what pages cannot break, and when they end.

use cuebook_cdp::{FrameId, WorldError};
use serde_json::{Value, json};

use crate::lab::{FOREVER, await_frame, eventually_value, lab, main_world, open, serve, soon};

#[tokio::test(flavor = "multi_thread")]
async fn a_world_script_runs_before_the_pages_own_scripts_in_every_process() {
    const PAGE: &str = "<script>document.documentElement.dataset.page = 'ran'</script>";
    let port =
        serve(&[("/", &format!(r#"{PAGE}<iframe src="http://localhost:PORT/inner"></iframe>"#)), ("/inner", PAGE)]);
    let lab = lab().await;
    let page = lab.page();
    let script = "globalThis.before = document.documentElement?.dataset.page ?? 'nothing yet'";
    page.add_world_script(script, soon()).await.unwrap();
    open(&page, &format!("http://127.0.0.1:{port}/")).await;
    let inner = await_frame(&page, "/inner").await;
    for frame in [page.main_frame().id, inner.id] {
        let world = page.world(&frame, soon()).await.unwrap();
        eventually_value(&world, "document.documentElement.dataset.page", &json!("ran")).await;
        let before: String = world.evaluate("globalThis.before", soon()).await.unwrap();
        assert_eq!(before, "nothing yet");
    }
    let seen = json!({"expression": "typeof before", "returnByValue": true});
    let reply = page.session().call_raw("Runtime.evaluate", seen, soon()).await.unwrap();
    let seen: Value = reply.parse().unwrap();
    assert_eq!(seen["result"]["value"], "undefined", "the page sees nothing of ours");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_isolated_world_survives_a_page_that_breaks_the_built_ins() {
    let port = serve(&[(
        "/",
        r"<p>one<p>two<div id=host></div><script>
            host.attachShadow({mode: 'closed'}).innerHTML = '<b>hidden</b>';
            Array.prototype.map = Array.prototype[Symbol.iterator] = () => { throw 'broken' };
            JSON.stringify = () => 'broken'; Object.prototype.toJSON = () => 'broken';
            Document.prototype.querySelectorAll = () => ['broken'];
            globalThis.Promise = null;
        </script>",
    )]);
    let lab = lab().await;
    let page = lab.page();
    open(&page, &format!("http://127.0.0.1:{port}/")).await;
    let world = main_world(&page).await;
    assert_eq!(main_world(&page).await.context(), world.context(), "one world per document");
    let texts = "async suffix => JSON.stringify([...document.querySelectorAll('p')].map(p => p.textContent + suffix))";
    let answer: String = world.call(texts, &[json!("!")], soon()).await.unwrap();
    assert_eq!(answer, r#"["one!","two!"]"#);

    let nodes = world.call_for_nodes("() => [...document.querySelectorAll('p, div')]", &[], soon()).await.unwrap();
    assert_eq!(nodes.len(), 3);
    let text: String = world.adopt(nodes[1], "(node, x) => node.textContent + x", &[json!(7)], soon()).await.unwrap();
    assert_eq!(text, "two7");
    let each = [(nodes[0], json!(1)), (1_000_000, json!(2)), (nodes[1], json!(3))];
    let told = "(...told) => told.map(it => it.textContent ?? it).join()";
    assert_eq!(world.adopt_each::<String>(&each, told, soon()).await.unwrap(), "one,1,two,3");
    let gone = world.adopt::<Value>(1_000_000, "node => 1", &[], soon()).await;
    assert!(matches!(gone, Err(WorldError::NodeGone)));
    let thrown = world.call::<Value>("() => { throw new Error('x'.repeat(9000)) }", &[], soon()).await;
    assert!(
        matches!(thrown, Err(WorldError::Exception { text }) if text.starts_with("Error: xxx") && text.len() == 2000)
    );
    let number: f64 = world.evaluate("1 + 1 // a comment", soon()).await.unwrap();
    assert!((number - 2.0).abs() < f64::EPSILON);
    let odd: String = world.evaluate(r"'a\ud800b'", soon()).await.unwrap();
    assert_eq!(odd, "a\u{fffd}b");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_world_never_outlives_its_document_also_in_another_process() {
    let port = serve(&[("/", "first"), ("/second", "second")]);
    let lab = lab().await;
    let page = lab.page();
    let mut old = Vec::new();
    for host in ["127.0.0.1", "localhost", "127.0.0.1"] {
        for path in ["/", "/second"] {
            open(&page, &format!("http://{host}:{port}{path}")).await;
            let world = main_world(&page).await;
            assert_eq!(*world.document(), page.main_frame().document);
            assert_eq!(world.evaluate::<String>("location.pathname", soon()).await.unwrap(), path);
            for gone in &old {
                let gone: &cuebook_cdp::World = gone;
                assert!(matches!(gone.evaluate::<Value>("1", soon()).await, Err(WorldError::ContextGone)));
            }
            old.push(world);
        }
    }
    assert!(matches!(page.world(&FrameId::from("nowhere"), soon()).await, Err(WorldError::FrameGone)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pending_evaluation_ends_when_its_document_is_left() {
    let lab = lab().await;
    let page = lab.page();
    open(&page, "data:text/html,one").await;
    let world = main_world(&page).await;
    let pending = tokio::spawn(async move { world.call::<Value>(FOREVER, &[], soon()).await });
    open(&page, "data:text/html,two").await;
    assert!(matches!(pending.await.unwrap(), Err(WorldError::ContextGone)));
}
