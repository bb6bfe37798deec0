use proptest::prelude::*;

use super::*;
use crate::error::ErrorKind;
use crate::key::SeqNo;

/// A record with bytes of its own.
#[derive(Clone, Debug)]
struct Owned {
    shape: u8,
    family: u32,
    first: Vec<u8>,
    second: Vec<u8>,
}

impl Owned {
    fn record(&self) -> Record<'_> {
        let Self { shape, family, first: key, second } = self;
        let family = *family;
        match shape % 15 {
            0 => Record::Put { family, key, value: second },
            1 => Record::Delete { family, key },
            2 => Record::SingleDelete { family, key },
            3 => Record::DeleteRange { family, begin: key, end: second },
            4 => Record::Merge { family, key, operand: second },
            5 => Record::BlobIndex { family, key, index: second },
            6 => Record::LogData(key),
            7 => Record::Noop,
            8 => Record::Transaction(TransactionMark::BeginPrepare),
            9 => Record::Transaction(TransactionMark::EndPrepare(key)),
            10 => Record::Transaction(TransactionMark::Commit(key)),
            11 => Record::Transaction(TransactionMark::Rollback(key)),
            12 => Record::Transaction(TransactionMark::BeginPersistedPrepare),
            13 => Record::Transaction(TransactionMark::BeginUnprepare),
            _ => Record::Put { family: 0, key, value: second },
        }
    }
}

fn owned() -> impl Strategy<Value = Owned> {
    let bytes = || prop_oneof![Just(Vec::new()), proptest::collection::vec(any::<u8>(), 0..200)];
    let family = prop_oneof![Just(0), 1u32..300, Just(u32::MAX)];
    (any::<u8>(), family, bytes(), bytes()).prop_map(|(shape, family, first, second)| Owned {
        shape,
        family,
        first,
        second,
    })
}

proptest! {
    #[test]
    fn records_come_back(records in proptest::collection::vec(owned(), 0..30), cut in 0usize..30) {
        let mut batch = WriteBatch::new();
        let mut len = BATCH_HEADER_BYTES;
        for owned in &records {
            batch.add(&owned.record()).unwrap();
            len += owned.record().encoded_len();
        }
        prop_assert_eq!(batch.len_bytes(), len);
        let back = WriteBatch::from_bytes(batch.as_bytes().to_vec()).unwrap();
        let found: Vec<Record<'_>> = back.records().map(Result::unwrap).collect();
        let expected: Vec<Record<'_>> = records.iter().map(Owned::record).collect();
        prop_assert_eq!(&found, &expected);
        prop_assert_eq!(back.count() as usize, expected.iter().filter(|r| r.counts()).count());
        // In two parts, put together.
        let cut = cut.min(records.len());
        let (mut front, mut behind) = (WriteBatch::new(), WriteBatch::new());
        for (at, owned) in records.iter().enumerate() {
            if at < cut { &mut front } else { &mut behind }.add(&owned.record()).unwrap();
        }
        front.append(&behind).unwrap();
        prop_assert_eq!(front, batch);
    }

    /// A batch cut off anywhere is refused: either a record is cut, or the count is wrong.
    #[test]
    fn a_batch_cut_off_is_refused(records in proptest::collection::vec(owned(), 1..10)) {
        let mut batch = WriteBatch::new();
        for owned in &records {
            batch.add(&owned.record()).unwrap();
        }
        batch.put(b"last", b"").unwrap();
        let bytes = batch.into_bytes();
        for len in 0..bytes.len() {
            let error = WriteBatch::from_bytes(bytes[..len].to_vec()).unwrap_err();
            prop_assert_eq!(error.kind(), ErrorKind::Corruption);
            prop_assert_eq!(error.part(), Some("write batch"));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        if let Ok(batch) = WriteBatch::from_bytes(bytes.clone()) {
            // What was accepted is written as something that reads the same.
            let mut again = WriteBatch::new();
            again.set_sequence(batch.sequence());
            for record in batch.records() {
                again.add(&record.unwrap()).unwrap();
            }
            prop_assert_eq!(again.count(), batch.count());
            prop_assert!(again.len_bytes() <= batch.len_bytes());
        }
        if let Some(tag) = bytes.get_mut(12) {
            *tag = 0x7f;
            prop_assert!(WriteBatch::from_bytes(bytes).is_err());
        }
    }
}

/// The bytes that RocksDB 7.8.3 makes of the same calls, as its `rocksdb_writebatch_data` gives them.
#[test]
fn the_bytes_are_those_of_rocksdb() {
    let mut batch = WriteBatch::new();
    batch.put(b"k", b"v").unwrap();
    batch.put_cf(300, b"", &[7; 128]).unwrap();
    batch.delete(b"d").unwrap();
    batch.delete_cf(1, b"d").unwrap();
    batch.single_delete(b"s").unwrap();
    batch.single_delete_cf(1, b"s").unwrap();
    batch.delete_range(b"a", b"b").unwrap();
    batch.delete_range_cf(1, b"a", b"b").unwrap();
    batch.merge(b"m", b"+").unwrap();
    batch.merge_cf(1, b"m", b"+").unwrap();
    batch.put_log_data(b"log").unwrap();
    batch.set_sequence(SeqNo::new(0x0102).unwrap());
    let mut expected =
        b"\x02\x01\0\0\0\0\0\0\x0a\0\0\0\x01\x01k\x01v\x05\xac\x02\0\x80\x01".to_vec();
    expected.extend_from_slice(&[7; 128]);
    expected.extend_from_slice(b"\0\x01d\x04\x01\x01d\x07\x01s\x08\x01\x01s\x0f\x01a\x01b");
    expected.extend_from_slice(b"\x0e\x01\x01a\x01b\x02\x01m\x01+\x06\x01\x01m\x01+\x03\x03log");
    assert_eq!(batch.as_bytes(), expected);
    assert_eq!(batch.header_and_records(), expected);
}

impl WriteBatch {
    /// The batch as a group's leader writes it.
    fn header_and_records(&self) -> Vec<u8> {
        [&Self::header(self.sequence(), self.count())[..], self.record_bytes()].concat()
    }
}

#[test]
fn what_is_not_had_is_refused_by_name() {
    let refused = |tag: u8| {
        let bytes = [&WriteBatch::header(SeqNo::ZERO, 1)[..], &[tag, 1, b'k', 1, b'v']].concat();
        WriteBatch::from_bytes(bytes).unwrap_err()
    };
    for (tag, name) in [
        (0x14, "user-defined timestamps"),
        (0x15, "user-defined timestamps"),
        (0x16, "wide-column entities"),
        (0x17, "wide-column entities"),
        (0x18, "timed puts"),
        (0x19, "timed puts"),
    ] {
        let error = refused(tag);
        assert_eq!(error.kind(), ErrorKind::NotSupported);
        assert!(error.to_string().contains(name), "{error}");
    }
    let error = refused(0x1a);
    assert_eq!(error.to_string(), "corruption: write batch at 0xc: unknown tag 0x1a of a record");
}

#[test]
fn a_header_that_counts_wrong_or_too_far_is_refused() {
    let with = |sequence: u64, count: u32| {
        let mut bytes = WriteBatch::header(SeqNo::ZERO, count).to_vec();
        bytes[..8].copy_from_slice(&sequence.to_le_bytes());
        bytes.extend_from_slice(b"\0\x01k\x0d");
        WriteBatch::from_bytes(bytes).map(drop)
    };
    with(7, 1).unwrap();
    let error = with(7, 2).unwrap_err();
    assert_eq!(
        error.to_string(),
        "corruption: write batch at 0x8: 1 records, but its header says 2"
    );
    assert!(with(7, 0).is_err());
    with(SeqNo::MAX.get() - 1, 1).unwrap();
    assert!(with(SeqNo::MAX.get(), 1).is_err());
    assert!(with(u64::MAX, 1).is_err());
}

#[test]
fn save_points_nest_and_a_failed_call_changes_nothing() {
    let mut batch = WriteBatch::new().with_limit(40);
    assert!(batch.rollback_to_save_point().is_err());
    batch.put(b"a", b"1").unwrap();
    batch.set_save_point();
    batch.put(b"b", b"2").unwrap();
    batch.set_save_point();
    batch.merge(b"c", b"3").unwrap();
    let before = batch.clone();
    let error = batch.put(b"d", &[0; 40]).unwrap_err();
    assert_eq!(error.message(), "write batch of 71 bytes: the limit is 40");
    assert_eq!(batch, before);
    assert!(batch.append(&before).is_err());
    assert_eq!(batch, before);
    batch.pop_save_point().unwrap();
    assert_eq!(batch.count(), 3);
    batch.rollback_to_save_point().unwrap();
    assert_eq!((batch.count(), batch.record_bytes()), (1, &b"\x01\x01a\x011"[..]));
    assert!(batch.pop_save_point().is_err());
    batch.set_save_point();
    batch.clear();
    assert_eq!(batch.as_bytes(), [0; BATCH_HEADER_BYTES]);
    assert!(batch.is_empty() && batch.rollback_to_save_point().is_err());
}

#[test]
fn a_batch_knows_its_families_and_whether_all_is_plain() {
    let of = |batch: &WriteBatch| {
        let contents = batch.contents();
        (contents.families().to_vec(), contents.is_plain())
    };
    let mut batch = WriteBatch::new();
    assert_eq!(of(&batch), (vec![], true));
    batch.put_cf(7, b"k", b"v").unwrap();
    batch.delete(b"k").unwrap();
    batch.single_delete_cf(7, b"k").unwrap();
    batch.put_log_data(b"for others").unwrap();
    assert_eq!(of(&batch), (vec![0, 7], true));
    batch.set_save_point();
    batch.merge_cf(3, b"k", b"v").unwrap();
    assert_eq!(of(&batch), (vec![0, 3, 7], false));
    assert_eq!(of(&WriteBatch::from_bytes(batch.as_bytes().to_vec()).unwrap()), of(&batch));
    let mut more = WriteBatch::new();
    more.append(&batch).unwrap();
    assert_eq!(of(&more), of(&batch));
    batch.rollback_to_save_point().unwrap();
    assert_eq!(of(&batch), (vec![0, 7], true));
    batch.clear();
    assert_eq!(of(&batch), (vec![], true));
    for other in [
        Record::DeleteRange { family: 0, begin: b"a", end: b"b" },
        Record::BlobIndex { family: 0, key: b"k", index: b"" },
        Record::Transaction(TransactionMark::BeginPrepare),
    ] {
        let mut batch = WriteBatch::new();
        batch.add(&other).unwrap();
        assert!(!batch.contents().is_plain(), "{other:?}");
    }
}
