//! Pictures for planners that see.

use std::borrow::Cow;
use std::io::Cursor;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebook_cdp::protocol::browser_protocol::emulation::SetDeviceMetricsOverrideParams;
use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::seam::{PageModeler as _, Redactor};

use crate::stage::{Stage, named, until};

const PAGE: &str = "<style>body{margin:0;background:#fff} *{position:absolute;border:0;outline:0;box-sizing:border-box}
     button{background:#fff;color:#fff} input{background:#fff;color:#f00;font:bold 30px monospace}</style>
     <button style='left:100px;top:100px;width:120px;height:40px'>Save</button>
     <button style='left:300px;top:100px;width:80px;height:30px'>Cancel</button>
     <button style='left:500px;top:100px;width:80px;height:30px'>Under</button>
     <p style='left:480px;top:80px;width:140px;height:90px;margin:0;background:#fff'></p>
     <button style='left:100px;top:3000px;width:80px;height:30px'>Below</button>
     <input id=p type=password aria-label=Secret style='left:100px;top:300px;width:300px;height:50px'>";

const WHITE: [u8; 3] = [255; 3];

/// A picture as the planner gets it.
struct Picture {
    size: (usize, usize),
    pixels: Vec<u8>,
}

impl Picture {
    async fn of(stage: &mut Stage, observation: &Observation) -> Option<Self> {
        let deadline = Deadline::after(Instant::now(), Duration::from_secs(30));
        let image = stage.modeler.picture(&stage.id.clone(), observation, deadline).await.unwrap()?;
        assert_eq!(image.media_type, "image/png");
        let mut reader = png::Decoder::new(Cursor::new(image.bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut pixels).unwrap();
        assert_eq!(frame.color_type, png::ColorType::Rgb);
        Some(Self { size: (frame.width as usize, frame.height as usize), pixels })
    }

    fn at(&self, x: usize, y: usize) -> [u8; 3] {
        let from = 3 * (y * self.size.0 + x);
        self.pixels[from..from + 3].try_into().unwrap()
    }

    /// The colour of the rim of a candidate's box, all around it; `None` where it has none.
    fn rim(&self, candidate: &Candidate) -> Option<[u8; 3]> {
        let rect = candidate.rect.unwrap();
        let (left, top) = (rect.x as usize, rect.y as usize);
        let (right, bottom) = (left + rect.width as usize - 1, top + rect.height as usize - 1);
        let corners = [(left, top), (right, top), (left, bottom), (right, bottom)].map(|(x, y)| self.at(x, y));
        let inner = self.at(left + 1, bottom - 1);
        (corners == [inner; 4] && inner != WHITE).then_some(inner)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_marks_what_is_in_view_and_hides_what_is_secret() {
    let mut stage = Stage::on(PAGE).await;
    // A page may show what was typed: then there is more to see than dots.
    stage.page_script("p.value = 'hunter2'; p.type = 'password'; 0").await;
    let seen = stage.observe(Scope::Full).await;
    stage.page_script("p.type = 'text'; 0").await;
    let (save, cancel, secret) = (named(&seen, "Save"), named(&seen, "Cancel"), named(&seen, "Secret"));
    assert!(named(&seen, "Under").occlusion.is_some());

    // On a dense screen as well, a pixel is a CSS pixel.
    let (width, height) = (seen.viewport.width, seen.viewport.height);
    for density in [1, 2] {
        let metrics = SetDeviceMetricsOverrideParams::new(width as i64, height as i64, density, false);
        stage.page.session().request(metrics, until()).await.unwrap();
        let picture = Picture::of(&mut stage, &seen).await.unwrap();
        assert_eq!(picture.size, (width as usize, height as usize), "density {density}");

        let rims = [save, cancel, secret].map(|candidate| picture.rim(candidate).unwrap());
        assert!(rims[0] != rims[1] && rims[1] != rims[2], "neighbours have colours of their own: {rims:?}");
        // The label is of the colour of its box, above its left corner; what is within the box is left as it is.
        assert_eq!([picture.at(100, 99), picture.at(300, 99)], [rims[0], rims[1]]);
        assert_eq!([picture.at(160, 120), picture.at(340, 115)], [WHITE; 2]);
        assert_eq!(picture.rim(named(&seen, "Under")), None);

        let within = (302..348).flat_map(|y| (102..398).map(move |x| (x, y)));
        for (x, y) in within {
            assert_eq!(picture.at(x, y), [40; 3], "the field at {x},{y}, density {density}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_cannot_be_pictured_has_no_picture() {
    let mut stage = Stage::on(PAGE).await;
    let seen = stage.observe(Scope::View).await;
    assert!(Picture::of(&mut stage, &seen).await.is_some());
    let blank = Observation::blank(stage.id.clone(), "about:blank");
    assert!(Picture::of(&mut stage, &blank).await.is_none(), "nobody looked at it");

    let mut unplaced = seen.clone();
    unplaced.candidates.iter_mut().filter(|c| c.name == "Secret").for_each(|c| c.rect = None);
    assert!(Picture::of(&mut stage, &unplaced).await.is_none(), "nobody knows where the secret is");

    stage.page_script("scrollTo(0, 200); 0").await;
    assert!(Picture::of(&mut stage, &seen).await.is_none(), "the page was scrolled since");
    let seen = stage.observe(Scope::View).await;
    assert!(Picture::of(&mut stage, &seen).await.is_some(), "and was looked at again");

    stage.page_script("setTimeout(() => alert('now'), 0); 0").await;
    while stage.page.dialog().is_none() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(Picture::of(&mut stage, &seen).await.is_none(), "a dialog is open");
}

/// Redactor that knows one value.
struct Knows(&'static str);

impl Redactor for Knows {
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        text.replace(self.0, "*").into()
    }
    fn find(&self, text: &str) -> Vec<Range<usize>> {
        text.match_indices(self.0).map(|(at, found)| at..at + found.len()).collect()
    }
    fn learn(&self, _: &str) {}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_the_page_repeats_is_painted_over() {
    let page = "<style>body{margin:0;background:#fff} p{position:absolute;margin:0;font:20px/24px monospace}</style>
        <p style='left:50px;top:100px'>Hello hunter2</p><p style='left:50px;top:300px'>Hello you</p>";
    let mut stage = Stage::on(page).await;
    let seen = stage.observe(Scope::Full).await;
    let colours = async |stage: &mut Stage| {
        let picture = Picture::of(stage, &seen).await.unwrap();
        let text = |top: usize| (top..top + 24).flat_map(|y| (50..150).map(move |x| (x, y)));
        [100, 300].map(|top| text(top).all(|(x, y)| picture.at(x, y) == [40; 3]))
    };
    assert_eq!(colours(&mut stage).await, [false, false]);
    stage.modeler = stage.modeler.with_redactor(Arc::new(Knows("hunter2")));
    assert_eq!(colours(&mut stage).await, [true, false]);
}
