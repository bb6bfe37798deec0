//! The whole run: which directories, which cells, in which order.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::engine::{ReadMode, Tables};
use super::report::Report;
use super::store::{Load, Store, read_through, tables_in};
use super::task::{AskedFor, Cell, CellId, Outcome, Task};
use crate::lookups::{Effort, Keyspace, Mix};
use crate::setup::Setup;

/// What to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// What is read.
    pub source: Source,
    /// Who reads what.
    pub contenders: Vec<Contender>,
    /// Budgets in bytes, ascending.
    pub budgets_bytes: Vec<u64>,
    /// How tables are read.
    pub read_mode: ReadMode,
    /// What is asked for, in this order.
    pub mixes: Vec<Mix>,
    /// How cells are measured.
    pub effort: Effort,
}

/// What is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Stores that are loaded first.
    Loaded {
        /// Where the stores are, or are made.
        root: PathBuf,
        /// The stores.
        files: Vec<Files>,
        /// What is loaded.
        keyspace: Keyspace,
        /// Entries that a bookie flushes at a time.
        flush_entries: u64,
        /// For blocks and memtables while loading.
        load_budget_bytes: u64,
    },
    /// A directory that is there.
    Directory(PathBuf),
}

/// A store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    /// Its name.
    pub name: String,
    /// The engine that makes it.
    pub engine: String,
    /// How tables are written.
    pub tables: Tables,
}

/// Who reads what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contender {
    /// Its name in the report.
    pub name: String,
    /// The engine that reads.
    pub engine: String,
    /// The name of the store; of no account where a directory is read.
    pub files: String,
}

/// Makes the stores that are not there, and measures everything.
///
/// * `setup`: for the head of the report.
/// * `perform`: does a task, in a child process or here.
/// * `progress`: told what is about to be done.
pub fn run(
    setup: Setup,
    settings: &Settings,
    perform: &dyn Fn(&Task) -> Result<Outcome, String>,
    progress: &mut dyn FnMut(&str),
) -> Result<Report, String> {
    match &settings.source {
        Source::Loaded { keyspace, .. } => {
            let stores = load_all(&settings.source, perform, progress)?;
            let dir = |files: &str| {
                let store = stores.iter().find(|(name, _)| name == files);
                store.map(|(_, store)| store.dir.clone()).ok_or_else(|| format!("no files {files}"))
            };
            if settings.read_mode == ReadMode::Buffered {
                for (_, store) in &stores {
                    read_through(&store.dir)?;
                }
            }
            let asked = AskedFor::Keyspace(*keyspace);
            let cells = measure_all(settings, &dir, &asked, perform, progress)?;
            Ok(Report { setup, settings: settings.clone(), stores, directory: None, cells })
        }
        Source::Directory(dir) => {
            let (tables, bytes) = tables_in(dir)?;
            progress(&format!("reading {} once, to know what to ask for", dir.display()));
            let home = tempfile::tempdir().map_err(|error| error.to_string())?;
            let sample = home.path().join("sample");
            let task =
                Task::Draw { dir: dir.clone(), sample: sample.clone(), seed: settings.effort.seed };
            let Outcome::Drawn(ledgers) = perform(&task)? else {
                return Err("a sample was asked for".to_owned());
            };
            let asked = AskedFor::Sample(sample);
            let cells = measure_all(settings, &|_| Ok(dir.clone()), &asked, perform, progress)?;
            let directory = Some(super::report::Directory { tables, bytes, ledgers });
            let (settings, stores) = (settings.clone(), Vec::new());
            Ok(Report { setup, settings, stores, directory, cells })
        }
    }
}

fn load_all(
    source: &Source,
    perform: &dyn Fn(&Task) -> Result<Outcome, String>,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<(String, Store)>, String> {
    let Source::Loaded { root, files, keyspace, flush_entries, load_budget_bytes } = source else {
        return Ok(Vec::new());
    };
    let mut stores = Vec::new();
    for Files { name, engine, tables } in files {
        let load = Load {
            engine: engine.clone(),
            tables: *tables,
            keyspace: *keyspace,
            flush_entries: *flush_entries,
            budget_bytes: *load_budget_bytes,
        };
        let dir_name = format!(
            "{engine}-{}-{}-{}x{}-{flush_entries}",
            tables.layout, tables.block_bytes, keyspace.ledgers, keyspace.entries
        );
        if let Some(store) = Store::find(root, &dir_name, &load)? {
            progress(&format!("{name}: loaded before, in {}", store.dir.display()));
            stores.push((name.clone(), store));
            continue;
        }
        progress(&format!("{name}: loading"));
        let task = Task::Load { root: root.clone(), name: dir_name.clone(), load: load.clone() };
        match perform(&task)? {
            Outcome::Loaded(_) => {}
            _ => return Err("a store was asked for".to_owned()),
        }
        let store = Store::find(root, &dir_name, &load)?;
        stores.push((name.clone(), store.ok_or("the store is gone")?));
    }
    Ok(stores)
}

/// All contenders of a budget one after the other, so that what is compared is measured within minutes.
fn measure_all(
    settings: &Settings,
    dir: &dyn Fn(&str) -> Result<PathBuf, String>,
    asked: &AskedFor,
    perform: &dyn Fn(&Task) -> Result<Outcome, String>,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Cell>, String> {
    let mut cells = Vec::new();
    for &budget_bytes in &settings.budgets_bytes {
        for contender in &settings.contenders {
            progress(&format!("{} MiB: {}", budget_bytes >> 20, contender.name));
            let task = Task::Cell {
                id: CellId { contender: contender.name.clone(), budget_bytes },
                engine: contender.engine.clone(),
                dir: dir(&contender.files)?,
                read_mode: settings.read_mode,
                asked: asked.clone(),
                mixes: settings.mixes.clone(),
                effort: settings.effort.clone(),
            };
            match perform(&task)? {
                Outcome::Cell(cell) => cells.push(cell),
                _ => return Err("a cell was asked for".to_owned()),
            }
        }
    }
    Ok(cells)
}
