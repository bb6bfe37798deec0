//! A bookie's configuration, with an options file beside it or without: any bytes are read with findings, and options without
//! an error among these are ones that an index can be opened with.

use std::path::Path;

use partita::io::{FileSystem as _, MemoryFileSystem};
use partita::options::file::Severity;
use partita_ledger::{BookieConf, Profile, SettingsReport};

use crate::meter;

/// Between the configuration and the options file.
const BORDER: u8 = 0;

/// Reads the bytes as `bk_server.conf`, and those behind the first zero, if there is one, as an options file.
pub fn run(bytes: &[u8]) {
    let (conf, file) = match bytes.iter().position(|byte| *byte == BORDER) {
        Some(at) => (&bytes[..at], Some(&bytes[at + 1..])),
        None => (bytes, None),
    };
    let fs = disk(file);
    let text = String::from_utf8_lossy(conf);
    let conf = meter::within(128 * text.len() + (1 << 16), || BookieConf::parse(&text));
    let lines =
        text.lines().count().max(file.map_or(0, |file| file.split(|b| *b == b'\n').count()));
    for profile in [Profile::EntryLocation, Profile::Default] {
        let report = SettingsReport::read(&conf, profile, 1 << 30, &fs).expect("files can be read");
        for finding in &report.findings {
            let is_in_file = |line| (1..=lines).contains(&(line as usize));
            assert!(finding.line.is_none_or(is_in_file), "{finding}");
        }
        let failed = report.findings.iter().any(|finding| finding.severity == Severity::Error);
        let Ok(options) = report.into_result() else {
            assert!(failed);
            continue;
        };
        assert!(!failed && options.batch_operations_max > 0);
        options.db.validate().expect("options without an error are valid");
        options.family.validate().expect("options without an error are valid");
    }
}

/// A disk with this options file.
fn disk(file: Option<&[u8]>) -> MemoryFileSystem {
    let fs = MemoryFileSystem::new();
    if let Some(file) = file {
        let dir = Path::new(BookieConf::DIR);
        fs.create_dir_all(dir).expect("memory takes it");
        let path = dir.join("entry_location_rocksdb.conf");
        let mut new = fs.create(&path).expect("memory takes it");
        new.append(file).and_then(|()| new.flush()).expect("memory takes it");
    }
    fs
}

/// Configurations of every kind.
pub fn seeds() -> Vec<Vec<u8>> {
    const FILE: &[u8] =
        include_bytes!("../../../crates/partita/src/options/testdata/entry_location_rocksdb.conf");
    let plain: [&[u8]; 4] = [
        b"ledgerDirectories=/a,\\\n  /b\ndbStorage_rocksDB_blockCacheSize=1000\ndbStorage_rocksDB_blokSize=3\n",
        b"dbStorage_rocksDB_writeBufferSizeMB=8\ndbStorage_rocksDB_sstSizeInMB : 16\ndbStorage_rocksDB_blockSize 4096\n\
          dbStorage_rocksDB_bloomFilterBitsPerKey=0\ndbStorage_rocksDB_numLevels=-1\n",
        b"! x\ndbStorage_rocksDB_format_version=2\ndbStorage_rocksDB_checksum_type=kCRC32c\n\
          dbStorage_rocksDB_partitionedIndexAndFiltersEnabled=no\ndbStorage_rocksDB_lz4CompressionEnabled=OFF\n",
        b"entryLocationCompactionInterval=3600\ngcWaitTime=1\nmaxOperationNumbersInSingleRocksdbWriteBatch=7\n\
          dbStorage_rocksDB_numFilesInLevel0=4\ndbStorage_rocksDB_maxSizeInLevel1MB=256\n",
    ];
    let with_file = [plain[0], &[BORDER], FILE].concat();
    plain.into_iter().map(<[u8]>::to_vec).chain([with_file]).collect()
}
