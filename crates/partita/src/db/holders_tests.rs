//! Who holds what, and that it goes with them.

use std::sync::Arc;
use std::time::Duration;

use super::testing::forward;
use super::*;
use crate::io::{ManualClock, ManualScheduler, MemoryFileSystem};

struct Bench {
    fs: MemoryFileSystem,
    clock: Arc<ManualClock>,
    scheduler: Arc<ManualScheduler>,
}

fn open() -> (Db, Bench) {
    let (fs, scheduler) = (MemoryFileSystem::new(), Arc::new(ManualScheduler::in_order()));
    let clock = Arc::new(ManualClock::at_unix_micros(1));
    let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    let db = DbBuilder::new("/db")
        .file_system(Arc::new(fs.clone()))
        .cache(Cache::new(8 << 20))
        .options(options)
        .clock(Arc::clone(&clock) as _)
        .scheduler(Arc::clone(&scheduler) as _)
        .open()
        .unwrap();
    (db, Bench { fs, clock, scheduler })
}

/// Writes all keys, in two tables that are merged into one.
fn overwrite(db: &Db, value: u8) {
    for half in 0..2u8 {
        for key in 0..100u8 {
            db.put(&[half, key], &[value ^ key; 500]).unwrap();
        }
        db.flush().unwrap();
    }
    db.compact_range(&db.default_family(), None, None).unwrap();
}

impl Bench {
    /// On disk.
    fn table_bytes(&self) -> u64 {
        let names = self.fs.list(Path::new("/db")).unwrap();
        let tables = names.iter().filter(|name| name.to_string_lossy().ends_with(".sst"));
        tables.map(|name| self.fs.file_len(&Path::new("/db").join(name)).unwrap()).sum()
    }
}

/// rocksdb#3216, google/leveldb#711: it looks like a leak, and a restart helps.
#[test]
fn an_iterator_that_was_forgotten_is_listed_with_its_age_and_what_it_keeps_on_disk() {
    let (db, bench) = open();
    overwrite(&db, 0x55);
    let old_bytes = bench.table_bytes();
    db.put(b"in memory", &[7; 1000]).unwrap();
    let tag = Some("nightly scan".into());
    let mut iter =
        db.iter_cf(&db.default_family(), IterOptions { tag, ..IterOptions::default() }).unwrap();
    let seqno = db.visible_seqno();
    assert!(db.holders()[0].pinned.is_none(), "all that it has is in use");
    bench.clock.advance(Duration::from_secs(3600));
    overwrite(&db, 0xAA);
    overwrite(&db, 0x0F);

    let holders = db.holders();
    let [holder] = &*holders else { panic!("{holders:?}") };
    assert_eq!((holder.kind, holder.tag.as_deref()), (HolderKind::Iterator, Some("nightly scan")));
    assert_eq!((holder.family.as_deref(), holder.seqno), (Some("default"), seqno));
    assert_eq!(holder.age, Duration::from_secs(3600));
    let now = db.family_stats(&db.default_family());
    assert_eq!(holder.pinned.table_bytes, old_bytes);
    assert_eq!(bench.table_bytes(), now.bytes() + old_bytes);
    assert_eq!((holder.pinned.memtables, now.memtables.retired_count), (1, 1));
    assert_eq!(holder.pinned.memtable_bytes, now.memtables.retired_bytes);

    let stats = db.stats().holders;
    assert_eq!((stats.iterators, stats.snapshots, stats.pinned), (1, 0, holder.pinned));
    let text = db.property(&db.default_family(), "rocksdb.stats").unwrap();
    assert!(text.contains("Holders: 1 iterators, 0 snapshots, pinned: 1 tables"), "{text}");
    assert!(text.contains("  iterator \"nightly scan\" [default] 3600.0 s, seqno 201"), "{text}");

    assert_eq!(forward(&mut iter)[0].1, [0x55; 500]);
    drop(iter);
    assert!(db.holders().is_empty() && db.stats().holders.pinned.is_none());
    bench.scheduler.pass(Duration::from_secs(1));
    bench.scheduler.run_all();
    assert_eq!(bench.table_bytes(), now.bytes());
}

#[test]
fn what_several_hold_counts_with_each_and_once_in_all() {
    let (db, bench) = open();
    overwrite(&db, 1);
    let iters = [db.iter().unwrap(), db.iter().unwrap()];
    overwrite(&db, 2);
    bench.clock.advance(Duration::from_secs(5));
    let later = db.iter().unwrap();
    overwrite(&db, 3);
    let holders = db.holders();
    let pinned: Vec<_> = holders.iter().map(|holder| holder.pinned.table_bytes).collect();
    assert!(pinned[0] > 0 && pinned[0] == pinned[1] && pinned[2] > 0, "{pinned:?}");
    assert_eq!(holders[2].age, Duration::ZERO);
    assert_eq!(db.stats().holders.pinned.table_bytes, pinned[0] + pinned[2]);
    drop(iters);
    assert_eq!(db.stats().holders.pinned.table_bytes, pinned[2]);
    drop(later);
    assert!(db.stats().holders.pinned.is_none());
}

#[test]
fn a_snapshot_is_listed_until_its_last_clone_goes_and_holds_no_files() {
    let (db, _bench) = open();
    overwrite(&db, 1);
    let snapshot = db.snapshot_tagged("backup");
    let untagged = db.snapshot();
    let clone = snapshot.clone();
    overwrite(&db, 2);
    drop(snapshot);
    let holders = db.holders();
    let tags: Vec<_> = holders.iter().map(|holder| holder.tag.as_deref()).collect();
    assert_eq!(tags, [Some("backup"), None]);
    assert!(holders.iter().all(|holder| holder.kind == HolderKind::Snapshot
        && holder.seqno == clone.seqno()
        && holder.pinned.is_none()
        && holder.family.is_none()));
    assert_eq!(db.stats().snapshots.count, 2);
    drop((clone, untagged));
    assert!(db.holders().is_empty());
}

#[test]
fn all_that_is_held_of_a_dropped_family_is_pinned() {
    let (db, _bench) = open();
    let family = db.create_family("ledger", FamilyConfig::default()).unwrap();
    db.put_cf(&family, b"1", b"entry").unwrap();
    db.flush_cf(&family).unwrap();
    let iter = db.iter_cf(&family, IterOptions::default()).unwrap();
    db.drop_family(&family).unwrap();
    drop(family);
    let holders = db.holders();
    assert_eq!((holders[0].family.as_deref(), holders[0].pinned.tables), (Some("ledger"), 1));
    drop(iter);
    assert!(db.holders().is_empty());
}

#[test]
fn iterators_that_end_on_other_threads_leave_no_trace() {
    let (db, _bench) = open();
    let all: Vec<DbIterator> = std::thread::scope(|scope| {
        let make = || (0..50).map(|_| db.iter().unwrap()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(make)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(db.holders().len(), 200);
    drop(all);
    assert!(db.holders().is_empty());
    let more: Vec<DbIterator> = (0..20).map(|_| db.iter().unwrap()).collect();
    assert_eq!(db.holders().len(), more.len());
}

#[test]
fn an_iterator_may_outlive_its_database() {
    let (db, _bench) = open();
    db.put(b"a", b"1").unwrap();
    let mut iter = db.iter().unwrap();
    drop(db);
    assert_eq!(forward(&mut iter).len(), 1);
}
