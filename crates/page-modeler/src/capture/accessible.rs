//! A frame in which the walk failed: what the browser's accessibility tree says of it.
//!
//! Its candidates have no meaning to compare; the executor follows their locators.

use std::sync::Arc;
use std::time::Instant;

use cuebook_grammar::candidate::ControlKind;
use cuebook_grammar::facts::States;
use cuebook_grammar::geometry::Rect;
use cuebook_probe::{Probe, ProbeError, ProbeWorld};

use crate::model::rows::{FrameWalk, Row, RowPlace};

/// The most elements of a frame.
const ELEMENTS: usize = 300;
/// Facts about a document that need no walk: address, title, viewport, and the frames in it, the first 100.
const DOCUMENT: &str = "(cb) => {
    const wayTo = (element) => {
        const parts = [];
        for (let at = element; at && at !== cb.rootElement(); at = cb.parentNode(at))
            parts.unshift(`:nth-child(${Array.from(cb.elementChildren(cb.parentNode(at))).indexOf(at) + 1})`);
        return [':root', ...parts].join(' > ');
    };
    const frames = Array.from(cb.queryAll(document, 'iframe,frame')).slice(0, 100);
    const owner = (element) => ({ ...cb.ownerBox(element), css: wayTo(element) });
    return {
        url: String(globalThis.location?.href ?? '').slice(0, 2000),
        origin: String(globalThis.origin).slice(0, 300),
        title: cb.shortText(cb.title(document), 200),
        viewport: {
            width: innerWidth, height: innerHeight, scrollX, scrollY, pageWidth: innerWidth, pageHeight: innerHeight,
            devicePixelRatio,
        },
        owners: Object.fromEntries(frames.map((frame) => [cb.idOf(frame), owner(frame)])),
    };
}";

pub(super) async fn walk(probe: &Probe, world: &ProbeWorld, until: Instant) -> Result<FrameWalk, ProbeError> {
    let mut walk: FrameWalk = world.call(DOCUMENT, &[], until).await?;
    walk.accessible = true;
    let view = Rect { x: 0.0, y: 0.0, width: walk.viewport.width, height: walk.viewport.height };
    for element in probe.accessible(world, ELEMENTS, until).await? {
        let is_text = element.role.is_text_entry();
        let row = Row {
            id: element.key.node,
            role: element.role,
            name: element.name,
            reason: "accessibility".to_owned(),
            states: States { disabled: element.disabled, editable: is_text, ..States::default() },
            control: if element.role.is_checkable() { ControlKind::Check } else { ControlKind::Plain },
            path: element.role.as_str().to_owned(),
            ..Row::default()
        };
        let in_view = element.rect.share_within(&view) > 0.0;
        walk.rows.push(Arc::new(row));
        walk.places.push(RowPlace { rect: element.rect, in_view, cover: None });
    }
    Ok(walk)
}
