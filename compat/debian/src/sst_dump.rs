//! Debian's `sst_dump` (RocksDB 7.8.3) as a reader of single tables.

use std::path::Path;
use std::process::Command;

use partita::key::{SeqNo, append_internal_key};
use partita_compat_rocks::Row;

const INSTALL: &str = "run .ci/install-oracles (Debian package rocksdb-tools)";

/// Reads all entries without printing them (`--command=check`).
pub fn check(file: &Path) -> Result<(), String> {
    run(file, &["--command=check", "--verify_checksum"]).map(drop)
}

/// Verifies the checksum of every block (`--command=verify`).
pub fn verify(file: &Path) -> Result<(), String> {
    let said = run(file, &["--command=verify"])?;
    if said.contains("The file is ok") { Ok(()) } else { Err(said) }
}

/// Verifies the checksum of every block of every table in a directory; how many tables there are.
pub fn verify_all(dir: &Path) -> Result<usize, String> {
    let said = run(dir, &["--command=verify"])?;
    let tables = list(dir)?.iter().filter(|name| name.ends_with(".sst")).count();
    let sound = said.lines().filter(|line| line.contains("The file is ok")).count();
    if sound == tables { Ok(tables) } else { Err(said) }
}

fn list(dir: &Path) -> Result<Vec<String>, String> {
    let entries = std::fs::read_dir(dir).map_err(|error| error.to_string())?;
    Ok(entries
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect())
}

/// All point entries in table order: encoded internal keys with values (`--command=scan`).
pub fn scan(file: &Path) -> Result<Vec<Row>, String> {
    run(file, &["--command=scan", "--output_hex"])?
        .lines()
        .filter(|line| line.starts_with('\''))
        .map(|line| parse_entry(line).ok_or_else(|| format!("not understood: {line}")))
        .collect()
}

/// The range deletions as RocksDB's reader cuts them: user keys, start inclusive, end exclusive (`--command=raw`).
pub fn range_deletions(file: &Path) -> Result<Vec<Row>, String> {
    run(file, &["--command=raw", "--output_hex"])?;
    let dump = file.with_extension("").to_string_lossy().into_owned() + "_dump.txt";
    let bytes = std::fs::read(&dump).map_err(|error| format!("{dump}: {error}"))?;
    std::fs::remove_file(&dump).map_err(|error| format!("{dump}: {error}"))?;
    let text = String::from_utf8_lossy(&bytes);
    let Some((_, ranges)) = text.split_once("Range deletions:") else {
        return Ok(Vec::new());
    };
    let ranges = ranges.split("Data Block").next().unwrap_or_default();
    ranges
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("HEX"))
        .map(|line| {
            let (start, end) = line.split_once(':')?;
            Some((hex(start.trim())?, hex(end.trim())?))
        })
        .map(|range| range.ok_or_else(|| format!("range deletions not understood in {dump}")))
        .collect()
}

fn run(file: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("sst_dump")
        .arg(format!("--file={}", file.display()))
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("sst_dump cannot be started ({error}): {INSTALL}"));
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    let complains =
        ["orruption", "rror:", "not supported", "Invalid argument", "is not a valid SST"];
    let complaint = said
        .lines()
        .find(|line| !line.starts_with('\'') && complains.iter().any(|word| line.contains(word)));
    match complaint {
        Some(line) => Err(line.to_owned()),
        None if output.status.success() => Ok(said),
        None => Err(said),
    }
}

/// `'HEX' seq:N, type:T => HEX`.
fn parse_entry(line: &str) -> Option<Row> {
    let (key, rest) = line.strip_prefix('\'')?.split_once("' seq:")?;
    let (seqno, rest) = rest.split_once(", type:")?;
    let (value_type, value) = rest.split_once(" =>")?;
    let seqno = SeqNo::new(seqno.parse().ok()?)?;
    let packed = seqno.get() << 8 | u64::from(value_type.parse::<u8>().ok()?);
    let mut internal_key = Vec::new();
    append_internal_key(&mut internal_key, &hex(key)?, packed);
    Some((internal_key, hex(value.trim_start())?))
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_line_is_parsed() {
        let (key, value) = parse_entry("'6B00' seq:7, type:2 => 76FF").unwrap();
        assert_eq!(key, b"k\0\x02\x07\0\0\0\0\0\0");
        assert_eq!(value, b"v\xff");
        assert_eq!(parse_entry("'' seq:0, type:0 => ").unwrap().1, b"");
    }

    #[test]
    fn a_file_that_is_no_table_is_refused() {
        let file = tempfile::NamedTempFile::with_suffix(".sst").unwrap();
        std::fs::write(file.path(), [7; 500]).unwrap();
        assert!(check(file.path()).is_err());
        assert!(verify(file.path()).is_err());
        assert!(scan(file.path()).is_err());
    }
}
