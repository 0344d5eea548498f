//! The body of an answer as events.

use std::collections::VecDeque;

use super::frames::{Frame, Frames, Framing};
use crate::converse::{ChatEvent, ChatStream, EngineError, server_words};

/// The most bytes of one answer, whatever is in them.
const MAX_BYTES: usize = 16 << 20;

/// Events that are to be handed on.
pub(crate) type Queue = VecDeque<ChatEvent>;

/// What an API's frames mean.
pub(crate) trait Decode: Send {
    /// Takes a frame; `event` is empty where it has no name. After [`ChatEvent::Done`] nothing more is asked.
    fn frame(&mut self, event: &str, data: &str, queue: &mut Queue) -> Result<(), EngineError>;

    /// The connection ended in order.
    fn end(&mut self, queue: &mut Queue) {
        let _ = queue;
    }
}

/// An answer that is under way.
pub(crate) struct HttpStream<D> {
    response: reqwest::Response,
    frames: Frames,
    decoder: D,
    queue: Queue,
    /// What stopped it, told once everything before it is.
    error: Option<EngineError>,
    is_over: bool,
    bytes: usize,
}

impl<D: Decode> HttpStream<D> {
    /// The answer in a body of one of these media types; one that names none is taken at its word.
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
