//! Compaction: which files are merged, and what is left of their entries.
//!
//! * `targets.rs`, `picker/`: the shape of the tree, and which files to merge towards it; `claim.rs` reserves them.
//! * `job.rs`: one compaction: `inputs.rs` reads, `survivors.rs` judges, `outputs.rs` writes; `tombstones.rs` and `below.rs`
//!   know what hides entries and what entries hide. `split.rs` cuts a large one into parts that run at once.
//! * `stripes.rs`: the live snapshots, as far as they tell versions of a key apart.
//! * `survivors.rs`, `operands.rs`: the judge over the versions of each key. Flushes use it, too.

mod below;
mod claim;
mod inputs;
mod job;
mod operands;
mod outputs;
mod picker;
mod split;
mod stripes;
mod survivors;
mod targets;
mod tombstones;

pub(crate) use job::{Job, KeyRange, Origin, Product};
pub(crate) use outputs::NewTable;
pub(crate) use picker::{Compaction, Moment, Picker};
pub(crate) use split::split;
pub(crate) use stripes::Stripes;
pub(crate) use survivors::{Fates, Rules, Surroundings, Survivors};
