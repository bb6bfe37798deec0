//! Opened by us to be read, while RocksDB 7.8.3 writes, flushes, compacts and recycles logs in the same directory.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use partita::ErrorKind;
use partita::db::DbBuilder;
use partita_compat_rocks::db::Op;
use partita_compat_rocks::sessions::rows_of_all;
use partita_compat_rocks::setups::FAMILIES;
use partita_compat_rocks::whole::{Change, LastLevel, WholeDb};

const STEPS: u32 = 300;

/// A step sets ten keys of each family to its number.
fn write(db: &WholeDb, n: u32) {
    let change = |family: usize, key: u8| {
        let value = n.to_be_bytes().repeat(30);
        Change { family, op: Op::Put(vec![key], value) }
    };
    let changes: Vec<Change> = (0..FAMILIES.len())
        .flat_map(|family| (0..10).map(move |key| change(family, key)))
        .collect();
    db.write(&changes).unwrap();
    if n.is_multiple_of(3) {
        db.flush(n as usize / 3 % FAMILIES.len()).unwrap();
    }
    if n.is_multiple_of(20) {
        db.compact(n as usize / 20 % FAMILIES.len(), LastLevel::Force);
    }
}

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
    let families = rows_of_all(&db);
    let values: Vec<u32> = families
        .iter()
        .flatten()
        .map(|(_, value)| u32::from_be_bytes(value[..4].try_into().unwrap()))
        .collect();
    assert_eq!(values.len(), 10 * FAMILIES.len());
    assert!(values.iter().all(|value| *value == values[0]), "{values:?}");
    Some(values[0])
}

#[test]
fn what_rocksdb_is_writing_is_opened_whole_and_never_older_than_before() {
    for options in ["", "recycle_log_file_num=3", "max_manifest_file_size=500"] {
        let holder = tempfile::tempdir().unwrap();
        let dir = holder.path().join("db");
        let db = WholeDb::create(&dir, options, &FAMILIES, "write_buffer_size=65536").unwrap();
        write(&db, 1);
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
                write(&db, n);
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
