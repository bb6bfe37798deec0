use std::sync::Arc;

use super::picker::Compaction;
use crate::key::KeyOrder;
use crate::version::TableFile;

/// The level right below a compaction's output, as far as the output has come in it: with ascending user keys.
pub(super) struct Grandparents<'c> {
    order: &'c KeyOrder,
    files: &'c [Arc<TableFile>],
    /// The first file that does not end before the last key.
    at: usize,
    /// Bytes of the files gone over since the output was begun.
    overlapped_bytes: u64,
}

impl<'c> Grandparents<'c> {
    pub(super) fn new(compaction: &'c Compaction) -> Self {
        let version = &compaction.version;
        let below = version.levels().get(compaction.output_level + 1);
        Self {
            order: version.key_order(),
            // What stays on level 0 is not merged with a level alone.
            files: below.filter(|_| compaction.output_level > 0).map_or(&[], |level| level.files()),
            at: 0,
            overlapped_bytes: 0,
        }
    }

    pub(super) fn begin_output(&mut self) {
        self.overlapped_bytes = 0;
    }

    /// Goes on to `user_key`. Returns whether a border between files was passed, and the bytes of the files passed since
    /// the output was begun.
    pub(super) fn advance(&mut self, user_key: &[u8]) -> (bool, u64) {
        let before = self.at;
        while let Some(file) = self.files.get(self.at)
            && self.order.compare(file.largest_user_key(), user_key).is_lt()
        {
            self.overlapped_bytes = self.overlapped_bytes.saturating_add(file.file_bytes);
            self.at += 1;
        }
        (self.at != before, self.overlapped_bytes)
    }
}
