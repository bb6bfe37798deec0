use crate::key::PrefixExtractor;
use crate::util::coding::put_varint;

/// The two meta blocks of a hash index, which lead from a prefix to the index entries that hold it.
///
/// ```text
/// rocksdb.hashindex.prefixes:  prefix * n
/// rocksdb.hashindex.metadata:  (prefix length varint, first index entry varint, number of data blocks varint) * n
/// ```
pub(super) struct HashIndexMeta {
    extractor: PrefixExtractor,
    prefixes: Vec<u8>,
    metadata: Vec<u8>,
    /// The prefix at hand; it counts only with `blocks > 0`.
    prefix: Vec<u8>,
    first_entry: u32,
    blocks: u32,
}

impl HashIndexMeta {
    pub(super) fn new(extractor: PrefixExtractor) -> Self {
        Self {
            extractor,
            prefixes: Vec::new(),
            metadata: Vec::new(),
            prefix: Vec::new(),
            first_entry: 0,
            blocks: 0,
        }
    }

    /// Notes a key of the data block whose index entry will be number `entry`.
    pub(super) fn note_key(&mut self, user_key: &[u8], entry: u32) {
        let Some(prefix) = self.extractor.prefix(user_key) else {
            self.close_prefix();
            return;
        };
        if self.blocks > 0 && self.prefix == prefix {
            if self.first_entry + self.blocks - 1 != entry {
                self.blocks += 1;
            }
            return;
        }
        self.close_prefix();
        self.prefix.clear();
        self.prefix.extend_from_slice(prefix);
        self.first_entry = entry;
        self.blocks = 1;
    }

    fn close_prefix(&mut self) {
        if self.blocks > 0 {
            self.prefixes.extend_from_slice(&self.prefix);
            put_varint(&mut self.metadata, self.prefix.len() as u64);
            put_varint(&mut self.metadata, u64::from(self.first_entry));
            put_varint(&mut self.metadata, u64::from(self.blocks));
            self.blocks = 0;
        }
    }

    /// Contents of the two blocks: prefixes and metadata.
    pub(super) fn finish(&mut self) -> (&[u8], &[u8]) {
        self.close_prefix();
        (&self.prefixes, &self.metadata)
    }
}
