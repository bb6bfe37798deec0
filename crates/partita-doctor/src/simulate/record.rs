//! Lookups through the tables of a database: which tables they come to, whose filters say maybe, and which blocks RocksDB asks
//! its cache for.
//!
//! ```text
//! for each family, for each table from new to old, for each key that falls in its range and was not found yet, in order:
//!   filter      top level, partition or whole        TableReader::may_contain says what it says
//!   if maybe:   index top level, partition or whole, data block     TableReader::get says whether it is there
//! ```
//!
//! Table by table, keys in order: each block is read once or twice, whatever the lookups' own order is. What a lookup asks
//! for is noted with its number, and put in the lookups' order at the end.
//!
//! Left out: memtables; range tombstones; the next data block, where a filter was wrong about a key between two blocks.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use partita::cache::Cache;
use partita::key::{KeyOrder, SeqNo, ValueType};
use partita::table::metaindex::{FULL_FILTER_PREFIX, PARTITIONED_FILTER_PREFIX};
use partita::table::{
    BlockHandle, BlockRole, FilterUse, IndexedBlock, LookupKey, ReadContext, ReaderOptions,
    TableReader, TableSurvey,
};
use partita::{Error, Result};

use crate::model::{FilterShape, Table, TableLayout};
use crate::read::open_table;
use crate::simulate::cache_key::BaseKey;
use crate::simulate::charge::{TRAILER_BYTES, charge};
use crate::simulate::family::FamilyRules;
use crate::simulate::keys::Lookup;
use crate::simulate::trace::{Block, BlockId, Part, Request, Trace};
use crate::simulate::{Asked, Work};

/// Memory for what is read on the way.
const CACHE_BYTES: usize = 64 << 20;
/// Requests that are kept at most: 12 bytes each.
const REQUESTS_MAX: usize = 64 << 20;

/// What is noted on the way.
pub(super) struct Recorder {
    pub(super) blocks: Vec<Block>,
    /// Each with the number of its lookup.
    requests: Vec<(u32, Request)>,
    /// By lookup: whether a newer table had the key.
    found: Vec<bool>,
    /// Tables whose blocks' shards are RocksDB's own, and those of which they are drawn.
    pub(super) exact_tables: u64,
    pub(super) drawn_tables: u64,
    cache: Cache,
}

impl Recorder {
    pub(super) fn new(lookups: usize) -> Self {
        Self {
            blocks: Vec::new(),
            requests: Vec::new(),
            found: vec![false; lookups],
            exact_tables: 0,
            drawn_tables: 0,
            cache: Cache::new(CACHE_BYTES),
        }
    }

    /// Goes through the tables of a family.
    pub(super) fn family(
        &mut self,
        work: &mut Work<'_>,
        rules: &FamilyRules<'_>,
        lookups: &[Lookup],
        asked: &Asked,
    ) -> Result<()> {
        let order = &rules.order;
        let mut keys: Vec<u32> = (0_u32..)
            .zip(lookups)
            .filter(|(_, lookup)| lookup.family == rules.family.id)
            .map(|(at, _)| at)
            .collect();
        let key = |at: u32| &*lookups[at as usize].key;
        keys.sort_by(|&a, &b| order.compare(key(a), key(b)));
        for (table, layout) in rules.tables() {
            let from = keys.partition_point(|&at| order.compare(key(at), &table.smallest).is_lt());
            let to = keys.partition_point(|&at| order.compare(key(at), &table.largest).is_le());
            let keys = keys.get(from..to).unwrap_or_default();
            work.on_table(table);
            let visit = Visit { table, layout, rules, asked };
            self.table(work, &visit, keys, lookups)?;
        }
        Ok(())
    }

    fn table(
        &mut self,
        work: &Work<'_>,
        visit: &Visit<'_>,
        keys: &[u32],
        lookups: &[Lookup],
    ) -> Result<()> {
        let file = open_table(work.fs, work.database.dir_of(visit.table), visit.table)?;
        let survey = TableSurvey::open(Arc::clone(&file))?;
        let base =
            BaseKey::of(visit.layout.unique_id, work.release, visit.asked.seed, visit.table.number);
        self.exact_tables += u64::from(base.is_exact);
        self.drawn_tables += u64::from(!base.is_exact);
        let options = reader_options(&self.cache, visit.table);
        let mut known =
            KnownBlocks { survey: &survey, base, blocks: &mut self.blocks, ids: HashMap::new() };
        let filter = FilterBlocks::of(&survey, visit, &mut known)?;
        let index_top = visit.index_top(&survey, &mut known)?;
        let ctx = &mut ReadContext::default();
        let reader = TableReader::open(file, &options, ctx)?;
        let mut places = Places::of(&survey, visit, keys, lookups, &self.found)?;
        for &at in keys {
            if self.found[at as usize] {
                continue;
            }
            let key = &*lookups[at as usize].key;
            let place = places.next().flatten();
            let lookup = LookupKey::new(key, SeqNo::MAX);
            if let Some(filter) = &filter {
                filter.note(at, key, visit, &mut known, &mut self.requests)?;
                if !reader.may_contain(&lookup, ctx)? {
                    continue;
                }
            }
            let Some(place) = place else { continue };
            if let Some(top) = index_top {
                self.requests.push((at, Request::new(top, false)));
            }
            if visit.index_goes_through() {
                let role = visit.index_role();
                let partitioned = visit.layout.index.is_partitioned;
                let pinned = visit.rules.pinning.holds_pieces(visit.table, partitioned);
                let id = known.get(role, Part::Index, place.index, pinned)?;
                self.requests.push((at, Request::new(id, false)));
            }
            let id = known.get(BlockRole::Data, Part::Data, place.data, false)?;
            self.requests.push((at, Request::new(id, true)));
            let entry = reader.get(&lookup, ctx)?;
            // Below a merge operand lie others, or the value.
            self.found[at as usize] =
                entry.is_some_and(|entry| entry.value_type != ValueType::Merge);
        }
        if self.requests.len() > REQUESTS_MAX || self.blocks.len() >= Request::BLOCKS_MAX {
            return Err(Error::not_supported(
                "lookups ask more than is kept: replay fewer of them",
            ));
        }
        Ok(())
    }

    /// The share of lookups that found their key.
    pub(super) fn found_share(&self) -> f64 {
        let found = self.found.iter().filter(|found| **found).count();
        found as f64 / self.found.len().max(1) as f64
    }

    /// What was noted, in the order of the lookups.
    pub(super) fn into_trace(mut self) -> Trace {
        // Stable: what a lookup asks stays in its order.
        self.requests.sort_by_key(|(lookup, _)| *lookup);
        let mut ends = vec![0; self.found.len()];
        for (lookup, _) in &self.requests {
            ends[*lookup as usize] += 1;
        }
        let mut end = 0;
        for one in &mut ends {
            end += *one;
            *one = end;
        }
        let requests = self.requests.into_iter().map(|(_, request)| request).collect();
        Trace { blocks: self.blocks, requests, ends }
    }
}

/// How a table is opened here.
pub(super) fn reader_options(cache: &Cache, table: &Table) -> ReaderOptions {
    ReaderOptions {
        cache: cache.clone(),
        largest_seqno: Some(table.largest_seqno),
        filter_use: FilterUse::Always,
        level: u8::try_from(table.level).ok(),
        ..ReaderOptions::default()
    }
}

/// A table and the rules of its family.
struct Visit<'v> {
    table: &'v Table,
    layout: &'v TableLayout,
    rules: &'v FamilyRules<'v>,
    asked: &'v Asked,
}

impl Visit<'_> {
    /// Partitions go through the cache in any case.
    fn index_goes_through(&self) -> bool {
        self.layout.index.is_partitioned || self.rules.caches_metadata
    }

    fn index_role(&self) -> BlockRole {
        match self.layout.index.is_partitioned {
            true => BlockRole::IndexPartition,
            false => BlockRole::Index,
        }
    }

    /// The top level of the index, if there is one and lookups ask for it.
    fn index_top(
        &self,
        survey: &TableSurvey,
        known: &mut KnownBlocks<'_>,
    ) -> Result<Option<BlockId>> {
        if !self.layout.index.is_partitioned || !self.rules.caches_metadata {
            return Ok(None);
        }
        let pinned = self.rules.pinning.holds_top(self.table);
        known.get(BlockRole::IndexTopLevel, Part::IndexTop, survey.index_handle(), pinned).map(Some)
    }
}

/// The blocks of a table that were asked for.
struct KnownBlocks<'k> {
    survey: &'k TableSurvey,
    base: BaseKey,
    blocks: &'k mut Vec<Block>,
    ids: HashMap<u64, BlockId>,
}

impl KnownBlocks<'_> {
    fn get(
        &mut self,
        role: BlockRole,
        part: Part,
        handle: BlockHandle,
        is_pinned: bool,
    ) -> Result<BlockId> {
        if let Some(id) = self.ids.get(&handle.offset) {
            return Ok(*id);
        }
        let block = self.survey.block(role, handle)?;
        let is_compressed = block.compression_code != 0;
        let id = self.blocks.len() as BlockId;
        self.blocks.push(Block {
            part,
            charge: charge(part, block.uncompressed_len.unwrap_or(handle.size), is_compressed),
            stored: handle.size + TRAILER_BYTES,
            hashes: self.base.at(handle.offset),
            is_pinned,
        });
        self.ids.insert(handle.offset, id);
        Ok(id)
    }
}

/// The filter of a table that lookups ask.
struct FilterBlocks {
    top: Option<BlockId>,
    whole: Option<BlockHandle>,
    /// Each with the key up to which it is asked.
    partitions: Vec<(Vec<u8>, BlockHandle)>,
}

impl FilterBlocks {
    /// `None` if there is none that RocksDB asks.
    fn of(
        survey: &TableSurvey,
        visit: &Visit<'_>,
        known: &mut KnownBlocks<'_>,
    ) -> Result<Option<Self>> {
        let filter = &visit.layout.filter;
        let is_asked = filter.whole_keys || filter.prefixes;
        if !is_asked || visit.rules.skips_filter(visit.table) {
            return Ok(None);
        }
        let cached = visit.rules.caches_metadata;
        let handle = |prefix| survey.metaindex().with_prefix(prefix).map(|(_, handle)| handle);
        let mut blocks = Self { top: None, whole: None, partitions: Vec::new() };
        match filter.shape {
            FilterShape::Full => blocks.whole = handle(FULL_FILTER_PREFIX).filter(|_| cached),
            FilterShape::Partitioned => {
                blocks.partitions = survey.filter_partitions()?;
                if let Some(top) = handle(PARTITIONED_FILTER_PREFIX).filter(|_| cached) {
                    let pinned = visit.rules.pinning.holds_top(visit.table);
                    let id = known.get(BlockRole::FilterTopLevel, Part::FilterTop, top, pinned)?;
                    blocks.top = Some(id);
                }
            }
            _ => return Ok(None),
        }
        Ok(Some(blocks))
    }

    /// Notes what a lookup asks of it.
    fn note(
        &self,
        lookup: u32,
        key: &[u8],
        visit: &Visit<'_>,
        known: &mut KnownBlocks<'_>,
        requests: &mut Vec<(u32, Request)>,
    ) -> Result<()> {
        let order = &visit.rules.order;
        let at = self.partitions.partition_point(|(upto, _)| order.compare(upto, key).is_lt());
        let partition =
            self.partitions.get(at).or(self.partitions.last()).map(|(_, handle)| *handle);
        let Some(handle) = self.whole.or(partition) else { return Ok(()) };
        if let Some(top) = self.top {
            requests.push((lookup, Request::new(top, false)));
        }
        let role = match self.whole {
            Some(_) => BlockRole::Filter,
            None => BlockRole::FilterPartition,
        };
        let pinned = visit.rules.pinning.holds_pieces(visit.table, self.whole.is_none());
        let id = known.get(role, Part::Filter, handle, pinned)?;
        requests.push((lookup, Request::new(id, true)));
        Ok(())
    }
}

/// Where the index sends a key.
#[derive(Clone, Copy, Debug)]
struct Place {
    index: BlockHandle,
    data: BlockHandle,
}

/// The places of keys in a table.
struct Places(std::vec::IntoIter<Option<Place>>);

impl Places {
    /// The places of those keys that were not found yet; `None` behind the last block.
    fn of(
        survey: &TableSurvey,
        visit: &Visit<'_>,
        keys: &[u32],
        lookups: &[Lookup],
        found: &[bool],
    ) -> Result<Self> {
        let order: &KeyOrder = &visit.rules.order;
        let mut keys = keys.iter().filter(|at| !found[**at as usize]).peekable();
        let mut places = Vec::new();
        survey.visit_index(&mut |IndexedBlock { separator, handle, index }| {
            while let Some(&&at) = keys.peek() {
                if order.compare(&lookups[at as usize].key, separator).is_gt() {
                    return ControlFlow::Continue(());
                }
                places.push(Some(Place { index, data: handle }));
                keys.next();
            }
            ControlFlow::Break(())
        })?;
        places.extend(keys.map(|_| None));
        Ok(Self(places.into_iter()))
    }
}

impl Iterator for Places {
    type Item = Option<Place>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}
