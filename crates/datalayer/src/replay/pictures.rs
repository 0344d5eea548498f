//! Screenshots of two runs, by how alike they look.

use image::RgbImage;
use image_compare::Algorithm;

use super::compare::{Divergence, DivergenceKind, pairs};
use super::recording::Recording;
use crate::artifact::ArtifactStore;
use crate::log::Run;
use crate::picture::picture;

/// Compares the screenshots that both runs took of the same steps, by structural similarity (MSSIM): a pair below `least`,
/// from 0 to 1, differs. Pictures that cannot be read are no difference. Blocks; costs about 100 ms for a pair of a
/// megapixel.
#[must_use]
pub fn compare_pictures(
    recording: &Recording,
    recorded: (&Run, &ArtifactStore),
    replayed: (&Run, &ArtifactStore),
    least: f64,
) -> Vec<Divergence> {
    let mut found = Vec::new();
    for pair in pairs(recording, Some(recorded.0), replayed.0) {
        let (Some(then), Some(now)) = (pair.recorded, pair.replayed) else { continue };
        for was in then.artifacts.iter().filter(|artifact| artifact.media_type == "image/png") {
            let Some(is) = now.artifacts.iter().find(|artifact| artifact.kind == was.kind) else { continue };
            if was.sha256 == is.sha256 {
                continue;
            }
            let (Some(a), Some(b)) = (picture(recorded.1, was), picture(replayed.1, is)) else { continue };
            let differs = match similarity(&a, &b) {
                Some(similarity) if similarity >= least => continue,
                Some(similarity) => format!("{} (similarity {similarity:.3})", is.path),
                None => format!("{} ({}x{} instead of {}x{})", is.path, b.width(), b.height(), a.width(), a.height()),
            };
            found.push(pair.divergence(DivergenceKind::Picture, vec![was.path.clone()], vec![differs]));
        }
    }
    found
}

/// `None` for pictures of different sizes.
fn similarity(a: &RgbImage, b: &RgbImage) -> Option<f64> {
    image_compare::rgb_similarity_structure(&Algorithm::MSSIMSimple, a, b).ok().map(|similarity| similarity.score)
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
        assert_eq!(similarity(&one, &one), Some(1.0));
        let other = similarity(&one, &striped(160, 80, 23)).unwrap();
        assert!(other < 0.8, "{other}");
        assert_eq!(similarity(&one, &striped(80, 80, 10)), None);
    }
}
