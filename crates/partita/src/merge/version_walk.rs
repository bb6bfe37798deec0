//! What the versions of one user key come to, from the newest to the base.

use std::ops::Range;

use super::{MergeOperator, default_column};
use crate::error::{Error, Result};
use crate::key::{Excerpt, SeqNo, ValueType};

/// What one more version says about the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict<'v> {
    /// The key has, or before its operands had, this value: a part of the version's.
    Base(&'v [u8]),
    /// The key is, or before its operands was, absent.
    Absent,
    /// An operand: what is older decides.
    Continue,
}

/// Walks the versions of one user key, newest first, through any number of sources.
///
/// The caller shows every version visible to it until a verdict other than [`Verdict::Continue`], or until there are no
/// more, which is the same as [`Verdict::Absent`]; then [`VersionWalk::has_operands`] tells whether the base is the
/// answer, or [`VersionWalk::merge`] has to make one. Operands are copied, values are not; a walk that is kept for many
/// keys keeps its memory.
///
/// ```
/// use partita::key::{SeqNo, ValueType};
/// use partita::merge::{UInt64Add, Verdict, VersionWalk};
///
/// let mut walk = VersionWalk::default();
/// let seqno = |n| SeqNo::new(n).unwrap();
/// let one = 1u64.to_le_bytes();
/// assert_eq!(walk.take(seqno(9), ValueType::Merge, &one)?, Verdict::Continue);
/// assert_eq!(walk.take(seqno(7), ValueType::Value, &one)?, Verdict::Base(&one));
/// let mut sum = Vec::new();
/// walk.merge(Some(&UInt64Add), b"key", Some(&one), &mut sum)?;
/// assert_eq!(sum, 2u64.to_le_bytes());
/// # Ok::<(), partita::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct VersionWalk {
    /// The newest range tombstone over the key that the reader sees; older versions are hidden by it.
    covered: Option<SeqNo>,
    /// The operands one behind the other, and where each is; newest first.
    bytes: Vec<u8>,
    operands: Vec<Range<usize>>,
}

impl VersionWalk {
    /// Starts with another key.
    pub fn reset(&mut self) {
        self.covered = None;
        self.bytes.clear();
        self.operands.clear();
    }

    /// Notes a range tombstone over the key that the reader sees. All tombstones of a source must be noted before its
    /// versions are shown.
    pub fn cover(&mut self, tombstone: Option<SeqNo>) {
        self.covered = self.covered.max(tombstone);
    }

    /// The newest range tombstone noted.
    pub fn covered(&self) -> Option<SeqNo> {
        self.covered
    }

    /// Takes the next older version.
    ///
    /// * Errors: `NotSupported` for a value in a blob file; `Corruption` if the value is not what its type says.
    #[inline]
    pub fn take<'v>(
        &mut self,
        seqno: SeqNo,
        value_type: ValueType,
        value: &'v [u8],
    ) -> Result<Verdict<'v>> {
        if self.covered.is_some_and(|covered| seqno < covered) {
            return Ok(Verdict::Absent);
        }
        match value_type {
            ValueType::Value => Ok(Verdict::Base(value)),
            ValueType::Deletion
            | ValueType::SingleDeletion
            | ValueType::DeletionWithTimestamp
            | ValueType::RangeDeletion => Ok(Verdict::Absent),
            ValueType::Merge => {
                self.push_operand(value);
                Ok(Verdict::Continue)
            }
            ValueType::WideColumnEntity | ValueType::ValuePreferredSeqno | ValueType::BlobIndex => {
                plain_value(value_type, value).map(Verdict::Base)
            }
        }
    }

    /// Adds an operand that is older than those before.
    pub fn push_operand(&mut self, operand: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(operand);
        self.operands.push(start..self.bytes.len());
    }

    /// Whether the base alone is not the answer.
    #[inline]
    pub fn has_operands(&self) -> bool {
        !self.operands.is_empty()
    }

    /// The operands so far, newest first.
    pub fn operands(&self) -> impl ExactSizeIterator<Item = &[u8]> + DoubleEndedIterator {
        self.operands.iter().map(|range| &self.bytes[range.clone()])
    }

    /// Puts into `out` what the operands make of `base`.
    ///
    /// * Errors: `NotSupported` without an operator, those of the operator.
    pub fn merge(
        &self,
        operator: Option<&dyn MergeOperator>,
        user_key: &[u8],
        base: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let operands: Vec<&[u8]> = self.operands().rev().collect();
        full_merge(operator, user_key, base, &operands, out)
    }
}

/// Puts into `out` what `operands`, oldest first, make of `base`; an error names the key.
pub(crate) fn full_merge(
    operator: Option<&dyn MergeOperator>,
    user_key: &[u8],
    base: Option<&[u8]>,
    operands: &[&[u8]],
    out: &mut Vec<u8>,
) -> Result<()> {
    out.clear();
    let Some(operator) = operator else {
        return Err(Error::not_supported(format!(
            "key {} has merge operands, and no merge operator is given",
            Excerpt(user_key)
        )));
    };
    operator.full_merge(user_key, base, operands, out).map_err(|error| {
        let message = format!(
            "merge operator {} on key {}: {}",
            operator.name(),
            Excerpt(user_key),
            error.message()
        );
        Error::new(error.kind(), message).with_source(error)
    })
}

/// The value that a reader gets for an entry of a type that has one.
pub(crate) fn plain_value(value_type: ValueType, value: &[u8]) -> Result<&[u8]> {
    match value_type {
        ValueType::WideColumnEntity => default_column(value),
        ValueType::ValuePreferredSeqno => match value.split_last_chunk::<8>() {
            Some((value, _)) => Ok(value),
            None => Err(Error::corruption("timed put without its sequence number")),
        },
        ValueType::BlobIndex => {
            Err(Error::not_supported("the value is in a blob file; blob files are not read"))
        }
        _ => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::merge::StringAppend;

    fn seqno(n: u64) -> SeqNo {
        SeqNo::new(n).unwrap()
    }

    #[test]
    fn a_tombstone_hides_what_is_older_and_not_what_is_as_old() {
        let mut walk = VersionWalk::default();
        walk.cover(Some(seqno(5)));
        walk.cover(None);
        walk.cover(Some(seqno(3)));
        assert_eq!(walk.take(seqno(6), ValueType::Merge, b"m").unwrap(), Verdict::Continue);
        assert_eq!(walk.take(seqno(5), ValueType::Value, b"v").unwrap(), Verdict::Base(b"v"));
        assert_eq!(walk.take(seqno(4), ValueType::Value, b"v").unwrap(), Verdict::Absent);
        walk.reset();
        assert!(!walk.has_operands());
        assert_eq!(walk.take(seqno(4), ValueType::Value, b"v").unwrap(), Verdict::Base(b"v"));
    }

    #[test]
    fn operands_are_applied_oldest_first() {
        let mut walk = VersionWalk::default();
        for (at, operand) in [(9, b"c"), (8, b"b")] {
            walk.take(seqno(at), ValueType::Merge, operand).unwrap();
        }
        let mut out = b"leftover".to_vec();
        let operator = StringAppend::new(*b"-");
        walk.merge(Some(&operator), b"k", Some(b"a"), &mut out).unwrap();
        assert_eq!(out, b"a-b-c");
        walk.merge(Some(&operator), b"k", None, &mut out).unwrap();
        assert_eq!(out, b"b-c");
        let error = walk.merge(None, b"k", None, &mut out).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotSupported);
        assert_eq!(error.message(), "key \"k\" has merge operands, and no merge operator is given");
    }

    #[test]
    fn every_type_has_its_verdict() {
        let mut walk = VersionWalk::default();
        let mut take = |value_type, value| {
            walk.take(seqno(1), value_type, value).map_err(|error| error.kind())
        };
        for deletion in
            [ValueType::Deletion, ValueType::SingleDeletion, ValueType::DeletionWithTimestamp]
        {
            assert_eq!(take(deletion, b""), Ok(Verdict::Absent));
        }
        let timed = ValueType::ValuePreferredSeqno;
        assert_eq!(take(timed, b"v12345678"), Ok(Verdict::Base(b"v")));
        assert_eq!(take(timed, b"1234567"), Err(ErrorKind::Corruption));
        let entity = b"\x01\x02\x00\x01\x01c\x01vw";
        assert_eq!(take(ValueType::WideColumnEntity, entity), Ok(Verdict::Base(b"v")));
        assert_eq!(take(ValueType::BlobIndex, b""), Err(ErrorKind::NotSupported));
    }
}
