//! Typed tables on Partita: each table a column family, its keys and values encoded by codecs, all of them in one budget of
//! memory.
//!
//! ```
//! # use std::sync::Arc;
//! # use partita::io::MemoryFileSystem;
//! use partita_store::codec::{BigEndian, Utf8};
//! use partita_store::{Schema, StoreBuilder};
//!
//! partita_store::schema! {
//!     /// What a shop knows.
//!     pub struct Shop {
//!         /// Who buys: names by number.
//!         pub users: Table<BigEndian<u32>, Utf8> = "users",
//!         /// What was bought when, by user.
//!         pub orders: Table<(BigEndian<u32>, BigEndian<u64>), Utf8> = "orders",
//!     }
//! }
//!
//! let builder = StoreBuilder::new("/var/lib/shop.db").budget_bytes(64 << 20);
//! # let builder = builder.file_system(Arc::new(MemoryFileSystem::new()));
//! let shop: Shop = builder.open()?;
//!
//! // All of a batch, or nothing.
//! let mut batch = shop.store().batch();
//! batch.put(&shop.users, 7, "Anne")?;
//! batch.put(&shop.orders, (7, 1001), "tea")?;
//! batch.put(&shop.orders, (7, 1005), "cups")?;
//! shop.store().write(&batch)?;
//!
//! assert_eq!(shop.users.get(7)?.as_deref(), Some("Anne"));
//! let last = shop.orders.scan().prefix(7).backward().start()?.next().unwrap()?;
//! assert_eq!(last, ((7, 1005), "cups".to_owned()));
//!
//! let stats = shop.store().stats();
//! assert_eq!(stats.table("orders").unwrap().writes.puts, 2);
//! # Ok::<(), partita_store::Error>(())
//! ```
//!
//! # One budget
//! All tables share [`StoreBuilder::budget_bytes`]: data blocks, pieces of index and filter, memtables. Index and filter may
//! have a budget of their own instead ([`Metadata::Resident`]), with a limit; [`Store::metadata`] tells what they take.
//!
//! # Settings
//! A [`Profile`] is a set of options, Ozone's or Partita's own. An options file, `<name>.ini` beside the store `<name>` or in
//! [`StoreBuilder::config_dir`], changes single ones, in RocksDB's form:
//!
//! ```text
//! [DBOptions]
//!   max_background_jobs=8
//! [CFOptions "orders"]
//!   write_buffer_size=32m
//! [TableOptions/BlockBasedTable "orders"]
//!   block_size=16k
//! ```
//!
//! Whatever in it comes to nothing, a misspelt name or a setting that nothing acts on, is an error with its line, and the
//! store is not opened. [`Store::settings`] tells what was asked for and what holds, and so does
//! `partita db options --profile NAME --effective FILE`.
//!
//! # Features
//! * `prost`: values that are protobuf messages. `postcard`: values of any type that serde knows.
//! * `objects`: the metadata of an object store, as Apache Ozone's metadata manager keeps it.

#![forbid(unsafe_code)]

mod batch;
mod builder;
pub mod codec;
mod error;
mod metadata;
#[cfg(feature = "objects")]
pub mod objects;
mod profile;
mod scan;
mod schema;
mod settings;
mod stats;
mod store;
mod table;
mod updates;

pub use batch::StoreBatch;
pub use builder::StoreBuilder;
pub use error::{Error, Result};
pub use metadata::{Metadata, MetadataReport};
pub use profile::Profile;
pub use scan::{Entries, Keys, Scan};
pub use schema::Schema;
#[doc(hidden)]
pub use schema::assert_table_names;
pub use settings::SettingsReport;
pub use stats::{StoreStats, TableReads, TableStats, TableWrites};
pub use store::Store;
pub use table::{MayExist, Table};
pub use updates::{RowChange, TypedChange, UpdateBatch, UpdateRow, Updates, UpdatesError};
