//! Several tables together: how many are of which make, and the largest pieces of index and filter among them.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::report::{Report, release_numbers};
use crate::columns::{self, Side};
use crate::units::{count, counted, exact_size, size};

/// Sums over reports.
#[derive(Default)]
pub(super) struct Total {
    files: u64,
    bytes: u64,
    entries: u64,
    data_bytes: u64,
    formats: BTreeMap<String, u64>,
    /// The oldest release that reads every file, to compare and to print.
    oldest: (Vec<u32>, String),
    index: Pieces,
    filter: Pieces,
    warnings: u64,
}

/// Index or filter of all tables.
#[derive(Default)]
struct Pieces {
    layouts: BTreeMap<String, u64>,
    bytes: u64,
    largest: u64,
    largest_in: String,
}

impl Pieces {
    fn add(&mut self, layout: &str, bytes: u64, largest: u64, file: &str) {
        *self.layouts.entry(layout.to_owned()).or_default() += 1;
        self.bytes += bytes;
        if largest > self.largest {
            self.largest = largest;
            file.clone_into(&mut self.largest_in);
        }
    }

    fn in_words(&self) -> [String; 2] {
        let largest = match self.largest {
            0 => size(self.bytes),
            largest => {
                format!(
                    "{} in all, largest piece {} in {}",
                    size(self.bytes),
                    size(largest),
                    self.largest_in
                )
            }
        };
        [files_by(&self.layouts), largest]
    }
}

impl Total {
    pub(super) fn add(&mut self, report: &Report) {
        self.files += 1;
        self.bytes += report.file_bytes;
        self.entries += report.entries.total.unwrap_or(0);
        self.data_bytes += report
            .blocks
            .iter()
            .filter(|group| group.role == "data block")
            .map(|group| group.stored_bytes)
            .sum::<u64>();
        *self.formats.entry(format!("version {}", report.format.version)).or_default() += 1;
        let oldest = report.readable_by.oldest.clone().unwrap_or_default();
        let numbers = release_numbers(&oldest);
        if (&numbers, &oldest) > (&self.oldest.0, &self.oldest.1) {
            self.oldest = (numbers, oldest);
        }
        let (index, filter, file) = (&report.index, &report.filter, &report.file);
        let index_bytes = index.stored_bytes + index.top_level_bytes.unwrap_or(0);
        self.index.add(&index.index_type, index_bytes, index.largest_piece_bytes, file);
        let filter_bytes = filter.stored_bytes + filter.top_level_bytes.unwrap_or(0);
        self.filter.add(filter.layout, filter_bytes, filter.largest_piece_bytes, file);
        self.warnings += report.warnings.len() as u64;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.files == 0
    }

    /// Prints the sums, if there is more than one table to sum over.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        if self.files < 2 {
            return Ok(());
        }
        writeln!(out, "\n{} together", counted(self.files, "file"))?;
        let [index, index_size] = self.index.in_words();
        let [filter, filter_size] = self.filter.in_words();
        let oldest = match self.oldest.1.as_str() {
            "" => "no release in particular".to_owned(),
            oldest => format!("RocksDB {oldest}"),
        };
        let rows = [
            ["size", &exact_size(self.bytes)],
            ["format", &files_by(&self.formats)],
            ["all need", &oldest],
            ["entries", &count(self.entries)],
            ["data", &size(self.data_bytes)],
            ["index", &index],
            ["", &index_size],
            ["filter", &filter],
            ["", &filter_size],
            ["warnings", &count(self.warnings)],
        ];
        for line in
            columns::lines(&[Side::Left, Side::Left], &rows.map(|row| row.map(str::to_owned)))
        {
            writeln!(out, "  {line}")?;
        }
        Ok(())
    }
}

/// `full: 1 file, partitioned: 3 files`.
fn files_by(layouts: &BTreeMap<String, u64>) -> String {
    let parts: Vec<String> = layouts
        .iter()
        .map(|(name, files)| format!("{name}: {}", counted(*files, "file")))
        .collect();
    parts.join(", ")
}
