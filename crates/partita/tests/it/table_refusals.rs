//! Tables made to use what we do not have, or what only some writers do, by changing bytes and their checksums.

use std::sync::Arc;

use partita::io::MemoryFile;
use partita::key::SeqNo;
use partita::table::{
    BlockHandle, BlockRole, FilterStatus, ReadContext, ReaderOptions, TableReader,
};
use partita::{Error, ErrorKind, Result};
use partita_testkit::golden;
use partita_testkit::table_check::{check_all, open};

/// The bytes of a golden table.
fn bytes_of(name: &str) -> Vec<u8> {
    std::fs::read(golden::table(name).path()).unwrap()
}

fn open_bytes(bytes: Vec<u8>, options: &ReaderOptions) -> Result<Arc<TableReader>> {
    let file = Arc::new(MemoryFile::new("changed.sst", bytes));
    Ok(Arc::new(TableReader::open(file, options, &mut ReadContext::default())?))
}

fn handle_of(bytes: &[u8], role: BlockRole) -> BlockHandle {
    let table = open_bytes(bytes.to_vec(), &ReaderOptions::default()).unwrap();
    let blocks = table.blocks(&mut ReadContext::default()).unwrap();
    blocks.iter().find(|block| block.role == role).unwrap().handle
}

/// Replaces `from` by `to`, of the same length, in a block that is not compressed. With `seal`, the checksum follows.
fn change(bytes: &mut [u8], role: BlockRole, from: &[u8], to: &[u8], seal: bool) {
    assert_eq!(from.len(), to.len());
    let table = open_bytes(bytes.to_vec(), &ReaderOptions::default()).unwrap();
    let handle = handle_of(bytes, role);
    let (start, end) = (handle.offset as usize, (handle.offset + handle.size) as usize);
    let at = bytes[start..end].windows(from.len()).position(|window| window == from).unwrap();
    bytes[start + at..start + at + to.len()].copy_from_slice(to);
    if seal {
        let trailer = table.footer().checksum.trailer(handle.offset, &bytes[start..end], 0);
        bytes[end..end + trailer.len()].copy_from_slice(&trailer);
    }
}

fn refusal(role: BlockRole, from: &[u8], to: &[u8]) -> Error {
    let mut bytes = bytes_of("fv5-partitioned-bloom");
    change(&mut bytes, role, from, to, true);
    open_bytes(bytes, &ReaderOptions::default()).unwrap_err()
}

#[test]
fn what_we_do_not_have_is_refused_by_name() {
    let comparator = b"leveldb.BytewiseComparator";
    for (to, named) in [
        (&b"leveldb.BytewiseComp.u64ts"[..], "user-defined timestamps"),
        (b"customer.OwnOrderOfAllKeys", "\"customer.OwnOrderOfAllKeys\""),
    ] {
        let error = refusal(BlockRole::Properties, comparator, to);
        assert_eq!(error.kind(), ErrorKind::NotSupported);
        assert!(error.message().contains(named), "{error}");
        assert_eq!(error.part(), Some("properties block"));
        assert!(error.file().is_some());
    }
    // The entry of the index type: nothing shared with what is before, 4 bytes of value.
    let error = refusal(BlockRole::Properties, b"index.type\x02\0\0\0", b"index.type\x09\0\0\0");
    assert_eq!(error.kind(), ErrorKind::NotSupported);
    assert!(error.message().contains("index type 9"), "{error}");
}

#[test]
fn an_unknown_filter_policy_rules_nothing_out_and_is_named() {
    let golden = golden::table("fv5-partitioned-bloom");
    for (from, to, status) in [
        ("rocksdb.BuiltinBloomFilter", "another.BuiltinXorFilters7", "another.BuiltinXorFilters7"),
        ("partitionedfilter.", "partitionedfilteR.", ""),
    ] {
        let mut bytes = bytes_of(golden.name());
        change(&mut bytes, BlockRole::Metaindex, from.as_bytes(), to.as_bytes(), true);
        let table = open_bytes(bytes, &ReaderOptions::default()).unwrap();
        let expected = match status {
            "" => FilterStatus::Absent,
            policy => FilterStatus::UnknownPolicy(policy.to_owned()),
        };
        assert_eq!(table.filter_status(), expected);
        assert!(!table.filters_whole_keys());
        let counts = check_all(&table, &golden.entries(), to);
        assert!(counts.absent_keys > 0);
        assert_eq!(counts.absent_ruled_out, 0);
    }
}

#[test]
fn a_sequence_number_written_over_the_properties_is_read_and_does_not_break_their_checksum() {
    let mut bytes = bytes_of("external-file");
    let original = bytes.clone();
    let name = b"global_seqno";
    let (from, to) = ([&name[..], &[0; 8]].concat(), [&name[..], &501u64.to_le_bytes()].concat());
    change(&mut bytes, BlockRole::Properties, &from, &to, false);
    assert_ne!(bytes, original);
    let table = open_bytes(bytes.clone(), &ReaderOptions::default()).unwrap();
    assert_eq!(table.global_seqno(), SeqNo::new(501));
    let manifest = |seqno| ReaderOptions { largest_seqno: SeqNo::new(seqno), ..Default::default() };
    assert_eq!(open_bytes(bytes.clone(), &manifest(501)).unwrap().global_seqno(), SeqNo::new(501));
    let error = open_bytes(bytes.clone(), &manifest(502)).unwrap_err();
    assert!(error.is_corruption());
    assert!(error.message().contains("501 in the file, 502 in the manifest"), "{error}");

    // Any other change is still noticed.
    let handle = handle_of(&original, BlockRole::Properties);
    let mut damaged = bytes;
    damaged[handle.offset as usize + 5] ^= 1;
    let error = open_bytes(damaged, &ReaderOptions::default()).unwrap_err();
    assert!(error.is_corruption());
    assert_eq!((error.part(), error.offset()), (Some("properties block"), Some(handle.offset)));
}

#[test]
fn empty_and_foreign_files_are_refused() {
    for bytes in [
        vec![],
        vec![0],
        vec![0; 53],
        b"not a table, but long enough to hold a footer of one".to_vec(),
    ] {
        let error = open_bytes(bytes, &ReaderOptions::default()).unwrap_err();
        assert!(error.is_corruption(), "{error}");
        assert_eq!(error.part(), Some("footer"));
    }
    let directory = tempfile::tempdir().unwrap();
    let error = open(directory.path(), &ReaderOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}
