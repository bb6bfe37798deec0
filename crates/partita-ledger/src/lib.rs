//! An index of where the entries of ledgers lie: `(ledger, entry) -> location`, for a hundred million entries and more, in
//! a fixed budget of memory.
//!
//! It behaves as Apache BookKeeper's `EntryLocationIndex` over its key-value storage, in the same files: a bookie's
//! `locations` directory opens in place, and the bookie can take it back.
//!
//! ```
//! # use std::sync::Arc;
//! # use partita::io::MemoryFileSystem;
//! use partita_ledger::{EntryLocation, IndexBuilder, IndexOptions};
//!
//! let options = IndexOptions::new(64 << 20);
//! let builder = IndexBuilder::new("/bookie/current/locations", options);
//! # let builder = builder.file_system(Arc::new(MemoryFileSystem::new()));
//! let index = builder.open()?;
//!
//! // A flush of the bookie: one synced batch.
//! let flushed = (0..1000).map(|entry_id| EntryLocation { ledger_id: 7, entry_id, location: entry_id + 1 });
//! index.add_locations(flushed)?;
//! assert_eq!(index.get_location(7, 41)?, Some(42));
//! assert_eq!(index.get_last_entry(7)?, 999);
//!
//! // A ledger is marked, and later removed together with others.
//! index.delete_ledger(7);
//! assert!(index.get_last_entry(7).unwrap_err().is_no_such_entry());
//! index.remove_deleted()?;
//! assert_eq!(index.get_location(7, 41)?, None);
//!
//! let stats = index.stats();
//! assert_eq!((stats.lookups.found.count(), stats.lookups.absent.count()), (1, 1));
//! # Ok::<(), partita_ledger::Error>(())
//! ```
//!
//! # Settings
//! [`IndexOptions`] are values. [`SettingsReport`] makes them of the files that a bookie's operator has, `bk_server.conf` and
//! `entry_location_rocksdb.conf`, and tells what is unknown there or has no effect.
//!
//! # Where it is not like BookKeeper's
//! * Damage is an error: BookKeeper takes an iterator's error for the end of the data, so that a bad block looks like "no such
//!   entry", and an entry's value that is too short for what the last lookup left in the buffer.
//! * [`EntryLocationIndex::compact`] writes the last level anew, too, so that all tables have the layout asked for.
//! * A second compaction at the same time is refused rather than run.
//! * A ledger that is marked again while it is being removed stays marked.
//! * Latencies tell absent entries from failures ([`OperationStats`]).

#![forbid(unsafe_code)]

mod batch;
mod bookie_conf;
mod builder;
mod compaction;
mod deleted;
mod entries;
mod error;
mod index;
mod key;
mod options;
mod settings;
mod stats;

pub use batch::LocationBatch;
pub use bookie_conf::BookieConf;
pub use builder::IndexBuilder;
pub use compaction::{Compaction, CompactionStats};
pub use entries::{Entries, EntryLocation};
pub use error::{Error, Result};
pub use index::EntryLocationIndex;
pub use options::{IndexOptions, TableLayout};
pub use settings::{Profile, SettingsReport};
pub use stats::{IndexStats, Latencies, OperationStats};
