//! The golden databases, which RocksDB 11.8.1 made: opened by Partita to be written, compacted into new tables, and read by
//! whatever RocksDB is linked.

use std::cmp::Ordering;
use std::sync::Arc;

use partita::ErrorKind;
use partita::db::{BottommostLevel, CompactRangeOptions, Db, DbBuilder, IterOptions};
use partita::key::Comparator;
use partita_testkit::golden::GoldenDb;

use crate::sessions::{assert_rows, walk};
use crate::whole::WholeDb;

/// The comparator of `foreign-comparator`: backward.
#[derive(Debug)]
struct Backward;

impl Comparator for Backward {
    fn name(&self) -> &str {
        "golden.Reverse"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        b.cmp(a)
    }
}

/// Writes all tables of a golden database again; `None` for one that must be refused.
///
/// * Panics if the rows are not what RocksDB read before, now or after another opening.
pub fn rewrite(golden: &GoldenDb) -> Option<usize> {
    let name = golden.name();
    let builder = DbBuilder::new(golden.path()).comparator(Arc::new(Backward));
    if name == "blob-files" {
        let error = builder.open().expect_err("values in blob files are refused");
        assert_eq!(error.kind(), ErrorKind::NotSupported, "{error}");
        return None;
    }
    let db = builder.open().unwrap_or_else(|error| panic!("{name}: {error}"));
    let before = tables(golden);
    let options = CompactRangeOptions { bottommost_level: BottommostLevel::Rewrite };
    for family in db.families() {
        db.compact_range_with(&family, None, None, &options)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let rows = check(&db, golden);
    db.close().unwrap_or_else(|error| panic!("{name}: {error}"));
    drop(db);
    let after = tables(golden);
    assert!(after.iter().all(|table| !before.contains(table)), "{name}: {before:?}, {after:?}");
    let db = builder.open().unwrap_or_else(|error| panic!("{name}: {error}"));
    check(&db, golden);
    Some(rows)
}

/// Reads a golden database, which Partita has left, by RocksDB, lets that compact it, and reads it again by both.
pub fn hand_over(golden: &GoldenDb) {
    let name = golden.name();
    let families = golden.families();
    let names: Vec<&str> = families.iter().map(String::as_str).collect();
    let theirs = WholeDb::load(&golden.path(), &names, true, "paranoid_file_checks=true")
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    for compacted in [false, true] {
        for (at, family) in families.iter().enumerate() {
            if compacted {
                theirs.compact(at, crate::whole::LastLevel::Force);
            }
            let expected = golden.expected(family);
            let name = format!("{name}, {family}, RocksDB, compacted: {compacted}");
            assert_rows(&theirs.rows_forward(at).unwrap(), &expected, &name);
            let mut backward = theirs.rows_backward(at).unwrap();
            backward.reverse();
            assert_rows(&backward, &expected, &format!("{name}, backward"));
            for (key, value) in &expected {
                assert_eq!(theirs.get(at, key).unwrap().as_ref(), Some(value), "{name}: {key:?}");
            }
        }
    }
    drop(theirs);
    let ours = DbBuilder::new(golden.path()).open().unwrap_or_else(|e| panic!("{name}: {e}"));
    check(&ours, golden);
}

fn check(db: &Db, golden: &GoldenDb) -> usize {
    let mut count = 0;
    for family in db.families() {
        let name = format!("{}, {}", golden.name(), family.name());
        let expected = golden.expected(family.name());
        assert_rows(&walk(db, &family, IterOptions::default(), false), &expected, &name);
        let mut backward = walk(db, &family, IterOptions::default(), true);
        backward.reverse();
        assert_rows(&backward, &expected, &format!("{name}, backward"));
        for (key, value) in &expected {
            assert_eq!(db.get_cf(&family, key).unwrap().as_deref(), Some(&value[..]), "{name}");
        }
        count += expected.len();
    }
    count
}

fn tables(golden: &GoldenDb) -> Vec<String> {
    let name = |path: std::path::PathBuf| path.file_name()?.to_str().map(str::to_owned);
    golden.sst_paths().into_iter().filter_map(name).collect()
}
