//! The tables that a compaction writes, one after the other.
//!
//! ```text
//! entries        a b c | d e f g | h i          a table ends where it is full, or lies over too much below
//! user keys                                     never between two versions of one
//! tombstones   [a..............h)               cut at the first key of the next table: [a..d) [d..h)
//! ```
//!
//! A range tombstone may reach over much of the level below without a key in between. It is cut where tables begin there, too,
//! so that one wide tombstone does not make one huge compaction of the next one that its table is in.

use super::grandparents::Grandparents;
use super::job::Job;
use super::new_table::NewTable;
use crate::cache::{Reservation, Role};
use crate::error::Result;
use crate::filter::FilterLevel;
use crate::iter::RangeTombstone;
use crate::key::{KeyOrder, SeqNo};
use crate::table::TableBuilder;
use crate::version::{FileName, PendingOutput};

/// Entries between two looks at how much memory the open table takes.
const ENTRIES_BETWEEN_LOOKS: u32 = 4096;

/// Writes tables. What was written is removed if this is dropped before [`Outputs::finish`].
pub(super) struct Outputs<'j> {
    job: &'j Job<'j>,
    order: &'j KeyOrder,
    /// By start.
    tombstones: &'j [RangeTombstone],
    /// Where the open table's tombstones begin; `None`: at the first key there is.
    lower: Option<Vec<u8>>,
    /// Where the last table's tombstones end; `None`: at the last key there is.
    end: Option<&'j [u8]>,
    open: Option<(PendingOutput, TableBuilder)>,
    written: Vec<NewTable>,
    grandparents: Grandparents<'j>,
    bottommost: bool,
    last_user_key: Vec<u8>,
    /// What the open table takes, as of the last look.
    charge: Reservation,
    entries_until_look: u32,
}

impl<'j> Outputs<'j> {
    pub(super) fn new(
        job: &'j Job<'j>,
        range: (Option<&'j [u8]>, Option<&'j [u8]>),
        bottommost: bool,
    ) -> Self {
        Self {
            job,
            order: job.family.key_order(),
            tombstones: job.tombstones.kept(),
            lower: range.0.map(<[u8]>::to_vec),
            end: range.1,
            open: None,
            written: Vec::new(),
            grandparents: Grandparents::new(job.compaction),
            bottommost,
            last_user_key: Vec::new(),
            charge: job.tables.cache().reserve(Role::Building, 0),
            entries_until_look: ENTRIES_BETWEEN_LOOKS,
        }
    }

    /// Writes an entry; ends the open table before it, if it is time.
    pub(super) fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let user_key = crate::key::user_key(key);
        self.cut_tombstones_before(Some(user_key))?;
        if self.open.is_some() && self.is_full(user_key) {
            self.end_table(Some(user_key))?;
            self.lower = Some(user_key.to_vec());
        }
        if self.open.is_none() {
            self.grandparents.begin_output(user_key);
            self.open = Some(self.begin_table()?);
        }
        let Some((_, builder)) = &mut self.open else { return Ok(()) };
        builder.add(key, value)?;
        self.entries_until_look -= 1;
        if self.entries_until_look == 0 {
            self.entries_until_look = ENTRIES_BETWEEN_LOOKS;
            self.charge.resize(builder.memory_bytes());
        }
        self.last_user_key.clear();
        self.last_user_key.extend_from_slice(user_key);
        Ok(())
    }

    /// Ends the last table, and makes all of them durable by their names.
    pub(super) fn finish(mut self) -> Result<Vec<NewTable>> {
        self.cut_tombstones_before(self.end)?;
        let has_more = self.tombstones_up_to(self.end).next().is_some();
        if self.open.is_none() && has_more {
            self.open = Some(self.begin_table()?);
        }
        if self.open.is_some() {
            self.end_table(self.end)?;
        }
        if !self.written.is_empty() {
            self.job.fs.sync_dir(self.job.versions.dir())?;
        }
        Ok(std::mem::take(&mut self.written))
    }

    /// Ends tables between the last entry and the next where their tombstones lie over too much below.
    ///
    /// * `next`: the next entry's user key, or where the output ends.
    fn cut_tombstones_before(&mut self, next: Option<&[u8]>) -> Result<()> {
        if self.tombstones.is_empty() {
            return Ok(());
        }
        let bytes_max = self.job.compaction.compaction_bytes;
        loop {
            if self.open.is_none() {
                let first = self.tombstones_up_to(next).next().map(|(start, _, _)| start.to_vec());
                let Some(first) = first else { return Ok(()) };
                self.grandparents.begin_output(&first);
            }
            let border = self.grandparents.next_heavy_border(next, bytes_max);
            let Some(border) = border else { return Ok(()) };
            if self.tombstones_up_to(Some(border)).next().is_none() {
                continue;
            }
            if self.open.is_none() {
                self.open = Some(self.begin_table()?);
            }
            self.end_table(Some(border))?;
            self.lower = Some(border.to_vec());
        }
    }

    fn is_full(&mut self, user_key: &[u8]) -> bool {
        let Some((_, builder)) = &self.open else { return false };
        let (passed_border, overlapped) = self.grandparents.advance(user_key);
        let compaction = self.job.compaction;
        let bytes = builder.file_size_estimate();
        let target = compaction.output_file_bytes;
        // A table that ends where one below does is merged later without its neighbour.
        let is_time = bytes >= target
            || passed_border
                && (overlapped > compaction.compaction_bytes || bytes >= target - target / 4);
        is_time
            && (*self.last_user_key != *user_key)
            && self.order.compare(&self.last_user_key, user_key).is_ne()
    }

    fn begin_table(&self) -> Result<(PendingOutput, TableBuilder)> {
        let Job { versions, fs, access, family, options, origin, .. } = self.job;
        let level = self.job.compaction.output_level as i32;
        let table_options =
            options.table_options(FilterLevel::Level(level), self.job.base_level, self.bottommost);
        let pending = versions.new_output();
        let context = origin.context(
            versions,
            family,
            self.job.merge_operator,
            FilterLevel::Level(level),
            &pending,
            self.oldest_ancestor_time(),
        );
        let path = FileName::Table(pending.number()).in_dir(versions.dir());
        let file = access.create_new(*fs, &path)?;
        let builder = TableBuilder::new(file, table_options, self.order.clone(), context);
        match builder {
            Ok(builder) => Ok((pending, builder)),
            Err(error) => {
                let _ = fs.remove(&path);
                Err(error)
            }
        }
    }

    /// The open table's tombstones, as far as `upper`.
    fn tombstones_up_to<'s>(
        &'s self,
        upper: Option<&'s [u8]>,
    ) -> impl Iterator<Item = (&'s [u8], &'s [u8], SeqNo)> + use<'s, 'j> {
        let order = self.order;
        let lower = self.lower.as_deref();
        let count = upper.map_or(self.tombstones.len(), |upper| {
            self.tombstones.partition_point(|t| order.compare(&t.start, upper).is_lt())
        });
        self.tombstones[..count].iter().filter_map(move |tombstone| {
            let RangeTombstone { start, end, seqno } = tombstone;
            let start: &[u8] = match lower {
                Some(lower) if order.compare(start, lower).is_lt() => lower,
                _ => start,
            };
            let end: &[u8] = match upper {
                Some(upper) if order.compare(end, upper).is_gt() => upper,
                _ => end,
            };
            order.compare(start, end).is_lt().then_some((start, end, *seqno))
        })
    }

    /// * `upper`: the first key of the next table.
    fn end_table(&mut self, upper: Option<&[u8]>) -> Result<()> {
        let Some((pending, mut builder)) = self.open.take() else { return Ok(()) };
        let path = FileName::Table(pending.number()).in_dir(self.job.versions.dir());
        self.charge.resize(builder.memory_bytes());
        let added = self
            .tombstones_up_to(upper)
            .try_for_each(|(start, end, seqno)| builder.add_range_tombstone(start, end, seqno));
        let summary = match added.and_then(|()| builder.finish()) {
            Ok(summary) => summary,
            Err(error) => {
                // What stays behind is removed by the next open.
                let _ = self.job.fs.remove(&path);
                return Err(error);
            }
        };
        self.charge.resize(0);
        let compaction = self.job.compaction;
        let epoch = || compaction.files().map(|(_, file)| file.epoch).min().unwrap_or(0);
        let age = self.oldest_ancestor_time();
        match NewTable::new(pending, &summary, &self.job.origin, epoch, age) {
            Some(table) => self.written.push(table),
            None => {
                let _ = self.job.fs.remove(&path);
                return Ok(());
            }
        }
        match self.written.last().filter(|_| self.job.options.paranoid_file_checks) {
            Some(table) => self.job.tables.verify(&table.file),
            None => Ok(()),
        }
    }

    fn oldest_ancestor_time(&self) -> u64 {
        let times = self.job.compaction.files().map(|(_, file)| file.oldest_ancestor_time);
        times.filter(|time| *time > 0).min().unwrap_or(self.job.origin.unix_seconds)
    }
}

impl Drop for Outputs<'_> {
    fn drop(&mut self) {
        let open = self.open.take().map(|(pending, builder)| {
            builder.abandon();
            pending.number()
        });
        let written = self.written.iter().map(|table| table.file.number);
        for number in written.chain(open) {
            let _ = self.job.fs.remove(&FileName::Table(number).in_dir(self.job.versions.dir()));
        }
    }
}
