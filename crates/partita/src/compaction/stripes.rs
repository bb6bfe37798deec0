use crate::key::SeqNo;

/// The live snapshots, as the stripes they cut the sequence numbers into.
///
/// ```text
/// snapshots         s0          s1          s2
/// stripes      0    |     1     |     2     |    3 = the tip
/// ```
///
/// Two entries of one user key in the same stripe cannot be told apart: whoever sees the older one sees the newer one
/// too. So of each stripe only the newest matters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stripes {
    /// Ascending, without repetition.
    snapshots: Box<[SeqNo]>,
}

impl Stripes {
    /// * `snapshots`: in any order.
    pub(crate) fn new(mut snapshots: Vec<SeqNo>) -> Self {
        snapshots.sort_unstable();
        snapshots.dedup();
        Self { snapshots: snapshots.into() }
    }

    /// The stripe of an entry.
    #[inline]
    pub(crate) fn of(&self, seqno: SeqNo) -> usize {
        match self.snapshots.last() {
            Some(newest) if seqno <= *newest => self.snapshots.partition_point(|s| *s < seqno),
            _ => self.tip(),
        }
    }

    /// The stripe that no snapshot sees.
    pub(crate) fn tip(&self) -> usize {
        self.snapshots.len()
    }

    /// The greatest sequence number of a stripe: that of the snapshot at its upper end.
    #[inline]
    pub(crate) fn top(&self, stripe: usize) -> SeqNo {
        self.snapshots.get(stripe).copied().unwrap_or(SeqNo::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seqno(n: u64) -> SeqNo {
        SeqNo::new(n).unwrap()
    }

    #[test]
    fn a_snapshot_belongs_to_the_stripe_below_it() {
        let stripes = Stripes::new([7, 3, 7].map(seqno).into());
        let of: Vec<usize> = (0..10).map(|n| stripes.of(seqno(n))).collect();
        assert_eq!(of, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]);
        assert_eq!([0, 1, 2].map(|stripe| stripes.top(stripe)), [seqno(3), seqno(7), SeqNo::MAX]);
        assert_eq!((stripes.tip(), Stripes::default().tip()), (2, 0));
    }
}
