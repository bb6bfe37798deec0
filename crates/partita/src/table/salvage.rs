//! What a damaged table still holds: the entries of all data blocks that can be read, in order.
//!
//! A block that cannot be read leaves a gap, of which the index tells the bounds: behind the separator before it, up to its own.
//! A piece of the index that cannot be read leaves a gap as large as all its blocks. Without footer, metaindex, properties and
//! the index's top level nothing can be found. At any time one block is in memory, and one piece of the index.

use std::sync::Arc;

use super::block::{BlockCursor, DataBlock, IndexBlock, IndexFormat};
use super::blocks::BlockInfo;
use super::extents::Extents;
use super::{
    BlockHandle, BlockRole, EntryCounts, RangeTombstone, ReadContext, ReaderOptions,
    TableProperties, TableReader,
};
use crate::error::{Error, Result};
use crate::io::RandomAccessFile;
use crate::key::{Excerpt, InternalKey, KeyOrder, SeqNo, append_internal_key, user_key};

/// Keys that may be gone from a table: those behind `after`, up to `up_to`, this one included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostKeys {
    /// No key up to this one is affected; `None`: from the table's first key on.
    pub after: Option<Vec<u8>>,
    /// No key behind this one is affected.
    pub up_to: Vec<u8>,
    /// Blocks that cannot be read; of those that a damaged piece of the index names it is not known how many there are.
    pub blocks: u64,
    /// What is wrong with the first one.
    pub damage: String,
}

/// What was found in a table.
#[derive(Debug)]
pub(crate) struct Salvage {
    pub(crate) properties: TableProperties,
    pub(crate) order: KeyOrder,
    /// Of what can be read.
    pub(crate) counts: EntryCounts,
    pub(crate) lost: Vec<LostKeys>,
    /// Why the table's range tombstones cannot be read, if they cannot.
    pub(crate) tombstones_lost: Option<String>,
}

/// Is given what a table holds.
pub(crate) trait SalvageSink {
    /// An entry; each is greater than the one before.
    fn entry(&mut self, internal_key: &[u8], value: &[u8]) -> Result<()>;

    /// A range tombstone; these come first.
    fn tombstone(&mut self, tombstone: &RangeTombstone) -> Result<()>;
}

/// Walks over a table, damaged or not.
///
/// * `on_block`: called before each block, for progress.
/// * Errors: those of [`TableReader::open`], and of the index's top level: then nothing can be found. Those of the sink. `Io`.
pub(crate) fn salvage_table(
    file: &Arc<dyn RandomAccessFile>,
    options: &ReaderOptions,
    on_block: &mut dyn FnMut(BlockInfo),
    sink: &mut dyn SalvageSink,
) -> Result<Salvage> {
    let options = ReaderOptions { fill_cache: false, ..options.clone() };
    let reader = TableReader::open(Arc::clone(file), &options, &mut ReadContext::default())?;
    let mut walk = Walk {
        salvage: Salvage {
            properties: reader.properties.clone(),
            order: reader.order.clone(),
            counts: EntryCounts::default(),
            lost: Vec::new(),
            tombstones_lost: None,
        },
        reader: &reader,
        extents: Extents::default(),
        on_block,
        sink,
        last: Vec::new(),
        separator: None,
        gap_open: false,
    };
    walk.tombstones()?;
    walk.index()?;
    Ok(walk.salvage)
}

struct Walk<'w> {
    reader: &'w TableReader,
    salvage: Salvage,
    extents: Extents,
    on_block: &'w mut dyn FnMut(BlockInfo),
    sink: &'w mut dyn SalvageSink,
    /// The last internal key that was handed out.
    last: Vec<u8>,
    /// The user key that the index has behind what was walked over.
    separator: Option<Vec<u8>>,
    /// Whether the last gap goes up to there.
    gap_open: bool,
}

impl Walk<'_> {
    fn tombstones(&mut self) -> Result<()> {
        let tombstones = match self.reader.range_tombstones(&mut ReadContext::default()) {
            Ok(tombstones) => Arc::clone(tombstones),
            Err(error) if error.is_corruption() => {
                self.salvage.tombstones_lost = Some(error.to_string());
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        for tombstone in tombstones.iter() {
            let RangeTombstone { start, end, .. } = tombstone;
            let key_len = start.len() + crate::key::PACKED_LEN;
            let value_type = crate::key::ValueType::RangeDeletion;
            self.salvage.counts.note(value_type, key_len, end.len());
            self.sink.tombstone(tombstone)?;
        }
        Ok(())
    }

    fn index(&mut self) -> Result<()> {
        let (handle, format) = (self.reader.index_place.handle(), self.reader.index_format);
        let role = match self.reader.two_level_index {
            true => BlockRole::IndexTopLevel,
            false => BlockRole::Index,
        };
        for (separator, handle) in self.index_entries(handle, role, format)? {
            if !self.reader.two_level_index {
                self.data_block(handle, separator)?;
                continue;
            }
            match self.index_entries(handle, BlockRole::IndexPartition, format) {
                Ok(entries) => {
                    for (separator, handle) in entries {
                        self.data_block(handle, separator)?;
                    }
                }
                Err(error) if error.is_corruption() => self.gap(separator, &error),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Separators, as user keys, and what they lead to.
    fn index_entries(
        &mut self,
        handle: BlockHandle,
        role: BlockRole,
        format: IndexFormat,
    ) -> Result<Vec<(Vec<u8>, BlockHandle)>> {
        let contents = self.contents(handle, role)?;
        let parse = || {
            let block = IndexBlock::parse_index(contents, format, &self.reader.order)?;
            let mut entries = Vec::new();
            block.for_each(|cursor| {
                let key = cursor.key();
                let key = if format.user_keys { key } else { user_key(key) };
                entries.push((key.to_vec(), cursor.state().handle));
                Ok(())
            })?;
            Ok(entries)
        };
        parse().map_err(|error| self.reader.fetcher.place(error, handle, role))
    }

    fn contents(&mut self, handle: BlockHandle, role: BlockRole) -> Result<Vec<u8>> {
        let place = |error| self.reader.fetcher.place(error, handle, role);
        self.extents.insert(handle).map_err(place)?;
        (self.on_block)(BlockInfo { role, handle });
        self.reader.fetcher.fetch(handle, role, &mut ReadContext::default())
    }

    fn data_block(&mut self, handle: BlockHandle, separator: Vec<u8>) -> Result<()> {
        let block = self.contents(handle, BlockRole::Data).and_then(|contents| {
            let block = DataBlock::parse_data(contents, &self.reader.order)
                .and_then(|block| self.check(&block).map(|()| block));
            block.map_err(|error| self.reader.fetcher.place(error, handle, BlockRole::Data))
        });
        let block = match block {
            Ok(block) => block,
            Err(error) if error.is_corruption() => {
                self.gap(separator, &error);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let mut cursor = BlockCursor::new();
        cursor.seek_to_first(&block)?;
        while cursor.is_valid() {
            let key = InternalKey::decode(cursor.key())?;
            let seqno = match self.reader.global_seqno {
                Some(global) if key.seqno == SeqNo::ZERO => global,
                _ => key.seqno,
            };
            self.last.clear();
            let packed = InternalKey { seqno, ..key }.packed();
            append_internal_key(&mut self.last, key.user_key, packed);
            let value = cursor.value(&block);
            self.salvage.counts.note(key.value_type, self.last.len(), value.len());
            self.sink.entry(&self.last, value)?;
            cursor.next(&block)?;
        }
        self.separator = Some(separator);
        self.gap_open = false;
        Ok(())
    }

    /// Whether all of a block can be used, before any of it is.
    fn check(&self, block: &DataBlock) -> Result<()> {
        let mut last = self.last.clone();
        block.for_each(|cursor| {
            let key = InternalKey::decode(cursor.key())?;
            if !key.value_type.is_point() {
                return Err(Error::corruption(format!("entry of type {}", key.value_type)));
            }
            if !last.is_empty() && self.compare(&last, cursor.key()).is_ge() {
                return Err(Error::corruption(format!(
                    "key {} stands behind {}, which is not before it",
                    Excerpt(cursor.key()),
                    Excerpt(&last)
                )));
            }
            last.clear();
            last.extend_from_slice(cursor.key());
            Ok(())
        })
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        match self.reader.global_seqno {
            // All have the same number: the one that was handed out has it already.
            Some(_) => self.reader.order.compare(user_key(a), user_key(b)),
            None => self.reader.order.compare_internal(a, b),
        }
    }

    /// What lies up to `separator` cannot be read.
    fn gap(&mut self, separator: Vec<u8>, damage: &Error) {
        match self.salvage.lost.last_mut().filter(|_| self.gap_open) {
            Some(gap) => {
                gap.up_to.clone_from(&separator);
                gap.blocks += 1;
            }
            None => self.salvage.lost.push(LostKeys {
                after: self.separator.clone(),
                up_to: separator.clone(),
                blocks: 1,
                damage: damage.to_string(),
            }),
        }
        self.separator = Some(separator);
        self.gap_open = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{MemoryFile, MemoryWriter};
    use crate::key::ValueType;
    use crate::options::{IndexType, TableOptions};
    use crate::table::{TableBuilder, TableContext};

    #[derive(Default)]
    struct Found {
        keys: Vec<Vec<u8>>,
        tombstones: usize,
    }

    impl SalvageSink for Found {
        fn entry(&mut self, internal_key: &[u8], value: &[u8]) -> Result<()> {
            assert_eq!(value, [user_key(internal_key), b"'s value"].concat());
            self.keys.push(user_key(internal_key).to_vec());
            Ok(())
        }

        fn tombstone(&mut self, _: &RangeTombstone) -> Result<()> {
            self.tombstones += 1;
            Ok(())
        }
    }

    fn key(number: u32) -> Vec<u8> {
        format!("key{number:05}").into_bytes()
    }

    const KEYS: u32 = 400;

    fn table(index_type: IndexType) -> Vec<u8> {
        let file = MemoryWriter::new("1.sst");
        let options = TableOptions {
            index_type,
            block_size: 128,
            metadata_block_size: 128,
            filter_policy: None,
            ..TableOptions::default()
        };
        let (order, context) = (KeyOrder::Bytewise, TableContext::default());
        let mut builder =
            TableBuilder::new(Box::new(file.clone()), options, order, context).unwrap();
        let seqno = SeqNo::new(7).unwrap();
        for number in 0..KEYS {
            let value = [&key(number)[..], b"'s value"].concat();
            let key = InternalKey::new(&key(number), seqno, ValueType::Value).encode();
            builder.add(&key, &value).unwrap();
        }
        builder.add_range_tombstone(b"a", b"b", seqno).unwrap();
        builder.finish().unwrap();
        file.into_bytes()
    }

    #[test]
    fn whatever_bit_is_wrong_each_key_is_found_or_in_a_gap() {
        let (mut gaps, mut refused, mut whole, mut wide) = (0, 0, 0, 0);
        for index_type in [IndexType::BinarySearch, IndexType::TwoLevel] {
            let bytes = table(index_type);
            for at in (0..bytes.len()).step_by(7) {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << (at % 8);
                let file: Arc<dyn RandomAccessFile> = Arc::new(MemoryFile::new("1.sst", damaged));
                let mut found = Found::default();
                let options = ReaderOptions::default();
                let salvage = match salvage_table(&file, &options, &mut |_| {}, &mut found) {
                    Ok(salvage) => salvage,
                    Err(error) => {
                        refused += 1;
                        assert_eq!(found.keys.len(), 0, "{at}: {error}");
                        continue;
                    }
                };
                let is_lost = |key: &Vec<u8>| {
                    salvage.lost.iter().any(|gap| {
                        gap.after.as_ref().is_none_or(|after| key > after) && *key <= gap.up_to
                    })
                };
                let expected: Vec<Vec<u8>> =
                    (0..KEYS).map(key).filter(|key| !is_lost(key)).collect();
                assert!(found.keys == expected, "{at}: {salvage:?}");
                assert_eq!(found.tombstones == 0, salvage.tombstones_lost.is_some(), "{at}");
                gaps += salvage.lost.len();
                whole += u32::from(salvage.lost.is_empty());
                wide += u32::from(KEYS as usize - expected.len() > 20);
            }
        }
        assert!(
            gaps > 500 && refused > 100 && whole > 5 && wide > 20,
            "{gaps} {refused} {whole} {wide}"
        );
    }
}
