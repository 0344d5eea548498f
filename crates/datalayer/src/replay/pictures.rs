//! Screenshots of two runs, by how alike they look.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use cuebook_grammar::seam::ArtifactKind;
use image::{Rgb, RgbImage};
use image_compare::Algorithm;

use super::compare::{Divergence, DivergenceKind, pairs};
use super::recording::Recording;
use crate::artifact::ArtifactStore;
use crate::log::Run;
use crate::picture::picture;
use crate::run_dir::RunDir;

/// From here on, a pixel is alike.
const ALIKE: u8 = 200;
/// Folder of the pictures of differences, in that of the replay.
const DIFFERENCES: &str = "differences";

/// Compares the screenshots that both runs took before and after the same steps, by structural similarity (MSSIM): a pair
/// below `least`, from 0 to 1, differs. `then` holds the recorded pictures; those of the replay are in its folder, where a
/// picture of the difference is written. Pictures that cannot be read are no difference. Blocks; costs about 100 ms for a
/// pair of a megapixel.
#[must_use]
pub fn compare_pictures(
    recording: &Recording,
    then: &ArtifactStore,
    replayed: (&Run, &RunDir),
    least: f64,
) -> Vec<Divergence> {
    let now = ArtifactStore::new(replayed.1, None);
    let mut found = Vec::new();
    // The picture after a step is that before the next one.
    let mut compared = BTreeSet::new();
    for pair in pairs(recording, replayed.0) {
        let (Some(recorded), Some(record)) = (pair.recorded, pair.replayed) else { continue };
        // The picture of a target is evidence of its own: its size is that of a text.
        for was in recorded.pictures.iter().filter(|was| was.kind != ArtifactKind::ScreenshotTarget.as_str()) {
            let Some(is) = record.artifacts.iter().find(|artifact| artifact.kind == was.kind) else { continue };
            if was.sha256 == is.sha256 || !compared.insert((was.sha256.clone(), is.sha256.clone())) {
                continue;
            }
            let (Some(a), Some(b)) = (picture(then, was), picture(&now, is)) else { continue };
            let (differs, difference) = match similarity(&a, &b) {
                Some((score, _)) if score >= least => continue,
                Some((score, map)) => (format!("{} (similarity {score:.3})", is.path), Some(map)),
                None => {
                    let sizes = format!("{}x{} instead of {}x{}", b.width(), b.height(), a.width(), a.height());
                    (format!("{} ({sizes})", is.path), None)
                }
            };
            let name = format!("{DIFFERENCES}/step-{}-{}.png", pair.number, was.kind.as_str());
            let written = difference.and_then(|map| write(&marked(&b, &map), &replayed.1.path().join(&name)).ok());
            found.push(Divergence {
                picture: written.map(|()| name),
                ..pair.divergence(DivergenceKind::Picture, vec![was.path.clone()], vec![differs])
            });
        }
    }
    found
}

/// The picture, pale, with the places where it differs in red.
fn marked(picture: &RgbImage, likeness: &RgbImage) -> RgbImage {
    let mut marked = picture.clone();
    for (pixel, alike) in marked.pixels_mut().zip(likeness.pixels()) {
        let Rgb([_, green, blue]) = *pixel;
        let is_alike = alike.0.iter().all(|part| *part >= ALIKE);
        *pixel =
            if is_alike { Rgb(pixel.0.map(|part| 255 - (255 - part) / 3)) } else { Rgb([220, green / 3, blue / 3]) };
    }
    marked
}

fn write(picture: &RgbImage, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), picture.width(), picture.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header()?.write_image_data(picture.as_raw())?;
    Ok(())
}

/// From 0 to 1, and for each pixel and colour from 0 to 255; `None` for pictures of different sizes.
fn similarity(a: &RgbImage, b: &RgbImage) -> Option<(f64, RgbImage)> {
    let similarity = image_compare::rgb_similarity_structure(&Algorithm::MSSIMSimple, a, b).ok()?;
    Some((similarity.score, similarity.image.to_color_map().into_rgb8()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn striped(width: u32, height: u32, stripe: u32) -> RgbImage {
        let pixel = |x: u32| if (x / stripe).is_multiple_of(2) { [255, 255, 255] } else { [20, 40, 90] };
        let pixels = (0..height).flat_map(|_| (0..width).flat_map(pixel)).collect();
        RgbImage::from_raw(width, height, pixels).unwrap()
    }

    #[test]
    fn a_picture_is_like_itself_and_unlike_another() {
        let one = striped(160, 80, 10);
        let alike = |other: &RgbImage| similarity(&one, other).map(|(score, _)| score);
        assert_eq!(alike(&one), Some(1.0));
        let other = alike(&striped(160, 80, 23)).unwrap();
        assert!(other < 0.8, "{other}");
        assert_eq!(alike(&striped(80, 80, 10)), None);
    }

    #[test]
    fn a_picture_of_a_difference_is_red_where_it_is_and_pale_elsewhere() {
        let one = striped(160, 80, 10);
        let mut other = one.clone();
        for (x, y) in (96..128).flat_map(|x| (16..48).map(move |y| (x, y))) {
            other.put_pixel(x, y, Rgb([0, 0, 0]));
        }
        let marked = marked(&other, &similarity(&one, &other).unwrap().1);
        assert_eq!(marked.get_pixel(110, 30), &Rgb([220, 0, 0]));
        assert_eq!(marked.get_pixel(15, 70), &Rgb([177, 184, 200]), "the dark stripe, pale");
    }
}
