//! Key events and inserted text, on the session of the frame that is meant.

use serde::Serialize;

use super::devices::{Devices, Place, Sending};
use super::layout::{Chord, Key, key_for};
use super::mouse::{ALT, CONTROL, META, SHIFT};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Event<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    modifiers: u8,
    key: &'a str,
    code: &'a str,
    windows_virtual_key_code: u16,
    location: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unmodified_text: Option<&'a str>,
}

#[derive(Serialize)]
struct Inserted<'a> {
    text: &'a str,
}

/// A keyboard on one process. Each call queues its events before it returns, and releases all keys that it presses.
#[derive(Clone, Copy)]
pub(crate) struct Keyboard<'a> {
    pub(crate) devices: &'a Devices,
    pub(crate) place: &'a Place,
}

impl Keyboard<'_> {
    fn send(&self, kind: &'static str, key: &Key, modifiers: u8, text: Option<&str>) -> Sending {
        let event = Event {
            kind,
            modifiers,
            key: &key.key,
            code: &key.code,
            windows_virtual_key_code: key.number,
            location: key.location,
            text,
            unmodified_text: text,
        };
        self.devices.send(self.place, "Input.dispatchKeyEvent", event)
    }

    /// Presses and releases one key.
    pub(crate) fn stroke(&self, key: &Key, modifiers: u8) -> [Sending; 2] {
        let enters = modifiers & (ALT | CONTROL | META) == 0;
        let text = key.text.as_deref().filter(|_| enters);
        let down = if text.is_some() { "keyDown" } else { "rawKeyDown" };
        [self.send(down, key, modifiers, text), self.send("keyUp", key, modifiers, None)]
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
            calls.push(self.send("rawKeyDown", key, bits, None));
        }
        calls.extend(self.stroke(&chord.key, chord.modifiers));
        for (bit, key) in held.iter().rev() {
            bits &= !bit;
            calls.push(self.send("keyUp", key, bits, None));
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
        self.devices.send(self.place, "Input.insertText", Inserted { text })
    }
}
