//! Medians of both engines, and the ratios of what they took.

use std::fmt;

use serde_json::{Value, json};

use super::engine::Engine;
use super::meter::Figures;
use super::{Settings, Workload};
use crate::samples::quartiles;

/// All rounds of all workloads.
#[derive(Clone, Debug)]
pub struct Report {
    settings: Settings,
    cells: Vec<(Workload, Engine, Figures)>,
}

/// One figure of a workload.
struct Measure {
    name: &'static str,
    more_is_better: bool,
    of: fn(&Figures) -> f64,
}

const fn more(name: &'static str, of: fn(&Figures) -> f64) -> Measure {
    Measure { name, more_is_better: true, of }
}

const fn less(name: &'static str, of: fn(&Figures) -> f64) -> Measure {
    Measure { name, more_is_better: false, of }
}

const PEAK: Measure = less("MiB resident at most", |f| f.peak_bytes / f64::from(1 << 20));
const AMPLIFICATION: Measure =
    less("bytes written to files per byte", |f| f.settled.written_bytes / f.user_bytes);

const WRITING: &[Measure] = &[
    more("thousand records a second", |f| f.operations / f.work.seconds / 1e3),
    more("the same until settled", |f| f.operations / f.settled.seconds / 1e3),
    less("us of processor per record", |f| f.work.processor_seconds / f.operations * 1e6),
    less("the same until settled", |f| f.settled.processor_seconds / f.operations * 1e6),
    AMPLIFICATION,
    PEAK,
];

const READING_WHILE_WRITING: &[Measure] = &[
    more("thousand reads a second", |f| f.operations / f.work.seconds / 1e3),
    less("us of a reader's processor per read", |f| f.own_seconds / f.operations * 1e6),
    less("seconds of processor, all", |f| f.work.processor_seconds),
    PEAK,
];

const SCANNING: &[Measure] = &[
    more("thousand rows a second", |f| f.operations / f.work.seconds / 1e3),
    less("us of processor per row", |f| f.work.processor_seconds / f.operations * 1e6),
    PEAK,
];

const COMPACTING: &[Measure] = &[
    more("thousand records a second", |f| f.operations / f.work.seconds / 1e3),
    more("MiB of records a second", |f| f.user_bytes / f.work.seconds / f64::from(1 << 20)),
    less("us of processor per record", |f| f.work.processor_seconds / f.operations * 1e6),
    AMPLIFICATION,
    PEAK,
];

const OPENING: &[Measure] = &[
    less("ms until the first answer", |f| f.settled.seconds * 1e3),
    less("ms of the opening call", |f| f.work.seconds * 1e3),
    less("ms of processor until the first answer", |f| f.settled.processor_seconds * 1e3),
    PEAK,
];

fn measures(workload: Workload) -> &'static [Measure] {
    match workload {
        Workload::Bookie | Workload::BookieNoLog | Workload::Random | Workload::Overwrite => {
            WRITING
        }
        Workload::ReadWhileWriting => READING_WHILE_WRITING,
        Workload::Scan | Workload::Reverse => SCANNING,
        Workload::Compact | Workload::CompactLocations => COMPACTING,
        Workload::Open | Workload::OpenCold => OPENING,
    }
}

/// A measure over the rounds.
struct Row {
    medians: [Option<f64>; 2],
    /// Quartiles of Partita's figure to RocksDB's, round by round.
    ratio: Option<[f64; 3]>,
}

impl Report {
    pub(super) fn new(settings: &Settings) -> Self {
        Self { settings: settings.clone(), cells: Vec::new() }
    }

    /// Takes the figures of a cell; an error if they contradict those of another.
    pub(super) fn add(
        &mut self,
        workload: Workload,
        engine: Engine,
        figures: Figures,
    ) -> Result<(), String> {
        let others = self.cells.iter().filter(|(other, ..)| *other == workload);
        for (_, other, theirs) in others {
            if theirs.check != figures.check {
                return Err(format!(
                    "{}: {} comes to {}, {} to {}",
                    workload.name(),
                    engine.name(),
                    figures.check,
                    other.name(),
                    theirs.check
                ));
            }
        }
        self.cells.push((workload, engine, figures));
        Ok(())
    }

    fn row(&self, workload: Workload, measure: &Measure) -> Row {
        let of = |engine: Engine| -> Vec<f64> {
            let cells = self.cells.iter().filter(|(w, e, _)| (*w, *e) == (workload, engine));
            cells.map(|(.., figures)| (measure.of)(figures)).collect()
        };
        let [ours, theirs] = Engine::ALL.map(of);
        let median =
            |samples: &Vec<f64>| (!samples.is_empty()).then(|| quartiles(samples.clone())[1]);
        let ratios: Vec<f64> =
            ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect();
        Row {
            medians: [median(&ours), median(&theirs)],
            ratio: (!ratios.is_empty()).then(|| quartiles(ratios)),
        }
    }

    /// Everything, for machines.
    pub fn to_json(&self) -> Value {
        let workloads = self.settings.workloads.iter().map(|&workload| {
            let rows = measures(workload).iter().map(|measure| {
                let Row { medians: [partita, rocksdb], ratio } = self.row(workload, measure);
                json!({
                    "measure": measure.name,
                    "more_is_better": measure.more_is_better,
                    "partita": partita,
                    "rocksdb": rocksdb,
                    "ratio_quartiles": ratio,
                })
            });
            let cells = self.cells.iter().filter(|(other, ..)| *other == workload).map(
                |(_, engine, figures)| json!({"engine": engine.name(), "figures": figures.to_json()}),
            );
            json!({
                "workload": workload.name(),
                "measures": rows.collect::<Vec<_>>(),
                "rounds": cells.collect::<Vec<_>>(),
            })
        });
        json!({
            "kilo_records": self.settings.kilo_records,
            "kilo_rows": self.settings.kilo_rows,
            "compact_mib": self.settings.compact_mib,
            "files": self.settings.files,
            "budget_mib": self.settings.budget_mib,
            "writes_per_second": self.settings.writes_per_second,
            "rounds": self.settings.rounds,
            "workloads": workloads.collect::<Vec<_>>(),
        })
    }
}

impl Report {
    /// The lines of a workload.
    pub(super) fn lines(&self, workload: Workload) -> String {
        let mut lines = String::new();
        for (at, measure) in measures(workload).iter().enumerate() {
            let row = self.row(workload, measure);
            let name = if at == 0 { workload.name() } else { "" };
            let sign = if measure.more_is_better { '+' } else { '-' };
            lines += &format!("{name:<18} {sign} {:<40}", measure.name);
            for median in row.medians {
                lines += &format!(" {:>10}", median.map_or_else(|| "-".to_owned(), figure));
            }
            if let Some([first, median, third]) = row.ratio {
                lines += &format!("  {median:.2} ({first:.2} to {third:.2})");
            }
            lines.push('\n');
        }
        lines
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settings { rounds, budget_mib, .. } = self.settings;
        writeln!(f, "medians of {rounds} rounds; memory of each engine: {budget_mib} MiB")?;
        writeln!(
            f,
            "{:<18} {:<42} {:>10} {:>10}  Partita / RocksDB (quartiles)",
            "workload", "measure", "Partita", "RocksDB"
        )?;
        for &workload in &self.settings.workloads {
            f.write_str(&self.lines(workload))?;
        }
        writeln!(f, "+ more is better, - less is better")
    }
}

/// With three digits that mean something.
fn figure(number: f64) -> String {
    match number.abs() {
        n if n >= 100.0 => format!("{number:.0}"),
        n if n >= 10.0 => format!("{number:.1}"),
        n if n >= 1.0 => format!("{number:.2}"),
        _ => format!("{number:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::database_bench::Cost;

    fn settings() -> Settings {
        Settings {
            root: PathBuf::new(),
            workloads: vec![Workload::Scan],
            engines: Engine::ALL.to_vec(),
            rounds: 1,
            kilo_records: 1,
            kilo_rows: 1,
            compact_mib: 1,
            seconds: 1,
            writes_per_second: 1,
            files: 1,
            budget_mib: 512,
        }
    }

    fn scanned(seconds: f64, check: f64) -> Figures {
        let work = Cost { seconds, processor_seconds: seconds, ..Cost::default() };
        Figures { operations: 2_000_000.0, work, settled: work, check, ..Figures::default() }
    }

    #[test]
    fn ratios_are_of_partita_to_rocksdb() {
        let mut report = Report::new(&settings());
        report.add(Workload::Scan, Engine::RocksDb, scanned(2.0, 7.0)).unwrap();
        report.add(Workload::Scan, Engine::Partita, scanned(1.0, 7.0)).unwrap();
        let text = report.to_string();
        let line = text.lines().find(|line| line.contains("rows a second")).unwrap();
        assert!(line.ends_with("2000       1000  2.00 (2.00 to 2.00)"), "{line}");
        let json = report.to_json();
        let first = &json["workloads"][0]["measures"][0];
        assert_eq!((&first["partita"], &first["more_is_better"]), (&json!(2000.0), &json!(true)));
    }

    #[test]
    fn engines_that_disagree_are_an_error() {
        let mut report = Report::new(&settings());
        report.add(Workload::Scan, Engine::RocksDb, scanned(2.0, 7.0)).unwrap();
        let error = report.add(Workload::Scan, Engine::Partita, scanned(1.0, 8.0)).unwrap_err();
        assert_eq!(error, "scan: partita comes to 8, rocksdb to 7");
    }
}
