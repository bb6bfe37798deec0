//! Results, for people and as data.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::load::Load;
use super::row::Row;
use super::settings::Settings;
use crate::lookups::PerRole;
use crate::setup::Setup;

/// What a run measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// What it was run with.
    pub setup: Setup,
    /// What was run.
    pub settings: Settings,
    /// Every load.
    pub loads: Vec<Load>,
}

/// What the columns of a printed report mean.
pub const LEGEND: &str = "\
keys       keys that were allocated, in thousands; all but those that are still open are committed
keys/s     keys that were allocated and committed in a second
CPU us     processor time of a key, background work included
p50, p99   microseconds that half of the rounds, and 99 of 100, take at most; a round allocates a key, commits another, looks old
           ones up, and now and then writes the batch. With --rate they count from when the round was due
max ms     milliseconds of the longest round
hit %      blocks, or pieces of index and filter, that reads found in the cache, of those they asked for
cache MiB  charged to the budget: data, index, filter, memtables, other
put MB/s   megabytes that were put into the cache in a second
memory     MiB of resident memory at its highest, all of the process
debt       MiB that compactions have to write until the levels have their sizes
w-amp      bytes that flushes and compactions wrote to tables, for each byte of changes
stall      seconds that writers were made to wait";

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
}

/// The load in tenths, of which the first warms up.
const PARTS: u64 = 10;

impl Load {
    /// Keys per second of the second tenth of the rounds, and of the last; `None` where rows are too few, or some are missing.
    pub fn first_and_last_rate(&self) -> Option<(f64, f64)> {
        let all = self.loaded.plan.rounds();
        let rate = |part: u64| {
            let (from, to) = (part * all / PARTS, (part + 1) * all / PARTS);
            // A row belongs to the tenth that its middle is in.
            let is_in = |row: &&Row| (from..to).contains(&(row.keys - row.rounds.div_ceil(2)));
            let rows = self.rows.iter().filter(is_in);
            let (rounds, seconds) =
                rows.fold((0, 0.0), |sum, row| (sum.0 + row.rounds, sum.1 + row.seconds));
            (rounds > 0).then(|| rounds as f64 / seconds)
        };
        rate(1).zip(rate(PARTS - 1))
    }

    /// Keys per second of all rows.
    pub fn rate(&self) -> f64 {
        let rounds: u64 = self.rows.iter().map(|row| row.rounds).sum();
        rounds as f64 / self.seconds()
    }

    /// Seconds of all rows.
    pub fn seconds(&self) -> f64 {
        self.rows.iter().map(|row| row.seconds).sum()
    }

    /// Bytes that were written to tables up to each row, for each byte of changes.
    pub fn write_amplification(&self) -> Vec<f64> {
        let (mut written, mut changes) = (0, 0);
        let so_far = self.rows.iter().map(|row| {
            written += row.written_bytes;
            changes += row.batch_bytes;
            written as f64 / changes as f64
        });
        so_far.collect()
    }

    /// The longest round of all, in seconds.
    pub fn longest_seconds(&self) -> f64 {
        self.rows.iter().map(|row| row.max_us / 1e6).fold(0.0, f64::max)
    }

    /// The row that comes closest to the bound on resident memory, or exceeds it most, with how much of it it takes.
    pub fn tightest(&self) -> Option<(&Row, f64)> {
        let budget = self.loaded.opening.budget_bytes;
        let taken = |row: &Row| row.resident_bytes as f64 / row.resident_limit_bytes(budget);
        let rows = self.rows.iter().map(|row| (row, taken(row)));
        rows.max_by(|one, other| one.1.total_cmp(&other.1))
    }

    /// What a load is to show, in sentences.
    pub(super) fn findings(&self) -> Vec<String> {
        let mut found = Vec::new();
        if let Some((first, last)) = self.first_and_last_rate() {
            found.push(format!(
                "rate: {first:.0} keys/s in the second tenth, {last:.0} in the last: {:.0} %",
                100.0 * last / first
            ));
        }
        if let Some((row, taken)) = self.tightest() {
            found.push(format!(
                "memory: {:.0} MiB resident at {} k keys, {:.0} % of budget and memtables, a tenth, and 64 MiB",
                row.resident_bytes as f64 / MIB,
                row.keys / 1000,
                100.0 * taken
            ));
        }
        found.push(format!("longest round: {:.3} s", self.longest_seconds()));
        if let Some(seconds) = self.settle_seconds {
            found.push(format!("settled: {seconds:.1} s after the last row"));
        }
        if let Some(recovery) = &self.recovery {
            found.push(recovery.to_string());
        }
        if self.resumed > 0 {
            found.push(format!(
                "interrupted {} times; what was in no row yet is left out",
                self.resumed
            ));
        }
        found
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.setup)?;
        writeln!(f, "{}", self.settings)?;
        for load in &self.loads {
            writeln!(
                f,
                "\n{}, {}: {:.0} keys/s",
                load.loaded.name,
                load.loaded.engine,
                load.rate()
            )?;
            writeln!(f, "{}", titles())?;
            for (row, amplification) in load.rows.iter().zip(load.write_amplification()) {
                writeln!(f, "{}", line_with(row, amplification))?;
            }
            load.findings().iter().try_for_each(|found| writeln!(f, "{found}"))?;
        }
        Ok(())
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = &self.plan;
        write!(
            f,
            "{} keys in {} buckets, rows of {} to {} bytes, batches of {}, {} lookups of old keys for each, {:.0} MiB budget",
            plan.keys,
            plan.buckets,
            plan.value_bytes.start(),
            plan.value_bytes.end(),
            self.batch_transactions,
            plan.lookups,
            self.budget_bytes as f64 / MIB
        )?;
        if plan.list_every > 0 {
            write!(f, ", a listing every {} keys", plan.list_every)?;
        }
        if plan.delete_percent > 0 {
            write!(f, ", {} % deleted", plan.delete_percent)?;
        }
        match self.keys_per_second {
            Some(rate) => write!(f, ", {rate:.0} keys due in a second"),
            None => Ok(()),
        }
    }
}

fn titles() -> String {
    format!(
        "{:>8} {:>7} {:>6} {:>6} {:>7} {:>7} | {:>17} | {:>24} {:>8} | {:>6} {:>6} {:>6} {:>6}\n{:>8} {:>7} {:>6} {:>6} {:>7} \
         {:>7} | {:>5} {:>5} {:>5} | {:>4} {:>4} {:>4} {:>4} {:>4} {:>8} |",
        "keys",
        "keys/s",
        "CPU us",
        "p50",
        "p99",
        "max ms",
        "hit %",
        "cache MiB",
        "put MB/s",
        "memory",
        "debt",
        "w-amp",
        "stall",
        "k",
        "",
        "",
        "",
        "",
        "",
        "data",
        "index",
        "filt",
        "data",
        "idx",
        "filt",
        "mem",
        "oth",
        ""
    )
}

/// A row as it is shown while the load goes on, which does not know what was written before.
pub(super) fn line(row: &Row) -> String {
    line_with(row, row.written_bytes as f64 / row.batch_bytes as f64)
}

fn line_with(row: &Row, amplification: f64) -> String {
    let mib = |bytes: u64| format!("{:.0}", bytes as f64 / MIB);
    let share =
        |share: Option<f64>| share.map_or_else(|| "-".into(), |s| format!("{:.1}", s * 100.0));
    let hits: PerRole<String> = row.hit_ratio().map(share);
    let cached = row.cached_bytes.map(mib);
    let put = row.inserted_bytes.total() as f64 / 1e6 / row.seconds;
    format!(
        "{:>8} {:>7.0} {:>6.1} {:>6.1} {:>7.1} {:>7.1} | {:>5} {:>5} {:>5} | {:>4} {:>4} {:>4} {:>4} {:>4} {put:>8.1} | {:>6} \
         {:>6} {amplification:>6.2} {:>6.2}",
        row.keys / 1000,
        row.keys_per_second(),
        row.cpu_us_per_key(),
        row.p50_us,
        row.p99_us,
        row.max_us / 1e3,
        hits.data,
        hits.index,
        hits.filter,
        cached.data,
        cached.index,
        cached.filter,
        mib(row.memtable_bytes),
        cached.other,
        mib(row.resident_bytes),
        mib(row.debt_bytes),
        row.stall_seconds
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;
    use crate::objects::{Loaded, Opening, Plan};

    /// Ten rows, each slower than the one before it.
    fn load() -> Load {
        let row = |number: u64| Row {
            keys: 100 * (number + 1),
            rounds: 100,
            seconds: 1.0 + number as f64,
            max_us: 1e3 * number as f64,
            batch_bytes: 1000,
            written_bytes: 1000 * number,
            resident_bytes: 60 << 20,
            memtable_bytes: if number == 3 { 0 } else { 10 << 20 },
            ..Row::default()
        };
        let opening = Opening { layout: Layout::Full, budget_bytes: 30 << 20 };
        let plan = Plan { keys: 990, open_keys: 10, ..Plan::default() };
        Load {
            loaded: Loaded { name: "full".into(), engine: "partita".into(), opening, plan },
            rows: (0..10).map(row).collect(),
            resident_base_bytes: 0,
            resumed: 0,
            settle_seconds: None,
            recovery: None,
            contents: None,
        }
    }

    #[test]
    fn the_last_tenth_is_compared_with_the_second() {
        let mut load = load();
        assert_eq!(load.first_and_last_rate(), Some((50.0, 10.0)));
        assert_eq!(load.longest_seconds(), 0.009);
        assert!(load.findings()[0].ends_with("20 %"), "{:?}", load.findings());
        load.rows.pop();
        assert_eq!(load.first_and_last_rate(), None, "it is not over");
    }

    #[test]
    fn what_was_written_is_added_up_over_rows() {
        assert_eq!(load().write_amplification()[..4], [0.0, 0.5, 1.0, 1.5]);
    }

    #[test]
    fn memory_is_judged_by_the_row_with_the_least_room() {
        let load = load();
        let (row, taken) = load.tightest().unwrap();
        assert_eq!(row.keys, 400);
        assert!((taken - 60.0 / (30.0 * 1.1 + 64.0)).abs() < 1e-9, "{taken}");
    }
}
