//! Bounds of a grammar, and what it leaves out because of them.

use cuebook_grammar::id::CredentialRef;
use serde::Serialize;

/// The bounds of what a model may write. They bound every sentence, and so the cost of a decode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caps {
    /// The most candidates that are offered.
    pub candidates: usize,
    /// The most steps of a plan, the last included; at least 1.
    pub steps: u32,
    /// Characters of text that is typed.
    pub text: u32,
    /// Characters of an explanation, a reason, a question, and of what is searched for or compared.
    pub words: u32,
    /// Characters of the reasoning before the plan; 0 for plans without reasoning, and steps without remarks: explanation,
    /// risk and confidence.
    pub reasoning: u32,
    /// Characters of the result of a task, and of a file or a script.
    pub answer: u32,
    /// The most options of one target that are spelled out; beyond, they are chosen by position.
    pub options: usize,
    /// The secrets that may be named.
    pub credentials: Vec<CredentialRef>,
    /// The files that may be uploaded.
    pub files: Vec<String>,
    /// How many more may be, which are not among them.
    pub more_files: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            candidates: 150,
            steps: 6,
            text: 400,
            words: 200,
            reasoning: 600,
            answer: 2_000,
            options: 40,
            credentials: Vec::new(),
            files: Vec::new(),
            more_files: 0,
        }
    }
}

/// Counts of the parts of a page that a specification leaves out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeftOut {
    /// Candidates beyond the bound [`Caps::candidates`].
    pub surplus: usize,
    /// Candidates that are ambiguous.
    pub ambiguous: usize,
    /// Candidates in frames where the policy does not let a model act.
    pub forbidden: usize,
    /// Targets with more options than [`Caps::options`]: theirs are chosen by position.
    pub long_selects: usize,
    /// Registered actions whose argument schema is beyond the closed subset.
    pub registered: Vec<String>,
}
