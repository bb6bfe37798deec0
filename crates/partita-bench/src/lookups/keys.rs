//! The entry locations of a bookie, and the keys that are asked for.
//!
//! They are made up ([`Keyspace`]), or drawn from what a directory holds ([`Sample`]).
//!
//! A bookie keeps some of the entries of many ledgers, written at the same time: entry after entry of all of them. Here
//! ensembles have three bookies and a write quorum of two, so that every third entry of a ledger is not on this one.
//! These are the keys that are absent, spread among the others as evenly as can be.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::engine::Answer;

/// Bytes of a key.
pub const KEY_LEN: usize = 16;

/// Ledger and entry, big-endian.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
#[repr(transparent)]
pub struct Key(pub [u8; KEY_LEN]);

impl Key {
    /// The key of an entry.
    #[inline]
    pub fn new(ledger: u64, entry: u64) -> Self {
        Self(((u128::from(ledger) << 64) | u128::from(entry)).to_be_bytes())
    }

    /// Its ledger.
    #[inline]
    pub fn ledger(self) -> u64 {
        (u128::from_be_bytes(self.0) >> 64) as u64
    }

    /// Its entry.
    #[inline]
    pub fn entry(self) -> u64 {
        u128::from_be_bytes(self.0) as u64
    }

    /// The end of its ledger, if it is the last key there.
    pub fn ledger_end(self) -> LedgerEnd {
        LedgerEnd { ledger: self.ledger(), last: self.entry() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.ledger(), self.entry())
    }
}

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text
            .split_once(':')
            .and_then(|(ledger, entry)| Some((ledger.parse().ok()?, entry.parse().ok()?)));
        let (ledger, entry) = numbers.ok_or_else(|| format!("{text:?} is not ledger:entry"))?;
        Ok(Self::new(ledger, entry))
    }
}

impl From<Key> for String {
    fn from(key: Key) -> Self {
        key.to_string()
    }
}

impl TryFrom<String> for Key {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// Which keys there are: so many ledgers with so many entries each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keyspace {
    /// Ledgers, filled side by side; at least 1.
    pub ledgers: u64,
    /// Entries that each ledger has here; at least 1.
    pub entries: u64,
}

/// Ledgers are numbered from here on; other bookies have most of them.
const LEDGER_FIRST: u64 = 100_000;
const LEDGER_STEP: u64 = 7;
/// Average size of an entry.
const ENTRY_BYTES: u64 = 1_100;

impl Keyspace {
    /// How many keys.
    pub fn len(self) -> u64 {
        self.ledgers * self.entries
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The `entry`th key that the `ledger`th ledger has.
    #[inline]
    pub fn key(self, ledger: u64, entry: u64) -> Key {
        Key::new(LEDGER_FIRST + LEDGER_STEP * ledger, entry / 2 * 3 + entry % 2)
    }

    /// A key that is not there, between two that are.
    #[inline]
    fn absent_key(self, ledger: u64, entry: u64) -> Key {
        Key::new(LEDGER_FIRST + LEDGER_STEP * ledger, entry / 2 * 3 + 2)
    }

    /// Where the entry is: number of the entry log (1 GiB each) and offset in it. Entries are of varied sizes, and logs
    /// are filled in the order of writing.
    #[inline]
    pub fn location(self, ledger: u64, entry: u64) -> u64 {
        let number = entry * self.ledgers + ledger;
        let position =
            number * ENTRY_BYTES + (number.wrapping_mul(GOLDEN) >> 32) % (ENTRY_BYTES - 100);
        ((position >> 30) << 32) | (position & ((1 << 30) - 1))
    }

    /// Entries of the range of every ledger as a bookie flushes them: in batches of some entries of all ledgers, sorted.
    ///
    /// * `each`: entries of one ledger in a batch; at least 1.
    pub fn batches(self, entries: Range<u64>, each: u64) -> impl Iterator<Item = Vec<(Key, u64)>> {
        let (first, end) = (entries.start, entries.end);
        (first..end)
            .step_by(each as usize)
            .map(move |start| self.sorted(start..end.min(start + each)).collect())
    }

    /// Entries of the range of every ledger, in the order of keys.
    pub fn sorted(self, entries: Range<u64>) -> impl Iterator<Item = (Key, u64)> {
        (0..self.ledgers).flat_map(move |ledger| {
            entries
                .clone()
                .map(move |entry| (self.key(ledger, entry), self.location(ledger, entry)))
        })
    }
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mix {
    /// Keys that are there, each as likely as any other.
    Present,
    /// Keys that are not.
    Absent,
    /// Keys that are there, the k-th most popular with a likelihood of 1/k. Popular keys are not neighbours.
    Zipf,
    /// Ledgers, each as likely as any other, of which the last entry is wanted: the key's entry says nothing.
    Last,
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Present => "present",
            Self::Absent => "absent",
            Self::Zipf => "present, by popularity",
            Self::Last => "last entries",
        })
    }
}

/// What there is to ask for.
#[derive(Clone, Debug)]
pub enum Population {
    /// All keys of a keyspace.
    Made(Keyspace),
    /// Some of what a directory holds. Absent keys cannot be asked for.
    Sampled(Sample),
}

/// Some of what a directory holds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Sample {
    /// Entries with their locations, in no order that a reader could use; at least one.
    pub entries: Vec<(Key, u64)>,
    /// Ledgers; at least one.
    pub ledgers: Vec<LedgerEnd>,
}

/// The end of a ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerEnd {
    /// The ledger.
    pub ledger: u64,
    /// Its greatest entry.
    pub last: u64,
}

impl Population {
    fn len(&self) -> u64 {
        match self {
            Self::Made(keyspace) => keyspace.len(),
            Self::Sampled(sample) => sample.entries.len() as u64,
        }
    }

    /// The `number`th entry, and its location.
    #[inline]
    fn entry(&self, number: u64) -> (Key, u64) {
        match self {
            Self::Made(keyspace) => {
                let (ledger, entry) = (number % keyspace.ledgers, number / keyspace.ledgers);
                (keyspace.key(ledger, entry), keyspace.location(ledger, entry))
            }
            Self::Sampled(sample) => sample.entries[number as usize],
        }
    }

    /// Any ledger.
    fn ledger(&self, random: &mut SplitMix) -> LedgerEnd {
        match self {
            Self::Made(keyspace) => {
                keyspace.key(random.below(keyspace.ledgers), keyspace.entries - 1).ledger_end()
            }
            Self::Sampled(sample) => {
                sample.ledgers[random.below(sample.ledgers.len() as u64) as usize]
            }
        }
    }

    fn absent(&self, number: u64) -> Key {
        match self {
            Self::Made(keyspace) => {
                keyspace.absent_key(number % keyspace.ledgers, number / keyspace.ledgers)
            }
            Self::Sampled(_) => unreachable!("absent keys are asked for in keyspaces only"),
        }
    }
}

/// Keys to ask for, endlessly.
#[derive(Clone, Debug)]
pub struct KeyStream<'a> {
    population: &'a Population,
    mix: Mix,
    random: SplitMix,
    /// Spreads ranks over keys; has no divisor in common with their number.
    spread: u64,
}

impl<'a> KeyStream<'a> {
    /// * `seed`: two streams of different seeds have nothing in common.
    pub fn new(population: &'a Population, mix: Mix, seed: u64) -> Self {
        let mut spread = (GOLDEN % population.len()) | 1;
        while greatest_common_divisor(spread, population.len()) != 1 {
            spread += 2;
        }
        Self { population, mix, random: SplitMix::new(seed), spread }
    }

    /// Replaces `keys`; returns what an engine must answer.
    #[inline]
    pub fn fill(&mut self, keys: &mut [Key]) -> Answer {
        let mut answer = Answer::default();
        for key in keys {
            let (asked, value) = self.next();
            *key = asked;
            if let Some(sum) = value {
                answer += Answer { found: 1, sum };
            }
        }
        answer
    }

    #[inline]
    fn next(&mut self) -> (Key, Option<u64>) {
        let population = self.population;
        match self.mix {
            Mix::Absent => (population.absent(self.random.below(population.len())), None),
            Mix::Last => {
                let end = population.ledger(&mut self.random);
                (Key::new(end.ledger, 0), Some(end.last))
            }
            Mix::Present | Mix::Zipf => {
                let number = match self.mix {
                    Mix::Zipf => self.popular(),
                    _ => self.random.below(population.len()),
                };
                let (key, location) = population.entry(number);
                (key, Some(location))
            }
        }
    }

    /// The logarithm of the rank is uniform, which is what a likelihood of 1/rank comes to.
    fn popular(&mut self) -> u64 {
        let keys = self.population.len();
        let uniform = (self.random.next() >> 11) as f64 / (1_u64 << 53) as f64;
        let rank = ((keys as f64).powf(uniform) as u64 - 1).min(keys - 1);
        (u128::from(rank) * u128::from(self.spread) % u128::from(keys)) as u64
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Random numbers.
#[derive(Clone, Debug)]
pub(crate) struct SplitMix(u64);

impl SplitMix {
    /// Numbers of different seeds have nothing in common.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0xd134_2543_de82_ef95))
    }

    #[inline]
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Any number below `limit`.
    #[inline]
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const SMALL: Keyspace = Keyspace { ledgers: 7, entries: 25 };

    fn all() -> BTreeMap<Key, u64> {
        SMALL.sorted(0..SMALL.entries).collect()
    }

    #[test]
    fn keys_come_in_order_and_each_once() {
        let sorted: Vec<_> = SMALL.sorted(0..SMALL.entries).map(|(key, _)| key).collect();
        assert!(sorted.is_sorted_by(|a, b| a < b));
        assert_eq!(sorted.len() as u64, SMALL.len());
    }

    #[test]
    fn batches_are_sorted_and_hold_what_the_sorted_run_holds() {
        let batches: Vec<_> = SMALL.batches(0..SMALL.entries, 10).collect();
        assert_eq!(batches.len(), 3);
        assert!(batches.iter().all(|batch| batch.is_sorted()));
        assert_eq!(batches.concat().into_iter().collect::<BTreeMap<_, _>>(), all());
    }

    #[test]
    fn locations_ascend_in_the_order_of_writing() {
        let written = (0..5_000).flat_map(|entry| (0..7).map(move |l| SMALL.location(l, entry)));
        assert!(written.collect::<Vec<_>>().is_sorted());
        assert!(SMALL.location(0, 200_000) >> 32 > 0, "a second entry log is begun");
    }

    #[test]
    fn streams_tell_what_the_answers_must_be() {
        let all = all();
        let entries = all.iter().map(|(&key, &value)| (key, value)).collect();
        let ends = (0..SMALL.ledgers).map(|l| SMALL.key(l, SMALL.entries - 1).ledger_end());
        let sample = Population::Sampled(Sample { entries, ledgers: ends.collect() });
        let made = Population::Made(SMALL);
        for (population, mix) in [
            (&made, Mix::Present),
            (&made, Mix::Absent),
            (&made, Mix::Zipf),
            (&sample, Mix::Present),
            (&sample, Mix::Zipf),
        ] {
            let mut stream = KeyStream::new(population, mix, 3);
            let mut keys = [Key::default(); 1000];
            let expected = stream.fill(&mut keys);
            let mut answer = Answer::default();
            for key in &keys {
                if let Some(&value) = all.get(key) {
                    answer += Answer { found: 1, sum: value };
                }
            }
            assert_eq!(answer, expected, "{mix:?}");
            assert_eq!(expected.found, if mix == Mix::Absent { 0 } else { 1000 });
        }
        for population in [&made, &sample] {
            let mut keys = [Key::default(); 1000];
            let expected = KeyStream::new(population, Mix::Last, 3).fill(&mut keys);
            let last = |key: &Key| {
                let ledger = Key::new(key.ledger(), 0)..=Key::new(key.ledger(), u64::MAX);
                all.range(ledger).next_back().map(|(key, _)| key.entry())
            };
            let sum = keys.iter().map(|key| last(key).expect("the ledger has entries")).sum();
            assert_eq!(expected, Answer { found: 1000, sum });
        }
    }

    #[test]
    fn uniform_keys_reach_everything_and_popular_ones_are_popular() {
        let counts = |mix| {
            let mut keys = [Key::default(); 10_000];
            KeyStream::new(&Population::Made(SMALL), mix, 1).fill(&mut keys);
            let mut counts = BTreeMap::new();
            for key in keys {
                *counts.entry(key).or_insert(0) += 1;
            }
            (counts.len() as u64, counts.into_values().max().unwrap())
        };
        let (reached, most) = counts(Mix::Present);
        assert_eq!(reached, SMALL.len());
        assert!(most < 150);
        let (reached, most) = counts(Mix::Zipf);
        assert!(reached > SMALL.len() / 2);
        assert!(most > 1_000);
    }

    #[test]
    fn keys_are_readable_text_and_back() {
        let key = SMALL.key(1, 3);
        assert_eq!(key.to_string(), "100007:4");
        assert_eq!(key.to_string().parse(), Ok(key));
        assert!("7".parse::<Key>().unwrap_err().contains("ledger:entry"));
    }
}
