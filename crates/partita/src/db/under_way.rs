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

    /// Where the compactions that have not ended will write.
    pub(super) fn outputs(&self, order: &KeyOrder) -> Outputs {
        let compactions = self.0.iter().filter_map(Weak::upgrade).filter(|it| !it.is_drop());
        let outputs = compactions.filter_map(|compaction| {
            let (least, greatest) = compaction.user_key_range(order)?;
            let (least, greatest) = (least.to_vec(), greatest.to_vec());
            Some(Output { level: compaction.output_level, least, greatest })
        });
        Outputs(outputs.collect())
    }
}

/// Where compactions under way at one moment write.
///
/// A version that is taken later has what they wrote, or does not have it yet: with both, nothing is missed. The other way round a
/// compaction that ends in between is in neither.
pub(super) struct Outputs(Vec<Output>);

struct Output {
    level: usize,
    least: Vec<u8>,
    greatest: Vec<u8>,
}

impl Outputs {
    /// Whether user keys from `from` to `to`, both included, may be written to `level`.
    pub(super) fn has(&self, order: &KeyOrder, level: usize, from: &[u8], to: &[u8]) -> bool {
        self.0.iter().filter(|output| output.level == level).any(|output| {
            order.compare(&output.least, to).is_le()
                && order.compare(from, &output.greatest).is_le()
        })
    }
}
