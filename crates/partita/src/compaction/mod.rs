//! Compaction: which files are merged, and what is left of their entries.
//!
//! * `stripes.rs`: the live snapshots, as far as they tell versions of a key apart.
//! * `survivors.rs`: the judge over the versions of each key. Flushes use it, too.
//! * `targets.rs`, `picker/`: the shape of the tree, and which files to merge towards it.
//! * `claim.rs`: files that a compaction has reserved.

mod claim;
mod operands;
mod picker;
mod stripes;
mod survivors;
mod targets;

pub(crate) use picker::Picker;
pub(crate) use stripes::Stripes;
pub(crate) use survivors::{Fates, Rules, Surroundings, Survivors};
