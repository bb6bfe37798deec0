//! Where results go may close or be full at any moment; no command panics there.

use std::fs::OpenOptions;
use std::io::pipe;
use std::path::Path;
use std::process::{Output, Stdio};

use partita_testkit::golden;

use crate::run::command;

fn run_into(stdout: Stdio, args: &[&str], table: &Path) -> Output {
    let table = table.to_str().unwrap();
    let args = args.iter().map(|arg| arg.replace("TABLE", table));
    command(args).stdout(stdout).output().unwrap()
}

#[test]
fn every_command_ends_quietly_without_a_reader_and_with_code_2_on_a_full_disk() {
    let golden = golden::table("fv5-binary-search");
    let table = golden.path();
    let db = golden::get("plain-defaults");
    let dir = db.path();
    let dir = dir.to_str().unwrap();
    let commands: [&[&str]; 8] = [
        &["db", "scan", dir],
        &["sst", "show", "TABLE"],
        &["sst", "show", "--json", "TABLE"],
        &["sst", "scan", "TABLE"],
        &["sst", "verify", "TABLE"],
        &["sst", "verify", "--json", "TABLE"],
        &["filter-bench", "--legend"],
        &["filter-bench", "--quick", "--json", "--working-mem-mb=0.01", "--m-queries=0.001"],
    ];
    for args in commands {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let run = run_into(writer.into(), args, &table);
        assert_eq!((run.status.code(), &run.stderr[..]), (Some(0), &b""[..]), "{args:?}");

        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let run = run_into(full.into(), args, &table);
        let complaint = String::from_utf8(run.stderr).unwrap();
        assert_eq!(run.status.code(), Some(2), "{args:?}: {complaint}");
        assert!(complaint.starts_with("partita: write to standard output"), "{complaint}");
    }
}
