//! Updates since a sequence number: RocksDB 7.8.3 and we give the same batches of the same directories, whoever wrote them.

use std::fs;
use std::path::Path;

use partita::ErrorKind;
use partita::db::{Db, DbBuilder};
use partita::key::SeqNo;
use partita_compat_rocks::history::History;
use partita_compat_rocks::matrix::Version;
use partita_compat_rocks::sessions;
use partita_compat_rocks::setups::{FAMILIES, Setup, selected};
use partita_compat_rocks::whole::WholeDb;

/// Both engines keep what the other has archived only if its options say so.
const KEPT: &str = "WAL_ttl_seconds=36000";

type Batches = Vec<(u64, Vec<u8>)>;

fn ours(db: &Db, since: u64) -> Batches {
    let updates = db.updates_since(SeqNo::new(since).unwrap()).unwrap();
    let of = |batch: partita::Result<partita::batch::WriteBatch>| {
        let batch = batch.unwrap();
        (batch.sequence().get(), batch.into_bytes())
    };
    updates.map(of).collect()
}

fn theirs(db: &WholeDb, since: u64) -> Batches {
    let updates = db.updates_since(since).unwrap();
    updates.status.unwrap();
    updates.batches
}

/// Numbers from which on updates are read.
fn numbers(last: u64) -> Vec<u64> {
    let step = usize::try_from(1 + last / 40).unwrap();
    (0..=last).step_by(step).chain([1, last]).collect()
}

fn open_ours(dir: &Path, setup: &Setup, wal_compression: &str) -> Db {
    if dir.join("CURRENT").exists() {
        return DbBuilder::new(dir).open().unwrap();
    }
    let mut options = setup.our_db_options();
    options.set("WAL_ttl_seconds", "36000").unwrap();
    options.set("wal_compression", wal_compression).unwrap();
    let with_families = |builder: DbBuilder, name: &&str| {
        let options = Some(setup.our_family_options());
        builder.family(name, partita::db::FamilyConfig { options, ..Default::default() })
    };
    FAMILIES.iter().fold(DbBuilder::new(dir).options(options), with_families).open().unwrap()
}

fn open_theirs(dir: &Path, setup: &Setup, wal_compression: &str) -> WholeDb {
    if dir.join("CURRENT").exists() {
        return WholeDb::load(dir, &FAMILIES, false, "").unwrap();
    }
    let options = format!("{KEPT};wal_compression={wal_compression};{}", setup.db);
    WholeDb::create(dir, &options, &FAMILIES, &setup.family_options()).unwrap()
}

/// A turn of ours: writes, and the updates from each number on as they are before the end.
fn write_ours(db: &Db, history: &mut History) -> Vec<(u64, Batches)> {
    let families = FAMILIES.map(|name| db.family(name).unwrap());
    for n in 0..60 {
        sessions::write(db, &families, history.next_batch()).unwrap();
        if n % 25 == 24 {
            db.flush().unwrap();
        }
    }
    let numbers = numbers(db.visible_seqno().get());
    numbers.into_iter().map(|since| (since, ours(db, since))).collect()
}

fn write_theirs(db: &WholeDb, history: &mut History) -> Vec<(u64, Batches)> {
    for n in 0..60 {
        db.write(&history.next_batch()).unwrap();
        if n % 25 == 24 {
            (0..FAMILIES.len()).for_each(|family| db.flush(family).unwrap());
        }
    }
    let numbers = numbers(db.last_sequence());
    numbers.into_iter().map(|since| (since, theirs(db, since))).collect()
}

/// RocksDB 7.8.3 takes a compressed log without records, as it has one after opening, for one that starts at number 1, and
/// finds nothing in the logs before it.
fn begin_log(db: &WholeDb, history: &mut History) {
    db.write(&history.next_batch()).unwrap();
}

fn up_to(last: u64, mut batches: Batches) -> Batches {
    batches.retain(|(first, _)| *first <= last);
    batches
}

/// Fails with the first batch that differs.
fn assert_same(ours: &Batches, theirs: &Batches, name: &str) {
    if ours == theirs {
        return;
    }
    let at = ours.iter().zip(theirs).take_while(|(ours, theirs)| ours == theirs).count();
    let show = |batch: Option<&(u64, Vec<u8>)>| batch.map(|(first, bytes)| (*first, bytes.len()));
    panic!(
        "{name}: {} batches, RocksDB has {}; batch {at} is {:?}, RocksDB's {:?}",
        ours.len(),
        theirs.len(),
        show(ours.get(at)),
        show(theirs.get(at))
    );
}

/// Every batch starts where the one before ended.
fn assert_continuous(batches: &Batches, name: &str) {
    let mut next = 1;
    for (first, bytes) in batches {
        assert_eq!(*first, next, "{name}");
        next += u64::from(u32::from_le_bytes(bytes[8..12].try_into().unwrap()));
    }
}

fn archived(dir: &Path) -> Vec<std::path::PathBuf> {
    let files = fs::read_dir(dir.join("archive")).unwrap();
    let mut files: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn both_give_the_same_batches_of_the_same_directory() {
    let holder = tempfile::tempdir().unwrap();
    for (number, setup) in selected(Version::V7_8).iter().step_by(3).enumerate() {
        // Where the setup says how logs are written, that holds.
        let wal_compression = if number % 2 == 0 { "kNoCompression" } else { "kZSTD" };
        let dir = holder.path().join(format!("db{number}"));
        let mut history = History::new(setup, 40 + number as u64);
        for turn in number..number + 4 {
            let name = format!("{}, {wal_compression}, turn {turn}", setup.name);
            if turn % 2 == 0 {
                let db = open_ours(&dir, setup, wal_compression);
                let found = write_ours(&db, &mut history);
                assert_continuous(&found[0].1, &name);
                let last = db.visible_seqno().get();
                assert!(ours(&db, last + 1).is_empty());
                drop(db);
                let db = open_theirs(&dir, setup, wal_compression);
                assert_eq!(db.last_sequence(), last, "{name}");
                assert!(db.updates_since(last + 1).is_err());
                begin_log(&db, &mut history);
                for (since, ours) in &found {
                    let theirs = up_to(last, theirs(&db, *since));
                    assert_same(ours, &theirs, &format!("{name}: since {since} of {last}"));
                }
            } else {
                let db = open_theirs(&dir, setup, wal_compression);
                let found = write_theirs(&db, &mut history);
                assert_continuous(&found[0].1, &name);
                let last = db.last_sequence();
                drop(db);
                let db = open_ours(&dir, setup, wal_compression);
                for (since, theirs) in &found {
                    assert_same(
                        &ours(&db, *since),
                        theirs,
                        &format!("{name}: since {since} of {last}"),
                    );
                }
            }
        }
        lose_logs(&dir, setup, wal_compression, &mut history);
    }
}

/// The oldest logs gone, and then one between.
fn lose_logs(dir: &Path, setup: &Setup, wal_compression: &str, history: &mut History) {
    let logs = archived(dir);
    assert!(logs.len() > 6, "{}: {logs:?}", setup.name);
    logs[..2].iter().for_each(|log| fs::remove_file(log).unwrap());
    let db = open_theirs(dir, setup, wal_compression);
    begin_log(&db, history);
    let last = db.last_sequence();
    let found: Vec<_> = numbers(last).into_iter().map(|n| (n, theirs(&db, n))).collect();
    assert!(found[0].1[0].0 > 1, "{}", setup.name);
    drop(db);
    let db = open_ours(dir, setup, wal_compression);
    for (since, theirs) in &found {
        assert_same(
            &ours(&db, *since),
            theirs,
            &format!("{}: since {since} of {last}", setup.name),
        );
    }
    let first = found[0].1[0].0;
    drop(db);
    fs::remove_file(&logs[4]).unwrap();
    let db = open_theirs(dir, setup, wal_compression);
    begin_log(&db, history);
    let theirs = db.updates_since(first).unwrap();
    assert!(theirs.status.is_err(), "{}", setup.name);
    drop(db);
    let db = open_ours(dir, setup, wal_compression);
    let mut updates = db.updates_since(SeqNo::new(first).unwrap()).unwrap();
    for (first, bytes) in &theirs.batches {
        let batch = updates.next().unwrap().unwrap();
        assert_eq!((batch.sequence().get(), batch.as_bytes()), (*first, &bytes[..]));
    }
    assert_eq!(updates.next().unwrap().unwrap_err().kind(), ErrorKind::Incomplete);
    // Ours goes on behind them.
    assert!(updates.all(|batch| batch.is_ok()));
}
