//! Data blocks held back until the file's compression dictionary can be made from them.

use super::block::BlockFormat;
use crate::options::CompressionOptions;
use crate::util::coding::Cursor;
use crate::util::compression::train_zstd_dictionary;

/// Finished data blocks that wait for the dictionary.
pub(super) struct HeldBlocks {
    blocks: Vec<HeldBlock>,
    bytes: usize,
    bytes_max: usize,
}

/// One of them.
pub(super) struct HeldBlock {
    /// The block as it will be compressed.
    pub(super) contents: Vec<u8>,
    /// Bytes of its entries, which stand first.
    pub(super) entries_len: usize,
    pub(super) last_key: Vec<u8>,
}

impl HeldBlock {
    /// The first key, which a block stores whole.
    pub(super) fn first_key(&self, format: BlockFormat) -> Option<&[u8]> {
        let mut cursor = Cursor::new(&self.contents[..self.entries_len]);
        let (_shared, len, _value_len) =
            (cursor.varint32()?, cursor.varint32()?, cursor.varint32()?);
        if format.values_apart {
            cursor.varint32()?;
        }
        cursor.bytes(len as usize)
    }
}

impl HeldBlocks {
    pub(super) fn new(compression: &CompressionOptions) -> Self {
        Self { blocks: Vec::new(), bytes: 0, bytes_max: compression.max_dict_buffer_bytes }
    }

    pub(super) fn push(&mut self, block: HeldBlock) {
        self.bytes += block.contents.len();
        self.blocks.push(block);
    }

    /// Whether no more should be held back.
    pub(super) fn is_full(&self) -> bool {
        self.bytes > self.bytes_max
    }

    /// Bytes held.
    pub(super) fn len(&self) -> usize {
        self.bytes
    }

    pub(super) fn into_blocks(self) -> Vec<HeldBlock> {
        self.blocks
    }

    /// Makes a dictionary from samples all over the blocks; empty if they are no good for one.
    pub(super) fn dictionary(&self, compression: &CompressionOptions) -> Vec<u8> {
        let trained = compression.zstd_max_train_bytes > 0;
        let bytes_max =
            if trained { compression.zstd_max_train_bytes } else { compression.max_dict_bytes };
        let (samples, lens) = self.samples(bytes_max);
        if trained {
            train_zstd_dictionary(&samples, &lens, compression.max_dict_bytes)
        } else {
            samples
        }
    }

    /// Whole blocks, evenly spaced, up to `bytes_max`; the last one may be cut short.
    fn samples(&self, bytes_max: usize) -> (Vec<u8>, Vec<usize>) {
        let average = self.bytes.checked_div(self.blocks.len()).unwrap_or(0).max(1);
        let wanted = bytes_max.div_ceil(average).clamp(1, self.blocks.len().max(1));
        let mut samples = Vec::with_capacity(bytes_max.min(self.bytes));
        let mut lens = Vec::with_capacity(wanted);
        for i in 0..wanted {
            let Some(block) = self.blocks.get(i * self.blocks.len() / wanted) else { break };
            let room = bytes_max - samples.len();
            let sample = &block.contents[..block.contents.len().min(room)];
            if sample.is_empty() {
                break;
            }
            samples.extend_from_slice(sample);
            lens.push(sample.len());
        }
        (samples, lens)
    }
}

/// Calls `visit` with each key of a block that a `BlockBuilder` of this format has made.
pub(super) fn for_each_key(block: &HeldBlock, format: BlockFormat, mut visit: impl FnMut(&[u8])) {
    let mut cursor = Cursor::new(&block.contents[..block.entries_len]);
    let mut key = Vec::new();
    let mut at = 0;
    while let (Some(shared), Some(non_shared), Some(value_len)) =
        (cursor.varint32(), cursor.varint32(), cursor.varint32())
    {
        if format.values_apart && at % format.restart_interval == 0 {
            cursor.varint32();
        }
        key.truncate(shared as usize);
        key.extend_from_slice(cursor.bytes(non_shared as usize).unwrap_or_default());
        if !format.values_apart {
            cursor.bytes(value_len as usize);
        }
        visit(&key);
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::block::BlockBuilder;
    use super::*;
    use crate::util::compression::CompressionType;

    fn held(blocks: usize, bytes_max: usize) -> HeldBlocks {
        let mut compression = CompressionOptions::new(CompressionType::Zstd);
        compression.max_dict_buffer_bytes = bytes_max;
        let mut held = HeldBlocks::new(&compression);
        for i in 0..blocks {
            let contents = format!("{{\"user\":{i},\"city\":\"Zurich\"}}").repeat(10).into_bytes();
            held.push(HeldBlock { entries_len: 0, last_key: Vec::new(), contents });
        }
        held
    }

    #[test]
    fn keys_of_a_block_come_back_whatever_its_format() {
        for values_apart in [false, true] {
            let format = BlockFormat { values_apart, ..BlockFormat::plain(3) };
            let mut block = BlockBuilder::new(format);
            let keys: Vec<Vec<u8>> = (0..10).map(|i| format!("key{i:04}").into_bytes()).collect();
            for key in &keys {
                block.add(key, b"value");
            }
            let entries_len = block.entries_len();
            block.finish().unwrap();
            let held = HeldBlock { contents: block.take(), entries_len, last_key: Vec::new() };
            let mut found = Vec::new();
            for_each_key(&held, format, |key| found.push(key.to_vec()));
            assert_eq!(found, keys);
        }
    }

    #[test]
    fn samples_are_spread_over_all_blocks_and_bounded() {
        let held = held(100, usize::MAX);
        let (samples, lens) = held.samples(1000);
        assert_eq!(samples.len(), 1000);
        assert_eq!(lens.iter().sum::<usize>(), 1000);
        let text = String::from_utf8(samples).unwrap();
        assert!(text.contains("\"user\":0,") && text.contains("\"user\":75,"), "{text}");
        let (everything, lens) = held.samples(1 << 20);
        assert_eq!((everything.len(), lens.len()), (held.len(), 100));
    }

    #[test]
    fn dictionaries_are_raw_or_trained() {
        let mut compression = CompressionOptions::new(CompressionType::Zstd);
        compression.max_dict_bytes = 2000;
        let held = held(300, 50_000);
        assert!(held.is_full());
        let raw = held.dictionary(&compression);
        assert!(raw.starts_with(b"{\"user\":0,") && raw.len() == 2000);
        compression.zstd_max_train_bytes = 80_000;
        let trained = held.dictionary(&compression);
        assert!(trained.len() <= 2000 && trained.starts_with(&0xEC30_A437u32.to_le_bytes()));
    }
}
