use super::*;
use crate::error::ErrorKind;
use crate::iter::InternalIterator;
use crate::key::InternalKey;
use crate::merge::StringAppend;

fn seqno(n: u64) -> SeqNo {
    SeqNo::new(n).unwrap()
}

fn memtable(filter: Option<MemTableFilter>) -> Arc<MemTable> {
    let options = MemTableOptions { filter, oldest_log: 12, ..MemTableOptions::default() };
    Arc::new(MemTable::new(options).unwrap())
}

fn verdict<'m>(memtable: &'m MemTable, key: &[u8], at: u64) -> Verdict<'m> {
    memtable.get(&LookupKey::new(key, seqno(at)), &mut VersionWalk::default()).unwrap()
}

/// rocksdb#9453: a filter that knows no entry of a key hid the range delete over it.
#[test]
fn a_filter_does_not_hide_range_deletes() {
    let whole = MemTableFilter { size_bytes: 4096, whole_keys: true, prefix_extractor: None };
    let prefix = MemTableFilter {
        size_bytes: 4096,
        whole_keys: false,
        prefix_extractor: Some(crate::key::PrefixExtractor::Fixed(1)),
    };
    for filter in [None, Some(whole), Some(prefix)] {
        let memtable = memtable(filter);
        let mut hint = InsertHint::default();
        memtable.writer(&mut hint).delete_range(seqno(5), b"b", b"y").unwrap();
        for letter in b'a'..=b'z' {
            let covered = (b'b'..b'y').contains(&letter);
            let expected = if covered { Verdict::Absent } else { Verdict::Continue };
            assert_eq!(verdict(&memtable, &[letter], 9), expected);
            assert_eq!(verdict(&memtable, &[letter], 4), Verdict::Continue);
        }
    }
}

#[test]
fn versions_are_taken_up_to_the_base() {
    let memtable = memtable(None);
    let mut hint = InsertHint::default();
    let mut writer = memtable.writer(&mut hint);
    writer.insert(seqno(1), ValueType::Value, b"k", b"hidden").unwrap();
    writer.delete_range(seqno(2), b"k", b"l").unwrap();
    writer.insert(seqno(3), ValueType::Merge, b"k", b"a").unwrap();
    writer.insert(seqno(4), ValueType::Merge, b"k", b"b").unwrap();
    writer.insert(seqno(4), ValueType::Merge, b"other", b"b").unwrap();
    drop(writer);
    let mut walk = VersionWalk::default();
    let found = memtable.get(&LookupKey::new(b"k", seqno(9)), &mut walk).unwrap();
    assert_eq!(found, Verdict::Absent);
    let mut out = Vec::new();
    walk.merge(Some(&StringAppend::new(*b",")), b"k", None, &mut out).unwrap();
    assert_eq!(out, b"a,b");
    assert_eq!(verdict(&memtable, b"k", 1), Verdict::Base(b"hidden"));
    assert_eq!(verdict(&memtable, b"other", 9), Verdict::Continue);
}

#[test]
fn what_was_written_is_counted() {
    let memtable = memtable(None);
    assert!(memtable.is_empty() && memtable.seqno_range().is_none());
    let mut hint = InsertHint::default();
    let mut writer = memtable.writer(&mut hint);
    writer.insert(seqno(7), ValueType::Value, b"key", b"value").unwrap();
    writer.insert(seqno(5), ValueType::SingleDeletion, b"k", b"").unwrap();
    writer.delete_range(seqno(9), b"a", b"b").unwrap();
    writer.delete_range(seqno(10), b"b", b"b").unwrap();
    drop(writer);
    let expected =
        MemTableStats { entries: 2, deletions: 1, range_deletions: 1, data_bytes: 3 + 5 + 1 + 2 };
    assert_eq!(memtable.stats(), expected);
    assert_eq!(memtable.seqno_range(), Some((seqno(5), seqno(9))));
    assert!(!memtable.is_empty());
    assert_eq!(memtable.oldest_log(), 12);
    assert_eq!(memtable.range_tombstones().len(), 1);
    assert!(memtable.memory_bytes() >= 4096 && memtable.memory_bytes() < 10_000);
}

#[test]
fn a_duplicate_is_refused_and_leaves_everything_as_it_was() {
    let memtable = memtable(None);
    let mut hint = InsertHint::default();
    let mut writer = memtable.writer(&mut hint);
    for n in 0..50u8 {
        writer.insert(seqno(1), ValueType::Value, &[n / 10, n], b"first").unwrap();
    }
    for n in (0..50u8).rev() {
        let again = writer.insert(seqno(1), ValueType::Deletion, &[n / 10, n], b"");
        assert_eq!(again.unwrap_err().kind(), ErrorKind::InvalidArgument);
        writer.insert(seqno(2), ValueType::Value, &[n / 10, n], b"second").unwrap();
    }
    let refused = writer.insert(seqno(3), ValueType::RangeDeletion, b"", b"");
    assert_eq!(refused.unwrap_err().message(), "range-delete is no point entry");
    drop(writer);
    assert_eq!(memtable.stats().entries, 100);
    let mut iter = memtable.iter();
    iter.seek_to_first().unwrap();
    for n in 0..50u8 {
        for (at, value) in [(2, &b"second"[..]), (1, b"first")] {
            let key = InternalKey::new(&[n / 10, n], seqno(at), ValueType::Value).encode();
            assert_eq!((iter.key(), iter.value()), (&key[..], value));
            iter.next().unwrap();
        }
    }
    assert!(!iter.is_valid() && iter.key().is_empty());
}

#[test]
fn a_target_that_is_no_internal_key_is_the_callers_mistake() {
    let mut iter = memtable(None).iter();
    assert_eq!(iter.seek(b"short").unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(iter.seek_for_prev(b"").unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn entries_inserted_together_stand_where_single_ones_do() {
    let mut state = 7u64;
    let mut random = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    // Runs of neighbours, near and far, and keys that come again: more than is searched for one by one.
    let mut keys: Vec<Vec<u8>> = Vec::new();
    while keys.len() < 30_000 {
        let (start, run) = (((random() % 1_000) << 32) | (random() % 5_000), random() % 12 + 1);
        keys.extend((start..start + run).map(|key| key.to_be_bytes().to_vec()));
        keys.push(vec![random() as u8; random() as usize % 4]);
    }
    let seqno = |at: usize| SeqNo::new(at as u64 + 1).unwrap();
    let entries: Vec<NewEntry<'_>> = keys
        .iter()
        .enumerate()
        .map(|(at, key)| NewEntry {
            seqno: seqno(at),
            value_type: ValueType::Value,
            user_key: key,
            value: key,
        })
        .collect();
    let together = Arc::new(MemTable::new(MemTableOptions::default()).unwrap());
    let singly = Arc::new(MemTable::new(MemTableOptions::default()).unwrap());
    // Two threads, each with half of the windows.
    std::thread::scope(|scope| {
        for odd in [0, 1] {
            let (together, entries) = (&together, &entries);
            scope.spawn(move || {
                let mut hint = InsertHint::default();
                for window in entries.chunks(100).skip(odd).step_by(2) {
                    together.writer(&mut hint).insert_all(window).unwrap();
                }
            });
        }
    });
    for entry in &entries {
        let mut hint = InsertHint::default();
        let mut writer = singly.writer(&mut hint);
        writer.insert(entry.seqno, entry.value_type, entry.user_key, entry.value).unwrap();
    }
    assert!(together.memory_bytes() > 1 << 20);
    assert_eq!(together.stats(), singly.stats());
    let (mut a, mut b) = (together.iter(), singly.iter());
    a.seek_to_first().unwrap();
    b.seek_to_first().unwrap();
    while b.is_valid() {
        assert!(a.is_valid() && a.key() == b.key() && a.value() == b.value());
        a.next().unwrap();
        b.next().unwrap();
    }
    assert!(!a.is_valid());
    // What is there already is refused, wherever it stands in its group.
    let mut hint = InsertHint::default();
    let mut writer = together.writer(&mut hint);
    let mut again = entries[..40].to_vec();
    for (at, entry) in again.iter_mut().enumerate() {
        entry.seqno = SeqNo::new(1_000_000 + at as u64).unwrap();
    }
    again[25] = entries[25];
    assert!(writer.insert_all(&again).is_err());
    writer.insert_all(&again[26..]).unwrap();
}
