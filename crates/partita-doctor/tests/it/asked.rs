//! Asked against effective: files of settings that do not come about.

use std::fs;
use std::path::Path;

use partita::io::DiskFileSystem;
use partita_doctor::finding::Value;
use partita_doctor::{Finding, Request, Severity, examine};
use partita_testkit::golden::{self, GoldenDb};

/// What the doctor finds in a database if this was asked for in a file of that name.
fn findings_in(golden: &GoldenDb, name: &str, text: &str) -> Vec<Finding> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    fs::write(&path, text).unwrap();
    let request = Request { options_file: Some(path), ..Request::default() };
    let mut report = examine(&DiskFileSystem, &[golden.path()], &request);
    assert_eq!(report.problems, []);
    report.databases.remove(0).findings
}

fn findings(text: &str) -> Vec<Finding> {
    findings_in(&golden::get("locations-full-filter"), "asked.ini", text)
}

fn of<'f>(findings: &'f [Finding], code: &str) -> Option<&'f Finding> {
    findings.iter().find(|finding| finding.code == code)
}

/// An options file for one family whose table has these options.
fn with_table(options: &[&str]) -> String {
    let head = "[DBOptions]\n[CFOptions \"default\"]\n[TableOptions/BlockBasedTable \"default\"]\n";
    head.to_owned() + &options.join("\n")
}

#[test]
fn a_last_line_without_a_line_end_is_told_with_what_holds_instead() {
    let text = with_table(&["block_cache=206150041", "cache_index_and_filter_blocks=true"]);
    let found = findings(&text);
    let dropped = of(&found, "options-line-dropped").expect("RocksDB does not see it");
    assert_eq!(dropped.severity, Severity::Error);
    assert_eq!(dropped.value("line"), Some(&Value::Count(5)));
    assert!(dropped.title.ends_with("cache_index_and_filter_blocks=true"), "{}", dropped.title);
    assert!(dropped.consequence.contains("the default, false"), "{}", dropped.consequence);
    assert!(of(&findings(&(text + "\n")), "options-line-dropped").is_none());
    // A comment, or an option without weight.
    assert!(of(&findings(&with_table(&["# no"])), "options-line-dropped").is_none());
    let light = findings(&with_table(&["block_size=65536"]));
    assert_eq!(of(&light, "options-line-dropped").unwrap().severity, Severity::Warning);
}

#[test]
fn partitions_without_the_two_level_index_are_off_and_the_files_show_it() {
    let found = findings(&with_table(&["partition_filters=true", "index_type=kBinarySearch\n"]));
    let off = of(&found, "partitions-switched-off").unwrap();
    assert_eq!(off.value("full_filters"), Some(&Value::Count(4)));
    assert_eq!(off.value("partitioned_filters"), Some(&Value::Count(0)));
    // It is told once, where the files are.
    assert!(of(&found, "options-conflict").is_none(), "{found:?}");
    // The index that holds if none is asked for has one level.
    assert!(
        of(&findings(&with_table(&["partition_filters=true\n"])), "partitions-switched-off")
            .is_some()
    );
    let both = with_table(&["partition_filters=true", "index_type=kTwoLevelIndexSearch\n"]);
    let golden = golden::get("locations-partitioned");
    let found = findings_in(&golden, "asked.ini", &both);
    assert!(of(&found, "partitions-switched-off").is_none());
    assert!(of(&found, "partitions-not-everywhere").is_none());
}

#[test]
fn a_directory_that_was_half_rewritten_is_counted_by_layout() {
    let golden = golden::get("locations-full-filter");
    let partitioned = golden::get("locations-partitioned").sst_paths().to_vec();
    let source = golden::get("locations-partitioned");
    assert_eq!(partitioned.len(), 4);
    for (from, to) in source.sst_paths().iter().zip(golden.sst_paths()).skip(2) {
        fs::copy(from, to).unwrap();
    }
    let both = with_table(&["partition_filters=true", "index_type=kTwoLevelIndexSearch\n"]);
    let found = findings_in(&golden, "asked.ini", &both);
    let half = of(&found, "partitions-not-everywhere").unwrap();
    assert_eq!(half.value("full_filters"), Some(&Value::Count(2)));
    assert_eq!(half.value("partitioned_filters"), Some(&Value::Count(2)));
    let mixed = of(&found, "mixed-layouts").unwrap();
    assert_eq!(mixed.severity, Severity::Warning);
    assert_eq!(mixed.evidence.as_ref().unwrap().total, 2);
}

#[test]
fn pinning_without_caching_is_told() {
    let pin = "pin_l0_filter_and_index_blocks_in_cache=true\n";
    let found = findings(&with_table(&[pin]));
    assert!(of(&found, "pinning-without-caching").is_some());
    let found = findings(&with_table(&["cache_index_and_filter_blocks=true", pin]));
    assert!(of(&found, "pinning-without-caching").is_none());
}

#[test]
fn five_ways_to_be_ignored_are_five_findings() {
    let text = with_table(&[
        "partition_filters=true",
        "pin_l0_filter_and_index_blocks_in_cache=true",
        "frobnicate_all_blocks=yes",
        "blok_size=4096",
        "block_restart_interval=sixteen\n",
    ]);
    let found = findings(&text);
    for code in [
        "partitions-switched-off",
        "pinning-without-caching",
        "options-unknown",
        "options-misspelt",
        "options-bad-value",
    ] {
        let finding = of(&found, code).unwrap_or_else(|| panic!("{code} is not in {found:?}"));
        assert!(finding.severity >= Severity::Warning, "{code}");
    }
}

#[test]
fn what_pins_and_what_does_not_without_caching() {
    let told = |lines: &[&str]| {
        let found = findings(&with_table(lines));
        of(&found, "pinning-without-caching").map(|finding| finding.title.clone())
    };
    let options = |part: &str| format!("metadata_cache_options={{{part};}}\n");
    for (part, is_in_vain) in [
        ("unpartitioned_pinning=kAll", true),
        ("top_level_index_pinning=kFlushedAndSimilar", true),
        ("partition_pinning=kAll", true),
        ("unpartitioned_pinning=kFallback;partition_pinning=kNone", false),
    ] {
        let title = told(&[&options(part)]);
        assert_eq!(title.is_some(), is_in_vain, "{part}: {title:?}");
        let full = format!(
            "metadata_cache_options.{part} has no effect without cache_index_and_filter_blocks=true"
        );
        assert!(title.is_none_or(|title| title == full), "{part}");
        assert_eq!(told(&["cache_index_and_filter_blocks=true", &options(part)]), None, "{part}");
    }
    // Partitions go through the cache in any case.
    let cut = "index_type=kTwoLevelIndexSearch";
    assert_eq!(told(&[cut, &options("partition_pinning=kAll")]), None);
    assert_eq!(told(&[cut, "pin_l0_filter_and_index_blocks_in_cache=true\n"]), None);
    assert!(told(&[cut, &options("unpartitioned_pinning=kAll")]).is_some());
}

#[test]
fn a_metadata_cache_option_that_does_not_hold_is_told_as_asked_and_as_it_is() {
    let found = findings(&with_table(&["metadata_cache_options={partition_pinning=kAll;}\n"]));
    let finding = of(&found, "options-not-applied").unwrap();
    let cells: Vec<String> =
        finding.evidence.as_ref().unwrap().rows[0].iter().map(ToString::to_string).collect();
    assert_eq!(cells[0], "metadata_cache_options");
    assert!(cells[3].contains("partition_pinning=kAll"), "{cells:?}");
    assert!(cells[4].contains("partition_pinning=kFallback"), "{cells:?}");
    let same =
        "metadata_cache_options={top_level_index_pinning=kFallback;partition_pinning=kFallback}\n";
    assert!(of(&findings(&with_table(&[same])), "options-not-applied").is_none());
}

#[test]
fn what_was_asked_for_and_does_not_hold_stands_line_by_line() {
    // The golden database has 65,536.
    let found = findings(&with_table(&["block_size=16384", "checksum=kxxHash\n"]));
    let finding = of(&found, "options-not-applied").unwrap();
    let evidence = finding.evidence.as_ref().unwrap();
    let cells: Vec<String> = evidence.rows[0].iter().map(ToString::to_string).collect();
    assert_eq!(evidence.total, 1);
    assert_eq!(cells, ["block_size", "default", "4", "16384", "65536", ""]);
    let same = findings(&with_table(&[
        "block_size=65536",
        "filter_policy=rocksdb.BloomFilter:10:false\n",
    ]));
    assert!(of(&same, "options-not-applied").is_none(), "{same:?}");
}

#[test]
fn a_cache_that_log_has_smaller_than_asked_does_not_hold() {
    let golden = golden::get("locations-full-filter");
    let log = "2026/11/30-19:34:03.4 7 --------------- Options for column family [default]:\n  capacity : 8388608\n";
    fs::write(golden.path().join("LOG"), log).unwrap();
    let found = findings_in(&golden, "asked.ini", &with_table(&["block_cache=1000000000\n"]));
    let rows = &of(&found, "options-not-applied").unwrap().evidence.as_ref().unwrap().rows;
    assert_eq!(rows[0][4].to_string(), "8388608");
}

#[test]
fn a_file_without_a_cache_loses_it_at_load() {
    let families = "[DBOptions]\n[CFOptions \"default\"]\n[CFOptions \"b\"]\n";
    let found = findings(families);
    let lost = of(&found, "cache-lost-on-load").unwrap();
    assert_eq!(lost.value("families"), Some(&Value::Count(2)));
    // Of this release's default, 32 MiB, each.
    assert_eq!(lost.value("total_bytes"), Some(&Value::Bytes(64 << 20)));
    assert!(of(&findings(&with_table(&["block_cache=1000000\n"])), "cache-lost-on-load").is_none());
}

#[test]
fn the_cache_of_the_file_counts_where_nobody_else_tells_of_one() {
    let golden = golden::get("locations-partitioned");
    let found = findings_in(&golden, "asked.ini", &with_table(&["block_cache=20000\n"]));
    let finding = of(&found, "metadata-exceeds-cache").unwrap();
    assert!(finding.value("cache").unwrap().to_string().contains("as the given file says"));
}

#[test]
fn a_bookies_configuration_is_judged_and_leads_to_its_options_file() {
    let golden = golden::get("locations-full-filter");
    let conf = "dbStorage_rocksDB_blokSize=1\ndbStorage_rocksDB_blockCacheSize=1000000\n";
    let found = findings_in(&golden, "bk_server.conf", conf);
    assert!(of(&found, "options-misspelt").is_some(), "{found:?}");

    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(Path::new(dir.path()).join(name), text).unwrap();
    write("bk_server.conf", conf);
    write("entry_location_rocksdb.conf", &with_table(&["cache_index_and_filter_blocks=true"]));
    let options_file = Some(dir.path().join("bk_server.conf"));
    let request = Request { options_file, ..Request::default() };
    let report = examine(&DiskFileSystem, &[golden.path()], &request);
    let found = &report.databases[0].findings;
    assert!(of(found, "options-line-dropped").is_some(), "{found:?}");
    // The options file alone counts then.
    assert!(of(found, "options-misspelt").is_none(), "{found:?}");
}

#[test]
fn a_file_that_is_not_there_is_a_problem() {
    let golden = golden::get("plain-defaults");
    let request = Request { options_file: Some("/no/such.ini".into()), ..Request::default() };
    let report = examine(&DiskFileSystem, &[golden.path()], &request);
    assert_eq!((report.databases.len(), report.problems.len()), (1, 1));
}

#[test]
fn each_way_to_write_a_line_wrong_is_told_by_its_kind() {
    for (code, lines) in [
        ("options-duplicate", &["block_size=4096", "block_size=8192\n"][..]),
        ("options-malformed", &["block_size 4096\n"]),
        ("options-misplaced", &["max_open_files=5\n"]),
    ] {
        let found = findings(&with_table(lines));
        assert!(of(&found, code).is_some(), "{code} is not in {found:?}");
    }
    let sound = findings(&with_table(&["block_size=65536\n"]));
    assert!(sound.iter().all(|finding| !finding.code.starts_with("options-")), "{sound:?}");
}

#[test]
fn options_of_old_versions_are_told_and_no_more() {
    let text = "[DBOptions]\nbase_background_compactions=1\n[CFOptions \"default\"]\n";
    let found = findings(text);
    let obsolete = of(&found, "options-obsolete").expect("nothing acts on it");
    assert_eq!(obsolete.severity, Severity::Note);
    assert_eq!(obsolete.evidence.as_ref().unwrap().rows[0][0].to_string(), "2");
    assert!(of(&findings(&with_table(&["block_size=4096\n"])), "options-obsolete").is_none());
}
