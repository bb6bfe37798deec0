//! The atomics that `word.rs` and `epoch/domain.rs` are written with. Their loom models take loom's instead.

pub(super) use std::sync::atomic::{AtomicU64, Ordering};

/// Loom takes sequentially consistent accesses for acquire and release only, and needs a fence where the rule rests on
/// their one order. The accesses themselves suffice everywhere else.
#[inline(always)]
pub(super) fn model_fence() {}
