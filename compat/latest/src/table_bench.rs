//! Tables written and read by Partita and by RocksDB's `SstFileWriter` and `SstFileReader`, in turns.
//!
//! Both keep index and filter in memory and read each data block from the file (from the operating system's page
//! cache), so what is compared is the path below the block cache: filter, index search, read, checksum,
//! decompression, search in the block.

use std::fmt;
use std::path::Path;

use partita::filter::FilterPolicy;
use partita::options::{FilterLayout, IndexType, TableOptions};
use partita::util::compression::CompressionType;

use crate::partita_table::{self, PartitaTable, message};
use crate::rocks_table::{self, RocksTable};
use crate::rows::Rows;
use crate::samples::{Row, Samples};

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Entries of the table.
    pub entries: usize,
    /// Bytes of a data block.
    pub block_bytes: usize,
    /// Rounds per row of results.
    pub rounds: usize,
    /// Lookups per round.
    pub queries: usize,
    /// Seed of values and lookups.
    pub seed: u64,
}

/// The results.
#[derive(Clone, Debug)]
pub struct Comparison {
    settings: Settings,
    file_bytes: [u64; 2],
    rows: Vec<Row>,
}

/// Writes one table with each engine and reads the table that RocksDB wrote with both.
///
/// * `scratch`: an empty directory.
/// * Errors: a call failed, or the engines answer differently; the message says where.
pub fn compare(scratch: &Path, settings: Settings) -> Result<Comparison, String> {
    let rows = Rows::locations(settings.entries, settings.seed);
    let ours = scratch.join("partita.sst");
    let theirs = scratch.join("rocksdb.sst");
    let mut results = vec![write(&rows, &ours, &theirs, settings)?];
    let file_bytes = [&ours, &theirs].map(|path| std::fs::metadata(path).map_or(0, |m| m.len()));
    for (writer, path) in [("RocksDB's file", &theirs), ("Partita's file", &ours)] {
        results.extend(read(&rows, writer, path, settings)?);
    }
    Ok(Comparison { settings, file_bytes, rows: results })
}

fn write(rows: &Rows, ours: &Path, theirs: &Path, settings: Settings) -> Result<Row, String> {
    let mut samples = Samples::new(2);
    let mut failure = None;
    for round in 0..settings.rounds.clamp(1, 7) {
        let _ = std::fs::remove_file(ours);
        let _ = std::fs::remove_file(theirs);
        samples.round(round, |i| {
            let written = match i {
                0 => partita_table::write(ours, our_options(settings), rows).map_err(message),
                _ => rocks_table::write(theirs, &their_options(settings), rows),
            };
            per_item(&mut failure, written, rows.len())
        });
    }
    failure.map_or(Ok(samples.row("write, per entry".to_owned())), Err)
}

fn read(rows: &Rows, writer: &str, path: &Path, settings: Settings) -> Result<Vec<Row>, String> {
    let ours = PartitaTable::open(path).map_err(message)?;
    let theirs = RocksTable::open(path, &their_options(settings))?;
    theirs.verify()?;
    let mut results = Vec::new();
    for (what, are_present) in [("get, present", true), ("get, absent", false)] {
        let measure = |engine: usize, keys: &[u8]| match engine {
            0 => ours.get(keys, rows.key_len).map_err(message),
            _ => Ok(theirs.get(keys, rows.key_len)),
        };
        results.push(lookups(rows, format!("{writer}: {what}"), are_present, settings, measure)?);
    }
    let seek = |engine: usize, keys: &[u8]| match engine {
        0 => ours.seek(keys, rows.key_len).map_err(message),
        _ => Ok(theirs.seek(keys, rows.key_len)),
    };
    results.push(lookups(rows, format!("{writer}: seek"), true, settings, seek)?);
    results.push(scan(rows, format!("{writer}: scan, per entry"), &ours, &theirs, settings)?);
    Ok(results)
}

fn lookups(
    rows: &Rows,
    name: String,
    are_present: bool,
    settings: Settings,
    measure: impl Fn(usize, &[u8]) -> Result<(u64, u64), String>,
) -> Result<Row, String> {
    let mut samples = Samples::new(2);
    let mut failure = None;
    for round in 0..=settings.rounds {
        let keys = rows.sample(settings.queries, are_present, settings.seed + round as u64);
        let mut answers = [0; 2];
        samples.round(round, |i| {
            let measured = measure(i, &keys).map(|(nanos, answer)| {
                answers[i] = answer;
                nanos
            });
            per_item(&mut failure, measured, settings.queries)
        });
        if failure.is_none() && answers[0] != answers[1] {
            failure = Some(format!("{name}: Partita and RocksDB answer differently: {answers:?}"));
        }
        if round == 0 {
            samples.clear(); // Code and index are cold.
        }
    }
    failure.map_or_else(|| Ok(samples.row(name)), Err)
}

fn scan(
    rows: &Rows,
    name: String,
    ours: &PartitaTable,
    theirs: &RocksTable,
    settings: Settings,
) -> Result<Row, String> {
    let mut samples = Samples::new(2);
    let mut failure = None;
    for round in 0..settings.rounds.clamp(1, 15) {
        let mut answers = [(0, 0); 2];
        samples.round(round, |i| {
            let scanned = match i {
                0 => ours.scan().map_err(message),
                _ => Ok(theirs.scan()),
            };
            let nanos = scanned.map(|(nanos, count, bytes)| {
                answers[i] = (count, bytes);
                nanos
            });
            per_item(&mut failure, nanos, rows.len())
        });
        if failure.is_none() && (answers[0] != answers[1] || answers[0].0 != rows.len() as u64) {
            failure = Some(format!("{name}: Partita and RocksDB see other entries: {answers:?}"));
        }
    }
    failure.map_or_else(|| Ok(samples.row(name)), Err)
}

/// Nanoseconds an item; a failure is kept, the first of them.
fn per_item(failure: &mut Option<String>, nanos: Result<u64, String>, items: usize) -> f64 {
    match nanos {
        Ok(nanos) => nanos as f64 / items as f64,
        Err(error) => {
            failure.get_or_insert(error);
            f64::NAN
        }
    }
}

/// A bookie's settings, but for the block size: LZ4, Bloom filter of 10 bits, one index block, one filter block.
fn our_options(settings: Settings) -> TableOptions {
    TableOptions {
        block_size: settings.block_bytes,
        index_type: IndexType::BinarySearch,
        index_block_restart_interval: 1,
        filter_layout: FilterLayout::Full,
        filter_policy: Some(FilterPolicy::Bloom { bits_per_key: 10.0 }),
        ..TableOptions::with_compression(CompressionType::Lz4)
    }
}

/// The same for RocksDB; without a block cache, so that both engines read every data block.
fn their_options(settings: Settings) -> String {
    format!(
        "format_version=5;checksum=kXXH3;block_size={};filter_policy=bloomfilter:10:false;\
         optimize_filters_for_memory=false;no_block_cache=true;cache_index_and_filter_blocks=false",
        settings.block_bytes
    )
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settings { entries, block_bytes, rounds, queries, .. } = self.settings;
        let [ours, theirs] = self.file_bytes;
        writeln!(
            f,
            "{entries} entry locations, LZ4, blocks of {block_bytes} bytes; files: Partita {ours} bytes, RocksDB {theirs}",
        )?;
        writeln!(f, "ns, median of {rounds} rounds of {queries}; ratio: median (quartiles)")?;
        writeln!(f, "{:40}{:>12}{:>12}{:>26}", "", "Partita", "RocksDB", "Partita / RocksDB")?;
        for row in &self.rows {
            let [low, median, high] = row.ratios[0];
            let ratio = format!("{median:.2} ({low:.2}-{high:.2})");
            let [ours, theirs] = [row.nanos[0], row.nanos[1]];
            writeln!(f, "{:40}{ours:12.1}{theirs:12.1}{ratio:>26}", row.name)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_comparison_measures_every_row() {
        let scratch = tempfile::tempdir().unwrap();
        let settings =
            Settings { entries: 20_000, block_bytes: 4096, rounds: 2, queries: 200, seed: 1 };
        let comparison = compare(scratch.path(), settings).unwrap();
        assert_eq!(comparison.rows.len(), 1 + 2 * 4);
        assert!(comparison.rows.iter().all(|row| row.nanos.iter().all(|nanos| *nanos > 0.0)));
    }
}
