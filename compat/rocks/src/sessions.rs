//! An engine's turn at a database: it opens what the one before left, reads all of it in every way, writes, compacts in one
//! of the ways that there are, and leaves some of its writes in the log.

use std::path::Path;

use partita::batch::WriteBatch;
use partita::db::{
    BottommostLevel, ColumnFamily, CompactRangeOptions, Db, DbBuilder, FamilyConfig, IterOptions,
    ReadOptions, WriteOptions,
};

use crate::Row;
use crate::db::Op;
use crate::history::{History, key};
use crate::matrix::last_of_each;
use crate::setups::{FAMILIES, Setup};
use crate::whole::{Change, LastLevel, WholeDb};

/// What RocksDB checks of its own accord.
const THEIR_CHECKS: &str = "paranoid_checks=true;paranoid_file_checks=true;force_consistency_checks=true;atomic_flush=false";

/// Debian's RocksDB stops at an assertion where flushes of all families meet for two reasons.
const ONE_BY_ONE: &str = "atomic_flush=false";

/// What was compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Turns taken.
    pub turns: usize,
    /// Rows read by iterators of either engine.
    pub rows: usize,
    /// Keys looked up by either.
    pub gets: usize,
    /// Times that RocksDB's filters ruled out a table for such a key.
    pub filters_useful: u64,
    /// Compactions that Partita ran.
    pub compactions: u64,
    /// Tables that it moved down as they were.
    pub moves: u64,
}

impl Counts {
    /// Adds those of another database.
    pub fn add(&mut self, other: Self) {
        self.turns += other.turns;
        self.rows += other.rows;
        self.gets += other.gets;
        self.filters_useful += other.filters_useful;
        self.compactions += other.compactions;
        self.moves += other.moves;
    }
}

/// A database that engines take turns at.
#[derive(Debug)]
pub struct Place<'p> {
    /// Its directory.
    pub dir: &'p Path,
    /// The options that it is created with; later ones are read from its OPTIONS files.
    pub setup: &'p Setup,
    /// Batches written in a turn.
    pub batches: usize,
    /// What was compared so far.
    pub counts: Counts,
}

impl Place<'_> {
    fn name(&self, who: &str) -> String {
        format!("{}, turn {}, {who}", self.setup.name, self.counts.turns)
    }

    fn exists(&self) -> bool {
        self.dir.join("CURRENT").exists()
    }

    /// Partita's turn.
    pub fn partita(&mut self, history: &mut History) {
        let name = self.name("Partita");
        let db = self.open_ours(&name);
        let families = FAMILIES.map(|family| db.family(family).unwrap());
        self.check_ours(&db, &families, history, &name);
        self.write_ours(&db, &families, history, self.batches / 2);
        let (snapshot, seen) = (db.snapshot(), history.all_rows());
        self.write_ours(&db, &families, history, self.batches / 2);
        for family in &families {
            compact_ours(&db, family, history).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        db.wait_for_background_work().unwrap_or_else(|error| panic!("{name}: {error}"));
        for (family, rows) in families.iter().zip(&seen) {
            let read = ReadOptions::at(&snapshot);
            let iter = IterOptions { read, ..IterOptions::default() };
            assert_rows(&walk(&db, family, iter, false), rows, &format!("{name}, snapshot"));
        }
        drop(snapshot);
        self.check_ours(&db, &families, history, &name);
        self.write_ours(&db, &families, history, self.batches / 8);
        for family in &families {
            let done = db.family_stats(family).counters();
            self.counts.compactions += done.compactions;
            self.counts.moves += done.moves;
        }
        db.close().unwrap_or_else(|error| panic!("{name}: {error}"));
        self.counts.turns += 1;
    }

    fn open_ours(&self, name: &str) -> Db {
        let db = open(self.dir, self.setup).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(db.lost_log_bytes().is_empty(), "{name}: {:?}", db.lost_log_bytes());
        db
    }

    fn write_ours(
        &self,
        db: &Db,
        families: &[ColumnFamily],
        history: &mut History,
        batches: usize,
    ) {
        for _ in 0..batches {
            write(db, families, history.next_batch()).unwrap();
        }
    }

    fn check_ours(&mut self, db: &Db, families: &[ColumnFamily], history: &History, name: &str) {
        for (at, family) in families.iter().enumerate() {
            let (rows, name) = (history.rows(at), format!("{name}, {}", family.name()));
            assert_rows(&walk(db, family, IterOptions::default(), false), &rows, &name);
            let mut backward = walk(db, family, IterOptions::default(), true);
            backward.reverse();
            assert_rows(&backward, &rows, &format!("{name}, backward"));
            for key in sought(&rows) {
                let value = db.get_cf(family, &key).unwrap_or_else(|e| panic!("{name}: {e}"));
                assert!(value.as_deref() == history.get(at, &key), "{name}: get {key:02x?}");
                self.counts.gets += 1;
            }
            self.counts.rows += 2 * rows.len();
        }
    }

    /// RocksDB's turn, with its own checks of files on.
    ///
    /// * `ignore_unknown_options`: whether a later version has been at the database.
    pub fn rocksdb(&mut self, history: &mut History, ignore_unknown_options: bool) {
        let name = self.name("RocksDB");
        let fail = |error: String| -> ! { panic!("{name}: {error}") };
        let mut db = match self.exists() {
            true => WholeDb::load(self.dir, &FAMILIES, ignore_unknown_options, THEIR_CHECKS),
            false => {
                let db = last_of_each(&format!("{};{ONE_BY_ONE}", self.setup.db));
                WholeDb::create(self.dir, &db, &FAMILIES, &self.setup.family_options())
            }
        }
        .unwrap_or_else(|error| fail(error));
        self.check_theirs(&db, history, &name);
        let write = |db: &WholeDb, history: &mut History, batches: usize| {
            for _ in 0..batches {
                let batch = history.next_batch();
                db.write(&batch).unwrap_or_else(|error| fail(error));
            }
        };
        write(&db, history, self.batches / 2);
        db.take_snapshot();
        write(&db, history, self.batches / 2);
        for family in 0..FAMILIES.len() {
            match history.random.below(5) {
                0 => {}
                1 => db.flush(family).unwrap_or_else(|error| fail(error)),
                2 => db.compact(family, LastLevel::Skip),
                3 => db.compact(family, LastLevel::IfFilter),
                _ => db.compact(family, LastLevel::Force),
            }
        }
        self.check_theirs(&db, history, &name);
        write(&db, history, self.batches / 8);
        self.counts.filters_useful += db.filters_useful();
        drop(db);
        self.counts.turns += 1;
    }

    fn check_theirs(&mut self, db: &WholeDb, history: &History, name: &str) {
        for (at, family) in FAMILIES.iter().enumerate() {
            let (rows, name) = (history.rows(at), format!("{name}, {family}"));
            let forward = db.rows_forward(at).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_rows(&forward, &rows, &name);
            let mut backward =
                db.rows_backward(at).unwrap_or_else(|error| panic!("{name}: {error}"));
            backward.reverse();
            assert_rows(&backward, &rows, &format!("{name}, backward"));
            for key in sought(&rows) {
                let value = db.get(at, &key).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert!(value.as_deref() == history.get(at, &key), "{name}: get {key:02x?}");
                self.counts.gets += 1;
            }
            self.counts.rows += 2 * rows.len();
        }
    }
}

/// Keys to look up: those that are there, and others beside them and among what was deleted.
fn sought(rows: &[Row]) -> Vec<Vec<u8>> {
    let mut keys: Vec<Vec<u8>> = rows.iter().map(|row| row.0.clone()).collect();
    keys.extend(rows.iter().step_by(7).map(|row| [&row.0[..], b"\0"].concat()));
    keys.extend((0..1400).step_by(3).map(key));
    keys
}

/// Opens a database with the options of its OPTIONS file, or creates it.
pub fn open(dir: &Path, setup: &Setup) -> partita::Result<Db> {
    let mut builder = DbBuilder::new(dir);
    if !dir.join("CURRENT").exists() {
        builder = builder.options(setup.our_db_options());
        for family in FAMILIES {
            let options = Some(setup.our_family_options());
            builder = builder.family(family, FamilyConfig { options, ..FamilyConfig::default() });
        }
    }
    builder.open()
}

/// Writes one batch.
pub fn write(db: &Db, families: &[ColumnFamily], changes: Vec<Change>) -> partita::Result<()> {
    let mut batch = WriteBatch::new();
    for Change { family, op } in changes {
        let id = families[family].id();
        match op {
            Op::Put(key, value) => batch.put_cf(id, &key, &value),
            Op::Merge(key, operand) => batch.merge_cf(id, &key, &operand),
            Op::Delete(key) => batch.delete_cf(id, &key),
            Op::SingleDelete(key) => batch.single_delete_cf(id, &key),
            Op::DeleteRange(begin, end) => batch.delete_range_cf(id, &begin, &end),
            Op::Snapshot => unreachable!("histories take none"),
        }?;
    }
    db.write(batch, &WriteOptions::default())
}

/// The rows of all [`FAMILIES`].
pub fn rows_of_all(db: &Db) -> Vec<Vec<Row>> {
    let families = FAMILIES.map(|name| db.family(name).expect("it is there"));
    families.iter().map(|family| walk(db, family, IterOptions::default(), false)).collect()
}

/// One of the ways to compact a family.
fn compact_ours(db: &Db, family: &ColumnFamily, history: &mut History) -> partita::Result<()> {
    let with = |bottommost_level| CompactRangeOptions { bottommost_level };
    match history.random.below(7) {
        0 => Ok(()),
        1 => db.flush_cf(family),
        2 => db.compact_range_with(family, None, None, &with(BottommostLevel::Skip)),
        3 => db.compact_range(family, None, None),
        4 => {
            let (a, b) = (key(history.random.below(1200)), key(history.random.below(1200)));
            let in_order = family.key_order().compare(&a, &b).is_lt();
            let (from, to) = if in_order { (a, b) } else { (b, a) };
            db.compact_range_with(family, Some(&from), Some(&to), &with(BottommostLevel::Rewrite))
        }
        _ => db.compact_range_with(family, None, None, &with(BottommostLevel::Rewrite)),
    }
}

/// All that an iterator of ours shows.
pub(crate) fn walk(
    db: &Db,
    family: &ColumnFamily,
    options: IterOptions,
    backward: bool,
) -> Vec<Row> {
    let mut iter = db.iter_cf(family, options).unwrap();
    let mut rows = Vec::new();
    if backward { iter.seek_to_last() } else { iter.seek_to_first() }.unwrap();
    while iter.is_valid() {
        rows.push((iter.key().to_vec(), iter.value().to_vec()));
        if backward { iter.prev() } else { iter.next() }.unwrap();
    }
    rows
}

/// Fails with the first row that differs.
pub fn assert_rows(found: &[Row], expected: &[Row], name: &str) {
    if found == expected {
        return;
    }
    let at = found.iter().zip(expected).take_while(|(found, expected)| found == expected).count();
    let show = |row: Option<&Row>| {
        row.map(|(key, value)| {
            format!("{} => {} bytes {value:02x?}", key.escape_ascii(), value.len())
        })
    };
    panic!(
        "{name}: {} rows, expected {}; row {at} is {:?}, expected {:?}",
        found.len(),
        expected.len(),
        show(found.get(at)),
        show(expected.get(at))
    );
}
