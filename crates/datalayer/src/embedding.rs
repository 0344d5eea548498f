//! Vectors of pages and plans, without a model: feature hashing with random signs.
//!
//! Each feature is a text. Bit `i` of its SHA-256 (bit `i % 8` of byte `i / 8`, the lowest first) adds 1 to the number at
//! `i` if it is set, and takes 1 away otherwise; a vector of length 1 is made of the sums. So the cosine of two vectors is
//! about the share of features that two pages have in common, within 0.06 (Achlioptas' random projections).
//!
//! Invariant: the same features give the same bits, on every machine. A change of the features raises [`FUNCTION`].

use std::collections::BTreeSet;

use cuebook_grammar::candidate::Fingerprint;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::step::Step;
use sha2::{Digest as _, Sha256};

/// Length of a vector.
pub const DIMENSIONS: usize = 256;

/// Name and version of the features and their hashing.
pub const FUNCTION: &str = "sha256-signs-1";

/// The sums of a set of features.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sums([i32; DIMENSIONS]);

impl Sums {
    /// Of these features; `None` if there are none.
    fn of(features: &BTreeSet<String>) -> Option<Self> {
        let mut sums = [0_i32; DIMENSIONS];
        for feature in features {
            let digest = Sha256::digest(feature.as_bytes());
            let bits = digest.iter().flat_map(|byte| (0..u8::BITS).map(move |bit| byte >> bit & 1 == 1));
            for (sum, is_set) in sums.iter_mut().zip(bits) {
                *sum = sum.saturating_add(if is_set { 1 } else { -1 });
            }
        }
        (!features.is_empty()).then_some(Self(sums))
    }

    /// The signs of the first 64, the first as the highest bit: most stay when few features change (Charikar's SimHash).
    pub(crate) fn signs(&self) -> u64 {
        self.0.iter().take(64).fold(0, |hash, sum| hash << 1 | u64::from(*sum > 0))
    }

    /// The sums as a vector of length 1; all 0 if the features cancel each other.
    #[expect(clippy::cast_possible_truncation, reason = "single precision is what stores of vectors keep")]
    fn vector(&self) -> [f32; DIMENSIONS] {
        let length = self.0.iter().map(|sum| f64::from(*sum).powi(2)).sum::<f64>().sqrt();
        self.0.map(|sum| if length > 0.0 { (f64::from(sum) / length) as f32 } else { 0.0 })
    }
}

/// The sums of a page: of the roles, places, test ids and names of its candidates. Digits and numbers of twins do not count.
pub(crate) fn sums_of_page(page: &Observation) -> Option<Sums> {
    let mut features = BTreeSet::new();
    for candidate in &page.candidates {
        let print = &candidate.fingerprint;
        let test_id = print.test_id.as_deref().unwrap_or_default();
        features.insert(steady(&format!("{} {} {test_id}", print.role, print.path)));
        features.insert(steady(&format!("{} {}", print.role, print.name)));
    }
    Sums::of(&features)
}

/// The vector of a page; `None` for one without candidates. Its features are `ROLE PLACE TEST-ID` and `ROLE NAME` of each
/// candidate's fingerprint, without digits.
#[must_use]
pub fn page(page: &Observation) -> Option<[f32; DIMENSIONS]> {
    sums_of_page(page).map(|sums| sums.vector())
}

/// The vector of a task and the steps that carried it out; `None` if there are neither. Its features are `task WORD` for
/// each word of the task in lower case, and `VERB ROLE NAME` and `VERB ROLE TEST-ID` for each target of a step (`VERB` alone
/// for a step without), without digits.
#[must_use]
pub fn plan<'a>(
    task: &str,
    steps: impl IntoIterator<Item = (&'a Step, Vec<&'a Fingerprint>)>,
) -> Option<[f32; DIMENSIONS]> {
    let words = task.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut features: BTreeSet<String> = words.map(|word| steady(&format!("task {}", word.to_lowercase()))).collect();
    for (step, targets) in steps {
        let verb = step.action.kind().meta().name;
        if targets.is_empty() {
            features.insert(verb.to_owned());
        }
        for print in targets {
            features.insert(steady(&format!("{verb} {} {}", print.role, print.name)));
            features.extend(print.test_id.as_ref().map(|id| steady(&format!("{verb} {} {id}", print.role))));
        }
    }
    Sums::of(&features).map(|sums| sums.vector())
}

fn steady(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shop(names: &[&str]) -> Observation {
        cuebook_grammar::sample::page(&names.iter().map(|name| format!("button \"{name}\"\n")).collect::<String>())
    }

    fn cosine(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn a_vector_is_that_of_the_documented_function() {
        // By hand, for one feature: each bit of its SHA-256, as 1 or -1, over the length 16.
        let vector = plan("Pay", []).unwrap();
        let digest = Sha256::digest(b"task pay");
        for (at, value) in vector.iter().enumerate() {
            let is_set = digest[at / 8] >> (at % 8) & 1 == 1;
            assert_eq!(*value, if is_set { 0.0625 } else { -0.0625 }, "{at}");
        }
    }

    #[test]
    fn vectors_have_length_one_and_those_of_like_pages_are_near() {
        let names: Vec<String> = (b'a'..=b'z').map(|letter| format!("{} order", char::from(letter))).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let whole = page(&shop(&names)).unwrap();
        assert!((cosine(&whole, &whole) - 1.0).abs() < 1e-5);
        let most = page(&shop(&names[2..])).unwrap();
        let other = page(&shop(&["search", "home", "help", "terms", "sign in"])).unwrap();
        let (near, far) = (cosine(&whole, &most), cosine(&whole, &other));
        assert!(near > 0.8 && far < 0.3, "{near} {far}");
        let later: Vec<String> = names.iter().map(|name| format!("{name} 4711")).collect();
        let later: Vec<&str> = later.iter().map(String::as_str).collect();
        let numbered: Vec<String> = names.iter().map(|name| format!("{name} 7")).collect();
        let numbered: Vec<&str> = numbered.iter().map(String::as_str).collect();
        assert_eq!(page(&shop(&later)), page(&shop(&numbered)), "digits do not count");
        assert_eq!(page(&shop(&[])), None);
    }

    #[test]
    fn tasks_with_words_in_common_are_near() {
        let of = |task| plan(task, []).unwrap();
        let one = of("Delete the order 4711 of Ann");
        let (near, far) =
            (cosine(&one, &of("delete the order 9 of Bob")), cosine(&one, &of("sign in with a password")));
        assert!(near > 0.5 && far < 0.3, "{near} {far}");
        assert_eq!(plan(" ,.", []), None);
    }
}
