//! Write batches of any bytes: read without memory for what they claim, and written again as what reads the same.

use partita::batch::{BatchReader, WriteBatch};
use partita::key::SeqNo;

use crate::meter;

/// Half of the inputs get a header that counts right, so that their records are reached.
pub fn run(bytes: &[u8]) {
    check(bytes);
    let mut counted = WriteBatch::header(SeqNo::ZERO, 0).to_vec();
    counted.extend_from_slice(bytes);
    let count = BatchReader::new(&counted).unwrap().records();
    let count = count.take_while(Result::is_ok).filter(|record| record.as_ref().unwrap().counts());
    let count = count.count() as u32;
    counted[..12].copy_from_slice(&WriteBatch::header(SeqNo::ZERO, count));
    check(&counted);
}

fn check(bytes: &[u8]) {
    let validated =
        meter::within(4096, || BatchReader::new(bytes).and_then(|reader| reader.validate()));
    if let Err(error) = validated {
        assert!(error.offset().is_none_or(|at| at <= bytes.len() as u64), "{error}");
        assert!(WriteBatch::from_bytes(bytes.to_vec()).is_err());
        return;
    }
    let batch = WriteBatch::from_bytes(bytes.to_vec()).unwrap();
    assert_eq!(batch.as_bytes(), bytes);
    let mut again = WriteBatch::new();
    again.set_sequence(batch.sequence());
    let mut len = again.len_bytes();
    for record in batch.records() {
        let record = record.unwrap();
        again.add(&record).unwrap();
        len += record.encoded_len();
    }
    assert_eq!((again.len_bytes(), again.count()), (len, batch.count()));
    // Lengths in more bytes than they need, and family 0 by its number, are read but not written.
    assert!(again.len_bytes() <= bytes.len());
    let same = batch.records().zip(again.records());
    assert!(same.into_iter().all(|(one, other)| one.unwrap() == other.unwrap()));
}

/// A batch with each kind of record.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut batch = WriteBatch::new();
    batch.put(b"key", b"value").unwrap();
    batch.put_cf(300, b"key", &[1; 200]).unwrap();
    batch.delete(b"key").unwrap();
    batch.delete_cf(1, b"key").unwrap();
    batch.single_delete(b"").unwrap();
    batch.single_delete_cf(2, b"k").unwrap();
    batch.merge(b"m", b"+").unwrap();
    batch.merge_cf(3, b"m", b"+").unwrap();
    batch.delete_range(b"a", b"b").unwrap();
    batch.delete_range_cf(4, b"a", b"b").unwrap();
    batch.put_log_data(b"log").unwrap();
    let records = batch.record_bytes().to_vec();
    let rest = b"\x11\x01k\x01i\x10\x05\x01k\x01i\x09\x0a\x03xid\x0b\x03xid\x0c\x03xid\x0d\x12\x13";
    vec![batch.into_bytes(), records, rest.to_vec(), b"\x16\x01k\x01e".to_vec()]
}
