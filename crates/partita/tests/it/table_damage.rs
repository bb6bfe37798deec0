//! Damaged tables: what is damaged is named, nothing panics, and a verification goes on (rocksdb#6909).

use std::fs;
use std::path::Path;
use std::sync::Arc;

use partita::io::{MemoryFile, RandomAccessFile};
use partita::iter::InternalIterator;
use partita::key::{InternalKey, SeqNo};
use partita::table::{
    BlockRole, FilterStatus, LookupKey, ReadContext, ReaderOptions, TableReader, VerifyReport,
    verify_table,
};
use partita_testkit::golden;

use partita_testkit::table_check::{self, open};

fn verify(bytes: Vec<u8>) -> VerifyReport {
    let file: Arc<dyn RandomAccessFile> = Arc::new(MemoryFile::new("x.sst", bytes));
    verify_table(&file, &ReaderOptions::default(), &mut |_| ())
}

/// A table with a two-level index and a partitioned filter of several partitions each, and data in many blocks.
fn partitioned() -> (Vec<u8>, Arc<TableReader>) {
    let db = golden::get("locations-partitioned");
    let path = db.sst_paths().remove(0);
    let table = open(&path, &ReaderOptions::default()).unwrap();
    (fs::read(path).unwrap(), table)
}

#[test]
fn golden_tables_verify_clean_and_every_block_is_counted() {
    let check = |path: &Path| {
        let table = open(path, &ReaderOptions::default()).unwrap();
        let report = verify(fs::read(path).unwrap());
        assert!(report.is_clean(), "{}: {:?}", path.display(), report.damages);
        assert!(report.complete && report.not_opened.is_none());
        let blocks = table.blocks(&mut ReadContext::default()).unwrap();
        for role in BlockRole::ALL {
            let expected = blocks.iter().filter(|block| block.role == role).count() as u64;
            assert_eq!(report.blocks[role], expected, "{}: {role}", path.display());
        }
        // Blocks and the footer fill the file, except where the writer aligned data blocks.
        let footer = if table.footer().format_version == 0 { 48 } else { 53 };
        let end_of_meta = table.footer().metaindex.end().unwrap();
        assert_eq!(end_of_meta + footer, table.file_len(), "{}", path.display());
        assert!(report.bytes <= end_of_meta);
        if !path.display().to_string().contains("align") {
            assert_eq!(report.bytes, end_of_meta, "{}", path.display());
        }
    };
    for golden in golden::tables() {
        check(&golden.path());
    }
    for db in golden::all().iter().filter(|db| db.name() != "foreign-comparator") {
        db.sst_paths().iter().for_each(|path| check(path));
    }
}

#[test]
fn damage_in_any_block_is_reported_with_its_role_and_place_and_the_walk_goes_on() {
    let (bytes, table) = partitioned();
    let blocks = table.blocks(&mut ReadContext::default()).unwrap();
    let count = |role| blocks.iter().filter(|block| block.role == role).count();
    assert!(count(BlockRole::IndexPartition) >= 3 && count(BlockRole::FilterPartition) >= 3);
    for block in &blocks {
        // The first bytes, one inside, the type byte and the checksum.
        for at in [0, block.handle.size / 2, block.handle.size, block.handle.size + 4] {
            let mut damaged = bytes.clone();
            damaged[(block.handle.offset + at) as usize] ^= 0x10;
            let report = verify(damaged);
            let found = &report.damages;
            assert_eq!(found.len(), 1, "{block:?}: {found:?}");
            assert_eq!(found[0].offset(), Some(block.handle.offset));
            assert_eq!(found[0].file(), Some(Path::new("x.sst")));
            let leads_on = matches!(
                block.role,
                BlockRole::IndexPartition
                    | BlockRole::IndexTopLevel
                    | BlockRole::FilterTopLevel
                    | BlockRole::Properties
                    | BlockRole::Metaindex
            );
            assert_eq!(report.complete, !leads_on, "{block:?}");
            if !leads_on {
                assert_eq!(report.blocks_total(), blocks.len() as u64, "{block:?}");
            }
            if block.role != BlockRole::IndexTopLevel || report.not_opened.is_none() {
                assert_eq!(found[0].part(), Some(block.role.as_str()));
            }
            if block.role == BlockRole::IndexPartition {
                let others = count(BlockRole::IndexPartition) as u64;
                assert_eq!(report.blocks[BlockRole::IndexPartition], others);
                assert!(report.blocks[BlockRole::Data] > 0);
            }
        }
    }
}

#[test]
fn damage_to_the_end_of_the_file_is_never_clean() {
    let (bytes, table) = partitioned();
    let footer_at = table.footer().metaindex.end().unwrap() as usize;
    // Between the handles and the version stands padding that no version reads.
    let handles = bytes[footer_at + 1..footer_at + 41].iter().rposition(|&byte| byte != 0).unwrap();
    for at in (footer_at..=footer_at + 1 + handles).chain(footer_at + 41..bytes.len()) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        assert!(!verify(damaged).is_clean(), "footer byte {}", at - footer_at);
    }
    for len in [bytes.len() - 1, bytes.len() - 53, bytes.len() / 2, 60, 10, 1, 0] {
        let report = verify(bytes[..len].to_vec());
        assert!(!report.is_clean(), "cut to {len} bytes");
        assert_eq!(report.damages[0].part(), Some("footer"));
        assert!(!report.complete);
    }
}

/// Opens, walks, seeks and gets; whatever happens must be an answer or an error that names the file.
fn exercise(bytes: Vec<u8>, keys: &[Vec<u8>], verify_checksums: bool) -> bool {
    let file = Arc::new(MemoryFile::new("x.sst", bytes));
    let options = ReaderOptions { verify_checksums, ..Default::default() };
    let mut ctx = ReadContext::default();
    let named = |error: partita::Error| {
        assert_eq!(error.file(), Some(Path::new("x.sst")), "{error}");
        assert!(error.part().is_some(), "{error}");
    };
    let table = match TableReader::open(file, &options, &mut ctx) {
        Ok(table) => Arc::new(table),
        Err(error) => {
            named(error);
            return false;
        }
    };
    let mut whole = true;
    let mut note = |result: partita::Result<()>| {
        if let Err(error) = result {
            named(error);
            whole = false;
        }
    };
    let limit = table.file_len() * 300;
    for backward in [false, true] {
        let mut iter = table.iter();
        let mut steps = 0;
        let mut result = if backward { iter.seek_to_last() } else { iter.seek_to_first() };
        while result.is_ok() && iter.is_valid() {
            steps += 1;
            assert!(steps <= limit, "a walk does not end");
            result = if backward { iter.prev() } else { iter.next() };
        }
        assert!(!iter.is_valid());
        note(result);
    }
    let mut iter = table.iter();
    for key in keys {
        note(iter.seek(key));
        note(iter.seek_for_prev(key));
        let user_key = InternalKey::decode(key).unwrap().user_key;
        note(table.get(&LookupKey::new(user_key, SeqNo::MAX), &mut ctx).map(drop));
        note(table.prefix_may_match(user_key, &mut ctx).map(drop));
        note(table.approximate_offset_of(user_key, &mut ctx).map(drop));
    }
    note(table.range_tombstones(&mut ctx).map(drop));
    note(table.blocks(&mut ctx).map(drop));
    whole
}

fn some_keys(entries: &table_check::Entries) -> Vec<Vec<u8>> {
    entries.iter().step_by(entries.len() / 3 + 1).map(|(key, _)| key.clone()).collect()
}

#[test]
fn no_single_damaged_byte_leads_to_a_panic_or_an_endless_walk() {
    let mut rng = Rng(0x9e37_79b9_7f4a_7c15);
    let mut tables = 0;
    for golden in golden::tables() {
        let bytes = fs::read(golden.path()).unwrap();
        let keys = some_keys(&golden.entries());
        // Damage in the meta blocks reaches the most code: they stand at the end.
        for number in 0..80 {
            let from_end = if number % 2 == 0 { 1500 } else { bytes.len() };
            let at = bytes.len() - 1 - rng.below(from_end.min(bytes.len()));
            let mut damaged = bytes.clone();
            damaged[at] = damaged[at].wrapping_add(1 + rng.below(255) as u8);
            exercise(damaged.clone(), &keys, true);
            // Without checksums the damage reaches the parsers.
            exercise(damaged, &keys, false);
        }
        for number in 0..10 {
            let len = bytes.len() * number / 10;
            assert!(!exercise(bytes[..len].to_vec(), &keys, false));
        }
        assert!(exercise(bytes, &keys, true), "{}", golden.name());
        tables += 1;
    }
    assert_eq!(tables, 48);
}

#[test]
fn a_damaged_filter_rules_nothing_out_and_is_reported() {
    let (bytes, table) = partitioned();
    let entries = table_check::read_all(&table);
    let filters: Vec<_> = table
        .blocks(&mut ReadContext::default())
        .unwrap()
        .into_iter()
        .filter(|block| {
            matches!(block.role, BlockRole::FilterPartition | BlockRole::FilterTopLevel)
        })
        .collect();
    assert!(filters.len() > 3);
    for block in filters {
        let mut damaged = bytes.clone();
        damaged[block.handle.offset as usize] ^= 1;
        let file = Arc::new(MemoryFile::new("x.sst", damaged));
        let mut ctx = ReadContext::default();
        let table = TableReader::open(file, &ReaderOptions::default(), &mut ctx).unwrap();
        for (key, _) in entries.iter().step_by(50) {
            let user_key = InternalKey::decode(key).unwrap().user_key;
            let found = table.get(&LookupKey::new(user_key, SeqNo::MAX), &mut ctx).unwrap();
            assert!(found.is_some());
        }
        match table.filter_status() {
            FilterStatus::Unreadable(damage) => {
                assert!(damage.contains(block.role.as_str()), "{damage}");
                assert!(damage.contains("x.sst"), "{damage}");
            }
            other => panic!("{block:?}: {other:?}"),
        }
    }
}

struct Rng(u64);

impl Rng {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}
