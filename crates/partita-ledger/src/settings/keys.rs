//! The names in `bk_server.conf` that an index acts on, or might be thought to.

use std::time::Duration;

use partita::filter::FilterPolicy;
use partita::util::checksum::ChecksumType;
use partita::util::compression::CompressionType;

use super::Profile;
use crate::options::{IndexOptions, TableLayout};

/// What settings of RocksDB begin with.
pub(super) const PREFIX: &str = "dbStorage_rocksDB_";
pub(super) const COMPACTION_INTERVAL: &str = "entryLocationCompactionInterval";
pub(super) const LEDGER_DIRECTORIES: &str = "ledgerDirectories";
pub(super) const GC_WAIT_TIME: &str = "gcWaitTime";
/// Its default.
pub(super) const GC_WAIT_MILLIS: u64 = 600_000;

/// A name.
pub(super) struct Key {
    pub(super) name: &'static str,
    scope: Scope,
    /// Takes a value, or says what was expected.
    set: fn(&mut IndexOptions, &str) -> Result<(), String>,
}

/// What a name is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// The entry-location index, unless it has an options file.
    Index,
    /// Any database, unless it has an options file.
    AnyDatabase,
    /// Any database, whether it has an options file or not.
    Always,
    /// Nothing here, for that reason.
    Nothing(&'static str),
}

/// What comes of a statement.
pub(super) enum KeyEffect {
    Taken,
    /// Nothing, for that reason.
    None(String),
}

impl Key {
    /// Whether an options file counts instead.
    pub(super) fn yields_to_file(&self) -> bool {
        matches!(self.scope, Scope::Index | Scope::AnyDatabase)
    }

    /// Whether databases of that profile heed it.
    pub(super) fn is_of(&self, profile: Profile) -> bool {
        self.scope != Scope::Index || profile == Profile::EntryLocation
    }

    pub(super) fn apply(
        &self,
        options: &mut IndexOptions,
        value: &str,
    ) -> Result<KeyEffect, String> {
        if let Scope::Nothing(why) = self.scope {
            return Ok(KeyEffect::None(why.to_owned()));
        }
        (self.set)(options, value.trim()).map(|()| KeyEffect::Taken)
    }
}

const NO_LOG: Scope = Scope::Nothing("there is no LOG file; figures are in the statistics");

const fn key(
    name: &'static str,
    scope: Scope,
    set: fn(&mut IndexOptions, &str) -> Result<(), String>,
) -> Key {
    Key { name, scope, set }
}

fn nothing(_: &mut IndexOptions, _: &str) -> Result<(), String> {
    Ok(())
}

pub(super) const KEYS: &[Key] = &[
    key("dbStorage_rocksDB_blockCacheSize", Scope::Index, |options, value| {
        // It often stands there without a value, which asks for the default.
        if !value.is_empty() {
            options.cache_bytes = size(value, 1)?;
        }
        Ok(())
    }),
    key("dbStorage_rocksDB_writeBufferSizeMB", Scope::Index, |options, value| {
        options.family.write_buffer_size = size(value, MIB)?;
        Ok(())
    }),
    key("dbStorage_rocksDB_sstSizeInMB", Scope::Index, |options, value| {
        options.family.target_file_size_base = size(value, MIB)? as u64;
        Ok(())
    }),
    key("dbStorage_rocksDB_blockSize", Scope::Index, |options, value| {
        options.family.table.block_size = number(value, 1, u32::MAX.into())? as usize;
        Ok(())
    }),
    key("dbStorage_rocksDB_bloomFilterBitsPerKey", Scope::Index, |options, value| {
        let bits = number(value, i32::MIN.into(), i32::MAX.into())?;
        options.family.table.filter_policy =
            (bits > 0).then_some(FilterPolicy::Bloom { bits_per_key: bits as f64 });
        Ok(())
    }),
    key("dbStorage_rocksDB_lz4CompressionEnabled", Scope::Index, |options, value| {
        // Without, RocksDB's default holds.
        options.family.table.compression.kind = match switch(value)? {
            true => CompressionType::Lz4,
            false => CompressionType::Snappy,
        };
        Ok(())
    }),
    key("dbStorage_rocksDB_numLevels", Scope::Index, |options, value| {
        let levels = number(value, i32::MIN.into(), 64)?;
        if levels > 0 {
            options.family.num_levels = levels as i32;
        }
        Ok(())
    }),
    key("dbStorage_rocksDB_numFilesInLevel0", Scope::Index, |options, value| {
        options.family.level0_file_num_compaction_trigger =
            number(value, 1, i32::MAX.into())? as i32;
        Ok(())
    }),
    key("dbStorage_rocksDB_maxSizeInLevel1MB", Scope::Index, |options, value| {
        options.family.max_bytes_for_level_base = size(value, MIB)? as u64;
        Ok(())
    }),
    key("dbStorage_rocksDB_partitionedIndexAndFiltersEnabled", Scope::Index, |options, value| {
        let layout = if switch(value)? { TableLayout::Partitioned } else { TableLayout::Full };
        layout.apply(&mut options.family.table);
        Ok(())
    }),
    key("dbStorage_rocksDB_format_version", Scope::AnyDatabase, |options, value| {
        options.family.table.format_version = number(value, 2, 7)? as u32;
        Ok(())
    }),
    key("dbStorage_rocksDB_checksum_type", Scope::AnyDatabase, |options, value| {
        let known = ChecksumType::ALL.into_iter().find(|kind| kind.as_str() == value);
        options.family.table.checksum = known.ok_or_else(|| {
            format!("one of {}", ChecksumType::ALL.map(ChecksumType::as_str).join(", "))
        })?;
        Ok(())
    }),
    key("dbStorage_rocksDB_logPath", NO_LOG, nothing),
    key("dbStorage_rocksDB_logLevel", NO_LOG, nothing),
    key("maxOperationNumbersInSingleRocksdbWriteBatch", Scope::Always, |options, value| {
        options.batch_operations_max = number(value, 1, i32::MAX.into())? as usize;
        Ok(())
    }),
    key(COMPACTION_INTERVAL, Scope::Always, |options, value| {
        let seconds = number(value, i64::MIN, i64::MAX)?;
        options.compaction_interval =
            (seconds > 0).then(|| Duration::from_secs(seconds.unsigned_abs()));
        Ok(())
    }),
];

const MIB: i64 = 1 << 20;

/// A whole number of that range.
fn number(value: &str, min: i64, max: i64) -> Result<i64, String> {
    match value.parse() {
        Ok(number) if (min..=max).contains(&number) => Ok(number),
        _ if min < 0 => Err(format!("a whole number up to {max}")),
        _ => Err(format!("a whole number from {min} to {max}")),
    }
}

/// At least one of that many bytes.
fn size(value: &str, unit: i64) -> Result<usize, String> {
    let max = (isize::MAX as i64) / unit;
    Ok((number(value, 1, max)? * unit) as usize)
}

/// A switch, in any of the words that a bookie takes.
fn switch(value: &str) -> Result<bool, String> {
    let is = |words: [&str; 3]| words.iter().any(|word| value.eq_ignore_ascii_case(word));
    match (is(["true", "yes", "on"]), is(["false", "no", "off"])) {
        (true, _) => Ok(true),
        (_, true) => Ok(false),
        _ => Err("true or false".to_owned()),
    }
}
