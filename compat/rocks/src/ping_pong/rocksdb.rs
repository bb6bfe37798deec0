//! RocksDB takes turns, through its C API: the same source for 7.8.3 and 11.8.1.
//!
//! What the API lacks is done by what is equal in effect: files for several families are ingested one after the other, and
//! that compactions failed is seen by the count of background errors. Families are exported and imported by 11.8.1 only.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use partita::batch::Record;
use partita_proof::ours::Place;
use partita_proof::step::{Change, Durability, LastLevel, Op, Row, Slot, Step};
use partita_proof::subject::Subject;

use super::{Abilities, Engine, Player};
use crate::db::write_external_file;
use crate::guests::families_on_disk;
use crate::whole::{self, Ingestion, Logging, WholeDb};

/// What RocksDB checks of its own accord; the options of families say the same of their files.
const THEIR_CHECKS: &str = "paranoid_checks=true";

/// The RocksDB that is linked.
#[derive(Debug)]
pub struct RocksDb;

impl Engine for RocksDb {
    fn name(&self) -> &'static str {
        if cfg!(feature = "latest") { "RocksDB 11.8.1" } else { "RocksDB 7.8.3" }
    }

    fn abilities(&self) -> Abilities {
        let exports = cfg!(feature = "latest");
        Abilities { creates: true, exports, makes_files: true, is_in_process: true }
    }

    fn open(&self, place: &Place, options: usize) -> Result<Box<dyn Player>, String> {
        let set = &place.options[options % place.options.len()];
        let on_disk = match place.dir.join("CURRENT").exists() {
            true => families_on_disk(&place.dir)?,
            false => Vec::new(),
        };
        let is_there = |slot: &Slot| {
            slot.0 < Slot::RESIDENTS || on_disk.iter().any(|name| name == slot.name())
        };
        let slots: Vec<Slot> = (0..Slot::COUNT).map(Slot).filter(is_there).collect();
        let names: Vec<&str> = slots.iter().map(|slot| slot.name()).collect();
        let db_options = format!("{THEIR_CHECKS};{}", set.db_string());
        let family_options = set.family_string();
        let db = WholeDb::create(&place.dir, &db_options, &names, &family_options)?;
        Ok(Box::new(Theirs {
            place: place.clone(),
            family_options,
            db,
            families: slots.into_iter().zip(0..).collect(),
            snapshots: BTreeMap::new(),
            ingested: 0,
            unlogged: false,
            needs_log: cfg!(feature = "latest") && set.recycles_logs(),
        }))
    }

    fn write_external_file(
        &self,
        place: &Place,
        options: usize,
        path: &Path,
        rows: &[Row],
    ) -> Result<(), String> {
        let set = &place.options[options % place.options.len()];
        write_external_file(path, &set.family_string(), rows)
    }
}

struct Theirs {
    place: Place,
    family_options: String,
    db: WholeDb,
    /// By the numbers that the database gives them.
    families: BTreeMap<Slot, usize>,
    snapshots: BTreeMap<u32, usize>,
    ingested: usize,
    /// Whether there are writes that no log has.
    unlogged: bool,
    /// RocksDB has no such writes where it recycles logs, since 9.
    needs_log: bool,
}

impl Theirs {
    fn family(&self, slot: Slot) -> usize {
        self.families[&slot]
    }

    fn write(&self, changes: &[Change], durability: Durability) -> Result<(), String> {
        let logging = match durability {
            Durability::Synced => Logging::Synced,
            Durability::Logged => Logging::Buffered,
            Durability::Unlogged if self.needs_log => Logging::Buffered,
            Durability::Unlogged => Logging::None,
        };
        let records = changes.iter().map(|Change { slot, op }| (self.family(*slot), record(op)));
        self.db.write_records(records, logging)
    }

    fn purge(&self, slot: Slot, epoch: u32) -> Result<(), String> {
        let [from, to] = self.place.order.epoch(epoch);
        let at = self.family(slot);
        self.db.delete_files_in_range(at, &from, &to)?;
        let range = Record::DeleteRange { family: 0, begin: &from, end: &to };
        let end = Record::Delete { family: 0, key: &to };
        self.db.write_records([(at, range), (at, end)], Logging::Buffered)
    }

    /// Tries again where RocksDB says so, which it seldom does.
    fn ingest_one(&self, family: usize, path: &Path, how: Ingestion) -> Result<(), String> {
        const ATTEMPTS: usize = 100;
        let mut ingested = Ok(());
        for _ in 0..ATTEMPTS {
            ingested = self.db.ingest(family, &[path.to_owned()], how);
            match &ingested {
                Err(said) if said.starts_with("Operation failed. Try again.") => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                _ => break,
            }
        }
        ingested
    }

    #[cfg(feature = "latest")]
    fn copy(&mut self, from: Slot, to: Slot) -> Result<(), String> {
        let dir = super::beside(&self.place.dir, "export");
        let copied = self.db.copy_family(self.family(from), to.name(), &self.family_options, &dir);
        let at = match copied {
            // It exports families without tables, and refuses to import them.
            Err(said) if said.contains("list of files is empty") => {
                self.db.create_family(to.name(), &self.family_options)?
            }
            copied => copied?,
        };
        self.families.insert(to, at);
        // The files have been moved.
        std::fs::remove_dir_all(&dir).map_err(|error| error.to_string())
    }

    #[cfg(not(feature = "latest"))]
    fn copy(&mut self, _from: Slot, _to: Slot) -> Result<(), String> {
        Err("RocksDB 7.8's C API exports no families".to_owned())
    }

    fn no_background_errors(&self) -> Result<(), String> {
        match self.db.int_property(c"rocksdb.background-errors") {
            Some(0) => Ok(()),
            count => Err(format!("background errors: {count:?}")),
        }
    }
}

fn record(op: &Op) -> Record<'_> {
    // The number of the family is given beside it.
    let family = 0;
    match op {
        Op::Put(key, value) => Record::Put { family, key, value },
        Op::Merge(key, operand) => Record::Merge { family, key, operand },
        Op::Delete(key) => Record::Delete { family, key },
        Op::SingleDelete(key) => Record::SingleDelete { family, key },
        Op::DeleteRange(begin, end) => Record::DeleteRange { family, begin, end },
    }
}

impl Player for Theirs {
    /// The log is taken as it is, unless it lacks something: then RocksDB has to be told to flush.
    fn checkpoint(&mut self, dir: &Path) -> Result<(), String> {
        self.db.checkpoint(dir, self.unlogged)
    }

    fn ingest(&mut self, files: &[(Slot, PathBuf)]) -> Result<(), String> {
        self.ingested += 1;
        let how = Ingestion { moved: self.ingested.is_multiple_of(2), ..Ingestion::default() };
        files.iter().try_for_each(|(slot, path)| {
            let at = self.family(*slot);
            // Universal compaction before 7.10 merges a file that was ingested past the memtable with older ones on level 0,
            // and then refuses the memtable: their sequence numbers overlap (RocksDB's pull request 10776).
            if !cfg!(feature = "latest") && self.family_options.contains("Universal") {
                self.db.flush(at)?;
            }
            self.ingest_one(at, path, how)
        })
    }

    fn close(self: Box<Self>) -> Result<(), String> {
        self.no_background_errors()
    }
}

impl Subject for Theirs {
    type Error = String;

    fn apply(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Write(changes, durability) => {
                self.unlogged |= *durability == Durability::Unlogged;
                self.write(changes, *durability)?;
            }
            Step::SyncLog => self.db.sync_log()?,
            Step::Flush(None) => {
                self.families.values().try_for_each(|at| self.db.flush(*at))?;
                self.unlogged = false;
            }
            Step::Flush(Some(slot)) => self.db.flush(self.family(*slot))?,
            Step::Compact { slot, from, to, last_level } => {
                let last_level = match last_level {
                    LastLevel::Skip => whole::LastLevel::Skip,
                    LastLevel::IfFilter => whole::LastLevel::IfFilter,
                    LastLevel::Rewrite => whole::LastLevel::Force,
                };
                let at = self.family(*slot);
                self.db.compact_range(at, from.as_deref(), to.as_deref(), last_level);
            }
            Step::Purge(slot, epoch) => self.purge(*slot, *epoch)?,
            Step::Snapshot(number) => {
                let snapshot = self.db.take_snapshot();
                self.snapshots.insert(*number, snapshot);
            }
            Step::Release(number) => {
                if let Some(snapshot) = self.snapshots.remove(number) {
                    self.db.release_snapshot(snapshot);
                }
            }
            Step::Create(slot) => {
                let at = self.db.create_family(slot.name(), &self.family_options)?;
                self.families.insert(*slot, at);
            }
            Step::Drop(slot) => {
                let at = self.family(*slot);
                self.families.remove(slot);
                self.db.drop_family(at)?;
            }
            Step::Copy { from, to } => self.copy(*from, *to)?,
            Step::Check => {}
            Step::Ingest(_) | Step::Checkpoint | Step::Reopen(_) | Step::Kill(_) => {
                unreachable!("whoever plays does that")
            }
        }
        self.no_background_errors()
    }

    fn slots(&self) -> Vec<Slot> {
        self.families.keys().copied().collect()
    }

    fn rows(&self, slot: Slot, snapshot: Option<u32>, backward: bool) -> Result<Vec<Row>, String> {
        let snapshot = snapshot.map(|number| self.snapshots[&number]);
        self.db.rows(self.family(slot), snapshot, backward)
    }

    fn get(
        &self,
        slot: Slot,
        snapshot: Option<u32>,
        key: &[u8],
    ) -> Result<Option<Vec<u8>>, String> {
        match snapshot {
            None => self.db.get(self.family(slot), key),
            Some(number) => self.db.get_at(self.family(slot), self.snapshots[&number], key),
        }
    }

    fn multi_get(&self, slot: Slot, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, String> {
        self.db.multi_get(self.family(slot), keys)
    }

    /// 7.8.3 is not asked: it may stop at a key that a range deletion covers, which neither its walks nor its gets show.
    fn floor(&self, slot: Slot, key: &[u8]) -> Option<Result<Option<Row>, String>> {
        cfg!(feature = "latest").then(|| self.db.floor(self.family(slot), key))
    }

    #[cfg(feature = "latest")]
    fn check_itself(&mut self) -> Result<(), String> {
        self.db.verify_checksums()
    }
}
