//! `partita db checkpoint`.

use std::fs;

use tempfile::tempdir;

use crate::run::{partita, partita_fed};

#[test]
fn a_checkpoint_holds_what_the_database_held_and_is_never_made_over_another_directory() {
    let holder = tempdir().unwrap();
    let at = |name: &str| holder.path().join(name).to_str().unwrap().to_owned();
    let (db, copy) = (at("db"), at("copies/monday"));
    partita_fed(["db", "load", &db, "--create"], "put\ta\t1\nflush\nput\tb\t2\n").clean();
    assert_eq!(partita(["db", "checkpoint", &db, &copy]).clean(), "");
    partita(["db", "put", &db, "a", "3"]).clean();
    assert_eq!(partita(["db", "scan", &copy]).clean(), "a\t1\nb\t2\n");
    partita(["db", "verify", &copy]).clean();
    let again = partita(["db", "checkpoint", &db, &copy]);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("monday: this exists already"), "{}", again.stderr);
    assert_eq!(fs::read_dir(at("copies")).unwrap().count(), 1);
    assert_eq!(partita(["db", "checkpoint", &at("none"), &at("x")]).code, 2);
}
