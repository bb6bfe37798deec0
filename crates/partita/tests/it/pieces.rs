//! Tables read through a cache: in pieces, whatever their layout, at any budget.

use std::sync::{Arc, Barrier};

use partita::cache::{Cache, Role};
use partita::filter::FilterPolicy;
use partita::io::{MemoryFile, MemoryWriter, RandomAccessFile};
use partita::iter::InternalIterator;
use partita::key::{InternalKey, KeyOrder, SeqNo, ValueType};
use partita::options::{FilterLayout, IndexType, TableOptions};
use partita::table::{
    BlockRole, FilterDamage, FilterStatus, FilterUse, LookupKey, ReadContext, ReaderOptions,
    TableBuilder, TableContext, TableReader,
};
use partita_testkit::golden;
use partita_testkit::table_check::{self, check_all};
use partita_testkit::variants::variants;

use crate::support::{Rotting, Watched};

const KEYS: u32 = 40_000;

/// Every third number is a key.
fn key(number: u32) -> Vec<u8> {
    format!("{number:016}").into_bytes()
}

fn value(number: u32) -> Vec<u8> {
    format!("value {number} {}", "x".repeat(number as usize % 60)).into_bytes()
}

/// How the large table's index and filter are laid out.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Layout {
    /// One index block, stored as it is; one Bloom filter.
    Full,
    /// One index block, compressed; one Ribbon filter.
    FullCompressed,
    Partitioned,
}

const LAYOUTS: [Layout; 3] = [Layout::Full, Layout::FullCompressed, Layout::Partitioned];

/// 40,000 entries in some 6 MB, with a filter of 160 to 500 KiB and an index of about 200 KiB.
fn large_table(layout: Layout) -> Vec<u8> {
    let full = layout != Layout::Partitioned;
    let options = TableOptions {
        block_size: 300,
        index_type: if full { IndexType::BinarySearch } else { IndexType::TwoLevel },
        filter_layout: if full { FilterLayout::Full } else { FilterLayout::Partitioned },
        filter_policy: Some(match layout {
            Layout::FullCompressed => {
                FilterPolicy::Ribbon { bits_per_key: 70.0, bloom_before_level: -1 }
            }
            _ => FilterPolicy::Bloom { bits_per_key: 100.0 },
        }),
        enable_index_compression: layout == Layout::FullCompressed,
        ..TableOptions::default()
    };
    let writer = MemoryWriter::new("x.sst");
    let (file, context) = (Box::new(writer.clone()), TableContext::default());
    let mut builder = TableBuilder::new(file, options, KeyOrder::Bytewise, context).unwrap();
    for number in 0..KEYS {
        let key = key(3 * number);
        let key = InternalKey::new(&key, SeqNo::new(1).unwrap(), ValueType::Value);
        builder.add(&key.encode(), &value(3 * number)).unwrap();
    }
    builder.finish().unwrap();
    writer.into_bytes()
}

fn options(budget: usize) -> ReaderOptions {
    ReaderOptions {
        cache: Cache::new(budget),
        filter_use: FilterUse::Always,
        ..ReaderOptions::default()
    }
}

fn open(file: Arc<dyn RandomAccessFile>, options: &ReaderOptions) -> Arc<TableReader> {
    Arc::new(TableReader::open(file, options, &mut ReadContext::default()).unwrap())
}

fn open_bytes(bytes: &[u8], options: &ReaderOptions) -> Arc<TableReader> {
    open(Arc::new(MemoryFile::new("x.sst", bytes.to_vec())), options)
}

/// Looks a number up and holds the answer against what was written.
fn get(table: &TableReader, number: u32, ctx: &mut ReadContext) {
    let found = table.get(&LookupKey::new(&key(number), SeqNo::MAX), ctx).unwrap();
    let is_key = number.is_multiple_of(3) && number < 3 * KEYS;
    assert_eq!(found.is_some(), is_key, "{number}");
    if let Some(found) = found {
        assert_eq!(*found.value, *value(number));
    }
}

/// Numbers without a pattern, of which a third are keys.
fn numbers(count: usize) -> impl Iterator<Item = u32> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % u64::from(3 * KEYS)) as u32
    })
    .take(count)
}

#[test]
fn golden_tables_read_right_at_any_budget() {
    for golden in golden::tables() {
        let (entries, file) = (golden.entries(), std::fs::read(golden.path()).unwrap());
        for budget in [0, 1 << 10, 64 << 10] {
            let table = open_bytes(&file, &options(budget));
            check_all(&table, &entries, &format!("{}, budget {budget}", golden.name()));
        }
    }
}

#[test]
fn variants_read_right_without_room_for_a_block() {
    for (number, mut variant) in variants().into_iter().enumerate().step_by(5) {
        variant.count = variant.count.min(60);
        let writer = MemoryWriter::new("x.sst");
        variant.write(Box::new(writer.clone())).unwrap();
        let table = open(Arc::new(writer.into_file()), &options([0, 1 << 10][number % 2]));
        check_all(&table, &variant.entries(), &variant.name);
    }
}

#[test]
fn pieces_that_were_evicted_are_read_again_and_right() {
    for layout in LAYOUTS {
        let bytes = large_table(layout);
        for budget in [0, 1 << 10, 64 << 10, 1 << 20] {
            let table = open_bytes(&bytes, &options(budget));
            let mut ctx = ReadContext::default();
            numbers(1500).for_each(|number| get(&table, number, &mut ctx));
            let misses: u64 = ctx.cache_misses.iter().map(|(_, misses)| misses).sum();
            assert!(misses > 1500 || budget == 1 << 20, "{layout:?}, {budget}: {misses} misses");
            let mut iter = table.iter();
            iter.seek_internal(InternalKey::for_seek(&key(30_001), SeqNo::MAX)).unwrap();
            for number in (30_003..31_000).step_by(3) {
                assert_eq!(iter.value(), value(number));
                iter.next().unwrap();
            }
        }
    }
}

#[test]
fn a_get_reads_no_more_than_one_chunk_of_a_full_filter() {
    for layout in [Layout::Full, Layout::FullCompressed] {
        let table = open_bytes(&large_table(layout), &options(128 << 10));
        let filter = table.metaindex().with_prefix("fullfilter.").unwrap().1;
        assert!(filter.size > 150 << 10, "{} bytes", filter.size);
        let mut ctx = ReadContext::default();
        get(&table, 0, &mut ctx);
        let first = ctx.bytes_read[BlockRole::Filter];
        assert!(first <= filter.size + 5 + 4096, "the first pass reads {first} bytes");
        let mut read_again = 0;
        for number in numbers(2000) {
            let before = ctx.bytes_read[BlockRole::Filter];
            get(&table, number, &mut ctx);
            let read = ctx.bytes_read[BlockRole::Filter] - before;
            assert!(read <= 4096, "{read} bytes");
            read_again += u64::from(read > 0);
        }
        assert!(read_again > 100, "nothing was evicted: {read_again}");
        assert!(ctx.filters_ruled_out > 1000);
        // What left the cache and waits for another test's reader, whose thread may be asleep, is not counted.
        let usage = table.cache().stats().total().bytes;
        assert!(usage <= (128 << 10) + (32 << 10), "{usage} bytes used");
    }
}

#[test]
fn damage_to_a_chunk_rules_nothing_out_or_is_an_error_that_names_it() {
    for layout in [Layout::Full, Layout::FullCompressed] {
        let bytes = large_table(layout);
        for on_damage in [FilterDamage::RuleNothingOut, FilterDamage::Error] {
            let file = Rotting::new(bytes.clone());
            let options = ReaderOptions { filter_damage: on_damage, ..options(0) };
            let table = open(Arc::<Rotting>::clone(&file), &options);
            let filter = table.metaindex().with_prefix("fullfilter.").unwrap().1;
            let ctx = &mut ReadContext::default();
            get(&table, 0, ctx);
            let damaged = filter.offset + 100_000;
            file.flip(damaged);
            let mut errors = 0;
            for number in numbers(2000) {
                let lookup = key(number);
                match table.get(&LookupKey::new(&lookup, SeqNo::MAX), ctx) {
                    Ok(found) => assert_eq!(found.is_some(), number.is_multiple_of(3)),
                    Err(error) => {
                        assert_eq!(error.part(), Some("filter block"));
                        let chunk = error.offset().unwrap()..;
                        assert!(chunk.contains(&damaged) && damaged - chunk.start < 4096);
                        assert_eq!(error.byte_len(), Some(4096));
                        errors += 1;
                    }
                }
            }
            match on_damage {
                FilterDamage::Error => assert!((1..100).contains(&errors), "{errors}"),
                FilterDamage::RuleNothingOut => {
                    assert_eq!(errors, 0);
                    assert!((1..100).contains(&ctx.filters_unreadable));
                    let FilterStatus::Unreadable(damage) = table.filter_status() else { panic!() };
                    assert!(damage.contains("filter block at 0x"), "{damage}");
                }
            }
        }
    }
}

#[test]
fn damage_anywhere_in_a_full_filter_is_found_by_the_first_pass() {
    let bytes = large_table(Layout::Full);
    let table = open_bytes(&bytes, &options(1 << 20));
    let filter = table.metaindex().with_prefix("fullfilter.").unwrap().1;
    // A line, the metadata, the compression type, the checksum.
    for at in [70_000, filter.size - 3, filter.size, filter.size + 2] {
        let mut damaged = bytes.clone();
        damaged[(filter.offset + at) as usize] ^= 1;
        let table = open_bytes(&damaged, &options(1 << 20));
        let ctx = &mut ReadContext::default();
        numbers(50).for_each(|number| get(&table, number, ctx));
        assert_eq!((ctx.filters_checked, ctx.filters_unreadable), (0, 50), "byte {at}");
        let FilterStatus::Unreadable(damage) = table.filter_status() else { panic!("byte {at}") };
        assert!(damage.contains("checksum mismatch") || at >= filter.size, "{damage}");
    }
}

#[test]
fn damage_to_a_piece_of_the_index_is_an_error_that_names_it() {
    for layout in [Layout::Full, Layout::FullCompressed] {
        let file = Rotting::new(large_table(layout));
        let table = open(Arc::<Rotting>::clone(&file), &options(0));
        let blocks = table.blocks(&mut ReadContext::default()).unwrap();
        let index = blocks.iter().find(|block| block.role == BlockRole::Index).unwrap().handle;
        let ctx = &mut ReadContext::default();
        get(&table, 0, ctx);
        file.flip(index.offset + index.size / 2);
        let results = (0..3 * KEYS).step_by(2991).map(|number| {
            table.get(&LookupKey::new(&key(number), SeqNo::MAX), ctx).map(|found| found.is_some())
        });
        let (sound, damaged): (Vec<_>, Vec<_>) = results.partition(Result::is_ok);
        assert!(sound.into_iter().all(Result::unwrap));
        // Of an index that is stored as it is, one piece is lost.
        match layout {
            Layout::Full => assert!((1..4).contains(&damaged.len()), "{}", damaged.len()),
            _ => assert_eq!(damaged.len(), 41),
        }
        for error in damaged.into_iter().map(Result::unwrap_err) {
            assert_eq!(error.part(), Some("index block"));
            assert!(error.is_corruption() && error.file().is_some());
            assert!((index.offset..index.offset + index.size).contains(&error.offset().unwrap()));
        }
    }
}

#[test]
fn a_large_index_block_is_read_piece_by_piece() {
    let table = open_bytes(&large_table(Layout::Full), &options(128 << 10));
    let mut ctx = ReadContext::default();
    get(&table, 0, &mut ctx);
    let mut read_again = 0;
    for number in numbers(1000) {
        let before = ctx.bytes_read[BlockRole::Index];
        get(&table, number, &mut ctx);
        let read = ctx.bytes_read[BlockRole::Index] - before;
        assert!(read <= 4200, "{read} bytes");
        read_again += u64::from(read > 0);
    }
    assert!(read_again > 50, "{read_again}");
}

#[test]
fn the_blocks_of_a_dropped_table_leave_at_once_and_values_stay() {
    let bytes = large_table(Layout::Full);
    let options = options(64 << 20);
    let table = open_bytes(&bytes, &options);
    let mut ctx = ReadContext::default();
    numbers(1000).for_each(|number| get(&table, number, &mut ctx));
    let long = 3 * 59; // its value has more than 59 bytes
    let found = table.get(&LookupKey::new(&key(long), SeqNo::MAX), &mut ctx).unwrap().unwrap();
    assert!(found.value.pinned_memory_bytes() > found.value.len());
    let short = table.get(&LookupKey::new(&key(60), SeqNo::MAX), &mut ctx).unwrap().unwrap();
    assert_eq!(short.value.pinned_memory_bytes(), 0);
    let stats = options.cache.stats();
    assert!(stats.role(Role::Data).bytes > 100_000);
    assert!(stats.role(Role::FilterPiece).bytes > 50_000);
    assert!(stats.role(Role::IndexPiece).bytes > 50_000);

    drop(table);
    let usage = options.cache.stats().total().bytes as usize;
    let pinned = found.value.pinned_memory_bytes();
    assert!((pinned..pinned + 500).contains(&usage), "{usage} bytes are left, {pinned} pinned");
    drop(options);
    assert_eq!((&*found.value, &*short.value), (&value(long)[..], &value(60)[..]));
}

#[test]
fn many_threads_read_a_cold_block_once() {
    let file = Watched::new(MemoryFile::new("x.sst", large_table(Layout::Partitioned)));
    let table = open(Arc::<Watched<MemoryFile>>::clone(&file), &options(8 << 20));
    file.take_reads();
    let start = Barrier::new(64);
    std::thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                start.wait();
                get(&table, 30_000, &mut ReadContext::default());
            });
        }
    });
    let reads = file.take_reads();
    assert_eq!(reads.len(), 5, "two top levels, two partitions, one data block: {reads:?}");
}

#[test]
fn answers_do_not_depend_on_whether_the_filter_is_asked() {
    for layout in LAYOUTS {
        let bytes = large_table(layout);
        for filter_use in [FilterUse::Adaptive, FilterUse::Always, FilterUse::Never] {
            let options = ReaderOptions { filter_use, ..options(256 << 10) };
            let table = open_bytes(&bytes, &options);
            let mut ctx = ReadContext::default();
            // Changes of the workload, so that the filter goes and comes.
            for number in numbers(6000) {
                get(&table, number, &mut ctx);
            }
            for number in numbers(4000) {
                get(&table, number / 3 * 3, &mut ctx);
            }
            for number in numbers(4000) {
                get(&table, number / 3 * 3 + 1, &mut ctx);
            }
            match filter_use {
                FilterUse::Always => {
                    assert_eq!((ctx.filters_checked, ctx.filters_skipped), (14_000, 0));
                }
                FilterUse::Never => {
                    assert_eq!((ctx.filters_checked, ctx.filters_skipped), (0, 14_000));
                }
                FilterUse::Adaptive => {
                    assert!(ctx.filters_checked > 500 && ctx.filters_skipped > 500, "{ctx:?}");
                }
            }
        }
    }
}

#[test]
fn a_filter_that_rules_nothing_out_is_no_longer_read_and_comes_back_when_keys_are_absent() {
    for layout in LAYOUTS {
        let options = ReaderOptions { filter_use: FilterUse::Adaptive, ..options(32 << 20) };
        let table = open_bytes(&large_table(layout), &options);
        let mut ctx = ReadContext::default();
        numbers(4000).for_each(|number| get(&table, number / 3 * 3, &mut ctx));
        let (checked, skipped) = (ctx.filters_checked, ctx.filters_skipped);
        let role = match layout {
            Layout::Partitioned => BlockRole::FilterPartition,
            _ => BlockRole::Filter,
        };
        let read = ctx.bytes_read[role];
        numbers(4000).for_each(|number| get(&table, number / 3 * 3, &mut ctx));
        assert_eq!(ctx.filters_checked, checked, "{layout:?}");
        assert_eq!(ctx.filters_skipped, skipped + 4000);
        assert_eq!(ctx.bytes_read[role], read);

        numbers(3000).for_each(|number| get(&table, number / 3 * 3 + 1, &mut ctx));
        let ruled_out = ctx.filters_ruled_out;
        numbers(1000).for_each(|number| get(&table, number / 3 * 3 + 1, &mut ctx));
        assert!(ctx.filters_ruled_out - ruled_out > 990, "{layout:?}");
    }
}

#[test]
fn a_walk_can_pass_the_cache_by() {
    let options = options(32 << 20);
    let table = open_bytes(&large_table(Layout::Partitioned), &options);
    let mut iter = table.iter();
    iter.pass_cache_by();
    iter.seek_to_first().unwrap();
    let mut entries = 0;
    while iter.is_valid() {
        entries += 1;
        iter.next().unwrap();
    }
    assert_eq!(entries, KEYS);
    let stats = options.cache.stats();
    assert_eq!(stats.role(Role::Data).inserts + stats.role(Role::IndexPiece).inserts, 0);
    let no_fill = ReaderOptions { fill_cache: false, ..options.clone() };
    let table = open_bytes(&large_table(Layout::Partitioned), &no_fill);
    numbers(100).for_each(|number| get(&table, number, &mut ReadContext::default()));
    assert_eq!(options.cache.stats().role(Role::Data).inserts, 0);
}

#[test]
fn successors_are_warm_where_the_replaced_table_was_hot() {
    for old_layout in LAYOUTS {
        for new_layout in LAYOUTS {
            let options = options(8 << 20);
            let old = open_bytes(&large_table(old_layout), &options);
            let new = open_bytes(&large_table(new_layout), &options);
            let mut ctx = ReadContext::default();
            // A tenth of the keys is hot.
            let hot = |number: u32| number % (3 * KEYS / 10) + 30_000;
            numbers(3000).for_each(|number| get(&old, hot(number), &mut ctx));

            let none = old.hand_over_to(&[Arc::clone(&new)], 0.0, &mut ctx).unwrap();
            assert_eq!(none.bytes, 0);
            let warmed = old.hand_over_to(&[Arc::clone(&new)], 0.5, &mut ctx).unwrap();
            let name = format!("{old_layout:?} to {new_layout:?}: {warmed:?}");
            assert!(warmed.index_pieces > 0 && warmed.filter_pieces > 0, "{name}");
            assert!(warmed.bytes <= 4 << 20, "{name}");
            let mut after = ReadContext::default();
            numbers(1000).for_each(|number| get(&new, hot(number), &mut after));
            for role in [BlockRole::Index, BlockRole::IndexPartition, BlockRole::FilterPartition] {
                assert_eq!(after.blocks_read[role], 0, "{name}: {role}");
            }
            // All chunks of a filter may be asked; those that were in memory are.
            assert!(after.blocks_read[BlockRole::Filter] < 130, "{name}: {after:?}");
        }
    }
}

#[test]
fn successors_leave_a_filter_alone_that_did_not_pay() {
    let options = ReaderOptions { filter_use: FilterUse::Adaptive, ..options(8 << 20) };
    let old = open_bytes(&large_table(Layout::Full), &options);
    let new = open_bytes(&large_table(Layout::Full), &options);
    let mut ctx = ReadContext::default();
    numbers(3000).for_each(|number| get(&old, number / 3 * 3, &mut ctx));
    let warmed = old.hand_over_to(&[Arc::clone(&new)], 0.5, &mut ctx).unwrap();
    assert!(warmed.index_pieces > 0 && warmed.filter_pieces == 0, "{warmed:?}");
    let mut after = ReadContext::default();
    numbers(100).for_each(|number| get(&new, number / 3 * 3, &mut after));
    assert_eq!((after.filters_skipped, after.blocks_read[BlockRole::Filter]), (100, 0));
}

#[test]
fn a_hand_over_keeps_to_its_share_of_the_budget() {
    let options = options(8 << 20);
    let old = open_bytes(&large_table(Layout::Full), &options);
    let new = open_bytes(&large_table(Layout::Full), &options);
    let mut ctx = ReadContext::default();
    numbers(5000).for_each(|number| get(&old, number, &mut ctx));
    let warmed = old.hand_over_to(&[new], 0.01, &mut ctx).unwrap();
    assert!((40_000..=84_000).contains(&warmed.bytes), "{warmed:?}");
}

#[test]
fn what_lookups_found_in_the_cache_is_counted_by_role() {
    let table = open_bytes(&large_table(Layout::Full), &options(64 << 20));
    let mut ctx = ReadContext::default();
    numbers(500).for_each(|number| get(&table, number, &mut ctx));
    let mut again = ReadContext::default();
    numbers(500).for_each(|number| get(&table, number, &mut again));
    assert_eq!(again.cache_hits[BlockRole::Filter], 500);
    assert_eq!(again.cache_misses.iter().map(|(_, misses)| misses).sum::<u64>(), 0);
    assert_eq!(again.cache_hits[BlockRole::Index], again.cache_hits[BlockRole::Data]);
    assert_eq!(again.blocks_read_total(), 0);
    assert!(ctx.cache_misses[BlockRole::Data] > 100);
}

#[test]
fn golden_databases_read_right_with_a_shared_small_budget() {
    let options = options(256 << 10);
    let db = golden::get("locations-full-filter");
    for path in db.sst_paths() {
        let table = table_check::open(&path, &options).unwrap();
        let entries = table_check::read_all(&table);
        check_all(&table, &entries, &path.display().to_string());
    }
}
