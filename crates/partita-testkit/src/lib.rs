//! Golden databases and models that Partita's tests share.
//!
//! | module | holds |
//! |---|---|
//! | [`golden`] | real databases and tables written by RocksDB, with what RocksDB itself reads from them |
//! | [`archive`] | how those files are packed in the repository |
#![forbid(unsafe_code)]

pub mod archive;
pub mod golden;
