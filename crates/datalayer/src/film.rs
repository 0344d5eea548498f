//! The pictures of a run as a film: an animated PNG, which browsers and viewers of pictures play.
//!
//! Invariants:
//! - Frames are pictures that the run stored, in which known secrets are masked, with the target of the step outlined.
//! - Two frames are in memory at a time. A frame holds only what differs from the one before.

use std::io::{self, Write};

use cuebook_grammar::geometry::Rect;
use cuebook_grammar::outcome::ArtifactRef;
use cuebook_grammar::record::StepRecord;
use image::{Rgb, RgbImage, imageops};

use crate::artifact::ArtifactStore;
use crate::html::{picture_scale, target_of};
use crate::log::{Observations, Run};
use crate::picture::{picture, size};

/// How long a frame is shown, in milliseconds: as long as it took, within these bounds.
const SHORTEST: u64 = 600;
const LONGEST: u64 = 2_000;
/// How long the last one is shown.
const LAST: u64 = 3_000;
/// The most frames of a film.
const FRAMES: usize = 4_000;
/// The line around a target: its colour, and its width in pixels.
const MARK: [u8; 3] = [0xd9, 0x3a, 0x00];
const LINE: u32 = 3;

/// A film that cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FilmError {
    /// There is nothing to show.
    #[error("the run has no pictures: `--record` takes one before and after each step")]
    NoPictures,
    /// It is too long.
    #[error("the run has {0} pictures, and a film at most 4,000")]
    TooLong(usize),
    /// A picture is not as its header said.
    #[error("{0} cannot be read")]
    Unreadable(String),
    /// The file cannot be written.
    #[error("the film cannot be written")]
    Write(#[source] io::Error),
}

/// A film that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Film {
    /// Number of its pictures.
    pub frames: usize,
    /// Its width in pixels.
    pub width: u32,
    /// Its height in pixels.
    pub height: u32,
    /// How long it plays, in milliseconds.
    pub duration_ms: u64,
}

struct Frame<'a> {
    picture: &'a ArtifactRef,
    target: Option<Rect>,
    at_ms: u64,
}

/// Writes the pictures of a run as a film, each for as long as its page was so, at least 0.6 s and at most 2 s. Smaller
/// pictures stand in the upper left corner. Blocks; costs some 30 ms for a picture of a megapixel.
///
/// # Errors
/// [`FilmError`]
pub fn film(run: &Run, artifacts: &ArtifactStore, mut out: impl Write) -> Result<Film, FilmError> {
    let mut frames = Vec::new();
    let (mut width, mut height) = (0, 0);
    let mut pages = Observations::new(&run.observations, artifacts.clone());
    for frame in run.steps.iter().flat_map(|record| frames_of(run, record, &mut pages, artifacts)) {
        if frames.last().is_some_and(|last: &(Frame<'_>, _)| last.0.shows_what(&frame.0)) {
            continue;
        }
        (width, height) = (width.max(frame.1.0), height.max(frame.1.1));
        frames.push(frame);
    }
    if frames.is_empty() {
        return Err(FilmError::NoPictures);
    }
    if frames.len() > FRAMES {
        return Err(FilmError::TooLong(frames.len()));
    }
    let delays: Vec<u64> = (0..frames.len())
        .map(|at| match frames.get(at..).and_then(|rest| Some((rest.first()?, rest.get(1)?))) {
            Some((now, next)) => next.0.at_ms.saturating_sub(now.0.at_ms).clamp(SHORTEST, LONGEST),
            None => LAST,
        })
        .collect();
    let pictures = frames.iter().map(|(frame, _)| {
        drawn(frame, (width, height), artifacts).ok_or_else(|| FilmError::Unreadable(frame.picture.path.clone()))
    });
    write(pictures, &delays, (width, height), &mut out)?;
    out.flush().map_err(FilmError::Write)?;
    Ok(Film { frames: frames.len(), width, height, duration_ms: delays.iter().sum() })
}

impl Frame<'_> {
    fn shows_what(&self, other: &Self) -> bool {
        self.picture.sha256 == other.picture.sha256 && self.target == other.target
    }
}

/// The pictures of a step, with their sizes. One that is not there or too large is left out.
fn frames_of<'a>(
    run: &Run,
    record: &'a StepRecord,
    pages: &mut Observations<'_>,
    artifacts: &ArtifactStore,
) -> Vec<(Frame<'a>, (u32, u32))> {
    let began = record.execution.ts_ms;
    let ended = began.saturating_add(record.execution.duration_ms);
    let mut frames = Vec::new();
    if record.artifacts.is_empty() {
        return frames;
    }
    let page = record.observation.and_then(|id| pages.read(id).ok().flatten());
    for (kind, at_ms) in [("screenshotBefore", began), ("screenshotAfter", ended), ("screenshot", ended)] {
        let Some(picture) = record.artifacts.iter().find(|artifact| artifact.kind == kind) else { continue };
        let Some(size) = artifacts.read(picture).ok().and_then(|bytes| size(&bytes)) else { continue };
        let scale = picture_scale(run, page.as_ref(), size.0);
        let target = target_of(record).zip(scale).filter(|_| kind == "screenshotBefore");
        let target =
            target.map(|(it, by)| Rect { x: it.x * by, y: it.y * by, width: it.width * by, height: it.height * by });
        frames.push((Frame { picture, target, at_ms }, size));
    }
    frames
}

/// Writes pictures of this size, each shown for as many milliseconds.
fn write(
    pictures: impl Iterator<Item = Result<RgbImage, FilmError>>,
    delays: &[u64],
    (width, height): (u32, u32),
    out: impl Write,
) -> Result<(), FilmError> {
    let failed = |error: png::EncodingError| FilmError::Write(error.into());
    let mut encoder = png::Encoder::new(out, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_animated(u32::try_from(delays.len()).unwrap_or(u32::MAX), 0).map_err(failed)?;
    let mut writer = encoder.write_header().map_err(failed)?;
    let mut former: Option<RgbImage> = None;
    for (now, delay) in pictures.zip(delays) {
        let now = now?;
        let whole = (0, 0, width, height);
        let (x, y, wide, high) = former.as_ref().map_or(whole, |former| changed(former, &now));
        writer.set_frame_delay(u16::try_from(*delay).unwrap_or(u16::MAX), 1_000).map_err(failed)?;
        if former.is_some() {
            // A size is checked against the position of the frame before.
            writer.set_frame_position(0, 0).map_err(failed)?;
            writer.set_frame_dimension(wide, high).map_err(failed)?;
            writer.set_frame_position(x, y).map_err(failed)?;
        }
        let part = imageops::crop_imm(&now, x, y, wide, high).to_image();
        writer.write_image_data(part.as_raw()).map_err(failed)?;
        former = Some(now);
    }
    writer.finish().map_err(failed)
}

/// The picture of a frame on the canvas of the film, its target outlined.
fn drawn(frame: &Frame<'_>, (width, height): (u32, u32), artifacts: &ArtifactStore) -> Option<RgbImage> {
    let picture = picture(artifacts, frame.picture)?;
    let mut canvas = match picture.dimensions() == (width, height) {
        true => picture,
        false => {
            let mut canvas = RgbImage::from_pixel(width, height, Rgb([0xff; 3]));
            imageops::replace(&mut canvas, &picture, 0, 0);
            canvas
        }
    };
    if let Some(target) = frame.target {
        outline(&mut canvas, target);
    }
    Some(canvas)
}

/// Draws a line around a place, as far as that is in the picture.
fn outline(canvas: &mut RgbImage, place: Rect) {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is bounded below")]
    let at = |place: f64, most: u32| (place.round() as u32).min(most);
    let (width, height) = canvas.dimensions();
    let (left, right) = (at(place.x, width), at(place.x + place.width, width));
    let (top, bottom) = (at(place.y, height), at(place.y + place.height, height));
    let outer = |low: u32, high: u32, most: u32| low.saturating_sub(LINE)..high.saturating_add(LINE).min(most);
    for y in outer(top, bottom, height) {
        for x in outer(left, right, width) {
            if !((left..right).contains(&x) && (top..bottom).contains(&y)) {
                canvas.put_pixel(x, y, Rgb(MARK));
            }
        }
    }
}

/// The smallest part of a picture that has all that differs: its place and size. At least one pixel.
fn changed(former: &RgbImage, now: &RgbImage) -> (u32, u32, u32, u32) {
    let mut part: Option<(u32, u32, u32, u32)> = None;
    for ((x, y, pixel), was) in now.enumerate_pixels().zip(former.pixels()) {
        if pixel != was {
            let (left, top, right, bottom) = part.unwrap_or((x, y, x, y));
            part = Some((left.min(x), top.min(y), right.max(x), bottom.max(y)));
        }
    }
    let (left, top, right, bottom) = part.unwrap_or_default();
    (left, top, right - left + 1, bottom - top + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_may_be_smaller_or_larger_than_the_one_before() {
        let white = RgbImage::from_pixel(60, 40, Rgb([0xff; 3]));
        let mut marked = white.clone();
        outline(&mut marked, Rect { x: 30.0, y: 20.0, width: 8.0, height: 8.0 });
        let black = RgbImage::from_pixel(60, 40, Rgb([0; 3]));
        let all = [white.clone(), marked, black, white];
        let mut out = Vec::new();
        write(all.into_iter().map(Ok), &[100; 4], (60, 40), &mut out).unwrap();
        let mut film = png::Decoder::new(std::io::Cursor::new(out)).read_info().unwrap();
        let mut buffer = vec![0; film.output_buffer_size().unwrap()];
        let sizes = (0..4).map(|_| film.next_frame(&mut buffer).map(|frame| (frame.width, frame.height)));
        assert_eq!(sizes.collect::<Result<Vec<_>, _>>().unwrap(), [(60, 40), (14, 14), (60, 40), (60, 40)]);
    }

    #[test]
    fn a_frame_has_what_differs_and_the_target_has_a_line_around_it() {
        let white = RgbImage::from_pixel(60, 40, Rgb([0xff; 3]));
        assert_eq!(changed(&white, &white), (0, 0, 1, 1), "a frame has a pixel");
        let mut marked = white.clone();
        outline(&mut marked, Rect { x: 10.0, y: 10.0, width: 20.0, height: 5.0 });
        assert_eq!(changed(&white, &marked), (7, 7, 26, 11));
        assert_eq!(marked.get_pixel(15, 12), &Rgb([0xff; 3]), "what is in it stays");
        let mut outside = white.clone();
        outline(&mut outside, Rect { x: -50.0, y: 1e12, width: f64::INFINITY, height: f64::NAN });
        assert_eq!(outside.dimensions(), (60, 40));
    }
}
