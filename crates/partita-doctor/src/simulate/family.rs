//! What decides which blocks of a column family go through RocksDB's cache, and which of them stay.

use partita::key::KeyOrder;
use partita::{Error, Result};

use crate::model::{Database, Family, Table, TableLayout};
use crate::settings::Settings;
use crate::simulate::pinning::Pinning;

/// A column family as its settings have it.
pub(crate) struct FamilyRules<'s> {
    pub(crate) family: &'s Family,
    pub(crate) order: KeyOrder,
    /// Whether whole filters and indexes and top levels go through the cache.
    pub(crate) caches_metadata: bool,
    /// What is held as long as the table is open.
    pub(crate) pinning: Pinning,
    skips_last_filter: bool,
    tables: Vec<(&'s Table, &'s TableLayout)>,
}

impl<'s> FamilyRules<'s> {
    /// * Errors: an order of keys that is not built in.
    pub(crate) fn of(
        database: &'s Database,
        settings: &Settings,
        family: &'s Family,
    ) -> Result<Self> {
        let order = KeyOrder::builtin(&family.comparator).ok_or_else(|| {
            let message = format!("keys in the order of {}: lookups need it", family.comparator);
            Error::not_supported(message).in_file(&database.dir)
        })?;
        Ok(Self { order, ..Self::without_order(database, settings, family) })
    }

    /// The same for who compares no keys: their order is not told.
    pub(crate) fn without_order(
        database: &'s Database,
        settings: &Settings,
        family: &'s Family,
    ) -> Self {
        let switch = |name, default| match settings.table_option(database, &family.name, name) {
            Some(value) => matches!(value, "true" | "1"),
            None => default,
        };
        let of_family = |(table, _): &(&Table, &TableLayout)| table.family == family.id;
        let mut tables: Vec<(&Table, &TableLayout)> =
            database.layouts().filter(of_family).collect();
        tables.sort_by_key(|(table, _)| {
            let age = (table.level == 0).then_some(table.largest_seqno);
            (table.level, std::cmp::Reverse((age, table.number)))
        });
        Self {
            family,
            order: KeyOrder::default(),
            caches_metadata: switch("cache_index_and_filter_blocks", false),
            pinning: Pinning::of(|name| settings.table_option(database, &family.name, name)),
            skips_last_filter: switch("optimize_filters_for_hits", false),
            tables,
        }
    }

    /// The tables in the order in which a lookup comes to them; on a sorted level it comes to one at most.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (&'s Table, &'s TableLayout)> {
        self.tables.iter().copied()
    }

    /// Whether the filter of a table is not asked: with `optimize_filters_for_hits` those of the last level are not.
    pub(crate) fn skips_filter(&self, table: &Table) -> bool {
        let last = self.tables.last().map(|(table, _)| table.level);
        self.skips_last_filter && table.level > 0 && last == Some(table.level)
    }
}
