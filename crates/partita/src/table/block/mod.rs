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
//! * `restart i` is the offset of an entry that shares nothing with the key before it.
//! * An empty block has one restart point, 0, or none.
//! * The hash index (`u8` buckets by hash of the user key, then their number) is skipped: the directory of restart
//!   keys that is built here finds a key in fewer steps, and knows no collisions.
//! * A reader accepts any bytes: each bound is checked, and a violation is `Corruption`. Restart points are checked
//!   when a directory of them is built (at parsing only for index and meta blocks), and else when a search or a walk
//!   reaches them, as all entries are. A walk over the whole block finds all damage that any move can meet.
//!
//! A search without the directory halves the range of restart points, by their keys in the block; see `directory.rs` for
//! the other one, which a block gets once it has been searched twice.
//!
//! A block is searched by [`Block::find`] or walked by a [`BlockCursor`], which holds no reference to it; an iterator
//! keeps both. All methods may be called by any number of threads.

mod budget;
mod cursor;
mod directory;
mod format;
mod key_buf;
mod layout;
mod neighbor;
pub(crate) mod search;
#[cfg(test)]
mod tests;
mod trend;
mod walk;

pub use budget::KeyBudget;
pub use cursor::BlockCursor;
pub use format::{DataFormat, EntryAt, Format, IndexFormat, IndexValue};
pub use key_buf::KeyBuf;
pub(in crate::table) use neighbor::{BlockNeighbor, ceil_target, floor_target};
pub use search::Found;
pub(crate) use walk::IndexWalk;

use directory::{Directory, Noted};
use layout::Layout;

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};
use crate::key::KeyOrder;
use crate::util::prefix::{common_prefix_len, prefix_word};

/// A data block, or a meta block built like one.
pub type DataBlock = Block<DataFormat>;
/// An index block: all of an index, one partition of it, or a top level.
pub type IndexBlock = Block<IndexFormat>;

/// A block's contents, ready for search.
pub struct Block<F: Format> {
    /// Up to the restart array the entries; behind it what the layout says.
    bytes: Vec<u8>,
    layout: Layout,
    format: F,
    /// Built by the second [`Block::touch`], once, for blocks in bytewise order.
    directory: OnceLock<Directory>,
    touched: AtomicBool,
    /// Whether a directory is worth while and possible.
    wants_directory: bool,
}

impl DataBlock {
    /// Parses a block of internal keys: data and range deletions.
    ///
    /// Only the layout is looked at. Damage to entries and restart points shows when a search or a walk reaches it, and a
    /// walk over all entries reaches all of it.
    pub fn parse_data(contents: Vec<u8>, order: &KeyOrder) -> Result<Self> {
        Self::parse_as_data(contents, order, true)
    }

    /// Parses a block of plain keys in bytewise order: metaindex and properties.
    pub fn parse_meta(contents: Vec<u8>) -> Result<Self> {
        let block = Self::parse_as_data(contents, &KeyOrder::Bytewise, false)?;
        block.check_restarts(|_, _| {})?;
        Ok(block)
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
    /// Parses an index block. Its directory is built at once, since an index is searched again and again.
    pub fn parse_index(contents: Vec<u8>, format: IndexFormat, order: &KeyOrder) -> Result<Self> {
        let layout = Layout::parse_index(&contents)?;
        let block = Self::new(contents, layout, format, order)?;
        match block.wants_directory {
            true => block.build_directory().map(|_| ())?,
            false => block.check_restarts(|_, _| {})?,
        }
        Ok(block)
    }
}

/// A restart point, and where its user key stands. Offsets in blocks have 32 bits.
struct RestartAt {
    at: u32,
    key: Range<u32>,
}

/// Fewer restart points than this are searched as fast without a directory.
const DIRECTORY_RESTARTS_MIN: usize = 4;
/// A directory notes no more than one restart point for so many bytes of entries: the walk passes over the others in
/// about the time that it takes to fetch a cache line.
const NOTED_BYTES_MIN: usize = 64;

impl<F: Format> Block<F> {
    fn new(contents: Vec<u8>, layout: Layout, format: F, order: &KeyOrder) -> Result<Self> {
        let wants_directory =
            matches!(order, KeyOrder::Bytewise) && layout.restart_count >= DIRECTORY_RESTARTS_MIN;
        let block = Self {
            bytes: contents,
            layout,
            format,
            directory: OnceLock::new(),
            touched: AtomicBool::new(false),
            wants_directory,
        };
        // Searches start there if the target is before all other restart points.
        if !block.is_empty() && block.restart(0) != 0 {
            return Err(block.damaged_restart(0));
        }
        Ok(block)
    }

    /// Notes that the block is about to be searched. The second time, a directory of its restart keys is built.
    ///
    /// A block that is searched once never earns back what a directory costs. So the first search goes without; whoever
    /// keeps blocks calls this before each search of one.
    ///
    /// * Returns the bytes of memory that the block holds more than before: 0 unless this call built the directory.
    /// * Errors: `Corruption` if a restart point is not the start of a whole entry in its place.
    #[inline]
    pub fn touch(&self) -> Result<usize> {
        if self.directory.get().is_some() || !self.wants_directory {
            return Ok(0);
        }
        // Only a hint, so the order of memory accesses does not matter; read first, so that readers of a shared block do
        // not take its line from each other.
        if !self.touched.load(Ordering::Relaxed) {
            self.touched.store(true, Ordering::Relaxed);
            return Ok(0);
        }
        self.build_directory()
    }

    #[cold]
    fn build_directory(&self) -> Result<usize> {
        let stride = self.directory_stride();
        // Noted as the checks pass over them: decoding all restart points twice would cost as much as a tenth of
        // decompressing the block.
        let mut keys = Vec::with_capacity(self.layout.restart_count.div_ceil(stride));
        self.check_restarts(|index, restart| {
            if index.is_multiple_of(stride) {
                keys.push(restart);
            }
        })?;
        let key =
            |restart: &RestartAt| &self.bytes[restart.key.start as usize..restart.key.end as usize];
        let Some(first) = keys.first() else { return Ok(0) };
        // A damaged block may be out of order, so each key is looked at, not only the first and the last.
        let first_key = key(first);
        let common_len = keys.iter().fold(first_key.len(), |len, restart| {
            common_prefix_len(&first_key[..len], key(restart))
        });
        let common = first.key.start..first.key.start + common_len as u32;
        let noted: Vec<Noted> = keys
            .iter()
            .map(|restart| Noted { word: prefix_word(&key(restart)[common_len..]), at: restart.at })
            .collect();
        let directory = Directory::new(&noted, stride, self.layout.keys_end, &self.bytes, common);
        let bytes = directory.heap_bytes();
        // Another thread may have been faster; then it was told of the bytes.
        Ok(self.directory.set(directory).map_or(0, |()| bytes))
    }

    /// How many restart points there are for each that the directory notes.
    fn directory_stride(&self) -> usize {
        // Where values stand apart, entries at restart points differ from others, so each must be known.
        if self.layout.separated_values {
            return 1;
        }
        let interval_len = self.layout.keys_end / self.layout.restart_count.max(1);
        (NOTED_BYTES_MIN / interval_len.max(1)).max(1)
    }

    /// Each restart point must be the start of a whole entry that shares nothing, and no entry reaches over the next.
    ///
    /// Without the latter the keys of all restart points together could be far longer than the block.
    ///
    /// * `note` is told each restart point's number and where it is.
    fn check_restarts(&self, mut note: impl FnMut(usize, RestartAt)) -> Result<()> {
        let packed_len = self.format.packed_len();
        let mut end = 0;
        for index in 0..self.layout.restart_count {
            let at = self.restart(index);
            let in_place = if index == 0 { at == 0 } else { at >= end };
            let Some(entry) = self.decode_restart(at).filter(|_| in_place) else {
                return Err(self.damaged_restart(index));
            };
            let key = entry.key_at as u32..(entry.key_end - packed_len) as u32;
            note(index, RestartAt { at: at as u32, key });
            end = entry.next;
        }
        Ok(())
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
        size_of::<Self>() + self.bytes.capacity() + self.directory_bytes()
    }

    /// Bytes that the search directory holds; 0 if there is none, or none yet.
    pub fn directory_bytes(&self) -> usize {
        self.directory.get().map_or(0, Directory::heap_bytes)
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

    /// The entry at a restart point, if it is whole and shares nothing.
    #[inline]
    fn decode_restart(&self, at: usize) -> Option<EntryAt> {
        let packed_len = self.format.packed_len();
        self.decode(at, true, &mut F::State::default())
            .filter(|entry| entry.shared == 0 && entry.key_end - entry.key_at >= packed_len)
    }

    #[cold]
    fn damaged_restart(&self, index: usize) -> Error {
        Error::corruption(format!(
            "restart point {index} of {} at {:#x} in the block is not a whole entry in its place",
            self.layout.restart_count,
            self.restart(index)
        ))
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
