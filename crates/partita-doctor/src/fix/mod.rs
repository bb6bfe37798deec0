//! The remedy, carried out: index and filters cut into partitions, in a copy or in place.
//!
//! ```text
//! copy       DIR is opened to be read: nothing in it changes, and its owner may be at work
//!            NEW_DIR.tmp    column families with their options and the remedy; rows in batches, flushed; each compacted
//!            NEW_DIR        by a rename, when all of it is there: until then there is no database of that name
//! in place   DIR is opened to be written: its owner must have closed it
//!            CHECKPOINT     all of it as it was, by hard links
//!            DIR            opened with the remedy among its options, each column family compacted
//! ```
//!
//! A copy has every row that a reader sees, but not its history: deletions, old versions and sequence numbers stay behind. What is
//! interrupted in place leaves a database of which a part is rewritten; it is whole, and so is the checkpoint.

mod copy;
mod in_place;
mod remedy;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use partita::Result;
use partita::io::FileSystem;
use serde::Serialize;

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Fixed {
    /// Where the database with the remedy is.
    pub dir: PathBuf,
    /// Where it stands as it was before, if it was changed in place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<PathBuf>,
    /// The column families.
    pub families: u64,
    /// Rows that were copied; 0 in place.
    pub rows: u64,
    /// Tables that there are now.
    pub tables: u64,
    /// Their bytes.
    pub table_bytes: u64,
}

/// Called as the work goes on, with the bytes that were done since and the column family they belong to.
pub type OnProgress<'p> = dyn FnMut(&str, u64) + 'p;

/// Writes a copy of a database with the remedy.
///
/// * `target`: the directory to be made.
/// * Errors: `InvalidArgument` if `target` exists or there is no database; `NotSupported` for what cannot be copied row by row,
///   named: merge operators and orders of keys that are not built in, column families that drop their oldest tables (FIFO);
///   those of reading and writing. Then there is no `target`, and `dir` is as it was.
pub fn copy(
    fs: &Arc<dyn FileSystem>,
    dir: &Path,
    target: &Path,
    on_progress: &mut OnProgress<'_>,
) -> Result<Fixed> {
    copy::copy(fs, dir, target, on_progress)
}

/// Rewrites a database with the remedy where it stands, behind a checkpoint.
///
/// * `checkpoint`: the directory that is made with the database as it was.
/// * Errors: `Busy` if somebody has the database open; `InvalidArgument` if `checkpoint` exists; those of
///   [`Db::checkpoint`](partita::db::Db::checkpoint) and of compactions.
pub fn in_place(
    fs: &Arc<dyn FileSystem>,
    dir: &Path,
    checkpoint: &Path,
    on_progress: &mut OnProgress<'_>,
) -> Result<Fixed> {
    in_place::rewrite_in_place(fs, dir, checkpoint, on_progress)
}
