//! A bookie's entry locations: what the index writes, read by RocksDB 7.8.3 and 9.8.4 with filters in use, and directories
//! that RocksDB made with a bookie's options, taken over and given back.

use std::path::Path;

use partita_compat_debian::random::Random;
use partita_compat_debian::{ldb, rocksdict};
use partita_compat_rocks::Row;
use partita_compat_rocks::db::{Db as RocksDb, Op};
use partita_ledger::{EntryLocation, EntryLocationIndex, IndexBuilder, IndexOptions, TableLayout};

const LAYOUTS: [TableLayout; 2] = [TableLayout::Full, TableLayout::Partitioned];

/// What BookKeeper opens its entry-location database with, as an option string.
fn bookie_options(layout: TableLayout) -> String {
    let partitioned = match layout {
        TableLayout::Full => "",
        TableLayout::Partitioned => {
            "index_type=kTwoLevelIndexSearch;partition_filters=true;pin_top_level_index_and_filter=true;"
        }
    };
    format!(
        "compression=kLZ4Compression;write_buffer_size=67108864;max_write_buffer_number=4;\
         level0_file_num_compaction_trigger=4;max_bytes_for_level_base=268435456;\
         target_file_size_base=67108864;level_compaction_dynamic_level_bytes=true;\
         max_total_wal_size=536870912;\
         block_based_table_factory={{{partitioned}block_size=65536;block_cache=8388608;format_version=5;\
         checksum=kxxHash;filter_policy=rocksdb.BloomFilter:10:false;cache_index_and_filter_blocks=true}}"
    )
}

/// Opens an index that is compacted by hand only.
fn open(dir: &Path, layout: TableLayout) -> EntryLocationIndex {
    let mut options = IndexOptions::new(16 << 20);
    layout.apply(&mut options.family.table);
    options.family.disable_auto_compactions = true;
    IndexBuilder::new(dir, options).open().unwrap()
}

fn key(ledger_id: i64, entry_id: i64) -> Vec<u8> {
    [ledger_id.to_be_bytes(), entry_id.to_be_bytes()].concat()
}

fn row(entry: EntryLocation) -> Row {
    (key(entry.ledger_id, entry.entry_id), entry.location.to_be_bytes().to_vec())
}

/// Even entries of some ledgers, with locations of this round.
fn entries(ledgers: i64, round: i64) -> impl Iterator<Item = EntryLocation> {
    let one = move |ledger_id, entry_id| EntryLocation {
        ledger_id,
        entry_id,
        location: ((round << 48) | (ledger_id << 24) | entry_id) + 1,
    };
    (0..ledgers).flat_map(move |ledger| (0..200).step_by(2).map(move |entry| one(ledger, entry)))
}

fn rows(index: &EntryLocationIndex) -> Vec<Row> {
    index.iter().unwrap().map(|entry| row(entry.unwrap())).collect()
}

/// RocksDB 7.8.3 finds these rows and no others, and its filters rule out keys that lie between them.
fn check_in_rocksdb(dir: &Path, layout: TableLayout, expected: &[Row], name: &str) {
    ldb::check_consistency(dir).unwrap_or_else(|error| panic!("{name}: {error}"));
    let db = RocksDb::open(dir, &bookie_options(layout)).unwrap();
    assert!(db.rows_forward().unwrap() == expected, "{name}");
    let mut backward = db.rows_backward().unwrap();
    backward.reverse();
    assert!(backward == expected, "{name}, backward");
    for (key, value) in expected.iter().step_by(11) {
        assert_eq!(db.get(key).unwrap().as_ref(), Some(value), "{name}");
    }
    let before = db.filters_useful();
    let mut absent = 0;
    for ledger in 0..50 {
        for entry in (1..199).step_by(2) {
            assert_eq!(db.get(&key(ledger, entry)).unwrap(), None, "{name}");
            absent += 1;
        }
    }
    let useful = db.filters_useful() - before;
    assert!(useful >= absent * 95 / 100, "{name}: {useful} of {absent} ruled out");
}

#[test]
fn what_the_index_wrote_is_read_equal_by_rocksdb_with_its_filters_in_use() {
    for layout in LAYOUTS {
        let dir = tempfile::tempdir().unwrap();
        let index = open(dir.path(), layout);
        for round in 0..3 {
            index.add_locations(entries(100 - 10 * round, round)).unwrap();
            (90..100)
                .filter(|ledger| ledger % 2 == 0)
                .for_each(|ledger| index.delete_ledger(ledger));
            index.remove_deleted().unwrap();
            if round < 2 {
                index.db().flush().unwrap();
            }
        }
        let expected = rows(&index);
        assert_eq!(expected.len(), 95 * 100);
        drop(index);
        // Tables of level 0 and a log; then one sorted level.
        let name = format!("{layout:?}");
        check_in_rocksdb(dir.path(), layout, &expected, &name);
        assert!(ldb::rows(dir.path(), "default").unwrap() == expected, "{name}");
        let index = open(dir.path(), layout);
        index.compact().unwrap();
        assert!(rows(&index) == expected, "{name}");
        drop(index);
        check_in_rocksdb(dir.path(), layout, &expected, &name);
        for compact in [false, true] {
            assert!(rocksdict::open_and_scan(dir.path(), compact).unwrap() == expected, "{name}");
        }
        assert!(rows(&open(dir.path(), layout)) == expected, "{name}");
    }
}

#[test]
fn a_bookies_directory_is_taken_over_in_place_and_given_back() {
    for (theirs, ours) in LAYOUTS.iter().flat_map(|theirs| LAYOUTS.map(|ours| (*theirs, ours))) {
        let name = format!("{theirs:?} to {ours:?}");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("locations");
        let mut db = RocksDb::open(&path, &bookie_options(theirs)).unwrap();
        for round in 0..3 {
            for entry in entries(60 + 5 * round, round) {
                let (key, value) = row(entry);
                db.apply(&Op::Put(key, value)).unwrap();
            }
            db.apply(&Op::DeleteRange(key(60 + round, 0), key(60 + round, i64::MAX))).unwrap();
            if round < 2 {
                db.flush().unwrap();
            }
        }
        let written = db.rows_forward().unwrap();
        // The last round is in the log only.
        drop(db);

        let index = open(&path, ours);
        assert!(rows(&index) == written, "{name}");
        assert_eq!(index.get_last_entry(3).unwrap(), 198);
        assert!(index.get_last_entry(62).unwrap_err().is_no_such_entry());
        assert_eq!(index.get_location(3, 4).unwrap(), Some(((2 << 48) | (3 << 24) | 4) + 1));
        index.add_locations(entries(70, 3)).unwrap();
        index.delete_ledger(69);
        index.remove_deleted().unwrap();
        index.db().flush().unwrap();
        let extended = rows(&index);
        assert_eq!(extended.len(), 69 * 100);
        drop(index);

        // Tables of both engines, and of both layouts, side by side.
        check_in_rocksdb(&path, theirs, &extended, &name);
        let mut db = RocksDb::open(&path, &bookie_options(theirs)).unwrap();
        db.apply(&Op::Put(key(1000, 0), 5i64.to_be_bytes().to_vec())).unwrap();
        db.flush().unwrap();
        let extended = db.rows_forward().unwrap();
        drop(db);

        let index = open(&path, ours);
        assert!(rows(&index) == extended, "{name}");
        index.compact().unwrap();
        assert!(rows(&index) == extended, "{name}");
        drop(index);
        check_in_rocksdb(&path, theirs, &extended, &name);
        assert!(rocksdict::open_and_scan(&path, true).unwrap() == extended, "{name}");
    }
}

/// Ledgers and entries that meet every border: negative ones, the greatest.
fn odd(random: &mut Random) -> (i64, i64) {
    let ledger = [0, 1, 2, 7, i64::MAX, i64::MIN, -1][random.below(7)];
    let entry = match random.below(8) {
        0 => [i64::MAX, i64::MAX - 1, i64::MIN, -1][random.below(4)],
        _ => random.below(40) as i64,
    };
    (ledger, entry)
}

#[test]
fn the_same_operations_come_to_the_same_rows_and_the_same_count() {
    let dir = tempfile::tempdir().unwrap();
    let mut theirs =
        RocksDb::open(&dir.path().join("theirs"), &bookie_options(TableLayout::Full)).unwrap();
    let index = open(&dir.path().join("ours"), TableLayout::Partitioned);
    let mut random = Random(11);
    let count = |db: &RocksDb| db.int_property("rocksdb.estimate-num-keys").unwrap();
    for i in 0..4000 {
        // In memory the counts are equal. What flushes leave out of tables is each engine's own affair.
        if i <= 1000 {
            assert_eq!(index.count().unwrap(), count(&theirs), "after {i} operations");
        }
        let (ledger_id, entry_id) = odd(&mut random);
        match random.below(100) {
            0..=79 => {
                let location = random.below(1 << 40) as i64;
                index.add_location(ledger_id, entry_id, location).unwrap();
                theirs
                    .apply(&Op::Put(key(ledger_id, entry_id), location.to_be_bytes().to_vec()))
                    .unwrap();
            }
            80..=94 => {
                let mut batch = index.new_batch();
                batch.remove(ledger_id, entry_id).unwrap();
                batch.flush().unwrap();
                theirs.apply(&Op::Delete(key(ledger_id, entry_id))).unwrap();
            }
            95 => {
                index.delete_ledger(ledger_id);
                index.remove_deleted().unwrap();
                let range = Op::DeleteRange(key(ledger_id, 0), key(ledger_id, i64::MAX));
                theirs.apply(&range).unwrap();
            }
            _ if i > 1000 && random.below(4) == 0 => {
                index.db().flush().unwrap();
                theirs.flush().unwrap();
            }
            _ => {}
        }
    }
    let expected = theirs.rows_forward().unwrap();
    assert!(rows(&index) == expected);
    assert!(expected.len() > 50, "{} rows", expected.len());
    for ledger in [0, 1, 2, 7, 3, i64::MAX, i64::MIN, -1] {
        // As BookKeeper looks for it: the last row below the greatest entry, if it is the ledger's.
        let end = key(ledger, i64::MAX);
        let below = expected.partition_point(|(key, _)| *key < end);
        let last = below.checked_sub(1).map(|at| &expected[at].0);
        let last = last.filter(|found| found[..8] == end[..8]);
        let last = last.map(|found| i64::from_be_bytes(found[8..].try_into().unwrap()));
        assert_eq!(index.get_last_entry(ledger).ok(), last, "{ledger}");
    }
}
