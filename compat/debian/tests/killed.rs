//! A process of ours that writes, with flushes and compactions going on, is killed at moments of no choice. What it leaves is
//! opened by RocksDB 7.8.3 and by us, a copy each: both find every batch that was acknowledged, at most the one after it, and
//! nothing in part.
//!
//! `PARTITA_COMPAT_SEEDS=20` takes 20 rounds of kills for each setup instead of one.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use partita_compat_debian::directories::copy;
use partita_compat_debian::ldb;
use partita_compat_debian::random::Random;
use partita_compat_rocks::Row;
use partita_compat_rocks::history::History;
use partita_compat_rocks::matrix::Version;
use partita_compat_rocks::sessions::{open, rows_of_all};
use partita_compat_rocks::setups::{FAMILIES, seeds, setups};
use partita_compat_rocks::whole::WholeDb;

/// Kills of one database, which is written on after each.
const KILLS: usize = 5;

/// Lets a process write into `dir` and kills it; how many batches it said were written.
fn write_and_kill(dir: &Path, setup: usize, seed: u64, done: u64, after: Duration) -> u64 {
    let mut child = Command::new(env!("CARGO_BIN_EXE_write-until-killed"))
        .arg(dir)
        .args([setup.to_string(), seed.to_string(), done.to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut said = Vec::new();
        // It ends with the process.
        let _ = stdout.read_to_end(&mut said);
        said.len() as u64
    });
    std::thread::sleep(after);
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.is_empty(), "it ended by itself: {stderr}");
    reader.join().unwrap()
}

/// What RocksDB finds, or why it finds nothing.
fn rows_of_theirs(dir: &Path) -> Result<Vec<Vec<Row>>, String> {
    let db = WholeDb::load(dir, &FAMILIES, false, "paranoid_file_checks=true;atomic_flush=false")?;
    (0..FAMILIES.len()).map(|family| db.rows_forward(family)).collect()
}

#[test]
fn what_a_killed_process_leaves_is_read_alike_by_both() {
    let (mut acknowledged, mut kills) = (0, 0);
    let all = setups(Version::V7_8);
    let some = [
        "levels of fixed sizes",
        "many small tables",
        "subcompactions",
        "logs recycled",
        "logs compressed",
        "universal with many runs",
        "flushed together",
        "small manifests",
        "universal on one level",
    ];
    for seed in 0..seeds() {
        for (at, setup) in all.iter().enumerate().filter(|(_, setup)| some.contains(&setup.name)) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("db");
            open(&path, setup).unwrap().close().unwrap();
            let mut random = Random(seed * 100 + at as u64);
            let mut history = History::new(setup, seed);
            let mut done = 0;
            for kill in 0..KILLS {
                let name = format!("{}, seed {seed}, kill {kill}", setup.name);
                let after = Duration::from_millis(30 + random.below(220) as u64);
                let said = write_and_kill(&path, at, seed, done, after);
                for _ in 0..said {
                    history.next_batch();
                }
                let (theirs, ours) = (dir.path().join("theirs"), dir.path().join("ours"));
                copy(&path, &theirs);
                copy(&path, &ours);
                let db = open(&ours, setup).unwrap_or_else(|error| panic!("{name}: {error}"));
                let found = rows_of_all(&db);
                db.close().unwrap();
                drop(db);
                // The one on its way may have arrived.
                let mut next = history.clone();
                next.next_batch();
                let one_more = found != history.all_rows();
                assert!(
                    !one_more || found == next.all_rows(),
                    "{name}: after {} batches",
                    done + said
                );
                let read = rows_of_theirs(&theirs).unwrap_or_else(|said| panic!("{name}: {said}"));
                assert!(read == found, "{name}: RocksDB reads something else");
                ldb::check_consistency(&ours).unwrap_or_else(|said| panic!("{name}: {said}"));
                done += said + u64::from(one_more);
                if one_more {
                    history = next;
                }
                acknowledged += said;
                kills += 1;
                fs::remove_dir_all(theirs).unwrap();
                fs::remove_dir_all(ours).unwrap();
            }
        }
    }
    println!("{kills} kills, {acknowledged} batches acknowledged");
    assert!(kills > 30 && acknowledged > 5000, "{kills} kills, {acknowledged} batches");
}
