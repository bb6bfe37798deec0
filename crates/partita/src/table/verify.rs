//! Verification of a whole table: every block of every role is read, checked and taken apart.
//!
//! Damage does not end the walk: it is noted with file, offset and role, and the walk goes on wherever handles are
//! known. What lies behind a damaged block of the index cannot be found, so the report says whether all was reached.

use std::sync::Arc;

use super::block::{BlockCursor, DataBlock, IndexBlock, IndexFormat};
use super::blocks::BlockInfo;
use super::extents::Extents;
use super::fetch::BlockFetcher;
use super::index_place::IndexPlace;
use super::metaindex::{self, Metaindex, role_of};
use super::open::{index_format, index_type, read_footer, read_metaindex, read_properties};
use super::role::PerRole;
use super::verify_entries::{EntryChecker, EntryCounts, IndexEntry};
use super::{
    BlockHandle, BlockRole, FilterDamage, Footer, RangeTombstones, ReadContext, ReaderOptions,
    TableProperties, TableReader,
};
use crate::error::{Error, Result};
use crate::io::RandomAccessFile;
use crate::key::{Excerpt, InternalKey, KeyOrder};
use crate::options::IndexType;

/// What a verification found.
#[derive(Debug, Default)]
pub struct VerifyReport {
    /// Blocks that were read, whole or damaged, by role.
    pub blocks: PerRole<u64>,
    /// Bytes of these blocks as stored, with their trailers.
    pub bytes: u64,
    /// Point entries in the data blocks that could be read.
    pub entries: u64,
    /// Range tombstones.
    pub range_tombstones: u64,
    /// Types and sizes of entries and range tombstones together, as far as they could be read.
    pub counts: EntryCounts,
    /// Each damage, with file, part and offset.
    pub damages: Vec<Error>,
    /// Whether every block of the file was reached. Without damage it is true.
    pub complete: bool,
    /// Why the table does not open, if it does not: damage, or something that is not supported. Then the order of
    /// entries, the separators and the filter's answers were not checked.
    pub not_opened: Option<Error>,
}

impl VerifyReport {
    /// Whether nothing is damaged.
    pub fn is_clean(&self) -> bool {
        self.damages.is_empty()
    }

    /// Blocks of all roles that were read.
    pub fn blocks_total(&self) -> u64 {
        self.blocks.iter().map(|(_, count)| count).sum()
    }
}

/// Verifies a table.
///
/// Checked are: the footer; the checksum, compression and layout of every block; that data blocks come in the order of
/// their keys and keep to the index's separators, and index partitions to those of the top level; that entries have
/// known types; that the filter knows every key; that no two blocks share a byte; and, if nothing is damaged, the
/// counts and sizes in the properties.
///
/// * `on_block`: called before each block, for progress.
pub fn verify_table(
    file: &Arc<dyn RandomAccessFile>,
    options: &ReaderOptions,
    on_block: &mut dyn FnMut(BlockInfo),
) -> VerifyReport {
    let options = ReaderOptions {
        verify_checksums: true,
        // It shows when the filter's own blocks are checked.
        filter_damage: FilterDamage::RuleNothingOut,
        ..options.clone()
    };
    let footer = match read_footer(&**file) {
        Ok(footer) => footer,
        Err(error) => {
            let damages = vec![error.in_file(file.path())];
            return VerifyReport { damages, ..VerifyReport::default() };
        }
    };
    let padding = check_footer_padding(&**file, &footer).err();
    // If the table opens, its filter can be asked, and its order is known.
    let opened = TableReader::open(Arc::clone(file), &options, &mut ReadContext::default());
    let (reader, not_opened) = match opened {
        Ok(reader) => (Some(Arc::new(reader)), None),
        Err(error) => (None, Some(error)),
    };
    let mut walk = Walk {
        fetcher: BlockFetcher::new(Arc::clone(file), &footer, true),
        footer,
        reader,
        ctx: ReadContext::default(),
        report: VerifyReport { complete: true, not_opened, ..VerifyReport::default() },
        extents: Extents::default(),
        on_block,
    };
    padding.into_iter().for_each(|error| walk.note(error));
    walk.run();
    walk.report
}

/// Before version 6 no checksum covers the footer; what its handles leave free must be zero.
fn check_footer_padding(file: &dyn RandomAccessFile, footer: &Footer) -> Result<()> {
    if footer.format_version >= 6 {
        return Ok(());
    }
    let expected = footer.encode()?;
    let at = file.len() - expected.len() as u64;
    let place = |error: Error| error.in_part("footer").at(at);
    let mut stored = vec![0; expected.len()];
    file.read_exact_at(at, &mut stored).map_err(place)?;
    match stored.iter().zip(&expected).position(|(stored, expected)| stored != expected) {
        None => Ok(()),
        Some(byte) => Err(place(Error::corruption(format!(
            "byte {byte} is {:#04x}, a writer of these handles leaves {:#04x}",
            stored[byte], expected[byte]
        )))),
    }
}

struct Walk<'v> {
    fetcher: BlockFetcher,
    footer: Footer,
    reader: Option<Arc<TableReader>>,
    ctx: ReadContext,
    report: VerifyReport,
    extents: Extents,
    on_block: &'v mut dyn FnMut(BlockInfo),
}

impl Walk<'_> {
    fn run(&mut self) {
        let Some(metaindex) = self.metaindex() else {
            // Before version 6 the footer still leads to the index, but what it means stands in the properties.
            if let Some(handle) = self.footer.index {
                self.check(handle, BlockRole::Index, |_| Ok(()));
            }
            self.report.complete = false;
            return;
        };
        let properties = self.properties(&metaindex);
        self.fetcher.set_dictionary(metaindex.get(metaindex::COMPRESSION_DICTIONARY));
        let index_type = properties
            .as_ref()
            .and_then(|properties| index_type(properties).map_err(|error| self.note(error)).ok());
        let two_level = index_type == Some(IndexType::TwoLevel);
        let format = index_type
            .zip(properties.as_ref())
            .map(|(index_type, properties)| index_format(properties, index_type));
        for (name, handle) in metaindex.iter() {
            self.meta_block(name, handle, two_level, format);
        }
        let index =
            IndexPlace::new(&self.footer, &metaindex).map_err(|error| self.note(error)).ok();
        let index = index.map(|place| place.handle());
        match (index, format) {
            (Some(handle), Some(format)) => {
                self.index(handle, two_level, format, properties.as_ref());
            }
            (Some(handle), None) => {
                self.check(handle, BlockRole::Index, |_| Ok(()));
                self.report.complete = false;
            }
            (None, _) => self.report.complete = false,
        }
    }

    fn metaindex(&mut self) -> Option<Metaindex> {
        let handle = self.footer.metaindex;
        self.announce(handle, BlockRole::Metaindex);
        let found = read_metaindex(&self.fetcher, &self.footer, &mut self.ctx);
        found.map_err(|error| self.note(error)).ok()
    }

    fn properties(&mut self, metaindex: &Metaindex) -> Option<TableProperties> {
        if let Some(handle) = metaindex.properties() {
            self.announce(handle, BlockRole::Properties);
        }
        let found = read_properties(&self.fetcher, metaindex, &mut self.ctx);
        let properties = found.map_err(|error| self.note(error)).ok()?;
        for malformed in &properties.malformed {
            let message =
                format!("property {} has the value {}", malformed.name, Excerpt(&malformed.value));
            self.note(Error::corruption(message).in_part(BlockRole::Properties.as_str()));
        }
        Some(properties)
    }

    /// Checks a block that the metaindex names, and the blocks it leads to.
    fn meta_block(
        &mut self,
        name: &str,
        handle: BlockHandle,
        two_level: bool,
        format: Option<IndexFormat>,
    ) {
        let role = role_of(name, two_level);
        match role {
            // These are checked where they are used.
            BlockRole::Properties | BlockRole::Index | BlockRole::IndexTopLevel => {}
            BlockRole::RangeDeletions => {
                let order = self.order();
                let parse = |contents| {
                    let block = DataBlock::parse_data(contents, &order)?;
                    RangeTombstones::parse(&block, &order, None)?;
                    count_entries(&block)
                };
                if let Some(counts) = self.check(handle, role, parse) {
                    self.report.range_tombstones += counts.range_deletions;
                    self.report.counts.add(&counts);
                }
            }
            BlockRole::FilterTopLevel => match format {
                Some(format) => {
                    let format = IndexFormat { first_keys: false, ..format };
                    for partition in self.index_entries(handle, role, format) {
                        self.check(partition.handle, BlockRole::FilterPartition, |_| Ok(()));
                    }
                }
                None => {
                    self.check(handle, role, |_| Ok(()));
                    self.report.complete = false;
                }
            },
            _ => {
                self.check(handle, role, |_| Ok(()));
            }
        }
    }

    /// Checks the index and all data blocks.
    fn index(
        &mut self,
        handle: BlockHandle,
        two_level: bool,
        format: IndexFormat,
        properties: Option<&TableProperties>,
    ) {
        let entries = if two_level {
            let role = BlockRole::IndexTopLevel;
            let partitions = self.index_entries(handle, role, format);
            let mut entries = Vec::new();
            let mut before: Option<IndexEntry> = None;
            for partition in partitions {
                let role = BlockRole::IndexPartition;
                let inside = self.index_entries(partition.handle, role, format);
                let checked = self.check_partition(format, before.as_ref(), &partition, &inside);
                checked.unwrap_or_else(|error| {
                    self.note(self.fetcher.place(error, partition.handle, role));
                });
                entries.extend(inside);
                before = Some(partition);
            }
            entries
        } else {
            self.index_entries(handle, BlockRole::Index, format)
        };
        let mut checker = EntryChecker::new(self.reader.clone(), format);
        let order = self.order();
        for entry in entries {
            let parse = |contents| DataBlock::parse_data(contents, &order);
            let Some(block) = self.check(entry.handle, BlockRole::Data, parse) else {
                checker.skip_block();
                continue;
            };
            let checked = checker.check_block(&block, &entry);
            self.report.entries = checker.counts().entries;
            if let Err(error) = checked {
                let error = self.fetcher.place(error, entry.handle, BlockRole::Data);
                self.note(error);
            }
        }
        self.report.counts.add(checker.counts());
        if let Some(properties) = properties
            && self.report.is_clean()
        {
            self.compare_counts(properties);
        }
    }

    /// The separators of a partition lie behind the top level's separator before it, and not behind its own.
    fn check_partition(
        &self,
        format: IndexFormat,
        before: Option<&IndexEntry>,
        partition: &IndexEntry,
        inside: &[IndexEntry],
    ) -> Result<()> {
        let Some(reader) = &self.reader else { return Ok(()) };
        let order = reader.key_order();
        let compare = |a: &IndexEntry, b: &IndexEntry| {
            let (a, b) = (&a.separator[..], &b.separator[..]);
            if format.user_keys { order.compare(a, b) } else { order.compare_internal(a, b) }
        };
        let starts_before = before
            .zip(inside.first())
            .is_some_and(|(before, first)| compare(first, before).is_le());
        let ends_behind = inside.last().is_some_and(|last| compare(last, partition).is_gt());
        if starts_before || ends_behind {
            let separator = |entry: Option<&IndexEntry>| {
                entry.map_or_else(
                    || "none".to_owned(),
                    |entry| Excerpt(&entry.separator).to_string(),
                )
            };
            return Err(Error::corruption(format!(
                "separators {} to {} do not keep to the top level's {}",
                separator(inside.first()),
                separator(inside.last()),
                separator(Some(partition))
            )));
        }
        Ok(())
    }

    fn compare_counts(&mut self, properties: &TableProperties) {
        let counts = self.report.counts;
        let blocks = self.report.blocks;
        // RocksDB 11.8 records no data blocks in files with a dictionary.
        let data_blocks = properties.num_data_blocks.filter(|recorded| *recorded > 0);
        for (what, found, recorded) in [
            ("entries", counts.entries, properties.num_entries),
            ("deletions", counts.deletions, properties.num_deletions),
            ("range tombstones", counts.range_deletions, properties.num_range_deletions),
            ("merge operands", counts.merge_operands, properties.num_merge_operands),
            ("bytes of keys", counts.key_bytes, properties.raw_key_size),
            ("bytes of values", counts.value_bytes, properties.raw_value_size),
            ("data blocks", blocks[BlockRole::Data], data_blocks),
            ("index partitions", blocks[BlockRole::IndexPartition], properties.index_partitions),
        ] {
            if let Some(recorded) = recorded.filter(|recorded| *recorded != found) {
                let message = format!("{found} {what} found, {recorded} recorded");
                self.note(Error::corruption(message).in_part(BlockRole::Properties.as_str()));
            }
        }
    }

    /// The entries of a block of index entries; none, and a note, if it is damaged.
    fn index_entries(
        &mut self,
        handle: BlockHandle,
        role: BlockRole,
        format: IndexFormat,
    ) -> Vec<IndexEntry> {
        let order = self.order();
        let entries = self.check(handle, role, |contents| {
            let block = IndexBlock::parse_index(contents, format, &order)?;
            let mut entries = Vec::new();
            block.for_each(|cursor| {
                entries.push(IndexEntry {
                    separator: cursor.key().to_vec(),
                    handle: cursor.state().handle,
                    first_key: block.first_key(cursor.state()).map(<[u8]>::to_vec),
                });
                Ok(())
            })?;
            Ok(entries)
        });
        if entries.is_none() {
            self.report.complete = false;
        }
        entries.unwrap_or_default()
    }

    /// Reads a block and takes it apart. Returns `None`, after a note, if it is damaged.
    fn check<T>(
        &mut self,
        handle: BlockHandle,
        role: BlockRole,
        parse: impl FnOnce(Vec<u8>) -> Result<T>,
    ) -> Option<T> {
        if !self.announce(handle, role) {
            return None;
        }
        let parsed = self.fetcher.fetch(handle, role, &mut self.ctx).and_then(|contents| {
            parse(contents).map_err(|error| self.fetcher.place(error, handle, role))
        });
        parsed.map_err(|error| self.note(error)).ok()
    }

    /// Counts a block that is about to be read. Returns false, after a note, if it shares bytes with another one.
    fn announce(&mut self, handle: BlockHandle, role: BlockRole) -> bool {
        if let Err(error) = self.extents.insert(handle) {
            self.note(self.fetcher.place(error, handle, role));
            return false;
        }
        (self.on_block)(BlockInfo { role, handle });
        self.report.blocks[role] += 1;
        self.report.bytes += handle.size.saturating_add(super::BLOCK_TRAILER_LEN as u64);
        true
    }

    fn note(&mut self, error: Error) {
        self.report.damages.push(error.in_file(self.fetcher.path()));
    }

    fn order(&self) -> KeyOrder {
        match &self.reader {
            Some(reader) => reader.key_order().clone(),
            None => KeyOrder::Bytewise,
        }
    }
}

fn count_entries(block: &DataBlock) -> Result<EntryCounts> {
    let mut counts = EntryCounts::default();
    let mut cursor = BlockCursor::new();
    cursor.seek_to_first(block)?;
    while cursor.is_valid() {
        let key = InternalKey::decode(cursor.key())?;
        counts.note(key.value_type, cursor.key().len(), cursor.value_range().len());
        cursor.next(block)?;
    }
    Ok(counts)
}
