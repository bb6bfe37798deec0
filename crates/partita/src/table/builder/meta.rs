//! The small blocks at the end of a table: range deletions, properties, metaindex.

use std::collections::BTreeMap;

use super::block::{BlockBuilder, BlockFormat};
use super::sink::BlockSink;
use crate::error::Result;
use crate::key::KeyOrder;
use crate::options::TableOptions;
use crate::table::{BlockHandle, TableProperties};

/// Range tombstones as (start as internal key, end as user key).
pub(super) type Tombstones = Vec<(Vec<u8>, Vec<u8>)>;

/// A block of all range tombstones in internal key order.
pub(super) fn range_deletion_block(
    tombstones: &mut Tombstones,
    order: &KeyOrder,
) -> Result<BlockBuilder> {
    tombstones.sort_by(|(a, a_end), (b, b_end)| {
        order.compare_internal(a, b).then_with(|| order.compare(b_end, a_end))
    });
    let mut block = BlockBuilder::new(BlockFormat::plain(1));
    for (start, end) in tombstones {
        block.add(start, end);
    }
    Ok(block)
}

/// A block of all properties: one restart point, so that names share what they have in common.
pub(super) fn properties_block(properties: &TableProperties) -> BlockBuilder {
    let mut block = BlockBuilder::new(BlockFormat::plain(usize::MAX));
    for (name, value) in properties.encode() {
        block.add(&name, &value);
    }
    block
}

/// Names of blocks and where these stand.
#[derive(Default)]
pub(super) struct Metaindex {
    blocks: BTreeMap<String, BlockHandle>,
}

impl Metaindex {
    pub(super) fn insert(&mut self, name: impl Into<String>, handle: BlockHandle) {
        self.blocks.insert(name.into(), handle);
    }

    pub(super) fn to_block(&self) -> BlockBuilder {
        let mut block = BlockBuilder::new(BlockFormat::plain(1));
        let mut value = Vec::new();
        for (name, handle) in &self.blocks {
            value.clear();
            handle.encode_to(&mut value);
            block.add(name.as_bytes(), &value);
        }
        block
    }
}

/// The property `rocksdb.compression`, which readers of format version 7 go by.
pub(super) fn compression_property(options: &TableOptions, sink: &BlockSink) -> String {
    let kind = options.compression.kind;
    if options.format_version < 7 {
        return kind.property_name().to_owned();
    }
    let used: String =
        sink.compression_types_used().map(|kind| format!("{:02X}", kind.code())).collect();
    let manager =
        if kind == crate::util::compression::CompressionType::None { "" } else { "BuiltinV2" };
    format!("{manager};{used};")
}
