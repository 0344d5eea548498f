//! The body of a response as chat events.

use std::collections::VecDeque;

use super::frames::{Frame, Frames, Framing};
use super::unpack::Unpack;
use crate::converse::{ChatEvent, ChatStream, EngineError, server_words};

/// Upper bound of a response in bytes.
const MAX_BYTES: usize = 16 << 20;

/// Events that were decoded and not returned yet.
pub(crate) type Queue = VecDeque<ChatEvent>;

/// Decodes the frames of an API.
pub(crate) trait Decode: Send {
    /// Decodes a frame. `event` is empty for frames without a name. Not called after [`ChatEvent::Done`].
    fn frame(&mut self, event: &str, data: &str, queue: &mut Queue) -> Result<(), EngineError>;

    /// Decodes a whole answer, from a server that sends one where a stream was asked for.
    fn whole(&mut self, document: &str, queue: &mut Queue) -> Result<(), EngineError> {
        self.frame("", document, queue)
    }

    /// The connection ended without an error.
    fn end(&mut self, queue: &mut Queue) {
        let _ = queue;
    }
}

/// A response that is being read.
pub(crate) struct HttpStream<D> {
    response: reqwest::Response,
    unpack: Unpack,
    frames: Frames,
    is_document: bool,
    decoder: D,
    queue: Queue,
    /// The error that ended it, returned after the queued events.
    error: Option<EngineError>,
    is_over: bool,
    bytes: usize,
}

impl<D: Decode> HttpStream<D> {
    /// Reads a response with one of these media types, or without a media type. `application/json` is always read: a
    /// server that does not stream answers with it, and many report their errors so, with status 200.
    pub(crate) fn new(
        response: reqwest::Response,
        mut framing: Framing,
        media_types: &[&str],
        expected: &'static str,
        decoder: D,
    ) -> Result<Self, EngineError> {
        let media_type = response.headers().get(reqwest::header::CONTENT_TYPE).map(|value| value.to_str());
        if let Some(Ok(seen)) = media_type {
            let essence = seen.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
            if framing == Framing::Events && essence == "application/json" {
                framing = Framing::Document;
            } else if !media_types.contains(&essence.as_str()) {
                return Err(EngineError::BadFormat { expected, seen: server_words(seen) });
            }
        }
        Ok(Self {
            unpack: Unpack::of(response.headers())?,
            response,
            frames: Frames::new(framing),
            is_document: framing == Framing::Document,
            decoder,
            queue: Queue::new(),
            error: None,
            is_over: false,
            bytes: 0,
        })
    }

    fn take(&mut self, frames: Vec<Frame>) {
        for Frame { event, data } in frames {
            let decoded = match self.is_document {
                true => self.decoder.whole(&data, &mut self.queue),
                false => self.decoder.frame(&event, &data, &mut self.queue),
            };
            if let Err(error) = decoded {
                self.error = Some(error);
                return;
            }
            if matches!(self.queue.back(), Some(ChatEvent::Done(_))) {
                self.is_over = true;
                return;
            }
        }
    }

    async fn read(&mut self) {
        let mut frames = Vec::new();
        match self.response.chunk().await {
            Ok(Some(bytes)) => {
                let bytes = match self.unpack.push(&bytes) {
                    Ok(bytes) => bytes,
                    Err(error) => return self.error = Some(error),
                };
                self.bytes = self.bytes.saturating_add(bytes.len());
                let pushed = self.frames.push(&bytes, &mut frames);
                self.take(frames);
                if self.bytes > MAX_BYTES {
                    self.error.get_or_insert(EngineError::TooLong { bound: MAX_BYTES });
                }
                if let Err(error) = pushed {
                    self.error.get_or_insert(error);
                }
                if self.queue.is_empty() && self.error.is_none() {
                    self.queue.push_back(ChatEvent::Alive);
                }
            }
            Ok(None) => {
                self.is_over = true;
                if let Err(error) = self.frames.end(&mut frames) {
                    self.error = Some(error);
                }
                self.take(frames);
                self.decoder.end(&mut self.queue);
            }
            Err(error) => self.error = Some(EngineError::Lost(Box::new(error.without_url()))),
        }
    }
}

impl<D: Decode> ChatStream for HttpStream<D> {
    async fn next(&mut self) -> Result<Option<ChatEvent>, EngineError> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Ok(Some(event));
            }
            if let Some(error) = self.error.take() {
                self.is_over = true;
                return Err(error);
            }
            if self.is_over {
                return Ok(None);
            }
            self.read().await;
        }
    }
}
