//! Builds RocksDB's filters behind our C interface, twice: plainly and with AVX2.
//!
//! Each build is a shared library of its own, linked from `shim/filters.cc`, the filter sources of RocksDB compiled
//! with the wanted instructions, and for all the rest the static library that `librocksdb-sys` built. The filter
//! objects stand first on the link line, so the static library's plain copies of them are not taken. The benchmark
//! opens both libraries in one process.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// RocksDB's sources that decide how fast filters are.
const FILTER_SOURCES: &[&str] = &[
    "table/block_based/filter_policy.cc",
    "table/block_based/full_filter_block.cc",
    "table/block_based/parsed_full_filter_block.cc",
    "util/hash.cc",
    "util/ribbon_config.cc",
];

/// As librocksdb-sys compiles RocksDB: headers must mean the same on both sides of the link.
const DEFINES: &[&str] = &[
    "NDEBUG=1",
    "HAVE_ALIGNED_NEW",
    "HAVE_UINT128_EXTENSION",
    "OS_LINUX",
    "ROCKSDB_PLATFORM_POSIX",
    "ROCKSDB_LIB_IO_POSIX",
    "ROCKSDB_SCHED_GETCPU_PRESENT",
    "ROCKSDB_AUXV_GETAUXVAL_PRESENT",
    "ROCKSDB_FALLOCATE_PRESENT",
    "ROCKSDB_RANGESYNC_PRESENT",
    "SNAPPY=1",
    "LZ4=1",
    "ZSTD=1",
    "ZLIB=1",
    "BZIP2=1",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=shim");
    let sources = variable("DEP_ROCKSDB_CARGO_MANIFEST_DIR").join("rocksdb");
    let library = variable("DEP_ROCKSDB_OUT_DIR");
    let out = variable("OUT_DIR");
    for (name, instructions) in [("plain", None), ("avx2", Some("-march=haswell"))] {
        let shared = out.join(format!("librocksdb_filters_{name}.so"));
        let objects = compile(&sources, &out.join(name), instructions);
        link(&objects, &library, &shared);
        println!("cargo::rustc-env=ROCKSDB_FILTERS_{}={}", name.to_uppercase(), shared.display());
    }
    // Public classes only, so the library as it is serves.
    let mut shims = compiler(&sources);
    let names = ["budget", "database", "families", "sst_reader", "tables"];
    shims.files(names.map(|name| format!("shim/{name}.cc"))).compile("table_shims");
}

fn variable(name: &str) -> PathBuf {
    env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name}")).into()
}

fn compile(sources: &Path, out: &Path, instructions: Option<&str>) -> Vec<PathBuf> {
    let mut build = compiler(sources);
    build.pic(true).out_dir(out).flag("-fno-gnu-unique");
    if let Some(flag) = instructions {
        build.flag(flag);
    }
    build.file("shim/filters.cc").files(FILTER_SOURCES.iter().map(|file| sources.join(file)));
    build.compile_intermediates()
}

/// A compiler that sees RocksDB as librocksdb-sys compiled it.
fn compiler(sources: &Path) -> cc::Build {
    let mut build = cc::Build::new();
    build.cpp(true).opt_level(3).debug(false).warnings(false);
    build.flag("-std=c++20").flag("-include").flag("cstdint");
    build.include(sources).include(sources.join("include"));
    for define in DEFINES {
        let (name, value) = define.split_once('=').map_or((*define, None), |(n, v)| (n, Some(v)));
        build.define(name, value);
    }
    build
}

/// Links a shared library that shows nothing but `shim_*`, so that calls inside are as direct as in a program. The
/// other compression libraries stay undefined: filters never call them, and functions are bound when first called.
fn link(objects: &[PathBuf], library: &Path, shared: &Path) {
    let exports = shared.with_extension("map");
    fs::write(&exports, "{ global: shim_*; local: *; };").expect("OUT_DIR can be written");
    let status = Command::new(env::var_os("CXX").unwrap_or_else(|| "g++".into()))
        .args(["-shared", "-Wl,--gc-sections", "-Wl,--strip-debug", "-Wl,-z,lazy"])
        .arg(format!("-Wl,--version-script={}", exports.display()))
        .arg("-o")
        .arg(shared)
        .args(objects)
        .args([library.join("librocksdb.a"), library.join("libsnappy.a")])
        .arg("-lpthread")
        .status()
        .unwrap_or_else(|error| {
            panic!("g++ cannot be started ({error}): run .ci/install-oracles --latest")
        });
    assert!(status.success(), "linking {} failed", shared.display());
}
