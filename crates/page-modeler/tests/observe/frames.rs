//! Frames, same-process and out-of-process, at any depth.

use cuebook_grammar::candidate::{Candidate, Placement};
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::render::{TextOptions, text};
use cuebook_grammar::secret::DigestKey;
use cuebook_probe::{Ask, Probe};

use crate::stage::{Stage, named, serve, until};

#[tokio::test(flavor = "multi_thread")]
async fn candidates_of_frames_have_the_tabs_coordinates() {
    let button = |name: &str| {
        format!(
            "<body style='margin:0'><button style='position:absolute;left:11px;top:13px;width:50px;height:20px'>{name}</button>"
        )
    };
    let port = serve(vec![
        (
            "/",
            "<body style='margin:0'><iframe title=same src='/same' style='position:absolute;left:20px;top:30px;width:200px;height:100px;border:2px solid'></iframe>
             <iframe title=doc srcdoc=\"<body style='margin:0'><button style='position:absolute;left:11px;top:13px;width:50px;height:20px'>Srcdoc</button>\" style='position:absolute;left:300px;top:30px;width:200px;height:100px;border:0'></iframe>
             <iframe title=outer src='http://localhost:PORT/outer' style='position:absolute;left:40px;top:200px;width:500px;height:300px;border:4px solid;padding:6px'></iframe>
             <iframe title=scaled src='/same2' style='position:absolute;left:600px;top:200px;width:200px;height:100px;border:0;transform:scale(0.5);transform-origin:0 0'></iframe>
             <iframe title=hidden src='/same' style='display:none'></iframe>"
                .to_owned(),
        ),
        ("/same", button("Same")),
        ("/same2", button("Scaled")),
        (
            "/outer",
            "<body style='margin:0'><button style='position:absolute;left:300px;top:10px;width:50px;height:20px'>Outer</button>
             <iframe title=inner src='http://127.0.0.1:PORT/inner' style='position:absolute;left:30px;top:50px;width:200px;height:200px;border:0'></iframe>"
                .to_owned(),
        ),
        ("/inner", button("Inner")),
    ]);
    let mut stage = Stage::at(&format!("http://127.0.0.1:{port}/")).await;
    let seen = stage.observe(Scope::View).await;
    let corner = |name: &str| named(&seen, name).rect.map(|rect| (rect.x, rect.y, rect.width)).unwrap();
    assert_eq!(corner("Same"), (33.0, 45.0, 50.0));
    assert_eq!(corner("Srcdoc"), (311.0, 43.0, 50.0));
    assert_eq!(corner("Outer"), (350.0, 220.0, 50.0));
    assert_eq!(corner("Inner"), (40.0 + 10.0 + 30.0 + 11.0, 200.0 + 10.0 + 50.0 + 13.0, 50.0));
    assert_eq!(corner("Scaled"), (605.5, 206.5, 25.0));
    let inner = named(&seen, "Inner");
    let frame = &seen.frames[usize::try_from(inner.frame).unwrap()];
    assert!(frame.out_of_process && frame.origin.starts_with("http://127.0.0.1"), "{frame:?}");
    assert_eq!(seen.frames.iter().filter(|frame| frame.omitted.is_some()).count(), 1);
    assert!(seen.candidates.iter().all(|c| c.placement == Placement::InView && c.occlusion.is_none()));
    // What the browser hits at the middle of the box is the candidate.
    let probe = Probe::attach(stage.page.clone(), DigestKey::new([5; 32]), until()).await.unwrap();
    for candidate in &seen.candidates {
        let key = candidate.node.clone().unwrap();
        let world = probe.world_of(&key, until()).await.unwrap();
        let placement = probe.frame_offset(world.frame(), until()).await.unwrap();
        let local = placement.to_local(candidate.center().unwrap());
        let hit: bool = world
            .call(
                "(cb, id, x, y) => cb.elementAt(x, y) === cb.byId(id)",
                &[key.node.into(), local.x.into(), local.y.into()],
                until(),
            )
            .await
            .unwrap();
        assert!(hit, "{}", candidate.title());
        for locator in &candidate.locators {
            let located = probe.locate(locator, &Ask::default(), until()).await.unwrap();
            assert_eq!(located.unique().map(|found| &found.key), Some(&key), "{} by {locator}", candidate.title());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_script_fails_the_accessibility_tree_takes_its_place() {
    let port = serve(vec![
        ("/", "<title>Shop</title><button>Save</button><iframe src='/inner' width=300 height=100></iframe>".to_owned()),
        ("/inner", "<a href=/x>Terms</a><button disabled>Send</button><label>Mail <input></label><p>Text".to_owned()),
    ]);
    let mut stage = Stage::at(&format!("http://127.0.0.1:{port}/")).await;
    let whole = stage.observe(Scope::Full).await;
    let lines = |seen: &Observation| seen.candidates.iter().map(Candidate::title).collect::<Vec<_>>();
    let all = ["button \"Save\"", "link \"Terms\"", "button \"Send\"", "textbox \"Mail\""];
    assert_eq!((lines(&whole), whole.truncated), (all.map(str::to_owned).to_vec(), None));
    let probe = Probe::attach(stage.page.clone(), DigestKey::new([5; 32]), until()).await.unwrap();
    for (broken, number) in stage.page.frames().iter().rev().zip(1..) {
        let world = probe.world(&broken.id, until()).await.unwrap();
        let fails = "(cb) => { cb.walk.run = () => { throw new Error('broken') } }";
        world.call::<serde_json::Value>(fails, &[], until()).await.unwrap();
        let seen = stage.observe(Scope::Full).await;
        assert_eq!(lines(&seen), all, "{:?}", seen.frames);
        assert_eq!(seen.truncated.unwrap().accessible, number);
        let send = named(&seen, "Send");
        assert!(
            send.states.disabled && send.frame == 1 && send.about.is_none() && !send.locators.is_empty(),
            "{send:?}"
        );
        let [left, right] = [send, named(&whole, "Send")].map(|it| it.rect.unwrap().x);
        assert!((left - right).abs() < 0.1, "{left} {right}");
        for locator in &send.locators {
            let located = probe.locate(locator, &Ask::default(), until()).await.unwrap();
            assert_eq!(located.unique().map(|found| &found.key), send.node.as_ref(), "{locator}");
        }
        assert!(text(&seen, &TextOptions::default()).contains("known by roles and names only"));
    }
    let seen = stage.observe(Scope::View).await;
    assert_eq!((seen.title.as_str(), seen.viewport.width), ("Shop", whole.viewport.width));
}
