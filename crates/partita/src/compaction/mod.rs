//! Compaction: which files are merged, and what is left of their entries.
//!
//! * `targets.rs`, `picker/`: the shape of the tree, and which files to merge towards it; `claim.rs` reserves them.
//! * `job.rs`: one compaction: `inputs.rs` reads, `survivors.rs` judges, `outputs.rs` writes; `tombstones.rs` and `below.rs`
//!   know what hides entries and what entries hide, `grandparents.rs` where outputs should end. `split.rs` cuts a large one into parts that run at once.
//! * `stripes.rs`: the live snapshots, as far as they tell versions of a key apart.
//! * `survivors.rs`, `operands.rs`: the judge over the versions of each key; `new_table.rs`: what is known of a table that was
//!   written. Flushes use them, too.

mod below;
mod claim;
mod grandparents;
mod inputs;
mod job;
mod new_table;
mod operands;
mod outputs;
mod picker;
mod split;
mod stripes;
mod survivors;
mod targets;
mod tombstones;

pub(crate) use job::{Job, KeyRange, Product};
pub(crate) use new_table::{NewTable, Origin};
pub(crate) use picker::{Compaction, Moment, Picker, pick_files_inside};
pub(crate) use split::split;
pub(crate) use stripes::Stripes;
pub(crate) use survivors::{Fates, Rules, Surroundings, Survivors};
pub(crate) use tombstones::Tombstones;
