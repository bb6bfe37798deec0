//! What a store tells about itself: the database's figures, and for each table what was asked of it and what that cost.

use std::sync::atomic::{AtomicU64, Ordering};

use partita::db::{DbStats, FamilyStats};
use partita::table::ReadContext;
use partita::util::sharded::Sharded;

use crate::metadata::MetadataReport;

/// All figures of a store at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StoreStats {
    /// The database's: the cache by role and level, writes, stalls, snapshots, background work.
    pub db: DbStats,
    /// Tables, by the number of their column families.
    pub tables: Vec<TableStats>,
    /// What index and filter take, and whether it is enough.
    pub metadata: MetadataReport,
}

impl StoreStats {
    /// The figures of a table.
    pub fn table(&self, name: &str) -> Option<&TableStats> {
        self.tables.iter().find(|table| table.family.name == name)
    }
}

/// The figures of a table, since the store was opened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TableStats {
    /// Its files, memtables, and the work on them.
    pub family: FamilyStats,
    /// What was asked of it.
    pub reads: TableReads,
    /// What was written to it.
    pub writes: TableWrites,
    /// What its reads cost, walks included: hits and misses of the cache by role, blocks and bytes read, filters.
    ///
    /// The costs of a walk are counted when it ends. What flushes and compactions read is not among them.
    pub cost: ReadContext,
}

/// Reads of a table, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableReads {
    /// Lookups that found their key.
    pub found: u64,
    /// Lookups whose key is not there.
    pub absent: u64,
    /// Questions without a look at files that were answered: the key is not there.
    pub ruled_out: u64,
    /// The same: it is there.
    pub known_present: u64,
    /// The same, without an answer.
    pub unknown: u64,
    /// Lookups and questions that ended in an error.
    pub failed: u64,
    /// Walks that ended.
    pub walks: u64,
    /// Entries that they showed.
    pub walked_entries: u64,
}

/// Writes of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableWrites {
    /// Values that were set.
    pub puts: u64,
    /// Keys that were removed.
    pub deletes: u64,
    /// Bytes of keys and values in both.
    pub bytes: u64,
}

/// How a read ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReadKind {
    Found,
    Absent,
    RuledOut,
    KnownPresent,
    Unknown,
    Failed,
}

/// Counts for a table.
pub(crate) struct Counters {
    reads: Sharded<ReadCounters>,
    puts: AtomicU64,
    deletes: AtomicU64,
    bytes: AtomicU64,
}

#[derive(Default)]
struct ReadCounters {
    reads: TableReads,
    /// What was read so far cost, and what reads count into: one that is used again saves allocations.
    cost: ReadContext,
}

impl ReadCounters {
    fn count(&mut self, kind: ReadKind) {
        let reads = &mut self.reads;
        *match kind {
            ReadKind::Found => &mut reads.found,
            ReadKind::Absent => &mut reads.absent,
            ReadKind::RuledOut => &mut reads.ruled_out,
            ReadKind::KnownPresent => &mut reads.known_present,
            ReadKind::Unknown => &mut reads.unknown,
            ReadKind::Failed => &mut reads.failed,
        } += 1;
    }
}

impl Counters {
    pub(crate) fn new() -> Self {
        Self {
            reads: Sharded::new(ReadCounters::default),
            puts: AtomicU64::new(0),
            deletes: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    /// Runs a read that counts what it costs.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&mut ReadContext) -> (ReadKind, T)) -> T {
        // Held over reads of files, so only if nobody else has it.
        if let Some(mut counters) = self.reads.any() {
            let (kind, answer) = read(&mut counters.cost);
            counters.count(kind);
            return answer;
        }
        let mut cost = ReadContext::default();
        let (kind, answer) = read(&mut cost);
        let mut counters = self.reads.of_this_thread();
        counters.count(kind);
        counters.cost.add(&cost);
        answer
    }

    /// Counts a walk.
    pub(crate) fn walked(&self, entries: u64, cost: &ReadContext) {
        let mut counters = self.reads.any().unwrap_or_else(|| self.reads.of_this_thread());
        counters.reads.walks += 1;
        counters.reads.walked_entries += entries;
        counters.cost.add(cost);
    }

    /// Counts changes.
    pub(crate) fn wrote(&self, puts: u64, deletes: u64, bytes: u64) {
        self.puts.fetch_add(puts, Ordering::Relaxed);
        self.deletes.fetch_add(deletes, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn stats(&self, family: FamilyStats) -> TableStats {
        let (mut reads, mut cost) = (TableReads::default(), ReadContext::default());
        self.reads.for_each(|counters| {
            let one = &counters.reads;
            for (sum, count) in [
                (&mut reads.found, one.found),
                (&mut reads.absent, one.absent),
                (&mut reads.ruled_out, one.ruled_out),
                (&mut reads.known_present, one.known_present),
                (&mut reads.unknown, one.unknown),
                (&mut reads.failed, one.failed),
                (&mut reads.walks, one.walks),
                (&mut reads.walked_entries, one.walked_entries),
            ] {
                *sum += count;
            }
            cost.add(&counters.cost);
        });
        let writes = TableWrites {
            puts: self.puts.load(Ordering::Relaxed),
            deletes: self.deletes.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
        };
        TableStats { family, reads, writes, cost }
    }
}
