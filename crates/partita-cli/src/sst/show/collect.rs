//! From a table's map to the report.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use partita::filter::FilterKind;
use partita::key::KeyOrder;
use partita::options::IndexType;
use partita::table::metaindex::{
    BUILTIN_FILTER_POLICY, COMPRESSION_DICTIONARY, FULL_FILTER_PREFIX, OBSOLETE_FILTER_PREFIX,
    PARTITIONED_FILTER_PREFIX, RANGE_DELETIONS,
};
use partita::table::{
    BLOCK_TRAILER_LEN, BlockRole, DataSample, Readers, SurveyedBlock, TableFeatures,
    TableProperties, TableSurvey,
};
use partita::util::compression::CompressionType;
use partita::{Error, Result};

use super::properties;
use super::report::{Because, BlockGroup, Entries, Filter, Format, Index, ReadableBy, Report};
use crate::escape::Form;
use crate::sst::open_file;
use crate::units::count;

/// The report of one table, and the damage met on the way.
///
/// * Errors: what keeps the table from being looked at as a whole.
pub(super) fn collect(path: &Path) -> Result<(Report, Vec<Error>)> {
    let survey = TableSurvey::open(open_file(path)?)?;
    let mut errors = Vec::new();
    let mut blocks = Blocks::default();
    survey.visit_blocks(&mut |block| match block {
        Ok(block) => blocks.add(&block),
        Err(error) => errors.push(error),
    });
    let sample = survey.sample_data().unwrap_or_else(|error| {
        errors.push(error);
        None
    });
    Ok((report(path, &survey, &blocks, sample.as_ref()), errors))
}

/// All blocks by role.
#[derive(Default)]
struct Blocks {
    groups: BTreeMap<BlockRole, Group>,
    filter_kinds: BTreeSet<&'static str>,
}

#[derive(Default)]
struct Group {
    count: u64,
    stored: u64,
    largest: u64,
    uncompressed: u64,
    unknown_lengths: u64,
    compression: BTreeMap<u8, u64>,
}

impl Blocks {
    fn add(&mut self, block: &SurveyedBlock) {
        let group = self.groups.entry(block.role).or_default();
        group.count += 1;
        group.stored += block.handle.size;
        group.largest = group.largest.max(block.handle.size);
        match block.uncompressed_len {
            Some(len) => group.uncompressed = group.uncompressed.saturating_add(len),
            None => group.unknown_lengths += 1,
        }
        *group.compression.entry(block.compression_code).or_default() += 1;
        self.filter_kinds.extend(block.filter_kind.map(FilterKind::as_str));
    }

    fn get(&self, role: BlockRole) -> Option<&Group> {
        self.groups.get(&role)
    }

    fn size_of(&self, role: BlockRole) -> Option<u64> {
        self.get(role).map(|group| group.stored)
    }

    fn compression_codes(&self) -> BTreeSet<u8> {
        self.groups.values().flat_map(|group| group.compression.keys().copied()).collect()
    }

    fn in_report(&self) -> Vec<BlockGroup> {
        let group = |(role, group): (&BlockRole, &Group)| BlockGroup {
            role: role.as_str(),
            count: group.count,
            stored_bytes: group.stored,
            largest_bytes: group.largest,
            uncompressed_bytes: (group.unknown_lengths == 0).then_some(group.uncompressed),
            compression: group
                .compression
                .iter()
                .map(|(code, blocks)| (compression_name(*code), *blocks))
                .collect(),
        };
        self.groups.iter().map(group).collect()
    }
}

fn compression_name(code: u8) -> String {
    CompressionType::from_code(code)
        .map_or_else(|_| format!("unknown {code:#04x}"), |kind| kind.to_string())
}

fn report(
    path: &Path,
    survey: &TableSurvey,
    blocks: &Blocks,
    sample: Option<&DataSample>,
) -> Report {
    let footer = survey.footer();
    let properties = survey.properties();
    let filter = filter(survey, blocks);
    let base = footer.checksum.base_context;
    Report {
        file: path.display().to_string(),
        file_bytes: survey.file_len(),
        format: Format {
            version: footer.format_version,
            checksum: footer.checksum.checksum.as_str(),
            base_context: (base != 0).then_some(base),
        },
        readable_by: readable_by(&features(survey, blocks, sample).readers()),
        entries: entries(properties, sample),
        index: index(survey, blocks),
        blocks: blocks.in_report(),
        properties: properties::as_json(properties),
        properties_in_words: properties::in_words(properties),
        warnings: warnings(survey, blocks, &filter),
        filter,
    }
}

fn features<'s>(
    survey: &'s TableSurvey,
    blocks: &Blocks,
    sample: Option<&DataSample>,
) -> TableFeatures<'s> {
    let mut features = TableFeatures::new(survey.footer(), survey.properties());
    features.compression_codes = blocks.compression_codes();
    features.has_dictionary = survey.metaindex().get(COMPRESSION_DICTIONARY).is_some();
    features.has_range_deletions |= survey.metaindex().get(RANGE_DELETIONS).is_some();
    features.has_partitioned_filter = blocks.get(BlockRole::FilterPartition).is_some();
    features.has_fast_local_bloom = blocks.filter_kinds.contains("bloom");
    features.has_ribbon = blocks.filter_kinds.contains("ribbon");
    features.has_data_block_hash_index = sample.is_some_and(|sample| sample.has_hash_index);
    features
}

fn readable_by(readers: &Readers) -> ReadableBy {
    let because = readers.required.iter().map(|requirement| Because {
        release: requirement.release.to_string(),
        feature: requirement.feature.clone(),
    });
    ReadableBy {
        oldest: readers.oldest().map(|release| release.to_string()),
        before: readers.first_without().map(|release| release.to_string()),
        filter_used_since: readers.filter_used.as_ref().map(|used| used.release.to_string()),
        because: because.collect(),
        in_words: readers.to_string(),
    }
}

fn entries(properties: &TableProperties, sample: Option<&DataSample>) -> Entries {
    // The count of deletions includes range tombstones.
    let tombstones = properties.num_range_deletions;
    let deletions = properties.num_deletions.map(|all| all.saturating_sub(tombstones.unwrap_or(0)));
    Entries {
        total: properties.num_entries,
        deletions,
        merge_operands: properties.num_merge_operands,
        range_tombstones: tombstones,
        smallest_seqno: properties.key_smallest_seqno,
        largest_seqno: properties.key_largest_seqno,
        global_seqno: properties.external_sst_file_global_seqno,
        first_user_key: sample.map(|sample| Form::Hex.text(&sample.first_user_key)),
        last_user_key: sample.map(|sample| Form::Hex.text(&sample.last_user_key)),
        keys_in_words: sample
            .map(|sample| [in_quotes(&sample.first_user_key), in_quotes(&sample.last_user_key)]),
    }
}

/// A key in quotes; of a long one its start, and how long it is.
fn in_quotes(key: &[u8]) -> String {
    const SHOWN_BYTES_MAX: usize = 64;
    match key.get(..SHOWN_BYTES_MAX) {
        Some(start) if key.len() > SHOWN_BYTES_MAX => {
            format!("\"{}\"… ({} bytes)", Form::Escaped.text(start), count(key.len() as u64))
        }
        _ => format!("\"{}\"", Form::Escaped.text(key)),
    }
}

fn index(survey: &TableSurvey, blocks: &Blocks) -> Index {
    let properties = survey.properties();
    let two_level = survey.index_type() == IndexType::TwoLevel;
    let role = if two_level { BlockRole::IndexPartition } else { BlockRole::Index };
    let pieces = blocks.get(role);
    Index {
        index_type: properties::index_type_name(survey.index_type().code().into()),
        keys_are_user_keys: properties.index_key_is_user_key.unwrap_or(false),
        values_are_delta_encoded: properties.index_value_is_delta_encoded.unwrap_or(false),
        pieces: pieces.map_or(0, |group| group.count),
        stored_bytes: pieces.map_or(0, |group| group.stored),
        largest_piece_bytes: pieces.map_or(0, |group| group.largest),
        top_level_bytes: blocks.size_of(BlockRole::IndexTopLevel),
    }
}

fn filter(survey: &TableSurvey, blocks: &Blocks) -> Filter {
    let properties = survey.properties();
    let (layout, named) = filter_layout(survey);
    let role = match layout {
        "partitioned" => BlockRole::FilterPartition,
        _ => BlockRole::Filter,
    };
    let pieces = blocks.get(role);
    let stored = pieces.map_or(0, |group| group.stored);
    let entries = properties.num_filter_entries.filter(|entries| *entries > 0);
    let recorded = TableProperties::name_of(&properties.filter_policy_name).map(str::to_owned);
    Filter {
        layout,
        policy: if layout == "unknown" { named } else { recorded.or(named) },
        kinds: blocks.filter_kinds.iter().map(|kind| (*kind).to_owned()).collect(),
        pieces: pieces.map_or(0, |group| group.count),
        stored_bytes: stored,
        largest_piece_bytes: pieces.map_or(0, |group| group.largest),
        top_level_bytes: blocks.size_of(BlockRole::FilterTopLevel),
        whole_keys: properties.whole_key_filtering.unwrap_or(true),
        prefixes: TableProperties::name_of(&properties.prefix_extractor_name).is_some()
            && properties.prefix_filtering.unwrap_or(true),
        entries,
        bits_per_entry: entries.map(|entries| stored as f64 * 8.0 / entries as f64),
    }
}

/// The filter's layout as a word, and its policy as the metaindex names it.
fn filter_layout(survey: &TableSurvey) -> (&'static str, Option<String>) {
    let find = |prefix| survey.metaindex().with_prefix(prefix).map(|(policy, _)| policy.to_owned());
    for (prefix, layout) in
        [(PARTITIONED_FILTER_PREFIX, "partitioned"), (FULL_FILTER_PREFIX, "full")]
    {
        if let Some(policy) = find(prefix) {
            let known = policy == BUILTIN_FILTER_POLICY;
            return (if known { layout } else { "unknown" }, Some(policy));
        }
    }
    match find(OBSOLETE_FILTER_PREFIX) {
        Some(policy) => ("obsolete", Some(policy)),
        None => ("none", None),
    }
}

/// What an operator should know, because readers stumble over it or because it is not what was asked for.
fn warnings(survey: &TableSurvey, blocks: &Blocks, filter: &Filter) -> Vec<String> {
    let mut warnings = Vec::new();
    let properties = survey.properties();
    filter_warnings(properties, filter, &mut warnings);
    count_warnings(survey, blocks, &mut warnings);
    if properties.index_type.is_none() {
        warnings.push("no index type is recorded: RocksDB's newest readers refuse the file".into());
    }
    if let Some(name) = TableProperties::name_of(&properties.comparator_name)
        && KeyOrder::builtin(name).is_none()
    {
        warnings.push(format!(
            "comparator {name} is not built in: scan, verify and rewrite refuse the file"
        ));
    }
    let compressed = blocks.compression_codes().iter().any(|code| *code != 0);
    if compressed && properties.compression_name.as_deref() == Some("NoCompression") {
        warnings.push(
            "blocks are compressed, but NoCompression is recorded: RocksDB fails to read them"
                .into(),
        );
    }
    for malformed in &properties.malformed {
        let value = Form::Hex.text(&malformed.value);
        warnings.push(format!(
            "property {} has a malformed value ({value}), read as absent",
            malformed.name
        ));
    }
    warnings
}

fn filter_warnings(properties: &TableProperties, filter: &Filter, warnings: &mut Vec<String>) {
    let policy = filter.policy.as_deref().unwrap_or_default();
    match filter.layout {
        "unknown" => warnings.push(format!(
            "the filter is of policy {policy}, which is not built in: every lookup reads the file"
        )),
        "obsolete" => warnings.push(
            "the filter is of the block-based kind, which RocksDB 7.0 and later do not use".into(),
        ),
        // A table without point entries has no keys to put into a filter.
        "none" if !policy.is_empty() && has_points(properties) => warnings
            .push(format!("filter policy {policy} was asked for, but the file has no filter")),
        _ => {}
    }
    if filter.kinds.iter().any(|kind| kind == "always-true") {
        warnings.push("a piece of the filter matches every key".into());
    }
}

fn has_points(properties: &TableProperties) -> bool {
    let tombstones = properties.num_range_deletions.unwrap_or(0);
    properties.num_entries.is_none_or(|entries| entries > tombstones)
}

fn count_warnings(survey: &TableSurvey, blocks: &Blocks, warnings: &mut Vec<String>) {
    let properties = survey.properties();
    let counted = |role| blocks.get(role).map_or(0, |group| group.count);
    let mut compare = |what: &str, recorded: Option<u64>, found: u64| {
        if let Some(recorded) = recorded.filter(|recorded| *recorded != found) {
            let (recorded, found) = (count(recorded), count(found));
            warnings.push(format!("{recorded} {what} are recorded, {found} were found"));
        }
    };
    // RocksDB 11 records no data blocks in files with a dictionary.
    let recorded = properties.num_data_blocks.filter(|blocks| *blocks > 0);
    compare("data blocks", recorded, counted(BlockRole::Data));
    if survey.index_type() == IndexType::TwoLevel {
        compare(
            "index partitions",
            properties.index_partitions,
            counted(BlockRole::IndexPartition),
        );
    }
    let version = u64::from(survey.footer().format_version);
    // RocksDB 7 records 0 whatever the version.
    if let Some(noted) = properties.format_version.filter(|noted| *noted != 0 && *noted != version)
    {
        warnings.push(format!("format version {noted} is recorded, the footer says {version}"));
    }
    let data = blocks.get(BlockRole::Data);
    let stored = data.map_or(0, |group| group.stored + group.count * BLOCK_TRAILER_LEN as u64);
    // More is possible: padding between blocks.
    if let Some(recorded) = properties.data_size.filter(|recorded| *recorded < stored) {
        let (recorded, stored) = (count(recorded), count(stored));
        warnings.push(format!("{recorded} bytes of data blocks are recorded, {stored} were found"));
    }
}
