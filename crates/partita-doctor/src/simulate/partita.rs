//! The same lookups with Partita: its own tables and its own cache, which read the files as they do at work.

use std::collections::HashMap;
use std::sync::Arc;

use partita::Result;
use partita::cache::Cache;
use partita::key::{SeqNo, ValueType};
use partita::table::{BlockRole, FilterUse, LookupKey, ReadContext, ReaderOptions, TableReader};

use crate::model::Table;
use crate::read::open_table;
use crate::simulate::Work;
use crate::simulate::family::FamilyRules;
use crate::simulate::keys::Lookup;
use crate::simulate::record::reader_options;
use crate::simulate::trace::{Counts, Part};

/// Plays lookups through tables that share a budget.
///
/// * `warm_up`: lookups that are not counted, from the first on.
pub(super) fn replay(
    work: &Work<'_>,
    families: &[FamilyRules<'_>],
    lookups: &[Lookup],
    budget_bytes: u64,
    warm_up: usize,
) -> Result<Counts> {
    let cache = Cache::new(usize::try_from(budget_bytes).unwrap_or(usize::MAX));
    let mut tables: HashMap<u32, Tables<'_>> =
        families.iter().map(|rules| (rules.family.id, Tables::of(rules))).collect();
    let mut ctx = ReadContext::default();
    for (at, lookup) in lookups.iter().enumerate() {
        if at == warm_up {
            ctx = ReadContext::default();
        }
        if let Some(tables) = tables.get_mut(&lookup.family) {
            tables.get(work, &cache, &lookup.key, &mut ctx)?;
        }
    }
    Ok(counts(&ctx, lookups.len().saturating_sub(warm_up)))
}

fn counts(ctx: &ReadContext, lookups: usize) -> Counts {
    let mut counts = Counts { lookups: lookups as u64, ..Counts::default() };
    for (role, part) in [
        (BlockRole::Data, Part::Data),
        (BlockRole::Index, Part::Index),
        (BlockRole::IndexPartition, Part::Index),
        (BlockRole::IndexTopLevel, Part::IndexTop),
        (BlockRole::Filter, Part::Filter),
        (BlockRole::FilterPartition, Part::Filter),
        (BlockRole::FilterTopLevel, Part::FilterTop),
    ] {
        let part = part as usize;
        counts.asked[part] += ctx.cache_hits[role] + ctx.cache_misses[role];
        counts.read[part] += ctx.blocks_read[role];
        counts.bytes[part] += ctx.bytes_read[role];
    }
    counts
}

/// The tables of a family, opened when a lookup comes to them.
struct Tables<'t> {
    rules: &'t FamilyRules<'t>,
    /// Level 0, newest first, then each sorted level by its keys.
    level_0: Vec<&'t Table>,
    levels: Vec<Vec<&'t Table>>,
    open: HashMap<u64, Arc<TableReader>>,
}

impl<'t> Tables<'t> {
    fn of(rules: &'t FamilyRules<'t>) -> Self {
        let mut levels: Vec<Vec<&Table>> = Vec::new();
        let mut level_0 = Vec::new();
        let mut level = 0;
        for (table, _) in rules.tables() {
            if table.level == 0 {
                level_0.push(table);
                continue;
            }
            if table.level != level {
                levels.push(Vec::new());
                level = table.level;
            }
            levels.last_mut().into_iter().for_each(|level| level.push(table));
        }
        for level in &mut levels {
            level.sort_by(|a, b| rules.order.compare(&a.smallest, &b.smallest));
        }
        Self { rules, level_0, levels, open: HashMap::new() }
    }

    fn get(
        &mut self,
        work: &Work<'_>,
        cache: &Cache,
        key: &[u8],
        ctx: &mut ReadContext,
    ) -> Result<()> {
        let order = &self.rules.order;
        let holds = |table: &&&Table| {
            order.compare(key, &table.smallest).is_ge()
                && order.compare(key, &table.largest).is_le()
        };
        let in_level = |level: &Vec<&'t Table>| {
            let at = level.partition_point(|table| order.compare(&table.largest, key).is_lt());
            level.get(at).copied()
        };
        let level_0 = self.level_0.iter().copied();
        let candidates: Vec<&Table> = level_0
            .chain(self.levels.iter().filter_map(in_level))
            .filter(|table| holds(&table))
            .collect();
        let lookup = LookupKey::new(key, SeqNo::MAX);
        for table in candidates {
            let reader = match self.open.get(&table.number) {
                Some(reader) => reader,
                None => {
                    let file = open_table(work.fs, work.database.dir_of(table), table)?;
                    let options = ReaderOptions {
                        filter_use: FilterUse::Adaptive,
                        ..reader_options(cache, table)
                    };
                    let reader = TableReader::open(file, &options, ctx)?;
                    self.open.entry(table.number).or_insert(Arc::new(reader))
                }
            };
            let found = reader.get(&lookup, ctx)?;
            if found.is_some_and(|entry| entry.value_type != ValueType::Merge) {
                break;
            }
        }
        Ok(())
    }
}
