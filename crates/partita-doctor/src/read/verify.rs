//! Every block of every table, checked.

use std::path::Path;

use partita::io::FileSystem;
use partita::table::{ReaderOptions, verify_table};

use super::database::open_table;
use crate::model::{Database, Problem, TableState, Verified};

/// Damages that are kept of all tables.
const DAMAGES_MAX: usize = 1000;

/// Checks the tables that the manifest names.
///
/// * `on_table`: called before each with its path's last part and its bytes, for progress.
pub(crate) fn verify(
    fs: &dyn FileSystem,
    database: &Database,
    on_table: &mut dyn FnMut(&Path, u64),
) -> Verified {
    let mut verified = Verified::default();
    let options = ReaderOptions::default();
    for table in &database.tables {
        on_table(&database.dir_of(table).join(table.name()), table.file_bytes);
        let file = match open_table(fs, database.dir_of(table), table) {
            Ok(file) => file,
            // It is told of as missing, or went with its manifest.
            Err(error) if error.is_not_found() => continue,
            Err(error) => {
                verified.unread.push(Problem::new(&error));
                continue;
            }
        };
        let report = verify_table(&file, &options, &mut |_| ());
        verified.tables += 1;
        verified.blocks += report.blocks_total();
        verified.bytes += report.bytes;
        verified.damaged_tables += u64::from(!report.is_clean());
        verified.incomplete_tables += u64::from(!report.complete);
        for damage in &report.damages {
            if verified.damages.len() < DAMAGES_MAX {
                verified.damages.push(Problem::new(damage));
            }
        }
        let unchecked = report.not_opened.filter(|error| !error.is_corruption());
        if let (Some(error), TableState::Seen(_)) = (unchecked, &table.state) {
            verified.unordered_tables += 1;
            verified.why_unordered.get_or_insert_with(|| error.message().to_owned());
        }
    }
    verified
}
