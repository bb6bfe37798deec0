//! Ingestion: tables that were written elsewhere become part of the database.
//!
//! ```text
//! external.rs    each file is opened, judged, read through; then linked or copied into the directory   nothing has changed yet
//! ---- front of the commit queue: nobody writes
//! memtables      flushed, if they have keys of a file's range, or a file would come before them on level 0
//! log            synced: what was written before is durable before the files are
//! place.rs       no compaction is picked; each file gets a level and a sequence number
//! edits          one for each family, which count together or not at all
//! views          readers have the files, and do not see them
//! last sequence  raised: they see all of them
//! ```
//!
//! 1. **A file is newer than all that is there.** All its entries have one sequence number, greater than all before, which the
//!    manifest holds for it: in the file they have 0. It stands above everything that has keys of its range: tables, memtables,
//!    and what compactions under way will write.
//! 2. **Of several files for one family the later is newer**, where they overlap: it has the greater number and stands above.
//! 3. **Files that are ingested behind stand on the last level**, with sequence number 0, where no compaction gets. What stands above
//!    keeps its deletions and sequence numbers for their sake. Memtables are above: nothing is flushed.
//! 4. What fails before the edit leaves no trace. If the edit itself fails it may be on disk, so its numbers are not given again
//!    and its files stay until that is known.

#[cfg(test)]
mod behind_tests;
mod external;
mod place;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use external::External;
use place::{Numbers, Place, Tree, place_all, place_behind, refuse_upper_levels};

use super::incoming::FileTransfer;
use super::stats::LevelCounters;
use super::under_way::NonePicked;
use super::{ColumnFamily, Db, DbInner};
use crate::error::{Error, Result};
use crate::filter::FilterLevel;
use crate::key::SeqNo;
use crate::table::{SstFileWriter, TableContext};
use crate::util::sync::atomic::Ordering;
use crate::version::edit::NewFile;
use crate::version::{BEHIND_EPOCH, FileNumber, VersionEdit};

/// How files are ingested. The defaults are RocksDB's, but that files are verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "RocksDB's names and choices")]
pub struct IngestOptions {
    /// How files get into the directory. Where links are not to be had they are copied.
    pub transfer: FileTransfer,
    /// Whether snapshots that are there do not see the files. Default: yes.
    pub snapshot_consistency: bool,
    /// Whether files may get a sequence number. Without one they can be ingested only where no key of their range is, and if
    /// `snapshot_consistency` asks for none. Default: yes.
    pub allow_global_seqno: bool,
    /// Whether memtables that have keys of a file's range, or would be overtaken by a file on level 0, may be flushed, while
    /// writers wait. Nothing has to be for files that come behind. Default: yes.
    pub allow_blocking_flush: bool,
    /// Whether every block of each file is read and checked first: checksums, order, filters, counts. Default: yes. Without,
    /// damage shows when somebody reads it.
    pub verify: bool,
    /// Whether files come behind all that is there instead of in front of it: a key of theirs counts only where there is nothing
    /// newer of it, not even a deletion. Default: no.
    ///
    /// Only in a column family that keeps its last level free for that
    /// ([`allow_ingest_behind`](crate::options::DbOptions::allow_ingest_behind)), and did so since it was made. Files must not
    /// overlap each other or those that were ingested behind before.
    #[doc(alias = "ingest_behind")]
    pub behind: bool,
    /// Whether it is an error of kind `Busy` if a file would not get to the last level. Default: no.
    pub fail_if_not_bottommost_level: bool,
}

impl Default for IngestOptions {
    fn default() -> Self {
        Self {
            transfer: FileTransfer::Copy,
            snapshot_consistency: true,
            allow_global_seqno: true,
            allow_blocking_flush: true,
            verify: true,
            behind: false,
            fail_if_not_bottommost_level: false,
        }
    }
}

/// What became of an external file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngestedFile {
    /// What it was called.
    pub source: PathBuf,
    /// What it is called now.
    pub number: FileNumber,
    /// The level on which it stands.
    pub level: usize,
    /// The sequence number of its entries; 0: no number of its own.
    pub seqno: SeqNo,
    /// Its length in bytes.
    pub file_bytes: u64,
}

impl Db {
    /// Makes external files, as [`SstFileWriter`] or RocksDB's writes them, part of a column family, all of them or none.
    ///
    /// * It is as if their entries were written now, in one batch: a key of theirs replaces what was there, a range tombstone
    ///   of theirs hides what was there, but no key of its own file. Where files overlap, the later one counts.
    /// * Returned are the files in the given order, with the level that each got: the deepest above which nothing has keys of
    ///   its range.
    /// * When it returns, the files survive a power cut, and so does all that was written to the log before.
    /// * Errors: `InvalidArgument` for files that were not written to be ingested, or for another column family or order, or
    ///   were ingested elsewhere under a number of their own; for empty ones; and where the options forbid what would have to
    ///   be done. `NotSupported` for what Partita has not (blobs, timestamps, …), named. `Corruption` if a file is damaged.
    ///   `Io`, `NoSpace`. Nothing has changed then, but if it was the manifest that could not be written: then the files may be
    ///   there when the database is opened again.
    /// * Cost: reads and writes each file once (see [`IngestOptions`]); writers wait for a sync of the log, a record in the
    ///   manifest, and a flush where a memtable has keys of a file's range.
    /// * Source: contract of RocksDB `IngestExternalFile`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::db::DbBuilder;
    /// # use partita::io::MemoryFileSystem;
    /// # use partita::options::DbOptions;
    /// # let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    /// # let disk = Arc::new(MemoryFileSystem::new());
    /// # let db = DbBuilder::new("/db").file_system(disk).options(options).open()?;
    /// use partita::db::IngestOptions;
    ///
    /// let family = db.default_family();
    /// let mut writer = db.sst_file_writer(&family, "/fruit.sst")?;
    /// writer.put(b"apple", b"red")?;
    /// writer.put(b"pear", b"green")?;
    /// writer.finish()?;
    ///
    /// db.put(b"apple", b"yellow")?;
    /// let files = db.ingest(&family, &["/fruit.sst"], &IngestOptions::default())?;
    /// assert_eq!(files[0].level, 0);
    /// assert_eq!(db.get(b"apple")?.unwrap(), b"red");
    /// # Ok::<(), partita::Error>(())
    /// ```
    pub fn ingest(
        &self,
        family: &ColumnFamily,
        files: &[impl AsRef<Path>],
        options: &IngestOptions,
    ) -> Result<Vec<IngestedFile>> {
        let files = files.iter().map(|file| file.as_ref().to_owned()).collect();
        self.ingest_several(&[(family.clone(), files)], options)
    }

    /// The same for several column families at once: readers, and what a crash leaves, have all files or none.
    ///
    /// * Errors: `InvalidArgument`, too, if a column family comes twice.
    pub fn ingest_several(
        &self,
        files: &[(ColumnFamily, Vec<PathBuf>)],
        options: &IngestOptions,
    ) -> Result<Vec<IngestedFile>> {
        let db = self.inner();
        let writer = self.writer()?;
        let _job = writer.jobs.begin();
        writer.check()?;
        let mut families: Vec<FamilyFiles<'_>> = Vec::new();
        for (family, paths) in files {
            if paths.is_empty() || families.iter().any(|other| other.family.id() == family.id()) {
                let what = if paths.is_empty() { "no file for" } else { "twice" };
                return Err(Error::invalid_argument(format!("{what} {family:?}")));
            }
            let files = paths.iter().map(|path| External::judge(db, family, path, options));
            families.push(FamilyFiles { family, files: files.collect::<Result<_>>()? });
        }
        for file in families.iter_mut().flat_map(|family| &mut family.files) {
            file.incoming.take_in(options.transfer)?;
        }
        db.fs.sync_dir(self.dir())?;
        let ingested = writer.queue.exclusive(|| db.commit_ingestion(&mut families, options))?;
        families
            .iter()
            .flat_map(|family| &family.files)
            .for_each(|file| file.incoming.finish(options.transfer));
        let mut left = &ingested[..];
        for FamilyFiles { family, files } in &families {
            let (own, rest) = left.split_at(files.len());
            left = rest;
            for IngestedFile { level, file_bytes, .. } in own {
                let counted = LevelCounters {
                    ingested: 1,
                    bytes_ingested: *file_bytes,
                    ..LevelCounters::default()
                };
                family.0.counters.add_to_level(*level, &counted);
            }
            db.pressure_changed(&family.0);
        }
        db.remove_obsolete_files();
        db.schedule_compactions();
        Ok(ingested)
    }

    /// Begins an external file for a column family, with its options, at this path.
    ///
    /// * Errors: those of [`SstFileWriter::new`]; `Io` if there is a file already.
    pub fn sst_file_writer(
        &self,
        family: &ColumnFamily,
        path: impl AsRef<Path>,
    ) -> Result<SstFileWriter> {
        let db = self.inner();
        let writer = self.writer()?;
        let options = family.0.options.table_options(FilterLevel::Unknown, 1, false);
        let now = db.builder.clock.unix_seconds();
        let context = TableContext {
            column_family_id: u64::from(family.id()),
            column_family_name: family.name().to_owned(),
            db_id: db.versions.db_id().unwrap_or_default().to_owned(),
            db_session_id: writer.session.clone(),
            file_number: db.versions.new_file_number().get(),
            creation_time: now,
            file_creation_time: now,
            merge_operator_name: family.0.merge_operator.as_ref().map(|it| it.name().to_owned()),
            ..TableContext::default()
        };
        let file = db.fs.create_new(path.as_ref())?;
        SstFileWriter::new(file, options, family.key_order().clone(), context)
    }
}

/// The files of one family.
struct FamilyFiles<'f> {
    family: &'f ColumnFamily,
    files: Vec<External>,
}

impl DbInner {
    /// Makes files that stand in the directory part of the database. The caller leads the commit queue.
    fn commit_ingestion(
        &self,
        families: &mut [FamilyFiles<'_>],
        options: &IngestOptions,
    ) -> Result<Vec<IngestedFile>> {
        self.check_or_resume()?;
        for FamilyFiles { family, .. } in families.iter() {
            if family.0.family.is_dropped() {
                return Err(Error::invalid_argument(format!("{family:?} was dropped")));
            }
        }
        if !options.behind {
            self.flush_what_is_covered(families, options)?;
        }
        self.sync_log()?;
        let placed = self.place(families, options)?;
        let edits =
            families.iter().zip(&placed.places).map(|(FamilyFiles { family, files }, places)| {
                let new_files = files.iter().zip(places).map(|(file, place)| {
                    let now = self.builder.clock.unix_seconds();
                    let epoch = match options.behind {
                        true => BEHIND_EPOCH,
                        false => family.0.family.new_epoch(),
                    };
                    let file = file.meta(place.seqno, epoch, now);
                    NewFile { level: place.level as u32, file }
                });
                let (family, new_files) = (family.id(), new_files.collect());
                VersionEdit { family, new_files, ..VersionEdit::default() }
            });
        let edits = edits.collect();
        let ingested = families.iter().zip(&placed.places).flat_map(|(family, places)| {
            let files = family.files.iter().zip(places);
            files.map(|(file, place)| file.ingested(place.level, place.seqno))
        });
        let ingested = ingested.collect();
        // From here on the manifest may name them, whatever comes back.
        families
            .iter_mut()
            .flat_map(|family| &mut family.files)
            .for_each(|file| file.incoming.keep());
        let applied = self.apply_edits(edits);
        if applied.is_ok() {
            for FamilyFiles { family, .. } in families.iter() {
                self.install_version(family)?;
                // Before any write after them is published.
                family.0.ingestions.fetch_add(1, Ordering::AcqRel);
            }
        }
        self.versions.raise_last_sequence(placed.numbers.last());
        applied.map(|()| ingested)
    }

    /// Finds a level and a sequence number for each file. The caller leads the commit queue.
    fn place<'f>(
        &self,
        families: &[FamilyFiles<'f>],
        options: &IngestOptions,
    ) -> Result<Placed<'f>> {
        loop {
            // No two threads that lock several wait for each other: only who leads the queue does.
            let none_picked: Vec<NonePicked<'f>> =
                families.iter().map(|family| family.family.0.under_way.lock()).collect();
            let last = self.versions.last_sequence();
            let needs_numbers = options.snapshot_consistency && options.allow_global_seqno;
            let mut numbers = Numbers::behind(last, needs_numbers);
            let mut places = Vec::new();
            for (FamilyFiles { family, files }, none_picked) in families.iter().zip(&none_picked) {
                let tree = Tree::new(&family.0, none_picked);
                let of_family = match options.behind {
                    true => place_behind(&tree, files)?,
                    false => place_all(&tree, files, &mut numbers)?,
                };
                if options.fail_if_not_bottommost_level {
                    refuse_upper_levels(&family.0, files, &of_family)?;
                }
                places.push(of_family);
            }
            if !options.behind {
                self.refuse_numbers(&numbers, options)?;
            }
            let overtaking: Vec<ColumnFamily> = families
                .iter()
                .zip(&places)
                .filter(|(family, places)| overtakes_memtables(family.family, places))
                .map(|(family, _)| family.family.clone())
                .collect();
            if overtaking.is_empty() {
                return Ok(Placed { places, numbers, _none_picked: none_picked });
            }
            // Nobody writes, so that once is enough.
            drop(none_picked);
            refuse_flush(options, "would be overtaken on level 0 by a file")?;
            self.flush_at_the_front(&overtaking)?;
        }
    }

    fn refuse_numbers(&self, numbers: &Numbers, options: &IngestOptions) -> Result<()> {
        if options.allow_global_seqno {
            return Ok(());
        }
        if numbers.given() {
            return Err(Error::invalid_argument(
                "a file overlaps what is there, or another file, and must not get a sequence number (allow_global_seqno)",
            ));
        }
        if options.snapshot_consistency && self.snapshots.oldest().is_some() {
            return Err(Error::invalid_argument(
                "a snapshot would see the files, which must not get a sequence number (snapshot_consistency, \
                 allow_global_seqno)",
            ));
        }
        Ok(())
    }

    /// Flushes the memtables that have keys of a file's range.
    fn flush_what_is_covered(
        &self,
        families: &[FamilyFiles<'_>],
        options: &IngestOptions,
    ) -> Result<()> {
        let mut covered = Vec::new();
        for FamilyFiles { family, files } in families {
            let view = family.0.view.load();
            for memtable in view.memtables() {
                for file in files {
                    if file.has_keys_in(memtable)? {
                        covered.push((*family).clone());
                    }
                }
            }
        }
        if covered.is_empty() {
            return Ok(());
        }
        refuse_flush(options, "has keys of a file's range")?;
        self.flush_at_the_front(&covered)
    }
}

/// Where the files of each family go, while no compaction is picked.
struct Placed<'f> {
    places: Vec<Vec<Place>>,
    numbers: Numbers,
    _none_picked: Vec<NonePicked<'f>>,
}

/// Whether a file comes to stand on level 0 before entries that are older and still in memory.
///
/// It may be merged there with older files, and the sequence numbers of that table, and of the one that the memtable becomes,
/// would reach into each other. RocksDB before 7.10 orders level 0 by them, and would show the older entries.
fn overtakes_memtables(family: &ColumnFamily, places: &[Place]) -> bool {
    places.iter().any(|place| place.level == 0)
        && family.0.view.load().memtables().any(|memtable| !memtable.is_empty())
}

fn refuse_flush(options: &IngestOptions, why: &str) -> Result<()> {
    match options.allow_blocking_flush {
        true => Ok(()),
        false => Err(Error::invalid_argument(format!(
            "a memtable {why} and would have to be flushed (allow_blocking_flush)"
        ))),
    }
}
