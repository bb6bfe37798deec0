//! Holds everything that a table reader can be asked against a sorted list of its entries.
//!
//! Whose file it is does not matter: RocksDB's with the entries that its own tools list, or ours with what was put in.
//! The checks panic at the first difference and name the table.

use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use partita::Result;
use partita::io::DiskFile;
use partita::iter::InternalIterator;
use partita::key::{InternalKey, KeyOrder, SeqNo};
use partita::table::{
    BlockRole, FloorBounds, FoundEntry, LookupKey, Neighbor, ReadContext, ReaderOptions, TableIter,
    TableReader,
};

/// Encoded internal keys with values, in table order.
pub type Entries = [(Vec<u8>, Vec<u8>)];

/// What a check counted.
#[derive(Debug, Default)]
pub struct Counts {
    /// Keys asked for that are not in the table.
    pub absent_keys: u64,
    /// How many of them a filter ruled out.
    pub absent_ruled_out: u64,
}

/// Opens a table on disk.
pub fn open(path: &Path, options: &ReaderOptions) -> Result<Arc<TableReader>> {
    let file = Arc::new(DiskFile::open(path)?);
    Ok(Arc::new(TableReader::open(file, options, &mut ReadContext::default())?))
}

/// Checks walks in both directions, seeks, orders of moves, gets, versions, absent keys, neighbours and gets of many keys.
///
/// * `entries`: encoded internal keys with values, in table order.
pub fn check_all(table: &Arc<TableReader>, entries: &Entries, name: &str) -> Counts {
    check_walks(table, entries, name);
    check_seeks(table, entries, name);
    check_orders_of_moves(table, entries, name);
    check_gets(table, entries, name);
    check_neighbors(table, entries, name);
    check_multi_get(table, entries, name);
    check_absent(table, entries, name)
}

/// The entry at which an iterator stands.
pub fn entry_at(iter: &TableIter) -> Option<(&[u8], &[u8])> {
    iter.is_valid().then(|| (iter.key(), iter.value()))
}

fn pair(entry: Option<&(Vec<u8>, Vec<u8>)>) -> Option<(&[u8], &[u8])> {
    entry.map(|(key, value)| (&key[..], &value[..]))
}

fn check_walks(table: &Arc<TableReader>, entries: &Entries, name: &str) {
    let mut iter = table.iter();
    iter.seek_to_first().unwrap();
    for entry in entries {
        assert_eq!(entry_at(&iter), pair(Some(entry)), "{name}, forward");
        iter.next().unwrap();
    }
    assert!(!iter.is_valid(), "{name}: more entries than expected");
    iter.seek_to_last().unwrap();
    for entry in entries.iter().rev() {
        assert_eq!(entry_at(&iter), pair(Some(entry)), "{name}, backward");
        iter.prev().unwrap();
    }
    assert!(!iter.is_valid(), "{name}: more entries than expected, backward");
}

/// Targets on, before and behind entries.
fn targets(entries: &Entries) -> Vec<Vec<u8>> {
    let step = entries.len() / 250 + 1;
    let mut targets = vec![InternalKey::for_seek(b"", SeqNo::MAX).encode()];
    targets.push(InternalKey::for_seek(&[0xff; 40], SeqNo::MAX).encode());
    for (key, _) in entries.iter().step_by(step) {
        let key = InternalKey::decode(key).unwrap();
        let longer = [key.user_key, b"\0"].concat();
        let shorter = &key.user_key[..key.user_key.len().saturating_sub(1)];
        for user_key in [key.user_key, &longer, shorter] {
            targets.push(InternalKey::for_seek(user_key, SeqNo::MAX).encode());
            targets.push(InternalKey::for_seek(user_key, SeqNo::ZERO).encode());
        }
        targets.push(key.encode());
    }
    targets
}

fn first_not_before(order: &KeyOrder, entries: &Entries, target: &[u8]) -> usize {
    entries.partition_point(|(key, _)| order.compare_internal(key, target).is_lt())
}

fn check_seeks(table: &Arc<TableReader>, entries: &Entries, name: &str) {
    let order = table.key_order();
    let mut iter = table.iter();
    for target in targets(entries) {
        let at = first_not_before(order, entries, &target);
        iter.seek(&target).unwrap();
        assert_eq!(entry_at(&iter), pair(entries.get(at)), "{name}, seek {target:02x?}");
        if iter.is_valid() {
            iter.prev().unwrap();
            let before = at.checked_sub(1).map(|at| &entries[at]);
            assert_eq!(entry_at(&iter), pair(before), "{name}, seek {target:02x?} and prev");
        }
        let behind =
            entries.partition_point(|(key, _)| order.compare_internal(key, &target).is_le());
        let expected = behind.checked_sub(1).map(|at| &entries[at]);
        iter.seek_for_prev(&target).unwrap();
        assert_eq!(entry_at(&iter), pair(expected), "{name}, seek_for_prev {target:02x?}");
        if iter.is_valid() {
            iter.next().unwrap();
            let next = entries.get(behind);
            assert_eq!(entry_at(&iter), pair(next), "{name}, seek_for_prev {target:02x?}, next");
        }
    }
}

/// One iterator, moved in every order of five kinds of moves, must stand where a fresh one would.
fn check_orders_of_moves(table: &Arc<TableReader>, entries: &Entries, name: &str) {
    if entries.is_empty() {
        return;
    }
    let order = table.key_order();
    let key = |part: usize| entries[(entries.len() - 1) * part / 16].0.clone();
    let past_end = match order {
        KeyOrder::ReverseBytewise => InternalKey::for_seek(b"", SeqNo::ZERO).encode(),
        _ => InternalKey::for_seek(&[0xff; 2000], SeqNo::ZERO).encode(),
    };
    let moves = [Some(key(3)), Some(key(11)), Some(key(15)), None, Some(past_end), Some(key(0))];
    let mut iter = table.iter();
    for first in &moves {
        for second in &moves {
            for third in &moves {
                for target in [first, second, third] {
                    let at = match target {
                        Some(target) => {
                            iter.seek(target).unwrap();
                            first_not_before(order, entries, target)
                        }
                        None => {
                            iter.seek_to_last().unwrap();
                            entries.len() - 1
                        }
                    };
                    assert_eq!(entry_at(&iter), pair(entries.get(at)), "{name}");
                }
            }
        }
    }
}

fn check_gets(table: &Arc<TableReader>, entries: &Entries, name: &str) {
    let mut ctx = ReadContext::default();
    let mut newest: Option<&[u8]> = None;
    let step = entries.len() / 2000 + 1;
    for (encoded, value) in entries.iter().step_by(step) {
        let key = InternalKey::decode(encoded).unwrap();
        let lookup = LookupKey::new(key.user_key, key.seqno);
        let found = table.get(&lookup, &mut ctx).unwrap();
        let found = found.unwrap_or_else(|| panic!("{name}: {key:?} is not found"));
        assert_eq!((found.seqno, found.value_type), (key.seqno, key.value_type), "{name}");
        assert_eq!(*found.value, **value, "{name}: {key:?}");

        if newest != Some(key.user_key) {
            check_versions(table, entries, key.user_key, name);
            newest = Some(key.user_key);
        }
        assert!(table.prefix_may_match(key.user_key, &mut ctx).unwrap(), "{name}: {key:?}");
    }
    assert_eq!(ctx.filters_unreadable, 0, "{name}");
    if table.filters_whole_keys() {
        assert!(ctx.filters_checked > 0, "{name}: the filter was not used");
    }
}

fn check_versions(table: &Arc<TableReader>, entries: &Entries, user_key: &[u8], name: &str) {
    let order = table.key_order();
    let lookup = LookupKey::new(user_key, SeqNo::MAX);
    let mut versions = table.versions(&lookup, &mut ReadContext::default()).unwrap();
    let start = first_not_before(order, entries, &lookup.seek_key().encode());
    for (encoded, value) in &entries[start..] {
        let key = InternalKey::decode(encoded).unwrap();
        if key.user_key != user_key {
            break;
        }
        let found = versions.next_entry().unwrap().unwrap();
        assert_eq!((found.seqno, found.value_type), (key.seqno, key.value_type), "{name}");
        assert_eq!(*found.value, **value, "{name}");
    }
    assert!(versions.next_entry().unwrap().is_none(), "{name}");
}

/// Floors and ceilings over and under keys that are there and keys next to them, as of several sequence numbers.
fn check_neighbors(table: &Arc<TableReader>, entries: &Entries, name: &str) {
    let order = table.key_order();
    let seqnos = entries.iter().map(|(key, _)| InternalKey::decode(key).unwrap().seqno);
    let middle = seqnos.max().map_or(0, |newest| newest.get() / 2);
    let as_of: Vec<(SeqNo, Vec<usize>)> = [SeqNo::ZERO, SeqNo::new(middle).unwrap(), SeqNo::MAX]
        .map(|seqno| (seqno, visible(order, entries, seqno)))
        .into();
    let step = entries.len() / 40 + 1;
    let mut bounds = vec![Bound::Unbounded];
    let mut user_keys: Vec<Vec<u8>> = vec![Vec::new(), vec![0xff; 40]];
    for (key, _) in entries.iter().step_by(step) {
        let user_key = InternalKey::decode(key).unwrap().user_key;
        user_keys.push([user_key, b"\0"].concat());
        user_keys.push(user_key[..user_key.len().saturating_sub(1)].to_vec());
        user_keys.push(user_key.to_vec());
    }
    for user_key in &user_keys {
        bounds.extend([Bound::Included(&user_key[..]), Bound::Excluded(&user_key[..])]);
    }
    for bound in bounds {
        check_floor_bounds(table, entries, bound, name);
        for (seqno, visible) in &as_of {
            let user_key = |at: &usize| InternalKey::decode(&entries[*at].0).unwrap().user_key;
            let below = visible.partition_point(|at| match bound {
                Bound::Included(bound) => order.compare(user_key(at), bound).is_le(),
                Bound::Excluded(bound) => order.compare(user_key(at), bound).is_lt(),
                Bound::Unbounded => true,
            });
            let above = visible.partition_point(|at| match bound {
                Bound::Included(bound) => order.compare(user_key(at), bound).is_lt(),
                Bound::Excluded(bound) => order.compare(user_key(at), bound).is_le(),
                Bound::Unbounded => false,
            });
            let ctx = &mut ReadContext::default();
            let floor = table.get_floor(bound, *seqno, ctx).unwrap();
            let expected = below.checked_sub(1).map(|at| &entries[visible[at]]);
            assert_neighbor(
                floor.as_ref(),
                expected,
                &format!("{name}, floor of {bound:02x?} as of {seqno}"),
            );
            let ceil = table.get_ceil(bound, *seqno, ctx).unwrap();
            let expected = visible.get(above).map(|at| &entries[*at]);
            assert_neighbor(
                ceil.as_ref(),
                expected,
                &format!("{name}, ceiling of {bound:02x?} as of {seqno}"),
            );
        }
    }
}

/// The newest visible entry of each user key that has one.
fn visible(order: &KeyOrder, entries: &Entries, seqno: SeqNo) -> Vec<usize> {
    let mut found: Vec<usize> = Vec::new();
    for (at, (key, _)) in entries.iter().enumerate() {
        let key = InternalKey::decode(key).unwrap();
        let is_older = |last: &usize| {
            let last = InternalKey::decode(&entries[*last].0).unwrap();
            order.compare(last.user_key, key.user_key).is_eq()
        };
        if key.seqno <= seqno && !found.last().is_some_and(is_older) {
            found.push(at);
        }
    }
    found
}

fn assert_neighbor(found: Option<&Neighbor>, expected: Option<&(Vec<u8>, Vec<u8>)>, what: &str) {
    let found = found.map(|found| {
        let key = InternalKey::new(&found.user_key, found.entry.seqno, found.entry.value_type);
        (key, &found.entry.value[..])
    });
    let expected = expected.map(|(key, value)| (InternalKey::decode(key).unwrap(), &value[..]));
    assert_eq!(found, expected, "{what}");
}

fn user_key_of(entry: &(Vec<u8>, Vec<u8>)) -> &[u8] {
    InternalKey::decode(&entry.0).unwrap().user_key
}

/// What the index says of a floor must hold for the keys that are there.
fn check_floor_bounds(
    table: &Arc<TableReader>,
    entries: &Entries,
    bound: Bound<&[u8]>,
    name: &str,
) {
    let order = table.key_order();
    let inside = entries.partition_point(|entry| match bound {
        Bound::Included(bound) => order.compare(user_key_of(entry), bound).is_le(),
        Bound::Excluded(bound) => order.compare(user_key_of(entry), bound).is_lt(),
        Bound::Unbounded => true,
    });
    let floor = inside.checked_sub(1).map(|at| user_key_of(&entries[at]));
    let mut ctx = ReadContext::default();
    match table.floor_bounds(bound, &mut ctx).unwrap() {
        FloorBounds::Nothing => assert_eq!(floor, None, "{name}: {bound:02x?}"),
        FloorBounds::Within { at_least, at_most } => {
            if let Some(at_least) = at_least {
                let holds = floor.is_some_and(|floor| order.compare(&at_least, floor).is_le());
                assert!(holds, "{name}: {bound:02x?} at least {:02x?}", &*at_least);
            }
            if let Some(at_most) = at_most {
                let holds = floor.is_none_or(|floor| order.compare(floor, &at_most).is_le());
                assert!(holds, "{name}: {bound:02x?} at most {:02x?}", &*at_most);
            }
        }
    }
    assert_eq!(ctx.blocks_read[BlockRole::Data], 0, "{name}");
}

/// Many keys at once are answered like one after another.
fn check_multi_get(table: &Arc<TableReader>, entries: &Entries, name: &str) {
    let mut ctx = ReadContext::default();
    let step = entries.len() / 100 + 1;
    let mut absent = Vec::new();
    let mut keys = Vec::new();
    for (key, _) in entries.iter().step_by(step) {
        let key = InternalKey::decode(key).unwrap();
        keys.push(LookupKey::new(key.user_key, key.seqno));
        absent.push([key.user_key, b"\0"].concat());
    }
    keys.extend(absent.iter().map(|user_key| LookupKey::new(user_key, SeqNo::MAX)));
    // Neither in the table's order nor without repetitions.
    let len = keys.len();
    let mut mixed: Vec<LookupKey<'_>> = (0..len).map(|i| keys[i * 7919 % len]).collect();
    mixed.extend(keys.iter().take(5));
    let found = table.multi_get(&mixed, &mut ctx).unwrap();
    assert_eq!(found.len(), mixed.len());
    for (key, found) in mixed.iter().zip(found) {
        let expected = table.get(key, &mut ctx).unwrap();
        let parts = |entry: Option<FoundEntry>| {
            entry.map(|entry| (entry.seqno, entry.value_type, entry.value.to_vec()))
        };
        assert_eq!(parts(found), parts(expected), "{name}: {:02x?}", key.user_key());
    }
}

/// Keys that are not there, near those that are.
fn check_absent(table: &Arc<TableReader>, entries: &Entries, name: &str) -> Counts {
    let mut counts = Counts::default();
    let mut ctx = ReadContext::default();
    let step = entries.len() / 2000 + 1;
    for (number, (encoded, _)) in entries.iter().enumerate().step_by(step) {
        let mut user_key = InternalKey::decode(encoded).unwrap().user_key.to_vec();
        match number % 3 {
            0 => user_key.push(number as u8),
            1 => {
                user_key.pop();
            }
            _ => {
                let middle = user_key.len() / 2;
                if let Some(byte) = user_key.get_mut(middle) {
                    *byte ^= 0x55;
                }
            }
        }
        let target = InternalKey::for_seek(&user_key, SeqNo::MAX).encode();
        let next = entries.get(first_not_before(table.key_order(), entries, &target));
        let there =
            next.is_some_and(|(next, _)| InternalKey::decode(next).unwrap().user_key == user_key);
        if there {
            continue;
        }
        let found = table.get(&LookupKey::new(&user_key, SeqNo::MAX), &mut ctx).unwrap();
        assert!(found.is_none(), "{name}: {user_key:02x?} is not in the table");
        counts.absent_keys += 1;
    }
    counts.absent_ruled_out = ctx.filters_ruled_out;
    counts
}

/// All entries by one walk forward.
pub fn read_all(table: &Arc<TableReader>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut entries = Vec::new();
    let mut iter = table.iter();
    iter.seek_to_first().unwrap();
    while iter.is_valid() {
        entries.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next().unwrap();
    }
    entries
}
