//! Layouts: filters that a release does not use, and families whose tables are made in different ways.

use std::collections::BTreeMap;

use partita::table::Release;

use crate::exam::{Case, metadata_remedy};
use crate::finding::{Evidence, Finding, Remedy, Severity, Value};
use crate::model::{FilterShape, Table, TableLayout};
use crate::setting;
use crate::units::{counted, size};

pub(super) fn examine(case: &Case<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = unused_filters(case).into_iter().collect();
    findings.extend(case.settings.families.iter().filter_map(|family| mixed(case, &family.name)));
    findings
}

/// Why a filter is not used by the release that opens the database.
fn why_unused(layout: &TableLayout, release: Option<Release>) -> Option<String> {
    let policy = layout.filter.policy.as_deref().unwrap_or("no name");
    match layout.filter.shape {
        FilterShape::Obsolete => {
            let old = release.is_some_and(|release| release < Release { major: 7, minor: 0 });
            (!old).then(|| {
                "a filter for each data block: RocksDB 7.0 and later read none of them".to_owned()
            })
        }
        FilterShape::Foreign => Some(format!("policy {policy} is not built in")),
        _ => {
            let since = layout.readers.filter_used.as_ref()?;
            (release? < since.release)
                .then(|| format!("{} is used from RocksDB {} on", since.feature, since.release))
        }
    }
}

fn unused_filters(case: &Case<'_>) -> Option<Finding> {
    let release = case.database.release();
    let unused: Vec<(&Table, &TableLayout, String)> = case
        .database
        .layouts()
        .filter_map(|(table, layout)| Some((table, layout, why_unused(layout, release)?)))
        .collect();
    if unused.is_empty() {
        return None;
    }
    let bytes: u64 = unused.iter().map(|(_, layout, _)| layout.filter.total_bytes()).sum();
    let title = format!("{} have filters that are not used", counted(unused.len() as u64, "table"));
    let consequence = "They take room in the files, and every lookup of a key that is not in such a table reads a data block of \
        it all the same.";
    let rows = unused.iter().map(|(table, _, why)| {
        vec![
            Value::text(table.name()),
            Value::text(case.family_of(table)),
            Value::text(why.as_str()),
        ]
    });
    let remedy = Remedy::new("write the tables anew with a filter that the release knows")
        .settings([setting::bloom_filter()])
        .partita("takes a filter of a foreign policy for none; tables that it writes have one of its own");
    let finding = Finding::new(Severity::Warning, "filters-not-used", title, consequence)
        .figure("bytes", "in such filters", Value::Bytes(bytes))
        .evidence(Evidence::new("file", &["file", "family", "why"], rows))
        .remedy(remedy);
    Some(finding)
}

/// Tables of one family with full and with partitioned filters, or with one and with two levels of index.
fn mixed(case: &Case<'_>, family: &str) -> Option<Finding> {
    let tables: Vec<(&Table, &TableLayout)> =
        case.database.layouts().filter(|(table, _)| case.family_of(table) == family).collect();
    let mut makes = BTreeMap::<(FilterShape, &str), Vec<&(&Table, &TableLayout)>>::new();
    // Range tombstones alone need no filter.
    for entry in tables.iter().filter(|(_, layout)| layout.entries > 0) {
        makes.entry((entry.1.filter.shape, entry.1.index.index_type)).or_default().push(entry);
    }
    if makes.len() < 2 {
        return None;
    }
    let newest = tables.iter().max_by_key(|(table, _)| table.number)?.1;
    let whole = |layout: &TableLayout| {
        let filter =
            if layout.filter.shape == FilterShape::Full { layout.filter.pieces.bytes } else { 0 };
        filter.max(if layout.index.is_partitioned { 0 } else { layout.index.pieces.bytes })
    };
    let largest = tables.iter().map(|(_, layout)| whole(layout)).max().unwrap_or(0);
    let title = "tables are laid out in different ways";
    let gains = newest.filter.shape == FilterShape::Partitioned && largest > 0;
    let consequence = if gains {
        "New tables are cut into partitions, old ones keep their whole filters and indexes until a compaction takes them: a \
         lookup that meets one of these pays the old price."
    } else {
        "Settings changed, and old tables keep the layout that they were written with until a compaction takes them."
    };
    let rows = makes.iter().map(|((shape, index), list)| {
        let sum =
            |of: &dyn Fn(&TableLayout) -> u64| list.iter().map(|(_, layout)| of(layout)).sum();
        vec![
            Value::text(shape.as_str()),
            Value::text(*index),
            Value::Count(list.len() as u64),
            Value::Bytes(sum(&|layout| layout.file_bytes)),
            Value::Bytes(sum(&|layout| layout.filter.total_bytes())),
            Value::Count(sum(&|layout| layout.entries)),
        ]
    });
    let columns = ["filter", "index", "tables", "bytes", "filters", "entries"];
    let severity = if gains { Severity::Warning } else { Severity::Note };
    let mut finding = Finding::new(severity, "mixed-layouts", title, consequence)
        .evidence(Evidence::new("layout", &columns, rows));
    if gains {
        finding = finding
            .figure("largest_whole_block_bytes", "largest whole block", Value::Bytes(largest))
            .figure(
                "rewrite_gains",
                "after a rewrite",
                Value::text(format!("pieces of 4 KiB instead of {}", size(largest))),
            )
            .remedy(metadata_remedy());
    }
    finding.families.push(family.to_owned());
    Some(finding)
}
