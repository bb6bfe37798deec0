use super::ReadContext;
use super::block::{DataBlock, IndexBlock};
use crate::cache::{Admission, BlockMap, Cache, CacheObject, Role, Slots};
use crate::util::compression::CompressionType;

/// A table's part in the budget: which caches its blocks and pieces go to, and what it costs to read them again.
///
/// Costs are nominal: from sizes and the kind of compression, for a file in the page cache. Nothing looks at a clock, so
/// that what stays in memory depends on the requests alone.
#[derive(Clone, Debug)]
pub(crate) struct TableBudget {
    /// For data blocks and buffers.
    pub(crate) cache: Cache,
    /// For pieces of index and filter and what stands above them; the same, as a rule.
    pub(crate) metadata_cache: Cache,
    pub(crate) level: Option<u8>,
    /// Whether what is read enters the cache, unless the read's context says that it does not.
    pub(crate) fill_cache: bool,
    /// Thousandths of a nanosecond for each stored byte of a data block: checksum, decompression, parsing.
    data_cost: u64,
}

/// A call into the file system, and the entry's way into the cache.
const READ_NS: u64 = 1500;
/// Copying, checksum and parsing, for each byte that is not compressed; thousandths of a nanosecond.
const PLAIN_COST: u64 = 150;

impl TableBudget {
    /// * `compression`: of the data blocks, as far as it is known.
    pub(crate) fn new(
        cache: Cache,
        metadata_cache: Cache,
        level: Option<u8>,
        fill_cache: bool,
        compression: Option<CompressionType>,
    ) -> Self {
        // For each stored byte there are two to four to write and to parse. Figures of this project's reader on files in
        // the page cache, rounded: they need to be right against each other, not on any machine.
        let data_cost = match compression {
            Some(CompressionType::None) => PLAIN_COST,
            Some(CompressionType::Zstd) => 2500,
            Some(CompressionType::Zlib | CompressionType::Bzip2) => 10_000,
            _ => 1000,
        };
        Self { cache, metadata_cache, level, fill_cache, data_cost }
    }

    /// Empty slots for pieces.
    pub(crate) fn slots<T: CacheObject>(&self, role: Role, len: usize) -> Slots<T> {
        Slots::new(&self.metadata_cache, role, self.level, len)
    }

    /// An empty map of data blocks.
    pub(crate) fn data_blocks(&self) -> BlockMap<DataBlock> {
        BlockMap::new(&self.cache, Role::Data, self.level)
    }

    /// Whether a piece that a read loads enters the cache.
    pub(crate) fn admission(&self, ctx: &ReadContext) -> Admission {
        match self.fill_cache && !ctx.pass_cache_by {
            true => Admission::Fill,
            false => Admission::PassBy,
        }
    }

    /// The same of a data block.
    pub(crate) fn data_admission(&self, ctx: &ReadContext) -> Admission {
        if ctx.pass_data_by { Admission::PassBy } else { self.admission(ctx) }
    }

    /// Nanoseconds that it takes to get a piece of `len` bytes again that is stored as it is.
    pub(crate) fn plain_cost(len: u64) -> u32 {
        nanoseconds(len, PLAIN_COST)
    }

    /// Nanoseconds that it takes to get a data block of `len` stored bytes again.
    pub(crate) fn data_cost(&self, len: u64) -> u32 {
        nanoseconds(len, self.data_cost)
    }
}

fn nanoseconds(len: u64, thousandths_per_byte: u64) -> u32 {
    let bytes = len.saturating_mul(thousandths_per_byte) / 1000;
    u32::try_from(READ_NS + bytes).unwrap_or(u32::MAX)
}

impl CacheObject for DataBlock {
    fn heap_bytes(&self) -> usize {
        self.memory_bytes() - size_of::<Self>()
    }
}

impl CacheObject for IndexBlock {
    fn heap_bytes(&self) -> usize {
        self.memory_bytes() - size_of::<Self>()
    }
}
