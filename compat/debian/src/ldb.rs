//! Debian's `ldb` (RocksDB 7.8.3).

use std::path::Path;
use std::process::Command;

use partita_compat_rocks::Row;

const INSTALL: &str = "run .ci/install-oracles (Debian package rocksdb-tools)";

/// All rows of a database in hexadecimal: `0x…` key, ` : `, `0x…` value, one a line. Recovers the database.
pub fn scan(db: &Path) -> Result<Vec<String>, String> {
    let said = run(&[&format!("--db={}", db.display()), "scan", "--hex"])?;
    Ok(said.lines().filter(|line| line.starts_with("0x")).map(str::to_owned).collect())
}

/// What `dump_wal` says about a log: a line with sequence number, count and so on for each record.
pub fn dump_wal(log: &Path) -> Result<Vec<String>, String> {
    let said = run(&["dump_wal", &format!("--walfile={}", log.display())])?;
    Ok(said.lines().map(str::to_owned).collect())
}

/// Runs `ldb`; what it says on either stream.
pub fn run(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("ldb")
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("ldb cannot be started ({error}): {INSTALL}"));
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    if output.status.success() { Ok(said) } else { Err(said) }
}

/// Runs `ldb` on a database and returns what it printed.
///
/// * Errors: what it complained about.
/// * Panics if it is not installed.
pub fn on(db: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new("ldb")
        .arg(format!("--db={}", db.display()))
        // It reads the OPTIONS file, which a later version may have written.
        .arg("--ignore_unknown_options")
        .args(args)
        .output()
        .unwrap_or_else(|error| panic!("ldb cannot be started ({error}): {INSTALL}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    // It exits with 0 after some failures, and says so.
    let failed = ["Failed:", "Corruption:", "IO error:", "Invalid argument:"]
        .iter()
        .any(|word| stdout.contains(word) || stderr.contains(word));
    if output.status.success() && !failed { Ok(stdout) } else { Err(format!("{stdout}{stderr}")) }
}

/// Whether RocksDB finds all that the manifest names, with the sizes that it says.
pub fn check_consistency(db: &Path) -> Result<(), String> {
    let said = on(db, &["checkconsistency"])?;
    if said.contains("OK") { Ok(()) } else { Err(said) }
}

/// The visible rows of a column family, in key order.
pub fn rows(db: &Path, family: &str) -> Result<Vec<Row>, String> {
    let family = format!("--column_family={family}");
    let said = on(db, &["scan", "--hex", &family])?;
    said.lines().map(row).collect()
}

fn row(line: &str) -> Result<Row, String> {
    let (key, value) = line.split_once(" : ").ok_or_else(|| line.to_owned())?;
    Ok((unhex(key)?, unhex(value)?))
}

fn unhex(text: &str) -> Result<Vec<u8>, String> {
    let digits = text.strip_prefix("0x").ok_or_else(|| text.to_owned())?;
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).map_err(|error| error.to_string()))
        .collect()
}
