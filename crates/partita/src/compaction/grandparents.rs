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
    /// Whether a border was passed that [`Grandparents::advance`] has not told.
    passed: bool,
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
            passed: false,
        }
    }

    /// An output is begun that has nothing before `first`.
    pub(super) fn begin_output(&mut self, first: &[u8]) {
        while self.files.get(self.at).is_some_and(|file| self.ends_before(file, Some(first))) {
            self.at += 1;
        }
        self.overlapped_bytes = 0;
        self.passed = false;
    }

    fn ends_before(&self, file: &TableFile, user_key: Option<&[u8]>) -> bool {
        let largest = file.largest_user_key();
        user_key.is_none_or(|user_key| self.order.compare(largest, user_key).is_lt())
    }

    /// Goes on over files that end before `next`, until their bytes since the output was begun exceed `bytes_max` and another
    /// one begins before `next`: returns where that begins.
    pub(super) fn next_heavy_border(
        &mut self,
        next: Option<&[u8]>,
        bytes_max: u64,
    ) -> Option<&'c [u8]> {
        let files = self.files;
        while let Some(file) = files.get(self.at).filter(|file| self.ends_before(file, next)) {
            self.pass(file);
            let Some(behind) = files.get(self.at) else { continue };
            let begins = behind.smallest_user_key();
            // Files may share a user key, which no cut divides.
            let is_border = self.ends_before(file, Some(begins))
                && next.is_none_or(|next| self.order.compare(begins, next).is_lt());
            if is_border && self.overlapped_bytes > bytes_max {
                return Some(begins);
            }
        }
        None
    }

    fn pass(&mut self, file: &TableFile) {
        self.overlapped_bytes = self.overlapped_bytes.saturating_add(file.file_bytes);
        self.at += 1;
        self.passed = true;
    }

    /// Goes on to `user_key`. Returns whether a border between files was passed, and the bytes of the files passed since
    /// the output was begun.
    pub(super) fn advance(&mut self, user_key: &[u8]) -> (bool, u64) {
        let files = self.files;
        while let Some(file) =
            files.get(self.at).filter(|file| self.ends_before(file, Some(user_key)))
        {
            self.pass(file);
        }
        (std::mem::take(&mut self.passed), self.overlapped_bytes)
    }
}
