//! Which keys are looked up: drawn from the entries of the tables, or read from a file.

use std::path::PathBuf;

use serde::{Serialize, Serializer};

use crate::random::{Random, mix};

/// How keys are chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum Lookups {
    /// Every entry is as likely as the next.
    Uniform,
    /// Few are asked for often: the entry of rank `n` with a weight of `1 / n^theta`, ranks scattered over all keys.
    Zipf {
        /// How steep it is: 0.99 is what benchmarks take.
        theta: f64,
    },
    /// The same, the newest entries first: those of the newest tables, and of a table the last.
    Recent {
        /// How steep it is.
        theta: f64,
    },
    /// Keys that are not there: each a key that is, and eight bytes behind it.
    Absent,
    /// The keys of a file, one a line, in their order; from the start again if there are fewer than are asked for. If the
    /// file is a block-cache trace of RocksDB, it stands for [`Self::Gets`].
    Trace {
        /// The file.
        path: PathBuf,
        /// Whether the lines are hexadecimal digits; else text in which `\xHH` and `\\` stand for bytes.
        hex: bool,
        /// The column family that they are looked up in.
        family: String,
    },
    /// The gets in a block-cache trace of RocksDB, once, each in its own column family.
    Gets {
        /// The trace.
        path: PathBuf,
    },
}

impl Lookups {
    /// In a line.
    pub fn describe(&self) -> String {
        match self {
            Self::Uniform => "keys that are there, one as likely as the other".to_owned(),
            Self::Zipf { theta } => format!("keys that are there, some often (Zipf, {theta})"),
            Self::Recent { theta } => {
                format!("keys that are there, the newest most often (Zipf, {theta})")
            }
            Self::Absent => "keys that are not there".to_owned(),
            Self::Trace { path, family, .. } => {
                format!("the keys in {}, in family {family}", path.display())
            }
            Self::Gets { path } => format!("the gets in RocksDB's trace {}", path.display()),
        }
    }
}

impl Serialize for Lookups {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.describe())
    }
}

/// Draws entries out of `entries`, as their places in an order from new to old.
pub(super) struct Draw<'l> {
    lookups: &'l Lookups,
    entries: u64,
    random: Random,
}

impl<'l> Draw<'l> {
    pub(super) fn new(lookups: &'l Lookups, entries: u64, seed: u64) -> Self {
        Self { lookups, entries, random: Random::new(seed) }
    }

    pub(super) fn next(&mut self) -> u64 {
        match self.lookups {
            Lookups::Zipf { theta } => {
                let rank = zipf_rank(self.random.unit(), self.entries, *theta);
                mix(rank) % self.entries.max(1)
            }
            Lookups::Recent { theta } => zipf_rank(self.random.unit(), self.entries, *theta),
            _ => self.random.below(self.entries),
        }
    }
}

/// The rank from 0 on below which `share` of the weights lie, weights taken as a function of a real number.
fn zipf_rank(share: f64, ranks: u64, theta: f64) -> u64 {
    let (last, flat) = (ranks as f64, 1.0 - theta);
    let rank = if flat.abs() < 1e-9 {
        (share * last.ln()).exp()
    } else {
        (share * (last.powf(flat) - 1.0) + 1.0).powf(1.0 / flat)
    };
    (rank as u64).saturating_sub(1).min(ranks.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steep_draw_prefers_the_first_and_reaches_the_last() {
        let lookups = Lookups::Recent { theta: 0.99 };
        let mut draw = Draw::new(&lookups, 1_000_000, 7);
        let drawn: Vec<u64> = (0..20_000).map(|_| draw.next()).collect();
        let below = |bound| drawn.iter().filter(|&&place| place < bound).count();
        // ln(1000) / ln(1000000) is a half.
        assert!((9_000..11_500).contains(&below(1000)), "{}", below(1000));
        assert!(drawn.iter().all(|&place| place < 1_000_000));
        assert!(drawn.iter().any(|&place| place > 900_000));
        let mut again = Draw::new(&lookups, 1_000_000, 7);
        assert!(drawn.iter().all(|&place| place == again.next()), "a seed means the same row");
    }

    #[test]
    fn scattered_ranks_fall_all_over_the_keys() {
        let lookups = Lookups::Zipf { theta: 0.99 };
        let mut draw = Draw::new(&lookups, 1_000_000, 7);
        let upper = (0..10_000).filter(|_| draw.next() >= 500_000).count();
        assert!((3_500..6_500).contains(&upper), "{upper}");
    }
}
