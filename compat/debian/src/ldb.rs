//! Debian's `ldb` (RocksDB 7.8.3).

use std::path::Path;
use std::process::Command;

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
