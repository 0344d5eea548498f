//! Files of steps within the page. The bytes of each stand there once, however often it is shown.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cuebook_grammar::geometry::Rect;
use cuebook_grammar::outcome::ArtifactRef;
use cuebook_grammar::record::{RecordedTarget, StepRecord};
use maud::{Markup, html};

use crate::artifact::ArtifactStore;
use crate::log::Run;

/// The most bytes of pictures that a page holds.
const MOST: u64 = 48 << 20;
/// The longest text that is read, in bytes.
const MOST_TEXT: u64 = 1 << 20;

pub(super) struct Pictures<'a> {
    artifacts: &'a ArtifactStore,
    /// Boxes are in CSS pixels, and so are the pictures of a browser that was started for the run.
    has_boxes: bool,
    room: u64,
    /// The sizes of pictures that stand in the page, by digest.
    drawn: BTreeMap<String, (u32, u32)>,
}

/// Returns `true` if there was no page yet.
fn is_blank(record: &StepRecord) -> bool {
    record.url == "about:blank"
}

impl<'a> Pictures<'a> {
    pub(super) fn of(run: &Run, artifacts: &'a ArtifactStore) -> Self {
        let has_boxes = run.header.as_ref().is_some_and(|header| header.browser_path.is_some());
        Self { artifacts, has_boxes, room: MOST, drawn: BTreeMap::new() }
    }

    /// Returns the small picture of the page at a step, for the strip.
    pub(super) fn small(&mut self, record: &StepRecord) -> Option<Markup> {
        let of = |kind: &str| record.artifacts.iter().find(|artifact| artifact.kind == kind);
        let before = of("screenshotBefore").filter(|_| !is_blank(record));
        let picture = before.or_else(|| of("screenshotAfter"))?;
        let target = if picture.kind == "screenshotBefore" { self.target(record) } else { None };
        Some(self.drawn(picture, target, "Page at this step"))
    }

    /// All pictures of a step.
    pub(super) fn all(&mut self, record: &StepRecord) -> Vec<(&'static str, Markup)> {
        let target = self.target(record);
        let kinds = [
            ("screenshotBefore", "Before", target),
            ("screenshotAfter", "After", None),
            ("screenshot", "Picture", None),
        ];
        kinds
            .into_iter()
            .flat_map(|(kind, title, target)| {
                let is_shown =
                    move |one: &&ArtifactRef| one.kind == kind && (kind != "screenshotBefore" || !is_blank(record));
                record.artifacts.iter().filter(is_shown).map(move |one| (one, title, target))
            })
            .map(|(picture, title, target)| (title, self.drawn(picture, target, title)))
            .collect()
    }

    /// A file of a step that holds text.
    pub(super) fn text(&self, record: &StepRecord, kind: &str) -> Option<String> {
        let file = record.artifacts.iter().find(|file| file.kind == kind && file.bytes <= MOST_TEXT)?;
        String::from_utf8(self.artifacts.read(file).ok()?).ok()
    }

    fn target(&self, record: &StepRecord) -> Option<Rect> {
        let target = record.action.action.targets().first().and_then(|target| record.candidates.get(*target))?;
        match target {
            RecordedTarget::Observed(candidate) if self.has_boxes => candidate.rect,
            _ => None,
        }
    }

    fn drawn(&mut self, picture: &ArtifactRef, target: Option<Rect>, title: &str) -> Markup {
        let left_out = |why: &str| html! { p.faint { "Not in this page (" (why) "): " (picture.path) } };
        let id = format!("picture-{}", picture.sha256);
        let known = self.drawn.get(&picture.sha256).copied();
        let ((width, height), image) = match known {
            Some(size) => (size, html! { use href={ "#" (id) } {} }),
            None if picture.bytes > self.room => return left_out("too many pictures"),
            None => {
                let Ok(bytes) = self.artifacts.read(picture) else { return left_out("cannot be read") };
                let Some((width, height)) = size(&bytes) else { return left_out("no PNG") };
                self.room = self.room.saturating_sub(picture.bytes);
                self.drawn.insert(picture.sha256.clone(), (width, height));
                let href = format!("data:image/png;base64,{}", STANDARD.encode(&bytes));
                ((width, height), html! { image id=(id) href=(href) width=(width) height=(height) {} })
            }
        };
        html! {
            svg viewBox={ "0 0 " (width) " " (height) } role="img" aria-label=(title) {
                (image)
                @if let Some(Rect { x, y, width, height }) = target {
                    rect x=(x) y=(y) width=(width.max(1.0)) height=(height.max(1.0)) {}
                }
            }
        }
    }
}

/// Width and height of a PNG: its first chunk is its header.
fn size(bytes: &[u8]) -> Option<(u32, u32)> {
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
