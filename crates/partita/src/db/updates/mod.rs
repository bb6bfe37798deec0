//! What was written since a sequence number, batch by batch, from the logs in use and in the archive.
//!
//! ```text
//! horizon     published number, then (under the logs' lock) the current log and its readable bytes
//! log         batches up to the horizon; where it ends: the next log there is
//! batch       starts where the one before ended, or numbers are missing
//! ```
//!
//! 1. Nothing is read that is not published: a batch is asked for only when the published number has reached it.
//! 2. Of the current log only its readable bytes are read: whole records, handed to the file, of writes that did not fail.
//!    Since the published number is looked at first, a failed write's record is never among them under a number that was
//!    published later: by then another log is current.
//! 3. Logs come and go meanwhile: they are moved to the archive, purged, or written over as another log. Whichever was
//!    missed, the number at which the next batch starts tells, and records say of which log they are.
//!
//! In memory are a batch and a block of a log.

mod files;

use std::ops::ControlFlow;
use std::sync::Arc;

use files::{LogFiles, OpenLog};

use super::open::wal_dir;
use super::{Db, DbInner};
use crate::batch::WriteBatch;
use crate::error::{Error, ErrorKind, Result};
use crate::key::SeqNo;
use crate::util::sync::lock;
use crate::version::FileNumber;

impl Db {
    /// The batches that were written since a sequence number, in order, from the logs in use and in the archive
    /// (`wal_ttl_seconds`, `wal_size_limit_mb`; without these a log goes when what it holds is in tables).
    ///
    /// * Each is as it stands in the log, byte for byte RocksDB's representation ([`WriteBatch::as_bytes`]), with the sequence
    ///   number at which it was written ([`WriteBatch::sequence`]). Writes of several threads may share one.
    /// * The first one is that with `since` in it, so that it may start before; from 0 on, the first one there is. If the log
    ///   of `since` has gone, and no log has it, the first one **starts later**: a follower compares.
    /// * [`Updates`] says how the walk goes on.
    /// * Errors: `InvalidArgument` if `since` is more than one beyond [`Db::visible_seqno`]; `Io`.
    /// * Cost: from the newest log on, as many are opened as it takes to find `since`.
    /// * Source: contract of RocksDB `GetUpdatesSince`, which refuses the number after the last one, too.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::db::DbBuilder;
    /// # use partita::io::MemoryFileSystem;
    /// use partita::batch::Record;
    /// # use partita::key::SeqNo;
    /// # use partita::options::DbOptions;
    /// # let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    /// let options = DbOptions { wal_ttl_seconds: 3600, ..options };
    /// # let fs = Arc::new(MemoryFileSystem::new());
    /// # let db = DbBuilder::new("/db").file_system(fs).options(options).open()?;
    /// db.put(b"apple", b"red")?;
    /// db.put(b"pear", b"green")?;
    /// db.flush()?;
    /// let mut updates = db.updates_since(SeqNo::new(2).unwrap())?;
    /// let batch = updates.next().unwrap()?;
    /// assert_eq!(batch.sequence().get(), 2);
    /// let record = batch.records().next().unwrap()?;
    /// assert_eq!(record, Record::Put { family: 0, key: b"pear", value: b"green" });
    /// assert!(updates.next().is_none());
    /// // It goes on with what is written then.
    /// db.delete(b"apple")?;
    /// assert_eq!(updates.next().unwrap()?.sequence().get(), 3);
    /// # Ok::<(), partita::Error>(())
    /// ```
    #[doc(alias = "GetUpdatesSince")]
    pub fn updates_since(&self, since: SeqNo) -> Result<Updates> {
        let db = self.inner();
        let dir = match &db.writer {
            Some(writer) => writer.place.dir.clone(),
            None => wal_dir(&db.builder, &db.options)?,
        };
        let files = LogFiles { fs: Arc::clone(&db.fs), dir };
        let horizon = Horizon::of(db);
        if since.get() > horizon.published + 1 {
            let last = horizon.published;
            return Err(Error::invalid_argument(format!(
                "updates since {}: the last sequence number is {last}",
                since.get()
            )));
        }
        let mut updates = Updates {
            db: self.clone(),
            files,
            horizon,
            next: since.get(),
            begun: false,
            log: None,
            next_log: FileNumber::from(0),
            damage: None,
            behind_gap: None,
            over: false,
        };
        updates.next_log = updates.first_log()?;
        Ok(updates)
    }
}

/// What may be read.
struct Horizon {
    /// Up to this sequence number.
    published: u64,
    /// The log being written, and the bytes of it that may be read. `None`: the database is not written here.
    current: Option<(FileNumber, u64)>,
}

impl Horizon {
    fn of(db: &DbInner) -> Self {
        // In this order: see the module's number 2.
        let published = db.versions.last_sequence().get();
        let current = db.writer.as_ref().map(|writer| lock(&writer.logs).readable());
        Self { published, current }
    }

    fn is_current(&self, log: FileNumber) -> bool {
        self.current.is_some_and(|(current, _)| current == log)
    }

    /// Bytes of a log that may be read; `None`: all there are.
    fn readable_bytes(&self, db: &DbInner, log: FileNumber) -> Option<u64> {
        match self.current {
            Some((current, bytes)) if current == log => Some(bytes),
            _ => lock(&db.writer.as_ref()?.logs).readable_of_abandoned(log),
        }
    }
}

/// The batches since a sequence number: [`Db::updates_since`].
///
/// * `None` says that all was read that readers of the database see. It is not the end: a later call finds what was written
///   meanwhile. With `manual_wal_flush`, it is also said of what is still in the process.
/// * An error of kind [`Incomplete`](ErrorKind::Incomplete) says that sequence numbers between two batches are in no log: they
///   were written without one, given to ingested tables, passed over after a failed write, or their log has gone. The walk goes
///   on behind them, with the next call. So it does if a log is damaged (`Corruption`, with file and offset), where a later log
///   has batches.
/// * Any other error ends it.
///
/// It is like a clone of the database, which is closed when the last one goes.
pub struct Updates {
    db: Db,
    files: LogFiles,
    horizon: Horizon,
    /// The sequence number at which the next batch starts, or, before the first one, that it must reach.
    next: u64,
    begun: bool,
    log: Option<OpenLog>,
    /// Where logs are looked for that were not read yet.
    next_log: FileNumber,
    /// At which the log before this one ended.
    damage: Option<Error>,
    /// The batch behind missing numbers that were told.
    behind_gap: Option<WriteBatch>,
    over: bool,
}

impl std::fmt::Debug for Updates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Updates")
            .field("next", &self.next)
            .field("log", &self.log.as_ref().map(|log| log.number))
            .finish_non_exhaustive()
    }
}

impl Iterator for Updates {
    type Item = Result<WriteBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(batch) = self.behind_gap.take() {
            return Some(Ok(self.hand_out(batch)));
        }
        if self.over {
            return None;
        }
        let item = self.advance().transpose()?;
        let goes_on = item.is_ok() || self.behind_gap.is_some();
        self.over = !goes_on;
        Some(item)
    }
}

impl Updates {
    /// The newest log that starts at a number that is not greater than the one looked for, or the oldest there is.
    fn first_log(&self) -> Result<FileNumber> {
        let numbers = self.files.numbers_from(FileNumber::from(0))?;
        for &number in numbers.iter().rev() {
            let readable = self.horizon.readable_bytes(self.db.inner(), number);
            let Some(mut log) = self.files.open(number, readable)? else { continue };
            if log.next_sequence()?.is_some_and(|first| first <= self.next) {
                return Ok(number);
            }
        }
        Ok(numbers.first().copied().unwrap_or(FileNumber::from(0)))
    }

    fn advance(&mut self) -> Result<Option<WriteBatch>> {
        loop {
            if self.next > self.horizon.published {
                self.look_again()?;
                if self.next > self.horizon.published {
                    return Ok(None);
                }
            }
            let Some(log) = &mut self.log else {
                match self.open_next()? {
                    ControlFlow::Continue(()) => continue,
                    ControlFlow::Break(()) => return Ok(None),
                }
            };
            if let Some(batch) = log.next_batch()? {
                if let Some(batch) = self.accept(batch)? {
                    return Ok(Some(batch));
                }
            } else if !self.leave_log()? {
                return Ok(None);
            }
        }
    }

    /// Moves the horizon, and with it the end of the log being read. Returns whether there may be more in it.
    fn look_again(&mut self) -> Result<bool> {
        self.horizon = Horizon::of(self.db.inner());
        let Some(log) = &mut self.log else { return Ok(true) };
        log.read_up_to(self.horizon.readable_bytes(self.db.inner(), log.number))
    }

    /// At the end of a log. Returns `false` if there is nothing more to be read.
    fn leave_log(&mut self) -> Result<bool> {
        let Some(log) = &self.log else { return Ok(true) };
        let (number, is_damaged) = (log.number, log.is_damaged());
        if self.horizon.is_current(number) {
            let has_grown = self.look_again()?;
            match (self.horizon.is_current(number), is_damaged) {
                (true, false) => return Ok(has_grown),
                (true, true) => {
                    return self.log.take().and_then(OpenLog::into_damage).map_or(Ok(false), Err);
                }
                // There is another one by now; first the rest of this.
                (false, false) => return Ok(true),
                (false, true) => {}
            }
        }
        self.damage = self.log.take().and_then(OpenLog::into_damage).or(self.damage.take());
        self.next_log = number.next();
        Ok(true)
    }

    /// Opens the next log that is still there.
    fn open_next(&mut self) -> Result<ControlFlow<()>> {
        let numbers = self.files.numbers_from(self.next_log)?;
        let current = self.horizon.current.map(|(current, _)| current);
        for number in numbers {
            // One that was begun since, of which the horizon knows nothing.
            if current.is_some_and(|current| number > current) {
                break;
            }
            let readable = self.horizon.readable_bytes(self.db.inner(), number);
            if let Some(log) = self.files.open(number, readable)? {
                self.log = Some(log);
                return Ok(ControlFlow::Continue(()));
            }
            self.next_log = number.next();
        }
        let before = self.horizon.current.map(|(number, _)| number);
        self.horizon = Horizon::of(self.db.inner());
        match self.horizon.current.map(|(number, _)| number) == before {
            true => Ok(ControlFlow::Break(())),
            false => Ok(ControlFlow::Continue(())),
        }
    }

    /// The batch, if it is wanted.
    ///
    /// * Errors: that there are numbers missing before it; it comes next then.
    fn accept(&mut self, batch: WriteBatch) -> Result<Option<WriteBatch>> {
        let first = batch.sequence().get();
        let end = first + u64::from(batch.count());
        if first > self.next && (self.begun || self.damage.is_some()) {
            self.behind_gap = Some(batch);
            return Err(self.damage.take().unwrap_or_else(|| missing(self.next, first - 1)));
        }
        if end <= self.next {
            // Before the number asked for. Once begun: nothing counts in it, or it was read from another log.
            let is_new = self.begun && first == self.next;
            return Ok(is_new.then(|| self.hand_out(batch)));
        }
        if self.begun && first < self.next {
            let message = format!("a batch starts at {first}, within the one before it");
            return Err(Error::corruption(message).in_part("log record").in_file(&self.files.dir));
        }
        Ok(Some(self.hand_out(batch)))
    }

    fn hand_out(&mut self, batch: WriteBatch) -> WriteBatch {
        self.next = batch.sequence().get() + u64::from(batch.count());
        self.begun = true;
        self.damage = None;
        batch
    }
}

fn missing(first: u64, last: u64) -> Error {
    let message = format!("updates with sequence numbers {first} to {last} are in no log");
    Error::new(ErrorKind::Incomplete, message)
}

#[cfg(test)]
mod tests;
