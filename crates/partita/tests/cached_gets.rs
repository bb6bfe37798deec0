//! A lookup of what is cached allocates nothing, floors and ceilings included. A binary of its own, because it counts all allocations.

use std::ops::Bound;
use std::sync::Arc;

use partita::cache::Cache;
use partita::filter::FilterPolicy;
use partita::io::MemoryWriter;
use partita::key::{InternalKey, KeyOrder, SeqNo, ValueType};
use partita::options::{FilterLayout, IndexType, TableOptions};
use partita::table::{
    FilterUse, LookupKey, ReadContext, ReaderOptions, TableBuilder, TableContext, TableReader,
};

mod counting;

use counting::allocations;

fn key(number: u32) -> [u8; 8] {
    u64::from(number).to_be_bytes()
}

fn table(partitioned: bool, value_len: usize) -> TableReader {
    let (index_type, filter_layout) = match partitioned {
        true => (IndexType::TwoLevel, FilterLayout::Partitioned),
        false => (IndexType::BinarySearch, FilterLayout::Full),
    };
    let options = TableOptions {
        block_size: 1000,
        index_type,
        filter_layout,
        filter_policy: Some(FilterPolicy::Bloom { bits_per_key: 20.0 }),
        ..TableOptions::default()
    };
    let writer = MemoryWriter::new("x.sst");
    let (file, context) = (Box::new(writer.clone()), TableContext::default());
    let mut builder = TableBuilder::new(file, options, KeyOrder::Bytewise, context).unwrap();
    for number in 0..20_000 {
        let key = key(2 * number);
        let key = InternalKey::new(&key, SeqNo::new(1).unwrap(), ValueType::Value);
        builder.add(&key.encode(), &vec![7; value_len]).unwrap();
    }
    builder.finish().unwrap();
    let options = ReaderOptions {
        cache: Cache::new(64 << 20),
        filter_use: FilterUse::Always,
        ..ReaderOptions::default()
    };
    let file = Arc::new(writer.into_file());
    TableReader::open(file, &options, &mut ReadContext::default()).unwrap()
}

#[test]
fn cached_gets_of_present_and_absent_keys_allocate_nothing() {
    for partitioned in [false, true] {
        // Values that are copied, and values that hold their block.
        for value_len in [8, 100] {
            let table = table(partitioned, value_len);
            let mut ctx = ReadContext::default();
            let mut look_up_all = || {
                let mut counted = 0;
                for number in 0..40_000 {
                    // Absent keys stand behind present ones, and are no separators.
                    let is_present = number % 2 == 0;
                    let key = [&key(number / 2 * 2)[..], b"x"].concat();
                    let key = if is_present { &key[..8] } else { &key };
                    let before = allocations();
                    let found = table.get(&LookupKey::new(key, SeqNo::MAX), &mut ctx).unwrap();
                    counted += allocations() - before;
                    let found = found.map(|found| found.value.len());
                    assert_eq!(found, is_present.then_some(value_len));
                }
                counted
            };
            // What is built at the second use is built then.
            look_up_all();
            look_up_all();
            assert_eq!(look_up_all(), 0, "partitioned {partitioned}, values of {value_len}");
        }
    }
}

#[test]
fn cached_floors_and_ceilings_allocate_nothing_but_at_borders_of_index_pieces() {
    for partitioned in [false, true] {
        let table = table(partitioned, 8);
        let mut ctx = ReadContext::default();
        let mut look_up_all = || {
            let mut allocating = 0;
            for number in 1..39_999 {
                let bound = key(number);
                let before = allocations();
                let floor = table.get_floor(Bound::Included(&bound), SeqNo::MAX, &mut ctx).unwrap();
                let ceil = table.get_ceil(Bound::Included(&bound), SeqNo::MAX, &mut ctx).unwrap();
                allocating += u32::from(allocations() > before);
                assert_eq!(*floor.unwrap().user_key, key(number / 2 * 2));
                if number < 39_998 {
                    assert_eq!(*ceil.unwrap().user_key, key(number.div_ceil(2) * 2));
                }
            }
            allocating
        };
        look_up_all();
        look_up_all();
        let allocating = look_up_all();
        assert!(allocating < 40_000 / 100, "partitioned {partitioned}: {allocating} of 40,000");
    }
}
