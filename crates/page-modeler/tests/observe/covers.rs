//! Tests of elements that cover a candidate.

use cuebook_grammar::observation::Scope;

use crate::stage::{Stage, named, names};

#[tokio::test(flavor = "multi_thread")]
async fn what_covers_a_candidate_is_named() {
    let mut stage = Stage::on(
        r#"<body style="margin:0"><button style="position:absolute;left:10px;top:10px;width:100px;height:40px">Under</button>
        <div id=overlay style="position:absolute;left:0;top:0;width:300px;height:200px;background:#ccc"></div>
        <button style="position:absolute;left:400px;top:10px;width:100px;height:40px"><span>Free</span></button>"#,
    )
    .await;
    let seen = stage.observe(Scope::View).await;
    assert_eq!(names(&seen), ["Free", "Under"]);
    let occlusion = named(&seen, "Under").occlusion.clone().unwrap();
    assert_eq!((occlusion.ratio, occlusion.by.as_str()), (1.0, "div#overlay"));
    assert_eq!(named(&seen, "Free").occlusion, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn something_above_a_frame_covers_what_is_in_it() {
    let mut stage = Stage::on(
        r#"<body style="margin:0"><iframe srcdoc="<body style='margin:0'><button style='width:90px;height:40px'>Inside</button>" style="border:0"></iframe>
        <div id=veil style="position:fixed;inset:0;background:#0008"></div>"#,
    )
    .await;
    let seen = stage.observe(Scope::View).await;
    assert_eq!(named(&seen, "Inside").occlusion.as_ref().map(|o| o.by.as_str()), Some("div#veil"));
}
