//! Judgement of options together, in one list of rules.
//!
//! A rule names its *subject*, the option that comes to nothing, says when, and mends the options so that they mean what
//! comes about. [`ColumnFamilyOptions::validate`] refuses what breaks a rule. A reader of options files mends, and
//! tells of it if the file asked for the subject: a default gives way without a word.

use super::spec::OptionGroup;
use super::{
    ColumnFamilyOptions, CompactionStyle, DataBlockIndex, DbOptions, FilterLayout, IndexType,
    SectionKind, WalRecoveryMode,
};
use crate::error::{Error, Result};
use crate::util::compression::CompressionType;

/// What is to be done about a broken rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Harm {
    /// Nobody can mean it: refused.
    Senseless,
    /// The subject has no effect, here or in RocksDB: told, where a file asks for it.
    Idle,
}

/// One rule on the options `T`.
pub(super) struct Rule<T> {
    harm: Harm,
    /// Section and name of the option that comes to nothing.
    pub(super) subject: (SectionKind, &'static str),
    broken: fn(&T) -> bool,
    /// Why it does, and what to do.
    pub(super) because: &'static str,
    mend: fn(&mut T),
}

impl<T> Rule<T> {
    /// Whether nobody can mean what breaks the rule.
    pub(super) fn is_of_the_senseless(&self) -> bool {
        self.harm == Harm::Senseless
    }

    /// Whether the options break the rule.
    pub(super) fn is_broken_by(&self, options: &T) -> bool {
        (self.broken)(options)
    }

    /// Applies the rule; whether it was broken.
    pub(super) fn apply(&self, options: &mut T) -> bool {
        let broken = (self.broken)(options);
        if broken {
            (self.mend)(options);
        }
        broken
    }
}

/// Options with rules.
pub(super) trait Judged: Sized + 'static {
    /// The rules, in the order in which they are applied: one may break a later one by mending.
    fn rules() -> &'static [Rule<Self>];

    /// The value of an option as text.
    fn value(&self, subject: (SectionKind, &str)) -> String;

    fn first_refusal(&self) -> Result<()> {
        let refused =
            Self::rules().iter().find(|rule| rule.harm == Harm::Senseless && (rule.broken)(self));
        refused.map_or(Ok(()), |rule| {
            let value = self.value(rule.subject);
            Err(Error::invalid_argument(format!("{}={value}: {}", rule.subject.1, rule.because)))
        })
    }
}

impl DbOptions {
    /// Judges the options together.
    ///
    /// * Errors: `InvalidArgument`, naming the option that comes to nothing and why.
    pub fn validate(&self) -> Result<()> {
        self.first_refusal()
    }
}

impl ColumnFamilyOptions {
    /// Judges the options together, those of its tables included.
    ///
    /// * Errors: `InvalidArgument`, naming the option that comes to nothing and why.
    ///
    /// ```
    /// use partita::options::{ColumnFamilyOptions, IndexType};
    ///
    /// let mut options = ColumnFamilyOptions::default();
    /// options.table.index_type = IndexType::BinarySearch;
    /// let error = options.validate().unwrap_err();
    /// assert!(error.message().starts_with("partition_filters=true: "), "{error}");
    /// ```
    pub fn validate(&self) -> Result<()> {
        self.first_refusal()?;
        self.table.validate()
    }
}

const fn table(name: &'static str) -> (SectionKind, &'static str) {
    (SectionKind::Table, name)
}

const fn family(name: &'static str) -> (SectionKind, &'static str) {
    (SectionKind::ColumnFamily, name)
}

const fn db(name: &'static str) -> (SectionKind, &'static str) {
    (SectionKind::Db, name)
}

fn is_on<T: OptionGroup>(options: &T, name: &str) -> bool {
    T::row(name).is_some_and(|row| options.print_option(row) == "true")
}

impl Judged for DbOptions {
    fn rules() -> &'static [Rule<Self>] {
        const RULES: &[Rule<DbOptions>] = &[
            Rule {
                harm: Harm::Senseless,
                subject: db("wal_compression"),
                broken: |o| {
                    !matches!(o.wal_compression, CompressionType::None | CompressionType::Zstd)
                },
                because: "logs are compressed with kZSTD or not at all",
                mend: |o| o.wal_compression = CompressionType::None,
            },
            Rule {
                harm: Harm::Idle,
                subject: db("recycle_log_file_num"),
                broken: |o| {
                    o.recycle_log_file_num > 0 && (o.wal_ttl_seconds > 0 || o.wal_size_limit_mb > 0)
                },
                because: "logs that WAL_ttl_seconds or WAL_size_limit_MB keep cannot be written over",
                mend: |o| o.recycle_log_file_num = 0,
            },
            Rule {
                harm: Harm::Idle,
                subject: db("recycle_log_file_num"),
                broken: |o| {
                    let takes_ruins_for_damage = matches!(
                        o.wal_recovery_mode,
                        WalRecoveryMode::AbsoluteConsistency
                            | WalRecoveryMode::TolerateCorruptedTailRecords
                    );
                    o.recycle_log_file_num > 0 && takes_ruins_for_damage
                },
                because: "a log that was written over may end in old records, which wal_recovery_mode=kAbsoluteConsistency takes for damage and kTolerateCorruptedTailRecords cannot tell from it",
                mend: |o| o.recycle_log_file_num = 0,
            },
            Rule {
                harm: Harm::Idle,
                subject: db("enable_pipelined_write"),
                broken: |o| o.atomic_flush && is_on(o, "enable_pipelined_write"),
                because: "atomic_flush=true rules it out",
                mend: |_| {},
            },
        ];
        RULES
    }

    fn value(&self, (_, name): (SectionKind, &str)) -> String {
        self.get(name).unwrap_or_default()
    }
}

impl Judged for ColumnFamilyOptions {
    fn rules() -> &'static [Rule<Self>] {
        FAMILY_RULES
    }

    fn value(&self, (section, name): (SectionKind, &str)) -> String {
        let value = match section {
            SectionKind::Table => self.table.get(name),
            _ => self.get(name),
        };
        value.unwrap_or_default()
    }
}

const FAMILY_RULES: &[Rule<ColumnFamilyOptions>] = &[
    Rule {
        harm: Harm::Senseless,
        subject: table("format_version"),
        broken: |o| {
            o.table.format_version > 7
                || o.table.format_version < 2 && !o.table.allow_obsolete_formats
        },
        because: "tables are written in format versions 2 to 7",
        mend: |o| o.table.format_version = 5,
    },
    Rule {
        harm: Harm::Senseless,
        subject: table("index_type"),
        broken: |o| {
            o.table.index_type == IndexType::HashSearch && o.table.prefix_extractor.is_none()
        },
        because: "a hash index needs prefix_extractor",
        mend: |o| o.table.index_type = IndexType::BinarySearch,
    },
    Rule {
        harm: Harm::Senseless,
        subject: table("index_block_restart_interval"),
        broken: |o| {
            o.table.index_type == IndexType::HashSearch && o.table.index_block_restart_interval != 1
        },
        because: "index_type=kHashSearch needs 1",
        mend: |o| o.table.index_block_restart_interval = 1,
    },
    Rule {
        harm: Harm::Senseless,
        subject: table("whole_key_filtering"),
        broken: |o| {
            o.table.filter_policy.is_some()
                && !o.table.whole_key_filtering
                && o.table.prefix_extractor.is_none()
        },
        because: "without prefix_extractor nothing is left for the filter to hold",
        mend: |o| o.table.filter_policy = None,
    },
    Rule {
        harm: Harm::Senseless,
        subject: table("partition_filters"),
        broken: |o| {
            o.table.filter_policy.is_some()
                && o.table.filter_layout != FilterLayout::Full
                && o.table.index_type != IndexType::TwoLevel
        },
        because: "partitions of the filter need index_type=kTwoLevelIndexSearch",
        mend: |o| o.table.filter_layout = FilterLayout::Full,
    },
    Rule {
        harm: Harm::Idle,
        subject: table("partition_filters"),
        broken: |o| o.table.filter_policy.is_none() && o.table.filter_layout != FilterLayout::Full,
        because: "there is no filter: filter_policy is not set",
        mend: |o| o.table.filter_layout = FilterLayout::Full,
    },
    Rule {
        harm: Harm::Senseless,
        subject: table("block_align"),
        broken: |o| {
            o.table.block_align
                && (o.table.compression.kind != CompressionType::None
                    || o.bottommost_compression.is_some_and(|kind| kind != CompressionType::None)
                    || o.compression_per_level.iter().any(|kind| *kind != CompressionType::None))
        },
        because: "only blocks without compression can be aligned",
        mend: |o| o.table.block_align = false,
    },
    Rule {
        harm: Harm::Senseless,
        subject: table("block_align"),
        broken: |o| o.table.block_align && !o.table.block_size.is_power_of_two(),
        because: "block_size is no power of 2",
        mend: |o| o.table.block_align = false,
    },
    Rule {
        harm: Harm::Senseless,
        subject: table("super_block_alignment_size"),
        broken: |o| o.table.block_align && o.table.super_block_alignment_size != 0,
        because: "block_align=true aligns each block",
        mend: |o| o.table.super_block_alignment_size = 0,
    },
    Rule {
        harm: Harm::Senseless,
        subject: table("separate_key_value_in_data_block"),
        broken: |o| o.table.separate_key_value_in_data_block && o.table.format_version < 7,
        because: "it needs format_version=7",
        mend: |o| o.table.separate_key_value_in_data_block = false,
    },
    Rule {
        harm: Harm::Senseless,
        subject: table("super_block_alignment_size"),
        broken: |o| {
            let size = o.table.super_block_alignment_size;
            size != 0 && (!size.is_power_of_two() || u32::try_from(size).is_err())
        },
        because: "it is a power of 2 below 4 GiB",
        mend: |o| o.table.super_block_alignment_size = 0,
    },
    Rule {
        harm: Harm::Senseless,
        subject: table("super_block_alignment_space_overhead_ratio"),
        broken: |o| (1..4).contains(&o.table.super_block_alignment_space_overhead_ratio),
        because: "it is 0 or at least 4",
        mend: |o| o.table.super_block_alignment_space_overhead_ratio = 128,
    },
    Rule {
        harm: Harm::Senseless,
        subject: table("data_block_hash_table_util_ratio"),
        broken: |o| matches!(o.table.data_block_index, DataBlockIndex::BinaryAndHash { util_ratio } if util_ratio <= 0.0),
        because: "a hash table needs buckets",
        mend: |o| o.table.data_block_index = DataBlockIndex::BinaryAndHash { util_ratio: 0.75 },
    },
    Rule {
        harm: Harm::Idle,
        subject: family("compression_opts"),
        broken: |o| {
            let mut kept = o.table.compression.clone();
            kept.leave_out_what_the_kind_lacks();
            kept != o.table.compression
        },
        because: "the compression has no such level or dictionary",
        mend: |o| o.table.compression.leave_out_what_the_kind_lacks(),
    },
    Rule {
        harm: Harm::Idle,
        subject: table("pin_l0_filter_and_index_blocks_in_cache"),
        broken: |o| {
            is_on(&o.table, "pin_l0_filter_and_index_blocks_in_cache")
                && !is_on(&o.table, "cache_index_and_filter_blocks")
        },
        because: "nothing is pinned that is not cached: cache_index_and_filter_blocks is not set",
        mend: |_| {},
    },
    Rule {
        harm: Harm::Idle,
        subject: table("cache_index_and_filter_blocks"),
        broken: |o| {
            is_on(&o.table, "cache_index_and_filter_blocks") && is_on(&o.table, "no_block_cache")
        },
        because: "no_block_cache=true leaves no cache",
        mend: |_| {},
    },
    Rule {
        harm: Harm::Senseless,
        subject: family("max_bytes_for_level_multiplier"),
        broken: |o| {
            o.max_bytes_for_level_multiplier <= 0.0 || o.max_bytes_for_level_multiplier.is_nan()
        },
        because: "levels need a size",
        mend: |o| o.max_bytes_for_level_multiplier = 10.0,
    },
    Rule {
        harm: Harm::Senseless,
        subject: family("min_write_buffer_number_to_merge"),
        broken: |o| o.min_write_buffer_number_to_merge > (o.max_write_buffer_number - 1).max(1),
        because: "one of max_write_buffer_number memtables is the one being written",
        mend: |o| o.min_write_buffer_number_to_merge = (o.max_write_buffer_number - 1).max(1),
    },
    Rule {
        harm: Harm::Senseless,
        subject: family("level0_slowdown_writes_trigger"),
        broken: |o| {
            o.compaction_style == CompactionStyle::Level
                && o.level0_slowdown_writes_trigger < o.level0_file_num_compaction_trigger
        },
        because: "writes would be delayed before level0_file_num_compaction_trigger starts a compaction",
        mend: |o| o.level0_slowdown_writes_trigger = o.level0_file_num_compaction_trigger,
    },
    Rule {
        harm: Harm::Senseless,
        subject: family("level0_stop_writes_trigger"),
        broken: |o| {
            o.compaction_style == CompactionStyle::Level
                && o.level0_stop_writes_trigger < o.level0_slowdown_writes_trigger
        },
        because: "writes would stop before level0_slowdown_writes_trigger delays them",
        mend: |o| o.level0_stop_writes_trigger = o.level0_slowdown_writes_trigger,
    },
    Rule {
        harm: Harm::Senseless,
        subject: family("soft_pending_compaction_bytes_limit"),
        broken: |o| {
            o.hard_pending_compaction_bytes_limit > 0
                && o.soft_pending_compaction_bytes_limit > o.hard_pending_compaction_bytes_limit
        },
        because: "writes would stop at hard_pending_compaction_bytes_limit before they are delayed",
        mend: |o| o.soft_pending_compaction_bytes_limit = o.hard_pending_compaction_bytes_limit,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Settings that break each rule, in the order of the rules.
    const BREAKING: &[&[(&str, &str)]] = &[
        &[("format_version", "1")],
        &[("index_type", "kHashSearch")],
        &[
            ("index_type", "kHashSearch"),
            ("prefix_extractor", "fixed:4"),
            ("partition_filters", "false"),
        ],
        &[("whole_key_filtering", "false")],
        &[("index_type", "kBinarySearch")],
        &[("filter_policy", "nullptr")],
        &[("block_align", "true")],
        &[
            ("block_align", "true"),
            ("block_size", "3000"),
            ("compression", "kNoCompression"),
            ("bottommost_compression", "kNoCompression"),
        ],
        &[
            ("block_align", "true"),
            ("compression", "kNoCompression"),
            ("bottommost_compression", "kNoCompression"),
            ("super_block_alignment_size", "4096"),
        ],
        &[("separate_key_value_in_data_block", "true")],
        &[("super_block_alignment_size", "5000")],
        &[("super_block_alignment_space_overhead_ratio", "3")],
        &[
            ("data_block_index_type", "kDataBlockBinaryAndHash"),
            ("data_block_hash_table_util_ratio", "0"),
        ],
        &[("compression_opts", "{max_dict_bytes=100;zstd_max_train_bytes=1000;}")],
        &[("pin_l0_filter_and_index_blocks_in_cache", "true")],
        &[("cache_index_and_filter_blocks", "true"), ("no_block_cache", "true")],
        &[("max_bytes_for_level_multiplier", "0")],
        &[("min_write_buffer_number_to_merge", "2")],
        &[("level0_slowdown_writes_trigger", "3")],
        &[("level0_stop_writes_trigger", "19")],
        &[("soft_pending_compaction_bytes_limit", "1t")],
    ];

    fn with(settings: &[(&str, &str)]) -> ColumnFamilyOptions {
        let mut options = ColumnFamilyOptions::default();
        for (name, value) in settings {
            options.set(name, value).or_else(|_| options.table.set(name, value)).unwrap();
        }
        options
    }

    #[test]
    fn every_rule_can_be_broken_is_told_and_mended_for_good() {
        assert_eq!(BREAKING.len(), FAMILY_RULES.len());
        ColumnFamilyOptions::default().validate().unwrap();
        for (rule, settings) in FAMILY_RULES.iter().zip(BREAKING) {
            let mut options = with(settings);
            assert!((rule.broken)(&options), "{settings:?}: {}", rule.because);
            if rule.harm == Harm::Senseless {
                let error = options.validate().unwrap_err();
                assert!(error.message().contains('='), "{error}");
            }
            for rule in FAMILY_RULES {
                rule.apply(&mut options);
            }
            options.validate().unwrap_or_else(|error| panic!("{settings:?}: {error}"));
        }
    }

    #[test]
    fn rules_on_databases_can_be_broken_and_mended() {
        let breaking: [&[(&str, &str)]; 4] = [
            &[("wal_compression", "kLZ4Compression")],
            &[("recycle_log_file_num", "2"), ("WAL_ttl_seconds", "1200")],
            &[("recycle_log_file_num", "2"), ("wal_recovery_mode", "kAbsoluteConsistency")],
            &[("enable_pipelined_write", "true"), ("atomic_flush", "true")],
        ];
        DbOptions::default().validate().unwrap();
        for (rule, settings) in DbOptions::rules().iter().zip(breaking) {
            let mut options = DbOptions::default();
            for (name, value) in settings {
                options.set(name, value).unwrap();
            }
            assert!(rule.apply(&mut options), "{settings:?}");
            options.validate().unwrap();
        }
        assert_eq!(DbOptions::rules().len(), breaking.len());
    }

    #[test]
    fn subjects_of_rules_are_options() {
        let subjects = DbOptions::rules()
            .iter()
            .map(|rule| rule.subject)
            .chain(FAMILY_RULES.iter().map(|rule| rule.subject));
        for (section, name) in subjects {
            assert!(section.spec(name).is_some(), "{name}");
        }
    }
}
