//! `partita db load`, `put` and `delete`.

use std::fs;
use std::path::Path;

use partita::db::DbBuilder;
use partita_testkit::golden;
use tempfile::{TempDir, tempdir};

use crate::run::{Run, fingerprint, partita, partita_fed};

/// A directory for a database that is not there yet.
fn fresh() -> (TempDir, String) {
    let holder = tempdir().unwrap();
    let dir = holder.path().join("db").to_str().unwrap().to_owned();
    (holder, dir)
}

fn load(dir: &str, args: &[&str], input: &str) -> Run {
    partita_fed(["db", "load", dir].iter().chain(args), input)
}

fn scan(dir: &str, args: &[&str]) -> String {
    partita(["db", "scan", dir].iter().chain(args)).clean()
}

/// The counts that are not zero.
fn counts(said: &str) -> Vec<&str> {
    said.lines().filter(|line| !line.ends_with("\t0")).collect()
}

#[test]
fn every_kind_of_change_is_applied_and_counted() {
    let (_holder, dir) = fresh();
    let lines = "put\ta\t1\nput\tb\t2\nflush\nput\tc\t3\nput\td\t4\nput\te\t5\nput\tf\\t\\xff\t\\\\6\n\
                 delete\ta\nsingle_delete\tb\ndelete_range\tc\te\nmerge\tm\tx\nmerge\tm\ty\n";
    let args = ["--create", "--merge-operator", "StringAppendOperator"];
    let said = load(&dir, &args, lines).clean();
    let expected =
        "put\t6\ndelete\t1\nsingle_delete\t1\nmerge\t2\ndelete_range\t1\nflush\t1\ncompact\t0\n";
    assert!(said.starts_with(expected), "{said}");
    assert_eq!(scan(&dir, &[]), "e\t5\nf\\t\\xff\t\\\\6\nm\tx,y\n");
}

#[test]
fn batches_of_any_size_leave_the_same_and_hexadecimal_is_taken() {
    let mut lines = String::new();
    for i in 0..1000_u32 {
        lines += &format!("put\t{:04x}\t{i:08x}\n", i * 7 % 1000);
        if i % 3 == 0 {
            lines += &format!("delete\t{:04x}\n", i * 11 % 1000);
        }
    }
    // The last line may lack its end.
    lines.pop();
    let mut scans = Vec::new();
    for batch in ["1", "7", "1000000"] {
        let (_holder, dir) = fresh();
        let args = ["--create", "--hex", "--sync", "--json", "--batch", batch];
        let said = load(&dir, &args, &lines).clean();
        let found: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!((&found["put"], &found["delete"]), (&1000.into(), &334.into()));
        let batches = 1334_u64.div_ceil(batch.parse().unwrap());
        assert_eq!(found["batches"], batches, "{batch}");
        scans.push(scan(&dir, &["--hex"]));
    }
    assert!(scans[0].lines().count() > 500);
    assert!(scans.iter().all(|other| *other == scans[0]));
}

#[test]
fn a_malformed_line_stops_it_with_its_number_and_what_is_before_stays() {
    for (line, why) in [
        ("put\tonly a key", "line 4: put has 2 parts"),
        ("upsert\ta\tb", "line 4: unknown change \"upsert\""),
        ("", "line 4: unknown change \"\""),
        ("put\t\\q\tb", "line 4: unknown escape"),
        ("delete_range\tb\ta", "line 4: the range ends before it begins"),
        ("merge\ta\tb", "line 4: column family \"default\" has no merge operator"),
    ] {
        for batch in ["1", "2", "1000"] {
            let (_holder, dir) = fresh();
            let lines = format!("put\ta\t1\nput\tb\t2\ndelete\ta\n{line}\nput\tc\t3\n");
            let run = load(&dir, &["--create", "--batch", batch], &lines);
            assert_eq!(run.code, 2, "{line}");
            assert!(run.stderr.starts_with("partita: "), "{}", run.stderr);
            assert!(run.stderr.contains(&format!("standard input, {why}")), "{}", run.stderr);
            assert_eq!(counts(&run.stdout), ["put\t2", "delete\t1"]);
            assert_eq!(scan(&dir, &[]), "b\t2\n");
        }
    }
}

#[test]
fn families_are_created_if_asked_for_and_keep_their_rows_apart() {
    let (_holder, dir) = fresh();
    load(&dir, &["--create", "--cf", "one"], "put\tk\t1\n").clean();
    load(&dir, &["--create", "--cf", "two"], "put\tk\t2\n").clean();
    load(&dir, &["--create", "--cf", "two"], "put\tl\t3\n").clean();
    load(&dir, &[], "put\tk\t0\n").clean();
    assert_eq!(scan(&dir, &["--cf", "one"]), "k\t1\n");
    assert_eq!(scan(&dir, &["--cf", "two"]), "k\t2\nl\t3\n");
    assert_eq!(scan(&dir, &[]), "k\t0\n");
    let run = load(&dir, &["--cf", "three"], "put\tk\t1\n");
    assert_eq!((run.code, &*run.stdout), (2, ""));
    assert!(run.stderr.contains("no column family \"three\""), "{}", run.stderr);
    // With an operator of its own, which the options file remembers.
    let args = ["--cf", "sums", "--hex", "--merge-operator", "UInt64AddOperator"];
    let line = "merge\t6b\t0100000000000000\n";
    assert_eq!(load(&dir, &args, line).code, 2);
    load(&dir, &[&args[..], &["--create"]].concat(), line).clean();
    load(&dir, &["--cf", "sums", "--hex"], line).clean();
    assert_eq!(scan(&dir, &["--cf", "sums", "--hex"]), "6b\t0200000000000000\n");
}

#[test]
fn nothing_is_created_without_being_asked_for() {
    let (holder, dir) = fresh();
    for run in [
        load(&dir, &[], "put\tk\t1\n"),
        partita(["db", "put", &dir, "k", "1"]),
        partita(["db", "delete", &dir, "k"]),
    ] {
        assert_eq!((run.code, &*run.stdout), (2, ""));
        assert!(run.stderr.contains("there is no database"), "{}", run.stderr);
    }
    assert_eq!(fs::read_dir(holder.path()).unwrap().count(), 0);
}

#[test]
fn single_keys_are_put_and_deleted() {
    let (_holder, dir) = fresh();
    let done = |args: &[&str]| {
        let all = ["db", args[0], &dir].into_iter().chain(args[1..].iter().copied());
        assert_eq!(partita(all).clean(), "");
    };
    done(&["put", "--create", "--cf", "f", "apple", r"r\\ed"]);
    done(&["put", "--cf", "f", "--hex", "6b", ""]);
    done(&["put", "kiwi", "green"]);
    assert_eq!(scan(&dir, &["--cf", "f"]), "apple\tr\\\\ed\nk\t\n");
    done(&["delete", "--cf", "f", "apple"]);
    done(&["delete", "--cf", "f", "never there"]);
    assert_eq!(scan(&dir, &["--cf", "f"]), "k\t\n");
    assert_eq!(scan(&dir, &[]), "kiwi\tgreen\n");
}

#[test]
fn what_one_scan_printed_makes_the_same_database_again() {
    let golden = golden::get("families-merge-ranges-wal");
    let (_holder, dir) = fresh();
    let old = golden.path();
    for family in golden.families() {
        let all = scan(old.to_str().unwrap(), &["--cf", &family]);
        let lines: String = all.lines().map(|line| format!("put\t{line}\n")).collect();
        load(&dir, &["--create", "--cf", &family, "--batch", "100"], &lines).clean();
        assert!(scan(&dir, &["--cf", &family]) == all, "{family}");
    }
}

#[test]
fn a_database_of_rocksdb_is_changed_with_its_own_operators_and_refusals_touch_nothing() {
    let golden = golden::get("families-merge-ranges-wal");
    let path = golden.path();
    let dir = path.to_str().unwrap();
    let before = scan(dir, &["--cf", "keys"]);
    let (key, value) = before.lines().next().unwrap().split_once('\t').unwrap();
    load(dir, &["--cf", "keys"], &format!("merge\t{key}\tend\n")).clean();
    let after = scan(dir, &["--cf", "keys", "--limit", "1"]);
    assert!(after.starts_with(&format!("{key}\t{value}")) && after.ends_with("end\n"), "{after}");
    assert!(scan(dir, &["--cf", "keys"]).lines().skip(1).eq(before.lines().skip(1)));

    let foreign = golden::get("foreign-comparator");
    let files = |dir: &Path| {
        let mut files = fingerprint(dir);
        files.retain(|(path, ..)| !path.ends_with("LOCK"));
        files
    };
    let before = files(&foreign.path());
    let run = load(foreign.path().to_str().unwrap(), &[], "put\ta\tb\n");
    assert_eq!((run.code, &*run.stdout), (2, ""));
    assert!(run.stderr.contains("omparator"), "{}", run.stderr);
    assert!(files(&foreign.path()) == before);
}

#[test]
fn a_database_that_somebody_has_open_is_told_with_exit_code_2() {
    let (_holder, dir) = fresh();
    load(&dir, &["--create"], "put\ta\tb\n").clean();
    let held = DbBuilder::new(&dir).open().unwrap();
    let run = partita(["db", "put", &dir, "c", "d"]);
    drop(held);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("LOCK"), "{}", run.stderr);
    partita(["db", "put", &dir, "c", "d"]).clean();
}

#[test]
fn compactions_take_out_what_is_deleted_and_change_no_row() {
    let (_holder, dir) = fresh();
    let mut lines = String::new();
    for round in 0..3 {
        for i in 0..500 {
            lines += &format!("put\tk{i:04}\t{round}\n");
        }
        lines += "flush\n";
    }
    lines += "delete_range\tk0100\tk0400\nflush\n";
    load(&dir, &["--create"], &lines).clean();
    let before = scan(&dir, &[]);
    let said = partita(["db", "compact", &dir, "--json"]).clean();
    let found: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&found["before"]["files"], &found["after"]["files"]), (&4.into(), &1.into()));
    assert_eq!(scan(&dir, &[]), before);
    let stats = partita(["db", "stats", &dir, "--json"]).clean();
    let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
    assert_eq!(stats["families"][0]["levels"][0]["entries"], 200);
    // By a line of load, and in a range.
    let said = load(&dir, &[], "put\tz\t1\ncompact\n").clean();
    assert!(said.contains("compact\t1\n"), "{said}");
    let text = partita(["db", "compact", &dir, "--from", "a", "--to", "k0100"]).clean();
    assert!(text.starts_with("before: ") && text.contains("\nafter:  "), "{text}");
    assert_eq!(scan(&dir, &[]), before + "z\t1\n");
    let run = partita(["db", "compact", &dir, "--cf", "none"]);
    assert_eq!((run.code, &*run.stdout), (2, ""));
}
