//! A block's cursor, driven in any order against the list of entries that a walk from front to back yields.

use partita::Result;
use partita::key::KeyOrder;
use partita::table::block::{Block, BlockCursor, Format};

use super::block::{Entry, compare};
use crate::choices::Choices;

/// The entries that a walk from front to back yields, and whether it got to the end.
pub fn forward<F: Format>(block: &Block<F>, limit: usize) -> (Vec<Entry>, bool) {
    let mut entries: Vec<Entry> = Vec::new();
    let mut bytes = 0;
    let mut cursor = BlockCursor::new();
    let mut moved = cursor.seek_to_first(block);
    while moved.is_ok() && cursor.is_valid() {
        bytes += cursor.key().len();
        if bytes > limit {
            return (entries, false);
        }
        entries.push((cursor.key().to_vec(), cursor.value(block).to_vec()));
        moved = cursor.next(block);
    }
    assert!(moved.is_ok() || !cursor.is_valid(), "valid after an error");
    (entries, moved.is_ok())
}

/// Moves a cursor as `choices` say and holds each position against `entries`, which a whole walk yielded.
///
/// * `internal_keys`: whether the block has them, rather than plain keys.
pub fn steer<F: Format>(
    block: &Block<F>,
    order: &KeyOrder,
    internal_keys: bool,
    entries: &[Entry],
    mut choices: Choices<'_>,
) {
    let sorted = entries.is_sorted_by(|a, b| compare(order, internal_keys, &a.0, &b.0).is_lt());
    let mut cursor = BlockCursor::new();
    // Where the cursor stands, as far as the model can tell: nowhere, or at one of the entries.
    let mut at: Option<usize> = None;
    while !choices.is_empty() {
        let choice = choices.byte();
        let valid = cursor.is_valid();
        match choice % 7 {
            0 => {
                check(cursor.seek_to_first(block));
                at = (!entries.is_empty()).then_some(0);
            }
            1 => {
                check(cursor.seek_to_last(block));
                at = entries.len().checked_sub(1);
            }
            2 if valid => {
                check(cursor.next(block));
                at = at.and_then(|at| (at + 1 < entries.len()).then_some(at + 1));
            }
            3 if valid => {
                check(cursor.prev(block));
                at = at.and_then(|at| at.checked_sub(1));
            }
            4 | 5 => {
                let target = target(&mut choices, entries, internal_keys);
                let relation = |entry: &Entry| compare(order, internal_keys, &entry.0, &target);
                let behind = entries.partition_point(|entry| relation(entry).is_lt());
                if choice % 7 == 4 {
                    check(cursor.seek(block, order, &target));
                    at = (behind < entries.len()).then_some(behind);
                } else {
                    check(cursor.seek_for_prev(block, order, &target));
                    let same = entries.get(behind).is_some_and(|entry| relation(entry).is_eq());
                    at = if same { Some(behind) } else { behind.checked_sub(1) };
                }
                if !sorted {
                    // It may be any entry; from there the moves are known again, if the entry is like no other.
                    match whereabouts(block, &cursor, entries)[..] {
                        [] => at = None,
                        [only] => at = Some(only),
                        _ => return,
                    }
                }
            }
            _ => {
                cursor.reset();
                at = None;
            }
        }
        assert_eq!(cursor.is_valid(), at.is_some(), "after move {choice}");
        if let Some(at) = at {
            assert_eq!(cursor.key(), entries[at].0, "key at {at} after move {choice}");
            assert_eq!(cursor.value(block), entries[at].1, "value at {at} after move {choice}");
        }
    }
}

/// A block that was walked from front to back has no damage that another move could meet.
fn check(moved: Result<()>) {
    if let Err(error) = moved {
        panic!("a move fails where a walk got through: {error}");
    }
}

/// The entries at which the cursor may stand; none if it stands nowhere.
fn whereabouts<F: Format>(
    block: &Block<F>,
    cursor: &BlockCursor<F>,
    entries: &[Entry],
) -> Vec<usize> {
    if !cursor.is_valid() {
        return Vec::new();
    }
    let here = |at: &usize| entries[*at].0 == cursor.key() && entries[*at].1 == cursor.value(block);
    let found: Vec<usize> = (0..entries.len()).filter(here).collect();
    assert!(!found.is_empty(), "stands on what is no entry");
    found
}

/// A target near the entries, or any.
fn target(choices: &mut Choices<'_>, entries: &[Entry], internal_keys: bool) -> Vec<u8> {
    let how = choices.byte();
    let mut target = match entries.get(usize::from(choices.byte())) {
        Some((key, _)) if !how.is_multiple_of(4) => key.clone(),
        _ => choices.short_bytes().to_vec(),
    };
    match how % 8 {
        1 => {
            target.pop();
        }
        2 => target.push(choices.byte()),
        3 => {
            let at = usize::from(choices.byte()) % target.len().max(1);
            if let Some(byte) = target.get_mut(at) {
                *byte = byte.wrapping_add(choices.byte());
            }
        }
        _ => {}
    }
    if internal_keys && target.len() < 8 {
        target.resize(8, 0);
    }
    target
}
