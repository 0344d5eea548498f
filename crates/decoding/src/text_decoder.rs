//! Decodes a JSON string byte by byte.
//!
//! Invariant: characters come out whole. Bytes that are no UTF-8, lone surrogates and raw control characters
//! are refused where they stand.

/// Reads one string, from the byte after its opening quote.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StringDecoder {
    state: State,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// The opening quote is still to come.
    Closed,
    #[default]
    Plain,
    Escape,
    /// Digits of an escape, and the high surrogate before it.
    Hex {
        value: u32,
        digits: u8,
        high: Option<u32>,
    },
    /// A high surrogate wants `\u` next.
    WantsLow {
        high: u32,
        backslash: bool,
    },
    /// Bytes of one character.
    Utf8 {
        bytes: [u8; 4],
        have: u8,
        want: u8,
    },
}

/// What a byte brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decoded {
    /// Nothing yet.
    More,
    /// One character.
    Character(char),
    /// The closing quote.
    End,
    /// It cannot stand here.
    Refused,
}

impl StringDecoder {
    /// A decoder that expects the opening quote first.
    pub(super) const fn closed() -> Self {
        Self { state: State::Closed }
    }

    pub(super) const fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    pub(super) fn take(&mut self, byte: u8) -> Decoded {
        match self.state {
            State::Closed if byte == b'"' => self.go(State::Plain),
            State::Closed => Decoded::Refused,
            State::Plain => match byte {
                b'"' => Decoded::End,
                b'\\' => self.go(State::Escape),
                0x20..=0x7e => Decoded::Character(char::from(byte)),
                0xc2..=0xdf => self.go(State::Utf8 { bytes: [byte, 0, 0, 0], have: 1, want: 2 }),
                0xe0..=0xef => self.go(State::Utf8 { bytes: [byte, 0, 0, 0], have: 1, want: 3 }),
                0xf0..=0xf4 => self.go(State::Utf8 { bytes: [byte, 0, 0, 0], have: 1, want: 4 }),
                _ => Decoded::Refused,
            },
            State::Escape => match byte {
                b'"' | b'\\' | b'/' => self.out(char::from(byte)),
                b'b' => self.out('\u{8}'),
                b'f' => self.out('\u{c}'),
                b'n' => self.out('\n'),
                b'r' => self.out('\r'),
                b't' => self.out('\t'),
                b'u' => self.go(State::Hex { value: 0, digits: 0, high: None }),
                _ => Decoded::Refused,
            },
            State::Hex { value, digits, high } => {
                let Some(digit) = char::from(byte).to_digit(16) else { return Decoded::Refused };
                let value = value * 16 + digit;
                if digits < 3 {
                    return self.go(State::Hex { value, digits: digits + 1, high });
                }
                match (high, value) {
                    (None, 0xd800..=0xdbff) => self.go(State::WantsLow { high: value, backslash: false }),
                    (Some(high), 0xdc00..=0xdfff) => {
                        let scalar = 0x1_0000 + ((high - 0xd800) << 10) + (value - 0xdc00);
                        char::from_u32(scalar).map_or(Decoded::Refused, |character| self.out(character))
                    }
                    (None, value) => char::from_u32(value).map_or(Decoded::Refused, |character| self.out(character)),
                    (Some(_), _) => Decoded::Refused,
                }
            }
            State::WantsLow { high, backslash } => match (byte, backslash) {
                (b'\\', false) => self.go(State::WantsLow { high, backslash: true }),
                (b'u', true) => self.go(State::Hex { value: 0, digits: 0, high: Some(high) }),
                _ => Decoded::Refused,
            },
            State::Utf8 { mut bytes, have, want } => {
                if !(0x80..=0xbf).contains(&byte) {
                    return Decoded::Refused;
                }
                bytes[usize::from(have)] = byte;
                let have = have + 1;
                if have < want {
                    // An overlong form or a surrogate shows in the second byte.
                    let refused = have == 2
                        && matches!(
                            (bytes[0], byte),
                            (0xe0, 0x80..=0x9f) | (0xed, 0xa0..=0xbf) | (0xf0, 0x80..=0x8f) | (0xf4, 0x90..=0xbf)
                        );
                    return if refused { Decoded::Refused } else { self.go(State::Utf8 { bytes, have, want }) };
                }
                let text = bytes.get(..usize::from(want)).and_then(|bytes| std::str::from_utf8(bytes).ok());
                match text.and_then(|text| text.chars().next()) {
                    Some(character) => self.out(character),
                    None => Decoded::Refused,
                }
            }
        }
    }

    fn go(&mut self, state: State) -> Decoded {
        self.state = state;
        Decoded::More
    }

    fn out(&mut self, character: char) -> Decoded {
        self.state = State::Plain;
        Decoded::Character(character)
    }
}
