//! What to put into a table: deterministic writes in a few shapes that stress different parts of the format.

use crate::Row;
use crate::db::Op;

/// The shape of a table's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Keys `key00000000`, `key00000003`, … with 20..120 bytes of text.
    Sequential,
    /// Keys `00000000`…, ten to each 8-byte prefix, for prefix extractors.
    Prefixed,
    /// Random bytes of every length from 0 to 1299: all length classes of the hash function, the empty key, runs of
    /// 0x00 and 0xff.
    Binary,
    /// Few keys with values of up to 1 MiB.
    LargeValues,
    /// Puts, overwrites, deletions, single deletions and merges, with snapshots that keep the older versions.
    Versions,
    /// As [`Shape::Versions`] with range deletions between.
    Ranges,
    /// Range deletions only: a table without data blocks.
    OnlyRanges,
}

impl Shape {
    /// Whether each key is put once and nothing else happens, so that a table's entries are the database's rows.
    pub fn is_plain(self) -> bool {
        matches!(self, Self::Sequential | Self::Prefixed | Self::Binary | Self::LargeValues)
    }

    /// The writes of about `count` entries.
    pub fn ops(self, count: usize) -> Vec<Op> {
        match self {
            Self::Versions => versions(count, false),
            Self::Ranges => versions(count, true),
            Self::OnlyRanges => (0..count).map(delete_range).collect(),
            plain => {
                plain.rows(count).into_iter().map(|(key, value)| Op::Put(key, value)).collect()
            }
        }
    }

    /// The rows of a plain shape in bytewise order.
    pub fn rows(self, count: usize) -> Vec<Row> {
        assert!(self.is_plain(), "{self:?} is more than rows");
        let mut random = Random::new();
        let mut rows: Vec<Row> = (0..count)
            .map(|i| match self {
                Self::Prefixed => (format!("{:08}{:04}", i / 10, i % 10).into(), random.text(100)),
                Self::Binary => (random.binary(i), random.text(100)),
                Self::LargeValues => (sequential_key(i), random.text(1 << 20)),
                _ => (sequential_key(i), random.text(100)),
            })
            .collect();
        rows.sort_unstable();
        rows.dedup_by(|later, earlier| later.0 == earlier.0);
        rows
    }
}

fn sequential_key(i: usize) -> Vec<u8> {
    format!("key{:08}", i * 3).into()
}

fn delete_range(i: usize) -> Op {
    Op::DeleteRange(sequential_key(i), sequential_key(i + 1 + i % 7))
}

fn versions(count: usize, with_ranges: bool) -> Vec<Op> {
    let mut random = Random::new();
    let mut ops = Vec::with_capacity(count);
    // Keys that a single deletion may cancel get exactly one put.
    let mut once = 0..;
    for i in 0..count {
        let key = sequential_key(random.below(count));
        let op = match random.below(100) {
            0..10 => Op::Delete(key),
            10..25 => Op::Merge(key, random.text(20)),
            25..30 => {
                let key = format!("once{:06}", once.next().unwrap_or(0)).into_bytes();
                ops.push(Op::Put(key.clone(), random.text(30)));
                ops.push(Op::Snapshot);
                Op::SingleDelete(key)
            }
            30..33 if with_ranges => delete_range(random.below(count)),
            _ => Op::Put(key, random.text(100)),
        };
        ops.push(op);
        if i % (count / 5 + 1) == 0 {
            ops.push(Op::Snapshot);
        }
    }
    ops
}

/// Marsaglia's xorshift64: the same sequence in every run.
struct Random(u64);

impl Random {
    fn new() -> Self {
        Self(88_172_645_463_325_252)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    /// Up to `max` bytes of text in which compressors find something.
    fn text(&mut self, max: usize) -> Vec<u8> {
        const WORDS: [&str; 8] =
            ["table ", "index ", "filter ", "block ", "footer ", "restart ", "level ", "key "];
        let len = self.below(max + 1);
        let mut text = Vec::with_capacity(len + 8);
        while text.len() < len {
            text.extend_from_slice(WORDS[self.below(WORDS.len())].as_bytes());
        }
        text.truncate(len);
        text
    }

    fn binary(&mut self, i: usize) -> Vec<u8> {
        let len = i % 1300;
        match i % 50 {
            7 => vec![0x00; len % 40],
            8 => vec![0xff; len % 40],
            _ => (0..len).map(|_| self.below(256) as u8).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_rows_are_sorted_unique_and_the_same_in_every_run() {
        for shape in [Shape::Sequential, Shape::Prefixed, Shape::Binary, Shape::LargeValues] {
            let rows = shape.rows(50);
            assert!(rows.is_sorted_by(|a, b| a.0 < b.0), "{shape:?}");
            assert_eq!(rows, shape.rows(50), "{shape:?}");
        }
        assert_eq!(Shape::Binary.rows(1300)[0].0, b"");
    }

    #[test]
    fn versions_hold_every_kind_of_write() {
        let ops = Shape::Ranges.ops(1000);
        let kinds: std::collections::HashSet<_> = ops.iter().map(std::mem::discriminant).collect();
        assert_eq!(kinds.len(), 6);
    }
}
