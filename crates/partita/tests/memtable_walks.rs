//! A step over what is in memory allocates nothing, nor does a get. A binary of its own, because it counts all allocations.

use std::sync::Arc;

use partita::iter::{
    Bounds, Cover, MergingIterator, RangeTombstones, SortedRun, TruncatedTombstones,
    UncoveredIterator, VisibleIterator, VisibleOptions,
};
use partita::key::{KeyOrder, LookupKey, SeqNo, ValueType};
use partita::memtable::{InsertHint, MemTable, MemTableIter, MemTableOptions};
use partita::merge::VersionWalk;

mod counting;

use counting::allocations;

/// There are no files here.
struct NoFiles;

impl SortedRun for NoFiles {
    type Iter = MemTableIter;

    fn file_count(&self) -> usize {
        0
    }

    fn smallest(&self, _: usize) -> &[u8] {
        &[]
    }

    fn largest(&self, _: usize) -> &[u8] {
        &[]
    }

    fn open(&self, at: usize) -> partita::Result<MemTableIter> {
        unreachable!("file {at} of none")
    }

    fn range_tombstones(&self, _: usize) -> partita::Result<Option<Arc<RangeTombstones>>> {
        Ok(None)
    }
}

fn key(n: u32) -> [u8; 16] {
    u128::from(n).to_be_bytes()
}

/// Three memtables, the newest first: keys written over, deleted, and covered.
fn memtables() -> Vec<Arc<MemTable>> {
    let mut seqno = 0;
    let mut memtables = Vec::new();
    for generation in 0..3u32 {
        let memtable = Arc::new(MemTable::new(MemTableOptions::default()).unwrap());
        let mut hint = InsertHint::default();
        let mut writer = memtable.writer(&mut hint);
        for n in 0..3000 {
            let value_type = match (n + generation) % 7 {
                0 => ValueType::Deletion,
                _ => ValueType::Value,
            };
            if n % (generation + 1) == 0 {
                seqno += 1;
                let seqno = SeqNo::new(seqno).unwrap();
                writer.insert(seqno, value_type, &key(n), &[7; 40]).unwrap();
            }
        }
        seqno += 1;
        writer.delete_range(SeqNo::new(seqno).unwrap(), &key(1000), &key(1010)).unwrap();
        drop(writer);
        memtables.insert(0, memtable);
    }
    memtables
}

fn allocations_of(work: impl FnOnce()) -> u64 {
    let before = allocations();
    work();
    allocations() - before
}

#[test]
fn steps_in_both_directions_allocate_nothing() {
    let memtables = memtables();
    let order = KeyOrder::Bytewise;
    for has_tombstones in [false, true] {
        let mut cover: Cover<NoFiles> = Cover::new(order.clone(), SeqNo::MAX);
        for (at, memtable) in memtables.iter().enumerate().filter(|_| has_tombstones) {
            for set in memtable.range_tombstone_sets() {
                cover.add(at, TruncatedTombstones::whole(set));
            }
        }
        let children = memtables.iter().map(MemTable::iter).collect();
        let merge = MergingIterator::new(children, order.clone());
        let uncovered = UncoveredIterator::new(merge, cover, Arc::new(Bounds::default()));
        let options = VisibleOptions::new(order.clone(), SeqNo::MAX);
        let mut iter = VisibleIterator::new(uncovered, options);
        for round in 0..2 {
            let mut count = 0;
            iter.seek_to_first().unwrap();
            let forward = allocations_of(|| {
                while iter.is_valid() {
                    count += 1;
                    iter.next().unwrap();
                }
            });
            iter.seek_to_last().unwrap();
            let backward = allocations_of(|| {
                while iter.is_valid() {
                    count -= 1;
                    iter.prev().unwrap();
                }
            });
            assert_eq!(count, 0, "as many keys forward as backward");
            // Where a covered stretch starts and ends, its edges are copied.
            let edges = if has_tombstones { 100 } else { 0 };
            if round == 1 {
                assert!(forward <= edges && backward <= edges, "{forward} and {backward}");
            }
        }
    }
}

#[test]
fn gets_allocate_nothing() {
    let memtables = memtables();
    let mut walk = VersionWalk::default();
    let mut get_all = || {
        for n in 0..4000 {
            walk.reset();
            let key = key(n);
            for memtable in &memtables {
                memtable.get(&LookupKey::new(&key, SeqNo::MAX), &mut walk).unwrap();
            }
        }
    };
    // The first question sorts the tombstones.
    get_all();
    assert_eq!(allocations_of(get_all), 0);
}
