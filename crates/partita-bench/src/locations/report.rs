//! Results, for people and as data.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::PARTITA;
use super::plan::{Contender, Settings, Source};
use super::store::Store;
use super::task::Cell;
use crate::lookups::{Measured, Mix, PerRole};
use crate::setup::Setup;

/// What a run measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// What it was run with.
    pub setup: Setup,
    /// What was run.
    pub settings: Settings,
    /// What was loaded, by name.
    pub stores: Vec<(String, Store)>,
    /// What was found, if a directory was read.
    pub directory: Option<Directory>,
    /// Every cell.
    pub cells: Vec<Cell>,
}

/// A directory that was there.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Directory {
    /// Tables.
    pub tables: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Ledgers.
    pub ledgers: u64,
}

/// What the columns of a printed report mean.
pub const LEGEND: &str = "\
ops/s      lookups per second of all threads
CPU us     processor time of a lookup
p50, p99   microseconds that half of the lookups, and 99 of 100, take at most
of NAME    how many times as many lookups per second of processor time as NAME has with the same budget
reads/op   blocks, or pieces of filters and indexes, read from files per lookup: data, index, filter
KiB/op     what they weigh as stored, all together
cache      MiB charged to the budget after the lookups: data, index, filter, other
memory     MiB of resident memory at its highest, all of the process, and above what it had before anything was opened;
           beyond the budget there are the program, buffers of reads under way, and what the allocator keeps
*          the warm-up ended before the blocks read per lookup had settled";

const MIB: f64 = (1 << 20) as f64;

impl Report {
    /// The report as data.
    pub fn to_json(&self) -> Result<String, String> {
        serde_json::to_string_pretty(self).map_err(|error| error.to_string())
    }

    /// A report that was kept as data.
    pub fn from_json(json: &str) -> Result<Self, String> {
        serde_json::from_str(json).map_err(|error| format!("no report of this benchmark: {error}"))
    }

    /// Those that Partita is compared with.
    pub fn opponents(&self) -> impl Iterator<Item = &Contender> {
        self.settings.contenders.iter().filter(|contender| contender.engine != PARTITA)
    }

    /// One kind of lookups of a contender.
    pub fn measured(&self, contender: &str, budget_bytes: u64, mix: Mix) -> Option<&Measured> {
        let is_it =
            |cell: &&Cell| cell.id.contender == contender && cell.id.budget_bytes == budget_bytes;
        self.cells.iter().find(is_it)?.of(mix)
    }

    /// How many times as many lookups per second of processor time as an opponent a contender has.
    pub fn ratio(&self, of: &str, to: &str, budget_bytes: u64, mix: Mix) -> Option<f64> {
        let of = self.measured(of, budget_bytes, mix)?;
        let to = self.measured(to, budget_bytes, mix)?;
        Some(to.cpu_us_per_get / of.cpu_us_per_get)
    }
}

/// What a kind of lookups is called.
pub(super) fn title(mix: Mix) -> &'static str {
    match mix {
        Mix::Present => "get_location, entries that are there",
        Mix::Absent => "get_location, entries that are not there",
        Mix::Zipf => "get_location, entries by popularity",
        Mix::Last => "get_last_entry, any ledger",
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.setup)?;
        self.source(f)?;
        for &mix in &self.settings.mixes {
            let Settings { effort, read_mode, .. } = &self.settings;
            writeln!(f, "\n{}, {} threads, {read_mode} reads", title(mix), effort.threads)?;
            self.lookups(f, mix)?;
        }
        self.cliff(f)?;
        writeln!(f, "--legend explains the columns; --report FILE.html draws them.")
    }
}

impl Report {
    /// Whether there is a cliff: what index and filter cost the lookup that reads most of them.
    fn cliff(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ours = self.settings.contenders.iter().filter(|contender| contender.engine == PARTITA);
        let is_ours = |cell: &&Cell| ours.clone().any(|known| known.name == cell.id.contender);
        let kib = |measured: &Measured| {
            (measured.bytes_per_get.index + measured.bytes_per_get.filter) / 1024.0
        };
        let lookups = self.cells.iter().filter(is_ours).flat_map(|cell| &cell.lookups);
        match lookups.map(|(_, measured)| kib(measured)).max_by(f64::total_cmp) {
            Some(most) => writeln!(
                f,
                "\nPartita reads {most:.1} KiB of index and filter per lookup at most, whatever the budget and the layout."
            ),
            None => Ok(()),
        }
    }

    fn source(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.settings.source, &self.directory) {
            (Source::Loaded { keyspace, root, .. }, _) => {
                writeln!(
                    f,
                    "{} entries of {} ledgers, written as a bookie does: all but three flushes in one sorted run, these on top",
                    keyspace.len(),
                    keyspace.ledgers
                )?;
                writeln!(
                    f,
                    "(kept in {} for the next run, which takes these figures over)",
                    root.display()
                )?;
                self.loads(f)
            }
            (Source::Directory(dir), Some(found)) => writeln!(
                f,
                "{}: {} tables, {:.0} MiB, {} ledgers",
                dir.display(),
                found.tables,
                found.bytes as f64 / MIB,
                found.ledgers
            ),
            (Source::Directory(dir), None) => writeln!(f, "{}", dir.display()),
        }
    }

    fn loads(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.stores.iter().map(|(name, _)| name.len()).max().unwrap_or(0).max(5);
        writeln!(
            f,
            "{:<width$} {:<11} {:>5} {:>7} {:>6} {:>10} {:>8} {:>7}",
            "files", "layout", "block", "tables", "MiB", "entries/s", "CPU us", "memory"
        )?;
        for (name, store) in &self.stores {
            writeln!(
                f,
                "{name:<width$} {:<11} {:>5} {:>7} {:>6.0} {:>10.0} {:>8.2} {:>7.0}",
                store.load.tables.layout.to_string(),
                format!("{}k", store.load.tables.block_bytes >> 10),
                store.tables,
                store.table_bytes as f64 / MIB,
                store.entries_per_second(),
                store.cpu_us_per_entry(),
                store.resident_peak_bytes as f64 / MIB
            )?;
        }
        Ok(())
    }

    fn lookups(&self, f: &mut fmt::Formatter<'_>, mix: Mix) -> fmt::Result {
        let names = self.settings.contenders.iter().map(|contender| contender.name.len());
        let width = names.max().unwrap_or(0).max(4);
        write!(
            f,
            "{:>6} {:<width$} {:>9} {:>8} {:>7} {:>7}",
            "MiB", "who", "ops/s", "CPU us", "p50", "p99"
        )?;
        let opponents: Vec<&str> =
            self.opponents().map(|opponent| opponent.name.as_str()).collect();
        let ratio_width = opponents.iter().map(|name| name.len() + 3).max().unwrap_or(0).max(6);
        for name in &opponents {
            write!(f, " {:>ratio_width$}", format!("of {name}"))?;
        }
        writeln!(f, "  {:<17} {:>8}  {:<20} memory", "reads/op d,i,f", "KiB/op", "cache d,i,f,o")?;
        for cell in &self.cells {
            let Some(measured) = cell.of(mix) else { continue };
            write!(
                f,
                "{:>6} {:<width$} {:>9.0} {:>8.2} {:>7.1} {:>7.1}",
                cell.id.budget_bytes >> 20,
                cell.id.contender,
                measured.gets_per_second,
                measured.cpu_us_per_get,
                measured.p50_us,
                measured.p99_us
            )?;
            for name in &opponents {
                let ratio = self.ratio(&cell.id.contender, name, cell.id.budget_bytes, mix);
                let shown = ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
                write!(f, " {shown:>ratio_width$}")?;
            }
            writeln!(
                f,
                "  {:<17} {:>8.1}  {:<20} {:.0} ({:+.0}){}",
                joined(measured.reads_per_get, |reads| format!("{reads:.2}")),
                measured.bytes_per_get.total() / 1024.0,
                format!(
                    "{} {:.0}",
                    joined(measured.charged_bytes, |bytes| format!("{:.0}", bytes as f64 / MIB)),
                    measured.charged_bytes.other as f64 / MIB
                ),
                cell.resident_peak_bytes as f64 / MIB,
                (cell.resident_peak_bytes as f64 - cell.resident_base_bytes as f64) / MIB,
                if measured.settled { "" } else { " *" }
            )?;
        }
        Ok(())
    }
}

/// Data, index and filter.
fn joined<T>(values: PerRole<T>, show: impl Fn(T) -> String) -> String {
    [values.data, values.index, values.filter].map(show).join(" ")
}

/// Names as people list them.
#[cfg(feature = "page")]
pub(super) fn joined_names(names: &[impl AsRef<str>]) -> String {
    match names {
        [] => "nobody".to_owned(),
        [only] => only.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}
