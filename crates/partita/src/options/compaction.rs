use super::choice::UniversalStopStyle;
use super::spec::{Effect, Kind, options};
use super::value::{Given, OptionValue};
use crate::error::Result;

const PICKER: Effect = Effect::Honoured("compaction");
const NO_TEMPERATURE: &str = "files have no temperature here";

options! {
    /// How universal compaction picks runs: RocksDB's `compaction_options_universal`.
    pub struct UniversalOptions;
    fields {
        /// A run joins those picked if it is at most this many percent larger than they are together.
        size_ratio: u32 = 1, rocksdb "1", since "6.2", PICKER;
        /// Fewest runs merged at once.
        min_merge_width: u32 = 2, rocksdb "2", in 2 to u32::MAX, since "6.2", PICKER;
        /// Most runs merged at once.
        max_merge_width: u32 = u32::MAX, rocksdb "4294967295", in 2 to u32::MAX, since "6.2", PICKER;
        /// All runs are merged when the newer ones exceed this many percent of the oldest.
        max_size_amplification_percent: u32 = 200, rocksdb "200", since "6.2", PICKER;
        /// The share of the data, in percent, that is compressed; -1 compresses all of it.
        compression_size_percent: i32 = -1, rocksdb "-1", in -1 to 100, since "6.2", Effect::NoEffect("every run is compressed");
        /// When enough runs are picked.
        stop_style: UniversalStopStyle = UniversalStopStyle::TotalSize, rocksdb "kCompactionStopStyleTotalSize", since "6.2", PICKER;
        /// Whether a run may move down without being written again.
        allow_trivial_move: bool = false, rocksdb "false", since "6.2", PICKER;
    }
    beside {}
    rows {}
    carried {
        incremental: Kind::Switch, "false", since "6.28", Effect::NoEffect("runs are merged whole"),
            "Merges a run piece by piece.";
        max_read_amp: Kind::I32, "-1", since "10.4", Effect::NoEffect("the number of runs is bounded by the compaction trigger"),
            "Most sorted runs.";
        reduce_file_locking: Kind::Switch, "true", since "11.8", Effect::NoEffect("inputs are held for the compaction only"),
            "Locks fewer files for a waiting compaction.";
    }
}

options! {
    /// What FIFO compaction keeps: RocksDB's `compaction_options_fifo`.
    pub struct FifoOptions;
    fields {
        /// Bytes of tables above which the oldest are dropped.
        max_table_files_size: u64 = 1 << 30, rocksdb "1073741824", since "6.2", PICKER;
        /// Whether small tables are merged into larger ones.
        allow_compaction: bool = false, rocksdb "false", since "6.2", PICKER;
    }
    beside {}
    rows {}
    carried {
        age_for_warm: Kind::U64, "0", since "6.28", Effect::NoEffect(NO_TEMPERATURE), "Age at which a file becomes warm.";
        file_temperature_age_thresholds: Kind::Object, "", since "8.10", Effect::NoEffect(NO_TEMPERATURE),
            "Ages at which files change their temperature.";
        allow_trivial_copy_when_change_temperature: Kind::Switch, "false", since "10.4", Effect::NoEffect(NO_TEMPERATURE),
            "Copies a file whose temperature changes without decoding it.";
        trivial_copy_buffer_size: Kind::U64, "4096", since "10.4", Effect::NoEffect(NO_TEMPERATURE), "Bytes copied at once.";
        max_data_files_size: Kind::U64, "0", since "11.8", Effect::NoEffect("there are no blob files to count"),
            "Bytes of tables and blob files above which the oldest are dropped.";
        use_kv_ratio_compaction: Kind::Switch, "false", since "11.8", Effect::NoEffect("there are no blob files to count"),
            "Merges by the ratio of keys to values in blob files.";
    }
}

macro_rules! braced {
    ($($group:ty: $names:literal;)*) => {$(
        impl OptionValue for $group {
            const KIND: Kind = Kind::Group($names);

            fn assign(&mut self, given: Given<'_>) -> Result<()> {
                super::spec::OptionGroup::assign_braced(self, given)
            }

            fn print(&self) -> String {
                super::spec::OptionGroup::print_braced(self)
            }
        }
    )*};
}

braced! {
    UniversalOptions: "size_ratio; min_merge_width; …";
    FifoOptions: "max_table_files_size; …";
}
