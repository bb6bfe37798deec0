//! The new directory, from a plan.

use std::path::Path;

use super::plan::Plan;
use super::tables::Examiner;
use super::{RepairReport, RepairWatch};
use crate::db::identity::{new_db_id, new_session_id};
use crate::db::new_dir::NewDir;
use crate::db::{BottommostLevel, CompactRangeOptions, DbBuilder, FamilyConfig};
use crate::error::{Error, Result};
use crate::filter::FilterLevel;
use crate::io::FileSystem;
use crate::iter::RangeTombstone;
use crate::options::file::{FamilyOptions, file_number};
use crate::options::{ColumnFamilyOptions, CompactionStyle, DbOptions, ObjectName};
use crate::table::{SalvageSink, TableBuilder, TableContext, TableProperties, salvage_table};
use crate::version::edit::NewFile;
use crate::version::{
    FamilyFiles, FileMeta, FileName, FileNumber, TableCounts, VersionSet, unique_id,
};

/// Levels while logs are read and tables merged.
const LEVELS_LEAST: i32 = 7;

impl Plan {
    /// Makes the directory.
    pub(super) fn write(
        mut self,
        builder: &DbBuilder,
        target: &Path,
        watch: &mut RepairWatch<'_>,
    ) -> Result<RepairReport> {
        let dir = NewDir::begin(&builder.fs, target)?;
        let db_id = self.state.db_id.clone().unwrap_or_else(new_db_id);
        let examiner = Examiner::new(builder);
        let mut families = std::mem::take(&mut self.state.families);
        for (id, family) in &mut families {
            let options = self.family_options(family);
            for new in &mut family.files {
                let from = examiner.path(new.file.number)?;
                if !self.damaged.contains(&new.file.number) {
                    watch(&from, new.file.file_bytes);
                    dir.link_table(&builder.dir, FileName::Table(new.file.number))?;
                    continue;
                }
                let number = self.state.next_file_number;
                self.state.next_file_number = number.next();
                let origin = TableContext {
                    level: FilterLevel::Level(new.level as i32),
                    column_family_id: u64::from(*id),
                    db_id: db_id.clone(),
                    db_session_id: new_session_id(),
                    file_number: number.get(),
                    creation_time: new.file.oldest_ancestor_time,
                    file_creation_time: builder.clock.unix_seconds(),
                    merge_operator_name: options.merge_operator.id().map(str::to_owned),
                    ..TableContext::default()
                };
                let rewriting = Rewriting { examiner: &examiner, from: &from, options: &options };
                new.file = rewriting.run(new, family.name.clone(), origin, dir.path(), watch)?;
            }
        }
        self.state.families = families;
        let fs = builder.fs.clone();
        drop(VersionSet::create_with(fs, dir.path(), &self.state, &db_id)?);
        for log in self.logs.fronts.iter().filter(|log| log.bytes > 0) {
            let file = builder.fs.open(&log.path)?;
            dir.copy_front(&*file, log.bytes, FileName::Log(log.number))?;
        }
        builder.fs.sync_dir(dir.path())?;
        self.settle(builder, dir.path())?;
        self.write_options(&dir, &*builder.fs)?;
        dir.publish()?;
        Ok(self.report)
    }

    fn family_options(&self, family: &FamilyFiles) -> ColumnFamilyOptions {
        let stored = self.options.as_ref().and_then(|file| file.family(&family.name));
        let mut options = stored.cloned().unwrap_or_default();
        options.comparator = ObjectName::new(family.order.name());
        options
    }

    /// Opens the new database once, so that what logs hold goes into tables, and merges the families that need it.
    ///
    /// Operands stay as they are, so no merge operator is asked for.
    fn settle(&self, builder: &DbBuilder, dir: &Path) -> Result<()> {
        let mut inner = DbBuilder::new(dir)
            .file_system(builder.fs.clone())
            .clock(builder.clock.clone())
            .options(DbOptions::default());
        inner.cache.clone_from(&builder.cache);
        inner.comparators.clone_from(&builder.comparators);
        inner.scheduler.clone_from(&builder.scheduler);
        for family in self.state.families.values() {
            let own = self.family_options(family);
            let options = ColumnFamilyOptions {
                merge_operator: ObjectName::default(),
                compaction_filter: ObjectName::default(),
                compaction_filter_factory: ObjectName::default(),
                compaction_style: CompactionStyle::Level,
                num_levels: own.num_levels.max(LEVELS_LEAST),
                disable_auto_compactions: true,
                ..own
            };
            let config = FamilyConfig { options: Some(options), ..FamilyConfig::default() };
            inner = inner.family(&family.name, config);
        }
        let db = inner.open()?;
        for id in &self.merged {
            let Some(family) = db.families().into_iter().find(|family| family.id() == *id) else {
                continue;
            };
            let options = CompactRangeOptions { bottommost_level: BottommostLevel::Rewrite };
            db.compact_range_with(&family, None, None, &options)?;
        }
        db.close()
    }

    /// Replaces the options that the opening left by the database's own.
    fn write_options(&mut self, dir: &NewDir, fs: &dyn FileSystem) -> Result<()> {
        let mut greatest = 0;
        for name in fs.list(dir.path())? {
            let number = name.to_str().and_then(file_number);
            if number.is_some() {
                fs.remove(&dir.path().join(&name))?;
            }
            let any = FileName::parse(&name).and_then(FileName::number).map(FileNumber::get);
            greatest = greatest.max(any.unwrap_or(0)).max(number.unwrap_or(0));
        }
        let deepest = deepest_levels(fs, dir.path(), self)?;
        let mut options = self.options.take().unwrap_or_default();
        options.db.wal_dir.clear();
        let stored = std::mem::take(&mut options.families);
        for (family, deepest) in self.state.families.values().zip(deepest) {
            let own = stored.iter().find(|other| other.name == family.name).cloned();
            let mut own = own.unwrap_or_else(|| FamilyOptions {
                name: family.name.clone(),
                options: ColumnFamilyOptions::default(),
            });
            own.options.comparator = ObjectName::new(family.order.name());
            if own.options.level_count() <= deepest {
                own.options.num_levels = LEVELS_LEAST.max(deepest as i32 + 1);
                self.report.notes.push(format!(
                    "column family {:?} has num_levels={} now, as its tables need",
                    family.name, own.options.num_levels
                ));
            }
            options.families.push(own);
        }
        dir.write(FileName::Options((greatest + 1).into()), options.to_text().as_bytes())
    }
}

/// The deepest level that has a table, of each family by id.
fn deepest_levels(fs: &dyn FileSystem, dir: &Path, plan: &Plan) -> Result<Vec<usize>> {
    let comparators: Vec<_> = plan
        .state
        .families
        .values()
        .filter_map(|family| match &family.order {
            crate::key::KeyOrder::Custom(comparator) => Some(comparator.clone()),
            _ => None,
        })
        .collect();
    let current = crate::version::read_current(fs, dir)?;
    let front = crate::version::ManifestFront::read(fs, dir, current, &comparators)?;
    let deepest = |family: &FamilyFiles| family.files.iter().map(|new| new.level as usize).max();
    Ok(front.state.families.values().map(|family| deepest(family).unwrap_or(0)).collect())
}

/// A damaged table that is written anew.
struct Rewriting<'r> {
    examiner: &'r Examiner<'r>,
    from: &'r Path,
    options: &'r ColumnFamilyOptions,
}

impl Rewriting<'_> {
    /// Returns what the manifest says of the new table; level and age stay those of the old one.
    fn run(
        &self,
        old: &NewFile,
        family: String,
        context: TableContext,
        dir: &Path,
        watch: &mut RepairWatch<'_>,
    ) -> Result<FileMeta> {
        let fs = &self.examiner.builder.fs;
        let file = fs.open(self.from)?;
        let reader_options = self.examiner.reader_options(Some(old.file.largest_seqno));
        let number = FileNumber::from(context.file_number);
        let to = FileName::Table(number).in_dir(dir);
        let level = context.level;
        let (ancestor, now) = (context.creation_time, context.file_creation_time);
        let context = TableContext { column_family_name: family, ..context };
        let table = crate::table::TableReader::open(
            file.clone(),
            &reader_options,
            &mut crate::table::ReadContext::default(),
        )?;
        let mut builder = TableBuilder::new(
            fs.create_new(&to)?,
            self.options.table_options(level, 1, false),
            table.key_order().clone(),
            context,
        )?;
        builder.carry_properties(&TableProperties {
            external_sst_file_version: None,
            external_sst_file_global_seqno: None,
            ..table.properties().clone()
        });
        drop(table);
        let mut on_block = |block: crate::table::BlockInfo| watch(self.from, block.handle.size);
        salvage_table(&file, &reader_options, &mut on_block, &mut Into(&mut builder))?;
        let summary = builder.finish()?;
        let (Some(smallest), Some(largest)) = (&summary.smallest, &summary.largest) else {
            return Err(Error::corruption("nothing is left of the table").in_file(self.from));
        };
        Ok(FileMeta {
            smallest_seqno: summary.smallest_seqno,
            largest_seqno: summary.largest_seqno,
            epoch: old.file.epoch,
            oldest_ancestor_time: ancestor,
            creation_time: now,
            unique_id: unique_id::of_table(&summary.properties),
            counts: TableCounts::of_table(&summary.properties),
            ..FileMeta::new(number, summary.file_size, smallest, largest)
        })
    }
}

/// Puts what is salvaged into a new table.
struct Into<'b>(&'b mut TableBuilder);

impl SalvageSink for Into<'_> {
    fn entry(&mut self, internal_key: &[u8], value: &[u8]) -> Result<()> {
        self.0.add(internal_key, value)
    }

    fn tombstone(&mut self, tombstone: &RangeTombstone) -> Result<()> {
        self.0.add_range_tombstone(&tombstone.start, &tombstone.end, tombstone.seqno)
    }
}
