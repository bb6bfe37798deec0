//! Databases opened to be read while somebody writes.

use std::io::ErrorKind as IoKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::churn_testing::small_tables;
use super::testing::all;
use super::*;
use crate::batch::WriteBatch;
use crate::io::{
    CallKind, Fault, FaultFileSystem, FileSystem, ManualScheduler, MemoryFileSystem, ThreadPool,
};
use crate::options::ColumnFamilyOptions;

fn options(recycle_log_file_num: usize) -> DbOptions {
    DbOptions {
        create_if_missing: true,
        max_manifest_file_size: 400,
        recycle_log_file_num,
        ..DbOptions::default()
    }
}

fn builder(fs: &Arc<impl FileSystem + 'static>) -> DbBuilder {
    let options =
        Some(ColumnFamilyOptions { merge_operator: Default::default(), ..small_tables() });
    let fs: Arc<dyn FileSystem> = Arc::clone(fs) as _;
    DbBuilder::new("/db")
        .file_system(fs)
        .cache(Cache::new(4 << 20))
        .scheduler(Arc::new(ManualScheduler::in_order()))
        .family("default", FamilyConfig { options, ..FamilyConfig::default() })
}

/// Step number `n` sets twenty of forty keys to `n`, and deletes one of the others.
fn step(db: &Db, n: u32) {
    let mut batch = WriteBatch::new();
    for key in 0..20u8 {
        batch.put(&[2 * key + (n % 2) as u8], &n.to_be_bytes().repeat(20)).unwrap();
    }
    batch.delete(&[(2 * (n % 20) + (n + 1) % 2) as u8]).unwrap();
    db.write(batch, &WriteOptions::default()).unwrap();
}

/// The number of the last step that a reader sees; all of it and of the one before must be there.
fn seen(db: &Db) -> u32 {
    let rows = all(db, &db.default_family());
    let number = |value: &[u8]| u32::from_be_bytes(*value.first_chunk().unwrap());
    let last = rows.iter().map(|(_, value)| number(value)).max().unwrap_or(0);
    let of = |n: u32| rows.iter().filter(|(_, value)| number(value) == n).count();
    let (whole, less) = (of(last), of(last.saturating_sub(1)));
    assert!(last < 2 || (whole, less) == (20, 19), "{last}: {whole} and {less}");
    last
}

#[test]
fn whatever_the_writer_does_between_two_calls_the_reader_opens_and_reads() {
    for recycled in [0, 2] {
        let mut looked_again = 0;
        for call in 0..400 {
            let disk = Arc::new(MemoryFileSystem::new());
            let fs = Arc::new(FaultFileSystem::new(disk.clone() as _));
            let db = builder(&disk).options(options(recycled)).open().unwrap();
            for n in 1..=4 {
                step(&db, n);
                if n % 2 == 1 {
                    db.flush().unwrap();
                }
            }
            let writer = db.clone();
            fs.set_rule(move |now| {
                if now.index == call {
                    step(&writer, 5);
                    writer.flush().unwrap();
                    step(&writer, 6);
                    writer.compact_range(&writer.default_family(), None, None).unwrap();
                    step(&writer, 7);
                }
                None
            });
            let reader = builder(&fs).open_read_only().unwrap();
            let calls = fs.calls();
            fs.clear_rule();
            // What was opened stays, when it has gone from the directory, too.
            step(&db, 8);
            db.compact_range(&db.default_family(), None, None).unwrap();
            let last = seen(&reader);
            assert!(last == 4 || last == 7, "call {call}: {last}");
            looked_again += u32::from(calls > 30);
            if calls <= call {
                assert_eq!(last, 4);
                assert!(call > 12);
                break;
            }
        }
        assert!(looked_again > 3, "{looked_again}");
    }
}

/// On a file system of the network, reading a file that was removed may fail.
#[test]
fn a_read_that_fails_as_the_database_changes_is_tried_again() {
    let mut failed = 0;
    for nth in 0..100 {
        let disk = Arc::new(MemoryFileSystem::new());
        let fs = Arc::new(FaultFileSystem::new(disk.clone() as _));
        let db = builder(&disk).options(options(0)).open().unwrap();
        step(&db, 1);
        db.flush().unwrap();
        step(&db, 2);
        fs.set_rule(move |call| {
            if call.kind != CallKind::ReadNext || call.nth != nth {
                return None;
            }
            step(&db, 3);
            db.flush().unwrap();
            Some(Fault::Error(IoKind::Other))
        });
        let reader = builder(&fs).open_read_only().unwrap();
        if fs.calls_of(CallKind::ReadNext) <= nth {
            break;
        }
        assert_eq!(seen(&reader), 3);
        failed += 1;
    }
    assert!(failed > 5, "{failed}");
}

#[test]
fn a_reader_opens_beside_a_writer_that_flushes_and_compacts_all_the_time() {
    for recycled in [0, 2] {
        let disk = Arc::new(MemoryFileSystem::new());
        let writer = builder(&disk).scheduler(Arc::new(ThreadPool::new(1, 2)));
        let db = writer.options(options(recycled)).open().unwrap();
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // Also if a step fails.
                let _end = End(&ended);
                for n in 1..=600 {
                    step(&db, n);
                    if n % 3 == 0 {
                        db.flush().unwrap();
                    }
                    if n % 20 == 0 {
                        db.compact_range(&db.default_family(), None, None).unwrap();
                    }
                }
            });
            let mut before = 0;
            let mut opened = 0;
            while !ended.load(Ordering::Acquire) {
                match builder(&disk).open_read_only() {
                    Ok(reader) => {
                        let last = seen(&reader);
                        assert!(last >= before, "{last} after {before}");
                        before = last;
                        opened += 1;
                    }
                    // It may be too fast for us.
                    Err(error) => {
                        assert_eq!(error.kind(), crate::error::ErrorKind::Busy, "{error}");
                    }
                }
            }
            assert!(opened > 0);
        });
        assert_eq!(seen(&builder(&disk).open_read_only().unwrap()), 600);
    }
}

struct End<'e>(&'e AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[test]
fn where_there_are_too_few_handles_tables_are_opened_when_they_are_read() {
    let disk = Arc::new(MemoryFileSystem::new());
    let fs = Arc::new(FaultFileSystem::new(disk.clone() as _));
    let db = builder(&disk).options(options(0)).open().unwrap();
    for n in 1..=3 {
        step(&db, n);
        db.flush().unwrap();
    }
    fs.set_rule(|call| {
        let second = call.kind == CallKind::Open && call.nth > 0;
        second.then_some(Fault::Error(IoKind::Other))
    });
    let reader = builder(&fs).open_read_only().unwrap();
    fs.clear_rule();
    let opened = fs.calls_of(CallKind::Open);
    assert_eq!(seen(&reader), 3);
    assert!(fs.calls_of(CallKind::Open) > opened);
}
