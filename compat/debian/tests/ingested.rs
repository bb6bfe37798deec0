//! External files: RocksDB 7.8.3 and Partita ingest the same ones into copies of the same database, put them on the same levels,
//! and read each other's results; and each ingests what the other wrote.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use partita::db::{DbBuilder, FileTransfer, IngestOptions};
use partita::io::DiskFileSystem;
use partita::options::CompactionStyle;
use partita::version::{VersionSet, VersionSetOptions};
use partita_compat_debian::directories::open_with_small_tables;
use partita_compat_debian::external::{self, Shape};
use partita_compat_debian::random::Random;
use partita_compat_debian::{ldb, rocksdict, twins};
use partita_compat_rocks::db::write_external_file;
use partita_compat_rocks::history::History;
use partita_compat_rocks::matrix::Version;
use partita_compat_rocks::sessions::{self, assert_rows, rows_of_all};
use partita_compat_rocks::setups::{FAMILIES, selected};
use partita_compat_rocks::whole::{Ingestion, WholeDb};

/// Level, first and last key of each table of the first family.
fn tables(dir: &Path) -> Vec<(usize, Vec<u8>, Vec<u8>)> {
    let options = VersionSetOptions { read_only: true, ..VersionSetOptions::default() };
    let versions = VersionSet::recover(Arc::new(DiskFileSystem), dir, options).unwrap();
    let version = versions.families()[0].current();
    let ends = version.files().map(|(level, file)| {
        (level, file.smallest_user_key().to_vec(), file.largest_user_key().to_vec())
    });
    let mut tables: Vec<_> = ends.collect();
    tables.sort();
    tables
}

#[test]
fn files_stand_where_rocksdb_puts_them_and_read_the_same() {
    let holder = tempfile::tempdir().unwrap();
    let at = |name: &str| holder.path().join(name);
    let (mut ingested, mut refused, mut deep) = (0, 0, 0);
    let setups = selected(Version::V7_8);
    for (number, setup) in setups.iter().enumerate() {
        let mut history = History::new(setup, 900 + number as u64);
        let mut random = Random(number as u64 + 3);
        let are_apart = number.is_multiple_of(2);
        let (ours, theirs) = (at(&format!("ours{number}")), at(&format!("theirs{number}")));
        let reopened = |without| open_with_small_tables(&ours, setup, without);
        let (db, rocksdb) = twins::make(&ours, &theirs, &mut history, 120, reopened);
        let families = FAMILIES.map(|name| db.family(name).unwrap());
        for round in 0..30 {
            if random.below(3) == 0 {
                let batch = history.next_batch();
                rocksdb.write(&batch).unwrap();
                sessions::write(&db, &families, batch).unwrap();
            }
            let paths: Vec<PathBuf> = (0..1 + random.below(3))
                .map(|file| at(&format!("external.{number}.{round}.{file}")))
                .collect();
            for (at, path) in paths.iter().enumerate() {
                let within = if are_apart { at * 400..at * 400 + 380 } else { 0..1180 };
                external::write(
                    path,
                    setup,
                    &mut random,
                    &Shape { within, few: 12, many: 300, may_abut: true },
                );
            }
            let how = Ingestion {
                without_global_seqno: random.below(4) == 0,
                without_flush: random.below(4) == 0,
                shown_to_snapshots: random.below(4) == 0,
                ..Ingestion::default()
            };
            let options = IngestOptions {
                allow_global_seqno: !how.without_global_seqno,
                allow_blocking_flush: !how.without_flush,
                snapshot_consistency: !how.shown_to_snapshots,
                transfer: [FileTransfer::Copy, FileTransfer::Link][round % 2],
                ..IngestOptions::default()
            };
            // We flush where a file would come before older entries on level 0, too: both have the same in memory each time.
            let flush_both = || {
                rocksdb.flush(0).unwrap();
                db.flush_cf(&families[0]).unwrap();
            };
            if !how.without_flush {
                flush_both();
            }
            let told = rocksdb.ingest(0, &paths, how);
            let mut done = db.ingest(&families[0], &paths, &options);
            let is_overtaken = |error: &partita::Error| error.message().contains("overtaken");
            if told.is_ok() && done.as_ref().is_err_and(is_overtaken) {
                flush_both();
                done = db.ingest(&families[0], &paths, &options);
            }
            let name = format!("{}, round {round}: {how:?}: {told:?}, {done:?}", setup.name);
            assert_eq!(told.is_ok(), done.is_ok(), "{name}");
            match done {
                Ok(files) => {
                    ingested += files.len();
                    deep += files.iter().filter(|file| file.level > 0).count();
                }
                Err(_) => refused += 1,
            }
            let rows = sessions::rows_of_all(&db);
            assert_rows(&rows[0], &rocksdb.rows_forward(0).unwrap(), &name);
        }
        for family in 0..FAMILIES.len() {
            rocksdb.flush(family).unwrap();
        }
        db.flush().unwrap();
        drop((rocksdb, families, db));
        // In universal trees, and with files that overlap, 7.8.3 uses level 0 where later versions go deeper; in FIFO trees the
        // other way round. We do as the later ones.
        let style = setup.our_family_options().compaction_style;
        if style == CompactionStyle::Level && are_apart {
            assert_eq!(tables(&ours), tables(&theirs), "{}", setup.name);
        }
        // Each reads the other's.
        let of_ours = rows_of_all(&DbBuilder::new(&ours).open_read_only().unwrap());
        let of_theirs = rows_of_all(&DbBuilder::new(&theirs).open_read_only().unwrap());
        assert_rows(&of_ours[0], &of_theirs[0], setup.name);
        ldb::check_consistency(&ours).unwrap_or_else(|said| panic!("{}: {said}", setup.name));
        let rocksdb = WholeDb::load(&ours, &FAMILIES, false, "").unwrap();
        rocksdb.compact(0, partita_compat_rocks::whole::LastLevel::Force);
        assert_rows(
            &rocksdb.rows_backward(0).unwrap(),
            &{
                let mut rows = of_ours[0].clone();
                rows.reverse();
                rows
            },
            setup.name,
        );
    }
    let enough = ingested > 300 && refused > 30 && deep > 60;
    assert!(enough || setups.len() < 20, "{ingested}, {refused}, {deep}");
}

#[test]
fn each_ingests_what_the_other_wrote() {
    let holder = tempfile::tempdir().unwrap();
    let at = |name: &str| holder.path().join(name);
    let rows: Vec<_> =
        (0..2000_u32).map(|i| (format!("k{i:05}").into_bytes(), vec![i as u8; 40])).collect();
    for (number, options) in [
        "",
        "block_based_table_factory={format_version=3;checksum=kxxHash}",
        "block_based_table_factory={filter_policy=bloomfilter:10:false;partition_filters=true;\
         index_type=kTwoLevelIndexSearch;metadata_block_size=512}",
        "compression=kZSTD",
    ]
    .into_iter()
    .enumerate()
    {
        let theirs = at(&format!("theirs{number}.sst"));
        write_external_file(&theirs, options, &rows).unwrap();
        let dir = at(&format!("db{number}"));
        let create = partita::options::DbOptions { create_if_missing: true, ..Default::default() };
        let db = DbBuilder::new(&dir).options(create).open().unwrap();
        db.put(b"k00005", b"old").unwrap();
        let files = db
            .ingest(&db.default_family(), &[&theirs], &IngestOptions::default())
            .unwrap_or_else(|error| panic!("{options}: {error}"));
        assert_eq!(files[0].level, 0);
        assert_eq!(db.get(b"k00005").unwrap().unwrap(), vec![5; 40]);
        // A file of ours over it, which 9.8.4 then reads together with theirs.
        let ours = at(&format!("ours{number}.sst"));
        let mut writer = db.sst_file_writer(&db.default_family(), &ours).unwrap();
        writer.delete_range(b"k00010", b"k01990").unwrap();
        writer.finish().unwrap();
        db.ingest(&db.default_family(), &[&ours], &IngestOptions::default()).unwrap();
        drop(db);
        let left = [&rows[..10], &rows[1990..]].concat();
        assert_rows(&ldb::rows(&dir, "default").unwrap(), &left, options);
        for compact in [false, true] {
            assert_rows(&rocksdict::open_and_scan(&dir, compact).unwrap(), &left, options);
        }
        let reader = DbBuilder::new(&dir).open_read_only().unwrap();
        assert_eq!(reader.get(b"k00010").unwrap(), None);
        assert_eq!(reader.get(b"k01990").unwrap().unwrap(), vec![198; 40]);
    }
}
