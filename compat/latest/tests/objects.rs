//! The load of an object store's metadata by both engines: the same answers, the same rows, and files that either one reads.

use std::path::Path;

use partita_bench::objects::{Contents, Driver, Engine, Engines as _, Opening, PARTITA, Plan};
use partita_compat_latest::object_engines::{Both, CONTENDERS, difference};
use partita_compat_latest::rocks_families::{Families, FamiliesOptions, Metadata};
use partita_compat_latest::rocks_objects::family_names;

const BUDGET_BYTES: u64 = 8 << 20;

fn plan() -> Plan {
    Plan {
        keys: 20_000,
        lookups: 2,
        delete_percent: 30,
        delete_age: 500,
        list_every: 50,
        // In one bucket, listings have something to show.
        buckets: 1,
        ..Plan::default()
    }
}

fn open(name: &str, dir: &Path) -> Box<dyn Engine> {
    let (_, engine, layout) = CONTENDERS.iter().find(|(known, _, _)| *known == name).unwrap();
    let opening = Opening { layout: *layout, budget_bytes: BUDGET_BYTES };
    Both.open(engine, dir, &opening).unwrap()
}

/// Rounds between two batches.
const BATCH: u64 = 100;

fn perform(rounds: std::ops::Range<u64>, driver: &mut Driver, engine: &mut dyn Engine) {
    let end = rounds.end;
    for number in rounds {
        driver.perform(number, engine).unwrap();
        if number % BATCH == BATCH - 1 || number + 1 == end {
            engine.write().unwrap();
        }
    }
}

/// A load; in the middle of it the store may be handed to somebody else.
fn loaded(names: [&str; 2], dir: &Path) -> (Contents, u64) {
    let plan = plan();
    let half = plan.rounds() / 2;
    let mut engine = open(names[0], dir);
    let mut driver = Driver::begin(&plan, &mut *engine).unwrap();
    perform(0..half, &mut driver, &mut *engine);
    let mut listed = driver.done().listed;
    engine.settle().unwrap();
    drop(engine);

    let mut engine = open(names[1], dir);
    let (mut driver, next) = Driver::recover(&plan, half, &mut *engine).unwrap();
    assert_eq!(next, half);
    perform(half..plan.rounds(), &mut driver, &mut *engine);
    listed += driver.done().listed;
    let before = engine.figures();
    assert!(before.batch_bytes > 1 << 20 && before.hits.total() > 0, "{before:?}");
    engine.compact().unwrap();
    let figures = engine.figures();
    assert!(figures.written_bytes > before.written_bytes && figures.table_bytes > 1 << 20);
    engine.settle().unwrap();
    drop(engine);
    (Both.contents(dir).unwrap().expect("they are looked at"), listed)
}

#[test]
fn all_engines_write_the_same_rows_and_take_over_from_each_other() {
    let home = tempfile::tempdir().unwrap();
    let of = |names: [&str; 2]| loaded(names, &home.path().join(names.join("-")));
    let (expected, listed) = of(["partita", "partita"]);
    let rows = |table: &str| expected.tables[table].rows;
    assert!((13_000..16_000).contains(&rows("keyTable")), "{expected:?}");
    assert_eq!((rows("bucketTable"), expected.tables.get("openKeyTable")), (1, None));
    assert!(listed > 3000, "{listed}");
    for names in [
        ["partita-full", "rocksdb-cached"],
        ["rocksdb-cached", "rocksdb-cached"],
        ["rocksdb-outside", "partita"],
        ["rocksdb-partitioned", "rocksdb-outside"],
        ["partita", "rocksdb-partitioned"],
    ] {
        let (contents, shown) = of(names);
        assert_eq!(contents, expected, "{names:?}: {}", difference(&expected, &contents));
        assert_eq!(shown, listed, "{names:?}");
    }
}

#[test]
fn families_share_one_cache() {
    let home = tempfile::tempdir().unwrap();
    for metadata in [Metadata::InCache, Metadata::Outside, Metadata::Partitioned] {
        let dir = home.path().join(format!("{metadata:?}"));
        let options = FamiliesOptions { metadata, cache_bytes: BUDGET_BYTES, only_read: false };
        let families = Families::open(&dir, &family_names(), options).unwrap();
        assert_eq!(families.caches(), 1);
    }
}

#[test]
fn what_differs_is_told_by_table() {
    let mut one = Contents::default();
    one.add("metaTable", b"a", b"1").unwrap();
    let mut other = one.clone();
    other.add("metaTable", b"b", b"2").unwrap();
    assert_eq!(difference(&one, &other), "metaTable differs, of 1 and 2 rows; ");
    assert_eq!(difference(&one, &one), "");
}

#[test]
fn engines_are_told_by_name() {
    let home = tempfile::tempdir().unwrap();
    let opening = Opening { layout: partita_bench::layout::Layout::Full, budget_bytes: 1 << 20 };
    assert!(CONTENDERS.iter().any(|(_, engine, _)| *engine == PARTITA));
    let error = Both.open("leveldb", home.path(), &opening).err().unwrap();
    assert!(error.contains("leveldb"), "{error}");
}
