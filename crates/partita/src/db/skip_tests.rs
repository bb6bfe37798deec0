//! What readers pass over: counted, and little where ranges are covered.

use std::ops::Bound;
use std::sync::Arc;

use super::testing::{all, forward};
use super::*;
use crate::batch::WriteBatch;
use crate::io::MemoryFileSystem;
use crate::options::{ColumnFamilyOptions, TableOptions};
use crate::table::ReadContext;

fn open(options: ColumnFamilyOptions) -> Db {
    let db_options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    let config = FamilyConfig { options: Some(options), ..FamilyConfig::default() };
    DbBuilder::new("/db")
        .file_system(Arc::new(MemoryFileSystem::new()))
        .cache(Cache::new(64 << 20))
        .options(db_options)
        .family("default", config)
        .open()
        .unwrap()
}

fn skipped(db: &Db) -> SkipCounts {
    db.family_stats(&db.default_family()).skipped
}

#[test]
fn walks_and_floors_count_the_deletions_they_pass_and_others_nothing() {
    let db = open(ColumnFamilyOptions::default());
    for number in 0..100_u32 {
        db.put(&number.to_be_bytes(), b"v").unwrap();
    }
    let floor = |number: u32| {
        let key = number.to_be_bytes();
        db.get_floor(Bound::Included(&key)).unwrap().map(|found| found.key.to_vec())
    };
    assert_eq!(all(&db, &db.default_family()).len(), 100);
    assert_eq!(floor(50), Some(50_u32.to_be_bytes().to_vec()));
    assert_eq!(skipped(&db), SkipCounts::default());
    for number in 40..=50_u32 {
        db.delete(&number.to_be_bytes()).unwrap();
    }
    assert_eq!(floor(50), Some(39_u32.to_be_bytes().to_vec()));
    let of_floor = skipped(&db);
    assert!(of_floor.tombstones >= 11 && of_floor.entries >= of_floor.tombstones, "{of_floor:?}");
    // A seek is counted when it is done; steps are when the walk ends.
    let mut iter = db.iter().unwrap();
    iter.seek(&40_u32.to_be_bytes()).unwrap();
    let of_seek = skipped(&db);
    assert_eq!(of_seek.tombstones, of_floor.tombstones + 11);
    iter.seek(&39_u32.to_be_bytes()).unwrap();
    iter.next().unwrap();
    assert_eq!(skipped(&db), of_seek);
    drop(iter);
    assert_eq!(skipped(&db).tombstones, of_seek.tombstones + 11);
}

fn floor_in(db: &Db, range: KeyRange<'_>) -> Result<Option<KeyValue>> {
    let ctx = &mut ReadContext::default();
    db.get_floor_with(&db.default_family(), range, &ReadOptions::default(), ctx)
}

const LEDGERS: u64 = 20_000;

fn key(ledger: u64, entry: u64) -> Vec<u8> {
    [ledger.to_be_bytes(), entry.to_be_bytes()].concat()
}

/// Ledgers with three entries each, all deleted but every thousandth, by a range tombstone each. Nothing is compacted.
///
/// * `adjoin`: each tombstone ends where the next ledger begins, not at the ledger's last possible entry.
fn ledgers(flushed: bool, adjoin: bool) -> Db {
    let db = open(ColumnFamilyOptions {
        disable_auto_compactions: true,
        table: TableOptions { block_size: 4096, ..TableOptions::default() },
        ..ColumnFamilyOptions::default()
    });
    for deletes in [false, true] {
        for chunk in (0..LEDGERS).collect::<Vec<_>>().chunks(500) {
            let mut batch = WriteBatch::new();
            for &ledger in chunk {
                match deletes {
                    false => {
                        for entry in 0..3 {
                            batch.put(&key(ledger, entry), b"location").unwrap();
                        }
                    }
                    true if ledger % 1000 != 500 => {
                        let end = if adjoin { key(ledger + 1, 0) } else { key(ledger, u64::MAX) };
                        batch.delete_range(&key(ledger, 0), &end).unwrap();
                    }
                    true => {}
                }
            }
            db.write(batch, &WriteOptions::default()).unwrap();
        }
        if flushed {
            db.flush().unwrap();
        }
    }
    db
}

/// Each bookie deletes its ledgers by range; what is left is found without a walk over what is gone.
#[test]
fn among_thousands_of_range_tombstones_little_is_passed_over() {
    for (flushed, adjoin) in [(false, false), (true, false), (true, true)] {
        let db = ledgers(flushed, adjoin);
        let mut iter = db.iter().unwrap();
        let live: Vec<Vec<u8>> = (0..LEDGERS / 1000)
            .flat_map(|i| (0..3).map(move |entry| key(i * 1000 + 500, entry)))
            .collect();
        let found: Vec<Vec<u8>> = forward(&mut iter).into_iter().map(|pair| pair.0).collect();
        assert_eq!(found, live);
        drop(iter);
        let of_walk = skipped(&db);
        // In the memtable that has the tombstones, too, what they hide is passed one by one. Older tables are sought over it:
        // once a ledger where the next one's tombstone leaves a gap, or once from one that is left to the next.
        let gone = LEDGERS - LEDGERS / 1000;
        let stretches = match (flushed, adjoin) {
            (false, _) => 0,
            (true, false) => gone,
            (true, true) => LEDGERS / 1000 + 1,
        };
        assert_eq!(of_walk.stretches, stretches, "{flushed} {adjoin}: {of_walk:?}");
        let most = if flushed { stretches } else { 3 * gone };
        assert!(of_walk.tombstones <= most, "{flushed} {adjoin}: {of_walk:?}");
        let mut looked_at = 0;
        for ledger in (500..LEDGERS).step_by(1000) {
            let before = skipped(&db).entries;
            // Within the ledger, as for its last entry.
            let range = |ledger: u64| (key(ledger, 0), key(ledger, u64::MAX));
            let (from, to) = range(ledger);
            let bounds = (Bound::Included(&from[..]), Bound::Included(&to[..]));
            let last = floor_in(&db, bounds).unwrap().unwrap();
            assert_eq!(&*last.key, &key(ledger, 2)[..]);
            let (from, to) = range(ledger + 1);
            let bounds = (Bound::Included(&from[..]), Bound::Included(&to[..]));
            assert!(floor_in(&db, bounds).unwrap().is_none());
            looked_at += skipped(&db).entries - before;
        }
        assert!(looked_at <= 6 * LEDGERS / 1000, "{flushed}: {looked_at}");
    }
}
