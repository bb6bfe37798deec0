//! Base tables for whole-file fuzzing: real tables with the places of all their blocks, so that a block can be edited
//! and its checksum put right.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use partita::filter::FilterPolicy;
use partita::io::MemoryWriter;
use partita::key::{InternalKey, KeyOrder, SeqNo, ValueType};
use partita::options::{CompressionOptions, FilterLayout, IndexType, TableOptions};
use partita::table::block::{BlockCursor, IndexBlock, IndexFormat};
use partita::table::{
    BLOCK_TRAILER_LEN, BlockChecksum, BlockHandle, FOOTER_LEN_MAX, Footer, Metaindex, TableBuilder,
    TableContext, TableProperties, block::DataBlock,
};
use partita::util::checksum::{ChecksumType, context_modifier};
use partita::util::compression::{CompressionType, Framing, decompress};
use partita_testkit::golden;

/// Larger golden tables are left out: a fuzzer wants many runs.
const LEN_MAX: usize = 40_000;

/// A sound table and what it is made of.
#[derive(Debug)]
pub struct BaseTable {
    /// Where it comes from.
    pub name: String,
    /// The file.
    pub bytes: Vec<u8>,
    /// Handles of all blocks: data, index, filters, meta.
    pub blocks: Vec<BlockHandle>,
    checksum: BlockChecksum,
    format_version: u32,
}

/// All base tables: golden tables of RocksDB 7.8.3 and small files out of some golden databases of 11.8.1.
pub fn bases() -> &'static [BaseTable] {
    static BASES: OnceLock<Vec<BaseTable>> = OnceLock::new();
    BASES.get_or_init(|| {
        let mut bases: Vec<BaseTable> =
            golden::tables().iter().filter_map(|table| load(table.name(), &table.path())).collect();
        // Few, since unpacking them takes longer than many runs.
        for name in ["ingested", "locations-full-filter", "locations-partitioned"] {
            let db = golden::get(name);
            bases.extend(db.sst_paths().iter().filter_map(|path| load(name, path)));
        }
        bases.extend([CompressionType::None, CompressionType::Lz4].map(cut_into_pieces));
        bases
    })
}

fn load(name: &str, path: &Path) -> Option<BaseTable> {
    let bytes = fs::read(path).expect("golden files can be read");
    (bytes.len() <= LEN_MAX).then(|| BaseTable::new(name.to_owned(), bytes))
}

/// A table whose one filter and one index block are large enough to be read in pieces.
fn cut_into_pieces(compression: CompressionType) -> BaseTable {
    let options = TableOptions {
        block_size: 60,
        index_type: IndexType::BinarySearch,
        filter_layout: FilterLayout::Full,
        filter_policy: Some(FilterPolicy::Bloom { bits_per_key: 100.0 }),
        compression: CompressionOptions { kind: compression, ..CompressionOptions::default() },
        ..TableOptions::default()
    };
    let writer = MemoryWriter::new("pieces.sst");
    let (file, context) = (Box::new(writer.clone()), TableContext::default());
    let mut builder = TableBuilder::new(file, options, KeyOrder::Bytewise, context)
        .expect("options that can be written");
    for number in 0..1400 {
        let key = format!("key {number:020}");
        let key = InternalKey::new(key.as_bytes(), SeqNo::ZERO, ValueType::Value);
        builder.add(&key.encode(), b"").expect("keys in order");
    }
    builder.finish().expect("a table in memory");
    let base = BaseTable::new(format!("pieces-{compression}"), writer.into_bytes());
    let sizes: Vec<u64> = base.blocks.iter().map(|block| block.size).collect();
    assert!(sizes.iter().any(|size| *size > 17_000), "the filter is not cut: {sizes:?}");
    base
}

impl BaseTable {
    /// Takes a sound table apart.
    ///
    /// * Panics if it is not sound.
    pub fn new(name: String, bytes: Vec<u8>) -> Self {
        let footer =
            Footer::decode(last(&bytes, FOOTER_LEN_MAX), bytes.len() as u64).expect("footer");
        let mut table = Self {
            name,
            bytes,
            blocks: vec![footer.metaindex],
            checksum: footer.checksum,
            format_version: footer.format_version,
        };
        let metaindex = Metaindex::parse(table.contents(footer.metaindex)).expect("metaindex");
        let properties = table.properties(metaindex.properties().expect("properties"));
        table.blocks.extend(metaindex.iter().map(|(_, handle)| handle));
        let index = footer.index.or_else(|| metaindex.get("rocksdb.index")).expect("index");
        table.blocks.push(index);

        let code = properties.index_type.unwrap_or_default();
        let format = IndexFormat {
            user_keys: properties.index_key_is_user_key == Some(true),
            delta_values: properties.index_value_is_delta_encoded == Some(true),
            first_keys: code == 3,
        };
        for handle in table.listed(index, format) {
            table.blocks.push(handle);
            if code == 2 {
                let data = table.listed(handle, format);
                table.blocks.extend(data);
            }
        }
        if let Some((_, handle)) = metaindex.with_prefix("partitionedfilter.") {
            let partitions = table.listed(handle, IndexFormat { first_keys: false, ..format });
            table.blocks.extend(partitions);
        }
        table.blocks.sort_by_key(|handle| handle.offset);
        table.blocks.dedup();
        table
    }

    fn stored(&self, handle: BlockHandle) -> (&[u8], u8) {
        let (start, len) = (handle.offset as usize, handle.size as usize);
        (&self.bytes[start..start + len], self.bytes[start + len])
    }

    /// A block's contents; only for blocks without a dictionary.
    fn contents(&self, handle: BlockHandle) -> Vec<u8> {
        let (stored, code) = self.stored(handle);
        let kind = CompressionType::from_code(code).expect("compression type");
        let framing = Framing::of_format_version(self.format_version);
        decompress(kind, framing, None, stored, 1 << 24).expect("compressed block")
    }

    fn properties(&self, handle: BlockHandle) -> TableProperties {
        let block = DataBlock::parse_meta(self.contents(handle)).expect("properties block");
        let (entries, _) = super::walk::forward(&block, 1 << 24);
        TableProperties::decode(entries.iter().map(|(name, value)| (&name[..], &value[..])))
    }

    fn listed(&self, handle: BlockHandle, format: IndexFormat) -> Vec<BlockHandle> {
        // A walk compares no keys, so any order will do.
        let block =
            IndexBlock::parse_index(self.contents(handle), format, &KeyOrder::ReverseBytewise)
                .expect("index block");
        let mut handles = Vec::new();
        let mut cursor = BlockCursor::new();
        cursor.seek_to_first(&block).expect("index entry");
        while cursor.is_valid() {
            handles.push(cursor.state().handle);
            cursor.next(&block).expect("index entry");
        }
        handles
    }

    /// Makes the checksum of block `at` right in an edited copy of the file.
    pub fn repair_block(&self, at: usize, edited: &mut [u8]) {
        let handle = self.blocks[at];
        let end = (handle.offset + handle.size) as usize;
        let Some(block) = edited.get(handle.offset as usize..=end) else { return };
        let Some((&compression, stored)) = block.split_last() else { return };
        let trailer = self.checksum.trailer(handle.offset, stored, compression);
        if let Some(place) = edited.get_mut(end..end + BLOCK_TRAILER_LEN) {
            place.copy_from_slice(&trailer);
        }
    }

    /// Makes the footer's own checksum right, if the format has one.
    pub fn repair_footer(&self, edited: &mut [u8]) {
        if self.format_version < 6 {
            return;
        }
        let Some(offset) = edited.len().checked_sub(FOOTER_LEN_MAX) else { return };
        let footer = &mut edited[offset..];
        footer[5..9].fill(0);
        let plain = self.checksum.checksum.of_buffer(footer);
        let value = plain.wrapping_add(context_modifier(self.checksum.base_context, offset as u64));
        footer[5..9].copy_from_slice(&value.to_le_bytes());
    }

    /// Whether blocks have checksums that are verified.
    pub fn has_checksums(&self) -> bool {
        self.checksum.checksum != ChecksumType::None
    }

    /// Whether no block is compressed.
    pub fn is_plain(&self) -> bool {
        self.blocks.iter().all(|handle| self.stored(*handle).1 == 0)
    }
}

fn last(bytes: &[u8], len: usize) -> &[u8] {
    &bytes[bytes.len().saturating_sub(len)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repairing_a_sound_table_changes_nothing() {
        assert!(bases().len() > 40, "{}", bases().len());
        for base in bases() {
            let mut copy = base.bytes.clone();
            for at in 0..base.blocks.len() {
                base.repair_block(at, &mut copy);
            }
            base.repair_footer(&mut copy);
            // Without checksums the stored value is not looked at, and RocksDB stores zero.
            assert!(copy == base.bytes, "{}", base.name);
            let data: u64 = base.blocks.iter().map(|handle| handle.size + 5).sum();
            assert!(data as usize * 10 > base.bytes.len() * 9, "{}: {data}", base.name);
        }
    }
}
