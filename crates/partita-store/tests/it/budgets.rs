//! One budget for all tables, with index and filter in it or beside it.

use std::sync::Arc;

use partita::cache::Role;
use partita::io::MemoryFileSystem;
use partita_store::{Metadata, Profile, Schema, StoreBuilder};

use crate::support::{Shop, builder, disk};

const KEYS: u64 = 10_000;

fn name(number: u64) -> String {
    format!("{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// A disk with a store whose tables have one filter and one index each.
fn loaded() -> Arc<MemoryFileSystem> {
    let disk = disk();
    let shop: Shop = builder(&disk).profile(Profile::Test).open().unwrap();
    for number in 0..KEYS {
        shop.stock.put(&name(number), &(number as i64)).unwrap();
        if number % 4 == 0 {
            shop.open.put(&name(number), &()).unwrap();
        }
    }
    shop.store().flush().unwrap();
    disk
}

/// Reads all of it.
fn read_through(builder: &StoreBuilder) -> Shop {
    let shop: Shop = builder.clone().profile(Profile::Test).open().unwrap();
    for number in 0..KEYS {
        assert_eq!(shop.stock.get(&name(number)).unwrap(), Some(number as i64));
        assert_eq!(shop.open.contains(&name(number)).unwrap(), number % 4 == 0);
    }
    shop
}

#[test]
fn all_tables_stay_within_the_one_budget() {
    let budget = 64 << 10;
    let shop = read_through(&builder(&loaded()).budget_bytes(budget));
    // What was evicted waits until no reader can see it, and other tests' threads may be stopped in the middle of a read: so
    // much may wait at most, and the object that was evicted last.
    let block = 8 << 10;
    let usage = shop.store().stats().db.cache.usage_bytes();
    assert!(usage <= (budget + budget / 16 + block) as u64, "{:?}", shop.store().stats().db.cache);
    let stats = shop.store().stats();
    assert_eq!(
        (stats.metadata.placement, stats.metadata.limit_bytes),
        (Metadata::InBudget, budget as u64)
    );
    assert!(stats.metadata.bytes() > 0 && stats.metadata.hits > 0);
    assert!(stats.db.metadata_cache.is_none());
}

#[test]
fn resident_metadata_has_its_limit_and_tells_when_that_is_too_small() {
    // Enough for all: read once, and nothing leaves.
    let disk = loaded();
    let placement = Metadata::Resident { limit_bytes: 1 << 20 };
    let shop = read_through(&builder(&disk).budget_bytes(64 << 10).metadata(placement));
    let needed = shop.store().metadata_needed().unwrap();
    let report = shop.store().metadata();
    assert_eq!((report.placement, report.limit_bytes, report.evictions), (placement, 1 << 20, 0));
    // Sums of checksums and separators come on top, bytes of compressed indexes do not.
    assert!(
        report.bytes() > needed / 2 && report.bytes() < 3 * needed,
        "{report:?}, {needed} needed"
    );
    assert!(report.hit_ratio().unwrap() > 0.99);
    let stats = shop.store().stats();
    assert_eq!(stats.db.cache.role(Role::FilterPiece).bytes, 0);
    assert!(stats.db.cache.role(Role::Data).evictions > 100);

    // Not enough: it stays within it, and tells.
    drop(shop);
    let limit_bytes = needed as usize / 2;
    let placement = Metadata::Resident { limit_bytes };
    let shop = read_through(&builder(&disk).budget_bytes(64 << 10).metadata(placement));
    let report = shop.store().metadata();
    assert!(report.evictions > 0, "{report:?}");
    // Of what can leave, nothing is over the limit.
    assert!(report.index_bytes + report.filter_bytes <= limit_bytes as u64, "{report:?}");
}
