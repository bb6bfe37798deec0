use std::path::Path;

use partita::filter::FilterPolicy;
use partita::io::MemoryFileSystem;
use partita::options::{FilterLayout, IndexType};
use partita::util::checksum::ChecksumType;
use partita::util::compression::CompressionType;

use super::*;

const MEMORY_BYTES: u64 = 10 << 30;

fn disk(files: &[(&str, &str)]) -> MemoryFileSystem {
    let fs = MemoryFileSystem::new();
    for (path, text) in files {
        let path = Path::new(path);
        fs.create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = fs.create(path).unwrap();
        file.append(text.as_bytes()).unwrap();
        file.flush().unwrap();
    }
    fs
}

fn read(text: &str) -> SettingsReport {
    let fs = MemoryFileSystem::new();
    SettingsReport::read(&BookieConf::parse(text), Profile::EntryLocation, MEMORY_BYTES, &fs)
        .unwrap()
}

/// Kind, severity, option, line.
fn told(report: &SettingsReport) -> Vec<(FindingKind, Severity, &str, u32)> {
    let findings = report.findings.iter();
    findings
        .map(|found| {
            let option = found.option.as_deref().unwrap_or_default();
            (found.kind, found.severity, option, found.line.unwrap_or_default())
        })
        .collect()
}

#[test]
fn without_settings_a_bookies_defaults_hold_and_tables_are_partitioned() {
    let report = read("");
    assert_eq!(told(&report), []);
    let IndexOptions { cache_bytes, db, family, batch_operations_max, compaction_interval } =
        report.options;
    assert_eq!(cache_bytes, 1 << 30);
    assert!(db.create_if_missing);
    assert_eq!((db.max_background_jobs, db.max_total_wal_size), (32, 512 << 20));
    assert_eq!(family.write_buffer_size, 64 << 20);
    assert_eq!((family.max_write_buffer_number, family.num_levels), (4, 7));
    assert_eq!(family.target_file_size_base, 64 << 20);
    assert_eq!(family.max_bytes_for_level_base, 256 << 20);
    assert_eq!(family.level0_file_num_compaction_trigger, 4);
    assert_eq!(family.bottommost_compression, None);
    let table = family.table;
    assert_eq!((table.block_size, table.format_version), (64 << 10, 5));
    assert_eq!(table.checksum, ChecksumType::XxHash);
    assert_eq!(table.compression.kind, CompressionType::Lz4);
    assert_eq!(table.filter_policy, Some(FilterPolicy::Bloom { bits_per_key: 10.0 }));
    assert_eq!(
        (table.index_type, table.filter_layout),
        (IndexType::TwoLevel, FilterLayout::Partitioned)
    );
    assert_eq!((batch_operations_max, compaction_interval), (100_000, None));
}

#[test]
fn every_setting_counts() {
    let report = read(
        "dbStorage_rocksDB_blockCacheSize=1000000\n\
         dbStorage_rocksDB_writeBufferSizeMB=8\n\
         dbStorage_rocksDB_sstSizeInMB=16\n\
         dbStorage_rocksDB_blockSize=4096\n\
         dbStorage_rocksDB_bloomFilterBitsPerKey=0\n\
         dbStorage_rocksDB_lz4CompressionEnabled=False\n\
         dbStorage_rocksDB_numLevels=5\n\
         dbStorage_rocksDB_numFilesInLevel0=2\n\
         dbStorage_rocksDB_maxSizeInLevel1MB=32\n\
         dbStorage_rocksDB_partitionedIndexAndFiltersEnabled=false\n\
         dbStorage_rocksDB_format_version=4\n\
         dbStorage_rocksDB_checksum_type=kCRC32c\n\
         maxOperationNumbersInSingleRocksdbWriteBatch=5000\n\
         entryLocationCompactionInterval=3600\n\
         zkServers=somewhere\n",
    );
    assert_eq!(told(&report), []);
    let IndexOptions { cache_bytes, family, batch_operations_max, compaction_interval, .. } =
        report.into_result().unwrap();
    assert_eq!(cache_bytes, 1_000_000);
    assert_eq!((family.write_buffer_size, family.target_file_size_base), (8 << 20, 16 << 20));
    assert_eq!((family.num_levels, family.level0_file_num_compaction_trigger), (5, 2));
    assert_eq!(family.max_bytes_for_level_base, 32 << 20);
    let table = family.table;
    assert_eq!((table.block_size, table.format_version), (4096, 4));
    assert_eq!((table.filter_policy, table.checksum), (None, ChecksumType::Crc32c));
    assert_eq!(table.compression.kind, CompressionType::Snappy);
    assert_eq!(
        (table.index_type, table.filter_layout),
        (IndexType::BinarySearch, FilterLayout::Full)
    );
    assert_eq!(batch_operations_max, 5000);
    assert_eq!(compaction_interval, Some(Duration::from_secs(3600)));
}

#[test]
fn the_cache_is_a_tenth_of_a_directorys_share_of_the_memory() {
    for (conf, bytes) in [
        ("ledgerDirectories=/a", 1 << 30),
        ("ledgerDirectories=/a, /b ,/c,/d", 1 << 28),
        ("ledgerDirectories=", 1 << 30),
        ("ledgerDirectories=/a,/b\ndbStorage_rocksDB_blockCacheSize=", 1 << 29),
    ] {
        assert_eq!(read(conf).options.cache_bytes, bytes, "{conf}");
    }
}

#[test]
fn what_is_unknown_misspelt_doubled_or_idle_is_told_by_line() {
    let report = read(
        "# settings\n\
         dbStorage_rocksDB_blokSize=1\n\
         dbStorage_rocksdb_numLevels=5\n\
         dbStorage_rocksDB_somethingElseEntirely=1\n\
         dbStorage_rocksDB_logPath=/logs\n\
         dbStorage_rocksDB_logLevel=warn\n\
         dbStorage_rocksDB_numLevels=5\n\
         dbStorage_rocksDB_numLevels=6\n\
         dbStorage_writeCacheMaxSizeMb=100\n",
    );
    use FindingKind::{DuplicateOption, MisspeltOption, NoEffect, UnknownOption};
    use Severity::{Note, Warning};
    assert_eq!(
        told(&report),
        [
            (MisspeltOption, Warning, "dbStorage_rocksDB_blokSize", 2),
            (MisspeltOption, Warning, "dbStorage_rocksdb_numLevels", 3),
            (UnknownOption, Warning, "dbStorage_rocksDB_somethingElseEntirely", 4),
            (NoEffect, Note, "dbStorage_rocksDB_logPath", 5),
            (NoEffect, Note, "dbStorage_rocksDB_logLevel", 6),
            (DuplicateOption, Warning, "dbStorage_rocksDB_numLevels", 8),
        ]
    );
    assert_eq!(report.options.family.num_levels, 5);
    assert!(report.findings[0].message.contains("dbStorage_rocksDB_blockSize"));
}

#[test]
fn what_keeps_a_bookie_from_starting_is_an_error() {
    for (conf, says) in [
        ("dbStorage_rocksDB_blockSize=64k", "a whole number from 1"),
        ("dbStorage_rocksDB_writeBufferSizeMB=", "a whole number from 1"),
        ("dbStorage_rocksDB_sstSizeInMB=9223372036854775807", "a whole number from 1"),
        ("dbStorage_rocksDB_checksum_type=xxHash", "kxxHash"),
        ("dbStorage_rocksDB_lz4CompressionEnabled=perhaps", "true or false"),
        ("dbStorage_rocksDB_numLevels=many", "a whole number up to 64"),
        ("entryLocationCompactionInterval=599", "not less than gcWaitTime"),
        ("gcWaitTime=900000\nentryLocationCompactionInterval=899", "not less than gcWaitTime"),
    ] {
        let error = read(conf).into_result().unwrap_err();
        assert_eq!(error.kind(), Some(partita::ErrorKind::InvalidArgument));
        assert!(error.to_string().contains(says), "{conf}: {error}");
    }
    assert!(read("gcWaitTime=1000\nentryLocationCompactionInterval=1").into_result().is_ok());
    assert!(read("entryLocationCompactionInterval=-1").into_result().is_ok());
}

const FILE: &str = "[DBOptions]\n create_if_missing=true\n max_background_jobs=7\n [CFOptions \"default\"]\n \
                    compression=kLZ4Compression\n num_levels=6\n[TableOptions/BlockBasedTable \"default\"]\n \
                    block_cache=206150041\n index_type=kTwoLevelIndexSearch\n partition_filters=true\n \
                    pin_top_level_index_and_filter=true\n checksum=kxxHash";

#[test]
fn an_options_file_counts_alone_and_its_last_line_without_a_line_end_does_too() {
    let fs = disk(&[("/conf/entry_location_rocksdb.conf", FILE)]);
    let text = "dbStorage_rocksDB_numLevels=5\nmaxOperationNumbersInSingleRocksdbWriteBatch=9\n";
    let conf = BookieConf { dir: "/conf".into(), ..BookieConf::parse(text) };
    let report = SettingsReport::read(&conf, Profile::EntryLocation, MEMORY_BYTES, &fs).unwrap();
    use FindingKind::{NoEffect, NoFinalNewline};
    assert_eq!(
        told(&report),
        [
            (NoFinalNewline, Severity::Warning, "", 12),
            (NoEffect, Severity::Note, "dbStorage_rocksDB_numLevels", 1),
        ]
    );
    assert!(
        report.findings[1].message.contains("/conf/entry_location_rocksdb.conf counts instead")
    );
    assert_eq!(
        report.options_file.as_deref(),
        Some(Path::new("/conf/entry_location_rocksdb.conf"))
    );
    let options = report.into_result().unwrap();
    assert_eq!((options.db.max_background_jobs, options.family.num_levels), (7, 6));
    assert_eq!((options.cache_bytes, options.batch_operations_max), (206_150_041, 9));
    let table = &options.family.table;
    assert_eq!(
        (table.index_type, table.filter_layout),
        (IndexType::TwoLevel, FilterLayout::Partitioned)
    );
    assert_eq!(table.checksum, ChecksumType::XxHash);
    assert_eq!(options.family.bottommost_compression, None);
}

#[test]
fn an_options_file_is_looked_for_where_the_configuration_says_and_each_profile_has_its_own() {
    let own = "[DBOptions]\n[CFOptions \"default\"]\nnum_levels=4\n";
    let default = "[DBOptions]\n[CFOptions \"default\"]\nnum_levels=3\n";
    let fs = disk(&[
        ("/etc/own.conf", own),
        ("/bk/bk_server.conf", "entryLocationRocksdbConf=/etc/own.conf\n"),
        ("/bk/default_rocksdb.conf", default),
        ("/bk/entry_location_rocksdb.conf", "[nonsense]\n"),
    ]);
    let conf = BookieConf::load(&fs, "/bk/bk_server.conf".as_ref()).unwrap();
    for (profile, levels) in [(Profile::EntryLocation, 4), (Profile::Default, 3)] {
        let report = SettingsReport::read(&conf, profile, MEMORY_BYTES, &fs).unwrap();
        assert_eq!(report.options.family.num_levels, levels);
        assert_eq!(report.options.cache_bytes, CACHE_BYTES_OF_FILE);
    }
}

#[test]
fn an_options_file_that_rocksdb_would_refuse_is_an_error() {
    let text = "[DBOptions]\nmax_open_file=10\n[CFOptions \"default\"]\n";
    let fs = disk(&[("/bk/bk_server.conf", ""), ("/bk/entry_location_rocksdb.conf", text)]);
    let conf = BookieConf::load(&fs, "/bk/bk_server.conf".as_ref()).unwrap();
    let report = SettingsReport::read(&conf, Profile::EntryLocation, MEMORY_BYTES, &fs).unwrap();
    assert!(report.into_result().unwrap_err().to_string().contains("max_open_files"));
}

#[test]
fn the_default_profile_heeds_format_and_checksum_only() {
    let conf = BookieConf::parse(
        "dbStorage_rocksDB_checksum_type=kXXH3\ndbStorage_rocksDB_blockSize=8192\n",
    );
    let fs = MemoryFileSystem::new();
    let report = SettingsReport::read(&conf, Profile::Default, MEMORY_BYTES, &fs).unwrap();
    assert_eq!(
        told(&report),
        [(FindingKind::NoEffect, Severity::Note, "dbStorage_rocksDB_blockSize", 2)]
    );
    let options = report.options;
    assert_eq!(options.family.table.checksum, ChecksumType::Xxh3);
    assert_eq!(options.family.table.block_size, 4096);
    assert!(options.family.table.filter_policy.is_some());
    assert_eq!(options.cache_bytes, CACHE_BYTES_OF_FILE);
}
