//! Shape: sums equal what other readers of the same files count.

use std::sync::Arc;

use partita::io::{DiskFile, DiskFileSystem};
use partita::table::{BlockRole, ReaderOptions, TableSurvey, verify_table};
use partita::version::{FileName, VersionSet, VersionSetOptions};
use partita_doctor::model::FilterShape;
use partita_doctor::{Examined, Request, examine};
use partita_testkit::golden::{self, GoldenDb};

fn examined(golden: &GoldenDb) -> Examined {
    let mut report = examine(&DiskFileSystem, &[golden.path()], &Request::default());
    assert_eq!(report.problems, [], "{}", golden.name());
    report.databases.remove(0)
}

#[test]
fn sums_are_what_a_walk_over_every_entry_and_block_counts() {
    for golden in golden::all() {
        if golden.name() == "foreign-comparator" {
            continue;
        }
        let total = examined(&golden).shape.total;
        let (mut entries, mut ranges, mut deletions, mut filter, mut index) = (0, 0, 0, 0, 0);
        for path in golden.sst_paths() {
            let file: Arc<dyn partita::io::RandomAccessFile> =
                Arc::new(DiskFile::open(&path).unwrap());
            let report = verify_table(&file, &ReaderOptions::default(), &mut |_| ());
            entries += report.entries;
            ranges += report.range_tombstones;
            deletions += report.counts.deletions - report.range_tombstones;
            let survey = TableSurvey::open(file).unwrap();
            survey.visit_blocks(&mut |block| {
                let block = block.unwrap();
                let bytes = block.uncompressed_len.unwrap();
                match block.role {
                    BlockRole::Filter | BlockRole::FilterPartition => filter += bytes,
                    BlockRole::Index | BlockRole::IndexPartition => index += bytes,
                    _ => {}
                }
            });
        }
        assert_eq!(
            (total.entries, total.range_deletions, total.deletions),
            (entries, ranges, deletions),
            "{}",
            golden.name()
        );
        assert_eq!((total.filter_bytes, total.index_bytes), (filter, index), "{}", golden.name());
        let paths = golden.sst_paths();
        let bytes: u64 = paths.iter().map(|path| path.metadata().unwrap().len()).sum();
        assert_eq!(total.bytes, bytes);
    }
}

#[test]
fn levels_and_families_are_those_of_the_manifest() {
    for golden in golden::all() {
        if golden.name() == "foreign-comparator" {
            continue;
        }
        let options = VersionSetOptions { read_only: true, ..VersionSetOptions::default() };
        let versions =
            VersionSet::recover(Arc::new(DiskFileSystem), &golden.path(), options).unwrap();
        let shape = examined(&golden).shape;
        for family in versions.families() {
            let version = family.current();
            let expected: Vec<(u32, u64)> = (0..)
                .zip(version.levels())
                .filter(|(_, level)| !level.is_empty())
                .map(|(number, level)| (number, level.len() as u64))
                .collect();
            let found = shape.families.iter().find(|found| found.name == family.name());
            let levels = found.map_or(Vec::new(), |found| {
                found.levels.iter().map(|level| (level.level, level.total.files)).collect()
            });
            assert_eq!(levels, expected, "{} {}", golden.name(), family.name());
        }
    }
}

#[test]
fn layouts_are_told_per_file() {
    let make = |name: &str| {
        let examined = examined(&golden::get(name));
        let make = examined.shape.families[0].makes[0].clone();
        (make.make.filter, make.make.policy, make.make.index, make.make.format_version)
    };
    let policy = Some("bloomfilter".to_owned());
    assert_eq!(
        make("locations-full-filter"),
        (FilterShape::Full, policy.clone(), "kBinarySearch", 5)
    );
    assert_eq!(
        make("locations-partitioned"),
        (FilterShape::Partitioned, policy, "kTwoLevelIndexSearch", 5)
    );
    assert_eq!(make("plain-defaults"), (FilterShape::None, None, "kBinarySearch", 7));
    assert_eq!(make("ribbon-zstd-dictionary").1.as_deref(), Some("ribbonfilter"));
}

#[test]
fn a_table_that_is_not_there_counts_with_what_the_manifest_says() {
    let golden = golden::get("locations-full-filter");
    let whole = examined(&golden).shape.total;
    let path = &golden.sst_paths()[0];
    assert!(FileName::parse(path.file_name().unwrap()).is_some());
    std::fs::remove_file(path).unwrap();
    let total = examined(&golden).shape.total;
    assert_eq!((total.files, total.unseen_files), (whole.files, 1));
    assert_eq!(total.bytes, whole.bytes);
    assert!(total.entries < whole.entries);
}
