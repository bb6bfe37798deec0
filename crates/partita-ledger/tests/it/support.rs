use std::path::Path;
use std::sync::Arc;

use partita::io::{DiskFile, FileSystem, MemoryFileSystem};
use partita::options::IndexType;
use partita::table::TableSurvey;
use partita_ledger::{EntryLocation, EntryLocationIndex, IndexBuilder, IndexOptions};

/// An index in memory and its disk.
pub(crate) fn in_memory() -> (EntryLocationIndex, Arc<MemoryFileSystem>) {
    let disk = Arc::new(MemoryFileSystem::new());
    (builder(&disk, IndexOptions::new(8 << 20)).open().unwrap(), disk)
}

pub(crate) fn builder(disk: &Arc<MemoryFileSystem>, options: IndexOptions) -> IndexBuilder {
    let disk: Arc<dyn FileSystem> = Arc::clone(disk) as _;
    IndexBuilder::new("/current/locations", options).file_system(disk)
}

pub(crate) fn flush(index: &EntryLocationIndex) {
    index.db().flush().unwrap();
}

/// `(ledger, entry, location)` of all entries.
pub(crate) fn all(index: &EntryLocationIndex) -> Vec<(i64, i64, i64)> {
    index.iter().unwrap().map(|entry| triple(entry.unwrap())).collect()
}

pub(crate) fn triple(entry: EntryLocation) -> (i64, i64, i64) {
    (entry.ledger_id, entry.entry_id, entry.location)
}

pub(crate) fn location(ledger_id: i64, entry_id: i64, location: i64) -> EntryLocation {
    EntryLocation { ledger_id, entry_id, location }
}

/// `(ledger, 0..count)`, each at a place of its own.
pub(crate) fn ledger(ledger_id: i64, count: i64) -> impl Iterator<Item = EntryLocation> {
    (0..count).map(move |entry| location(ledger_id, entry, ledger_id * 1_000_000 + entry + 1))
}

/// How many tables of a directory have a partitioned index, and how many have not.
pub(crate) fn layouts(dir: &Path) -> (usize, usize) {
    let (mut partitioned, mut full) = (0, 0);
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "sst") {
            let file = DiskFile::open(&path).unwrap();
            match TableSurvey::open(Arc::new(file)).unwrap().index_type() {
                IndexType::TwoLevel => partitioned += 1,
                _ => full += 1,
            }
        }
    }
    (partitioned, full)
}
