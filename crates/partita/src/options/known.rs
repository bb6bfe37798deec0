//! Names that RocksDB accepts and that have no row: settings of old versions, and objects that it makes from text.

use super::spec::OptionGroup as _;
use super::{ColumnFamilyOptions, DbOptions, OptionSpec, TableOptions};

/// A kind of section of options files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SectionKind {
    /// `[DBOptions]`.
    Db,
    /// `[CFOptions "name"]`.
    ColumnFamily,
    /// `[TableOptions/BlockBasedTable "name"]`.
    Table,
}

impl SectionKind {
    /// All kinds, in the order in which they stand in files.
    pub const ALL: [Self; 3] = [Self::Db, Self::ColumnFamily, Self::Table];

    /// The section's title.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Db => "DBOptions",
            Self::ColumnFamily => "CFOptions",
            Self::Table => "TableOptions/BlockBasedTable",
        }
    }

    /// What there is to know of its options.
    pub fn specs(self) -> Vec<&'static OptionSpec> {
        match self {
            Self::Db => DbOptions::specs().collect(),
            Self::ColumnFamily => ColumnFamilyOptions::specs().collect(),
            Self::Table => TableOptions::specs().collect(),
        }
    }

    /// The option of this name.
    pub fn spec(self, name: &str) -> Option<&'static OptionSpec> {
        match self {
            Self::Db => DbOptions::row(name).map(|row| &row.spec),
            Self::ColumnFamily => ColumnFamilyOptions::row(name).map(|row| &row.spec),
            Self::Table => TableOptions::row(name).map(|row| &row.spec),
        }
    }

    /// Names that are accepted and mean nothing.
    pub const fn ignored(self) -> &'static [Ignored] {
        match self {
            Self::Db => DB,
            Self::ColumnFamily => COLUMN_FAMILY,
            Self::Table => TABLE,
        }
    }

    /// The name that stands for `name`.
    pub(super) fn unaliased(self, name: &str) -> &str {
        match (self, name) {
            (Self::ColumnFamily, "block_based_table_factory") => "table_factory",
            (Self::ColumnFamily, "memtable") => "memtable_factory",
            (Self::ColumnFamily, "memtable_veirfy_per_key_checksum_on_seek") => {
                "memtable_verify_per_key_checksum_on_seek"
            }
            _ => name,
        }
    }
}

/// A name that is accepted and means nothing.
#[derive(Clone, Copy, Debug)]
pub struct Ignored {
    /// The name.
    pub name: &'static str,
    /// Why it means nothing.
    pub why: &'static str,
}

impl Ignored {
    pub(super) fn find(section: SectionKind, name: &str) -> Option<&'static Self> {
        section.ignored().iter().find(|ignored| ignored.name == name)
    }

    pub(super) fn of_table(name: &str) -> Option<&'static Self> {
        Self::find(SectionKind::Table, name)
    }
}

/// A name of RocksDB 6 and before, which every later version accepts and ignores.
const fn old(name: &'static str) -> Ignored {
    Ignored { name, why: "RocksDB itself no longer knows a meaning" }
}

/// An object that RocksDB makes from text.
///
/// * `why`: what there is here in its place.
const fn object(name: &'static str, why: &'static str) -> Ignored {
    Ignored { name, why }
}

const NO_BLOBS: &str = "an object of the running program; blob files are not supported";
const NO_RATE_LIMIT: &str = "an object of the running program; there is no limit on rates here";

const DB: &[Ignored] = &[
    old("allow_os_buffer"),
    old("base_background_compactions"),
    old("concurrent_prepare"),
    old("disableDataSync"),
    old("disable_data_sync"),
    old("experimental_allow_mempurge"),
    old("experimental_mempurge_policy"),
    old("experimental_mempurge_threshold"),
    old("new_table_reader_for_compaction_inputs"),
    old("preserve_deletes"),
    old("seq_per_batch"),
    old("skip_log_error_on_recovery"),
    old("use_direct_writes"),
    object(
        "env",
        "an object of the running program; the caller may hand a file system to the builder",
    ),
    object("rate_limiter", NO_RATE_LIMIT),
    object("rate_limiter_bytes_per_sec", NO_RATE_LIMIT),
    object("statistics", "an object of the running program; statistics are always kept here"),
];

const COLUMN_FAMILY: &[Ignored] = &[
    old("compaction_measure_io_stats"),
    old("expanded_compaction_factor"),
    old("filter_deletes"),
    old("hard_rate_limit"),
    old("max_grandparent_overlap_factor"),
    old("max_mem_compaction_level"),
    old("memtable_prefix_bloom_bits"),
    old("memtable_prefix_bloom_huge_page_tlb_size"),
    old("memtable_prefix_bloom_probes"),
    old("min_partial_merge_operands"),
    old("purge_redundant_kvs_while_flush"),
    old("rate_limit_delay_max_milliseconds"),
    old("snap_refresh_nanos"),
    old("soft_rate_limit"),
    old("source_compaction_factor"),
    old("verify_checksums_in_compaction"),
    object("blob_cache", NO_BLOBS),
    object("blob_direct_write_partition_strategy", NO_BLOBS),
];

const TABLE: &[Ignored] = &[
    old("hash_index_allow_collision"),
    old("index_per_partition"),
    old("reserve_table_builder_memory"),
    old("reserve_table_reader_memory"),
    old("skip_table_builder_flush"),
    old("block_cache_compressed"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_has_a_row_and_is_ignored() {
        for section in SectionKind::ALL {
            for ignored in section.ignored() {
                assert!(section.spec(ignored.name).is_none(), "{}", ignored.name);
            }
        }
    }
}
