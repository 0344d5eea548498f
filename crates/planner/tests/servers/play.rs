//! Acts of a server for one request, in order.
//!
//! Invariant: the body of a play stays unframed until it is sent, so that it can be split at any byte.

use std::time::Duration;

/// One act of a server.
#[derive(Clone, Debug)]
pub(super) enum Act {
    /// Sends these bytes as a part of the body, framed as the head promised.
    Body(Vec<u8>),
    /// Sends these bytes as they are.
    Raw(Vec<u8>),
    /// Sends the same part of the body again and again until the client hangs up.
    Repeat(Vec<u8>),
    /// Is silent for a while.
    Pause(Duration),
    /// Is silent until the client hangs up.
    Hold,
    /// Ends the body in good order.
    End,
    /// Closes the connection where it stands.
    Close,
}

/// Acts of a server for one request.
#[derive(Clone, Debug)]
pub(crate) struct Play {
    pub(super) head: Head,
    pub(super) acts: Vec<Act>,
}

/// The status line and the header fields.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) status: Option<u16>,
    pub(super) fields: Vec<(String, String)>,
}

impl Play {
    /// An answer whose body comes in pieces of unknown number.
    pub(crate) fn streaming(status: u16, content_type: &str) -> Self {
        let fields = vec![field("Content-Type", content_type), field("Transfer-Encoding", "chunked")];
        Self { head: Head { status: Some(status), fields }, acts: Vec::new() }
    }

    /// An answer of known length.
    pub(crate) fn whole(status: u16, content_type: &str, body: &str) -> Self {
        let fields = vec![field("Content-Type", content_type), field("Content-Length", &body.len().to_string())];
        Self { head: Head { status: Some(status), fields }, acts: vec![Act::Raw(body.as_bytes().to_vec())] }
    }

    /// No answer at all: what follows is all that is sent.
    pub(crate) fn nothing() -> Self {
        Self { head: Head { status: None, fields: Vec::new() }, acts: Vec::new() }
    }

    /// One more header field.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.head.fields.push(field(name, value));
        self
    }

    /// Parts of the body, each sent by itself.
    pub(crate) fn parts(mut self, parts: impl IntoIterator<Item = Vec<u8>>) -> Self {
        self.acts.extend(parts.into_iter().map(Act::Body));
        self
    }

    /// The body so far in pieces of `size` bytes, wherever that cuts a line or a character.
    pub(crate) fn in_pieces_of(mut self, size: usize) -> Self {
        let mut acts: Vec<Act> = Vec::new();
        let mut run: Vec<u8> = Vec::new();
        for act in std::mem::take(&mut self.acts) {
            match act {
                Act::Body(bytes) => run.extend(bytes),
                other => {
                    acts.extend(run.chunks(size).map(|piece| Act::Body(piece.to_vec())));
                    run.clear();
                    acts.push(other);
                }
            }
        }
        acts.extend(run.chunks(size).map(|piece| Act::Body(piece.to_vec())));
        self.acts = acts;
        self
    }

    /// A pause before every piece of the body.
    pub(crate) fn dripping(mut self, pause: Duration) -> Self {
        let acts = std::mem::take(&mut self.acts).into_iter();
        self.acts = acts
            .flat_map(|act| match act {
                Act::Body(_) => vec![Act::Pause(pause), act],
                _ => vec![act],
            })
            .collect();
        self
    }

    /// The body's first `bytes` bytes; what would have followed, its end included, is dropped.
    pub(crate) fn cut_after(mut self, bytes: usize) -> Self {
        let mut left = bytes;
        let mut acts = Vec::new();
        for act in std::mem::take(&mut self.acts) {
            match act {
                Act::Body(body) if body.len() < left => {
                    left -= body.len();
                    acts.push(Act::Body(body));
                }
                Act::Body(mut body) => {
                    body.truncate(left);
                    acts.push(Act::Body(body));
                    break;
                }
                other => acts.push(other),
            }
        }
        self.acts = acts;
        self
    }

    /// The body's length so far, in bytes.
    pub(crate) fn body_len(&self) -> usize {
        self.acts.iter().map(|act| if let Act::Body(bytes) = act { bytes.len() } else { 0 }).sum()
    }

    /// Silence for a while.
    pub(crate) fn pause(self, pause: Duration) -> Self {
        self.then(Act::Pause(pause))
    }

    /// The body's end, in good order.
    pub(crate) fn end(self) -> Self {
        self.then(Act::End)
    }

    /// Silence until the client hangs up.
    pub(crate) fn hold(self) -> Self {
        self.then(Act::Hold)
    }

    /// The connection's end, where it stands.
    pub(crate) fn close(self) -> Self {
        self.then(Act::Close)
    }

    /// This part again and again until the client hangs up.
    pub(crate) fn repeat(self, part: Vec<u8>) -> Self {
        self.then(Act::Repeat(part))
    }

    /// Bytes outside of any framing.
    pub(crate) fn raw(self, bytes: &[u8]) -> Self {
        self.then(Act::Raw(bytes.to_vec()))
    }

    fn then(mut self, act: Act) -> Self {
        self.acts.push(act);
        self
    }
}

impl Head {
    pub(super) fn is_chunked(&self) -> bool {
        self.fields.iter().any(|(name, value)| name == "Transfer-Encoding" && value == "chunked")
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let Some(status) = self.status else { return Vec::new() };
        let reason = match status {
            200 => "OK",
            400 => "Bad Request",
            401 => "Unauthorized",
            404 => "Not Found",
            429 => "Too Many Requests",
            500 => "Internal Server Error",
            503 => "Service Unavailable",
            // Anthropic's 529 has no name of its own either.
            _ => "Unnamed",
        };
        let mut head = format!("HTTP/1.1 {status} {reason}\r\n");
        for (name, value) in &self.fields {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        head.into_bytes()
    }
}

fn field(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}
