//! `partita budget-bench`: what a budget of memory buys.

use std::io;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use partita_bench::budget::{
    LEGEND, Outcome as Done, PARTITA, PartitaAlone, PartitaMaker, Report, Settings, Shape, Task,
    Turns, parse_budgets, perform, run as run_bench,
};
use partita_bench::children::{answer_parent, in_child};
use partita_bench::lookups::{Effort, Keyspace, Mix};

use crate::bench;
use crate::outcome::Outcome;

/// Measure lookups in a bookie's files under budgets of memory.
///
/// The files (16-byte keys, 8-byte values, LZ4, 64 KiB blocks, Bloom filters of 10 bits) are written once, with full
/// and with partitioned index and filter, and kept; every cell is measured in a process of its own.
#[derive(Args, Debug)]
pub(crate) struct BudgetBench {
    /// Directory for the files; about 8.5 bytes per key, twice for each shape. Default: one in the system's directory
    /// for temporary files.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Keys in thousands, spread over 1,000 ledgers.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    kilo_keys: u64,
    /// Budgets in MiB, divided by commas.
    #[arg(long, default_value = "8,16,32,64,128,256,512,1024")]
    budgets: String,
    /// Shape of the files. Default: both.
    #[arg(long, value_enum)]
    shape: Option<FileShape>,
    /// What is asked for.
    #[arg(long, value_enum, default_value_t = Keys::Present)]
    mix: Keys,
    /// Threads that ask.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,
    /// Seconds that each cell is timed for, after it is warm.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Runs of each cell; the one of median throughput counts.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,
    /// Rounds of the comparison in turns where everything fits; 0: none.
    #[arg(long, default_value_t = 101)]
    turns: u16,
    /// Seed of the keys.
    #[arg(long, default_value_t = 1)]
    seed: u32,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Explain the columns of the report, without running.
    #[arg(long)]
    legend: bool,
    /// A child's task.
    #[arg(long, hide = true)]
    task: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FileShape {
    /// One sorted run.
    Run,
    /// Levels 0, 1 and 2.
    Natural,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Keys {
    /// Keys that are there, all alike.
    Present,
    /// Keys that are not.
    Absent,
    /// Keys that are there, some more popular.
    Zipf,
}

impl BudgetBench {
    /// Runs the benchmark and prints its report. The error is one of standard output.
    pub(crate) fn run(&self) -> io::Result<Outcome> {
        let printed = if self.legend {
            Ok(LEGEND.to_owned())
        } else if let Some(task) = &self.task {
            answer_parent(task, |task| perform(task, &PartitaAlone))
        } else {
            self.report(&|task| in_child(&["budget-bench", "--task"], task)).and_then(|report| {
                if self.json { report.to_json() } else { Ok(report.to_string()) }
            })
        };
        let warning = match cfg!(debug_assertions) && !self.json && self.task.is_none() {
            true => "WARNING: built without optimisation, figures mean nothing\n",
            false => "",
        };
        bench::print(printed.map(|text| format!("{warning}{text}")))
    }

    fn report(&self, perform: &dyn Fn(&Task) -> Result<Done, String>) -> Result<Report, String> {
        run_bench(&self.settings()?, &PartitaMaker, &[PARTITA], perform, &mut bench::teller())
    }

    fn settings(&self) -> Result<Settings, String> {
        if !(self.seconds > 0.0 && self.seconds <= 3600.0) {
            return Err(format!("{} seconds are not in 0 to 3600", self.seconds));
        }
        let default_dir = || std::env::temp_dir().join("partita-budget-bench");
        let shapes = match self.shape {
            None => vec![Shape::Run, Shape::Natural],
            Some(FileShape::Run) => vec![Shape::Run],
            Some(FileShape::Natural) => vec![Shape::Natural],
        };
        let mix = match self.mix {
            Keys::Present => Mix::Present,
            Keys::Absent => Mix::Absent,
            Keys::Zipf => Mix::Zipf,
        };
        let seed = u64::from(self.seed);
        Ok(Settings {
            root: self.dir.clone().unwrap_or_else(default_dir),
            keyspace: Keyspace { ledgers: 1000, entries: self.kilo_keys },
            shapes,
            budgets_bytes: parse_budgets(&self.budgets)?,
            effort: Effort::new(usize::from(self.threads), mix, self.seconds, seed),
            rounds: usize::from(self.rounds),
            turns: (self.turns > 0).then(|| Turns::new(usize::from(self.turns), seed)),
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        bench: BudgetBench,
    }

    fn bench(arguments: &[&str]) -> BudgetBench {
        Cli::parse_from([&["x"], arguments].concat()).bench
    }

    #[test]
    fn a_small_run_gives_a_report_with_a_verdict_that_is_json() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().to_str().unwrap();
        let arguments = "--kilo-keys 5 --budgets 1,64 --threads 2 --seconds 0.02 --turns 3";
        let mut arguments: Vec<&str> = arguments.split(' ').collect();
        arguments.extend(["--dir", dir]);
        let report = bench(&arguments).report(&|task| perform(task, &PartitaAlone)).unwrap();
        assert_eq!(report.cells.len(), 8, "two shapes, two layouts, two budgets");
        assert!(report.cells.iter().all(|cell| cell.lookups.gets_per_second > 0.0));
        let json: serde_json::Value = serde_json::from_str(&report.to_json().unwrap()).unwrap();
        assert!(json["cells"][0]["reads_per_get"]["data"].is_number());
        assert!(json["verdicts"].as_array().is_some_and(|verdicts| !verdicts.is_empty()));
        let text = report.to_string();
        assert!(text.contains("natural: 5000 keys"), "{text}");
        assert!(text.contains("met"), "{text}");
    }

    #[test]
    fn settings_that_mean_nothing_are_refused_in_words() {
        assert!(bench(&["--budgets", "8,x"]).settings().unwrap_err().contains("MiB"));
        assert!(bench(&["--seconds", "nan"]).settings().unwrap_err().contains("seconds"));
        for arguments in [["--threads", "0"], ["--kilo-keys", "0"], ["--rounds", "0"]] {
            assert!(Cli::try_parse_from([&["x"], &arguments[..]].concat()).is_err());
        }
    }
}
