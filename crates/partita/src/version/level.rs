use std::ops::{Bound, Range};
use std::sync::Arc;

use super::FileNumber;
use super::table_file::TableFile;
use crate::key::KeyOrder;
use crate::util::prefix::prefix_word;

/// The tables of one level, shared by all versions between which it did not change.
///
/// ```text
/// files           level 0: newest first; others: by key, without overlap
/// numbers         u64 each                                                   who is there
/// largest words   u64 each: the front of the last user key                   searched first
/// smallest words  u64 each: the front of the first user key                  rules a table out without a look at it
/// ```
///
/// Words compare like the keys they stand for, except that different keys may have equal ones; then the keys decide. A
/// search touches flat arrays, and a table only to settle a tie.
#[derive(Debug, Default)]
pub struct Level {
    files: Box<[Arc<TableFile>]>,
    numbers: Box<[FileNumber]>,
    /// None for an order that is not one of bytes.
    smallest_words: Box<[u64]>,
    largest_words: Box<[u64]>,
    file_bytes: u64,
    number_max: FileNumber,
}

/// The front of a key as an integer that compares like it; `None` for an order that is not one of bytes.
#[inline]
pub(super) fn key_word(order: &KeyOrder, user_key: &[u8]) -> Option<u64> {
    match order {
        KeyOrder::Bytewise => Some(prefix_word(user_key)),
        KeyOrder::ReverseBytewise => Some(!prefix_word(user_key)),
        KeyOrder::Custom(_) => None,
    }
}

impl Level {
    pub(super) fn new(order: &KeyOrder, files: Vec<Arc<TableFile>>) -> Self {
        let words = |key_of: fn(&TableFile) -> &[u8]| -> Box<[u64]> {
            files.iter().filter_map(|file| key_word(order, key_of(file))).collect()
        };
        Self {
            numbers: files.iter().map(|file| file.number).collect(),
            smallest_words: words(|file| file.smallest_user_key()),
            largest_words: words(|file| file.largest_user_key()),
            file_bytes: files.iter().map(|file| file.file_bytes).fold(0, u64::saturating_add),
            number_max: files.iter().map(|file| file.number).max().unwrap_or_default(),
            files: files.into(),
        }
    }

    /// The tables: on level 0 newest first, elsewhere by key.
    pub fn files(&self) -> &[Arc<TableFile>] {
        &self.files
    }

    /// Number of tables.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there is no table.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Bytes of all tables.
    pub fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// Where the table of this number stands.
    pub(super) fn position(&self, number: FileNumber) -> Option<usize> {
        if number > self.number_max {
            return None;
        }
        self.numbers.iter().position(|other| *other == number)
    }

    /// Of a sorted level: the first table whose last internal key is not before (`user_key`, `packed`); the number of
    /// tables if there is none.
    #[inline]
    pub(super) fn locate(&self, order: &KeyOrder, user_key: &[u8], packed: u64) -> usize {
        let tied = match key_word(order, user_key) {
            None => 0..self.files.len(),
            Some(word) => {
                let start = self.largest_words.partition_point(|other| *other < word);
                let rest = &self.largest_words[start..];
                match rest.first() {
                    Some(other) if *other == word => {
                        start..start + rest.partition_point(|other| *other == word)
                    }
                    _ => return start,
                }
            }
        };
        let before = |file: &Arc<TableFile>| {
            let relation = order.compare(file.largest_user_key(), user_key);
            relation.then_with(|| packed.cmp(&file.largest_packed())).is_lt()
        };
        tied.start + self.files[tied].partition_point(before)
    }

    /// Of a sorted level: the last table that does not start behind `bound`.
    pub(crate) fn last_up_to(&self, order: &KeyOrder, bound: Bound<&[u8]>) -> Option<usize> {
        let at = match bound {
            Bound::Included(user_key) => self.locate(order, user_key, 0),
            Bound::Excluded(user_key) => self.locate(order, user_key, u64::MAX),
            Bound::Unbounded => self.files.len(),
        };
        let starts_inside = self.files.get(at).is_some_and(|file| match bound {
            Bound::Included(user_key) => !file.starts_behind(order, user_key),
            Bound::Excluded(user_key) => order.compare(file.smallest_user_key(), user_key).is_lt(),
            Bound::Unbounded => true,
        });
        if starts_inside { Some(at) } else { at.checked_sub(1) }
    }

    /// Of a sorted level: the first table that does not end before `bound`.
    pub(crate) fn first_from(&self, order: &KeyOrder, bound: Bound<&[u8]>) -> Option<usize> {
        let at = match bound {
            Bound::Included(user_key) => self.locate(order, user_key, u64::MAX),
            Bound::Excluded(user_key) => self.locate(order, user_key, 0),
            Bound::Unbounded => 0,
        };
        Some(at).filter(|at| *at < self.files.len())
    }

    /// Whether table `at` certainly starts behind the key of this word.
    #[inline]
    pub(super) fn word_starts_behind(&self, at: usize, word: Option<u64>) -> bool {
        let Some(word) = word else { return false };
        self.smallest_words.get(at).is_some_and(|smallest| *smallest > word)
    }

    /// Whether table `at` certainly ends before the key of this word.
    #[inline]
    pub(super) fn word_ends_before(&self, at: usize, word: Option<u64>) -> bool {
        let Some(word) = word else { return false };
        self.largest_words.get(at).is_some_and(|largest| *largest < word)
    }

    /// Of a sorted level: the tables that may hold user keys from `from` to `to`, both included; `None` has no bound.
    pub fn overlapping(
        &self,
        order: &KeyOrder,
        from: Option<&[u8]>,
        to: Option<&[u8]>,
    ) -> Range<usize> {
        let start =
            from.map_or(0, |from| self.files.partition_point(|file| file.ends_before(order, from)));
        let end = to.map_or(self.files.len(), |to| {
            self.files.partition_point(|file| !file.starts_behind(order, to))
        });
        start..end.max(start)
    }

    /// Of a sorted level: the range widened until no user key has entries both in it and in a table beside it.
    pub fn whole_keys(&self, order: &KeyOrder, range: Range<usize>) -> Range<usize> {
        let Range { mut start, mut end } = range;
        if start >= end {
            return start..end;
        }
        let goes_on = |left: usize| -> bool {
            let (Some(a), Some(b)) = (self.files.get(left), self.files.get(left + 1)) else {
                return false;
            };
            !a.ends_before(order, b.smallest_user_key())
        };
        while start > 0 && goes_on(start - 1) {
            start -= 1;
        }
        while goes_on(end - 1) {
            end += 1;
        }
        start..end
    }
}
