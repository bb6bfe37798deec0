//! Files that are merged for what is in them, where no level asks for it.
//!
//! ```text
//! rule         file                                                       goes
//! Marked       somebody said so: RocksDB's need_compaction                down
//! Tombstones   most of its entries are deletions                          down, to what they hide
//! Bottommost   nothing older is below, and no snapshot needs what it      nowhere: it is written again on its level
//!              holds but for deletions or hidden versions
//! Ttl          its oldest data is older than `ttl`                        down
//! Periodic     written before `periodic_compaction_seconds`               down; from the last level nowhere
//! ```
//!
//! Rules are asked in this order, and files from the top: so a deletion on its way down is not overtaken by what it waits
//! for. On the last level with files only the rules of the last kind apply. Each rule ends: what goes down arrives at the
//! last level, and what is written again in its place has no deletion and no sequence number left, or is young.

use crate::key::SeqNo;
use crate::options::ColumnFamilyOptions;
use crate::version::TableFile;

use super::weight::{has_many_deletions, is_dense};
use super::{Moment, Reason};

/// The rules, the most urgent first.
pub(super) const RULES: [Reason; 5] =
    [Reason::Marked, Reason::Tombstones, Reason::Bottommost, Reason::Ttl, Reason::Periodic];

/// After how many seconds data is merged for its age; `None`: never.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ages {
    pub(super) ttl: Option<u64>,
    pub(super) periodic: Option<u64>,
}

impl Ages {
    pub(super) fn new(options: &ColumnFamilyOptions) -> Self {
        let given = |seconds: u64| Some(seconds).filter(|seconds| *seconds > 0);
        Self { ttl: given(options.ttl), periodic: given(options.periodic_compaction_seconds) }
    }

    /// Whether a rule asks for the file to be merged.
    ///
    /// * `is_last`: no level below the file's has files.
    pub(super) fn ask_for(
        &self,
        rule: Reason,
        file: &TableFile,
        is_last: bool,
        moment: &Moment,
    ) -> bool {
        match rule {
            Reason::Marked => !is_last && file.need_compaction,
            Reason::Tombstones => !is_last && is_dense(file),
            Reason::Bottommost => would_shrink(file, moment),
            Reason::Ttl => !is_last && moment.is_past(file.oldest_ancestor_time, self.ttl),
            Reason::Periodic => self.is_old(file, moment),
            _ => false,
        }
    }

    /// Whether a file was written before `periodic_compaction_seconds`.
    pub(super) fn is_old(&self, file: &TableFile, moment: &Moment) -> bool {
        let written = match file.creation_time {
            0 => file.oldest_ancestor_time,
            time => time,
        };
        moment.is_past(written, self.periodic)
    }
}

impl Moment {
    /// Whether `seconds` have passed since `time`; false if either is unknown.
    pub(super) fn is_past(&self, time: u64, seconds: Option<u64>) -> bool {
        let limit = seconds.and_then(|seconds| self.unix_seconds.checked_sub(seconds));
        time > 0 && limit.is_some_and(|limit| time < limit)
    }

    /// Whether every snapshot sees all that is not newer than `seqno`, so that of each key one version is enough.
    pub(super) fn has_passed(&self, seqno: SeqNo) -> bool {
        self.oldest_snapshot.is_none_or(|oldest| seqno <= oldest)
    }
}

/// The sequence number that all snapshots must see before a file would lose entries; `None` if it would lose none then, or
/// would now.
pub(super) fn waits_for_snapshots(file: &TableFile, moment: &Moment) -> Option<SeqNo> {
    let later = Moment { oldest_snapshot: None, ..*moment };
    let waits = !moment.has_passed(file.largest_seqno) && would_shrink(file, &later);
    waits.then_some(file.largest_seqno)
}

/// Whether a file would lose entries, were it written again with nothing older below it.
///
/// A compaction at the bottom takes away all deletions and the sequence numbers of all values that every snapshot sees. Where
/// deletions are left, or sequence numbers beside zeros, a snapshot was in the way, which may be gone now. A file that was
/// only moved down has sequence numbers, too, but no zeros: there is nothing to gain.
fn would_shrink(file: &TableFile, moment: &Moment) -> bool {
    let (least, greatest) = (file.smallest_seqno, file.largest_seqno);
    if greatest == SeqNo::ZERO || greatest == SeqNo::MAX || !moment.has_passed(greatest) {
        return false;
    }
    file.counts().is_some_and(|counts| {
        // Operands may keep their numbers.
        has_many_deletions(&counts) || least == SeqNo::ZERO && counts.merge_operands == 0
    })
}
