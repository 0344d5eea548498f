//! Pictures of a tab, in which secrets are painted over.
//!
//! Invariants:
//! - What leaves this module is painted: fields that received a secret, fields whose text is one by what they are (a
//!   password, a code, a token), whoever filled them, and whatever shows the value of a known secret, in every frame and
//!   shadow root.
//! - What is painted is read before the picture and after it. A page on which it moved in between is taken again; one that
//!   does not hold still has no picture.
//!
//! Not found: secrets that are drawn onto a canvas or are part of an image.

mod canvas;
mod hidden;
mod snapshot;
mod take;

pub use canvas::{Area, Canvas, Ink};
pub use hidden::Secrecy;
pub use take::{PAINT, Picture, PictureError};
