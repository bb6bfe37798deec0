//! Public bug reports, re-created.

use std::sync::Arc;

use partita::iter::Bounds;
use partita::key::KeyOrder;

use super::history::Write;
use super::sources::{Source, iterator, memtable, run};
use super::walks::options;

fn put(key: &str, value: &str) -> Write {
    Write::Put(key.into(), value.into())
}

fn merge(key: &str, operand: &str) -> Write {
    Write::Merge(key.into(), operand.into())
}

fn delete_range(start: &str, end: &str) -> Write {
    Write::DeleteRange(start.into(), end.into())
}

/// What a walk forward shows as of `read`, after a walk backward and seeks showed the same.
fn shown(sources: &[Source], read: usize) -> String {
    let mut iter = iterator(sources, options(&KeyOrder::Bytewise, read, Bounds::default()));
    let mut entries = Vec::new();
    iter.seek_to_first().unwrap();
    while iter.is_valid() {
        entries.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next().unwrap();
    }
    iter.seek_to_last().unwrap();
    for (key, value) in entries.iter().rev() {
        assert_eq!((iter.key(), iter.value()), (&key[..], &value[..]));
        iter.prev().unwrap();
    }
    assert!(!iter.is_valid());
    for (key, value) in &entries {
        iter.seek(key).unwrap();
        assert_eq!((iter.key(), iter.value()), (&key[..], &value[..]));
        iter.seek_for_prev(key).unwrap();
        assert_eq!((iter.key(), iter.value()), (&key[..], &value[..]));
    }
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let pair = |(key, value): &(Vec<u8>, Vec<u8>)| format!("{}={}", text(key), text(value));
    entries.iter().map(pair).collect::<Vec<_>>().join(" ")
}

fn level(run: super::sources::Run) -> Source {
    Source::Level(Arc::new(run))
}

/// cockroachdb/pebble#26, rocksdb#4432: a tombstone cut at a file border inside one user key uncovered the key, or
/// covered too much.
#[test]
fn a_tombstone_is_cut_between_two_versions_of_a_key() {
    let order = KeyOrder::Bytewise;
    let oldest = [put("b", "0"), put("c", "0"), put("cc", "0"), put("d", "0")];
    let writes =
        [put("a", "1"), put("c", "old"), put("d", "1"), put("c", "new"), delete_range("b", "d")];
    // Sorted: a 5 | c 8 || c 6 | d 7. The cut is before the third entry.
    let tables = || run(5, &writes, &order, &[2]);
    let below = || Source::Table(run(1, &oldest, &order, &[]));

    let one_level = vec![below(), level(tables())];
    let (first, second) = tables().split_at(1);
    let second_moved_down = vec![below(), level(second), level(first)];
    let (first, second) = tables().split_at(1);
    let together_with_below = vec![below(), Source::Table(second), Source::Table(first)];
    for sources in [one_level, second_moved_down, together_with_below] {
        assert_eq!(shown(&sources, 9), "a=1 d=1");
        assert_eq!(shown(&sources, 8), "a=1 b=0 c=new cc=0 d=1");
        assert_eq!(shown(&sources, 7), "a=1 b=0 c=old cc=0 d=1");
        assert_eq!(shown(&sources, 4), "b=0 c=0 cc=0 d=0");
    }
}

/// What the cut is for: an older tombstone that reaches over the end of its file must not hide what a neighbour has.
#[test]
fn a_tombstone_ends_with_its_file() {
    let order = KeyOrder::Bytewise;
    // The tombstone is written whole into both tables; the second was moved down and compacted, and its `x`, rewritten
    // with sequence number 0 as the oldest state, is no business of the first table's copy.
    let writes = [put("a", "1"), put("x", "1"), delete_range("b", "z")];
    let (first, _) = run(5, &writes, &order, &[1]).split_at(1);
    let below = Source::Table(run(1, &[put("x", "kept")], &order, &[]));
    assert_eq!(shown(&[below, level(first)], 9), "a=1 x=kept");
}

/// cockroachdb/pebble#1023: an empty start key was mistaken for no limit.
#[test]
fn a_range_delete_may_start_at_the_empty_key() {
    let order = KeyOrder::Bytewise;
    let keys = [put("", "0"), put("a", "0"), put("b", "0")];
    let deletes = [delete_range("", "b"), delete_range("b", "b"), delete_range("c", "b")];
    for make in [
        |first, writes: &[Write], order: &KeyOrder| {
            Source::MemTable(memtable(first, writes, order))
        },
        |first, writes: &[Write], order: &KeyOrder| Source::Table(run(first, writes, order, &[])),
        |first, writes: &[Write], order: &KeyOrder| level(run(first, writes, order, &[1, 2])),
    ] {
        let sources = [make(1, &keys, &order), make(4, &deletes, &order)];
        assert_eq!(shown(&sources, 9), "b=0");
        assert_eq!(shown(&sources[1..], 9), "");
        assert_eq!(shown(&sources, 3), "=0 a=0 b=0");
    }
}

/// cockroachdb/pebble#445: a delete between two operands must keep them apart.
#[test]
fn operands_do_not_reach_over_a_delete() {
    let order = KeyOrder::Bytewise;
    let writes = [merge("a", "1"), Write::Delete(b"a".to_vec()), merge("a", "5"), merge("a", "6")];
    for split in 0..=4 {
        let (older, newer) = writes.split_at(split);
        let sources = [
            Source::Table(run(1, older, &order, &[])),
            Source::MemTable(memtable(1 + split, newer, &order)),
        ];
        assert_eq!(shown(&sources, 9), "a=5,6");
        assert_eq!(shown(&sources, 3), "a=5");
        assert_eq!(shown(&sources, 2), "");
        assert_eq!(shown(&sources, 1), "a=1");
    }
}
