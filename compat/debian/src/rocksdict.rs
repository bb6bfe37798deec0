//! The Python wheel `rocksdict` (RocksDB 9.8.4) as a reader of external files, and as an engine that takes its turn.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use partita_compat_rocks::Row;
use partita_compat_rocks::db::Op;
use partita_compat_rocks::history::History;
use partita_compat_rocks::ping_pong::Player as _;
use partita_compat_rocks::whole::Change;
use partita_proof::state::{Order, difference};
use partita_proof::step::{self, Durability, LastLevel, Slot, Step};
use partita_proof::subject::Subject as _;
use partita_testkit::archive;

use crate::late_player::LatePlayer;

/// A table with the rows that a database must show after ingesting it.
#[derive(Clone, Debug)]
pub struct Ingestion {
    /// Path of the table.
    pub table: PathBuf,
    /// The visible rows, in key order.
    pub expected: Vec<Row>,
}

/// Ingests each table into a database of its own, reads it forward, backward and key by key, and says for each what
/// is wrong, if anything.
///
/// * Panics if Python or the wheel is not installed.
pub fn ingest_all(ingestions: &[Ingestion]) -> Vec<Result<(), String>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("ingest.py");
    let scratch = tempfile::tempdir().expect("a temporary directory can be made");
    let mut input = String::new();
    for (i, ingestion) in ingestions.iter().enumerate() {
        let rows = scratch.path().join(i.to_string());
        fs::write(&rows, archive::encode_rows(&ingestion.expected)).expect("rows can be written");
        input += &format!("{}\t{}\n", ingestion.table.display(), rows.display());
    }
    let mut python = Command::new("python3")
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("python3 cannot be started: {error}"));
    let mut stdin = python.stdin.take().expect("standard input was asked for");
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = python.wait_with_output().expect("python3 can be waited for");
    // If the script died early its own message says more than the broken pipe.
    let _ = writer.join();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        !stderr.contains("No module named 'rocksdict'"),
        "the Python wheel rocksdict is not installed: run .ci/install-oracles"
    );
    assert!(output.status.success(), "ingest.py failed: {stderr}");
    let answers: Vec<_> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| if line.starts_with("ok ") { Ok(()) } else { Err(line.to_owned()) })
        .collect();
    assert_eq!(
        answers.len(),
        ingestions.len(),
        "ingest.py answered for some tables only: {stderr}"
    );
    answers
}

/// Opens a database for writing, compacts its default family if asked to, and returns the rows of that.
///
/// * Errors: what RocksDB complained about.
/// * Panics if Python is not installed.
pub fn open_and_scan(db: &Path, compact: bool) -> Result<Vec<Row>, String> {
    let mut families = open_and_scan_families(db, &["default"], compact)?;
    Ok(families.swap_remove(0))
}

/// The same of several families; `result[i]` belongs to `families[i]`.
pub fn open_and_scan_families(
    db: &Path,
    families: &[&str],
    compact: bool,
) -> Result<Vec<Vec<Row>>, String> {
    let output = Command::new("python3")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("open.py"))
        .arg(if compact { "compact" } else { "scan" })
        .arg(db)
        .args(families)
        .output()
        .unwrap_or_else(|error| panic!("python3 cannot be started: {error}"));
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let unhex = |digits: &str| -> Vec<u8> {
        let pairs = digits.as_bytes().chunks(2);
        let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
        pairs.map(|pair| byte(pair).expect("open.py prints hexadecimal")).collect()
    };
    let mut rows = vec![Vec::new(); families.len()];
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let mut parts = line.split('\t');
        let mut part = || parts.next().ok_or_else(|| format!("open.py printed {line:?}"));
        let place: usize = part()?.parse().map_err(|_| format!("open.py printed {line:?}"))?;
        let row = (unhex(part()?), unhex(part()?));
        rows.get_mut(place).ok_or_else(|| format!("open.py printed {line:?}"))?.push(row);
    }
    Ok(rows)
}

/// RocksDB 9.8.4's turn at a database: it reads all, makes `batches` of changes, compacts, reads all again, and leaves some
/// changes in its log.
///
/// * Errors: what RocksDB complained about, or where it read something else.
pub fn turn(db: &Path, history: &mut History, batches: usize) -> Result<(), String> {
    // The order matters for purges only, of which there are none.
    let mut player = LatePlayer::open(db, Order::Forward)?;
    check(&player, history, "before")?;
    write(&mut player, history, batches)?;
    check(&player, history, "after")?;
    for slot in Slot::residents() {
        let last_level = LastLevel::IfFilter;
        player.apply(&Step::Compact { slot, from: None, to: None, last_level })?;
    }
    check(&player, history, "compacted")?;
    write(&mut player, history, batches / 8)?;
    Box::new(player).close()
}

fn check(player: &LatePlayer, history: &History, when: &str) -> Result<(), String> {
    for (slot, expected) in Slot::residents().zip(history.all_rows()) {
        let what = |said: String| format!("{when}, {}: {said}", slot.name());
        let mut backward = player.rows(slot, None, true)?;
        backward.reverse();
        for found in [player.rows(slot, None, false)?, backward] {
            difference(&found, &expected).map_or(Ok(()), |said| Err(what(said)))?;
        }
        let absent = expected.iter().map(|(key, _)| [key, &b"\0?"[..]].concat());
        let keys: Vec<Vec<u8>> = expected.iter().map(|row| row.0.clone()).chain(absent).collect();
        for (key, value) in keys.iter().zip(player.multi_get(slot, &keys)?) {
            if value.as_deref() != history.get(slot.0.into(), key) {
                return Err(what(format!("get {}", key.escape_ascii())));
            }
        }
    }
    Ok(())
}

/// Writes batches of changes that rocksdict has, with flushes in between.
fn write(player: &mut LatePlayer, history: &mut History, batches: usize) -> Result<(), String> {
    const BATCHES_BETWEEN_FLUSHES: usize = 60;
    history.plain_changes_only = true;
    for batch in 1..=batches {
        let changes = history.next_batch().into_iter().map(|Change { family, op }| {
            let op = match op {
                Op::Put(key, value) => step::Op::Put(key, value),
                Op::Delete(key) => step::Op::Delete(key),
                Op::DeleteRange(begin, end) => step::Op::DeleteRange(begin, end),
                Op::Merge(..) | Op::SingleDelete(_) | Op::Snapshot => {
                    unreachable!("only plain changes were asked for")
                }
            };
            step::Change { slot: Slot(u8::try_from(family).expect("there are few")), op }
        });
        player.apply(&Step::Write(changes.collect(), Durability::Logged))?;
        if batch % BATCHES_BETWEEN_FLUSHES == 0 {
            player.apply(&Step::Flush(None))?;
        }
    }
    history.plain_changes_only = false;
    Ok(())
}

#[cfg(test)]
mod tests {
    use partita_compat_rocks::db::write_external_file;
    use partita_compat_rocks::shape::Shape;

    use super::*;

    #[test]
    fn equal_rows_are_accepted_and_different_ones_are_told() {
        let dir = tempfile::tempdir().unwrap();
        let table = dir.path().join("x.sst");
        let rows = Shape::Binary.rows(100);
        write_external_file(&table, "", &rows).unwrap();
        let with_rows = |expected| Ingestion { table: table.clone(), expected };
        let mut fewer = rows.clone();
        fewer.pop();
        let mut other = rows.clone();
        other[50].1.push(b'!');
        let answers = ingest_all(&[with_rows(rows), with_rows(fewer), with_rows(other)]);
        assert_eq!(answers[0], Ok(()));
        assert!(answers[1].is_err());
        assert!(answers[2].is_err());
    }
}
