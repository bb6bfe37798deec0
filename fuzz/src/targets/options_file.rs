//! Options files: any bytes are read with findings, and what was read is written as what is read as the same.

use partita::options::file::{Mode, OptionsFile, Severity};

use crate::meter;

/// Reads the bytes as an options file.
pub fn run(bytes: &[u8]) {
    // A line of two bytes can be a finding, and a section of twenty a column family with all its options.
    let limit = 512 * bytes.len() + (1 << 20);
    let report = meter::within(limit, || OptionsFile::read(bytes, Mode::Lenient));
    let lines = bytes.split(|&byte| byte == b'\n').count();
    for finding in &report.findings {
        assert!(
            finding.line.is_none_or(|line| (1..=lines).contains(&(line as usize))),
            "{finding}"
        );
    }
    report.options.db.validate().expect("what a reader makes of a file is valid");
    for family in &report.options.families {
        // What cannot be mended is an error.
        let valid = family.options.validate().is_ok();
        assert!(valid || report.worst() == Some(Severity::Error), "{:?}", report.findings);
    }
    let strict = OptionsFile::read(bytes, Mode::Strict);
    assert_eq!(strict.options, report.options, "modes differ in what they tell only");
    assert_eq!(strict.findings.len(), report.findings.len());
    assert!(strict.worst() >= report.worst());
    assert!(report.effective().len() > 200);

    // Read over options of a program, a file brings in no column families, and what others warn of is an error.
    let exact = OptionsFile::default().read_over("ours", bytes, Mode::Exact);
    assert_eq!(exact.options.families.len(), 1);
    exact.options.db.validate().expect("what a reader makes of a file is valid");
    let valid = exact.options.families[0].options.validate().is_ok();
    assert!(valid || exact.worst() == Some(Severity::Error), "{:?}", exact.findings);

    let text = report.options.to_text();
    let again = OptionsFile::read(text.as_bytes(), Mode::Strict);
    assert_eq!(again.options.db, report.options.db, "{text}");
    // Families by their text: it says what bits a key a filter gets, 100 of 1082, where the value keeps what was asked for.
    assert_eq!(again.options.to_text(), text);
}

/// Files of every kind.
pub fn seeds() -> Vec<Vec<u8>> {
    const FILES: [&[u8]; 5] = [
        include_bytes!("../../../crates/partita/src/options/testdata/OPTIONS-7.8.3"),
        include_bytes!("../../../crates/partita/src/options/testdata/OPTIONS-9.8.4"),
        include_bytes!("../../../crates/partita/src/options/testdata/default_rocksdb.conf"),
        include_bytes!("../../../crates/partita/src/options/testdata/entry_location_rocksdb.conf"),
        include_bytes!("../../../crates/partita/src/options/testdata/om.db.ini"),
    ];
    let small: [&[u8]; 5] = [
        b"[DBOptions]\nwal_dir=a\\#b\\:c\n[CFOptions \"default\"]\n[CFOptions \"x\\\"y\"]\nmerge_operator={id=StringAppendOperator;delimiter=\\:;}\n",
        b"[CFOptions \"default\"]\ncompression_opts=-14:5:0:100:200:1:true\ncompression_per_level=kNoCompression:kZSTD\n",
        b"[CFOptions \"default\"]\ntable_factory={id=BlockBasedTable;filter_policy=ribbonfilter:10:2;block_size=4k}\n",
        b"[TableOptions/BlockBasedTable \"default\"]\nindex_type=kHashSearch\npartition_filters=true\nblock_align=true\n",
        b"[CFOptions \"default\"]\ncompaction_options_universal={size_ratio=2;stop_style=kCompactionStopStyleSimilarSize;}\n",
    ];
    FILES.into_iter().chain(small).map(<[u8]>::to_vec).collect()
}
