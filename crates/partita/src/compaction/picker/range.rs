//! Files of a range of keys, for compactions by hand.

use std::sync::Arc;

use crate::version::{TableFile, Version};

/// The tables of `level` that may hold user keys from `from` to `to`, both included, with those that share a user key with
/// them. On level 0 newest first, and all that overlap one of them.
pub(super) fn files_in_range(
    version: &Version,
    level: usize,
    from: Option<&[u8]>,
    to: Option<&[u8]>,
) -> Vec<Arc<TableFile>> {
    if level == 0 {
        return version.overlapping(0, from, to);
    }
    let Some(files) = version.levels().get(level) else { return Vec::new() };
    let order = version.key_order();
    let range = files.whole_keys(order, files.overlapping(order, from, to));
    files.files()[range].to_vec()
}
