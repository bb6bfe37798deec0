//! Tables that flushes and compactions write: what stands in them about where they come from, and what the manifest will
//! say of them.

use crate::filter::FilterLevel;
use crate::merge::MergeOperator;
use crate::table::{TableContext, TableSummary};
use crate::version::{Family, FileMeta, PendingOutput, TableCounts, VersionSet, unique_id};

/// Who writes a table, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin<'o> {
    pub(crate) session: &'o str,
    pub(crate) unix_seconds: u64,
}

impl Origin<'_> {
    /// What a table's properties tell.
    ///
    /// * `oldest_ancestor_time`: when the oldest of its data came into being, in Unix seconds.
    pub(crate) fn context(
        &self,
        versions: &VersionSet,
        family: &Family,
        merge_operator: Option<&dyn MergeOperator>,
        level: FilterLevel,
        pending: &PendingOutput,
        oldest_ancestor_time: u64,
    ) -> TableContext {
        TableContext {
            level,
            column_family_id: u64::from(family.id()),
            column_family_name: family.name().to_owned(),
            db_id: versions.db_id().unwrap_or_default().to_owned(),
            db_session_id: self.session.to_owned(),
            file_number: pending.number().get(),
            creation_time: oldest_ancestor_time,
            file_creation_time: self.unix_seconds,
            merge_operator_name: merge_operator.map(|operator| operator.name().to_owned()),
            ..TableContext::default()
        }
    }
}

/// A table that no version names yet.
#[derive(Debug)]
pub(crate) struct NewTable {
    pub(crate) file: FileMeta,
    /// Keeps it from those who look for files that nobody needs.
    _pending: PendingOutput,
}

impl NewTable {
    /// A table that is written and synced; `None` if nothing is in it.
    ///
    /// * `epoch`: its place in age among the tables of level 0.
    pub(crate) fn new(
        pending: PendingOutput,
        summary: &TableSummary,
        origin: &Origin<'_>,
        epoch: impl FnOnce() -> u64,
        oldest_ancestor_time: u64,
    ) -> Option<Self> {
        let (smallest, largest) = (summary.smallest.as_ref()?, summary.largest.as_ref()?);
        let file = FileMeta {
            smallest_seqno: summary.smallest_seqno,
            largest_seqno: summary.largest_seqno,
            epoch: epoch(),
            oldest_ancestor_time,
            creation_time: origin.unix_seconds,
            unique_id: unique_id::of_table(&summary.properties),
            counts: TableCounts::of_table(&summary.properties),
            ..FileMeta::new(pending.number(), summary.file_size, smallest, largest)
        };
        Some(Self { file, _pending: pending })
    }
}
