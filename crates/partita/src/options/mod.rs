//! Settings as values: how tables are written and read.

mod index_type;

pub use index_type::IndexType;
