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
