//! The rule by which memory may be freed: epochs.
//!
//! ```text
//! reader                              evictor
//! e = epoch                           link = null
//! record = e     (publish)            r = ++epoch          (advance)
//! read the link, use the object       free the object once every record is 0 or >= r
//! record = 0     (withdraw)
//! ```
//!
//! # Why it is right
//!
//! The accesses to records, links and epoch are sequentially consistent, so they stand in one order S.
//!
//! 1. *The evictor sees `record = 0` from before the reader published.* Then its read of the record precedes the
//!    publication in S. `link = null` precedes that read, and the publication precedes the read of the link. So the
//!    reader reads null.
//! 2. *The evictor sees `record >= r`.* The reader's read of the epoch saw the evictor's increment or a later one, so
//!    `link = null` happens before the read of the link: null again.
//! 3. *The evictor sees `0 < record < r`.* It waits.
//! 4. *The evictor sees a 0, or an epoch >= r, from after a withdrawal.* Withdrawal and publication are releases and
//!    the evictor's read acquires, so what the reader did with the object happens before it is freed.
//!
//! A reader that is slow between reading the epoch and publishing it publishes an old one: cases 1 and 2 do not depend
//! on its being new, and garbage waits longer than it must.
//!
//! Sequentially consistent loads are plain loads on x86-64 and `ldar` on AArch64; the only costly step of a reader is
//! the publication (`xchg`, `stlr`), once for an operation.

use super::sync::{AtomicU64, Ordering, model_fence};

/// What a record says while its thread reads nothing.
pub(super) const IDLE: u64 = 0;

/// The epoch that stands in a thread's record. One cache line (two, for the neighbour-line prefetcher) for each.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Published(pub(super) AtomicU64);

impl Published {
    /// From now on nothing that is reachable is freed, until [`Published::withdraw`].
    #[inline]
    pub(super) fn publish(&self, clock: &Clock) {
        let now = clock.0.load(Ordering::SeqCst);
        self.0.store(now, Ordering::SeqCst);
        model_fence();
    }

    /// The thread has forgotten all it read. Returns the epoch that it held up.
    #[inline]
    pub(super) fn withdraw(&self) -> u64 {
        let epoch = self.0.load(Ordering::Relaxed);
        self.0.store(IDLE, Ordering::Release);
        epoch
    }
}

/// The epoch; it starts above [`IDLE`].
#[derive(Debug)]
pub(super) struct Clock(pub(super) AtomicU64);

impl Clock {
    /// A new epoch, for what was unlinked before the call.
    pub(super) fn advance(&self) -> u64 {
        model_fence();
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// What was retired at this epoch or before may be freed.
    pub(super) fn safe_epoch<'a>(&self, records: impl Iterator<Item = &'a Published>) -> u64 {
        model_fence();
        records
            .map(|record| record.0.load(Ordering::SeqCst))
            .filter(|&epoch| epoch != IDLE)
            .min()
            .unwrap_or(u64::MAX)
    }
}
