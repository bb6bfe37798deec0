//! Who does a script.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use partita::db::{Db, FileTransfer, IngestOptions, PinnedValue, WriteOptions};

use super::script::Script;
use super::{Counts, Crowd, Done, Member, Stop};
use crate::ours::{self, batch};
use crate::step::{Change, Durability, Row, Slot, Step};

/// Does a script, one round after the other, also from one opening of the database to the next.
#[derive(Debug)]
pub struct Writer {
    script: Script,
    /// The round that was begun when the database was closed: it is there as a whole, or not at all.
    unsettled: Option<Step>,
}

impl Writer {
    /// Who begins a script.
    pub fn new(script: Script) -> Self {
        Self { script, unsettled: None }
    }

    /// What its last round was before the end, unless that had no answer.
    pub fn script(&self) -> &Script {
        &self.script
    }

    /// Writes the last round again if it was not written.
    pub fn settle(&mut self, crowd: &Crowd, db: &Db) -> Done {
        let Some(step) = self.unsettled.take() else { return Ok(()) };
        let key = Script::round_key(self.script.number());
        let found = db.get(&key)?.map_or(0, |value| round_of(&value));
        let round = self.script.round();
        if found == round {
            self.told(crowd);
            return Ok(());
        }
        if found + 1 != round {
            let said = format!("round {found} was written before the close, not {round}");
            return Err(Stop::Failed(said));
        }
        self.attempt(crowd, db, step)
    }

    fn told(&self, crowd: &Crowd) {
        let progress = &crowd.progress[usize::from(self.script.number())];
        progress.told.store(self.script.round(), Ordering::SeqCst);
    }

    fn attempt(&mut self, crowd: &Crowd, db: &Db, step: Step) -> Done {
        let written = match &step {
            Step::Write(changes, durability) => write(crowd, db, changes, *durability),
            Step::Ingest(files) => self.ingest(crowd, db, files),
            _ => unreachable!("scripts write and ingest"),
        };
        match written {
            Ok(()) => self.told(crowd),
            Err(_) => self.unsettled = Some(step),
        }
        written
    }

    fn ingest(&self, crowd: &Crowd, db: &Db, files: &[(Slot, Vec<Row>)]) -> Done {
        let dir: PathBuf = crowd.beside(&format!("external{}", self.script.number()));
        let transfer = match self.script.round() % 3 {
            0 => FileTransfer::Copy,
            1 => FileTransfer::Link,
            _ => FileTransfer::Move,
        };
        let options = IngestOptions { transfer, ..IngestOptions::default() };
        ours::ingest(db, &*crowd.place.fs, &dir, files, &options)?;
        Counts::one(&crowd.counts.ingests);
        Ok(())
    }

    /// Nobody else writes its keys: it sees what it wrote.
    fn read_own(&self, db: &Db) -> Done {
        let slot = Slot((self.script.round() % u32::from(Slot::RESIDENTS)) as u8);
        let family = db.family(slot.name())?;
        for at in [7, 23] {
            let key = self.script.key(self.script.round() as usize + at);
            let expected = self.script.state.get(slot, &key);
            let found = db.get_cf(&family, &key)?.map(PinnedValue::into_vec);
            if found.as_deref() != expected {
                let [found, expected] = [found.as_deref(), expected].map(shown);
                let (name, key) = (slot.name(), key.escape_ascii());
                let said = format!("{name}, its own {key}: {found}, not {expected}");
                return Err(Stop::Failed(said));
            }
        }
        Ok(())
    }
}

fn write(crowd: &Crowd, db: &Db, changes: &[Change], durability: Durability) -> Done {
    let sync = durability == Durability::Synced;
    db.write(batch(db, changes)?, &WriteOptions { sync, ..WriteOptions::default() })?;
    Counts::one(&crowd.counts.batches);
    Ok(())
}

/// The number of a round, as it stands in the database.
pub(super) fn round_of(value: &[u8]) -> u32 {
    str::from_utf8(value).ok().and_then(|text| text.parse().ok()).unwrap_or(u32::MAX)
}

/// A value for a message.
pub(super) fn shown(value: Option<&[u8]>) -> String {
    const MOST: usize = 40;
    match value {
        None => "nothing".to_owned(),
        Some(value) => format!("\"{}\"", value[..value.len().min(MOST)].escape_ascii()),
    }
}

impl Member for Writer {
    fn name(&self) -> String {
        format!("writer {}", self.script.number())
    }

    fn round(&mut self, crowd: &Crowd, db: &Db) -> Done {
        self.settle(crowd, db)?;
        let progress = &crowd.progress[usize::from(self.script.number())];
        progress.begun.store(self.script.round() + 1, Ordering::SeqCst);
        let step = self.script.draw();
        self.attempt(crowd, db, step)?;
        self.read_own(db)
    }
}
