//! What BookKeeper's index does, its surprises included. Marked *(run)*: seen with RocksDB itself.

use std::sync::Arc;

use partita::ErrorKind;
use partita::batch::WriteBatch;
use partita::db::WriteOptions;
use partita::io::{Clock, ManualClock, MemoryFileSystem, Unsynced};
use partita_ledger::{Error, IndexOptions};

use crate::support::{all, builder, flush, in_memory, ledger, location};

#[test]
fn an_absent_entry_has_no_location_and_a_stored_zero_is_told_from_it() {
    let (index, _) = in_memory();
    index.add_location(1, 0, 0).unwrap();
    assert_eq!(index.get_location(1, 0).unwrap(), Some(0));
    assert_eq!(index.get_location(1, 1).unwrap(), None);
    // A bookie cannot tell them apart.
    assert_eq!(
        index.get_location(1, 0).unwrap().unwrap_or(0),
        index.get_location(1, 1).unwrap().unwrap_or(0)
    );
}

#[test]
fn locations_are_sixty_four_bits_with_a_sign() {
    let (index, _) = in_memory();
    for value in [1, -1, i64::MAX, i64::MIN] {
        index.add_location(9, value, value).unwrap();
        assert_eq!(index.get_location(9, value).unwrap(), Some(value));
    }
}

#[test]
fn the_last_entry_is_the_greatest_wherever_it_lies() {
    let (index, _) = in_memory();
    index.add_location(40_312, 0, 1).unwrap();
    index.add_location(40_313, 10, 2).unwrap();
    flush(&index);
    index.add_location(40_313, 12, 6).unwrap();
    index.add_location(40_320, 1, 7).unwrap();
    assert_eq!(index.get_last_entry(40_313).unwrap(), 12);
    flush(&index);
    // A smaller entry that is newer does not count.
    index.add_location(40_313, 11, 5).unwrap();
    assert_eq!(index.get_last_entry(40_313).unwrap(), 12);
    assert_eq!(index.get_last_entry(40_312).unwrap(), 0);
}

#[test]
fn a_ledger_without_entries_between_others_has_no_last_entry() {
    let (index, _) = in_memory();
    for flushed in [false, true] {
        index.add_location(1, 5, 1).unwrap();
        index.add_location(3, 5, 1).unwrap();
        if flushed {
            flush(&index);
        }
        for absent in [0, 2, 4, -1, i64::MAX, i64::MIN] {
            let error = index.get_last_entry(absent).unwrap_err();
            assert!(matches!(error, Error::NoSuchEntry { ledger_id } if ledger_id == absent));
            assert_eq!(error.kind(), None);
        }
    }
}

#[test]
fn the_floor_is_strict_so_the_greatest_possible_entry_is_never_the_last() {
    let (index, _) = in_memory();
    index.add_location(7, i64::MAX, 1).unwrap();
    assert!(index.get_last_entry(7).unwrap_err().is_no_such_entry());
    index.add_location(7, i64::MAX - 1, 2).unwrap();
    assert_eq!(index.get_last_entry(7).unwrap(), i64::MAX - 1);
}

#[test]
fn negative_entries_sort_behind_all_others_and_are_never_the_last() {
    let (index, _) = in_memory();
    index.add_location(7, -1, 1).unwrap();
    assert!(index.get_last_entry(7).unwrap_err().is_no_such_entry());
    index.add_locations([location(7, 3, 2), location(7, i64::MIN, 3), location(7, 0, 4)]).unwrap();
    assert_eq!(index.get_last_entry(7).unwrap(), 3);
    let entries: Vec<i64> =
        index.entries(7).unwrap().map(|entry| entry.unwrap().entry_id).collect();
    assert_eq!(entries, [0, 3, i64::MIN, -1]);
}

#[test]
fn negative_ledgers_sort_behind_all_others_and_are_like_them() {
    let (index, _) = in_memory();
    let special = -0xeefd;
    index
        .add_locations([location(special, 4, 1), location(i64::MAX, 2, 2), location(-1, 9, 3)])
        .unwrap();
    assert_eq!(index.get_last_entry(special).unwrap(), 4);
    assert_eq!(index.get_last_entry(-1).unwrap(), 9);
    assert_eq!(all(&index), [(i64::MAX, 2, 2), (special, 4, 1), (-1, 9, 3)]);
    assert_eq!(index.entries(-1).unwrap().count(), 1);
    index.delete_ledger(-1);
    index.remove_deleted().unwrap();
    assert_eq!(index.entries(-1).unwrap().count(), 0);
}

#[test]
fn a_marked_ledger_keeps_its_entries_but_has_no_last_entry_at_once() {
    let (index, _) = in_memory();
    index.add_locations(ledger(40_313, 3)).unwrap();
    index.delete_ledger(40_313);
    assert!(index.get_last_entry(40_313).unwrap_err().is_no_such_entry());
    assert_eq!(index.get_location(40_313, 2).unwrap(), Some(40_313_000_003));
    assert_eq!(index.deleted_pending(), 1);
    let stats = index.stats();
    assert_eq!((stats.last_entries_of_deleted, stats.deleted_ledgers_pending), (1, 1));
    assert_eq!(stats.last_entries.failure().count(), 0);
}

#[test]
fn removing_takes_all_marked_ledgers_and_nothing_of_others() {
    let (index, _) = in_memory();
    let ledgers = 100;
    for entry in 0..20 {
        index
            .add_locations(
                (0..ledgers).map(|ledger| location(ledger, entry, 1 + entry * ledgers + ledger)),
            )
            .unwrap();
        if entry == 10 {
            flush(&index);
        }
    }
    let even = |ledger: &i64| ledger % 2 == 0;
    (0..ledgers).filter(even).for_each(|ledger| index.delete_ledger(ledger));
    let before = all(&index);
    assert_eq!(before.len() as i64, 20 * ledgers);
    assert_eq!(index.remove_deleted().unwrap() as i64, ledgers / 2);
    let left: Vec<_> = before.into_iter().filter(|(ledger, ..)| !even(ledger)).collect();
    assert_eq!(all(&index), left);
    for ledger in 0..ledgers {
        assert_eq!(index.get_last_entry(ledger).ok(), (!even(&ledger)).then_some(19));
    }
    // The marks are gone: the ledger may come again.
    index.add_location(0, 3, 5).unwrap();
    assert_eq!(index.get_last_entry(0).unwrap(), 3);
    assert_eq!(index.remove_deleted().unwrap(), 0);
}

#[test]
fn entries_that_are_added_after_the_mark_are_removed_with_the_others() {
    let (index, _) = in_memory();
    index.add_location(40_313, 10, 2).unwrap();
    index.delete_ledger(40_313);
    index
        .add_locations([location(40_313, 11, 5), location(40_313, 12, 6), location(40_312, 3, 4)])
        .unwrap();
    index.remove_deleted().unwrap();
    assert_eq!(index.entries(40_313).unwrap().count(), 0);
    assert_eq!(index.get_location(40_312, 3).unwrap(), Some(4));
}

#[test]
fn removing_leaves_negative_entries_and_the_greatest_possible_one() {
    let (index, _) = in_memory();
    let entries = [-1, i64::MIN, i64::MAX, i64::MAX - 1, 0];
    index.add_locations(entries.map(|entry| location(40_312, entry, 1))).unwrap();
    index.delete_ledger(40_312);
    index.remove_deleted().unwrap();
    let left: Vec<i64> =
        index.entries(40_312).unwrap().map(|entry| entry.unwrap().entry_id).collect();
    assert_eq!(left, [i64::MAX, i64::MIN, -1]);
    // Another removal is not held up by what is left, nor by a ledger that never was.
    index.delete_ledger(40_312);
    index.delete_ledger(5);
    assert_eq!(index.remove_deleted().unwrap(), 2);
}

#[test]
fn marks_are_kept_in_memory_only() {
    let (index, disk) = in_memory();
    index.add_location(7, 0, 1).unwrap();
    index.delete_ledger(7);
    drop(index);
    let index = builder(&disk, IndexOptions::new(8 << 20)).open().unwrap();
    assert_eq!(index.get_last_entry(7).unwrap(), 0);
    assert_eq!(index.remove_deleted().unwrap(), 0);
}

#[test]
fn marks_stay_if_removing_fails() {
    let (index, _) = in_memory();
    index.add_location(7, 0, 1).unwrap();
    index.delete_ledger(7);
    index.close().unwrap();
    assert_eq!(index.remove_deleted().unwrap_err().kind(), Some(ErrorKind::Closed));
    assert_eq!(index.deleted_pending(), 1);
}

#[test]
fn a_batch_writes_nothing_before_it_is_flushed_or_full() {
    let disk = Arc::new(MemoryFileSystem::new());
    let options = IndexOptions { batch_operations_max: 3, ..IndexOptions::new(8 << 20) };
    let index = builder(&disk, options).open().unwrap();
    let mut batch = index.new_batch();
    batch.add(1, 0, 10).unwrap();
    batch.remove(1, 5).unwrap();
    assert_eq!(index.get_location(1, 0).unwrap(), None);
    // Puts, removals and range removals count one each; the third fills it.
    batch.remove_ledger(2).unwrap();
    assert_eq!((index.get_location(1, 0).unwrap(), batch.operations()), (Some(10), 0));
    batch.add(1, 1, 11).unwrap();
    drop(batch);
    assert_eq!(index.get_location(1, 1).unwrap(), None);
}

#[test]
fn a_flushed_batch_keeps_its_changes_and_a_second_flush_writes_them_again() {
    let (index, _) = in_memory();
    let mut batch = index.new_batch();
    batch.add(1, 0, 10).unwrap();
    batch.flush().unwrap();
    assert_eq!(batch.operations(), 1);
    index.add_location(1, 0, 20).unwrap();
    batch.flush().unwrap();
    assert_eq!(index.get_location(1, 0).unwrap(), Some(10));
    index.add_location(1, 0, 20).unwrap();
    batch.clear();
    batch.flush().unwrap();
    assert_eq!((index.get_location(1, 0).unwrap(), batch.operations()), (Some(20), 0));
}

#[test]
fn the_count_of_a_flushed_batch_goes_on_so_that_it_is_full_sooner() {
    let disk = Arc::new(MemoryFileSystem::new());
    let options = IndexOptions { batch_operations_max: 2, ..IndexOptions::new(8 << 20) };
    let index = builder(&disk, options).open().unwrap();
    let mut batch = index.new_batch();
    batch.add(1, 0, 10).unwrap();
    batch.flush().unwrap();
    let batches = || index.db().stats().writes.batches;
    let before = batches();
    batch.add(1, 1, 11).unwrap();
    assert_eq!((batches() - before, batch.operations()), (1, 0));
    assert_eq!(index.get_location(1, 1).unwrap(), Some(11));
}

#[test]
fn locations_are_written_in_batches_of_a_hundred_thousand_each_synced() {
    let (index, _) = in_memory();
    let before = index.db().stats().writes;
    index.add_locations(ledger(1, 250_000)).unwrap();
    let writes = index.db().stats().writes;
    assert_eq!((writes.batches - before.batches, writes.log_syncs - before.log_syncs), (3, 3));
    assert_eq!(index.get_last_entry(1).unwrap(), 249_999);
}

#[test]
fn moved_entries_have_their_new_locations_only() {
    let (index, _) = in_memory();
    index.add_locations(ledger(1, 100)).unwrap();
    flush(&index);
    index
        .update_locations(
            (0..100).filter(|entry| entry % 3 == 0).map(|entry| location(1, entry, -entry)),
        )
        .unwrap();
    for (_, entry, location) in all(&index) {
        let expected = if entry % 3 == 0 { -entry } else { 1_000_000 + entry + 1 };
        assert_eq!(location, expected);
    }
    assert_eq!(all(&index).len(), 100);
}

#[test]
fn what_was_flushed_survives_a_power_cut_and_what_was_only_written_does_after_sync() {
    for sync in [false, true] {
        let (index, disk) = in_memory();
        index.add_location(1, 0, 10).unwrap();
        let key = [[0, 0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 0, 1]].concat();
        index.db().put(&key, &7i64.to_be_bytes()).unwrap();
        let seqno = index.db().visible_seqno();
        if sync {
            index.sync().unwrap();
            // It takes no sequence number (run).
            assert_eq!(index.db().visible_seqno(), seqno);
        }
        let after = Arc::new(disk.after_crash(Unsynced::Lost));
        let index = builder(&after, IndexOptions::new(8 << 20)).open().unwrap();
        assert_eq!(index.get_location(1, 0).unwrap(), Some(10));
        assert_eq!(index.get_location(1, 1).unwrap(), sync.then_some(7));
    }
}

#[test]
fn the_count_starts_exact_and_a_range_deletion_adds_one() {
    let (index, _) = in_memory();
    assert_eq!(index.count().unwrap(), 0);
    index.add_location(1, 0, 1).unwrap();
    assert_eq!(index.count().unwrap(), 1);
    index.add_location(1, 1, 1).unwrap();
    assert_eq!(index.count().unwrap(), 2);
    // Overwritten, it counts twice; a range deletion counts one (run); a deletion takes two.
    index.add_location(1, 1, 2).unwrap();
    index.delete_ledger(9);
    index.remove_deleted().unwrap();
    assert_eq!(index.count().unwrap(), 4);
    let mut batch = index.new_batch();
    (0..9).for_each(|entry| batch.remove(1, entry).unwrap());
    batch.flush().unwrap();
    assert_eq!(index.count().unwrap(), 0);
    assert_eq!(index.stats().entries_estimate, Some(0));
}

#[test]
fn the_count_of_flushed_entries_is_positive() {
    let (index, _) = in_memory();
    index.add_locations(ledger(1, 1000)).unwrap();
    flush(&index);
    assert_eq!(index.count().unwrap(), 1000);
}

#[test]
fn a_walk_shows_its_ledger_in_order_as_it_was_when_it_began() {
    let (index, _) = in_memory();
    index
        .add_locations([ledger(1, 300), ledger(2, 300), ledger(3, 300)].into_iter().flatten())
        .unwrap();
    flush(&index);
    let mut entries = index.entries(2).unwrap();
    assert_eq!(entries.next().unwrap().unwrap(), location(2, 0, 2_000_001));
    index.delete_ledger(2);
    index.remove_deleted().unwrap();
    index.close().unwrap();
    // Nobody waits for open walks, and they go on.
    let rest: Vec<_> = entries.by_ref().map(|entry| entry.unwrap().entry_id).collect();
    assert_eq!(rest, (1..300).collect::<Vec<_>>());
    assert!(entries.next().is_none());
    assert_eq!(index.entries(2).unwrap().count(), 0);
}

/// Puts any bytes as key and value.
fn put(index: &partita_ledger::EntryLocationIndex, key: &[u8], value: &[u8]) {
    let mut batch = WriteBatch::new();
    batch.put(key, value).unwrap();
    index.db().write(batch, &WriteOptions::default()).unwrap();
}

#[test]
fn a_value_of_another_length_is_an_error_that_names_the_entry() {
    let (index, _) = in_memory();
    index.add_location(1, 0, 10).unwrap();
    for len in [0, 7, 9] {
        let key = [1i64.to_be_bytes(), 1i64.to_be_bytes()].concat();
        put(&index, &key, &vec![0; len]);
        let error = index.get_location(1, 1).unwrap_err();
        assert_eq!(error.kind(), Some(ErrorKind::Corruption));
        assert!(error.to_string().contains("entry 1 of ledger 1"), "{error}");
    }
    // Others are not touched by it; a walk ends there.
    assert_eq!(index.get_location(1, 0).unwrap(), Some(10));
    let mut walk = index.entries(1).unwrap();
    assert!(walk.next().unwrap().is_ok());
    assert!(walk.next().unwrap().is_err());
    assert!(walk.next().is_none());
    assert_eq!(index.stats().lookups.failed.count(), 3);
}

#[test]
fn a_key_of_another_length_is_an_error_where_it_is_met() {
    let (index, _) = in_memory();
    index.add_location(1, 5, 10).unwrap();
    put(&index, &1i64.to_be_bytes(), &[0; 8]);
    // Eight bytes sort before all entries of their ledger.
    assert_eq!(index.get_last_entry(1).unwrap(), 5);
    assert!(index.entries(1).unwrap().next().unwrap().is_err());
    put(&index, &[&1i64.to_be_bytes()[..], &6i64.to_be_bytes(), b"x"].concat(), &[0; 8]);
    assert_eq!(index.get_last_entry(1).unwrap_err().kind(), Some(ErrorKind::Corruption));
}

#[test]
fn a_damaged_block_is_an_error_and_not_the_end_of_the_data() {
    let dir = tempfile::tempdir().unwrap();
    let open = || partita_ledger::IndexBuilder::new(dir.path(), IndexOptions::new(8 << 20)).open();
    let index = open().unwrap();
    index.add_locations(ledger(1, 1000)).unwrap();
    flush(&index);
    index.close().unwrap();
    drop(index);
    let table = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|extension| extension == "sst"))
        .unwrap();
    let mut bytes = std::fs::read(&table).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&table, bytes).unwrap();
    let index = open().unwrap();
    for error in [
        index.get_last_entry(1).unwrap_err(),
        index.get_location(1, 3).unwrap_err(),
        index.entries(1).unwrap().next().unwrap().unwrap_err(),
    ] {
        assert_eq!(error.kind(), Some(ErrorKind::Corruption), "{error}");
    }
    let stats = index.stats();
    assert_eq!((stats.lookups.failed.count(), stats.last_entries.failed.count()), (1, 1));
}

#[test]
fn an_index_that_is_open_to_be_read_changes_nothing_and_refuses_writes() {
    let (index, disk) = in_memory();
    index.add_location(1, 0, 10).unwrap();
    // While somebody else has it open.
    let reader = builder(&disk, IndexOptions::new(8 << 20)).open_read_only().unwrap();
    assert_eq!(reader.get_location(1, 0).unwrap(), Some(10));
    assert_eq!(reader.get_last_entry(1).unwrap(), 0);
    assert_eq!(reader.add_location(1, 1, 1).unwrap_err().kind(), Some(ErrorKind::ReadOnly));
    assert_eq!(reader.compact().unwrap_err().kind(), Some(ErrorKind::ReadOnly));
}

#[test]
fn one_process_has_an_index_open_to_write() {
    let (index, disk) = in_memory();
    let second = builder(&disk, IndexOptions::new(8 << 20)).open();
    assert_eq!(second.unwrap_err().kind(), Some(ErrorKind::Busy));
    index.close().unwrap();
    assert_eq!(index.add_location(1, 0, 1).unwrap_err().kind(), Some(ErrorKind::Closed));
    drop(index);
    builder(&disk, IndexOptions::new(8 << 20)).open().unwrap();
}

#[test]
fn latencies_are_taken_from_the_builders_clock() {
    let disk = Arc::new(MemoryFileSystem::new());
    let clock = Arc::new(ManualClock::at_unix_micros(1));
    let dyn_clock: Arc<dyn Clock> = Arc::clone(&clock) as _;
    let index = builder(&disk, IndexOptions::new(8 << 20)).clock(dyn_clock).open().unwrap();
    index.add_location(1, 0, 10).unwrap();
    index.get_location(1, 0).unwrap();
    let stats = index.stats();
    assert_eq!((stats.lookups.found.count(), stats.lookups.found.max_nanos()), (1, 0));
}

#[test]
fn keys_in_another_order_are_refused() {
    use partita::db::{DbBuilder, FamilyConfig};
    use partita::io::FileSystem;
    use partita::options::{ColumnFamilyOptions, DbOptions};
    let disk = Arc::new(MemoryFileSystem::new());
    let fs: Arc<dyn FileSystem> = Arc::clone(&disk) as _;
    let mut options = ColumnFamilyOptions::default();
    options.set("comparator", "rocksdb.ReverseBytewiseComparator").unwrap();
    DbBuilder::new("/current/locations")
        .file_system(fs)
        .options(DbOptions { create_if_missing: true, ..DbOptions::default() })
        .family("default", FamilyConfig { options: Some(options), ..FamilyConfig::default() })
        .open()
        .unwrap();
    let error = builder(&disk, IndexOptions::new(8 << 20)).open_read_only().unwrap_err();
    assert_eq!(error.kind(), Some(ErrorKind::InvalidArgument), "{error}");
}
