use std::collections::VecDeque;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError, Weak};

use super::{FileMeta, FileName, TableCounts, TableFile, unique_id};
use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::io::{Access, FileSystem, RandomAccessFile};
use crate::key::SeqNo;
use crate::table::{ReadContext, ReaderOptions, TableReader, verify_table};
use crate::util::sync::atomic::{AtomicBool, Ordering};
use crate::util::sync::{Mutex, RwLock, lock};

/// Opens the tables of a column family when they are first used.
///
/// The open table is kept in its [`TableFile`], so a lookup that came to the file needs no search and no hash table to
/// find its reader: without a limit on open files it costs one load. The reader goes when the file's last version does.
///
/// A failed open is not kept: the next use tries again. Whoever asks for a table while it is being opened waits for that.
#[derive(Debug)]
pub struct TableCache {
    fs: Arc<dyn FileSystem>,
    /// By path id.
    dirs: Vec<PathBuf>,
    options: ReaderOptions,
    comparator: String,
    open_tables: Arc<OpenTables>,
}

/// How tables are opened, how many are open, over all families of a database, and which is closed next.
///
/// Tables stand in a ring. When there are too many, a hand goes round: a table that was used since the hand last met it
/// is passed over once, the first that was not is closed. This comes close to the least recently used, and a use costs one
/// load, and one store the first time after the hand came by.
#[derive(Debug, Default)]
pub struct OpenTables {
    access: Access,
    limit: Option<usize>,
    ring: Mutex<VecDeque<Weak<TableFile>>>,
}

/// Where an open table is kept.
#[derive(Debug, Default)]
pub(super) struct ReaderSlot {
    /// Without a limit on open tables: until the file is gone.
    kept: OnceLock<Arc<TableReader>>,
    /// With a limit: until the hand comes by.
    shared: RwLock<Option<Arc<TableReader>>>,
    /// Since the hand came by.
    used: AtomicBool,
    /// Held by who opens the table.
    opening: Mutex<()>,
}

/// An open table: borrowed from its file if it stays open, else held.
#[derive(Clone, Debug)]
pub enum OpenTable<'f> {
    /// It stays open as long as the file is part of a version.
    Kept(&'f Arc<TableReader>),
    /// It may be closed for others; the holder can go on reading.
    Shared(Arc<TableReader>),
}

impl Deref for OpenTable<'_> {
    type Target = Arc<TableReader>;

    #[inline]
    fn deref(&self) -> &Arc<TableReader> {
        match self {
            Self::Kept(reader) => reader,
            Self::Shared(reader) => reader,
        }
    }
}

impl OpenTables {
    /// * `limit`: the tables that stay open at most, one at least; `None` closes none.
    pub fn new(limit: Option<usize>) -> Self {
        Self { limit: limit.map(|limit| limit.max(1)), ..Self::default() }
    }

    /// The same with tables read in another way.
    #[must_use]
    pub fn with_access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// Takes a table that was opened into the ring, and closes others.
    fn admit(&self, file: &Arc<TableFile>, limit: usize) {
        let mut closed = Vec::new();
        {
            let mut ring = lock(&self.ring);
            ring.push_back(Arc::downgrade(file));
            // Twice round finds one that was not used since, whatever others do meanwhile.
            let mut steps = 2 * ring.len();
            while ring.len() > limit && steps > 0 {
                steps -= 1;
                let Some(next) = ring.pop_front() else { break };
                let Some(other) = next.upgrade() else { continue };
                if other.slot.used.swap(false, Ordering::Relaxed) {
                    ring.push_back(next);
                } else {
                    closed.push(other);
                }
            }
        }
        for file in closed {
            file.slot.close_shared();
        }
    }

    /// Tables in the ring: no fewer than are open under the limit.
    pub fn len(&self) -> usize {
        lock(&self.ring).len()
    }

    /// Whether no table is open under the limit.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl ReaderSlot {
    fn shared(&self) -> Option<Arc<TableReader>> {
        let reader = self.shared.read().unwrap_or_else(PoisonError::into_inner).clone()?;
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
        Some(reader)
    }

    fn set_shared(&self, reader: Option<Arc<TableReader>>) -> Option<Arc<TableReader>> {
        let mut shared = self.shared.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *shared, reader)
    }

    fn close_shared(&self) {
        // The table is closed when the last who reads it lets go, outside of the lock.
        drop(self.set_shared(None));
    }

    /// Closes the table of a file that nobody uses any more.
    pub(super) fn close(&mut self) {
        self.kept.take();
        self.close_shared();
    }
}

impl TableCache {
    /// * `dirs`: the directories of tables, by path id; one at least.
    /// * `options`: for all tables of the family, with its cache; sequence number and level are each table's own.
    /// * `comparator`: the name of the family's order, which every table must have.
    pub fn new(
        fs: Arc<dyn FileSystem>,
        dirs: Vec<PathBuf>,
        options: ReaderOptions,
        comparator: &str,
        open_tables: Arc<OpenTables>,
    ) -> Self {
        Self { fs, dirs, options, comparator: comparator.to_owned(), open_tables }
    }

    /// The budget that tables are charged to.
    pub fn cache(&self) -> &Cache {
        &self.options.cache
    }

    /// The table's reader; opened at the first use.
    ///
    /// * `level`: where the file stands. The cache counts by the level at which a table was opened.
    /// * Errors: those of [`TableReader::open`]; `Corruption` if the file is not the one that the manifest describes, by
    ///   length, unique id or comparator. The next call tries again.
    #[inline]
    pub fn get<'f>(
        &self,
        file: &'f Arc<TableFile>,
        level: usize,
        ctx: &mut ReadContext,
    ) -> Result<OpenTable<'f>> {
        if let Some(reader) = file.slot.kept.get() {
            return Ok(OpenTable::Kept(reader));
        }
        if self.open_tables.limit.is_some()
            && let Some(reader) = file.slot.shared()
        {
            return Ok(OpenTable::Shared(reader));
        }
        self.open_into_slot(file, level, ctx)
    }

    /// The table's reader if it is open.
    pub fn get_if_open<'f>(&self, file: &'f Arc<TableFile>) -> Option<OpenTable<'f>> {
        if let Some(reader) = file.slot.kept.get() {
            return Some(OpenTable::Kept(reader));
        }
        file.slot.shared().map(OpenTable::Shared)
    }

    #[cold]
    fn open_into_slot<'f>(
        &self,
        file: &'f Arc<TableFile>,
        level: usize,
        ctx: &mut ReadContext,
    ) -> Result<OpenTable<'f>> {
        let table = FileName::Table(file.number);
        ctx.may_read().map_err(|error| error.in_file(table.to_string()))?;
        let slot = &file.slot;
        let _opening = lock(&slot.opening);
        if let Some(reader) = slot.kept.get() {
            return Ok(OpenTable::Kept(reader));
        }
        if let Some(reader) = slot.shared() {
            return Ok(OpenTable::Shared(reader));
        }
        let reader = Arc::new(self.open(file, level, ctx)?);
        if let Some(counts) = TableCounts::of_table(reader.properties()) {
            file.tell_counts(counts);
        }
        let Some(limit) = self.open_tables.limit else {
            return Ok(OpenTable::Kept(slot.kept.get_or_init(|| reader)));
        };
        slot.used.store(true, Ordering::Relaxed);
        slot.set_shared(Some(Arc::clone(&reader)));
        self.open_tables.admit(file, limit);
        Ok(OpenTable::Shared(reader))
    }

    fn open(&self, file: &TableFile, level: usize, ctx: &mut ReadContext) -> Result<TableReader> {
        let opened = file.held().map_or_else(|| self.open_file(file), Ok)?;
        let path = opened.path().to_owned();
        let damage = |message| Err(Error::corruption(message).in_file(&path));
        if opened.len() != file.file_bytes {
            return damage(format!(
                "the file has {} bytes, the manifest says {}",
                opened.len(),
                file.file_bytes
            ));
        }
        let largest_seqno = Some(file.largest_seqno).filter(|seqno| *seqno < SeqNo::MAX);
        let level = u8::try_from(level).ok();
        let options = ReaderOptions { largest_seqno, level, ..self.options.clone() };
        let reader = TableReader::open(opened, &options, ctx)?;
        let found = reader.key_order().name();
        if found != self.comparator {
            return damage(format!(
                "the table has the comparator {found:?}, its column family {:?}",
                self.comparator
            ));
        }
        let unique_id = unique_id::of_table(reader.properties());
        match (file.unique_id, unique_id) {
            (Some(expected), Some(found)) if expected != found => damage(format!(
                "the table's properties give it the unique id {}, the manifest says {}: another table has its name",
                hex(&found),
                hex(&expected)
            )),
            _ => Ok(reader),
        }
    }

    /// Opens the file of a table, which is not read, and holds it until nobody names the table: whoever removes it meanwhile does
    /// not take it away.
    pub(crate) fn hold(&self, file: &TableFile) -> Result<()> {
        file.hold(self.open_file(file)?);
        Ok(())
    }

    /// Reads a table that was just written, whole, and checks all that can be checked.
    ///
    /// * Errors: `Corruption` with what is damaged first; those of reading.
    pub(crate) fn verify(&self, file: &FileMeta) -> Result<()> {
        let report = verify_table(&self.open_file(file)?, &self.options, &mut |_| {});
        match report.damages.into_iter().next().or(report.not_opened) {
            Some(damage) => Err(damage),
            None => Ok(()),
        }
    }

    fn open_file(&self, file: &FileMeta) -> Result<Arc<dyn RandomAccessFile>> {
        let name = FileName::Table(file.number);
        let Some(dir) = self.dirs.get(usize::from(file.path_id)) else {
            return Err(Error::invalid_argument(format!(
                "{name} stands in directory {} of the database, which has {}",
                file.path_id,
                self.dirs.len()
            )));
        };
        let path = name.in_dir(dir);
        let open = |path: &Path| self.open_tables.access.open(&*self.fs, path);
        match open(&path) {
            // LevelDB's name, which RocksDB takes as well.
            Err(error) if error.is_not_found() => {
                open(&path.with_extension("ldb")).map_err(|_| error)
            }
            result => result,
        }
    }
}

fn hex(id: &[u8; 16]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}
