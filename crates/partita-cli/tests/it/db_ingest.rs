//! `partita db ingest`.

use std::path::Path;

use partita::db::DbBuilder;
use partita::io::{DiskFileSystem, FileSystem as _};
use partita::key::KeyOrder;
use partita::options::{DbOptions, TableOptions};
use partita::table::{SstFileWriter, TableContext};
use tempfile::tempdir;

use crate::run::{partita, partita_fed};

fn external(path: &Path, pairs: &[(&str, &str)]) {
    let file = DiskFileSystem.create(path).unwrap();
    let context = TableContext::default();
    let mut writer =
        SstFileWriter::new(file, TableOptions::default(), KeyOrder::Bytewise, context).unwrap();
    for (key, value) in pairs {
        writer.put(key.as_bytes(), value.as_bytes()).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn tables_come_in_with_a_line_each_and_are_moved_if_that_is_asked_for() {
    let holder = tempdir().unwrap();
    let at = |name: &str| holder.path().join(name).to_str().unwrap().to_owned();
    let db = at("db");
    partita_fed(["db", "load", &db, "--create"], "put\tb\told\nput\tk\told\n").clean();
    external(at("1.sst").as_ref(), &[("a", "1"), ("b", "1")]);
    external(at("2.sst").as_ref(), &[("b", "2"), ("c", "2")]);
    let said = partita(["db", "ingest", &db, &at("1.sst"), &at("2.sst")]).clean();
    let lines: Vec<Vec<&str>> = said.lines().map(|line| line.split('\t').collect()).collect();
    assert!(lines[0][0].ends_with(".sst") && lines[0][1] == "level 0", "{said}");
    assert_eq!(lines[1][3], at("2.sst"));
    assert_eq!(partita(["db", "scan", &db]).clean(), "a\t1\nb\t2\nc\t2\nk\told\n");

    external(at("3.sst").as_ref(), &[("x", "3")]);
    let said = partita(["db", "ingest", &db, "--move", "--json", &at("3.sst")]).clean();
    assert!(said.contains("\"level\":6") && said.ends_with("}\n"), "{said}");
    assert!(!Path::new(&at("3.sst")).exists());
    assert!(Path::new(&at("1.sst")).exists());
    partita(["db", "verify", &db]).clean();
    assert!(partita(["db", "scan", &db]).clean().ends_with("x\t3\n"));
}

#[test]
fn what_cannot_be_ingested_is_named_and_nothing_is() {
    let holder = tempdir().unwrap();
    let at = |name: &str| holder.path().join(name).to_str().unwrap().to_owned();
    let db = at("db");
    partita_fed(["db", "load", &db, "--create"], "put\tb\told\n").clean();
    external(at("1.sst").as_ref(), &[("a", "1")]);
    std::fs::write(at("2.sst"), "no table").unwrap();
    let run = partita(["db", "ingest", &db, &at("1.sst"), &at("2.sst")]);
    assert_eq!((run.code, &run.stdout[..]), (2, ""));
    assert!(run.stderr.contains("2.sst"), "{}", run.stderr);
    assert_eq!(partita(["db", "scan", &db]).clean(), "b\told\n");
}

#[test]
fn tables_come_behind_what_is_there_where_a_level_is_kept_free_for_them() {
    let holder = tempdir().unwrap();
    let at = |name: &str| holder.path().join(name).to_str().unwrap().to_owned();
    external(at("1.sst").as_ref(), &[("a", "1"), ("b", "1"), ("c", "1")]);
    external(at("2.sst").as_ref(), &[("c", "2"), ("d", "2")]);
    external(at("3.sst").as_ref(), &[("y", "3"), ("z", "3")]);
    let (kept, other) = (at("kept"), at("other"));
    let options =
        DbOptions { create_if_missing: true, allow_ingest_behind: true, ..DbOptions::default() };
    DbBuilder::new(&kept).options(options).open().unwrap().close().unwrap();
    for db in [&kept, &other] {
        partita_fed(["db", "load", db, "--create"], "put\tb\tnew\nput\tc\tnew\n").clean();
    }
    partita(["db", "delete", &kept, "c"]).clean();

    let said = partita(["db", "ingest", &kept, "--behind", &at("1.sst")]).clean();
    assert!(said.contains("level 6\tseqno 0\t"), "{said}");
    assert_eq!(partita(["db", "scan", &kept]).clean(), "a\t1\nb\tnew\n");
    let run = partita(["db", "ingest", &kept, "--behind", &at("2.sst")]);
    assert!(run.code == 2 && run.stderr.contains("last level overlaps"), "{}", run.stderr);
    let run = partita(["db", "ingest", &other, "--behind", &at("1.sst")]);
    assert!(run.code == 2 && run.stderr.contains("allow_ingest_behind"), "{}", run.stderr);

    let run = partita(["db", "ingest", &other, "--last-level-only", &at("1.sst")]);
    assert!(run.code == 2 && run.stderr.contains("of 6"), "{}", run.stderr);
    partita(["db", "ingest", &other, "--last-level-only", &at("3.sst")]).clean();
    assert_eq!(partita(["db", "scan", &other]).clean(), "b\tnew\nc\tnew\ny\t3\nz\t3\n");
}
