//! Options with the remedy among them.

use std::fmt::Write as _;
use std::path::Path;

use partita::cache::Cache;
use partita::db::{BottommostLevel, CompactRangeOptions, Db, DbBuilder, FamilyConfig};
use partita::io::FileSystem;
use partita::options::CompactionStyle;
use partita::options::file::{Mode, OptionsFile};
use partita::{Error, Result};

use crate::fix::Fixed;
use crate::setting;

/// Memory that is read and written with.
const CACHE_BYTES: usize = 128 << 20;

/// The budget of a run.
pub(super) fn cache() -> Cache {
    Cache::new(CACHE_BYTES)
}

/// The options that a directory is to have: those of its OPTIONS file with the remedy.
///
/// * Errors: `InvalidArgument` if there is no OPTIONS file; `NotSupported` for column families that cannot be rewritten.
pub(super) fn options_with_remedy(fs: &dyn FileSystem, dir: &Path) -> Result<OptionsFile> {
    let Some((_, report)) = OptionsFile::load_newest(fs, dir, Mode::Lenient)? else {
        let message = "there is no OPTIONS file, so that nobody knows with which options to go on";
        return Err(Error::invalid_argument(message).in_file(dir));
    };
    let options = report.options;
    let fifo = |one: &&partita::options::file::FamilyOptions| {
        one.options.compaction_style == CompactionStyle::Fifo
    };
    if let Some(family) = options.families.iter().find(fifo) {
        let message = format!(
            "column family {:?} drops its oldest tables (FIFO): rewritten, all would be of the same age",
            family.name
        );
        return Err(Error::not_supported(message).in_file(dir));
    }
    Ok(OptionsFile::read(with_remedy(&options.to_text()).as_bytes(), Mode::Lenient).options)
}

/// An options file in which the remedy stands among the options of all tables, in place of what was set before.
fn with_remedy(text: &str) -> String {
    let remedy: Vec<String> =
        setting::partitions().into_iter().filter_map(|setting| setting.options_file).collect();
    let name = |line: &str| line.split_once('=').map(|(name, _)| name.trim().to_owned());
    let replaced: Vec<Option<String>> = remedy.iter().map(|line| name(line)).collect();
    let mut fixed = String::with_capacity(text.len());
    let mut is_of_tables = false;
    for line in text.lines() {
        if is_of_tables && name(line).is_some() && replaced.contains(&name(line)) {
            continue;
        }
        let _ = writeln!(fixed, "{line}");
        if line.starts_with('[') {
            is_of_tables = line.starts_with("[TableOptions/");
            if is_of_tables {
                for line in &remedy {
                    let _ = writeln!(fixed, "  {line}");
                }
            }
        }
    }
    fixed
}

/// A database that is opened with exactly these options.
pub(super) fn builder(dir: &Path, options: &OptionsFile, families: &[String]) -> DbBuilder {
    let mut builder = DbBuilder::new(dir).cache(cache()).options(options.db.clone());
    for family in options.families.iter().filter(|family| families.contains(&family.name)) {
        let config =
            FamilyConfig { options: Some(family.options.clone()), ..FamilyConfig::default() };
        builder = builder.family(&family.name, config);
    }
    builder
}

/// Writes all tables of the database anew.
pub(super) fn rewrite(db: &Db) -> Result<()> {
    let options = CompactRangeOptions { bottommost_level: BottommostLevel::Rewrite };
    for family in db.families() {
        db.compact_range_with(&family, None, None, &options)?;
    }
    db.wait_for_background_work()
}

/// What there is now.
pub(super) fn fixed(db: &Db, dir: &Path) -> Fixed {
    let mut fixed = Fixed { dir: dir.to_owned(), ..Fixed::default() };
    for family in db.families() {
        let stats = db.family_stats(&family);
        fixed.families += 1;
        fixed.tables += stats.files();
        fixed.table_bytes += stats.bytes();
    }
    fixed
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita::options::{FilterLayout, IndexType};

    #[test]
    fn the_remedy_takes_the_place_of_what_was_set_for_tables() {
        let before = "[DBOptions]\n  max_open_files=7\n[CFOptions \"a\"]\n  num_levels=5\n\
            [TableOptions/BlockBasedTable \"a\"]\n  index_type=kBinarySearch\n  block_size=65536\n";
        let fixed = with_remedy(before);
        assert_eq!(fixed.matches("index_type=").count(), 1, "{fixed}");
        let options = OptionsFile::read(fixed.as_bytes(), Mode::Lenient).options;
        let family = options.family("a").unwrap();
        let kept = (options.db.max_open_files, family.num_levels, family.table.block_size);
        assert_eq!(kept, (7, 5, 65536));
        assert_eq!(family.table.index_type, IndexType::TwoLevel);
        assert_ne!(family.table.filter_layout, FilterLayout::Full);
    }
}
