//! Random operations against a sorted map, over flushes, compactions, restarts and switches of the layout.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use partita::io::MemoryFileSystem;
use partita_ledger::{EntryLocationIndex, IndexOptions, TableLayout};

use crate::support::{all, builder, flush, location};

/// xorshift64*: the same numbers everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn ledger(&mut self) -> i64 {
        match self.below(20) {
            0 => -1 - self.below(2) as i64,
            1 => i64::MAX,
            _ => self.below(12) as i64,
        }
    }

    fn entry(&mut self) -> i64 {
        match self.below(40) {
            0 => -1 - self.below(3) as i64,
            1 => i64::MAX - self.below(2) as i64,
            _ => self.below(60) as i64,
        }
    }
}

/// Ledger and entry in the order of keys -> location.
#[derive(Default)]
struct Model {
    entries: BTreeMap<(u64, u64), i64>,
    deleted: BTreeSet<i64>,
}

impl Model {
    fn last(&self, ledger: i64) -> Option<i64> {
        if self.deleted.contains(&ledger) {
            return None;
        }
        let range = (ledger as u64, 0)..(ledger as u64, i64::MAX as u64);
        self.entries.range(range).next_back().map(|((_, entry), _)| *entry as i64)
    }

    fn remove_deleted(&mut self) -> usize {
        let deleted = std::mem::take(&mut self.deleted);
        for ledger in &deleted {
            let gone = (*ledger as u64, 0)..(*ledger as u64, i64::MAX as u64);
            self.entries.retain(|key, _| !gone.contains(key));
        }
        deleted.len()
    }

    fn all(&self) -> Vec<(i64, i64, i64)> {
        let all = self.entries.iter();
        all.map(|((ledger, entry), location)| (*ledger as i64, *entry as i64, *location)).collect()
    }
}

fn open(disk: &Arc<MemoryFileSystem>, random: &mut Random) -> EntryLocationIndex {
    let mut options = IndexOptions::new(2 << 20);
    options.batch_operations_max = 1 + random.below(30) as usize;
    options.family.table.block_size = [64, 512, 64 << 10][random.below(3) as usize];
    options.family.table.metadata_block_size = 64;
    options.family.write_buffer_size = 16 << 10;
    options.family.target_file_size_base = 4 << 10;
    let layout = if random.below(2) == 0 { TableLayout::Full } else { TableLayout::Partitioned };
    layout.apply(&mut options.family.table);
    builder(disk, options).open().unwrap()
}

fn step(index: &EntryLocationIndex, model: &mut Model, random: &mut Random) {
    match random.below(100) {
        0..=39 => {
            let added: Vec<_> = (0..random.below(50))
                .map(|_| location(random.ledger(), random.entry(), random.next() as i64))
                .collect();
            let keys = added
                .iter()
                .map(|added| ((added.ledger_id as u64, added.entry_id as u64), added.location));
            model.entries.extend(keys);
            index.add_locations(added).unwrap();
        }
        40..=44 => {
            let (ledger, entry) = (random.ledger(), random.entry());
            let mut batch = index.new_batch();
            batch.remove(ledger, entry).unwrap();
            batch.flush().unwrap();
            model.entries.remove(&(ledger as u64, entry as u64));
        }
        45..=54 => {
            let ledger = random.ledger();
            index.delete_ledger(ledger);
            model.deleted.insert(ledger);
        }
        55..=57 => assert_eq!(index.remove_deleted().unwrap(), model.remove_deleted()),
        58..=60 => flush(index),
        61 => drop(index.compact().unwrap()),
        62..=79 => {
            let ledger = random.ledger();
            assert_eq!(index.get_last_entry(ledger).ok(), model.last(ledger), "ledger {ledger}");
        }
        _ => {
            let (ledger, entry) = (random.ledger(), random.entry());
            let expected = model.entries.get(&(ledger as u64, entry as u64)).copied();
            assert_eq!(index.get_location(ledger, entry).unwrap(), expected, "{ledger} {entry}");
        }
    }
}

#[test]
fn random_operations_come_to_what_a_sorted_map_says() {
    for seed in 1..=6 {
        let mut random = Random(seed);
        let disk = Arc::new(MemoryFileSystem::new());
        let mut model = Model::default();
        for _ in 0..8 {
            let index = open(&disk, &mut random);
            for _ in 0..250 {
                step(&index, &mut model, &mut random);
            }
            assert!(all(&index) == model.all(), "seed {seed}");
            for ledger in (-2..12).chain([i64::MAX]) {
                let entries: Vec<_> = index
                    .entries(ledger)
                    .unwrap()
                    .map(|entry| crate::support::triple(entry.unwrap()))
                    .collect();
                let expected: Vec<_> =
                    model.all().into_iter().filter(|(of, ..)| *of == ledger).collect();
                assert_eq!(entries, expected, "seed {seed}");
            }
            // Marks are gone with the index.
            model.deleted.clear();
        }
        assert!(model.entries.len() > 100, "seed {seed}");
    }
}
