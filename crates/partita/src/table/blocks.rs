use super::extents::Extents;
use super::index::IndexCursor;
use super::metaindex::{self, role_of};
use super::{BlockHandle, BlockRole, ReadContext, TableReader};
use crate::error::Result;

/// A block of a table: what it is for and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockInfo {
    /// What it is for.
    pub role: BlockRole,
    /// Where it stands.
    pub handle: BlockHandle,
}

impl TableReader {
    /// All blocks of the table in the order of the file.
    ///
    /// * Errors: `Corruption` if a part of the index is damaged or blocks overlap; [`verify_table`](super::verify_table) goes on then.
    /// * Cost: the whole index and the filter's top level are read, no data block and no filter.
    pub fn blocks(&self, ctx: &mut ReadContext) -> Result<Vec<BlockInfo>> {
        let mut blocks = self.meta_blocks(ctx)?;
        if self.two_level_index {
            let role = BlockRole::IndexPartition;
            let partitions = self.index(ctx)?.partitions().handles().iter();
            blocks.extend(partitions.map(|&handle| BlockInfo { role, handle }));
        }
        let mut extents = Extents::default();
        let mut take = |block: BlockInfo| {
            let BlockInfo { role, handle } = block;
            extents.insert(handle).map_err(|error| self.fetcher.place(error, handle, role))
        };
        blocks.iter().try_for_each(|block| take(*block))?;
        let mut cursor = IndexCursor::default();
        cursor.seek_to_first(self, ctx)?;
        while let Some(value) = cursor.entry() {
            let block = BlockInfo { role: BlockRole::Data, handle: value.handle };
            take(block)?;
            blocks.push(block);
            cursor.next(self, ctx)?;
        }
        blocks.sort_by_key(|block| block.handle.offset);
        Ok(blocks)
    }

    /// The blocks that the footer, the metaindex and the filter's top level name.
    fn meta_blocks(&self, ctx: &mut ReadContext) -> Result<Vec<BlockInfo>> {
        let named =
            self.metaindex.iter().filter(|(name, _)| *name != metaindex::INDEX).map(
                |(name, handle)| BlockInfo { role: role_of(name, self.two_level_index), handle },
            );
        let mut blocks: Vec<BlockInfo> = named.collect();
        blocks.push(BlockInfo { role: BlockRole::Metaindex, handle: self.footer.metaindex });
        let role = role_of(metaindex::INDEX, self.two_level_index);
        blocks.push(BlockInfo { role, handle: self.index_place.handle() });
        let role = BlockRole::FilterPartition;
        let partitions = self.filter.partitions(self.filter_source(), ctx)?;
        blocks.extend(partitions.iter().map(|&handle| BlockInfo { role, handle }));
        Ok(blocks)
    }
}
