//! Compactions of the whole index, by hand and by interval.

use std::sync::Arc;
use std::time::{Duration, Instant};

use partita::io::{Clock, ManualClock, MemoryFileSystem};
use partita_ledger::IndexOptions;

use crate::support::{all, builder, flush, in_memory, ledger};

#[test]
fn compacting_drops_what_was_removed_and_keeps_the_rest() {
    let (index, _) = in_memory();
    for ledger_id in 0..10 {
        index.add_locations(ledger(ledger_id, 2000)).unwrap();
        flush(&index);
    }
    (0..9).for_each(|ledger| index.delete_ledger(ledger));
    index.remove_deleted().unwrap();
    let before = all(&index);
    assert_eq!(before.len(), 2000);
    assert!(!index.is_compacting());
    let done = index.compact().unwrap();
    assert!(!index.is_compacting());
    assert!(done.bytes_after < done.bytes_before / 2, "{done:?}");
    assert_eq!(done.files_after, 1);
    assert_eq!(all(&index), before);
    // Nothing is left of the removed ledgers, not even what removed them.
    assert_eq!(index.count().unwrap(), 2000);
    let stats = index.stats().compactions;
    assert_eq!((stats.completed, stats.failed, stats.last), (1, 0, Some(done)));
}

#[test]
fn an_index_can_be_read_and_written_while_it_is_compacted() {
    let (index, _) = in_memory();
    let index = &index;
    index.add_locations(ledger(1, 50_000)).unwrap();
    flush(index);
    std::thread::scope(|scope| {
        let compacts = scope.spawn(move || index.compact().unwrap());
        let mut entry = 0;
        while !compacts.is_finished() || entry < 100 {
            index.add_location(2, entry, entry + 1).unwrap();
            assert_eq!(index.get_last_entry(2).unwrap(), entry);
            assert_eq!(
                index.get_location(1, entry % 50_000).unwrap(),
                Some(1_000_001 + entry % 50_000)
            );
            entry += 1;
        }
    });
    assert_eq!(index.get_last_entry(1).unwrap(), 49_999);
}

#[test]
fn it_is_due_after_the_interval_and_put_off_by_it() {
    let disk = Arc::new(MemoryFileSystem::new());
    let clock = Arc::new(ManualClock::at_unix_micros(1));
    let hour = Duration::from_secs(3600);
    let options = IndexOptions { compaction_interval: Some(hour), ..IndexOptions::new(8 << 20) };
    let dyn_clock: Arc<dyn Clock> = Arc::clone(&clock) as _;
    let index = builder(&disk, options).clock(dyn_clock).open().unwrap();
    index.add_locations(ledger(1, 100)).unwrap();
    assert_eq!(index.compact_if_due().unwrap(), None);
    clock.advance(hour - Duration::from_nanos(1));
    assert_eq!(index.compact_if_due().unwrap(), None);
    clock.advance(hour + Duration::from_nanos(1));
    // The thread of the index may be first.
    index.compact_if_due().unwrap();
    let begun = std::time::Instant::now();
    while index.is_compacting() || index.stats().compactions.completed == 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "nobody compacts");
        std::thread::yield_now();
    }
    assert_eq!(index.compact_if_due().unwrap(), None);
    index.close().unwrap();
    assert_eq!(index.stats().compactions.completed, 1);
}

#[test]
fn without_an_interval_it_is_never_due() {
    let (index, _) = in_memory();
    index.add_locations(ledger(1, 100)).unwrap();
    assert_eq!(index.compact_if_due().unwrap(), None);
}

#[test]
fn a_thread_compacts_by_interval_until_the_index_is_closed() {
    let disk = Arc::new(MemoryFileSystem::new());
    let interval = Some(Duration::from_millis(1));
    let options = IndexOptions { compaction_interval: interval, ..IndexOptions::new(8 << 20) };
    let index = builder(&disk, options).open().unwrap();
    index.add_locations(ledger(1, 100)).unwrap();
    let give_up = Instant::now() + Duration::from_secs(60);
    while index.stats().compactions.completed < 3 {
        assert!(Instant::now() < give_up, "{:?}", index.stats().compactions);
        std::thread::sleep(Duration::from_millis(1));
    }
    index.close().unwrap();
    let completed = index.stats().compactions.completed;
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(index.stats().compactions.completed, completed);
    assert_eq!(all(&index).len(), 100);
}
