//! Results, for people and as data.

use std::fmt;

use serde::Serialize;

use super::cell::Cell;
use super::files::{FileSet, Shape};
use super::paired::Paired;
use super::plan::Settings;
use super::verdict::{Verdict, opponent, speed_ratio};
use crate::layout::Layout;
use crate::lookups::PerRole;

/// What a run measured.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// What was run.
    pub settings: Settings,
    /// On which files.
    pub files: Vec<FileSet>,
    /// Every cell.
    pub cells: Vec<Cell>,
    /// The paired runs.
    pub paired: Vec<Paired>,
    /// The criteria.
    pub verdicts: Vec<Verdict>,
}

/// What the columns of a printed report mean.
pub const LEGEND: &str = "\
k/s        thousand lookups per second of all threads
CPU us     processor time of a lookup
of R full  how many times as fast, by CPU us, as the faster of RocksDB's caches on full files
of R part  the same on partitioned files
reads/get  blocks read from files per lookup: data, index, filter
KiB/get    what they weigh as stored: data, index, filter
hit %      blocks found in the cache: data, index, filter
charged    MiB charged to the budget: data, index, filter, other
peak       MiB of resident memory at its highest, all of the process
above base MiB of resident memory at the end, above what the process had before it opened anything
*          the warm-up ended before the blocks read per lookup had settled";

const MIB: f64 = (1 << 20) as f64;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let effort = &self.settings.effort;
        for &shape in &self.settings.shapes {
            writeln!(
                f,
                "{shape}: {} keys, {}; asked for: {}; {} threads",
                self.settings.keyspace.len(),
                self.sizes(shape),
                effort.mix,
                effort.threads
            )?;
            self.table(f, shape)?;
            for paired in self.paired.iter().filter(|paired| paired.shape == shape) {
                in_turns(f, paired)?;
            }
            writeln!(f)?;
        }
        let width = self.verdicts.iter().map(|verdict| verdict.criterion.len()).max().unwrap_or(0);
        for Verdict { criterion, figure, met } in &self.verdicts {
            let word = if *met { "met    " } else { "NOT MET" };
            writeln!(f, "{word} {criterion:<width$}  {figure}")?;
        }
        Ok(())
    }
}

impl Report {
    /// The report as data.
    pub fn to_json(&self) -> Result<String, String> {
        serde_json::to_string_pretty(self).map_err(|error| error.to_string())
    }

    fn sizes(&self, shape: Shape) -> String {
        let sizes = self.files.iter().filter(|set| set.shape == shape).map(|set| {
            let mib = set.bytes() as f64 / MIB;
            format!("{} {} files {mib:.0} MiB by {}", set.files.len(), set.layout, set.maker)
        });
        sizes.collect::<Vec<_>>().join(", ")
    }

    fn table(&self, f: &mut fmt::Formatter<'_>, shape: Shape) -> fmt::Result {
        let cells: Vec<&Cell> = self.cells.iter().filter(|cell| cell.id.shape == shape).collect();
        writeln!(
            f,
            "{:>6} {:<12} {:<11} {:>8} {:>8} {:>9} {:>9}  {:<17} {:<17} {:<14} {:<21} {:>6} {:>10}",
            "MiB",
            "engine",
            "files",
            "k/s",
            "CPU us",
            "of R full",
            "of R part",
            "reads/get d,i,f",
            "KiB/get d,i,f",
            "hit % d,i,f",
            "charged d,i,f,o",
            "peak",
            "above base"
        )?;
        for cell in &cells {
            let ratio = |layout| {
                opponent(&cells, cell, layout).map_or_else(
                    || "-".to_owned(),
                    |other| format!("{:.2}", speed_ratio(cell, other)),
                )
            };
            let above = cell.resident_bytes as f64 - cell.resident_base_bytes as f64;
            writeln!(
                f,
                "{:>6} {:<12} {:<11} {:>8.1} {:>8.2} {:>9} {:>9}  {:<17} {:<17} {:<14} {:<21} {:>6.0} {:>10.0}{}",
                cell.id.budget_bytes >> 20,
                cell.id.engine,
                cell.id.layout.to_string(),
                cell.lookups.gets_per_second / 1e3,
                cell.lookups.cpu_us_per_get,
                ratio(Layout::Full),
                ratio(Layout::Partitioned),
                joined(cell.lookups.reads_per_get, |reads| format!("{reads:.2}")),
                joined(cell.lookups.bytes_per_get, |bytes| format!("{:.1}", bytes / 1024.0)),
                joined(cell.lookups.hit_rate, |rate| {
                    rate.map_or_else(|| "-".to_owned(), |rate| format!("{:.0}", rate * 100.0))
                }),
                format!(
                    "{} {:.0}",
                    joined(cell.lookups.charged_bytes, |bytes| format!(
                        "{:.0}",
                        bytes as f64 / MIB
                    )),
                    cell.lookups.charged_bytes.other as f64 / MIB
                ),
                cell.resident_peak_bytes as f64 / MIB,
                above / MIB,
                if cell.lookups.settled { "" } else { " *" }
            )?;
        }
        Ok(())
    }
}

/// Data, index and filter.
fn joined<T>(values: PerRole<T>, show: impl Fn(T) -> String) -> String {
    [values.data, values.index, values.filter].map(show).join(" ")
}

fn in_turns(f: &mut fmt::Formatter<'_>, paired: &Paired) -> fmt::Result {
    let rounds = paired.cpu_us.first().map_or(0, Vec::len);
    writeln!(f, "in memory, one thread, in turns ({rounds} rounds), CPU us per get:")?;
    for name in &paired.names {
        writeln!(f, "  {name:<36} {:.3}", paired.cpu_us(name).unwrap_or(f64::NAN))?;
    }
    Ok(())
}
