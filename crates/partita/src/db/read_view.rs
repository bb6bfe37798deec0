use std::sync::Arc;

use crate::key::SeqNo;
use crate::memtable::MemTable;
use crate::version::Version;

/// All that a read of one column family looks at, as it was at one moment.
///
/// Whoever holds it reads on in peace: memtables and files stay until the last view that names them is gone.
#[derive(Debug)]
pub(super) struct ReadView {
    /// The one being written to.
    pub(super) memtable: Arc<MemTable>,
    /// Those that wait to be flushed, newest first.
    pub(super) frozen: Box<[Arc<MemTable>]>,
    pub(super) version: Arc<Version>,
    /// The sequence number up to which it is read, where the database follows another (`follow/mod.rs`). `None`: what is
    /// published when it is read.
    pub(super) moment: Option<SeqNo>,
}

impl ReadView {
    /// All memtables, newest first.
    pub(super) fn memtables(&self) -> impl Iterator<Item = &Arc<MemTable>> {
        std::iter::once(&self.memtable).chain(&self.frozen)
    }
}
