//! What kinds of records a batch has, noted while they are added: who writes the batch need not go over it to know.

use super::record::Record;

/// What the records of a batch touch and need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    /// The column families, sorted.
    families: Vec<u32>,
    /// Whether there are records that a database may have to refuse for more than their family: operands, ranges, blob
    /// references, marks of transactions.
    has_others: bool,
}

impl Contents {
    /// Notes a put or a deletion.
    #[inline]
    pub(super) fn note_plain(&mut self, family: u32) {
        if let Err(at) = self.families.binary_search(&family) {
            self.families.insert(at, family);
        }
    }

    pub(super) fn note(&mut self, record: &Record<'_>) {
        if let Some(family) = record.family() {
            self.note_plain(family);
        }
        self.has_others |= !matches!(
            record,
            Record::Put { .. }
                | Record::Delete { .. }
                | Record::SingleDelete { .. }
                | Record::LogData(_)
                | Record::Noop
        );
    }

    pub(super) fn note_all(&mut self, other: &Self) {
        for &family in &other.families {
            self.note_plain(family);
        }
        self.has_others |= other.has_others;
    }

    pub(super) fn clear(&mut self) {
        self.families.clear();
        self.has_others = false;
    }

    /// The column families that records change, sorted.
    pub(crate) fn families(&self) -> &[u32] {
        &self.families
    }

    /// Whether all records are puts, deletions, or change nothing.
    pub(crate) fn is_plain(&self) -> bool {
        !self.has_others
    }
}
