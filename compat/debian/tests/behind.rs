//! Files behind all others: RocksDB and Partita take the same ones into databases with the same history, refuse the same ones,
//! put them on the same level and read the same; and each goes on where the other stopped.
//!
//! Two things of RocksDB's earlier versions are not compared, for they lose what is asked for. Before 8.3 compactions take the
//! tables of the last level along, and no file comes behind any more. Before 10.6 compactions drop deletions below which there is
//! nothing, and what comes behind them is there again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use partita::db::{ColumnFamily, Db, DbBuilder, FamilyConfig, IngestOptions};
use partita::io::DiskFileSystem;
use partita::options::{ColumnFamilyOptions, CompactionStyle, DbOptions};
use partita::version::{TableFile, VersionSet, VersionSetOptions};
use partita_compat_debian::directories::copy;
use partita_compat_debian::external::{self, Shape};
use partita_compat_debian::late_player::LatePlayer;
use partita_compat_debian::random::Random;
use partita_compat_debian::{ldb, twins};
use partita_compat_rocks::history::{History, key};
use partita_compat_rocks::matrix::Version;
use partita_compat_rocks::ping_pong::Player as _;
use partita_compat_rocks::sessions::{self, assert_rows, rows_of_all};
use partita_compat_rocks::setups::{FAMILIES, Setup, selected};
use partita_compat_rocks::whole::{Ingestion, LastLevel, WholeDb};
use partita_proof::state::Order;
use partita_proof::step::{self, Change, Durability, Op, Slot, Step};
use partita_proof::subject::Subject as _;

const LAST_LEVEL: usize = 4;
const KEYS: usize = 1180;
const BEHIND: Ingestion = Ingestion {
    moved: false,
    shown_to_snapshots: false,
    without_global_seqno: false,
    without_flush: false,
    behind: true,
};

/// Opens a database of universal trees that keep level 4 free.
fn open(dir: &Path, setup: &Setup, disable_auto_compactions: bool) -> Db {
    let options = DbOptions { allow_ingest_behind: true, ..setup.our_db_options() };
    let builder = FAMILIES.iter().fold(DbBuilder::new(dir).options(options), |builder, family| {
        let options = ColumnFamilyOptions {
            num_levels: LAST_LEVEL as i32 + 1,
            target_file_size_base: 4 << 10,
            disable_auto_compactions,
            ..setup.our_family_options()
        };
        let options = Some(options);
        builder.family(family, FamilyConfig { options, ..FamilyConfig::default() })
    });
    builder.open().unwrap()
}

fn universal() -> Vec<Setup> {
    let mut setups = selected(Version::V7_8);
    setups.retain(|it| it.our_family_options().compaction_style == CompactionStyle::Universal);
    setups
}

fn ingest(db: &Db, family: &ColumnFamily, paths: &[PathBuf]) -> Result<(), String> {
    let options = IngestOptions { behind: true, ..IngestOptions::default() };
    db.ingest(family, paths, &options).map(drop).map_err(|error| error.to_string())
}

/// Smallest and largest key, smallest and largest sequence number.
type Table = (Vec<u8>, Vec<u8>, u64, u64);

/// The tables that the first family has on the last level, and whether there are numbers 0 above.
fn tables(dir: &Path) -> (Vec<Table>, bool) {
    let options = VersionSetOptions { read_only: true, ..VersionSetOptions::default() };
    let versions = VersionSet::recover(Arc::new(DiskFileSystem), dir, options).unwrap();
    let version = versions.families()[0].current();
    let is_zero_above = |(level, file): (usize, &Arc<TableFile>)| {
        level < LAST_LEVEL && file.smallest_seqno.get() == 0
    };
    let zeros_above = version.files().any(is_zero_above);
    let last = version.files().filter(|(level, _)| *level == LAST_LEVEL).map(|(_, file)| {
        let (from, to) = (file.smallest_user_key().to_vec(), file.largest_user_key().to_vec());
        (from, to, file.smallest_seqno.get(), file.largest_seqno.get())
    });
    (last.collect(), zeros_above)
}

/// One file, or two that may overlap.
fn files(at: &Path, setup: &Setup, random: &mut Random, round: usize) -> Vec<PathBuf> {
    let shape = Shape { within: 0..KEYS, few: 12, many: 60, may_abut: false };
    (0..1 + random.below(2))
        .map(|file| {
            let path = at.with_extension(format!("{round}.{file}.sst"));
            external::write(&path, setup, random, &shape);
            path
        })
        .collect()
}

#[test]
fn files_behind_stand_where_rocksdb_puts_them_and_read_the_same() {
    let holder = tempfile::tempdir().unwrap();
    let (mut ingested, mut refused) = (0, 0);
    let setups = universal();
    for (number, setup) in setups.iter().enumerate() {
        let name = setup.name;
        let mut history = History::new(setup, 70 + number as u64);
        let mut random = Random(number as u64 + 3);
        let at = |name: &str| holder.path().join(format!("{name}{number}"));
        let (ours, theirs) = (at("ours"), at("theirs"));
        let reopened = |without_compactions| open(&ours, setup, without_compactions);
        let (db, rocksdb) = twins::make(&ours, &theirs, &mut history, 100, reopened);
        let families = FAMILIES.map(|name| db.family(name).unwrap());
        for round in 0..40 {
            for _ in 0..random.below(3) {
                let batch = history.next_batch();
                rocksdb.write(&batch).unwrap();
                sessions::write(&db, &families, batch).unwrap();
            }
            let paths = files(&at("external"), setup, &mut random, round);
            let told = rocksdb.ingest(0, &paths, BEHIND);
            let done = ingest(&db, &families[0], &paths);
            let what = format!("{name}, round {round}: {told:?}, {done:?}");
            assert_eq!(told.is_ok(), done.is_ok(), "{what}");
            *(if done.is_ok() { &mut ingested } else { &mut refused }) += 1;
            if random.below(4) == 0 {
                // What was deleted stays so, whatever comes behind.
                db.compact_range(&families[0], None, None).unwrap();
            }
            assert_rows(&rows_of_all(&db)[0], &rocksdb.rows_forward(0).unwrap(), &what);
        }
        rocksdb.flush(0).unwrap();
        db.flush().unwrap();
        drop((rocksdb, families, db));
        let (last, zeros_above) = tables(&ours);
        assert_eq!((&last, zeros_above), (&tables(&theirs).0, false), "{name}");
        assert!(last.len() > 4 && last.iter().all(|it| (it.2, it.3) == (0, 0)), "{last:?}");
        for dir in [&ours, &theirs] {
            ldb::check_consistency(dir).unwrap_or_else(|said| panic!("{name}: {said}"));
        }
        each_goes_on_with_the_others(setup, [&ours, &theirs], &at("later"), &last);
    }
    println!("{ingested} ingested, {refused} refused");
    assert!(ingested > 8 * setups.len() && refused > 8 * setups.len(), "{ingested}, {refused}");
}

/// * `last`: the tables of their last level.
fn each_goes_on_with_the_others(
    setup: &Setup,
    [ours, theirs]: [&Path; 2],
    later: &Path,
    last: &[Table],
) {
    let name = setup.name;
    let rows = rows_of_all(&DbBuilder::new(ours).open_read_only().unwrap());
    let db = open(theirs, setup, false);
    db.compact_range(&db.default_family(), None, None).unwrap();
    assert_rows(&rows_of_all(&db)[0], &rows[0], name);
    drop(db);
    assert_eq!(tables(theirs).0, last, "{name}: the last level is left alone");
    // 7.8.3 merges the last level with the others, into the one above it. That there are numbers 0 is seen by both of us.
    let rocksdb = WholeDb::load(ours, &FAMILIES, false, "").unwrap();
    rocksdb.compact(0, LastLevel::Force);
    assert_rows(&rocksdb.rows_forward(0).unwrap(), &rows[0], name);
    let path = later.with_extension("sst");
    let shape = Shape { within: 0..KEYS, few: 9, many: 9, may_abut: false };
    external::write(&path, setup, &mut Random(1), &shape);
    let told = rocksdb.ingest(0, std::slice::from_ref(&path), BEHIND).unwrap_err();
    assert!(told.contains("0 seqno"), "{name}: {told}");
    drop(rocksdb);
    assert_eq!(tables(ours), (Vec::new(), true), "{name}");
    let db = open(ours, setup, true);
    let said = ingest(&db, &db.default_family(), &[path]).unwrap_err();
    assert!(said.contains("sequence number 0"), "{name}: {said}");
    assert_rows(&rows_of_all(&db)[0], &rows[0], name);
}

/// RocksDB refuses that, where the files come one after the other; it takes them together, and reads them.
#[test]
fn a_file_may_start_where_a_tombstone_of_another_ends() {
    let holder = tempfile::tempdir().unwrap();
    let at = |name: &str| holder.path().join(name);
    let Some(setup) = universal().into_iter().find(|it| it.name == "universal") else { return };
    let (ours, theirs) = (at("ours"), at("theirs"));
    let db = open(&ours, &setup, true);
    let family = db.default_family();
    let mut writer = db.sst_file_writer(&family, at("1.sst")).unwrap();
    writer.put(b"a", b"1").unwrap();
    writer.delete_range(b"b", b"c").unwrap();
    writer.finish().unwrap();
    let mut writer = db.sst_file_writer(&family, at("2.sst")).unwrap();
    writer.put(b"c", b"2").unwrap();
    writer.finish().unwrap();
    drop((db, family));
    copy(&ours, &theirs);
    let rows = [(b"a".to_vec(), b"1".to_vec()), (b"c".to_vec(), b"2".to_vec())];

    let rocksdb = WholeDb::load(&theirs, &FAMILIES, false, "").unwrap();
    rocksdb.ingest(0, &[at("1.sst")], BEHIND).unwrap();
    let told = rocksdb.ingest(0, &[at("2.sst")], BEHIND).unwrap_err();
    assert!(told.contains("doesn't fit"), "{told}");
    drop(rocksdb);
    let db = open(&ours, &setup, true);
    ingest(&db, &db.default_family(), &[at("1.sst")]).unwrap();
    ingest(&db, &db.default_family(), &[at("2.sst")]).unwrap();
    drop(db);
    ldb::check_consistency(&ours).unwrap();
    let rocksdb = WholeDb::load(&ours, &FAMILIES, false, "").unwrap();
    assert_rows(&rocksdb.rows_forward(0).unwrap(), &rows, "ours, by RocksDB 7.8.3");
}

/// RocksDB 9.8.4 leaves the last level alone, as we do: compactions may come between.
#[test]
fn compactions_between_files_behind_change_nothing() {
    let holder = tempfile::tempdir().unwrap();
    let (mut ingested, mut refused) = (0, 0);
    let setup = universal().into_iter().find(|setup| setup.name == "universal");
    let Some(setup) = setup else { return };
    let at = |name: &str| holder.path().join(name);
    let (ours, theirs) = (at("ours"), at("theirs"));
    drop(open(&ours, &setup, false));
    copy(&ours, &theirs);
    let db = open(&ours, &setup, false);
    let family = db.default_family();
    let mut late = LatePlayer::open(&theirs, Order::Forward).unwrap();
    let mut random = Random(12);
    for round in 0..60 {
        let puts: Vec<(Vec<u8>, Vec<u8>)> =
            (0..random.below(60)).map(|_| (key(random.below(KEYS)), random.bytes(200))).collect();
        for (key, value) in &puts {
            db.put(key, value).unwrap();
        }
        let slot = Slot::DEFAULT;
        let puts = puts.into_iter().map(|(key, value)| Change { slot, op: Op::Put(key, value) });
        late.apply(&Step::Write(puts.collect(), Durability::Logged)).unwrap();
        match random.below(4) {
            0 => {
                db.compact_range(&family, None, None).unwrap();
                let (from, to, last_level) = (None, None, step::LastLevel::Rewrite);
                late.apply(&Step::Compact { slot, from, to, last_level }).unwrap();
            }
            1 => {
                db.flush().unwrap();
                late.apply(&Step::Flush(Some(slot))).unwrap();
            }
            _ => {}
        }
        let paths = files(&at("external"), &setup, &mut random, round);
        let told = late.ingest_behind(slot, &paths);
        let done = ingest(&db, &family, &paths);
        let what = format!("round {round}: {told:?}, {done:?}");
        assert_eq!(told.is_ok(), done.is_ok(), "{what}");
        *(if done.is_ok() { &mut ingested } else { &mut refused }) += 1;
        assert_rows(&rows_of_all(&db)[0], &late.rows(slot, None, false).unwrap(), &what);
    }
    drop((db, family));
    Box::new(late).close().unwrap();
    assert_eq!(tables(&ours), tables(&theirs));
    println!("{ingested} ingested, {refused} refused");
    assert!(ingested > 10 && refused > 10, "{ingested}, {refused}");
    // And the other way round.
    let rows = rows_of_all(&DbBuilder::new(&ours).open_read_only().unwrap());
    let db = open(&theirs, &setup, false);
    db.compact_range(&db.default_family(), None, None).unwrap();
    assert_rows(&rows_of_all(&db)[0], &rows[0], "theirs, by us");
    let mut late = LatePlayer::open(&ours, Order::Forward).unwrap();
    let (slot, from, to, last_level) = (Slot::DEFAULT, None, None, step::LastLevel::Rewrite);
    late.apply(&Step::Compact { slot, from, to, last_level }).unwrap();
    assert_rows(&late.rows(slot, None, false).unwrap(), &rows[0], "ours, by RocksDB 9.8.4");
}
