//! Pictures of the viewport for planners that see: candidates marked by box and id.
//!
//! Invariants:
//! - A picture is a help, never a need: whatever goes wrong on the way to it, there is none, and no error.
//! - What stands in a password-like field of the observation is painted over; where its place is not known, or where
//!   the observation was cut short so that there may be more of them, there is no picture.
//! - A page that was scrolled or zoomed since it was observed has no picture: its boxes would stand elsewhere. What else
//!   moved in between is not noticed.
//! - A picture has a pixel per CSS pixel, 4,096 a side and 150 marks at most, whatever the page claims.

mod canvas;
mod marks;
mod take;

pub(crate) use take::take;
