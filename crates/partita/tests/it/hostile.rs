//! Tables made to hurt their reader: every checksum is right, and what the blocks say is not.

use std::sync::Arc;

use partita::io::{MemoryFile, MemoryWriter};
use partita::iter::InternalIterator;
use partita::key::{InternalKey, KeyOrder, SeqNo, ValueType};
use partita::options::{CompressionOptions, FilterLayout, IndexType, TableOptions};
use partita::table::{
    BLOCK_TRAILER_LEN, BlockHandle, BlockRole, ReadContext, ReaderOptions, TableBuilder,
    TableContext, TableReader,
};
use partita::util::compression::CompressionType;

/// A table of twelve blocks of about 1 KiB, an entry each, with handles in full; partitions of one block each.
fn table(index_type: IndexType) -> Vec<u8> {
    let options = TableOptions {
        format_version: 2,
        index_type,
        filter_layout: FilterLayout::Full,
        filter_policy: None,
        block_size: 1,
        metadata_block_size: 1,
        compression: CompressionOptions::new(CompressionType::None),
        ..TableOptions::default()
    };
    let writer = MemoryWriter::new("hostile.sst");
    let (file, context) = (Box::new(writer.clone()), TableContext::default());
    let mut builder = TableBuilder::new(file, options, KeyOrder::Bytewise, context).unwrap();
    for i in 0..12u8 {
        let key = InternalKey::new(&[b'k', i], SeqNo::ZERO, ValueType::Value).encode();
        builder.add(&key, &[i; 1000]).unwrap();
    }
    builder.finish().unwrap();
    writer.into_bytes()
}

fn open(bytes: &[u8]) -> partita::Result<Arc<TableReader>> {
    let file = Arc::new(MemoryFile::new("hostile.sst", bytes.to_vec()));
    TableReader::open(file, &ReaderOptions::default(), &mut ReadContext::default()).map(Arc::new)
}

fn handles(table: &TableReader, role: BlockRole) -> Vec<BlockHandle> {
    let blocks = table.blocks(&mut ReadContext::default()).unwrap();
    blocks.iter().filter(|block| block.role == role).map(|block| block.handle).collect()
}

/// Makes the block `index` name block `from` where it names block `to`, and puts its checksum right.
fn misdirect(bytes: &mut [u8], index: BlockHandle, from: BlockHandle, to: BlockHandle) {
    let table = open(bytes).unwrap();
    let encode = |handle: BlockHandle| {
        let mut out = Vec::new();
        handle.encode_to(&mut out);
        out
    };
    let (from, to) = (encode(from), encode(to));
    assert_eq!(from.len(), to.len());
    let (start, len) = (index.offset as usize, index.size as usize);
    let block = &mut bytes[start..start + len + BLOCK_TRAILER_LEN];
    let (contents, trailer) = block.split_at_mut(len);
    let at = contents.windows(to.len()).position(|window| window == to).unwrap();
    contents[at..at + from.len()].copy_from_slice(&from);
    trailer.copy_from_slice(&table.footer().checksum.trailer(index.offset, contents, 0));
}

#[test]
fn a_data_block_that_the_index_names_twice_ends_a_walk_in_either_direction() {
    let mut bytes = table(IndexType::BinarySearch);
    let sound = open(&bytes).unwrap();
    let data = handles(&sound, BlockRole::Data);
    let index = handles(&sound, BlockRole::Index)[0];
    misdirect(&mut bytes, index, data[4], data[5]);

    let table = open(&bytes).unwrap();
    let mut iter = table.iter();
    iter.seek_to_first().unwrap();
    for _ in 0..4 {
        iter.next().unwrap();
    }
    let forward = iter.next().unwrap_err();
    assert!(!iter.is_valid());
    iter.seek_to_last().unwrap();
    for _ in 0..6 {
        iter.prev().unwrap();
    }
    let backward = iter.prev().unwrap_err();
    assert!(!iter.is_valid());
    for error in [forward, backward] {
        assert!(error.message().contains("does not stand behind"), "{error}");
        assert_eq!(error.part(), Some(BlockRole::Index.as_str()));
        assert_eq!(error.offset(), Some(index.offset));
    }
}

#[test]
fn an_index_partition_that_is_named_twice_is_not_held_twice() {
    let mut bytes = table(IndexType::TwoLevel);
    let sound = open(&bytes).unwrap();
    let partitions = handles(&sound, BlockRole::IndexPartition);
    assert!(partitions.len() > 3);
    let top = handles(&sound, BlockRole::IndexTopLevel)[0];
    misdirect(&mut bytes, top, partitions[1], partitions[2]);

    let error = open(&bytes).unwrap().blocks(&mut ReadContext::default()).unwrap_err();
    assert!(error.message().contains("does not stand behind"), "{error}");
    assert_eq!(error.part(), Some(BlockRole::IndexTopLevel.as_str()));
}
