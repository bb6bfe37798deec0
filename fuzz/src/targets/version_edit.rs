//! Records of the manifest, of any bytes.
//!
//! * What is accepted is written as what reads as the same, and that comes back byte by byte.
//! * Memory stays in proportion to the record.

use partita::version::edit::{CompactCursor, DeletedFile, NewFile, WalAddition};
use partita::version::{FileMeta, VersionEdit};

use crate::meter;

/// Reads the bytes as a record.
pub fn run(bytes: &[u8]) {
    // A table takes 26 bytes of a record at least, and some 300 in memory, in a vector that doubles.
    let limit = 64 * bytes.len() + (16 << 10);
    let Ok(edit) = meter::within(limit, || VersionEdit::decode(bytes)) else { return };
    let encoded = edit.encode();
    let again = VersionEdit::decode(&encoded).expect("what was written is read");
    assert_eq!(again, edit);
    assert_eq!(again.encode(), encoded);
}

/// Records with every field that RocksDB writes, and with unknown ones.
pub fn seeds() -> Vec<Vec<u8>> {
    let key = b"user key\x01\x07\0\0\0\0\0\0";
    let table = FileMeta {
        epoch: 3,
        oldest_ancestor_time: 1_700_000_000,
        creation_time: 1_700_000_001,
        unique_id: Some([7; 16]),
        tail_bytes: 900,
        need_compaction: true,
        temperature: 4,
        oldest_blob_file: Some(8.into()),
        ..FileMeta::new(9.into(), 4096, key, key)
    };
    let files = VersionEdit {
        log_number: Some(5.into()),
        next_file_number: Some(12.into()),
        min_log_number_to_keep: Some(5.into()),
        compact_cursors: vec![CompactCursor { level: 1, key: key[..].into() }],
        deleted_files: vec![DeletedFile { level: 0, number: 7.into() }],
        new_files: vec![NewFile { level: 1, file: table }],
        family: 2,
        ..VersionEdit::default()
    };
    let family = VersionEdit {
        family: 2,
        family_added: Some("more".to_owned()),
        comparator: Some("leveldb.BytewiseComparator".to_owned()),
        db_id: Some("b5a1c2d3".to_owned()),
        atomic_group_remaining: Some(1),
        full_history_ts_low: Some([1; 8].into()),
        persist_user_defined_timestamps: Some(true),
        subcompaction_progress: Some([1, 2].into()),
        last_compacted_manifest_bytes: Some(300),
        wal_additions: vec![WalAddition { number: 4.into(), synced_bytes: Some(9) }],
        wal_deletion: Some(4.into()),
        ..VersionEdit::default()
    };
    let blobs = vec![0x90, 3, 8, 10, 20, 1, b'm', 1, b'v', 3, 1, 9, 0, 0x91, 3, 8, 1, 2, 0];
    let later = vec![0x8c, 0x40, 3, 1, 2, 3];
    let oldest = [&[7, 2, 9, 100, 16][..], key, &[16], key].concat();
    vec![files.encode(), family.encode(), blobs, later, oldest]
}
