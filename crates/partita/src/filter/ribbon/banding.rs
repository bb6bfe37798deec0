//! Elimination on the fly: equations become rows, at most one per slot, each with its first coefficient at the slot.
//!
//! The rows depend on the order in which keys come, but which slots have one does not (a system's echelon form fixes
//! its leading positions), nor does the solution in which every slot without a row gets zero. So keys may come in any
//! order: the filter's bits, and whether a seed fails, stay the same.

use super::{BLOCK_SLOTS, Hasher, row};

/// Rows under elimination.
pub(super) struct Banding {
    /// 0 for a slot without a row; else bit 0 is set.
    coefficients: Vec<u128>,
    results: Vec<u32>,
}

impl Banding {
    /// * `slots`: a multiple of 128.
    pub(super) fn new(slots: u32) -> Self {
        Self { coefficients: vec![0; slots as usize], results: vec![0; slots as usize] }
    }

    /// Removes all rows.
    pub(super) fn clear(&mut self) {
        self.coefficients.fill(0);
        self.results.fill(0);
    }

    /// Adds the keys' equations; false if two of them contradict each other, and the banding is of no use then.
    pub(super) fn add_all(&mut self, hasher: Hasher, hashes: &[u64]) -> bool {
        hashes.iter().all(|&hash| {
            let seeded = hasher.seeded(hash);
            let (coefficients, result) = row(seeded);
            self.add(hasher.start(seeded) as usize, coefficients, result)
        })
    }

    /// Adds one equation.
    #[inline]
    fn add(&mut self, mut slot: usize, mut coefficients: u128, mut result: u32) -> bool {
        loop {
            let present = self.coefficients[slot];
            if present == 0 {
                self.coefficients[slot] = coefficients;
                self.results[slot] = result;
                return true;
            }
            coefficients ^= present;
            result ^= self.results[slot];
            if coefficients == 0 {
                // The same equation again, or a contradiction.
                return result == 0;
            }
            let zeroes = coefficients.trailing_zeros();
            slot += zeroes as usize;
            coefficients >>= zeroes;
        }
    }

    /// The rows of a block: coefficients and results.
    pub(super) fn block(
        &self,
        block: u32,
    ) -> (&[u128; BLOCK_SLOTS as usize], &[u32; BLOCK_SLOTS as usize]) {
        let coefficients = self.coefficients.as_chunks().0;
        let results = self.results.as_chunks().0;
        (&coefficients[block as usize], &results[block as usize])
    }
}
