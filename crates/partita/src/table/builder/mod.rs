//! Writing tables.
//!
//! ```text
//! TableBuilder   entries in order in, a file out: cuts data blocks, keeps counts and boundaries
//!  |- block      BlockBuilder: prefix compression, restart points, hash index
//!  |- index      IndexBuilder: separators, partitions, delta-encoded handles
//!  |- filter     FilterBlockBuilder: full or partitioned
//!  |- dictionary data blocks held back until the compression dictionary is made
//!  |- sink       BlockSink: compression, trailers, padding, the file
//! SstFileWriter  the same for files made to be ingested
//! ```
//!
//! Entries pass through once. The data block, its compressed form and all keys are kept in buffers that live as long as
//! the builder: adding an entry allocates nothing.

mod block;
mod collector;
mod context;
mod counts;
mod dictionary;
mod external;
mod filter;
mod hash_index;
mod index;
mod meta;
mod sink;
mod table;
#[cfg(test)]
mod tests;

pub use collector::PropertiesCollector;
pub use context::{TableContext, TableSummary};
pub use external::SstFileWriter;
pub use table::TableBuilder;
