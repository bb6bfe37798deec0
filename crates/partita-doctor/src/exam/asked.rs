//! Asked against effective: settings that RocksDB switches off without a word, and settings that hold otherwise than the
//! user's file says.

use std::collections::BTreeSet;

use partita::filter::FilterPolicy;
use partita::options::SectionKind;
use partita::options::file::EffectiveOption;

use crate::asked::AskedOptions;
use crate::exam::{Case, metadata_remedy};
use crate::finding::{Evidence, Finding, Remedy, Severity, Value};
use crate::model::FilterShape;
use crate::setting;
use crate::simulate::pinning::{self, METADATA_CACHE_OPTIONS};
use crate::units::counted;

pub(super) fn examine(case: &Case<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for family in &case.settings.families {
        findings.extend(partitions_off(case, &family.name));
        findings.extend(pinning_off(case, &family.name));
    }
    let asked = case.asked.and_then(|asked| asked.options.as_ref());
    findings.extend(asked.and_then(|asked| not_applied(case, asked)));
    merged(findings)
}

/// One finding where several families have the same.
fn merged(findings: Vec<Finding>) -> Vec<Finding> {
    let mut merged = Vec::<Finding>::new();
    for finding in findings {
        match merged
            .iter_mut()
            .find(|known| known.code == finding.code && known.title == finding.title)
        {
            Some(known) => known.families.extend(finding.families),
            None => merged.push(finding),
        }
    }
    merged
}

/// What the user's file asks for, or else the OPTIONS file; and where that stands.
fn asked_value<'c>(case: &'c Case<'_>, family: &str, name: &str) -> Option<(&'c str, String)> {
    let file = case.asked.and_then(|asked| asked.options.as_ref());
    let of_file = file
        .and_then(|file| Some((file.value(Some(family), name)?, file.path.display().to_string())));
    of_file.or_else(|| {
        let value = case.settings.option(Some(family), name)?;
        let path = &case.database.options.as_ref()?.path;
        Some((value, path.display().to_string()))
    })
}

const TWO_LEVEL: &str = "kTwoLevelIndexSearch";

/// `partition_filters` without the two-level index: RocksDB's table factory switches it off.
fn partitions_off(case: &Case<'_>, family: &str) -> Option<Finding> {
    let (_, path) =
        asked_value(case, family, "partition_filters").filter(|asked| asked.0 == "true")?;
    let index = asked_value(case, family, "index_type").map_or("kBinarySearch", |asked| asked.0);
    let shapes = |shape: FilterShape| {
        let of_family =
            case.database.layouts().filter(|(table, _)| case.family_of(table) == family);
        of_family.filter(|(_, layout)| layout.filter.shape == shape).count() as u64
    };
    let (full, partitioned) = (shapes(FilterShape::Full), shapes(FilterShape::Partitioned));
    let finding = if index == TWO_LEVEL {
        if full == 0 {
            return None;
        }
        let title = format!(
            "partitioned filters were asked for; {} have a full one",
            counted(full, "table")
        );
        let consequence = "A setting counts for tables that are written from then on. Those that were there keep their \
            layout until a compaction takes them, which for the last level may be never.";
        Finding::new(Severity::Warning, "partitions-not-everywhere", title, consequence)
            .remedy(metadata_remedy())
    } else {
        let title = format!("partition_filters=true has no effect with index_type={index}");
        let consequence = "RocksDB cuts filters only where the index has two levels, and otherwise switches the option off \
            without a word; the OPTIONS file that it writes then says false, so nobody notices. Every table has one filter \
            block.";
        let remedy = Remedy::new("ask for the two-level index, too")
            .settings([setting::two_level_index()])
            .then(
                "then write the tables anew: they keep their layout until a compaction takes them",
            )
            .partita(
                "refuses the pair when it opens, and says which of the two does not come about",
            );
        Finding::new(Severity::Warning, "partitions-switched-off", title, consequence)
            .remedy(remedy)
    };
    let mut finding = finding
        .figure("asked_in", "asked for in", Value::text(path))
        .figure("full_filters", "tables with a full filter", Value::Count(full))
        .figure(
            "partitioned_filters",
            "tables with a partitioned filter",
            Value::Count(partitioned),
        );
    finding.families.push(family.to_owned());
    Some(finding)
}

const CACHES_METADATA: &str = "cache_index_and_filter_blocks";

const PIN_LEVEL_0: &str = "pin_l0_filter_and_index_blocks_in_cache";

/// Pinning of what is not in the cache. Partitions always are, so what pins them counts.
fn pinning_off(case: &Case<'_>, family: &str) -> Option<Finding> {
    let caches = asked_value(case, family, CACHES_METADATA).is_some_and(|asked| asked.0 == "true");
    if caches {
        return None;
    }
    let is_cut = asked_value(case, family, "index_type").is_some_and(|asked| asked.0 == TWO_LEVEL);
    let level_0 =
        asked_value(case, family, PIN_LEVEL_0).filter(|asked| asked.0 == "true" && !is_cut);
    let (what, path) = match level_0 {
        Some((_, path)) => (format!("{PIN_LEVEL_0}=true"), path),
        None => {
            let (text, path) = asked_value(case, family, METADATA_CACHE_OPTIONS)?;
            (tier_in_vain(text, is_cut)?, path)
        }
    };
    let title = format!("{what} has no effect without {CACHES_METADATA}=true");
    let consequence = "Nothing is pinned that is not cached: index and filters stand outside of the cache, all of them, and \
        nothing bounds what they take.";
    let remedy = Remedy::new(
        "have index and filters go through the cache, cut into partitions; or leave pinning out",
    )
    .settings(setting::partitions());
    let mut finding =
        Finding::new(Severity::Warning, "pinning-without-caching", title, consequence)
            .figure("asked_in", "asked for in", Value::text(path))
            .remedy(remedy);
    finding.families.push(family.to_owned());
    Some(finding)
}

/// The first part of `metadata_cache_options` that asks for something that then does not come about.
fn tier_in_vain(text: &str, is_cut: bool) -> Option<String> {
    let of_partitions = (!is_cut).then_some(pinning::PARTITIONS);
    let mut parts = [pinning::UNPARTITIONED, pinning::TOP_LEVEL].into_iter().chain(of_partitions);
    parts.find_map(|name| {
        let tier = pinning::part(text, name)?;
        let asks = matches!(tier, "kAll" | "kFlushedAndSimilar");
        asks.then(|| format!("{METADATA_CACHE_OPTIONS}.{name}={tier}"))
    })
}

/// Options of the user's file that hold otherwise in the OPTIONS file that RocksDB wrote at its last open.
fn not_applied(case: &Case<'_>, asked: &AskedOptions) -> Option<Finding> {
    let written = case.database.options.as_ref()?;
    let mut rows = Vec::new();
    // Those of tables first: index, filter and cache are among them.
    let mut meant: Vec<&EffectiveOption> = asked.meant.iter().collect();
    meant.sort_by_key(|option| match option.section {
        SectionKind::Table => 0,
        SectionKind::ColumnFamily => 1,
        SectionKind::Db => 2,
    });
    for option in meant {
        let family = option.family.as_deref();
        let Some(wanted) = &option.asked else { continue };
        let logged = logged_cache(case, option);
        let written = case.settings.option(family, option.name);
        let Some(holds) = logged.as_deref().or(written) else { continue };
        // Values are spelt in several ways; how they come out tells whether they are the same.
        let is_same = holds == wanted
            || holds == option.holds
            || is_same_object(holds, &option.holds)
            || has_parts(holds, wanted);
        if !is_same {
            let why = if asked.is_dropped(option) { "the line has no line end" } else { "" };
            let line = option.line.map_or(String::new(), |line| line.to_string());
            let cells = [option.name, family.unwrap_or_default(), &line, wanted, holds, why];
            rows.push(cells.map(Value::text).to_vec());
        }
    }
    if rows.is_empty() {
        return None;
    }
    let title = format!(
        "{} of {} not as asked in the database",
        counted(rows.len() as u64, "setting"),
        asked.path.display()
    );
    let consequence = "The database was not opened with this file the last time, or the program set them otherwise behind it, \
        or RocksDB left them out. What stands under \"holds\" is what it runs with.";
    let columns = ["option", "family", "line", "asked", "holds", "why"];
    let finding = Finding::new(Severity::Warning, "options-not-applied", title, consequence)
        .figure("written_in", "holds as of", Value::text(written.path.display().to_string()))
        .evidence(Evidence::new("setting", &columns, rows))
        .remedy(Remedy::new(
            "check that the program loads this file, and that it loads all of it (ignore_unknown_options hides what does not)",
        ));
    Some(finding)
}

/// The cache's capacity as LOG has it: no OPTIONS file does.
fn logged_cache(case: &Case<'_>, option: &EffectiveOption) -> Option<String> {
    let logged = case.database.info_log.family(option.family.as_deref()?)?;
    (option.name == "block_cache").then(|| logged.cache_bytes.map(|bytes| bytes.to_string()))?
}

/// Whether two filter policies or the like are the same in old and new spelling: `rocksdb.BloomFilter:10:false`.
fn is_same_object(a: &str, b: &str) -> bool {
    matches!((FilterPolicy::parse(a), FilterPolicy::parse(b)), (Ok(Some(a)), Ok(Some(b))) if a == b)
}

/// Whether one of several values has those that were asked for, in whatever order: `{a=1;b=2;}`.
fn has_parts(holds: &str, wanted: &str) -> bool {
    let parts = |text: &str| -> Option<BTreeSet<String>> {
        let parts = text.trim().strip_prefix('{')?.strip_suffix('}')?.split(';').map(str::trim);
        Some(parts.filter(|part| !part.is_empty()).map(str::to_owned).collect())
    };
    matches!((parts(holds), parts(wanted)), (Some(holds), Some(wanted)) if wanted.is_subset(&holds))
}
