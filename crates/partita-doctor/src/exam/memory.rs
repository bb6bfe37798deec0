//! The other horn: index and filters that are kept outside of the cache, where nothing bounds them.
//!
//! Without `cache_index_and_filter_blocks` every open table holds its whole index and filter, and with
//! `max_open_files=-1` every table is open. That memory grows with the data and is counted nowhere but in
//! `rocksdb.estimate-table-readers-mem`.

use crate::exam::{Case, cliff, metadata_remedy};
use crate::finding::{Evidence, Finding, Remedy, Severity, Value};
use crate::model::{Table, TableLayout};
use crate::setting;
use crate::settings::SharedCache;
use crate::units::size;

/// Below that nobody needs to be told, unless they asked.
const WORTH_TELLING_BYTES: u64 = 16 << 20;

pub(super) fn examine(case: &Case<'_>) -> Vec<Finding> {
    let mut holders: Vec<Holder<'_>> = case
        .database
        .layouts()
        .filter_map(|(table, layout)| Holder::of(case, table, layout))
        .collect();
    holders.sort_by_key(|holder| (std::cmp::Reverse(holder.bytes()), holder.table.number));
    // A bounded number of open tables bounds the memory, at the price of reading what is closed again.
    let tables = holders.len();
    let open = case.settings.max_open_files.and_then(|max| usize::try_from(max).ok());
    if let Some(open) = open {
        holders.truncate(open);
    }
    let now: u64 = holders.iter().map(Holder::bytes).sum();
    if now == 0 || now < WORTH_TELLING_BYTES && case.request.memory_bytes.is_none() {
        return Vec::new();
    }
    vec![finding(case, &holders, tables, now)]
}

/// A table that holds metadata outside of the cache.
struct Holder<'c> {
    table: &'c Table,
    family: &'c str,
    filter_bytes: u64,
    index_bytes: u64,
    /// Range tombstones, dictionaries and top levels.
    other_bytes: u64,
}

impl<'c> Holder<'c> {
    /// What an open table holds; `None` if that is nothing.
    fn of(case: &'c Case<'_>, table: &'c Table, layout: &TableLayout) -> Option<Self> {
        let family = case.family_of(table);
        let is_cached = case
            .settings
            .families
            .iter()
            .any(|one| one.name == family && one.caches_metadata == Some(true));
        let mut holder = Self {
            table,
            family,
            filter_bytes: 0,
            index_bytes: 0,
            // In pieces, whatever the settings.
            other_bytes: layout.range_deletion_bytes,
        };
        if !is_cached {
            // Partitions go through the cache whatever that setting says; their top levels do not.
            let (filter, index) = (&layout.filter, &layout.index);
            if filter.top_level_bytes == 0 {
                holder.filter_bytes = filter.pieces.bytes;
            }
            if !index.is_partitioned {
                holder.index_bytes = index.pieces.bytes;
            }
            holder.other_bytes +=
                filter.top_level_bytes + index.top_level_bytes + layout.dictionary_bytes;
        }
        (holder.bytes() > 0).then_some(holder)
    }

    fn bytes(&self) -> u64 {
        self.filter_bytes + self.index_bytes + self.other_bytes
    }
}

fn finding(case: &Case<'_>, holders: &[Holder<'_>], tables: usize, now: u64) -> Finding {
    let memory = case.request.memory_bytes;
    let severity = severity(case, now);
    let title = match memory {
        Some(memory) if now > memory => format!(
            "index and filters outside of the cache take {}, more than the {} that they may have",
            size(now),
            size(memory)
        ),
        _ => format!("index and filters outside of the cache take {}", size(now)),
    };
    let filters: u64 = holders.iter().map(|holder| holder.filter_bytes).sum();
    let mut finding = Finding::new(severity, "metadata-outside-cache", title, CONSEQUENCE)
        .figure("resident_bytes", "resident once all tables are open", Value::Bytes(now))
        .figure("filter_share", "of it filters", Value::Share(filters as f64 / now as f64));
    if tables > holders.len() {
        finding = finding.figure("tables", "tables", Value::Count(tables as u64)).figure(
            "max_open_files",
            "of them open at a time",
            Value::Count(holders.len() as u64),
        );
    }
    for (times, label) in growth(case) {
        let bytes = (now as f64 * times) as u64;
        finding.figures.push(crate::finding::Figure {
            name: "resident_bytes_at_growth",
            label: "resident after growth",
            value: Value::text(format!("{label}: {}", size(bytes))),
        });
    }
    if let Some(memory) = memory {
        let lasts = memory as f64 / now as f64;
        finding = finding.figure("memory_bytes", "may have", Value::Bytes(memory)).figure(
            "lasts_until_growth",
            "that lasts until the data is so many times as much",
            Value::Number(lasts),
        );
    }
    remedies(case, finding).evidence(evidence(holders))
}

const CONSEQUENCE: &str = "This memory stands beside the block cache and is bounded by nothing: it grows with the data until \
    the process is killed, months after anything was changed. Putting whole blocks of them into the cache instead bounds it, \
    and makes lookups slow wherever a block is larger than its shard.";

fn severity(case: &Case<'_>, now: u64) -> Severity {
    let Some(memory) = case.request.memory_bytes else { return Severity::Note };
    let grown = growth(case).into_iter().any(|(times, _)| now as f64 * times > memory as f64);
    if now > memory {
        Severity::Error
    } else if grown {
        Severity::Warning
    } else {
        Severity::Note
    }
}

/// The growths that are asked about, with their names.
fn growth(case: &Case<'_>) -> Vec<(f64, String)> {
    let asked: &[f64] = match case.request.growth.as_slice() {
        [] => &[2.0, 4.0],
        asked => asked,
    };
    asked.iter().map(|&times| (times, format!("{times}x"))).collect()
}

fn remedies(case: &Case<'_>, finding: Finding) -> Finding {
    let mut finding = finding.remedy(metadata_remedy());
    let caches: Vec<SharedCache<'_>> = case.settings.caches();
    // With caches of their own each family has its own answer; the largest is no answer for the others.
    if let [cache] = caches.as_slice()
        && !cache.families[0].no_cache
    {
        let [safe, _] = cliff::safe_if_cached(case, cache);
        let what = format!(
            "or put them into the cache as they are, which has to have {} for that, and more as tables grow",
            size(safe)
        );
        let settings = [setting::cache_metadata(true), setting::cache_like(cache.model(), safe)];
        finding = finding.remedy(Remedy::new(what).settings(settings));
    }
    finding
}

fn evidence(holders: &[Holder<'_>]) -> Evidence {
    let columns = ["file", "family", "level", "filter", "index", "other"];
    let rows = holders.iter().map(|holder| {
        vec![
            Value::text(holder.table.name()),
            Value::text(holder.family),
            Value::text(format!("L{}", holder.table.level)),
            Value::Bytes(holder.filter_bytes),
            Value::Bytes(holder.index_bytes),
            Value::Bytes(holder.other_bytes),
        ]
    });
    Evidence::new("file", &columns, rows)
}
