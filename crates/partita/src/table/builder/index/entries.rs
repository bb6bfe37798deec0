use super::super::block::BlockBuilder;
use super::user_key;
use crate::table::BlockHandle;
use crate::util::coding::{put_length_prefixed, put_zigzag};

/// Index entries of one block, before it is known how their keys are written.
#[derive(Default)]
pub(super) struct Entries {
    /// For each entry its separator (an internal key), then the first key of its data block, if that is kept.
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

struct Entry {
    separator_end: usize,
    first_key_end: usize,
    handle: BlockHandle,
    keeps_key_whole: bool,
}

/// The handle before, against which the next one may be encoded.
#[derive(Clone, Default)]
pub(in super::super) struct HandleSequence {
    previous: BlockHandle,
    full: Vec<u8>,
    delta: Vec<u8>,
}

impl HandleSequence {
    /// Encodes `handle` in both forms.
    fn encode(&mut self, handle: BlockHandle) {
        self.full.clear();
        handle.encode_to(&mut self.full);
        self.delta.clear();
        put_zigzag(&mut self.delta, handle.size.wrapping_sub(self.previous.size) as i64);
        self.previous = handle;
    }

    /// Adds an index entry to `block`, delta-encoded where the block's format and the key allow it.
    ///
    /// * `first_key`: what follows the handle in an index with first keys.
    pub(in super::super) fn add_to(
        &mut self,
        block: &mut BlockBuilder,
        key: &[u8],
        handle: BlockHandle,
        first_key: Option<&[u8]>,
        keeps_key_whole: bool,
    ) {
        self.encode(handle);
        if let Some(first_key) = first_key {
            put_length_prefixed(&mut self.full, first_key);
            put_length_prefixed(&mut self.delta, first_key);
        }
        let delta = (!keeps_key_whole).then_some(&self.delta[..]);
        block.add_handle(key, &self.full, delta);
    }
}

impl Entries {
    pub(super) fn push(
        &mut self,
        separator: &[u8],
        first_key: &[u8],
        handle: BlockHandle,
        keeps_key_whole: bool,
    ) {
        self.bytes.extend_from_slice(separator);
        let separator_end = self.bytes.len();
        self.bytes.extend_from_slice(first_key);
        let first_key_end = self.bytes.len();
        self.entries.push(Entry { separator_end, first_key_end, handle, keeps_key_whole });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Separator and first key of an entry.
    fn keys(&self, at: usize) -> (&[u8], &[u8]) {
        let start = if at == 0 { 0 } else { self.entries[at - 1].first_key_end };
        let entry = &self.entries[at];
        (
            &self.bytes[start..entry.separator_end],
            &self.bytes[entry.separator_end..entry.first_key_end],
        )
    }

    pub(super) fn last_separator(&self) -> Option<&[u8]> {
        self.entries.len().checked_sub(1).map(|last| self.keys(last).0)
    }

    /// Adds all entries to an empty block.
    pub(super) fn write_to(
        &self,
        block: &mut BlockBuilder,
        internal_keys: bool,
        with_first_key: bool,
    ) {
        let mut handles = HandleSequence::default();
        for at in 0..self.entries.len() {
            self.write_entry(at, block, &mut handles, internal_keys, with_first_key);
        }
    }

    /// Adds the last entry to a block that has all before it.
    pub(super) fn write_last_to(
        &self,
        block: &mut BlockBuilder,
        handles: &mut HandleSequence,
        internal_keys: bool,
    ) {
        if let Some(last) = self.entries.len().checked_sub(1) {
            self.write_entry(last, block, handles, internal_keys, false);
        }
    }

    /// The state of the handles after all entries.
    pub(super) fn handles_so_far(&self) -> HandleSequence {
        let previous = self.entries.last().map(|entry| entry.handle).unwrap_or_default();
        HandleSequence { previous, ..HandleSequence::default() }
    }

    fn write_entry(
        &self,
        at: usize,
        block: &mut BlockBuilder,
        handles: &mut HandleSequence,
        internal_keys: bool,
        with_first_key: bool,
    ) {
        let (separator, first_key) = self.keys(at);
        let key = if internal_keys { separator } else { user_key(separator) };
        let entry = &self.entries[at];
        let first_key = with_first_key.then_some(first_key);
        handles.add_to(block, key, entry.handle, first_key, entry.keeps_key_whole);
    }
}
