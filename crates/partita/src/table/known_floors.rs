//! What floor lookups have found out: under this bound, that is the table's greatest key.
//!
//! Where runs hold keys on both sides of a bound, as those of a log of many streams do at the end of each stream, the indexes
//! cannot tell which run has the floor, and a lookup reads a data block of each. But tables do not change. What was found
//! once stays true, and the next lookup under the same bound asks only the table that wins.
//!
//! A table remembers some hundreds of floors in lines of 64 bytes, each written and read without a lock:
//!
//! ```text
//! word 0        version: even at rest, odd while the line is written, 0 before
//! words 1..=3   the bound's key, zeros behind it
//! words 4..=6   the floor's user key, likewise
//! word 7        length of the bound's key | length of the floor << 8 | whether the bound is included << 16
//! ```
//!
//! # Invariants
//! 1. A line is written between two changes of its version, by one thread at a time: who finds it odd, or loses the exchange,
//!    gives up. A reader that saw the same even version before and after has words of one write.
//! 2. A floor is noted only by readers to whom every entry of the table is visible. So no reader, of whatever moment, finds a
//!    key between floor and bound.

use std::ops::Bound;
use std::sync::OnceLock;

use super::block::KeyBuf;
use crate::cache::{Cache, Reservation, Role};
#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Words of a key; longer ones are not remembered.
const KEY_WORDS: usize = 3;
/// Entries of a table for each line, and how many lines a table has.
const ENTRIES_OF_LINE: u64 = 512;
const LINES_MIN: u64 = 64;
const LINES_MAX: u64 = 2048;
/// The share of the budget that all tables' lines have at most.
const BUDGET_SHARE: usize = 32;

/// Floors that a table remembers. It takes no memory before the first.
#[derive(Debug, Default)]
pub(super) struct KnownFloors {
    /// `None` inside: the budget has no room.
    lines: OnceLock<Option<(Lines, Reservation)>>,
}

impl KnownFloors {
    /// The greatest key of the table that is not behind `bound`, if it is remembered.
    #[inline]
    pub(super) fn get(&self, bound: Bound<&[u8]>) -> Option<KeyBuf> {
        let (lines, _) = self.lines.get()?.as_ref()?;
        lines.get(&Words::of_bound(bound)?)
    }

    /// Remembers a floor.
    ///
    /// * `entries`: of the table.
    pub(super) fn note(&self, bound: Bound<&[u8]>, floor: &[u8], entries: u64, cache: &Cache) {
        let (Some(bound), Some(floor)) = (Words::of_bound(bound), Words::of_key(floor)) else {
            return;
        };
        let lines = self.lines.get_or_init(|| {
            let wanted = (entries / ENTRIES_OF_LINE).clamp(LINES_MIN, LINES_MAX);
            let mut len = wanted.next_power_of_two() as usize;
            let all = cache.budget_bytes() / BUDGET_SHARE;
            let room = all.saturating_sub(cache.reserved_bytes(Role::KnownFloors));
            // Something stays for the tables that come later.
            while len * size_of::<Line>() > room / 4 {
                len /= 2;
            }
            if len < LINES_MIN as usize {
                return None;
            }
            let charge = cache.try_reserve(Role::KnownFloors, len * size_of::<Line>())?;
            Some((Lines::new(len), charge))
        });
        if let Some((lines, _)) = lines {
            lines.note(&bound, &floor);
        }
    }
}

/// A key in words, and what tells it from others that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Words {
    key: [u64; KEY_WORDS],
    /// Its length, and for bounds whether it is included.
    tag: u64,
}

const INCLUDED: u64 = 1 << 16;
const FLOOR_SHIFT: u32 = 8;

impl Words {
    /// `None` if it is too long.
    #[inline]
    fn of_key(user_key: &[u8]) -> Option<Self> {
        let mut bytes = [[0; size_of::<u64>()]; KEY_WORDS];
        bytes.as_flattened_mut().get_mut(..user_key.len())?.copy_from_slice(user_key);
        Some(Self { key: bytes.map(u64::from_le_bytes), tag: user_key.len() as u64 })
    }

    #[inline]
    fn of_bound(bound: Bound<&[u8]>) -> Option<Self> {
        match bound {
            Bound::Unbounded => None,
            Bound::Excluded(key) => Self::of_key(key),
            Bound::Included(key) => {
                let words = Self::of_key(key)?;
                Some(Self { tag: words.tag | INCLUDED, ..words })
            }
        }
    }

    #[inline]
    fn hash(&self) -> u64 {
        // Keys differ in a few bits, anywhere: both halves of a long product have something of each.
        self.key.iter().fold(self.tag, |hash, word| {
            let product = u128::from(hash ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xd134_2543_de82_ef95;
            (product >> 64) as u64 ^ product as u64
        })
    }
}

/// Pairs of lines; a bound has its place in one of a pair.
#[derive(Debug)]
struct Lines(Box<[Line]>);

impl Lines {
    /// * `len`: a power of two, at least 2.
    fn new(len: usize) -> Self {
        Self((0..len).map(|_| Line::default()).collect())
    }

    #[inline]
    fn pair(&self, bound: &Words) -> Option<&[Line; 2]> {
        let (pairs, _) = self.0.as_chunks();
        pairs.get((bound.hash() >> 16) as usize & (pairs.len() - 1))
    }

    #[inline]
    fn get(&self, bound: &Words) -> Option<KeyBuf> {
        self.pair(bound)?.iter().find_map(|line| line.get(bound))
    }

    fn note(&self, bound: &Words, floor: &Words) {
        let Some(pair) = self.pair(bound) else { return };
        if pair.iter().any(|line| line.get(bound).is_some()) {
            return;
        }
        // A free line, or either: a bound that is asked for again comes back.
        let free = pair.iter().find(|line| line.is_free());
        let either = &pair[(bound.hash() >> 63) as usize];
        free.unwrap_or(either).put(bound, floor);
    }
}

#[derive(Debug)]
#[repr(align(64))]
struct Line {
    version: AtomicU64,
    words: [AtomicU64; 2 * KEY_WORDS + 1],
}

impl Default for Line {
    fn default() -> Self {
        Self { version: AtomicU64::new(0), words: std::array::from_fn(|_| AtomicU64::new(0)) }
    }
}

impl Line {
    fn is_free(&self) -> bool {
        self.version.load(Ordering::Relaxed) == 0
    }

    /// The floor, if the line is about this bound.
    #[inline]
    fn get(&self, bound: &Words) -> Option<KeyBuf> {
        let before = self.version.load(Ordering::Acquire);
        if before == 0 || !before.is_multiple_of(2) {
            return None;
        }
        let [b0, b1, b2, f0, f1, f2, tags] =
            std::array::from_fn(|at| self.words[at].load(Ordering::Relaxed));
        // Pairs with the writer's fence: whoever saw a word of a later write sees that write's version here.
        fence(Ordering::Acquire);
        if self.version.load(Ordering::Relaxed) != before {
            return None;
        }
        let floor_len = (tags >> FLOOR_SHIFT) as u8;
        let tag = tags & !(u64::from(u8::MAX) << FLOOR_SHIFT);
        if (Words { key: [b0, b1, b2], tag }) != *bound {
            return None;
        }
        let floor = [f0, f1, f2].map(u64::to_le_bytes);
        floor.as_flattened().get(..usize::from(floor_len)).map(KeyBuf::from)
    }

    fn put(&self, bound: &Words, floor: &Words) {
        let before = self.version.load(Ordering::Relaxed);
        let is_mine = before.is_multiple_of(2)
            && self
                .version
                .compare_exchange(before, before + 1, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if !is_mine {
            return;
        }
        fence(Ordering::Release);
        let [b0, b1, b2] = bound.key;
        let [f0, f1, f2] = floor.key;
        let tags = bound.tag | (floor.tag << FLOOR_SHIFT);
        for (word, value) in self.words.iter().zip([b0, b1, b2, f0, f1, f2, tags]) {
            word.store(value, Ordering::Relaxed);
        }
        self.version.store(before + 2, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn key(n: u64) -> [u8; 16] {
        ((u128::from(n) << 64) | 7).to_be_bytes()
    }

    #[test]
    fn floors_are_found_under_the_bound_they_were_noted_for_and_no_other() {
        let (floors, cache) = (KnownFloors::default(), Cache::new(64 << 20));
        assert!(floors.get(Bound::Excluded(&key(1))).is_none());
        for n in 0..50 {
            floors.note(Bound::Excluded(&key(n)), &n.to_be_bytes(), 1_000_000, &cache);
        }
        floors.note(Bound::Included(b""), b"", 0, &cache);
        let known = (0..50).filter(|&n| {
            let floor = floors.get(Bound::Excluded(&key(n)));
            assert!(floor.as_ref().is_none_or(|floor| **floor == n.to_be_bytes()));
            floor.is_some()
        });
        assert_eq!(known.count(), 50, "there are lines enough");
        assert!(floors.get(Bound::Included(&key(1))).is_none(), "another bound");
        assert!(floors.get(Bound::Excluded(&key(1)[..15])).is_none(), "a shorter key");
        assert!(floors.get(Bound::Excluded(b"")).is_none());
        assert!(floors.get(Bound::Unbounded).is_none());
        assert_eq!(floors.get(Bound::Included(b"")).as_deref(), Some(&b""[..]));
    }

    #[test]
    fn keys_that_are_too_long_are_not_remembered_and_those_that_just_fit_are() {
        let (floors, cache) = (KnownFloors::default(), Cache::new(1 << 20));
        let (fits, long) = (&[7; 24][..], &[7; 25][..]);
        floors.note(Bound::Excluded(long), b"a", 0, &cache);
        floors.note(Bound::Excluded(b"x"), long, 0, &cache);
        assert!(floors.get(Bound::Excluded(long)).is_none());
        assert!(floors.get(Bound::Excluded(b"x")).is_none());
        floors.note(Bound::Included(fits), fits, 0, &cache);
        assert_eq!(floors.get(Bound::Included(fits)).as_deref(), Some(fits));
    }

    #[test]
    fn more_bounds_than_lines_push_each_other_out() {
        let (floors, cache) = (KnownFloors::default(), Cache::new(1 << 20));
        for n in 0..10_000 {
            floors.note(Bound::Excluded(&key(n)), &n.to_be_bytes(), 0, &cache);
            let floor = floors.get(Bound::Excluded(&key(n)));
            assert_eq!(floor.as_deref(), Some(&n.to_be_bytes()[..]), "the newest is there");
        }
        let known = (0..10_000).filter(|&n| floors.get(Bound::Excluded(&key(n))).is_some());
        assert_eq!(known.count() as u64, LINES_MIN);
    }

    #[test]
    fn all_tables_together_take_a_small_share_of_the_budget() {
        let cache = Cache::new(4 << 20);
        let tables: Vec<_> = (0..100).map(|_| KnownFloors::default()).collect();
        for table in &tables {
            table.note(Bound::Excluded(b"x"), b"a", 1 << 40, &cache);
        }
        let known = |tables: &[KnownFloors]| {
            tables.iter().filter(|table| table.get(Bound::Excluded(b"x")).is_some()).count()
        };
        let (known, bytes) = (known(&tables), cache.reserved_bytes(Role::KnownFloors));
        assert!((5..30).contains(&known), "{known} tables have some of 128 KiB");
        assert!((64 << 10..=128 << 10).contains(&bytes), "{bytes} bytes");
        drop(tables);
        assert_eq!(cache.reserved_bytes(Role::KnownFloors), 0);
    }
}

/// Threads that write and read a line at once.
#[cfg(all(test, loom))]
mod loom_models {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    #[test]
    fn a_reader_never_sees_the_words_of_two_writes() {
        loom::model(|| {
            let line = Arc::new(Line::default());
            let words = |n: u8| (Words::of_key(&[n; 20]).unwrap(), Words::of_key(&[n; 9]).unwrap());
            let writers = [1, 2].map(|n| {
                let line = Arc::clone(&line);
                thread::spawn(move || {
                    let (bound, floor) = words(n);
                    line.put(&bound, &floor);
                })
            });
            for n in [1, 2] {
                if let Some(floor) = line.get(&words(n).0) {
                    assert_eq!(&*floor, &[n; 9][..]);
                }
            }
            for writer in writers {
                writer.join().unwrap();
            }
        });
    }
}
