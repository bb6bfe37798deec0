//! Settings as values: how tables are written and read.

mod compression;
mod index_type;
mod layout;
mod parse;
mod table;
mod value;

pub use compression::CompressionOptions;
pub use index_type::IndexType;
pub use layout::{DataBlockIndex, FilterLayout, IndexShortening};
pub(crate) use table::ALIGNMENT_MAX;
pub use table::TableOptions;
