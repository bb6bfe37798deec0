//! Links Debian's RocksDB when the feature `system` asks for it, and says what to install when it is absent.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_SYSTEM").is_none() {
        return;
    }
    let header = "/usr/include/rocksdb/c.h";
    println!("cargo::rerun-if-changed={header}");
    assert!(
        Path::new(header).exists(),
        "{header} is not there: RocksDB is not installed. Run .ci/install-oracles"
    );
    println!("cargo::rustc-link-lib=dylib=rocksdb");
}
