//! Options files of RocksDB and of people, read, judged and written.

use std::fs;
use std::path::{Path, PathBuf};

use partita::filter::FilterPolicy;
use partita::options::file::{Finding, FindingKind, Mode, OptionsFile, ReadReport, Severity};
use partita::options::{FilterLayout, IndexType, SectionKind};
use partita::util::compression::CompressionType;
use partita_testkit::golden;

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/options/testdata").join(name)
}

fn read(name: &str, mode: Mode) -> ReadReport {
    OptionsFile::read(&fs::read(testdata(name)).unwrap(), mode)
}

/// Options files that RocksDB wrote, each with the version that did.
fn by_rocksdb() -> Vec<(String, Vec<u8>, &'static str)> {
    let mut files = vec![];
    for (name, version) in [("OPTIONS-7.8.3", "7.8.3"), ("OPTIONS-9.8.4", "9.8.4")] {
        files.push((name.to_owned(), fs::read(testdata(name)).unwrap(), version));
    }
    for db in golden::all() {
        let path = fs::read_dir(db.path()).unwrap().map(|entry| entry.unwrap().path());
        let path = path.filter(|path| path.to_string_lossy().contains("OPTIONS-")).max().unwrap();
        files.push((db.name().to_owned(), fs::read(path).unwrap(), "11.8.1"));
    }
    assert!(files.len() >= 17);
    files
}

/// Sections and statements of a file, by the plainest of readers.
fn statements(text: &str) -> Vec<(String, String, String)> {
    let mut section = String::new();
    let mut found = vec![];
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        if line.starts_with('[') {
            section = line.to_owned();
        } else if let Some((name, value)) = line.split_once('=') {
            found.push((section.clone(), name.to_owned(), value.to_owned()));
        }
    }
    found
}

fn braced_parts(value: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = value.trim_matches(['{', '}']).split(';').collect();
    parts.sort_unstable();
    parts
}

#[test]
fn every_statement_of_rocksdbs_files_is_known_and_holds() {
    for (name, text, version) in by_rocksdb() {
        let report = OptionsFile::read(&text, Mode::Strict);
        assert_eq!(report.options.rocksdb_version.as_deref(), Some(version), "{name}");
        let errors: Vec<&Finding> =
            report.findings.iter().filter(|finding| finding.severity == Severity::Error).collect();
        assert_eq!(errors, Vec::<&Finding>::new(), "{name}");
        for (section, option, value) in statements(str::from_utf8(&text).unwrap()) {
            let family = section.split('"').nth(1).unwrap_or("default");
            let family = report.options.family(family).unwrap();
            let holds = match section.split(['"', ' ', ']']).next().unwrap() {
                "[Version" => continue,
                "[DBOptions" => report.options.db.get(&option),
                "[CFOptions" => family.get(&option),
                _ => family.table.get(&option),
            };
            let holds = holds.unwrap_or_else(|| panic!("{name}: {option} is not known"));
            let object = report.findings.iter().any(|finding| {
                finding.kind == FindingKind::RuntimeObject
                    && finding.option.as_deref() == Some(option.as_str())
            });
            // RocksDB lists the parts of a struct in another order, and more of them in newer versions.
            let same = match value.starts_with('{') && option != "merge_operator" {
                true => braced_parts(&value).iter().all(|part| {
                    part.is_empty()
                        || braced_parts(&holds).contains(part)
                        || !holds.contains(&part[..part.find('=').unwrap()])
                }),
                // Without partitions there is nothing to decouple.
                false => {
                    holds == value
                        || option == "decouple_partitioned_filters"
                        || object && option == "filter_policy"
                }
            };
            assert!(same, "{name}, {section} {option}: {value} was read as {holds}");
        }
    }
}

#[test]
fn what_is_written_is_read_back_as_the_same() {
    for (name, text, _) in by_rocksdb() {
        let first = OptionsFile::read(&text, Mode::Lenient).options;
        let written = first.to_text();
        let report = OptionsFile::read(written.as_bytes(), Mode::Strict);
        assert!(
            report.findings.iter().all(|finding| finding.severity < Severity::Warning),
            "{name}: {:?}",
            report.findings
        );
        assert_eq!(report.options.db, first.db, "{name}");
        assert_eq!(report.options.families, first.families, "{name}");
        assert_eq!(report.options.to_text(), written, "{name}");
    }
}

#[test]
fn families_of_a_file_keep_their_names_and_operators() {
    let db = golden::get("families-merge-ranges-wal");
    let text = fs::read(db.path().join("OPTIONS-000007")).unwrap();
    let report = OptionsFile::read(&text, Mode::Strict);
    let names: Vec<&str> =
        report.options.families.iter().map(|family| family.name.as_str()).collect();
    assert_eq!(names, ["default", "keys", "openKeys"]);
    let keys = report.options.family("keys").unwrap();
    assert_eq!(keys.merge_operator.id(), Some("StringAppendOperator"));
    assert_eq!((keys.num_levels, keys.write_buffer_size), (4, 1 << 20));
    assert!(
        !report.findings.iter().any(|finding| finding.option.as_deref() == Some("merge_operator"))
    );
}

#[test]
fn a_foreign_comparator_is_named_and_told() {
    let db = golden::get("foreign-comparator");
    let text = fs::read(db.path().join("OPTIONS-000007")).unwrap();
    let report = OptionsFile::read(&text, Mode::Strict);
    let told = report
        .findings
        .iter()
        .find(|finding| finding.option.as_deref() == Some("comparator"))
        .unwrap();
    assert_eq!((told.kind, told.severity), (FindingKind::RuntimeObject, Severity::Note));
    assert!(report.options.families[0].options.comparator.id().is_some());
}

#[test]
fn bookkeepers_entry_location_file_is_taken_whole_and_the_cache_stays_with_the_caller() {
    let report = read("entry_location_rocksdb.conf", Mode::Strict);
    let told: Vec<_> = report
        .findings
        .iter()
        .map(|finding| (finding.kind, finding.option.as_deref().unwrap_or(""), finding.severity))
        .collect();
    assert_eq!(
        told,
        [
            (FindingKind::NoEffect, "keep_log_file_num", Severity::Note),
            (FindingKind::NoEffect, "log_file_time_to_roll", Severity::Note),
            (FindingKind::NoEffect, "delete_obsolete_files_period_micros", Severity::Note),
            (FindingKind::RuntimeObject, "block_cache", Severity::Warning),
            (FindingKind::NoEffect, "cache_index_and_filter_blocks", Severity::Note),
        ]
    );
    let OptionsFile { db, families, .. } = &report.options;
    assert!(db.create_if_missing);
    assert_eq!(
        (db.max_background_jobs, db.max_total_wal_size, db.max_open_files),
        (32, 512 << 20, -1)
    );
    let family = &families[0].options;
    assert_eq!((family.max_write_buffer_number, family.max_bytes_for_level_base), (4, 256 << 20));
    assert_eq!(family.table.block_size, 64 << 10);
    assert_eq!(family.table.filter_policy, Some(FilterPolicy::Bloom { bits_per_key: 10.0 }));
    assert_eq!(family.table.compression.kind, CompressionType::Lz4);
    // LZ4 is meant everywhere, and what is not said is Partita's.
    assert_eq!(family.bottommost_compression, None);
    assert_eq!(family.table.index_type, IndexType::TwoLevel);
    report.options.families[0].options.validate().unwrap();
}

#[test]
fn a_last_line_without_an_end_counts_and_is_told() {
    let report = read("default_rocksdb.conf", Mode::Strict);
    assert_eq!(report.worst(), Some(Severity::Warning));
    let told = report.findings.last().unwrap();
    assert_eq!(told.kind, FindingKind::NoFinalNewline);
    let lines = fs::read_to_string(testdata("default_rocksdb.conf")).unwrap();
    assert_eq!(told.line, Some(lines.lines().count() as u32));
    assert_eq!(report.options.families[0].options.table.checksum.as_str(), "kxxHash");
    assert!(report.into_result().is_ok());
}

#[test]
fn ozones_file_is_read_with_its_old_names() {
    let report = read("om.db.ini", Mode::Strict);
    let obsolete =
        report.findings.iter().filter(|finding| finding.kind == FindingKind::Obsolete).count();
    assert_eq!(obsolete, 16, "{:#?}", report.findings);
    let errors: Vec<String> = report
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .map(ToString::to_string)
        .collect();
    assert_eq!(errors, Vec::<String>::new());
    let family = &report.options.families[0].options;
    assert_eq!(family.max_bytes_for_level_multiplier_additional, [2, 3, 5]);
    assert_eq!(family.table.format_version, 2);
    assert_eq!(family.table.filter_policy, Some(FilterPolicy::ReadOnly));
    assert_eq!(family.table.filter_layout, FilterLayout::Full);
    assert_eq!(family.merge_operator.id(), Some("PutOperator"));
}

/// Public report apache/ozone#665 and besu-eth/besu#10946: options that come to nothing, and nobody is told.
#[test]
fn each_way_to_ask_in_vain_is_a_finding_of_its_own() {
    let text = "\
[DBOptions]
  create_if_missing=true
  colour=green
  max_open_fils=10
[CFOptions \"default\"]
  write_buffer_size=lots
[TableOptions/BlockBasedTable \"default\"]
  partition_filters=true
  index_type=kBinarySearch
  pin_l0_filter_and_index_blocks_in_cache=true
";
    let report = OptionsFile::read(text.as_bytes(), Mode::Strict);
    let told: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .map(|finding| (finding.line.unwrap(), finding.kind))
        .collect();
    assert_eq!(
        told,
        [
            (3, FindingKind::UnknownOption),
            (4, FindingKind::MisspeltOption),
            (6, FindingKind::BadValue),
            (8, FindingKind::Conflict),
            (10, FindingKind::Conflict),
        ]
    );
    let lenient = OptionsFile::read(text.as_bytes(), Mode::Lenient);
    assert_eq!(lenient.worst(), Some(Severity::Warning));
    assert_eq!(lenient.findings.len(), report.findings.len());
    let options = lenient.into_result().unwrap();
    assert!(options.db.create_if_missing);
    assert_eq!(options.families[0].options.table.filter_layout, FilterLayout::Full);
    let error = report.into_result().unwrap_err().to_string();
    assert!(error.contains("line 3, [DBOptions]: ") && error.contains("colour"), "{error}");
}

#[test]
fn every_mistake_in_the_form_is_told_with_its_line() {
    let head = "[DBOptions]\n[CFOptions \"default\"]\n";
    let cases: [(&str, FindingKind, u32); 16] = [
        ("x=1\n", FindingKind::OutsideOfSections, 1),
        ("[DBOptions]\nword\n", FindingKind::MalformedLine, 2),
        ("[DBOptions\n", FindingKind::MalformedLine, 1),
        ("[DBOptions]\n[DBOptions]\nmax_open_files=1\n", FindingKind::DuplicateSection, 2),
        ("[Options]\nx=1\n", FindingKind::UnknownSection, 1),
        ("[CFOptions]\n", FindingKind::UnknownSection, 1),
        ("[TableOptions/BlockBasedTable \"x\"]\n", FindingKind::MisplacedSection, 1),
        ("[TableOptions/PlainTable \"default\"]\n", FindingKind::NotSupported, 1),
        ("[Version]\nrocksdb_version=new\n", FindingKind::BadVersion, 2),
        ("[Version]\noptions_file_version=0.9\n", FindingKind::BadVersion, 2),
        ("[Version]\nversion=1\n", FindingKind::UnknownOption, 2),
        ("[DBOptions]\nmax_open_files=1\nmax_open_files=2\n", FindingKind::DuplicateOption, 3),
        ("[DBOptions]\nblock_size=4096\n", FindingKind::MisplacedOption, 2),
        ("[DBOptions]\nmax_open_files=-2\n", FindingKind::BadValue, 2),
        ("[DBOptions]\nallow_2pc=true\n", FindingKind::NotSupported, 2),
        ("[CFOptions \"default\"]\ncompaction_options_fifo={ttl=1\n", FindingKind::BadValue, 2),
    ];
    for (text, kind, line) in cases {
        let report = OptionsFile::read(text.as_bytes(), Mode::Strict);
        let told = report.findings.iter().find(|finding| finding.kind == kind);
        let told = told.unwrap_or_else(|| panic!("{text:?}: {:?}", report.findings));
        assert_eq!((told.line, told.severity), (Some(line), Severity::Error), "{text:?}");
        let lenient = OptionsFile::read(text.as_bytes(), Mode::Lenient);
        assert_eq!(
            lenient.worst() == Some(Severity::Error),
            kind == FindingKind::NotSupported,
            "{text:?}"
        );
    }
    let missing = OptionsFile::read(b"", Mode::Strict);
    assert_eq!(
        missing
            .findings
            .iter()
            .filter(|finding| finding.kind == FindingKind::MissingSection)
            .count(),
        2
    );
    assert!(OptionsFile::read(head.as_bytes(), Mode::Strict).findings.is_empty());
}

#[test]
fn the_first_of_equal_names_and_sections_counts() {
    let text = "[DBOptions]\nmax_open_files=1\nmax_open_files=2\n[CFOptions \"default\"]\nnum_levels=3\n[CFOptions \"default\"]\nnum_levels=4\n";
    let options = OptionsFile::read(text.as_bytes(), Mode::Lenient).options;
    assert_eq!((options.db.max_open_files, options.families[0].options.num_levels), (1, 3));
}

#[test]
fn names_with_every_escape_come_back() {
    let mut file = OptionsFile::default();
    let mut odd = file.families[0].clone();
    odd.name = "a\"b#c\\d:e\nf]".to_owned();
    file.families.push(odd);
    file.db.wal_dir = "/logs #1:\\x".to_owned();
    let report = OptionsFile::read(file.to_text().as_bytes(), Mode::Strict);
    assert_eq!(report.findings, []);
    assert_eq!((report.options.families, report.options.db), (file.families, file.db));
}

#[test]
fn a_flood_of_findings_is_cut_and_counted() {
    let text = "[DBOptions]\n".to_owned()
        + &(0..5000).map(|i| format!("nonsense_{i}=1\n")).collect::<String>();
    let report = OptionsFile::read(text.as_bytes(), Mode::Strict);
    assert_eq!(report.findings.len(), 1000);
    assert_eq!(report.findings_left_out, 4001);
}

#[test]
fn asked_and_effective_stand_side_by_side() {
    let report = read("entry_location_rocksdb.conf", Mode::Strict);
    let effective = report.effective();
    let of = |name: &str| effective.iter().find(|option| option.name == name).unwrap();
    let cache = of("block_cache");
    assert_eq!(cache.asked.as_deref(), Some("206150041"));
    assert!(cache.falls_short() && cache.why.contains("the caller's `Cache`"), "{}", cache.why);
    let size = of("block_size");
    assert_eq!(
        (size.holds.as_str(), size.why.as_str(), size.section),
        ("65536", "as asked", SectionKind::Table)
    );
    let index = of("index_type");
    assert_eq!((index.asked.as_deref(), index.holds.as_str()), (None, "kTwoLevelIndexSearch"));
    assert!(index.why.starts_with("default: "), "{}", index.why);
    let names = SectionKind::ALL.map(|section| section.specs().len()).iter().sum::<usize>();
    assert_eq!(effective.len(), names);
}

#[test]
fn a_file_read_over_other_options_changes_what_it_names_and_judges_the_rest_with_it() {
    let mut ours = OptionsFile::default();
    ours.db.max_open_files = 77;
    ours.families[0].options.table.block_size = 16 << 10;
    let mut keys = ours.families[0].clone();
    keys.name = "keys".to_owned();
    keys.options.write_buffer_size = 1 << 20;
    ours.families.push(keys);

    // Sections in any order, and none that says nothing.
    let text = "[TableOptions/BlockBasedTable \"keys\"]\nindex_type=kBinarySearch\npartition_filters=false\n\
                [CFOptions \"keys\"]\ncompression=kSnappyCompression\n";
    let report = ours.read_over("ours", text.as_bytes(), Mode::Exact);
    assert_eq!(report.findings, []);
    let told = report.effective();
    let keys = report.options.family("keys").unwrap();
    assert_eq!((keys.write_buffer_size, keys.table.block_size), (1 << 20, 16 << 10));
    // Chosen for the last level, too.
    assert_eq!(keys.bottommost_compression, None);
    assert_eq!(report.options.db.max_open_files, 77);
    assert_eq!(report.options.families[0], ours.families[0]);
    let why = |family: Option<&str>, name: &str| {
        let found = told.iter().find(|o| o.family.as_deref() == family && o.name == name);
        found.map(|option| option.why.as_str()).unwrap().to_owned()
    };
    assert_eq!(why(None, "max_open_files"), "ours");
    assert_eq!(why(Some("keys"), "compression"), "as asked");
    assert_eq!(why(Some("keys"), "write_buffer_size"), "ours");
    assert_eq!(why(Some("keys"), "bottommost_compression"), "follows from other options");
    assert_eq!(why(Some("default"), "num_levels"), "default, as in RocksDB");
}

#[test]
fn exact_reading_takes_nothing_that_comes_to_nothing() {
    let cases = [
        ("[CFOptions \"keys\"]\nnum_levels=7\n", FindingKind::UnknownFamily, 1),
        ("[TableOptions/BlockBasedTable \"keys\"]\n", FindingKind::UnknownFamily, 1),
        ("[DBOptions]\nallow_mmap_reads=true\n", FindingKind::NoEffect, 2),
        (
            "[TableOptions/BlockBasedTable \"default\"]\nblock_cache=100\n",
            FindingKind::RuntimeObject,
            2,
        ),
        ("[CFOptions \"default\"]\nfilter_deletes=false\n", FindingKind::Obsolete, 2),
        ("[DBOptions]\nmax_open_files=many\n", FindingKind::BadValue, 2),
        ("[DBOptions]\nwal_ttl=1\n", FindingKind::UnknownOption, 2),
    ];
    for (text, kind, line) in cases {
        let report = OptionsFile::default().read_over("ours", text.as_bytes(), Mode::Exact);
        let [told] = &report.findings[..] else { panic!("{text:?}: {:?}", report.findings) };
        assert_eq!((told.kind, told.severity), (kind, Severity::Error), "{text:?}");
        assert_eq!(told.line, Some(line));
        assert!(report.into_result().is_err());
    }
    // A lenient reader takes in column families that are not known, with the options of the first.
    let mut ours = OptionsFile::default();
    ours.families[0].options.write_buffer_size = 9;
    let text = "[DBOptions]\n[CFOptions \"default\"]\nwrite_buffer_size=7\n[CFOptions \"keys\"]\n";
    let report = ours.read_over("ours", text.as_bytes(), Mode::Lenient);
    assert_eq!(report.options.families[0].options.write_buffer_size, 7);
    assert_eq!(report.options.family("keys").unwrap().write_buffer_size, 9);
}
