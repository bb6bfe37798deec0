//! The options of an opening: what the caller says, what the directory's options file says, and what there is to tell
//! about both.
//!
//! The caller's options replace those of the file as a whole: the database's by [`DbBuilder::options`], a column family's
//! by [`FamilyConfig::options`](super::FamilyConfig::options). What is told is told of options that count.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{ColumnFamily, Db, DbBuilder};
use crate::error::{Error, Result};
use crate::options::file::{
    Finding, Mode, OptionsFile, Severity, db_findings, family_findings, file_name,
};
use crate::options::{ColumnFamilyOptions, CompactionStyle, DbOptions, SectionKind};

/// What holds, and what there is to tell.
pub(super) struct Settings {
    /// The directory's newest options file.
    pub(super) stored: Option<OptionsFile>,
    /// The database's options.
    pub(super) options: DbOptions,
    /// What there is to tell of options that count.
    pub(super) findings: Vec<Finding>,
    /// Where `stored` stands.
    path: Option<PathBuf>,
}

impl Settings {
    /// Gathers the options of a database.
    ///
    /// What cannot be made out of the file is passed over, as RocksDB does that reads a newer version's file; findings
    /// tell of it.
    ///
    /// * `exists`: whether there is a directory with an options file to look for.
    pub(super) fn gather(builder: &DbBuilder, exists: bool) -> Result<Self> {
        let newest = match exists {
            true => OptionsFile::load_newest(&*builder.fs, &builder.dir, Mode::Lenient)?,
            false => None,
        };
        let path = newest.as_ref().map(|(number, _)| builder.dir.join(file_name(*number)));
        let mut findings = Vec::new();
        let stored = newest.map(|(_, report)| {
            findings.extend(report.findings.into_iter().filter(|found| counts(builder, found)));
            report.options
        });
        findings.extend(builder.options.iter().flat_map(db_findings));
        for (name, config) in &builder.families {
            findings.extend(config.options.iter().flat_map(|given| family_findings(given, name)));
        }
        let options = builder.options.clone().or_else(|| Some(stored.as_ref()?.db.clone()));
        Ok(Self { stored, options: options.unwrap_or_default(), findings, path })
    }

    /// Refuses what cannot be meant, or cannot be had, by name. Reading does no harm with such options; writing might.
    pub(super) fn refuse_to_write(&self, builder: &DbBuilder) -> Result<()> {
        let Some(found) = self.findings.iter().find(|found| found.severity == Severity::Error)
        else {
            return Ok(());
        };
        match &self.path {
            Some(path) if found.line.is_some() => {
                let mut found = found.clone();
                found.message += "; options that the caller gives replace those of the file";
                Err(found.to_error().in_file(path))
            }
            _ => Err(found.to_error().in_file(&builder.dir)),
        }
    }

    /// How many levels column families have, as far as options of theirs are known.
    pub(super) fn level_counts(&self, builder: &DbBuilder) -> BTreeMap<String, usize> {
        let stored = self.stored.iter().flat_map(|file| &file.families);
        let stored = stored.map(|family| (family.name.clone(), family.options.level_count()));
        let given = builder.families.iter();
        let given = given.filter_map(|(name, config)| {
            Some((name.clone(), config.options.as_ref()?.level_count()))
        });
        stored.chain(given).collect()
    }
}

/// Whether what was found in the options file is about options that count.
fn counts(builder: &DbBuilder, found: &Finding) -> bool {
    if found.section == SectionKind::Db.title() {
        return builder.options.is_none();
    }
    let is_of = |name: &str| {
        [SectionKind::ColumnFamily, SectionKind::Table]
            .iter()
            .any(|kind| found.section == format!("{} \"{name}\"", kind.title()))
    };
    let replaced = builder.families.iter().filter(|(_, config)| config.options.is_some());
    !replaced.map(|(name, _)| name).any(|name| is_of(name))
}

/// Whether a column family is to keep its last level free for files that are ingested behind all others. With fewer than three
/// levels it cannot; to write to it is refused then ([`refuse_too_few_levels`]).
pub(super) fn keeps_last_level_free(of_all: bool, family: &ColumnFamilyOptions) -> bool {
    asks_for_free_level(of_all, family) && family.level_count() >= LEVELS_WITH_A_FREE_ONE
}

/// Where compactions have level 0 and one more.
const LEVELS_WITH_A_FREE_ONE: usize = 3;

fn asks_for_free_level(of_all: bool, family: &ColumnFamilyOptions) -> bool {
    let has_levels = family.compaction_style != CompactionStyle::Fifo;
    (of_all || family.cf_allow_ingest_behind) && has_levels
}

/// Refuses a column family that is to keep its last level free and has too few. RocksDB gives one of universal compaction three
/// then, whatever the options say.
pub(super) fn refuse_too_few_levels(
    of_all: bool,
    name: &str,
    family: &ColumnFamilyOptions,
) -> Result<()> {
    if !asks_for_free_level(of_all, family) || keeps_last_level_free(of_all, family) {
        return Ok(());
    }
    Err(Error::invalid_argument(format!(
        "column family {name:?} is to keep its last level free (allow_ingest_behind), which takes {LEVELS_WITH_A_FREE_ONE} levels at least, and num_levels={}",
        family.num_levels
    )))
}

/// Refuses a column family that has tables on more levels than its options give it, as RocksDB does. To read it, it has
/// as many as it needs.
pub(super) fn refuse_deeper_tables(
    builder: &DbBuilder,
    families: &BTreeMap<u32, ColumnFamily>,
) -> Result<()> {
    for family in families.values() {
        let levels = family.options().level_count();
        let last = family.0.family.current().last_level().unwrap_or(0);
        if last >= levels {
            return Err(Error::invalid_argument(format!(
                "column family {:?} has tables on level {last}, and num_levels={}",
                family.name(),
                family.options().num_levels
            ))
            .in_file(&builder.dir));
        }
    }
    Ok(())
}

impl Db {
    /// What there is to tell of the options that it was opened with: those on which nothing acts, those that rule each other
    /// out, names that are unknown or misspelt, objects that the caller has to hand over. With section, option, line and a
    /// stable code each; most are no more than good to know ([`Finding::severity`]).
    ///
    /// * Of options in the directory's newest OPTIONS file, as far as the caller did not replace them, and of those that the
    ///   caller gave.
    /// * What [`DbBuilder::open`] would refuse is among them, as [`Severity::Error`], if the database was opened to be read.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::db::DbBuilder;
    /// # use partita::io::MemoryFileSystem;
    /// # use partita::options::DbOptions;
    /// use partita::options::file::FindingKind;
    ///
    /// let mut options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    /// options.set("allow_mmap_reads", "true")?;
    /// # let disk = Arc::new(MemoryFileSystem::new());
    /// let db = DbBuilder::new("/db").file_system(disk).options(options).open()?;
    /// let found = &db.option_findings()[0];
    /// assert_eq!((found.kind, found.option.as_deref()), (FindingKind::NoEffect, Some("allow_mmap_reads")));
    /// # Ok::<(), partita::Error>(())
    /// ```
    pub fn option_findings(&self) -> &[Finding] {
        &self.inner().option_findings
    }
}
