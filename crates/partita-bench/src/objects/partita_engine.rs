//! Partita's object store.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use partita::cache::Role;
use partita::db::{BottommostLevel, CompactRangeOptions, FamilyStats};
use partita_store::objects::{ObjectOptions, ObjectStore, ObjectTables};
use partita_store::{Schema as _, Store, StoreBuilder};

use super::engine::{Engine, Engines, Figures, Opening};
use crate::json_files::failed;
use crate::layout::Layout;
use crate::lookups::{Counters, PerRole};
use crate::partita_figures::{charged, counters};

/// The name of this engine.
pub const PARTITA: &str = crate::locations::PARTITA;

/// Partita alone.
#[derive(Clone, Copy, Debug)]
pub struct PartitaAlone;

impl Engines for PartitaAlone {
    fn open(&self, _: &str, dir: &Path, opening: &Opening) -> Result<Box<dyn Engine>, String> {
        open_partita(dir, opening)
    }
}

/// Opens Partita's object store. Batches are written by [`Target::write`](super::Target::write) alone.
pub fn open_partita(dir: &Path, opening: &Opening) -> Result<Box<dyn Engine>, String> {
    let mut builder = StoreBuilder::new(dir).budget_bytes(opening.budget_bytes as usize);
    if opening.layout == Layout::Full {
        let path = dir.with_extension("full.ini");
        fs::write(&path, full_layout()).map_err(|error| failed(&path, &error))?;
        builder = builder.options_file(path);
    }
    let batch_transactions = ObjectOptions::BATCH_TRANSACTIONS_MAX;
    let options = ObjectOptions { batch_transactions, ..ObjectOptions::default() };
    let store = ObjectStore::open(&builder, options).map_err(|error| error.to_string())?;
    Ok(Box::new(store))
}

/// An options file that differs from the profile in how index and filter are stored.
fn full_layout() -> String {
    let mut text = String::new();
    for table in ObjectTables::TABLES {
        let _ = writeln!(text, "[TableOptions/BlockBasedTable \"{table}\"]");
        let _ = writeln!(text, "  index_type=kBinarySearch\n  partition_filters=false");
    }
    text
}

impl Engine for ObjectStore {
    fn figures(&self) -> Figures {
        let store = self.tables().store();
        let stats = store.stats();
        let mut read = Counters::default();
        stats.tables.iter().for_each(|table| read += counters(&table.cost));
        let cache = &stats.db.cache;
        let memtable_bytes = cache.role(Role::Memtable).bytes;
        let cached = charged(store.db().cache());
        let families = &stats.db.families;
        Figures {
            hits: read.hits,
            reads: read.reads,
            inserted_bytes: PerRole {
                data: cache.role(Role::Data).inserted_bytes,
                index: cache.role(Role::IndexPiece).inserted_bytes,
                filter: cache.role(Role::FilterPiece).inserted_bytes,
                other: 0,
            },
            cached_bytes: PerRole { other: cached.other.saturating_sub(memtable_bytes), ..cached },
            memtable_bytes,
            debt_bytes: families.iter().map(|family| family.pending_compaction_bytes).sum(),
            table_bytes: families.iter().map(FamilyStats::bytes).sum(),
            batch_bytes: stats.db.writes.bytes,
            written_bytes: families.iter().map(|family| family.counters().bytes_written).sum(),
            stall_micros: stats.db.stalls.total().micros,
        }
    }

    fn store(&self) -> Option<&Store> {
        Some(self.tables().store())
    }

    fn compact(&mut self) -> Result<(), String> {
        let db = self.tables().store().db();
        let options = CompactRangeOptions { bottommost_level: BottommostLevel::Rewrite };
        for family in db.families() {
            let compacted = db.compact_range_with(&family, None, None, &options);
            compacted.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<(), String> {
        let store = self.tables().store();
        let settled = self
            .flush()
            .and_then(|_| store.flush())
            .and_then(|()| Ok(store.db().wait_for_background_work()?))
            .and_then(|()| self.close());
        settled.map_err(|error| error.to_string())
    }
}
