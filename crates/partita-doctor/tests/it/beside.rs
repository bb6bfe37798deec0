//! Readers beside a writer: the doctor, and a database opened to be read.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use partita::db::{Db, DbBuilder};
use partita::io::DiskFileSystem;
use partita::options::DbOptions;
use partita_doctor::{Request, examine};

/// All files with their bytes.
fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect()
}

fn write(db: &Db, round: u32) {
    for number in 0..200u32 {
        db.put(&number.to_be_bytes(), &round.to_be_bytes()).unwrap();
    }
}

// rocksdb#14881: a reader that was closed removed files that the writer had just made.
#[test]
fn readers_that_come_and_go_beside_a_writer_change_nothing() {
    let holder = tempfile::tempdir().unwrap();
    let dir = holder.path().join("db");
    let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    let db = DbBuilder::new(&dir).options(options).open().unwrap();
    let request = Request { verify: true, ..Request::default() };
    let look = || examine(&DiskFileSystem, std::slice::from_ref(&dir), &request);
    for round in 0..4 {
        write(&db, round);
        if round % 2 == 1 {
            db.flush().unwrap();
        }
        db.wait_for_background_work().unwrap();
        let before = contents(&dir);
        let reader = DbBuilder::new(&dir).open_read_only().unwrap();
        let report = look();
        assert!(contents(&dir) == before, "round {round}: changed by looking");
        assert_eq!(report.problems, []);
        // The writer makes new tables, and removes those that the readers have seen.
        write(&db, 100 + round);
        db.flush().unwrap();
        db.compact_range(&db.default_family(), None, None).unwrap();
        db.wait_for_background_work().unwrap();
        let before = contents(&dir);
        assert_eq!(reader.get(&7u32.to_be_bytes()).unwrap().unwrap(), round.to_be_bytes());
        reader.close().unwrap();
        drop((reader, report));
        assert!(contents(&dir) == before, "round {round}: changed by going");
        assert_eq!(db.get(&7u32.to_be_bytes()).unwrap().unwrap(), (100 + round).to_be_bytes());
    }
    let report = look();
    let verified = report.databases[0].verified.as_ref().unwrap();
    assert!(verified.tables > 0 && verified.damages.is_empty() && verified.unread.is_empty());
    db.close().unwrap();
}
