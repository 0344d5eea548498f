//! Splits the bytes of a stream into frames: events of an event stream, or lines of JSON.
//!
//! Invariants:
//! - Only whole lines are decoded as text, so a character may be split anywhere.
//! - A line or an event longer than [`MAX_FRAME`] is an error.

use crate::converse::EngineError;

/// Upper bound of a frame in bytes.
pub(crate) const MAX_FRAME: usize = 1 << 20;

/// The framing of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// `text/event-stream`. Source: WHATWG HTML, "Server-sent events".
    #[cfg_attr(
        not(any(feature = "anthropic", feature = "openai")),
        expect(dead_code, reason = "Ollama writes lines, and may be the only engine")
    )]
    Events,
    /// One JSON document per line.
    Lines,
    /// One JSON document, where a stream was asked for.
    Document,
}

/// One event or one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The event's name; empty for lines and for events without one.
    pub(crate) event: String,
    /// Its data, with line feeds between the `data` lines of an event; for lines, the line.
    pub(crate) data: String,
}

/// Splits one stream as its bytes arrive.
#[derive(Debug)]
pub(crate) struct Frames {
    framing: Framing,
    line: Vec<u8>,
    /// The previous byte was a carriage return: a line feed after it is part of the same line end.
    after_return: bool,
    open: Option<Frame>,
}

impl Frames {
    pub(crate) const fn new(framing: Framing) -> Self {
        Self { framing, line: Vec::new(), after_return: false, open: None }
    }

    /// Adds bytes, and appends the completed frames.
    pub(crate) fn push(&mut self, bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), EngineError> {
        if self.framing == Framing::Document {
            self.line.extend_from_slice(bytes);
            let is_short = self.line.len() <= MAX_FRAME;
            return if is_short { Ok(()) } else { Err(EngineError::TooLong { bound: MAX_FRAME }) };
        }
        for byte in bytes {
            match byte {
                b'\n' if std::mem::take(&mut self.after_return) => {}
                b'\n' | b'\r' => {
                    self.after_return = *byte == b'\r';
                    let line = std::mem::take(&mut self.line);
                    self.line(&String::from_utf8_lossy(&line), frames)?;
                }
                byte => {
                    self.after_return = false;
                    self.line.push(*byte);
                    if self.line.len() > MAX_FRAME {
                        return Err(EngineError::TooLong { bound: MAX_FRAME });
                    }
                }
            }
        }
        Ok(())
    }

    /// Ends the stream. A last line without a line feed counts; an event without an empty line does not.
    pub(crate) fn end(&mut self, frames: &mut Vec<Frame>) -> Result<(), EngineError> {
        if self.framing != Framing::Events && !self.line.is_empty() {
            let line = std::mem::take(&mut self.line);
            self.line(&String::from_utf8_lossy(&line), frames)?;
        }
        Ok(())
    }

    fn line(&mut self, line: &str, frames: &mut Vec<Frame>) -> Result<(), EngineError> {
        if self.framing != Framing::Events {
            if !line.trim().is_empty() {
                frames.push(Frame { event: String::new(), data: line.to_owned() });
            }
            return Ok(());
        }
        if line.is_empty() {
            frames.extend(self.open.take().filter(|frame| !frame.data.is_empty()));
            return Ok(());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        let open = self.open.get_or_insert_default();
        match field {
            "event" => value.clone_into(&mut open.event),
            "data" => {
                if !open.data.is_empty() {
                    open.data.push('\n');
                }
                open.data.push_str(value);
                if open.data.len() > MAX_FRAME {
                    return Err(EngineError::TooLong { bound: MAX_FRAME });
                }
            }
            // Older servers of llama.cpp send a field `error` instead of data.
            "error" => open.data = format!("{{\"error\":{value}}}"),
            // Comments, ids and reconnection times are ignored.
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(framing: Framing, pieces: &[&[u8]]) -> Vec<(String, String)> {
        let mut frames = Vec::new();
        let mut cutter = Frames::new(framing);
        for piece in pieces {
            cutter.push(piece, &mut frames).unwrap();
        }
        cutter.end(&mut frames).unwrap();
        frames.into_iter().map(|frame| (frame.event, frame.data)).collect()
    }

    #[test]
    fn events_have_names_data_of_several_lines_and_comments_between() {
        let text = b": hello\n\nevent: ping\ndata: {}\n\ndata: a\r\ndata:b\r\n\r\nid: 3\n\ndata: cut";
        let expected = [("ping", "{}"), ("", "a\nb")].map(|(event, data)| (event.to_owned(), data.to_owned()));
        assert_eq!(cut(Framing::Events, &[text]), expected);
    }

    #[test]
    fn lines_are_frames_and_the_last_needs_no_line_feed() {
        let expected = ["{\"a\":1}", "{\"b\":2}"].map(|data| (String::new(), data.to_owned()));
        assert_eq!(cut(Framing::Lines, &[b"{\"a\":1}\r\n\n{\"b\":2}"]), expected);
    }

    #[test]
    fn a_line_that_is_too_long_is_an_error() {
        let mut cutter = Frames::new(Framing::Lines);
        let piece = vec![b'x'; MAX_FRAME / 2 + 1];
        assert!(cutter.push(&piece, &mut Vec::new()).is_ok());
        assert!(matches!(cutter.push(&piece, &mut Vec::new()), Err(EngineError::TooLong { .. })));
    }

    proptest! {
        #[test]
        fn frames_do_not_depend_on_where_bytes_are_split(text in "(data: [a-zé€\u{1f600}]{0,8}\r?\n\r?\n?){0,6}", at in any::<prop::sample::Index>()) {
            let bytes = text.as_bytes();
            let at = at.index(bytes.len() + 1);
            let whole = cut(Framing::Events, &[bytes]);
            prop_assert_eq!(cut(Framing::Events, &[&bytes[..at], &bytes[at..]]), whole);
        }
    }
}
