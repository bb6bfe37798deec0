//! The report: everything that was found, in the order in which it is told.

use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

use crate::compatibility::Compatibility;
use crate::finding::{Finding, Severity};
use crate::model::{Problem, Verified};
use crate::shape::Shape;

/// What a visit of directories came to.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// The databases, in the order of their directories.
    pub databases: Vec<Examined>,
    /// What could not be looked at.
    pub problems: Vec<Problem>,
}

impl Report {
    /// The most serious severity of all findings.
    pub fn worst(&self) -> Option<Severity> {
        let findings = self.databases.iter().flat_map(|database| &database.findings);
        findings.map(|finding| finding.severity).max()
    }
}

/// A database that was looked at.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Examined {
    /// Where it is.
    #[serde(serialize_with = "as_text")]
    pub dir: PathBuf,
    /// The release of RocksDB that opened it last, if a file says so.
    pub rocksdb_version: Option<String>,
    /// Whether files changed while they were looked at.
    pub is_being_written: bool,
    /// Its shape.
    pub shape: Shape,
    /// Who can read its tables.
    pub compatibility: Compatibility,
    /// What was verified, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    /// What there is to tell, the most serious first.
    pub findings: Vec<Finding>,
}

impl Examined {
    /// The findings of that code.
    pub fn findings_of(&self, code: &str) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.code == code)
    }
}

/// A path need not be UTF-8; JSON must.
fn as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}
