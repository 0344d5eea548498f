//! Reports of the wire about a tab: its frames, walked and placed.

use cuebook_grammar::locator::Locator;
use cuebook_grammar::observation::{FrameSummary, Pane, ScrolledPart, Truncation, Viewport};
use cuebook_probe::{Placement, ProbeWorld};

use super::answer::Renamed;
use crate::model::candidates::Placed;
use crate::model::rows::FrameWalk;

/// One frame that answered.
#[derive(Debug)]
pub(crate) struct CapturedFrame {
    /// Its index in the observation.
    pub(crate) index: u32,
    /// Our world in its document.
    pub(crate) world: ProbeWorld,
    /// The result of the walk; its rows have moved to `rows`.
    pub(crate) walk: FrameWalk,
    /// The rows whose names the browser has to be asked for again.
    pub(crate) renamed: Renamed,
    /// Maps its coordinates to those of the tab's viewport.
    pub(crate) placement: Placement,
    /// Its owner element's number, and the index of the frame that holds it.
    pub(crate) owner: Option<(u64, u32)>,
    /// The way to it.
    pub(crate) locators: Vec<Locator>,
    /// Its rows, placed in the tab.
    pub(crate) rows: Vec<Placed>,
}

impl CapturedFrame {
    pub(crate) fn document_key(&self) -> (String, String) {
        (self.world.frame().as_str().to_owned(), self.world.document().as_str().to_owned())
    }
}

/// Everything that the wire reports about a tab.
#[derive(Debug)]
pub(crate) struct Captured {
    pub(crate) frames: Vec<CapturedFrame>,
    pub(crate) summaries: Vec<FrameSummary>,
    pub(crate) truncated: Truncation,
    /// The browser said names that it was not asked for before.
    pub(crate) is_renamed: bool,
}

/// The most scrolled parts that an observation holds.
const SCROLLED_MAX: usize = 20;

/// The most panes that an observation holds.
const PANES_MAX: usize = 10;

#[expect(clippy::cast_possible_truncation, reason = "pixels of a page; what is beyond saturates")]
fn whole(pixels: f64) -> i64 {
    pixels.round() as i64
}

impl Captured {
    pub(crate) fn viewport(&self) -> Viewport {
        self.frames.first().map(|frame| frame.walk.viewport).unwrap_or_default()
    }

    /// Returns the scrolled parts besides the page: a frame comes before the parts that scroll in it.
    pub(crate) fn scrolled(&self) -> Vec<ScrolledPart> {
        let parts = self.frames.iter().flat_map(|frame| {
            let view = frame.walk.viewport;
            let own = ScrolledPart {
                container: String::new(),
                frame: frame.index,
                x: whole(view.scroll_x),
                y: whole(view.scroll_y),
            };
            let own = (frame.index != 0 && (own.x, own.y) != (0, 0)).then_some(own);
            let within = frame.walk.scrolled.iter().map(|part| ScrolledPart { frame: frame.index, ..part.clone() });
            own.into_iter().chain(within)
        });
        parts.take(SCROLLED_MAX).collect()
    }

    /// Returns the scrollable parts besides the page that have more than they show: a frame comes before the parts that
    /// scroll in it.
    pub(crate) fn panes(&self) -> Vec<Pane> {
        let panes = self.frames.iter().flat_map(|frame| {
            let own = (frame.index != 0).then(|| pane_of(frame.index, &frame.walk.viewport)).flatten();
            let within = frame.walk.panes.iter().map(|pane| Pane { frame: frame.index, ..pane.clone() });
            own.into_iter().chain(within)
        });
        panes.take(PANES_MAX).collect()
    }
}

/// The document of a frame as a pane; `None` if it shows all that it has.
fn pane_of(frame: u32, view: &Viewport) -> Option<Pane> {
    let more = |pixels: f64| u32::try_from(whole(pixels)).unwrap_or_default();
    let pane = Pane {
        container: String::new(),
        frame,
        above: more(view.scroll_y),
        below: more(view.page_height - view.height - view.scroll_y),
        left: more(view.scroll_x),
        right: more(view.page_width - view.width - view.scroll_x),
    };
    let all = Pane { frame, ..Pane::default() };
    (pane != all).then_some(pane)
}
