//! What an examination tells, as a value: renderers print it, scripts read it.

use std::fmt;

pub use partita::options::file::Severity;
use serde::{Serialize, Serializer};

use crate::units;

fn as_text<S: Serializer>(severity: &Severity, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(severity.as_str())
}

/// Something that was found, with the evidence, what it means and what to do.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// How much it matters.
    #[serde(serialize_with = "as_text")]
    pub severity: Severity,
    /// What it is, in a word that does not change.
    pub code: &'static str,
    /// What it is, in a line.
    pub title: String,
    /// The column families that it is about; none if it is about the database.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub families: Vec<String>,
    /// Figures that show it.
    pub figures: Vec<Figure>,
    /// The worst of the things that show it: files, families, lines of a configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// What comes of it, in plain words.
    pub consequence: String,
    /// What to do; the first is the best.
    pub remedies: Vec<Remedy>,
}

impl Finding {
    /// A finding that figures, evidence and remedies are added to.
    pub(crate) fn new(
        severity: Severity,
        code: &'static str,
        title: impl Into<String>,
        consequence: impl Into<String>,
    ) -> Self {
        Self {
            severity,
            code,
            title: title.into(),
            families: Vec::new(),
            figures: Vec::new(),
            evidence: None,
            consequence: consequence.into(),
            remedies: Vec::new(),
        }
    }

    pub(crate) fn figure(mut self, name: &'static str, label: &'static str, value: Value) -> Self {
        self.figures.push(Figure { name, label, value });
        self
    }

    pub(crate) fn evidence(mut self, evidence: Evidence) -> Self {
        self.evidence = Some(evidence);
        self
    }

    pub(crate) fn remedy(mut self, remedy: Remedy) -> Self {
        self.remedies.push(remedy);
        self
    }

    /// The value of a figure.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.figures.iter().find(|figure| figure.name == name).map(|figure| &figure.value)
    }
}

/// A figure with its names for scripts and for people.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// For scripts.
    pub name: &'static str,
    /// For people; empty for what only scripts want apart.
    pub label: &'static str,
    /// The figure.
    pub value: Value,
}

/// A figure. As JSON it is the bare number or text.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A size.
    Bytes(u64),
    /// A number of things.
    Count(u64),
    /// A share of a whole, from 0 to 1.
    Share(f64),
    /// Seconds.
    Seconds(f64),
    /// A number with a fraction.
    Number(f64),
    /// Anything else.
    Text(String),
}

impl Value {
    /// A text.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Whether columns of it are aligned at the right.
    pub fn is_number(&self) -> bool {
        !matches!(self, Self::Text(_))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => f.write_str(&units::size(*bytes)),
            Self::Count(count) => f.write_str(&units::count(*count)),
            Self::Share(share) => f.write_str(&units::share(*share)),
            Self::Seconds(seconds) => f.write_str(&units::seconds(*seconds)),
            Self::Number(number) => write!(f, "{number:.2}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// The worst of many things, in columns.
#[derive(Clone, Debug, Serialize)]
pub struct Evidence {
    /// What they are: "file".
    pub noun: &'static str,
    /// How many there are in all.
    pub total: u64,
    /// What stands in the columns.
    pub columns: Vec<&'static str>,
    /// The worst, worst first.
    pub rows: Vec<Vec<Value>>,
}

impl Evidence {
    /// How many are named.
    const ROWS_MAX: usize = 8;

    /// The worst of `rows`, which come worst first.
    pub(crate) fn new(
        noun: &'static str,
        columns: &[&'static str],
        rows: impl IntoIterator<Item = Vec<Value>>,
    ) -> Self {
        let mut evidence = Self { noun, total: 0, columns: columns.to_vec(), rows: Vec::new() };
        for row in rows {
            evidence.total += 1;
            if evidence.rows.len() < Self::ROWS_MAX {
                evidence.rows.push(row);
            }
        }
        evidence
    }
}

/// Something to do.
#[derive(Clone, Debug, Serialize)]
pub struct Remedy {
    /// What to do, in a line.
    pub what: String,
    /// The exact settings for RocksDB.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rocksdb: Vec<Setting>,
    /// What to do with Partita.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partita: Option<String>,
    /// What else has to happen for it to count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub then: Option<String>,
}

impl Remedy {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), rocksdb: Vec::new(), partita: None, then: None }
    }

    pub(crate) fn settings(mut self, settings: impl IntoIterator<Item = Setting>) -> Self {
        self.rocksdb.extend(settings);
        self
    }

    pub(crate) fn partita(mut self, what: impl Into<String>) -> Self {
        self.partita = Some(what.into());
        self
    }

    pub(crate) fn then(mut self, what: impl Into<String>) -> Self {
        self.then = Some(what.into());
        self
    }
}

/// A setting of RocksDB, in every language that people set it in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// C++.
    pub cpp: String,
    /// Java.
    pub java: String,
    /// A line of an options file; none for what is an object of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options_file: Option<String>,
    /// A line of `bk_server.conf`, or of the options file that it names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bookie: Option<String>,
}
