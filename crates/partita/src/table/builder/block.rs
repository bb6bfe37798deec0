//! Writes blocks of sorted entries: data blocks, index blocks, range deletions, properties, metaindex.
//!
//! ```text
//! | entry* | values (bit 28) | restart u32 * n | hash index (bit 31) | values offset u32 (bit 28) | packed u32 |
//!
//! entry:  shared varint | non_shared varint | value_len varint (not if self-delimiting)
//!         | value offset varint (bit 28, at restarts) | key suffix | value (not with bit 28)
//! packed: number of restarts, bit 28 values apart, bit 31 hash index
//! ```
//!
//! * Every `restart_interval` entries a key stands whole (`shared` is 0); its offset is in the restart array.
//! * The builder is reused from block to block. It remembers the last key across [`BlockBuilder::reset`], so that the
//!   table builder has the last key of the table without a copy of its own.

use super::hash_index::HashIndexBuilder;
use crate::error::{Error, Result};
use crate::key::PACKED_LEN;
use crate::util::coding::{put_varint, varint_len};

/// RocksDB's bound on blocks with a hash index, whose footer older versions read differently beyond it.
const HASH_INDEX_BLOCK_LEN_MAX: usize = 64 * 1024;
const VALUES_APART_BIT: u32 = 1 << 28;
const HASH_INDEX_BIT: u32 = 1 << 31;
/// The number of restarts has 28 bits.
const RESTARTS_MAX: usize = (1 << 28) - 1;

/// How a block's entries are encoded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BlockFormat {
    /// Entries between two restart points.
    pub(super) restart_interval: usize,
    /// Whether keys leave out what they share with the one before.
    pub(super) shares_keys: bool,
    /// Whether values tell their own length, so that entries do not: index values that may be delta-encoded.
    pub(super) self_delimiting: bool,
    /// Whether all values stand behind all keys.
    pub(super) values_apart: bool,
}

impl BlockFormat {
    /// Plain entries with this restart interval.
    pub(super) const fn plain(restart_interval: usize) -> Self {
        Self { restart_interval, shares_keys: true, self_delimiting: false, values_apart: false }
    }
}

/// Builds one block after another.
pub(super) struct BlockBuilder {
    format: BlockFormat,
    buffer: Vec<u8>,
    /// With `values_apart`: the values, until the block is finished.
    values: Vec<u8>,
    restarts: Vec<u32>,
    /// Entries since the last restart point.
    run: usize,
    last_key: Vec<u8>,
    hash_index: Option<HashIndexBuilder>,
}

impl BlockBuilder {
    pub(super) fn new(format: BlockFormat) -> Self {
        Self {
            format,
            buffer: Vec::new(),
            values: Vec::new(),
            restarts: vec![0],
            run: 0,
            last_key: Vec::new(),
            hash_index: None,
        }
    }

    /// A builder of data blocks with a hash index.
    pub(super) fn with_hash_index(format: BlockFormat, util_ratio: f64) -> Self {
        Self { hash_index: Some(HashIndexBuilder::new(util_ratio)), ..Self::new(format) }
    }

    /// Starts the next block. The last key stays known.
    pub(super) fn reset(&mut self) {
        self.buffer.clear();
        self.values.clear();
        self.restarts.truncate(1);
        self.run = 0;
        if let Some(hash_index) = &mut self.hash_index {
            hash_index.reset();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Bytes of the entries so far, with their values unless these stand apart.
    pub(super) fn entries_len(&self) -> usize {
        self.buffer.len()
    }

    /// The key added last, to this block or an earlier one; empty before the first.
    pub(super) fn last_key(&self) -> &[u8] {
        &self.last_key
    }

    /// Bytes of the block if it were finished now.
    #[inline]
    pub(super) fn size_estimate(&self) -> usize {
        let tail = if self.format.values_apart { 2 } else { 1 } + self.restarts.len();
        let hash_index = self.hash_index.as_ref().map_or(0, HashIndexBuilder::len);
        self.buffer.len() + self.values.len() + tail * size_of::<u32>() + hash_index
    }

    /// Bytes of the block after one more entry, as RocksDB estimates them: it counts the whole key, 4 bytes for
    /// `shared`, and half of a value that may be delta-encoded. Blocks are cut by this, so it decides where.
    #[inline]
    fn size_estimate_after(&self, key_len: usize, value_len: usize) -> usize {
        let restarts = self.run >= self.format.restart_interval;
        let whole_value = restarts || !self.format.self_delimiting;
        let value =
            if whole_value { value_len + varint_len(value_len as u64) } else { value_len / 2 };
        let restart = if restarts { size_of::<u32>() } else { 0 };
        let value_offset = if self.format.values_apart && (restarts || self.run == 0) {
            varint_len(self.values.len() as u64)
        } else {
            0
        };
        self.size_estimate()
            + key_len
            + varint_len(key_len as u64)
            + 4
            + value
            + restart
            + value_offset
    }

    /// Whether the block has to be closed before this entry.
    #[inline]
    pub(super) fn is_full_before(
        &self,
        limits: &BlockLimits,
        key_len: usize,
        value_len: usize,
    ) -> bool {
        if self.is_empty() {
            return false;
        }
        let size = self.size_estimate();
        if size >= limits.size {
            return true;
        }
        if limits.early_size == 0 || (limits.alignment_trailer == 0 && size <= limits.early_size) {
            return false;
        }
        self.size_estimate_after(key_len, value_len) + limits.alignment_trailer > limits.size
    }

    /// Adds an entry. Keys must come in the block's order; the caller sees to it.
    #[inline]
    pub(super) fn add(&mut self, key: &[u8], value: &[u8]) {
        self.add_with_delta(key, value, None);
    }

    /// Adds an index entry. In a self-delimiting format its value has a second form, for entries whose key shares
    /// bytes with the one before.
    ///
    /// * `delta`: that form; `None` keeps the key whole, so that `value` stands.
    pub(super) fn add_handle(&mut self, key: &[u8], value: &[u8], delta: Option<&[u8]>) {
        self.add_with_delta(key, value, Some(delta));
    }

    #[inline]
    fn add_with_delta(&mut self, key: &[u8], value: &[u8], delta: Option<Option<&[u8]>>) {
        let mut shared = 0;
        if self.run >= self.format.restart_interval {
            self.restarts.push(self.buffer.len() as u32);
            self.run = 0;
        } else if self.format.shares_keys && !self.is_empty() && delta != Some(None) {
            shared = common_prefix_len(&self.last_key, key);
        }
        let suffix = &key[shared..];
        put_varint(&mut self.buffer, shared as u64);
        put_varint(&mut self.buffer, suffix.len() as u64);
        let value = match delta.flatten() {
            Some(delta) if shared > 0 && self.format.self_delimiting => delta,
            _ => value,
        };
        if !self.format.self_delimiting {
            put_varint(&mut self.buffer, value.len() as u64);
        }
        if self.format.values_apart {
            if self.run == 0 {
                put_varint(&mut self.buffer, self.values.len() as u64);
            }
            self.buffer.extend_from_slice(suffix);
            self.values.extend_from_slice(value);
        } else {
            self.buffer.extend_from_slice(suffix);
            self.buffer.extend_from_slice(value);
        }
        if let Some(hash_index) = &mut self.hash_index {
            let user_key = &key[..key.len() - PACKED_LEN];
            hash_index.add(user_key, self.restarts.len() - 1);
        }
        self.last_key.truncate(shared);
        self.last_key.extend_from_slice(suffix);
        self.run += 1;
    }

    /// Completes the block. The contents are valid until the next [`BlockBuilder::reset`], which must follow.
    ///
    /// * Errors: `InvalidArgument` if the block is beyond 4 GiB, which its offsets cannot express.
    pub(super) fn finish(&mut self) -> Result<&[u8]> {
        let size = self.size_estimate();
        if u32::try_from(size).is_err() || self.restarts.len() > RESTARTS_MAX {
            return Err(Error::invalid_argument(format!(
                "block of {size} bytes, the format ends at 4 GiB"
            )));
        }
        let values_offset = self.buffer.len() as u32;
        self.buffer.append(&mut self.values);
        for restart in &self.restarts {
            self.buffer.extend_from_slice(&restart.to_le_bytes());
        }
        let mut packed = self.restarts.len() as u32;
        if let Some(hash_index) = &self.hash_index
            && hash_index.fits()
            && size <= HASH_INDEX_BLOCK_LEN_MAX
        {
            hash_index.append_to(&mut self.buffer);
            packed |= HASH_INDEX_BIT;
        }
        if self.format.values_apart {
            self.buffer.extend_from_slice(&values_offset.to_le_bytes());
            packed |= VALUES_APART_BIT;
        }
        self.buffer.extend_from_slice(&packed.to_le_bytes());
        Ok(&self.buffer)
    }

    /// Takes the finished contents out and starts the next block.
    pub(super) fn take(&mut self) -> Vec<u8> {
        let contents = std::mem::take(&mut self.buffer);
        self.reset();
        contents
    }
}

/// When a block is closed.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockLimits {
    /// Size at which it is closed.
    size: usize,
    /// Size from which it is closed if the next entry would lead beyond `size`; 0: never.
    early_size: usize,
    /// With alignment: bytes that have to fit in addition, and the entry must fit whatever the size is.
    alignment_trailer: usize,
}

impl BlockLimits {
    pub(super) fn new(size: usize, deviation_percent: u32) -> Self {
        let early = (size as u64 * u64::from(100 - deviation_percent.min(100))).div_ceil(100);
        Self { size, early_size: early as usize, alignment_trailer: 0 }
    }

    /// The same for blocks that must not outgrow their alignment.
    pub(super) fn aligned(self, trailer_len: usize) -> Self {
        Self { alignment_trailer: trailer_len, ..self }
    }
}

/// Length of the longest common prefix, eight bytes at a time.
#[inline]
pub(super) fn common_prefix_len(a: &[u8], b: &[u8]) -> usize {
    let (a_words, a_rest) = a.as_chunks::<8>();
    let (b_words, b_rest) = b.as_chunks::<8>();
    for (i, (x, y)) in a_words.iter().zip(b_words).enumerate() {
        let differing = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differing != 0 {
            return 8 * i + differing.trailing_zeros() as usize / 8;
        }
    }
    let done = 8 * a_words.len().min(b_words.len());
    let (a_tail, b_tail) =
        if a_words.len() == b_words.len() { (a_rest, b_rest) } else { (&a[done..], &b[done..]) };
    done + a_tail.iter().zip(b_tail).take_while(|(x, y)| x == y).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const INTERNAL: [u8; 8] = [1, 0, 0, 0, 0, 0, 0, 0];

    fn keyed(user_key: &[u8]) -> Vec<u8> {
        [user_key, &INTERNAL].concat()
    }

    #[test]
    fn an_empty_block_has_one_restart() {
        let mut block = BlockBuilder::new(BlockFormat::plain(16));
        assert_eq!(block.finish().unwrap(), [0, 0, 0, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn keys_share_prefixes_between_restarts() {
        let mut block = BlockBuilder::new(BlockFormat::plain(2));
        block.add(b"abc", b"1");
        block.add(b"abd", b"22");
        block.add(b"abe", b"");
        assert_eq!(block.size_estimate(), 31);
        let expected: &[u8] = b"\x00\x03\x01abc1\x02\x01\x02d22\x00\x03\x00abe\
            \x00\x00\x00\x00\x0d\x00\x00\x00\x02\x00\x00\x00";
        assert_eq!(block.finish().unwrap(), expected);
        block.reset();
        // The next block starts afresh, although the last key is still known.
        assert_eq!(block.last_key(), b"abe");
        block.add(b"abf", b"");
        assert_eq!(block.finish().unwrap()[..6], *b"\x00\x03\x00abf");
    }

    #[test]
    fn without_sharing_every_key_is_whole() {
        let format = BlockFormat { shares_keys: false, ..BlockFormat::plain(16) };
        let mut block = BlockBuilder::new(format);
        block.add(b"aa", b"");
        block.add(b"ab", b"");
        assert_eq!(block.finish().unwrap()[..10], *b"\x00\x02\x00aa\x00\x02\x00ab");
    }

    #[test]
    fn a_delta_stands_only_where_bytes_are_shared() {
        let format = BlockFormat { self_delimiting: true, ..BlockFormat::plain(16) };
        let mut block = BlockBuilder::new(format);
        block.add_handle(b"aa", b"FULL", Some(b"d"));
        block.add_handle(b"ab", b"FULL", Some(b"d"));
        block.add_handle(b"b", b"FULL", Some(b"d"));
        block.add_handle(b"bb", b"FULL", None);
        let expected: &[u8] = b"\x00\x02aaFULL\x01\x01bd\x00\x01bFULL\x00\x02bbFULL";
        assert_eq!(block.finish().unwrap()[..expected.len()], *expected);
    }

    #[test]
    fn values_apart_have_offsets_at_restarts() {
        let format = BlockFormat { values_apart: true, ..BlockFormat::plain(2) };
        let mut block = BlockBuilder::new(format);
        for (key, value) in [(b"a", b"11"), (b"b", b"22"), (b"c", b"33")] {
            block.add(key, value);
        }
        let len = block.size_estimate();
        let expected: &[u8] = b"\x00\x01\x02\x00a\x00\x01\x02b\x00\x01\x02\x04c112233\
            \x00\x00\x00\x00\x09\x00\x00\x00\x0e\x00\x00\x00\x02\x00\x00\x10";
        assert_eq!(block.finish().unwrap(), expected);
        assert_eq!(len, expected.len());
    }

    #[test]
    fn the_hash_index_leads_to_restart_intervals() {
        let mut block = BlockBuilder::with_hash_index(BlockFormat::plain(2), 0.75);
        for i in 0..20u8 {
            block.add(&keyed(&[i]), b"");
        }
        let len = block.size_estimate();
        let contents = block.finish().unwrap();
        assert_eq!(contents.len(), len);
        let packed = u32::from_le_bytes(contents[len - 4..].try_into().unwrap());
        assert_eq!(packed, 10 | HASH_INDEX_BIT);
        let count = usize::from(u16::from_le_bytes(contents[len - 6..len - 4].try_into().unwrap()));
        assert_eq!(count, 27);
        let buckets = &contents[len - 6 - count..len - 6];
        for i in 0..20u8 {
            let bucket = buckets[crate::util::hash::hash32(&[i], 397) as usize % count];
            assert!(bucket == i / 2 || bucket == COLLISION_VALUE, "key {i}: {bucket}");
        }
        assert!(buckets.contains(&255));
    }

    const COLLISION_VALUE: u8 = 254;

    #[test]
    fn too_many_restarts_or_bytes_leave_the_hash_index_out() {
        let mut many = BlockBuilder::with_hash_index(BlockFormat::plain(1), 0.75);
        for i in 0..254u16 {
            many.add(&keyed(&i.to_be_bytes()), b"");
        }
        let last = |contents: &[u8]| contents[contents.len() - 1];
        assert_eq!(last(many.finish().unwrap()), 0x80);
        many.reset();
        for i in 0..255u16 {
            many.add(&keyed(&i.to_be_bytes()), b"");
        }
        assert_eq!(last(many.finish().unwrap()), 0);

        let mut long = BlockBuilder::with_hash_index(BlockFormat::plain(1), 0.75);
        long.add(&keyed(b"k"), &[0; 65536]);
        assert_eq!(last(long.finish().unwrap()), 0);
    }

    #[test]
    fn a_block_is_closed_when_full_or_nearly_full() {
        let limits = BlockLimits::new(100, 10);
        let filled = |value_len: usize| {
            let mut block = BlockBuilder::new(BlockFormat::plain(16));
            block.add(&[7; 10], &vec![0; value_len]);
            block
        };
        assert!(!BlockBuilder::new(BlockFormat::plain(16)).is_full_before(&limits, 1000, 1000));
        assert_eq!(filled(79).size_estimate(), 100);
        assert!(filled(79).is_full_before(&limits, 0, 0));
        // 91 bytes: the next entry decides; 90 bytes: it does not.
        assert!(filled(70).is_full_before(&limits, 2, 2));
        assert!(!filled(70).is_full_before(&limits, 1, 1));
        assert!(!filled(69).is_full_before(&limits, 50, 50));
        assert!(filled(20).is_full_before(&limits.aligned(5), 30, 30));
    }

    proptest! {
        #[test]
        fn common_prefixes_are_found(a in prop::collection::vec(0u8..2, 0..40), b in prop::collection::vec(0u8..2, 0..40)) {
            let expected = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
            prop_assert_eq!(common_prefix_len(&a, &b), expected);
        }
    }
}
