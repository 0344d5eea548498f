//! A tiny deterministic generator, so that a seed alone decides what the site looks like.
//!
//! Invariant: the sequence of a seed never changes; recorded runs depend on it. Not for secrets.

/// `SplitMix64` (Steele, Lea and Flood, 2014): every seed is a good seed.
#[derive(Debug, Clone)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`; 0 when `limit` is 0.
    pub(crate) const fn below(&mut self, limit: u64) -> u64 {
        match self.next().checked_rem(limit) {
            Some(number) => number,
            None => 0,
        }
    }

    /// One of `items`, or nothing when there are none.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let index = usize::try_from(self.below(items.len() as u64)).ok()?;
        items.get(index)
    }

    /// Fisher and Yates: every order is as likely as any other.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = usize::try_from(self.below(last as u64 + 1)).unwrap_or(last);
            items.swap(last, other);
        }
    }

    /// A name as style compilers make them: a letter, then five of base 36.
    pub(crate) fn class_name(&mut self) -> String {
        const SYMBOLS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
        let mut name = String::from("x");
        for _ in 0..5 {
            if let Some(&symbol) = self.pick(SYMBOLS) {
                name.push(char::from(symbol));
            }
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn one_seed_gives_one_sequence() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            [random.next(), random.next(), random.next()]
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn shuffling_loses_nothing() {
        let mut items: Vec<u32> = (0..50).collect();
        Random::new(3).shuffle(&mut items);
        assert_ne!(items, (0..50).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..50).collect::<Vec<_>>());
    }

    #[test]
    fn nothing_can_be_picked_from_nothing() {
        assert_eq!(Random::new(1).pick::<u8>(&[]), None);
        assert_eq!(Random::new(1).below(0), 0);
    }
}
