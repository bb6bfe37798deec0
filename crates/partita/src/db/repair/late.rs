//! What came after the damage of a manifest: tables that it does not name, and families that it has not heard of.
//!
//! ```text
//! flush after the damage       entries newer than all that the manifest knows of the family: taken in, on level 0; logs that it
//!                              holds whole are done with
//! compaction after the damage  entries as old as what the manifest knows: left, its inputs are there (else the tables decide);
//!                              of flushes after the damage: taken in as these are, but which logs they held may not show
//! file ingested after it       its entries have no age of their own, and it need not say whose it is: lost, and told
//! ```

use std::collections::BTreeSet;

use super::RepairWatch;
use super::plan::Plan;
use super::rebuild::{family_of, name_unknown, order_of};
use super::tables::{Condition, Described, Examiner};
use crate::error::{Error, Result};
use crate::key::KeyOrder;
use crate::version::edit::NewFile;
use crate::version::{FamilyFiles, FileMeta, FileNumber, ManifestFront};

impl Plan {
    /// Takes in what of `tables` came after the manifest's damage, and makes families that it does not know.
    ///
    /// * `tables`: those that the manifest has neither named nor seen leave, by number.
    /// * Returns those that are part of the result.
    pub(super) fn take_late(
        &mut self,
        examiner: &Examiner<'_>,
        front: &ManifestFront,
        tables: &[FileNumber],
        watch: &mut RepairWatch<'_>,
    ) -> Result<BTreeSet<FileNumber>> {
        let mut taken = BTreeSet::new();
        for &number in tables {
            let (condition, described) = examiner.unnamed(number, watch)?;
            let path = examiner.path(number)?;
            match (described, condition) {
                (Some(table), condition) => {
                    if self.take_late_table(examiner, front, table, condition)? {
                        taken.insert(number);
                    }
                }
                (None, Condition::Gone(error)) => {
                    let why =
                        format!("{}; if it was never finished, logs have it", error.message());
                    self.lose_table(path, None, None, &Error::corruption(why));
                }
                // There is nothing in it.
                (None, _) => {}
            }
        }
        if front.damage.is_some() {
            self.add_families_of_logs(examiner, front)?;
        }
        Ok(taken)
    }

    fn take_late_table(
        &mut self,
        examiner: &Examiner<'_>,
        front: &ManifestFront,
        table: Described,
        condition: Condition,
    ) -> Result<bool> {
        let number = table.meta.number;
        let path = examiner.path(number)?;
        if table.is_external() {
            let why = "the manifest is damaged and does not name it: when it was ingested, if it was not replaced since, cannot be told";
            self.lose_table(path, None, None, &Error::corruption(why));
            return Ok(false);
        }
        let Some((id, name)) = family_of(&table.properties) else { return Ok(false) };
        if id > front.state.max_family && !self.state.families.contains_key(&id) {
            self.add_family(id, name, &table.order);
        }
        // Else it was dropped.
        let Some(family) = self.state.families.get_mut(&id) else { return Ok(false) };
        let is_compacted = table.is_compacted();
        let Described { mut meta, order, .. } = table;
        let is_late = family.files.iter().all(|new| is_before(&new.file, &meta, &order));
        if order.name() != family.order.name() || !is_late {
            return Ok(false);
        }
        // The table may have more than its sequence numbers tell: of operands that it put together it has the newest one's.
        let greatest = meta.largest_seqno.get();
        if matches!(condition, Condition::Whole)
            && let Some(behind) = self.logs.first_behind(id, greatest)
        {
            family.log_number = family.log_number.max(behind);
        }
        let logs = self.logs.against(id, family.log_number, greatest, is_compacted);
        if logs.operands_may_count_twice {
            self.report.notes.push(format!(
                "table {number}: merge operands in logs may be in it as well: these count twice then"
            ));
        }
        let is_mixed_with_table = family.files.iter().any(|new| {
            new.level == 0
                && new.file.largest_seqno >= meta.smallest_seqno
                && new.file.smallest_seqno <= meta.largest_seqno
        });
        if logs.is_mixed || is_mixed_with_table {
            self.merged.insert(id);
        }
        self.state.last_sequence = self.state.last_sequence.max(meta.largest_seqno);
        meta.epoch = family.files.iter().map(|new| new.file.epoch).max().unwrap_or(0) + 1;
        let new = NewFile { level: 0, file: meta };
        if self.note_condition(condition, id, &new, path, None)
            && let Some(family) = self.state.families.get_mut(&id)
        {
            family.files.push(new);
        }
        self.report.notes.push(format!(
            "the manifest does not name table {number}: all in it is newer than what that knows of its column family"
        ));
        Ok(true)
    }

    /// Adds a family that was created after the damage. If it was dropped, too, that is not known.
    fn add_family(&mut self, id: u32, name: Option<String>, order: &KeyOrder) {
        let name = name.unwrap_or_else(|| format!("column-family-{id}"));
        self.report.notes.push(format!(
            "the manifest does not know column family {name:?}: it was created after the damage, and dropped, perhaps"
        ));
        // One of this name was dropped before.
        self.state.families.retain(|_, family| family.name != name);
        let log_number = FileNumber::default();
        let family = FamilyFiles { name, order: order.clone(), log_number, files: Vec::new() };
        self.state.families.insert(id, family);
    }

    /// Adds families that only logs know.
    fn add_families_of_logs(
        &mut self,
        examiner: &Examiner<'_>,
        front: &ManifestFront,
    ) -> Result<()> {
        let in_logs = self.logs.fronts.iter().flat_map(|log| log.families.keys().copied());
        let is_new =
            |id: &u32| *id > front.state.max_family && !self.state.families.contains_key(id);
        let unknown: BTreeSet<u32> = in_logs.filter(is_new).collect();
        let taken = self.state.families.values().map(|family| family.name.clone()).collect();
        let options = self.options.clone();
        let named = name_unknown(&unknown, &taken, options.as_ref(), &mut self.report.notes);
        for (id, name) in named {
            let order = order_of(&name, examiner, options.as_ref())?;
            self.add_family(id, Some(name), &order);
        }
        Ok(())
    }
}

/// Whether a table that the manifest names may be older than a flush that came later.
///
/// Something is newer in a table that was ingested meanwhile: that has one sequence number, and no key of what was in memory.
fn is_before(known: &FileMeta, late: &FileMeta, order: &KeyOrder) -> bool {
    let is_disjoint = || {
        order.compare(known.largest_user_key(), late.smallest_user_key()).is_lt()
            || order.compare(late.largest_user_key(), known.smallest_user_key()).is_lt()
    };
    known.largest_seqno < late.smallest_seqno
        || (known.smallest_seqno == known.largest_seqno && is_disjoint())
}
