//! Opened by us to be read, while RocksDB 7.8.3 writes, flushes, compacts and recycles logs in the same directory.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use partita::ErrorKind;
use partita::db::DbBuilder;
use partita_compat_debian::steps;
use partita_compat_rocks::setups::FAMILIES;
use partita_compat_rocks::whole::WholeDb;

const STEPS: u32 = 300;

/// The step that a reader sees, whole, if it can be opened.
fn seen(dir: &Path) -> Option<u32> {
    let db = match DbBuilder::new(dir).open_read_only() {
        Ok(db) => db,
        Err(error) => {
            // RocksDB may be too fast for us.
            assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
            return None;
        }
    };
    Some(steps::seen(&db))
}

#[test]
fn what_rocksdb_is_writing_is_opened_whole_and_never_older_than_before() {
    for options in ["", "recycle_log_file_num=3", "max_manifest_file_size=500"] {
        let holder = tempfile::tempdir().unwrap();
        let dir = holder.path().join("db");
        let db = WholeDb::create(&dir, options, &FAMILIES, "write_buffer_size=65536").unwrap();
        steps::take(&db, 1);
        let ended = AtomicBool::new(false);
        let opened = std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let (mut before, mut opened) = (1, 0);
                while !ended.load(Ordering::Acquire) {
                    let Some(last) = seen(&dir) else { continue };
                    assert!(last >= before, "{options}: {last} after {before}");
                    before = last;
                    opened += 1;
                }
                opened
            });
            for n in 2..=STEPS {
                steps::take(&db, n);
                if reader.is_finished() {
                    break;
                }
            }
            ended.store(true, Ordering::Release);
            reader.join().unwrap()
        });
        assert!(opened > 3, "{options}: {opened}");
        assert_eq!(seen(&dir), Some(STEPS), "{options}");
        println!("{options:?}: opened {opened} times");
    }
}
