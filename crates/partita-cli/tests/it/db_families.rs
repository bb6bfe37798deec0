//! `partita db export`, `import` and `drop-range`.

use tempfile::tempdir;

use crate::run::{partita, partita_fed};

#[test]
fn a_family_is_exported_and_imported_and_what_is_in_the_way_is_refused() {
    let holder = tempdir().unwrap();
    let at = |name: &str| holder.path().join(name).to_str().unwrap().to_owned();
    let (db, other, exported) = (at("db"), at("other"), at("exported"));
    partita_fed(["db", "load", &db, "--create", "--cf", "ledger"], "put\ta\t1\nput\tb\t2\n")
        .clean();
    partita_fed(["db", "load", &other, "--create"], "put\tx\t1\n").clean();
    let said = partita(["db", "export", "--cf", "ledger", &db, &exported]).clean();
    assert!(said.starts_with("1 table, "), "{said}");
    // It is a database.
    assert_eq!(partita(["db", "scan", &exported]).clean(), "a\t1\nb\t2\n");
    let again = partita(["db", "export", "--cf", "ledger", &db, &exported]);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("exported: this exists already"), "{}", again.stderr);

    let said = partita(["db", "import", "--cf", "copy", "--json", &other, &exported]).clean();
    assert!(said.starts_with("{\"files\":1,\"bytes\":"), "{said}");
    assert_eq!(partita(["db", "scan", "--cf", "copy", &other]).clean(), "a\t1\nb\t2\n");
    assert_eq!(partita(["db", "scan", &other]).clean(), "x\t1\n");
    partita(["db", "import", "--cf", "linked", "--link", &other, &exported]).clean();
    partita(["db", "verify", &other]).clean();
    let again = partita(["db", "import", "--cf", "copy", &other, &exported]);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("exists already"), "{}", again.stderr);
    let absent = partita(["db", "import", "--cf", "more", "--from-cf", "none", &other, &exported]);
    assert_eq!(absent.code, 2);
}

#[test]
fn tables_in_a_range_are_dropped_and_others_stay() {
    let holder = tempdir().unwrap();
    let db = holder.path().join("db").to_str().unwrap().to_owned();
    partita_fed(["db", "load", &db, "--create"], "put\ta1\told\nput\ta2\told\n").clean();
    // Below level 0, as tables that go must be.
    partita(["db", "compact", &db]).clean();
    let said = partita(["db", "drop-range", &db, "--from", "a1", "--to", "a2"]).clean();
    assert_eq!(said, "0 tables dropped\n");
    assert_eq!(partita(["db", "scan", &db]).clean(), "a1\told\na2\told\n");
    partita_fed(["db", "load", &db], "put\tb\tnew\n").clean();
    let said = partita(["db", "drop-range", "--json", "--hex", &db, "--to", "6233"]).clean();
    assert_eq!(said, "{\"tables\":1}\n");
    assert_eq!(partita(["db", "scan", &db]).clean(), "b\tnew\n");
    // All of it is not meant by leaving everything out.
    assert_eq!(partita(["db", "drop-range", &db]).code, 2);
    let wrong = partita(["db", "drop-range", "--hex", &db, "--to", "xyz"]);
    assert!(wrong.stderr.contains("--to \"xyz\""), "{}", wrong.stderr);
}
