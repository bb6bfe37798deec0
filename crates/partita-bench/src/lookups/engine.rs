//! What the benchmark asks of an engine.

use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

use super::keys::Key;

/// A value for each role that a block can have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PerRole<T> {
    /// Blocks of entries.
    pub data: T,
    /// The index: pieces, or the whole, or its top level where an engine does not tell them apart.
    pub index: T,
    /// The filter, likewise.
    pub filter: T,
    /// Everything else: top levels, open tables, bookkeeping.
    pub other: T,
}

impl<T> PerRole<T> {
    /// The same with `change` made to each value.
    pub fn map<U>(self, mut change: impl FnMut(T) -> U) -> PerRole<U> {
        PerRole {
            data: change(self.data),
            index: change(self.index),
            filter: change(self.filter),
            other: change(self.other),
        }
    }

    /// Both values of each role, together.
    pub fn zip<U>(self, with: PerRole<U>) -> PerRole<(T, U)> {
        PerRole {
            data: (self.data, with.data),
            index: (self.index, with.index),
            filter: (self.filter, with.filter),
            other: (self.other, with.other),
        }
    }
}

impl<T: Add<Output = T> + Copy> PerRole<T> {
    /// All roles together.
    pub fn total(self) -> T {
        self.data + self.index + self.filter + self.other
    }
}

impl<T: AddAssign> AddAssign for PerRole<T> {
    fn add_assign(&mut self, more: Self) {
        self.data += more.data;
        self.index += more.index;
        self.filter += more.filter;
        self.other += more.other;
    }
}

impl<T: Sub<Output = T>> Sub for PerRole<T> {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            data: self.data - earlier.data,
            index: self.index - earlier.index,
            filter: self.filter - earlier.filter,
            other: self.other - earlier.other,
        }
    }
}

/// What reads cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Blocks read from files.
    pub reads: PerRole<u64>,
    /// Bytes of them as stored.
    pub bytes: PerRole<u64>,
    /// Blocks found in the cache.
    pub hits: PerRole<u64>,
}

impl AddAssign for Counters {
    fn add_assign(&mut self, more: Self) {
        self.reads += more.reads;
        self.bytes += more.bytes;
        self.hits += more.hits;
    }
}

/// What lookups found. The sum of the values proves that they are the right ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// How many keys are there.
    pub found: u64,
    /// Their values as big-endian numbers, added up with wrap-around.
    pub sum: u64,
}

impl AddAssign for Answer {
    fn add_assign(&mut self, more: Self) {
        self.found += more.found;
        self.sum = self.sum.wrapping_add(more.sum);
    }
}

/// Open files under a budget of memory.
pub trait Engine: Sync {
    /// A thread's way in. It is made on the thread that uses it.
    fn session(&self) -> Box<dyn Session + '_>;

    /// Bytes that are charged to the budget.
    fn charged(&self) -> PerRole<u64>;
}

/// One thread's lookups.
pub trait Session {
    /// Looks up all keys, one after the other.
    fn get_each(&mut self, keys: &[Key]) -> Result<Answer, String>;

    /// Switches counting on or off. Partita always counts; RocksDB is timed without.
    fn set_counting(&mut self, on: bool);

    /// What was counted in this session so far.
    fn counters(&self) -> Counters;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_add_up_and_subtract() {
        let mut sum = PerRole { data: 1, index: 2, filter: 3, other: 4 };
        let earlier = sum;
        sum += PerRole { data: 10, index: 20, filter: 30, other: 40 };
        assert_eq!(sum.total(), 110);
        assert_eq!(sum - earlier, PerRole { data: 10, index: 20, filter: 30, other: 40 });
        let pairs = sum.zip(earlier).map(|(now, then)| now / then);
        assert_eq!(pairs, PerRole { data: 11, index: 11, filter: 11, other: 11 });
    }

    #[test]
    fn sums_of_values_wrap_around() {
        let mut answer = Answer { found: 1, sum: u64::MAX };
        answer += Answer { found: 2, sum: 3 };
        assert_eq!(answer, Answer { found: 3, sum: 2 });
    }
}
