//! Directories that are read: loaded once, kept, and described in a file beside them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::engine::{Engines, Tables};
use crate::clock::process_time;
use crate::json_files::{failed, read_json, write_json};
use crate::lookups::{Key, Keyspace};
use crate::memory::Resident;
use crate::progress::progress_bar;

/// What is loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// The engine that loads.
    pub engine: String,
    /// How tables are written.
    pub tables: Tables,
    /// Which entries.
    pub keyspace: Keyspace,
    /// Entries that a bookie flushes at a time.
    pub flush_entries: u64,
    /// For blocks and memtables while loading.
    pub budget_bytes: u64,
}

/// A directory that is loaded, and how that went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Store {
    /// What was loaded.
    pub load: Load,
    /// The index.
    #[serde(skip)]
    pub dir: PathBuf,
    /// Entries that were written in the time that was taken: all but those of the last flushes.
    pub loaded_entries: u64,
    /// Seconds until these were written and nothing was left to compact.
    pub seconds: f64,
    /// Seconds of them that the loading program spent on processors, all its threads together.
    pub cpu_seconds: f64,
    /// The most memory that was resident meanwhile.
    pub resident_peak_bytes: u64,
    /// Tables.
    pub tables: u64,
    /// Their bytes.
    pub table_bytes: u64,
}

/// Changes of a batch, as a bookie has them at most.
const BATCH_OPERATIONS: usize = 100_000;
/// Flushes that stand above what is compacted: one less than has level 0 compacted.
const FLUSHES_ON_TOP: u64 = 3;
/// The index, in the directory of a store.
const INDEX: &str = "locations";
/// How it was made, beside it.
const DESCRIPTION: &str = "store.json";

impl Store {
    /// The store of this description below `root`, if it is there.
    pub(super) fn find(root: &Path, name: &str, load: &Load) -> Result<Option<Self>, String> {
        let home = root.join(name);
        let description = home.join(DESCRIPTION);
        if !description.is_file() {
            return Ok(None);
        }
        let store = Self { dir: home.join(INDEX), ..read_json(&description)? };
        if store.load != *load {
            return Err(format!("{}: something else was loaded there", home.display()));
        }
        Ok(Some(store))
    }

    /// Loads a store below `root`.
    pub(super) fn make(
        root: &Path,
        name: &str,
        load: &Load,
        engines: &dyn Engines,
    ) -> Result<Self, String> {
        // A load that was interrupted leaves its files under the other name, never half a store under this one.
        let unfinished = root.join(format!("{name}.unfinished"));
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished).map_err(|error| failed(&unfinished, &error))?;
        }
        let dir = unfinished.join(INDEX);
        fs::create_dir_all(&dir).map_err(|error| failed(&dir, &error))?;
        let mut store = fill(&dir, load, engines)?;
        write_json(&unfinished.join(DESCRIPTION), &store)?;
        let home = root.join(name);
        fs::rename(&unfinished, &home).map_err(|error| failed(&home, &error))?;
        store.dir = home.join(INDEX);
        Ok(store)
    }

    /// Entries that were written in a second, until all was settled.
    pub fn entries_per_second(&self) -> f64 {
        self.loaded_entries as f64 / self.seconds
    }

    /// Processor time of an entry.
    pub fn cpu_us_per_entry(&self) -> f64 {
        self.cpu_seconds * 1e6 / self.loaded_entries as f64
    }
}

/// Loads, and then gives the index the same shape whoever loaded it: where compactions stand when the last entry is written
/// is chance, and a lookup in one run is another than in three.
fn fill(dir: &Path, load: &Load, engines: &dyn Engines) -> Result<Store, String> {
    let (started, cpu) = (Instant::now(), process_time());
    let loader = engines.create(&load.engine, dir, load.tables, load.budget_bytes)?;
    let shown = loader.database().map(|db| engines.show(db));
    let keyspace = load.keyspace;
    let progress = progress_bar(keyspace.len(), "entries");
    let each = (load.flush_entries / keyspace.ledgers).max(1);
    let add = |flushed: &[(Key, u64)]| {
        flushed.chunks(BATCH_OPERATIONS).try_for_each(|batch| {
            progress.inc(batch.len() as u64);
            loader.add(batch)
        })
    };
    let older = keyspace.entries.saturating_sub(FLUSHES_ON_TOP * each);
    keyspace.batches(0..older, each).try_for_each(|flushed| add(&flushed))?;
    progress.set_message("entries, compacting");
    loader.flush()?;
    loader.settle()?;
    let seconds = started.elapsed().as_secs_f64();
    let cpu_seconds = process_time().saturating_sub(cpu).as_secs_f64();
    let resident_peak_bytes = Resident::of_this_process().peak;

    loader.compact()?;
    for flushed in keyspace.batches(older..keyspace.entries, each) {
        add(&flushed)?;
        loader.flush()?;
    }
    drop(shown);
    loader.close()?;
    progress.finish_and_clear();
    let (tables, table_bytes) = tables_in(dir)?;
    Ok(Store {
        load: load.clone(),
        dir: dir.to_owned(),
        loaded_entries: older * keyspace.ledgers,
        seconds,
        cpu_seconds,
        resident_peak_bytes,
        tables,
        table_bytes,
    })
}

/// How many tables a directory has, and their bytes.
pub(super) fn tables_in(dir: &Path) -> Result<(u64, u64), String> {
    let (mut tables, mut bytes) = (0, 0);
    for entry in fs::read_dir(dir).map_err(|error| failed(dir, &error))? {
        let entry = entry.map_err(|error| failed(dir, &error))?;
        if entry.path().extension().is_some_and(|extension| extension == "sst") {
            let metadata = entry.metadata().map_err(|error| failed(&entry.path(), &error))?;
            tables += 1;
            bytes += metadata.len();
        }
    }
    Ok((tables, bytes))
}

/// Reads all tables once, so that they are in the system's cache of files.
pub(super) fn read_through(dir: &Path) -> Result<(), String> {
    for entry in fs::read_dir(dir).map_err(|error| failed(dir, &error))? {
        let path = entry.map_err(|error| failed(dir, &error))?.path();
        let copied = fs::File::open(&path)
            .and_then(|mut file| std::io::copy(&mut file, &mut std::io::sink()));
        copied.map_err(|error| failed(&path, &error))?;
    }
    Ok(())
}
