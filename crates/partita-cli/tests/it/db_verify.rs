//! `partita db verify`.

use std::fs;

use partita_testkit::golden::{self, GoldenDb};

use crate::run::{Run, fingerprint, partita};

fn verify(golden: &GoldenDb, args: &[&str]) -> Run {
    let path = golden.path();
    partita(["db", "verify", path.to_str().unwrap()].iter().chain(args))
}

#[test]
fn golden_databases_are_clean_and_left_alone() {
    for golden in golden::all() {
        if golden.name() == "foreign-comparator" {
            assert_eq!(verify(&golden, &[]).code, 2);
            continue;
        }
        let before = fingerprint(&golden.path());
        let text = verify(&golden, &[]).clean();
        let clean = text.lines().filter(|line| line.contains(".sst: clean: ")).count();
        assert_eq!(clean, golden.sst_paths().len(), "{} {text}", golden.name());
        for family in golden.families() {
            assert!(text.contains(&format!("column family {family:?}: ")), "{text}");
        }
        assert_eq!(verify(&golden, &["--quiet"]).clean(), "");
        assert_eq!(fingerprint(&golden.path()), before);
    }
}

#[test]
fn damage_in_a_table_is_found_and_the_others_are_checked_all_the_same() {
    let golden = golden::get("locations-partitioned");
    let tables = golden.sst_paths();
    let mut bytes = fs::read(&tables[1]).unwrap();
    let at = bytes.len() / 3;
    bytes[at] ^= 1;
    fs::write(&tables[1], bytes).unwrap();
    let run = verify(&golden, &[]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(run.stdout.contains(&format!("{}: DAMAGED: ", tables[1].display())), "{}", run.stdout);
    assert_eq!(run.stdout.matches(".sst: clean: ").count(), tables.len() - 1);
}

#[test]
fn a_table_that_is_missing_or_of_another_length_is_damage() {
    let golden = golden::get("locations-partitioned");
    let tables = golden.sst_paths();
    fs::remove_file(&tables[0]).unwrap();
    let longer = [fs::read(&tables[2]).unwrap(), b"x".to_vec()].concat();
    fs::write(&tables[2], &longer).unwrap();
    let run = verify(&golden, &[]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(run.stdout.contains("it is not there"), "{}", run.stdout);
    let lengths =
        format!("the file has {} bytes, the manifest says {}", longer.len(), longer.len() - 1);
    assert!(run.stdout.contains(&lengths), "{}", run.stdout);
    let json = verify(&golden, &["--json"]).stdout;
    let statuses: Vec<String> = json
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|table| table["status"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(statuses.iter().filter(|status| *status == "damaged").count(), 2, "{json}");
}

#[test]
fn a_table_that_the_manifest_does_not_name_is_told_and_does_no_harm() {
    let golden = golden::get("plain-defaults");
    let stray = golden.path().join("009999.sst");
    fs::write(&stray, b"not even a table").unwrap();
    let text = verify(&golden, &[]).clean();
    assert!(text.contains(&format!("{}: not in the manifest", stray.display())), "{text}");
}
