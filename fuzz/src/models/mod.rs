//! Slow, plain statements of what the library does fast, to hold it against.

pub mod block;
pub mod directory;
pub mod filter;
pub mod sst;
pub mod walk;
