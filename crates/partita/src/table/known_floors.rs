//! What floor lookups have found out: under this bound, that is the table's greatest key.
//!
//! Where runs hold keys on both sides of a bound, as those of a log of many streams do at the end of each stream, the indexes
//! cannot tell which run has the floor, and a lookup reads a data block of each. But tables do not change. What was found
//! once stays true, and the next lookup under the same bound asks only the table that wins; not even that, if the key is all
//! that is wanted.
//!
//! A table remembers some hundreds of floors in lines of 64 bytes, each written and read without a lock:
//!
//! ```text
//! word 0        version: even at rest, odd while the line is written, 0 before
//! words 1..=3   the bound's key, zeros behind it
//! words 4..=5   the floor's user key behind what it has in common with the bound's, likewise
//! word 6        the floor's newest entry: sequence number and type
//! word 7        length of the bound's key | of what is in common << 8 | of the floor behind it << 16 | bound included << 24
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
use crate::key::{SeqNo, ValueType};
#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Words of a bound's key, and of a floor behind what the two have in common; longer ones are not remembered.
const BOUND_WORDS: usize = 3;
const FLOOR_WORDS: usize = 2;
/// Entries of a table for each line, and how many lines a table has.
const ENTRIES_OF_LINE: u64 = 128;
const LINES_MIN: u64 = 64;
const LINES_MAX: u64 = 2048;
/// The share of the budget that all tables' lines have at most.
const BUDGET_SHARE: usize = 32;

/// A floor: the table's greatest key under a bound.
#[derive(Clone, Debug)]
pub(crate) struct KnownFloor {
    /// The user key.
    pub(crate) user_key: KeyBuf,
    /// When its newest entry in the table was written.
    pub(crate) seqno: SeqNo,
    /// What was written.
    pub(crate) value_type: ValueType,
}

/// Floors that a table remembers. It takes no memory before the first.
#[derive(Debug, Default)]
pub(super) struct KnownFloors {
    lines: OnceLock<(Lines, Reservation)>,
}

impl KnownFloors {
    /// The greatest key of the table that is not behind `bound`, if it is remembered.
    #[inline]
    pub(super) fn get(&self, bound: Bound<&[u8]>) -> Option<KnownFloor> {
        let (lines, _) = self.lines.get()?;
        let (bound, key) = BoundWords::new(bound)?;
        let found = lines.get(&bound)?;
        let mut user_key = KeyBuf::from(key.get(..found.shared)?);
        user_key.replace_tail(found.shared, found.suffix.as_flattened().get(..found.suffix_len)?);
        let (seqno, code) = (SeqNo::from_packed(found.packed), found.packed as u8);
        Some(KnownFloor { user_key, seqno, value_type: ValueType::from_code(code)? })
    }

    /// Remembers a floor.
    ///
    /// * `entries`: of the table.
    pub(super) fn note(
        &self,
        bound: Bound<&[u8]>,
        (floor, packed): (&[u8], u64),
        entries: u64,
        cache: &Cache,
    ) {
        let Some((bound, key)) = BoundWords::new(bound) else { return };
        let Some(floor) = FloorWords::new(key, floor, packed) else { return };
        if self.lines.get().is_none() && self.make_lines(entries, cache).is_none() {
            return;
        }
        if let Some((lines, _)) = self.lines.get() {
            lines.note(&bound, &floor);
        }
    }

    /// Takes memory for lines; `None` if all tables' lines have their share of the budget already.
    #[cold]
    fn make_lines(&self, entries: u64, cache: &Cache) -> Option<()> {
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
        let charge = cache.reserve(Role::KnownFloors, len * size_of::<Line>());
        // Another thread may have been faster.
        let _ = self.lines.set((Lines::new(len), charge));
        Some(())
    }
}

/// A bound in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BoundWords {
    key: [u64; BOUND_WORDS],
    /// The key's length, and whether it is included: bits of the last word of a line.
    tag: u64,
}

const SHARED_SHIFT: u32 = 8;
const SUFFIX_SHIFT: u32 = 16;
const INCLUDED: u64 = 1 << 24;
const TAG_MASK: u64 = INCLUDED | 0xff;

impl BoundWords {
    /// The words, and the key. `None` if it is too long, or there is none.
    #[inline]
    fn new(bound: Bound<&[u8]>) -> Option<(Self, &[u8])> {
        let (key, included) = match bound {
            Bound::Unbounded => return None,
            Bound::Excluded(key) => (key, 0),
            Bound::Included(key) => (key, INCLUDED),
        };
        Some((Self { key: words(key)?, tag: key.len() as u64 | included }, key))
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

/// A floor in words.
struct FloorWords {
    suffix: [u64; FLOOR_WORDS],
    packed: u64,
    /// Lengths: bits of the last word of a line.
    tag: u64,
}

impl FloorWords {
    /// `None` if it is too long.
    fn new(bound: &[u8], floor: &[u8], packed: u64) -> Option<Self> {
        let shared = bound.iter().zip(floor).take_while(|(a, b)| a == b).count();
        let suffix = &floor[shared..];
        let tag = ((shared as u64) << SHARED_SHIFT) | ((suffix.len() as u64) << SUFFIX_SHIFT);
        Some(Self { suffix: words(suffix)?, packed, tag })
    }
}

/// A floor as a line has it.
struct Found {
    shared: usize,
    suffix: [[u8; size_of::<u64>()]; FLOOR_WORDS],
    suffix_len: usize,
    packed: u64,
}

/// Bytes as words, zeros behind them; `None` if they are too many.
#[inline]
fn words<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    let mut words = [[0; size_of::<u64>()]; N];
    words.as_flattened_mut().get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(words.map(u64::from_le_bytes))
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
    fn pair(&self, bound: &BoundWords) -> Option<&[Line; 2]> {
        let (pairs, _) = self.0.as_chunks();
        pairs.get((bound.hash() >> 16) as usize & (pairs.len() - 1))
    }

    #[inline]
    fn get(&self, bound: &BoundWords) -> Option<Found> {
        self.pair(bound)?.iter().find_map(|line| line.get(bound))
    }

    fn note(&self, bound: &BoundWords, floor: &FloorWords) {
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

/// Words of a line but the version.
const LINE_WORDS: usize = BOUND_WORDS + FLOOR_WORDS + 2;

#[derive(Debug)]
#[repr(align(64))]
struct Line {
    version: AtomicU64,
    words: [AtomicU64; LINE_WORDS],
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
    fn get(&self, bound: &BoundWords) -> Option<Found> {
        let before = self.version.load(Ordering::Acquire);
        if before == 0 || !before.is_multiple_of(2) {
            return None;
        }
        let [b0, b1, b2, f0, f1, packed, tags] =
            std::array::from_fn(|at| self.words[at].load(Ordering::Relaxed));
        // Pairs with the writer's fence: whoever saw a word of a later write sees that write's version here.
        fence(Ordering::Acquire);
        if self.version.load(Ordering::Relaxed) != before {
            return None;
        }
        if (BoundWords { key: [b0, b1, b2], tag: tags & TAG_MASK }) != *bound {
            return None;
        }
        let len = |shift: u32| usize::from((tags >> shift) as u8);
        Some(Found {
            shared: len(SHARED_SHIFT),
            suffix: [f0, f1].map(u64::to_le_bytes),
            suffix_len: len(SUFFIX_SHIFT),
            packed,
        })
    }

    fn put(&self, bound: &BoundWords, floor: &FloorWords) {
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
        let [f0, f1] = floor.suffix;
        let values = [b0, b1, b2, f0, f1, floor.packed, bound.tag | floor.tag];
        for (word, value) in self.words.iter().zip(values) {
            word.store(value, Ordering::Relaxed);
        }
        self.version.store(before + 2, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::key::pack;

    fn key(n: u64) -> [u8; 16] {
        ((u128::from(n) << 64) | 7).to_be_bytes()
    }

    fn known(floors: &KnownFloors, bound: Bound<&[u8]>) -> Option<Vec<u8>> {
        floors.get(bound).map(|floor| floor.user_key.to_vec())
    }

    fn packed(n: u64) -> u64 {
        pack(SeqNo::new(n).unwrap(), ValueType::Value)
    }

    #[test]
    fn floors_are_found_under_the_bound_they_were_noted_for_and_no_other() {
        let (floors, cache) = (KnownFloors::default(), Cache::new(64 << 20));
        assert!(floors.get(Bound::Excluded(&key(1))).is_none());
        for n in 0..50 {
            let (bound, floor) = (key(n), n.to_be_bytes());
            floors.note(Bound::Excluded(&bound), (&floor, packed(n)), 1_000_000, &cache);
        }
        floors.note(Bound::Included(b""), (b"", packed(0)), 0, &cache);
        for n in 0..50 {
            let floor = floors.get(Bound::Excluded(&key(n))).expect("there are lines enough");
            assert_eq!((&*floor.user_key, floor.seqno.get()), (&n.to_be_bytes()[..], n));
            assert_eq!(floor.value_type, ValueType::Value);
        }
        assert!(floors.get(Bound::Included(&key(1))).is_none(), "another bound");
        assert!(floors.get(Bound::Excluded(&key(1)[..15])).is_none(), "a shorter key");
        assert!(floors.get(Bound::Excluded(b"")).is_none());
        assert!(floors.get(Bound::Unbounded).is_none());
        assert_eq!(known(&floors, Bound::Included(b"")), Some(Vec::new()));
    }

    #[test]
    fn keys_that_are_too_long_are_not_remembered_and_those_that_just_fit_are() {
        let (floors, cache) = (KnownFloors::default(), Cache::new(1 << 20));
        let (fits, long) = (&[7; 24][..], &[7; 25][..]);
        floors.note(Bound::Excluded(long), (b"a", packed(0)), 0, &cache);
        floors.note(Bound::Excluded(b"x"), (&[6; 17], packed(0)), 0, &cache);
        assert!(floors.get(Bound::Excluded(long)).is_none());
        assert!(floors.get(Bound::Excluded(b"x")).is_none());
        // In common, and behind it.
        for floor in [&[6; 16][..], fits, &fits[..5], &[fits, &[1; 16]].concat()] {
            let floors = KnownFloors::default();
            floors.note(Bound::Included(fits), (floor, packed(0)), 0, &cache);
            assert_eq!(known(&floors, Bound::Included(fits)).as_deref(), Some(floor));
        }
    }

    #[test]
    fn more_bounds_than_lines_push_each_other_out() {
        let (floors, cache) = (KnownFloors::default(), Cache::new(1 << 20));
        for n in 0..10_000 {
            floors.note(Bound::Excluded(&key(n)), (&n.to_be_bytes(), packed(0)), 0, &cache);
            let floor = known(&floors, Bound::Excluded(&key(n)));
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
            table.note(Bound::Excluded(b"x"), (b"a", packed(0)), 1 << 40, &cache);
        }
        let known = tables.iter().filter(|table| table.get(Bound::Excluded(b"x")).is_some());
        let (known, bytes) = (known.count(), cache.reserved_bytes(Role::KnownFloors));
        assert!((5..30).contains(&known), "{known} tables have some of 128 KiB");
        assert!((64 << 10..=128 << 10).contains(&bytes), "{bytes} bytes");
        drop(tables);
        assert_eq!(cache.reserved_bytes(Role::KnownFloors), 0);
        // A table that was refused has its turn when there is room.
        let table = KnownFloors::default();
        let taken = cache.reserve(Role::KnownFloors, 128 << 10);
        table.note(Bound::Excluded(b"x"), (b"a", packed(0)), 0, &cache);
        assert!(table.get(Bound::Excluded(b"x")).is_none());
        drop(taken);
        table.note(Bound::Excluded(b"x"), (b"a", packed(0)), 0, &cache);
        assert!(table.get(Bound::Excluded(b"x")).is_some());
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
            let bound = |n: u8| BoundWords { key: [u64::from(n); BOUND_WORDS], tag: 8 };
            let writers = [1, 2].map(|n: u8| {
                let line = Arc::clone(&line);
                thread::spawn(move || {
                    let (suffix, packed) = ([u64::from(n); FLOOR_WORDS], u64::from(n));
                    line.put(&bound(n), &FloorWords { suffix, packed, tag: 0 });
                })
            });
            for n in [1, 2] {
                if let Some(found) = line.get(&bound(n)) {
                    let word = u64::from(n);
                    assert_eq!(
                        (found.suffix.map(u64::from_le_bytes), found.packed),
                        ([word; 2], word)
                    );
                }
            }
            for writer in writers {
                writer.join().unwrap();
            }
        });
    }
}
