//! Versions for tests of pickers.

use std::sync::Arc;

use super::Compaction;
use crate::key::{InternalKey, KeyOrder, SeqNo, ValueType};
use crate::version::edit::NewFile;
use crate::version::{FileMeta, TableCounts, TableFile, Version, VersionBuilder, VersionEdit};

/// Number, level, bytes, first and last user key. The number is the epoch, too.
pub(super) type Given = (u64, u32, u64, &'static str, &'static str);

pub(super) fn new_file((number, level, bytes, from, to): Given) -> NewFile {
    let key = |user_key: &str, seqno| {
        let seqno = SeqNo::new(seqno).unwrap();
        InternalKey::new(user_key.as_bytes(), seqno, ValueType::Value).encode()
    };
    let file = FileMeta {
        epoch: number,
        smallest_seqno: SeqNo::new(1).unwrap(),
        largest_seqno: SeqNo::new(9).unwrap(),
        ..FileMeta::new(number.into(), bytes, &key(from, 9), &key(to, 1))
    };
    NewFile { level, file }
}

/// A file of which it is known how many entries, deletions and range tombstones it has.
pub(super) fn counted(given: Given, entries: u64, deletions: u64, range_deletions: u64) -> NewFile {
    changed(given, |file| {
        file.counts = Some(TableCounts { entries, deletions, range_deletions, merge_operands: 0 });
    })
}

pub(super) fn changed(given: Given, change: impl FnOnce(&mut FileMeta)) -> NewFile {
    let mut new = new_file(given);
    change(&mut new.file);
    new
}

pub(super) fn version(files: &[Given]) -> Arc<Version> {
    version_of(files.iter().copied().map(new_file))
}

pub(super) fn version_of(files: impl IntoIterator<Item = NewFile>) -> Arc<Version> {
    let base = Arc::new(Version::empty(KeyOrder::Bytewise, 7));
    let new_files = files.into_iter().collect();
    after(&base, &VersionEdit { new_files, ..VersionEdit::default() })
}

pub(super) fn after(base: &Arc<Version>, edit: &VersionEdit) -> Arc<Version> {
    let mut builder = VersionBuilder::new(Arc::clone(base));
    builder.apply(edit).unwrap();
    Arc::new(builder.build().unwrap())
}

pub(super) fn numbers(files: &[Arc<TableFile>]) -> Vec<u64> {
    files.iter().map(|file| file.number.get()).collect()
}

/// Levels with numbers of files, and the output level.
pub(super) type Shown = (Vec<(usize, Vec<u64>)>, usize);

/// Levels and numbers of the files that were picked, and the output level.
pub(super) fn shown(picked: &Compaction) -> Shown {
    let inputs = picked.inputs.iter().map(|input| (input.level, numbers(&input.files)));
    (inputs.collect(), picked.output_level)
}

/// Choices that a seed repeats.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}
