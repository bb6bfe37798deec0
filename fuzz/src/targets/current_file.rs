//! CURRENT, of any bytes, in a directory with manifests.
//!
//! * A manifest's name and a line feed, and nothing else, opens: the database is the one of that manifest. That is so for
//!   RocksDB, which would not read what is lenient here (rocksdb#8682, rocksdb#4322).
//! * All else is an error that names the file it is about and says what to do, and changes nothing.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use partita::cache::Cache;
use partita::db::DbBuilder;
use partita::io::ManualScheduler;
use partita::options::DbOptions;
use partita::version::{FileName, read_current};

use crate::choices::Choices;
use crate::meter;
use crate::models::directory::{DIR, Files, disk, files_on};

/// The numbers of the manifests that may be there. The first byte has a bit for each.
const MANIFESTS: [u64; 4] = [1, 5, 1_234_567, 9];

/// Opens a database with the bytes behind the first as its CURRENT.
pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let there = choices.byte();
    let current = choices.rest();
    let mut files = Files::from([("CURRENT".to_owned(), current.to_vec())]);
    for (_, number) in MANIFESTS.iter().enumerate().filter(|(at, _)| there >> at & 1 == 1) {
        files.insert(FileName::Manifest((*number).into()).to_string(), manifest().clone());
    }
    let disk = disk(&files);
    let read =
        meter::within((12 << 10) + 16 * current.len(), || read_current(&disk, Path::new(DIR)));
    let named = named(current);
    assert_eq!(read.as_ref().ok().map(|number| number.get()), named);
    let opened = builder(&disk).open_read_only();
    let is_there = named.is_some_and(|number| {
        MANIFESTS.iter().enumerate().any(|(at, one)| *one == number && there >> at & 1 == 1)
    });
    match &opened {
        Ok(db) => {
            assert!(is_there, "a manifest that is not there");
            assert_eq!(db.families().len(), 1);
        }
        Err(error) => {
            assert!(!is_there, "{error}");
            assert!(error.is_corruption(), "{error}");
            let about = error.file().and_then(|file| file.file_name()).expect("a file is named");
            let about = about.to_str().expect("names are text");
            match named {
                Some(number) => assert_eq!(about, FileName::Manifest(number.into()).to_string()),
                None => assert_eq!(about, "CURRENT"),
            }
            let refused = builder(&disk).open().expect_err("it is refused to who writes, too");
            assert_eq!(refused.to_string(), error.to_string());
        }
    }
    let mut left = files_on(&disk);
    left.remove("LOCK");
    assert!(left == files, "an opening that fails, or only reads, changes nothing");
}

fn builder(disk: &partita::io::MemoryFileSystem) -> DbBuilder {
    DbBuilder::new(DIR)
        .file_system(Arc::new(disk.clone()))
        .cache(Cache::new(64 << 10))
        .scheduler(Arc::new(ManualScheduler::in_order()))
}

/// The number that such a file names, read slowly.
fn named(current: &[u8]) -> Option<u64> {
    let name = std::str::from_utf8(current).ok()?.strip_suffix('\n')?;
    let digits = name.strip_prefix("MANIFEST-")?;
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().filter(|number| *number < 1 << 62)
}

/// The manifest of a database without tables.
fn manifest() -> &'static Vec<u8> {
    static MANIFEST: OnceLock<Vec<u8>> = OnceLock::new();
    MANIFEST.get_or_init(|| {
        let disk = disk(&Files::new());
        let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
        builder(&disk).options(options).open().expect("memory takes a database");
        let files = files_on(&disk);
        let current = String::from_utf8(files["CURRENT"].clone()).expect("a name");
        files[current.trim_end()].clone()
    })
}

/// Names of manifests, and what crashes and editors make of them.
pub fn seeds() -> Vec<Vec<u8>> {
    let texts: [&[u8]; 14] = [
        b"MANIFEST-000005\n",
        b"MANIFEST-000001\n",
        b"MANIFEST-1234567\n",
        b"MANIFEST-5\n",
        b"MANIFEST-000005",
        b"MANIFEST-000005\r\n",
        b"MANIFEST-000005\n\n",
        b"MANIFEST-000007\n",
        b"",
        b"\n",
        b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        b"000005.sst\n",
        b"MANIFEST-18446744073709551616\n",
        b"./MANIFEST-000005\n",
    ];
    texts.iter().map(|text| [&[0xff][..], text].concat()).collect()
}
