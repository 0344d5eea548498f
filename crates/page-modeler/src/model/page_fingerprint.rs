//! A name for a kind of page in a state: structure and candidates, without volatile text.

use std::collections::{BTreeSet, HashSet};

use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::observation::Sketch;
use sha2::{Digest as _, Sha256};

/// Sixteen hexadecimal digits over the URL's path, the candidates' roles, paths and test ids, and whether
/// a dialog is open. Digits and query strings do not count, nor does how many twins there are.
#[must_use]
pub fn page_fingerprint(url: &str, candidates: &[Candidate], sketch: &Sketch) -> String {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let kinds: HashSet<_> =
        candidates.iter().map(|c| (c.role, c.fingerprint.path.as_str(), c.test_id.as_deref())).collect();
    let mut parts: BTreeSet<String> = kinds
        .into_iter()
        .map(|(role, path, test_id)| format!("{role} {path} {}", test_id.map(steady).unwrap_or_default()))
        .collect();
    parts.insert(format!("modal {}", sketch.modal.is_some()));
    let mut hash = Sha256::new();
    hash.update(steady(path).as_bytes());
    for part in parts {
        hash.update([0]);
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The text with every run of digits as one `0`.
fn steady(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '0'..='9' if out.ends_with('0') => {}
            '0'..='9' => out.push('0'),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_record_of_the_same_kind_has_the_same_fingerprint() {
        let sketch = Sketch::default();
        let one = page_fingerprint("https://a.test/orders/17?x=1", &[], &sketch);
        assert_eq!(one, page_fingerprint("https://a.test/orders/4711", &[], &sketch));
        assert_ne!(one, page_fingerprint("https://a.test/users/17", &[], &sketch));
        assert_eq!(one.len(), 16);
    }
}
