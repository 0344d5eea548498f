//! Key events and inserted text, on the session of the frame that is meant.

use cuebook_cdp::protocol::browser_protocol::input::{DispatchKeyEventParams, DispatchKeyEventType, InsertTextParams};

use super::devices::{Devices, Input, Place, Sending};
use super::layout::{Chord, Key, key_for};
use super::mouse::{ALT, CONTROL, META, SHIFT};

/// A keyboard on one process. Each call queues its events before it returns, and releases all keys that it presses.
#[derive(Clone, Copy)]
pub(crate) struct Keyboard<'a> {
    pub(crate) devices: &'a Devices,
    pub(crate) place: &'a Place,
}

impl Keyboard<'_> {
    fn send(&self, kind: DispatchKeyEventType, key: &Key, modifiers: u8, text: Option<&str>) -> Sending {
        let event = DispatchKeyEventParams {
            modifiers: Some(modifiers.into()),
            key: Some(key.key.clone()),
            code: Some(key.code.clone()),
            windows_virtual_key_code: Some(key.number.into()),
            location: Some(key.location.into()),
            text: text.map(str::to_owned),
            unmodified_text: text.map(str::to_owned),
            ..DispatchKeyEventParams::new(kind)
        };
        self.devices.send(self.place, Input::Key(event))
    }

    /// Presses and releases one key.
    pub(crate) fn stroke(&self, key: &Key, modifiers: u8) -> [Sending; 2] {
        let enters = modifiers & (ALT | CONTROL | META) == 0;
        let text = key.text.as_deref().filter(|_| enters);
        let down = if text.is_some() { DispatchKeyEventType::KeyDown } else { DispatchKeyEventType::RawKeyDown };
        [self.send(down, key, modifiers, text), self.send(DispatchKeyEventType::KeyUp, key, modifiers, None)]
    }

    /// Holds the modifiers, presses and releases the key, lets the modifiers go.
    pub(crate) fn chord(&self, chord: &Chord) -> Vec<Sending> {
        let held: Vec<(u8, Key)> = [(ALT, "Alt"), (CONTROL, "Control"), (META, "Meta"), (SHIFT, "Shift")]
            .into_iter()
            .filter(|(bit, _)| chord.modifiers & bit != 0)
            .filter_map(|(bit, name)| super::layout::chord(name).map(|chord| (bit, chord.key)))
            .collect();
        let mut calls = Vec::new();
        let mut bits = 0;
        for (bit, key) in &held {
            bits |= bit;
            calls.push(self.send(DispatchKeyEventType::RawKeyDown, key, bits, None));
        }
        calls.extend(self.stroke(&chord.key, chord.modifiers));
        for (bit, key) in held.iter().rev() {
            bits &= !bit;
            calls.push(self.send(DispatchKeyEventType::KeyUp, key, bits, None));
        }
        calls
    }

    /// Enters one character: by its key where the keyboard has one.
    pub(crate) fn character(&self, character: char) -> Vec<Sending> {
        match key_for(character) {
            Some(key) => self.stroke(&key, 0).into(),
            None => vec![self.insert(character.encode_utf8(&mut [0; 4]))],
        }
    }

    /// Enters text as an input method does: no key events.
    pub(crate) fn insert(&self, text: &str) -> Sending {
        self.devices.send(self.place, Input::Text(InsertTextParams::new(text)))
    }
}
