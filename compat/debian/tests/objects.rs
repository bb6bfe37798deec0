//! An object store's metadata: what the store writes, read with all its column families by RocksDB 7.8.3 and 9.8.4, and
//! directories that RocksDB made with Ozone's families and options, taken over and given back.

use std::path::Path;

use partita_compat_debian::random::Random;
use partita_compat_debian::{ldb, rocksdict};
use partita_compat_rocks::Row;
use partita_compat_rocks::db::Op;
use partita_compat_rocks::whole::{Change, LastLevel, WholeDb};
use partita_store::objects::{
    KeyPath, KeyValue, Listing, NewKey, ObjectOptions, ObjectStore, ObjectTables,
};
use partita_store::{Profile, Schema, StoreBuilder};

/// What Ozone opens a column family with on an SSD, as an option string.
const OZONE_FAMILY: &str = "write_buffer_size=134217728;level_compaction_dynamic_level_bytes=true;\
     compression=kSnappyCompression;\
     block_based_table_factory={block_size=16384;format_version=5;block_cache=8388608;\
     pin_l0_filter_and_index_blocks_in_cache=true;filter_policy=bloomfilter:10:false}";

/// All column families: those of the schema and the default one.
fn families() -> Vec<&'static str> {
    ["default"].iter().chain(ObjectTables::TABLES).copied().collect()
}

fn builder(dir: &Path, profile: Profile) -> StoreBuilder {
    StoreBuilder::new(dir).profile(profile).budget_bytes(16 << 20)
}

fn open(dir: &Path, profile: Profile) -> ObjectStore {
    let options = ObjectOptions { batch_transactions: 50, ..ObjectOptions::default() };
    ObjectStore::open(&builder(dir, profile), options).unwrap()
}

fn path(key: &str) -> KeyPath<'_> {
    KeyPath { volume: "volume", bucket: "bucket", key }
}

/// Keys that are allocated, committed, overwritten, renamed, deleted and purged, and some that stay open. The last of it is
/// in memory and in the log only.
fn work(objects: &ObjectStore, random: &mut Random, count: usize) {
    if objects.volume("volume").is_none() {
        objects.create_volume("volume", "anne").unwrap();
        objects.create_bucket("volume", "bucket").unwrap();
    }
    for round in 0..count {
        let name = format!("dir{}/{:06}", random.below(7), random.below(900));
        let note = "x".repeat(random.below(300));
        let metadata = vec![KeyValue { key: "note".to_owned(), value: note }];
        let new = NewKey { owner: "anne".to_owned(), metadata, block_length: 1 << 20 };
        let open = objects.allocate(path(&name), &new).unwrap();
        if random.below(20) > 0 {
            objects.commit(&open, random.below(1 << 20) as u64).unwrap();
        }
        match random.below(10) {
            0 => drop(objects.rename(path(&name), &format!("{name}.new{round}"))),
            1 | 2 => drop(objects.delete(path(&name))),
            _ => {}
        }
        if round % (count / 5) == 0 {
            objects.purge_deleted(20).unwrap();
            objects.tables().store().flush().unwrap();
        }
    }
    objects.flush().unwrap();
}

/// The rows of all families, in the order of [`families`].
fn rows(objects: &ObjectStore) -> Vec<Vec<Row>> {
    let of = |name: &&str| {
        let table = objects.tables().store().raw_table(name).unwrap();
        table.scan().start().unwrap().map(Result::unwrap).collect()
    };
    families().iter().map(of).collect()
}

fn keys(objects: &ObjectStore) -> Vec<(String, u64)> {
    let keys = objects.list("volume", "bucket", &Listing::default()).unwrap();
    keys.into_iter().map(|info| (info.key, info.data_size)).collect()
}

/// RocksDB 7.8.3 finds these rows and no others, with the options that we stored, and its filters rule out other keys.
fn check_in_rocksdb(dir: &Path, expected: &[Vec<Row>], name: &str) {
    ldb::check_consistency(dir).unwrap_or_else(|error| panic!("{name}: {error}"));
    let db = WholeDb::load(dir, &families(), false, "").unwrap();
    let mut absent = 0;
    for (at, (family, expected)) in families().iter().zip(expected).enumerate() {
        assert!(db.rows_forward(at).unwrap() == *expected, "{name}, {family}");
        let mut backward = db.rows_backward(at).unwrap();
        backward.reverse();
        assert!(backward == *expected, "{name}, {family}, backward");
        for (key, value) in expected.iter().step_by(7) {
            assert_eq!(db.get(at, key).unwrap().as_ref(), Some(value), "{name}, {family}");
        }
    }
    let key_table = families().iter().position(|family| *family == "keyTable").unwrap();
    for (key, _) in &expected[key_table] {
        assert_eq!(db.get(key_table, &[key, &b"?"[..]].concat()).unwrap(), None, "{name}");
        absent += 1;
    }
    let useful = db.filters_useful();
    assert!(useful >= absent * 9 / 10, "{name}: {useful} of {absent} ruled out");
}

#[test]
fn what_a_store_wrote_is_read_equal_by_rocksdb_with_all_families() {
    for profile in [Profile::Partita, Profile::Ssd] {
        let name = profile.name();
        let dir = tempfile::tempdir().unwrap();
        let dir = &dir.path().join("om.db");
        let objects = open(dir, profile);
        work(&objects, &mut Random(7), 3000);
        let expected = rows(&objects);
        let listed = keys(&objects);
        assert!(listed.len() > 500 && expected.iter().filter(|rows| !rows.is_empty()).count() >= 6);
        // Tables on several levels, and a log.
        drop(objects);
        check_in_rocksdb(dir, &expected, name);
        let at = families().iter().position(|family| *family == "deletedTable").unwrap();
        assert!(ldb::rows(dir, "deletedTable").unwrap() == expected[at], "{name}");
        for compact in [false, true] {
            let found = rocksdict::open_and_scan_families(dir, &families(), compact).unwrap();
            assert!(found == expected, "{name}");
        }
        let objects = open(dir, profile);
        assert!(rows(&objects) == expected && keys(&objects) == listed, "{name}");
    }
}

#[test]
fn a_directory_that_rocksdb_made_with_ozones_families_is_taken_over_and_given_back() {
    for profile in [Profile::Partita, Profile::Ssd] {
        let name = profile.name();
        let scratch = tempfile::tempdir().unwrap();
        // Rows to write, and what they mean.
        let source = open(&scratch.path().join("source"), profile);
        work(&source, &mut Random(11), 2000);
        let (written, listed) = (rows(&source), keys(&source));
        let bucket = source.bucket("volume", "bucket").unwrap();
        drop(source);

        let dir = &scratch.path().join("om.db");
        let mut names = families();
        names.push("futureTable");
        let db_options = "bytes_per_sync=1048576;WAL_ttl_seconds=1200;max_background_jobs=6";
        let db = WholeDb::create(dir, db_options, &names, OZONE_FAMILY).unwrap();
        let put =
            |family, (key, value): &Row| Change { family, op: Op::Put(key.clone(), value.clone()) };
        for (family, rows) in written.iter().enumerate() {
            for (at, rows) in rows.chunks(100).enumerate() {
                let batch: Vec<Change> = rows.iter().map(|row| put(family, row)).collect();
                db.write(&batch).unwrap();
                if at % 4 == 3 {
                    db.flush(family).unwrap();
                }
            }
        }
        let future = (b"a".to_vec(), b"b".to_vec());
        db.write(&[put(names.len() - 1, &future)]).unwrap();
        // The rest is in the log only.
        drop(db);

        let objects = open(dir, profile);
        assert_eq!(objects.tables().store().unknown_tables(), ["futureTable"]);
        let unknown = objects.tables().store().raw_table("futureTable").unwrap();
        assert_eq!(unknown.get(b"a").unwrap().unwrap(), b"b");
        assert!(rows(&objects) == written && keys(&objects) == listed, "{name}");
        assert_eq!(objects.bucket("volume", "bucket").unwrap(), bucket);
        work(&objects, &mut Random(13), 500);
        let (extended, listed) = (rows(&objects), keys(&objects));
        assert!(extended != written);
        drop((unknown, objects));

        // Tables of both engines side by side.
        let db = WholeDb::load(dir, &names, false, "").unwrap();
        for (family, expected) in extended.iter().enumerate() {
            assert!(db.rows_forward(family).unwrap() == *expected, "{name}, {}", names[family]);
            db.compact(family, LastLevel::Force);
            assert!(db.rows_backward(family).unwrap().len() == expected.len(), "{name}");
        }
        assert_eq!(db.rows_forward(names.len() - 1).unwrap(), [future]);
        drop(db);
        let objects = open(dir, profile);
        assert!(rows(&objects) == extended && keys(&objects) == listed, "{name}");
    }
}
