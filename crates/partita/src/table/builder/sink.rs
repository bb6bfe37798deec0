use std::path::Path;

use crate::error::Result;
use crate::io::WritableFile;
use crate::options::{ALIGNMENT_MAX, CompressionOptions, TableOptions};
use crate::table::{BLOCK_TRAILER_LEN, BlockChecksum, BlockHandle};
use crate::util::compression::{CompressionType, Compressor, Framing};

/// Zero bytes for padding.
const PADDING: [u8; ALIGNMENT_MAX] = [0; ALIGNMENT_MAX];

/// Appends blocks with their trailers to a file, compressed where that pays.
pub(super) struct BlockSink {
    output: Output,
    compression: CompressionOptions,
    framing: Framing,
    padding: Padding,
    /// `None` without compression.
    compressor: Option<Compressor>,
    /// The same with the file's dictionary, for data blocks, once the file has one.
    dictionary_compressor: Option<Compressor>,
}

/// Which blocks are compressed with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Treatment {
    /// Compressed, with the dictionary if there is one, and padded as the options say.
    Data,
    /// Compressed without dictionary.
    Index,
    /// Stored as it is.
    Raw,
}

/// Where a block was put, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub(super) handle: BlockHandle,
    pub(super) compressed: bool,
    /// Whether padding stands before the block, so that it does not begin where the one before ended.
    pub(super) padded_before: bool,
}

impl BlockSink {
    pub(super) fn new(
        file: Box<dyn WritableFile>,
        options: &TableOptions,
        checksum: BlockChecksum,
    ) -> Result<Self> {
        let framing = Framing::of_format_version(options.format_version);
        let compression = options.compression.clone();
        let compressor = (compression.kind != CompressionType::None)
            .then(|| Compressor::new(compression.kind, compression.level, framing, None))
            .transpose()?;
        Ok(Self {
            output: Output { file, offset: 0, checksum, types_used: 0 },
            compression,
            framing,
            padding: Padding::new(options),
            compressor,
            dictionary_compressor: None,
        })
    }

    /// Compresses data blocks with this dictionary from now on.
    pub(super) fn use_dictionary(&mut self, dictionary: &[u8]) -> Result<()> {
        let CompressionOptions { kind, level, .. } = self.compression;
        self.dictionary_compressor =
            Some(Compressor::new(kind, level, self.framing, Some(dictionary))?);
        Ok(())
    }

    /// Appends a block and its trailer.
    pub(super) fn write_block(&mut self, contents: &[u8], treatment: Treatment) -> Result<Written> {
        let compressor = match treatment {
            Treatment::Raw => None,
            Treatment::Index => self.compressor.as_mut(),
            Treatment::Data => self.dictionary_compressor.as_mut().or(self.compressor.as_mut()),
        };
        let mut stored = contents;
        let mut kind = CompressionType::None;
        if let Some(compressor) = compressor {
            let smaller = compressor.compress(contents)?;
            if self.compression.is_worth_it(smaller.len(), contents.len()) {
                (stored, kind) = (smaller, self.compression.kind);
            }
        }
        let is_data = treatment == Treatment::Data;
        let before =
            if is_data { self.padding.before(self.output.offset, stored.len()) } else { 0 };
        self.output.pad(before)?;
        let handle = self.output.append_block(stored, kind)?;
        if is_data {
            self.output.pad(self.padding.after(stored.len()))?;
        }
        let compressed = kind != CompressionType::None;
        Ok(Written { handle, compressed, padded_before: before > 0 })
    }

    /// Appends bytes that are no block.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.output.append(bytes)
    }

    /// Hands everything to the device.
    pub(super) fn sync(&mut self) -> Result<()> {
        self.output.sync()
    }

    /// Bytes written.
    pub(super) fn offset(&self) -> u64 {
        self.output.offset
    }

    /// The file's path, for messages.
    pub(super) fn path(&self) -> &Path {
        self.output.file.path()
    }

    /// All compression types in the file, ascending by code; plain blocks do not count.
    pub(super) fn compression_types_used(&self) -> impl Iterator<Item = CompressionType> + use<> {
        let used = self.output.types_used;
        CompressionType::ALL.into_iter().skip(1).filter(move |kind| used & 1 << kind.code() != 0)
    }
}

/// The file and where it ends.
struct Output {
    file: Box<dyn WritableFile>,
    offset: u64,
    checksum: BlockChecksum,
    /// Compression types of the blocks written, as bits.
    types_used: u8,
}

impl Output {
    fn append_block(&mut self, stored: &[u8], kind: CompressionType) -> Result<BlockHandle> {
        let handle = BlockHandle { offset: self.offset, size: stored.len() as u64 };
        let trailer = self.checksum.trailer(self.offset, stored, kind.code());
        self.append(stored)?;
        self.append(&trailer)?;
        self.types_used |= 1 << kind.code();
        Ok(handle)
    }

    fn pad(&mut self, mut len: usize) -> Result<()> {
        while len > 0 {
            let piece = len.min(PADDING.len());
            self.append(&PADDING[..piece])?;
            len -= piece;
        }
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.append(bytes).map_err(|error| error.in_file(self.file.path()))?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.file.sync().map_err(|error| error.in_file(self.file.path()))
    }
}

/// Zero bytes around data blocks.
#[derive(Clone, Copy, Debug)]
struct Padding {
    /// After a block: up to a multiple of this.
    alignment: Option<usize>,
    /// Before a block: so that it does not straddle regions of so many bytes; 0: none.
    region: u64,
    /// Most bytes spent for that.
    most: u64,
}

impl Padding {
    fn new(options: &TableOptions) -> Self {
        let region = options.super_block_alignment_size as u64;
        let ratio = options.super_block_alignment_space_overhead_ratio as u64;
        Self {
            alignment: options.block_align.then(|| options.block_size.min(ALIGNMENT_MAX)),
            region,
            most: region.checked_div(ratio).unwrap_or(0),
        }
    }

    /// Bytes before a block of `len` bytes at `offset`.
    fn before(&self, offset: u64, len: usize) -> usize {
        if self.most == 0 || offset / self.region == (offset + len as u64) / self.region {
            return 0;
        }
        let padding = self.region - offset % self.region;
        if padding < self.most { padding as usize } else { 0 }
    }

    /// Bytes after a block of `len` bytes and its trailer.
    fn after(&self, len: usize) -> usize {
        let end = len + BLOCK_TRAILER_LEN;
        self.alignment.map_or(0, |alignment| end.next_multiple_of(alignment) - end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn padding(region: usize, ratio: usize) -> Padding {
        Padding::new(&TableOptions {
            super_block_alignment_size: region,
            super_block_alignment_space_overhead_ratio: ratio,
            ..TableOptions::default()
        })
    }

    #[test]
    fn padding_keeps_blocks_within_a_region() {
        assert_eq!(padding(0, 128).before(0, 100), 0);
        assert_eq!(padding(1024, 4).before(1000, 24), 24);
        assert_eq!(padding(1024, 4).before(1000, 23), 0);
        assert_eq!(padding(1024, 4).before(700, 500), 0, "324 bytes are more than a quarter");
        assert_eq!(padding(1024, 0).before(1000, 24), 0);
    }

    #[test]
    fn padding_aligns_the_end_of_blocks() {
        let options = TableOptions { block_align: true, ..TableOptions::default() };
        let padding = Padding::new(&options);
        assert_eq!(padding.after(4091), 0);
        assert_eq!(padding.after(4092), 4095);
    }
}
