//! SST files (block-based tables): reading, writing and iterating.

mod handle;

pub use handle::{BLOCK_TRAILER_LEN, BlockHandle};
