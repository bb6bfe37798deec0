//! What opening a table reads, and what is put off until it is used.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use partita::io::{DiskFile, MemoryFile, RandomAccessFile};
use partita::key::SeqNo;
use partita::table::{BlockRole, LookupKey, ReadContext, ReaderOptions, TableReader};
use partita::{ErrorKind, Result};
use partita_testkit::golden;

use crate::support::Watched;

/// Bytes of a footer from format version 1 on.
const FOOTER_LEN: u64 = 53;
/// Those of them that are the version.
const VERSION: Range<u64> = 41..45;

fn open<F: RandomAccessFile + 'static>(file: &Arc<Watched<F>>) -> Result<TableReader> {
    let file: Arc<dyn RandomAccessFile> = Arc::<Watched<F>>::clone(file);
    TableReader::open(file, &ReaderOptions::default(), &mut ReadContext::default())
}

#[test]
fn a_table_is_opened_by_one_read_of_its_end() {
    let (golden_tables, mut databases) = (golden::tables(), golden::all());
    databases.retain(|db| db.name() != "foreign-comparator");
    let mut paths: Vec<_> = golden_tables.iter().map(golden::GoldenTable::path).collect();
    paths.extend(databases.iter().flat_map(golden::GoldenDb::sst_paths));
    let mut tables = 0;
    for path in paths {
        let file = Watched::new(DiskFile::open(&path).unwrap());
        let table = open(&file).unwrap();
        let reads = file.take_reads();
        let len = file.len().min(8 << 10);
        assert_eq!(reads, [(file.len() - len, len as usize)], "{}", path.display());
        drop(table);
        tables += 1;
    }
    assert!(tables > 80, "only {tables}");
}

#[test]
fn only_what_is_used_is_read_once_and_kept() {
    let db = golden::get("locations-partitioned");
    let file = Watched::new(DiskFile::open(&db.sst_paths()[0]).unwrap());
    let table = open(&file).unwrap();
    file.take_reads();
    let mut ctx = ReadContext::default();
    let key = LookupKey::new(b"no such key in the table", SeqNo::MAX);
    table.may_contain(&key, &mut ctx).unwrap();
    assert_eq!(file.take_reads().len(), 2, "the top level and one partition");
    assert_eq!(ctx.blocks_read[BlockRole::FilterTopLevel], 1);
    assert_eq!(ctx.blocks_read[BlockRole::FilterPartition], 1);
    table.may_contain(&key, &mut ctx).unwrap();
    assert_eq!(file.take_reads(), []);

    table.approximate_offset_of(b"\0", &mut ctx).unwrap();
    assert_eq!(ctx.blocks_read[BlockRole::IndexTopLevel], 1);
    assert_eq!(ctx.blocks_read[BlockRole::IndexPartition], 1);
    assert_eq!(file.take_reads().len(), 2);
    table.approximate_offset_of(b"\0", &mut ctx).unwrap();
    table.range_tombstones(&mut ctx).unwrap();
    assert_eq!(file.take_reads(), [], "the table has no range tombstones");
}

#[test]
fn damage_to_what_is_read_later_is_an_error_that_names_it_each_time() {
    let db = golden::get("locations-partitioned");
    let path = db.sst_paths().remove(0);
    let sound = open(&Watched::new(DiskFile::open(&path).unwrap())).unwrap();
    let blocks = sound.blocks(&mut ReadContext::default()).unwrap();
    for role in [BlockRole::IndexTopLevel, BlockRole::IndexPartition] {
        let block = blocks.iter().find(|block| block.role == role).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        bytes[block.handle.offset as usize + 2] ^= 1;
        let table = open(&Watched::new(MemoryFile::new("x.sst", bytes))).unwrap();
        for _ in 0..2 {
            let error =
                table.approximate_offset_of(b"\0", &mut ReadContext::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption);
            assert_eq!(error.part(), Some(role.as_str()));
            assert_eq!(error.offset(), Some(block.handle.offset));
        }
    }
}

/// A file of which one bit is turned on its way, in the first read alone.
#[derive(Debug)]
struct TurnedOnce {
    file: MemoryFile,
    bit: u64,
    is_due: AtomicBool,
}

impl RandomAccessFile for TurnedOnce {
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        self.file.read_exact_at(offset, buf)?;
        if self.is_due.swap(false, Ordering::Relaxed) {
            buf[(self.bit / 8 - offset) as usize] ^= 1 << (self.bit % 8);
        }
        Ok(())
    }

    fn len(&self) -> u64 {
        self.file.len()
    }

    fn path(&self) -> &Path {
        self.file.path()
    }
}

/// Before format version 6 no checksum covers the footer.
#[test]
fn a_bit_of_a_footer_that_was_turned_once_does_not_stay() {
    for name in ["locations-partitioned", "locations-full-filter"] {
        let bytes = fs::read(&golden::get(name).sst_paths()[0]).unwrap();
        let offset = |table: &TableReader| {
            table.approximate_offset_of(&[0x7f; 16], &mut ReadContext::default())
        };
        let sound = open(&Watched::new(MemoryFile::new("x.sst", bytes.clone()))).unwrap();
        assert!(sound.footer().format_version < 6, "{name}");
        let (expected, len) = (offset(&sound).unwrap(), bytes.len() as u64);
        let mut opened = 0;
        for bit in (len - FOOTER_LEN) * 8..len * 8 {
            let file = TurnedOnce {
                file: MemoryFile::new("x.sst", bytes.clone()),
                bit,
                is_due: AtomicBool::new(true),
            };
            let file = Watched::new(file);
            // What shows at once is an error; the next one who opens the file reads it again.
            if let Ok(table) = open(&file) {
                match offset(&table) {
                    Ok(found) => assert_eq!(found, expected, "{name}, bit {bit}"),
                    // Blocks make no sense to another version; it stays until the table is opened again.
                    Err(error) => {
                        assert!(
                            VERSION.contains(&(FOOTER_LEN - (len - bit / 8))),
                            "{name}, bit {bit}"
                        );
                        assert!(error.is_corruption(), "{name}, bit {bit}: {error}");
                    }
                }
                opened += 1;
            }
            assert_eq!(offset(&open(&file).unwrap()).unwrap(), expected, "{name}, bit {bit}");
        }
        assert!(opened > 20, "{name}: {opened}");
    }
}
