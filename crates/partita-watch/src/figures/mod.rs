//! Every metric, declared once.
//!
//! ```text
//! metrics.rs   the declarations        read.rs   where a value comes from: labels and samples
//! process.rs   what the system says of this process
//! times.rs     how long operations of a program took, as histograms
//! contents.rs  what only reading the tables' properties tells: for `partita db stats`
//! ```
//!
//! A name ends as Prometheus wants it: `_total` for what only grows, `_bytes` and `_seconds` for what has a unit. A name that
//! has been released stays: dashboards and alerts are built on it (`docs/metrics.md` is made from the declarations).

mod contents;
mod metrics;
mod process;
mod read;
mod times;

use partita::db::DbStats;
use partita_store::{MetadataReport, TableStats};

pub(crate) use contents::{LevelContents, contents, properties};
pub use metrics::METRICS;
pub(crate) use process::Process;
use read::Read;
pub(crate) use read::{Sample, Value};
pub use times::Timer;
pub(crate) use times::Times;

/// All figures at one moment. What is not there has no samples.
#[derive(Debug, Default)]
pub(crate) struct Moment {
    /// Of whoever serves them.
    pub(crate) server: Option<ServerFigures>,
    /// How following the database goes, if another process writes it.
    pub(crate) following: Option<Following>,
    /// The database's, if one is shown.
    pub(crate) db: Option<DbStats>,
    /// What a store of typed tables adds, if the database is one.
    pub(crate) store: Option<StoreFigures>,
    /// How long operations took, by their names.
    pub(crate) times: Vec<(&'static str, Times)>,
    /// What its levels hold, if that was asked for.
    pub(crate) contents: Vec<LevelContents>,
}

/// Figures of the process that serves them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerFigures {
    pub(crate) process: Process,
    pub(crate) databases: u64,
    pub(crate) is_healthy: bool,
}

/// Figures of a store, beside those of its database.
#[derive(Debug)]
pub(crate) struct StoreFigures {
    pub(crate) tables: Vec<TableStats>,
    pub(crate) metadata: MetadataReport,
}

/// How a database is followed that another process writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Following {
    pub(crate) catch_ups: u64,
    pub(crate) failures: u64,
    /// Seconds since the last attempt that went well.
    pub(crate) age_seconds: f64,
}

/// Whether a figure only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It does, as long as the database is open.
    Counter,
    /// It goes up and down.
    Gauge,
    /// Times, in buckets that only grow.
    Histogram,
}

/// A metric.
#[derive(Debug)]
pub struct Metric {
    name: &'static str,
    help: &'static str,
    read: Read,
}

impl Metric {
    /// Its whole name, with unit and `_total`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What it is, in one sentence.
    pub fn help(&self) -> &'static str {
        self.help
    }

    /// Counters end in `_total`, and nothing else does.
    pub fn kind(&self) -> Kind {
        match self.read {
            Read::Times => Kind::Histogram,
            _ if self.name.ends_with("_total") => Kind::Counter,
            _ => Kind::Gauge,
        }
    }

    /// Whether it is only printed by `partita db stats`, since the properties of tables have to be read for it.
    pub fn is_of_contents(&self) -> bool {
        matches!(self.read, Read::Contents(_))
    }

    /// The names of its labels.
    pub fn labels(&self) -> &'static [&'static str] {
        self.read.labels()
    }

    /// Its values.
    pub(crate) fn samples(&self, moment: &Moment) -> Vec<Sample> {
        self.read.samples(moment)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_each_other_s_and_end_as_prometheus_wants() {
        let names: BTreeSet<&str> = METRICS.iter().map(Metric::name).collect();
        assert_eq!(names.len(), METRICS.len());
        for metric in METRICS {
            let name = metric.name();
            assert!(name.starts_with("partita_") || name.starts_with("process_"), "{name}");
            assert!(name.bytes().all(|byte| byte == b'_' || byte.is_ascii_lowercase()), "{name}");
            assert!(metric.help().ends_with('.') && !metric.help().contains(['\\', '\n']));
            // The unit is the last word, before `_total`.
            let unit = name.trim_end_matches("_total");
            for word in ["bytes", "seconds"] {
                assert!(!unit.contains(word) || unit.ends_with(word), "{name}");
            }
            assert!(!name.contains("micros") && !name.contains("count"), "{name}");
        }
    }
}
