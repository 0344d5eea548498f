//! Mouse events, in the coordinates of the tab's viewport.

use cuebook_grammar::action::{Modifier, MouseButton};
use cuebook_grammar::geometry::Point;
use serde::Serialize;

use super::devices::{Devices, Place, Sending};

/// The protocol's bits for held keys.
pub(crate) fn modifier_bits(modifiers: &[Modifier]) -> u8 {
    modifiers.iter().fold(0, |bits, modifier| bits | bit(*modifier))
}

pub(crate) const ALT: u8 = 1;
pub(crate) const CONTROL: u8 = 2;
pub(crate) const META: u8 = 4;
pub(crate) const SHIFT: u8 = 8;
/// The command key of the system that the browser runs on, which is ours.
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
    force: f64,
}

impl Event {
    fn new(kind: &'static str, point: Point, button: Option<MouseButton>, is_down: bool) -> Self {
        Self {
            kind,
            x: point.x,
            y: point.y,
            button: button.map_or("none", name),
            buttons: button.filter(|_| is_down).map_or(0, mask),
            click_count: 0,
            modifiers: 0,
            pointer_type: "mouse",
            // What a mouse cannot measure is 0.5 while a button is down (Pointer Events, section 4.1).
            force: if is_down { 0.5 } else { 0.0 },
        }
    }
}

/// A mouse on one tab. Each call queues its event before it returns, so that a gesture is one burst.
pub(crate) struct Mouse<'a> {
    pub(crate) devices: &'a mut Devices,
    pub(crate) modifiers: u8,
}

impl Devices {
    /// A mouse on the tab, with these keys held.
    pub(crate) fn mouse(&mut self, modifiers: u8) -> Mouse<'_> {
        Mouse { devices: self, modifiers }
    }
}

impl Mouse<'_> {
    fn hold(&mut self, point: Point, button: MouseButton) {
        let release = Event { click_count: 1, ..Event::new("mouseReleased", point, Some(button), false) };
        self.devices.holds(Some((point, serde_json::to_value(release).unwrap_or_default())));
    }

    fn send(&self, event: Event) -> Sending {
        let event = Event { modifiers: self.modifiers, ..event };
        self.devices.send(&Place::Tab, "Input.dispatchMouseEvent", event)
    }

    pub(crate) fn move_to(&self, point: Point) -> Sending {
        self.send(Event::new("mouseMoved", point, None, false))
    }

    pub(crate) fn drag_to(&mut self, point: Point, button: MouseButton) -> Sending {
        self.hold(point, button);
        self.send(Event::new("mouseMoved", point, Some(button), true))
    }

    pub(crate) fn press(&mut self, point: Point, button: MouseButton, count: u8) -> Sending {
        self.hold(point, button);
        self.send(Event { click_count: count, ..Event::new("mousePressed", point, Some(button), true) })
    }

    pub(crate) fn release(&mut self, point: Point, button: MouseButton, count: u8) -> Sending {
        self.devices.holds(None);
        self.send(Event { click_count: count, ..Event::new("mouseReleased", point, Some(button), false) })
    }
}
