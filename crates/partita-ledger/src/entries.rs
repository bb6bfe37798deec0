use std::fmt;

use partita::db::DbIterator;

use crate::error::Result;
use crate::key::{decode, decode_location};

/// Where an entry of a ledger lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EntryLocation {
    /// The ledger.
    pub ledger_id: i64,
    /// The entry.
    pub entry_id: i64,
    /// Where it lies: for a bookie, entry log and offset. 0 is never the location of an entry.
    pub location: i64,
}

/// A walk over entries, in the order of their keys, as they were when it was made. An error ends it.
///
/// Negative numbers sort behind all others: entries of a ledger go from 0 to `i64::MAX`, then from `i64::MIN` to -1.
pub struct Entries {
    iter: DbIterator,
    place: Place,
}

#[derive(Clone, Copy)]
enum Place {
    BeforeFirst,
    /// The entry there was given out.
    OnLast,
    End,
}

impl Entries {
    pub(crate) fn new(iter: DbIterator) -> Self {
        Self { iter, place: Place::BeforeFirst }
    }

    fn advance(&mut self) -> Result<Option<EntryLocation>> {
        match self.place {
            Place::BeforeFirst => self.iter.seek_to_first()?,
            Place::OnLast => self.iter.next()?,
            Place::End => return Ok(None),
        }
        if !self.iter.is_valid() {
            return Ok(None);
        }
        self.place = Place::OnLast;
        let (ledger_id, entry_id) = decode(self.iter.key())?;
        let location = decode_location(ledger_id, entry_id, self.iter.value())?;
        Ok(Some(EntryLocation { ledger_id, entry_id, location }))
    }
}

impl Iterator for Entries {
    type Item = Result<EntryLocation>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.advance();
        if !matches!(next, Ok(Some(_))) {
            self.place = Place::End;
        }
        next.transpose()
    }
}

impl std::iter::FusedIterator for Entries {}

impl fmt::Debug for Entries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entries").finish_non_exhaustive()
    }
}
