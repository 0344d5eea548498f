//! Stored pictures, which are PNG files.

use cuebook_grammar::outcome::ArtifactRef;
use image::RgbImage;

use crate::artifact::ArtifactStore;

/// Upper bound of the pixels of a picture that is decoded.
const MAX_PIXELS: usize = 40_000_000;

/// The pixels of a picture; `None` if it is not there, is no picture, or has more pixels than are decoded.
pub(crate) fn picture(store: &ArtifactStore, artifact: &ArtifactRef) -> Option<RgbImage> {
    let bytes = store.read(artifact).ok()?;
    let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().ok()?;
    let size = reader.output_buffer_size().filter(|size| *size <= 4 * MAX_PIXELS)?;
    let mut pixels = vec![0; size];
    let info = reader.next_frame(&mut pixels).ok()?;
    pixels.truncate(info.buffer_size());
    let rgb: Vec<u8> = match info.color_type {
        png::ColorType::Rgb => pixels,
        png::ColorType::Rgba => pixels.chunks_exact(4).flat_map(|pixel| pixel.iter().take(3)).copied().collect(),
        _ => return None,
    };
    RgbImage::from_raw(info.width, info.height, rgb)
}

/// Width and height of a PNG: its first chunk is its header.
pub(crate) fn size(bytes: &[u8]) -> Option<(u32, u32)> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let is_png = bytes.starts_with(b"\x89PNG\r\n\x1a\n") && bytes.get(12..16) == Some(b"IHDR");
    is_png.then(|| number(16).zip(number(20))).flatten().filter(|(width, height)| *width > 0 && *height > 0)
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn only_a_picture_has_a_size() {
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x05\0\0\0\x02\xd0".to_vec();
        assert_eq!(size(&png), Some((1280, 720)));
        png.truncate(22);
        assert_eq!(size(&png), None);
        assert_eq!(size(b"GIF89a"), None);
    }
}
