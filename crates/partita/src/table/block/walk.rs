use super::layout::Layout;
use super::{EntryAt, Format, IndexFormat, IndexValue, KeyBudget, damaged_entry, overrun};
use crate::error::{Error, Result};
use crate::table::BlockHandle;

/// One pass over the entries of an index block that is not going to be searched: each is decoded once.
///
/// What [`Block::parse_index`](super::Block::parse_index) and a [`BlockCursor`](super::BlockCursor) check together is
/// checked here on the way. After an error the walk is at its end.
#[derive(Debug)]
pub(crate) struct IndexWalk<'b> {
    contents: &'b [u8],
    layout: Layout,
    format: IndexFormat,
    key: Vec<u8>,
    value: IndexValue,
    /// Offset of the entry, and of the one behind it.
    at: usize,
    next: usize,
    /// Bytes that its key shares with the one before.
    shared: usize,
    /// Restart points at or before the entry.
    restarts_passed: usize,
}

impl<'b> IndexWalk<'b> {
    /// A walk that stands before the first entry.
    pub(crate) fn new(contents: &'b [u8], format: IndexFormat) -> Result<Self> {
        let layout = Layout::parse_index(contents)?;
        Ok(Self {
            contents,
            layout,
            format,
            key: Vec::new(),
            value: IndexValue::default(),
            at: 0,
            next: 0,
            shared: 0,
            restarts_passed: 0,
        })
    }

    /// A walk over entries by themselves, of a whole number of restart intervals.
    pub(crate) fn of_entries(entries: &'b [u8], format: IndexFormat) -> Self {
        let len = entries.len();
        Self {
            contents: entries,
            layout: Layout {
                keys_end: len,
                restarts_at: len,
                restart_count: 0,
                separated_values: false,
                hash_index: false,
            },
            format,
            key: Vec::new(),
            value: IndexValue::default(),
            at: 0,
            next: 0,
            shared: 0,
            restarts_passed: 0,
        }
    }

    /// Moves to the next entry. Returns whether there is one.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        let advanced = self.step();
        if advanced.is_err() {
            self.next = self.layout.keys_end;
            self.restarts_passed = self.layout.restart_count;
        }
        advanced
    }

    fn step(&mut self) -> Result<bool> {
        let at = self.next;
        let restart = self.restart(self.restarts_passed);
        if at > restart.unwrap_or(self.layout.keys_end) {
            return Err(overrun(at, restart.unwrap_or(self.layout.keys_end)));
        }
        if at == self.layout.keys_end {
            return match restart {
                None => Ok(false),
                Some(restart) => Err(not_an_entry(restart)),
            };
        }
        let is_restart = restart == Some(at);
        let entries = &self.contents[..self.layout.restarts_at];
        let decoded =
            self.format.decode(entries, self.layout.keys_end, at, is_restart, &mut self.value);
        let Some(EntryAt { shared, key_at, key_end, next, .. }) = decoded else {
            return Err(damaged_entry(at));
        };
        if is_restart && shared != 0 {
            return Err(not_an_entry(at));
        }
        let key_len = shared + (key_end - key_at);
        if shared > self.key.len() || key_len < self.format.packed_len() {
            return Err(damaged_entry(at));
        }
        self.key.truncate(shared);
        self.key.extend_from_slice(&self.contents[key_at..key_end]);
        (self.at, self.next, self.shared) = (at, next, shared);
        self.restarts_passed += usize::from(is_restart);
        Ok(true)
    }

    fn restart(&self, index: usize) -> Option<usize> {
        if index >= self.layout.restart_count {
            return None;
        }
        let offset = self.contents.get(self.layout.restarts_at + 4 * index..)?;
        Some(u32::from_le_bytes(*offset.first_chunk()?) as usize)
    }

    /// The entry's key.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// The user key in it.
    pub(crate) fn user_key(&self) -> &[u8] {
        &self.key[..self.key.len().saturating_sub(self.format.packed_len())]
    }

    /// The block that the entry leads to.
    pub(crate) fn handle(&self) -> BlockHandle {
        self.value.handle
    }

    /// Offset of the entry.
    pub(crate) fn entry_start(&self) -> usize {
        self.at
    }

    /// Offset behind it.
    pub(crate) fn entry_end(&self) -> usize {
        self.next
    }

    /// Whether the entry stands by itself: its key shares nothing with the one before, and its handle is in full.
    pub(crate) fn stands_alone(&self) -> bool {
        self.shared == 0
    }

    /// Whether a restart point follows, or the end.
    pub(crate) fn ends_interval(&self) -> bool {
        self.next == self.restart(self.restarts_passed).unwrap_or(self.layout.keys_end)
    }

    /// What the keys may take that are kept of the walk.
    pub(crate) fn key_budget(&self) -> KeyBudget {
        KeyBudget::of_block(self.contents.len())
    }
}

#[cold]
fn not_an_entry(at: usize) -> Error {
    Error::corruption(format!("the restart point at {at:#x} in the block is no whole entry"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::key::KeyOrder;
    use crate::table::block::{BlockCursor, IndexBlock};
    use crate::util::coding::put_varint;

    type Entries = Vec<(Vec<u8>, BlockHandle)>;

    /// An index block of user keys and delta-coded handles of 100-byte blocks, one behind the other.
    fn encode(keys: &[Vec<u8>], restart_interval: usize) -> Vec<u8> {
        let (mut block, mut restarts, mut previous) = (Vec::new(), Vec::new(), &[][..]);
        for (number, key) in keys.iter().enumerate() {
            let is_restart = number % restart_interval == 0;
            if is_restart {
                restarts.extend_from_slice(&(block.len() as u32).to_le_bytes());
            }
            let shared = key.iter().zip(previous).take_while(|(a, b)| a == b).count();
            let shared = if is_restart { 0 } else { shared };
            put_varint(&mut block, shared as u64);
            put_varint(&mut block, (key.len() - shared) as u64);
            block.extend_from_slice(&key[shared..]);
            if shared > 0 {
                block.push(0);
            } else {
                BlockHandle { offset: 105 * number as u64, size: 100 }.encode_to(&mut block);
            }
            previous = key;
        }
        let count = restarts.len() as u32 / 4;
        block.extend_from_slice(&restarts);
        block.extend_from_slice(&count.to_le_bytes());
        block
    }

    const FORMAT: IndexFormat =
        IndexFormat { user_keys: true, delta_values: true, first_keys: false };

    fn walked(block: &[u8]) -> Result<Entries> {
        let mut walk = IndexWalk::new(block, FORMAT)?;
        let mut entries = Vec::new();
        while walk.advance()? {
            entries.push((walk.user_key().to_vec(), walk.handle()));
        }
        assert!(!walk.advance()?);
        Ok(entries)
    }

    fn by_cursor(block: &[u8]) -> Result<Entries> {
        let block = IndexBlock::parse_index(block.to_vec(), FORMAT, &KeyOrder::ReverseBytewise)?;
        let (mut cursor, mut entries) = (BlockCursor::new(), Vec::new());
        cursor.seek_to_first(&block)?;
        while cursor.is_valid() {
            entries.push((cursor.key().to_vec(), cursor.state().handle));
            cursor.next(&block)?;
        }
        Ok(entries)
    }

    proptest! {
        #[test]
        fn the_walk_agrees_with_a_cursor_on_sound_and_on_damaged_blocks(
            keys in prop::collection::btree_set(prop::collection::vec(0u8..3, 0..12), 0..40),
            restart_interval in 1usize..6,
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let keys: Vec<Vec<u8>> = keys.into_iter().collect();
            let mut block = encode(&keys, restart_interval);
            let sound = walked(&block).unwrap();
            prop_assert!(sound.iter().map(|(key, _)| key).eq(&keys));
            prop_assert_eq!(&sound, &by_cursor(&block).unwrap());
            let at = at.index(block.len());
            block[at] = byte;
            let (walked, expected) = (walked(&block), by_cursor(&block));
            prop_assert_eq!(walked.is_ok(), expected.is_ok(), "{:?} {:?}", walked, expected);
            if let (Ok(walked), Ok(expected)) = (walked, expected) {
                prop_assert_eq!(walked, expected);
            }
        }
    }

    #[test]
    fn a_walk_is_at_its_end_after_an_error() {
        let mut block = encode(&[b"a".to_vec(), b"b".to_vec(), b"c".to_vec()], 1);
        block[5] = 0x7f; // the second entry's length of the key
        let mut walk = IndexWalk::new(&block, FORMAT).unwrap();
        assert!(walk.advance().unwrap());
        assert!(walk.advance().is_err());
        assert!(!walk.advance().unwrap());
    }
}
