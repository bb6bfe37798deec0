//! The atomics and locks of the list: the standard library's, or loom's when a model runs.

#[cfg(not(all(loom, test)))]
pub(super) use {crate::util::sync::Mutex, std::sync::atomic};

#[cfg(all(loom, test))]
pub(super) use loom::sync::{Mutex, atomic};
