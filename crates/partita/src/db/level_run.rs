use std::sync::Arc;

use super::family::FamilyState;
use super::file_iter::FileIter;
use super::scope::Scope;
use crate::error::Result;
use crate::iter::{RangeTombstones, SortedRun};
use crate::version::{Level, Version};

/// A sorted level as iterators walk over it: its tables are opened when the walk gets there.
pub(super) struct LevelRun {
    family: Arc<FamilyState>,
    version: Arc<Version>,
    level: usize,
    scope: Arc<Scope>,
}

impl LevelRun {
    pub(super) fn new(
        family: &Arc<FamilyState>,
        version: &Arc<Version>,
        level: usize,
        scope: &Arc<Scope>,
    ) -> Self {
        let (family, version) = (Arc::clone(family), Arc::clone(version));
        Self { family, version, level, scope: Arc::clone(scope) }
    }

    fn files(&self) -> &Level {
        &self.version.levels()[self.level]
    }
}

impl SortedRun for LevelRun {
    type Iter = FileIter;

    fn file_count(&self) -> usize {
        self.files().len()
    }

    fn smallest(&self, at: usize) -> &[u8] {
        &self.files().files()[at].smallest
    }

    fn largest(&self, at: usize) -> &[u8] {
        &self.files().files()[at].largest
    }

    fn open(&self, at: usize) -> Result<FileIter> {
        let file = &self.files().files()[at];
        let mut ctx = self.scope.context();
        let table = self.family.tables.get(file, self.level, &mut ctx)?;
        self.scope.charge(&ctx);
        Ok(FileIter::new(file, &table, &self.scope))
    }

    fn is_wanted(&self, at: usize) -> bool {
        let file = &self.files().files()[at];
        self.scope.overlaps(file.smallest_user_key(), file.largest_user_key())
    }

    fn range_tombstones(&self, at: usize) -> Result<Option<Arc<RangeTombstones>>> {
        let mut ctx = self.scope.context();
        let table = self.family.tables.get(&self.files().files()[at], self.level, &mut ctx)?;
        let set = table.range_tombstones_if_any(&mut ctx)?.cloned();
        self.scope.charge(&ctx);
        Ok(set)
    }
}
