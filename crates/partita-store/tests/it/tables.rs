//! Typed tables: reads, batches, walks, snapshots, figures, and errors that say where.

use partita::ErrorKind;
use partita::cache::Role;
use partita::db::{ReadOptions, ReadTier, WriteOptions};
use partita::table::BlockRole;
use partita_store::codec::{BigEndian, Bytes, Utf8};
use partita_store::{MayExist, Schema, Table};

use crate::support::{DIR, Shop, builder, disk, order, shop};

#[test]
fn values_of_every_codec_come_back_after_a_restart() {
    let disk = disk();
    let shop: Shop = builder(&disk).open().unwrap();
    let user = (7, vec!["tea".to_owned()]);
    shop.users.put("anne", &user).unwrap();
    shop.orders.put((7, 1), &order("tea", 2)).unwrap();
    shop.stock.put("tea", &-3).unwrap();
    shop.open.put("anne", &()).unwrap();
    drop(shop);
    let shop: Shop = builder(&disk).open().unwrap();
    assert_eq!(shop.users.get("anne").unwrap(), Some(user));
    assert_eq!(shop.orders.get((7, 1)).unwrap(), Some(order("tea", 2)));
    assert_eq!(shop.stock.get("tea").unwrap(), Some(-3));
    assert!(shop.open.contains("anne").unwrap() && !shop.open.contains("bob").unwrap());
    assert_eq!(shop.users.get("bob").unwrap(), None);
    shop.open.delete("anne").unwrap();
    assert!(!shop.open.contains("anne").unwrap());
    drop(shop);
    let read: Shop = builder(&disk).open_read_only().unwrap();
    assert_eq!(read.stock.get("tea").unwrap(), Some(-3));
    let error = read.stock.put("tea", &1).unwrap_err();
    assert_eq!((error.kind(), error.table()), (ErrorKind::ReadOnly, Some("stock")));
}

#[test]
fn of_a_batch_the_last_change_of_each_key_and_table_is_written() {
    let shop = shop();
    shop.stock.put("cup", &1).unwrap();
    let mut batch = shop.store().batch();
    batch.put(&shop.stock, "tea", &1).unwrap();
    batch.delete(&shop.stock, "tea").unwrap();
    batch.put(&shop.stock, "tea", &2).unwrap();
    batch.put(&shop.stock, "cup", &5).unwrap();
    batch.delete(&shop.stock, "cup").unwrap();
    // The same key of another table.
    batch.put(&shop.open, "tea", &()).unwrap();
    assert_eq!(batch.len(), 3);
    assert_eq!(batch.get(&shop.stock, "cup").unwrap(), None);
    assert_eq!(batch.pending(&shop.stock, "cup").unwrap(), Some(None));
    assert_eq!(batch.pending(&shop.stock, "milk").unwrap(), None);
    assert_eq!(shop.stock.get("cup").unwrap(), Some(1));
    let before = shop.store().db().stats().writes;
    shop.store().write(&batch).unwrap();
    let after = shop.store().db().stats().writes;
    assert_eq!((after.batches - before.batches, after.keys - before.keys), (1, 3));
    assert_eq!(shop.stock.get("tea").unwrap(), Some(2));
    assert_eq!(shop.stock.get("cup").unwrap(), None);
    assert!(shop.open.contains("tea").unwrap());
    batch.clear();
    assert!(batch.is_empty());
    shop.store().write(&batch).unwrap();
    assert_eq!(shop.store().db().stats().writes, after);
}

#[test]
fn a_batch_that_follows_another_counts_where_both_change_a_key() {
    let shop = shop();
    let mut first = shop.store().batch();
    first.put(&shop.stock, "tea", &1).unwrap();
    first.put(&shop.stock, "cup", &1).unwrap();
    first.put(&shop.open, "x", &()).unwrap();
    let mut second = shop.store().batch();
    second.delete(&shop.stock, "tea").unwrap();
    second.follow(&first).unwrap();
    assert_eq!(second.len(), 3);
    assert_eq!(second.pending(&shop.stock, "tea").unwrap(), Some(None));
    assert_eq!(second.get(&shop.stock, "cup").unwrap(), Some(1));
}

#[test]
fn tables_and_batches_of_other_stores_are_refused() {
    let (one, other) = (shop(), shop());
    let mut batch = one.store().batch();
    let error = batch.put(&other.stock, "tea", &1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!((error.table(), error.key()), (Some("stock"), Some(&b"tea"[..])));
    batch.put(&one.stock, "tea", &1).unwrap();
    assert_eq!(other.store().write(&batch).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(
        other.store().batch().follow(&batch).unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
}

#[test]
fn walks_show_ranges_and_prefixes_in_both_directions() {
    let shop = shop();
    for user in [1, 2, 256] {
        for number in [3, 5, 300] {
            shop.orders.put((user, number), &order("x", number)).unwrap();
        }
        shop.store().flush().unwrap();
    }
    let keys = |scan: partita_store::Scan<'_, _, _>| {
        scan.keys().unwrap().map(Result::unwrap).collect::<Vec<(u32, u64)>>()
    };
    let scan = || shop.orders.scan();
    assert_eq!(keys(scan()).len(), 9);
    assert_eq!(keys(scan().prefix(2)), [(2, 3), (2, 5), (2, 300)]);
    assert_eq!(keys(scan().prefix(2).backward()), [(2, 300), (2, 5), (2, 3)]);
    assert_eq!(keys(scan().range((1, 300)..=(2, 3))), [(1, 300), (2, 3)]);
    assert_eq!(keys(scan().range(..(1, 5))), [(1, 3)]);
    // A listing that goes on where the last one ended.
    assert_eq!(keys(scan().prefix(2).range((2, 4)..)), [(2, 5), (2, 300)]);
    assert_eq!(keys(scan().prefix(1).prefix(2)), []);
    assert_eq!(keys(scan().range((2, 5)..(2, 5))), []);
    assert_eq!(keys(scan().range((256, 0)..(2, 5))), []);
    let values: Vec<u64> =
        scan().prefix(256).start().unwrap().map(|entry| entry.unwrap().1.count).collect();
    assert_eq!(values, [3, 5, 300]);
}

#[test]
fn snapshots_show_what_was_there() {
    let shop = shop();
    shop.stock.put("tea", &1).unwrap();
    let snapshot = shop.store().snapshot();
    shop.stock.put("tea", &2).unwrap();
    shop.stock.put("cup", &2).unwrap();
    shop.store().flush().unwrap();
    assert_eq!(shop.stock.get_with("tea", &ReadOptions::at(&snapshot)).unwrap(), Some(1));
    let then: Vec<_> =
        shop.stock.scan().at(&snapshot).start().unwrap().map(Result::unwrap).collect();
    assert_eq!(then, [("tea".to_owned(), 1)]);
    assert_eq!(shop.stock.scan().start().unwrap().count(), 2);
}

#[test]
fn a_checkpoint_is_a_store() {
    let disk = disk();
    let shop: Shop = builder(&disk).open().unwrap();
    shop.stock.put("tea", &1).unwrap();
    shop.store().checkpoint("/backup/shop.db").unwrap();
    shop.stock.put("tea", &2).unwrap();
    let copy = partita_store::StoreBuilder::new("/backup/shop.db").file_system(disk);
    assert_eq!(copy.open::<Shop>().unwrap().stock.get("tea").unwrap(), Some(1));
}

#[test]
fn may_exist_asks_memory_alone() {
    let disk = disk();
    let shop: Shop = builder(&disk).open().unwrap();
    for number in 0..1000 {
        shop.stock.put(&format!("{number:04}"), &number).unwrap();
    }
    shop.store().flush().unwrap();
    drop(shop);
    let shop: Shop = builder(&disk).open().unwrap();
    // The table is not even open.
    assert_eq!(shop.stock.may_exist("0007").unwrap(), MayExist::Unknown);
    assert_eq!(shop.stock.stats().cost.blocks_read_total(), 0);
    let error = ReadOptions { tier: ReadTier::CacheOnly, ..ReadOptions::default() };
    let error = shop.stock.get_with("0007", &error).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Incomplete);
    assert_eq!(shop.stock.get("0007").unwrap(), Some(7));
    assert_eq!(shop.stock.may_exist("0007").unwrap(), MayExist::Present(7));
    assert_eq!(shop.stock.get("0007x").unwrap(), None);
    assert_eq!(shop.stock.may_exist("0007x").unwrap(), MayExist::Absent);
    let reads = shop.stock.stats().reads;
    assert_eq!((reads.unknown, reads.known_present, reads.ruled_out), (1, 1, 1));
    assert_eq!((reads.found, reads.absent, reads.failed), (1, 1, 1));
}

#[test]
fn what_cannot_be_decoded_is_told_with_table_and_key() {
    let shop = shop();
    let raw = shop.store().raw_table("stock").unwrap();
    raw.put(b"tea", b"123").unwrap();
    raw.put(b"\xff", b"12345678").unwrap();
    let error = shop.stock.get("tea").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert_eq!(error.to_string(), "table stock, key \"tea\": corruption: 3 bytes, expected 8");
    assert_eq!(shop.stock.get_bytes("tea", &ReadOptions::default()).unwrap().unwrap(), b"123");
    // An error ends a walk, and a walk over keys does not look at values.
    let mut walk = shop.stock.scan().start().unwrap();
    assert!(walk.next().unwrap().is_err() && walk.next().is_none());
    let mut keys = shop.stock.scan().keys().unwrap();
    assert_eq!(keys.next().unwrap().unwrap(), "tea");
    let error = keys.next().unwrap().unwrap_err();
    assert!(error.to_string().starts_with("table stock, key \"\\xff\": corruption: "), "{error}");
}

#[test]
fn tables_that_the_schema_lacks_are_opened_and_listed() {
    let disk = disk();
    let wide: Shop = builder(&disk).open().unwrap();
    wide.stock.put("tea", &1).unwrap();
    drop(wide);
    partita_store::schema! {
        struct Narrow {
            users: Table<Utf8, Utf8> = "users",
            visits: Table<Utf8, BigEndian<u32>> = "visits",
        }
    }
    let narrow: Narrow = builder(&disk).open().unwrap();
    assert_eq!(narrow.store().unknown_tables(), ["open", "orders", "stock"]);
    assert_eq!(
        narrow.store().table_names(),
        ["default", "open", "orders", "stock", "users", "visits"]
    );
    narrow.users.put("x", "y").unwrap();
    narrow.visits.put("x", &1).unwrap();
    let stock: Table<Utf8, BigEndian<i64>> = narrow.store().table("stock").unwrap();
    assert_eq!(stock.get("tea").unwrap(), Some(1));
    let error = narrow.store().table::<Bytes, Bytes>("carts").unwrap_err();
    assert!(error.to_string().starts_with("table carts: invalid argument: "), "{error}");
    // Handles of one table count together.
    assert_eq!(narrow.store().stats().table("stock").unwrap().reads.found, 1);
    drop((narrow, stock));
    assert_eq!(builder(&disk).open_read_only::<Shop>().unwrap().stock.get("tea").unwrap(), Some(1));
}

#[test]
fn figures_of_tables_add_up_to_what_was_done_and_to_those_of_the_cache() {
    let shop = shop();
    for number in 0..3000 {
        let name = format!("{number:05}");
        shop.stock.put(&name, &number).unwrap();
        shop.open.put(&name, &()).unwrap();
    }
    shop.store().flush().unwrap();
    let mut batch = shop.store().batch();
    batch.put(&shop.stock, "a", &1).unwrap();
    batch.delete(&shop.stock, "b").unwrap();
    shop.store().write_with(&batch, &WriteOptions::SYNC).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let shop = &shop;
            scope.spawn(move || {
                for number in (thread..3000).step_by(4) {
                    let name = format!("{number:05}");
                    assert!(shop.stock.contains(&name).unwrap());
                    assert!(!shop.open.contains(&(name + "x")).unwrap());
                }
            });
        }
    });
    assert_eq!(shop.open.scan().fill_cache(false).keys().unwrap().count(), 3000);
    let stats = shop.store().stats();
    let (stock, open) = (stats.table("stock").unwrap(), stats.table("open").unwrap());
    assert_eq!((stock.reads.found, stock.reads.absent), (3000, 0));
    assert_eq!((open.reads.found, open.reads.absent), (0, 3000));
    assert_eq!((open.reads.walks, open.reads.walked_entries), (1, 3000));
    assert_eq!((stock.writes.puts, stock.writes.deletes), (3001, 1));
    assert_eq!(stock.writes.bytes, 3000 * (5 + 8) + 1 + 8 + 1);
    assert!(open.cost.filters_ruled_out > 2500);
    assert_eq!(stats.tables.iter().map(|table| table.writes.puts).sum::<u64>(), 6001);
    // Hits and misses of pieces and blocks are those of the cache, from another place of counting.
    let hits = |role| stats.tables.iter().map(|table| table.cost.cache_hits[role]).sum::<u64>();
    let cached = |role| stats.db.cache.role(role);
    assert_eq!(hits(BlockRole::FilterPartition), cached(Role::FilterPiece).hits);
    assert!(cached(Role::FilterPiece).hits > 2000);
    assert_eq!(stats.tables.len(), 5);
}

#[test]
fn estimates_and_flushes_are_of_one_table() {
    let shop = shop();
    shop.stock.put("tea", &1).unwrap();
    shop.stock.put("cup", &1).unwrap();
    shop.open.put("x", &()).unwrap();
    assert_eq!((shop.stock.estimate_keys().unwrap(), shop.open.estimate_keys().unwrap()), (2, 1));
    shop.stock.flush().unwrap();
    assert_eq!((shop.stock.stats().family.files(), shop.open.stats().family.files()), (1, 0));
    assert_eq!(shop.store().dir(), std::path::Path::new(DIR));
    shop.store().sync().unwrap();
    shop.store().close().unwrap();
    assert_eq!(shop.stock.put("tea", &1).unwrap_err().kind(), ErrorKind::Closed);
}
