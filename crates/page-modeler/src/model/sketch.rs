//! The page in a few lines, from the walks of its frames.

use cuebook_grammar::observation::{Landmark, Sketch};

use super::clean;
use super::rows::FrameWalk;

/// The sketch of a page; the first walk is the main frame's, each with its frame's index.
#[must_use]
pub fn sketch(walks: &[(u32, &FrameWalk)]) -> Sketch {
    let mut sketch = Sketch::default();
    if let Some((_, main)) = walks.first() {
        let some = |text: &str, limit: usize| {
            let text = clean::cut(&clean::name(text, &[]), limit);
            (!text.is_empty()).then_some(text)
        };
        sketch.page_type = some(&main.meta.page_type, 60).or_else(|| suggested(main).map(str::to_owned));
        sketch.description = some(&main.meta.description, 300);
        sketch.language = some(&main.meta.language, 40);
        sketch.stated = main.meta.stated.clone();
        for text in sketch.stated.texts_mut() {
            *text = clean::cut(&clean::name(text, &[]), 200);
        }
    }
    for (frame, walk) in walks {
        let room = 40_usize.saturating_sub(sketch.landmarks.len());
        sketch.landmarks.extend(
            walk.landmarks
                .iter()
                .take(room)
                .map(|summary| Landmark { summary: clean::cut(&clean::name(summary, &[]), 200), frame: *frame }),
        );
        let room = 40_usize.saturating_sub(sketch.headings.len());
        sketch.headings.extend(walk.headings.iter().take(room).cloned());
        let room = 20_usize.saturating_sub(sketch.live.len());
        sketch.live.extend(walk.live.iter().take(room).cloned());
        sketch.challenge = sketch.challenge.into_iter().chain(walk.challenge).min();
        if sketch.modal.is_none() {
            sketch.modal.clone_from(&walk.modal);
        }
    }
    sketch.empty = !walks.is_empty() && walks.iter().all(|(_, walk)| walk.empty);
    for heading in &mut sketch.headings {
        heading.text = clean::cut(&clean::name(&heading.text, &[]), 200);
    }
    for live in &mut sketch.live {
        live.text = clean::cut(&clean::name(&live.text, &[]), 300);
    }
    sketch.modal = sketch.modal.map(|name| clean::cut(&clean::name(&name, &[]), 200));
    sketch
}

/// The page type that the structure suggests, where the metadata states none.
fn suggested(walk: &FrameWalk) -> Option<&'static str> {
    let starts = |tag: &str| walk.landmarks.iter().any(|landmark| landmark.starts_with(tag));
    if walk.meta.has_password {
        Some("login")
    } else if starts("table") {
        Some("table")
    } else if starts("form") {
        Some("form")
    } else if starts("ul") || starts("ol") {
        Some("list")
    } else if walk.rows.is_empty() {
        Some("document")
    } else {
        None
    }
}
