use std::io::ErrorKind as IoKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::*;
use crate::cache::Cache;
use crate::db::testing::Draw;
use crate::db::{DbBuilder, WriteOptions};
use crate::io::{
    CallKind, Fault, FaultFileSystem, FileSystem, ManualClock, ManualScheduler, MemoryFileSystem,
    ThreadPool,
};
use crate::options::DbOptions;
use crate::util::compression::CompressionType;

const DIR: &str = "/db";

fn archiving() -> DbOptions {
    DbOptions { create_if_missing: true, wal_ttl_seconds: 3600, ..DbOptions::default() }
}

fn builder(fs: &(impl FileSystem + Clone + 'static), options: &DbOptions) -> DbBuilder {
    DbBuilder::new(DIR)
        .file_system(Arc::new(fs.clone()))
        .cache(Cache::new(4 << 20))
        .scheduler(Arc::new(ManualScheduler::in_order()))
        .clock(Arc::new(ManualClock::at_unix_micros(0)))
        .options(options.clone())
}

/// The batches of a history as they should stand in the logs.
#[derive(Default)]
struct Written {
    batches: Vec<WriteBatch>,
    last: u64,
}

impl Written {
    /// Writes one to four records with values of these bytes.
    fn write(&mut self, db: &Db, draw: &mut Draw, value_bytes_max: u64) {
        let mut batch = WriteBatch::new();
        for _ in 0..=draw.below(4) {
            let value = vec![draw.below(256) as u8; draw.below(value_bytes_max) as usize];
            batch.put(&draw.below(1000).to_be_bytes(), &value).unwrap();
        }
        if draw.below(4) == 0 {
            batch.put_log_data(b"for those who follow").unwrap();
        }
        db.write(batch.clone(), &WriteOptions::default()).unwrap();
        batch.set_sequence(SeqNo::new(self.last + 1).unwrap());
        self.last += u64::from(batch.count());
        self.batches.push(batch);
    }

    /// Those from the batch on that has this number.
    fn since(&self, n: u64) -> &[WriteBatch] {
        let at = self
            .batches
            .partition_point(|batch| batch.sequence().get() + u64::from(batch.count()) <= n);
        &self.batches[at..]
    }
}

fn since(db: &Db, n: u64) -> Updates {
    db.updates_since(SeqNo::new(n).unwrap()).unwrap()
}

/// All up to `None`.
fn read(updates: &mut Updates) -> Vec<WriteBatch> {
    updates.map(Result::unwrap).collect()
}

fn sequences(updates: &mut Updates) -> Vec<u64> {
    updates.map(|batch| batch.unwrap().sequence().get()).collect()
}

/// The files of the archive.
fn archived(fs: &impl FileSystem) -> Vec<PathBuf> {
    let dir = Path::new("/db/archive");
    fs.list(dir).unwrap().iter().map(|name| dir.join(name)).collect()
}

fn put(db: &Db, n: u8) {
    db.put(&[n], &vec![n; 300]).unwrap();
}

/// Six batches of one record, in three logs; the first two are in the archive.
fn three_logs(fs: &(impl FileSystem + Clone + 'static)) -> Db {
    let db = builder(fs, &archiving()).open().unwrap();
    for n in 1..=6 {
        put(&db, n);
        if n == 2 || n == 4 {
            db.flush().unwrap();
        }
    }
    db
}

#[test]
fn from_every_number_on_the_batches_are_there_byte_for_byte() {
    for compression in [CompressionType::None, CompressionType::Zstd] {
        let options = DbOptions { wal_compression: compression, ..archiving() };
        let disk = MemoryFileSystem::new();
        let mut draw = Draw(1);
        let mut written = Written::default();
        // The second opening reads what the first has left behind.
        for opening in 0..2 {
            let db = builder(&disk, &options).open().unwrap();
            for n in 0..40 {
                written.write(&db, &mut draw, if n % 10 == 3 { 90_000 } else { 500 });
                if n % 7 == 6 {
                    db.flush().unwrap();
                }
            }
            db.flush().unwrap();
            assert!(archived(&disk).len() > 4 + opening * 5);
            for n in 0..=written.last + 1 {
                let found = read(&mut since(&db, n));
                assert!(found == written.since(n), "{n} of {}", written.last);
            }
            let refused = db.updates_since(SeqNo::new(written.last + 2).unwrap());
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidArgument);
        }
        // Its log that has no record is in nobody's way.
        drop(builder(&disk, &options).open().unwrap());
        assert!(archived(&disk).iter().all(|log| disk.file_len(log).unwrap() > 100));
        let reader = builder(&disk, &options).open_read_only().unwrap();
        assert!(read(&mut since(&reader, 0)) == written.batches);
    }
}

#[test]
fn a_walk_goes_on_with_what_is_written_meanwhile() {
    let recycling = DbOptions { wal_ttl_seconds: 0, recycle_log_file_num: 2, ..archiving() };
    let compressed = DbOptions { wal_compression: CompressionType::Zstd, ..archiving() };
    for (seed, options) in [archiving(), recycling, compressed].into_iter().enumerate() {
        let disk = MemoryFileSystem::new();
        let db = builder(&disk, &options).open().unwrap();
        let mut updates = since(&db, 0);
        let mut draw = Draw(seed as u64);
        let mut written = Written::default();
        let mut found = 0;
        for _ in 0..400 {
            // Lengths of all kinds: ends within blocks, at them, and a header's bytes before.
            let most = [40, 3000, 33_000][draw.below(3) as usize];
            written.write(&db, &mut draw, most);
            if draw.below(3) > 0 {
                let new = read(&mut updates);
                assert!(new == written.batches[found..]);
                found += new.len();
                // A log that nobody needs may go only when it was read.
                if draw.below(8) == 0 {
                    db.flush().unwrap();
                }
            }
        }
        assert!(updates.next().is_none() || found < 400);
    }
}

#[test]
fn where_the_log_of_a_number_is_gone_the_walk_starts_later() {
    let disk = MemoryFileSystem::new();
    let options = DbOptions { wal_ttl_seconds: 0, ..archiving() };
    let db = builder(&disk, &options).open().unwrap();
    put(&db, 1);
    db.flush().unwrap();
    let mut early = since(&db, 0);
    assert!(early.next().is_none());
    put(&db, 2);
    assert_eq!(sequences(&mut early), [2]);
    assert_eq!(sequences(&mut since(&db, 0)), [2]);
    assert_eq!(sequences(&mut since(&db, 3)), []);
}

#[test]
fn numbers_that_no_log_has_are_told_and_then_passed_over() {
    let disk = MemoryFileSystem::new();
    let db = builder(&disk, &archiving()).open().unwrap();
    let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
    put(&db, 1);
    for n in 2..=4 {
        let mut batch = WriteBatch::new();
        batch.put(&[n], b"").unwrap();
        db.write(batch, &unlogged).unwrap();
    }
    let mut updates = since(&db, 1);
    assert_eq!(updates.next().unwrap().unwrap().sequence().get(), 1);
    assert!(updates.next().is_none());
    put(&db, 5);
    let told = updates.next().unwrap().unwrap_err();
    assert_eq!(told.kind(), ErrorKind::Incomplete);
    assert!(told.message().contains("2 to 4"), "{told}");
    assert_eq!(sequences(&mut updates), [5]);
    assert_eq!(sequences(&mut since(&db, 3)), [5]);
}

#[test]
fn logs_that_vanish_under_the_walk_are_missed_and_told() {
    for gone in 0..2 {
        let disk = MemoryFileSystem::new();
        let db = three_logs(&disk);
        let mut updates = since(&db, 1);
        let archived = archived(&disk);
        disk.remove(&archived[gone]).unwrap();
        if gone == 0 {
            // It was about to be opened.
            assert_eq!(sequences(&mut updates), [3, 4, 5, 6]);
            continue;
        }
        let first_two = [updates.next(), updates.next()];
        assert!(first_two.iter().all(|batch| batch.as_ref().unwrap().is_ok()));
        assert_eq!(updates.next().unwrap().unwrap_err().kind(), ErrorKind::Incomplete);
        assert_eq!(sequences(&mut updates), [5, 6]);
    }
    // Between the listing and the opening.
    let disk = MemoryFileSystem::new();
    let fs = FaultFileSystem::new(Arc::new(disk.clone()));
    let db = three_logs(&fs);
    let mut updates = since(&db, 1);
    let archived = archived(&disk);
    let (holder, doomed) = (disk.clone(), archived.clone());
    fs.set_rule(move |call| {
        if call.kind == CallKind::OpenSequential {
            doomed.iter().for_each(|path| drop(holder.remove(path)));
        }
        None
    });
    assert_eq!(sequences(&mut updates), [5, 6]);
}

#[test]
fn an_open_log_that_is_moved_and_purged_is_read_to_its_end() {
    let disk = MemoryFileSystem::new();
    let options = DbOptions { wal_ttl_seconds: 60, ..archiving() };
    let clock = Arc::new(ManualClock::at_unix_micros(0));
    let db = builder(&disk, &options).clock(clock.clone()).open().unwrap();
    (1..=4).for_each(|n| put(&db, n));
    let mut updates = since(&db, 1);
    assert!(updates.next().unwrap().is_ok());
    put(&db, 5);
    db.flush().unwrap();
    clock.advance(Duration::from_secs(61));
    put(&db, 6);
    db.flush().unwrap();
    assert_eq!(archived(&disk).len(), 1);
    assert_eq!(sequences(&mut updates), [2, 3, 4, 5, 6]);
}

#[test]
fn a_damaged_log_is_told_by_name_and_nothing_wrong_comes_of_it() {
    let disk = MemoryFileSystem::new();
    let db = three_logs(&disk);
    let damaged = &archived(&disk)[0];
    let good = disk.read(damaged).unwrap();
    // In the second batch of the first log.
    for at in (good.len() / 2..good.len()).step_by(11) {
        let mut bytes = good.clone();
        bytes[at] ^= 4;
        let mut file = disk.create(damaged).unwrap();
        file.append(&bytes).unwrap();
        file.flush().unwrap();
        let mut updates = since(&db, 0);
        assert_eq!(updates.next().unwrap().unwrap().sequence().get(), 1);
        let told = updates.next().unwrap().unwrap_err();
        assert!(told.is_corruption(), "{told}");
        assert_eq!(told.file(), Some(&**damaged));
        assert_eq!(sequences(&mut updates), [3, 4, 5, 6]);
    }
}

#[test]
fn damage_in_the_log_being_written_ends_the_walk() {
    let disk = MemoryFileSystem::new();
    let fs = FaultFileSystem::new(Arc::new(disk.clone()));
    let db = builder(&fs, &archiving()).open().unwrap();
    (1..=3).for_each(|n| put(&db, n));
    let mut updates = since(&db, 0);
    fs.set_rule(|call| (call.kind == CallKind::ReadNext).then_some(Fault::FlippedBit(8 * 400)));
    assert_eq!(updates.next().unwrap().unwrap().sequence().get(), 1);
    assert!(updates.next().unwrap().unwrap_err().is_corruption());
    assert!(updates.next().is_none());
}

#[test]
fn a_failing_call_is_an_error_and_never_a_batch_less() {
    let disk = MemoryFileSystem::new();
    let fs = FaultFileSystem::new(Arc::new(disk.clone()));
    let db = three_logs(&fs);
    let mut failed = 0;
    for call in 0.. {
        fs.fail_call(fs.calls() + call, IoKind::Other);
        let before = fs.calls();
        let updates = db.updates_since(SeqNo::new(1).unwrap());
        let found: Result<Vec<_>> = updates.and_then(Iterator::collect);
        match found {
            Ok(found) => assert_eq!(found.len(), 6),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Io, "{error}");
                failed += 1;
            }
        }
        if fs.calls() - before <= call {
            break;
        }
    }
    assert!(failed > 8, "{failed}");
}

/// Its writer was told that it failed, and yet it stands in the log.
#[test]
fn a_failed_write_is_no_update_also_after_the_log_was_archived() {
    for then in [Fault::Error(IoKind::Other), Fault::ErrorAfterwards(IoKind::Other)] {
        for kind in [CallKind::Sync, CallKind::Write, CallKind::Flush] {
            let disk = MemoryFileSystem::new();
            let fs = FaultFileSystem::new(Arc::new(disk.clone()));
            let db = builder(&fs, &archiving()).open().unwrap();
            (1..=2).for_each(|n| put(&db, n));
            let mut updates = since(&db, 1);
            assert_eq!(sequences(&mut updates), [1, 2]);
            fs.set_rule(move |call| (call.kind == kind).then_some(then));
            let mut batch = WriteBatch::new();
            batch.put(b"failed", b"").unwrap();
            let write = db.write(batch, &WriteOptions::SYNC);
            fs.clear_rule();
            if write.is_ok() {
                continue;
            }
            assert!(updates.next().is_none());
            db.resume().unwrap();
            put(&db, 9);
            let next = db.visible_seqno().get();
            assert!(next > 3);
            assert_eq!(updates.next().unwrap().unwrap_err().kind(), ErrorKind::Incomplete);
            assert_eq!(sequences(&mut updates), [next]);
            drop((updates, db));
            let db = builder(&fs, &archiving()).open().unwrap();
            let mut updates = since(&db, 1);
            let first_two = [updates.next(), updates.next()];
            assert!(first_two.iter().all(|batch| batch.as_ref().unwrap().is_ok()));
            assert_eq!(updates.next().unwrap().unwrap_err().kind(), ErrorKind::Incomplete);
            assert_eq!(sequences(&mut updates), [next], "{kind:?}, {then:?}");
        }
    }
}

#[test]
fn what_is_still_in_the_process_is_shown_when_it_is_handed_on() {
    let disk = MemoryFileSystem::new();
    let options = DbOptions { manual_wal_flush: true, ..archiving() };
    let db = builder(&disk, &options).open().unwrap();
    let mut updates = since(&db, 0);
    (1..=3).for_each(|n| put(&db, n));
    assert!(updates.next().is_none());
    db.flush_wal(false).unwrap();
    put(&db, 4);
    assert_eq!(sequences(&mut updates), [1, 2, 3]);
    db.flush().unwrap();
    assert_eq!(sequences(&mut updates), [4]);
}

/// Groups of several writers, new logs and a purge while somebody follows.
#[test]
fn a_follower_of_many_writers_gets_every_record_once_and_in_order() {
    const WRITERS: u64 = 3;
    const EACH: u64 = 400;
    let disk = MemoryFileSystem::new();
    let options = DbOptions { wal_size_limit_mb: 64, ..archiving() };
    let db = builder(&disk, &options).scheduler(Arc::new(ThreadPool::new(1, 1))).open().unwrap();
    let failed = AtomicBool::new(false);
    let mut next = 1;
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (db, failed) = (&db, &failed);
            scope.spawn(move || {
                for n in 0..EACH {
                    let written = db.put(&(writer << 32 | n).to_be_bytes(), &vec![b'v'; 700]);
                    let flushed = if n % 50 == 49 { db.flush() } else { Ok(()) };
                    if written.and(flushed).is_err() {
                        failed.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
        let mut updates = since(&db, 0);
        let mut counts = [0; WRITERS as usize];
        while next <= WRITERS * EACH && !failed.load(Ordering::Relaxed) {
            let Some(batch) = updates.next() else {
                std::thread::yield_now();
                continue;
            };
            let batch = batch.unwrap();
            assert_eq!(batch.sequence().get(), next);
            assert!(db.visible_seqno().get() >= next + u64::from(batch.count()) - 1);
            next += u64::from(batch.count());
            for record in batch.records() {
                let crate::batch::Record::Put { key, .. } = record.unwrap() else { panic!() };
                let key = u64::from_be_bytes(key.try_into().unwrap());
                let count = &mut counts[(key >> 32) as usize];
                assert_eq!(*count, key & u64::from(u32::MAX));
                *count += 1;
            }
        }
        assert_eq!(counts, [EACH; WRITERS as usize]);
    });
    assert!(!failed.into_inner());
}

#[test]
fn logs_that_are_written_over_under_the_walk_give_no_batch_of_another_life() {
    let disk = MemoryFileSystem::new();
    let options = DbOptions { wal_ttl_seconds: 0, recycle_log_file_num: 2, ..archiving() };
    let db = builder(&disk, &options).open().unwrap();
    let mut draw = Draw(5);
    let mut written = Written::default();
    for _ in 0..20 {
        written.write(&db, &mut draw, 9000);
    }
    let mut updates = since(&db, 0);
    assert!(updates.next().unwrap().unwrap() == written.batches[0]);
    let mut lost = 0;
    for _ in 0..30 {
        (0..12).for_each(|_| written.write(&db, &mut draw, 9000));
        db.flush().unwrap();
        // A few steps, so that it is left behind.
        for update in (0..6).map_while(|_| updates.next()) {
            match update {
                Ok(batch) => assert!(written.since(batch.sequence().get())[0] == batch),
                Err(error) => {
                    assert!(matches!(error.kind(), ErrorKind::Incomplete | ErrorKind::Corruption));
                    lost += 1;
                }
            }
        }
    }
    assert!(lost > 0);
}
