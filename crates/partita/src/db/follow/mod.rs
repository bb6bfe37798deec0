//! A database opened to be read that follows one which somebody else writes.
//!
//! ```text
//! mark       the manifest in force, and its length            open_beside.rs
//! read on    the manifest; logs listed, their lengths noted; tables that came since are opened
//! mark       the same? else all of that again
//! replay     what the logs have more                          logs.rs
//! install    versions, then views with the new moment, then the number for all
//! ```
//!
//! 1. What is shown is a cut of what was written: the writer's manifest at a mark, and of its logs as much as there was before
//!    the mark was found unchanged. The rules of `open_beside.rs` say why that is one moment.
//! 2. **A view has its moment.** A table of the primary may lack versions that only an earlier reader sees, and the memtable that
//!    readers have is the one that logs are read into. So a view says up to which sequence number it is read
//!    ([`ReadView::moment`]), and a snapshot keeps the views of all families.
//! 3. A family has a memtable for each log. One goes when the manifest says that the family has all of that log in tables; it goes
//!    from the view in which the tables come.
//! 4. What fails leaves readers what they had. The logs are read from their start then, the next time.
//! 5. Nothing is written: there is no lock, no file of its own, no work in the background.

mod logs;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use logs::FollowedLogs;

use super::file_front::FileFront;
use super::memtables::new_memtable;
use super::open::{Gathered, Opening, Unknown, wal_dir};
use super::open_beside::{Mark, hold_tables, recover_versions, until_still};
use super::read_view::ReadView;
use super::recover::refuse_lost_logs;
use super::settings::Settings;
use super::snapshot::HeldMoment;
use super::{ColumnFamily, Db, DbBuilder, DbInner};
use crate::error::{Error, ErrorKind, Result};
use crate::io::FileSystem;
use crate::key::{KeyOrder, SeqNo};
use crate::options::file::{Mode, OptionsFile};
use crate::util::sync::atomic::{AtomicU64, Ordering};
use crate::util::sync::{Mutex, lock};
use crate::version::{FileName, FileNumber, Followed, ManifestFollower, Version};

/// What following needs from one time to the next.
pub(super) struct Follower {
    wal_dir: PathBuf,
    state: Mutex<Following>,
    /// Held while views are replaced, and while a snapshot takes those of all families.
    installing: Mutex<()>,
    /// What snapshots see of families that came later.
    nothing: Arc<ReadView>,
}

#[derive(Default)]
struct Following {
    manifest: Option<FollowedManifest>,
    logs: FollowedLogs,
    /// Families that came and are not installed yet.
    fresh: BTreeMap<u32, ColumnFamily>,
}

struct FollowedManifest {
    number: FileNumber,
    /// Bytes of it that may be read.
    bytes: Arc<AtomicU64>,
    /// What it began with when it was opened, the database's identity among it.
    head: Vec<u8>,
    follower: ManifestFollower,
}

/// Bytes of a manifest that tell it from another one of its number: there is a database's identity in the first record.
const HEAD_BYTES: usize = 256;

fn head_of(fs: &dyn FileSystem, path: &Path) -> Result<Vec<u8>> {
    let mut head = vec![0; HEAD_BYTES];
    let filled = fs.open_sequential(path)?.read_full(&mut head)?;
    head.truncate(filled);
    Ok(head)
}

pub(super) fn open_secondary(builder: &DbBuilder) -> Result<Db> {
    let db = until_still(builder, |_| start(builder).map(Some))?;
    db.try_catch_up_with_primary()?;
    Ok(db)
}

/// The families with their tables, as a manifest has them; nobody has read from it yet.
fn start(builder: &DbBuilder) -> Result<Db> {
    let settings = Settings::gather(builder, builder.fs.exists(&builder.dir)?)?;
    let versions = recover_versions(builder, &settings)?;
    let Settings { stored, options, findings, .. } = settings;
    let opening = Opening::new(builder, &options)?;
    let families = opening.families(stored.as_ref(), &versions, Unknown::MissedOnUse)?;
    let follower = Follower {
        wal_dir: wal_dir(builder, &options)?,
        state: Mutex::default(),
        installing: Mutex::default(),
        nothing: Arc::new(ReadView {
            memtable: new_memtable(&opening.cache, &KeyOrder::Bytewise, FileNumber::default())?,
            frozen: Box::default(),
            version: Arc::new(Version::empty(KeyOrder::Bytewise, 1)),
            moment: Some(SeqNo::ZERO),
        }),
    };
    let gathered = Gathered {
        versions,
        options,
        option_findings: findings,
        cache: opening.cache,
        families,
        open_tables: opening.open_tables,
        holders: opening.holders,
        snapshots: Arc::default(),
        follower: Some(follower),
        lost_log_bytes: Vec::new(),
    };
    Ok(Db::new(gathered.into_db(builder, Arc::default(), None)))
}

impl Db {
    /// Shows what the process that writes the database has written until now. For a database that was opened by
    /// [`DbBuilder::open_secondary`](super::DbBuilder::open_secondary).
    ///
    /// * Afterwards, reads see all writes that had reached a file of the database before this was called, those of flushed
    ///   memtables, which no log has, among them; whole write batches of all column families up to one sequence number
    ///   ([`Db::visible_seqno`]), and never less than before. Without `manual_wal_flush`, a write has reached the log's file when
    ///   it is acknowledged.
    /// * Families that were created are in [`Db::families`], those that were dropped are not; who holds one reads on what it had.
    /// * Iterators and snapshots go on with what they see, whatever the writer removes. One read sees one moment. So do all reads
    ///   at a snapshot; other reads of several families, while this is under way in another thread, may see some of them before
    ///   and some after.
    /// * Only what came since is read: records of the manifest, records of logs. A new manifest is read whole.
    /// * Nothing in the directory changes.
    /// * Errors: `InvalidArgument` for a database that was opened in another way, and if the directory holds another database
    ///   by now; `Busy` if it changed each time that it was looked at; `Aborted` if the writer has lost what was shown; and those
    ///   of [`DbBuilder::open_read_only`](super::DbBuilder::open_read_only). After an error, all is as it was before, and another
    ///   call is another attempt.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::db::DbBuilder;
    /// # use partita::io::MemoryFileSystem;
    /// # use partita::options::DbOptions;
    /// # let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    /// # let disk = Arc::new(MemoryFileSystem::new());
    /// # let builder = DbBuilder::new("/db").file_system(disk).options(options);
    /// let primary = builder.open()?;
    /// primary.put(b"apple", b"red")?;
    /// let secondary = builder.open_secondary()?;
    /// primary.put(b"apple", b"green")?;
    /// primary.flush()?;
    /// assert_eq!(secondary.get(b"apple")?.unwrap(), b"red");
    /// secondary.try_catch_up_with_primary()?;
    /// assert_eq!(secondary.get(b"apple")?.unwrap(), b"green");
    /// # Ok::<(), partita::Error>(())
    /// ```
    #[doc(alias = "TryCatchUpWithPrimary")]
    pub fn try_catch_up_with_primary(&self) -> Result<()> {
        let inner = self.inner();
        let Some(follower) = &inner.follower else {
            let message = "the database was not opened as a secondary, which follows another";
            return Err(Error::invalid_argument(message).in_file(self.dir()));
        };
        let mut state = lock(&follower.state);
        let followed = until_still(&inner.builder, |mark| {
            let attempt = state.look(inner, follower, mark);
            if attempt.is_err() {
                *state = Following::default();
            }
            attempt
        })?;
        inner.install_followed(follower, &mut state, &followed)
    }
}

impl Following {
    /// Looks at what there is, and reads it. `None`: it changed meanwhile.
    fn look(&mut self, db: &DbInner, follower: &Follower, mark: Mark) -> Result<Option<Followed>> {
        let Some((number, bytes)) = mark.place(&db.builder)? else { return Ok(None) };
        let fs = &*db.fs;
        let followed = self.manifest(db, number, bytes)?.state(&db.versions)?;
        if followed.is_of_another(&db.versions) {
            let message = "the directory holds another database than the one that was opened";
            return Err(Error::invalid_argument(message).in_file(&db.builder.dir));
        }
        refuse_lost_logs(fs, &follower.wal_dir, followed.first_log, &followed.wals)?;
        self.logs.look(fs, &follower.wal_dir, followed.first_log)?;
        self.open_what_came(db, &followed)?;
        if Mark::of(&db.builder) != mark {
            return Ok(None);
        }
        self.logs.replay(&followed, &db.cache)?;
        let is_recycled = db.options.recycle_log_file_num > 0;
        if is_recycled && !self.logs.have_their_names(fs, &follower.wal_dir)? {
            return Ok(None);
        }
        Ok(Some(followed))
    }

    /// Reads the manifest up to a length: on from where it was read to, unless there is another file of its name.
    fn manifest(
        &mut self,
        db: &DbInner,
        number: FileNumber,
        bytes: u64,
    ) -> Result<&mut ManifestFollower> {
        let path = FileName::Manifest(number).in_dir(&db.builder.dir);
        let head = head_of(&*db.fs, &path)?;
        let goes_on = |known: &FollowedManifest| {
            let read = known.bytes.load(Ordering::Relaxed);
            known.number == number
                && read <= bytes
                && known.follower.stands_at(read)
                && head.starts_with(&known.head)
        };
        let known = match self.manifest.take().filter(goes_on) {
            Some(known) => known,
            None => {
                let file = db.fs.open_sequential(&path)?;
                let readable = Arc::new(AtomicU64::new(0));
                let front = Box::new(FileFront::new(file, Arc::clone(&readable)));
                let follower = ManifestFollower::new(front, &db.versions);
                FollowedManifest { number, bytes: readable, head, follower }
            }
        };
        let known = self.manifest.insert(known);
        known.bytes.store(bytes, Ordering::Relaxed);
        known.follower.read_on()?;
        Ok(&mut known.follower)
    }

    /// Makes the families that are new, and opens the tables that are.
    fn open_what_came(&mut self, db: &DbInner, followed: &Followed) -> Result<()> {
        let known = db.families.load();
        self.fresh.clear();
        let mut stored = None;
        for family in &followed.families {
            let id = family.family.id();
            if family.is_new {
                let stored = match &stored {
                    Some(stored) => stored,
                    None => {
                        let newest =
                            OptionsFile::load_newest(&*db.fs, &db.builder.dir, Mode::Lenient)?;
                        stored.insert(newest.map(|(_, report)| report.options))
                    }
                };
                let made = Opening::of(db).family(
                    stored.as_ref(),
                    Arc::clone(&family.family),
                    Unknown::MissedOnUse,
                )?;
                self.fresh.insert(id, made);
            }
        }
        let tables = followed.families.iter().filter_map(|family| {
            let id = family.family.id();
            let state = known.get(&id).or_else(|| self.fresh.get(&id))?;
            Some((state, Arc::clone(&family.version)))
        });
        let most = usize::try_from(db.options.max_open_files).unwrap_or(usize::MAX);
        hold_tables(tables, most);
        Ok(())
    }
}

impl DbInner {
    /// Has readers see what was read.
    fn install_followed(
        &self,
        follower: &Follower,
        state: &mut Following,
        followed: &Followed,
    ) -> Result<()> {
        let moment = state.logs.last_sequence().max(followed.last_sequence);
        if moment < self.versions.last_sequence() {
            let message = format!(
                "the database ends with sequence number {moment}, and {} was shown: its writer has lost something",
                self.versions.last_sequence()
            );
            return Err(Error::new(ErrorKind::Aborted, message).in_file(&self.builder.dir));
        }
        let mut families = BTreeMap::clone(&self.families.load());
        families.append(&mut state.fresh);
        families.retain(|id, _| followed.families.iter().any(|other| other.family.id() == *id));
        let mut views = Vec::new();
        for family in &followed.families {
            let Some(ColumnFamily(to)) = families.get(&family.family.id()) else { continue };
            views.push((to, state.logs.view(family, moment, &self.cache)?));
        }
        // Old versions and views go when the lock is open.
        let installing = lock(&follower.installing);
        let replaced = self.versions.install_followed(followed);
        for (family, view) in views {
            family.show_followed(view);
        }
        self.families.store(Arc::new(families));
        self.versions.raise_last_sequence(moment);
        drop(installing);
        drop(replaced);
        Ok(())
    }
}

impl Follower {
    /// What readers see now, of all families.
    pub(super) fn hold_moment(&self, db: &DbInner) -> HeldMoment {
        let _installing = lock(&self.installing);
        let families = db.families.load();
        let view = |family: &ColumnFamily| (Arc::clone(&family.0), family.0.view.load_full());
        HeldMoment {
            seqno: db.versions.last_sequence(),
            views: families.iter().map(|(id, family)| (*id, view(family))).collect(),
            nothing: Arc::clone(&self.nothing),
        }
    }
}

impl super::family::FamilyState {
    fn show_followed(&self, view: ReadView) {
        let before = self.view.load();
        let is_gone = |old: &&Arc<_>| !view.memtables().any(|new| Arc::ptr_eq(old, new));
        self.counters.retire(before.memtables().filter(is_gone).map(Arc::downgrade));
        self.show(view);
    }
}

#[cfg(test)]
mod tests;
