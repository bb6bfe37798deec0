use super::Snapshot;
use crate::table::ReadContext;

/// How far a read may go for its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadTier {
    /// To the files.
    #[default]
    All,
    /// No further than what is in memory: memtables, open tables, the cache. Where the answer needs more, the read is an
    /// error of kind [`Incomplete`](crate::ErrorKind::Incomplete), and nothing was read.
    CacheOnly,
}

/// How a read is made.
///
/// ```
/// # use std::sync::Arc;
/// # use partita::db::DbBuilder;
/// # use partita::io::MemoryFileSystem;
/// # use partita::options::DbOptions;
/// use partita::db::ReadOptions;
/// use partita::table::ReadContext;
///
/// # let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
/// # let disk = Arc::new(MemoryFileSystem::new());
/// # let db = DbBuilder::new("/db").file_system(disk).options(options).open()?;
/// # let family = db.default_family();
/// db.put(b"apple", b"red")?;
/// let before = ReadOptions { snapshot: Some(db.snapshot()), ..ReadOptions::default() };
/// db.put(b"apple", b"green")?;
/// let mut ctx = ReadContext::default();
/// assert_eq!(db.get_with(&family, b"apple", &before, &mut ctx)?.unwrap(), b"red");
/// assert_eq!(ctx.blocks_read_total(), 0);
/// # Ok::<(), partita::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The moment at which it looks. Default: now.
    pub snapshot: Option<Snapshot>,
    /// How far it may go. Default: to the files.
    pub tier: ReadTier,
    /// Whether data blocks that it reads enter the cache. Default: yes; a scan that comes by once does better without.
    pub fill_cache: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { snapshot: None, tier: ReadTier::All, fill_cache: true }
    }
}

impl ReadOptions {
    /// A read of what a snapshot sees.
    pub fn at(snapshot: &Snapshot) -> Self {
        Self { snapshot: Some(snapshot.clone()), ..Self::default() }
    }

    /// Sets the limits of a read's context to these.
    pub(super) fn limit(&self, ctx: &mut ReadContext) {
        (ctx.pass_cache_by, ctx.pass_data_by) = (false, !self.fill_cache);
        ctx.cache_only = self.tier == ReadTier::CacheOnly;
    }
}
