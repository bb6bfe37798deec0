//! Compression of blocks, as RocksDB frames it.
//!
//! ```text
//! type       format version >= 2 (Framing::Varint)      format version 0, 1 (Framing::Legacy)
//! 1 Snappy   snappy block (has its own length)          the same
//! 2 zlib     len varint32 | raw deflate stream          raw deflate stream
//! 3 bzip2    len varint32 | bzip2 stream                bzip2 stream
//! 4 LZ4      len varint32 | LZ4 block                   len u64 LE | LZ4 block
//! 5 LZ4HC    len varint32 | LZ4 block                   len u64 LE | LZ4 block
//! 7 ZSTD     len varint32 | zstd frame                  the same
//! ```
//!
//! * `len` is the length of the decompressed block; [`decompress`] yields exactly that many bytes or fails.
//! * [`decompress`] takes any bytes: a claimed length is held against what the input can possibly expand to and
//!   against the caller's limit *before* memory is taken for it.
//! * A [`Compressor`] belongs to one file and keeps its context and its buffer; a [`Dictionary`] is prepared once and
//!   shared by all readers of a file.

mod compress;
mod decompress;
mod dictionary;
mod kind;
mod lz4;
#[cfg(test)]
mod tests;

pub use compress::Compressor;
pub use decompress::{Framing, claimed_len, decompress};
pub use dictionary::{Dictionary, train_zstd_dictionary};
pub use kind::{CompressionType, DEFAULT_LEVEL};
