//! Directories that RocksDB made, directories of both layouts, and indexes that are opened again.

use std::path::Path;

use partita_ledger::{EntryLocationIndex, IndexBuilder, IndexOptions, TableLayout};
use partita_testkit::golden;

use crate::support::{all, flush, layouts, ledger};

/// Opens an index that is compacted by hand only, so that its tables stay what they are until then.
fn open(dir: &Path, layout: TableLayout) -> EntryLocationIndex {
    let mut options = IndexOptions::new(8 << 20);
    options.family.disable_auto_compactions = true;
    layout.apply(&mut options.family.table);
    IndexBuilder::new(dir, options).open().unwrap()
}

fn number(bytes: &[u8]) -> i64 {
    i64::from_be_bytes(bytes.try_into().unwrap())
}

/// The rows of a golden database as entries.
fn expected(db: &golden::GoldenDb) -> Vec<(i64, i64, i64)> {
    let rows = db.expected("default");
    rows.iter().map(|(key, value)| (number(&key[..8]), number(&key[8..]), number(value))).collect()
}

#[test]
fn bookies_directories_by_rocksdb_open_in_place_and_are_switched_to_the_other_layout() {
    for (name, layout) in [
        ("locations-full-filter", TableLayout::Partitioned),
        ("locations-partitioned", TableLayout::Full),
    ] {
        let db = golden::get(name);
        let dir = db.path();
        let entries = expected(&db);
        let reader = IndexBuilder::new(&dir, IndexOptions::new(8 << 20)).open_read_only().unwrap();
        assert!(all(&reader) == entries, "{name}");

        // Tables of both kinds stand side by side.
        let index = open(&dir, layout);
        check(&index, &entries, name);
        index.add_locations(ledger(1 << 40, 500)).unwrap();
        flush(&index);
        let (partitioned, full) = layouts(&dir);
        assert!(partitioned > 0 && full > 0, "{name}: {partitioned} {full}");
        let more = ledger(1 << 40, 500).map(crate::support::triple);
        let mut entries: Vec<_> = entries.into_iter().chain(more).collect();
        entries.sort_unstable_by_key(|(ledger, entry, _)| (*ledger as u64, *entry as u64));
        check(&index, &entries, name);

        index.compact().unwrap();
        check(&index, &entries, name);
        drop(index);
        let index = open(&dir, layout);
        check(&index, &entries, name);
        let (partitioned, full) = layouts(&dir);
        match layout {
            TableLayout::Partitioned => assert!(partitioned > 0 && full == 0, "{name}"),
            TableLayout::Full => assert!(full > 0 && partitioned == 0, "{name}"),
        }
    }
}

/// Every entry by lookup and by walk, the last of each ledger, and keys between.
fn check(index: &EntryLocationIndex, entries: &[(i64, i64, i64)], name: &str) {
    assert!(all(index) == entries, "{name}");
    for chunk in entries.chunk_by(|(a, ..), (b, ..)| a == b) {
        let (ledger, last, _) = chunk[chunk.len() - 1];
        assert_eq!(index.get_last_entry(ledger).unwrap(), last, "{name}: {ledger}");
        assert_eq!(index.get_location(ledger, last + 1).unwrap(), None, "{name}: {ledger}");
        for (_, entry, location) in chunk.iter().step_by(7) {
            assert_eq!(index.get_location(ledger, *entry).unwrap(), Some(*location), "{name}");
        }
    }
}

#[test]
fn an_index_is_the_same_after_it_was_opened_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut entries = Vec::new();
    for round in 0..4 {
        let layout = if round % 2 == 0 { TableLayout::Full } else { TableLayout::Partitioned };
        let index = open(dir.path(), layout);
        check(&index, &entries, "before");
        index.add_locations(ledger(round, 3000)).unwrap();
        index.add_location(0, round, round + 77).unwrap();
        if round == 2 {
            index.delete_ledger(1);
            index.remove_deleted().unwrap();
        }
        if round % 2 == 1 {
            flush(&index);
        }
        entries = all(&index);
    }
    assert_eq!(entries.len(), 9000);
    assert_eq!(entries[2], (0, 2, 79));
    check(&open(dir.path(), TableLayout::Partitioned), &entries, "after");
}

#[test]
fn a_directory_that_was_built_by_the_default_profile_goes_on_under_the_other() {
    use partita::io::DiskFileSystem;
    use partita_ledger::{BookieConf, Profile, SettingsReport};
    let dir = tempfile::tempdir().unwrap();
    let mut entries = Vec::new();
    for (ledger_id, profile) in [(1, Profile::Default), (2, Profile::EntryLocation)] {
        let conf = BookieConf::parse("entryLocationRocksdbConf=\ndefaultRocksdbConf=\n");
        let report = SettingsReport::read(&conf, profile, 1 << 30, &DiskFileSystem).unwrap();
        let index = IndexBuilder::new(dir.path(), report.into_result().unwrap()).open().unwrap();
        check(&index, &entries, "before");
        index.add_locations(ledger(ledger_id, 2000)).unwrap();
        index.add_location(1, 5, 99).unwrap();
        flush(&index);
        entries = all(&index);
    }
    assert_eq!((entries.len(), entries[5]), (4000, (1, 5, 99)));
}
