//! Blocks: sorted entries with prefix-compressed keys, parsed once into objects that own their bytes.
//!
//! ```text
//! | entry 0 | ... | entry k | [values] | restart 0 | ... | restart n-1 | [hash index] | [values offset] |   word   |
//! |                         |          |<--------- u32 LE each ------->| u8 each, u16 | u32 LE          |  u32 LE  |
//!
//! word:  bits 0..27 n | 28 values stand apart | 29 keys are evenly spaced (a hint) | 30 reserved, 0 | 31 hash index
//! ```
//!
//! * Entry encodings: [`DataFormat`], [`IndexFormat`].
//! * `restart i` is the offset of an entry that shares nothing with the key before it. [`Block::parse_data`] and
//!   [`Block::parse_index`] check all of them, so that a search can trust them.
//! * An empty block has one restart point, 0, or none.
//! * The hash index (`u8` buckets by hash of the user key, then their number) is skipped: the directory of restart
//!   keys that is built here finds a key in fewer steps, and knows no collisions.
//! * A reader accepts any bytes: each bound is checked, and a violation is `Corruption`. Entries between restart
//!   points are checked as a walk reaches them.
//!
//! A block is searched by [`Block::find`] or walked by a [`BlockCursor`], which holds no reference to it; an iterator
//! keeps both. All methods may be called by any number of threads.

mod budget;
mod cursor;
mod directory;
mod format;
mod layout;
pub(crate) mod prefix;
mod search;
#[cfg(test)]
mod tests;
mod walk;

pub use budget::KeyBudget;
pub use cursor::BlockCursor;
pub use format::{DataFormat, EntryAt, Format, IndexFormat, IndexValue};
pub use search::Found;
pub(crate) use walk::IndexWalk;

use directory::Directory;
use layout::Layout;
use prefix::{common_prefix_len, prefix_word};

use crate::error::{Error, Result};
use crate::key::KeyOrder;

/// A data block, or a meta block built like one.
pub type DataBlock = Block<DataFormat>;
/// An index block: all of an index, one partition of it, or a top level.
pub type IndexBlock = Block<IndexFormat>;

/// A block's contents with its restart points checked and made ready for search.
pub struct Block<F: Format> {
    /// Up to the restart array the entries; behind it what the layout says.
    bytes: Vec<u8>,
    layout: Layout,
    format: F,
    directory: Option<Directory>,
}

impl DataBlock {
    /// Parses a block of internal keys: data and range deletions.
    pub fn parse_data(contents: Vec<u8>, order: &KeyOrder) -> Result<Self> {
        Self::parse_as_data(contents, order, true)
    }

    /// Parses a block of plain keys in bytewise order: metaindex and properties.
    pub fn parse_meta(contents: Vec<u8>) -> Result<Self> {
        Self::parse_as_data(contents, &KeyOrder::Bytewise, false)
    }

    fn parse_as_data(contents: Vec<u8>, order: &KeyOrder, internal_keys: bool) -> Result<Self> {
        let layout = Layout::parse(&contents)?;
        let format = DataFormat { internal_keys, separated_values: layout.separated_values };
        Self::new(contents, layout, format, order)
    }

    /// Whether the block carries a hash index.
    pub fn has_hash_index(&self) -> bool {
        self.layout.hash_index
    }

    /// Whether keys and values stand apart.
    pub fn has_separated_values(&self) -> bool {
        self.layout.separated_values
    }
}

impl IndexBlock {
    /// Parses an index block.
    pub fn parse_index(contents: Vec<u8>, format: IndexFormat, order: &KeyOrder) -> Result<Self> {
        let layout = Layout::parse_index(&contents)?;
        Self::new(contents, layout, format, order)
    }
}

/// Where a key stands in a block, whose offsets have 32 bits.
#[derive(Clone, Copy)]
struct KeyAt {
    start: u32,
    end: u32,
}

impl<F: Format> Block<F> {
    fn new(contents: Vec<u8>, layout: Layout, format: F, order: &KeyOrder) -> Result<Self> {
        let mut block = Self { bytes: contents, layout, format, directory: None };
        if matches!(order, KeyOrder::Bytewise) && layout.restart_count > 0 {
            // Noted as the checks pass over them, and turned into words in the same memory: decoding all restart
            // points twice would cost as much as a tenth of decompressing the block.
            let mut keys = Vec::with_capacity(layout.restart_count);
            let common_len = block.check_restarts(|key| keys.push(key))?;
            let word = |key: KeyAt| {
                prefix_word(&block.bytes[key.start as usize + common_len..key.end as usize])
            };
            let words: Vec<u64> = keys.into_iter().map(word).collect();
            block.directory = Some(Directory::new(words.into(), common_len));
        } else {
            block.check_restarts(|_| {})?;
        }
        Ok(block)
    }

    /// Each restart point must be the start of a whole entry that shares nothing, and no entry reaches over the next.
    ///
    /// Without the latter the keys of all restart points together could be far longer than the block.
    ///
    /// * `note` is told where each restart point's user key is.
    /// * Returns how many bytes all of them start with.
    fn check_restarts(&self, mut note: impl FnMut(KeyAt)) -> Result<usize> {
        let packed_len = self.format.packed_len();
        let mut first_key: &[u8] = &[];
        let mut common_len = usize::MAX;
        let mut end = 0;
        for index in 0..self.layout.restart_count {
            let at = self.restart(index);
            let in_place = if index == 0 { at == 0 } else { at >= end };
            let entry = self
                .decode(at, true, &mut F::State::default())
                .filter(|entry| entry.shared == 0 && entry.key_end - entry.key_at >= packed_len);
            let Some(entry) = entry.filter(|_| in_place) else {
                return Err(Error::corruption(format!(
                    "restart point {index} of {} at {at:#x} in the block is not a whole entry in its place",
                    self.layout.restart_count
                )));
            };
            // A damaged block may be out of order, so each key is looked at, not only the first and the last.
            let user_key_end = entry.key_end - packed_len;
            note(KeyAt { start: entry.key_at as u32, end: user_key_end as u32 });
            let key = &self.bytes[entry.key_at..user_key_end];
            if index == 0 {
                first_key = key;
            }
            common_len = common_len.min(common_prefix_len(first_key, key));
            end = entry.next;
        }
        Ok(common_len.min(first_key.len()))
    }

    /// Whether the block has no entries.
    pub fn is_empty(&self) -> bool {
        self.layout.restart_count == 0
    }

    /// Number of restart points.
    pub fn restart_count(&self) -> usize {
        self.layout.restart_count
    }

    /// Bytes of the contents.
    pub fn contents_len(&self) -> usize {
        self.bytes.len()
    }

    /// How many bytes of keys may be taken out of the block and kept.
    pub fn key_budget(&self) -> KeyBudget {
        KeyBudget::of_block(self.bytes.len())
    }

    /// Walks over all entries from the first, for callers that keep their keys: their length is held against the
    /// block's.
    ///
    /// * Errors: those of the walk and of `each`; `Corruption` once the keys are beyond [`Block::key_budget`].
    pub(crate) fn for_each(
        &self,
        mut each: impl FnMut(&BlockCursor<F>) -> Result<()>,
    ) -> Result<()> {
        let mut budget = self.key_budget();
        let mut cursor = BlockCursor::new();
        cursor.seek_to_first(self)?;
        while cursor.is_valid() {
            budget.spend(cursor.key())?;
            each(&cursor)?;
            cursor.next(self)?;
        }
        Ok(())
    }

    /// Bytes that the block holds in memory, itself included.
    pub fn memory_bytes(&self) -> usize {
        let directory = self.directory.as_ref().map_or(0, Directory::heap_bytes);
        size_of::<Self>() + self.bytes.capacity() + directory
    }

    /// Offset of restart point `index`, which must be below the count.
    #[inline]
    fn restart(&self, index: usize) -> usize {
        let at = self.layout.restarts_at + 4 * index;
        match self.bytes.get(at..).and_then(<[u8]>::first_chunk::<4>) {
            Some(offset) => u32::from_le_bytes(*offset) as usize,
            None => usize::MAX,
        }
    }

    /// The whole key at restart point `index`.
    #[inline]
    fn restart_key(&self, index: usize) -> &[u8] {
        match self.decode(self.restart(index), true, &mut F::State::default()) {
            Some(entry) => &self.bytes[entry.key_at..entry.key_end],
            None => unreachable!("restart points were checked when the block was parsed"),
        }
    }

    /// The user key at restart point `index`.
    #[inline]
    fn restart_user_key(&self, index: usize) -> &[u8] {
        let key = self.restart_key(index);
        &key[..key.len() - self.format.packed_len()]
    }

    #[inline(always)]
    fn decode(&self, at: usize, restart: bool, state: &mut F::State) -> Option<EntryAt> {
        let contents = &self.bytes[..self.layout.restarts_at];
        self.format.decode(contents, self.layout.keys_end, at, restart, state)
    }
}

impl<F: Format> std::fmt::Debug for Block<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Block")
            .field("len", &self.bytes.len())
            .field("layout", &self.layout)
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

#[cold]
fn damaged_entry(at: usize) -> Error {
    Error::corruption(format!("entry at {at:#x} in the block runs over its bounds"))
}

#[cold]
fn overrun(at: usize, restart: usize) -> Error {
    Error::corruption(format!(
        "entry before {at:#x} in the block runs over the restart point at {restart:#x}"
    ))
}
