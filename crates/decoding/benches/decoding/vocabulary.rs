//! A real vocabulary: that of `o200k_base`.

use cuebook_decoding::mask::Vocabulary;

/// Tokens, the special ones included.
const SIZE: u32 = 200_019;
/// From here on tokens are special: they stand for no text.
const SPECIAL: u32 = 199_998;
/// The token `<|endoftext|>`, which ends a sentence.
const END: u32 = 199_999;

/// The vocabulary. Takes a second or two.
pub(crate) fn o200k() -> Vocabulary {
    let encoding = tiktoken_rs::o200k_base_singleton();
    let bytes = |token| if token < SPECIAL { encoding.decode_bytes(&[token]).unwrap_or_default() } else { Vec::new() };
    Vocabulary::new(&(0..SIZE).map(bytes).collect::<Vec<_>>(), END).unwrap()
}

/// How many tokens a text is.
pub(crate) fn tokens(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len()
}
