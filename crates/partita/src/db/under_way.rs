use std::sync::{Arc, Weak};

use crate::compaction::Compaction;
use crate::key::KeyOrder;
use crate::util::sync::{Mutex, MutexGuard, lock};

/// The compactions of a column family that were picked and have not ended: where their outputs will be.
#[derive(Debug, Default)]
pub(super) struct UnderWay(Mutex<Vec<Weak<Compaction>>>);

/// No compaction of the family is picked while this lives.
pub(super) struct NonePicked<'u>(MutexGuard<'u, Vec<Weak<Compaction>>>);

impl UnderWay {
    pub(super) fn lock(&self) -> NonePicked<'_> {
        NonePicked(lock(&self.0))
    }
}

impl NonePicked<'_> {
    /// Notes a compaction, as long as somebody holds it.
    pub(super) fn add(&mut self, compaction: Compaction) -> Arc<Compaction> {
        self.0.retain(|other| other.strong_count() > 0);
        let compaction = Arc::new(compaction);
        self.0.push(Arc::downgrade(&compaction));
        compaction
    }

    /// Whether a compaction may write user keys from `from` to `to`, both included, to `level`.
    pub(super) fn writes(&self, order: &KeyOrder, level: usize, from: &[u8], to: &[u8]) -> bool {
        let into = self.0.iter().filter_map(Weak::upgrade);
        into.filter(|it| it.output_level == level && !it.is_drop()).any(|compaction| {
            compaction.user_key_range(order).is_some_and(|(least, greatest)| {
                order.compare(least, to).is_le() && order.compare(from, greatest).is_le()
            })
        })
    }
}
