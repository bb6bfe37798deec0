//! What was written since a sequence number: rows of tables, batch by batch, and gaps that are told.

use partita::ErrorKind;
use partita::batch::WriteBatch;
use partita::db::WriteOptions;
use partita::key::SeqNo;
use partita_store::codec::{BigEndian, Utf8};
use partita_store::{RowChange, Schema, Store, TypedChange, UpdateBatch, Updates, UpdatesError};

use crate::support::{Shop, builder, disk, order, shop};

fn since(store: &Store, n: u64) -> Updates {
    store.updates_since(SeqNo::new(n).unwrap()).unwrap()
}

/// Table and change of each row.
fn rows(batch: &UpdateBatch) -> Vec<(Option<&str>, RowChange<'_>)> {
    batch.rows().map(|row| row.map(|row| (row.table(), row.change())).unwrap()).collect()
}

fn missing(updates: &mut Updates) -> (u64, u64) {
    match updates.next() {
        Some(Err(UpdatesError::Missing { first, last })) => (first, last),
        other => panic!("{other:?}"),
    }
}

#[test]
fn rows_come_batch_by_batch_with_their_tables_and_as_they_were_written() {
    let shop = shop();
    let mut batch = shop.store().batch();
    batch.put(&shop.stock, "tea", &5).unwrap();
    batch.put(&shop.orders, (7, 1), &order("tea", 2)).unwrap();
    batch.delete(&shop.open, "anne").unwrap();
    shop.store().write(&batch).unwrap();
    shop.stock.delete("tea").unwrap();

    let mut updates = since(shop.store(), 1);
    let first = updates.next().unwrap().unwrap();
    assert_eq!((first.seqno(), first.next_seqno()), (1, 4));
    let mut tables: Vec<_> = rows(&first).into_iter().map(|(table, _)| table.unwrap()).collect();
    tables.sort_unstable();
    assert_eq!(tables, ["open", "orders", "stock"]);
    let typed = |batch: &UpdateBatch| {
        let rows = batch.rows().map(|row| row.unwrap().typed(&shop.orders).unwrap());
        rows.flatten().collect::<Vec<_>>()
    };
    assert_eq!(typed(&first), [TypedChange::Put((7, 1), order("tea", 2))]);
    let second = updates.next().unwrap().unwrap();
    assert_eq!((second.seqno(), second.next_seqno()), (4, 5));
    assert_eq!(rows(&second), [(Some("stock"), RowChange::Delete { key: b"tea" })]);
    assert_eq!(typed(&second), []);
    let row = second.rows().next().unwrap().unwrap();
    assert_eq!(row.typed(&shop.stock).unwrap(), Some(TypedChange::Delete("tea".to_owned())));
    assert!(updates.next().is_none());

    // From within a batch: all of it. From where it ended: what came behind it.
    assert_eq!(since(shop.store(), 3).next().unwrap().unwrap().seqno(), 1);
    assert_eq!(since(shop.store(), first.next_seqno()).next().unwrap().unwrap().seqno(), 4);
    let error = shop.store().updates_since(SeqNo::new(6).unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn tables_that_the_schema_lacks_and_that_came_meanwhile_have_their_names() {
    let disk = disk();
    drop(builder(&disk).open::<Shop>().unwrap());
    partita_store::schema! {
        struct Narrow { users: Table<Utf8, Utf8> = "users" }
    }
    let narrow: Narrow = builder(&disk).open().unwrap();
    let store = narrow.store();
    let last = store.db().visible_seqno().get();
    let mut updates = since(store, last + 1);
    store.table::<Utf8, BigEndian<i64>>("stock").unwrap().put("tea", &1).unwrap();
    let batch = updates.next().unwrap().unwrap();
    assert_eq!(rows(&batch)[0].0, Some("stock"));

    store.db().create_family("late", partita::db::FamilyConfig::default()).unwrap();
    store.raw_table("late").unwrap().put(b"key", b"value").unwrap();
    let late = updates.next().unwrap().unwrap();
    assert_eq!(rows(&late), [(Some("late"), RowChange::Put { key: b"key", value: b"value" })]);

    // Dropped: whoever begins now has no name for it, and who followed still has.
    store.db().drop_family(&store.db().family("late").unwrap()).unwrap();
    narrow.users.put("anne", "Anne").unwrap();
    let mut anew = since(store, late.seqno());
    let again = anew.next().unwrap().unwrap();
    assert_eq!(rows(&again)[0].0, None);
    assert_eq!(rows(&late)[0].0, Some("late"));
    assert_eq!(rows(&updates.next().unwrap().unwrap())[0].0, Some("users"));
}

#[test]
fn numbers_that_are_in_no_log_are_told_before_the_batch_behind_them() {
    let shop = shop();
    let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
    let put = |key: &str, options: &WriteOptions| {
        let mut batch = shop.store().batch();
        batch.put(&shop.stock, key, &1).unwrap();
        shop.store().write_with(&batch, options).unwrap();
    };
    put("a", &WriteOptions::default());
    put("b", &unlogged);
    put("c", &unlogged);
    put("d", &WriteOptions::default());
    let mut updates = since(shop.store(), 1);
    assert_eq!(updates.next().unwrap().unwrap().seqno(), 1);
    assert_eq!(missing(&mut updates), (2, 3));
    assert_eq!(updates.next().unwrap().unwrap().seqno(), 4);
    assert!(updates.next().is_none());
    // The same where the gap is what was asked for first.
    let mut updates = since(shop.store(), 3);
    assert_eq!(missing(&mut updates), (3, 3));
    assert_eq!(updates.next().unwrap().unwrap().seqno(), 4);
    // Whoever asks for what there is is told nothing.
    assert_eq!(since(shop.store(), 0).next().unwrap().unwrap().seqno(), 1);
}

#[test]
fn a_log_that_has_gone_is_a_gap_before_the_first_batch() {
    let shop = shop();
    shop.stock.put("a", &1).unwrap();
    shop.stock.put("b", &1).unwrap();
    shop.store().flush().unwrap();
    shop.stock.put("c", &1).unwrap();
    let mut updates = since(shop.store(), 1);
    assert_eq!(missing(&mut updates), (1, 2));
    let batch = updates.next().unwrap().unwrap();
    assert_eq!(batch.seqno(), 3);
    let gap = UpdatesError::Missing { first: 1, last: 2 };
    assert_eq!(gap.to_string(), "updates with sequence numbers 1 to 2 are in no log");
}

#[test]
fn rows_that_are_no_change_of_one_key_are_shown_in_bytes_and_refused_as_typed_ones() {
    let shop = shop();
    let family = shop.stock.family().id();
    let mut batch = WriteBatch::new();
    batch.delete_range_cf(family, b"a", b"b").unwrap();
    batch.put_cf(family, b"c", b"no number").unwrap();
    shop.store().db().write(batch, &WriteOptions::default()).unwrap();
    let batch = since(shop.store(), 1).next().unwrap().unwrap();
    let range = RowChange::DeleteRange { begin: b"a", end: b"b" };
    assert_eq!(rows(&batch)[0], (Some("stock"), range));
    let errors = batch.rows().map(|row| row.unwrap().typed(&shop.stock).unwrap_err());
    let errors: Vec<_> = errors
        .map(|e| (e.kind(), e.table().unwrap().to_owned(), e.key().unwrap().to_vec()))
        .collect();
    let stock = || "stock".to_owned();
    assert_eq!(
        errors,
        [
            (ErrorKind::NotSupported, stock(), b"a".to_vec()),
            (ErrorKind::Corruption, stock(), b"c".to_vec())
        ]
    );
    // Numbers of families are those of one store.
    let other = crate::support::shop();
    let row = batch.rows().next().unwrap().unwrap();
    assert_eq!(row.typed(&other.stock).unwrap_err().kind(), ErrorKind::InvalidArgument);
}
