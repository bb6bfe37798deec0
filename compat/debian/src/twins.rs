//! A database with a history, twice: open in Partita and, as a copy, in RocksDB, with nothing compacted by itself.

use std::path::Path;

use partita::db::Db;
use partita_compat_rocks::history::History;
use partita_compat_rocks::sessions;
use partita_compat_rocks::setups::FAMILIES;
use partita_compat_rocks::whole::WholeDb;

use crate::directories::copy;

/// Makes both: so many batches, written and compacted by Partita, with the first family compacted by hand in the end.
///
/// * `open`: opens `ours`; told whether without compactions in the background.
///
/// # Panics
/// If either engine fails.
pub fn make(
    ours: &Path,
    theirs: &Path,
    history: &mut History,
    batches: usize,
    open: impl Fn(bool) -> Db,
) -> (Db, WholeDb) {
    let db = open(false);
    let families = FAMILIES.map(|name| db.family(name).expect("it was opened"));
    for _ in 0..batches {
        sessions::write(&db, &families, history.next_batch()).expect("it is open");
    }
    db.compact_range(&families[0], None, None).expect("it is open");
    db.flush().expect("it is open");
    drop((families, db));
    copy(ours, theirs);
    let rocksdb = WholeDb::load(theirs, &FAMILIES, false, "disable_auto_compactions=true");
    (open(true), rocksdb.expect("RocksDB opens what Partita wrote"))
}
