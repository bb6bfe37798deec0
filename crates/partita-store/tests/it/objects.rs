//! The metadata of an object store: rows as Ozone has them, batches, failures, threads.

use std::io::ErrorKind;
use std::sync::Arc;

use partita::io::{CallKind, Fault, FaultFileSystem, FileSystem, ManualClock, MemoryFileSystem};
use partita_store::codec::{Bytes, KeyCodec};
use partita_store::objects::{
    KeyPath, KeyValue, Listing, NewKey, ObjectError, ObjectOptions, ObjectStore, TransactionInfo,
};
use partita_store::{Schema, Table};

use crate::support::{builder, disk};

pub(crate) fn path<'p>(bucket: &'p str, key: &'p str) -> KeyPath<'p> {
    KeyPath { volume: "v", bucket, key }
}

/// A store that writes when it is told to.
pub(crate) fn open(disk: &Arc<MemoryFileSystem>, batch_transactions: u64) -> ObjectStore {
    let clock = Arc::new(ManualClock::at_unix_micros(1_700_000_000_000_000));
    ObjectStore::open(&builder(disk), ObjectOptions { batch_transactions, clock }).unwrap()
}

/// The same with a volume and a bucket, which are written.
fn with_bucket(disk: &Arc<MemoryFileSystem>) -> ObjectStore {
    let objects = open(disk, ObjectOptions::BATCH_TRANSACTIONS_MAX);
    objects.create_volume("v", "anne").unwrap();
    objects.create_bucket("v", "b").unwrap();
    objects.flush().unwrap();
    objects
}

fn put(objects: &ObjectStore, key: &str, size: u64) {
    let open = objects.allocate(path("b", key), &NewKey::default()).unwrap();
    objects.commit(&open, size).unwrap();
}

fn names(objects: &ObjectStore, listing: &Listing<'_>) -> Vec<String> {
    let keys = objects.list("v", "b", listing).unwrap();
    keys.into_iter().map(|info| info.key).collect()
}

/// The keys of a table as they are.
fn rows<K: KeyCodec, V: partita_store::codec::ValueCodec>(table: &Table<K, V>) -> Vec<String> {
    let raw: Table<Bytes, Bytes> = table.store().raw_table(table.name()).unwrap();
    let keys = raw.scan().keys().unwrap();
    keys.map(|key| String::from_utf8(key.unwrap()).unwrap()).collect()
}

#[test]
fn there_are_ozones_tables() {
    let objects = open(&disk(), 1);
    let mut names = objects.tables().store().table_names();
    names.retain(|name| name != "default");
    let mut ozone = [
        "userTable",
        "dTokenTable",
        "s3SecretTable",
        "volumeTable",
        "bucketTable",
        "prefixTable",
        "transactionInfoTable",
        "metaTable",
        "keyTable",
        "deletedTable",
        "openKeyTable",
        "multipartInfoTable",
        "multipartPartsTable",
        "fileTable",
        "openFileTable",
        "directoryTable",
        "deletedDirectoryTable",
        "tenantStateTable",
        "tenantAccessIdTable",
        "principalToAccessIdsTable",
        "snapshotInfoTable",
        "snapshotRenamedTable",
        "compactionLogTable",
        "lifecycleConfigurationTable",
        "lifecycleScanStateTable",
    ];
    ozone.sort_unstable();
    names.sort_unstable();
    assert_eq!(names, ozone);
}

#[test]
fn rows_are_where_ozone_has_them() {
    let objects = with_bucket(&disk());
    let note = KeyValue { key: "color".to_owned(), value: "red".to_owned() };
    let new = NewKey { owner: "anne".to_owned(), metadata: vec![note], block_length: 100 };
    let open = objects.allocate(path("b", "a/x"), &new).unwrap();
    assert_eq!((open.client_id, open.overwrites), (3, false));
    objects.allocate_block(&open, 200).unwrap();
    objects.flush().unwrap();
    let tables = objects.tables();
    assert_eq!(rows(&tables.open_keys), ["/v/b/a/x/3"]);
    assert_eq!(rows(&tables.keys), Vec::<String>::new());

    let info = objects.commit(&open, 250).unwrap();
    let lengths: Vec<u64> = info.blocks.iter().map(|block| block.length).collect();
    assert_eq!(
        (info.data_size, &lengths[..], &*info.metadata[0].value),
        (250, &[100, 200][..], "red")
    );
    objects.flush().unwrap();
    assert_eq!(rows(&tables.open_keys), Vec::<String>::new());
    assert_eq!(rows(&tables.keys), ["/v/b/a/x"]);
    assert_eq!(rows(&tables.buckets), ["/v/b"]);
    assert_eq!(rows(&tables.volumes), ["/v"]);
    assert_eq!(rows(&tables.transactions), ["#TRANSACTIONINFO"]);
    let raw = tables.store().raw_table("transactionInfoTable").unwrap();
    assert_eq!(raw.get(b"#TRANSACTIONINFO").unwrap().unwrap(), b"1#5");

    // What is overwritten is deleted.
    put(&objects, "a/x", 10);
    objects.flush().unwrap();
    assert_eq!(rows(&tables.deleted), ["/v/b/a/x/3"]);
    let bucket = objects.bucket("v", "b").unwrap();
    assert_eq!((bucket.used_bytes, bucket.key_count, bucket.update_id), (10, 1, 7));
    assert_eq!(tables.buckets.get(("v", "b")).unwrap().unwrap(), bucket);
    objects.rename(path("b", "a/x"), "y").unwrap();
    objects.delete(path("b", "y")).unwrap();
    objects.flush().unwrap();
    assert_eq!(rows(&tables.deleted), ["/v/b/a/x/3", "/v/b/y/6"]);
    let purged = objects.purge_deleted(1).unwrap();
    assert_eq!((purged.rows, &*purged.keys[0].key, purged.keys[0].object_id), (1, "a/x", 3));
    // Not given out again, though its row is still there.
    let purged = objects.purge_deleted(10).unwrap();
    assert_eq!((purged.rows, purged.keys[0].object_id), (1, 6));
    assert_eq!(objects.purge_deleted(10).unwrap().rows, 0);
    objects.flush().unwrap();
    assert_eq!(rows(&tables.deleted), Vec::<String>::new());
}

#[test]
fn a_batch_has_the_last_change_of_each_row() {
    let objects = with_bucket(&disk());
    let before = objects.tables().store().stats();
    for key in ["x", "y", "z"] {
        put(&objects, key, 1);
    }
    assert_eq!(objects.unwritten_transactions(), 6);
    assert_eq!(objects.flush().unwrap(), 6);
    let after = objects.tables().store().stats();
    assert_eq!(after.db.writes.batches - before.db.writes.batches, 1);
    let written = |name: &str| {
        let of = |stats: &partita_store::StoreStats| stats.table(name).unwrap().writes;
        (of(&after).puts - of(&before).puts, of(&after).deletes - of(&before).deletes)
    };
    // Allocated and committed in one batch: tombstones of rows that never were, as in Ozone.
    assert_eq!(written("openKeyTable"), (0, 3));
    assert_eq!(written("keyTable"), (3, 0));
    assert_eq!(written("bucketTable"), (1, 0));
    assert_eq!(written("transactionInfoTable"), (1, 0));
    assert_eq!(objects.flush().unwrap(), 0);
    assert_eq!(objects.tables().store().stats().db.writes.batches, after.db.writes.batches);
}

#[test]
fn a_batch_is_written_when_it_is_complete() {
    let objects = open(&disk(), 4);
    objects.create_volume("v", "anne").unwrap();
    objects.create_bucket("v", "b").unwrap();
    put(&objects, "x", 1);
    assert_eq!(objects.unwritten_transactions(), 0);
    let last = TransactionInfo { term: 1, index: 4 };
    assert_eq!(objects.written_transaction().unwrap(), Some(last));
    put(&objects, "y", 1);
    assert_eq!(objects.unwritten_transactions(), 2);
    assert_eq!(objects.last_transaction(), TransactionInfo { term: 1, index: 6 });
    assert_eq!(objects.written_transaction().unwrap(), Some(last));
}

#[test]
fn what_is_not_written_is_seen_by_all_reads() {
    let objects = with_bucket(&disk());
    for key in ["a", "b", "c", "d"] {
        put(&objects, key, 1);
    }
    objects.flush().unwrap();
    objects.delete(path("b", "a")).unwrap();
    objects.rename(path("b", "c"), "bb").unwrap();
    put(&objects, "e", 2);
    put(&objects, "d", 7);
    let all = Listing::default();
    assert_eq!(names(&objects, &all), ["b", "bb", "d", "e"]);
    assert_eq!(names(&objects, &Listing { prefix: "b", ..all }), ["b", "bb"]);
    assert_eq!(names(&objects, &Listing { start_after: Some("bb"), ..all }), ["d", "e"]);
    assert_eq!(names(&objects, &Listing { start_after: Some("b"), limit: 2, ..all }), ["bb", "d"]);
    assert_eq!(names(&objects, &Listing { limit: 0, ..all }), Vec::<String>::new());
    assert_eq!(objects.lookup(path("b", "d")).unwrap().unwrap().data_size, 7);
    assert_eq!(objects.lookup(path("b", "a")).unwrap(), None);
    objects.flush().unwrap();
    assert_eq!(names(&objects, &all), ["b", "bb", "d", "e"]);
}

#[test]
fn what_cannot_be_done_is_told_and_changes_nothing() {
    let objects = with_bucket(&disk());
    put(&objects, "x", 1);
    put(&objects, "y", 1);
    let open = objects.allocate(path("b", "z"), &NewKey::default()).unwrap();
    objects.commit(&open, 1).unwrap();
    let last = objects.last_transaction();
    let not_found = |result: Result<(), ObjectError>| result.unwrap_err().is_not_found();
    assert!(not_found(objects.commit(&open, 1).map(drop)));
    assert!(not_found(objects.allocate_block(&open, 1).map(drop)));
    assert!(not_found(objects.delete(path("b", "none"))));
    assert!(not_found(objects.rename(path("b", "none"), "n")));
    assert!(not_found(objects.allocate(path("none", "k"), &NewKey::default()).map(drop)));
    assert!(not_found(objects.list("v", "none", &Listing::default()).map(drop)));
    assert!(not_found(objects.create_bucket("none", "b")));
    assert!(objects.rename(path("b", "x"), "y").unwrap_err().is_already_there());
    assert!(objects.create_volume("v", "x").unwrap_err().is_already_there());
    assert!(objects.create_bucket("v", "b").unwrap_err().is_already_there());
    for name in ["", "a/b"] {
        let error = objects.create_volume(name, "x").unwrap_err();
        assert!(matches!(error, ObjectError::InvalidName(_)), "{error}");
        let error = objects.create_bucket("v", name).unwrap_err();
        assert!(matches!(error, ObjectError::InvalidName(_)), "{error}");
    }
    let error = objects.allocate(path("b", ""), &NewKey::default()).unwrap_err();
    assert!(matches!(error, ObjectError::InvalidName(_)), "{error}");
    assert!(matches!(objects.rename(path("b", "x"), ""), Err(ObjectError::InvalidName(_))));
    assert_eq!(objects.last_transaction(), last);
    let error = objects.delete(path("b", "none")).unwrap_err();
    assert_eq!(error.to_string(), "no key /v/b/none");
}

#[test]
fn a_batch_that_cannot_be_written_waits_for_the_next_attempt() {
    let disk = disk();
    let faulty = Arc::new(FaultFileSystem::new(Arc::clone(&disk) as Arc<dyn FileSystem>));
    let store = builder(&disk).file_system(Arc::clone(&faulty) as _);
    let options = || ObjectOptions { batch_transactions: 1000, ..ObjectOptions::default() };
    let objects = ObjectStore::open(&store, options()).unwrap();
    objects.create_volume("v", "anne").unwrap();
    objects.create_bucket("v", "b").unwrap();
    put(&objects, "x", 1);
    objects.flush().unwrap();
    put(&objects, "x", 2);
    put(&objects, "y", 2);
    faulty.set_rule(|call| {
        let is_log = call.path.extension().is_some_and(|extension| extension == "log");
        (call.kind == CallKind::Write && is_log).then_some(Fault::Error(ErrorKind::Other))
    });
    assert!(objects.flush().is_err());
    faulty.clear_rule();
    assert_eq!(objects.unwritten_transactions(), 4);
    objects.delete(path("b", "y")).unwrap();
    assert_eq!(objects.lookup(path("b", "x")).unwrap().unwrap().data_size, 2);
    objects.tables().store().db().resume().unwrap();
    assert_eq!(objects.flush().unwrap(), 5);
    let bucket = objects.bucket("v", "b").unwrap();
    drop(objects);
    let objects = ObjectStore::open(&store, options()).unwrap();
    assert_eq!(names(&objects, &Listing::default()), ["x"]);
    assert_eq!(objects.bucket("v", "b").unwrap(), bucket);
    assert_eq!(rows(&objects.tables().deleted).len(), 2);
    // Numbers go on, so that no object has that of another.
    assert_eq!(objects.last_transaction(), TransactionInfo { term: 2, index: 9 });
}

#[test]
fn threads_that_write_read_and_list_meet_whole_transactions() {
    let objects = with_bucket(&disk());
    const THREADS: u64 = 3;
    const KEYS: u64 = 150;
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let objects = &objects;
            scope.spawn(move || {
                for number in 0..KEYS {
                    let name = format!("{thread}/{number:04}");
                    put(objects, &name, 10);
                    assert_eq!(objects.lookup(path("b", &name)).unwrap().unwrap().data_size, 10);
                    if number % 3 == 0 {
                        objects.delete(path("b", &name)).unwrap();
                    }
                    if number % 20 == thread {
                        objects.flush().unwrap();
                    }
                }
            });
        }
        scope.spawn(|| {
            let mut seen = 0;
            for _ in 0..30 {
                let keys = objects.list("v", "b", &Listing { prefix: "0/", ..Listing::default() });
                let keys = keys.unwrap();
                assert!(keys.windows(2).all(|pair| pair[0].key < pair[1].key));
                // Every third goes, and at most one more is on its way out.
                assert!(keys.len() + 1 >= seen, "{} after {seen}", keys.len());
                seen = keys.len();
                objects.purge_deleted(5).unwrap();
            }
        });
    });
    let expected = THREADS * (KEYS - KEYS / 3);
    assert_eq!(objects.list("v", "b", &Listing::default()).unwrap().len() as u64, expected);
    let bucket = objects.bucket("v", "b").unwrap();
    assert_eq!((bucket.key_count, bucket.used_bytes), (expected, 10 * expected));
    assert_eq!(objects.buckets("v"), [bucket]);
    assert_eq!(objects.volume("v").unwrap().owner, "anne");
    objects.close().unwrap();
}
