//! The records that both engines get.

use partita_bench::lookups::{KEY_LEN, Key};

use super::engine::Records;
use crate::workload::Random;

/// Bytes of a value of the rows that are put in no order.
pub const ROW_VALUE_BYTES: usize = 100;
/// Bytes of such a row.
pub const ROW_BYTES: u64 = (KEY_LEN + ROW_VALUE_BYTES) as u64;

/// Values different enough that compression finds in them what it finds in each: half of it repeats.
const POOL_VALUES: u32 = 10_000;

/// A chunk of records.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    keys: Vec<Key>,
    values: Vec<u8>,
    value_len: usize,
}

impl Chunk {
    /// Entry locations of a bookie.
    pub fn of_locations(batch: &[(Key, u64)]) -> Self {
        let keys = batch.iter().map(|(key, _)| *key).collect();
        let values = batch.iter().flat_map(|(_, location)| location.to_be_bytes()).collect();
        Self { keys, values, value_len: size_of::<u64>() }
    }

    /// As an engine takes them.
    pub fn records(&self) -> Records<'_> {
        Records { keys: &self.keys, values: &self.values, value_len: self.value_len }
    }
}

/// Rows with numbers below a limit: the key is the number in decimal digits.
#[derive(Clone, Debug)]
pub struct Rows {
    limit: u64,
    pool: Vec<u8>,
    random: Random,
}

impl Rows {
    /// Rows with numbers below `limit`, which is below 2^32.
    pub fn below(limit: u64, seed: u64) -> Self {
        assert!(limit < 1 << 32, "numbers fit 32 bits");
        let mut random = Random::new(seed);
        let mut pool = Vec::with_capacity(POOL_VALUES as usize * ROW_VALUE_BYTES);
        for _ in 0..POOL_VALUES {
            let start = pool.len();
            let half: Vec<u8> = (0..ROW_VALUE_BYTES / 2).map(|_| random.next_u64() as u8).collect();
            pool.extend_from_slice(&half);
            pool.extend_from_within(start..);
        }
        Self { limit, pool, random }
    }

    /// All numbers below the limit, each once, in an order without order.
    pub fn permuted(&self) -> impl Iterator<Item = u64> + use<> {
        let limit = self.limit;
        let bits = u64::BITS - limit.leading_zeros();
        let mask = (1 << bits) - 1;
        let half = bits.div_ceil(2);
        // Each step can be undone, so that no two numbers become one.
        let mix = move |number: u64| {
            let number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask;
            let number = (number ^ (number >> half)).wrapping_mul(0xbf58_476d_1ce4_e5b9) & mask;
            let number = (number ^ (number >> half)).wrapping_mul(0x94d0_49bb_1331_11eb) & mask;
            number ^ (number >> half)
        };
        (0..=mask).map(mix).filter(move |&number| number < limit)
    }

    /// A number, each as likely as any other.
    pub fn any(&mut self) -> u64 {
        u64::from(self.random.below(self.limit as u32))
    }

    /// Rows of these numbers, with values that no row had before.
    pub fn fill(&mut self, chunk: &mut Chunk, numbers: impl Iterator<Item = u64>) {
        chunk.keys.clear();
        chunk.values.clear();
        chunk.value_len = ROW_VALUE_BYTES;
        for number in numbers {
            chunk.keys.push(row_key(number));
            let start = self.random.below(POOL_VALUES) as usize * ROW_VALUE_BYTES;
            chunk.values.extend_from_slice(&self.pool[start..start + ROW_VALUE_BYTES]);
        }
    }
}

/// The key of a row.
pub fn row_key(mut number: u64) -> Key {
    let mut digits = [b'0'; KEY_LEN];
    for digit in digits.iter_mut().rev() {
        *digit += (number % 10) as u8;
        number /= 10;
    }
    Key(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permutation_has_every_number_once_and_no_order() {
        for limit in [1, 2, 1_000, 4_096, 4_097] {
            let mut numbers: Vec<u64> = Rows::below(limit, 1).permuted().collect();
            let ascents = numbers.windows(2).filter(|pair| pair[0] < pair[1]).count() as u64;
            assert!(limit < 1_000 || (limit / 3..limit * 2 / 3).contains(&ascents), "{ascents}");
            numbers.sort_unstable();
            assert_eq!(numbers, (0..limit).collect::<Vec<_>>());
        }
    }

    #[test]
    fn keys_sort_as_their_numbers() {
        assert_eq!(row_key(1_234_567_890).0, *b"0000001234567890");
        assert!(row_key(99) < row_key(100));
    }

    #[test]
    fn rows_have_a_value_for_each_key() {
        let mut rows = Rows::below(10, 1);
        let mut chunk = Chunk::default();
        rows.fill(&mut chunk, 3..7);
        assert_eq!(chunk.records().keys, [3, 4, 5, 6].map(row_key));
        assert_eq!(chunk.records().values.len(), 4 * ROW_VALUE_BYTES);
    }
}
