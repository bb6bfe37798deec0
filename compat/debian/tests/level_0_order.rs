//! A file ingested past the memtable, merged with older runs on level 0 before the memtable is flushed: the sequence numbers
//! of tables on level 0 must not overlap, or RocksDB before 7.10, which orders them by these, refuses the database.

use std::path::Path;

use partita::db::{DbBuilder, FamilyConfig, IngestOptions};
use partita::options::{ColumnFamilyOptions, DbOptions};
use partita_compat_rocks::whole::WholeDb;

fn write_with_partita(dir: &Path) {
    let mut options = ColumnFamilyOptions::default();
    for (name, value) in [
        ("compaction_style", "kCompactionStyleUniversal"),
        ("level0_file_num_compaction_trigger", "3"),
        ("compression", "kNoCompression"),
    ] {
        options.set(name, value).unwrap();
    }
    let db_options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    let config = FamilyConfig { options: Some(options), ..FamilyConfig::default() };
    let db = DbBuilder::new(dir).options(db_options).family("default", config).open().unwrap();
    let family = db.default_family();
    // The oldest run is much larger, so that the two newer ones are merged by themselves.
    for at in 0..2000 {
        db.put(format!("key{at:05}").as_bytes(), &[7; 200]).unwrap();
    }
    db.flush().unwrap();
    db.put(b"key00100", b"old").unwrap();
    db.put(b"key00300", b"old").unwrap();
    db.flush().unwrap();
    db.put(b"key00100", b"new").unwrap();
    let file = dir.with_extension("sst");
    let mut writer = db.sst_file_writer(&family, &file).unwrap();
    writer.put(b"key00200", b"ingested").unwrap();
    writer.finish().unwrap();
    db.ingest_several(&[(family, vec![file])], &IngestOptions::default()).unwrap();
    db.wait_for_background_work().unwrap();
    db.flush().unwrap();
    assert_eq!(db.get(b"key00100").unwrap().as_deref(), Some(&b"new"[..]));
    db.close().unwrap();
}

#[test]
fn rocksdb_reads_what_was_ingested_past_the_memtable_and_merged() {
    let work = tempfile::tempdir().unwrap();
    let dir = work.path().join("db");
    write_with_partita(&dir);
    let theirs = WholeDb::load(&dir, &["default"], false, "force_consistency_checks=true").unwrap();
    assert_eq!(theirs.get(0, b"key00100").unwrap().as_deref(), Some(&b"new"[..]));
    assert_eq!(theirs.get(0, b"key00200").unwrap().as_deref(), Some(&b"ingested"[..]));
}
