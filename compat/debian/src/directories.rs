//! Directories of databases.

use std::path::Path;

use partita::db::{Db, DbBuilder, FamilyConfig};
use partita::options::ColumnFamilyOptions;
pub use partita_compat_rocks::directories::copy;
use partita_compat_rocks::setups::{FAMILIES, Setup};

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
