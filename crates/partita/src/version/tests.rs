//! Versions, the builder that makes them, and the questions they answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;

use super::testing::{adds, after, deletes, file, file_to_tombstone_end, numbers, version};
use super::*;
use crate::key::{Comparator, KeyOrder, SeqNo};
use crate::table::LookupKey;

/// A bytewise order that is no order of bytes as far as the engine knows.
#[derive(Debug)]
struct Mine;

impl Comparator for Mine {
    fn name(&self) -> &str {
        "mine"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        a.cmp(b)
    }
}

fn orders() -> [KeyOrder; 3] {
    [KeyOrder::Bytewise, KeyOrder::ReverseBytewise, KeyOrder::Custom(Arc::new(Mine))]
}

fn ask(version: &Version, key: &[u8], seqno: SeqNo) -> Vec<(usize, u64)> {
    let key = LookupKey::new(key, seqno);
    version.candidates(&key).map(|found| (found.level, found.file.number.get())).collect()
}

#[test]
fn level_0_is_newest_first_and_others_by_key() {
    let edit = adds([
        (0, file(4, b"a", b"z")),
        (0, file(9, b"a", b"b")),
        (0, file(7, b"c", b"d")),
        (1, file(2, b"m", b"n")),
        (1, file(3, b"a", b"b")),
    ]);
    let version = version(KeyOrder::Bytewise, &[edit]).unwrap();
    assert_eq!(numbers(&version, 0), [9, 7, 4]);
    assert_eq!(numbers(&version, 1), [3, 2]);
    assert_eq!(version.file_count(), 5);
    assert_eq!(version.file_bytes(), 2500);
    assert_eq!(version.last_level(), Some(1));
    assert_eq!(version.key_range(0), Some((&b"a"[..], &b"z"[..])));
    assert_eq!(version.key_range(2), None);
}

#[test]
fn epochs_come_before_sequence_numbers_and_these_before_numbers() {
    let seqnos = |mut meta: FileMeta, smallest, largest, epoch| {
        meta.smallest_seqno = SeqNo::new(smallest).unwrap();
        meta.largest_seqno = SeqNo::new(largest).unwrap();
        meta.epoch = epoch;
        meta
    };
    let edit = adds([
        (0, seqnos(file(1, b"a", b"b"), 1, 5, 2)),
        (0, seqnos(file(2, b"c", b"d"), 2, 5, 2)),
        (0, seqnos(file(3, b"e", b"f"), 1, 9, 1)),
        (0, seqnos(file(4, b"g", b"h"), 2, 5, 2)),
    ]);
    let version = version(KeyOrder::Bytewise, &[edit]).unwrap();
    assert_eq!(numbers(&version, 0), [4, 2, 1, 3]);
}

#[test]
fn a_lookup_asks_level_0_newest_first_then_one_table_a_level() {
    let edit = adds([
        (0, file(9, b"k", b"p")),
        (0, file(8, b"a", b"c")),
        (0, file(7, b"a", b"z")),
        (1, file(1, b"a", b"d")),
        (1, file(2, b"e", b"m")),
        (3, file(3, b"l", b"z")),
    ]);
    let version = version(KeyOrder::Bytewise, &[edit]).unwrap();
    assert_eq!(ask(&version, b"m", SeqNo::MAX), [(0, 9), (0, 7), (1, 2), (3, 3)]);
    assert_eq!(ask(&version, b"dd", SeqNo::MAX), [(0, 7)]);
    assert_eq!(ask(&version, b"", SeqNo::MAX), []);
    assert_eq!(ask(&version, b"zz", SeqNo::MAX), []);
}

#[test]
fn a_key_that_goes_over_the_border_of_tables_has_both() {
    let edit = adds([
        (1, file(1, b"a", b"k")),
        (1, FileMeta { smallest: internal(b"k", 4), ..file(2, b"k", b"p") }),
        (1, file(3, b"q", b"z")),
    ]);
    let version = version(KeyOrder::Bytewise, &[edit]).unwrap();
    assert_eq!(ask(&version, b"k", SeqNo::MAX), [(1, 1), (1, 2)]);
    // The first table ends with (k, 5), so that as of 4 the second has all.
    assert_eq!(ask(&version, b"k", SeqNo::new(4).unwrap()), [(1, 2)]);
    let order = KeyOrder::Bytewise;
    let level = &version.levels()[1];
    assert_eq!(level.overlapping(&order, Some(b"b"), Some(b"c")), 0..1);
    assert_eq!(level.whole_keys(&order, 0..1), 0..2);
    assert_eq!(level.whole_keys(&order, 1..2), 0..2);
    assert_eq!(level.whole_keys(&order, 2..3), 2..3);
    assert_eq!(level.whole_keys(&order, 1..1), 1..1);
}

fn internal(user_key: &[u8], seqno: u64) -> Box<[u8]> {
    let seqno = SeqNo::new(seqno).unwrap();
    crate::key::InternalKey::new(user_key, seqno, crate::key::ValueType::Value).encode().into()
}

#[test]
fn the_end_of_a_range_tombstone_does_not_belong_to_its_table() {
    let edit = adds([(1, file_to_tombstone_end(1, b"a", b"k")), (1, file(2, b"k", b"p"))]);
    let version = version(KeyOrder::Bytewise, &[edit]).unwrap();
    assert_eq!(ask(&version, b"k", SeqNo::new(99).unwrap()), [(1, 2)]);
    let order = KeyOrder::Bytewise;
    let level = &version.levels()[1];
    assert_eq!(level.overlapping(&order, Some(b"k"), Some(b"k")), 1..2);
    assert_eq!(level.whole_keys(&order, 1..2), 1..2);
    assert!(!version.overlaps_below(1, None, None));
    assert!(version.overlaps_below(0, Some(b"p"), None));
    assert!(!version.overlaps_below(0, Some(b"q"), None));
}

#[test]
fn overlaps_on_level_0_grow_with_what_they_meet() {
    let edit = adds([
        (0, file(4, b"e", b"h")),
        (0, file(3, b"a", b"c")),
        (0, file(2, b"g", b"m")),
        (0, file(1, b"p", b"z")),
    ]);
    let version = version(KeyOrder::Bytewise, &[edit]).unwrap();
    let taken = |from: &[u8], to: &[u8]| -> Vec<u64> {
        let files = version.overlapping(0, Some(from), Some(to));
        files.iter().map(|file| file.number.get()).collect()
    };
    assert_eq!(taken(b"k", b"l"), [4, 2]);
    assert_eq!(taken(b"n", b"o"), []);
    assert_eq!(version.overlapping(0, None, None).len(), 4);
}

#[test]
fn levels_that_did_not_change_are_shared_and_moved_tables_stay_the_same() {
    let edit = adds([(0, file(5, b"a", b"b")), (1, file(1, b"m", b"n")), (2, file(2, b"m", b"n"))]);
    let base = Arc::new(version(KeyOrder::Bytewise, &[edit]).unwrap());
    let mut moved = deletes([(0, 5)]);
    moved.new_files = adds([(1, file(5, b"a", b"b"))]).new_files;
    let next = after(&base, &[moved]).unwrap();
    assert!(Arc::ptr_eq(&base.levels()[2], &next.levels()[2]));
    assert!(!Arc::ptr_eq(&base.levels()[1], &next.levels()[1]));
    assert!(Arc::ptr_eq(&base.levels()[0].files()[0], &next.levels()[1].files()[0]));
    assert_eq!((numbers(&next, 0), numbers(&next, 1)), (vec![], vec![5, 1]));
}

#[test]
fn what_does_not_fit_is_damage_that_names_table_and_level() {
    let base = adds([(0, file(3, b"a", b"f")), (1, file(1, b"a", b"f")), (1, file(2, b"k", b"p"))]);
    let base = Arc::new(version(KeyOrder::Bytewise, &[base]).unwrap());
    let same_epoch = FileMeta { epoch: 3, ..file(9, b"b", b"c") };
    let backward = FileMeta { smallest: internal(b"z", 1), ..file(9, b"a", b"b") };
    let cases = [
        (deletes([(1, 7)]), "000007 is to leave level 1"),
        (deletes([(2, 1)]), "000001 is to leave level 2"),
        (deletes([(1, 1), (1, 1)]), "000001 is to leave level 1"),
        (adds([(2, file(1, b"a", b"b"))]), "000001 is to come to level 2 and is on level 1"),
        (adds([(1, file(9, b"e", b"g"))]), "000001 and 000009 on level 1 overlap"),
        (adds([(1, file(9, b"p", b"q"))]), "000002 and 000009 on level 1 overlap"),
        (adds([(1, file(9, b"g", b"k"))]), "000009 and 000002 on level 1 overlap"),
        (adds([(1, file(9, b"g", b"j")), (1, file(8, b"h", b"i"))]), "on level 1 overlap"),
        (adds([(0, same_epoch)]), "000009 and 000003 on level 0 overlap and have the same epoch 3"),
        (adds([(3, backward)]), "000009 on level 3 goes from \"z\" to \"b\""),
    ];
    for (edit, expected) in cases {
        let error = after(&base, &[edit]).unwrap_err();
        assert!(error.is_corruption());
        let message = error.message();
        assert!(message.contains(expected), "{message:?} should say {expected:?}");
    }
    let deep = adds([(64, file(9, b"a", b"b"))]);
    assert_eq!(after(&base, &[deep]).unwrap_err().kind(), crate::error::ErrorKind::NotSupported);
}

#[test]
fn missing_epochs_are_inferred_from_the_bottom_up() {
    let old = |number: u64, largest: u64, key: &[u8]| FileMeta {
        epoch: 0,
        largest_seqno: SeqNo::new(largest).unwrap(),
        ..file(number, key, key)
    };
    let edit = adds([
        (0, old(10, 30, b"a")),
        (0, old(11, 20, b"a")),
        (0, FileMeta { epoch: 77, ..old(12, 25, b"a") }),
        (1, old(7, 9, b"a")),
        (1, old(8, 9, b"b")),
        (4, old(5, 9, b"a")),
    ]);
    let base = Arc::new(Version::empty(KeyOrder::Bytewise, 7));
    let mut builder = VersionBuilder::new(base);
    builder.apply(&edit).unwrap();
    builder.infer_missing_epochs();
    let version = builder.build().unwrap();
    assert_eq!(numbers(&version, 0), [10, 12, 11]);
    let epochs: BTreeMap<u64, u64> =
        version.files().map(|(_, file)| (file.number.get(), file.epoch)).collect();
    assert_eq!(epochs, BTreeMap::from([(5, 2), (7, 3), (8, 3), (11, 4), (12, 5), (10, 6)]));
}

#[test]
fn blob_files_are_kept_until_all_is_garbage() {
    let addition = edit::BlobFileAddition {
        number: 8.into(),
        blob_count: 10,
        blob_bytes: 1000,
        ..edit::BlobFileAddition::default()
    };
    let comes = VersionEdit { blob_additions: vec![addition], ..VersionEdit::default() };
    let garbage = |number: u64, blob_count| VersionEdit {
        blob_garbage: vec![edit::BlobFileGarbage {
            number: number.into(),
            blob_count,
            blob_bytes: 10 * blob_count,
            ..edit::BlobFileGarbage::default()
        }],
        ..VersionEdit::default()
    };
    let base = Arc::new(version(KeyOrder::Bytewise, &[comes.clone(), garbage(8, 4)]).unwrap());
    assert_eq!(base.blob_files()[&8.into()].garbage_bytes, 40);
    let next = after(&base, &[garbage(8, 5)]).unwrap();
    assert_eq!(next.blob_files()[&8.into()].garbage_count, 9);
    assert!(after(&base, &[garbage(8, 6)]).unwrap().blob_files().is_empty());
    assert!(after(&base, &[comes]).unwrap_err().message().contains("blob file 000008"));
    assert!(after(&base, &[garbage(9, 1)]).unwrap_err().message().contains("000009"));
}

/// Sorted tables of short keys, with ties in the first 8 bytes, that touch or leave gaps.
fn level_strategy() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let key = (0u8..3, proptest::collection::vec(0u8..3, 0..4)).prop_map(|(first, rest)| {
        let front: &[u8] = match first {
            0 => b"",
            1 => b"sameword",
            _ => b"\xff\xff\xff\xff\xff\xff\xff\xff",
        };
        [front, &rest].concat()
    });
    proptest::collection::btree_set(key, 0..24).prop_map(|keys| keys.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_search_of_a_level_finds_what_a_look_at_all_tables_finds(
        keys in level_strategy(),
        questions in level_strategy(),
        which in 0usize..3,
    ) {
        let order = orders()[which].clone();
        let mut keys = keys;
        keys.sort_by(|a, b| order.compare(a, b));
        let metas: Vec<FileMeta> = keys
            .chunks(2)
            .enumerate()
            .map(|(i, pair)| file(1 + i as u64, &pair[0], pair.last().unwrap()))
            .collect();
        let edit = adds(metas.iter().cloned().map(|meta| (1, meta)));
        let version = version(order.clone(), &[edit]).unwrap();
        for key in questions.iter().chain(&keys) {
            let expected: Vec<(usize, u64)> = metas
                .iter()
                .filter(|meta| {
                    order.compare(meta.smallest_user_key(), key).is_le()
                        && order.compare(meta.largest_user_key(), key).is_ge()
                })
                .map(|meta| (1, meta.number.get()))
                .collect();
            prop_assert_eq!(ask(&version, key, SeqNo::MAX), expected);
        }
        for pair in questions.windows(2) {
            let (from, to) = match order.compare(&pair[0], &pair[1]).is_le() {
                true => (&pair[0], &pair[1]),
                false => (&pair[1], &pair[0]),
            };
            let expected: Vec<u64> = metas
                .iter()
                .filter(|meta| {
                    order.compare(meta.smallest_user_key(), to).is_le()
                        && order.compare(meta.largest_user_key(), from).is_ge()
                })
                .map(|meta| meta.number.get())
                .collect();
            let found = version.overlapping(1, Some(from), Some(to));
            let found: Vec<u64> = found.iter().map(|file| file.number.get()).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn edits_applied_at_once_and_one_by_one_give_the_same(
        steps in proptest::collection::vec((0u32..3, 0u8..30, any::<bool>()), 1..60),
    ) {
        let mut model: [BTreeSet<u8>; 3] = Default::default();
        let mut edits = Vec::new();
        for (level, key, add) in steps {
            let number = 100 * u64::from(level) + u64::from(key);
            let there = model[level as usize].contains(&key);
            match (there, add) {
                (false, true) => {
                    model[level as usize].insert(key);
                    edits.push(adds([(level, file(1 + number, &[key], &[key, 1]))]));
                }
                (true, false) => {
                    model[level as usize].remove(&key);
                    edits.push(deletes([(level, 1 + number)]));
                }
                _ => {}
            }
        }
        let at_once = version(KeyOrder::Bytewise, &edits).unwrap();
        let mut step = Arc::new(Version::empty(KeyOrder::Bytewise, 7));
        for edit in &edits {
            step = Arc::new(after(&step, std::slice::from_ref(edit)).unwrap());
        }
        for (level, keys) in model.iter().enumerate() {
            let mut expected: Vec<u64> =
                keys.iter().map(|key| 1 + 100 * level as u64 + u64::from(*key)).collect();
            if level == 0 {
                expected.reverse();
            }
            prop_assert_eq!(&numbers(&at_once, level), &expected);
            prop_assert_eq!(&numbers(&step, level), &expected);
        }
    }
}
