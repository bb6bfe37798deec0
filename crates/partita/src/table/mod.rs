//! SST files (block-based tables): reading, writing and iterating.
//!
//! ```text
//! | data blocks | filter | index | dictionary | range deletions | properties | metaindex || footer |
//! ```
//!
//! A reader finds everything from the end: the footer has the metaindex, the metaindex has the rest. Reading goes down
//! through [`TableReader`] (`reader.rs`), the filter and the index, `fetch.rs` and [`block`]; what was read stays in a
//! [`Cache`](crate::cache::Cache), in pieces of about 4 KiB where the file has more in one block. The format, byte by byte,
//! with its versions: `docs/format/sst.md`.

pub mod block;
mod blocks;
mod borders;
mod budget;
mod builder;
mod candidates;
mod compatibility;
mod extents;
mod fetch;
mod filter_chunks;
mod filter_reader;
mod filter_use;
mod floor;
mod footer;
mod hand_over;
mod handle;
mod index;
mod index_place;
mod iter;
pub(crate) mod known_floors;
mod lazy;
mod lookup;
pub mod metaindex;
mod multi_get;
mod open;
mod pin;
mod pinned;
pub mod properties;
mod range_tombstones;
mod read_context;
mod readahead;
mod reader;
mod role;
mod salvage;
mod survey;
mod tail;
mod trailer;
mod verify;
mod verify_entries;

pub use crate::iter::{RangeTombstone, RangeTombstones};
pub use crate::key::LookupKey;
pub use block::KeyBuf;
pub use blocks::BlockInfo;
pub use builder::{PropertiesCollector, SstFileWriter, TableBuilder, TableContext, TableSummary};
pub use candidates::{Candidates, get_in_order};
pub use compatibility::{Readers, Release, Requirement, TableFeatures};
pub use filter_reader::FilterDamage;
pub use filter_use::FilterUse;
pub use floor::{FloorBounds, Neighbor};
pub use footer::{FOOTER_LEN_MAX, FORMAT_VERSION_MAX, Footer};
pub use hand_over::HandOver;
pub use handle::{BLOCK_TRAILER_LEN, BlockHandle};
pub use iter::TableIter;
pub use lookup::FoundEntry;
pub use metaindex::Metaindex;
pub use open::ReaderOptions;
pub use pinned::PinnedBytes;
pub use properties::TableProperties;
pub(crate) use properties::UNKNOWN_COLUMN_FAMILY;
pub use read_context::ReadContext;
pub use reader::{FilterStatus, TableReader, Versions};
pub use role::{BlockRole, PerRole};
pub use salvage::LostKeys;
pub(crate) use salvage::{Salvage, SalvageSink, salvage_table};
pub use survey::{DataSample, IndexedBlock, SurveyedBlock, TableSurvey};
pub use trailer::BlockChecksum;
pub use verify::{VerifyReport, verify_table};
pub use verify_entries::EntryCounts;
