//! Keys and queries: the same for every contender, different in every round.

use crate::contender::Queries;

/// Key numbers from here on are in no filter.
const OUTSIDE: u32 = 1 << 31;

/// SplitMix64: a stream of well-mixed numbers from any seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u32) -> u32 {
        (((self.next_u64() >> 32) * u64::from(bound)) >> 32) as u32
    }

    /// True in this share of calls.
    pub fn chance(&mut self, share: f64) -> bool {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64) < share
    }
}

/// Appends key `number` of a filter: `key_len` bytes that no other key has.
pub fn append_key(out: &mut Vec<u8>, filter: u32, number: u32, key_len: usize) {
    let mut random = Random::new(u64::from(filter) << 32 | u64::from(number));
    let end = out.len() + key_len;
    while out.len() < end {
        out.extend_from_slice(&random.next_u64().to_le_bytes());
    }
    out.truncate(end);
}

/// All keys of a filter that has `count` of them.
pub fn keys_of(filter: u32, count: u32, key_len: usize) -> Vec<u8> {
    let mut keys = Vec::with_capacity(count as usize * key_len);
    for number in 0..count {
        append_key(&mut keys, filter, number, key_len);
    }
    keys
}

/// How queries spread over the filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// All to the first filter: its bytes stay in the nearest cache.
    Single,
    /// Each query, or batch, to any filter.
    Random,
}

/// A kind of queries.
#[derive(Clone, Copy, Debug)]
pub struct QueryPlan {
    /// Over which filters.
    pub spread: Spread,
    /// Share of batches whose keys are in the filter.
    pub inside: f64,
    /// Keys a batch.
    pub batch_len: usize,
    /// Bytes a key.
    pub key_len: usize,
}

impl QueryPlan {
    /// Draws queries; `key_counts[f]` is the number of keys in filter `f`.
    pub fn draw(&self, key_counts: &[u32], batches: usize, random: &mut Random) -> Queries {
        let choices = match self.spread {
            Spread::Single => 1,
            Spread::Random => u32::try_from(key_counts.len()).expect("filters are few"),
        };
        let mut queries = Queries {
            filters: Vec::with_capacity(batches),
            keys: Vec::with_capacity(batches * self.batch_len * self.key_len),
            key_len: self.key_len,
            batch_len: self.batch_len,
        };
        for _ in 0..batches {
            let filter = random.below(choices);
            queries.filters.push(filter);
            let outside = if random.chance(self.inside) { 0 } else { OUTSIDE };
            for _ in 0..self.batch_len {
                let number = random.below(key_counts[filter as usize]) | outside;
                append_key(&mut queries.keys, filter, number, self.key_len);
            }
        }
        queries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inside_queries_repeat_keys_of_the_filter_and_outside_ones_do_not() {
        let keys = keys_of(0, 100, 24);
        for (inside, expected) in [(1.0, 50), (0.0, 0)] {
            let plan = QueryPlan { spread: Spread::Single, inside, batch_len: 2, key_len: 24 };
            let queries = plan.draw(&[100], 25, &mut Random::new(7));
            assert_eq!(queries.len(), 50);
            let found = queries.keys.chunks(24).filter(|key| keys.chunks(24).any(|k| k == *key));
            assert_eq!(found.count(), expected);
        }
    }
}
