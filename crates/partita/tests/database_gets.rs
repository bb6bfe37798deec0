//! A read of a database whose pieces are in memory allocates nothing. A binary of its own, because it counts all
//! allocations.

use std::ops::Bound;
use std::sync::Arc;

use partita::db::{Db, DbBuilder, FamilyConfig, ReadOptions};
use partita::io::MemoryFileSystem;
use partita::options::{ColumnFamilyOptions, DbOptions};
use partita::table::ReadContext;

mod counting;

use counting::allocations;

fn key(number: u32) -> [u8; 8] {
    u64::from(number).to_be_bytes()
}

/// Runs of tables, one of them with a range tombstone, and something in the memtable.
fn create(value_len: usize) -> Db {
    let family =
        ColumnFamilyOptions { disable_auto_compactions: true, ..ColumnFamilyOptions::default() };
    let config = FamilyConfig { options: Some(family), ..FamilyConfig::default() };
    let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    let disk = Arc::new(MemoryFileSystem::new());
    let builder = DbBuilder::new("/db").file_system(disk).options(options);
    let db = builder.family("default", config).open().unwrap();
    for run in 0..3 {
        for number in (run..3000).step_by(3) {
            db.put(&key(2 * number), &vec![7; value_len]).unwrap();
        }
        if run == 1 {
            db.delete_range(&key(100), &key(160)).unwrap();
        }
        db.flush().unwrap();
    }
    for number in (0..3000).step_by(7) {
        db.put(&key(2 * number), &vec![7; value_len]).unwrap();
    }
    db
}

#[test]
fn reads_of_what_is_in_memory_allocate_nothing() {
    // Values that are copied, and values that hold their block or their memtable.
    for value_len in [8, 100] {
        let db = create(value_len);
        let family = db.default_family();
        let options = ReadOptions::default();
        let mut ctx = ReadContext::default();
        let mut read_all = || {
            let (mut gets, mut floors) = (0, 0);
            for number in 0..6000 {
                let key = key(number);
                let before = allocations();
                let by_context = db.get_with(&family, &key, &options, &mut ctx).unwrap();
                let plain = db.get(&key).unwrap();
                gets += allocations() - before;
                assert_eq!(by_context.as_deref(), plain.as_deref());
                assert!(plain.is_none_or(|value| value.len() == value_len));

                let before = allocations();
                let range = (Bound::Unbounded, Bound::Included(&key[..]));
                let floor = db.get_floor_with(&family, range, &options, &mut ctx).unwrap();
                floors += u32::from(allocations() > before);
                assert!(floor.unwrap().key[..] <= key[..]);
            }
            (gets, floors)
        };
        // What is built at the second use is built then.
        read_all();
        read_all();
        let (gets, floors) = read_all();
        assert_eq!(gets, 0, "values of {value_len}");
        // Some floors go over a border of pieces, or over more deleted keys than searches pass.
        assert!(floors < 300, "{floors} of 6,000 with values of {value_len}");
    }
}
