//! Which entries of its input a flush or compaction writes, and as what.
//!
//! The input comes in internal key order, one entry at a time; the versions of one user key are judged together, newest
//! first. What decides is the entry's [stripe](super::stripes::Stripes):
//!
//! ```text
//! an entry of a stripe ...                                  ... is dropped, because
//! under a newer value or deletion of the same stripe        nobody can see it
//! under a range tombstone of the same stripe                nobody can see it; the tombstone is written elsewhere
//! a deletion with nothing older left, here or below         there is nothing to hide
//! a single deletion and the one value under it              they cancel out, in one stripe only
//! merge operands and the value under them                   they become one value, in one stripe only
//! ```
//!
//! Rules, in the order of the code:
//!
//! 1. A single deletion is judged before it may be hidden: dropped alone, it would leave its value behind, to come back
//!    once a later single deletion cancels what hid it.
//! 2. A deletion whose fate hangs on what follows waits in `pending`; operands wait in `operands`. Never both.
//! 3. Nothing is dropped because a merge operator is missing or fails: the operands are written as they were.
//! 4. At the bottom of the tree, what all snapshots see takes sequence number 0. Operands and deletions do not.

use std::ops::AddAssign;

use super::operands::Operands;
use super::stripes::Stripes;
use crate::error::Result;
use crate::key::{InternalKey, KeyOrder, SeqNo, ValueType, append_internal_key, pack};
use crate::merge::{CompactionFilter, FilterDecision, MergeOperator};

/// What a compaction knows about the keys of its input beside the entries. Asked with ascending user keys.
pub(crate) trait Surroundings {
    /// The newest range tombstone of the input over `entry` that all readers of its stripe see.
    fn newest_tombstone(&mut self, entry: &InternalKey<'_>, stripe: usize)
    -> Result<Option<SeqNo>>;

    /// Whether entries of `user_key` that are older than the input's may stand outside of the input.
    fn older_outside(&mut self, user_key: &[u8]) -> bool;
}

/// What stays the same for a whole compaction.
pub(crate) struct Rules<'r> {
    pub(crate) order: &'r KeyOrder,
    pub(crate) stripes: &'r Stripes,
    /// Whether nothing older than the input stands outside of it, for any of its keys: sequence numbers may be zeroed.
    pub(crate) bottommost: bool,
    pub(crate) merge_operator: Option<&'r dyn MergeOperator>,
    pub(crate) filter: Option<&'r dyn CompactionFilter>,
    /// The level written to.
    pub(crate) level: u8,
}

/// What became of the entries offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fates {
    pub(crate) offered: u64,
    pub(crate) written: u64,
    /// Under a newer entry of the same stripe, or a deletion with nothing to hide.
    pub(crate) obsolete: u64,
    pub(crate) range_deleted: u64,
    /// Taken out by the compaction filter.
    pub(crate) filtered: u64,
    pub(crate) operands_merged: u64,
    /// Operands written as they were since the operator failed.
    pub(crate) merge_failures: u64,
}

impl AddAssign for Fates {
    fn add_assign(&mut self, other: Self) {
        self.offered += other.offered;
        self.written += other.written;
        self.obsolete += other.obsolete;
        self.range_deleted += other.range_deleted;
        self.filtered += other.filtered;
        self.operands_merged += other.operands_merged;
        self.merge_failures += other.merge_failures;
    }
}

/// A deletion whose fate hangs on the next entry.
#[derive(Clone, Copy)]
struct Pending {
    seqno: SeqNo,
    value_type: ValueType,
    stripe: usize,
}

/// The judge. `emit` is handed each entry to be written, as encoded internal key and value.
pub(crate) struct Survivors<'r> {
    rules: Rules<'r>,
    /// The user key being judged, with 8 bytes behind it for the packed word of what is written.
    key: Vec<u8>,
    user_key_len: Option<usize>,
    /// The stripe in which older entries of the key are hidden.
    hidden: Option<usize>,
    /// Whether an entry of the key was seen.
    newest_seen: bool,
    pending: Option<Pending>,
    operands: Operands,
    /// Where the filter wants entries again.
    skip_until: Option<Vec<u8>>,
    /// For what the merge operator makes.
    merged: Vec<u8>,
    fates: Fates,
}

impl<'r> Survivors<'r> {
    pub(crate) fn new(rules: Rules<'r>) -> Self {
        Self {
            rules,
            key: Vec::new(),
            user_key_len: None,
            hidden: None,
            newest_seen: false,
            pending: None,
            operands: Operands::default(),
            skip_until: None,
            merged: Vec::new(),
            fates: Fates::default(),
        }
    }

    pub(crate) fn fates(&self) -> &Fates {
        &self.fates
    }

    /// Judges the next entry of the input.
    ///
    /// * Errors: `Corruption` if `key` is no internal key; those of `emit`.
    pub(crate) fn offer(
        &mut self,
        key: &[u8],
        value: &[u8],
        around: &mut impl Surroundings,
        emit: &mut impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        let entry = InternalKey::decode(key)?;
        if !self.is_current(entry.user_key) {
            self.end_key(around, emit)?;
            self.begin_key(entry.user_key);
        }
        self.fates.offered += 1;
        let first = !std::mem::replace(&mut self.newest_seen, true);
        let stripe = self.rules.stripes.of(entry.seqno);
        if around.newest_tombstone(&entry, stripe)?.is_some_and(|over| over > entry.seqno) {
            self.fates.range_deleted += 1;
            return self.settle_operands(stripe, None, emit).map(|_| ());
        }
        let tip = stripe == self.rules.stripes.tip();
        if tip && self.is_skipped(entry.user_key) {
            self.fates.filtered += 1;
            return Ok(());
        }
        if first && tip && entry.value_type == ValueType::Value {
            match self.filter_says(entry, value) {
                FilterDecision::SkipUntil(end) => {
                    self.fates.filtered += 1;
                    self.skip_until = Some(end);
                    return Ok(());
                }
                FilterDecision::Remove => {
                    self.fates.filtered += 1;
                    let deletion = InternalKey { value_type: ValueType::Deletion, ..entry };
                    return self.judge_deletion(deletion, stripe, around, emit);
                }
                FilterDecision::Change(changed) => {
                    return self.judge(key, entry, stripe, &changed, around, emit);
                }
                _ => {}
            }
        }
        self.judge(key, entry, stripe, value, around, emit)
    }

    /// Ends the input. What waited for a following entry is written.
    pub(crate) fn finish(
        &mut self,
        around: &mut impl Surroundings,
        emit: &mut impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        self.end_key(around, emit)?;
        self.user_key_len = None;
        Ok(())
    }

    fn judge(
        &mut self,
        key: &[u8],
        entry: InternalKey<'_>,
        stripe: usize,
        value: &[u8],
        around: &mut impl Surroundings,
        emit: &mut impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        if self.pending.is_some() && self.judge_under_pending(entry, stripe, emit)? {
            return Ok(());
        }
        let hidden = self.hidden == Some(stripe);
        if hidden && entry.value_type != ValueType::SingleDeletion {
            self.fates.obsolete += 1;
            return Ok(());
        }
        if !self.operands.is_empty() && entry.value_type != ValueType::Merge {
            // What an operand became, beside the operand itself.
            self.operands.forget_oldest(entry.seqno);
        }
        match entry.value_type {
            ValueType::Merge => self.collect_operand(entry, stripe, value, emit),
            ValueType::Deletion | ValueType::SingleDeletion | ValueType::DeletionWithTimestamp => {
                self.judge_deletion(entry, stripe, around, emit)
            }
            ValueType::Value => {
                if self.settle_operands(stripe, Some(value), emit)? {
                    return Ok(());
                }
                self.hidden = Some(stripe);
                self.emit_value(key, entry, stripe, value, emit)
            }
            // Operands over these are applied when they are read.
            _ => {
                self.write_operands(emit)?;
                self.hidden = Some(stripe);
                self.emit_value(key, entry, stripe, value, emit)
            }
        }
    }

    /// Judges an entry that follows a waiting deletion. Returns whether that settled it.
    fn judge_under_pending(
        &mut self,
        entry: InternalKey<'_>,
        stripe: usize,
        emit: &mut impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<bool> {
        let Some(pending) = self.pending else { return Ok(false) };
        if pending.stripe != stripe {
            self.pending = None;
            self.write(pending.seqno, pending.value_type, &[], emit)?;
            return Ok(false);
        }
        if pending.value_type != ValueType::SingleDeletion {
            self.fates.obsolete += 1;
            return Ok(true);
        }
        match entry.value_type {
            ValueType::SingleDeletion => {
                self.fates.obsolete += 1;
                self.pending = Some(Pending { seqno: entry.seqno, ..pending });
                Ok(true)
            }
            // Both hide whatever is older.
            ValueType::Deletion | ValueType::DeletionWithTimestamp => {
                self.fates.obsolete += 1;
                self.pending = None;
                Ok(false)
            }
            // Against the contract of single deletions. For readers it hides all that is older, and so it stays.
            ValueType::Merge => {
                self.fates.obsolete += 1;
                self.pending = None;
                self.hidden = Some(stripe);
                self.write(pending.seqno, ValueType::Deletion, &[], emit)?;
                Ok(true)
            }
            _ => {
                self.fates.obsolete += 2;
                self.pending = None;
                Ok(true)
            }
        }
    }

    fn judge_deletion(
        &mut self,
        entry: InternalKey<'_>,
        stripe: usize,
        around: &mut impl Surroundings,
        emit: &mut impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        if self.settle_operands(stripe, None, emit)? {
            self.fates.obsolete += 1;
            return Ok(());
        }
        let single = entry.value_type == ValueType::SingleDeletion;
        if single || !around.older_outside(entry.user_key) {
            self.pending =
                Some(Pending { seqno: entry.seqno, value_type: entry.value_type, stripe });
            return Ok(());
        }
        self.hidden = Some(stripe);
        self.write(entry.seqno, entry.value_type, &[], emit)
    }

    fn collect_operand(
        &mut self,
        entry: InternalKey<'_>,
        stripe: usize,
        value: &[u8],
        emit: &mut impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        if self.operands.oldest() == Some(entry.seqno) {
            self.fates.obsolete += 1;
            return Ok(());
        }
        if self.operands.stripe() != Some(stripe) || self.operands.is_full() {
            self.write_operands(emit)?;
        }
        self.operands.push(stripe, entry.seqno, value);
        Ok(())
    }

    /// Applies the waiting operands to what is under them in the same stripe: a value, or nothing.
    ///
    /// * Returns whether they became a value. If not, none are waiting any more.
    #[inline]
    fn settle_operands(
        &mut self,
        stripe: usize,
        base: Option<&[u8]>,
        emit: &mut impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<bool> {
        match self.operands.is_empty() {
            true => Ok(false),
            false => self.settle_waiting_operands(stripe, base, emit),
        }
    }

    fn settle_waiting_operands(
        &mut self,
        stripe: usize,
        base: Option<&[u8]>,
        emit: &mut impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<bool> {
        let same_stripe = self.operands.stripe() == Some(stripe);
        let Some(operator) = self.rules.merge_operator.filter(|_| same_stripe) else {
            self.write_operands(emit)?;
            return Ok(false);
        };
        let user_key = &self.key[..self.user_key_len.unwrap_or(0)];
        let mut merged = std::mem::take(&mut self.merged);
        merged.clear();
        let result =
            operator.full_merge(user_key, base, &self.operands.oldest_first(), &mut merged);
        let (Ok(()), Some(seqno)) = (result, self.operands.newest()) else {
            self.fates.merge_failures += 1;
            self.write_operands(emit)?;
            return Ok(false);
        };
        self.fates.operands_merged += self.operands.len() as u64;
        self.operands.clear();
        self.hidden = Some(stripe);
        let seqno = self.written_seqno(seqno, stripe);
        self.write(seqno, ValueType::Value, &merged, emit)?;
        self.merged = merged;
        Ok(true)
    }

    /// Writes the waiting operands: as one if the operator can, or else as they are.
    fn write_operands(&mut self, emit: &mut impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
        if self.operands.is_empty() {
            return Ok(());
        }
        let operands = std::mem::take(&mut self.operands);
        if let (Some(operator), Some(newest)) = (self.rules.merge_operator, operands.newest()) {
            let user_key = &self.key[..self.user_key_len.unwrap_or(0)];
            if let Some(one) = operands.as_one(operator, user_key) {
                self.fates.operands_merged += operands.len() as u64;
                return self.write(newest, ValueType::Merge, &one, emit);
            }
        }
        for (seqno, operand) in operands.newest_first() {
            self.write(seqno, ValueType::Merge, operand, emit)?;
        }
        self.operands = operands.cleared();
        Ok(())
    }

    #[inline]
    fn end_key(
        &mut self,
        around: &mut impl Surroundings,
        emit: &mut impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        match self.pending.is_none() && self.operands.is_empty() {
            true => Ok(()),
            false => self.settle_key(around, emit),
        }
    }

    /// Decides what waited for more of the key, now that there is none.
    fn settle_key(
        &mut self,
        around: &mut impl Surroundings,
        emit: &mut impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        let Some(len) = self.user_key_len else { return Ok(()) };
        if let Some(pending) = self.pending.take() {
            if around.older_outside(&self.key[..len]) {
                self.write(pending.seqno, pending.value_type, &[], emit)?;
            } else {
                self.fates.obsolete += 1;
            }
        }
        if let Some(stripe) = self.operands.stripe() {
            if around.older_outside(&self.key[..len]) {
                self.write_operands(emit)?;
            } else {
                self.settle_operands(stripe, None, emit)?;
            }
        }
        Ok(())
    }

    fn begin_key(&mut self, user_key: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(user_key);
        self.user_key_len = Some(user_key.len());
        self.hidden = None;
        self.newest_seen = false;
    }

    #[inline]
    fn is_current(&self, user_key: &[u8]) -> bool {
        self.user_key_len.is_some_and(|len| {
            let current = &self.key[..len];
            // Only orders of others' making take different bytes for the same key.
            current == user_key
                || matches!(self.rules.order, KeyOrder::Custom(_))
                    && self.rules.order.compare(current, user_key).is_eq()
        })
    }

    fn filter_says(&self, entry: InternalKey<'_>, value: &[u8]) -> FilterDecision {
        match self.rules.filter {
            Some(filter) => {
                filter.filter(self.rules.level, entry.user_key, entry.value_type, value)
            }
            None => FilterDecision::Keep,
        }
    }

    /// Whether the filter said to leave out everything up to a later key.
    #[inline]
    fn is_skipped(&mut self, user_key: &[u8]) -> bool {
        let Some(end) = &self.skip_until else { return false };
        let skipped = self.rules.order.compare(user_key, end).is_lt();
        if !skipped {
            self.skip_until = None;
        }
        skipped
    }

    /// Zero at the bottom of the tree for what all snapshots see.
    fn written_seqno(&self, seqno: SeqNo, stripe: usize) -> SeqNo {
        if self.rules.bottommost && stripe == 0 { SeqNo::ZERO } else { seqno }
    }

    fn emit_value(
        &mut self,
        key: &[u8],
        entry: InternalKey<'_>,
        stripe: usize,
        value: &[u8],
        emit: &mut impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        let seqno = self.written_seqno(entry.seqno, stripe);
        if seqno == entry.seqno {
            self.fates.written += 1;
            return emit(key, value);
        }
        self.write(seqno, entry.value_type, value, emit)
    }

    fn write(
        &mut self,
        seqno: SeqNo,
        value_type: ValueType,
        value: &[u8],
        emit: &mut impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        self.fates.written += 1;
        let len = self.user_key_len.unwrap_or(0);
        self.key.truncate(len);
        append_internal_key(&mut self.key, &[], pack(seqno, value_type));
        emit(&self.key, value)
    }
}

#[cfg(test)]
mod tests;
