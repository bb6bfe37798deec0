//! Elimination on the fly: equations become rows, at most one per slot, each with its first coefficient at the slot.
//!
//! The rows depend on the order in which keys come, but which slots have one does not (a system's echelon form fixes
//! its leading positions), nor does the solution in which every slot without a row gets zero. So keys may come in any
//! order: the filter's bits, and whether a seed fails, stay the same. Two things are made of that:
//!
//! * Keys are partitioned by start slot first, so that the rows in use stay in the cache.
//! * Several equations are under elimination at once. One alone is a chain of loads, each waiting for the last; a step
//!   of another one fills the gap. Steps of different equations may touch the same slot: each step sees whole rows.

use super::{BLOCK_SLOTS, Hasher, row};
use crate::filter::path::{FilterImpl, Path};

/// Rows under elimination, and the memory that building takes.
#[derive(Debug, Default)]
pub(super) struct Banding {
    /// 0 for a slot without a row; else bit 0 of the first half is set.
    coefficients: Vec<[u64; 2]>,
    results: Vec<u32>,
    /// Hashes by partition, and where each partition ends.
    sorted: Vec<u64>,
    ends: Vec<usize>,
}

/// Slots of a partition: 2^12 rows are 80 KiB.
const PARTITION_SLOTS_LOG2: u32 = 12;

/// Equations under elimination at once.
const LANES: usize = 4;

/// An equation under elimination; the first coefficient is 1 and belongs to `slot`.
#[derive(Clone, Copy, Default)]
struct Lane {
    slot: usize,
    low: u64,
    high: u64,
    result: u32,
}

/// Two equations contradict each other: the seed does not do.
struct Contradiction;

impl Banding {
    /// Turns the keys' equations into rows; false if the seed does not do.
    ///
    /// * `slots`: a multiple of 128, the number that `hasher` was made for.
    pub(super) fn add_all(
        &mut self,
        slots: u32,
        hasher: Hasher,
        hashes: &[u64],
        path: FilterImpl,
    ) -> bool {
        self.coefficients.clear();
        self.coefficients.resize(slots as usize, [0; 2]);
        self.results.clear();
        self.results.resize(slots as usize, 0);
        self.partition(slots, hasher, hashes);
        let Self { coefficients, results, sorted, .. } = self;
        match path.path() {
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 | Path::Avx512 => {
                // SAFETY: a `FilterImpl` exists only for instructions that the processor has; these imply BMI.
                unsafe { eliminate_bmi(coefficients, results, hasher, sorted) }
            }
            _ => eliminate(coefficients, results, hasher, sorted),
        }
    }

    /// Sorts hashes by the partition of their start slot: counts, then distributes.
    fn partition(&mut self, slots: u32, hasher: Hasher, hashes: &[u64]) {
        let partition_of =
            |hash: u64| (hasher.start(hasher.seeded(hash)) >> PARTITION_SLOTS_LOG2) as usize;
        let partitions = (slots >> PARTITION_SLOTS_LOG2) as usize + 1;
        self.ends.clear();
        self.ends.resize(partitions, 0);
        for &hash in hashes {
            self.ends[partition_of(hash)] += 1;
        }
        let mut sum = 0;
        for end in &mut self.ends {
            sum += std::mem::replace(end, sum);
        }
        // From here on an entry says where the next hash of its partition goes.
        self.sorted.resize(hashes.len(), 0);
        for &hash in hashes {
            let next = &mut self.ends[partition_of(hash)];
            self.sorted[*next] = hash;
            *next += 1;
        }
    }

    /// The rows of a block: coefficients (low and high half) and results.
    pub(super) fn block(
        &self,
        block: u32,
    ) -> (&[[u64; 2]; BLOCK_SLOTS as usize], &[u32; BLOCK_SLOTS as usize]) {
        let coefficients = self.coefficients.as_chunks().0;
        let results = self.results.as_chunks().0;
        (&coefficients[block as usize], &results[block as usize])
    }

    /// Frees what a builder of average filters would not keep.
    pub(super) fn shrink(&mut self) {
        const KEPT_BYTES: usize = 4 << 20;
        if self.coefficients.capacity() * size_of::<[u64; 2]>() > KEPT_BYTES {
            *self = Self::default();
        }
    }
}

/// [`eliminate`] with the processor's bit manipulation.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2")]
fn eliminate_bmi(
    coefficients: &mut [[u64; 2]],
    results: &mut [u32],
    hasher: Hasher,
    hashes: &[u64],
) -> bool {
    eliminate(coefficients, results, hasher, hashes)
}

/// Eliminates all equations; false if two contradict each other.
#[inline(always)]
fn eliminate(
    coefficients: &mut [[u64; 2]],
    results: &mut [u32],
    hasher: Hasher,
    hashes: &[u64],
) -> bool {
    let mut hashes = hashes.iter();
    let mut lanes = [Lane::default(); LANES];
    for lane in &mut lanes {
        match hashes.next() {
            Some(&hash) => *lane = Lane::new(hasher, hash),
            None => return eliminate_rest(coefficients, results, &lanes),
        }
    }
    loop {
        for lane in &mut lanes {
            match lane.step(coefficients, results) {
                Ok(false) => {}
                Ok(true) => match hashes.next() {
                    Some(&hash) => *lane = Lane::new(hasher, hash),
                    None => {
                        *lane = Lane::default();
                        return eliminate_rest(coefficients, results, &lanes);
                    }
                },
                Err(Contradiction) => return false,
            }
        }
    }
}

/// Finishes lanes one after the other; those without coefficients are done.
fn eliminate_rest(coefficients: &mut [[u64; 2]], results: &mut [u32], lanes: &[Lane]) -> bool {
    lanes.iter().filter(|lane| lane.low != 0).all(|&(mut lane)| {
        loop {
            match lane.step(coefficients, results) {
                Ok(false) => {}
                Ok(true) => return true,
                Err(Contradiction) => return false,
            }
        }
    })
}

impl Lane {
    #[inline(always)]
    fn new(hasher: Hasher, hash: u64) -> Self {
        let seeded = hasher.seeded(hash);
        let (coefficients, result) = row(seeded);
        Self {
            slot: hasher.start(seeded) as usize,
            low: coefficients as u64,
            high: (coefficients >> 64) as u64,
            result,
        }
    }

    /// One step: takes a free slot (true: done) or subtracts the row that has it.
    #[inline(always)]
    fn step(
        &mut self,
        coefficients: &mut [[u64; 2]],
        results: &mut [u32],
    ) -> Result<bool, Contradiction> {
        let slot = self.slot;
        let [low, high] = coefficients[slot];
        if low == 0 {
            coefficients[slot] = [self.low, self.high];
            results[slot] = self.result;
            return Ok(true);
        }
        self.result ^= results[slot];
        self.low ^= low;
        self.high ^= high;
        if self.low == 0 {
            return self.skip_half();
        }
        let zeroes = self.low.trailing_zeros();
        self.low = (self.low >> zeroes) | ((self.high << 1) << (63 - zeroes));
        self.high >>= zeroes;
        self.slot += zeroes as usize;
        Ok(false)
    }

    /// The rare step over 64 zeroes or more. Without any coefficient left, the equation was there already, or it
    /// contradicts others.
    #[cold]
    fn skip_half(&mut self) -> Result<bool, Contradiction> {
        if self.high == 0 {
            return if self.result == 0 { Ok(true) } else { Err(Contradiction) };
        }
        let zeroes = self.high.trailing_zeros();
        self.low = self.high >> zeroes;
        self.high = 0;
        self.slot += 64 + zeroes as usize;
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_subtracts_the_row_and_moves_to_the_next_coefficient() {
        for zeroes in 1..128 {
            let row = 0x8123_4567_89ab_cdef_0123_4567_89ab_cdef_u128;
            let difference = (u128::MAX / 3) << zeroes | 1 << zeroes;
            let equation = row ^ difference;
            let mut coefficients = vec![[0; 2]; 10];
            coefficients[7] = [row as u64, (row >> 64) as u64];
            let mut results = vec![0; 10];
            results[7] = 0b1100;
            let (low, high) = (equation as u64, (equation >> 64) as u64);
            let mut lane = Lane { slot: 7, low, high, result: 0b1010 };
            assert!(matches!(lane.step(&mut coefficients, &mut results), Ok(false)));
            assert_eq!(lane.slot, 7 + zeroes as usize);
            let left = u128::from(lane.high) << 64 | u128::from(lane.low);
            assert_eq!(left, difference >> zeroes);
            assert_eq!(lane.result, 0b0110);
        }
    }

    #[test]
    fn the_same_equation_is_fine_and_another_result_is_not() {
        let mut coefficients = vec![[5, 6]];
        let mut results = vec![9];
        let mut step = |result| {
            Lane { slot: 0, low: 5, high: 6, result }.step(&mut coefficients, &mut results)
        };
        assert!(matches!(step(9), Ok(true)));
        assert!(matches!(step(8), Err(Contradiction)));
    }
}
