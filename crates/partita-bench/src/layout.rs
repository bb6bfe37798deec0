//! Layouts of tables.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How index and filter are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// One filter and one index block per file.
    Full,
    /// A two-level index and filter partitions, 4 KiB each.
    Partitioned,
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Full => "full",
            Self::Partitioned => "partitioned",
        })
    }
}

impl FromStr for Layout {
    type Err = String;

    /// The layout of this name.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "full" => Ok(Self::Full),
            "partitioned" => Ok(Self::Partitioned),
            _ => Err(format!("{text:?} is no layout: full or partitioned")),
        }
    }
}
