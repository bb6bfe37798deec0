//! Readers without locks and without reference counts: what a reader has found stays in memory while its [`Guard`]
//! lives.
//!
//! A reader pins once for an operation, follows links to entries, uses them, and unpins. Whoever removes an entry cuts
//! the link and hands the entry to `retire`, which frees it as soon as no reader can have seen it: nearly always at
//! once, else when the reader that hindered it unpins. `domain.rs` has the rule and the argument for it; this file has
//! the records of the threads and what waits.
//!
//! * Pinning writes one word of the thread's own. Pins nest; the inner ones only count.
//! * A thread that stays pinned holds back what is retired meanwhile, by all caches. It is for the length of a lookup;
//!   whoever needs an entry for longer takes a [`Held`](super::Held).
//! * Every thread has a dense id, given back when it ends, which statistics use too.

mod domain;
mod garbage;
mod shared;
mod threads;

pub(in crate::cache) use garbage::{Retired, collect, retire};
pub(in crate::cache) use shared::Shared;
pub(in crate::cache) use threads::thread_id;
pub use threads::{Guard, pin};

use super::sync;
