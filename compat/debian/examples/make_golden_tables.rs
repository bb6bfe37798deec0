//! Makes the golden tables of `partita-testkit`: small files by RocksDB 7.8.3 with what its `sst_dump` reads from them.
//!
//! `cargo run -p partita-compat-debian --example make_golden_tables -- ../crates/partita-testkit/golden/tables.tar.zst`

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use partita_compat_debian::sst_dump;
use partita_compat_rocks::matrix::{Case, Version, matrix};
use partita_compat_rocks::shape::Shape;
use partita_testkit::archive;

/// Cases that take another path through a reader, one of each kind.
const KEPT: &[&str] = &[
    "fv0-binary-search",
    "fv1-binary-search",
    "fv2-binary-search",
    "fv3-binary-search",
    "fv4-binary-search",
    "fv5-binary-search",
    "fv1-kSnappyCompression",
    "fv1-kZlibCompression",
    "fv1-kBZip2Compression",
    "fv1-kLZ4Compression",
    "fv1-kZSTD",
    "fv5-kSnappyCompression",
    "fv5-kZlibCompression",
    "fv5-kBZip2Compression",
    "fv5-kLZ4Compression",
    "fv5-kLZ4HCCompression",
    "fv5-kZSTD",
    "fv5-kZlibCompression-dictionary",
    "fv5-kLZ4Compression-dictionary",
    "fv5-kLZ4HCCompression-dictionary",
    "fv5-kZSTD-dictionary",
    "fv5-kZSTD-trained-dictionary",
    "fv5-kNoChecksum",
    "fv5-kxxHash",
    "fv5-kxxHash64",
    "fv5-kXXH3",
    "fv5-hash-index",
    "fv2-partitioned-bloom",
    "fv4-partitioned-bloom",
    "fv5-partitioned-bloom",
    "fv5-partitioned-ribbon",
    "fv5-partitioned-prefix",
    "fv5-first-key",
    "fv4-versions",
    "fv5-versions-partitioned",
    "fv4-binary-keys",
    "fv5-binary-keys",
    "prefix-only",
    "block-align",
    "first-key-no-shortening",
    "data-block-hash",
    "ribbonfilter-7-bits",
    "ribbon-180-keys",
    "only-ranges",
    "ranges",
    "external-file",
    "reverse-comparator",
    "bloom-1-keys",
];

fn main() -> Result<(), Box<dyn Error>> {
    let out =
        std::env::args_os().nth(1).map(PathBuf::from).ok_or("usage: make_golden_tables OUT")?;
    let staged = tempfile::tempdir()?;
    let cases = matrix(Version::V7_8);
    for name in KEPT {
        let case = cases.iter().find(|case| case.name == *name).ok_or_else(|| name.to_string())?;
        let case = Case { entries: small(case), ..case.clone() };
        let scratch = tempfile::tempdir()?;
        let db = case.make(scratch.path())?;
        let [sst] =
            db.sst_paths().try_into().map_err(|_| format!("{name}: more than one table"))?;
        let dir = staged.path().join(name);
        fs::create_dir(&dir)?;
        fs::copy(&sst, dir.join("table.sst"))?;
        fs::write(dir.join("about.txt"), format!("RocksDB 7.8.3\n{}\n", case.options()))?;
        fs::write(dir.join("entries.rows"), archive::encode_rows(&sst_dump::scan(&sst)?))?;
        let ranges = sst_dump::range_deletions(&sst)?;
        fs::write(dir.join("range-deletions.rows"), archive::encode_rows(&ranges))?;
    }
    archive::pack(staged.path(), &out)?;
    println!("{} tables, {} bytes packed", KEPT.len(), fs::metadata(&out)?.len());
    Ok(())
}

fn small(case: &Case) -> usize {
    match case.shape {
        Shape::Binary => case.entries.min(300),
        Shape::OnlyRanges => 20,
        _ => case.entries.min(400),
    }
}
