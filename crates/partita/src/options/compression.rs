use std::ops::RangeInclusive;

use super::carried::Carried;
use super::spec::{Effect, Kind, OptionGroup as _, options};
use super::value::{Given, OptionValue};
use crate::error::{Error, Result};
use crate::util::compression::{CompressionType, DEFAULT_LEVEL};

const TABLE: Effect = Effect::Honoured("table");
/// What RocksDB's 0 stands for: the size of the file, which is not known here.
const DICT_BUFFER_BYTES: usize = 64 << 20;

options! {
    /// How blocks are compressed: RocksDB's `compression` and `compression_opts`.
    pub struct CompressionOptions;
    fields {
        /// The level, in the algorithm's own numbers; acts on zlib, LZ4HC and ZSTD. Default 32767, the algorithm's own
        /// default; others within the algorithm's range.
        level: i32 = DEFAULT_LEVEL, rocksdb "32767", since "6.11", TABLE;
        /// Most bytes of a dictionary made from samples of the file's data and stored in it; 0 (default): none. Pays
        /// for small blocks of similar values. Data blocks are held in memory until the dictionary is made.
        max_dict_bytes: usize = 0, rocksdb "0", since "6.11", TABLE;
        /// Most bytes of samples from which ZSTD trains the dictionary; 0 (default): the samples themselves are the
        /// dictionary. A hundred times `max_dict_bytes` trains well.
        zstd_max_train_bytes: usize = 0, rocksdb "0", since "6.11", TABLE;
        /// A block is stored compressed if that takes at most this many bytes for 1,024. Default 896: a saving of an
        /// eighth. 1 to 1,024.
        max_compressed_bytes_per_kb: u32 = 896, rocksdb "896", in 1 to 1024, since "8.10", TABLE;
    }
    beside {
        /// The algorithm. Default LZ4: cheapest to decompress. RocksDB: `compression`, default Snappy, from 11.5 LZ4.
        kind: CompressionType = CompressionType::Lz4;
        /// Data held in memory, in bytes, before the dictionary is made from what is there. Default 64 MiB; RocksDB:
        /// `max_dict_buffer_bytes`, whose default, 0, is the size of the file.
        max_dict_buffer_bytes: usize = DICT_BUFFER_BYTES;
    }
    rows {
        /// Data held in memory, in bytes, before the dictionary is made; 0: 64 MiB, where RocksDB takes the file's size.
        "max_dict_buffer_bytes": Kind::U64, rocksdb "0", since "6.20", TABLE,
            set |options, given| {
                options.max_dict_buffer_bytes.assign(given)?;
                if options.max_dict_buffer_bytes == 0 {
                    options.max_dict_buffer_bytes = DICT_BUFFER_BYTES;
                }
                Ok(())
            },
            get |options| match options.max_dict_buffer_bytes {
                DICT_BUFFER_BYTES => "0".to_owned(),
                bytes => bytes.to_string(),
            };
    }
    carried {
        enabled: Kind::Switch, "false", since "6.11", Effect::NoEffect("only `bottommost_compression_opts` asks"),
            "Whether these options count for the last level.";
        window_bits: Kind::I32, "-14", since "6.11", Effect::NoEffect("zlib and ZSTD choose their window by the level"),
            "The window of zlib.";
        strategy: Kind::I32, "0", since "6.11", Effect::NoEffect("zlib's strategy is its default"), "The strategy of zlib.";
        parallel_threads: Kind::U32, "1", since "6.11", Effect::NoEffect("a table is written by one thread"),
            "Threads that compress the blocks of a table.";
        use_zstd_dict_trainer: Kind::Switch, "true", since "7.4", Effect::NoEffect("dictionaries are always trained"),
            "Whether ZSTD trains dictionaries, or only cuts samples to size.";
        checksum: Kind::Switch, "false", since "8.10", Effect::NoEffect("blocks have their own checksum"),
            "ZSTD's own checksum in each block.";
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
            max_dict_buffer_bytes: DICT_BUFFER_BYTES,
            max_compressed_bytes_per_kb: 896,
            carried: Carried::new(),
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

    /// Whether these options, given for the last level, count.
    pub(super) fn is_enabled(&self) -> bool {
        self.get("enabled").as_deref() == Some("true")
    }

    /// Takes back what the algorithm does not have: settings made for several algorithms stay valid for each.
    pub(super) fn leave_out_what_the_kind_lacks(&mut self) {
        if !self.kind.uses_dictionary() {
            self.max_dict_bytes = 0;
        }
        if self.kind != CompressionType::Zstd || self.max_dict_bytes == 0 {
            self.zstd_max_train_bytes = 0;
        }
        if levels_of(self.kind).is_none_or(|levels| !levels.contains(&self.level)) {
            self.level = DEFAULT_LEVEL;
        }
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

/// What stands in each place of the old form `window_bits:level:strategy:…`.
const OLD_FORM: [&str; 9] = [
    "window_bits",
    "level",
    "strategy",
    "max_dict_bytes",
    "zstd_max_train_bytes",
    "parallel_threads",
    "enabled",
    "max_dict_buffer_bytes",
    "use_zstd_dict_trainer",
];

impl OptionValue for CompressionOptions {
    const KIND: Kind = Kind::Group("level; max_dict_bytes; …");

    fn assign(&mut self, given: Given<'_>) -> Result<()> {
        let places: Vec<&str> = given.value.split(':').collect();
        if given.unbraced().is_some() || !(3..=OLD_FORM.len()).contains(&places.len()) {
            return self.assign_braced(given);
        }
        for (name, value) in OLD_FORM.into_iter().zip(places) {
            super::spec::OptionGroup::assign_option(self, Given { name, value: value.trim() })?;
        }
        Ok(())
    }

    fn print(&self) -> String {
        self.print_braced()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_form_is_read_by_place() {
        let mut options = CompressionOptions::default();
        OptionValue::assign(
            &mut options,
            Given { name: "compression_opts", value: "-14:5:0:100:200:1:true" },
        )
        .unwrap();
        assert_eq!(
            (options.level, options.max_dict_bytes, options.zstd_max_train_bytes),
            (5, 100, 200)
        );
        assert!(options.is_enabled());
        assert!(
            OptionValue::assign(&mut options, Given { name: "compression_opts", value: "1:2" })
                .is_err()
        );
    }
}
