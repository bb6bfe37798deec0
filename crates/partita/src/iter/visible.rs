//! What a reader sees: one value for each user key.
//!
//! ```text
//! below     a 9 merge  a 7 put  a 2 put | b 5 delete  b 3 put | c 8 put  c 4 put | d 1 put      read at 7
//! shown     a: put of 7                 | nothing             | c: put of 4      | d: put of 1
//! ```
//!
//! Where the iterator below stands, seen from the user key that is shown:
//!
//! 1. [`State::Inner`] (going forward): on the entry whose value is shown. Key and value are borrowed from it.
//! 2. [`State::Merged`] (going forward): on the base of a merged value, or anywhere behind, up to the next user key or
//!    the end. Key and value are copies.
//! 3. [`State::Before`] (going backward): on the last entry of a smaller user key, or over the first. Key and value are
//!    copies, as the newest visible version of a key is the last that a walk backward meets.
//!
//! Many versions of one key, or entries newer than the reader, are passed by steps first and by a seek when there are
//! more than [`STEPS_MAX`].

use std::ops::Bound;
use std::sync::Arc;

use super::{Bounds, InternalIterator};
use crate::error::{Error, ErrorKind, Result};
use crate::key::{InternalKey, KeyOrder, PrefixExtractor, SeqNo, ValueType, user_key};
use crate::merge::{MergeOperator, Verdict, VersionWalk, full_merge, plain_value};

/// Entries of one user key that are passed by steps before a seek is tried: a seek costs about so many.
const STEPS_MAX: u32 = 8;

/// What a reader wants to see.
#[derive(Clone, Debug)]
pub struct VisibleOptions {
    /// The order of user keys.
    pub order: KeyOrder,
    /// Entries up to this number are seen.
    pub read_seqno: SeqNo,
    /// Which keys are shown.
    pub bounds: Arc<Bounds>,
    /// For keys with merge operands.
    pub merge_operator: Option<Arc<dyn MergeOperator>>,
    /// Shows only keys with the same prefix as the target of the last seek; all keys, if the target has none. After
    /// `seek_to_first` and `seek_to_last`, the prefix is that of the key found.
    pub same_prefix: Option<PrefixExtractor>,
    /// Most entries that one move may pass over. One that would pass more is an error of kind `Incomplete`.
    pub skipped_max: Option<u64>,
}

impl VisibleOptions {
    /// All keys as of `read_seqno`, without a merge operator.
    pub fn new(order: KeyOrder, read_seqno: SeqNo) -> Self {
        Self {
            order,
            read_seqno,
            bounds: Arc::default(),
            merge_operator: None,
            same_prefix: None,
            skipped_max: None,
        }
    }
}

/// Entries that were looked at and not shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Newer than the reader.
    pub newer: u64,
    /// Older than the version that counts.
    pub older: u64,
    /// Deletions.
    pub deletions: u64,
    /// Seeks made because there were too many to step over.
    pub seeks: u64,
}

impl Skipped {
    /// Entries in all.
    pub fn entries(&self) -> u64 {
        self.newer + self.older + self.deletions
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Nowhere,
    Inner,
    Merged,
    Before,
}

/// Shows each user key with its newest visible value, in both directions.
///
/// `I` is any walk over internal keys; range tombstones are its business. A failed move leaves the iterator standing
/// nowhere and says why; a later seek starts afresh. A step allocates nothing unless operands must be merged.
#[derive(Debug)]
pub struct VisibleIterator<I> {
    inner: I,
    options: VisibleOptions,
    state: State,
    /// The prefix that keys must have, if any.
    prefix: Option<Vec<u8>>,
    /// The user key shown in copies, or passed last.
    key: Vec<u8>,
    value: Vec<u8>,
    /// The base while operands are gathered backward.
    base: Vec<u8>,
    walk: VersionWalk,
    skipped: Skipped,
}

impl<I: InternalIterator> VisibleIterator<I> {
    /// A walk that stands nowhere yet.
    pub fn new(inner: I, options: VisibleOptions) -> Self {
        Self {
            inner,
            options,
            state: State::Nowhere,
            prefix: None,
            key: Vec::new(),
            value: Vec::new(),
            base: Vec::new(),
            walk: VersionWalk::default(),
            skipped: Skipped::default(),
        }
    }

    /// Whether the iterator stands on a key.
    #[inline]
    pub fn is_valid(&self) -> bool {
        self.state != State::Nowhere
    }

    /// The user key there; empty if it stands nowhere.
    #[inline]
    pub fn key(&self) -> &[u8] {
        match self.state {
            State::Nowhere => &[],
            State::Inner => user_key(self.inner.key()),
            State::Merged | State::Before => &self.key,
        }
    }

    /// The value there; empty if it stands nowhere.
    #[inline]
    pub fn value(&self) -> &[u8] {
        match self.state {
            State::Nowhere => &[],
            State::Inner => self.inner.value(),
            State::Merged | State::Before => &self.value,
        }
    }

    /// What was passed over so far.
    pub fn skipped(&self) -> Skipped {
        self.skipped
    }

    /// What is shown.
    pub fn options(&self) -> &VisibleOptions {
        &self.options
    }

    /// The walk below.
    pub fn inner(&self) -> &I {
        &self.inner
    }

    /// Moves to the first key.
    pub fn seek_to_first(&mut self) -> Result<()> {
        self.state = State::Nowhere;
        self.prefix = None;
        self.seek_to_lower_bound()?;
        self.keep_prefix_found();
        Ok(())
    }

    /// Moves to the last key.
    pub fn seek_to_last(&mut self) -> Result<()> {
        self.state = State::Nowhere;
        self.prefix = None;
        self.seek_to_upper_bound()?;
        self.keep_prefix_found();
        Ok(())
    }

    /// Moves to the first key that is not before `user_key`.
    pub fn seek(&mut self, user_key: &[u8]) -> Result<()> {
        self.state = State::Nowhere;
        self.keep_prefix_of(user_key);
        if self.options.bounds.is_below(&self.options.order, user_key) {
            return self.seek_to_lower_bound();
        }
        self.inner.seek(&InternalKey::for_seek(user_key, self.options.read_seqno).encode())?;
        self.find_forward(false)
    }

    /// Moves to the last key that is not behind `user_key`.
    pub fn seek_for_prev(&mut self, user_key: &[u8]) -> Result<()> {
        self.state = State::Nowhere;
        self.keep_prefix_of(user_key);
        if self.options.bounds.is_above(&self.options.order, user_key) {
            return self.seek_to_upper_bound();
        }
        self.inner.seek_for_prev(&InternalKey::for_seek_for_prev(user_key).encode())?;
        self.find_backward()
    }

    /// Moves to the next key; stays where it is if it stands nowhere.
    #[expect(
        clippy::should_implement_trait,
        reason = "it moves, and may fail; nothing is handed out"
    )]
    #[inline]
    pub fn next(&mut self) -> Result<()> {
        let state = std::mem::replace(&mut self.state, State::Nowhere);
        match state {
            State::Nowhere => return Ok(()),
            State::Inner => {
                keep(&mut self.key, user_key(self.inner.key()));
                self.inner.next()?;
            }
            State::Merged => {}
            State::Before if self.inner.is_valid() => self.inner.next()?,
            State::Before => {
                self.inner.seek(&InternalKey::for_seek(&self.key, SeqNo::MAX).encode())?;
            }
        }
        self.find_forward(true)
    }

    /// Moves to the key before; stays where it is if it stands nowhere.
    pub fn prev(&mut self) -> Result<()> {
        let state = std::mem::replace(&mut self.state, State::Nowhere);
        match state {
            State::Nowhere => return Ok(()),
            State::Inner => {
                keep(&mut self.key, user_key(self.inner.key()));
                self.step_before_key()?;
            }
            State::Merged => self.step_before_key()?,
            State::Before => {}
        }
        self.find_backward()
    }

    fn seek_to_lower_bound(&mut self) -> Result<()> {
        match &self.options.bounds.lower {
            Bound::Unbounded => {
                self.inner.seek_to_first()?;
                self.find_forward(false)
            }
            Bound::Included(lower) => {
                self.inner.seek(&InternalKey::for_seek(lower, self.options.read_seqno).encode())?;
                self.find_forward(false)
            }
            Bound::Excluded(lower) => {
                self.inner.seek(&InternalKey::for_seek_for_prev(lower).encode())?;
                keep(&mut self.key, lower);
                self.find_forward(true)
            }
        }
    }

    fn seek_to_upper_bound(&mut self) -> Result<()> {
        match &self.options.bounds.upper {
            Bound::Unbounded => self.inner.seek_to_last()?,
            Bound::Included(upper) => {
                self.inner.seek_for_prev(&InternalKey::for_seek_for_prev(upper).encode())?;
            }
            Bound::Excluded(upper) => {
                self.inner.seek_for_prev(&InternalKey::for_seek(upper, SeqNo::MAX).encode())?;
            }
        }
        self.find_backward()
    }

    /// Shows the first visible key from where the iterator below stands.
    ///
    /// * `passes_key`: entries of `self.key` are passed over.
    fn find_forward(&mut self, mut passes_key: bool) -> Result<()> {
        let (mut steps, mut newer_steps) = (0, 0);
        let before = self.skipped;
        while self.inner.is_valid() {
            self.check_skipped(before)?;
            let key = InternalKey::decode(self.inner.key())?;
            let order = &self.options.order;
            if passes_key && order.compare(key.user_key, &self.key).is_le() {
                self.skipped.older += 1;
                steps += 1;
                if steps > STEPS_MAX {
                    steps = 0;
                    self.skipped.seeks += 1;
                    pass_versions(&mut self.inner, order, &self.key)?;
                } else {
                    self.inner.next()?;
                }
                continue;
            }
            let is_over = self.options.bounds.is_above(order, key.user_key)
                || !has_prefix(&self.options.same_prefix, &self.prefix, key.user_key);
            if is_over {
                return Ok(());
            }
            if key.seqno > self.options.read_seqno {
                self.skipped.newer += 1;
                newer_steps += 1;
                if newer_steps > STEPS_MAX {
                    newer_steps = 0;
                    self.skipped.seeks += 1;
                    let target = InternalKey::for_seek(key.user_key, self.options.read_seqno);
                    let target = target.encode();
                    self.inner.seek(&target)?;
                } else {
                    self.inner.next()?;
                }
                continue;
            }
            if key.value_type == ValueType::Value {
                self.state = State::Inner;
                return Ok(());
            }
            (steps, newer_steps) = (0, 0);
            keep(&mut self.key, key.user_key);
            if key.value_type.is_deletion() {
                self.skipped.deletions += 1;
                self.inner.next()?;
            } else if self.resolve()? {
                self.state = State::Merged;
                return Ok(());
            }
            passes_key = true;
        }
        Ok(())
    }

    /// Ends a move that passed over too much since it had passed `before`.
    #[inline]
    fn check_skipped(&self, before: Skipped) -> Result<()> {
        match self.options.skipped_max {
            Some(most) if self.skipped.entries() - before.entries() > most => {
                Err(skipped_too_many(most))
            }
            _ => Ok(()),
        }
    }

    /// Makes `self.value` out of the versions of `self.key` that are visible, from the entry there on. Returns whether
    /// there is a value.
    fn resolve(&mut self) -> Result<bool> {
        let Self { inner, options, key, value, walk, .. } = self;
        walk.reset();
        let operator = options.merge_operator.as_deref();
        while inner.is_valid() {
            let entry = InternalKey::decode(inner.key())?;
            if options.order.compare(entry.user_key, key).is_ne() {
                break;
            }
            match walk.take(entry.seqno, entry.value_type, inner.value())? {
                Verdict::Continue => inner.next()?,
                Verdict::Absent => break,
                Verdict::Base(base) if walk.has_operands() => {
                    walk.merge(operator, key, Some(base), value)?;
                    return Ok(true);
                }
                Verdict::Base(base) => {
                    keep(value, base);
                    return Ok(true);
                }
            }
        }
        if walk.has_operands() {
            walk.merge(operator, key, None, value)?;
        }
        Ok(walk.has_operands())
    }

    /// Moves the iterator below in front of all entries of `self.key`, from on them or behind.
    fn step_before_key(&mut self) -> Result<()> {
        let Self { inner, options, key, .. } = self;
        for _ in 0..=STEPS_MAX {
            if !inner.is_valid() {
                break;
            }
            if options.order.compare(user_key(inner.key()), key).is_lt() {
                return Ok(());
            }
            inner.prev()?;
            if !inner.is_valid() {
                // Over the first entry.
                return Ok(());
            }
        }
        inner.seek_for_prev(&InternalKey::for_seek(key, SeqNo::MAX).encode())
    }

    /// Shows the last visible key up to where the iterator below stands.
    fn find_backward(&mut self) -> Result<()> {
        let before = self.skipped;
        while self.inner.is_valid() {
            self.check_skipped(before)?;
            let oldest = InternalKey::decode(self.inner.key())?;
            let is_over = self.options.bounds.is_below(&self.options.order, oldest.user_key)
                || !has_prefix(&self.options.same_prefix, &self.prefix, oldest.user_key);
            if is_over {
                return Ok(());
            }
            let (seqno, value_type) = (oldest.seqno, oldest.value_type);
            keep(&mut self.key, oldest.user_key);
            if self.gather_backward(seqno, value_type)? {
                self.state = State::Before;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Makes `self.value` out of the visible versions of `self.key`, from the oldest on, which is the entry there, and
    /// goes before them. Returns whether there is a value.
    fn gather_backward(&mut self, mut seqno: SeqNo, mut value_type: ValueType) -> Result<bool> {
        let Self { inner, options, key, base, walk, skipped, .. } = self;
        walk.reset();
        let mut has_base = false;
        for _ in 0..=STEPS_MAX {
            if seqno > options.read_seqno {
                skipped.newer += 1;
            } else if value_type == ValueType::Merge {
                walk.push_operand(inner.value());
            } else {
                skipped.older += u64::from(has_base);
                walk.reset();
                has_base = !value_type.is_deletion();
                if has_base {
                    keep(base, plain_value(value_type, inner.value())?);
                } else {
                    skipped.deletions += 1;
                }
            }
            inner.prev()?;
            if !inner.is_valid() {
                return self.finish_backward(has_base);
            }
            let newer = InternalKey::decode(inner.key())?;
            if options.order.compare(newer.user_key, key).is_ne() {
                return self.finish_backward(has_base);
            }
            (seqno, value_type) = (newer.seqno, newer.value_type);
        }
        self.gather_by_seeking()
    }

    /// Makes `self.value` out of the operands gathered and `self.base`, which is the base if there is one.
    #[inline]
    fn finish_backward(&mut self, has_base: bool) -> Result<bool> {
        let Self { options, key, value, base, walk, .. } = self;
        if walk.has_operands() {
            // Pushed from the oldest to the newest.
            let operands: Vec<&[u8]> = walk.operands().collect();
            let base = has_base.then_some(&base[..]);
            full_merge(options.merge_operator.as_deref(), key, base, &operands, value)?;
            return Ok(true);
        }
        std::mem::swap(value, base);
        Ok(has_base)
    }

    /// The same for a key of many versions: the newest visible one is sought.
    #[cold]
    fn gather_by_seeking(&mut self) -> Result<bool> {
        self.skipped.seeks += 2;
        let target = InternalKey::for_seek(&self.key, self.options.read_seqno).encode();
        self.inner.seek(&target)?;
        let found = self.resolve()?;
        self.inner.seek_for_prev(&InternalKey::for_seek(&self.key, SeqNo::MAX).encode())?;
        Ok(found)
    }

    fn keep_prefix_of(&mut self, user_key: &[u8]) {
        let extractor = self.options.same_prefix.as_ref();
        self.prefix = extractor.and_then(|e| e.prefix(user_key)).map(<[u8]>::to_vec);
    }

    fn keep_prefix_found(&mut self) {
        if self.is_valid()
            && let Some(extractor) = &self.options.same_prefix
        {
            self.prefix = extractor.prefix(self.key()).map(<[u8]>::to_vec);
        }
    }
}

#[cold]
fn skipped_too_many(most: u64) -> Error {
    let message = format!("a move passed over more than {most} entries, and was to end there");
    Error::new(ErrorKind::Incomplete, message)
}

/// Moves to the first entry behind all versions of `key`, which it stands on.
#[cold]
fn pass_versions<I: InternalIterator>(inner: &mut I, order: &KeyOrder, key: &[u8]) -> Result<()> {
    inner.seek(&InternalKey::for_seek_for_prev(key).encode())?;
    while inner.is_valid() && order.compare(user_key(inner.key()), key).is_le() {
        inner.next()?;
    }
    Ok(())
}

#[inline]
fn has_prefix(
    extractor: &Option<PrefixExtractor>,
    prefix: &Option<Vec<u8>>,
    user_key: &[u8],
) -> bool {
    match (extractor, prefix) {
        (Some(extractor), Some(prefix)) => extractor.prefix(user_key) == Some(prefix),
        _ => true,
    }
}

#[inline]
fn keep(kept: &mut Vec<u8>, bytes: &[u8]) {
    kept.clear();
    kept.extend_from_slice(bytes);
}
