//! A plan while it is being written: steps come out as soon as they are complete.
//!
//! Given a grammar, a verb or a target that the page does not have is refused at once. Anything else that is
//! wrong with a step is refused at its end. Text before the first brace and after the last is skipped, so either works
//! on a stream that nothing constrains.
//!
//! Invariant: a step that comes out is well formed; whether it may run is for `check` to say.

use cuebook_grammar::step::Step;
use cuebook_grammar::wire::{self, ReadError};

use crate::ir::Document;
use crate::opening::{Misfit, Openings};
use crate::scan::{OpenStep, Scan};

/// The most bytes that a plan may have.
const MAX_BYTES: usize = 1 << 20;

/// Why a stream was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// A verb or a target that the page does not have.
    #[error("{0}")]
    Misfit(Misfit),
    /// A step that cannot be read.
    #[error("step {index}: {error}")]
    BadStep {
        /// 0-based position in the plan.
        index: usize,
        /// The error in the step.
        error: ReadError,
    },
    /// The plan is too long.
    #[error("expected a plan of at most {MAX_BYTES} bytes")]
    TooLong,
    /// The text ended within the plan.
    #[error("the text ended within the plan, after {seen} bytes")]
    Cut {
        /// Bytes of the plan seen.
        seen: usize,
    },
    /// There is no plan in the text.
    #[error("there is no JSON object in {seen} bytes")]
    NoPlan {
        /// Bytes that were read without finding one.
        seen: usize,
    },
}

/// Reads the text of a plan in pieces.
#[derive(Clone, Debug)]
pub struct PlanStream<'d> {
    openings: Option<Openings<'d>>,
    text: Vec<u8>,
    skipped: usize,
    scan: Scan,
    steps: usize,
    error: Option<StreamError>,
}

impl<'d> PlanStream<'d> {
    /// A stream whose steps begin as those of `document` do.
    #[must_use]
    pub fn new(document: &'d Document) -> Self {
        Self { openings: Some(Openings::of(document)), ..Self::unconstrained() }
    }

    /// A stream that should hold a plan. Its steps are not compared with a page.
    #[must_use]
    pub fn unconstrained() -> Self {
        Self { openings: None, text: Vec::new(), skipped: 0, scan: Scan::default(), steps: 0, error: None }
    }

    /// Reads more text; returns the steps that it completed.
    ///
    /// # Errors
    /// [`StreamError`], also for every call after the first that failed.
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

    /// Returns `true` if the plan is complete. Text that follows is ignored.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.scan.is_done()
    }

    /// The text of the plan, without what stood before and after it.
    ///
    /// # Errors
    /// [`StreamError`] if it was refused, cut, or never began.
    pub fn finish(self) -> Result<Vec<u8>, StreamError> {
        match self.error {
            Some(error) => Err(error),
            None if self.scan.is_done() => Ok(self.text),
            None if self.text.is_empty() => Err(StreamError::NoPlan { seen: self.skipped }),
            None => Err(StreamError::Cut { seen: self.text.len() }),
        }
    }

    fn take(&mut self, byte: u8, steps: &mut Vec<Step>) -> Result<(), StreamError> {
        if self.scan.is_done() {
            return Ok(());
        }
        if self.text.is_empty() && byte != b'{' {
            self.skipped += 1;
            return if self.skipped > MAX_BYTES { Err(StreamError::TooLong) } else { Ok(()) };
        }
        if self.text.len() >= MAX_BYTES {
            return Err(StreamError::TooLong);
        }
        self.text.push(byte);
        let ended = self.scan.take(byte);
        let misfit = self.openings.as_ref().zip(self.scan.step()).and_then(|(openings, step)| openings.misfit(step));
        if let Some(misfit) = misfit {
            return Err(StreamError::Misfit(misfit));
        }
        if let Some(OpenStep { from, .. }) = ended {
            let index = self.steps;
            self.steps += 1;
            let bad = |error: ReadError| StreamError::BadStep { index, error };
            let text = self.text.get(from..).unwrap_or_default();
            let value = serde_json::from_slice(text).map_err(|error| bad(ReadError::new(error.to_string())))?;
            let value = crate::read::camel(value);
            steps.push(wire::read::<Step>(value).map_err(bad)?);
        }
        Ok(())
    }
}
