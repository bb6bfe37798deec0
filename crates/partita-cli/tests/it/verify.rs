//! `partita sst verify`: damage of every role is found, and the walk goes on (public report rocksdb#6909, where a
//! damaged index partition ended the walk and the file passed as clean).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use partita::io::MemoryFile;
use partita::table::{
    BLOCK_TRAILER_LEN, BlockInfo, BlockRole, ReadContext, ReaderOptions, TableReader,
};
use partita_testkit::golden::{self, GoldenDb, GoldenTable};
use serde_json::Value;

use crate::run::{Run, fingerprint, partita};

/// What one run of `verify --json` said about one file.
#[derive(Debug)]
struct Verified {
    run: Run,
    json: Value,
}

fn verify(path: &Path) -> Verified {
    let run = partita(["sst", "verify", "--json"].map(Path::new).iter().copied().chain([path]));
    let json = serde_json::from_str(&run.stdout).unwrap_or(Value::Null);
    Verified { run, json }
}

impl Verified {
    fn number(&self, field: &str) -> u64 {
        self.json[field].as_u64().unwrap_or_else(|| panic!("no {field} in {self:?}"))
    }

    /// Role and offset of each damage.
    fn damage(&self) -> Vec<(String, Option<u64>)> {
        let damage = self.json["damage"].as_array().unwrap();
        let place = |finding: &Value| {
            (finding["role"].as_str().unwrap_or_default().to_owned(), finding["offset"].as_u64())
        };
        damage.iter().map(place).collect()
    }
}

/// A golden table to damage: its bytes, its blocks, and what a clean verification of it says.
struct Subject {
    /// Keeps the directory.
    _db: Option<GoldenDb>,
    path: PathBuf,
    bytes: Vec<u8>,
    blocks: Vec<BlockInfo>,
}

impl Subject {
    /// The first table of the golden database `name`.
    fn new(name: &str) -> Self {
        let db = golden::get(name);
        let path = db.sst_paths()[0].clone();
        Self { _db: Some(db), ..Self::of_file(path) }
    }

    fn of_file(path: PathBuf) -> Self {
        let bytes = fs::read(&path).unwrap();
        let file = Arc::new(MemoryFile::new(&path, bytes.clone()));
        let ctx = &mut ReadContext::default();
        let table = TableReader::open(file, &ReaderOptions::default(), ctx).unwrap();
        let blocks = table.blocks(ctx).unwrap();
        Self { _db: None, path, bytes, blocks }
    }

    fn blocks_of(&self, role: BlockRole) -> Vec<BlockInfo> {
        self.blocks.iter().filter(|block| block.role == role).copied().collect()
    }

    /// Verifies the table with one bit of the byte at `at` flipped.
    fn verify_flipped(&self, at: usize) -> Verified {
        let mut bytes = self.bytes.clone();
        bytes[at] ^= 0x10;
        fs::write(&self.path, bytes).unwrap();
        verify(&self.path)
    }

    /// Verifies the table with a flipped byte in the middle of a block, which must be found where it is.
    fn verify_damaged(&self, block: &BlockInfo) -> Verified {
        let verified = self.verify_flipped((block.handle.offset + block.handle.size / 2) as usize);
        let place = (block.role.as_str().to_owned(), Some(block.handle.offset));
        assert_eq!(verified.run.code, 1, "{verified:?}");
        assert!(verified.damage().contains(&place), "{place:?} is not in {verified:?}");
        verified
    }
}

#[test]
fn golden_tables_are_clean_and_every_block_of_theirs_is_checked() {
    // Both live as long as their handles.
    let (databases, tables) = (golden::all(), golden::tables());
    let mut files = 0;
    let paths = databases
        .iter()
        .filter(|db| db.name() != "foreign-comparator")
        .flat_map(GoldenDb::sst_paths)
        .chain(tables.iter().map(GoldenTable::path));
    for path in paths {
        files += 1;
        let verified = verify(&path);
        assert_eq!((verified.run.code, verified.run.stderr.as_str()), (0, ""), "{verified:?}");
        assert_eq!(verified.json["status"], "clean");
        assert_eq!(verified.json["complete"], true);

        let file = Arc::new(MemoryFile::new(&path, fs::read(&path).unwrap()));
        let ctx = &mut ReadContext::default();
        let table = TableReader::open(file, &ReaderOptions::default(), ctx).unwrap();
        let mut counts = BTreeMap::<&str, u64>::new();
        for block in table.blocks(ctx).unwrap() {
            *counts.entry(block.role.as_str()).or_default() += 1;
        }
        assert_eq!(
            verified.json["blocks"],
            serde_json::to_value(counts).unwrap(),
            "{}",
            path.display()
        );
        // The blocks, their trailers and the footer are the whole file, unless blocks were padded.
        let footer_len = if table.footer().format_version == 0 { 48 } else { 53 };
        if !path.to_string_lossy().contains("block-align") {
            assert_eq!(
                verified.number("bytes") + footer_len,
                table.file_len(),
                "{}",
                path.display()
            );
        }
    }
    assert_eq!(files, 44 + 48);
}

#[test]
fn damage_in_a_block_is_found_and_all_other_blocks_are_still_checked() {
    for name in ["locations-partitioned", "families-merge-ranges-wal", "ribbon-zstd-dictionary"] {
        let subject = Subject::new(name);
        let clean = verify(&subject.path).number("blocks_total");
        assert_eq!(clean, subject.blocks.len() as u64);
        for role in [
            BlockRole::Data,
            BlockRole::Filter,
            BlockRole::FilterPartition,
            BlockRole::RangeDeletions,
            BlockRole::Dictionary,
        ] {
            let blocks = subject.blocks_of(role);
            let Some(block) = blocks.get(blocks.len() / 2) else { continue };
            let verified = subject.verify_damaged(block);
            assert_eq!(verified.number("blocks_total"), clean, "{name}, {role}");
            if role != BlockRole::Dictionary {
                assert_eq!(verified.damage().len(), 1, "{name}, {role}: {verified:?}");
            }
        }
    }
}

#[test]
fn a_damaged_index_partition_hides_only_its_own_data_blocks() {
    // The report's file has five partitions or more; small ones are made by rewriting.
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("000009.sst");
    let options = ["sst", "rewrite", "--quiet", "--options", "metadata_block_size=150"];
    let db = golden::get("locations-partitioned");
    partita(options.map(Path::new).iter().copied().chain([&*db.sst_paths()[0], &*path])).clean();
    let subject = Subject::of_file(path);
    let partitions = subject.blocks_of(BlockRole::IndexPartition);
    assert!(partitions.len() >= 5, "{}", partitions.len());
    let all = subject.blocks_of(BlockRole::Data).len() as u64;
    let checked = |verified: &Verified| verified.json["blocks"]["data block"].as_u64().unwrap_or(0);
    let hidden: Vec<u64> = partitions
        .iter()
        .map(|partition| {
            let verified = subject.verify_damaged(partition);
            assert_eq!(verified.json["complete"], false);
            assert_eq!(verified.json["blocks"]["index partition"], partitions.len());
            assert_eq!(verified.damage().len(), 1, "{verified:?}");
            all - checked(&verified)
        })
        .collect();
    assert!(hidden.iter().all(|hidden| *hidden > 0), "{hidden:?}");
    assert_eq!(hidden.iter().sum::<u64>(), all, "{hidden:?}");
}

#[test]
fn damage_at_the_roots_is_never_clean() {
    for name in ["locations-partitioned", "plain-defaults", "format2-crc-zlib"] {
        let subject = Subject::new(name);
        for role in [
            BlockRole::Index,
            BlockRole::IndexTopLevel,
            BlockRole::FilterTopLevel,
            BlockRole::Properties,
            BlockRole::Metaindex,
        ] {
            for block in subject.blocks_of(role) {
                let verified = subject.verify_damaged(&block);
                assert_eq!(verified.json["complete"], false, "{name}, {role}");
            }
        }
        // The trailer of each block counts as the block.
        let block = subject.blocks[subject.blocks.len() / 2];
        let trailer = (block.handle.offset + block.handle.size) as usize;
        for at in trailer..trailer + BLOCK_TRAILER_LEN {
            assert_eq!(subject.verify_flipped(at).run.code, 1, "{name}, trailer");
        }
    }
}

#[test]
fn each_byte_of_the_footer_is_checked() {
    for name in ["plain-defaults", "locations-partitioned", "format2-crc-zlib"] {
        let subject = Subject::new(name);
        let len = subject.bytes.len();
        for at in len - 53..len {
            let verified = subject.verify_flipped(at);
            // A version that is not known may be one of the future: then the table could not be looked at.
            let unknown_version = (len - 12..len - 8).contains(&at);
            let expected = if unknown_version { "unseen" } else { "damaged" };
            assert_eq!(verified.json["status"], expected, "{name}, {at}: {verified:?}");
            assert_ne!(verified.run.code, 0);
            assert!(!verified.damage().is_empty());
        }
    }
}

/// A golden table rewritten without checksums, so that only what its bytes mean can tell of damage.
fn without_checksums(dir: &Path) -> Subject {
    let path = dir.join("000009.sst");
    let db = golden::get("locations-partitioned");
    let options = "checksum=kNoChecksum;metadata_block_size=150;enable_index_compression=false";
    let head = ["sst", "rewrite", "--quiet", "--options", options].map(Path::new);
    partita(head.iter().copied().chain([&*db.sst_paths()[0], &*path])).clean();
    Subject::of_file(path)
}

#[test]
fn a_wrong_count_in_the_properties_is_found_without_checksums() {
    let dir = tempfile::tempdir().unwrap();
    let subject = without_checksums(dir.path());
    assert_eq!(verify(&subject.path).run.code, 0);
    for (name, found) in [
        (&b"eted.keys"[..], "0 deletions found, 16 recorded"),
        (b"merge.operands", "0 merge operands found, 16 recorded"),
        (b"range-deletions", "0 range tombstones found, 16 recorded"),
    ] {
        // The value stands right behind the name, of which the start is shared with the name before.
        let at = subject.bytes.windows(name.len()).rposition(|window| window == name).unwrap();
        let verified = subject.verify_flipped(at + name.len());
        assert_eq!(verified.run.code, 1);
        assert_eq!(verified.json["damage"][0]["message"], found);
        assert_eq!(verified.json["damage"][0]["role"], "properties block");
    }
}

#[test]
fn a_wrong_separator_in_the_top_level_is_found_without_checksums() {
    let dir = tempfile::tempdir().unwrap();
    let subject = without_checksums(dir.path());
    let top_level = subject.blocks_of(BlockRole::IndexTopLevel)[0].handle.offset as usize;
    // First entry: 0 bytes shared, length of the key, key. Lowered, it ends before its partition does.
    let (shared, len) = (subject.bytes[top_level], usize::from(subject.bytes[top_level + 1]));
    assert_eq!(shared, 0);
    let key = top_level + 2..top_level + 2 + len;
    let at = key.clone().rev().find(|&at| subject.bytes[at] > 0).unwrap();
    let mut bytes = subject.bytes.clone();
    bytes[at] -= 1;
    fs::write(&subject.path, bytes).unwrap();
    let verified = verify(&subject.path);
    assert_eq!(verified.run.code, 1, "{verified:?}");
    assert!(verified.run.stdout.contains("do not keep to the top level's"), "{verified:?}");
}

#[test]
fn a_truncated_table_is_damaged() {
    let subject = Subject::new("locations-partitioned");
    let len = subject.bytes.len();
    for cut in [1, 2, 53, 54, len / 2, len - 1, len] {
        fs::write(&subject.path, &subject.bytes[..len - cut]).unwrap();
        let verified = verify(&subject.path);
        assert_eq!(verified.run.code, 1, "cut by {cut}: {verified:?}");
        assert_eq!(verified.damage()[0].0, "footer", "cut by {cut}");
    }
}

#[test]
fn the_text_names_file_role_and_offset_and_counts_the_blocks() {
    let subject = Subject::new("locations-partitioned");
    let block = subject.blocks_of(BlockRole::FilterPartition)[3];
    subject.verify_damaged(&block);
    let run = partita([Path::new("sst"), Path::new("verify"), subject.path.parent().unwrap()]);
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    let place =
        format!("filter partition at {:#x} ({} bytes): ", block.handle.offset, block.handle.size);
    let file = subject.path.display();
    assert!(run.stdout.contains(&format!("{file}: corruption: {place}")), "{}", run.stdout);
    assert!(
        run.stdout.contains(&format!("{file}: DAMAGED: 137 blocks checked, 1 of them damaged, ")),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("all blocks              261"), "{}", run.stdout);
    assert!(
        run.stdout.ends_with("4 files of 456.8 KiB: 1 damaged, 0 not looked at\n"),
        "{}",
        run.stdout
    );
}

#[test]
fn what_cannot_be_looked_at_is_told_from_damage() {
    let db = golden::get("foreign-comparator");
    let verified = verify(&db.sst_paths()[0]);
    assert_eq!(verified.run.code, 2, "{verified:?}");
    assert_eq!(verified.json["status"], "unseen");
    assert!(verified.json["damage"][0]["message"].as_str().unwrap().contains("golden.Reverse"));

    for name in ["missing.sst", "CURRENT"] {
        let path = db.path().join(name);
        let verified = verify(&path);
        assert_eq!(verified.run.code, 2, "{name}");
        assert_eq!(verified.json["status"], "unseen", "{name}");
        assert_eq!(verified.json["complete"], false, "{name}");
        assert_eq!(verified.json["file"], path.to_str().unwrap());
        assert_eq!(verified.damage().len(), 1, "{name}");
    }
    let missing = verify(&db.path().join("missing.sst"));
    assert_eq!(missing.json["damage"][0]["kind"], "I/O error");
    assert!(missing.run.stderr.contains("missing.sst"), "{missing:?}");
    let empty = tempfile::tempdir().unwrap();
    let run = partita([Path::new("sst"), Path::new("verify"), empty.path()]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("no .sst or .ldb file"), "{}", run.stderr);
}

#[test]
fn quiet_prints_what_is_wrong_and_nothing_else() {
    let subject = Subject::new("locations-partitioned");
    let quiet = || {
        let head = ["sst", "verify", "--quiet"].map(Path::new);
        partita(head.iter().copied().chain([subject.path.parent().unwrap()]))
    };
    assert_eq!(quiet().clean(), "");
    subject.verify_damaged(&subject.blocks_of(BlockRole::Data)[0]);
    let run = quiet();
    assert_eq!(run.code, 1);
    assert_eq!(run.stdout.lines().count(), 2, "{}", run.stdout);
    let file = subject.path.display().to_string();
    assert!(run.stdout.lines().all(|line| line.starts_with(&file)), "{}", run.stdout);
}

#[test]
fn sums_of_nothing_are_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing.sst");
    let run = partita([Path::new("sst"), Path::new("verify"), &missing]);
    assert_eq!(run.stdout, "1 file of 0 B: 0 damaged, 1 not looked at\n");
}

#[test]
fn the_inputs_are_not_touched() {
    let db = golden::get("families-merge-ranges-wal");
    let before = fingerprint(&db.path());
    partita([Path::new("sst"), Path::new("verify"), &db.path()]).clean();
    assert!(fingerprint(&db.path()) == before);
}
