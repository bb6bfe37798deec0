//! Partita's databases in the database benchmark.

use std::path::Path;

use partita::batch::WriteBatch;
use partita::cache::Cache;
use partita::db::{Db, DbBuilder, FamilyConfig, WriteOptions};
use partita::options::{ColumnFamilyOptions, DbOptions, FilterLayout, IndexType, TableOptions};
use partita::util::compression::CompressionType;
use partita_bench::lookups::{KEY_LEN, Key};

use crate::database_bench::{Database, Records, Rows, Setup, Writing};

/// An open database.
#[derive(Debug)]
pub struct PartitaDatabase(Db);

impl PartitaDatabase {
    /// Opens or creates one.
    pub fn open(dir: &Path, setup: &Setup) -> Result<Self, String> {
        let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
        let family =
            FamilyConfig { options: Some(family_options(setup)), ..FamilyConfig::default() };
        DbBuilder::new(dir)
            .cache(Cache::new(setup.budget_bytes))
            .options(options)
            .family("default", family)
            .open()
            .map(Self)
            .map_err(text)
    }
}

/// Where our defaults are others than RocksDB's, RocksDB's.
fn family_options(setup: &Setup) -> ColumnFamilyOptions {
    let table = TableOptions {
        block_size: setup.block_bytes,
        index_type: IndexType::BinarySearch,
        index_block_restart_interval: 1,
        filter_layout: FilterLayout::Full,
        ..TableOptions::with_compression(CompressionType::Lz4)
    };
    let options = ColumnFamilyOptions {
        write_buffer_size: setup.write_buffer_bytes,
        target_file_size_base: setup.file_bytes,
        bottommost_compression: None,
        table,
        ..ColumnFamilyOptions::default()
    };
    if setup.auto_compactions {
        return options;
    }
    ColumnFamilyOptions {
        disable_auto_compactions: true,
        level0_slowdown_writes_trigger: 1 << 20,
        level0_stop_writes_trigger: 1 << 20,
        soft_pending_compaction_bytes_limit: 0,
        hard_pending_compaction_bytes_limit: 0,
        ..options
    }
}

impl Database for PartitaDatabase {
    fn write(&self, records: Records<'_>, how: Writing) -> Result<(), String> {
        let pairs = records.keys.iter().zip(records.values.chunks_exact(records.value_len));
        if how == Writing::Each {
            for (key, value) in pairs {
                self.0.put(&key.0, value).map_err(text)?;
            }
            return Ok(());
        }
        let mut batch = WriteBatch::default();
        for (key, value) in pairs {
            batch.put(&key.0, value).map_err(text)?;
        }
        let disable_wal = how == Writing::BatchWithoutLog;
        self.0.write(batch, &WriteOptions { disable_wal, ..WriteOptions::default() }).map_err(text)
    }

    fn get(&self, keys: &[Key]) -> Result<u64, String> {
        let mut found = 0;
        for key in keys {
            let key: &[u8; KEY_LEN] = &key.0;
            found += u64::from(self.0.get(key).map_err(text)?.is_some());
        }
        Ok(found)
    }

    fn scan(&self, reverse: bool) -> Result<Rows, String> {
        self.walk(reverse).map_err(text)
    }

    fn flush(&self) -> Result<(), String> {
        self.0.flush().map_err(text)
    }

    fn settle(&self) -> Result<(), String> {
        self.flush()?;
        self.0.wait_for_background_work().map_err(text)
    }

    fn compact(&self) -> Result<(), String> {
        self.0.compact_range(&self.0.default_family(), None, None).map_err(text)
    }
}

impl PartitaDatabase {
    fn walk(&self, reverse: bool) -> partita::Result<Rows> {
        let mut iter = self.0.iter()?;
        let mut rows = Rows::default();
        if reverse {
            iter.seek_to_last()?;
        } else {
            iter.seek_to_first()?;
        }
        while iter.is_valid() {
            let last = |bytes: &[u8]| bytes.last().copied().map_or(0, u64::from);
            rows.count += 1;
            rows.sum += last(iter.key()) + last(iter.value());
            if reverse {
                iter.prev()?;
            } else {
                iter.next()?;
            }
        }
        Ok(rows)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn text(error: partita::Error) -> String {
    error.to_string()
}
