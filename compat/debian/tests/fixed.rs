//! What `partita doctor fix` made of databases of RocksDB 7.8.3, read by RocksDB 7.8.3.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use partita::io::{DiskFileSystem, FileSystem};
use partita_compat_debian::ldb;
use partita_doctor::fix;

/// A tree of several levels, with overwritten and deleted keys, and with some writes in the log alone.
fn make(dir: &Path) {
    let output = Command::new("db_bench")
        .arg(format!("--db={}", dir.display()))
        .args([
            "--benchmarks=fillrandom,overwrite,flush,deleterandom",
            "--num=20000",
            "--key_size=16",
            "--value_size=24",
            "--bloom_bits=10",
            "--write_buffer_size=262144",
            "--target_file_size_base=262144",
            "--max_bytes_for_level_base=524288",
            "--seed=3",
        ])
        .output()
        .expect("db_bench is installed: .ci/install-oracles");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_copy_and_what_was_rewritten_in_place_hold_the_same_rows_for_rocksdb() {
    let home = tempfile::tempdir().unwrap();
    let (dir, copy, before) =
        (home.path().join("db"), home.path().join("copy"), home.path().join("before"));
    make(&dir);
    let rows = ldb::rows(&dir, "default").unwrap();
    assert!(rows.len() > 5000, "{}", rows.len());
    let fs: Arc<dyn FileSystem> = Arc::new(DiskFileSystem);
    let fixed = fix::copy(&fs, &dir, &copy, &mut |_, _| ()).unwrap();
    assert_eq!(fixed.rows, rows.len() as u64);
    fix::in_place(&fs, &dir, &before, &mut |_, _| ()).unwrap();
    for dir in [&copy, &dir, &before] {
        assert!(ldb::rows(dir, "default").unwrap() == rows, "{}", dir.display());
        ldb::check_consistency(dir).unwrap();
    }
}
