//! Opening: databases of very many tables that are all read when they are opened.

use crate::exam::Case;
use crate::finding::{Finding, Remedy, Setting, Severity, Value};
use crate::units::count;

/// Tables from which on an opening is worth a word.
const TABLES_MIN: u64 = 5000;
/// What is read of a table that is opened, beside index and filters: its end.
const END_BYTES: u64 = 8 << 10;
/// Reads of a table that is opened: its end, and index and filters.
const READS_PER_TABLE: u64 = 2;

pub(super) fn examine(case: &Case<'_>) -> Vec<Finding> {
    let tables = case.database.layouts().count() as u64;
    let opens_all = case.settings.max_open_files.is_none_or(|max| max < 0);
    if !opens_all || tables < TABLES_MIN {
        return Vec::new();
    }
    // Whole indexes and filters are read at once, whether they go to the cache or stay with the table.
    let bytes: u64 =
        case.database.layouts().map(|(_, layout)| layout.metadata_bytes() + END_BYTES).sum();
    let title = format!("an opening reads the ends of all {} tables", count(tables));
    let consequence = "With max_open_files=-1 RocksDB opens every table, and reads its index and filters, before the database can be \
        used; it asks for the size of every file, too. Once the files are not in memory, that takes as long as so many reads.";
    let setting = |name: &str, java: &str, value: &str| Setting {
        cpp: format!("DBOptions::{name} = {value}"),
        java: format!("DBOptions.{java}({value})"),
        options_file: Some(format!("{name}={value}")),
        bookie: None,
    };
    let finding = Finding::new(Severity::Note, "slow-open", title, consequence)
        .figure("tables", "tables", Value::Count(tables))
        .figure("reads", "reads, about", Value::Count(tables * READS_PER_TABLE))
        .figure("bytes", "their bytes, about", Value::Bytes(bytes))
        .remedy(
            Remedy::new("open tables when they are first asked, and leave the checks out")
                .settings([
                    setting("max_open_files", "setMaxOpenFiles", "5000"),
                    setting("skip_stats_update_on_db_open", "setSkipStatsUpdateOnDbOpen", "true"),
                    setting(
                        "skip_checking_sst_file_sizes_on_db_open",
                        "setSkipCheckingSstFileSizesOnDbOpen",
                        "true",
                    ),
                ])
                .partita("opens a database by its manifest, and a table when it is first asked"),
        );
    vec![finding]
}
