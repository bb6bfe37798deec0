//! Which pieces of index and filter RocksDB holds in its cache as long as their table is open.
//!
//! ```text
//! metadata_cache_options        kFallback stands for            counts where
//!   unpartitioned_pinning       pin_l0_…_in_cache: level 0      cache_index_and_filter_blocks: else they are outside anyway
//!   partition_pinning           pin_l0_…_in_cache: level 0      always: partitions go through the cache in any case
//!   top_level_index_pinning     pin_top_level_…: all            cache_index_and_filter_blocks
//! ```
//!
//! `kFlushedAndSimilar` means tables of level 0 that are about as large as a flushed one; here, all of level 0.

use crate::model::Table;

/// The option, and its parts.
pub(crate) const METADATA_CACHE_OPTIONS: &str = "metadata_cache_options";
pub(crate) const UNPARTITIONED: &str = "unpartitioned_pinning";
pub(crate) const PARTITIONS: &str = "partition_pinning";
pub(crate) const TOP_LEVEL: &str = "top_level_index_pinning";

/// Of which tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tier {
    None,
    LevelZero,
    All,
}

impl Tier {
    fn of(word: Option<&str>, fallback: Self) -> Self {
        match word {
            Some("kNone") => Self::None,
            Some("kFlushedAndSimilar") => Self::LevelZero,
            Some("kAll") => Self::All,
            _ => fallback,
        }
    }

    fn has(self, table: &Table) -> bool {
        match self {
            Self::None => false,
            Self::LevelZero => table.level == 0,
            Self::All => true,
        }
    }
}

/// What is held, by kind of piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pinning {
    unpartitioned: Tier,
    partitions: Tier,
    top_level: Tier,
    caches_metadata: bool,
}

impl Pinning {
    /// * `option`: the values of a family's table options.
    pub(crate) fn of<'o>(option: impl Fn(&str) -> Option<&'o str>) -> Self {
        let switch = |name, default| match option(name) {
            Some(value) => matches!(value, "true" | "1"),
            None => default,
        };
        let level_0 = switch("pin_l0_filter_and_index_blocks_in_cache", false);
        let pieces = if level_0 { Tier::LevelZero } else { Tier::None };
        let top = switch("pin_top_level_index_and_filter", true);
        let asked = option(METADATA_CACHE_OPTIONS);
        let tier = |name, fallback| Tier::of(asked.and_then(|text| part(text, name)), fallback);
        Self {
            unpartitioned: tier(UNPARTITIONED, pieces),
            partitions: tier(PARTITIONS, pieces),
            top_level: tier(TOP_LEVEL, if top { Tier::All } else { Tier::None }),
            caches_metadata: switch("cache_index_and_filter_blocks", false),
        }
    }

    /// Whether the top levels of a table are held.
    pub(crate) fn holds_top(&self, table: &Table) -> bool {
        self.caches_metadata && self.top_level.has(table)
    }

    /// Whether all else of its filter or index is.
    pub(crate) fn holds_pieces(&self, table: &Table, are_partitions: bool) -> bool {
        match are_partitions {
            true => self.partitions.has(table),
            false => self.caches_metadata && self.unpartitioned.has(table),
        }
    }
}

/// The value of a part of a value: `{a=1;b=2;}`.
pub(crate) fn part<'v>(text: &'v str, name: &str) -> Option<&'v str> {
    let parts = text.trim().trim_start_matches('{').trim_end_matches('}').split(';');
    parts
        .filter_map(|part| part.split_once('='))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TableState;

    fn table(level: u32) -> Table {
        Table {
            family: 0,
            level,
            number: 1,
            path_id: 0,
            file_bytes: 1,
            largest_seqno: Default::default(),
            smallest: Default::default(),
            largest: Default::default(),
            state: TableState::Missing,
        }
    }

    /// Top level, whole pieces and partitions: of level 0, then of level 1.
    fn held(options: &[(&str, &str)]) -> [bool; 6] {
        let value = |name: &str| options.iter().find(|one| one.0 == name).map(|one| one.1);
        let pinning = Pinning::of(value);
        let of = |table: &Table| {
            [
                pinning.holds_top(table),
                pinning.holds_pieces(table, false),
                pinning.holds_pieces(table, true),
            ]
        };
        let both = [of(&table(0)), of(&table(1))].concat();
        both.try_into().unwrap()
    }

    const CACHED: (&str, &str) = ("cache_index_and_filter_blocks", "true");
    const LEVEL_0: (&str, &str) = ("pin_l0_filter_and_index_blocks_in_cache", "1");

    #[test]
    fn without_more_top_levels_are_held_if_they_are_cached_at_all() {
        assert_eq!(held(&[]), [false; 6]);
        assert_eq!(held(&[CACHED]), [true, false, false, true, false, false]);
        assert_eq!(held(&[CACHED, ("pin_top_level_index_and_filter", "false")]), [false; 6]);
    }

    #[test]
    fn partitions_of_level_0_are_held_whether_the_rest_is_cached_or_not() {
        assert_eq!(held(&[LEVEL_0]), [false, false, true, false, false, false]);
        assert_eq!(held(&[LEVEL_0, CACHED]), [true, true, true, true, false, false]);
    }

    #[test]
    fn what_metadata_cache_options_say_goes_before_the_older_switches() {
        let all = (
            "metadata_cache_options",
            "{unpartitioned_pinning=kAll;partition_pinning=kFallback;top_level_index_pinning=kNone;}",
        );
        assert_eq!(held(&[CACHED, all]), [false, true, false, false, true, false]);
        assert_eq!(held(&[all]), [false; 6]);
        let partitions = ("metadata_cache_options", "{partition_pinning=kAll}");
        assert_eq!(held(&[partitions]), [false, false, true, false, false, true]);
        let similar = (
            "metadata_cache_options",
            "{ unpartitioned_pinning = kFlushedAndSimilar ; partition_pinning=kNone}",
        );
        assert_eq!(held(&[CACHED, LEVEL_0, similar]), [true, true, false, true, false, false]);
    }
}
