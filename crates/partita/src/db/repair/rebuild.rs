//! A state made of the tables alone.
//!
//! ```text
//! properties            which column family a table is of
//! entries               its first and last key, its sequence numbers
//!
//! last level            a tables that no other of the family overlaps
//! level 0               tables that overlap, if each is newer as a whole than the one before
//! level 0, then merged  tables that overlap, and of which each has something newer than the other
//! ```
//!
//! Tables that overlap and are of one age, in parts, are merged with all their versions side by side, so the sequence number of
//! each entry counts and not its table's. Level 0 holds them only until then.

use std::collections::{BTreeMap, BTreeSet};

use super::plan::{Plan, tables_in};
use super::tables::{Condition, Described, Examiner};
use super::{RepairWatch, UnusedTable};
use crate::error::{Error, Result};
use crate::key::{KeyOrder, SeqNo};
use crate::options::ColumnFamilyOptions;
use crate::options::file::OptionsFile;
use crate::table::{TableProperties, UNKNOWN_COLUMN_FAMILY};
use crate::version::edit::NewFile;
use crate::version::{
    DEFAULT_FAMILY, DEFAULT_FAMILY_NAME, FamilyFiles, FileName, FileNumber, ManifestFront,
};

/// Levels of a family of which no options are known.
const LEVELS_DEFAULT: usize = 7;

/// Tables on the way to a state.
pub(super) struct Rebuilding<'r> {
    examiner: &'r Examiner<'r>,
    known: Option<&'r ManifestFront>,
    options: Option<&'r OptionsFile>,
    families: BTreeMap<u32, Found>,
}

/// What is found of a family.
#[derive(Default)]
struct Found {
    name: Option<String>,
    order: Option<KeyOrder>,
    tables: Vec<(Condition, Described)>,
}

impl Found {
    fn has_operands(&self) -> bool {
        self.tables.iter().any(|(_, table)| table.has_operands)
    }
}

impl<'r> Rebuilding<'r> {
    pub(super) fn new(
        examiner: &'r Examiner<'r>,
        known: Option<&'r ManifestFront>,
        options: Option<&'r OptionsFile>,
    ) -> Self {
        let mut families = BTreeMap::from([(DEFAULT_FAMILY, Found::default())]);
        for (id, family) in known.iter().flat_map(|front| &front.state.families) {
            let found: &mut Found = families.entry(*id).or_default();
            found.name = Some(family.name.clone());
            found.order = Some(family.order.clone());
        }
        if let Some(default) = families.get_mut(&DEFAULT_FAMILY) {
            default.name = Some(DEFAULT_FAMILY_NAME.to_owned());
        }
        Self { examiner, known, options, families }
    }

    /// Looks at all tables of the directory.
    pub(super) fn look_at_tables(
        &mut self,
        names: &[FileName],
        plan: &mut Plan,
        watch: &mut RepairWatch<'_>,
    ) -> Result<()> {
        let mut homeless = Vec::new();
        for number in tables_in(names).collect::<BTreeSet<FileNumber>>() {
            if self.known.is_some_and(|front| front.left.contains(&number)) {
                self.leave(plan, number, "the manifest knows that it was replaced")?;
                continue;
            }
            let (condition, described) = self.examiner.unnamed(number, watch)?;
            let Some(table) = described else {
                let error = match condition {
                    Condition::Gone(error) => error,
                    _ => Error::corruption("there is no entry in it"),
                };
                plan.lose_table(self.examiner.path(number)?, None, None, &error);
                continue;
            };
            match family_of(&table.properties) {
                Some((id, _)) if self.known.is_some_and(|front| front.dropped.contains(&id)) => {
                    self.leave(plan, number, "its column family was dropped")?;
                }
                Some((id, name)) => self.add(id, name, condition, table),
                None => homeless.push((condition, table)),
            }
        }
        // External tables do not say where they belong. If there is one family only, it is there.
        for (condition, table) in homeless {
            if let (1, Some(id)) = (self.families.len(), self.families.keys().next().copied()) {
                self.add(id, None, condition, table);
            } else {
                let error = Error::corruption("it does not say of which column family it is");
                plan.lose_table(self.examiner.path(table.meta.number)?, None, None, &error);
            }
        }
        self.leave_replaced_families(plan)
    }

    fn add(&mut self, id: u32, name: Option<String>, condition: Condition, table: Described) {
        let found = self.families.entry(id).or_default();
        found.name = found.name.take().or(name);
        found.order.get_or_insert_with(|| table.order.clone());
        found.tables.push((condition, table));
    }

    fn leave(&self, plan: &mut Plan, number: FileNumber, why: &'static str) -> Result<()> {
        let path = self.examiner.path(number)?;
        plan.report.unused.push(UnusedTable { path, why });
        Ok(())
    }

    /// Of two families of one name the older was dropped before the other could be created.
    fn leave_replaced_families(&mut self, plan: &mut Plan) -> Result<()> {
        let mut newest: BTreeMap<String, u32> = BTreeMap::new();
        for (id, found) in &self.families {
            newest.extend(found.name.clone().map(|name| (name, *id)));
        }
        let is_replaced = |id: u32, found: &Found| {
            found.name.as_ref().and_then(|name| newest.get(name)).is_some_and(|last| *last != id)
        };
        let replaced: Vec<u32> = self
            .families
            .iter()
            .filter(|(id, found)| **id != DEFAULT_FAMILY && is_replaced(**id, found))
            .map(|(id, _)| *id)
            .collect();
        for id in replaced {
            for (_, table) in
                self.families.remove(&id).map(|found| found.tables).unwrap_or_default()
            {
                let why = "its column family was dropped: there is a later one of its name";
                self.leave(plan, table.meta.number, why)?;
            }
        }
        Ok(())
    }

    /// The greatest sequence number of all tables.
    pub(super) fn largest_seqno(&self) -> SeqNo {
        let tables = self.families.values().flat_map(|found| &found.tables);
        tables.map(|(_, table)| table.meta.largest_seqno).max().unwrap_or_default()
    }

    /// Puts the state together; logs have been read.
    pub(super) fn finish(mut self, plan: &mut Plan) -> Result<()> {
        self.name_families(plan);
        for (id, found) in std::mem::take(&mut self.families) {
            let Some(name) = found.name.clone() else { continue };
            let order = found.order.clone();
            let order = match order {
                Some(order) => order,
                None => order_of(&name, self.examiner, self.options)?,
            };
            let log_number = self.log_number(id, &found, plan);
            let levels = self.options.and_then(|file| file.family(&name));
            let levels = levels.map_or(LEVELS_DEFAULT, ColumnFamilyOptions::level_count);
            let Placement { places, merged } = place(&order, &found.tables, levels);
            let greatest =
                found.tables.iter().map(|(_, table)| table.meta.largest_seqno.get()).max();
            let is_compacted = found.tables.iter().any(|(_, table)| table.is_compacted());
            let logs = plan.logs.against(id, log_number, greatest.unwrap_or(0), is_compacted);
            if merged || logs.is_mixed {
                plan.merged.insert(id);
            }
            if logs.operands_may_count_twice {
                plan.report.notes.push(format!(
                    "column family {name:?}: merge operands in logs may be in tables as well: these count twice then"
                ));
            }
            let mut files = Vec::with_capacity(found.tables.len());
            for ((condition, table), (level, epoch)) in found.tables.into_iter().zip(places) {
                let mut file = table.meta;
                file.epoch = epoch;
                let new = NewFile { level, file };
                let path = self.examiner.path(new.file.number)?;
                if plan.note_condition(condition, id, &new, path, None) {
                    files.push(new);
                }
            }
            plan.state.families.insert(id, FamilyFiles { name, order, log_number, files });
        }
        Ok(())
    }

    /// Families of which there are only records in logs: an OPTIONS file has the names of all in the order of their ids.
    fn name_families(&mut self, plan: &mut Plan) {
        let in_logs = plan.logs.fronts.iter().flat_map(|log| log.families.keys());
        let dropped = |id: &u32| self.known.is_some_and(|front| front.dropped.contains(id));
        let unnamed: BTreeSet<u32> = in_logs
            .copied()
            .filter(|id| !dropped(id))
            .filter(|id| self.families.get(id).is_none_or(|found| found.name.is_none()))
            .collect();
        let taken = self.families.values().filter_map(|found| found.name.clone()).collect();
        if unnamed.is_empty() {
            // Those that were empty.
            let next = self.families.keys().last().map_or(1, |id| id + 1);
            let free = free_names(self.options, &taken);
            for (id, name) in (next..).zip(free).filter(|_| self.known.is_none()) {
                self.families.entry(id).or_default().name = Some(name);
            }
            return;
        }
        for (id, name) in name_unknown(&unnamed, &taken, self.options, &mut plan.report.notes) {
            self.families.entry(id).or_default().name = Some(name);
        }
    }

    /// The first log that has something of a family that its tables have not.
    ///
    /// Without merge operands all of them count: applied twice, a change does nothing. Operands do.
    fn log_number(&self, id: u32, found: &Found, plan: &Plan) -> FileNumber {
        let known = self.known.and_then(|front| front.state.families.get(&id));
        let least = known.map_or(FileNumber::default(), |family| family.log_number);
        let mut in_logs = plan.logs.changes_of(id, FileNumber::default());
        if !found.has_operands() && !in_logs.any(|(_, changes)| changes.has_operands) {
            return least;
        }
        // What was ingested may be newer than what was in memory then.
        let own = found.tables.iter().filter(|(_, table)| !table.is_external());
        let flushed = own.map(|(_, table)| table.meta.largest_seqno.get()).max().unwrap_or(0);
        plan.logs.first_behind(id, flushed).map_or(least, |behind| behind.max(least))
    }
}

/// The order of a family of which there is no table.
pub(super) fn order_of(
    name: &str,
    examiner: &Examiner<'_>,
    options: Option<&OptionsFile>,
) -> Result<KeyOrder> {
    let options = options.and_then(|file| file.family(name)).cloned().unwrap_or_default();
    crate::db::open::order_named(examiner.builder, &options)
}

/// Names that an OPTIONS file has besides those taken, in the order of the families' ids.
fn free_names(options: Option<&OptionsFile>, taken: &BTreeSet<String>) -> Vec<String> {
    let families = options.iter().flat_map(|file| &file.families);
    families.map(|family| &family.name).filter(|name| !taken.contains(*name)).cloned().collect()
}

/// Gives names to families of which only the ids are known, and notes which ones.
///
/// * `taken`: names of the other families.
pub(super) fn name_unknown(
    ids: &BTreeSet<u32>,
    taken: &BTreeSet<String>,
    options: Option<&OptionsFile>,
    notes: &mut Vec<String>,
) -> Vec<(u32, String)> {
    let free = free_names(options, taken);
    let names_fit = free.len() == ids.len();
    let mut free = free.into_iter().filter(|_| names_fit);
    let mut named = Vec::with_capacity(ids.len());
    for id in ids {
        let name = free.next().unwrap_or_else(|| format!("column-family-{id}"));
        notes.push(format!(
            "column family {id} has no table that says its name: it is called {name:?}"
        ));
        named.push((*id, name));
    }
    named
}

/// The column family that a table's properties name; `None` if they name none. Tables before there were families are of the
/// default one.
pub(super) fn family_of(properties: &TableProperties) -> Option<(u32, Option<String>)> {
    let name = TableProperties::name_of(&properties.column_family_name).map(str::to_owned);
    match properties.column_family_id {
        None if properties.external_sst_file_version.is_some() => None,
        None => Some((DEFAULT_FAMILY, None)),
        Some(UNKNOWN_COLUMN_FAMILY) => None,
        Some(id) => Some((u32::try_from(id).ok()?, name)),
    }
}

/// Level and epoch of each table, in their order.
struct Placement {
    places: Vec<(u32, u64)>,
    /// Whether only a merge puts them right.
    merged: bool,
}

/// The epoch of tables that overlap no other.
const OLDEST_EPOCH: u64 = 1;

fn place(order: &KeyOrder, tables: &[(Condition, Described)], levels: usize) -> Placement {
    let metas: Vec<_> = tables.iter().map(|(_, table)| &table.meta).collect();
    let last_level = levels.saturating_sub(1).max(1) as u32;
    let mut places = vec![(last_level, OLDEST_EPOCH); metas.len()];
    let mut by_key: Vec<usize> = (0..metas.len()).collect();
    by_key.sort_by(|a, b| order.compare_internal(&metas[*a].smallest, &metas[*b].smallest));
    let mut overlapping = BTreeSet::new();
    let mut furthest: Option<usize> = None;
    for at in by_key {
        if let Some(before) = furthest {
            let (end, start) = (metas[before].largest_user_key(), metas[at].smallest_user_key());
            if order.compare(end, start).is_ge() {
                overlapping.extend([before, at]);
            }
        }
        let reaches_further = furthest.is_none_or(|before| {
            order.compare(metas[before].largest_user_key(), metas[at].largest_user_key()).is_lt()
        });
        if reaches_further {
            furthest = Some(at);
        }
    }
    let mut by_age: Vec<usize> = overlapping.into_iter().collect();
    by_age
        .sort_by_key(|at| (metas[*at].largest_seqno, metas[*at].smallest_seqno, metas[*at].number));
    let is_newer = |pair: &[usize]| match pair {
        [a, b] => metas[*b].smallest_seqno > metas[*a].largest_seqno,
        _ => true,
    };
    let merged = !by_age.windows(2).all(is_newer);
    for (epoch, at) in (OLDEST_EPOCH + 1..).zip(by_age) {
        places[at] = (0, epoch);
    }
    Placement { places, merged }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{InternalKey, ValueType};
    use crate::version::FileMeta;

    fn table(number: u64, keys: (&str, &str), seqnos: (u64, u64)) -> (Condition, Described) {
        let key =
            |key: &str| InternalKey::new(key.as_bytes(), SeqNo::ZERO, ValueType::Value).encode();
        let meta = FileMeta {
            smallest_seqno: SeqNo::new(seqnos.0).unwrap(),
            largest_seqno: SeqNo::new(seqnos.1).unwrap(),
            ..FileMeta::new(number.into(), 1, &key(keys.0), &key(keys.1))
        };
        let described = Described {
            meta,
            order: KeyOrder::Bytewise,
            properties: TableProperties::default(),
            has_operands: false,
        };
        (Condition::Whole, described)
    }

    fn placed(tables: &[(Condition, Described)]) -> (Vec<(u32, u64)>, bool) {
        let Placement { places, merged } = place(&KeyOrder::Bytewise, tables, 7);
        (places, merged)
    }

    #[test]
    fn tables_that_do_not_overlap_go_to_the_last_level_whatever_their_age() {
        let tables = [table(1, ("c", "d"), (1, 9)), table(2, ("a", "b"), (3, 7))];
        assert_eq!(placed(&tables), (vec![(6, 1), (6, 1)], false));
    }

    #[test]
    fn tables_that_overlap_go_to_level_0_by_age_and_are_merged_unless_one_is_newer_as_a_whole() {
        let apart = table(9, ("x", "z"), (1, 50));
        let tables = [table(1, ("a", "m"), (20, 30)), table(2, ("m", "n"), (1, 19)), apart];
        assert_eq!(placed(&tables), (vec![(0, 3), (0, 2), (6, 1)], false));
        for mixed in [(1, 20), (1, 25), (1, 40), (30, 40)] {
            let tables = [table(1, ("a", "m"), (20, 30)), table(2, ("b", "c"), mixed)];
            let (places, merged) = placed(&tables);
            assert!(merged && places.iter().all(|(level, _)| *level == 0), "{mixed:?}");
        }
        // A table that ends behind its neighbour's start, two further on.
        let tables = [
            table(1, ("a", "z"), (1, 9)),
            table(2, ("b", "c"), (10, 19)),
            table(3, ("d", "e"), (20, 29)),
        ];
        assert_eq!(placed(&tables), (vec![(0, 2), (0, 3), (0, 4)], false));
    }
}
