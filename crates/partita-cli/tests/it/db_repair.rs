//! `partita db repair`.

use std::fs;

use tempfile::tempdir;

use crate::run::{fingerprint, partita, partita_fed};

#[test]
fn a_broken_database_is_repaired_into_a_new_directory_and_the_old_one_is_only_read() {
    let holder = tempdir().unwrap();
    let at = |name: &str| holder.path().join(name).to_str().unwrap().to_owned();
    let (db, new) = (at("db"), at("new"));
    partita_fed(["db", "load", &db, "--create"], "put\ta\t1\nflush\nput\tb\t2\n").clean();
    // It opens.
    let said = partita(["db", "repair", &db]).clean();
    assert!(said.starts_with("nothing to repair") && said.contains("nothing is lost"), "{said}");
    let refused = partita(["db", "repair", &db, "--to", &new]);
    assert_eq!((refused.code, &refused.stdout[..]), (2, ""));
    assert!(refused.stderr.contains("nothing to repair"), "{}", refused.stderr);
    partita(["db", "repair", &db, "--to", &at("forced"), "--force"]).clean();
    assert_eq!(partita(["db", "scan", &at("forced")]).clean(), "a\t1\nb\t2\n");

    fs::write(holder.path().join("db/CURRENT"), "").unwrap();
    let before = fingerprint(holder.path().join("db").as_path());
    let said = partita(["db", "repair", &db, "--dry-run"]).clean();
    assert!(said.contains("CURRENT: expected the name of a manifest"), "{said}");
    assert!(said.contains("nothing was written: --to NEW_DIR"), "{said}");
    assert!(!holder.path().join("new").exists());
    let said = partita(["db", "repair", &db, "--to", &new]).clean();
    assert!(
        said.contains("column family \"default\"") && said.contains("nothing is lost"),
        "{said}"
    );
    assert_eq!(partita(["db", "scan", &new]).clean(), "a\t1\nb\t2\n");
    partita(["db", "verify", &new]).clean();
    assert!(fingerprint(holder.path().join("db").as_path()) == before);
    let again = partita(["db", "repair", &db, "--to", &new]);
    assert!(again.code == 2 && again.stderr.contains("this exists already"), "{}", again.stderr);
}

#[test]
fn what_is_lost_is_told_as_text_and_as_json_and_by_the_exit_code() {
    let holder = tempdir().unwrap();
    let db = holder.path().join("db").to_str().unwrap().to_owned();
    partita_fed(["db", "load", &db, "--create"], "put\ta\t1\nput\tz\t2\nflush\n").clean();
    let table = fs::read_dir(&db)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|extension| extension == "sst"))
        .unwrap();
    fs::remove_file(&table).unwrap();
    let run = partita(["db", "repair", &db]);
    assert_eq!((run.code, &run.stderr[..]), (1, ""));
    let name = table.file_name().unwrap().to_str().unwrap();
    let expected = format!("{name} of column family \"default\", keys a to z: the manifest names");
    assert!(run.stdout.contains(&expected), "{}", run.stdout);
    let run = partita(["db", "repair", "--json", &db]);
    assert_eq!(run.code, 1);
    let told: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let lost = &told["lost"][0];
    assert_eq!(
        (&lost["what"], &lost["first"], &lost["last"]),
        (&"table".into(), &"61".into(), &"7a".into())
    );
    assert_eq!(told["families"][0]["tables"], 0);
}
