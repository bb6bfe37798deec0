//! Logs longer than memory may hold, and damaged ones.

use std::io::ErrorKind as IoKind;
use std::sync::Mutex;

use super::*;
use crate::batch::WriteBatch;
use crate::cache::{Cache, Role};
use crate::db::{ColumnFamily, Db, DbBuilder, FamilyConfig, IterOptions, WriteOptions};
use crate::error::ErrorKind;
use crate::io::{FaultFileSystem, ManualScheduler, MemoryFileSystem, Unsynced};
use crate::options::{ColumnFamilyOptions, DbOptions};
use crate::util::sync::lock;

const DIR: &str = "/db";
const FAMILIES: [&str; 3] = ["default", "more", "most"];

fn builder(
    fs: &(impl FileSystem + Clone + 'static),
    write_buffer_size: usize,
    change: impl Fn(&mut DbOptions),
) -> DbBuilder {
    let mut options = DbOptions {
        create_if_missing: true,
        create_missing_column_families: true,
        ..DbOptions::default()
    };
    change(&mut options);
    let family = ColumnFamilyOptions { write_buffer_size, ..ColumnFamilyOptions::default() };
    let config = FamilyConfig { options: Some(family), ..FamilyConfig::default() };
    let builder = DbBuilder::new(DIR)
        .file_system(Arc::new(fs.clone()))
        .cache(Cache::new(64 << 20))
        .scheduler(Arc::new(ManualScheduler::in_order()))
        .options(options);
    FAMILIES.iter().fold(builder, |builder, name| builder.family(name, config.clone()))
}

/// Batches with an entry in each of the families, all in the log, and the process is gone.
fn written(batches: u32, value_bytes: usize) -> MemoryFileSystem {
    let disk = MemoryFileSystem::new();
    // Room for all of it in memory.
    let roomy = builder(&disk, 64 << 20, |_| {}).cache(Cache::new(256 << 20));
    let db = roomy.open().unwrap();
    for n in 0..batches {
        let mut batch = WriteBatch::new();
        for name in FAMILIES {
            let id = db.family(name).unwrap().id();
            batch.put_cf(id, &n.to_be_bytes(), &vec![n as u8; value_bytes]).unwrap();
        }
        db.write(batch, &WriteOptions::default()).unwrap();
    }
    db.close().unwrap();
    disk
}

fn tables(fs: &impl FileSystem) -> usize {
    let names = fs.list(Path::new(DIR)).unwrap();
    names.iter().filter(|name| matches!(FileName::parse(name), Some(FileName::Table(_)))).count()
}

fn the_log(fs: &impl FileSystem) -> PathBuf {
    let logs = logs_from(&names_in(fs, Path::new(DIR)).unwrap(), FileNumber::default());
    FileName::Log(*logs.last().unwrap()).in_dir(Path::new(DIR))
}

/// How many batches are there: a beginning of them, the same in every family.
fn batches(db: &Db) -> usize {
    let count = |family: &ColumnFamily| {
        let mut iter = db.iter_cf(family, IterOptions::default()).unwrap();
        let mut count = 0usize;
        iter.seek_to_first().unwrap();
        while iter.is_valid() {
            assert_eq!(iter.key(), (count as u32).to_be_bytes());
            count += 1;
            iter.next().unwrap();
        }
        count
    };
    let counts: Vec<usize> = db.families().iter().map(count).collect();
    assert!(counts.iter().all(|count| *count == counts[0]), "not of one moment: {counts:?}");
    counts[0]
}

/// The most that memtables took while a database was opened.
fn peak_while_opening(disk: &MemoryFileSystem, builder: &DbBuilder) -> (Db, usize) {
    let fs = FaultFileSystem::new(Arc::new(disk.clone()));
    let cache = Cache::new(64 << 20);
    let peak = Arc::new(Mutex::new(0));
    let (watched, most) = (cache.clone(), Arc::clone(&peak));
    fs.set_rule(move |_| {
        let bytes = watched.stats().role(Role::Memtable).bytes;
        let mut most = lock(&most);
        *most = (*most).max(bytes as usize);
        None
    });
    let db = builder.clone().file_system(Arc::new(fs)).cache(cache).open().unwrap();
    let peak = *lock(&peak);
    (db, peak)
}

#[test]
fn a_log_longer_than_memory_goes_into_tables_while_it_is_read() {
    let disk = written(2_000, 1_000);
    let log_bytes = disk.file_len(&the_log(&disk)).unwrap();
    assert!(log_bytes > 6_000_000);
    // Each family by its own size.
    let own = disk.after_crash(Unsynced::Kept);
    let (db, peak) = peak_while_opening(&own, &builder(&own, 256 << 10, |_| {}));
    assert!((200 << 10..FAMILIES.len() * (512 << 10) + (256 << 10)).contains(&peak), "{peak}");
    assert!(tables(&own) >= 3 * 6, "{}", tables(&own));
    assert_eq!(batches(&db), 2_000);
    drop(db);
    // All together.
    let all = disk.after_crash(Unsynced::Kept);
    let bound = |o: &mut DbOptions| o.db_write_buffer_size = 1 << 20;
    let (db, peak) = peak_while_opening(&all, &builder(&all, 64 << 20, bound));
    assert!((500 << 10..3 << 20).contains(&peak), "{peak}");
    assert_eq!(batches(&db), 2_000);
    drop(db);
    for disk in [own, all] {
        assert_eq!(batches(&builder(&disk, 64 << 20, |_| {}).open_read_only().unwrap()), 2_000);
        assert_eq!(batches(&builder(&disk, 64 << 20, |_| {}).open().unwrap()), 2_000);
    }
}

#[test]
fn what_fits_stays_in_memory_if_that_is_wanted_and_what_does_not_makes_all_go() {
    let disk = written(100, 1_000);
    let keep = |o: &mut DbOptions| o.avoid_flush_during_recovery = true;
    let db = builder(&disk, 64 << 20, keep).open().unwrap();
    assert_eq!((tables(&disk), batches(&db)), (0, 100));
    drop(db);
    let db = builder(&disk, 64 << 10, keep).open().unwrap();
    assert!(tables(&disk) > FAMILIES.len());
    assert_eq!(batches(&db), 100);
    assert!(db.families().iter().all(|family| family.0.view.load().memtable.is_empty()));
}

/// A process is killed, which takes nothing that was written; the next one keeps the log, goes on, and the power is cut: what
/// was synced last was written behind what the log holds.
#[test]
fn what_a_kept_log_holds_is_durable_before_what_comes_behind_it() {
    let synced = WriteOptions { sync: true, ..WriteOptions::default() };
    let keep = |o: &mut DbOptions| o.avoid_flush_during_recovery = true;
    let batch = |db: &Db, n: u32| {
        let mut batch = WriteBatch::new();
        for name in FAMILIES {
            batch.put_cf(db.family(name).unwrap().id(), &n.to_be_bytes(), b"v").unwrap();
        }
        batch
    };
    for syncs_by_itself in [true, false] {
        let disk = MemoryFileSystem::new();
        let fs = FaultFileSystem::new(Arc::new(disk.clone()));
        let db = builder(&fs, 64 << 20, keep).open().unwrap();
        db.write(batch(&db, 0), &synced).unwrap();
        for n in 1..20 {
            db.write(batch(&db, n), &WriteOptions::default()).unwrap();
        }
        fs.fail_from(0, IoKind::Other);
        drop(db);
        for round in 0..3 {
            let db = builder(&disk, 64 << 20, keep).open().unwrap();
            assert_eq!((tables(&disk), batches(&db)), (0, 20 + round));
            match syncs_by_itself {
                true => db.write(batch(&db, 20 + round as u32), &synced).unwrap(),
                false => {
                    db.write(batch(&db, 20 + round as u32), &WriteOptions::default()).unwrap();
                    db.flush_wal(true).unwrap();
                }
            }
            let after = disk.after_crash(Unsynced::Lost);
            assert_eq!(batches(&builder(&after, 64 << 20, keep).open().unwrap()), 21 + round);
        }
    }
}

#[test]
fn a_cut_while_a_long_log_is_read_changes_nothing() {
    let disk = written(30, 1_000);
    let open = |fs: &FaultFileSystem| builder(fs, 16 << 10, |_| {}).open();
    let counting = FaultFileSystem::new(Arc::new(disk.after_crash(Unsynced::Kept)));
    drop(open(&counting).unwrap());
    for cut in 0..counting.calls() {
        let disk = disk.after_crash(Unsynced::Kept);
        let fs = FaultFileSystem::new(Arc::new(disk.clone()));
        fs.fail_from(cut, IoKind::Other);
        let _ = open(&fs);
        let unsynced = [Unsynced::Lost, Unsynced::Kept, Unsynced::Random(cut)][cut as usize % 3];
        let after = disk.after_crash(unsynced);
        let db = builder(&after, 16 << 10, |_| {})
            .open()
            .unwrap_or_else(|error| panic!("cut at call {cut}, {unsynced:?}: {error}"));
        assert_eq!(batches(&db), 30, "cut at call {cut}, {unsynced:?}");
        // Tables of the opening that was cut are gone.
        let live: usize = db.families().iter().map(|f| f.0.family.current().file_count()).sum();
        assert_eq!(tables(&after), live, "cut at call {cut}");
    }
}

/// Turns a byte in the middle of the log.
fn damage(disk: &MemoryFileSystem) {
    let path = the_log(disk);
    let mut bytes = disk.read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let mut file = disk.create(&path).unwrap();
    file.append(&bytes).unwrap();
    file.sync().unwrap();
}

#[test]
fn tables_of_a_damaged_log_are_of_one_moment_and_stay_so() {
    for avoid in [false, true] {
        let disk = written(500, 1_000);
        damage(&disk);
        let options = |o: &mut DbOptions| o.avoid_flush_during_recovery = avoid;
        let expected = batches(&builder(&disk, 64 << 20, options).open_read_only().unwrap());
        assert!((200..300).contains(&expected), "{expected}");
        for write_buffer_size in [64 << 20, 32 << 10] {
            let disk = disk.after_crash(Unsynced::Kept);
            for round in 0..3 {
                let db = builder(&disk, write_buffer_size, options).open().unwrap();
                assert_eq!(batches(&db), expected, "{write_buffer_size}, round {round}");
                assert_eq!(db.lost_log_bytes().is_empty(), round > 0);
            }
        }
    }
}

#[test]
fn tables_of_a_log_that_is_refused_are_removed_again() {
    let disk = written(500, 1_000);
    damage(&disk);
    let before = disk.list(Path::new(DIR)).unwrap();
    let absolute = |o: &mut DbOptions| o.wal_recovery_mode = WalRecoveryMode::AbsoluteConsistency;
    let fs = FaultFileSystem::new(Arc::new(disk.clone()));
    let error = builder(&fs, 32 << 10, absolute).open().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert!(error.to_string().contains(".log"), "{error}");
    assert!(fs.calls_of(crate::io::CallKind::CreateNew) > 3);
    assert_eq!(disk.list(Path::new(DIR)).unwrap(), before);
}

/// rocksdb#11719: log records of a family that was dropped stopped recovery.
#[test]
fn records_of_dropped_families_stop_no_recovery() {
    let create = |db: &Db| db.create_family("x", FamilyConfig::default()).unwrap();
    let put = |db: &Db, family: &ColumnFamily, key: &[u8]| db.put_cf(family, key, b"v").unwrap();
    for again in [false, true] {
        let disk = written(10, 10);
        let db = builder(&disk, 64 << 20, |_| {}).open().unwrap();
        let first = create(&db);
        (0..10u8).for_each(|n| put(&db, &first, &[n]));
        let id = db.default_family().id();
        let mut both = WriteBatch::new();
        both.put_cf(first.id(), b"k", b"v").unwrap();
        both.put_cf(id, &10u32.to_be_bytes(), b"v").unwrap();
        for name in &FAMILIES[1..] {
            both.put_cf(db.family(name).unwrap().id(), &10u32.to_be_bytes(), b"v").unwrap();
        }
        db.write(both, &WriteOptions::default()).unwrap();
        db.drop_family(&first).unwrap();
        if again {
            put(&db, &create(&db), b"other");
        }
        let killed = disk.after_crash(Unsynced::Kept);
        db.close().unwrap();
        drop((db, first));
        for disk in [disk, killed] {
            let open_all = |builder: DbBuilder| {
                let db = builder.open().unwrap();
                let x = db.family("x").ok();
                assert_eq!(x.is_some(), again);
                let keys = x.map(|x| {
                    let mut iter = db.iter_cf(&x, IterOptions::default()).unwrap();
                    iter.seek_to_first().unwrap();
                    let key = iter.key().to_vec();
                    iter.next().unwrap();
                    assert!(!iter.is_valid());
                    db.drop_family(&x).unwrap();
                    key
                });
                assert_eq!(keys, again.then(|| b"other".to_vec()));
                assert_eq!(batches(&db), 11);
            };
            open_all(builder(&disk, 64 << 20, |_| {}));
            // Whatever "x" had is gone with it.
            let db = builder(&disk, 64 << 20, |_| {}).open().unwrap();
            let live: usize = db.families().iter().map(|f| f.0.family.current().file_count()).sum();
            assert_eq!(tables(&disk), live);
        }
    }
}

#[test]
fn a_log_that_the_manifest_lists_is_missed() {
    let disk = written(10, 10);
    let path = the_log(&disk);
    let bytes = disk.file_len(&path).unwrap();
    let list = |number: FileNumber, synced_bytes| {
        let fs = Arc::new(disk.after_crash(Unsynced::Kept));
        let versions =
            crate::version::VersionSet::recover(fs.clone(), Path::new(DIR), Default::default())
                .unwrap();
        let wal = crate::version::edit::WalAddition { number, synced_bytes: Some(synced_bytes) };
        let edit = crate::version::VersionEdit { wal_additions: vec![wal], ..Default::default() };
        versions.log_and_apply(vec![edit]).unwrap();
        (*fs).clone()
    };
    let number = logs_from(&names_in(&disk, Path::new(DIR)).unwrap(), FileNumber::default())[0];
    let whole = list(number, bytes);
    assert_eq!(batches(&builder(&whole, 64 << 20, |_| {}).open_read_only().unwrap()), 10);
    let longer = list(number, bytes + 1);
    let missing = list(FileNumber::from(number.get() + 1), 1);
    for (disk, what) in [(longer, "were synced"), (missing, "is missing")] {
        for error in [
            builder(&disk, 64 << 20, |_| {}).open_read_only().unwrap_err(),
            builder(&disk, 64 << 20, |_| {}).open().unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Corruption);
            assert!(error.to_string().contains(what), "{error}");
        }
    }
    // Our own manifest lists none, and is believed.
    assert_eq!(batches(&builder(&whole, 64 << 20, |_| {}).open().unwrap()), 10);
    assert_eq!(batches(&builder(&whole, 64 << 20, |_| {}).open().unwrap()), 10);
}

/// As RocksDB leaves it: it goes on behind a torn end, keeps that log (`avoid_flush_during_recovery`), and flushes one family.
#[test]
fn a_log_goes_on_behind_a_torn_end_though_the_manifest_knows_later_numbers_from_tables() {
    let disk = MemoryFileSystem::new();
    let db = builder(&disk, 1 << 20, |_| {}).open().unwrap();
    let more = db.family("more").unwrap();
    for n in 0..3_u32 {
        let mut batch = WriteBatch::new();
        for family in db.families() {
            batch.put_cf(family.id(), &n.to_be_bytes(), b"value").unwrap();
        }
        db.write(batch, &WriteOptions::default()).unwrap();
        if n < 2 {
            db.flush_cf(&more).unwrap();
        }
    }
    drop((more, db));
    let names = disk.list(Path::new(DIR)).unwrap();
    let logs = names.iter().filter_map(|name| match FileName::parse(name) {
        Some(FileName::Log(number)) => Some(number),
        _ => None,
    });
    let first = FileName::Log(logs.min().unwrap()).in_dir(Path::new(DIR));
    let mut bytes = disk.read(&first).unwrap();
    bytes.extend([1, 2, 3, 4, 97, 0, 1, 5]);
    let mut log = disk.create(&first).unwrap();
    log.append(&bytes).unwrap();
    log.sync().unwrap();
    drop(log);

    let db = builder(&disk, 1 << 20, |_| {}).open().unwrap();
    for name in FAMILIES {
        for n in 0..3_u32 {
            let value = db.get_cf(&db.family(name).unwrap(), &n.to_be_bytes()).unwrap();
            assert_eq!(value.unwrap(), b"value", "{name} {n}");
        }
    }
}
