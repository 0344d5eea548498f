//! Follows the text of a plan by brackets and strings alone, and says where its steps begin and end.

/// The position of a step in its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// 0-based position in the array `steps`.
    Listed(usize),
    /// The step of the member `last`.
    Last,
    /// 0-based, of the line form.
    #[cfg(feature = "mask")]
    Line(usize),
}

/// A step of which at least the first brace was seen.
#[derive(Clone, Debug)]
pub(crate) struct OpenStep {
    pub(crate) position: Position,
    /// The offset of its first byte.
    pub(crate) from: usize,
    /// Its first [`HEAD_BYTES`] bytes, without white space between tokens.
    pub(crate) head: Vec<u8>,
}

impl OpenStep {
    /// Returns a copy of this step as it was before its first byte.
    #[cfg(feature = "mask")]
    pub(crate) fn unread(&self) -> Self {
        Self { head: Vec::new(), ..self.clone() }
    }
}

/// Enough for a verb and a target.
const HEAD_BYTES: usize = 128;

/// The state of the scan. Takes the plan from its first brace on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scan {
    /// Open brackets: true for objects.
    open: Vec<bool>,
    in_string: bool,
    escaped: bool,
    /// The last string at the plan's own depth, which is the name of the member being read.
    name: Vec<u8>,
    offset: usize,
    listed: usize,
    step: Option<OpenStep>,
    done: bool,
}

impl Scan {
    /// Returns `true` once the plan's last bracket has been seen.
    pub(crate) const fn is_done(&self) -> bool {
        self.done
    }

    /// The step that is being read.
    pub(crate) const fn step(&self) -> Option<&OpenStep> {
        self.step.as_ref()
    }

    /// Takes one byte; returns the step that it ended.
    pub(crate) fn take(&mut self, byte: u8) -> Option<OpenStep> {
        if !self.in_string && matches!(byte, b'{') && self.begins_step() {
            let position = if self.open.len() == 1 {
                Position::Last
            } else {
                self.listed += 1;
                Position::Listed(self.listed - 1)
            };
            self.step = Some(OpenStep { position, from: self.offset, head: Vec::new() });
        }
        self.offset += 1;
        if let Some(step) = &mut self.step
            && step.head.len() < HEAD_BYTES
            && (self.in_string || !byte.is_ascii_whitespace())
        {
            step.head.push(byte);
        }
        if self.in_string {
            self.take_in_string(byte);
            return None;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                if self.open.len() == 1 {
                    self.name.clear();
                }
            }
            b'{' | b'[' => self.open.push(byte == b'{'),
            b'}' | b']' => {
                self.open.pop();
                self.done = self.open.is_empty();
                let depth = |step: &OpenStep| if step.position == Position::Last { 1 } else { 2 };
                if self.step.as_ref().is_some_and(|step| self.open.len() <= depth(step)) {
                    return self.step.take();
                }
            }
            _ => {}
        }
        None
    }

    fn begins_step(&self) -> bool {
        match self.open[..] {
            [true] => self.name == b"last",
            [true, false] => self.name == b"steps",
            _ => false,
        }
    }

    fn take_in_string(&mut self, byte: u8) {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = true,
            b'"' => self.in_string = false,
            _ if self.open.len() == 1 => self.name.push(byte),
            _ => {}
        }
    }
}
