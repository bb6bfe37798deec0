use std::sync::Arc;

use super::builder::FIRST_EPOCH;
use super::{FileNumber, Version};
use crate::key::KeyOrder;
use crate::util::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::util::sync::{Mutex, lock};

/// The default column family's id. It exists in every database and cannot be dropped.
pub const DEFAULT_FAMILY: u32 = 0;
/// The default column family's name.
pub const DEFAULT_FAMILY_NAME: &str = "default";

/// A column family: its name, its order, and its current version.
#[derive(Debug)]
pub struct Family {
    id: u32,
    name: String,
    order: KeyOrder,
    /// Held to take or replace the pointer, never over I/O.
    current: Mutex<Arc<Version>>,
    log_number: AtomicU64,
    next_epoch: AtomicU64,
    dropped: AtomicBool,
    pub(super) full_history_ts_low: Mutex<Option<Box<[u8]>>>,
    timestamps_persisted: bool,
}

/// What a family starts with.
pub(super) struct FamilyStart {
    pub(super) id: u32,
    pub(super) name: String,
    pub(super) version: Arc<Version>,
    pub(super) log_number: FileNumber,
    pub(super) full_history_ts_low: Option<Box<[u8]>>,
    pub(super) timestamps_persisted: bool,
}

impl Family {
    pub(super) fn new(start: FamilyStart) -> Self {
        let newest = start.version.files().map(|(_, file)| file.epoch).max().unwrap_or(0);
        let version = start.version;
        Self {
            id: start.id,
            name: start.name,
            order: version.key_order().clone(),
            current: Mutex::new(version),
            log_number: AtomicU64::new(start.log_number.get()),
            next_epoch: AtomicU64::new(newest.saturating_add(1).max(FIRST_EPOCH)),
            dropped: AtomicBool::new(false),
            full_history_ts_low: Mutex::new(start.full_history_ts_low),
            timestamps_persisted: start.timestamps_persisted,
        }
    }

    /// Its number; never given to another family.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The order of its user keys.
    pub fn key_order(&self) -> &KeyOrder {
        &self.order
    }

    /// Its files now. Whoever holds the version can read them all, also after the family was dropped.
    pub fn current(&self) -> Arc<Version> {
        Arc::clone(&lock(&self.current))
    }

    /// Logs with a smaller number hold nothing of it that is not in tables.
    pub fn log_number(&self) -> FileNumber {
        self.log_number.load(Ordering::Acquire).into()
    }

    /// The epoch of the next table that is flushed or ingested.
    ///
    /// Tables of a compaction have the smallest epoch of those they replace.
    pub fn new_epoch(&self) -> u64 {
        self.next_epoch.fetch_add(1, Ordering::Relaxed)
    }

    /// Whether it was dropped. It can be read on, but not written.
    pub fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::Acquire)
    }

    /// Whether its tables hold the user-defined timestamps of its keys.
    pub fn timestamps_persisted(&self) -> bool {
        self.timestamps_persisted
    }

    /// Replaces the version. The old one is returned, to be let go outside of all locks.
    pub(super) fn install(&self, version: Arc<Version>) -> Arc<Version> {
        let newest = version.levels().first().and_then(|level| level.files().first());
        if let Some(newest) = newest {
            self.next_epoch.fetch_max(newest.epoch.saturating_add(1), Ordering::Relaxed);
        }
        std::mem::replace(&mut *lock(&self.current), version)
    }

    pub(super) fn raise_log_number(&self, number: FileNumber) {
        self.log_number.fetch_max(number.get(), Ordering::AcqRel);
    }

    pub(super) fn mark_dropped(&self) {
        self.dropped.store(true, Ordering::Release);
    }
}
