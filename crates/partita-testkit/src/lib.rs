//! Golden databases and models that Partita's tests share.
//!
//! | module | holds |
//! |---|---|
//! | [`golden`] | real databases and tables written by RocksDB, with what RocksDB itself reads from them |
//! | [`archive`] | how those files are packed in the repository |
//! | [`table_check`] | everything that a table reader can be asked, against a list of entries |
//! | [`rebuild`] | RocksDB's tables written again from their entries, compared block by block |
//! | [`prometheus`] | a strict reader of Prometheus' text form |
//! | [`variants`] | tables in every variant that Partita writes |
#![forbid(unsafe_code)]

pub mod archive;
pub mod golden;
pub mod prometheus;
pub mod rebuild;
pub mod table_check;
pub mod variants;
