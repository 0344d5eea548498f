//! Frames in other processes.

use cuebook_cdp::{DetachKind, GoneReason, PageEvent, SessionKind, WorldError};
use serde_json::{Value, json};

use crate::lab::{FOREVER, await_frame, eventually, lab, main_world, next_matching, open, serve, soon};

/// The text of a document, once it is loaded.
const TEXT: &str = "document.readyState === 'complete' ? document.body.textContent : new Promise((done) =>
    addEventListener('load', () => done(document.body.textContent)))";

#[tokio::test(flavor = "multi_thread")]
async fn removing_an_out_of_process_frame_fails_its_pending_calls() {
    let port = serve(&[("/", r#"<iframe id=f src="http://localhost:PORT/inner"></iframe>"#), ("/inner", "inner")]);
    let lab = lab().await;
    let page = lab.page();
    open(&page, &format!("http://127.0.0.1:{port}/")).await;
    let frame = await_frame(&page, "/inner").await;
    assert!(frame.is_session_root && frame.session != *page.session());
    assert_eq!(page.sessions(), [page.session().clone(), frame.session.clone()]);

    let mut events = page.events();
    let world = page.world(&frame.id, soon()).await.unwrap();
    let pending = tokio::spawn(async move { world.call::<Value>(FOREVER, &[], soon()).await });
    let raw = frame.session.call_raw(
        "Runtime.evaluate",
        json!({"expression": "new Promise(() => {})", "awaitPromise": true}),
        soon(),
    );
    main_world(&page).await.evaluate::<Value>("document.querySelector('#f').remove()", soon()).await.unwrap();
    assert_eq!(raw.await.unwrap_err().gone(), Some(GoneReason::Detached));
    assert!(matches!(pending.await.unwrap(), Err(WorldError::ContextGone)));
    next_matching(&mut events, |event| match event {
        PageEvent::FrameDetached { frame: gone, kind: DetachKind::Removed } if gone == frame.id => Some(()),
        _ => None,
    })
    .await;
    assert_eq!(page.frames().len(), 1);
    eventually("the session is taken off the list", || page.sessions().len() == 1).await;
    assert!(matches!(page.world(&frame.id, soon()).await, Err(WorldError::FrameGone)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_that_moves_between_processes_keeps_its_id() {
    let port = serve(&[("/", r#"<iframe id=f src="/near"></iframe>"#), ("/near", "near"), ("/far", "far")]);
    let lab = lab().await;
    let page = lab.page();
    open(&page, &format!("http://127.0.0.1:{port}/")).await;
    let near = await_frame(&page, "/near").await;
    assert_eq!(near.session, *page.session());
    let world = main_world(&page).await;
    let go = "url => { document.querySelector('#f').src = url }";

    world.call::<Value>(go, &[json!(format!("http://localhost:{port}/far"))], soon()).await.unwrap();
    let far = await_frame(&page, "/far").await;
    assert_eq!(far.id, near.id);
    assert_eq!(far.session.kind(), SessionKind::Frame);
    let far_world = page.world(&far.id, soon()).await.unwrap();
    assert_eq!(far_world.evaluate::<String>(TEXT, soon()).await.unwrap(), "far");

    world.call::<Value>(go, &[json!("/near")], soon()).await.unwrap();
    let back = await_frame(&page, "/near").await;
    assert_eq!((back.id.clone(), &back.session), (near.id, page.session()));
    assert!(matches!(far_world.evaluate::<Value>("1", soon()).await, Err(WorldError::ContextGone)));
    let again = page.world(&back.id, soon()).await.unwrap();
    assert_eq!(again.evaluate::<String>(TEXT, soon()).await.unwrap(), "near");
    assert_eq!(page.frames().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn nested_frames_across_processes_are_listed_parents_first() {
    let port = serve(&[
        ("/", r#"<iframe name=one src="http://localhost:PORT/one"></iframe><iframe name=plain></iframe>"#),
        ("/one", r#"<iframe name=two src="http://127.0.0.1:PORT/two"></iframe>"#),
        ("/two", r#"<iframe name=three src="http://localhost:PORT/three"></iframe>"#),
        ("/three", r#"<iframe name=four src="/four"></iframe>"#),
        ("/four", "innermost"),
    ]);
    let lab = lab().await;
    let page = lab.page();
    open(&page, &format!("http://127.0.0.1:{port}/")).await;
    let four = await_frame(&page, "/four").await;
    eventually("all frames are listed", || page.frames().len() == 6).await;
    let frames = page.frames();
    for (at, frame) in frames.iter().enumerate() {
        let parent_at = frames.iter().position(|other| Some(&other.id) == frame.parent.as_ref());
        assert_eq!(parent_at.is_none(), at == 0, "only the main frame has no parent");
        assert!(parent_at.is_none_or(|parent| parent < at), "parents come first");
    }
    let parent_of = |name: &str| {
        let frame = frames.iter().find(|frame| frame.name == name)?;
        frames.iter().find(|other| Some(&other.id) == frame.parent.as_ref()).map(|parent| parent.url.clone())
    };
    assert!(parent_of("two").is_some_and(|url| url.ends_with("/one")));
    assert!(parent_of("three").is_some_and(|url| url.ends_with("/two")));
    assert!(!four.is_session_root);
    let world = page.world(&four.id, soon()).await.unwrap();
    assert_eq!(world.evaluate::<String>(TEXT, soon()).await.unwrap(), "innermost");
}
