//! Random trees, flushes and compactions, picked and finished in any order: the tree stays one, and comes to rest.

use std::sync::Arc;

use super::testing::{Random, after};
use super::*;
use crate::key::{InternalKey, KeyOrder, ValueType};
use crate::options::{FifoOptions, UniversalOptions, UniversalStopStyle};
use crate::version::edit::{DeletedFile, NewFile};
use crate::version::{FileMeta, TableCounts, TableFile, VersionEdit};

const NOW: u64 = 1_000_000;

/// A family without a disk: its version, and compactions under way.
struct Tree {
    picker: Picker,
    random: Random,
    version: Arc<Version>,
    running: Vec<Compaction>,
    next_number: u64,
    seed: u64,
}

impl Tree {
    fn new(options: &ColumnFamilyOptions, seed: u64) -> Self {
        let levels = options.num_levels as usize;
        let mut tree = Self {
            picker: Picker::new(options),
            random: Random::new(seed),
            version: Arc::new(Version::empty(KeyOrder::Bytewise, levels)),
            running: Vec::new(),
            next_number: 10,
            seed,
        };
        for level in (1..levels).rev() {
            tree.fill(level as u32);
        }
        for _ in 0..tree.random.below(6) {
            tree.flush();
        }
        tree
    }

    fn file(&mut self, smallest: &[u8], largest: &[u8]) -> FileMeta {
        let number = self.next_number;
        self.next_number += 1;
        let entries = 1 + self.random.below(100);
        let deletions = if self.random.below(4) == 0 { self.random.below(entries + 1) } else { 0 };
        FileMeta {
            epoch: number,
            smallest_seqno: SeqNo::new(self.random.below(2)).unwrap(),
            largest_seqno: SeqNo::new(9).unwrap(),
            need_compaction: self.random.below(10) == 0,
            oldest_ancestor_time: NOW - self.random.below(2000),
            creation_time: NOW - self.random.below(2000),
            counts: (self.random.below(3) > 0).then_some(TableCounts {
                entries,
                deletions,
                ..TableCounts::default()
            }),
            ..FileMeta::new(number.into(), 1 + self.random.below(60), smallest, largest)
        }
    }

    /// Files side by side, some of which share a user key.
    fn fill(&mut self, level: u32) {
        let mut at = self.random.below(10);
        let mut shared = false;
        let mut new_files = Vec::new();
        for _ in 0..self.random.below(8) {
            let end = at + 1 + self.random.below(6);
            let file = self.file(&key(at, if shared { 3 } else { 9 }), &key(end, 5));
            new_files.push(NewFile { level, file });
            shared = self.random.below(3) == 0;
            at = if shared { end } else { end + 1 + self.random.below(8) };
        }
        self.apply(Vec::new(), new_files);
    }

    fn flush(&mut self) {
        let from = self.random.below(50);
        let width = if self.random.below(2) == 0 { 3 } else { 20 };
        let to = from + 1 + self.random.below(width);
        let file = self.file(&key(from, 9), &key(to, 5));
        self.apply(Vec::new(), vec![NewFile { level: 0, file }]);
    }

    fn apply(&mut self, deleted_files: Vec<DeletedFile>, new_files: Vec<NewFile>) {
        let edit = VersionEdit { deleted_files, new_files, ..VersionEdit::default() };
        self.version = after(&self.version, &edit);
    }

    fn pick(&mut self) -> bool {
        let moment = Moment { unix_seconds: NOW, oldest_snapshot: None };
        let Some(picked) = self.picker.pick(&self.version, &moment) else { return false };
        self.check(&picked);
        self.running.push(picked);
        true
    }

    fn pick_by_hand(&mut self) {
        let levels = self.version.levels().len() as u64;
        let level = if self.random.below(2) == 0 { 0 } else { self.random.below(levels) as usize };
        let output = match level {
            0 => self.picker.base_level(&self.version),
            _ => level + self.random.below(levels - level as u64) as usize,
        };
        let from = self.random.below(60);
        let (from, to) = (user_key(from), user_key(from + self.random.below(6)));
        let picked = self.picker.pick_range(&self.version, level, output, Some(&from), Some(&to));
        if let Some(picked) = picked {
            self.check(&picked);
            self.running.push(picked);
        }
    }

    /// Ends one of those that run.
    fn finish(&mut self) {
        let at = self.random.below(self.running.len() as u64) as usize;
        let done = self.running.swap_remove(at);
        let level = done.output_level as u32;
        let deleted = |(level, file): (usize, &Arc<TableFile>)| DeletedFile {
            level: level as u32,
            number: file.number,
        };
        let deleted_files = done.files().map(deleted).collect();
        let new_files = if done.is_drop() {
            Vec::new()
        } else if done.is_trivial_move() {
            let moved =
                |(_, file): (usize, &Arc<TableFile>)| NewFile { level, file: (***file).clone() };
            done.files().map(moved).collect()
        } else {
            vec![NewFile { level, file: self.merged(&done) }]
        };
        self.apply(deleted_files, new_files);
    }

    /// One table over all that went in, which is the worst for those beside it.
    fn merged(&mut self, done: &Compaction) -> FileMeta {
        let order = KeyOrder::Bytewise;
        let files: Vec<_> = done.files().map(|(_, file)| file).collect();
        let by = |a: &&[u8], b: &&[u8]| order.compare_internal(a, b);
        let smallest = files.iter().map(|file| &*file.smallest).min_by(by).unwrap();
        let largest = files.iter().map(|file| &*file.largest).max_by(by).unwrap();
        let at_bottom = done.nothing_older_outside();
        let deletions = |file: &&Arc<TableFile>| file.counts().map_or(0, |counts| counts.deletions);
        let seqno = if at_bottom { SeqNo::ZERO } else { SeqNo::new(9).unwrap() };
        let file = self.file(smallest, largest);
        FileMeta {
            epoch: files.iter().map(|file| file.epoch).min().unwrap(),
            file_bytes: done.input_bytes(),
            smallest_seqno: SeqNo::ZERO,
            largest_seqno: seqno,
            need_compaction: false,
            oldest_ancestor_time: files.iter().map(|file| file.oldest_ancestor_time).min().unwrap(),
            creation_time: NOW,
            counts: Some(TableCounts {
                entries: 100 * files.len() as u64,
                deletions: if at_bottom { 0 } else { files.iter().map(deletions).sum() },
                ..TableCounts::default()
            }),
            ..file
        }
    }

    /// Nobody outside of a compaction stands between its inputs, or shares a user key with them on their level.
    fn check(&self, picked: &Compaction) {
        let order = KeyOrder::Bytewise;
        let levels: Vec<usize> = picked.inputs.iter().map(|input| input.level).collect();
        assert!(levels.windows(2).all(|pair| pair[0] < pair[1]), "seed {}: {levels:?}", self.seed);
        assert!(levels.last().is_some_and(|last| *last <= picked.output_level));
        let taken = |file: &TableFile| picked.files().any(|(_, other)| other.number == file.number);
        let all: Vec<(usize, &Arc<TableFile>)> = self.version.files().collect();
        let (from, to) = picked.user_key_range(&order).unwrap();
        for (at, (level, file)) in all.iter().enumerate() {
            // What is below the output is older than everything above it.
            let beside = !taken(file) && file.overlaps(&order, from, to);
            if !beside || picked.is_drop() || *level > picked.output_level {
                continue;
            }
            let message =
                || format!("seed {}: {level}, {} is beside {picked:?}", self.seed, file.number);
            let stays_in_order =
                |(other_at, (other_level, other)): (usize, &(usize, &Arc<TableFile>))| {
                    let (from, to) = (other.smallest_user_key(), other.largest_user_key());
                    let meets = taken(other) && file.overlaps(&order, from, to);
                    !meets || at < other_at && (level < other_level || *level == 0)
                };
            let newer = all.iter().enumerate().all(stays_in_order);
            if picked.output_level == 0 {
                let last = all.iter().rposition(|(_, file)| taken(file)).unwrap();
                assert!(newer || at > last, "{}", message());
            } else {
                assert!(newer && *level < picked.output_level, "{}", message());
            }
        }
        if picked.is_drop() {
            let oldest = self.version.last_level() == Some(levels[0]);
            assert!(oldest && levels.len() == 1, "seed {}: newer tables are dropped", self.seed);
        }
    }

    /// Compactions one after the other, until none is due.
    fn settle(&mut self) {
        let mut steps = 0;
        while !self.running.is_empty() || self.pick() {
            self.finish();
            steps += 1;
            assert!(steps < 500, "seed {}: it does not come to rest", self.seed);
        }
        let moment = Moment { unix_seconds: NOW, oldest_snapshot: None };
        assert!(self.picker.pick(&self.version, &moment).is_none());
        assert!(self.version.files().all(|(_, file)| !file.is_being_compacted()));
    }
}

fn user_key(at: u64) -> Vec<u8> {
    format!("{at:03}").into_bytes()
}

fn key(at: u64, seqno: u64) -> Vec<u8> {
    InternalKey::new(&user_key(at), SeqNo::new(seqno).unwrap(), ValueType::Value).encode()
}

fn small(style: CompactionStyle, num_levels: i32) -> ColumnFamilyOptions {
    ColumnFamilyOptions {
        compaction_style: style,
        num_levels,
        max_bytes_for_level_base: 200,
        max_bytes_for_level_multiplier: 4.0,
        target_file_size_base: 50,
        max_compaction_bytes: 500,
        ttl: 1500,
        periodic_compaction_seconds: 1800,
        ..ColumnFamilyOptions::default()
    }
}

fn run(options: &ColumnFamilyOptions) {
    for seed in 1..=200 {
        let mut tree = Tree::new(options, seed);
        tree.settle();
        for _ in 0..60 {
            match tree.random.below(8) {
                0..=2 => tree.flush(),
                3 => tree.pick_by_hand(),
                4..=5 => {
                    tree.pick();
                }
                _ if !tree.running.is_empty() => tree.finish(),
                _ => {}
            }
        }
        tree.settle();
    }
}

#[test]
fn a_levelled_tree_of_fixed_targets_stays_whole_and_comes_to_rest() {
    run(&ColumnFamilyOptions {
        level_compaction_dynamic_level_bytes: false,
        ..small(CompactionStyle::Level, 5)
    });
}

#[test]
fn a_levelled_tree_of_dynamic_targets_stays_whole_and_comes_to_rest() {
    run(&small(CompactionStyle::Level, 6));
}

#[test]
fn runs_of_universal_compaction_stay_whole_and_come_to_rest() {
    for levels in [1, 3, 7] {
        run(&small(CompactionStyle::Universal, levels));
    }
    run(&ColumnFamilyOptions {
        compaction_options_universal: UniversalOptions {
            stop_style: UniversalStopStyle::SimilarSize,
            size_ratio: 50,
            max_merge_width: 3,
            max_size_amplification_percent: 2000,
            allow_trivial_move: true,
            ..UniversalOptions::default()
        },
        ..small(CompactionStyle::Universal, 7)
    });
}

#[test]
fn fifo_drops_the_oldest_and_merges_the_small_ones() {
    for allow_compaction in [false, true] {
        run(&ColumnFamilyOptions {
            write_buffer_size: 40,
            compaction_options_fifo: FifoOptions {
                max_table_files_size: 400,
                allow_compaction,
                ..FifoOptions::default()
            },
            ..small(CompactionStyle::Fifo, 3)
        });
    }
}
