use std::sync::Arc;

use super::level::key_word;
use super::{TableFile, Version};
use crate::table::LookupKey;

/// The tables that may hold the key of a lookup, in the order in which to ask them: those of level 0 newest first, then
/// level by level. It allocates nothing, and searches a level when it gets there.
///
/// On a sorted level it is one table; more only if the entries of one user key go over the border between tables.
#[derive(Debug)]
pub struct Candidates<'v, 'k> {
    version: &'v Version,
    key: &'k LookupKey<'k>,
    /// The front of the user key, where the order is one of bytes.
    word: Option<u64>,
    level: usize,
    /// The next table to look at; `None` if the level has not been searched yet.
    at: Option<usize>,
}

/// A table that may hold a key.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'v> {
    /// Its level.
    pub level: usize,
    /// Its place in the level.
    pub at: usize,
    /// The table.
    pub file: &'v Arc<TableFile>,
}

impl Version {
    /// The tables that may hold an entry of the key, or a range tombstone over it.
    #[inline]
    pub fn candidates<'v, 'k>(&'v self, key: &'k LookupKey<'k>) -> Candidates<'v, 'k> {
        let word = key_word(&self.order, key.user_key());
        Candidates { version: self, key, word, level: 0, at: Some(0) }
    }
}

impl<'v> Candidates<'v, '_> {
    /// The next table of level 0.
    #[inline]
    fn next_of_level0(&mut self, start: usize) -> Option<&'v Arc<TableFile>> {
        let level = self.version.levels.first()?;
        let order = &self.version.order;
        let (user_key, packed) = (self.key.user_key(), self.key.seek_key().packed());
        for (at, file) in level.files().iter().enumerate().skip(start) {
            if level.word_starts_behind(at, self.word) || level.word_ends_before(at, self.word) {
                continue;
            }
            let by_largest = order
                .compare(file.largest_user_key(), user_key)
                .then_with(|| packed.cmp(&file.largest_packed()));
            if by_largest.is_ge() && !file.starts_behind(order, user_key) {
                self.at = Some(at + 1);
                return Some(file);
            }
        }
        None
    }

    /// The next table of a sorted level.
    #[inline]
    fn next_of_sorted(&mut self) -> Option<&'v Arc<TableFile>> {
        let level = self.version.levels.get(self.level)?;
        let order = &self.version.order;
        let user_key = self.key.user_key();
        let at = match self.at {
            Some(at) => at,
            None => level.locate(order, user_key, self.key.seek_key().packed()),
        };
        if level.word_starts_behind(at, self.word) {
            return None;
        }
        let file = level.files().get(at)?;
        if file.starts_behind(order, user_key) {
            return None;
        }
        self.at = Some(at + 1);
        Some(file)
    }
}

impl<'v> Iterator for Candidates<'v, '_> {
    type Item = Candidate<'v>;

    #[inline]
    fn next(&mut self) -> Option<Candidate<'v>> {
        while self.level < self.version.levels.len() {
            let found = match (self.level, self.at) {
                (0, at) => self.next_of_level0(at.unwrap_or(0)),
                (level, _) if self.version.levels[level].is_empty() => None,
                _ => self.next_of_sorted(),
            };
            if let Some(file) = found {
                let at = self.at.map_or(0, |next| next - 1);
                return Some(Candidate { level: self.level, at, file });
            }
            self.level += 1;
            self.at = None;
        }
        None
    }
}
