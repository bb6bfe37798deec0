//! Who cannot read the tables: releases of RocksDB to come, and Partita.

use crate::compatibility::compatibility;
use crate::exam::Case;
use crate::finding::{Evidence, Finding, Remedy, Severity, Value};
use crate::setting;
use crate::units::counted;

pub(super) fn examine(case: &Case<'_>) -> Vec<Finding> {
    [dropped(case), refused(case)].into_iter().flatten().collect()
}

fn dropped(case: &Case<'_>) -> Option<Finding> {
    let found: Vec<_> = case
        .database
        .layouts()
        .filter_map(|(table, layout)| Some((table, layout.readers.dropped.as_ref()?)))
        .collect();
    let first = found.iter().map(|(_, dropped)| dropped.release).min()?;
    let title =
        format!("{} cannot be read by RocksDB {first}", counted(found.len() as u64, "table"));
    let consequence = "An upgrade to that release does not open the database, and the way back may be barred by what it has \
        written before.";
    let rows = found.iter().map(|(table, dropped)| {
        vec![
            Value::text(table.name()),
            Value::text(case.family_of(table)),
            Value::text(dropped.release.to_string()),
            Value::text(dropped.feature.as_str()),
        ]
    });
    let columns = ["file", "family", "not read from", "because of"];
    let finding = Finding::new(Severity::Warning, "not-read-by-later-releases", title, consequence)
        .evidence(Evidence::new("file", &columns, rows))
        .remedy(
            Remedy::new("have tables written in format version 5, and write the old ones anew before the upgrade")
                .settings([setting::format_version(5)])
                .partita("reads all format versions and writes 5 unless told otherwise"),
        );
    Some(finding)
}

fn refused(case: &Case<'_>) -> Option<Finding> {
    let refused = compatibility(case.database).refused;
    if refused.is_empty() {
        return None;
    }
    let title = "Partita does not open all of it as it is";
    let consequence = "RocksDB is not concerned. What Partita does not have it refuses by name, before anything is written.";
    let rows =
        refused.iter().map(|one| vec![Value::Count(one.tables), Value::text(one.because.as_str())]);
    let evidence = Evidence::new("reason", &["tables", "because of"], rows);
    Some(
        Finding::new(Severity::Note, "refused-by-partita", title, consequence)
            .evidence(evidence)
            .remedy(Remedy::new(
                "hand over the comparator when the database is opened, if that is it",
            )),
    )
}
