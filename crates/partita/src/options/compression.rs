use std::ops::RangeInclusive;

use crate::error::{Error, Result};
use crate::util::compression::{CompressionType, DEFAULT_LEVEL};

/// How blocks are compressed: RocksDB's `compression` and `compression_opts`.
#[derive(Clone, Debug, PartialEq)]
pub struct CompressionOptions {
    /// The algorithm. Default LZ4: cheapest to decompress. RocksDB: `compression`, default Snappy.
    pub kind: CompressionType,
    /// The level, in the algorithm's own numbers; acts on zlib, LZ4HC and ZSTD. Default 32767, the algorithm's own
    /// default; others within the algorithm's range. RocksDB: `level`.
    pub level: i32,
    /// Most bytes of a dictionary made from samples of the file's data and stored in it; 0 (default): none. Pays for
    /// small blocks of similar values. Data blocks are held in memory until the dictionary is made. RocksDB:
    /// `max_dict_bytes`.
    pub max_dict_bytes: usize,
    /// Most bytes of samples from which ZSTD trains the dictionary; 0 (default): the samples themselves are the
    /// dictionary. A hundred times `max_dict_bytes` trains well. RocksDB: `zstd_max_train_bytes`.
    pub zstd_max_train_bytes: usize,
    /// Data held in memory, in bytes, before the dictionary is made from what is there. Default 64 MiB; RocksDB:
    /// `max_dict_buffer_bytes`, default the size of the file.
    pub max_dict_buffer_bytes: usize,
    /// A block is stored compressed if that takes at most this many bytes for 1,024. Default 896: a saving of an
    /// eighth. 1 to 1,024. RocksDB: `max_compressed_bytes_per_kb`.
    pub max_compressed_bytes_per_kb: u32,
}

impl Default for CompressionOptions {
    fn default() -> Self {
        Self::new(CompressionType::Lz4)
    }
}

impl CompressionOptions {
    /// This algorithm at its default level, without a dictionary.
    pub const fn new(kind: CompressionType) -> Self {
        Self {
            kind,
            level: DEFAULT_LEVEL,
            max_dict_bytes: 0,
            zstd_max_train_bytes: 0,
            max_dict_buffer_bytes: 64 << 20,
            max_compressed_bytes_per_kb: 896,
        }
    }

    /// Whether files get a dictionary.
    pub const fn uses_dictionary(&self) -> bool {
        self.max_dict_bytes > 0
    }

    /// Whether the compressed form of a block is worth keeping.
    pub(crate) const fn is_worth_it(&self, compressed_len: usize, len: usize) -> bool {
        compressed_len as u64 <= len as u64 * self.max_compressed_bytes_per_kb as u64 / 1024
    }

    /// Judges the settings together.
    pub(super) fn validate(&self) -> Result<()> {
        let kind = self.kind;
        if let Some(levels) = levels_of(kind)
            && self.level != DEFAULT_LEVEL
            && !levels.contains(&self.level)
        {
            return Err(Error::invalid_argument(format!(
                "compression level = {} with {kind}, expected {} to {}, or {DEFAULT_LEVEL} for its default",
                self.level,
                levels.start(),
                levels.end()
            )));
        }
        if self.uses_dictionary() && !kind.uses_dictionary() {
            return Err(Error::invalid_argument(format!(
                "compression.max_dict_bytes = {} with {kind}, which has no dictionaries",
                self.max_dict_bytes
            )));
        }
        if self.zstd_max_train_bytes > 0
            && (kind != CompressionType::Zstd || !self.uses_dictionary())
        {
            return Err(Error::invalid_argument(
                "compression.zstd_max_train_bytes needs ZSTD and max_dict_bytes",
            ));
        }
        if self.uses_dictionary() && self.max_dict_buffer_bytes == 0 {
            return Err(Error::invalid_argument(
                "compression.max_dict_buffer_bytes = 0 leaves no room for samples",
            ));
        }
        if !(1..=1024).contains(&self.max_compressed_bytes_per_kb) {
            return Err(Error::invalid_argument(format!(
                "compression.max_compressed_bytes_per_kb = {}, expected 1 to 1024",
                self.max_compressed_bytes_per_kb
            )));
        }
        Ok(())
    }

    /// The text of the property `rocksdb.compression_options`.
    pub(crate) fn to_property(&self) -> String {
        format!(
            "window_bits=-14; level={}; strategy=0; max_dict_bytes={}; zstd_max_train_bytes={}; enabled=0; \
             max_dict_buffer_bytes={}; use_zstd_dict_trainer=1; max_compressed_bytes_per_kb={}; ",
            self.level,
            self.max_dict_bytes,
            self.zstd_max_train_bytes,
            self.max_dict_buffer_bytes,
            self.max_compressed_bytes_per_kb
        )
    }
}

/// The levels of an algorithm; `None` if it has none. -1 is the default of zlib and LZ4HC.
fn levels_of(kind: CompressionType) -> Option<RangeInclusive<i32>> {
    match kind {
        CompressionType::Zlib => Some(-1..=9),
        CompressionType::Lz4hc => Some(-1..=12),
        CompressionType::Zstd => Some(zstd_safe::min_c_level()..=zstd_safe::max_c_level()),
        _ => None,
    }
}
