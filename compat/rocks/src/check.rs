//! Partita's reader on a table that RocksDB wrote.

use std::path::Path;
use std::sync::Arc;

use partita::io::{DiskFile, RandomAccessFile};
use partita::key::{InternalKey, SeqNo, ValueType};
use partita::table::{
    FilterStatus, FilterUse, ReadContext, ReaderOptions, TableReader, verify_table,
};
use partita_testkit::table_check::{check_all, open};

use crate::Row;
use crate::db::Db;
use crate::matrix::Case;

/// What a check counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Tables read.
    pub tables: usize,
    /// Point entries compared.
    pub entries: usize,
    /// Keys asked for that are in a filter but not in the table.
    pub absent: u64,
    /// How many of them the filter ruled out.
    pub ruled_out: u64,
}

impl Counts {
    /// Adds another table's.
    pub fn add(&mut self, other: Self) {
        self.tables += other.tables;
        self.entries += other.entries;
        self.absent += other.absent;
        self.ruled_out += other.ruled_out;
    }
}

/// Holds Partita's reader against what RocksDB says of the same table: every way of reading, the filter, the
/// verification, and the rows that the database shows. Panics at the first difference.
///
/// * `entries`: what RocksDB's own table iterator returns, encoded internal keys with values.
pub fn check_table(case: &Case, db: &Db, sst: &Path, entries: &[Row]) -> Counts {
    let name = &case.name;
    // Whether a filter pays is not the question here: it must rule out what is absent.
    let options = ReaderOptions { filter_use: FilterUse::Always, ..ReaderOptions::default() };
    let table = open(sst, &options).unwrap_or_else(|e| panic!("{name}: {e}"));
    check_filter_kind(&table, case);
    let counts = check_all(&table, entries, name);
    check_verification(sst, entries, name);

    let rows = visible_rows(&table, entries);
    assert!(rows == db.rows_forward().unwrap(), "{name}: RocksDB's iterator shows other rows");
    let backward = db.rows_backward().unwrap();
    assert!(rows.iter().rev().eq(&backward), "{name}: RocksDB's iterator shows others backward");

    let is_counted = table.filters_whole_keys();
    Counts {
        tables: 1,
        entries: entries.len(),
        absent: if is_counted { counts.absent_keys } else { 0 },
        ruled_out: if is_counted { counts.absent_ruled_out } else { 0 },
    }
}

/// A filter that was asked for must be found, or nothing else would say that it is used.
fn check_filter_kind(table: &TableReader, case: &Case) {
    let policy = case.table_option("filter_policy").unwrap_or_default();
    let is_partitioned = case.table_option("partition_filters").is_some_and(|on| on == "true");
    let status = table.filter_status();
    let expected = match (policy.as_str(), is_partitioned) {
        ("nullptr", _) => FilterStatus::Absent,
        (_, true) => FilterStatus::Partitioned,
        (_, false) => FilterStatus::Full,
    };
    let has_points = table.properties().num_entries != table.properties().num_range_deletions;
    assert!(status == expected || !has_points, "{}: {status:?}", case.name);
}

fn check_verification(sst: &Path, entries: &[Row], name: &str) {
    let file: Arc<dyn RandomAccessFile> = Arc::new(DiskFile::open(sst).unwrap());
    let report = verify_table(&file, &ReaderOptions::default(), &mut |_| {});
    assert!(report.is_clean() && report.complete, "{name}: {report:?}");
    assert!(report.not_opened.is_none(), "{name}: {report:?}");
    assert_eq!(report.entries, entries.len() as u64, "{name}");
}

/// What a database shows of one table: the newest version of each key, unless a deletion or range tombstone hides it,
/// with merge operands appended after commas.
fn visible_rows(table: &Arc<TableReader>, entries: &[Row]) -> Vec<Row> {
    let tombstones = table.range_tombstones(&mut ReadContext::default()).unwrap();
    let entries: Vec<(InternalKey<'_>, &[u8])> = entries
        .iter()
        .map(|(key, value)| (InternalKey::decode(key).unwrap(), value.as_slice()))
        .collect();
    let mut rows = Vec::new();
    for versions in entries.chunk_by(|a, b| a.0.user_key == b.0.user_key) {
        let user_key = versions[0].0.user_key;
        let covering = tombstones.covering_seqno(user_key, SeqNo::MAX);
        let mut operands: Vec<&[u8]> = Vec::new();
        for (key, value) in versions {
            if key.value_type.is_deletion() || covering.is_some_and(|seqno| seqno > key.seqno) {
                break;
            }
            operands.push(value);
            if key.value_type == ValueType::Value {
                break;
            }
        }
        if !operands.is_empty() {
            operands.reverse();
            rows.push((user_key.to_vec(), operands.join(&b','))); // RocksDB's StringAppendOperator
        }
    }
    rows
}
