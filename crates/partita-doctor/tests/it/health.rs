//! Health: damaged directories, each with what is wrong with it and no word about anything else.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use partita::io::DiskFileSystem;
use partita_doctor::finding::Value;
use partita_doctor::{Examined, Finding, Request, Severity, examine};
use partita_testkit::golden::{self, GoldenDb};

use crate::watched_fs::WatchedFs;

fn examined(dir: &Path, verify: bool) -> Examined {
    let request = Request { verify, ..Request::default() };
    let mut report = examine(&WatchedFs::quiet(), &[dir.to_owned()], &request);
    assert_eq!(report.problems, []);
    report.databases.remove(0)
}

/// The one error or warning of a database, which has that code.
fn only(golden: &GoldenDb, code: &str) -> Finding {
    let findings = examined(&golden.path(), false).findings;
    let told: Vec<&Finding> =
        findings.iter().filter(|finding| finding.severity > Severity::Note).collect();
    assert!(told.len() == 1 && told[0].code == code, "{code}: {told:?}");
    told[0].clone()
}

fn the_one(golden: &GoldenDb, prefix: &str) -> PathBuf {
    let mut names = fs::read_dir(golden.path()).unwrap().map(|entry| entry.unwrap().path());
    let is_it = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(prefix);
    names.find(is_it).unwrap()
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

#[test]
fn sound_databases_have_no_word_about_their_health() {
    for golden in golden::all() {
        let examined = examined(&golden.path(), true);
        let errors: Vec<&Finding> =
            examined.findings.iter().filter(|finding| finding.severity > Severity::Note).collect();
        assert!(errors.is_empty(), "{}: {errors:?}", golden.name());
        let verified = examined.verified.unwrap();
        assert_eq!(verified.tables, golden.sst_paths().len() as u64, "{}", golden.name());
        assert_eq!(verified.damaged_tables, 0);
        let unordered = if golden.name() == "foreign-comparator" { verified.tables } else { 0 };
        assert_eq!(verified.unordered_tables, unordered, "{}", golden.name());
    }
}

#[test]
fn an_empty_current_leads_to_the_newest_manifest() {
    let golden = golden::get("locations-full-filter");
    fs::write(golden.path().join("CURRENT"), "").unwrap();
    let finding = only(&golden, "current-damaged");
    assert_eq!(finding.value("tables_known"), Some(&Value::Count(4)));
    assert_eq!(finding.value("tables_there"), Some(&Value::Count(4)));
    assert!(finding.remedies[0].what.contains("MANIFEST-"), "{finding:?}");
    fs::remove_file(golden.path().join("CURRENT")).unwrap();
    only(&golden, "current-damaged");
}

#[test]
fn a_missing_manifest_is_named() {
    let golden = golden::get("locations-full-filter");
    fs::remove_file(the_one(&golden, "MANIFEST-")).unwrap();
    let finding = only(&golden, "manifest-missing");
    let told = finding.evidence.unwrap().rows[0][0].to_string();
    assert!(told.contains("MANIFEST-000005"), "{told}");
}

#[test]
fn a_damaged_manifest_is_read_up_to_the_damage() {
    let golden = golden::get("locations-full-filter");
    let manifest = the_one(&golden, "MANIFEST-");
    let middle = fs::read(&manifest).unwrap().len() / 2;
    flip(&manifest, middle);
    let finding = only(&golden, "manifest-damaged");
    assert!(
        matches!(finding.value("edits"), Some(Value::Count(edits)) if *edits > 0),
        "{finding:?}"
    );
}

#[test]
fn missing_and_cut_tables_are_named() {
    let golden = golden::get("locations-full-filter");
    fs::remove_file(&golden.sst_paths()[2]).unwrap();
    let finding = only(&golden, "tables-missing");
    assert_eq!(finding.evidence.as_ref().unwrap().total, 1);
    assert_eq!(finding.title, "1 table is missing");

    let golden = golden::get("locations-full-filter");
    let path = &golden.sst_paths()[2];
    OpenOptions::new().append(true).open(path).unwrap().write_all(b"x").unwrap();
    // One more byte, and the footer is not where it was.
    only(&golden, "tables-damaged");
}

#[test]
fn damage_in_any_block_is_found_with_its_file_offset_and_role() {
    let golden = golden::get("locations-partitioned");
    let path = golden.sst_paths()[0].clone();
    let whole = fs::read(&path).unwrap();
    let blocks = examined(&golden.path(), true).verified.unwrap().blocks;
    // Of the data, the filter, the index, the properties, the footer: wherever the byte lies.
    for at in [10, whole.len() / 2, whole.len() * 9 / 10, whole.len() - 1200, whole.len() - 20] {
        fs::write(&path, &whole).unwrap();
        flip(&path, at);
        let examined = examined(&golden.path(), true);
        let finding = examined.findings_of("tables-damaged").next();
        let finding = finding.unwrap_or_else(|| panic!("byte {at} of {}", whole.len()));
        assert_eq!(finding.severity, Severity::Error);
        let told = finding.evidence.as_ref().unwrap().rows[0][0].to_string();
        assert!(told.contains(path.file_name().unwrap().to_str().unwrap()), "{told}");
        let verified = examined.verified.unwrap();
        assert_eq!(verified.damaged_tables, 1);
        assert!(verified.blocks <= blocks);
    }
}

#[test]
fn a_torn_log_is_a_note_and_damage_within_it_an_error() {
    let golden = golden::get("wal-only");
    let log = golden.path().join("000004.log");
    let whole = fs::read(&log).unwrap();
    fs::write(&log, &whole[..whole.len() - 3]).unwrap();
    let findings = examined(&golden.path(), false).findings;
    let torn = findings.iter().find(|finding| finding.code == "log-torn").unwrap();
    assert_eq!(torn.severity, Severity::Note);
    fs::write(&log, &whole).unwrap();
    flip(&log, whole.len() / 2);
    let damaged = only(&golden, "logs-damaged");
    let row = &damaged.evidence.unwrap().rows[0];
    assert_eq!(row[0].to_string(), "000004.log");
}

#[test]
fn what_no_manifest_names_is_left_over() {
    let golden = golden::get("locations-full-filter");
    fs::copy(&golden.sst_paths()[0], golden.path().join("000999.sst")).unwrap();
    fs::write(golden.path().join("000998.dbtmp"), "").unwrap();
    let examined = examined(&golden.path(), false);
    let finding = examined.findings_of("orphan-files").next().unwrap();
    assert_eq!((finding.severity, finding.evidence.as_ref().unwrap().total), (Severity::Note, 2));
    assert_eq!(examined.shape.total.files, 4);
}

#[test]
fn a_blob_file_that_is_not_there_is_missed() {
    let golden = golden::get("blob-files");
    let mut names = fs::read_dir(golden.path()).unwrap().map(|entry| entry.unwrap().path());
    let blob = names.find(|path| path.extension().is_some_and(|extension| extension == "blob"));
    fs::remove_file(blob.unwrap()).unwrap();
    only(&golden, "blobs-missing");
}

#[test]
fn stalls_and_trouble_in_log_are_told_by_cause() {
    let golden = golden::get("plain-defaults");
    let line = |what: &str| format!("2026/11/30-19:34:04.0 7 [WARN] [x.cc:9] [default] {what}\n");
    let slow = line("Stalling writes because we have 21 level-0 files rate 16777216");
    let stop = line("Stopping writes because we have 2 immutable memtables (waiting for flush)");
    let full = line("IO error: No space left on device: While appending");
    fs::write(golden.path().join("LOG"), slow.repeat(3) + &stop + &full).unwrap();
    let findings = examined(&golden.path(), false).findings;
    let stalls = findings.iter().find(|finding| finding.code == "write-stalls").unwrap();
    assert_eq!(stalls.title, "writes were held up 4 times, and stopped in 1 of them");
    let rows = &stalls.evidence.as_ref().unwrap().rows;
    assert_eq!(rows[0][1].to_string(), "stopped");
    assert_eq!(rows[1][3].to_string(), "tables gathered on level 0");
    assert_eq!(stalls.remedies.len(), 2);
    assert!(findings.iter().any(|finding| finding.code == "logged-trouble"));
}

#[test]
fn hits_and_misses_in_log_are_told_by_role() {
    let golden = golden::get("plain-defaults");
    let text = "2026/11/30-19:34:04.0 7 [x.cc:9] STATISTICS:\n rocksdb.block.cache.filter.miss COUNT : 4000\n\
                rocksdb.block.cache.filter.hit COUNT : 0\nrocksdb.block.cache.filter.bytes.insert COUNT : 18962178648\n\
                rocksdb.number.keys.read COUNT : 4000\n";
    fs::write(golden.path().join("LOG"), text).unwrap();
    let examined = examined(&golden.path(), false);
    let cache = examined.findings_of("logged-cache").next().unwrap();
    assert_eq!(cache.severity, Severity::Warning);
    assert_eq!(cache.evidence.as_ref().unwrap().rows[0][5], Value::Bytes(4_740_544));
}

#[test]
fn who_can_read_the_tables_is_told() {
    let compatibility = |name: &str| examined(&golden::get(name).path(), false).compatibility;
    let full = compatibility("locations-full-filter");
    assert_eq!((full.oldest.as_deref(), full.before), (Some("6.6"), None));
    assert!(full.refused.is_empty());
    let foreign = compatibility("foreign-comparator");
    assert_eq!(foreign.refused.len(), 1, "{foreign:?}");
    let plain = compatibility("plain-defaults");
    assert_eq!(plain.oldest.as_deref(), Some("10.4"), "format version 7");
    // An old table among new ones.
    let golden = golden::get("locations-full-filter");
    fs::copy(golden::table("fv1-binary-search").path(), &golden.sst_paths()[0]).unwrap();
    let examined = examine(&DiskFileSystem, &[golden.path()], &Request::default());
    let database = &examined.databases[0];
    assert_eq!(database.compatibility.before.as_deref(), Some("11.0"));
    assert!(database.findings_of("not-read-by-later-releases").next().is_some());
}

#[test]
fn whatever_is_damaged_or_gone_the_doctor_reports() {
    let golden = golden::get("wal-recycled");
    let mut names = fs::read_dir(golden.path()).unwrap().map(|entry| entry.unwrap().path());
    let log = "2026/11/30-19:34:04.0 7 --------------- Options for column family [default]:\n  capacity : 7\n";
    fs::write(golden.path().join("LOG"), log).unwrap();
    let files: Vec<PathBuf> = names.by_ref().filter(|path| path.is_file()).collect();
    for path in &files {
        let whole = fs::read(path).unwrap();
        let mut damaged =
            vec![Vec::new(), whole[..whole.len() / 2].to_vec(), vec![0xff; whole.len()]];
        for part in [1, 3] {
            let mut bytes = whole.clone();
            if let Some(byte) = bytes.get_mut(whole.len() * part / 4) {
                *byte ^= 0xff;
                damaged.push(bytes);
            }
        }
        for (at, bytes) in damaged.into_iter().enumerate() {
            fs::write(path, bytes).unwrap();
            examined(&golden.path(), at == 3);
        }
        fs::remove_file(path).unwrap();
        examined(&golden.path(), false);
        fs::write(path, whole).unwrap();
    }
}

#[test]
fn what_partita_refuses_is_told_by_name_and_nothing_is_where_it_opens() {
    for golden in golden::all() {
        let findings = examined(&golden.path(), false).findings;
        let refused = findings.iter().find(|finding| finding.code == "refused-by-partita");
        let is_foreign = golden.name() == "foreign-comparator";
        assert_eq!(refused.is_some(), is_foreign, "{}: {refused:?}", golden.name());
        if let Some(refused) = refused {
            let because = refused.evidence.as_ref().unwrap().rows[0][1].to_string();
            assert!(because.contains("comparator"), "{because}");
        }
    }
}
