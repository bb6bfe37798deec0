//! What a database tells about itself.
//!
//! [`Property`] holds the questions that RocksDB's `GetProperty` knows, under its names.

mod property;

pub use property::{Property, PropertyKind};
