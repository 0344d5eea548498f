//! Follows the text of a plan in the line form: one step a line.

use crate::opening::{TAG, TARGET};
use crate::scan::{OpenStep, Position, Scan};

/// The state of the scan. A step's head is that of the same step as JSON, so that both forms are weighed alike.
#[derive(Clone, Debug, Default)]
pub(super) struct LineScan {
    steps: usize,
    at: At,
    step: Option<OpenStep>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    /// At the beginning of a line.
    #[default]
    Begin,
    Verb,
    /// Behind the opening bracket.
    FirstArgument,
    /// Behind a `c` there, which a digit makes an id.
    Letter,
    Id,
    /// In what is neither verb nor target, or in a thought.
    Rest,
}

impl LineScan {
    fn take(&mut self, byte: u8) -> Option<OpenStep> {
        if byte == b'\n' {
            self.at = At::Begin;
            return self.step.take();
        }
        if self.at == At::Begin {
            self.at = if byte == b'#' { At::Rest } else { At::Verb };
            if self.at == At::Verb {
                let position = Position::Line(self.steps);
                self.steps += 1;
                self.step = Some(OpenStep { position, from: 0, head: TAG.as_bytes().to_vec() });
            }
        }
        // A condition of the goal: no step.
        if self.at == At::Verb && byte == b':' {
            self.step = None;
            self.steps = self.steps.saturating_sub(1);
            self.at = At::Rest;
        }
        let head = self.step.as_mut().map(|step| &mut step.head)?;
        self.at = match (self.at, byte) {
            (At::Verb | At::Id, byte) if byte.is_ascii_alphanumeric() => {
                head.push(byte);
                self.at
            }
            (At::Verb, b'(') => {
                head.push(b'"');
                At::FirstArgument
            }
            (At::FirstArgument, b'c') => At::Letter,
            (At::Letter, b'0'..=b'9') => {
                head.extend_from_slice(TARGET.as_bytes());
                head.extend_from_slice(&[b'c', byte]);
                At::Id
            }
            (At::Verb | At::Id, _) => {
                head.push(b'"');
                At::Rest
            }
            _ => At::Rest,
        };
        None
    }
}

/// The scan of a form.
#[derive(Clone, Debug)]
pub(super) enum AnyScan {
    Json(Scan),
    Lines(LineScan),
}

impl AnyScan {
    /// The step that is being read.
    pub(super) const fn step(&self) -> Option<&OpenStep> {
        match self {
            Self::Json(scan) => scan.step(),
            Self::Lines(scan) => scan.step.as_ref(),
        }
    }

    /// Takes one byte; returns the step that it ended.
    pub(super) fn take(&mut self, byte: u8) -> Option<OpenStep> {
        match self {
            Self::Json(scan) => scan.take(byte),
            Self::Lines(scan) => scan.take(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_head_of_its_step_as_json() {
        let heads = |text: &str| {
            let mut scan = LineScan::default();
            let ended: Vec<_> = text.bytes().filter_map(|byte| scan.take(byte)).collect();
            let text = |step: OpenStep| String::from_utf8(step.head).unwrap();
            (ended.into_iter().map(text).collect::<Vec<_>>(), scan.step.map(text))
        };
        let (ended, open) =
            heads("# c1 (first)\nclick(c12) => urlChanges()\nsetValue(c3, \"click(c4)\")\nscroll(content)\ncli");
        let click = r#"{"type":"click","targetRef":"c12""#;
        assert_eq!(ended, [click, r#"{"type":"setValue","targetRef":"c3""#, r#"{"type":"scroll""#]);
        assert_eq!(open.unwrap(), r#"{"type":"cli"#);
        assert_eq!(heads("click(c1").1.unwrap(), r#"{"type":"click","targetRef":"c1"#);
        assert_eq!(heads("click(c").1.unwrap(), r#"{"type":"click""#);
    }
}
