//! The body of a response as chat events.

use std::collections::VecDeque;

use super::frames::{Frame, Frames, Framing};
use crate::converse::{ChatEvent, ChatStream, EngineError, server_words};

/// Upper bound of a response in bytes.
const MAX_BYTES: usize = 16 << 20;

/// Events that were decoded and not returned yet.
pub(crate) type Queue = VecDeque<ChatEvent>;

/// Decodes the frames of an API.
pub(crate) trait Decode: Send {
    /// Decodes a frame. `event` is empty for frames without a name. Not called after [`ChatEvent::Done`].
    fn frame(&mut self, event: &str, data: &str, queue: &mut Queue) -> Result<(), EngineError>;

    /// The connection ended without an error.
    fn end(&mut self, queue: &mut Queue) {
        let _ = queue;
    }
}

/// A response that is being read.
pub(crate) struct HttpStream<D> {
    response: reqwest::Response,
    frames: Frames,
    decoder: D,
    queue: Queue,
    /// The error that ended it, returned after the queued events.
    error: Option<EngineError>,
    is_over: bool,
    bytes: usize,
}

impl<D: Decode> HttpStream<D> {
    /// Reads a response with one of these media types, or without a media type.
    pub(crate) fn new(
        response: reqwest::Response,
        framing: Framing,
        media_types: &[&str],
        expected: &'static str,
        decoder: D,
    ) -> Result<Self, EngineError> {
        let media_type = response.headers().get(reqwest::header::CONTENT_TYPE).map(|value| value.to_str());
        if let Some(Ok(seen)) = media_type {
            let essence = seen.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
            if !media_types.contains(&essence.as_str()) {
                return Err(EngineError::BadFormat { expected, seen: server_words(seen) });
            }
        }
        let frames = Frames::new(framing);
        Ok(Self { response, frames, decoder, queue: Queue::new(), error: None, is_over: false, bytes: 0 })
    }

    fn take(&mut self, frames: Vec<Frame>) {
        for Frame { event, data } in frames {
            if let Err(error) = self.decoder.frame(&event, &data, &mut self.queue) {
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
