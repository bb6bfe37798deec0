//! SST files (block-based tables): reading, writing and iterating.

mod footer;
mod handle;
pub mod metaindex;
pub mod properties;
mod trailer;

pub use footer::{FOOTER_LEN_MAX, FORMAT_VERSION_MAX, Footer};
pub use handle::{BLOCK_TRAILER_LEN, BlockHandle};
pub use properties::TableProperties;
pub use trailer::BlockChecksum;
