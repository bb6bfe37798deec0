//! What the tables of a column family tell by their properties and bounds.

use std::sync::Arc;

use super::{ColumnFamily, Db};
use crate::error::Result;
use crate::options::CompactionStyle;
use crate::table::{ReadContext, TableProperties};
use crate::version::{TableFile, Version};

/// Tables that are opened for an estimate, beside those that are open. As many as RocksDB looks at.
const SAMPLES_MAX: usize = 20;

/// Declares the sums: field, RocksDB's name of it, and where it stands in a table's properties.
macro_rules! table_sums {
    ($($(#[doc = $doc:literal])+ $field:ident = $name:literal, $property:ident;)*) => {
        /// Properties of tables, added up. What a table does not say counts as 0.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct TableSums {
            /// Tables.
            pub files: u64,
            /// Their bytes.
            pub file_bytes: u64,
            $($(#[doc = $doc])+ pub $field: u64,)*
        }

        impl TableSums {
            fn add(&mut self, file: &TableFile, properties: &TableProperties) {
                self.files += 1;
                self.file_bytes = self.file_bytes.saturating_add(file.file_bytes);
                // The figures stand in files and may say anything.
                $(self.$field = self.$field.saturating_add(properties.$property.unwrap_or(0));)*
            }

            /// The sums under RocksDB's names.
            pub fn by_name(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$(($name, self.$field)),*].into_iter()
            }
        }
    };
}

table_sums! {
    /// Bytes of data blocks.
    data_bytes = "data_size", data_size;
    /// Bytes of indexes.
    index_bytes = "index_size", index_size;
    /// Partitions of indexes.
    index_partitions = "index_partitions", index_partitions;
    /// Bytes of their top levels.
    top_level_index_bytes = "top_level_index_size", top_level_index_size;
    /// Bytes of filters.
    filter_bytes = "filter_size", filter_size;
    /// Bytes of keys before compression, with sequence numbers.
    raw_key_bytes = "raw_key_size", raw_key_size;
    /// Bytes of values before compression.
    raw_value_bytes = "raw_value_size", raw_value_size;
    /// Data blocks.
    data_blocks = "num_data_blocks", num_data_blocks;
    /// Entries, range deletions included.
    entries = "num_entries", num_entries;
    /// Keys and prefixes in filters.
    filter_entries = "num_filter_entries", num_filter_entries;
    /// Deletions among the entries, range deletions included.
    deletions = "num_deletions", num_deletions;
    /// Merge operands among the entries.
    merge_operands = "num_merge_operands", num_merge_operands;
    /// Range deletions among the entries.
    range_deletions = "num_range_deletions", num_range_deletions;
}

impl TableSums {
    /// Bytes before compression for each byte of the files; `None` without tables.
    pub fn compression_ratio(&self) -> Option<f64> {
        let raw = self.raw_key_bytes.saturating_add(self.raw_value_bytes);
        (raw > 0 && self.file_bytes > 0).then(|| raw as f64 / self.file_bytes as f64)
    }

    /// Keys, as far as these sums tell: each deletion hides a key that was put before.
    fn keys(&self) -> u64 {
        self.entries.saturating_sub(self.deletions.saturating_mul(2))
    }
}

impl Db {
    /// The properties of a family's tables, added up.
    ///
    /// * `level`: `None` adds up all levels; a level that is not there has no tables.
    /// * Errors: those of opening tables.
    /// * Cost: opens the tables that are not open yet.
    pub fn table_sums(&self, family: &ColumnFamily, level: Option<usize>) -> Result<TableSums> {
        let version = family.0.family.current();
        let wanted = version.files().filter(|(at, _)| level.is_none_or(|level| level == *at));
        let mut sums = TableSums::default();
        for (level, file) in wanted {
            let table = family.0.tables.get(file, level, &mut ReadContext::default())?;
            sums.add(file, table.properties());
        }
        Ok(sums)
    }

    /// About how many keys a column family has: entries less twice the deletions, in memory and in tables. Keys that were
    /// overwritten or merged count each time, and so do range deletions.
    ///
    /// * Errors: those of opening tables.
    /// * Cost: asks the tables that are open, and opens at most 20 more; what others have is taken to be alike.
    /// * Source: contract of RocksDB's `rocksdb.estimate-num-keys`.
    pub fn estimate_num_keys(&self, family: &ColumnFamily) -> Result<u64> {
        let view = family.0.view.load_full();
        let (mut entries, mut deletions) = (0, 0);
        for memtable in view.memtables() {
            let stats = memtable.stats();
            entries += stats.entries + stats.range_deletions;
            deletions += stats.deletions;
        }
        let in_tables = sampled_keys(family, &view.version)?;
        Ok((entries + in_tables).saturating_sub(2 * deletions))
    }

    /// About how many bytes of tables a copy of a column family without old versions would have: those of the deepest
    /// tables, and of others whose key ranges they do not cover.
    pub fn estimate_live_data_bytes(&self, family: &ColumnFamily) -> u64 {
        live_bytes(&family.0.family.current())
    }

    /// About when the oldest key was written, in Unix seconds, where FIFO compaction keeps tables by age.
    ///
    /// * `None` with other compactions, without tables, and if a table does not say.
    pub fn estimate_oldest_key_time(&self, family: &ColumnFamily) -> Result<Option<u64>> {
        if family.options().compaction_style != CompactionStyle::Fifo {
            return Ok(None);
        }
        let mut oldest = None;
        for (level, file) in family.0.family.current().files() {
            let table = family.0.tables.get(file, level, &mut ReadContext::default())?;
            match table.properties().creation_time {
                Some(time) if time > 0 => {
                    oldest = Some(oldest.map_or(time, |oldest: u64| oldest.min(time)));
                }
                _ => return Ok(None),
            }
        }
        Ok(oldest)
    }

    /// Bytes that the open tables of a column family take for themselves, without what is in the cache.
    pub(super) fn open_table_bytes(&self, family: &ColumnFamily) -> u64 {
        let version = family.0.family.current();
        let open = version.files().filter_map(|(_, file)| family.0.tables.get_if_open(file));
        open.map(|table| table.handle_bytes() as u64).sum()
    }
}

/// Keys in tables. From the deepest level up: most data lies there.
fn sampled_keys(family: &ColumnFamily, version: &Version) -> Result<u64> {
    let mut sums = TableSums::default();
    let mut left = SAMPLES_MAX;
    let files: Vec<_> = version.files().collect();
    for (level, file) in files.into_iter().rev() {
        let table = match family.0.tables.get_if_open(file) {
            Some(table) => table,
            None if left == 0 => continue,
            None => {
                left -= 1;
                family.0.tables.get(file, level, &mut ReadContext::default())?
            }
        };
        sums.add(file, table.properties());
    }
    if sums.files == version.file_count() as u64 || sums.file_bytes == 0 {
        return Ok(sums.keys());
    }
    let share = version.file_bytes() as f64 / sums.file_bytes as f64;
    Ok((sums.keys() as f64 * share) as u64)
}

fn live_bytes(version: &Version) -> u64 {
    let order = version.key_order();
    // Tables that count, without overlap, by key.
    let mut counted: Vec<&Arc<TableFile>> = Vec::new();
    for level in version.levels().iter().rev() {
        for file in level.files() {
            let at =
                counted.partition_point(|other| other.ends_before(order, file.smallest_user_key()));
            let overlaps = counted
                .get(at)
                .is_some_and(|other| !other.starts_behind(order, file.largest_user_key()));
            if !overlaps {
                counted.insert(at, file);
            }
        }
    }
    counted.iter().map(|file| file.file_bytes).fold(0, u64::saturating_add)
}
