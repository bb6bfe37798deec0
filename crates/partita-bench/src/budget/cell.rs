//! One cell: one engine on one set of files under one budget, measured in a process of its own.

use serde::{Deserialize, Serialize};

use super::files::Shape;
use crate::layout::Layout;
use crate::lookups::Measured;

/// Which cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellId {
    /// The engine's name.
    pub engine: String,
    /// Layout of the files.
    pub layout: Layout,
    /// Shape of the files.
    pub shape: Shape,
    /// The budget.
    pub budget_bytes: u64,
}

/// What a cell came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Which cell.
    #[serde(flatten)]
    pub id: CellId,
    /// Its lookups.
    #[serde(flatten)]
    pub lookups: Measured,
    /// Resident memory before anything was opened.
    pub resident_base_bytes: u64,
    /// Resident memory after the measurement.
    pub resident_bytes: u64,
    /// The most that resident memory was, all of the process.
    pub resident_peak_bytes: u64,
}
