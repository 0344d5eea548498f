//! The actions that all spaces share.

use cuebook_grammar::action::{Modifier, MouseButton};
use cuebook_grammar::geometry::Point;

/// One action on what the picture shows, in any space. Points are in pixels of the picture, or in thousandths of its sides.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Act {
    /// Presses and releases a button.
    Click { at: Spot, button: MouseButton, count: u8, modifiers: Vec<Modifier> },
    /// Holds the left button down.
    Hold { at: Spot },
    /// Moves the pointer, without a press.
    Move { at: Spot },
    /// Holds the left button down along a path of at least two points.
    Drag { path: Vec<Spot> },
    /// Turns the wheel by CSS pixels, positive to the right and down.
    Scroll { at: Option<Spot>, x: f64, y: f64 },
    /// Types into what has the focus.
    Type { text: String },
    /// Presses a chord, as the grammar names keys.
    Keys { keys: String },
    /// Waits for the page to be quiet.
    Wait,
    /// Asks for another picture of the page.
    Look,
    /// Opens a URL in the tab.
    Navigate { url: String },
    /// Goes back in the history.
    Back,
    /// Ends the task as done, with an answer if there is one.
    Finish { result: String },
    /// Ends the task as one that cannot be done.
    Fail { reason: String },
    /// Asks the user, who alone can decide.
    Ask { question: String },
}

/// A place on the picture, as a space states it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spot {
    pub(crate) point: Point,
    pub(crate) unit: Unit,
}

/// The unit of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Pixels of the picture.
    Pixel,
    /// Pixels of the picture after the model's own resizing: sides are multiples of 28.
    Patch,
    /// Thousandths of its sides.
    Thousandth,
}

impl Spot {
    pub(crate) const fn new(x: f64, y: f64, unit: Unit) -> Self {
        Self { point: Point { x, y }, unit }
    }
}
