//! A secondary of ours, while RocksDB 7.8.3 or Partita writes, flushes, compacts and recycles logs in the same directory: a
//! thousand catch-ups and openings, each of which shows a cut of what was written, and none of which fails.
//!
//! ```text
//! PARTITA_SECONDARY_LOOKS=100000 cargo test --release -p partita-compat-debian --test secondary
//! ```

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use partita::db::{Db, DbBuilder, FamilyConfig, ReadOptions, WriteOptions};
use partita::options::{ColumnFamilyOptions, DbOptions};
use partita::table::ReadContext;
use partita_compat_debian::steps::{self, changes, seen};
use partita_compat_rocks::db::Op;
use partita_compat_rocks::setups::FAMILIES;
use partita_compat_rocks::whole::{Change, WholeDb};

/// Steps that are written meanwhile, at least.
const STEPS: u32 = 60;

/// How often it is looked, for each of the writers.
fn looks() -> u32 {
    std::env::var("PARTITA_SECONDARY_LOOKS").map_or(1000, |looks| looks.parse().unwrap())
}

trait Primary {
    fn step(&self, n: u32);
}

impl Primary for WholeDb {
    fn step(&self, n: u32) {
        steps::take(self, n);
    }
}

impl Primary for Db {
    fn step(&self, n: u32) {
        let families = FAMILIES.map(|name| self.family(name).unwrap());
        let mut batch = partita::batch::WriteBatch::new();
        for Change { family, op } in changes(n) {
            let Op::Put(key, value) = op else { unreachable!("puts alone") };
            batch.put_cf(families[family].id(), &key, &value).unwrap();
        }
        self.write(batch, &WriteOptions::default()).unwrap();
        if n.is_multiple_of(3) {
            self.flush_cf(&families[n as usize / 3 % FAMILIES.len()]).unwrap();
        }
        if n.is_multiple_of(20) {
            self.compact_range(&families[n as usize / 20 % FAMILIES.len()], None, None).unwrap();
        }
    }
}

/// Looks again and again at what `primary` writes without a pause, with one secondary and with ever new ones.
fn follow(primary: &impl Primary, dir: &Path, name: &str) {
    primary.step(1);
    let ended = AtomicBool::new(false);
    let progress = AtomicU32::new(1);
    let mut written = 1;
    let secondary = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let _end = End(&ended);
            look_on(dir, name, &progress)
        });
        // Also if a step fails.
        let _released = Released(&progress);
        while !ended.load(Ordering::Acquire) {
            written += 1;
            primary.step(written);
            progress.store(written, Ordering::Release);
        }
        reader.join().unwrap()
    });
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!(seen(&secondary), written, "{name}");
    println!("{name}: {} looks at least while {written} steps were written", looks());
}

fn look_on(dir: &Path, name: &str, progress: &AtomicU32) -> Db {
    let secondary = DbBuilder::new(dir).open_secondary().unwrap();
    let mut before = seen(&secondary);
    let (old, held) = (before, ReadOptions::at(&secondary.snapshot()));
    let mut look = 0;
    // A slow writer is waited for.
    while look < looks() || progress.load(Ordering::Acquire) < STEPS {
        look += 1;
        let last = if look % 10 == 9 {
            let other = DbBuilder::new(dir).open_secondary();
            seen(&other.unwrap_or_else(|error| panic!("{name}, opening {look}: {error}")))
        } else {
            let caught_up = secondary.try_catch_up_with_primary();
            caught_up.unwrap_or_else(|error| panic!("{name}, look {look}: {error}"));
            seen(&secondary)
        };
        assert!(last >= before, "{name}: {last} after {before}");
        before = last;
    }
    let family = secondary.family(FAMILIES[0]).unwrap();
    let value = secondary.get_with(&family, &[3], &held, &mut ReadContext::default());
    assert_eq!(value.unwrap().unwrap()[..4], old.to_be_bytes());
    secondary
}

struct Released<'p>(&'p AtomicU32);

impl Drop for Released<'_> {
    fn drop(&mut self) {
        self.0.store(STEPS, Ordering::Release);
    }
}

struct End<'e>(&'e AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[test]
fn what_rocksdb_writes_is_followed_without_an_error_and_never_back() {
    for options in ["", "recycle_log_file_num=3", "max_manifest_file_size=500"] {
        let holder = tempfile::tempdir().unwrap();
        let dir = holder.path().join("db");
        let db = WholeDb::create(&dir, options, &FAMILIES, "write_buffer_size=65536").unwrap();
        follow(&db, &dir, &format!("RocksDB {options:?}"));
    }
}

#[test]
fn what_we_write_is_followed_without_an_error_and_never_back() {
    for (recycle_log_file_num, max_manifest_file_size) in [(0, 1 << 30), (3, 1 << 30), (0, 500)] {
        let holder = tempfile::tempdir().unwrap();
        let dir = holder.path().join("db");
        let options = DbOptions {
            create_if_missing: true,
            create_missing_column_families: true,
            recycle_log_file_num,
            max_manifest_file_size,
            ..DbOptions::default()
        };
        let small =
            ColumnFamilyOptions { write_buffer_size: 65536, ..ColumnFamilyOptions::default() };
        let config = FamilyConfig { options: Some(small), ..FamilyConfig::default() };
        let builder = DbBuilder::new(&dir).options(options);
        let builder =
            FAMILIES.iter().fold(builder, |builder, name| builder.family(name, config.clone()));
        let db = builder.open().unwrap();
        let name = format!("Partita {recycle_log_file_num} {max_manifest_file_size}");
        follow(&db, &dir, &name);
    }
}

/// Names, lengths, times and contents of all files.
fn listing(dir: &Path) -> BTreeMap<PathBuf, (std::time::SystemTime, u64)> {
    let entry = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.unwrap().path();
        let mut hash = DefaultHasher::new();
        std::fs::read(&path).unwrap().hash(&mut hash);
        (path.clone(), (path.metadata().unwrap().modified().unwrap(), hash.finish()))
    };
    std::fs::read_dir(dir).unwrap().map(entry).collect()
}

/// RocksDB's own secondary instances have removed and changed files of their primaries.
#[test]
fn the_primarys_directory_is_as_it_was() {
    let holder = tempfile::tempdir().unwrap();
    let dir = holder.path().join("db");
    let db = WholeDb::create(&dir, "", &FAMILIES, "write_buffer_size=65536").unwrap();
    (1..50).for_each(|n| db.step(n));
    let secondary = DbBuilder::new(&dir).open_secondary().unwrap();
    let kept = secondary.iter().unwrap();
    (50..100).for_each(|n| db.step(n));
    // Files that nobody needs are removed when it is closed.
    drop(db);
    let before = listing(&dir);
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!(seen(&secondary), 99);
    drop(kept);
    assert_eq!(seen(&DbBuilder::new(&dir).open_secondary().unwrap()), 99);
    secondary.close().unwrap();
    drop(secondary);
    assert_eq!(listing(&dir), before);
    let again = WholeDb::load(&dir, &FAMILIES, false, "").unwrap();
    again.step(100);
}
