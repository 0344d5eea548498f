//! Pictures of the viewport for planners that see: candidates marked by box and id.
//!
//! Invariants:
//! - A picture is optional: where one cannot be made there is none, and no error.
//! - Password-like fields of the observation are painted over, and what [`cuebook_probe::picture`] hides. Where the position of one is not known, or the observation
//!   was cut short and there may be more of them, there is no picture.
//! - A page that was scrolled or zoomed since it was observed has no picture: its boxes would be wrong. Other movement
//!   is not noticed.
//! - A picture has one pixel per CSS pixel, at most 4,096 a side and at most 150 marks.

mod marks;
mod take;

pub(crate) use take::take;
