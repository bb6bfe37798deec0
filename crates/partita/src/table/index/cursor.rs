use crate::cache::Held;
use crate::error::Result;
use crate::table::block::{BlockCursor, IndexBlock, IndexFormat, IndexValue};
use crate::table::{BlockHandle, ReadContext, TableReader};

/// A position in a table's index, over all partitions.
///
/// Which partition is loaded is known from one field that only `load` changes, together with the partition itself, so
/// the position cannot disagree with what was read.
#[derive(Debug, Default)]
pub(crate) struct IndexCursor {
    loaded: Option<(usize, Held<IndexBlock>)>,
    cursor: BlockCursor<IndexFormat>,
}

impl IndexCursor {
    /// The entry there, if the cursor stands on one.
    pub(crate) fn entry(&self) -> Option<&IndexValue> {
        self.cursor.is_valid().then(|| self.cursor.state())
    }

    /// The user key of the separator there: no key of its block is behind it, none of the next block before it.
    pub(crate) fn separator(&self) -> Option<&[u8]> {
        let (_, block) = self.loaded.as_ref()?;
        self.cursor.is_valid().then(|| block.user_key_of(self.cursor.key()))
    }

    /// The first internal key of the block there, if the index has it.
    pub(crate) fn first_key(&self) -> Option<&[u8]> {
        let (_, block) = self.loaded.as_ref()?;
        block.first_key(self.entry()?)
    }

    pub(crate) fn seek_to_first(
        &mut self,
        table: &TableReader,
        ctx: &mut ReadContext,
    ) -> Result<()> {
        self.first_from(table, 0, ctx)
    }

    pub(crate) fn seek_to_last(
        &mut self,
        table: &TableReader,
        ctx: &mut ReadContext,
    ) -> Result<()> {
        let end = table.index(ctx)?.partitions().len();
        self.last_before(table, end, ctx)
    }

    /// Moves to the first entry that is not before (`user_key`, `packed`).
    pub(crate) fn seek(
        &mut self,
        table: &TableReader,
        user_key: &[u8],
        packed: u64,
        ctx: &mut ReadContext,
    ) -> Result<()> {
        self.cursor.reset();
        let order = table.key_order();
        let at = table.index(ctx)?.partitions().locate(order, user_key, packed);
        if !self.load(table, at, ctx)? {
            return Ok(());
        }
        if let Some((_, block)) = &self.loaded {
            self.cursor
                .seek_parts(block, order, user_key, packed)
                .map_err(|error| table.place_index(error, at))?;
        }
        if self.cursor.is_valid() {
            return Ok(());
        }
        // The separator of the top level promised an entry; take the next one there is.
        self.first_from(table, at + 1, ctx)
    }

    /// Moves to the next entry; stays where it is if it stands nowhere.
    pub(crate) fn next(&mut self, table: &TableReader, ctx: &mut ReadContext) -> Result<()> {
        let Some((at, block)) = self.loaded.as_ref().filter(|_| self.cursor.is_valid()) else {
            return Ok(());
        };
        let at = *at;
        let before = self.cursor.state().handle;
        self.cursor.next(block).map_err(|error| table.place_index(error, at))?;
        if !self.cursor.is_valid() {
            self.first_from(table, at + 1, ctx)?;
        }
        self.check_order(table, |here| here.follow(&before))
    }

    /// Moves to the entry before; stays where it is if it stands nowhere.
    pub(crate) fn prev(&mut self, table: &TableReader, ctx: &mut ReadContext) -> Result<()> {
        let Some((at, block)) = self.loaded.as_ref().filter(|_| self.cursor.is_valid()) else {
            return Ok(());
        };
        let at = *at;
        let behind = self.cursor.state().handle;
        self.cursor.prev(block).map_err(|error| table.place_index(error, at))?;
        if !self.cursor.is_valid() {
            self.last_before(table, at, ctx)?;
        }
        self.check_order(table, |here| behind.follow(here))
    }

    /// Holds the block of the entry there against the one that the cursor comes from.
    fn check_order(
        &mut self,
        table: &TableReader,
        check: impl FnOnce(&BlockHandle) -> Result<()>,
    ) -> Result<()> {
        let (Some(here), Some((at, _))) = (self.entry(), &self.loaded) else { return Ok(()) };
        let checked = check(&here.handle).map_err(|error| table.place_index(error, *at));
        if checked.is_err() {
            self.cursor.reset();
        }
        checked
    }

    /// Moves to the first entry of piece `at`, or of the next one that has any.
    fn first_from(&mut self, table: &TableReader, at: usize, ctx: &mut ReadContext) -> Result<()> {
        self.cursor.reset();
        for at in at..table.index(ctx)?.partitions().len() {
            self.load(table, at, ctx)?;
            if let Some((_, block)) = &self.loaded {
                self.cursor.seek_to_first(block).map_err(|error| table.place_index(error, at))?;
            }
            if self.cursor.is_valid() {
                break;
            }
        }
        Ok(())
    }

    /// Moves to the last entry of the last partition before `end` that has any.
    fn last_before(
        &mut self,
        table: &TableReader,
        end: usize,
        ctx: &mut ReadContext,
    ) -> Result<()> {
        self.cursor.reset();
        for at in (0..end).rev() {
            self.load(table, at, ctx)?;
            if let Some((_, block)) = &self.loaded {
                self.cursor.seek_to_last(block).map_err(|error| table.place_index(error, at))?;
            }
            if self.cursor.is_valid() {
                break;
            }
        }
        Ok(())
    }

    /// Makes piece `at` the loaded one. Returns whether there is such a partition.
    fn load(&mut self, table: &TableReader, at: usize, ctx: &mut ReadContext) -> Result<bool> {
        if self.loaded.as_ref().is_some_and(|(loaded, _)| *loaded == at) {
            return Ok(true);
        }
        self.loaded = None;
        self.loaded = table.index_piece(at, ctx)?.map(|block| (at, block));
        Ok(self.loaded.is_some())
    }
}
