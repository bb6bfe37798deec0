//! Merge operators, and what the versions of one user key come to.
//!
//! ```text
//! newest                                                       oldest
//! Merge "c"   Merge "b"   Value "a"   Deletion   Value "z"            full_merge("a", ["b", "c"])
//! |<-- operands ------>|   base   |   never looked at     |
//! ```
//!
//! A read walks the versions of a key from the newest to the first that says what the key was: its *base*. The versions
//! may lie in many sources; [`VersionWalk`] is what a get and an iterator carry from one to the next, so that both
//! answer alike. A [`MergeOperator`] then makes one value of base and operands.

mod builtin;
mod compaction_filter;
mod entity;
mod operator;
mod version_walk;

pub use builtin::{BytesXor, Max, StringAppend, UInt64Add, builtin};
pub use compaction_filter::{CompactionFilter, FilterDecision};
pub use entity::default_column;
pub use operator::MergeOperator;
pub use version_walk::{Verdict, VersionWalk};
pub(crate) use version_walk::{full_merge, plain_value};
