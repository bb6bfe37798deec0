//! Log files: the write-ahead log and the manifest are sequences of the records that this module writes and reads.
//!
//! ```text
//! file    | block 32768 bytes | block | … | last block, shorter |
//! block   | fragment | … | fragment | fewer than a header's bytes of zeros |
//!
//! fragment of a fresh file        | crc u32 | length u16 | type u8 |               payload, length bytes |
//! fragment of a recyclable file   | crc u32 | length u16 | type u8 | log number u32 | payload            |
//!                                                          |<-------- the crc covers these ----------->|
//!
//! record  one full fragment, or a first, any number of middle ones and a last
//! ```
//!
//! * A fragment lies within a block; a record takes as many as it needs. Integers are little-endian, the CRC32C is masked.
//! * A recyclable file may be written over once it is obsolete; what its earlier life left behind carries another log
//!   number and ends the log.
//! * In a compressed log every record is one ZSTD frame, cut into fragments after compression.
//!
//! **Reading.** [`LogReader`] hands out whole records with right checksums, in order, from any bytes. What it cannot use it
//! reports ([`Dropped`]: offset, bytes, reason), and the [`WalRecoveryMode`](crate::options::WalRecoveryMode) decides whether that fails the reader, ends the
//! log, or is passed over. The module's errors name file and offset.
//!
//! **Writing.** [`LogWriter`] appends a record with one write, and is done for after a failed one: what stands behind a torn
//! record is lost to every reader, so nobody may be told that it was written.
//!
//! The format in full: `docs/format/wal.md`.

mod blocks;
mod compression;
mod dropped;
mod format;
mod reader;
mod special;
#[cfg(test)]
mod tests;
mod writer;

pub use dropped::{DropReason, Dropped};
pub use reader::{LogReader, LogReaderOptions, LogRecord};
pub use special::PredecessorWal;
pub use writer::{LogWriter, LogWriterOptions, Placed};
