use std::fmt;
use std::str::FromStr;

use partita::filter::FilterPolicy;
use partita::options::file::{FamilyOptions, OptionsFile};
use partita::options::{
    ColumnFamilyOptions, CompactionStyle, DbOptions, FilterLayout, IndexType, TableOptions,
};
use partita::util::compression::CompressionType;
use partita::{Error, Result};

/// Options for a kind of machine: where an options file says nothing, they hold.
///
/// ```
/// use partita_store::Profile;
///
/// let options = Profile::Ssd.family_options();
/// assert_eq!((options.write_buffer_size, options.table.block_size), (128 << 20, 16 << 10));
/// assert_eq!("ssd".parse::<Profile>()?, Profile::Ssd);
/// # Ok::<(), partita::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// What Partita does best with: index and filter in pieces of 4 KiB, LZ4, and ZSTD on the last level.
    #[default]
    Partita,
    /// Ozone's `SSD`.
    Ssd,
    /// Ozone's `DISK`.
    Disk,
    /// Ozone's `TEST`: no compactions but those by hand.
    Test,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Self; 4] = [Self::Partita, Self::Ssd, Self::Disk, Self::Test];

    /// Bytes of the budget that a store has if it is given none. Ozone has as many for each column family; here all tables
    /// share them.
    pub const BUDGET_BYTES_DEFAULT: usize = 256 << 20;

    /// The name: `partita`, `ssd`, `disk`, `test`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Partita => "partita",
            Self::Ssd => "ssd",
            Self::Disk => "disk",
            Self::Test => "test",
        }
    }

    /// Options of the database.
    pub fn db_options(self) -> DbOptions {
        let created = DbOptions {
            create_if_missing: true,
            create_missing_column_families: true,
            ..DbOptions::default()
        };
        if self == Self::Partita {
            return DbOptions {
                max_background_jobs: 4,
                // A table that is hardly ever written must not keep the logs of all others.
                max_total_wal_size: 512 << 20,
                ..created
            };
        }
        let mut options = DbOptions {
            // Ozone asks for 4 compactions and 2 flushes, and RocksDB then pays no heed to its one number for both, which
            // Ozone sets to that of processors.
            max_background_jobs: 6,
            bytes_per_sync: 1 << 20,
            wal_ttl_seconds: 1200,
            wal_size_limit_mb: 0,
            max_open_files: -1,
            ..created
        };
        if self == Self::Disk {
            options.compaction_readahead_size = 4 << 20;
        }
        // Nothing here acts on these; they are for RocksDB when it opens the files again.
        for (name, value) in [
            ("max_background_compactions", "4"),
            ("max_background_flushes", "2"),
            ("max_log_file_size", "104857600"),
            ("keep_log_file_num", "10"),
        ] {
            set(&mut options, name, value, DbOptions::set);
        }
        options
    }

    /// Options of each column family.
    pub fn family_options(self) -> ColumnFamilyOptions {
        if self == Self::Partita {
            return ColumnFamilyOptions::default();
        }
        let mut table = TableOptions {
            index_type: IndexType::BinarySearch,
            index_block_restart_interval: 1,
            filter_layout: FilterLayout::Full,
            filter_policy: Some(FilterPolicy::Bloom { bits_per_key: 10.0 }),
            block_size: 16 << 10,
            format_version: 5,
            ..TableOptions::with_compression(CompressionType::Snappy)
        };
        set(&mut table, "pin_l0_filter_and_index_blocks_in_cache", "true", TableOptions::set);
        ColumnFamilyOptions {
            write_buffer_size: 128 << 20,
            level_compaction_dynamic_level_bytes: true,
            compaction_style: CompactionStyle::Level,
            disable_auto_compactions: self == Self::Test,
            bottommost_compression: None,
            table,
            ..ColumnFamilyOptions::default()
        }
    }

    /// The same as an options file would have it.
    ///
    /// * `tables`: names of column families; the default one is there anyway.
    pub(crate) fn options_file<'t>(self, tables: impl IntoIterator<Item = &'t str>) -> OptionsFile {
        let options = self.family_options();
        let family = |name: &str| FamilyOptions { name: name.to_owned(), options: options.clone() };
        let mut families = vec![family(FamilyOptions::DEFAULT)];
        for name in tables {
            if families.iter().all(|family| family.name != name) {
                families.push(family(name));
            }
        }
        OptionsFile { rocksdb_version: None, db: self.db_options(), families }
    }
}

/// Sets an option that is no field.
fn set<T>(options: &mut T, name: &str, value: &str, set: fn(&mut T, &str, &str) -> Result<()>) {
    if let Err(error) = set(options, name, value) {
        unreachable!("{name}={value} is one of RocksDB's options: {error}");
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Profile {
    type Err = Error;

    /// The profile of this name, case aside.
    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|profile| profile.name().eq_ignore_ascii_case(name)).ok_or_else(
            || {
                let names = Self::ALL.map(Self::name).join(", ");
                Error::invalid_argument(format!("no profile {name:?}; there are {names}"))
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of an option in the profiles, in the order of `Profile::ALL`.
    fn values(name: &str) -> [String; 4] {
        Profile::ALL.map(|profile| {
            let (db, family) = (profile.db_options(), profile.family_options());
            let value =
                db.get(name).or_else(|| family.get(name)).or_else(|| family.table.get(name));
            value.unwrap_or_else(|| panic!("{name}"))
        })
    }

    #[test]
    fn ozones_profiles_have_ozones_values() {
        let ozone: [(&str, [&str; 3]); 24] = [
            ("write_buffer_size", ["134217728"; 3]),
            ("level_compaction_dynamic_level_bytes", ["true"; 3]),
            ("compaction_style", ["kCompactionStyleLevel"; 3]),
            ("disable_auto_compactions", ["false", "false", "true"]),
            ("compression", ["kSnappyCompression"; 3]),
            ("bottommost_compression", ["kDisableCompressionOption"; 3]),
            ("max_background_compactions", ["4"; 3]),
            ("max_background_flushes", ["2"; 3]),
            ("bytes_per_sync", ["1048576"; 3]),
            ("create_if_missing", ["true"; 3]),
            ("create_missing_column_families", ["true"; 3]),
            ("compaction_readahead_size", ["2097152", "4194304", "2097152"]),
            ("block_size", ["16384"; 3]),
            ("format_version", ["5"; 3]),
            ("pin_l0_filter_and_index_blocks_in_cache", ["true"; 3]),
            ("cache_index_and_filter_blocks", ["false"; 3]),
            ("filter_policy", ["bloomfilter:10:false"; 3]),
            ("partition_filters", ["false"; 3]),
            ("index_type", ["kBinarySearch"; 3]),
            ("max_open_files", ["-1"; 3]),
            ("WAL_ttl_seconds", ["1200"; 3]),
            ("WAL_size_limit_MB", ["0"; 3]),
            ("max_log_file_size", ["104857600"; 3]),
            ("keep_log_file_num", ["10"; 3]),
        ];
        for (name, expected) in ozone {
            assert_eq!(values(name)[1..], expected, "{name}");
        }
    }

    #[test]
    fn what_a_profile_does_not_say_is_rocksdbs_default_but_for_what_ours_is_about() {
        let defaults = OptionsFile::default();
        let partita = Profile::Partita.family_options();
        assert_eq!(partita, defaults.families[0].options);
        assert_eq!(values("partition_filters")[0], "true");
        for profile in Profile::ALL {
            profile.db_options().validate().unwrap();
            profile.family_options().validate().unwrap();
            assert_eq!(profile.to_string().to_uppercase().parse::<Profile>().unwrap(), profile);
        }
        let error = "hdd".parse::<Profile>().unwrap_err();
        assert!(error.message().contains("partita, ssd, disk, test"), "{error}");
    }
}
