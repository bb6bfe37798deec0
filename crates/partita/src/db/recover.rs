//! What the write-ahead logs hold that is not in tables yet, brought back into memtables.
//!
//! ```text
//! logs that some family needs, by number
//!   each record = a write batch: checked whole, then applied
//!     to a family whose tables do not have it yet: its log number is not greater than this log's
//!     not to one that is gone: its records are passed over, but they count
//! ```
//!
//! A batch is applied whole or not at all. After damage at which the recovery mode stops, a later log is used only if it
//! goes on with the very next sequence number: then nothing was there. If a family's tables have what comes behind the
//! damage, its state would be ahead of the others', and the database is refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::apply::{Hints, Target, apply};
use crate::batch::BatchReader;
use crate::error::{Error, Result};
use crate::io::FileSystem;
use crate::key::SeqNo;
use crate::memtable::MemTable;
use crate::options::WalRecoveryMode;
use crate::version::{FileName, FileNumber};
use crate::wal::{Dropped, LogReader, LogReaderOptions};

/// Bytes of logs that were not used, and why.
#[derive(Clone, Debug)]
pub struct LostLogBytes {
    /// The log.
    pub path: PathBuf,
    /// Where and why.
    pub dropped: Dropped,
}

/// A family as recovery sees it.
pub(super) struct Recovering {
    pub(super) memtable: Arc<MemTable>,
    /// Logs with a smaller number hold nothing of it that is not in tables.
    pub(super) log_number: FileNumber,
    pub(super) name: String,
    pub(super) has_tables: bool,
}

/// What recovery found.
pub(super) struct Recovered {
    pub(super) last_sequence: SeqNo,
    pub(super) lost: Vec<LostLogBytes>,
}

/// The logs in a directory that are not older than `oldest`, by number.
pub(super) fn logs_from(
    fs: &dyn FileSystem,
    dir: &Path,
    oldest: FileNumber,
) -> Result<Vec<FileNumber>> {
    let mut logs: Vec<FileNumber> = fs
        .list(dir)?
        .iter()
        .filter_map(|name| match FileName::parse(name)? {
            FileName::Log(number) if number >= oldest => Some(number),
            _ => None,
        })
        .collect();
    logs.sort_unstable();
    Ok(logs)
}

/// Reads the logs into the families' memtables.
pub(super) fn replay(
    fs: &dyn FileSystem,
    wal_dir: &Path,
    logs: &[FileNumber],
    mode: WalRecoveryMode,
    families: &BTreeMap<u32, Recovering>,
    last_sequence: SeqNo,
) -> Result<Recovered> {
    let mut replay = Replay {
        fs,
        mode,
        families,
        hints: Hints::default(),
        next: last_sequence.get() + 1,
        stopped: None,
        lost: Vec::new(),
    };
    for &log in logs {
        let path = FileName::Log(log).in_dir(wal_dir);
        replay.log(log, &path).map_err(|error| error.in_file(&path))?;
    }
    let last_sequence = SeqNo::new(replay.next - 1).unwrap_or(SeqNo::MAX);
    Ok(Recovered { last_sequence, lost: replay.lost })
}

struct Replay<'r> {
    fs: &'r dyn FileSystem,
    mode: WalRecoveryMode,
    families: &'r BTreeMap<u32, Recovering>,
    hints: Hints,
    /// One more than the last sequence number seen.
    next: u64,
    /// The log at whose damage recovery stopped, and what it was.
    stopped: Option<(FileNumber, String)>,
    lost: Vec<LostLogBytes>,
}

impl Replay<'_> {
    fn log(&mut self, log: FileNumber, path: &Path) -> Result<()> {
        let options = LogReaderOptions {
            mode: self.mode,
            log_number: Some(log.get()),
            ..LogReaderOptions::default()
        };
        let (sender, dropped) = std::sync::mpsc::channel();
        let mut reader = LogReader::new(self.fs.open_sequential(path)?, options).with_reporter(
            move |dropped: &Dropped| {
                // The receiver outlives the reader.
                let _ = sender.send(dropped.clone());
            },
        );
        let mut first = true;
        loop {
            let Some(record) = reader.read_record()? else { break };
            let batch = BatchReader::new(record.payload)
                .and_then(|batch| batch.validate().map(|()| batch))
                .map_err(|error| error.at(record.offset));
            let why = match batch {
                Ok(batch) => {
                    if std::mem::take(&mut first) && !self.goes_on_with(batch.sequence()) {
                        break;
                    }
                    self.batch(log, &batch)?;
                    continue;
                }
                Err(error) => error,
            };
            reader.reject(&why)?;
        }
        if let (None, Some(error)) = (&self.stopped, reader.stopped_by()) {
            self.stopped = Some((log, error.to_string()));
            self.refuse_families_ahead(log)?;
        }
        drop(reader);
        self.lost.extend(dropped.iter().map(|dropped| LostLogBytes { path: path.into(), dropped }));
        Ok(())
    }

    /// Whether a log that starts with this number may be used.
    fn goes_on_with(&mut self, sequence: SeqNo) -> bool {
        if self.stopped.is_some() && sequence.get() == self.next {
            self.stopped = None;
        }
        self.stopped.is_none()
    }

    fn batch(&mut self, log: FileNumber, batch: &BatchReader<'_>) -> Result<()> {
        let families = self.families;
        let end = apply(batch, batch.sequence(), &mut self.hints, |id| {
            Ok(match families.get(&id) {
                Some(family) if family.log_number <= log => Target::MemTable(&family.memtable),
                _ => Target::Nowhere,
            })
        })?;
        self.next = self.next.max(end);
        Ok(())
    }

    /// Refuses a database of which one family has in tables what others have lost.
    fn refuse_families_ahead(&self, log: FileNumber) -> Result<()> {
        let Some((_, damage)) = &self.stopped else { return Ok(()) };
        match self.families.values().find(|family| family.log_number > log && family.has_tables) {
            Some(ahead) => Err(Error::corruption(format!(
                "the log is damaged ({damage}), and tables of column family {:?} hold what comes behind the damage: \
                 the families would not be of one moment",
                ahead.name
            ))),
            None => Ok(()),
        }
    }
}
