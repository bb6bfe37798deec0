//! `partita sst show`.

use std::fs;
use std::path::Path;

use partita_testkit::golden;
use serde_json::Value;

use crate::run::{assert_golden, command, fingerprint, partita};

/// What `show` prints for a file, run in its directory so that no temporary path gets into the text.
fn show(path: &Path) -> String {
    let output = command(["sst", "show"])
        .arg(path.file_name().unwrap())
        .current_dir(path.parent().unwrap())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{}", path.display());
    assert_eq!(output.status.code(), Some(0), "{}", path.display());
    String::from_utf8(output.stdout).unwrap()
}

fn show_json(path: &Path) -> Vec<Value> {
    let run = partita(["sst", "show", "--json"].map(Path::new).iter().copied().chain([path]));
    run.clean().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_text_is_that_of_the_golden_files() {
    for name in [
        "families-merge-ranges-wal",
        "foreign-comparator",
        "format2-crc-zlib",
        "format4-xxh64-bzip2-partindex",
        "ingested",
        "locations-full-filter",
        "locations-partitioned",
        "plain-defaults",
        "prefix-hash-index",
        "ribbon-zstd-dictionary",
    ] {
        let db = golden::get(name);
        // The last file of `ingested` is the external one.
        let paths = db.sst_paths();
        let path = if name == "ingested" { paths.last() } else { paths.first() };
        assert_golden(&format!("show-{name}.txt"), &show(path.unwrap()));
    }
    assert_golden("show-only-ranges.txt", &show(&golden::table("only-ranges").path()));
}

#[test]
fn several_tables_are_summed_up_by_layout() {
    let dir = tempfile::tempdir().unwrap();
    let names = ["locations-full-filter", "locations-partitioned", "plain-defaults", "wal-only"];
    for name in names {
        for path in golden::get(name).sst_paths() {
            let number = path.file_name().unwrap().to_str().unwrap().to_owned();
            let sub = dir.path().join(name);
            fs::create_dir_all(&sub).unwrap();
            fs::copy(path, sub.join(number)).unwrap();
        }
    }
    let output = command(["sst", "show", "."]).current_dir(dir.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    let at = text.find("11 files together").unwrap_or_else(|| panic!("{text}"));
    assert_golden("show-together.txt", &text[at..]);
}

#[test]
fn json_has_the_documented_fields_for_every_golden_table() {
    let help = partita(["sst", "show", "--help"]).clean();
    let mut seen = 0;
    for db in golden::all() {
        if db.sst_paths().is_empty() {
            continue;
        }
        for table in show_json(&db.path()) {
            seen += 1;
            for field in table.as_object().unwrap().keys() {
                assert!(help.contains(field.as_str()), "{field} is not in the help");
            }
            let blocks = table["blocks"].as_array().unwrap();
            let data = blocks.iter().find(|group| group["role"] == "data block").unwrap();
            let recorded = &table["properties"]["rocksdb.num.data.blocks"];
            assert!(recorded == &data["count"] || recorded == 0, "{} {recorded}", table["file"]);
            assert_eq!(table["properties"]["rocksdb.num.entries"], table["entries"]["total"]);
        }
    }
    assert_eq!(seen, 47);
}

#[test]
fn full_and_partitioned_filters_are_told_apart_by_the_file_itself() {
    let layouts = |name: &str| -> Vec<Value> {
        let tables = show_json(&golden::get(name).path());
        tables.iter().map(|table| table["filter"]["layout"].clone()).collect()
    };
    assert!(layouts("locations-full-filter").iter().all(|layout| layout == "full"));
    assert!(layouts("locations-partitioned").iter().all(|layout| layout == "partitioned"));
    assert!(layouts("plain-defaults").iter().all(|layout| layout == "none"));
}

#[test]
fn the_oldest_reader_is_the_one_that_was_seen_to_read_the_file() {
    // 7.8.3 refuses format version 6 and later, and reads all that it wrote itself.
    let oldest = |path: &Path| -> (u32, u32) {
        let tables = show_json(path);
        let text = tables[0]["readable_by"]["oldest"].as_str().unwrap_or("0.0").to_owned();
        let (major, minor) = text.split_once('.').unwrap();
        (major.parse().unwrap(), minor.parse().unwrap())
    };
    for name in ["plain-defaults", "ribbon-zstd-dictionary"] {
        assert!(oldest(&golden::get(name).path()) > (7, 8), "{name}");
    }
    for table in golden::tables() {
        assert!(oldest(&table.path()) <= (7, 8), "{}", table.name());
    }
}

#[test]
fn a_filter_of_an_unknown_policy_is_warned_of() {
    // The policy's name stands in plain text in the metaindex block, whose checksum this table does not have.
    let table = golden::table("fv5-kNoChecksum");
    let mut bytes = fs::read(table.path()).unwrap();
    let name = b"rocksdb.BuiltinBloomFilter";
    let at = bytes.windows(name.len()).rposition(|window| window == name).unwrap();
    bytes[at..at + 7].copy_from_slice(b"Xocksdb");
    fs::write(table.path(), bytes).unwrap();
    let shown = show(&table.path());
    assert!(shown.contains("of unknown policy Xocksdb.BuiltinBloomFilter: not used"), "{shown}");
    assert!(shown.contains("warning: the filter is of policy Xocksdb"), "{shown}");
}

#[test]
fn what_is_no_table_is_told_from_a_damaged_table() {
    let dir = tempfile::tempdir().unwrap();
    for (name, code) in [("CURRENT", 2), ("000007.sst", 1)] {
        let path = dir.path().join(name);
        fs::write(&path, "MANIFEST-000005, and enough bytes behind it to hold a footer of a table")
            .unwrap();
        let run = partita([Path::new("sst"), Path::new("show"), &path]);
        assert_eq!((run.code, run.stdout.as_str()), (code, ""), "{name}");
        assert!(run.stderr.contains(name) && run.stderr.contains("magic number"), "{}", run.stderr);
    }
}

#[test]
fn json_has_an_object_for_a_file_that_cannot_be_looked_at() {
    let dir = tempfile::tempdir().unwrap();
    let [short, missing] = ["000007.sst", "missing.sst"].map(|name| dir.path().join(name));
    fs::write(&short, "short").unwrap();
    for (path, code, kind) in [(&short, 1, "corruption"), (&missing, 2, "I/O error")] {
        let run = partita([Path::new("sst"), Path::new("show"), Path::new("--json"), path]);
        assert_eq!(run.code, code, "{run:?}");
        let shown: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(shown["file"], path.to_str().unwrap());
        assert_eq!(shown["error"]["kind"], kind);
        assert!(shown["error"]["message"].is_string());
    }
}

#[test]
fn the_inputs_are_not_touched() {
    let db = golden::get("families-merge-ranges-wal");
    let before = fingerprint(&db.path());
    show_json(&db.path());
    assert!(fingerprint(&db.path()) == before);
}
