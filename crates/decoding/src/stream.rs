//! A plan while it is being written: steps come out as soon as they are whole.
//!
//! With a grammar, the first byte that no sentence has is refused where it stands; without one, a step that
//! cannot be read is. Either works on streams that nobody constrained: text before the first brace and after
//! the last is skipped.
//!
//! Invariant: a step that was told is well formed; whether it may run is for `check` to say.

use cuebook_grammar::step::Step;
use cuebook_grammar::wire::{self, ReadError};

use crate::ir::Document;
use crate::recognize::{Recognizer, Spacing, Unexpected};

/// The most bytes that a plan may have.
const MAX_BYTES: usize = 1 << 20;

/// Why a stream was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// A byte that the grammar does not have at its place.
    #[error(transparent)]
    Unexpected(#[from] Unexpected),
    /// A step that is none.
    #[error("step {index}: {error}")]
    BadStep {
        /// Its position, from 0.
        index: usize,
        /// What is wrong with it.
        error: ReadError,
    },
    /// More than a plan may have.
    #[error("expected at most {MAX_BYTES} bytes")]
    TooLong,
    /// The text ended within the plan.
    #[error("expected the end of the plan, saw the end of the text after {seen} bytes")]
    Cut {
        /// Bytes of the plan seen.
        seen: usize,
    },
    /// Nothing of a plan.
    #[error("expected a JSON object, saw none in {seen} bytes")]
    NoPlan {
        /// Bytes seen.
        seen: usize,
    },
}

/// Takes the text of a plan in pieces.
#[derive(Clone, Debug)]
pub struct PlanStream<'d> {
    recognizer: Option<Recognizer<'d>>,
    text: Vec<u8>,
    skipped: usize,
    scan: Scan,
    steps: usize,
    error: Option<StreamError>,
}

/// Where in the text a brace-counting scan stands.
#[derive(Clone, Debug, Default)]
struct Scan {
    /// Open brackets: true for objects.
    open: Vec<bool>,
    in_string: bool,
    escaped: bool,
    /// The last string at the plan's own depth, which is the name of the member being read.
    name: String,
    string_from: usize,
    step_from: Option<usize>,
    done: bool,
}

impl<'d> PlanStream<'d> {
    /// A stream that must be a sentence of `document`, in any spacing.
    #[must_use]
    pub fn new(document: &'d Document) -> Self {
        Self::with(Some(Recognizer::new(document, Spacing::Free)))
    }

    /// A stream of which nothing is known but that it should be a plan.
    #[must_use]
    pub fn unconstrained() -> Self {
        Self::with(None)
    }

    fn with(recognizer: Option<Recognizer<'d>>) -> Self {
        Self { recognizer, text: Vec::new(), skipped: 0, scan: Scan::default(), steps: 0, error: None }
    }

    /// Takes more text; answers with the steps that became whole.
    ///
    /// # Errors
    /// [`StreamError`]; once refused, everything further is.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Step>, StreamError> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let mut steps = Vec::new();
        match bytes.iter().try_for_each(|byte| self.take(*byte, &mut steps)) {
            Ok(()) => Ok(steps),
            Err(error) => {
                self.error = Some(error.clone());
                Err(error)
            }
        }
    }

    /// Whether the plan is whole: what follows is not looked at.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.scan.done
    }

    /// The plan's own text, without what stood before and after it.
    ///
    /// # Errors
    /// [`StreamError`] if it was refused, cut, or never began.
    pub fn finish(self) -> Result<Vec<u8>, StreamError> {
        match self.error {
            Some(error) => Err(error),
            None if self.scan.done => Ok(self.text),
            None if self.text.is_empty() => Err(StreamError::NoPlan { seen: self.skipped }),
            None => Err(StreamError::Cut { seen: self.text.len() }),
        }
    }

    fn take(&mut self, byte: u8, steps: &mut Vec<Step>) -> Result<(), StreamError> {
        if self.scan.done {
            return Ok(());
        }
        if self.text.is_empty() && byte != b'{' {
            self.skipped += 1;
            return if self.skipped > MAX_BYTES { Err(StreamError::TooLong) } else { Ok(()) };
        }
        if self.text.len() >= MAX_BYTES {
            return Err(StreamError::TooLong);
        }
        if let Some(recognizer) = &mut self.recognizer {
            recognizer.push(&[byte])?;
        }
        self.text.push(byte);
        if let Some((from, to)) = self.scan.take(byte, &self.text) {
            let index = self.steps;
            self.steps += 1;
            let bad = |error: ReadError| StreamError::BadStep { index, error };
            let text = self.text.get(from..to).unwrap_or_default();
            let value = serde_json::from_slice(text).map_err(|error| bad(ReadError::new(error.to_string())))?;
            let value = crate::read::camel(value);
            steps.push(wire::read::<Step>(value).map_err(bad)?);
        }
        Ok(())
    }
}

impl Scan {
    /// Takes the byte that was just appended to `text`; answers with the range of a step that it ended.
    fn take(&mut self, byte: u8, text: &[u8]) -> Option<(usize, usize)> {
        let at = text.len();
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => {
                    self.in_string = false;
                    if self.open.len() == 1 {
                        let name = text.get(self.string_from..at - 1).unwrap_or_default();
                        self.name = String::from_utf8_lossy(name).into_owned();
                    }
                }
                _ => {}
            }
            return None;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.string_from = at;
            }
            b'{' | b'[' => {
                let begins = byte == b'{'
                    && match self.open[..] {
                        [true] => self.name == "last",
                        [true, false] => self.name == "steps",
                        _ => false,
                    };
                if begins {
                    self.step_from = Some(at - 1);
                }
                self.open.push(byte == b'{');
            }
            b'}' | b']' => {
                self.open.pop();
                self.done = self.open.is_empty();
                if self.open.len() <= 2 && byte == b'}' {
                    let whole = match self.open[..] {
                        [true] => self.name == "last",
                        [true, false] => true,
                        _ => false,
                    };
                    if whole {
                        return self.step_from.take().map(|from| (from, at));
                    }
                }
            }
            _ => {}
        }
        None
    }
}
