//! Lone surrogates: what a JavaScript string may hold and a Rust string may not.
//!
//! Invariant: only escapes without a partner change, and no length does.

/// Replaces each escaped surrogate that has no partner by U+FFFD; `None` if there is none.
///
/// JavaScript strings may hold lone surrogates and Chrome writes them as `\ud800`, so any page can put
/// one into its title.
pub(crate) fn mend(json: &[u8]) -> Option<Vec<u8>> {
    let mut mended: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(backslash) = json.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\\')) {
        let start = at + backslash;
        match surrogate(json, start) {
            Some(Half::High) if surrogate(json, start + 6) == Some(Half::Low) => at = start + 12,
            Some(_) => {
                let copy = mended.get_or_insert_with(|| json.to_vec());
                if let Some(escape) = copy.get_mut(start..start + 6) {
                    escape.copy_from_slice(b"\\ufffd");
                }
                at = start + 6;
            }
            None => at = start + 2,
        }
    }
    mended
}

#[derive(PartialEq, Eq)]
enum Half {
    High,
    Low,
}

fn surrogate(json: &[u8], at: usize) -> Option<Half> {
    match json.get(at..at + 6)? {
        [b'\\', b'u', b'd' | b'D', digit, _, _] => match digit {
            b'8' | b'9' | b'a' | b'A' | b'b' | b'B' => Some(Half::High),
            b'c' | b'C' | b'd' | b'D' | b'e' | b'E' | b'f' | b'F' => Some(Half::Low),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::mend;
    use crate::wire::decode;

    #[test]
    fn lone_surrogates_become_replacement_characters_and_pairs_stay() {
        let parse = |json: &str| decode::<String>(json).unwrap();
        assert_eq!(parse(r#""a\ud83d\ude00b""#), "a😀b");
        assert_eq!(parse(r#""a\ud83db""#), "a\u{fffd}b");
        assert_eq!(parse(r#""\ude00\ud83d""#), "\u{fffd}\u{fffd}");
        assert_eq!(parse(r#""\\ud83d\udc00\udc00""#), "\\ud83d\u{fffd}\u{fffd}");
        assert!(mend(br#"{"plain":"\u00e9\\"}"#).is_none());
        assert!(mend(br#""\ud8"#).is_none());
    }
}
