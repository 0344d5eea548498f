//! Mouse events, in the coordinates of the tab's viewport.

use std::time::Instant;

use cuebook_cdp::{Call, RawReply, Session};
use cuebook_grammar::action::{Modifier, MouseButton};
use cuebook_grammar::geometry::Point;
use serde::Serialize;

/// The bits that the protocol has for held keys.
pub(crate) fn modifier_bits(modifiers: &[Modifier]) -> u8 {
    modifiers.iter().fold(0, |bits, modifier| bits | bit(*modifier))
}

pub(crate) const ALT: u8 = 1;
pub(crate) const CONTROL: u8 = 2;
pub(crate) const META: u8 = 4;
pub(crate) const SHIFT: u8 = 8;
/// What people call the command key: by the system that the browser runs on, which is ours.
pub(crate) const COMMAND: u8 = if cfg!(target_os = "macos") { META } else { CONTROL };

const fn bit(modifier: Modifier) -> u8 {
    match modifier {
        Modifier::Alt => ALT,
        Modifier::Control => CONTROL,
        Modifier::Meta => META,
        Modifier::Shift => SHIFT,
        Modifier::ControlOrMeta => COMMAND,
    }
}

const fn name(button: MouseButton) -> &'static str {
    match button {
        MouseButton::Left => "left",
        MouseButton::Middle => "middle",
        MouseButton::Right => "right",
    }
}

const fn mask(button: MouseButton) -> u8 {
    match button {
        MouseButton::Left => 1,
        MouseButton::Right => 2,
        MouseButton::Middle => 4,
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    #[serde(rename = "type")]
    kind: &'static str,
    x: f64,
    y: f64,
    button: &'static str,
    buttons: u8,
    click_count: u8,
    modifiers: u8,
    pointer_type: &'static str,
}

/// A mouse on one tab. Each call queues its event before it returns, so that a gesture is one burst.
#[derive(Clone, Copy)]
pub(crate) struct Mouse<'a> {
    pub(crate) session: &'a Session,
    pub(crate) modifiers: u8,
    pub(crate) until: Instant,
}

impl Mouse<'_> {
    fn send(
        &self,
        kind: &'static str,
        point: Point,
        button: &'static str,
        buttons: u8,
        click_count: u8,
    ) -> Call<RawReply> {
        let event = Event {
            kind,
            x: point.x,
            y: point.y,
            button,
            buttons,
            click_count,
            modifiers: self.modifiers,
            pointer_type: "mouse",
        };
        self.session.call_raw("Input.dispatchMouseEvent", event, self.until)
    }

    pub(crate) fn move_to(&self, point: Point) -> Call<RawReply> {
        self.send("mouseMoved", point, "none", 0, 0)
    }

    pub(crate) fn drag_to(&self, point: Point, button: MouseButton) -> Call<RawReply> {
        self.send("mouseMoved", point, name(button), mask(button), 0)
    }

    pub(crate) fn press(&self, point: Point, button: MouseButton, count: u8) -> Call<RawReply> {
        self.send("mousePressed", point, name(button), mask(button), count)
    }

    pub(crate) fn release(&self, point: Point, button: MouseButton, count: u8) -> Call<RawReply> {
        self.send("mouseReleased", point, name(button), 0, count)
    }
}
