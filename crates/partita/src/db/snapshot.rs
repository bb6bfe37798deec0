use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use super::family::FamilyState;
use super::holders::{Held, HeldViews, HolderKind, Holders, Slot};
use super::read_view::ReadView;
use crate::key::SeqNo;
use crate::util::sync::atomic::{AtomicU64, Ordering};
use crate::util::sync::{Mutex, lock};

/// A moment of the database, at which it can be read as long as this lives. Cheap to clone.
///
/// [`Db::snapshot`](super::Db::snapshot) gives it. Versions of keys that only a snapshot sees are kept for it by flushes.
#[derive(Clone)]
pub struct Snapshot(Arc<Registered>);

struct Registered {
    seqno: SeqNo,
    list: Arc<SnapshotList>,
    /// Where later views may lack what it sees.
    views: Option<Arc<HeldMoment>>,
    holders: Arc<Holders>,
    slot: Slot,
}

/// The views of all families at one moment.
pub(super) struct HeldMoment {
    pub(super) seqno: SeqNo,
    /// By family.
    pub(super) views: BTreeMap<u32, (Arc<FamilyState>, Arc<ReadView>)>,
    /// The view of families that were not there.
    pub(super) nothing: Arc<ReadView>,
}

impl Snapshot {
    /// The sequence number of the last write that it sees.
    pub fn seqno(&self) -> SeqNo {
        self.0.seqno
    }

    /// The view of a family at which it is to be read; `None`: the present one.
    pub(super) fn view_of(&self, family: u32) -> Option<&Arc<ReadView>> {
        let held = self.0.views.as_ref()?;
        Some(held.views.get(&family).map_or(&held.nothing, |(_, view)| view))
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Snapshot").field(&self.seqno().get()).finish()
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        drop(self.holders.remove(&self.slot));
        let mut taken = lock(&self.list.taken);
        if let Some(same) = taken.get_mut(&self.seqno) {
            same.count -= 1;
            if same.count == 0 {
                taken.remove(&self.seqno);
            }
        }
        let oldest = taken.first_key_value().map_or(NOBODY, |(seqno, _)| seqno.get());
        drop(taken);
        self.list.look_for_who_waits(oldest);
    }
}

/// The snapshots that live.
pub(super) struct SnapshotList {
    pub(super) taken: Mutex<BTreeMap<SeqNo, SameMoment>>,
    /// What is told when the oldest snapshot is one that sees everything up to here; `NOBODY`: nothing waits for that.
    waits_for: AtomicU64,
    on_release: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

/// Greater than all sequence numbers.
const NOBODY: u64 = u64::MAX;

impl Default for SnapshotList {
    fn default() -> Self {
        Self {
            taken: Mutex::default(),
            waits_for: AtomicU64::new(NOBODY),
            on_release: OnceLock::new(),
        }
    }
}

/// When a snapshot is taken, by both hands of the clock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TakenAt {
    pub(super) unix_seconds: u64,
    pub(super) since_nanos: u64,
}

/// Snapshots that see the same writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct SameMoment {
    pub(super) count: usize,
    /// When the first of them was taken.
    pub(super) unix_seconds: u64,
}

impl SnapshotList {
    /// Takes a snapshot, which `holders` will list.
    ///
    /// * `visible`: asked under the lock, so that a flush that does not see this snapshot has only entries that it sees; with
    ///   the views, where these have to be held.
    pub(super) fn take(
        self: &Arc<Self>,
        holders: &Arc<Holders>,
        now: TakenAt,
        tag: Option<Arc<str>>,
        visible: impl FnOnce() -> (SeqNo, Option<HeldMoment>),
    ) -> Snapshot {
        let TakenAt { unix_seconds, since_nanos } = now;
        let mut taken = lock(&self.taken);
        let (seqno, views) = visible();
        let views = views.map(Arc::new);
        taken.entry(seqno).or_insert(SameMoment { count: 0, unix_seconds }).count += 1;
        drop(taken);
        let held = views.clone().map_or(HeldViews::None, HeldViews::All);
        let kind = HolderKind::Snapshot;
        let slot = holders.add(Held { kind, tag, seqno, since_nanos, views: held });
        let (list, holders) = (Arc::clone(self), Arc::clone(holders));
        Snapshot(Arc::new(Registered { seqno, list, views, holders, slot }))
    }

    /// Has this called when a snapshot is released that somebody waits for ([`SnapshotList::wait_for`]); by whoever
    /// releases it.
    pub(super) fn on_release(&self, call: impl Fn() + Send + Sync + 'static) {
        // There is one database to a list.
        let _ = self.on_release.set(Box::new(call));
    }

    /// Notes that all snapshots that do not see `seqno` are waited for; `None`: none is.
    pub(super) fn wait_for(&self, seqno: Option<SeqNo>) {
        self.waits_for.store(seqno.map_or(NOBODY, SeqNo::get), Ordering::Release);
    }

    /// * `oldest`: what the oldest snapshot sees.
    fn look_for_who_waits(&self, oldest: u64) {
        let waits_for = self.waits_for.load(Ordering::Acquire);
        if waits_for == NOBODY || oldest < waits_for {
            return;
        }
        // Once is enough. Who is told looks for the next.
        let told =
            self.waits_for.compare_exchange(waits_for, NOBODY, Ordering::AcqRel, Ordering::Relaxed);
        if let (Ok(_), Some(call)) = (told, self.on_release.get()) {
            call();
        }
    }

    /// What the oldest one sees.
    pub(super) fn oldest(&self) -> Option<SeqNo> {
        lock(&self.taken).first_key_value().map(|(seqno, _)| *seqno)
    }

    /// All of them, ascending.
    pub(super) fn seqnos(&self) -> Vec<SeqNo> {
        lock(&self.taken).keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_known_until_its_last_clone_goes() {
        let list = Arc::new(SnapshotList::default());
        let seqno = |n| SeqNo::new(n).unwrap();
        let holders = Arc::default();
        let take = |n| list.take(&holders, TakenAt::default(), None, || (seqno(n), None));
        let (first, same, later) = (take(3), take(3), take(7));
        let clone = first.clone();
        assert_eq!(list.seqnos(), [seqno(3), seqno(7)]);
        drop((first, same));
        assert_eq!(list.seqnos(), [seqno(3), seqno(7)]);
        drop((clone, later));
        assert_eq!(list.seqnos(), []);
    }
}
