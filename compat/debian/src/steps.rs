//! A writer whose every step replaces all there is, so that a reader can tell which step it sees, and whether all of it.

use partita::db::Db;
use partita_compat_rocks::db::Op;
use partita_compat_rocks::sessions::rows_of_all;
use partita_compat_rocks::setups::FAMILIES;
use partita_compat_rocks::whole::{Change, LastLevel, WholeDb};

/// Keys of each family.
const KEYS: u8 = 10;

/// Step `n` sets ten keys of each family to its number.
pub fn changes(n: u32) -> Vec<Change> {
    let change = |family: usize, key: u8| {
        let value = n.to_be_bytes().repeat(30);
        Change { family, op: Op::Put(vec![key], value) }
    };
    (0..FAMILIES.len()).flat_map(|family| (0..KEYS).map(move |key| change(family, key))).collect()
}

/// RocksDB takes step `n`; now and then it flushes and compacts.
pub fn take(db: &WholeDb, n: u32) {
    db.write(&changes(n)).unwrap();
    if n.is_multiple_of(3) {
        db.flush(n as usize / 3 % FAMILIES.len()).unwrap();
    }
    if n.is_multiple_of(20) {
        db.compact(n as usize / 20 % FAMILIES.len(), LastLevel::Force);
    }
}

/// The step that a reader sees; it sees all of it.
pub fn seen(db: &Db) -> u32 {
    let families = rows_of_all(db);
    let values: Vec<u32> = families
        .iter()
        .flatten()
        .map(|(_, value)| u32::from_be_bytes(value[..4].try_into().unwrap()))
        .collect();
    assert_eq!(values.len(), usize::from(KEYS) * FAMILIES.len());
    assert!(values.iter().all(|value| *value == values[0]), "{values:?}");
    values[0]
}
