//! Kinds of drift, and their strengths.
//!
//! Invariant: what is drawn depends on the seed and on what it is drawn for, never on order or time.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde_json::{Value, json};

macro_rules! kinds {
    ($($kind:ident $name:literal $about:literal,)*) => {
        /// A difference between two versions of a site, or something that a page does while it is used.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum DriftKind {
            $(#[doc = $about] $kind,)*
        }

        impl DriftKind {
            /// All kinds of drift.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$kind),*];

            /// Its name on command lines and in results.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }
        }
    };
}

kinds! {
    RenamedNames "renamed-names" "Other ids and classes, in elements, references, styles and what scripts ask for.",
    ReorderedElements "reordered-elements" "Sections, links, buttons and fields in another order, and elements in wrappers.",
    ChangedTexts "changed-texts" "Other words, case and signs for the same: `Log in` becomes `Sign in` or `LOG IN`.",
    LateRendering "late-rendering" "Parts of the page that show up to 1.7 s late.",
    MovedTargets "moved-targets" "Space that appears above the content while it is used, and under the pointer.",
    Overlays "overlays" "An offer over the page, with a button that closes it, or gone after a while.",
    ConsentBanners "consent-banners" "A question about cookies, over a part of the page or all of it.",
    RecycledNodes "recycled-nodes" "Elements replaced by equal ones, and rows whose nodes are used for other rows.",
    SortedLists "sorted-lists" "Lists and tables sorted another way, once more while they are looked at.",
    SlowRequests "slow-requests" "Responses that come up to 1.5 s late.",
    FailingRequests "failing-requests" "Status 503 for a style, an image, a font or data, the first time.",
}

impl fmt::Display for DriftKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no kind of drift.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{seen}` is not `mixed`, `all`, or kinds of drift separated by commas ({})", names())]
pub struct UnknownDrift {
    seen: String,
}

fn names() -> String {
    DriftKind::ALL.map(DriftKind::name).join(", ")
}

impl FromStr for DriftKind {
    type Err = UnknownDrift;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| UnknownDrift { seen: text.to_owned() })
    }
}

/// Which kinds of drift, without a seed: as `mixed`, `all`, or names separated by commas.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Drifts {
    /// A part of them, by the seed, each as strong as the seed says.
    Mixed,
    /// These, at full strength.
    Of(Vec<DriftKind>),
}

impl FromStr for Drifts {
    type Err = UnknownDrift;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "mixed" => Ok(Self::Mixed),
            "all" => Ok(Self::Of(DriftKind::ALL.to_vec())),
            listed => listed.split(',').map(|name| name.trim().parse()).collect::<Result<_, _>>().map(Self::Of),
        }
    }
}

impl fmt::Display for Drifts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mixed => f.write_str("mixed"),
            Self::Of(kinds) => f.write_str(&kinds.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")),
        }
    }
}

impl Drifts {
    /// The drift of a seed.
    #[must_use]
    pub fn seeded(&self, seed: u64) -> Drift {
        match self {
            Self::Mixed => Drift::mixed(seed),
            Self::Of(kinds) => Drift::of(kinds, seed),
        }
    }
}

/// A drift: kinds with their strengths, and the seed of what they do. The same drift changes the same document the same
/// way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drift {
    seed: u64,
    /// Strength of each kind, in percent.
    strengths: BTreeMap<DriftKind, u8>,
}

/// A mixed drift has at least this many kinds, and at most as many more.
const MIXED: u64 = 2;
const MORE: u64 = 4;
/// The least strength of a kind in a mixed drift, in percent.
const WEAKEST: u64 = 30;

impl Drift {
    /// These kinds at full strength.
    #[must_use]
    pub fn of(kinds: &[DriftKind], seed: u64) -> Self {
        Self { seed, strengths: kinds.iter().map(|kind| (*kind, 100)).collect() }
    }

    /// Two to six kinds, each of a strength of its own, as the seed says.
    #[must_use]
    pub fn mixed(seed: u64) -> Self {
        let drawn = |what: &str, below: u64| u64::from(hash(seed, &["mixed", what])) % below;
        let count = MIXED + drawn("count", MORE + 1);
        let mut order = DriftKind::ALL;
        order.sort_by_key(|kind| hash(seed, &["mixed", "order", kind.name()]));
        let kinds = order.into_iter().take(usize::try_from(count).unwrap_or(usize::MAX));
        let strength = |kind: DriftKind| {
            let percent = WEAKEST + drawn(kind.name(), 101 - WEAKEST);
            u8::try_from(percent).unwrap_or(100)
        };
        Self { seed, strengths: kinds.map(|kind| (kind, strength(kind))).collect() }
    }

    /// Seed that decides, together with the strengths, what each kind changes.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The kinds, with their strengths in percent.
    pub fn kinds(&self) -> impl Iterator<Item = (DriftKind, u8)> {
        self.strengths.iter().map(|(kind, percent)| (*kind, *percent))
    }

    /// Between 0 and 1; 0 without this kind.
    pub(super) fn strength(&self, kind: DriftKind) -> f64 {
        f64::from(self.strengths.get(&kind).copied().unwrap_or(0)) / 100.0
    }

    /// A number from 0 to below 1 for this kind and key.
    pub(super) fn draw(&self, kind: DriftKind, key: &[&str]) -> f64 {
        let parts: Vec<&str> = std::iter::once(kind.name()).chain(key.iter().copied()).collect();
        f64::from(hash(self.seed, &parts)) / (f64::from(u32::MAX) + 1.0)
    }

    /// Returns the configuration of the script in a document.
    pub(super) fn config(&self, path: &str) -> Value {
        let strengths: BTreeMap<&str, f64> = self.kinds().map(|(kind, _)| (kind.name(), self.strength(kind))).collect();
        json!({ "seed": self.seed.to_string(), "document": hash(self.seed, &["document", path]), "strengths": strengths })
    }
}

/// FNV-1a over the parts, mixed well. The script has one like it.
pub(super) fn hash(seed: u64, parts: &[&str]) -> u32 {
    let mut state = 0x811c_9dc5_u32;
    let seed = seed.to_string();
    for part in std::iter::once(&seed.as_str()).chain(parts) {
        for byte in part.bytes().chain([0]) {
            state = (state ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
    }
    state = (state ^ (state >> 16)).wrapping_mul(0x85eb_ca6b);
    state = (state ^ (state >> 13)).wrapping_mul(0xc2b2_ae35);
    state ^ (state >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for kind in DriftKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert_eq!("mixed".parse(), Ok(Drifts::Mixed));
        assert_eq!("overlays, sorted-lists".parse(), Ok(Drifts::Of(vec![DriftKind::Overlays, DriftKind::SortedLists])));
        let error = "overlay".parse::<Drifts>().unwrap_err().to_string();
        assert!(error.contains("overlays") && error.starts_with("`overlay` is not "), "{error}");
    }

    #[test]
    fn a_mixed_drift_is_the_same_for_the_same_seed_and_only_for_it() {
        assert_eq!(Drift::mixed(7), Drift::mixed(7));
        let different: std::collections::BTreeSet<String> =
            (0..50).map(|seed| format!("{:?}", Drift::mixed(seed).strengths)).collect();
        assert!(different.len() > 45, "{}", different.len());
        for seed in 0..200 {
            let kinds: Vec<_> = Drift::mixed(seed).kinds().collect();
            assert!((2..=6).contains(&kinds.len()), "{kinds:?}");
            assert!(kinds.iter().all(|(_, percent)| (30..=100).contains(percent)), "{kinds:?}");
        }
    }

    #[test]
    fn every_kind_is_mixed_in_now_and_then() {
        let mut seen: Vec<DriftKind> =
            (0..100).flat_map(|seed| Drift::mixed(seed).kinds().collect::<Vec<_>>()).map(|it| it.0).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, DriftKind::ALL);
    }

    #[test]
    fn draws_spread() {
        let drift = Drift::of(&[DriftKind::SlowRequests], 3);
        let draws: Vec<f64> = (0..1_000).map(|n| drift.draw(DriftKind::SlowRequests, &[&n.to_string()])).collect();
        let low = draws.iter().filter(|draw| **draw < 0.25).count();
        assert!((180..320).contains(&low), "{low}");
        assert_eq!(drift.draw(DriftKind::Overlays, &["a"]), drift.draw(DriftKind::Overlays, &["a"]));
    }
}
