//! `partita sst scan`.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;

use partita_testkit::golden::{self, GoldenTable};

use crate::run::{command, partita};

/// The lines that a scan in hexadecimal must print for the table's point entries.
fn expected_lines(table: &GoldenTable) -> Vec<String> {
    let line = |(key, value): &(Vec<u8>, Vec<u8>)| {
        let (user_key, packed) = key.split_last_chunk::<8>().unwrap();
        let packed = u64::from_le_bytes(*packed);
        let value_type = match packed as u8 {
            0x00 => "delete",
            0x01 => "put",
            0x02 => "merge",
            0x07 => "single-delete",
            other => panic!("no name for type {other:#04x}"),
        };
        format!("{}\t{}\t{value_type}\t{}", hex(user_key), packed >> 8, hex(value))
    };
    table.entries().iter().map(line).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn scan(args: &[&str], path: &Path) -> Vec<String> {
    let args = ["sst", "scan"].iter().chain(args).copied().map(Path::new).chain([path]);
    partita(args).clean().lines().map(str::to_owned).collect()
}

#[test]
fn every_golden_table_is_printed_as_sst_dump_reads_it() {
    let tables = golden::tables();
    assert!(tables.len() > 40);
    for table in tables {
        let mut expected = expected_lines(&table);
        assert!(scan(&["--hex"], &table.path()) == expected, "{}", table.name());
        expected.reverse();
        assert!(
            scan(&["--hex", "--reverse"], &table.path()) == expected,
            "{}, reverse",
            table.name()
        );
    }
}

#[test]
fn bounds_and_limits_cut_the_output() {
    let table = golden::table("fv5-binary-search");
    let all = expected_lines(&table);
    let key = |line: &str| line.split('\t').next().unwrap().to_owned();
    let (from, to) = (key(&all[100]), key(&all[200]));
    let between: Vec<_> =
        all.iter().filter(|line| (&from..&to).contains(&&key(line))).cloned().collect();
    assert!(between.len() > 50);

    let bounds = ["--hex", "--from", &from, "--to", &to];
    assert_eq!(scan(&bounds, &table.path()), between);
    let reversed: Vec<_> = between.iter().rev().cloned().collect();
    assert_eq!(scan(&[&bounds[..], &["--reverse"]].concat(), &table.path()), reversed);
    assert_eq!(scan(&[&bounds[..], &["--limit", "3"]].concat(), &table.path()), between[..3]);
    assert_eq!(scan(&["--hex", "--from", "ffffffffffff"], &table.path()), Vec::<String>::new());
}

#[test]
fn a_key_copied_from_the_output_is_understood_as_a_bound() {
    let table = golden::table("fv5-binary-search");
    let lines = scan(&[], &table.path());
    let line = &lines[lines.len() / 2];
    let key = line.split('\t').next().unwrap();
    assert_eq!(&scan(&["--from", key, "--limit", "1"], &table.path())[0], line);
}

#[test]
fn range_tombstones_stand_among_the_entries_in_order() {
    for name in ["ranges", "only-ranges"] {
        let table = golden::table(name);
        let lines = scan(&["--hex", "--range-tombstones"], &table.path());
        let (tombstones, points): (Vec<String>, Vec<String>) =
            lines.iter().cloned().partition(|line| line.contains("\trange-delete\t"));
        assert_eq!(points, expected_lines(&table), "{name}");
        assert!(
            lines.is_sorted_by_key(|line| line.split('\t').next().unwrap().to_owned()),
            "{name}"
        );

        // RocksDB lists them cut at each border; the borders and what lies between them must be the same.
        let bounds = |line: &String| {
            let fields: Vec<&str> = line.split('\t').collect();
            (fields[0].to_owned(), fields[3].to_owned())
        };
        let tombstones: Vec<_> = tombstones.iter().map(bounds).collect();
        let fragments: Vec<_> =
            table.range_deletions().iter().map(|(start, end)| (hex(start), hex(end))).collect();
        let covers = |ranges: &[(String, String)], key: &str| {
            ranges.iter().any(|(start, end)| start.as_str() <= key && key < end.as_str())
        };
        let borders = tombstones.iter().chain(&fragments).flat_map(|(start, end)| [start, end]);
        for border in borders {
            assert_eq!(covers(&tombstones, border), covers(&fragments, border), "{name} {border}");
        }
        assert!(!tombstones.is_empty());

        let mut reversed = scan(&["--hex", "--range-tombstones", "--reverse"], &table.path());
        reversed.reverse();
        assert_eq!(reversed, lines, "{name}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let db = golden::get("locations-full-filter");
    let mut child = command(["sst", "scan"])
        .arg(db.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::with_capacity(100, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(line.contains("\tput\t"), "{line}");
}

#[test]
fn lines_of_several_files_start_with_the_file() {
    let db = golden::get("locations-partitioned");
    let run = partita([Path::new("sst"), Path::new("scan"), &db.path()]);
    let stdout = run.clean();
    let mut files: Vec<&str> =
        stdout.lines().map(|line| line.split('\t').next().unwrap()).collect();
    files.dedup();
    let expected: Vec<String> =
        db.sst_paths().iter().map(|path| path.display().to_string()).collect();
    assert_eq!(files, expected);
    assert!(stdout.lines().all(|line| line.split('\t').count() == 5));
}

#[test]
fn one_failing_file_does_not_stop_the_others() {
    let db = golden::get("locations-partitioned");
    let paths = db.sst_paths();
    let missing = db.path().join("missing.sst");
    let run =
        partita(["sst", "scan"].map(Path::new).iter().copied().chain([&*missing, &*paths[0]]));
    assert_eq!(run.code, 2);
    assert!(run.stderr.starts_with("partita: "), "{}", run.stderr);
    assert!(run.stderr.contains("missing.sst"), "{}", run.stderr);
    assert!(run.stdout.lines().count() > 100);
}

#[test]
fn a_bound_that_is_not_in_its_form_is_refused() {
    let table = golden::table("fv5-binary-search");
    let run = partita(
        ["sst", "scan", "--hex", "--from", "xyz"]
            .map(Path::new)
            .iter()
            .copied()
            .chain([&*table.path()]),
    );
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.starts_with("partita: --from \"xyz\": "), "{}", run.stderr);
}
