//! Tombstones: key ranges of which much is deleted, and range tombstones in numbers.

use crate::exam::Case;
use crate::finding::{Evidence, Finding, Remedy, Severity, Value};
use crate::model::{Table, TableLayout};
use crate::units::{count, counted};

/// Share of tombstones from which on a table is heavy with them.
const HEAVY_SHARE: f64 = 0.5;
/// Tombstones of a table below which they cost nobody anything.
const HEAVY_MIN: u64 = 1000;
/// Range tombstones in all that are worth a word.
const RANGES_MIN: u64 = 1000;
/// Bytes of a key that are shown.
const KEY_BYTES_MAX: usize = 16;

pub(super) fn examine(case: &Case<'_>) -> Vec<Finding> {
    [heavy(case), ranges(case)].into_iter().flatten().collect()
}

/// Neighbouring tables of one level of which much is tombstones.
struct Stretch<'c> {
    family: &'c str,
    level: u32,
    tables: u64,
    entries: u64,
    deletions: u64,
    smallest: &'c [u8],
    largest: &'c [u8],
}

impl Stretch<'_> {
    fn share(&self) -> f64 {
        self.deletions as f64 / self.entries.max(1) as f64
    }
}

fn stretches<'c>(case: &'c Case<'_>) -> Vec<Stretch<'c>> {
    let is_heavy = |layout: &TableLayout| {
        let share = layout.deletions as f64 / layout.entries.max(1) as f64;
        layout.deletions >= HEAVY_MIN && share >= HEAVY_SHARE
    };
    let mut tables: Vec<(&Table, &TableLayout)> = case.database.layouts().collect();
    // Bytewise; under another order a range may come in pieces.
    tables.sort_by_key(|(table, _)| (table.family, table.level, &table.smallest));
    let mut stretches = Vec::<Stretch<'_>>::new();
    let mut goes_on = false;
    for (table, layout) in tables {
        let family = case.family_of(table);
        if !is_heavy(layout) {
            goes_on = false;
            continue;
        }
        match stretches.last_mut() {
            Some(last)
                if goes_on
                    && (last.family, last.level) == (family, table.level)
                    && table.level > 0 =>
            {
                last.tables += 1;
                last.entries += layout.entries;
                last.deletions += layout.deletions;
                last.largest = &table.largest;
            }
            _ => stretches.push(Stretch {
                family,
                level: table.level,
                tables: 1,
                entries: layout.entries,
                deletions: layout.deletions,
                smallest: &table.smallest,
                largest: &table.largest,
            }),
        }
        goes_on = true;
    }
    stretches.sort_by_key(|stretch| std::cmp::Reverse(stretch.deletions));
    stretches
}

fn heavy(case: &Case<'_>) -> Option<Finding> {
    let stretches = stretches(case);
    let first = stretches.first()?;
    let deletions: u64 = stretches.iter().map(|stretch| stretch.deletions).sum();
    let tables: u64 = stretches.iter().map(|stretch| stretch.tables).sum();
    let title = format!(
        "{} in {}: half of the entries there or more are tombstones",
        counted(stretches.len() as u64, "key range"),
        counted(tables, "table")
    );
    let consequence = "A scan or a seek that lands there steps over every tombstone before it finds a key that lives: a \
        millisecond becomes seconds, with the CPU busy and no reads. Compactions go by size and may leave such a range as \
        it is for a long time.";
    let rows = stretches.iter().map(|stretch| {
        vec![
            Value::text(stretch.family),
            Value::text(format!("L{}", stretch.level)),
            Value::Count(stretch.tables),
            Value::Count(stretch.deletions),
            Value::Share(stretch.share()),
            Value::text(key(stretch.smallest)),
            Value::text(key(stretch.largest)),
        ]
    });
    let columns = ["family", "level", "tables", "tombstones", "of entries", "from", "to"];
    let remedy = Remedy::new(format!(
        "compact these ranges: CompactRange(options, family, begin, end) (Java: compactRange; in the shell: ldb \
         --db={} --column_family={} compact --from=… --to=…)",
        case.database.dir.display(),
        first.family
    ))
    .then(
        "to have RocksDB do that by itself: ColumnFamilyOptions::table_properties_collector_factories = \
         {NewCompactOnDeletionCollectorFactory(window, trigger)}, or ColumnFamilyOptions::periodic_compaction_seconds \
         (options file: periodic_compaction_seconds=86400; Java: setPeriodicCompactionSeconds)",
    )
    .partita("picks tables by their tombstones without being told; partita db compact --from … --to … does it now");
    let finding = Finding::new(Severity::Warning, "tombstones", title, consequence)
        .figure("tombstones", "tombstones in them", Value::Count(deletions))
        .evidence(Evidence::new("range", &columns, rows))
        .remedy(remedy);
    Some(finding)
}

/// A key in printable form, or its start.
fn key(key: &[u8]) -> String {
    let shown = key.get(..KEY_BYTES_MAX).unwrap_or(key);
    let dots = if shown.len() < key.len() { "…" } else { "" };
    format!("{}{dots}", shown.escape_ascii())
}

fn ranges(case: &Case<'_>) -> Option<Finding> {
    let mut with: Vec<(&Table, &TableLayout)> =
        case.database.layouts().filter(|(_, layout)| layout.range_deletions > 0).collect();
    let total: u64 = with.iter().map(|(_, layout)| layout.range_deletions).sum();
    if total < RANGES_MIN {
        return None;
    }
    with.sort_by_key(|(_, layout)| std::cmp::Reverse(layout.range_deletions));
    let title =
        format!("{} range tombstones in {}", count(total), counted(with.len() as u64, "table"));
    let consequence = "Each table that has some holds all of them in memory, outside of the cache, and every iterator goes \
        through those of all tables that it reads.";
    let rows = with.iter().map(|(table, layout)| {
        vec![
            Value::text(table.name()),
            Value::text(case.family_of(table)),
            Value::text(format!("L{}", table.level)),
            Value::Count(layout.range_deletions),
            Value::Bytes(layout.range_deletion_bytes),
        ]
    });
    let columns = ["file", "family", "level", "range tombstones", "bytes"];
    let bytes: u64 = with.iter().map(|(_, layout)| layout.range_deletion_bytes).sum();
    let finding = Finding::new(Severity::Warning, "range-tombstones", title, consequence)
        .figure("range_tombstones", "range tombstones", Value::Count(total))
        .figure("bytes", "in memory", Value::Bytes(bytes))
        .evidence(Evidence::new("file", &columns, rows))
        .remedy(
            Remedy::new("compact the ranges that they cover down to the last level, where they go")
                .partita(
                    "keeps them in a tree that is built once a table and charged to the budget",
                ),
        );
    Some(finding)
}
