//! Repair: of a database that does not open, as much as there is, in a new directory. The old one is only read.
//!
//! ```text
//! plan      basis.rs      CURRENT -> its manifest; else the newest manifest that can be read; else the tables themselves
//!           tables.rs     each table read whole: kept as it is, or what can be read of it, or lost
//!           logs.rs       each log up to damage; behind it, what is lost
//!           late.rs       behind a manifest's damage: tables and families that came after it
//!           rebuild.rs    without a manifest: families, levels and age by what stands in the tables
//! write     output.rs     TARGET.tmp: tables linked or written anew, a manifest, logs up to damage; opened once, so that
//!                         logs become tables; OPTIONS as they were ─> TARGET
//! ```
//!
//! 1. **The directory is never written to**, not even a LOCK that is not there. One that is there must not be held.
//! 2. **A manifest decides, if there is one.** Tables that it does not name are no part of the database: they may hold what was
//!    deleted since. Families that it has seen dropped stay so.
//! 3. **A manifest with damage counts up to the damage**, as long as the tables that it names by then are there. Tables that came
//!    later are added only if all in them is newer than what it knows of their column family; logs that they hold whole are
//!    done with. If tables that it names are missing and there are others, those that are there decide, except for those that
//!    it knows to have left.
//! 4. **Without a manifest the sequence numbers decide which version of a key is the newest**, never a table's number. Tables that
//!    do not overlap go to the last level as they are; those that do, to level 0 if their sequence numbers tell their order; else
//!    the family is merged once. Deleted keys can come back only if the table with the deletion is missing.
//! 5. Records of logs count as they would when the database is opened: up to damage, and of the next log if it goes on with the
//!    very next sequence number. Without a manifest all logs count, except that merge operands which tables have are not
//!    applied again.
//!
//! **Memory**: one block and one piece of an index at a time, the names of tables and logs, and for what the logs hold the cache's
//! budget, as when a database is opened.

mod basis;
mod late;
mod logs;
mod output;
mod plan;
mod rebuild;
mod report;
mod tables;
#[cfg(test)]
mod tests;

pub use report::{
    KeptTable, Lost, RepairBasis, RepairReport, RepairedFamily, RepairedLog, SalvagedTable,
    UnusedTable,
};

use std::path::Path;

use plan::Plan;

use super::DbBuilder;
use crate::error::{Error, Result};
use crate::io::FileLock;
use crate::version::FileName;

/// How a database is repaired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RepairOptions {
    /// Whether a database that opens, and of which all tables are whole, is written anew all the same. Default: no, it is
    /// refused.
    pub force: bool,
}

/// Is told of each file that is read, and of bytes read from it.
pub type RepairWatch<'w> = dyn FnMut(&Path, u64) + 'w;

impl DbBuilder {
    /// Tells what [`DbBuilder::repair_to`] would keep and what it would lose. Nothing is written.
    ///
    /// * Every table is read whole, and every log.
    /// * Errors: `InvalidArgument` if there are no files of a database; `Busy` if a process has it open; `NotSupported` for what
    ///   Partita has not: blob files, comparators that are not registered; `Io`.
    pub fn plan_repair(&self, watch: &mut RepairWatch<'_>) -> Result<RepairReport> {
        let _lock = self.lock_if_there()?;
        Ok(Plan::make(self, watch)?.report)
    }

    /// Makes a new directory with as much of the database as there is.
    ///
    /// * It works from what there is: a manifest up to damage, or else the tables themselves; logs up to damage; of damaged
    ///   tables all blocks that can be read. The report says what was kept and, file by file, what is lost.
    /// * The database's own directory stays as it is. Tables that are whole are linked, where that can be, else copied. After a
    ///   failure, or a crash, there is no `target`.
    /// * Without a manifest it is a guess which tables replaced which, and which log records are in tables already. Sequence
    ///   numbers tell, but compactions set those of the oldest entries to 0: operands may count twice then, and what was deleted
    ///   may come back.
    /// * Merge operators need not be known. Options are those of the newest OPTIONS file that can be read.
    /// * Errors: those of [`DbBuilder::plan_repair`]; `InvalidArgument` if `target` exists or lies in the directory, and if there
    ///   is nothing to repair: the database opens and all of its tables are whole ([`RepairOptions::force`]); `NoSpace`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::io::{FileSystem, MemoryFileSystem};
    /// # use partita::options::DbOptions;
    /// use partita::db::{DbBuilder, RepairOptions};
    ///
    /// # let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    /// # let disk = Arc::new(MemoryFileSystem::new());
    /// # let builder = DbBuilder::new("/db").file_system(disk.clone()).options(options);
    /// # let db = builder.open()?;
    /// db.put(b"apple", b"red")?;
    /// db.close()?;
    /// # drop(db);
    /// # disk.create("/db/CURRENT".as_ref())?.sync()?;
    /// let broken = DbBuilder::new("/db"); // whose CURRENT is empty
    /// # let broken = broken.file_system(disk.clone());
    /// assert!(broken.open_read_only().is_err());
    /// let report = broken.repair_to("/repaired", &RepairOptions::default(), &mut |_, _| {})?;
    /// assert!(report.lost.is_empty());
    /// # let repaired = DbBuilder::new("/repaired").file_system(disk).open()?;
    /// assert_eq!(repaired.get(b"apple")?.unwrap(), b"red");
    /// # Ok::<(), partita::Error>(())
    /// ```
    #[doc(alias = "RepairDB")]
    pub fn repair_to(
        &self,
        target: impl AsRef<Path>,
        options: &RepairOptions,
        watch: &mut RepairWatch<'_>,
    ) -> Result<RepairReport> {
        let target = target.as_ref();
        if target.starts_with(&self.dir) {
            let message = "the repaired database would stand in the directory of the damaged one";
            return Err(Error::invalid_argument(message).in_file(target));
        }
        if self.fs.exists(target)? {
            let message = "this exists already; a new directory is made";
            return Err(Error::invalid_argument(message).in_file(target));
        }
        let _lock = self.lock_if_there()?;
        let plan = Plan::make(self, watch)?;
        if plan.report.is_sound() && !options.force {
            let message = "there is nothing to repair: the database opens, and all of its tables and logs are whole";
            return Err(Error::invalid_argument(message).in_file(&self.dir));
        }
        plan.write(self, target, watch)
    }

    /// Keeps others from opening the database. Without a LOCK nobody has it open, and none is made.
    fn lock_if_there(&self) -> Result<Option<Box<dyn FileLock>>> {
        let path = FileName::Lock.in_dir(&self.dir);
        match self.fs.exists(&path)? {
            true => self.fs.lock(&path).map(Some),
            false => Ok(None),
        }
    }
}
