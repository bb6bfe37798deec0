//! Databases whose tables are read and written past the system's cache of files.

use std::io::ErrorKind as IoKind;
use std::path::Path;
use std::sync::Arc;

use super::testing::all as all_of;
use super::*;
use crate::error::ErrorKind;
use crate::io::{CallKind, DiskFileSystem, Fault, FaultFileSystem, MemoryFileSystem};

/// Opens a database whose blocks hardly find room in memory.
fn open(dir: &Path, fs: Arc<dyn FileSystem>, direct: bool) -> Result<Db> {
    let options = DbOptions {
        create_if_missing: true,
        use_direct_reads: direct,
        use_direct_io_for_flush_and_compaction: direct,
        ..DbOptions::default()
    };
    DbBuilder::new(dir).file_system(fs).cache(Cache::new(1 << 20)).options(options).open()
}

fn key(number: u32) -> [u8; 4] {
    (number * 7).to_be_bytes()
}

fn value(number: u32) -> Vec<u8> {
    number.to_string().repeat(number as usize % 100).into_bytes()
}

const KEYS: u32 = 20_000;

fn fill(db: &Db) {
    for number in 0..KEYS {
        db.put(&key(number), &value(number)).unwrap();
        if number % 6_000 == 5_999 {
            db.flush().unwrap();
        }
    }
    db.flush().unwrap();
}

/// Everything, by lookups and by a walk.
fn contents(db: &Db) -> Vec<(Vec<u8>, Vec<u8>)> {
    let found = (0..KEYS).step_by(37).map(|number| {
        let found = db.get(&key(number)).unwrap().expect("it was written");
        (key(number).to_vec(), found.to_vec())
    });
    let mut all: Vec<_> = found.collect();
    assert!(db.get(&1_u32.to_be_bytes()).unwrap().is_none());
    all.extend(all_of(db, &db.default_family()));
    all
}

#[test]
fn a_database_on_disk_answers_the_same_with_and_without() {
    let home = tempfile::tempdir().unwrap();
    let fs = FaultFileSystem::new(Arc::new(DiskFileSystem));
    fs.set_rule(|call| {
        let is_table = call.path.extension().is_some_and(|extension| extension == "sst");
        let is_cached = [CallKind::Open, CallKind::CreateNew].contains(&call.kind);
        (is_table && is_cached).then_some(Fault::Error(IoKind::Other))
    });
    let db = match open(home.path(), Arc::new(fs.clone()), true) {
        Err(error) if error.kind() == ErrorKind::NotSupported => return,
        db => db.unwrap(),
    };
    fill(&db);
    db.compact_range(&db.default_family(), None, None).unwrap();
    let direct = contents(&db);
    drop(db);
    let tables = fs.calls_of(CallKind::OpenDirect);
    assert!(fs.calls_of(CallKind::CreateNewDirect) > 4, "four flushes and a compaction");
    assert!(tables > 4, "all of them, and probes: {tables}");
    assert_eq!(direct.len(), KEYS.div_ceil(37) as usize + KEYS as usize);
    for (number, (_, found)) in direct[KEYS.div_ceil(37) as usize..].iter().enumerate() {
        assert!(*found == value(number as u32), "{number}");
    }
    fs.clear_rule();
    let db = open(home.path(), Arc::new(fs.clone()), false).unwrap();
    assert!(contents(&db) == direct);
    assert_eq!(fs.calls_of(CallKind::OpenDirect), tables);
}

#[test]
fn a_file_system_without_direct_reads_is_refused_when_the_database_is_opened() {
    let disk = MemoryFileSystem::new();
    let dir = Path::new("/db");
    open(dir, Arc::new(disk.clone()), true).unwrap().close().unwrap();
    let fs = FaultFileSystem::new(Arc::new(disk));
    fs.set_rule(|call| {
        (call.kind == CallKind::OpenDirect).then_some(Fault::Error(IoKind::Unsupported))
    });
    let read_only = |fs: &FaultFileSystem| {
        let options = DbOptions { use_direct_reads: true, ..DbOptions::default() };
        DbBuilder::new(dir).file_system(Arc::new(fs.clone())).options(options).open_read_only()
    };
    for opened in [open(dir, Arc::new(fs.clone()), true), read_only(&fs)] {
        let error = opened.expect_err("there are no direct reads");
        assert_eq!(error.kind(), ErrorKind::NotSupported);
        assert_eq!(error.to_string(), "not supported: /db: use_direct_reads: injected");
    }
    let options =
        DbOptions { use_direct_io_for_flush_and_compaction: true, ..DbOptions::default() };
    let builder = DbBuilder::new(dir).file_system(Arc::new(fs.clone())).options(options);
    let error = builder.open().expect_err("there are no direct writes");
    let told = "not supported: /db: use_direct_io_for_flush_and_compaction: injected";
    assert_eq!(error.to_string(), told);
    builder.open_read_only().unwrap();
    open(dir, Arc::new(fs), false).unwrap();
}
