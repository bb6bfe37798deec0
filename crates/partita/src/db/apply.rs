//! From the records of a batch to the memtables.

use std::collections::BTreeMap;

use super::family::FamilyState;
use crate::batch::{BatchReader, Record, Records, TransactionMark};
use crate::error::{Error, Result};
use crate::key::{Excerpt, SeqNo, ValueType};
use crate::memtable::{InsertHint, MemTable, NewEntry};

/// Where records of a family go.
pub(super) enum Target<'m> {
    MemTable(&'m MemTable),
    /// Nowhere: what they say is in tables already, or the family is gone.
    Nowhere,
}

/// Inserts the records of a batch that was checked as a whole.
///
/// * `first`: the sequence number of the first record that counts.
/// * `target`: where the records of a family go; an error for a family that nobody knows.
/// * Returns the number behind the last one used.
pub(super) fn apply<'m>(
    batch: &BatchReader<'_>,
    first: SeqNo,
    hints: &mut Hints,
    mut target: impl FnMut(u32) -> Result<Target<'m>>,
) -> Result<u64> {
    let mut changes = Changes { records: batch.records(), first: first.get() };
    let mut next = changes.next()?;
    let are_few = batch.count() < FEW;
    let mut window = Vec::new();
    // A writer's counts go to its memtable at its end: one for all neighbours of a family.
    while let Some(entry) = next {
        let family = entry.family;
        let Target::MemTable(memtable) = target(family)? else {
            next = changes.next()?;
            continue;
        };
        let mut writer = memtable.writer(hints.of(family));
        let mut entry = Some(entry);
        while let Some(same) = entry.take_if(|entry| entry.family == family) {
            match same.change {
                Change::Point(value_type, user_key, value) if are_few => {
                    writer.insert(same.seqno()?, value_type, user_key, value)?;
                }
                Change::Point(value_type, user_key, value) => {
                    let seqno = same.seqno()?;
                    window.push(NewEntry { seqno, value_type, user_key, value });
                }
                Change::Range(begin, end) => writer.delete_range(same.seqno()?, begin, end)?,
            }
            if window.len() == WINDOW {
                writer.insert_all(&window)?;
                window.clear();
            }
            entry = changes.next()?;
        }
        writer.insert_all(&window)?;
        window.clear();
        next = entry;
    }
    Ok(first.get() + changes.records.counted())
}

/// Records that are decoded before they are inserted, so that their places can be looked for together.
const WINDOW: usize = 128;
/// A batch of fewer records is inserted as it is decoded.
const FEW: u32 = 8;

/// What the records of a batch change, front to back.
struct Changes<'b> {
    records: Records<'b>,
    first: u64,
}

/// A change with its sequence number.
struct NumberedChange<'b> {
    number: u64,
    family: u32,
    change: Change<'b>,
}

impl<'b> Changes<'b> {
    fn next(&mut self) -> Result<Option<NumberedChange<'b>>> {
        loop {
            let number = self.first + self.records.counted();
            let Some(record) = self.records.next() else { return Ok(None) };
            if let Some((family, change)) = change_of(&record?)? {
                return Ok(Some(NumberedChange { number, family, change }));
            }
        }
    }
}

impl NumberedChange<'_> {
    fn seqno(&self) -> Result<SeqNo> {
        SeqNo::new(self.number).ok_or_else(|| {
            Error::corruption("sequence numbers have 56 bits; the batch goes beyond")
        })
    }
}

/// Where each family's sorted keys were inserted last.
#[derive(Default)]
pub(super) struct Hints(BTreeMap<u32, InsertHint>);

impl Hints {
    fn of(&mut self, family: u32) -> &mut InsertHint {
        self.0.entry(family).or_default()
    }
}

/// Refuses a record that could not be inserted.
///
/// * `family`: the family of this number.
pub(super) fn check<'f>(
    record: &Record<'_>,
    family: impl FnOnce(u32) -> Option<&'f FamilyState>,
) -> Result<()> {
    let Some((id, change)) = change_of(record)? else { return Ok(()) };
    let family = family(id).ok_or_else(|| no_family(id))?;
    let name = family.family.name();
    match change {
        Change::Range(begin, end) if family.family.key_order().compare(begin, end).is_gt() => {
            Err(Error::invalid_argument(format!(
                "range deletion from {} to {}: the end sorts before the beginning",
                Excerpt(begin),
                Excerpt(end)
            )))
        }
        Change::Point(ValueType::Merge, ..) if family.merge_operator.is_none() => {
            Err(Error::invalid_argument(format!("column family {name:?} has no merge operator")))
        }
        Change::Point(ValueType::BlobIndex, ..) => {
            Err(Error::not_supported("write batch with a reference to a blob file"))
        }
        _ => Ok(()),
    }
}

#[cold]
pub(super) fn no_family(id: u32) -> Error {
    Error::invalid_argument(format!("column family {id} was dropped or never was"))
}

enum Change<'a> {
    Point(ValueType, &'a [u8], &'a [u8]),
    Range(&'a [u8], &'a [u8]),
}

/// What a record changes; `None` if nothing.
///
/// * Errors: `NotSupported` for transactions, whose records count from a later mark on.
fn change_of<'a>(record: &Record<'a>) -> Result<Option<(u32, Change<'a>)>> {
    Ok(Some(match *record {
        Record::Put { family, key, value } => (family, Change::Point(ValueType::Value, key, value)),
        Record::Delete { family, key } => (family, Change::Point(ValueType::Deletion, key, &[])),
        Record::SingleDelete { family, key } => {
            (family, Change::Point(ValueType::SingleDeletion, key, &[]))
        }
        Record::Merge { family, key, operand } => {
            (family, Change::Point(ValueType::Merge, key, operand))
        }
        Record::BlobIndex { family, key, index } => {
            (family, Change::Point(ValueType::BlobIndex, key, index))
        }
        Record::DeleteRange { family, begin, end } => (family, Change::Range(begin, end)),
        Record::LogData(_) | Record::Noop => return Ok(None),
        Record::Transaction(mark) => return Err(no_transactions(mark)),
    }))
}

#[cold]
fn no_transactions(mark: TransactionMark<'_>) -> Error {
    let name = match mark {
        TransactionMark::BeginPrepare
        | TransactionMark::BeginPersistedPrepare
        | TransactionMark::BeginUnprepare => "begin of a prepared transaction",
        TransactionMark::EndPrepare(_) => "end of a prepared transaction",
        TransactionMark::Commit(_) => "commit of a prepared transaction",
        TransactionMark::Rollback(_) => "rollback of a prepared transaction",
    };
    Error::not_supported(format!("write batch with a mark of two-phase commit: {name}"))
}
