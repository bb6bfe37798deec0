//! Tables opened when they are first used, with and without a limit.

use std::io::ErrorKind as IoKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::testing::{adds, version};
use super::*;
use crate::io::{Access, CallKind, FaultFileSystem, FileSystem, MemoryFileSystem};
use crate::key::{InternalKey, KeyOrder, SeqNo, ValueType};
use crate::options::TableOptions;
use crate::table::{ReadContext, ReaderOptions, TableBuilder, TableContext};

/// Tables 1 to `count` in `/db`, on level 1 of a version.
struct Tables {
    disk: MemoryFileSystem,
    fs: FaultFileSystem,
    version: Arc<Version>,
}

fn write_table(disk: &MemoryFileSystem, number: u64) -> FileMeta {
    let path = FileName::Table(number.into()).in_dir(Path::new("/db"));
    let file = disk.create_new(&path).unwrap();
    let context = TableContext::default();
    let mut builder =
        TableBuilder::new(file, TableOptions::default(), KeyOrder::Bytewise, context).unwrap();
    let user_key = number.to_be_bytes();
    let key = InternalKey::new(&user_key, SeqNo::new(7).unwrap(), ValueType::Value).encode();
    builder.add(&key, b"value").unwrap();
    builder.finish().unwrap();
    let meta = FileMeta::new(number.into(), disk.file_len(&path).unwrap(), &key, &key);
    FileMeta { epoch: 2, largest_seqno: SeqNo::new(7).unwrap(), ..meta }
}

fn tables(count: u64) -> Tables {
    let disk = MemoryFileSystem::new();
    disk.create_dir_all(Path::new("/db")).unwrap();
    let files: Vec<_> = (1..=count).map(|number| (1, write_table(&disk, number))).collect();
    let version = version(KeyOrder::Bytewise, &[adds(files)]).unwrap();
    let fs = FaultFileSystem::new(Arc::new(disk.clone()));
    Tables { disk, fs, version: Arc::new(version) }
}

impl Tables {
    fn cache(&self, limit: Option<usize>) -> (TableCache, Arc<OpenTables>) {
        let open_tables = Arc::new(OpenTables::new(limit));
        (self.cache_with(&open_tables), open_tables)
    }

    fn cache_with(&self, open_tables: &Arc<OpenTables>) -> TableCache {
        TableCache::new(
            Arc::new(self.fs.clone()),
            vec![PathBuf::from("/db")],
            ReaderOptions::default(),
            KeyOrder::Bytewise.name(),
            Arc::clone(open_tables),
        )
    }

    fn file(&self, number: u64) -> &Arc<TableFile> {
        &self.version.levels()[1].files()[number as usize - 1]
    }

    fn opens(&self) -> u64 {
        self.fs.calls_of(CallKind::Open)
    }
}

fn get(cache: &TableCache, file: &Arc<TableFile>) -> crate::error::Result<()> {
    cache.get(file, 1, &mut ReadContext::default()).map(|_| ())
}

#[test]
fn a_table_is_opened_at_its_first_use_and_once() {
    let tables = tables(3);
    let (cache, _) = tables.cache(None);
    assert_eq!(tables.opens(), 0);
    let mut ctx = ReadContext::default();
    let first = Arc::as_ptr(&cache.get(tables.file(2), 1, &mut ctx).unwrap());
    let second = cache.get(tables.file(2), 1, &mut ctx).unwrap();
    assert_eq!(first, Arc::as_ptr(&second));
    assert!(matches!(second, OpenTable::Kept(_)));
    assert_eq!(tables.opens(), 1);
}

#[test]
fn a_table_tells_its_counts_once_it_was_opened_or_if_its_writer_did() {
    let tables = tables(1);
    let file = tables.file(1);
    assert_eq!(file.counts(), None);
    get(&tables.cache(None).0, file).unwrap();
    let counts = TableCounts { entries: 1, ..TableCounts::default() };
    assert_eq!(file.counts(), Some(counts));
    let told = TableCounts { deletions: 1, ..counts };
    let written = FileMeta { counts: Some(told), ..(***file).clone() };
    assert_eq!(TableFile::new(written).counts(), Some(told));
}

#[test]
fn threads_that_want_the_same_table_open_it_once() {
    let tables = tables(1);
    for limit in [None, Some(5)] {
        let before = tables.opens();
        let files = version(KeyOrder::Bytewise, &[adds([(1, tables.file(1).meta.clone())])]);
        let files = files.unwrap();
        let file = &files.levels()[1].files()[0];
        let (cache, _) = tables.cache(limit);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| get(&cache, file).unwrap());
            }
        });
        assert_eq!(tables.opens() - before, 1);
    }
}

#[test]
fn a_failed_open_is_tried_again() {
    let tables = tables(1);
    for limit in [None, Some(1)] {
        let (cache, _) = tables.cache(limit);
        let files = version(KeyOrder::Bytewise, &[adds([(1, tables.file(1).meta.clone())])]);
        let files = files.unwrap();
        let file = &files.levels()[1].files()[0];
        tables.fs.set_rule(|call| {
            (call.kind == CallKind::Open).then_some(crate::io::Fault::Error(IoKind::Other))
        });
        assert!(get(&cache, file).is_err());
        tables.fs.clear_rule();
        get(&cache, file).unwrap();
    }
}

#[test]
fn under_a_limit_tables_not_used_lately_are_closed() {
    let tables = tables(6);
    let (cache, open_tables) = tables.cache(Some(3));
    for number in 1..=3 {
        get(&cache, tables.file(number)).unwrap();
    }
    assert_eq!((tables.opens(), open_tables.len()), (3, 3));
    // The hand goes round once, since all were used, and closes the first.
    get(&cache, tables.file(4)).unwrap();
    assert_eq!(open_tables.len(), 3);
    get(&cache, tables.file(3)).unwrap();
    assert_eq!(tables.opens(), 4);
    // Of 2, 3, 4 only 2 was not used since.
    get(&cache, tables.file(5)).unwrap();
    for number in [3, 4, 5] {
        get(&cache, tables.file(number)).unwrap();
    }
    assert_eq!(tables.opens(), 5);
    get(&cache, tables.file(2)).unwrap();
    assert_eq!((tables.opens(), open_tables.len()), (6, 3));
}

#[test]
fn a_table_that_is_closed_or_removed_is_read_on_by_who_has_it() {
    let tables = tables(3);
    let (cache, _) = tables.cache(Some(1));
    let mut ctx = ReadContext::default();
    let held = cache.get(tables.file(1), 1, &mut ctx).unwrap();
    for number in [2, 3, 2, 3] {
        get(&cache, tables.file(number)).unwrap();
    }
    tables.disk.remove(Path::new("/db/000001.sst")).unwrap();
    let user_key = 1u64.to_be_bytes();
    let key = crate::table::LookupKey::new(&user_key, SeqNo::MAX);
    assert_eq!(&*held.get(&key, &mut ctx).unwrap().unwrap().value, b"value");
}

#[test]
fn a_file_that_is_not_the_manifests_is_damage_that_says_why() {
    let tables = tables(2);
    let (cache, _) = tables.cache(None);
    let ask = |change: fn(&mut FileMeta)| {
        let mut meta = tables.file(1).meta.clone();
        change(&mut meta);
        let version = version(KeyOrder::Bytewise, &[adds([(1, meta)])]).unwrap();
        get(&cache, &version.levels()[1].files()[0]).unwrap_err()
    };
    let error = ask(|meta| meta.file_bytes += 1);
    assert!(error.is_corruption() && error.message().contains("the manifest says"), "{error}");
    assert!(error.file().is_some_and(|file| file.ends_with("000001.sst")));
    let error = ask(|meta| meta.path_id = 3);
    assert!(error.message().contains("directory 3 of the database, which has 1"), "{error}");
    let error = ask(|meta| meta.number = 77.into());
    assert!(error.is_not_found(), "{error}");

    let other = TableCache::new(
        Arc::new(tables.disk.clone()),
        vec![PathBuf::from("/db")],
        ReaderOptions::default(),
        KeyOrder::ReverseBytewise.name(),
        Arc::default(),
    );
    let error = get(&other, tables.file(1)).unwrap_err();
    assert!(error.message().contains("comparator \"leveldb.BytewiseComparator\""), "{error}");
}

#[test]
fn leveldbs_name_of_a_table_is_tried_second() {
    let tables = tables(1);
    tables.disk.rename(Path::new("/db/000001.sst"), Path::new("/db/000001.ldb")).unwrap();
    let (cache, _) = tables.cache(None);
    get(&cache, tables.file(1)).unwrap();
}

#[test]
fn tables_are_opened_for_direct_reads_where_that_is_wanted() {
    let tables = tables(2);
    let open_tables = OpenTables::new(None).with_access(Access::Direct);
    let cache = tables.cache_with(&Arc::new(open_tables));
    get(&cache, tables.file(1)).unwrap();
    cache.verify(tables.file(2)).unwrap();
    assert_eq!((tables.opens(), tables.fs.calls_of(CallKind::OpenDirect)), (0, 2));
}
