use proptest::prelude::*;

use super::tags::edit;
use super::*;
use crate::error::ErrorKind;
use crate::key::{ValueType, pack};
use crate::util::coding::{put_length_prefixed, put_varint};
use crate::version::file_meta::{FileChecksum, RareFields};

fn bytes(len: std::ops::Range<usize>) -> impl Strategy<Value = Box<[u8]>> {
    proptest::collection::vec(any::<u8>(), len).prop_map(Into::into)
}

fn internal_key() -> impl Strategy<Value = Box<[u8]>> {
    (bytes(0..12), 0..1u64 << 56, 0..4usize).prop_map(|(user_key, seqno, which)| {
        let types =
            [ValueType::Value, ValueType::Deletion, ValueType::RangeDeletion, ValueType::Merge];
        let packed = pack(SeqNo::new(seqno).unwrap(), types[which]);
        [&user_key[..], &packed.to_le_bytes()].concat().into()
    })
}

fn number() -> impl Strategy<Value = FileNumber> {
    (0..1u64 << 62, 0u32..62).prop_map(|(number, shift)| (number >> shift).into())
}

fn seqno() -> impl Strategy<Value = SeqNo> {
    (0..(1u64 << 56) - 1, 0u32..56).prop_map(|(seqno, shift)| SeqNo::new(seqno >> shift).unwrap())
}

fn unknown(tags: &'static [u32]) -> impl Strategy<Value = Vec<UnknownField>> {
    let field =
        (0..tags.len(), bytes(0..9)).prop_map(|(at, bytes)| UnknownField { tag: tags[at], bytes });
    proptest::collection::vec(field, 0..3)
}

fn rare() -> impl Strategy<Value = Option<Box<RareFields>>> {
    let checksum = proptest::option::of((bytes(0..9), bytes(0..5)));
    let some = (checksum, bytes(0..9), bytes(0..9), bytes(0..9), unknown(&[18, 40, 63, 128]));
    some.prop_map(|(checksum, min_timestamp, max_timestamp, open_metadata, unknown)| {
        let checksum = checksum.map(|(function, value)| FileChecksum { function, value });
        let rare = RareFields { checksum, min_timestamp, max_timestamp, open_metadata, unknown };
        (rare != RareFields::default()).then(|| Box::new(rare))
    })
}

fn new_file() -> impl Strategy<Value = NewFile> {
    let place = (0u32..9, number(), 0u8..4, any::<u64>());
    let range = (internal_key(), internal_key(), seqno(), seqno());
    let integers = any::<[u64; 5]>();
    let flags = (any::<[bool; 3]>(), any::<u8>(), any::<[u8; 16]>());
    (place, range, integers, flags, rare()).prop_map(|(place, range, integers, flags, rare)| {
        let (level, number, path_id, file_bytes) = place;
        let (smallest, largest, smallest_seqno, largest_seqno) = range;
        let ([need_compaction, timestamps_persisted, blobs], temperature, unique_id) = flags;
        let file = FileMeta {
            number,
            path_id,
            file_bytes,
            smallest,
            largest,
            smallest_seqno,
            largest_seqno,
            epoch: integers[0],
            oldest_ancestor_time: integers[1],
            creation_time: integers[2],
            unique_id: Some(unique_id).filter(|id| id[0] % 2 == 0 && *id != [0; 16]),
            tail_bytes: integers[3],
            compensated_range_deletion_bytes: integers[4],
            need_compaction,
            temperature,
            timestamps_persisted,
            oldest_blob_file: Some(number).filter(|number| blobs && number.get() != 0),
            rare,
            counts: None,
        };
        NewFile { level, file }
    })
}

fn blob_addition() -> impl Strategy<Value = BlobFileAddition> {
    (number(), any::<[u64; 2]>(), bytes(0..5), bytes(0..5), unknown(&[1, 63, 128])).prop_map(
        |(number, [blob_count, blob_bytes], checksum_method, checksum_value, unknown)| {
            BlobFileAddition {
                number,
                blob_count,
                blob_bytes,
                checksum_method,
                checksum_value,
                unknown,
            }
        },
    )
}

fn blob_garbage() -> impl Strategy<Value = BlobFileGarbage> {
    (number(), any::<[u64; 2]>(), unknown(&[1, 63, 128])).prop_map(
        |(number, [blob_count, blob_bytes], unknown)| BlobFileGarbage {
            number,
            blob_count,
            blob_bytes,
            unknown,
        },
    )
}

prop_compose! {
    fn numbers()(
        db_id in proptest::option::of("[a-z0-9-]{0,36}"),
        comparator in proptest::option::of("[a-zA-Z.]{0,20}"),
        numbers in proptest::array::uniform5(proptest::option::of(number())),
        max_family in proptest::option::of(any::<u32>()),
        last_sequence in proptest::option::of(seqno()),
    ) -> VersionEdit {
        let [log_number, prev_log_number, next_file_number, min_log, wal_deletion] = numbers;
        VersionEdit {
            db_id,
            comparator,
            log_number,
            prev_log_number,
            next_file_number,
            max_family,
            min_log_number_to_keep: min_log,
            last_sequence,
            wal_deletion,
            ..VersionEdit::default()
        }
    }
}

prop_compose! {
    fn any_edit()(
        numbers in numbers(),
        cursors in proptest::collection::vec((0u32..7, internal_key()), 0..3),
        deleted in proptest::collection::vec((0u32..7, number()), 0..3),
        new_files in proptest::collection::vec(new_file(), 0..4),
        blob_additions in proptest::collection::vec(blob_addition(), 0..3),
        blob_garbage in proptest::collection::vec(blob_garbage(), 0..3),
        wals in proptest::collection::vec((number(), proptest::option::of(any::<u64>())), 0..3),
        family in (any::<u32>(), proptest::option::of("\\PC{0,8}"), any::<bool>()),
        rest in (
            proptest::option::of(any::<u32>()),
            proptest::option::of(bytes(1..9)),
            proptest::option::of(any::<bool>()),
            proptest::option::of(bytes(0..9)),
            proptest::option::of(any::<u64>()),
        ),
        unknown in unknown(&[8204, 8692, 1 << 13, 1 << 30 | 1 << 13]),
    ) -> VersionEdit {
        VersionEdit {
            compact_cursors: cursors
                .into_iter()
                .map(|(level, key)| CompactCursor { level, key })
                .collect(),
            deleted_files: deleted
                .into_iter()
                .map(|(level, number)| DeletedFile { level, number })
                .collect(),
            new_files,
            blob_additions,
            blob_garbage,
            wal_additions: wals
                .into_iter()
                .map(|(number, synced_bytes)| WalAddition { number, synced_bytes })
                .collect(),
            family: family.0,
            family_added: family.1,
            family_dropped: family.2,
            atomic_group_remaining: rest.0,
            full_history_ts_low: rest.1,
            persist_user_defined_timestamps: rest.2,
            subcompaction_progress: rest.3,
            last_compacted_manifest_bytes: rest.4,
            unknown,
            ..numbers
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn every_field_comes_back(edit in any_edit()) {
        let bytes = edit.encode();
        let again = VersionEdit::decode(&bytes).unwrap();
        prop_assert_eq!(&again, &edit);
        prop_assert_eq!(again.encode(), bytes);
    }

    #[test]
    fn a_record_that_ends_early_is_damage_or_fewer_fields(edit in any_edit(), cut in any::<prop::sample::Index>()) {
        let bytes = edit.encode();
        let Some(cut) = (!bytes.is_empty()).then(|| cut.index(bytes.len())) else { return Ok(()) };
        match VersionEdit::decode(&bytes[..cut]) {
            Ok(shorter) => prop_assert_ne!(shorter, edit),
            Err(error) => prop_assert!(error.is_corruption(), "{}", error),
        }
    }
}

/// A table in the form of `tag`, up to where the forms differ.
fn file_record(tag: u32) -> Vec<u8> {
    let key = [b"k".as_slice(), &pack(SeqNo::MAX, ValueType::Value).to_le_bytes()].concat();
    let mut record = Vec::new();
    put_varint(&mut record, u64::from(tag));
    record.extend([2, 9]);
    if tag == edit::NEW_FILE_3 {
        record.push(1);
    }
    put_varint(&mut record, 1000);
    put_length_prefixed(&mut record, &key);
    put_length_prefixed(&mut record, &key);
    if tag != edit::NEW_FILE_1 {
        record.extend([5, 7]);
    }
    record
}

fn only_file(record: &[u8]) -> FileMeta {
    VersionEdit::decode(record).unwrap().new_files.pop().unwrap().file
}

#[test]
fn the_older_forms_of_a_table_are_read() {
    let first = only_file(&file_record(edit::NEW_FILE_1));
    assert_eq!((first.smallest_seqno, first.largest_seqno), (SeqNo::ZERO, SeqNo::MAX));
    assert_eq!((first.number.get(), first.file_bytes, first.path_id), (9, 1000, 0));
    let second = only_file(&file_record(edit::NEW_FILE_2));
    assert_eq!((second.smallest_seqno.get(), second.largest_seqno.get()), (5, 7));
    let third = only_file(&file_record(edit::NEW_FILE_3));
    assert_eq!((third.path_id, third.largest_seqno.get()), (1, 7));
    let mut fourth = file_record(edit::NEW_FILE_4);
    fourth.push(1);
    assert_eq!(only_file(&fourth), second);
}

fn refusal(record: &[u8]) -> (ErrorKind, String) {
    let error = VersionEdit::decode(record).unwrap_err();
    (error.kind(), error.message().to_owned())
}

#[test]
fn unknown_fields_are_kept_if_they_may_be_skipped_and_refused_by_number_if_not() {
    let mut record = vec![2, 7];
    put_varint(&mut record, 8692);
    put_length_prefixed(&mut record, b"later");
    let edit = VersionEdit::decode(&record).unwrap();
    assert_eq!(edit.unknown, [UnknownField { tag: 8692, bytes: (*b"later").into() }]);
    assert_eq!(edit.encode(), record);

    let (kind, message) = refusal(&[2, 7, 77, 1]);
    assert_eq!(kind, ErrorKind::NotSupported);
    assert!(message.contains("byte 2") && message.contains("field 77"), "{message}");
}

/// RocksDB 11.8.1 wrote it after it had compacted range tombstones over many small tables.
#[test]
fn a_boundary_of_the_greatest_code_is_a_place_before_all_entries() {
    let key = |code: u8| [&b"key"[..], &[code, 7, 0, 0, 0, 0, 0, 0]].concat();
    let edit = |code| {
        let file = FileMeta::new(9.into(), 100, &key(code), &key(code));
        VersionEdit { new_files: vec![NewFile { level: 1, file }], ..VersionEdit::default() }
    };
    let found = VersionEdit::decode(&edit(0x1A).encode()).unwrap();
    assert_eq!(found, edit(ValueType::FOR_SEEK.code()));
    for unknown in [0x19, 0x1B, 0x7F] {
        let error = VersionEdit::decode(&edit(unknown).encode()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{unknown}");
    }
}

#[test]
fn unknown_custom_fields_of_a_table_likewise() {
    let record = |tag: u8| [&file_record(edit::NEW_FILE_4)[..], &[tag, 2, 8, 9, 1]].concat();
    let file = only_file(&record(40));
    assert_eq!(file.rare.unwrap().unknown, [UnknownField { tag: 40, bytes: [8, 9].into() }]);
    let (kind, message) = refusal(&record(66));
    assert_eq!(kind, ErrorKind::NotSupported);
    assert!(message.contains("custom field 66 of table 000009"), "{message}");
}

#[test]
fn unknown_custom_fields_of_a_blob_file_likewise() {
    let record = |tag: u8| [&[0x91, 3, 4, 5, 6][..], &[tag, 1, 8, 0]].concat();
    let kept = VersionEdit::decode(&record(63)).unwrap();
    assert_eq!(kept.blob_garbage[0].unknown[0].tag, 63);
    let (kind, message) = refusal(&record(65));
    assert_eq!(kind, ErrorKind::NotSupported);
    assert!(message.contains("custom field 65"), "{message}");
}

#[test]
fn a_log_number_hidden_in_a_table_is_found_and_written_in_the_first_table_only() {
    let hidden = [&[3, 8][..], &30u64.to_le_bytes(), &[1]].concat();
    let record = [&file_record(edit::NEW_FILE_4)[..], &hidden].concat();
    let mut edit = VersionEdit::decode(&record).unwrap();
    assert_eq!(edit.min_log_number_to_keep, Some(30.into()));
    let one = edit.encode().len();
    edit.new_files.push(edit.new_files[0].clone());
    edit.min_log_number_to_keep = None;
    let without = edit.encode().len();
    edit.min_log_number_to_keep = Some(30.into());
    assert_eq!(edit.encode().len() - without, 2 + 10);
    assert!(one > record.len());
}

#[test]
fn a_log_number_hidden_in_a_table_is_no_greater_than_others_may_be() {
    let hidden = |number: u64| {
        let field = [&[3, 8][..], &number.to_le_bytes(), &[1]].concat();
        [&file_record(edit::NEW_FILE_4)[..], &field].concat()
    };
    assert!(VersionEdit::decode(&hidden(FileNumber::MAX.get())).is_ok());
    assert_eq!(refusal(&hidden(FileNumber::MAX.get() + 1)).0, ErrorKind::Corruption);
}

#[test]
fn an_empty_field_of_a_table_says_what_no_field_says() {
    for tag in [10, 11, 17] {
        let custom = |field: &[u8]| [&file_record(edit::NEW_FILE_4)[..], field, &[1]].concat();
        let empty = VersionEdit::decode(&custom(&[tag, 0])).unwrap();
        assert_eq!(empty, VersionEdit::decode(&custom(&[])).unwrap());
        assert_eq!(VersionEdit::decode(&empty.encode()).unwrap(), empty);
        // Of one that comes twice the later counts.
        let twice = VersionEdit::decode(&custom(&[tag, 1, 5, tag, 0])).unwrap();
        assert_eq!(twice, empty);
    }
}

#[test]
fn the_obsolete_forms_of_log_edits_have_no_length() {
    let mut record = Vec::new();
    put_varint(&mut record, u64::from(edit::WAL_ADDITION_OBSOLETE));
    record.extend([11, 2, 99, 1]);
    put_varint(&mut record, u64::from(edit::WAL_DELETION_OBSOLETE));
    record.extend([10, 2, 7]);
    let edit = VersionEdit::decode(&record).unwrap();
    assert_eq!(edit.wal_additions, [WalAddition { number: 11.into(), synced_bytes: Some(99) }]);
    assert_eq!(edit.wal_deletion, Some(10.into()));
    assert_eq!(edit.log_number, Some(7.into()));
}

#[test]
fn numbers_beyond_what_the_format_has_are_damage() {
    let with = |tag: u8, value: u64| {
        let mut record = vec![tag];
        put_varint(&mut record, value);
        record
    };
    for (tag, value) in [(2, 1 << 62), (3, u64::MAX), (4, 1 << 56), (4, (1 << 56) - 1)] {
        assert_eq!(refusal(&with(tag, value)).0, ErrorKind::Corruption, "{tag}");
    }
    assert!(VersionEdit::decode(&with(4, (1 << 56) - 2)).is_ok());
    let mut path = file_record(edit::NEW_FILE_4);
    path.extend([65, 1, 4, 1]);
    assert!(refusal(&path).1.contains("path id 4"));
    let mut short_key = vec![103, 0, 9, 1, 7];
    short_key.extend([0; 40]);
    assert!(refusal(&short_key).1.contains("boundary of table 000009"));
}

#[test]
fn a_name_that_is_not_utf8_is_refused_and_shown() {
    let (kind, message) = refusal(&[200, 1, 5, 201, 1, 2, 0xff, b'x']);
    assert_eq!(kind, ErrorKind::NotSupported);
    assert!(message.contains(r"\xffx"), "{message}");
}

#[test]
fn the_example_of_the_format_document_is_read_as_it_says() {
    let document = include_str!("../../../../../docs/format/manifest.md");
    let (_, example) = document.split_once("The edit of a first flush:\n\n```\n").unwrap();
    let (example, rest) = example.split_once("```").unwrap();
    let byte = |word: &str| (word.len() == 2).then(|| u8::from_str_radix(word, 16).ok()).flatten();
    let record: Vec<u8> = example
        .lines()
        .flat_map(|line| line.split_whitespace().map_while(byte).collect::<Vec<_>>())
        .collect();
    let edit = VersionEdit::decode(&record).unwrap();
    assert_eq!(edit.encode(), record);
    assert_eq!((edit.log_number, edit.next_file_number), (Some(12.into()), Some(13.into())));
    let file = &edit.new_files[0].file;
    assert_eq!((file.number.get(), file.file_bytes, file.epoch), (11, 1069, 2));
    assert_eq!((file.smallest_user_key(), file.largest_user_key()), (&b"a"[..], &b"z"[..]));
    assert_eq!(file.creation_time, 1_700_000_000);
    assert!(rest.contains(&format!("`{:02x} 00`, the length, {}", record.len(), record.len())));
}
