//! `partita sst rewrite`.

use std::fs;
use std::path::Path;

use partita_testkit::golden;
use serde_json::Value;

use crate::run::{Run, fingerprint, partita};

/// Option strings that, one after the other, change everything about a file.
const OPTIONS: [&str; 4] = [
    "format_version=7;checksum=kXXH3;filter_policy=ribbonfilter:10;metadata_block_size=200;compression=kZSTD",
    "format_version=2;checksum=kCRC32c;index_type=kBinarySearch;partition_filters=false;\
     compression=kLZ4Compression;compression_opts={max_dict_bytes=4096};block_size=700",
    "format_version=6;checksum=kxxHash64;index_type=kBinarySearchWithFirstKey;partition_filters=false;\
     filter_policy=nullptr;compression=kSnappyCompression;block_restart_interval=1",
    "format_version=5;checksum=kCRC32c;decouple_partitioned_filters=false;compression=kNoCompression;\
     data_block_index_type=kDataBlockBinaryAndHash;index_shortening=kNoShortening",
];

fn rewrite(options: &str, from: &Path, to: &Path) -> Run {
    let head = ["sst", "rewrite", "--options", options].map(Path::new);
    partita(head.iter().copied().chain([from, to]))
}

/// All entries and range tombstones below a directory, with paths relative to it.
fn scan(dir: &Path) -> String {
    let head = ["sst", "scan", "--hex", "--range-tombstones"].map(Path::new);
    let text = partita(head.iter().copied().chain([dir])).clean();
    text.replace(&format!("{}/", dir.display()), "")
}

fn show(path: &Path) -> Value {
    let run = partita(["sst", "show", "--json"].map(Path::new).iter().copied().chain([path]));
    serde_json::from_str(&run.clean()).unwrap()
}

fn names(dir: &Path) -> Vec<String> {
    let name =
        |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = fs::read_dir(dir).unwrap().map(name).collect();
    names.sort();
    names
}

#[test]
fn entries_stay_the_same_over_every_option_and_back() {
    let tables = golden::tables();
    let root = tables[0].path().parent().unwrap().parent().unwrap().to_owned();
    let db = golden::get("families-merge-ranges-wal");
    let out = tempfile::tempdir().unwrap();
    for (name, from) in [("tables", root), ("db", db.path())] {
        let before = fingerprint(&from);
        let entries = scan(&from);
        assert!(entries.lines().count() > 5000);
        let mut last = from.clone();
        for (number, options) in OPTIONS.iter().enumerate() {
            let next = out.path().join(format!("{name}-{number}"));
            let said = rewrite(options, &last, &next).clean();
            assert!(said.contains(" files: "), "{said}");
            assert!(scan(&next) == entries, "{name}, {options}");
            partita(["sst", "verify"].map(Path::new).iter().copied().chain([&*next])).clean();
            last = next;
        }
        assert!(fingerprint(&from) == before, "{name} was touched");
    }
}

#[test]
fn the_options_take_effect_and_the_rest_are_partitas_defaults() {
    let table = golden::table("fv5-binary-search");
    let out = tempfile::tempdir().unwrap();
    let [default, asked] = ["default.sst", "asked.sst"].map(|name| out.path().join(name));
    rewrite("", &table.path(), &default).clean();
    rewrite(OPTIONS[1], &table.path(), &asked).clean();

    let default = show(&default);
    assert_eq!(default["format"]["version"], 5);
    assert_eq!(default["index"]["type"], "two-level");
    assert_eq!(default["filter"]["layout"], "partitioned");
    let asked = show(&asked);
    assert_eq!(asked["format"]["version"], 2);
    assert_eq!(asked["format"]["checksum"], "kCRC32c");
    assert_eq!(asked["index"]["type"], "binary search");
    assert_eq!(asked["filter"]["layout"], "full");
    assert_eq!(asked["readable_by"]["oldest"], "4.8");
}

#[test]
fn what_tells_of_the_data_is_carried_over_and_the_identity_is_new() {
    let db = golden::get("families-merge-ranges-wal");
    let from = &db.sst_paths()[1];
    let out = tempfile::tempdir().unwrap();
    let to = out.path().join("x.sst");
    rewrite("", from, &to).clean();
    let (before, after) = (show(from), show(&to));
    for name in [
        "rocksdb.column.family.id",
        "rocksdb.column.family.name",
        "rocksdb.comparator",
        "rocksdb.creating.db.identity",
        "rocksdb.creating.host.identity",
        "rocksdb.creation.time",
        "rocksdb.deleted.keys",
        "rocksdb.file.creation.time",
        "rocksdb.key.largest.seqno",
        "rocksdb.key.smallest.seqno",
        "rocksdb.merge.operands",
        "rocksdb.merge.operator",
        "rocksdb.newest.key.time",
        "rocksdb.num.entries",
        "rocksdb.num.range-deletions",
        "rocksdb.oldest.key.time",
        "rocksdb.original.file.number",
        "rocksdb.property.collectors",
        "rocksdb.raw.key.size",
        "rocksdb.raw.value.size",
    ] {
        assert!(!before["properties"][name].is_null(), "{name} is not in the golden file");
        assert_eq!(before["properties"][name], after["properties"][name], "{name}");
    }
    let session = "rocksdb.creating.session.identity";
    assert_ne!(before["properties"][session], after["properties"][session]);
    assert_eq!(after["properties"][session].as_str().unwrap().len(), 20);
}

#[test]
fn an_external_file_stays_one_that_can_be_ingested() {
    let table = golden::table("external-file");
    let out = tempfile::tempdir().unwrap();
    let to = out.path().join("x.sst");
    rewrite("", &table.path(), &to).clean();
    let (before, after) = (show(&table.path()), show(&to));
    for name in ["rocksdb.external_sst_file.version", "rocksdb.external_sst_file.global_seqno"] {
        assert!(before["properties"][name].is_u64());
        assert_eq!(before["properties"][name], after["properties"][name]);
    }
}

#[test]
fn a_global_sequence_number_written_in_place_is_kept() {
    // What `write_global_seqno` does: 8 bytes in the properties block change, its checksum does not.
    let table = golden::table("external-file");
    let mut bytes = fs::read(table.path()).unwrap();
    let name = b"global_seqno";
    let at = bytes.windows(name.len()).rposition(|window| window == name).unwrap() + name.len();
    assert_eq!(bytes[at..at + 8], [0; 8]);
    bytes[at] = 77;
    fs::write(table.path(), bytes).unwrap();
    let out = tempfile::tempdir().unwrap();
    let to = out.path().join("x.sst");
    rewrite("", &table.path(), &to).clean();

    assert_eq!(show(&to)["entries"]["global_seqno"], 77);
    let head = ["sst", "scan", "--hex"].map(Path::new);
    let scan = |path: &Path| partita(head.iter().copied().chain([path])).clean();
    let entries = scan(&to);
    assert_eq!(entries, scan(&table.path()));
    assert!(entries.lines().all(|line| line.split('\t').nth(1) == Some("77")), "{entries}");
}

#[test]
fn prefixes_in_the_filter_are_kept_unless_named() {
    let table = golden::table("prefix-only");
    let out = tempfile::tempdir().unwrap();
    let [kept, without] = ["kept.sst", "without.sst"].map(|name| out.path().join(name));
    rewrite("", &table.path(), &kept).clean();
    let options = "prefix_extractor=nullptr;whole_key_filtering=true";
    rewrite(options, &table.path(), &without).clean();
    let holds = |path: &Path| {
        let filter = &show(path)["filter"];
        (filter["whole_keys"].clone(), filter["prefixes"].clone())
    };
    assert_eq!(holds(&kept), (false.into(), true.into()));
    assert_eq!(holds(&without), (true.into(), false.into()));
}

#[test]
fn what_cannot_be_done_is_refused_by_name_and_leaves_nothing() {
    let table = golden::table("fv5-binary-search");
    let out = tempfile::tempdir().unwrap();
    let to = out.path().join("x.sst");
    for (options, name) in [
        ("blok_size=1", "blok_size"),
        ("index_type=kBinarySearch", "set partition_filters=false for a full filter"),
        ("format_version=99", "format_version"),
        ("block_size=64Q", "a number from 1 to 4294967295"),
        ("compression=kZSTD;compression_opts={level=99}", "level = 99 with zstd"),
    ] {
        let run = rewrite(options, &table.path(), &to);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{options}");
        assert!(run.stderr.starts_with("partita: ") && run.stderr.contains(name), "{}", run.stderr);
        assert_eq!(names(out.path()), Vec::<String>::new(), "{options}");
    }

    fs::write(&to, "precious").unwrap();
    let run = rewrite("", &table.path(), &to);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("exists already"), "{}", run.stderr);
    assert_eq!(fs::read_to_string(&to).unwrap(), "precious");
    let run = rewrite("", table.path().parent().unwrap(), out.path());
    assert_eq!(run.code, 2);
    assert_eq!(names(out.path()), ["x.sst"]);
}

#[test]
fn what_keeps_the_output_from_being_made_is_named() {
    let table = golden::table("fv5-binary-search");
    let out = tempfile::tempdir().unwrap();
    let run = rewrite("", &table.path(), &out.path().join("missing/x.sst"));
    assert_eq!(run.code, 2);
    let missing = format!("the directory {} does not exist", out.path().join("missing").display());
    assert!(run.stderr.contains(&missing), "{}", run.stderr);
    assert!(!run.stderr.contains("partita-tmp"), "{}", run.stderr);

    let left_over = out.path().join("x.sst.partita-tmp");
    fs::write(&left_over, "half").unwrap();
    let run = rewrite("", &table.path(), &out.path().join("x.sst"));
    assert_eq!(run.code, 2);
    let named = format!("{}: ", left_over.display());
    assert!(run.stderr.contains(&named), "{}", run.stderr);
    assert!(run.stderr.contains("left over from a rewrite"), "{}", run.stderr);
    assert_eq!(fs::read_to_string(&left_over).unwrap(), "half");
}

#[test]
fn a_damaged_input_is_given_up_and_the_others_are_rewritten() {
    let db = golden::get("locations-partitioned");
    let damaged = &db.sst_paths()[1];
    let mut bytes = fs::read(damaged).unwrap();
    bytes[100] ^= 1;
    fs::write(damaged, bytes).unwrap();
    let out = tempfile::tempdir().unwrap();
    let to = out.path().join("new");
    let run = rewrite("", &db.path(), &to);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("000011.sst, data block at 0x0"), "{}", run.stderr);
    assert_eq!(names(&to), ["000009.sst", "000013.sst", "000015.sst"]);
}

#[test]
fn the_help_warns_of_putting_a_file_back() {
    let help = partita(["sst", "rewrite", "--help"]).clean();
    assert!(help.contains("MANIFEST"), "{help}");
    assert!(help.contains("NOT"), "{help}");
}
