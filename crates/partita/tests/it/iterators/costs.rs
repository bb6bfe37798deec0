//! What iterators do not do: step over what they can know to be of no use.

use std::sync::Arc;

use partita::iter::Bounds;
use partita::key::KeyOrder;

use super::history::Write;
use super::sources::{Source, iterator, memtable, run};
use super::walks::options;

const ORDER: KeyOrder = KeyOrder::Bytewise;

fn puts(count: u32) -> Vec<Write> {
    (0..count).map(|n| Write::Put(n.to_be_bytes().to_vec(), b"v".to_vec())).collect()
}

fn delete_range(start: u32, end: u32) -> Write {
    Write::DeleteRange(start.to_be_bytes().to_vec(), end.to_be_bytes().to_vec())
}

#[test]
fn covered_stretches_of_older_sources_are_jumped_over() {
    let below = Source::Level(Arc::new(run(1, &puts(3000), &ORDER, &[1000, 2000])));
    // Wide, with many others over it.
    let mut deletes = vec![delete_range(10, 2990)];
    deletes.extend((20..1000).map(|n| delete_range(n, 2 * n)));
    let above = Source::MemTable(memtable(3001, &deletes, &ORDER));
    let sources = [below, above];
    let mut iter = iterator(&sources, options(&ORDER, 9000, Bounds::default()));
    iter.seek_to_first().unwrap();
    let mut count = 0;
    while iter.is_valid() {
        count += 1;
        iter.next().unwrap();
    }
    assert_eq!(count, 20);
    assert!(
        iter.inner().hidden_entries() <= 3,
        "{} entries looked at",
        iter.inner().hidden_entries()
    );
    assert!(iter.inner().jumps() >= 1);

    let before = iter.inner().hidden_entries();
    iter.seek(&500u32.to_be_bytes()).unwrap();
    assert_eq!(iter.key(), 2990u32.to_be_bytes());
    assert_eq!(iter.inner().hidden_entries(), before, "the seek itself goes behind the stretch");
    iter.prev().unwrap();
    assert_eq!(iter.key(), 9u32.to_be_bytes());
    iter.seek_for_prev(&500u32.to_be_bytes()).unwrap();
    assert_eq!(iter.key(), 9u32.to_be_bytes());
    assert!(iter.inner().hidden_entries() <= before + 4);
}

/// Each ledger of a bookie is deleted by a tombstone of its own; they adjoin, wherever they are by now.
#[test]
fn tombstones_of_all_sources_that_adjoin_are_crossed_by_one_seek() {
    const COUNT: u32 = 20_000;
    let below = Source::Level(Arc::new(run(1, &puts(COUNT), &ORDER, &[5000, 10_000, 15_000])));
    let other = Source::Table(run(COUNT as usize + 1, &puts(COUNT), &ORDER, &[]));
    let each = |from: u32| {
        (from..COUNT - 10).step_by(3).map(|n| delete_range(n, n + 1)).collect::<Vec<_>>()
    };
    let first = 2 * COUNT as usize + 1;
    let level = Source::Level(Arc::new(run(first, &each(10), &ORDER, &[])));
    let table = Source::Table(run(first + COUNT as usize, &each(11), &ORDER, &[]));
    let memtable = memtable(first + 2 * COUNT as usize, &each(12), &ORDER);
    let sources = [below, other, level, table, Source::MemTable(memtable)];
    let mut iter = iterator(&sources, options(&ORDER, 10 * COUNT as usize, Bounds::default()));
    let mut shown = Vec::new();
    iter.seek_to_first().unwrap();
    while iter.is_valid() {
        shown.extend(iter.key().first_chunk().map(|key| u32::from_be_bytes(*key)));
        iter.next().unwrap();
    }
    assert_eq!(shown, (0..10).chain(COUNT - 10..COUNT).collect::<Vec<_>>());
    assert_eq!((iter.inner().jumps(), iter.inner().hidden_entries()), (2, 2));
    iter.seek_to_last().unwrap();
    while iter.is_valid() {
        assert_eq!(shown.pop(), iter.key().first_chunk().map(|key| u32::from_be_bytes(*key)));
        iter.prev().unwrap();
    }
    assert_eq!((iter.inner().jumps(), iter.inner().hidden_entries()), (4, 4));
    // Seeks go behind it at once.
    for n in (10..COUNT - 10).step_by(1000) {
        iter.seek(&n.to_be_bytes()).unwrap();
        assert_eq!(iter.key(), (COUNT - 10).to_be_bytes());
        iter.seek_for_prev(&n.to_be_bytes()).unwrap();
        assert_eq!(iter.key(), 9u32.to_be_bytes());
    }
    assert_eq!(iter.inner().hidden_entries(), 4);

    // What is covered up to a bound and beyond is left alone.
    let bounds = Bounds::half_open(Some(&50u32.to_be_bytes()), Some(&900u32.to_be_bytes()));
    let mut iter = iterator(&sources, options(&ORDER, 10 * COUNT as usize, bounds));
    for _ in 0..2 {
        iter.seek_to_first().unwrap();
        assert!(!iter.is_valid());
        iter.seek_to_last().unwrap();
        assert!(!iter.is_valid());
    }
    assert!(iter.inner().hidden_entries() <= 8, "{}", iter.inner().hidden_entries());
}

#[test]
fn nothing_beyond_a_bound_is_passed_over() {
    let mut writes = puts(1000);
    writes.push(delete_range(10, 990));
    let sources = [Source::MemTable(memtable(1, &writes, &ORDER))];
    let bounds = Bounds::half_open(Some(&900u32.to_be_bytes()), Some(&920u32.to_be_bytes()));
    let mut iter = iterator(&sources, options(&ORDER, 9000, bounds));
    iter.seek_to_first().unwrap();
    assert!(!iter.is_valid());
    iter.seek_to_last().unwrap();
    assert!(!iter.is_valid());
    assert_eq!(iter.inner().hidden_entries(), 40);
}

#[test]
fn many_versions_of_a_key_are_passed_by_a_seek() {
    let mut writes = vec![Write::Put(b"a".to_vec(), b"0".to_vec())];
    writes.extend((0..2000).map(|n: u32| Write::Put(b"b".to_vec(), n.to_be_bytes().to_vec())));
    writes.push(Write::Put(b"c".to_vec(), b"0".to_vec()));
    let sources = [Source::MemTable(memtable(1, &writes, &ORDER))];
    let total = |read: usize, steps: &[&str]| {
        let mut iter = iterator(&sources, options(&ORDER, read, Bounds::default()));
        let mut keys = String::new();
        for step in steps {
            match *step {
                "first" => iter.seek_to_first(),
                "last" => iter.seek_to_last(),
                "next" => iter.next(),
                _ => iter.prev(),
            }
            .unwrap();
            keys.extend(iter.key().iter().map(|byte| char::from(*byte)));
        }
        let skipped = iter.skipped();
        assert!(skipped.seeks > 0);
        assert!(skipped.newer + skipped.older < 100, "{skipped:?}");
        keys
    };
    assert_eq!(total(1000, &["first", "next", "prev", "next", "next"]), "abab");
    assert_eq!(total(2002, &["first", "next", "next", "prev", "prev", "next"]), "abcbab");
    assert_eq!(total(2002, &["last", "prev", "prev", "next"]), "cbab");
    assert_eq!(total(1000, &["last", "prev", "next"]), "bab");
}
