//! The Python wheel `rocksdict` (RocksDB 9.8.4) as a reader of external files, and as an engine that takes its turn.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use partita_compat_rocks::Row;
use partita_compat_rocks::db::Op;
use partita_compat_rocks::history::History;
use partita_compat_rocks::setups::FAMILIES;
use partita_compat_rocks::whole::Change;
use partita_testkit::archive;

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
/// * Panics if Python is not installed.
pub fn turn(db: &Path, history: &mut History, batches: usize) -> Result<(), String> {
    let mut input = Vec::new();
    let mut block = |rows: &[Row]| {
        let rows = archive::encode_rows(rows);
        input.extend((rows.len() as u64).to_le_bytes());
        input.extend(rows);
    };
    history.plain_changes_only = true;
    history.all_rows().iter().for_each(|rows| block(rows));
    block(&changes(history, batches));
    history.all_rows().iter().for_each(|rows| block(rows));
    block(&changes(history, batches / 8));
    history.plain_changes_only = false;
    let mut python = Command::new("python3")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("turn.py"))
        .arg(db)
        .args(FAMILIES)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("python3 cannot be started: {error}"));
    let mut stdin = python.stdin.take().expect("standard input was asked for");
    // If the script died early its own message says more than the broken pipe.
    let _ = stdin.write_all(&input);
    drop(stdin);
    let output = python.wait_with_output().expect("python3 can be waited for");
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Changes as `turn.py` reads them.
fn changes(history: &mut History, batches: usize) -> Vec<Row> {
    let batches: Vec<_> = (0..batches).flat_map(|_| history.next_batch()).collect();
    let row = |Change { family, op }: Change| {
        let family = u8::try_from(family).expect("there are few families");
        let key = |operation: u8, key: &[u8]| [&[operation, family], key].concat();
        match op {
            Op::Put(at, value) => (key(b'p', &at), value),
            Op::Delete(at) => (key(b'd', &at), Vec::new()),
            Op::DeleteRange(begin, end) => (key(b'r', &begin), end),
            Op::Merge(..) | Op::SingleDelete(_) | Op::Snapshot => {
                unreachable!("only plain changes were asked for")
            }
        }
    };
    batches.into_iter().map(row).collect()
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
