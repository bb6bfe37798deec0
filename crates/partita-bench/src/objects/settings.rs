//! The whole run: which loads, one after the other.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::engine::Opening;
use super::load::{Load, Loaded, Task};
use super::plan::Plan;
use super::report::Report;
use crate::layout::Layout;
use crate::setup::Setup;

/// What to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// What each load is made of.
    pub plan: Plan,
    /// Who is loaded.
    pub contenders: Vec<Contender>,
    /// Bytes of memory for all tables of a store together.
    pub budget_bytes: u64,
    /// Transactions of a batch.
    pub batch_transactions: u64,
    /// Keys that are due in a second; as many as can be if there is no such number.
    pub keys_per_second: Option<f64>,
    /// Keys of a row.
    pub row_keys: u64,
    /// Whether all tables are compacted in the end, and lookups made before and after.
    #[serde(default)]
    pub compacts: bool,
    /// Where loads are kept, and taken up again; nowhere if it is not given.
    pub dir: Option<PathBuf>,
}

/// Who is loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contender {
    /// Its name in the report.
    pub name: String,
    /// The engine.
    pub engine: String,
    /// How index and filter are stored.
    pub layout: Layout,
}

/// Does all loads.
///
/// * `setup`: for the head of the report.
/// * `perform`: has a load done, in a process of its own but for tests.
/// * `progress`: told what is about to be done.
pub fn run(
    setup: Setup,
    settings: &Settings,
    perform: &dyn Fn(&Task) -> Result<Load, String>,
    progress: &mut dyn FnMut(&str),
) -> Result<Report, String> {
    let mut loads = Vec::new();
    for contender in &settings.contenders {
        progress(&format!("{}: loading", contender.name));
        // What is not kept does not stay until the next load, which needs the room.
        let passing = tempfile::tempdir().map_err(|error| error.to_string())?;
        let root = settings.dir.as_deref().unwrap_or(passing.path());
        let task = Task {
            loaded: Loaded {
                name: contender.name.clone(),
                engine: contender.engine.clone(),
                opening: Opening { layout: contender.layout, budget_bytes: settings.budget_bytes },
                plan: settings.plan.clone(),
            },
            home: root.join(&contender.name),
            batch_transactions: settings.batch_transactions,
            keys_per_second: settings.keys_per_second,
            row_keys: settings.row_keys,
            compacts: settings.compacts,
        };
        loads.push(perform(&task)?);
    }
    Ok(Report { setup, settings: settings.clone(), loads })
}
