//! Mouse events, in the coordinates of the tab's viewport.

use cuebook_cdp::protocol::browser_protocol::input::{
    self as protocol, DispatchMouseEventParams, DispatchMouseEventPointerType, DispatchMouseEventType,
};
use cuebook_grammar::action::{Modifier, MouseButton};
use cuebook_grammar::geometry::Point;

use super::devices::{Devices, Input, Place, Sending};

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

const fn named(button: Option<MouseButton>) -> protocol::MouseButton {
    match button {
        None => protocol::MouseButton::None,
        Some(MouseButton::Left) => protocol::MouseButton::Left,
        Some(MouseButton::Middle) => protocol::MouseButton::Middle,
        Some(MouseButton::Right) => protocol::MouseButton::Right,
    }
}

const fn mask(button: MouseButton) -> i64 {
    match button {
        MouseButton::Left => 1,
        MouseButton::Right => 2,
        MouseButton::Middle => 4,
    }
}

fn event(
    kind: DispatchMouseEventType,
    point: Point,
    button: Option<MouseButton>,
    is_down: bool,
    count: u8,
) -> DispatchMouseEventParams {
    DispatchMouseEventParams {
        button: Some(named(button)),
        buttons: Some(button.filter(|_| is_down).map_or(0, mask)),
        click_count: Some(count.into()),
        modifiers: Some(0),
        pointer_type: Some(DispatchMouseEventPointerType::Mouse),
        // What a mouse cannot measure is 0.5 while a button is down (Pointer Events, section 4.1).
        force: Some(if is_down { 0.5 } else { 0.0 }),
        ..DispatchMouseEventParams::new(kind, point.x, point.y)
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
        let release = event(DispatchMouseEventType::MouseReleased, point, Some(button), false, 1);
        self.devices.holds(Some((point, release)));
    }

    fn send(&self, event: DispatchMouseEventParams) -> Sending {
        let event = DispatchMouseEventParams { modifiers: Some(self.modifiers.into()), ..event };
        self.devices.send(&Place::Tab, Input::Mouse(event))
    }

    pub(crate) fn move_to(&self, point: Point) -> Sending {
        self.send(event(DispatchMouseEventType::MouseMoved, point, None, false, 0))
    }

    /// Turns the wheel by CSS pixels; positive is right and down.
    pub(crate) fn wheel(&self, point: Point, x: f64, y: f64) -> Sending {
        let turned = event(DispatchMouseEventType::MouseWheel, point, None, false, 0);
        self.send(DispatchMouseEventParams { delta_x: Some(x), delta_y: Some(y), ..turned })
    }

    pub(crate) fn drag_to(&mut self, point: Point, button: MouseButton) -> Sending {
        self.hold(point, button);
        self.send(event(DispatchMouseEventType::MouseMoved, point, Some(button), true, 0))
    }

    pub(crate) fn press(&mut self, point: Point, button: MouseButton, count: u8) -> Sending {
        self.hold(point, button);
        self.send(event(DispatchMouseEventType::MousePressed, point, Some(button), true, count))
    }

    pub(crate) fn release(&mut self, point: Point, button: MouseButton, count: u8) -> Sending {
        self.devices.holds(None);
        self.send(event(DispatchMouseEventType::MouseReleased, point, Some(button), false, count))
    }
}
