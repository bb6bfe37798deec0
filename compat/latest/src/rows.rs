//! What the table benchmark stores: entry locations, as a bookie keeps them.

use crate::workload::Random;

/// Entries of a ledger.
const ENTRIES_PER_LEDGER: u64 = 50_000;
/// Location values grow by entry sizes up to this.
const ENTRY_BYTES_MAX: u32 = 4096;

/// Keys and values of fixed lengths, keys ascending.
#[derive(Clone, Debug)]
pub struct Rows {
    /// All keys, one after the other.
    pub keys: Vec<u8>,
    /// Bytes of each key.
    pub key_len: usize,
    /// All values, one after the other.
    pub values: Vec<u8>,
    /// Bytes of each value.
    pub value_len: usize,
}

impl Rows {
    /// `n` entry locations: (ledger, entry) big-endian, every other entry; an offset in a log big-endian.
    pub fn locations(n: usize, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut rows = Self { keys: Vec::new(), key_len: 16, values: Vec::new(), value_len: 8 };
        let mut location = 0u64;
        for at in 0..n as u64 {
            rows.keys.extend_from_slice(&key(2 * at));
            location += u64::from(random.below(ENTRY_BYTES_MAX)) + 4;
            rows.values.extend_from_slice(&location.to_be_bytes());
        }
        rows
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.keys.len() / self.key_len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// `n` keys in random order: those that are there, or their absent neighbours.
    pub fn sample(&self, n: usize, are_present: bool, seed: u64) -> Vec<u8> {
        let mut random = Random::new(seed);
        let below = u32::try_from(self.len()).expect("the benchmark's tables are small");
        let mut keys = Vec::with_capacity(n * self.key_len);
        for _ in 0..n {
            keys.extend_from_slice(&key(
                2 * u64::from(random.below(below)) + u64::from(!are_present)
            ));
        }
        keys
    }
}

fn key(number: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&(number / ENTRIES_PER_LEDGER).to_be_bytes());
    key[8..].copy_from_slice(&(number % ENTRIES_PER_LEDGER).to_be_bytes());
    key
}
