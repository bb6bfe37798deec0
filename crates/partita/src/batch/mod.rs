//! Write batches: several writes that take effect together. What is in memory is what stands in the log, byte for byte as
//! RocksDB has it, so that batches can be passed on to others and back.
//!
//! ```text
//! batch    sequence u64 LE | count u32 LE | record | record | …
//! record   tag u8 | column family varint32 (in the forms that have one) | what the tag says
//! bytes    length varint32 | that many bytes
//!
//! tag  with family                                  tag  with family
//! 0x00  0x04  delete          key                   0x09  -    begin prepare   -
//! 0x01  0x05  put             key, value            0x0a  -    end prepare     transaction id
//! 0x02  0x06  merge           key, operand          0x0b  -    commit          transaction id
//! 0x03  -     log data        bytes                 0x0c  -    rollback        transaction id
//! 0x07  0x08  single delete   key                   0x0d  -    no operation    -
//! 0x0f  0x0e  delete range    begin, end            0x12  -    begin persisted prepare
//! 0x11  0x10  blob index      key, index            0x13  -    begin unprepare
//! ```
//!
//! * Forms without a family are for family 0, and it is always written so.
//! * `count` is the number of records that change the database: those of the left columns without log data. The record
//!   number `i` of those has sequence number `sequence + i`.
//! * Refused by name: wide-column entities (0x16, 0x17), timed puts (0x18, 0x19), commits with timestamps (0x15). Marks of
//!   two-phase commit are handed on: what they mean is for the database to say.
//! * A key, a value, and a batch have less than 4 GiB: the lengths in the format have 32 bits.
//!
//! [`WriteBatch`] makes batches and takes them over from elsewhere; [`BatchReader`] goes over the records of any bytes without
//! a copy. Both check every bound.

mod contents;
mod limits;
mod reader;
mod record;
#[cfg(test)]
mod tests;
mod write_batch;

pub use limits::{BATCH_BYTES_MAX, FIELD_BYTES_MAX};
pub use reader::{BatchReader, Records};
pub use record::{Record, TransactionMark};
pub use write_batch::{BATCH_HEADER_BYTES, WriteBatch};
