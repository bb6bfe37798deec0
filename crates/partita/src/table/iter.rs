use std::fmt;
use std::sync::Arc;

use super::block::{BlockCursor, DataBlock, DataFormat};
use super::index::IndexCursor;
use super::readahead::{READ_LEN_MAX, Readahead};
use super::reader::touch;
use super::{BlockHandle, BlockRole, FoundEntry, PinnedBytes, ReadContext, TableReader};
use crate::cache::Held;
use crate::error::{Error, Result};
use crate::iter::InternalIterator;
use crate::key::{InternalKey, PACKED_LEN, SeqNo, append_internal_key};

/// A walk over the point entries of a table, in both directions.
///
/// It holds one data block and one index partition at a time, and reads a block only when it gets there. Filters are
/// not asked; [`TableReader::prefix_may_match`] tells beforehand whether a prefix is worth a seek. When
/// it moves from block to block, in either direction, it reads more and more of them at once.
pub struct TableIter {
    table: Arc<TableReader>,
    index: IndexCursor,
    /// The data block that `data` walks over, and where it is in the file.
    block: Option<(BlockHandle, Held<DataBlock>)>,
    data: BlockCursor<DataFormat>,
    /// The key with the global sequence number in it, for tables that have one.
    global_key: Vec<u8>,
    /// Blocks that are next in the file, for walks that come to them.
    ahead: Readahead,
    ctx: ReadContext,
}

impl TableIter {
    pub(super) fn new(table: Arc<TableReader>, ctx: ReadContext) -> Self {
        Self {
            table,
            index: IndexCursor::default(),
            block: None,
            data: BlockCursor::new(),
            global_key: Vec::new(),
            ahead: Readahead::new(READ_LEN_MAX),
            ctx,
        }
    }

    /// Leaves the cache as it is: what the walk reads does not enter it. For walks over much of a table, like a
    /// compaction's, whose blocks nobody asks for again.
    pub fn pass_cache_by(&mut self) {
        self.ctx.pass_cache_by = true;
    }

    /// Sets the most bytes that are read ahead at once; 0 reads nothing ahead. What was read ahead is forgotten.
    pub fn set_readahead(&mut self, bytes_max: usize) {
        self.ahead = Readahead::new(bytes_max);
    }

    /// Leaves the table: the walk stands nowhere.
    pub(crate) fn leave(&mut self) {
        self.data.reset();
    }

    /// What the walk cost so far.
    pub fn context(&self) -> &ReadContext {
        &self.ctx
    }

    /// The value there, kept in memory by itself. Only on an entry.
    pub fn pinned_value(&self) -> Option<PinnedBytes> {
        let (_, block) = self.block.as_ref().filter(|_| self.data.is_valid())?;
        Some(PinnedBytes::new(block.entry(), self.data.value_range()))
    }

    /// Moves to the first entry that is not before `target`.
    pub fn seek_internal(&mut self, target: InternalKey<'_>) -> Result<()> {
        self.seek(&target.encode())
    }

    /// The entry there, if its user key is this one.
    pub(super) fn entry_of(&self, user_key: &[u8]) -> Result<Option<FoundEntry>> {
        if !self.is_valid() {
            return Ok(None);
        }
        let key = InternalKey::decode(self.key()).map_err(|error| self.place(error))?;
        if self.table.order.compare(key.user_key, user_key).is_ne() {
            return Ok(None);
        }
        Ok(self.pinned_value().map(|value| FoundEntry {
            seqno: key.seqno,
            value_type: key.value_type,
            value,
        }))
    }

    /// Moves to the next entry; stays where it is if it stands nowhere.
    pub(super) fn step(&mut self) -> Result<()> {
        let Some((_, block)) = self.block.as_ref().filter(|_| self.data.is_valid()) else {
            return Ok(());
        };
        self.data.next(block).map_err(|error| place(&self.table, &self.block, error))?;
        if self.data.is_valid() {
            self.apply_global_seqno();
            return Ok(());
        }
        self.index.next(&self.table, &mut self.ctx)?;
        self.enter_forward()
    }

    /// Moves to the first entry of the block at the index's position, or of the next block that has any.
    fn enter_forward(&mut self) -> Result<()> {
        self.data.reset();
        while self.load_block()? {
            if let Some((_, block)) = &self.block {
                self.data.seek_to_first(block).map_err(|error| self.place(error))?;
            }
            if self.data.is_valid() {
                self.apply_global_seqno();
                break;
            }
            self.index.next(&self.table, &mut self.ctx)?;
        }
        Ok(())
    }

    /// Moves to the last entry of the block at the index's position, or of the block before it that has any.
    fn enter_backward(&mut self) -> Result<()> {
        self.data.reset();
        while self.load_block()? {
            if let Some((_, block)) = &self.block {
                self.data
                    .seek_to_last(block)
                    .map_err(|error| place(&self.table, &self.block, error))?;
            }
            if self.data.is_valid() {
                self.apply_global_seqno();
                break;
            }
            self.index.prev(&self.table, &mut self.ctx)?;
        }
        Ok(())
    }

    /// Makes the block at the index's position the loaded one. Returns whether there is such a block.
    fn load_block(&mut self) -> Result<bool> {
        let Some(value) = self.index.entry() else { return Ok(false) };
        let handle = value.handle;
        if self.block.as_ref().is_some_and(|(loaded, _)| *loaded == handle) {
            return Ok(true);
        }
        self.block = None;
        let block = self.table.data_block_ahead(handle, &mut self.ahead, &mut self.ctx)?;
        self.block = Some((handle, block));
        Ok(true)
    }

    /// All entries of an ingested file have one sequence number, which is not in their keys.
    fn apply_global_seqno(&mut self) {
        if self.table.global_seqno.is_none() {
            return;
        }
        let key = self.data.key();
        self.global_key.clear();
        match key.split_last_chunk::<PACKED_LEN>() {
            Some((user_key, packed)) => {
                let packed = u64::from_le_bytes(*packed);
                let seqno = self.table.effective_seqno(SeqNo::from_packed(packed));
                let packed = seqno.get() << 8 | packed & 0xff;
                append_internal_key(&mut self.global_key, user_key, packed);
            }
            None => self.global_key.extend_from_slice(key),
        }
    }

    /// Moves to the first stored entry that is not before `target`.
    fn seek_stored(&mut self, target: &[u8]) -> Result<()> {
        self.data.reset();
        let key = InternalKey::decode_target(target)?;
        self.index.seek(&self.table, key.user_key, key.packed(), &mut self.ctx)?;
        if !self.load_block()? {
            return Ok(());
        }
        if let Some((_, block)) = &self.block {
            touch(block.entry())
                .and_then(|()| self.data.seek(block, &self.table.order, target))
                .map_err(|error| place(&self.table, &self.block, error))?;
        }
        if self.data.is_valid() {
            self.apply_global_seqno();
            return Ok(());
        }
        self.index.next(&self.table, &mut self.ctx)?;
        self.enter_forward()
    }

    #[cold]
    fn place(&self, error: Error) -> Error {
        place(&self.table, &self.block, error)
    }
}

#[cold]
fn place(
    table: &TableReader,
    block: &Option<(BlockHandle, Held<DataBlock>)>,
    error: Error,
) -> Error {
    let handle = block.as_ref().map(|(handle, _)| *handle).unwrap_or_default();
    table.fetcher.place(error, handle, BlockRole::Data)
}

/// Without keys, values and bytes of blocks: they are the user's data, which is nothing for logs.
impl fmt::Debug for TableIter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableIter")
            .field("path", &self.table.path())
            .field("block", &self.block.as_ref().map(|(handle, _)| handle))
            .field("at", &self.data)
            .field("ahead", &self.ahead)
            .field("ctx", &self.ctx)
            .finish_non_exhaustive()
    }
}

impl InternalIterator for TableIter {
    #[inline]
    fn is_valid(&self) -> bool {
        self.data.is_valid()
    }

    fn seek_to_first(&mut self) -> Result<()> {
        self.data.reset();
        self.index.seek_to_first(&self.table, &mut self.ctx)?;
        self.enter_forward()
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.data.reset();
        self.index.seek_to_last(&self.table, &mut self.ctx)?;
        self.enter_backward()
    }

    fn seek(&mut self, target: &[u8]) -> Result<()> {
        if self.table.global_seqno.is_none() {
            return self.seek_stored(target);
        }
        // In the file all entries of a key are at sequence number 0; the target's number says nothing there.
        self.data.reset();
        let key = InternalKey::decode_target(target)?;
        self.seek_stored(&InternalKey::for_seek(key.user_key, SeqNo::MAX).encode())?;
        while self.is_valid() && self.table.order.compare_internal(self.key(), target).is_lt() {
            self.step()?;
        }
        Ok(())
    }

    fn seek_for_prev(&mut self, target: &[u8]) -> Result<()> {
        self.seek(target)?;
        if !self.is_valid() {
            return self.seek_to_last();
        }
        if self.table.order.compare_internal(self.key(), target).is_eq() {
            return Ok(());
        }
        self.prev()
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        self.step()
    }

    fn prev(&mut self) -> Result<()> {
        let Some((_, block)) = self.block.as_ref().filter(|_| self.data.is_valid()) else {
            return Ok(());
        };
        self.data.prev(block).map_err(|error| place(&self.table, &self.block, error))?;
        if self.data.is_valid() {
            self.apply_global_seqno();
            return Ok(());
        }
        self.index.prev(&self.table, &mut self.ctx)?;
        self.enter_backward()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        if self.table.global_seqno.is_some() { &self.global_key } else { self.data.key() }
    }

    #[inline]
    fn value(&self) -> &[u8] {
        match &self.block {
            Some((_, block)) if self.data.is_valid() => self.data.value(block),
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::io::MemoryWriter;
    use crate::key::{KeyOrder, ValueType};
    use crate::options::TableOptions;
    use crate::table::{ReaderOptions, SstFileWriter, TableBuilder, TableContext};

    fn open(file: MemoryWriter, options: &ReaderOptions) -> TableIter {
        let file = Arc::new(file.into_file());
        let table = TableReader::open(file, options, &mut ReadContext::default());
        Arc::new(table.unwrap()).iter()
    }

    /// Iterators over a table of the keys a and c at sequence number 1, and over an ingested one of the same keys at 9.
    fn iterators() -> [TableIter; 2] {
        let (options, context) = (TableOptions::default, TableContext::default);
        let file = MemoryWriter::new("000007.sst");
        let boxed = Box::new(file.clone());
        let mut builder =
            TableBuilder::new(boxed, options(), KeyOrder::Bytewise, context()).unwrap();
        for user_key in [b"a", b"c"] {
            let key = InternalKey::new(user_key, SeqNo::new(1).unwrap(), ValueType::Value);
            builder.add(&key.encode(), b"").unwrap();
        }
        builder.finish().unwrap();

        let external = MemoryWriter::new("000008.sst");
        let boxed = Box::new(external.clone());
        let mut writer =
            SstFileWriter::new(boxed, options(), KeyOrder::Bytewise, context()).unwrap();
        for user_key in [b"a", b"c"] {
            writer.put(user_key, b"").unwrap();
        }
        writer.finish().unwrap();
        let ingested = ReaderOptions { largest_seqno: SeqNo::new(9), ..ReaderOptions::default() };
        [open(file, &ReaderOptions::default()), open(external, &ingested)]
    }

    #[test]
    fn a_target_that_is_no_internal_key_is_the_callers_mistake() {
        for mut iter in iterators() {
            for moved in [TableIter::seek, TableIter::seek_for_prev] {
                for target in [&b"abc"[..], b"", b"a\x7f\0\0\0\0\0\0\0"] {
                    iter.seek_to_first().unwrap();
                    let error = moved(&mut iter, target).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
                    let expected = format!(
                        "seek target of {} bytes is no internal key: \
                         InternalKey::for_seek(..).encode() makes one",
                        target.len()
                    );
                    assert_eq!(error.message(), expected);
                    assert!(!iter.is_valid());
                }
            }
        }
    }

    #[test]
    fn the_keys_to_seek_for_lead_to_the_entries_of_their_user_key() {
        for mut iter in iterators() {
            let user_key = |iter: &TableIter| {
                iter.is_valid().then(|| InternalKey::decode(iter.key()).unwrap().user_key[0])
            };
            for (target, forward, backward) in [
                (b"a", Some(b'a'), Some(b'a')),
                (b"b", Some(b'c'), Some(b'a')),
                (b"c", Some(b'c'), Some(b'c')),
                (b"0", Some(b'a'), None),
                (b"d", None, Some(b'c')),
            ] {
                iter.seek(&InternalKey::for_seek(target, SeqNo::MAX).encode()).unwrap();
                assert_eq!(user_key(&iter), forward);
                iter.seek_for_prev(&InternalKey::for_seek_for_prev(target).encode()).unwrap();
                assert_eq!(user_key(&iter), backward);
            }
            iter.seek_for_prev(&InternalKey::for_seek(b"c", SeqNo::MAX).encode()).unwrap();
            assert_eq!(user_key(&iter), Some(b'a'));
        }
    }
}
