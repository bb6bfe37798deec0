//! From a block handle to the block's contents: range check, one read, checksum, decompression.
//!
//! Everything that reads a block comes through [`BlockFetcher::fetch`], so a block that was damaged on its way from
//! the disk is noticed here, before anything interprets it. Errors name file, role, offset and length.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::lazy::Lazy;
use super::read_context::BUFFER_LEN_MAX;
use super::readahead::Readahead;
use super::role::BlockRole;
use super::trailer::BlockChecksum;
use super::{BLOCK_TRAILER_LEN, BlockHandle, Footer, ReadContext};
use crate::cache::{Cache, Reservation, Role};
use crate::error::{Error, Result};
use crate::filter::FilterMeta;
use crate::io::RandomAccessFile;
use crate::util::checksum::ChecksumType;
use crate::util::compression::{CompressionType, Dictionary, Framing, decompress};

/// Most bytes of one block in memory: offsets inside of blocks have 32 bits.
const CONTENTS_LEN_MAX: usize = u32::MAX as usize;

/// Bytes read at a time where a block passes by.
pub(super) const STREAM_LEN: usize = 64 * 1024;

/// What is kept of a part of a block, to verify it by when it is read again.
pub(super) fn part_sum(part: &[u8]) -> u32 {
    crc32c::crc32c(part)
}

/// `len` bytes of a buffer that grows to it.
fn room(buffer: &mut Vec<u8>, len: usize) -> &mut [u8] {
    if buffer.len() < len {
        buffer.resize(len, 0);
    }
    &mut buffer[..len]
}

/// Reads the blocks of one file.
#[derive(Debug)]
pub(super) struct BlockFetcher {
    file: Arc<dyn RandomAccessFile>,
    checksum: BlockChecksum,
    framing: Framing,
    verify_checksums: bool,
    /// Where the dictionary is, if the file has one; it applies to data blocks only.
    dictionary_at: Option<BlockHandle>,
    dictionary: Lazy<(Dictionary, Option<Reservation>)>,
    /// What the dictionary is charged to.
    cache: Option<Cache>,
}

impl BlockFetcher {
    pub(super) fn new(
        file: Arc<dyn RandomAccessFile>,
        footer: &Footer,
        verify_checksums: bool,
    ) -> Self {
        Self {
            file,
            checksum: footer.checksum,
            framing: Framing::of_format_version(footer.format_version),
            verify_checksums,
            dictionary_at: None,
            dictionary: Lazy::default(),
            cache: None,
        }
    }

    /// Says where the dictionary is, which stands in the metaindex and so is known only after the first blocks.
    pub(super) fn set_dictionary(&mut self, at: Option<BlockHandle>) {
        self.dictionary_at = at;
    }

    /// Reads from `file` from now on, which is the same by another way; and charges what it keeps to `cache`.
    pub(super) fn keep_open(&mut self, file: Arc<dyn RandomAccessFile>, cache: Cache) {
        self.file = file;
        self.cache = Some(cache);
    }

    pub(super) fn file(&self) -> &dyn RandomAccessFile {
        &*self.file
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    pub(super) fn file_len(&self) -> u64 {
        self.file.len()
    }

    /// The contents of a block: read, verified and decompressed.
    ///
    /// * Errors: `Corruption` if the handle points outside of the file, the checksum does not fit or the compressed
    ///   bytes are damaged; `NotSupported` for a compression we do not have; `Io`.
    pub(super) fn fetch(
        &self,
        handle: BlockHandle,
        role: BlockRole,
        ctx: &mut ReadContext,
    ) -> Result<Vec<u8>> {
        self.fetch_with_type(handle, role, ctx).map(|(contents, _)| contents)
    }

    /// The same, and the code of the block's compression type.
    pub(super) fn fetch_with_type(
        &self,
        handle: BlockHandle,
        role: BlockRole,
        ctx: &mut ReadContext,
    ) -> Result<(Vec<u8>, u8)> {
        ctx.may_read().map_err(|error| self.place(error, handle, role))?;
        let _in_flight = self.charge(self.stored_len(handle, role)?);
        let mut buffer = ctx.take_buffer();
        let (stored, trailer) = self.read(handle, role, &mut buffer)?;
        let contents = self.unpack(handle, role, stored, trailer, ctx)?;
        ctx.give_buffer(buffer);
        Ok((contents, trailer[0]))
    }

    /// The contents of a block that a walk comes to, with which the blocks behind it may be read.
    pub(super) fn fetch_ahead(
        &self,
        handle: BlockHandle,
        role: BlockRole,
        ahead: &mut Readahead,
        ctx: &mut ReadContext,
    ) -> Result<Vec<u8>> {
        if let Some(range) = ahead.plan(handle, self.file.len())
            && !ctx.cache_only
        {
            self.read_ahead(range, ahead);
        }
        let Some(bytes) = ahead.block(handle) else { return self.fetch(handle, role, ctx) };
        let Some((stored, trailer)) = bytes.split_last_chunk() else {
            return self.fetch(handle, role, ctx);
        };
        self.unpack(handle, role, stored, *trailer, ctx)
    }

    /// Reads a range of the file into a buffer. If that fails, the buffer is empty, and each block's own read says why.
    pub(super) fn read_ahead(&self, range: Range<u64>, ahead: &mut Readahead) {
        let buffer = ahead.refill(range.clone(), self.cache.as_ref());
        if self.file.read_exact_at(range.start, buffer).is_err() {
            ahead.clear();
        }
    }

    /// What `parse` makes of the contents of a block; its errors name the block, too.
    pub(super) fn fetch_parsed<T>(
        &self,
        handle: BlockHandle,
        role: BlockRole,
        ctx: &mut ReadContext,
        parse: impl FnOnce(Vec<u8>) -> Result<T>,
    ) -> Result<T> {
        let contents = self.fetch(handle, role, ctx)?;
        parse(contents).map_err(|error| self.place(error, handle, role))
    }

    /// Makes room for a large block before it is read, so that many reads at once do not exceed the budget unseen.
    fn charge(&self, len: usize) -> Option<Reservation> {
        let cache = self.cache.as_ref().filter(|_| len > BUFFER_LEN_MAX)?;
        Some(cache.reserve(Role::ReadBuffers, len))
    }

    /// Verifies and decompresses a block as it stands in the file.
    fn unpack(
        &self,
        handle: BlockHandle,
        role: BlockRole,
        stored: &[u8],
        trailer: [u8; BLOCK_TRAILER_LEN],
        ctx: &mut ReadContext,
    ) -> Result<Vec<u8>> {
        if self.verify_checksums {
            self.checksum
                .verify(handle.offset, stored, trailer)
                .map_err(|error| self.place(error, handle, role))?;
        }
        self.expand(handle, role, stored, trailer[0], ctx)
    }

    /// Decompresses a block as it stands in the file.
    fn expand(
        &self,
        handle: BlockHandle,
        role: BlockRole,
        stored: &[u8],
        compression: u8,
        ctx: &mut ReadContext,
    ) -> Result<Vec<u8>> {
        let contents = if compression == CompressionType::None.code() {
            stored.to_vec()
        } else {
            self.decompress(role, stored, compression, ctx)
                .map_err(|error| self.place(error, handle, role))?
        };
        ctx.count_read(role, (stored.len() + BLOCK_TRAILER_LEN) as u64, contents.len() as u64);
        Ok(contents)
    }

    fn decompress(
        &self,
        role: BlockRole,
        stored: &[u8],
        compression: u8,
        ctx: &mut ReadContext,
    ) -> Result<Vec<u8>> {
        let kind = CompressionType::from_code(compression)?;
        let dictionary = match role {
            BlockRole::Data => self.dictionary(ctx)?,
            BlockRole::Dictionary => {
                return Err(Error::corruption(format!("stored with compression {kind}")));
            }
            _ => None,
        };
        decompress(kind, self.framing, dictionary, stored, CONTENTS_LEN_MAX)
    }

    /// The file's dictionary, read at its first use.
    fn dictionary(&self, ctx: &mut ReadContext) -> Result<Option<&Dictionary>> {
        let Some(handle) = self.dictionary_at else { return Ok(None) };
        let load = || {
            let dictionary =
                self.fetch_parsed(handle, BlockRole::Dictionary, ctx, Dictionary::new)?;
            let bytes = dictionary.memory_bytes();
            let charge = self.cache.as_ref().map(|cache| cache.reserve(Role::Dictionary, bytes));
            Ok((dictionary, charge))
        };
        self.dictionary.get_or_load(load).map(|(dictionary, _)| Some(dictionary))
    }

    /// The bytes of a block and its trailer, by one read into `buffer`.
    fn read<'b>(
        &self,
        handle: BlockHandle,
        role: BlockRole,
        buffer: &'b mut Vec<u8>,
    ) -> Result<(&'b [u8], [u8; BLOCK_TRAILER_LEN])> {
        let len = self.stored_len(handle, role)? + BLOCK_TRAILER_LEN;
        let bytes = room(buffer, len);
        self.file
            .read_exact_at(handle.offset, bytes)
            .map_err(|error| self.place(error, handle, role))?;
        match bytes.split_last_chunk() {
            Some((stored, trailer)) => Ok((stored, *trailer)),
            None => Ok((&[], [0; BLOCK_TRAILER_LEN])), // not reached: so many bytes were read
        }
    }

    /// A block's length without the trailer, if the block is in the file.
    fn stored_len(&self, handle: BlockHandle, role: BlockRole) -> Result<usize> {
        let inside = handle.end().is_some_and(|end| end <= self.file.len());
        usize::try_from(handle.size).ok().filter(|_| inside).ok_or_else(|| {
            let message = format!(
                "the block's handle points outside of the file of {} bytes",
                self.file.len()
            );
            self.place(Error::corruption(message), handle, role)
        })
    }

    /// What `parse` makes of a part of a block that is stored without compression.
    ///
    /// * `sum`: what [`part_sum`] gave for it when the block as a whole was verified.
    pub(super) fn fetch_part<T>(
        &self,
        block: BlockHandle,
        role: BlockRole,
        part: Range<usize>,
        sum: Option<u32>,
        ctx: &mut ReadContext,
        parse: impl FnOnce(&[u8]) -> Result<T>,
    ) -> Result<T> {
        let offset = block.offset.saturating_add(part.start as u64);
        let handle = BlockHandle { offset, size: part.len() as u64 };
        ctx.may_read().map_err(|error| self.place(error, handle, role))?;
        self.stored_len(handle, role)?;
        let mut buffer = ctx.take_buffer();
        let bytes = room(&mut buffer, part.len());
        let place = |error| self.place(error, handle, role);
        self.file.read_exact_at(handle.offset, bytes).map_err(place)?;
        ctx.count_read(role, bytes.len() as u64, bytes.len() as u64);
        if let Some(sum) = sum {
            let found = part_sum(bytes);
            if found != sum {
                return Err(place(Error::corruption(format!(
                    "part of the block at {:#x} has changed since the table was opened: its sum was {sum:08x}, \
                     is {found:08x}",
                    block.offset
                ))));
            }
        }
        let parsed = parse(bytes).map_err(place)?;
        ctx.give_buffer(buffer);
        Ok(parsed)
    }

    /// The metadata of a filter block that is stored without compression, and the code of its compression type.
    ///
    /// * `block`: of more bytes than the metadata has.
    pub(super) fn read_filter_end(
        &self,
        block: BlockHandle,
        role: BlockRole,
        ctx: &ReadContext,
    ) -> Result<([u8; FilterMeta::LEN], u8)> {
        ctx.may_read().map_err(|error| self.place(error, block, role))?;
        let len = self.stored_len(block, role)?.saturating_sub(FilterMeta::LEN);
        let mut end = [0; FilterMeta::LEN + 1];
        self.file
            .read_exact_at(block.offset + len as u64, &mut end)
            .map_err(|error| self.place(error, block, role))?;
        let [metadata @ .., compression] = end;
        Ok((metadata, compression))
    }

    /// Passes a stored block through `each` in pieces, and verifies it.
    ///
    /// * Memory: [`STREAM_LEN`].
    pub(super) fn stream(
        &self,
        block: BlockHandle,
        role: BlockRole,
        ctx: &mut ReadContext,
        mut each: impl FnMut(&[u8]),
    ) -> Result<()> {
        ctx.may_read().map_err(|error| self.place(error, block, role))?;
        let len = self.stored_len(block, role)?;
        let place = |error| self.place(error, block, role);
        let mut buffer = vec![0; STREAM_LEN.min(len)];
        let mut hasher = self.checksum.checksum.hasher();
        for start in (0..len).step_by(STREAM_LEN) {
            let bytes = &mut buffer[..STREAM_LEN.min(len - start)];
            self.file.read_exact_at(block.offset + start as u64, bytes).map_err(place)?;
            hasher.update(bytes);
            each(bytes);
        }
        let mut trailer = [0; BLOCK_TRAILER_LEN];
        self.file.read_exact_at(block.offset + len as u64, &mut trailer).map_err(place)?;
        ctx.count_read(role, (len + BLOCK_TRAILER_LEN) as u64, len as u64);
        self.checksum.verify_hashed(block.offset, hasher, trailer).map_err(place)
    }

    /// Whether damage to blocks shows in their checksums, so that sums of parts are worth keeping.
    pub(super) fn verifies(&self) -> bool {
        self.verify_checksums && self.checksum.checksum != ChecksumType::None
    }

    /// The properties block, whose checksum was made before `write_global_seqno` may have changed 8 bytes in it.
    ///
    /// * `seqno_at`: finds these bytes in the contents.
    pub(super) fn fetch_properties(
        &self,
        handle: BlockHandle,
        seqno_at: impl FnOnce(&[u8]) -> Option<Range<usize>>,
        ctx: &mut ReadContext,
    ) -> Result<Vec<u8>> {
        let role = BlockRole::Properties;
        let mut buffer = Vec::new();
        let (stored, trailer) = self.read(handle, role, &mut buffer)?;
        if self.verify_checksums
            && let Err(error) = self.checksum.verify(handle.offset, stored, trailer)
        {
            let mut as_written = stored.to_vec();
            if let Some(seqno) = seqno_at(stored).and_then(|at| as_written.get_mut(at)) {
                seqno.fill(0);
            }
            if self.checksum.verify(handle.offset, &as_written, trailer).is_err() {
                return Err(self.place(error, handle, role));
            }
        }
        self.expand(handle, role, stored, trailer[0], ctx)
    }

    /// Adds to an error of this block what only this layer knows.
    pub(super) fn place(&self, error: Error, handle: BlockHandle, role: BlockRole) -> Error {
        error
            .in_part(role.as_str())
            .at(handle.offset)
            .with_len(handle.size)
            .in_file(self.file.path())
    }
}
