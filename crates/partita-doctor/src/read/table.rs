//! A table's layout from its end, the top level of its index, and the last bytes of its filter.

use std::collections::BTreeSet;
use std::sync::Arc;

use partita::Result;
use partita::filter::{FilterKind, FilterMeta};
use partita::io::RandomAccessFile;
use partita::options::IndexType;
use partita::table::metaindex::{
    BUILTIN_FILTER_POLICY, COMPRESSION_DICTIONARY, FULL_FILTER_PREFIX, OBSOLETE_FILTER_PREFIX,
    PARTITIONED_FILTER_PREFIX, RANGE_DELETIONS,
};
use partita::table::{
    BlockHandle, BlockRole, ReadContext, ReaderOptions, SurveyedBlock, TableFeatures,
    TableProperties, TableReader, TableSurvey,
};
use partita::version::unique_id;

use crate::model::{FilterLayout, FilterShape, IndexLayout, Pieces, Problem, TableLayout};

/// Looks at a table.
///
/// * `reader`: how Partita would open it.
/// * Errors: what keeps it from being looked at as a whole. Damage beyond that stands in the layout.
pub(super) fn look(
    file: &Arc<dyn RandomAccessFile>,
    reader: &ReaderOptions,
) -> Result<TableLayout> {
    let survey = TableSurvey::open(Arc::clone(file))?;
    let mut blocks = Blocks::default();
    survey.visit_metadata(&mut |block| match block {
        Ok(block) => blocks.add(&block),
        Err(error) => blocks.damage.push(Problem::new(&error)),
    });
    let opened = TableReader::open(Arc::clone(file), reader, &mut ReadContext::default());
    let properties = survey.properties();
    let range_deletions = properties.num_range_deletions.unwrap_or(0);
    let less_ranges = |count: Option<u64>| count.unwrap_or(0).saturating_sub(range_deletions);
    let size = |count: Option<u64>| count.unwrap_or(0);
    let filter = filter(&survey, &blocks, &**file);
    Ok(TableLayout {
        file_bytes: survey.file_len(),
        format_version: survey.footer().format_version,
        checksum: survey.footer().checksum.checksum.as_str(),
        entries: less_ranges(properties.num_entries),
        deletions: less_ranges(properties.num_deletions),
        range_deletions,
        merge_operands: size(properties.num_merge_operands),
        data: data(properties),
        raw_key_bytes: size(properties.raw_key_size),
        raw_value_bytes: size(properties.raw_value_size),
        index: index(&survey, &blocks),
        dictionary_bytes: blocks.dictionary,
        range_deletion_bytes: blocks.range_deletions,
        prefix_extractor: TableProperties::name_of(&properties.prefix_extractor_name)
            .map(str::to_owned),
        readers: features(&survey, &blocks).readers(),
        refused: opened.err().map(|error| Problem::new(&error)),
        made_by: properties.db_id.clone(),
        unique_id: unique_id::of_table(properties),
        damage: blocks.damage,
        filter,
    })
}

/// What a visit of the metadata came across.
#[derive(Debug, Default)]
struct Blocks {
    index: Pieces,
    index_stored: u64,
    index_top_level: u64,
    filter: Pieces,
    filter_top_level: u64,
    /// Where the one filter block or the first partition is.
    first_filter: Option<BlockHandle>,
    filter_kinds: BTreeSet<&'static str>,
    dictionary: u64,
    range_deletions: u64,
    compression_codes: BTreeSet<u8>,
    damage: Vec<Problem>,
}

impl Blocks {
    fn add(&mut self, block: &SurveyedBlock) {
        let bytes = block.uncompressed_len.unwrap_or(block.handle.size);
        match block.role {
            BlockRole::Index | BlockRole::IndexPartition => {
                self.index.add(bytes);
                self.index_stored += block.handle.size;
            }
            BlockRole::IndexTopLevel => {
                self.index_top_level += bytes;
                self.index_stored += block.handle.size;
            }
            BlockRole::Filter | BlockRole::FilterPartition => {
                self.filter.add(bytes);
                self.first_filter.get_or_insert(block.handle);
            }
            BlockRole::FilterTopLevel => self.filter_top_level += bytes,
            BlockRole::Dictionary => self.dictionary += bytes,
            BlockRole::RangeDeletions => self.range_deletions += bytes,
            _ => {}
        }
        self.compression_codes.insert(block.compression_code);
        self.filter_kinds.extend(block.filter_kind.map(FilterKind::as_str));
    }
}

fn data(properties: &TableProperties) -> Pieces {
    let bytes = properties.data_size.unwrap_or(0);
    let count = properties.num_data_blocks.unwrap_or(0);
    Pieces { count, bytes, largest_bytes: 0 }
}

fn index(survey: &TableSurvey, blocks: &Blocks) -> IndexLayout {
    IndexLayout {
        index_type: survey.index_type().as_str(),
        is_partitioned: survey.index_type() == IndexType::TwoLevel,
        pieces: blocks.index,
        offset: survey.index_handle().offset,
        stored_bytes: blocks.index_stored,
        top_level_bytes: blocks.index_top_level,
    }
}

fn filter(survey: &TableSurvey, blocks: &Blocks, file: &dyn RandomAccessFile) -> FilterLayout {
    let properties = survey.properties();
    let (shape, named) = filter_shape(survey);
    let recorded = TableProperties::name_of(&properties.filter_policy_name).map(str::to_owned);
    let keys = properties.num_filter_entries.unwrap_or(0);
    let meta = blocks.first_filter.and_then(|handle| filter_meta(file, handle));
    // Of partitions the first stands for all: it has its share of the keys.
    let share = keys.checked_div(blocks.filter.count).unwrap_or(0);
    let is_read = matches!(shape, FilterShape::Full | FilterShape::Partitioned) && share > 0;
    FilterLayout {
        shape,
        policy: if shape == FilterShape::Foreign { named } else { recorded.or(named) },
        kinds: blocks.filter_kinds.iter().copied().collect(),
        pieces: blocks.filter,
        offset: blocks.first_filter.map_or(0, |handle| handle.offset),
        top_level_bytes: blocks.filter_top_level,
        keys,
        whole_keys: properties.whole_key_filtering.unwrap_or(true),
        prefixes: TableProperties::name_of(&properties.prefix_extractor_name).is_some()
            && properties.prefix_filtering.unwrap_or(true),
        measured_false_positives: None,
        false_positives: meta.filter(|_| is_read).map(|meta| {
            meta.expected_false_positive_rate(usize::try_from(share).unwrap_or(usize::MAX))
        }),
    }
}

fn filter_meta(file: &dyn RandomAccessFile, handle: BlockHandle) -> Option<FilterMeta> {
    let mut bytes = [0; FilterMeta::LEN];
    let at = handle.offset.checked_add(handle.size)?.checked_sub(bytes.len() as u64)?;
    file.read_exact_at(at, &mut bytes).ok()?;
    Some(FilterMeta::parse(usize::try_from(handle.size).ok()?, bytes))
}

/// The filter's layout, and its policy as the metaindex names it.
fn filter_shape(survey: &TableSurvey) -> (FilterShape, Option<String>) {
    let find = |prefix| survey.metaindex().with_prefix(prefix).map(|(policy, _)| policy.to_owned());
    for (prefix, shape) in [
        (PARTITIONED_FILTER_PREFIX, FilterShape::Partitioned),
        (FULL_FILTER_PREFIX, FilterShape::Full),
    ] {
        if let Some(policy) = find(prefix) {
            let is_known = policy == BUILTIN_FILTER_POLICY;
            return (if is_known { shape } else { FilterShape::Foreign }, Some(policy));
        }
    }
    match find(OBSOLETE_FILTER_PREFIX) {
        Some(policy) => (FilterShape::Obsolete, Some(policy)),
        None => (FilterShape::None, None),
    }
}

fn features<'s>(survey: &'s TableSurvey, blocks: &Blocks) -> TableFeatures<'s> {
    let metaindex = survey.metaindex();
    let mut features = TableFeatures::new(survey.footer(), survey.properties());
    features.compression_codes.clone_from(&blocks.compression_codes);
    features.has_dictionary = metaindex.get(COMPRESSION_DICTIONARY).is_some();
    features.has_range_deletions |= metaindex.get(RANGE_DELETIONS).is_some();
    features.has_partitioned_filter = metaindex.with_prefix(PARTITIONED_FILTER_PREFIX).is_some();
    features.has_fast_local_bloom = blocks.filter_kinds.contains("bloom");
    features.has_ribbon = blocks.filter_kinds.contains("ribbon");
    features
}
