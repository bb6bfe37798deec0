//! What is to be kept, what is lost: worked out before anything is written.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::basis::Basis;
use super::logs::{LogsFound, read_logs};
use super::rebuild::Rebuilding;
use super::tables::{Condition, Damaged, Examiner};
use super::{
    KeptTable, Lost, RepairBasis, RepairReport, RepairWatch, RepairedFamily, RepairedLog,
    SalvagedTable, UnusedTable,
};
use crate::db::DbBuilder;
use crate::db::open::wal_dir;
use crate::db::recover::{logs_from, names_in};
use crate::error::{Error, Result};
use crate::key::SeqNo;
use crate::options::DbOptions;
use crate::options::file::{Mode, OptionsFile, Severity, file_name};
use crate::version::edit::NewFile;
use crate::version::{DatabaseState, FileName, FileNumber, ManifestFront};

/// Why a table that no manifest names is left behind.
const NOT_NAMED: &str = "the manifest does not name it: it was replaced, or never finished";

/// Whether a manifest says what makes up the database.
enum Followed {
    Yes,
    /// The tables have to; this is what is known otherwise.
    No(Option<Box<ManifestFront>>),
}

/// Where the files are.
#[derive(Clone, Copy)]
struct Place<'p> {
    names: &'p [FileName],
    log_names: &'p [FileName],
    wal_dir: &'p Path,
}

/// What is to be written.
pub(super) struct Plan {
    pub(super) report: RepairReport,
    /// Damaged tables are in it as they are.
    pub(super) state: DatabaseState,
    /// Tables that are written anew from what can be read of them.
    pub(super) damaged: BTreeSet<FileNumber>,
    /// Families whose tables are merged at the end.
    pub(super) merged: BTreeSet<u32>,
    pub(super) logs: LogsFound,
    pub(super) options: Option<OptionsFile>,
}

impl Plan {
    pub(super) fn make(builder: &DbBuilder, watch: &mut RepairWatch<'_>) -> Result<Self> {
        let names = names_in(&*builder.fs, &builder.dir)?;
        let is_data = |name: &FileName| {
            matches!(name, FileName::Table(_) | FileName::Log(_) | FileName::Manifest(_))
        };
        if !names.iter().any(is_data) {
            let message =
                "there are no tables, logs and manifests: this directory holds no database";
            return Err(Error::invalid_argument(message).in_file(&builder.dir));
        }
        let Basis { front, is_outdated, trouble, notes } = Basis::find(builder, &names)?;
        let mut plan = Self {
            report: RepairReport { trouble, notes, ..RepairReport::default() },
            state: DatabaseState::default(),
            damaged: BTreeSet::new(),
            merged: BTreeSet::new(),
            logs: LogsFound::default(),
            options: None,
        };
        plan.options = plan.read_options(builder, &names)?;
        let examiner = Examiner::new(builder);
        let given = DbOptions::default();
        let db_options = builder.options.as_ref().or(plan.options.as_ref().map(|file| &file.db));
        let wal_dir = wal_dir(builder, db_options.unwrap_or(&given))?;
        let log_names = names_in(&*builder.fs, &wal_dir)?;
        let followed = match front {
            Some(front) => {
                let place = Place { names: &names, log_names: &log_names, wal_dir: &wal_dir };
                plan.follow(&examiner, &place, front, is_outdated, watch)?
            }
            None => Followed::No(None),
        };
        if let Followed::No(front) = followed {
            let (known, options) = (front.as_deref(), plan.options.clone());
            plan.start_over(known);
            let mut rebuilding = Rebuilding::new(&examiner, known, options.as_ref());
            rebuilding.look_at_tables(&names, &mut plan, watch)?;
            let oldest =
                known.map_or(FileNumber::default(), |front| front.state.min_log_number_to_keep);
            let largest = rebuilding.largest_seqno().get();
            let logs = logs_from(&log_names, oldest);
            plan.logs = read_logs(&*builder.fs, &wal_dir, &logs, largest, watch)?;
            rebuilding.finish(&mut plan)?;
        }
        plan.take_in_logs();
        plan.sum_up(&names, &log_names);
        Ok(plan)
    }

    /// The newest options file that can be read.
    fn read_options(
        &mut self,
        builder: &DbBuilder,
        names: &[FileName],
    ) -> Result<Option<OptionsFile>> {
        let mut numbers: Vec<u64> = names
            .iter()
            .filter_map(|name| match name {
                FileName::Options(number) => Some(number.get()),
                _ => None,
            })
            .collect();
        numbers.sort_unstable();
        while let Some(number) = numbers.pop() {
            let path = builder.dir.join(file_name(number));
            let report = OptionsFile::read(&builder.fs.read(&path)?, Mode::Lenient);
            let is_readable = report.worst().is_none_or(|worst| worst < Severity::Error);
            if is_readable && !report.options.families.is_empty() {
                return Ok(Some(report.options));
            }
            self.report.notes.push(format!("{}: cannot be used", path.display()));
        }
        self.report.notes.push("no OPTIONS file can be used: the defaults are".to_owned());
        Ok(None)
    }

    /// Takes over what a manifest says, if it can.
    fn follow(
        &mut self,
        examiner: &Examiner<'_>,
        place: &Place<'_>,
        front: ManifestFront,
        is_outdated: bool,
        watch: &mut RepairWatch<'_>,
    ) -> Result<Followed> {
        let fs = &*examiner.builder.fs;
        let Place { names, log_names, wal_dir } = *place;
        let there: BTreeSet<FileNumber> = tables_in(names).collect();
        let named: BTreeSet<FileNumber> = front
            .state
            .families
            .values()
            .flat_map(|family| family.files.iter().map(|new| new.file.number))
            .collect();
        let unnamed: BTreeSet<FileNumber> = there.difference(&named).copied().collect();
        let strangers: Vec<FileNumber> =
            unnamed.iter().filter(|number| !front.left.contains(number)).copied().collect();
        if let Some(damage) = &front.damage {
            let path = FileName::Manifest(front.manifest).in_dir(&examiner.builder.dir);
            let mut error = Error::corruption(damage.message()).in_file(path);
            if let Some(offset) = damage.offset() {
                error = error.at(offset);
            }
            self.report.trouble.get_or_insert(error);
        }
        if is_outdated && !named.is_subset(&there) && !strangers.is_empty() {
            self.report.notes.push(
                "the manifest is not the last word, tables that it names are missing, and there are others: those that are \
                 there decide, and keys that were deleted may show again"
                    .to_owned(),
            );
            return Ok(Followed::No(Some(Box::new(front))));
        }
        self.report.basis = RepairBasis::Manifest {
            number: front.manifest,
            records: front.records,
            damage: front.damage.as_ref().map(Error::to_string),
        };
        self.state = front.state.clone();
        self.look_at_named(examiner, watch)?;
        let oldest = self.state.min_log_number_to_keep.max(
            self.state.families.values().map(|family| family.log_number).min().unwrap_or_default(),
        );
        let last_sequence = self.state.last_sequence.get();
        let logs = logs_from(log_names, oldest);
        self.logs = read_logs(fs, wal_dir, &logs, last_sequence, watch)?;
        let late = if is_outdated { strangers } else { Vec::new() };
        let taken = self.take_late(examiner, &front, &late, watch)?;
        for number in unnamed.into_iter().filter(|number| !taken.contains(number)) {
            let path = examiner.path(number)?;
            if !self.report.lost.iter().any(|lost| lost.path() == path) {
                self.report.unused.push(UnusedTable { path, why: NOT_NAMED });
            }
        }
        let missing = front
            .wals
            .iter()
            .map(|wal| FileName::Log(wal.number))
            .filter(|log| log.number() >= Some(oldest) && !log_names.contains(log));
        for log in missing {
            let path = log.in_dir(wal_dir);
            match taken.is_empty() {
                true => self.report.lost.push(Lost::Log { path }),
                false => self.report.notes.push(format!(
                    "{}: the manifest lists it, and it is missing; later tables are there, which may have taken its place",
                    path.display()
                )),
            }
        }
        Ok(Followed::Yes)
    }

    /// Forgets what was found by a manifest that does not decide.
    fn start_over(&mut self, known: Option<&ManifestFront>) {
        self.report.basis = RepairBasis::Tables;
        if let Some(front) = known {
            self.state.db_id.clone_from(&front.state.db_id);
            self.state.max_family = front.state.max_family;
        }
    }

    fn look_at_named(
        &mut self,
        examiner: &Examiner<'_>,
        watch: &mut RepairWatch<'_>,
    ) -> Result<()> {
        let mut gone = BTreeSet::new();
        let families = self.state.families.clone();
        for (id, family) in &families {
            for new in &family.files {
                if new.file.path_id != 0 {
                    return Err(Error::not_supported(format!(
                        "table {} stands in directory {}",
                        new.file.number, new.file.path_id
                    )));
                }
                let path = examiner.path(new.file.number)?;
                let condition = examiner.named(&path, &new.file, watch)?;
                let range =
                    (new.file.smallest_user_key().to_vec(), new.file.largest_user_key().to_vec());
                if !self.note_condition(condition, *id, new, path, Some(range)) {
                    gone.insert(new.file.number);
                }
            }
        }
        for family in self.state.families.values_mut() {
            family.files.retain(|new| !gone.contains(&new.file.number));
        }
        Ok(())
    }

    /// Notes what becomes of a table. Returns whether it is in the result.
    pub(super) fn note_condition(
        &mut self,
        condition: Condition,
        family: u32,
        new: &NewFile,
        path: PathBuf,
        range: Option<(Vec<u8>, Vec<u8>)>,
    ) -> bool {
        let Damaged { damages, lost, tombstones_lost, entries } = match condition {
            Condition::Whole => {
                self.report.kept.push(KeptTable {
                    number: new.file.number,
                    family,
                    level: new.level,
                    bytes: new.file.file_bytes,
                });
                return true;
            }
            Condition::Gone(error) => {
                self.lose_table(path, Some(family), range, &error);
                return false;
            }
            Condition::Damaged(damaged) => damaged,
        };
        self.damaged.insert(new.file.number);
        for keys in &lost {
            let (path, keys) = (path.clone(), keys.clone());
            self.report.lost.push(Lost::Keys { path, family, keys });
        }
        if let Some(why) = tombstones_lost {
            self.report.lost.push(Lost::RangeTombstones { path: path.clone(), family, why });
        }
        let first = damages.first().cloned().unwrap_or_default();
        self.report.trouble.get_or_insert_with(|| Error::corruption(first).in_file(&path));
        self.report.salvaged.push(SalvagedTable {
            path,
            family,
            level: new.level,
            entries,
            lost,
            damages,
        });
        true
    }

    pub(super) fn lose_table(
        &mut self,
        path: PathBuf,
        family: Option<u32>,
        range: Option<(Vec<u8>, Vec<u8>)>,
        error: &Error,
    ) {
        let why = error.message().to_owned();
        self.report.trouble.get_or_insert_with(|| Error::corruption(why.clone()).in_file(&path));
        self.report.lost.push(Lost::Table { path, family, range, why });
    }

    fn take_in_logs(&mut self) {
        for lost in std::mem::take(&mut self.logs.lost) {
            if let Lost::LogBytes { path, offset, why, torn_end: false, .. } = &lost {
                self.report.trouble.get_or_insert_with(|| {
                    Error::corruption(why.clone()).in_part("log").at(*offset).in_file(path)
                });
            }
            self.report.lost.push(lost);
        }
        for log in &self.logs.fronts {
            self.report.logs.push(RepairedLog {
                path: log.path.clone(),
                bytes: log.bytes,
                batches: log.batches,
            });
        }
        if let Some(lost) = self.report.lost.iter().find(|lost| matches!(lost, Lost::Log { .. })) {
            let path = lost.path().to_owned();
            self.report.trouble.get_or_insert_with(|| {
                Error::corruption("the log is missing, and the manifest lists it").in_file(path)
            });
        }
        let last = SeqNo::new(self.logs.last_sequence).unwrap_or(SeqNo::MAX);
        self.state.last_sequence = self.state.last_sequence.max(last);
    }

    /// Gives the state its numbers, and the report its families.
    fn sum_up(&mut self, names: &[FileName], log_names: &[FileName]) {
        let numbers = names.iter().chain(log_names).filter_map(|name| name.number());
        let greatest = numbers.filter(|number| *number < FileNumber::TOO_GREAT).max();
        let next = greatest.map_or(FileNumber::from(1), FileNumber::next);
        self.state.next_file_number = self.state.next_file_number.max(next);
        let mut log_records: BTreeMap<u32, u64> = BTreeMap::new();
        for log in &self.logs.fronts {
            for (id, changes) in &log.families {
                let wants = |family: &crate::version::FamilyFiles| family.log_number <= log.number;
                if self.state.families.get(id).is_some_and(wants) {
                    *log_records.entry(*id).or_default() += changes.count;
                }
            }
        }
        for (id, family) in &self.state.families {
            self.state.max_family = self.state.max_family.max(*id);
            self.report.families.push(RepairedFamily {
                id: *id,
                name: family.name.clone(),
                tables: family.files.len() as u64,
                bytes: family.files.iter().map(|new| new.file.file_bytes).sum(),
                log_records: log_records.get(id).copied().unwrap_or(0),
                merged: self.merged.contains(id),
            });
        }
    }
}

/// The tables among names.
pub(super) fn tables_in(names: &[FileName]) -> impl Iterator<Item = FileNumber> + '_ {
    names.iter().filter_map(|name| match *name {
        FileName::Table(number) => Some(number),
        _ => None,
    })
}
