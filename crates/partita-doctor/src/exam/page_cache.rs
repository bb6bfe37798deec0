//! The system's cache of files, which a database leans on without anybody counting it.

use crate::exam::Case;
use crate::finding::{Finding, Remedy, Setting, Severity, Value};
use crate::settings::SharedCache;
use crate::units::size;

/// Bytes of tables from which on it is worth a word, and so many times the cache.
const TABLE_BYTES_MIN: u64 = 1 << 30;
const TIMES_THE_CACHE: u64 = 4;

pub(super) fn examine(case: &Case<'_>) -> Vec<Finding> {
    let is_direct = case.settings.option(None, "use_direct_reads") == Some("true");
    let tables: u64 = case.database.tables.iter().map(|table| table.file_bytes).sum();
    let caches: u64 =
        case.settings.caches().iter().map(|cache: &SharedCache<'_>| cache.model().bytes).sum();
    if is_direct || tables < TABLE_BYTES_MIN || tables / TIMES_THE_CACHE < caches {
        return Vec::new();
    }
    let leaned = tables - caches;
    let title = format!("lookups lean on up to {} of the system's cache of files", size(leaned));
    let consequence = "What is not in the block cache is read through the system's cache of files. That memory is counted by \
        nobody but the container's limit: where that is low, the system takes it away again and the same lookups go to the \
        device. What is in both caches takes memory twice.";
    let setting = Setting {
        cpp: "DBOptions::use_direct_reads = true".to_owned(),
        java: "DBOptions.setUseDirectReads(true)".to_owned(),
        options_file: Some("use_direct_reads=true".to_owned()),
        bookie: None,
    };
    let finding = Finding::new(Severity::Note, "page-cache", title, consequence)
        .figure("table_bytes", "tables", Value::Bytes(tables))
        .figure("cache_bytes", "block cache", Value::Bytes(caches))
        .figure("page_cache_bytes", "of the files outside of it, at most", Value::Bytes(leaned))
        .remedy(
            Remedy::new(
                "leave the machine that much memory; or give it to the block cache, and read past the system's",
            )
            .settings([setting])
            .partita("reads past it with use_direct_reads, too, and its budget is all the memory there is"),
        );
    vec![finding]
}
