//! Full memtables are frozen and new ones, with a new log, put in their place.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::family::FamilyState;
use super::pressure::StallCause;
use super::read_view::ReadView;
use super::stall::{Waiting, must_not_wait};
use super::{BackgroundWork, ColumnFamily, DbInner};
use crate::cache::Cache;
use crate::error::Result;
use crate::key::KeyOrder;
use crate::memtable::{MemTable, MemTableOptions, MemoryCharge};
use crate::util::sync::atomic::Ordering;
use crate::util::sync::lock;
use crate::version::FileNumber;

/// An empty memtable whose first entries will be in this log.
pub(super) fn new_memtable(
    cache: &Cache,
    order: &KeyOrder,
    log: FileNumber,
) -> Result<Arc<MemTable>> {
    let memtable = MemTable::new(MemTableOptions {
        order: order.clone(),
        charge: Some(MemoryCharge::to_cache(cache)),
        oldest_log: log.get(),
        ..MemTableOptions::default()
    })?;
    Ok(Arc::new(memtable))
}

impl FamilyState {
    /// The oldest log that has entries of the family which are in no table.
    pub(super) fn oldest_log_needed(&self) -> FileNumber {
        let view = self.view.load();
        view.memtables().last().map_or(0, |memtable| memtable.oldest_log()).into()
    }

    /// Whether one more memtable may be frozen.
    pub(super) fn has_room_to_freeze(&self) -> bool {
        let most = usize::try_from(self.options.max_write_buffer_number).unwrap_or(1);
        self.view.load().frozen.len() < most.saturating_sub(1).max(1)
    }
}

impl DbInner {
    /// Freezes the memtables that are full, and the oldest if there is too much log. The caller leads the commit queue.
    ///
    /// Waits while too many are frozen; it ends when a flush has ended, when one has failed, or when the database closes.
    ///
    /// * Errors: `Busy` if it would have to wait and must not.
    pub(super) fn make_room_for_writes(&self, may_wait: bool) -> Result<()> {
        let writer = self.writing()?;
        let mut full = BTreeSet::new();
        if writer.some_full.swap(false, Ordering::AcqRel) {
            full.extend(self.families.load().iter().filter_map(|(id, ColumnFamily(family))| {
                let memtable = &family.view.load().memtable;
                let is_full = memtable.memory_bytes() >= family.options.write_buffer_size;
                is_full.then_some(*id)
            }));
        }
        let mut wanted: BTreeSet<u32> = self.families_of_the_oldest_log()?.into_iter().collect();
        wanted.extend(self.make_memory());
        full.extend(&wanted);
        if full.is_empty() {
            return Ok(());
        }
        self.wait_for_room(&full, may_wait)
            .and_then(|()| self.freeze(&full, &wanted))
            .inspect_err(|_| writer.some_full.store(true, Ordering::Release))
    }

    /// If all logs together are too long: the families whose current memtable keeps the oldest.
    fn families_of_the_oldest_log(&self) -> Result<Vec<u32>> {
        let writer = self.writing()?;
        let logs = lock(&writer.logs);
        let oldest = logs.oldest();
        let families = self.families.load();
        let limit = match self.options.max_total_wal_size {
            0 => {
                let buffers = families.values().map(|ColumnFamily(family)| {
                    let number = u64::try_from(family.options.max_write_buffer_number).unwrap_or(1);
                    (family.options.write_buffer_size as u64).saturating_mul(number)
                });
                buffers.fold(0, u64::saturating_add).saturating_mul(4)
            }
            limit => limit,
        };
        if logs.bytes() <= limit {
            return Ok(Vec::new());
        }
        let keeps_it = |family: &FamilyState| {
            let memtable = &family.view.load().memtable;
            memtable.oldest_log() <= oldest.get() && !memtable.is_empty()
        };
        let keeping = families.iter().filter(|(_, family)| keeps_it(&family.0));
        Ok(keeping.map(|(id, _)| *id).collect())
    }

    fn wait_for_room(&self, full: &BTreeSet<u32>, may_wait: bool) -> Result<()> {
        let writer = self.writing()?;
        let families = self.families.load();
        let has_room =
            |id: &u32| families.get(id).is_none_or(|family| family.0.has_room_to_freeze());
        let is_done = || full.iter().all(has_room);
        if is_done() {
            return Ok(());
        }
        let cause = StallCause::Memtables;
        if !may_wait {
            writer.stall.count(cause, |count| count.refused += 1);
            return Err(must_not_wait(cause));
        }
        let mut waiting = Waiting::new(writer, cause, true);
        waiting.stopped = true;
        self.wait_for_flushes(|_| is_done())
    }

    /// Freezes the memtables of these families, as far as there is something in them, and has flushed what is due. With
    /// `atomic_flush`, those of all families. The caller leads the commit queue.
    ///
    /// * `wanted`: those of them that are to be flushed however few frozen memtables they have.
    /// * After an error of the file system nothing has changed.
    pub(super) fn freeze(&self, ids: &BTreeSet<u32>, wanted: &BTreeSet<u32>) -> Result<()> {
        let writer = self.writing()?;
        let together = self.options.atomic_flush;
        let families = self.families.load_full();
        let mut logs = lock(&writer.logs);
        let number = self.versions.new_file_number();
        logs.finish_current()
            .inspect_err(|error| self.background_failed(BackgroundWork::Log, error))?;
        let log = logs.begin_next(&writer.place, number)?;
        let mut next = Vec::new();
        for (id, family) in families.iter() {
            let is_empty = family.0.view.load().memtable.is_empty();
            // An empty memtable is replaced, too: it would keep logs that have nothing of its family.
            if is_empty || together || ids.contains(id) {
                let memtable = new_memtable(&self.cache, family.key_order(), number)?;
                next.push((family, memtable, is_empty));
            }
        }
        logs.replace(number, log);
        drop(logs);
        let mut views = writer.views();
        for (family, memtable, was_empty) in next {
            let view = family.0.view.load();
            let kept = (!was_empty).then(|| Arc::clone(&view.memtable));
            let frozen = kept.into_iter().chain(view.frozen.iter().cloned()).collect();
            let version = Arc::clone(&view.version);
            family.0.show(ReadView { memtable, frozen, version, moment: None });
        }
        views.wanted.extend(wanted);
        self.note_crowd(writer);
        self.schedule_flush(&mut views)
    }
}
