use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use crate::key::SeqNo;
use crate::util::sync::lock;

/// A moment of the database, at which it can be read as long as this lives. Cheap to clone.
///
/// [`Db::snapshot`](super::Db::snapshot) gives it. Versions of keys that only a snapshot sees are kept for it by flushes.
#[derive(Clone)]
pub struct Snapshot(Arc<Registered>);

struct Registered {
    seqno: SeqNo,
    list: Arc<SnapshotList>,
}

impl Snapshot {
    /// The sequence number of the last write that it sees.
    pub fn seqno(&self) -> SeqNo {
        self.0.seqno
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Snapshot").field(&self.seqno().get()).finish()
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut counts = lock(&self.list.counts);
        if let Some(count) = counts.get_mut(&self.seqno) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.seqno);
            }
        }
    }
}

/// The snapshots that live.
#[derive(Default)]
pub(super) struct SnapshotList {
    counts: Mutex<BTreeMap<SeqNo, usize>>,
}

impl SnapshotList {
    /// Takes a snapshot.
    ///
    /// * `visible`: asked under the lock, so that a flush that does not see this snapshot has only entries that it sees.
    pub(super) fn take(self: &Arc<Self>, visible: impl FnOnce() -> SeqNo) -> Snapshot {
        let mut counts = lock(&self.counts);
        let seqno = visible();
        *counts.entry(seqno).or_default() += 1;
        Snapshot(Arc::new(Registered { seqno, list: Arc::clone(self) }))
    }

    /// All of them, ascending.
    pub(super) fn seqnos(&self) -> Vec<SeqNo> {
        lock(&self.counts).keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_known_until_its_last_clone_goes() {
        let list = Arc::new(SnapshotList::default());
        let seqno = |n| SeqNo::new(n).unwrap();
        let first = list.take(|| seqno(3));
        let same = list.take(|| seqno(3));
        let later = list.take(|| seqno(7));
        let clone = first.clone();
        assert_eq!(list.seqnos(), [seqno(3), seqno(7)]);
        drop((first, same));
        assert_eq!(list.seqnos(), [seqno(3), seqno(7)]);
        drop((clone, later));
        assert_eq!(list.seqnos(), []);
    }
}
