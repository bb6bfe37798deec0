use std::collections::BTreeMap;

use super::BlockHandle;
use crate::error::{Error, Result};

/// Which parts of a file belong to blocks that were met: no two blocks may share a byte.
///
/// A damaged index that names the same block over and over would otherwise make work, and lists, that the file's size
/// does not justify. Blocks stand side by side, and neighbours are joined, so the set stays small.
#[derive(Debug, Default)]
pub(super) struct Extents {
    /// Start and end of each part, apart from each other.
    parts: BTreeMap<u64, u64>,
}

impl Extents {
    /// Takes a block in, its trailer included. Blocks without contents are let pass.
    ///
    /// * Errors: `Corruption` if a block met before has some of its bytes.
    pub(super) fn insert(&mut self, handle: BlockHandle) -> Result<()> {
        let Some(mut end) = handle.end().filter(|_| handle.size > 0) else { return Ok(()) };
        let mut start = handle.offset;
        let before = self.parts.range(..end).next_back().map(|(start, end)| (*start, *end));
        if let Some((before_start, before_end)) = before {
            if before_end > start {
                return Err(Error::corruption(format!(
                    "the block has bytes in common with another one, between {before_start:#x} and {before_end:#x}"
                )));
            }
            if before_end == start {
                start = before_start;
            }
        }
        if let Some(after_end) = self.parts.remove(&end) {
            end = after_end;
        }
        self.parts.insert(start, end);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handle(offset: u64, size: u64) -> BlockHandle {
        BlockHandle { offset, size }
    }

    #[test]
    fn blocks_side_by_side_are_one_part_in_whatever_order_they_come() {
        let mut extents = Extents::default();
        for offset in [0, 40, 20, 10, 30] {
            extents.insert(handle(offset, 5)).unwrap();
        }
        assert_eq!(extents.parts, [(0, 50)].into());
        extents.insert(handle(60, 5)).unwrap();
        assert_eq!(extents.parts, [(0, 50), (60, 70)].into());
    }

    #[test]
    fn no_byte_belongs_to_two_blocks() {
        for (offset, size) in [(100, 10), (99, 10), (109, 1), (114, 1), (0, 100), (50, 1000)] {
            let mut extents = Extents::default();
            extents.insert(handle(100, 10)).unwrap();
            assert!(extents.insert(handle(offset, size)).unwrap_err().is_corruption(), "{offset}");
        }
        let mut extents = Extents::default();
        extents.insert(handle(100, 10)).unwrap();
        extents.insert(handle(115, 1)).unwrap();
        extents.insert(handle(90, 5)).unwrap();
        extents.insert(handle(u64::MAX, 1)).unwrap();
    }
}
