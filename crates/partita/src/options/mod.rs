//! Settings as values: of a database, of its column families, of the tables they write.
//!
//! | module | holds |
//! |---|---|
//! | `spec` | the table of options: what is declared once, and what comes of it |
//! | `db`, `column_family`, `table`, `compression`, `compaction` | the declarations |
//! | `known` | names that are accepted and mean nothing |
//! | `value`, `nested`, `choice` | values as text |
//! | `parse` | option strings |
//! | `judge` | what is senseless together |
//! | [`file`](mod@file) | options files: read, judged, written |

mod carried;
mod choice;
mod column_family;
mod compaction;
mod compression;
mod db;
pub mod file;
mod index_type;
mod judge;
mod known;
mod layout;
mod nested;
mod parse;
mod spec;
mod table;
mod value;

pub use carried::Carried;
pub use choice::{CompactionPriority, CompactionStyle, UniversalStopStyle, WalRecoveryMode};
pub use column_family::ColumnFamilyOptions;
pub use compaction::{FifoOptions, UniversalOptions};
pub use compression::CompressionOptions;
pub use db::DbOptions;
pub use index_type::IndexType;
pub use known::{Ignored, SectionKind};
pub use layout::{DataBlockIndex, FilterLayout, IndexShortening};
pub use spec::{Effect, Kind, OptionSpec};
pub(crate) use table::ALIGNMENT_MAX;
pub use table::TableOptions;
pub use value::ObjectName;
