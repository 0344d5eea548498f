//! Token masks: an engine in this process can write sentences of the grammar only.
//!
//! The mask is llguidance's, over any tokenizer that knows its tokens as bytes. A risk bias, between mask
//! and sample, makes destructive steps less likely without forbidding them, and confidence falls out of the
//! probabilities that the mask leaves.
//!
//! Costs, measured with a vocabulary of 200,000 tokens: 15, 20 and 120 ms to write and compile a grammar of 10, 100
//! and 1,000 candidates, 40 to 80 µs a mask, some milliseconds within free text; a compiled grammar is kept by its hash
//! and cloned in 30 to 400 µs (`docs/benchmarks.md`).

mod bias;
mod line_scan;
mod sampler;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use llguidance::api::TopLevelGrammar;
use llguidance::{Matcher, ParserFactory};
use toktrie::{ApproximateTokEnv, SimpleVob, TokEnv, TokRxInfo, TokTrie};

use super::emit::{self, Body, Target};
use super::spec::GrammarSpec;

pub use sampler::{DecodeError, DecodeOptions, Decoded, Logits, decode};

/// The number of compiled grammars in the cache.
const KEPT: usize = 32;

/// Items of the parser for one mask: ten times what was seen with 200,000 tokens, and 50 ms at most.
const MASK_ITEMS: usize = 1_000_000;
/// Steps of the lexer for one mask: some 150 ms at most.
const MASK_FUEL: u64 = 2_000_000;

/// Why a masked decode failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MaskError {
    /// The vocabulary is empty, or does not contain its end token.
    #[error("end token {end} is not in the vocabulary of {size} tokens")]
    BadVocabulary {
        /// Number of tokens in the vocabulary.
        size: usize,
        /// The end token that was stated.
        end: u32,
    },
    /// The grammar does not compile.
    #[error("the grammar does not compile for token masks: {detail}")]
    Grammar {
        /// The message of llguidance.
        detail: String,
    },
    /// The mask forbids this token.
    #[error("the mask forbids token {token}")]
    Forbidden {
        /// The token that was to be taken.
        token: u32,
    },
    /// The engine did not return one logit for each token.
    #[error("there are {seen} logits for {expected} tokens")]
    BadLogits {
        /// The size of the vocabulary.
        expected: usize,
        /// The number of logits.
        seen: usize,
    },
    /// The bound was reached before the sentence ended.
    #[error("expected the sentence to end within {bound} tokens")]
    TooLong {
        /// Upper bound in tokens: [`GrammarSpec::max_tokens`].
        bound: u64,
    },
}

/// The form of the sentences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Compact JSON, without white space between tokens.
    Json,
    /// The line form: one step per line.
    Lines,
}

/// The tokens of a tokenizer, as bytes.
#[derive(Clone)]
pub struct Vocabulary {
    env: TokEnv,
}

impl std::fmt::Debug for Vocabulary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vocabulary({} tokens)", self.size())
    }
}

impl Vocabulary {
    /// A vocabulary whose token `n` is `tokens[n]`, and whose token `end` ends a sentence. Special tokens are
    /// empty. Takes time and memory in proportion to the vocabulary.
    ///
    /// # Errors
    /// [`MaskError::BadVocabulary`].
    pub fn new(tokens: &[Vec<u8>], end: u32) -> Result<Self, MaskError> {
        let bad = MaskError::BadVocabulary { size: tokens.len(), end };
        let size = u32::try_from(tokens.len()).map_err(|_| bad.clone())?;
        if end >= size {
            return Err(bad);
        }
        let trie = TokTrie::from(&TokRxInfo::new(size, end), tokens);
        Ok(Self { env: Arc::new(ApproximateTokEnv::new(trie)) })
    }

    /// One token for each byte and an end token. Needs no tokenizer.
    #[must_use]
    pub fn bytes() -> Self {
        let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
        tokens.push(Vec::new());
        let trie = TokTrie::from(&TokRxInfo::new(257, 256), &tokens);
        Self { env: Arc::new(ApproximateTokEnv::new(trie)) }
    }

    /// The number of tokens.
    #[must_use]
    pub fn size(&self) -> usize {
        self.env.tok_trie().vocab_size()
    }

    /// The token that ends a sentence.
    #[must_use]
    pub fn end(&self) -> u32 {
        self.env.tok_trie().eos_token()
    }

    /// The bytes of a token; empty for an unknown one.
    #[must_use]
    pub fn token(&self, token: u32) -> &[u8] {
        if usize::try_from(token).is_ok_and(|token| token < self.size()) {
            self.env.tok_trie().token(token)
        } else {
            &[]
        }
    }
}

/// Compiles grammars for one vocabulary, and caches them.
pub struct Masks {
    vocabulary: Vocabulary,
    factory: ParserFactory,
    kept: Mutex<VecDeque<(String, Form, Matcher)>>,
}

impl std::fmt::Debug for Masks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Masks").field("vocabulary", &self.vocabulary).finish_non_exhaustive()
    }
}

impl Masks {
    /// Masks over a vocabulary.
    ///
    /// # Errors
    /// [`MaskError::Grammar`] if llguidance refuses the vocabulary.
    pub fn new(vocabulary: Vocabulary) -> Result<Self, MaskError> {
        let mut factory = ParserFactory::new_simple(&vocabulary.env).map_err(|error| broken(&error))?;
        factory.quiet();
        // After a line of free text any of a vocabulary's tokens that end in a line break may come, each with every
        // verb behind it: more items than llguidance allows by default, though few milliseconds of them.
        let limits = factory.limits_mut();
        limits.step_max_items = MASK_ITEMS;
        limits.step_lexer_fuel = MASK_FUEL;
        // An error would quote the sentence so far.
        limits.verbose_errors = false;
        Ok(Self { vocabulary, factory, kept: Mutex::new(VecDeque::new()) })
    }

    /// The vocabulary that all masks of this cache are over.
    #[must_use]
    pub const fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// A mask at the beginning of a sentence. Compiles the grammar unless it is cached.
    ///
    /// # Errors
    /// [`MaskError::Grammar`].
    pub fn start(&self, spec: &GrammarSpec, form: Form) -> Result<Mask, MaskError> {
        let known = {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.iter()
                .find(|(hash, known, _)| hash == spec.hash() && *known == form)
                .map(|(.., matcher)| matcher.deep_clone())
        };
        if let Some(matcher) = known {
            return Ok(Mask { matcher, ended: false });
        }
        let grammar = match form {
            Form::Lines => emit::line_lark(spec.document()),
            Form::Json => match emit::emit(Target::Lark, spec.document()).body {
                Body::Text(text) => text,
                Body::Json(body) => body.to_string(),
            },
        };
        let parser = self.factory.create_parser(TopLevelGrammar::from_lark(grammar)).map_err(|error| broken(&error))?;
        let mut matcher = Matcher::new(Ok(parser));
        if let Some(detail) = matcher.get_error() {
            return Err(MaskError::Grammar { detail: detail.chars().take(500).collect() });
        }
        // The first mask is part of the compilation's cost.
        matcher.compute_mask().map_err(|error| broken(&error))?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back((spec.hash().to_owned(), form, matcher.deep_clone()));
        if kept.len() > KEPT {
            kept.pop_front();
        }
        Ok(Mask { matcher, ended: false })
    }
}

/// The state of a decode, and the tokens that may come next.
pub struct Mask {
    matcher: Matcher,
    ended: bool,
}

impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mask").field("ended", &self.ended).finish_non_exhaustive()
    }
}

/// The tokens that may come next.
#[derive(Clone, Debug)]
pub struct Allowed(SimpleVob);

impl Allowed {
    /// Returns `true` if the token is allowed.
    #[must_use]
    pub fn contains(&self, token: u32) -> bool {
        usize::try_from(token).is_ok_and(|index| index < self.0.len()) && self.0.is_allowed(token)
    }

    /// The number of allowed tokens.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.num_set()
    }

    /// The allowed tokens, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter()
    }
}

impl Mask {
    /// The tokens that may come next.
    ///
    /// # Errors
    /// [`MaskError::Grammar`] if the grammar fails in llguidance.
    pub fn allowed(&mut self) -> Result<Allowed, MaskError> {
        self.matcher.compute_mask_or_eos().map(Allowed).map_err(|error| broken(&error))
    }

    /// Advances by one token.
    ///
    /// # Errors
    /// [`MaskError::Forbidden`].
    pub fn accept(&mut self, token: u32) -> Result<(), MaskError> {
        self.matcher.consume_token(token).map_err(|_| MaskError::Forbidden { token })?;
        self.ended = self.matcher.is_stopped();
        Ok(())
    }

    /// Returns `true` if the sentence is complete and nothing may follow.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.ended
    }

    /// The length of the longest prefix of `tokens` that a sentence may begin with.
    pub fn accepts(&mut self, tokens: &[u32]) -> usize {
        self.matcher.validate_tokens(tokens).unwrap_or(0)
    }

    /// Returns `true` if the accepted tokens are a complete sentence.
    pub fn is_whole(&mut self) -> bool {
        self.ended || self.matcher.is_accepting().unwrap_or(false)
    }
}

fn broken(error: &impl std::fmt::Display) -> MaskError {
    MaskError::Grammar { detail: error.to_string().chars().take(500).collect() }
}
