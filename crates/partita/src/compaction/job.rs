//! One compaction, or one part of its key range: entries in, tables out.
//!
//! ```text
//! inputs.rs ─ merged entries ─> survivors.rs ─ what is left ─> outputs.rs ─> tables, synced, their names durable
//!                                  ^    ^
//!              tombstones.rs ──────┘    └────── below.rs      what hides an entry; what an entry hides
//! ```
//!
//! Nothing of the database changes: the caller names the tables in an edit, or removes them.

use std::sync::Arc;

use super::below::Below;
use super::inputs;
use super::new_table::{NewTable, Origin};
use super::outputs::Outputs;
use super::picker::Compaction;
use super::stripes::Stripes;
use super::survivors::{Fates, Rules, Surroundings, Survivors};
use super::tombstones::{InputCover, Tombstones};
use crate::error::{Error, ErrorKind, Result};
use crate::io::{Access, FileSystem};
use crate::iter::{Bounds, InternalIterator as _};
use crate::key::{InternalKey, SeqNo, user_key};
use crate::merge::{CompactionFilter, MergeOperator};
use crate::options::ColumnFamilyOptions;
use crate::version::{Family, TableCache, VersionSet};

/// Entries between two looks at whether the work is still wanted.
const ENTRIES_BETWEEN_LOOKS: u32 = 1024;

/// What a compaction needs from its database.
pub(crate) struct Job<'j> {
    pub(crate) compaction: &'j Compaction,
    pub(crate) versions: &'j VersionSet,
    pub(crate) fs: &'j dyn FileSystem,
    /// Of new tables.
    pub(crate) access: Access,
    pub(crate) tables: &'j Arc<TableCache>,
    pub(crate) family: &'j Family,
    pub(crate) options: &'j ColumnFamilyOptions,
    pub(crate) merge_operator: Option<&'j dyn MergeOperator>,
    pub(crate) filter: Option<&'j dyn CompactionFilter>,
    pub(crate) stripes: &'j Stripes,
    pub(crate) tombstones: &'j Tombstones,
    pub(crate) origin: Origin<'j>,
    pub(crate) base_level: i32,
    /// Asked now and then whether to give up.
    pub(crate) is_cancelled: &'j (dyn Fn() -> bool + Sync),
}

/// User keys from `from` up to `to`, exclusive; `None` has no bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub(crate) from: Option<Vec<u8>>,
    pub(crate) to: Option<Vec<u8>>,
}

/// What came out.
#[derive(Debug, Default)]
pub(crate) struct Product {
    pub(crate) tables: Vec<NewTable>,
    pub(crate) fates: Fates,
}

impl Product {
    /// Adds what came out of the next part.
    pub(crate) fn add(&mut self, part: Self) {
        self.tables.extend(part.tables);
        self.fates += part.fates;
    }
}

impl Job<'_> {
    /// Merges the part of the input in `range`.
    ///
    /// * Errors: those of reading and writing; `Aborted` if it was cancelled. No table is left then.
    pub(crate) fn run(&self, range: &KeyRange) -> Result<Product> {
        let order = self.family.key_order();
        let bounds = Arc::new(Bounds::half_open(range.from.as_deref(), range.to.as_deref()));
        let mut around = Around {
            cover: InputCover::new(self.tombstones, order),
            stripes: self.stripes,
            below: Below::new(self.compaction),
        };
        let bottommost = around.below.is_empty();
        let mut survivors = Survivors::new(Rules {
            order,
            stripes: self.stripes,
            bottommost,
            merge_operator: self.merge_operator,
            filter: self.filter,
            level: u8::try_from(self.compaction.output_level).unwrap_or(u8::MAX),
        });
        let ends = (range.from.as_deref(), range.to.as_deref());
        let mut outputs = Outputs::new(self, ends, bottommost);
        let mut emit = |key: &[u8], value: &[u8]| outputs.add(key, value);

        let mut entries = inputs::merged(self.compaction, self.tables, order, &bounds)?;
        match &range.from {
            Some(from) => entries.seek(&InternalKey::for_seek(from, SeqNo::MAX).encode())?,
            None => entries.seek_to_first()?,
        }
        let mut until_look = ENTRIES_BETWEEN_LOOKS;
        while entries.is_valid() {
            let key = entries.key();
            if range.to.as_ref().is_some_and(|to| order.compare(user_key(key), to).is_ge()) {
                break;
            }
            survivors.offer(key, entries.value(), &mut around, &mut emit)?;
            entries.next()?;
            until_look -= 1;
            if until_look == 0 {
                self.check_cancelled()?;
                until_look = ENTRIES_BETWEEN_LOOKS;
            }
        }
        survivors.finish(&mut around, &mut emit)?;
        let fates = *survivors.fates();
        Ok(Product { tables: outputs.finish()?, fates })
    }

    fn check_cancelled(&self) -> Result<()> {
        match (self.is_cancelled)() {
            true => Err(Error::new(ErrorKind::Aborted, "the compaction was cancelled")),
            false => Ok(()),
        }
    }
}

struct Around<'c> {
    cover: InputCover<'c>,
    stripes: &'c Stripes,
    below: Below<'c>,
}

impl Surroundings for Around<'_> {
    #[inline]
    fn newest_tombstone(
        &mut self,
        entry: &InternalKey<'_>,
        stripe: usize,
    ) -> Result<Option<SeqNo>> {
        self.cover.newest(entry, stripe, self.stripes)
    }

    #[inline]
    fn older_outside(&mut self, user_key: &[u8]) -> bool {
        self.below.may_have(user_key)
    }
}
