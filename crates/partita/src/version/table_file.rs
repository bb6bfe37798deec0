use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use super::obsolete::{ObsoleteFile, ObsoleteFiles};
use super::table_cache::ReaderSlot;
use super::{FileMeta, FileNumber, TableCounts};
use crate::io::RandomAccessFile;
use crate::key::{KeyOrder, PACKED_LEN, SeqNo, ValueType, pack};
use crate::util::sync::atomic::{AtomicBool, Ordering};
use crate::util::sync::{Mutex, lock};

/// The packed word of a boundary that is the end of a range tombstone.
const TOMBSTONE_END: u64 = pack(SeqNo::MAX, ValueType::RangeDeletion);

/// A table of the database: what the manifest says about it, and what belongs to it in memory.
///
/// All versions that name the table share it. It holds the open table, so a lookup that has the file has its reader
/// ([`TableCache`](super::TableCache)); and when the last version that names it is gone, it hands its number to those
/// who remove files.
#[derive(Debug)]
pub struct TableFile {
    pub(super) meta: FileMeta,
    pub(super) slot: ReaderSlot,
    /// The file, where it is held before it is read.
    held: Mutex<Option<Arc<dyn RandomAccessFile>>>,
    /// Set when a durable edit took the file out of the database.
    obsolete: OnceLock<Arc<ObsoleteFiles>>,
    compacting: AtomicBool,
    known_counts: OnceLock<TableCounts>,
}

impl TableFile {
    pub(super) fn new(meta: FileMeta) -> Self {
        Self {
            known_counts: meta.counts.map_or_else(OnceLock::new, OnceLock::from),
            meta,
            slot: ReaderSlot::default(),
            held: Mutex::default(),
            obsolete: OnceLock::new(),
            compacting: AtomicBool::new(false),
        }
    }

    pub(super) fn hold(&self, file: Arc<dyn RandomAccessFile>) {
        *lock(&self.held) = Some(file);
    }

    pub(super) fn held(&self) -> Option<Arc<dyn RandomAccessFile>> {
        lock(&self.held).clone()
    }

    pub(crate) fn is_held(&self) -> bool {
        lock(&self.held).is_some()
    }

    /// Ends what [`TableCache::hold`](super::TableCache::hold) began.
    pub(crate) fn let_go(&self) {
        *lock(&self.held) = None;
    }

    /// Reserves the table for a compaction; false if another one has it.
    pub fn claim_for_compaction(&self) -> bool {
        !self.compacting.swap(true, Ordering::AcqRel)
    }

    /// Ends the reservation.
    pub fn release_from_compaction(&self) {
        self.compacting.store(false, Ordering::Release);
    }

    /// Whether a compaction has reserved the table.
    pub fn is_being_compacted(&self) -> bool {
        self.compacting.load(Ordering::Acquire)
    }

    /// How many entries the table has, once that is known: from whoever wrote it, or since it was first opened.
    pub fn counts(&self) -> Option<TableCounts> {
        self.known_counts.get().copied()
    }

    /// Tells the counts. They never change.
    pub(super) fn tell_counts(&self, counts: TableCounts) {
        let _ = self.known_counts.set(counts);
    }

    /// Whether everything in the table lies before `user_key`.
    pub(crate) fn ends_before(&self, order: &KeyOrder, user_key: &[u8]) -> bool {
        let relation = order.compare(self.largest_user_key(), user_key);
        relation.is_lt() || relation.is_eq() && self.ends_with_tombstone()
    }

    /// Whether everything in the table lies behind `user_key`.
    pub(crate) fn starts_behind(&self, order: &KeyOrder, user_key: &[u8]) -> bool {
        order.compare(self.smallest_user_key(), user_key).is_gt()
    }

    /// Whether the table may hold user keys from `from` to `to`, both included.
    pub(crate) fn overlaps(&self, order: &KeyOrder, from: &[u8], to: &[u8]) -> bool {
        !self.ends_before(order, from) && !self.starts_behind(order, to)
    }

    /// Whether the last boundary is the end of a range tombstone, which the table does not hold.
    pub(crate) fn ends_with_tombstone(&self) -> bool {
        self.largest_packed() == TOMBSTONE_END
    }

    /// Sequence number and type of the last boundary.
    pub(super) fn largest_packed(&self) -> u64 {
        match self.largest.last_chunk::<PACKED_LEN>() {
            Some(packed) => u64::from_le_bytes(*packed),
            None => 0,
        }
    }

    /// Says that no version to come names the file: it may be removed once those that do are gone.
    pub(super) fn mark_obsolete(&self, queue: &Arc<ObsoleteFiles>) {
        // A second mark would name the same queue.
        let _ = self.obsolete.set(Arc::clone(queue));
    }
}

impl Deref for TableFile {
    type Target = FileMeta;

    #[inline]
    fn deref(&self) -> &FileMeta {
        &self.meta
    }
}

impl Drop for TableFile {
    fn drop(&mut self) {
        if let Some(queue) = self.obsolete.take() {
            self.slot.close();
            let FileMeta { number, path_id, .. } = self.meta;
            queue.push(ObsoleteFile::Table { number, path_id });
        }
    }
}

/// The newest first: level 0's order where epochs are known.
pub(super) fn newest_first(a: &FileMeta, b: &FileMeta) -> std::cmp::Ordering {
    b.epoch.cmp(&a.epoch).then_with(|| newest_first_by_seqno(a, b))
}

/// The newest first, as RocksDB before 7.10 orders level 0.
pub(super) fn newest_first_by_seqno(a: &FileMeta, b: &FileMeta) -> std::cmp::Ordering {
    let rank = |file: &FileMeta| -> (SeqNo, SeqNo, FileNumber) {
        (file.largest_seqno, file.smallest_seqno, file.number)
    };
    rank(b).cmp(&rank(a))
}
