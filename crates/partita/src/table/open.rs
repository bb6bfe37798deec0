//! Opening a table: footer, metaindex and properties, in one read; and the refusal of what we do not have.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::block::{BlockCursor, DataBlock, IndexFormat};
use super::budget::TableBudget;
use super::fetch::BlockFetcher;
use super::filter_reader::{FilterDamage, TableFilter};
use super::filter_use::{FilterHabit, FilterUse};
use super::index_place::IndexPlace;
use super::known_floors::KnownFloors;
use super::lazy::Lazy;
use super::metaindex::{self, Metaindex};
use super::properties::GLOBAL_SEQNO_NAME;
use super::tail::Tail;
use super::{
    BlockHandle, BlockRole, FOOTER_LEN_MAX, FilterStatus, Footer, ReadContext, TableProperties,
    TableReader,
};
use crate::cache::{Cache, Role};
use crate::error::{Error, Result};
use crate::io::RandomAccessFile;
use crate::key::{Comparator, KeyOrder, PrefixExtractor, SeqNo};
use crate::options::IndexType;
use crate::util::compression::CompressionType;

/// Name of the compression manager that stands for all built-in types in format version 7.
const BUILTIN_COMPRESSION_MANAGER: &str = "BuiltinV2";
/// What the names of comparators with user-defined timestamps end with.
const TIMESTAMP_SUFFIX: &str = ".u64ts";

/// The budget of tables that are not given one.
const DEFAULT_BUDGET_BYTES: usize = 32 << 20;

/// How a table is opened.
#[derive(Clone, Debug)]
pub struct ReaderOptions {
    /// The caller's comparators. A table names its own; the built-in ones need no registration.
    pub comparators: Vec<Arc<dyn Comparator>>,
    /// The prefix extractor in use. If the table records another built-in one, that one is used for its filter.
    pub prefix_extractor: Option<PrefixExtractor>,
    /// The greatest sequence number that the manifest records for the file. An ingested file takes it as the number of
    /// all its entries.
    pub largest_seqno: Option<SeqNo>,
    /// Whether the checksum of each block read is verified. Default: yes.
    pub verify_checksums: bool,
    /// What is done about a damaged filter. Default: it rules nothing out.
    pub filter_damage: FilterDamage,
    /// When the filter is asked. Default: if it pays.
    pub filter_use: FilterUse,
    /// The budget that blocks, pieces and the reader itself are charged to. Tables that share one share its budget, so
    /// give all of them a clone of yours. Default: a budget of 32 MiB for the tables opened with this value.
    pub cache: Cache,
    /// A budget of its own for pieces of index and filter, what stands above them, and the reader itself. Default: none,
    /// they share [`ReaderOptions::cache`] with data blocks.
    pub metadata_cache: Option<Cache>,
    /// The table's level in its database, if known: the cache counts by level and keeps level 0 longer. Default: unknown.
    pub level: Option<u8>,
    /// Whether what is read enters the cache; a [`ReadContext`] can say that it does not. Default: yes.
    pub fill_cache: bool,
}

impl Default for ReaderOptions {
    fn default() -> Self {
        Self {
            comparators: Vec::new(),
            prefix_extractor: None,
            largest_seqno: None,
            verify_checksums: true,
            filter_damage: FilterDamage::default(),
            filter_use: FilterUse::default(),
            cache: Cache::new(DEFAULT_BUDGET_BYTES),
            metadata_cache: None,
            level: None,
            fill_cache: true,
        }
    }
}

impl TableReader {
    /// Opens a table.
    ///
    /// Files without the index type property, as RocksDB wrote them before it had a choice, are read as having a plain
    /// index; files without a comparator name as ordered bytewise.
    ///
    /// * Errors: `NotSupported` for what we do not have, named: other table kinds and later format versions, comparators
    ///   that are not registered, user-defined timestamps, custom compression, embedded blobs. `Corruption` for damage
    ///   to the footer, metaindex or properties. `Io`. Damage elsewhere shows at the first use of what is damaged.
    /// * Cost: one read of 8 to 64 KiB; more only if the metaindex or the properties do not stand that near to the end.
    pub fn open(
        file: Arc<dyn RandomAccessFile>,
        options: &ReaderOptions,
        ctx: &mut ReadContext,
    ) -> Result<Self> {
        let path = file.path().to_path_buf();
        Self::open_parts(file, options, ctx).map_err(|error| error.in_file(path))
    }

    fn open_parts(
        file: Arc<dyn RandomAccessFile>,
        options: &ReaderOptions,
        ctx: &mut ReadContext,
    ) -> Result<Self> {
        let tail = Arc::new(Tail::read(Arc::clone(&file))?);
        let footer = read_footer(&*tail)?;
        let mut fetcher = BlockFetcher::new(tail, &footer, options.verify_checksums);
        let metaindex = read_metaindex(&fetcher, &footer, ctx)?;
        let properties = read_properties(&fetcher, &metaindex, ctx)?;
        let of_properties = |error: Error| error.in_part(BlockRole::Properties.as_str());
        refuse_unsupported(&footer, &properties).map_err(of_properties)?;
        fetcher.set_dictionary(metaindex.get(metaindex::COMPRESSION_DICTIONARY));
        fetcher.keep_open(file, options.cache.clone());

        // Names and values in memory take about what their blocks take.
        let named = metaindex.properties().map_or(0, |handle| handle.size) + footer.metaindex.size;
        let handle_bytes = size_of::<Self>() + named as usize;
        let order = key_order(&properties, &options.comparators).map_err(of_properties)?;
        let index_type = index_type(&properties)?;
        let index_format = index_format(&properties, index_type);
        let index_place = IndexPlace::new(&footer, &metaindex)?;
        let filter = filter_of(&metaindex, &properties, &order, options);
        let budget = TableBudget::new(
            options.cache.clone(),
            options.metadata_cache.clone().unwrap_or_else(|| options.cache.clone()),
            options.level,
            options.fill_cache,
            data_compression(&properties),
        );
        let global_seqno = global_seqno(&properties, options.largest_seqno)?;
        Ok(Self {
            fetcher,
            footer,
            has_range_tombstones: metaindex.get(metaindex::RANGE_DELETIONS).is_some(),
            metaindex,
            properties,
            order,
            index_place,
            two_level_index: index_type == IndexType::TwoLevel,
            index_format,
            data_blocks: budget.data_blocks(),
            charge: budget.metadata_cache.reserve(Role::TableHandle, handle_bytes),
            budget,
            index: Lazy::default(),
            filter,
            filter_use: options.filter_use,
            filter_habit: FilterHabit::default(),
            known_floors: KnownFloors::default(),
            largest_seqno: options.largest_seqno,
            global_seqno,
            range_tombstones: Lazy::default(),
        })
    }
}

/// How the data blocks are compressed, as far as the properties tell.
fn data_compression(properties: &TableProperties) -> Option<CompressionType> {
    let name = properties.compression_name.as_deref()?;
    // From format version 7: the manager, and the codes of its types in hexadecimal.
    let code = |name: &str| {
        let codes = name.split(';').nth(1)?;
        u8::from_str_radix(codes.get(codes.len().checked_sub(2)?..)?, 16).ok()
    };
    CompressionType::from_property_name(name)
        .ok()
        .or_else(|| CompressionType::from_code(code(name)?).ok())
}

/// Reads the footer of a file.
pub(super) fn read_footer(file: &dyn RandomAccessFile) -> Result<Footer> {
    let file_len = file.len();
    let len = file_len.min(FOOTER_LEN_MAX as u64);
    let mut tail = vec![0; len as usize];
    file.read_exact_at(file_len - len, &mut tail)
        .map_err(|error| error.in_part("footer").at(file_len - len))?;
    Footer::decode(&tail, file_len)
}

pub(super) fn read_metaindex(
    fetcher: &BlockFetcher,
    footer: &Footer,
    ctx: &mut ReadContext,
) -> Result<Metaindex> {
    let contents = fetcher.fetch(footer.metaindex, BlockRole::Metaindex, ctx)?;
    Metaindex::parse(contents)
        .map_err(|error| fetcher.place(error, footer.metaindex, BlockRole::Metaindex))
}

pub(super) fn read_properties(
    fetcher: &BlockFetcher,
    metaindex: &Metaindex,
    ctx: &mut ReadContext,
) -> Result<TableProperties> {
    let Some(handle) = metaindex.properties() else {
        return Err(Error::corruption("no properties block is listed").in_part("metaindex block"));
    };
    let contents = fetcher.fetch_properties(handle, global_seqno_at, ctx)?;
    parse_properties(contents).map_err(|error| fetcher.place(error, handle, BlockRole::Properties))
}

fn parse_properties(contents: Vec<u8>) -> Result<TableProperties> {
    let block = DataBlock::parse_meta(contents)?;
    let mut entries = Vec::new();
    block.for_each(|cursor| {
        entries.push((cursor.key().to_vec(), cursor.value(&block).to_vec()));
        Ok(())
    })?;
    Ok(TableProperties::decode(entries.iter().map(|(name, value)| (&name[..], &value[..]))))
}

/// Where the value of the global sequence number stands in a properties block that is not compressed.
fn global_seqno_at(contents: &[u8]) -> Option<Range<usize>> {
    let block = DataBlock::parse_meta(contents.to_vec()).ok()?;
    let mut cursor = BlockCursor::new();
    cursor.seek(&block, &KeyOrder::Bytewise, GLOBAL_SEQNO_NAME.as_bytes()).ok()?;
    (cursor.is_valid() && cursor.key() == GLOBAL_SEQNO_NAME.as_bytes())
        .then(|| cursor.value_range())
        .filter(|range| range.len() == size_of::<u64>())
}

fn refuse_unsupported(footer: &Footer, properties: &TableProperties) -> Result<()> {
    let timestamps = properties.timestamp_min.is_some()
        || properties.timestamp_max.is_some()
        || properties.user_defined_timestamps_persisted == Some(false);
    if timestamps {
        return Err(Error::not_supported("user-defined timestamps"));
    }
    if properties.embedded_blob_stats.is_some() {
        return Err(Error::not_supported("blobs embedded in the table"));
    }
    if footer.format_version >= 7
        && let Some(name) = &properties.compression_name
    {
        let manager = name.split(';').next().unwrap_or_default();
        if !manager.is_empty() && manager != BUILTIN_COMPRESSION_MANAGER {
            return Err(Error::not_supported(format!("compression manager {manager:?}")));
        }
    }
    Ok(())
}

fn key_order(properties: &TableProperties, registered: &[Arc<dyn Comparator>]) -> Result<KeyOrder> {
    let Some(name) = TableProperties::name_of(&properties.comparator_name) else {
        return Ok(KeyOrder::Bytewise);
    };
    if let Some(order) = KeyOrder::builtin(name) {
        return Ok(order);
    }
    if let Some(comparator) = registered.iter().find(|comparator| comparator.name() == name) {
        return Ok(KeyOrder::Custom(Arc::clone(comparator)));
    }
    Err(Error::not_supported(if name.ends_with(TIMESTAMP_SUFFIX) {
        format!("user-defined timestamps (comparator {name:?})")
    } else {
        format!("comparator {name:?}, which is not registered")
    }))
}

pub(super) fn index_type(properties: &TableProperties) -> Result<IndexType> {
    let Some(code) = properties.index_type else { return Ok(IndexType::BinarySearch) };
    IndexType::from_code(code).ok_or_else(|| {
        Error::not_supported(format!("index type {code}")).in_part("properties block")
    })
}

pub(super) fn index_format(properties: &TableProperties, index_type: IndexType) -> IndexFormat {
    IndexFormat {
        user_keys: properties.index_key_is_user_key.unwrap_or(false),
        delta_values: properties.index_value_is_delta_encoded.unwrap_or(false),
        first_keys: index_type == IndexType::BinarySearchWithFirstKey,
    }
}

/// What filter there is, and what may be asked of it. Nothing of it is read.
fn filter_of(
    metaindex: &Metaindex,
    properties: &TableProperties,
    order: &KeyOrder,
    options: &ReaderOptions,
) -> TableFilter {
    let (status, handle) = find_filter(metaindex);
    TableFilter {
        status,
        // Keys that are equal under the order but not in their bytes have different hashes.
        handle: handle.filter(|_| order.equal_keys_have_equal_bytes()),
        pieces: Lazy::default(),
        whole_keys: properties.whole_key_filtering.unwrap_or(true),
        prefixes: filtering_extractor(properties, options.prefix_extractor.as_ref()),
        on_damage: options.filter_damage,
        damage: OnceLock::new(),
    }
}

/// The filter's kind, and if we can use it where it, or its top level, is.
fn find_filter(metaindex: &Metaindex) -> (FilterStatus, Option<BlockHandle>) {
    for (prefix, status) in [
        (metaindex::FULL_FILTER_PREFIX, FilterStatus::Full),
        (metaindex::PARTITIONED_FILTER_PREFIX, FilterStatus::Partitioned),
    ] {
        match metaindex.with_prefix(prefix) {
            Some((metaindex::BUILTIN_FILTER_POLICY, handle)) => return (status, Some(handle)),
            Some((policy, _)) => return (FilterStatus::UnknownPolicy(policy.to_owned()), None),
            None => {}
        }
    }
    match metaindex.with_prefix(metaindex::OBSOLETE_FILTER_PREFIX) {
        Some(_) => (FilterStatus::Obsolete, None),
        None => (FilterStatus::Absent, None),
    }
}

/// The extractor whose prefixes the filter holds, if we have it.
///
/// The name that the table records decides: another extractor's prefixes were not added.
fn filtering_extractor(
    properties: &TableProperties,
    given: Option<&PrefixExtractor>,
) -> Option<PrefixExtractor> {
    if properties.prefix_filtering == Some(false) {
        return None;
    }
    let recorded = TableProperties::name_of(&properties.prefix_extractor_name)?;
    given
        .filter(|extractor| extractor.name() == recorded)
        .cloned()
        .or_else(|| PrefixExtractor::builtin(recorded))
}

/// The sequence number that all entries of an ingested file have, if it is one.
///
/// * `largest`: what the manifest records for the file.
fn global_seqno(properties: &TableProperties, largest: Option<SeqNo>) -> Result<Option<SeqNo>> {
    let corruption = |message| Err(Error::corruption(message).in_part("properties block"));
    match properties.external_sst_file_version {
        None | Some(1) => return Ok(None),
        Some(2) => {}
        Some(other) => {
            let message = format!("external file version {other}");
            return Err(Error::not_supported(message).in_part("properties block"));
        }
    }
    let written = properties.external_sst_file_global_seqno.unwrap_or(0);
    let Some(written) = SeqNo::new(written) else {
        return corruption(format!("global sequence number {written} has more than 56 bits"));
    };
    match largest.filter(|largest| *largest != SeqNo::MAX) {
        Some(largest) if written == SeqNo::ZERO => Ok(Some(largest)),
        Some(largest) if written != largest => corruption(format!(
            "global sequence number {written} in the file, {largest} in the manifest"
        )),
        _ => Ok(Some(written)),
    }
    .map(|global| global.filter(|global| *global != SeqNo::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::table::BlockChecksum;
    use crate::util::checksum::ChecksumType;

    fn footer(format_version: u32) -> Footer {
        Footer {
            format_version,
            checksum: BlockChecksum { checksum: ChecksumType::Xxh3, base_context: 1 },
            metaindex: BlockHandle::NULL,
            index: None,
        }
    }

    fn refused(format_version: u32, properties: &TableProperties) -> Option<String> {
        let error = refuse_unsupported(&footer(format_version), properties).err()?;
        assert_eq!(error.kind(), ErrorKind::NotSupported);
        Some(error.message().to_owned())
    }

    #[test]
    fn a_compression_manager_is_refused_by_name_where_there_can_be_one() {
        let compressed = |name: &str| TableProperties {
            compression_name: Some(name.to_owned()),
            ..TableProperties::default()
        };
        assert_eq!(
            refused(7, &compressed("MyManager;81;")).as_deref(),
            Some("compression manager \"MyManager\"")
        );
        for name in ["BuiltinV2;07;", "BuiltinV2;;", ";;", ""] {
            assert_eq!(refused(7, &compressed(name)), None, "{name}");
        }
        // Before version 7 the property is the name of an algorithm.
        assert_eq!(refused(6, &compressed("ZSTD")), None);
    }

    #[test]
    fn embedded_blobs_and_timestamps_are_refused() {
        let blobs =
            TableProperties { embedded_blob_stats: Some(vec![1]), ..TableProperties::default() };
        assert!(refused(5, &blobs).is_some_and(|message| message.contains("blobs")));
        let stripped = TableProperties {
            user_defined_timestamps_persisted: Some(false),
            ..TableProperties::default()
        };
        assert!(refused(5, &stripped).is_some_and(|message| message.contains("timestamps")));
        assert_eq!(refused(5, &TableProperties::default()), None);
    }
}
