//! How an observation is rendered.

/// Handling of boxes in a rendering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Boxes {
    /// Boxes are left out.
    #[default]
    Omitted,
    /// `[box=x,y,width,height]` in whole pixels.
    Written,
}

/// Treatment of a candidate that the budget does not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// It is left out and counted.
    #[default]
    LeftOut,
    /// It keeps its role, the beginning of its name and its id: for readers that may name every candidate.
    /// The budget is then exceeded by about 20 tokens for each.
    Brief,
}

/// Place of a candidate: with others, or in a line of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// In the text that holds it, `row "Anna" | button "Edit" [c4]`, unless it has options. A button or a link of which
    /// the name says all stands beside others of its role: `- link "Home" [c1], "Shop" [c2]`. Takes half the tokens.
    #[default]
    Together,
    /// In a line of its own, and its id marks where it stands in text: for programs that read one candidate a line.
    OwnLine,
}

/// How an observation is rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// The most tokens, as [`estimate_tokens`](super::estimate_tokens) counts them.
    pub budget: usize,
    /// Treatment of candidates beyond the budget.
    pub overflow: Overflow,
    /// Handling of boxes in the rendering.
    pub boxes: Boxes,
    /// Treatment of candidates that could share a line.
    pub standing: Standing,
    /// The longest list of options that is written whole; of a longer one, the first 12 are written.
    pub options: usize,
    /// Upper bound of the budget's tokens that the page's text may use.
    pub text: usize,
    /// The text begins with title and address of the page, its tabs and the dialog that blocks it.
    pub is_titled: bool,
}

impl TextOptions {
    /// All candidates, at any cost.
    pub const WHOLE: Self = Self {
        budget: usize::MAX,
        overflow: Overflow::LeftOut,
        boxes: Boxes::Omitted,
        standing: Standing::Together,
        options: 12,
        text: usize::MAX,
        is_titled: true,
    };
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { budget: 6_000, text: 2_000, ..Self::WHOLE }
    }
}
