//! A database with small tables, for tests in which compactions happen all the time: what is written to it, and what must
//! be found.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use super::testing::all;
use super::*;
use crate::batch::WriteBatch;
use crate::io::{Clock, MemoryFileSystem, Scheduler};
use crate::options::{ColumnFamilyOptions, ObjectName, TableOptions};
use crate::version::FileName;

/// The entries of a family.
pub(super) type State = BTreeMap<Vec<u8>, Vec<u8>>;

pub(super) const FAMILIES: [&str; 2] = ["default", "more"];

/// Options under which a few dozen entries make a tree of several levels.
pub(super) fn small_tables() -> ColumnFamilyOptions {
    ColumnFamilyOptions {
        write_buffer_size: 64 << 10,
        level0_file_num_compaction_trigger: 2,
        target_file_size_base: 700,
        max_bytes_for_level_base: 2 << 10,
        max_bytes_for_level_multiplier: 2.0,
        level_compaction_dynamic_level_bytes: false,
        table: TableOptions { block_size: 256, ..TableOptions::default() },
        merge_operator: ObjectName::new("StringAppendOperator"),
        ..ColumnFamilyOptions::default()
    }
}

pub(super) fn options() -> DbOptions {
    DbOptions {
        create_if_missing: true,
        create_missing_column_families: true,
        max_background_jobs: 4,
        max_subcompactions: 3,
        ..DbOptions::default()
    }
}

pub(super) fn builder(fs: Arc<dyn FileSystem>, family: &ColumnFamilyOptions) -> DbBuilder {
    let builder = DbBuilder::new("/db").file_system(fs).cache(Cache::new(4 << 20));
    FAMILIES.iter().fold(builder.options(options()), |builder, name| {
        let options = Some(family.clone());
        builder.family(name, FamilyConfig { options, ..FamilyConfig::default() })
    })
}

/// The same, with work done when the scheduler is told to, and the time that the clock is told.
pub(super) fn by_hand(
    fs: Arc<dyn FileSystem>,
    family: &ColumnFamilyOptions,
    scheduler: &Arc<impl Scheduler + 'static>,
    clock: &Arc<impl Clock + 'static>,
) -> Db {
    let scheduler: Arc<dyn Scheduler> = Arc::clone(scheduler) as _;
    let clock: Arc<dyn Clock> = Arc::clone(clock) as _;
    builder(fs, family).scheduler(scheduler).clock(clock).open().unwrap()
}

fn key(number: u32) -> Vec<u8> {
    format!("key{:02}", number % 60).into_bytes()
}

/// What batch `number` does, as calls of `change`: key, its end if it is a range, what comes there.
fn changes(number: u32, mut change: impl FnMut(Change)) {
    let start = number.wrapping_mul(7);
    for at in 0..6 {
        let value = format!("value{number:04}.{at}{}", "x".repeat(40)).into_bytes();
        change(Change::Put(key(start + at * 11), value));
    }
    change(Change::Merge(key(start + 3), format!("{number}").into_bytes()));
    change(Change::Delete(key(start + 22)));
    if number % 5 == 4 {
        let from = key(start + 30);
        let to = [&from[..], b"~"].concat();
        change(Change::DeleteRange(from, to));
    }
    // Tells which batch was the last.
    change(Change::Put(b"last".to_vec(), number.to_be_bytes().to_vec()));
}

enum Change {
    Put(Vec<u8>, Vec<u8>),
    Merge(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    DeleteRange(Vec<u8>, Vec<u8>),
}

/// Batch `number`: the same changes in all families.
pub(super) fn batch(db: &Db, number: u32) -> WriteBatch {
    let mut batch = WriteBatch::new();
    for id in db.families().iter().map(ColumnFamily::id) {
        changes(number, |change| match change {
            Change::Put(key, value) => batch.put_cf(id, &key, &value).unwrap(),
            Change::Merge(key, operand) => batch.merge_cf(id, &key, &operand).unwrap(),
            Change::Delete(key) => batch.delete_cf(id, &key).unwrap(),
            Change::DeleteRange(from, to) => batch.delete_range_cf(id, &from, &to).unwrap(),
        });
    }
    batch
}

/// What is there after batches 1 to `count`.
pub(super) fn state_after(count: u32) -> State {
    let mut state = State::new();
    for number in 1..=count {
        changes(number, |change| match change {
            Change::Put(key, value) => drop(state.insert(key, value)),
            Change::Merge(key, operand) => match state.get_mut(&key) {
                Some(value) => value.extend([&b","[..], &operand].concat()),
                None => drop(state.insert(key, operand)),
            },
            Change::Delete(key) => drop(state.remove(&key)),
            Change::DeleteRange(from, to) => state.retain(|key, _| *key < from || *key >= to),
        });
    }
    state
}

/// The entries of both families, which must be the same.
pub(super) fn state_of(db: &Db) -> State {
    let entries =
        |family: &str| all(db, &db.family(family).unwrap()).into_iter().collect::<State>();
    let [default, more] = FAMILIES.map(entries);
    assert_eq!(default, more, "half a batch");
    default
}

/// How many batches are there, by what the last one left.
pub(super) fn count_in(state: &State) -> u32 {
    state.get(&b"last"[..]).map_or(0, |last| u32::from_be_bytes(last[..].try_into().unwrap()))
}

/// Tables in the directory.
pub(super) fn tables_in(fs: &dyn FileSystem) -> BTreeSet<u64> {
    let names = fs.list("/db".as_ref()).unwrap();
    let table = |name: &std::ffi::OsString| match FileName::parse(name) {
        Some(FileName::Table(number)) => Some(number.get()),
        _ => None,
    };
    names.iter().filter_map(table).collect()
}

/// Checks what a database without background work must be like: levels sorted, and in the directory the files that its
/// version names, whole, and no others.
pub(super) fn check_files(db: &Db, fs: &dyn FileSystem, what: &str) {
    let mut named = BTreeSet::new();
    for family in db.families() {
        let version = family.0.family.current();
        for (at, level) in version.levels().iter().enumerate() {
            for file in level.files() {
                let path = FileName::Table(file.number).in_dir("/db".as_ref());
                assert_eq!(fs.file_len(&path).unwrap(), file.file_bytes, "{what}: {path:?}");
                assert!(named.insert(file.number.get()), "{what}: {path:?} stands there twice");
                assert!(!file.is_being_compacted(), "{what}: {path:?} is still reserved");
            }
            let order = family.key_order();
            let overlap = |pair: &[Arc<crate::version::TableFile>]| {
                order.compare(pair[0].largest_user_key(), pair[1].smallest_user_key()).is_gt()
            };
            assert!(at == 0 || !level.files().windows(2).any(overlap), "{what}: level {at}");
        }
    }
    assert_eq!(tables_in(fs), named, "{what}: tables in the directory, and those that are named");
    let names = fs.list("/db".as_ref()).unwrap();
    let names: Vec<_> = names.iter().filter_map(|name| FileName::parse(name)).collect();
    assert_eq!(db.inner().versions.unneeded(&names), [], "{what}: files that nobody needs");
}

/// Files of each level of the default family.
pub(super) fn files_by_level(db: &Db) -> Vec<usize> {
    let version = db.default_family().0.family.current();
    version.levels().iter().map(|level| level.files().len()).collect()
}

/// A history of a database that is compacted by itself and by hand; `at` is called after each step with the number of
/// batches written, and of those that were synced.
pub(super) fn history(db: &Db, run: impl Fn(), mut at: impl FnMut(u32, u32)) -> Result<()> {
    let mut synced = 0;
    for number in 1..=24 {
        let sync = number % 4 == 0;
        // From its beginning on, it may be there.
        at(number, synced);
        db.write(batch(db, number), &WriteOptions { sync, ..WriteOptions::default() })?;
        if sync {
            synced = number;
        }
        at(number, synced);
        if number % 3 == 0 {
            db.flush()?;
            synced = number;
            at(number, synced);
            run();
        }
        if number == 14 {
            db.compact_range(&db.default_family(), Some(b"key20"), Some(b"key40"))?;
        }
        if number == 20 {
            let options = CompactRangeOptions { bottommost_level: BottommostLevel::Rewrite };
            db.compact_range_with(&db.family("more")?, None, None, &options)?;
        }
    }
    Ok(())
}

/// A disk that faults can be put on.
pub(super) fn disk() -> (MemoryFileSystem, crate::io::FaultFileSystem) {
    let disk = MemoryFileSystem::new();
    let fs = crate::io::FaultFileSystem::new(Arc::new(disk.clone()));
    (disk, fs)
}

/// Runs a test that could hang on a thread of its own, and fails if it does.
pub(super) fn must_end<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let _ = sender.send(work());
    });
    match receiver.recv_timeout(Duration::from_secs(240)) {
        Ok(result) => result,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it hangs"),
        Err(mpsc::RecvTimeoutError::Disconnected) => match thread.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => unreachable!("it sends its result"),
        },
    }
}
