//! The examinations, one a module. Each takes a [`Case`] and gives findings.

mod asked;
mod caches;
mod cliff;
mod filters;
mod health;
mod info_log;
mod layouts;
mod logs;
mod memory;
mod metadata_blocks;
mod opening;
mod options_file;
mod page_cache;
mod played;
mod readers;
pub(crate) mod together;
mod tombstones;

#[cfg(test)]
mod large_tests;

use crate::asked::AskedFile;
use crate::finding::{Finding, Remedy};
use crate::model::{Database, Table, Verified};
use crate::request::Request;
use crate::setting;
use crate::settings::{Settings, SharedCache};

/// A database with all that is known about how it is opened.
pub(crate) struct Case<'c> {
    pub(crate) database: &'c Database,
    pub(crate) settings: &'c Settings,
    pub(crate) request: &'c Request,
    pub(crate) asked: Option<&'c AskedFile>,
    pub(crate) verified: Option<&'c Verified>,
}

impl Case<'_> {
    /// The name of a table's family.
    pub(crate) fn family_of(&self, table: &Table) -> &str {
        self.database.family(table.family).map_or("", |family| &family.name)
    }

    /// The tables of the families that share a cache.
    pub(crate) fn tables_of<'t>(
        &'t self,
        cache: &'t SharedCache<'_>,
    ) -> impl Iterator<Item = &'t Table> {
        self.database.tables.iter().filter(|table| {
            cache.families.iter().any(|family| family.name == self.family_of(table))
        })
    }
}

/// Small pieces of index and filter: what helps against most of what is found here.
pub(crate) fn metadata_remedy() -> Remedy {
    Remedy::new("cut index and filters into partitions")
        .settings(setting::partitions())
        .then(
            "then write the tables anew, which keep their layout until then: CompactRange over everything with \
             CompactRangeOptions::bottommost_level_compaction = kForce (Java: \
             CompactRangeOptions.setBottommostLevelCompaction(kForce); a bookie, whose own compaction does not force the \
             last level: bookkeeper shell rebuild-db-ledger-locations-index)",
        )
        .partita(
            "opens the directory as it is and reads index and filters in pieces of 4 KiB, whatever their layout: give it \
             a Cache of any size; nothing has to be written anew",
        )
}

/// All findings, the most serious first; those of one severity in the order of the examinations.
pub(crate) fn examine(case: &Case<'_>) -> Vec<Finding> {
    let examinations: &[fn(&Case<'_>) -> Vec<Finding>] = &[
        cliff::examine,
        memory::examine,
        options_file::examine,
        asked::examine,
        layouts::examine,
        caches::examine,
        filters::examine,
        tombstones::examine,
        health::examine,
        readers::examine,
        logs::examine,
        info_log::examine,
        opening::examine,
        page_cache::examine,
    ];
    let mut findings: Vec<Finding> = examinations.iter().flat_map(|exam| exam(case)).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}
