//! Files that hold nothing but a range of keys, to be dropped by hand.

use std::collections::BTreeSet;
use std::ops::{Bound, Range};
use std::sync::Arc;

use super::{Compaction, LevelInput, Reason};
use crate::compaction::claim::Claim;
use crate::key::KeyOrder;
use crate::version::{Level, TableFile, Version};

/// A range of user keys.
type Bounds<'k> = (Bound<&'k [u8]>, Bound<&'k [u8]>);

/// The files of sorted levels all of whose keys are in one of the ranges, reserved to be dropped; `None` if there are none.
///
/// * Those of level 0 stay: what is older there, and not in the range as a whole, would come back.
/// * So do those that are reserved, and those that share a user key with a file that is not dropped on their level: a part of
///   the key's versions must not go without the others.
pub(crate) fn pick_files_inside(
    version: &Arc<Version>,
    ranges: &[Bounds<'_>],
) -> Option<Compaction> {
    let order = version.key_order();
    let mut inputs = Vec::new();
    for (at, level) in version.levels().iter().enumerate().skip(1) {
        let mut inside = BTreeSet::new();
        for (from, to) in ranges {
            inside.extend(files_inside(level, order, *from, *to));
        }
        let files: Vec<&Arc<TableFile>> =
            inside.iter().filter_map(|file| level.files().get(*file)).collect();
        // Those that are free; of files that share a user key all or none.
        let groups = files.chunk_by(|a, b| shares_key(order, a, b));
        let free = groups.filter_map(|group| Claim::all(group.iter().copied()));
        inputs.extend(free.map(|files| LevelInput { level: at, files }));
    }
    let output_level = inputs.last()?.level;
    Some(Compaction {
        version: Arc::clone(version),
        inputs,
        output_level,
        output_file_bytes: 0,
        compaction_bytes: 0,
        older_may_come: false,
        movable: false,
        reason: Reason::InRange,
    })
}

fn files_inside(
    level: &Level,
    order: &KeyOrder,
    from: Bound<&[u8]>,
    to: Bound<&[u8]>,
) -> Range<usize> {
    let files = level.files();
    let starts_before = |file: &Arc<TableFile>| match from {
        Bound::Included(from) => order.compare(file.smallest_user_key(), from).is_lt(),
        Bound::Excluded(from) => order.compare(file.smallest_user_key(), from).is_le(),
        Bound::Unbounded => false,
    };
    let ends_inside = |file: &Arc<TableFile>| match to {
        // Its last key is where its last tombstone ends, and none of its own.
        Bound::Included(to) | Bound::Excluded(to) if file.ends_with_tombstone() => {
            order.compare(file.largest_user_key(), to).is_le()
        }
        Bound::Included(to) => order.compare(file.largest_user_key(), to).is_le(),
        Bound::Excluded(to) => order.compare(file.largest_user_key(), to).is_lt(),
        Bound::Unbounded => true,
    };
    let mut start = files.partition_point(starts_before);
    let mut end = files.partition_point(ends_inside);
    let goes_on = |left: usize| match (files.get(left), files.get(left + 1)) {
        (Some(a), Some(b)) => shares_key(order, a, b),
        _ => false,
    };
    while start < end && start > 0 && goes_on(start - 1) {
        start += 1;
    }
    while start < end && goes_on(end - 1) {
        end -= 1;
    }
    start..end.max(start)
}

/// Whether a user key may have entries in both of two files, the first left of the second.
fn shares_key(order: &KeyOrder, left: &TableFile, right: &TableFile) -> bool {
    !left.ends_before(order, right.smallest_user_key())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Given, changed, new_file, shown, version, version_of};
    use super::*;
    use crate::key::{InternalKey, SeqNo, ValueType};
    use crate::version::edit::NewFile;

    fn inside(version: &Arc<Version>, ranges: &[Bounds<'_>]) -> Vec<u64> {
        let Some(picked) = pick_files_inside(version, ranges) else { return Vec::new() };
        assert!(picked.is_drop());
        let (inputs, _) = shown(&picked);
        inputs.into_iter().flat_map(|(_, files)| files).collect()
    }

    fn closed<'k>(from: &'k str, to: &'k str) -> Bounds<'k> {
        (Bound::Included(from.as_bytes()), Bound::Included(to.as_bytes()))
    }

    #[test]
    fn whole_files_of_sorted_levels_are_inside_and_level_0_never_is() {
        let version = version(&[
            (9, 0, 10, "b", "c"),
            (1, 1, 10, "a", "c"),
            (2, 1, 10, "d", "f"),
            (3, 2, 10, "b", "d"),
            (4, 2, 10, "e", "h"),
        ]);
        assert_eq!(inside(&version, &[closed("b", "f")]), [2, 3]);
        assert_eq!(inside(&version, &[closed("a", "h")]), [1, 2, 3, 4]);
        assert_eq!(inside(&version, &[(Bound::Unbounded, Bound::Unbounded)]), [1, 2, 3, 4]);
        assert_eq!(inside(&version, &[closed("a", "c"), closed("a", "d")]), [1, 3]);
        assert_eq!(inside(&version, &[closed("f", "a"), closed("x", "z")]), [0_u64; 0]);
        let open = |from: &'static str, to: &'static str| {
            (Bound::Excluded(from.as_bytes()), Bound::Excluded(to.as_bytes()))
        };
        assert_eq!(inside(&version, &[open("b", "h")]), [2]);
        assert_eq!(inside(&version, &[open("a", "i")]), [2, 3, 4]);
    }

    fn goes_on(given: Given) -> NewFile {
        let key = InternalKey::new(given.3.as_bytes(), SeqNo::ZERO, ValueType::Value);
        changed(given, |file| file.smallest = key.encode().into())
    }

    #[test]
    fn who_shares_a_user_key_with_a_file_that_stays_stays_too() {
        // Older versions of their first keys are all that some have.
        let version = version_of([
            new_file((1, 1, 10, "a", "c")),
            goes_on((2, 1, 10, "c", "e")),
            new_file((3, 1, 10, "f", "g")),
            goes_on((4, 1, 10, "g", "i")),
            goes_on((5, 1, 10, "i", "k")),
        ]);
        assert_eq!(inside(&version, &[closed("b", "g")]), [0_u64; 0]);
        assert_eq!(inside(&version, &[closed("a", "g")]), [1, 2]);
        assert_eq!(inside(&version, &[closed("b", "k")]), [3, 4, 5]);
        assert_eq!(inside(&version, &[closed("f", "j")]), [0_u64; 0]);
    }

    #[test]
    fn files_that_others_have_in_hand_are_passed_over() {
        let version = version(&[(1, 1, 10, "a", "b"), (2, 1, 10, "c", "d"), (3, 1, 10, "e", "f")]);
        let held = Claim::all(&version.levels()[1].files()[1..2]).unwrap();
        assert_eq!(inside(&version, &[closed("a", "f")]), [1, 3]);
        assert!(held[0].is_being_compacted());
        drop(held);
        assert_eq!(inside(&version, &[closed("a", "f")]), [1, 2, 3]);
    }
}
