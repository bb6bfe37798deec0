//! From a block handle to the block's contents: range check, one read, checksum, decompression.
//!
//! Everything that reads a block comes through [`BlockFetcher::fetch`], so a block that was damaged on its way from
//! the disk is noticed here, before anything interprets it. Errors name file, role, offset and length.

use std::path::Path;
use std::sync::Arc;

use super::lazy::Lazy;
use super::role::BlockRole;
use super::trailer::BlockChecksum;
use super::{BLOCK_TRAILER_LEN, BlockHandle, Footer, ReadContext};
use crate::error::{Error, Result};
use crate::io::RandomAccessFile;
use crate::util::compression::{CompressionType, Dictionary, Framing, decompress};

/// Most bytes of one block in memory: offsets inside of blocks have 32 bits.
const CONTENTS_LEN_MAX: usize = u32::MAX as usize;

/// Reads the blocks of one file.
#[derive(Debug)]
pub(super) struct BlockFetcher {
    file: Arc<dyn RandomAccessFile>,
    checksum: BlockChecksum,
    framing: Framing,
    verify_checksums: bool,
    /// Where the dictionary is, if the file has one; it applies to data blocks only.
    dictionary_at: Option<BlockHandle>,
    dictionary: Lazy<Dictionary>,
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
        }
    }

    /// Says where the dictionary is, which stands in the metaindex and so is known only after the first blocks.
    pub(super) fn set_dictionary(&mut self, at: Option<BlockHandle>) {
        self.dictionary_at = at;
    }

    /// Reads from `file` from now on, which is the same by another way.
    pub(super) fn read_from(&mut self, file: Arc<dyn RandomAccessFile>) {
        self.file = file;
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
        let mut buffer = ctx.take_buffer();
        let (stored, trailer) = self.read(handle, role, &mut buffer)?;
        if self.verify_checksums {
            self.checksum
                .verify(handle.offset, stored, trailer)
                .map_err(|error| self.place(error, handle, role))?;
        }
        let contents = self.expand(handle, role, stored, trailer[0], ctx)?;
        ctx.give_buffer(buffer);
        Ok(contents)
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
            let contents = self.fetch(handle, BlockRole::Dictionary, ctx)?;
            Dictionary::new(contents)
                .map_err(|error| self.place(error, handle, BlockRole::Dictionary))
        };
        self.dictionary.get_or_load(load).map(Some)
    }

    /// The bytes of a block and its trailer, by one read into `buffer`.
    fn read<'b>(
        &self,
        handle: BlockHandle,
        role: BlockRole,
        buffer: &'b mut Vec<u8>,
    ) -> Result<(&'b [u8], [u8; BLOCK_TRAILER_LEN])> {
        let place = |error| self.place(error, handle, role);
        let inside = handle.end().is_some_and(|end| end <= self.file.len());
        let Some(len) = usize::try_from(handle.size).ok().filter(|_| inside) else {
            return Err(place(Error::corruption(format!(
                "the block's handle points outside of the file of {} bytes",
                self.file.len()
            ))));
        };
        let len = len + BLOCK_TRAILER_LEN;
        if buffer.len() < len {
            buffer.resize(len, 0);
        }
        let bytes = &mut buffer[..len];
        self.file.read_exact_at(handle.offset, bytes).map_err(place)?;
        match bytes.split_last_chunk() {
            Some((stored, trailer)) => Ok((stored, *trailer)),
            None => Ok((&[], [0; BLOCK_TRAILER_LEN])), // not reached: so many bytes were read
        }
    }

    /// The properties block, whose checksum was made before `write_global_seqno` may have changed 8 bytes in it.
    ///
    /// * `seqno_at`: finds these bytes in the contents.
    pub(super) fn fetch_properties(
        &self,
        handle: BlockHandle,
        seqno_at: impl FnOnce(&[u8]) -> Option<std::ops::Range<usize>>,
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
