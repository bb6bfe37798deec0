use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Ledgers that are marked deleted, in memory only: who opens the index anew has to mark them anew.
#[derive(Debug, Default)]
pub(crate) struct DeletedLedgers {
    marks: Mutex<Marks>,
    /// How many there are: mostly none, and lookups need not meet at the lock to know that.
    count: AtomicUsize,
}

#[derive(Debug, Default)]
struct Marks {
    /// Ledger -> number of its newest mark.
    by_ledger: HashMap<i64, u64>,
    made: u64,
}

impl DeletedLedgers {
    pub(crate) fn mark(&self, ledger_id: i64) {
        let mut marks = self.marks();
        marks.made += 1;
        let number = marks.made;
        marks.by_ledger.insert(ledger_id, number);
        self.count.store(marks.by_ledger.len(), Ordering::Release);
    }

    pub(crate) fn contains(&self, ledger_id: i64) -> bool {
        self.len() > 0 && self.marks().by_ledger.contains_key(&ledger_id)
    }

    pub(crate) fn len(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// All marks, in the order of keys.
    pub(crate) fn all(&self) -> Vec<(i64, u64)> {
        let mut all: Vec<_> =
            self.marks().by_ledger.iter().map(|(ledger, mark)| (*ledger, *mark)).collect();
        all.sort_unstable_by_key(|(ledger, _)| *ledger as u64);
        all
    }

    /// Takes these marks away. A ledger that was marked again meanwhile stays so: its new entries are still there.
    pub(crate) fn unmark(&self, done: &[(i64, u64)]) {
        let mut marks = self.marks();
        for (ledger, number) in done {
            if marks.by_ledger.get(ledger) == Some(number) {
                marks.by_ledger.remove(ledger);
            }
        }
        self.count.store(marks.by_ledger.len(), Ordering::Release);
    }

    fn marks(&self) -> MutexGuard<'_, Marks> {
        // Each change is whole once it is made: a panic elsewhere leaves nothing half done.
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_that_was_marked_again_meanwhile_stays_marked() {
        let deleted = DeletedLedgers::default();
        deleted.mark(-1);
        deleted.mark(5);
        let taken = deleted.all();
        assert_eq!(taken.iter().map(|(ledger, _)| *ledger).collect::<Vec<_>>(), [5, -1]);
        deleted.mark(5);
        deleted.unmark(&taken);
        assert!(deleted.contains(5) && !deleted.contains(-1));
        assert_eq!(deleted.len(), 1);
    }
}
