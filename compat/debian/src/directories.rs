//! Directories of databases.

use std::fs;
use std::path::Path;

use partita::db::{Db, DbBuilder, FamilyConfig};
use partita::options::ColumnFamilyOptions;
use partita_compat_rocks::setups::{FAMILIES, Setup};

/// Copies a directory of files, as a kill at this moment would leave it.
///
/// # Panics
/// If that fails; `to` must not exist.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("the copy can be made");
    for entry in fs::read_dir(from).expect("the directory can be listed") {
        let entry = entry.expect("the directory can be listed");
        fs::copy(entry.path(), to.join(entry.file_name())).expect("a file can be copied");
    }
}

/// Opens a database with small tables, so that there are many.
///
/// # Panics
/// If that fails.
pub fn open_with_small_tables(dir: &Path, setup: &Setup, disable_auto_compactions: bool) -> Db {
    let exists = dir.join("CURRENT").exists();
    let mut builder = DbBuilder::new(dir);
    if !exists {
        builder = builder.options(setup.our_db_options());
    }
    for family in FAMILIES {
        let options = ColumnFamilyOptions {
            target_file_size_base: 4 << 10,
            max_bytes_for_level_base: 32 << 10,
            disable_auto_compactions,
            ..setup.our_family_options()
        };
        let options = Some(options);
        builder = builder.family(family, FamilyConfig { options, ..FamilyConfig::default() });
    }
    builder.open().expect("it can be opened")
}
