//! `partita db manifest`.

use std::fs;

use partita_testkit::golden;

use crate::run::{assert_golden, fingerprint, partita};

#[test]
fn the_edits_of_golden_manifests_are_as_recorded() {
    for name in ["families-merge-ranges-wal", "blob-files"] {
        let db = golden::get(name);
        let before = fingerprint(&db.path());
        let text = partita(["db".as_ref(), "manifest".as_ref(), db.path().as_os_str()]).clean();
        assert_golden(&format!("manifest-{name}.txt"), &text);
        assert_eq!(fingerprint(&db.path()), before);
    }
}

#[test]
fn a_manifest_may_be_named_itself_and_json_is_one_object_an_edit() {
    let db = golden::get("families-merge-ranges-wal");
    let manifest = db.path().join("MANIFEST-000005");
    let of = |path: &std::path::Path, json: &[&str]| {
        let mut args = vec!["db", "manifest", path.to_str().unwrap()];
        args.extend(json);
        partita(args).clean()
    };
    assert_eq!(of(&manifest, &[]), of(&db.path(), &[]));
    let json = of(&db.path(), &["--json", "--hex"]);
    let edits: Vec<serde_json::Value> =
        json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = edits.iter().filter_map(|edit| edit["family_added"].as_str()).collect();
    assert_eq!(names, ["keys", "openKeys"]);
    let tables = edits.iter().filter_map(|edit| edit["new_files"].as_array()).flatten().count();
    assert!(tables >= db.sst_paths().len(), "{tables}");
}

#[test]
fn damage_is_told_after_what_stands_before_it_and_what_is_no_database_as_well() {
    let db = golden::get("families-merge-ranges-wal");
    let manifest = db.path().join("MANIFEST-000005");
    let mut bytes = fs::read(&manifest).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    fs::write(&manifest, bytes).unwrap();
    let run = partita(["db".as_ref(), "manifest".as_ref(), db.path().as_os_str()]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(!run.stdout.is_empty());
    assert!(
        run.stderr.contains("MANIFEST-000005") && run.stderr.contains("at 0x"),
        "{}",
        run.stderr
    );

    let empty = tempfile::tempdir().unwrap();
    let run = partita(["db".as_ref(), "manifest".as_ref(), empty.path().as_os_str()]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("holds no database"), "{}", run.stderr);
}
