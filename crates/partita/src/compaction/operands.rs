use crate::key::SeqNo;
use crate::merge::MergeOperator;

/// Bytes of operands held back for one key; more are written as they are, so that one key cannot take all memory.
const BYTES_MAX: usize = 16 << 20;

/// Merge operands of one user key and one stripe, newest first, that wait for what is under them.
#[derive(Default)]
pub(super) struct Operands {
    stripe: usize,
    /// Sequence number, and where the operand ends in `bytes`.
    ends: Vec<(SeqNo, usize)>,
    bytes: Vec<u8>,
}

impl Operands {
    pub(super) fn push(&mut self, stripe: usize, seqno: SeqNo, operand: &[u8]) {
        debug_assert!(self.is_empty() || self.stripe == stripe);
        self.stripe = stripe;
        self.bytes.extend_from_slice(operand);
        self.ends.push((seqno, self.bytes.len()));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether no more should be held back.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= BYTES_MAX
    }

    /// The stripe of the operands, if there are any.
    pub(super) fn stripe(&self) -> Option<usize> {
        (!self.is_empty()).then_some(self.stripe)
    }

    pub(super) fn oldest(&self) -> Option<SeqNo> {
        self.ends.last().map(|(seqno, _)| *seqno)
    }

    pub(super) fn newest(&self) -> Option<SeqNo> {
        self.ends.first().map(|(seqno, _)| *seqno)
    }

    /// Forgets the oldest operand, if it has this number.
    pub(super) fn forget_oldest(&mut self, seqno: SeqNo) {
        if self.ends.pop_if(|(oldest, _)| *oldest == seqno).is_some() {
            self.bytes.truncate(self.ends.last().map_or(0, |(_, end)| *end));
        }
    }

    pub(super) fn newest_first(&self) -> impl DoubleEndedIterator<Item = (SeqNo, &[u8])> {
        self.ends.iter().enumerate().map(|(at, (seqno, end))| {
            let start = at.checked_sub(1).map_or(0, |before| self.ends[before].1);
            (*seqno, &self.bytes[start..*end])
        })
    }

    pub(super) fn oldest_first(&self) -> Vec<&[u8]> {
        self.newest_first().rev().map(|(_, operand)| operand).collect()
    }

    /// Several operands as one of the same effect, if the operator can.
    pub(super) fn as_one(&self, operator: &dyn MergeOperator, user_key: &[u8]) -> Option<Vec<u8>> {
        let mut rest = self.newest_first().rev().map(|(_, operand)| operand);
        let (oldest, second) = (rest.next()?, rest.next()?);
        let (mut older, mut out) = (Vec::new(), Vec::new());
        if !operator.partial_merge(user_key, oldest, second, &mut older) {
            return None;
        }
        for newer in rest {
            out.clear();
            if !operator.partial_merge(user_key, &older, newer, &mut out) {
                return None;
            }
            std::mem::swap(&mut older, &mut out);
        }
        Some(older)
    }

    pub(super) fn clear(&mut self) {
        self.ends.clear();
        self.bytes.clear();
    }

    pub(super) fn cleared(mut self) -> Self {
        self.clear();
        self
    }
}
