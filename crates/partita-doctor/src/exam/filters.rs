//! Filters that do not pay: those of the last level where lookups find their keys, those that rule little out, those that
//! hold prefixes alone, and tables without any.

use std::collections::BTreeMap;

use crate::exam::Case;
use crate::finding::{Evidence, Finding, Remedy, Severity, Value};
use crate::model::{FilterShape, Table, TableLayout};
use crate::setting;
use crate::units::{counted, share, size};

/// Below that a saving is not worth a word.
const WORTH_TELLING_BYTES: u64 = 16 << 20;
/// Answers of filters before their statistics say something.
const ANSWERS_MIN: u64 = 10_000;
/// Share of "no" among the answers up to which a filter is not worth its memory.
const USEFUL_SHARE_MIN: f64 = 0.05;
/// A filter that says "maybe" to more absent keys than that is weak: 10 bits give 1 %, 5 bits 10 %.
const WEAK_RATE: f64 = 0.05;
/// Entries of a table from which on a filter's rate means something.
const KEYS_MIN: u64 = 1000;
/// Data without a filter that is worth a word.
const UNFILTERED_BYTES_MIN: u64 = 64 << 20;

pub(super) fn examine(case: &Case<'_>) -> Vec<Finding> {
    let findings = [last_level(case), weak(case), prefixes_only(case), missing(case)];
    findings.into_iter().flatten().collect()
}

/// The last level with tables of each family, where there is one below level 0.
struct LastLevels(BTreeMap<u32, u32>);

impl LastLevels {
    fn of(case: &Case<'_>) -> Self {
        let mut levels = BTreeMap::<u32, u32>::new();
        for table in &case.database.tables {
            let last = levels.entry(table.family).or_default();
            *last = table.level.max(*last);
        }
        Self(levels)
    }

    fn has(&self, table: &Table) -> bool {
        table.level > 0 && self.0.get(&table.family) == Some(&table.level)
    }
}

fn last_level(case: &Case<'_>) -> Option<Finding> {
    let last_levels = LastLevels::of(case);
    let tables: Vec<(&Table, &TableLayout)> = case
        .database
        .layouts()
        .filter(|(table, layout)| layout.filter.total_bytes() > 0 && last_levels.has(table))
        .collect();
    let bytes: u64 = tables.iter().map(|(_, layout)| layout.filter.total_bytes()).sum();
    let all: u64 = case.database.layouts().map(|(_, layout)| layout.filter.total_bytes()).sum();
    let answers = Answers::of(case);
    let pay = answers.as_ref().map(|answers| answers.useful_share() >= USEFUL_SHARE_MIN);
    if bytes < WORTH_TELLING_BYTES || pay == Some(true) {
        return None;
    }
    let (severity, title) = match &answers {
        Some(answers) => (
            Severity::Warning,
            format!(
                "filters say \"no\" to {} of the lookups only, and those of the last level take {}",
                share(answers.useful_share()),
                size(bytes)
            ),
        ),
        None => (
            Severity::Note,
            format!(
                "the filters of the last level take {}: they pay only if many lookups find nothing",
                size(bytes)
            ),
        ),
    };
    let consequence = "On the last level a filter helps only lookups of keys that are nowhere. Where lookups find what they \
        look for, as in a bookie that reads what it wrote, it is asked for each of them and never says no.";
    let mut finding = Finding::new(severity, "last-level-filters", title, consequence)
        .figure("bytes", "filters of the last level", Value::Bytes(bytes))
        .figure("share", "of all filter bytes", Value::Share(bytes as f64 / all.max(1) as f64))
        .figure("tables", "in tables", Value::Count(tables.len() as u64));
    if let Some(answers) = answers {
        finding = finding
            .figure("useful", "\"no\" since the start, as LOG says", Value::Count(answers.useful))
            .figure("positive", "\"maybe\"", Value::Count(answers.positive));
    }
    let remedy = Remedy::new("leave the last level's filters out")
        .settings([setting::no_filter_on_last_level()])
        .then("then write the last level anew; if nothing tells how often lookups find their key, collect statistics first")
        .partita("watches what its filters rule out, level by level, and leaves those alone that do not pay");
    Some(finding.remedy(remedy))
}

/// What filters answered, as LOG's statistics say.
struct Answers {
    useful: u64,
    positive: u64,
}

impl Answers {
    fn of(case: &Case<'_>) -> Option<Self> {
        let log = &case.database.info_log;
        let useful = log.ticker("bloom.filter.useful")?;
        let positive = log.ticker("bloom.filter.full.positive")?;
        (useful + positive >= ANSWERS_MIN).then_some(Self { useful, positive })
    }

    fn useful_share(&self) -> f64 {
        self.useful as f64 / (self.useful + self.positive).max(1) as f64
    }
}

fn weak(case: &Case<'_>) -> Option<Finding> {
    let mut weak: Vec<(&Table, &TableLayout, f64)> = case
        .database
        .layouts()
        .filter(|(_, layout)| layout.filter.keys >= KEYS_MIN)
        .filter_map(|(table, layout)| {
            let filter = &layout.filter;
            let rate = filter.measured_false_positives.or(filter.false_positives)?;
            (rate > WEAK_RATE).then_some((table, layout, rate))
        })
        .collect();
    if weak.is_empty() {
        return None;
    }
    weak.sort_by(|a, b| b.2.total_cmp(&a.2));
    let title = format!("filters of {} let much through", counted(weak.len() as u64, "table"));
    let consequence = "A lookup of a key that is not there reads a data block for each \"maybe\". Less than 10 bits a key save \
        little memory and cost a read in ten; filters of format versions below 5 get worse with millions of keys.";
    let rows = weak.iter().map(|(table, layout, _)| {
        let filter = &layout.filter;
        let rate = |rate: Option<f64>| rate.map_or(Value::text(""), Value::Share);
        vec![
            Value::text(table.name()),
            Value::text(case.family_of(table)),
            Value::text(filter.kinds.join(", ")),
            Value::Number(filter.bits_per_key().unwrap_or(0.0)),
            rate(filter.false_positives),
            rate(filter.measured_false_positives),
        ]
    });
    let columns = ["file", "family", "kind", "bits a key", "expected", "measured"];
    let finding = Finding::new(Severity::Warning, "weak-filters", title, consequence)
        .evidence(Evidence::new("file", &columns, rows))
        .remedy(
            Remedy::new("give filters 10 bits a key, and format version 5")
                .settings([setting::bloom_filter(), setting::format_version(5)])
                .partita("writes filters of 10 bits a key unless told otherwise"),
        );
    Some(finding)
}

fn prefixes_only(case: &Case<'_>) -> Option<Finding> {
    let tables: Vec<(&Table, &TableLayout)> = case
        .database
        .layouts()
        .filter(|(_, layout)| layout.filter.prefixes && !layout.filter.whole_keys)
        .filter(|(_, layout)| {
            matches!(layout.filter.shape, FilterShape::Full | FilterShape::Partitioned)
        })
        .collect();
    if tables.is_empty() {
        return None;
    }
    let title = format!("filters of {} hold prefixes alone", counted(tables.len() as u64, "table"));
    let consequence = "A lookup of a single key is ruled out only if nothing has its prefix. And the filter is used only while \
        the database is opened with the prefix extractor that the table was written with.";
    let rows = tables.iter().map(|(table, layout)| {
        vec![
            Value::text(table.name()),
            Value::text(case.family_of(table)),
            Value::text(layout.prefix_extractor.as_deref().unwrap_or_default()),
        ]
    });
    let finding = Finding::new(Severity::Note, "prefix-filters", title, consequence)
        .evidence(Evidence::new("file", &["file", "family", "prefix extractor"], rows))
        .remedy(
            Remedy::new("if single keys are looked up, put them into the filter, too")
                .settings([setting::whole_keys()])
                .partita(
                    "uses either kind, and a prefix filter only for what its own extractor says",
                ),
        );
    Some(finding)
}

fn missing(case: &Case<'_>) -> Option<Finding> {
    let last_levels = LastLevels::of(case);
    let without: Vec<(&Table, &TableLayout)> = case
        .database
        .layouts()
        .filter(|(table, layout)| {
            let left_out =
                case.settings.option(Some(case.family_of(table)), "optimize_filters_for_hits")
                    == Some("true");
            layout.filter.shape == FilterShape::None
                && layout.entries > 0
                && !(left_out && last_levels.has(table))
        })
        .collect();
    let bytes: u64 = without.iter().map(|(table, _)| table.file_bytes).sum();
    if bytes < UNFILTERED_BYTES_MIN {
        return None;
    }
    let title = format!("{} have no filter", counted(without.len() as u64, "table"));
    let consequence = "RocksDB writes none unless told to. Every lookup reads a data block of each table whose range holds the \
        key, one for each level and one for each table of level 0, also if the key is not there.";
    let mut families = BTreeMap::<&str, (u64, u64)>::new();
    for (table, _) in &without {
        let family = families.entry(case.family_of(table)).or_default();
        family.0 += 1;
        family.1 += table.file_bytes;
    }
    let rows = families.into_iter().map(|(family, (tables, bytes))| {
        vec![Value::text(family), Value::Count(tables), Value::Bytes(bytes)]
    });
    let finding = Finding::new(Severity::Note, "no-filters", title, consequence)
        .figure("bytes", "in such tables", Value::Bytes(bytes))
        .evidence(Evidence::new("family", &["family", "tables", "bytes"], rows))
        .remedy(
            Remedy::new("if single keys are looked up, have tables written with a filter")
                .settings([setting::bloom_filter()])
                .partita("writes one unless told not to"),
        );
    Some(finding)
}
