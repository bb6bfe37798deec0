//! Every target over its seeds and a fixed number of mutations of them: a minute's run that needs no nightly Rust.

use std::fs;
use std::path::Path;

use partita_fuzz::mutate::{Random, mutate};
use partita_fuzz::{ALL, Target};

fn smoke(target: &Target) {
    let seeds = (target.seeds)();
    assert!(!seeds.is_empty(), "{} has no seeds", target.name);
    for seed in &seeds {
        (target.run)(seed);
    }
    let mut random = Random::new(1);
    for turn in 0..target.smoke_runs {
        let mut bytes = seeds[turn % seeds.len()].clone();
        let other = &seeds[random.below(seeds.len())];
        mutate(&mut bytes, other, &mut random);
        run_and_keep_on_panic(target, &bytes);
    }
}

/// A failing input is written out, so that it can be replayed by the target's binary.
fn run_and_keep_on_panic(target: &Target, bytes: &[u8]) {
    struct Keep<'a>(&'a Target, &'a [u8]);
    impl Drop for Keep<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                let path = std::env::temp_dir().join(format!("partita-fuzz-{}", self.0.name));
                eprintln!("input kept as {}: {:?}", path.display(), fs::write(&path, self.1));
            }
        }
    }
    let _keep = Keep(target, bytes);
    (target.run)(bytes);
}

macro_rules! smoke_tests {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            smoke(ALL.iter().find(|target| target.name == stringify!($name)).unwrap());
        })*

        #[test]
        fn every_target_has_a_smoke_test_and_a_binary() {
            let tested = [$(stringify!($name)),*];
            assert_eq!(ALL.iter().map(|target| target.name).collect::<Vec<_>>(), tested);
            let binaries = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz_targets");
            for name in tested {
                assert!(binaries.join(name).with_extension("rs").exists(), "{name}");
            }
            assert_eq!(fs::read_dir(binaries).unwrap().count(), tested.len());
        }
    };
}

smoke_tests! {
    block_trace
    bookie_conf
    coding
    compress
    current_file
    data_block
    decompress
    directory
    doctor
    filter_bloom
    filter_build
    filter_bytes
    filter_legacy
    filter_ribbon
    footer
    hashes
    index_block
    log
    log_text
    manifest
    object_rows
    options_file
    options_text
    properties
    range_deletions
    table
    table_round_trip
    version_edit
    write_batch
}
