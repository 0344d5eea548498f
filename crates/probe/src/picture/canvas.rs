//! Pixels: read from PNG, made smaller, filled, written as PNG.
//!
//! Invariant: every area is clipped to the picture, however large or far away it is.

use std::fmt;
use std::io::Cursor;

use cuebook_grammar::geometry::Rect;

/// Colour of a pixel: red, green, blue.
pub type Ink = [u8; 3];

/// The most bytes that a picture may take when it is unpacked.
const UNPACKED: usize = 256 * 1024 * 1024;

/// Whole pixels, from left and top to before right and bottom. It may lie outside of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// First column; negative if it lies left of the picture.
    pub left: i64,
    /// First row; negative if it lies above the picture.
    pub top: i64,
    /// The column after the last one.
    pub right: i64,
    /// The row after the last one.
    pub bottom: i64,
}

impl Area {
    /// Farther away than any picture reaches, and near enough for arithmetic.
    const FAR: f64 = 1e6;

    /// The pixels that a box touches, at `scale` pixels a unit; `None` for a box without an area or a finite position.
    #[must_use]
    pub fn of(rect: &Rect, scale: (f64, f64)) -> Option<Self> {
        let (right, bottom) = (rect.x + rect.width, rect.y + rect.height);
        let edges = [rect.x * scale.0, rect.y * scale.1, right * scale.0, bottom * scale.1];
        if !rect.has_area() || edges.iter().any(|edge| !edge.is_finite()) {
            return None;
        }
        let [left, top, right, bottom] = edges.map(|edge| edge.clamp(-Self::FAR, Self::FAR));
        Some(Self {
            left: left.floor() as i64,
            top: top.floor() as i64,
            right: right.ceil() as i64,
            bottom: bottom.ceil() as i64,
        })
    }

    /// Returns `true` if they have a pixel in common.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }

    /// Returns `true` if all of it lies in `other`.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self.left >= other.left && self.top >= other.top && self.right <= other.right && self.bottom <= other.bottom
    }
}

/// A picture without transparency.
#[derive(Clone, PartialEq, Eq)]
pub struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<Ink>,
}

impl fmt::Debug for Canvas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Canvas({} × {})", self.width, self.height)
    }
}

impl Canvas {
    /// A picture of one colour.
    #[must_use]
    pub fn plain(width: usize, height: usize, ink: Ink) -> Self {
        Self { width, height, pixels: vec![ink; width * height] }
    }

    /// Reads a PNG; `None` for anything else, and for one that is too large.
    #[must_use]
    pub fn read(png: &[u8]) -> Option<Self> {
        let mut decoder = png::Decoder::new_with_limits(Cursor::new(png), png::Limits { bytes: UNPACKED });
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().ok()?;
        let size = reader.output_buffer_size().filter(|size| *size <= UNPACKED)?;
        let mut bytes = vec![0; size];
        let frame = reader.next_frame(&mut bytes).ok()?;
        let samples = frame.color_type.samples();
        let pixels: Vec<Ink> = bytes
            .chunks_exact(samples)
            .map(|pixel| match *pixel {
                [red, green, blue, ..] => [red, green, blue],
                [gray, ..] => [gray; 3],
                [] => [0; 3],
            })
            .collect();
        let (width, height) = (usize::try_from(frame.width).ok()?, usize::try_from(frame.height).ok()?);
        (width.checked_mul(height)? == pixels.len()).then_some(Self { width, height, pixels })
    }

    /// Pixels of a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Height of the picture in pixels.
    #[must_use]
    pub fn height(&self) -> usize {
        self.height
    }

    /// Returns the area of the whole picture.
    #[must_use]
    pub fn area(&self) -> Area {
        Area { left: 0, top: 0, right: self.width as i64, bottom: self.height as i64 }
    }

    /// Returns the picture at a smaller size, each pixel the mean of those that it replaces. Never larger.
    #[must_use]
    pub fn shrunk(self, width: usize, height: usize) -> Self {
        let (width, height) = (width.clamp(1, self.width.max(1)), height.clamp(1, self.height.max(1)));
        if (width, height) == (self.width, self.height) {
            return self;
        }
        let span = |at: usize, from: usize, to: usize| (at * from / to, ((at + 1) * from).div_ceil(to).min(from));
        let mut pixels = Vec::with_capacity(width * height);
        for row in 0..height {
            let (top, bottom) = span(row, self.height, height);
            for column in 0..width {
                let (left, right) = span(column, self.width, width);
                let mut sums = [0_u64; 3];
                let mut count = 0;
                for line in top..bottom {
                    let from = line * self.width;
                    for pixel in self.pixels.get(from + left..from + right).unwrap_or_default() {
                        for (sum, part) in sums.iter_mut().zip(pixel) {
                            *sum += u64::from(*part);
                        }
                        count += 1;
                    }
                }
                pixels.push(sums.map(|sum| u8::try_from(sum / count.max(1)).unwrap_or(u8::MAX)));
            }
        }
        Self { width, height, pixels }
    }

    /// Paints what lies in the picture of an area.
    pub fn fill(&mut self, area: Area, ink: Ink) {
        let within = |edge: i64, size: usize| usize::try_from(edge).unwrap_or(0).min(size);
        let (left, right) = (within(area.left, self.width), within(area.right, self.width));
        for row in within(area.top, self.height)..within(area.bottom, self.height) {
            let from = row * self.width;
            if left < right
                && let Some(line) = self.pixels.get_mut(from + left..from + right)
            {
                line.fill(ink);
            }
        }
    }

    /// Paints the innermost `thickness` pixels of an area.
    pub fn outline(&mut self, area: Area, thickness: i64, ink: Ink) {
        let Area { left, top, right, bottom } = area;
        self.fill(Area { bottom: bottom.min(top + thickness), ..area }, ink);
        self.fill(Area { top: top.max(bottom - thickness), ..area }, ink);
        self.fill(Area { right: right.min(left + thickness), ..area }, ink);
        self.fill(Area { left: left.max(right - thickness), ..area }, ink);
    }

    /// The picture as PNG.
    #[must_use]
    pub fn png(&self) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut encoder =
            png::Encoder::new(&mut bytes, u32::try_from(self.width).ok()?, u32::try_from(self.height).ok()?);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Fast);
        let mut writer = encoder.write_header().ok()?;
        writer.write_image_data(self.pixels.as_flattened()).ok()?;
        writer.finish().ok()?;
        Some(bytes)
    }

    /// The colour at a place in the picture, black beyond it.
    #[must_use]
    pub fn at(&self, x: usize, y: usize) -> Ink {
        let index = (x < self.width).then(|| y.checked_mul(self.width)?.checked_add(x)).flatten();
        index.and_then(|index| self.pixels.get(index)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHITE: Ink = [255; 3];
    const RED: Ink = [200, 0, 0];

    fn rect(x: f64, y: f64, width: f64, height: f64) -> Rect {
        Rect { x, y, width, height }
    }

    fn painted(canvas: &Canvas) -> usize {
        (0..canvas.height())
            .flat_map(|y| (0..canvas.width()).map(move |x| (x, y)))
            .filter(|(x, y)| canvas.at(*x, *y) != WHITE)
            .count()
    }

    #[test]
    fn boxes_become_the_pixels_that_they_touch() {
        assert_eq!(
            Area::of(&rect(1.5, 2.0, 3.0, 4.2), (1.0, 1.0)),
            Some(Area { left: 1, top: 2, right: 5, bottom: 7 })
        );
        assert_eq!(
            Area::of(&rect(10.0, 10.0, 4.0, 4.0), (0.5, 0.25)),
            Some(Area { left: 5, top: 2, right: 7, bottom: 4 })
        );
    }

    #[test]
    fn boxes_without_area_or_place_have_no_pixels() {
        for nowhere in [
            rect(5.0, 5.0, 0.0, 9.0),
            rect(5.0, 5.0, 9.0, -1.0),
            rect(f64::NAN, 0.0, 1.0, 1.0),
            rect(0.0, 0.0, f64::NAN, 1.0),
            rect(0.0, f64::INFINITY, 1.0, 1.0),
            rect(f64::NEG_INFINITY, 0.0, f64::INFINITY, 1.0),
            rect(0.0, 0.0, f64::MAX, f64::INFINITY),
        ] {
            assert_eq!(Area::of(&nowhere, (1.0, 1.0)), None, "{nowhere:?}");
        }
    }

    #[test]
    fn areas_beyond_the_picture_paint_what_lies_in_it() {
        let mut canvas = Canvas::plain(10, 8, WHITE);
        let huge = Area::of(&rect(-1e300, 6.0, 2e300, 1e300), (1.0, 1.0)).unwrap();
        canvas.fill(huge, RED);
        assert_eq!(painted(&canvas), 20);
        for away in [rect(-50.0, -50.0, 20.0, 20.0), rect(50.0, 0.0, 20.0, 20.0), rect(0.0, 1e300, 1.0, 1e299)] {
            canvas.fill(Area::of(&away, (1.0, 1.0)).unwrap(), RED);
        }
        canvas.fill(Area { left: 8, top: 0, right: 3, bottom: 5 }, RED);
        assert_eq!(painted(&canvas), 20);
    }

    #[test]
    fn an_outline_is_the_rim_of_its_area() {
        let mut canvas = Canvas::plain(12, 12, WHITE);
        canvas.outline(Area { left: 2, top: 2, right: 10, bottom: 9 }, 2, RED);
        assert_eq!(painted(&canvas), 8 * 7 - 4 * 3);
        assert_eq!([canvas.at(2, 2), canvas.at(9, 8), canvas.at(3, 5), canvas.at(4, 4)], [RED, RED, RED, WHITE]);
        // One that is smaller than its rim stays within itself.
        let mut canvas = Canvas::plain(12, 12, WHITE);
        canvas.outline(Area { left: 5, top: 5, right: 6, bottom: 6 }, 2, RED);
        assert_eq!(painted(&canvas), 1);
    }

    #[test]
    fn a_picture_of_a_dense_screen_shrinks_to_means() {
        let mut canvas = Canvas::plain(6, 4, WHITE);
        canvas.fill(Area { left: 0, top: 0, right: 2, bottom: 2 }, [0; 3]);
        canvas.fill(Area { left: 2, top: 0, right: 3, bottom: 2 }, [55; 3]);
        let small = canvas.clone().shrunk(3, 2);
        assert_eq!((small.width(), small.height()), (3, 2));
        assert_eq!([small.at(0, 0), small.at(1, 0), small.at(2, 1)], [[0; 3], [155; 3], WHITE]);
        assert!(canvas.clone().shrunk(600, 400) == canvas, "it becomes no larger");
        assert_eq!(canvas.shrunk(0, 0).width(), 1);
    }

    #[test]
    fn a_picture_survives_being_written_and_read() {
        let mut canvas = Canvas::plain(7, 5, WHITE);
        canvas.fill(Area { left: 1, top: 1, right: 4, bottom: 3 }, RED);
        let png = canvas.png().unwrap();
        assert!(Canvas::read(&png).is_some_and(|read| read == canvas));
        for end in 0..png.len() - 12 {
            assert!(Canvas::read(&png[..end]).is_none(), "{end}");
        }
        assert!(Canvas::read(b"GIF89a").is_none());
    }

    #[test]
    fn a_picture_that_claims_to_be_huge_is_not_unpacked() {
        let mut png = Canvas::plain(1, 1, WHITE).png().unwrap();
        png[16..24].copy_from_slice(&[0x00, 0xff, 0xff, 0xff, 0x00, 0xff, 0xff, 0xff]);
        assert!(Canvas::read(&png).is_none());
    }
}
