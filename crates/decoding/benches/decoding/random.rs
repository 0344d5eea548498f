//! Random numbers and random logits, the same for the same seed.

use std::convert::Infallible;
use std::sync::Arc;

use cuebook_decoding::mask::Logits;

/// The generator SplitMix64: <https://prng.di.unimi.it/splitmix64.c>
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 up to 1.
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From 0 up to `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// An engine that knows nothing: each time a random window of a long table of noise.
pub(crate) struct Noise {
    table: Arc<[f32]>,
    size: usize,
    random: Random,
}

impl Noise {
    /// The table for a vocabulary of `size`.
    pub(crate) fn table(size: usize, seed: u64) -> Arc<[f32]> {
        let mut random = Random(seed);
        (0..size * 4).map(|_| (random.uniform() * 6.0) as f32).collect()
    }

    pub(crate) fn new(table: Arc<[f32]>, size: usize, seed: u64) -> Self {
        Self { table, size, random: Random(seed) }
    }
}

impl Logits for Noise {
    type Error = Infallible;

    fn next(&mut self, _: &[u32]) -> Result<Vec<f32>, Infallible> {
        let start = self.random.below(self.table.len() - self.size);
        Ok(self.table[start..start + self.size].to_vec())
    }
}
