//! The metadata of an object store, as Apache Ozone's metadata manager keeps it for its object-store buckets: volumes,
//! buckets, keys that are being written, keys, and keys whose blocks are to be removed; in its column families, under its
//! paths, by its operations on tables. What a row holds is less, and is not Ozone's message.
//!
//! ```
//! # use std::sync::Arc;
//! # use partita::io::MemoryFileSystem;
//! use partita_store::StoreBuilder;
//! use partita_store::objects::{KeyPath, Listing, NewKey, ObjectOptions, ObjectStore};
//!
//! let builder = StoreBuilder::new("/var/lib/om.db").budget_bytes(64 << 20);
//! # let builder = builder.file_system(Arc::new(MemoryFileSystem::new()));
//! let objects = ObjectStore::open(&builder, ObjectOptions::default())?;
//! objects.create_volume("anne", "anne")?;
//! objects.create_bucket("anne", "photos")?;
//!
//! let path = KeyPath { volume: "anne", bucket: "photos", key: "2026/cat.jpg" };
//! let open = objects.allocate(path, &NewKey { block_length: 1 << 20, ..NewKey::default() })?;
//! assert_eq!(objects.lookup(path)?, None);
//! objects.commit(&open, 700_000)?;
//! assert_eq!(objects.lookup(path)?.unwrap().data_size, 700_000);
//! assert_eq!(objects.bucket("anne", "photos").unwrap().used_bytes, 700_000);
//!
//! let listing = Listing { prefix: "2026/", ..Listing::default() };
//! assert_eq!(objects.list("anne", "photos", &listing)?.len(), 1);
//!
//! objects.delete(path)?;
//! objects.flush()?;
//! assert_eq!(objects.purge_deleted(100)?.keys[0].key, "2026/cat.jpg");
//! # Ok::<(), partita_store::objects::ObjectError>(())
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `tables.rs`, `keys.rs`, `rows.rs`, `transaction.rs` | the tables, and what is in them |
//! | `store.rs` | volumes and buckets; batches that are written |
//! | `buffer.rs` | what waits to be written |
//! | `write.rs`, `read.rs` | keys |

mod buffer;
mod error;
mod keys;
mod read;
mod rows;
mod store;
mod tables;
mod transaction;
mod write;

pub use error::{ObjectError, ObjectResult};
pub use keys::{BucketKey, DeletedKey, KeyPath, KeyPathBuf, ObjectKey, OpenKeyKey, VolumeKey};
pub use read::Listing;
pub use rows::{BlockLocation, BucketInfo, DeletedKeys, KeyInfo, KeyValue, VolumeInfo};
pub use store::{ObjectOptions, ObjectStore};
pub use tables::ObjectTables;
pub use transaction::{TransactionInfo, TransactionRow};
pub use write::{NewKey, OpenKey, Purged};
