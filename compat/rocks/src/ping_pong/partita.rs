//! Partita takes turns.

use std::path::{Path, PathBuf};

use partita::db::{FileTransfer, IngestOptions};
use partita::filter::FilterLevel;
use partita::key::KeyOrder;
use partita::table::{SstFileWriter, TableContext};
use partita_proof::options::OptionSet;
use partita_proof::ours::{Ours, Place};
use partita_proof::state::Order;
use partita_proof::step::{Row, Slot, Step};
use partita_proof::subject::Subject;

use super::{Abilities, Engine, Player};

/// Partita.
#[derive(Debug)]
pub struct Partita;

impl Engine for Partita {
    fn name(&self) -> &'static str {
        "Partita"
    }

    fn abilities(&self) -> Abilities {
        Abilities { creates: true, exports: true, makes_files: true, is_in_process: true }
    }

    fn open(&self, place: &Place, options: usize) -> Result<Box<dyn Player>, String> {
        let ours = said(place.open(options))?;
        let lost = ours.db().lost_log_bytes();
        // What stands behind the end of a log that was used before is of its earlier life.
        let recycles = place.options.iter().any(OptionSet::recycles_logs);
        if !lost.is_empty() && !recycles {
            return Err(format!("logs are read in part: {lost:?}"));
        }
        Ok(Box::new(OurPlayer { ours, ingested: 0 }))
    }

    fn write_external_file(
        &self,
        place: &Place,
        options: usize,
        path: &Path,
        rows: &[Row],
    ) -> Result<(), String> {
        let family = place.options[options % place.options.len()].family_options();
        let order = match place.order {
            Order::Forward => KeyOrder::Bytewise,
            Order::Reverse => KeyOrder::ReverseBytewise,
        };
        // For no family in particular.
        let context = TableContext::default();
        said(place.fs.create(path).and_then(|file| {
            let table = family.table_options(FilterLevel::Unknown, 1, false);
            let mut writer = SstFileWriter::new(file, table, order, context)?;
            rows.iter().try_for_each(|(key, value)| writer.put(key, value))?;
            writer.finish().map(drop)
        }))
    }
}

struct OurPlayer {
    ours: Ours,
    ingested: usize,
}

fn said<T>(result: partita::Result<T>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

impl Player for OurPlayer {
    fn checkpoint(&mut self, dir: &Path) -> Result<(), String> {
        said(self.ours.db().checkpoint(dir).map(drop))
    }

    fn ingest(&mut self, files: &[(Slot, PathBuf)]) -> Result<(), String> {
        self.ingested += 1;
        let transfer =
            [FileTransfer::Copy, FileTransfer::Link, FileTransfer::Move][self.ingested % 3];
        let options = IngestOptions { transfer, ..IngestOptions::default() };
        let families = files
            .iter()
            .map(|(slot, path)| Ok((self.ours.family(*slot)?, vec![path.clone()])))
            .collect::<partita::Result<Vec<_>>>();
        said(families.and_then(|families| self.ours.db().ingest_several(&families, &options)))
            .map(drop)
    }

    fn close(self: Box<Self>) -> Result<(), String> {
        said(self.ours.close())
    }
}

impl Subject for OurPlayer {
    type Error = String;

    fn apply(&mut self, step: &Step) -> Result<(), String> {
        said(self.ours.apply(step))
    }

    fn slots(&self) -> Vec<Slot> {
        self.ours.slots()
    }

    fn rows(&self, slot: Slot, snapshot: Option<u32>, backward: bool) -> Result<Vec<Row>, String> {
        said(self.ours.rows(slot, snapshot, backward))
    }

    fn get(
        &self,
        slot: Slot,
        snapshot: Option<u32>,
        key: &[u8],
    ) -> Result<Option<Vec<u8>>, String> {
        said(self.ours.get(slot, snapshot, key))
    }

    fn multi_get(&self, slot: Slot, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, String> {
        said(self.ours.multi_get(slot, keys))
    }

    fn floor(&self, slot: Slot, key: &[u8]) -> Option<Result<Option<Row>, String>> {
        self.ours.floor(slot, key).map(said)
    }
}
