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
