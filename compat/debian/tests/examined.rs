//! The doctor beside RocksDB 7.8.3 at work, and its figures beside those of RocksDB's own tool.

use std::path::Path;
use std::process::{Command, Stdio};

use partita::io::DiskFileSystem;
use partita_doctor::{Report, Request, Severity, examine};

fn report(dir: &Path) -> Report {
    examine(&DiskFileSystem, &[dir.to_owned()], &Request::default())
}

fn db_bench(dir: &Path, benchmarks: &str, keys: u32) -> Command {
    let mut command = Command::new("db_bench");
    command
        .arg(format!("--db={}", dir.display()))
        .arg(format!("--benchmarks={benchmarks}"))
        .arg(format!("--num={keys}"))
        .args(["--value_size=100", "--bloom_bits=10", "--write_buffer_size=262144"])
        .args(["--target_file_size_base=262144", "--max_bytes_for_level_base=1048576"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

#[test]
fn a_writer_at_work_is_no_damage_and_is_not_disturbed() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("db");
    // A filling of a new database destroys the one that it has just made.
    assert!(db_bench(&dir, "fillrandom", 1_000).status().expect("db_bench is installed").success());
    let mut writer = db_bench(&dir, "overwrite", 300_000);
    let mut writer = writer.arg("--use_existing_db=1").spawn().unwrap();
    let (mut looks, mut tables) = (0, Vec::new());
    let status = loop {
        if let Some(status) = writer.try_wait().unwrap() {
            break status;
        }
        let report = report(&dir);
        assert!(report.problems.is_empty(), "{:?}", report.problems);
        let Some(database) = report.databases.first() else { continue };
        let grave = database.findings.iter().find(|one| one.severity == Severity::Error);
        assert!(grave.is_none(), "{grave:?}");
        tables.push(database.shape.total.files);
        looks += 1;
    };
    assert!(status.success());
    assert!(looks > 3, "{looks} looks");
    assert_ne!(tables.first(), tables.last(), "it was at work: {tables:?}");
}

#[test]
fn figures_are_those_of_sst_dump() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("db");
    let made = db_bench(&dir, "fillrandom,flush,waitforcompaction", 50_000).status();
    assert!(made.expect("db_bench is installed").success());
    let output = Command::new("sst_dump")
        .arg(format!("--file={}", dir.display()))
        .args(["--show_properties", "--command=none"])
        .output()
        .expect("sst_dump is installed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let sum = |name: &str| -> u64 {
        let values =
            text.lines().filter_map(|line| line.trim().strip_prefix(name)?.strip_prefix(": "));
        values.map(|value| value.trim().parse::<u64>().unwrap()).sum()
    };
    let total = &report(&dir).databases[0].shape.total;
    assert!(total.files > 5, "{total:?}");
    assert_eq!(total.files, text.matches("# data blocks").count() as u64);
    assert_eq!(total.entries, sum("# entries"));
    assert_eq!(total.filter_bytes, sum("filter block size"));
    assert_eq!(total.data_bytes, sum("data block size"));
}
