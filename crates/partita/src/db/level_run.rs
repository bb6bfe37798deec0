use std::sync::Arc;

use super::family::FamilyState;
use crate::error::Result;
use crate::iter::{RangeTombstones, SortedRun};
use crate::table::{ReadContext, TableIter};
use crate::version::{Level, Version};

/// A sorted level as iterators walk over it: its tables are opened when the walk gets there.
pub(super) struct LevelRun {
    family: Arc<FamilyState>,
    version: Arc<Version>,
    level: usize,
    /// The limits of the walk.
    limits: ReadContext,
}

impl LevelRun {
    pub(super) fn new(
        family: &Arc<FamilyState>,
        version: &Arc<Version>,
        level: usize,
        limits: &ReadContext,
    ) -> Self {
        let (family, version) = (Arc::clone(family), Arc::clone(version));
        Self { family, version, level, limits: limits.fork() }
    }

    fn files(&self) -> &Level {
        &self.version.levels()[self.level]
    }
}

impl SortedRun for LevelRun {
    type Iter = TableIter;

    fn file_count(&self) -> usize {
        self.files().len()
    }

    fn smallest(&self, at: usize) -> &[u8] {
        &self.files().files()[at].smallest
    }

    fn largest(&self, at: usize) -> &[u8] {
        &self.files().files()[at].largest
    }

    fn open(&self, at: usize) -> Result<TableIter> {
        let file = &self.files().files()[at];
        let table = self.family.tables.get(file, self.level, &mut self.limits.fork())?;
        Ok(table.iter_in(&self.limits))
    }

    fn range_tombstones(&self, at: usize) -> Result<Option<Arc<RangeTombstones>>> {
        let ctx = &mut self.limits.fork();
        let table = self.family.tables.get(&self.files().files()[at], self.level, ctx)?;
        match table.has_range_tombstones() {
            true => Ok(Some(Arc::clone(table.range_tombstones(ctx)?))),
            false => Ok(None),
        }
    }
}
