//! Base directories: small databases, with the places where damage can be done to them, and what was ever written to them.
//!
//! ```text
//! edit:  kind u8 | file u8 | place u16 LE | more, as the kind needs it
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use partita::batch::{BatchReader, Record};
use partita::cache::Cache;
use partita::db::{DbBuilder, FamilyConfig};
use partita::io::{FileSystem, ManualScheduler, MemoryFile, MemoryFileSystem};
use partita::iter::InternalIterator;
use partita::key::{InternalKey, ValueType};
use partita::options::{
    ColumnFamilyOptions, CompressionOptions, DbOptions, FilterLayout, IndexType, TableOptions,
};
use partita::table::{ReadContext, ReaderOptions, TableReader};
use partita::util::compression::CompressionType;
use partita::version::FileName;
use partita::wal::{LogReader, LogReaderOptions, LogWriter, LogWriterOptions};
use partita_testkit::{archive, golden};

use super::sst::BaseTable;
use crate::choices::Choices;

/// Where every database stands.
pub const DIR: &str = "/db";

/// The end of a table, which has no checksum before format version 6.
pub const FOOTER_BYTES: usize = 53;
/// Edits of one input.
const EDITS_MAX: usize = 8;
/// Files that a directory may come to hold.
const FILES_MAX: usize = 40;

/// Files by name.
pub type Files = BTreeMap<String, Vec<u8>>;
/// All values that a key ever had, by family and key. `None`: it has operands, and may have any.
pub type History = BTreeMap<(u32, Vec<u8>), Option<BTreeSet<Vec<u8>>>>;

/// A sound directory.
#[derive(Debug)]
pub struct BaseDirectory {
    /// Where it comes from.
    pub name: &'static str,
    /// Its files.
    pub files: Files,
    /// What was ever written to it and is still in a file.
    pub history: History,
    /// Tables whose blocks can be edited behind their checksums.
    tables: BTreeMap<String, BaseTable>,
}

/// A directory that something was done to.
#[derive(Debug)]
pub struct Damaged {
    /// The directory it was.
    pub base: &'static BaseDirectory,
    /// The files it has now.
    pub files: Files,
    /// Whether checksums, names and sizes tell of all damage: nothing wrong may be returned then.
    pub guarded: bool,
}

/// Makes the files of a base.
type Maker = fn() -> Files;

/// The base directories: those of ours, one of RocksDB 9.8.4, and two golden ones of 11.8.1.
const BASES: [(&str, Maker); 5] = [
    ("ours, plain", || ours(false)),
    ("ours, partitioned", || ours(true)),
    ("RocksDB 9.8.4", packed),
    ("RocksDB 11.8.1, a log alone", || golden_files("wal-only")),
    ("RocksDB 11.8.1, partitioned", || golden_files("locations-partitioned")),
];

/// A base directory, of the place that a fuzzer's byte says. Each is made when it is needed first.
pub fn base(place: u8) -> &'static BaseDirectory {
    static MADE: [OnceLock<BaseDirectory>; BASES.len()] = [const { OnceLock::new() }; BASES.len()];
    let at = usize::from(place) % BASES.len();
    let (name, make) = BASES[at];
    MADE[at].get_or_init(|| BaseDirectory::new(name, make()))
}

/// How many there are.
pub fn count() -> u8 {
    BASES.len() as u8
}

impl BaseDirectory {
    fn new(name: &'static str, files: Files) -> Self {
        let history = history(&files);
        let mut base = Self { name, files, history, tables: BTreeMap::new() };
        if base.is_small() {
            let tables = base.files.iter().filter(|(name, _)| name.ends_with(".sst"));
            base.tables = tables
                .map(|(name, bytes)| (name.clone(), BaseTable::new(name.clone(), bytes.clone())))
                .collect();
        }
        base
    }

    /// Whether all of it can be read for every input.
    pub fn is_small(&self) -> bool {
        self.history.len() < 500
    }

    /// Whether there is a family beside the default one.
    pub fn has_two_families(&self) -> bool {
        self.history.keys().any(|(family, _)| *family != 0)
    }

    /// Does what the fuzzer's bytes say.
    pub fn damage(&'static self, mut choices: Choices<'_>) -> Damaged {
        let mut damaged = Damaged { base: self, files: self.files.clone(), guarded: true };
        for _ in 0..EDITS_MAX {
            if choices.is_empty() {
                break;
            }
            damaged.edit(&mut choices);
        }
        // What no checksum covers: the end of a table that is none of those that were written.
        let footer = |bytes: &[u8]| bytes[bytes.len().saturating_sub(FOOTER_BYTES)..].to_vec();
        let is_table = |name: &str| name.ends_with(".sst") || name.ends_with(".ldb");
        let written: Vec<Vec<u8>> = self
            .files
            .iter()
            .filter(|(name, _)| is_table(name))
            .map(|(_, bytes)| footer(bytes))
            .collect();
        let mut tables = damaged.files.iter().filter(|(name, _)| is_table(name));
        damaged.guarded &= tables.all(|(_, bytes)| written.contains(&footer(bytes)));
        damaged
    }
}

impl Damaged {
    fn edit(&mut self, choices: &mut Choices<'_>) {
        let kind = choices.byte() % 16;
        let Some(name) = self.name(choices.byte()) else { return };
        let place = usize::from(choices.word());
        let room = self.files.len() < FILES_MAX;
        let Some(bytes) = self.files.get_mut(&name) else { return };
        let at = place % (bytes.len() + 1);
        match kind {
            0 | 1 => {
                // From the end, too, where logs and tables keep what steers the reader.
                let at = if kind == 0 { at } else { bytes.len() - at };
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= choices.byte();
                }
            }
            2 => {
                for (to, from) in bytes[at..].iter_mut().zip(choices.short_bytes()) {
                    *to = *from;
                }
            }
            3 => bytes.truncate(at),
            4 => drop(bytes.drain(at..(at + usize::from(choices.byte())).min(at.max(bytes.len())))),
            5 => drop(bytes.splice(at..at, choices.short_bytes().iter().copied())),
            6 => {
                let (byte, count) = (choices.byte(), usize::from(choices.word()));
                bytes.resize(bytes.len() + count, byte);
            }
            7 => *bytes = choices.short_bytes().to_vec(),
            8 => drop(self.files.remove(&name)),
            9 => {
                let moved = self.files.remove(&name);
                if let (Some(bytes), Some(over)) = (moved, self.name(choices.byte())) {
                    self.files.insert(over, bytes);
                }
            }
            10 if room => {
                let bytes = bytes.clone();
                self.files.insert(renumbered(&name, choices.byte()), bytes);
            }
            11 => {
                if let Some(bytes) = self.files.remove(&name) {
                    self.files.insert(renumbered(&name, choices.byte()), bytes);
                }
            }
            12 => self.swap(name, choices.byte()),
            13 => {
                let (from, len) = (usize::from(choices.word()), usize::from(choices.word()));
                let Some(other) = self.name(choices.byte()) else { return };
                let other = self.files[&other].clone();
                let piece = other.iter().skip(from % (other.len() + 1)).take(len);
                let bytes = self.files.get_mut(&name).expect("it was there");
                for (to, from) in bytes[at..].iter_mut().zip(piece) {
                    *to = *from;
                }
            }
            14 => self.edit_record(&name, place, choices),
            15 => self.edit_block(&name, place, choices),
            _ => {}
        }
    }

    /// The file of that place among all.
    fn name(&self, place: u8) -> Option<String> {
        let count = self.files.len();
        self.files.keys().nth(usize::from(place) % count.max(1)).cloned()
    }

    fn swap(&mut self, name: String, other: u8) {
        let Some(other) = self.name(other) else { return };
        let bytes = self.files.remove(&name).expect("it was there");
        if let Some(others) = self.files.insert(other, bytes) {
            self.files.insert(name, others);
        }
    }

    /// Writes a log or manifest anew with one record edited: its checksum is right.
    fn edit_record(&mut self, name: &str, place: usize, choices: &mut Choices<'_>) {
        if !name.ends_with(".log") && !name.starts_with("MANIFEST-") {
            return;
        }
        let mut records = records(name, &self.files[name]);
        let count = records.len();
        let Some(record) = records.get_mut(place % count.max(1)) else { return };
        let at = usize::from(choices.word()) % (record.len() + 1);
        match choices.byte() % 4 {
            0 => {
                for (to, from) in record[at..].iter_mut().zip(choices.short_bytes()) {
                    *to = *from;
                }
            }
            1 => drop(record.splice(at..at, choices.short_bytes().iter().copied())),
            2 => drop(records.remove(place % count)),
            _ => *record = choices.short_bytes().to_vec(),
        }
        self.guarded = false;
        self.files.insert(name.to_owned(), log_of(&records));
    }

    /// Edits a block of a table that is as it was written, and makes its checksum right.
    fn edit_block(&mut self, name: &str, place: usize, choices: &mut Choices<'_>) {
        let Some(table) = self.base.tables.get(name) else { return };
        let bytes = self.files.get_mut(name).expect("it was there");
        if *bytes != table.bytes {
            return;
        }
        let block = place % table.blocks.len();
        let (start, len) =
            (table.blocks[block].offset as usize, table.blocks[block].size as usize + 1);
        let at = start + usize::from(choices.word()) % len;
        for (to, from) in bytes[at..start + len].iter_mut().zip(choices.short_bytes()) {
            *to = *from;
        }
        table.repair_block(block, bytes);
        self.guarded = false;
    }

    /// The files on a disk of their own.
    pub fn disk(&self) -> MemoryFileSystem {
        disk(&self.files)
    }
}

/// The same kind of file under another number: `000009.sst` with 7 is `000007.sst`; other names get the number behind them.
fn renumbered(name: &str, number: u8) -> String {
    let number = u64::from(number).into();
    match FileName::parse(name.as_ref()) {
        Some(FileName::Table(_)) => FileName::Table(number).to_string(),
        Some(FileName::Log(_)) => FileName::Log(number).to_string(),
        Some(FileName::Manifest(_)) => FileName::Manifest(number).to_string(),
        Some(FileName::Options(_)) => FileName::Options(number).to_string(),
        _ => format!("{name}.old.{number}"),
    }
}

/// Puts files on a disk of their own.
pub fn disk(files: &Files) -> MemoryFileSystem {
    let disk = MemoryFileSystem::new();
    disk.create_dir_all(Path::new(DIR)).expect("memory takes it");
    for (name, bytes) in files {
        let mut file = disk.create(&Path::new(DIR).join(name)).expect("memory takes it");
        file.append(bytes).and_then(|()| file.sync()).expect("memory takes it");
    }
    disk.sync_dir(Path::new(DIR)).expect("memory takes it");
    disk
}

/// All files of a directory on that disk.
pub fn files_on(disk: &dyn FileSystem) -> Files {
    let names = disk.list(Path::new(DIR)).expect("memory can be listed");
    let file = |name: &std::ffi::OsString| {
        let name = name.to_str().expect("names are text").to_owned();
        let bytes = disk.read(&Path::new(DIR).join(&name)).expect("memory can be read");
        (name, bytes)
    };
    names.iter().map(file).collect()
}

fn golden_files(name: &str) -> Files {
    let db = golden::get(name);
    read_dir(&db.path())
}

fn packed() -> Files {
    let dir = tempfile::tempdir().expect("a temporary directory can be made");
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("bases/rocksdb-9.8.4.tar.zst");
    archive::unpack(&packed, dir.path()).expect("it can be unpacked");
    read_dir(&dir.path().join("db"))
}

fn read_dir(dir: &Path) -> Files {
    let entries = std::fs::read_dir(dir).expect("the directory can be listed");
    let file = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.expect("the directory can be listed");
        let name = entry.file_name().into_string().expect("names are text");
        (name, std::fs::read(entry.path()).expect("files can be read"))
    };
    entries.map(file).collect()
}

/// Tables on three levels with range tombstones, two families, and a log that is needed.
fn ours(partitioned: bool) -> Files {
    let disk = MemoryFileSystem::new();
    let (index_type, filter_layout) = match partitioned {
        true => (IndexType::TwoLevel, FilterLayout::Partitioned),
        false => (IndexType::BinarySearch, FilterLayout::Full),
    };
    let kind = if partitioned { CompressionType::Lz4 } else { CompressionType::None };
    let table = TableOptions {
        block_size: 200,
        metadata_block_size: 64,
        index_type,
        filter_layout,
        compression: CompressionOptions { kind, ..CompressionOptions::default() },
        ..TableOptions::default()
    };
    let options = ColumnFamilyOptions {
        table,
        target_file_size_base: 1 << 10,
        disable_auto_compactions: true,
        ..ColumnFamilyOptions::default()
    };
    let config = FamilyConfig { options: Some(options), ..FamilyConfig::default() };
    let db_options = DbOptions {
        create_if_missing: true,
        create_missing_column_families: true,
        recycle_log_file_num: u32::from(partitioned) as _,
        ..DbOptions::default()
    };
    let db = DbBuilder::new(DIR)
        .file_system(Arc::new(disk.clone()))
        .cache(Cache::new(1 << 20))
        .scheduler(Arc::new(ManualScheduler::in_order()))
        .options(db_options)
        .family("default", config.clone())
        .family("more", config)
        .open()
        .expect("memory takes a database");
    for round in 0..5 {
        for family in db.families() {
            for number in (round % 3..24).step_by(1 + round % 3) {
                let key = format!("key{number:02}");
                let value =
                    format!("{}/{key}/{round}/{}", family.name(), "x".repeat(number + round));
                db.put_cf(&family, key.as_bytes(), value.as_bytes()).expect("memory takes it");
            }
            if round % 2 == 1 {
                db.delete_cf(&family, b"key04").expect("memory takes it");
                db.delete_range_cf(&family, b"key10", b"key13").expect("memory takes it");
            }
            match round {
                0 => {
                    db.flush_cf(&family).expect("memory takes it");
                    db.compact_range(&family, None, None).expect("memory takes it");
                }
                1 | 2 => db.flush_cf(&family).expect("memory takes it"),
                _ => {}
            }
        }
    }
    // As it is now, with the log that is needed.
    let mut files = files_on(&disk);
    files.remove("LOCK");
    files
}

/// The records of a log or manifest up to its first damage.
fn records(name: &str, bytes: &[u8]) -> Vec<Vec<u8>> {
    let disk = disk(&Files::from([(name.to_owned(), bytes.to_vec())]));
    let path = Path::new(DIR).join(name);
    let number = match FileName::parse(name.as_ref()) {
        Some(FileName::Log(number)) => Some(number.get()),
        _ => None,
    };
    let file = disk.open_sequential(&path).expect("it was made");
    let options = LogReaderOptions { log_number: number, ..LogReaderOptions::default() };
    let mut reader = LogReader::new(file, options);
    let mut records = Vec::new();
    while let Ok(Some(record)) = reader.read_record() {
        records.push(record.payload.to_vec());
    }
    records
}

fn log_of(records: &[Vec<u8>]) -> Vec<u8> {
    let disk = disk(&Files::new());
    let path = Path::new(DIR).join("log");
    let file = disk.create(&path).expect("memory takes it");
    let mut writer = LogWriter::new(file, &LogWriterOptions::default()).expect("memory takes it");
    for record in records {
        writer.add_record(&[record]).expect("memory takes it");
    }
    writer.flush().expect("memory takes it");
    disk.read(&path).expect("it was made")
}

/// Every value in a table or log, by family and key.
fn history(files: &Files) -> History {
    let mut history = History::new();
    for (name, bytes) in files {
        match FileName::parse(name.as_ref()) {
            Some(FileName::Table(_)) => add_table(name, bytes, &mut history),
            Some(FileName::Log(_)) => {
                for record in records(name, bytes) {
                    add_batch(&record, &mut history);
                }
            }
            _ => {}
        }
    }
    history
}

fn add(history: &mut History, family: u32, key: &[u8], value: Option<&[u8]>) {
    let known = history.entry((family, key.to_vec())).or_insert_with(|| Some(BTreeSet::new()));
    match (value, known) {
        (Some(value), Some(values)) => drop(values.insert(value.to_vec())),
        (None, known) => *known = None,
        (Some(_), None) => {}
    }
}

fn add_table(name: &str, bytes: &[u8], history: &mut History) {
    let file = Arc::new(MemoryFile::new(name, bytes.to_vec()));
    let mut ctx = ReadContext::default();
    let table =
        TableReader::open(file, &ReaderOptions::default(), &mut ctx).expect("a sound table");
    let family = table.properties().column_family_id.expect("a table of a family") as u32;
    let table = Arc::new(table);
    let mut iter = table.iter();
    iter.seek_to_first().expect("a sound table");
    while iter.is_valid() {
        let key = InternalKey::decode(iter.key()).expect("a sound table");
        match key.value_type {
            ValueType::Value => add(history, family, key.user_key, Some(iter.value())),
            ValueType::Deletion | ValueType::SingleDeletion => {}
            _ => add(history, family, key.user_key, None),
        }
        iter.next().expect("a sound table");
    }
}

fn add_batch(bytes: &[u8], history: &mut History) {
    for record in BatchReader::new(bytes).expect("a sound log").records() {
        match record.expect("a sound log") {
            Record::Put { family, key, value } => add(history, family, key, Some(value)),
            Record::Merge { family, key, .. } => add(history, family, key, None),
            _ => {}
        }
    }
}

/// Inputs of a target that begins with a base and a byte of choices: each base as it is, and with each kind of edit, to one
/// file after the other.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for at in 0..count() {
        let files = base(at).files.len() as u8;
        for how in [0, 0x10, 0x3f] {
            seeds.push(vec![at, how]);
        }
        for kind in 0..16 {
            for file in [kind % files, (kind + files / 2) % files] {
                seeds.push(vec![at, kind << 2, kind, file, 40, 0, 3, 1, 2, 3, 4, 5, 6]);
            }
        }
    }
    seeds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_edit_changes_files_and_only_those_behind_checksums_are_not_told() {
        let base = base(2);
        let place = |wanted: &str| base.files.keys().position(|name| name == wanted).unwrap() as u8;
        let (table, log) = (place("000009.sst"), place("000014.log"));
        // How many bytes each takes: more would be another edit, of some other file.
        let taken = [5, 5, 8, 4, 5, 8, 7, 8, 4, 5, 5, 5, 5, 9, 10, 10];
        // A table that is cut, appended to, replaced or written over has another end. Records and blocks are edited behind right
        // checksums.
        let untold = [3, 6, 7, 13, 14, 15];
        for (kind, taken) in (0..16).zip(taken) {
            let file = if kind == 14 { log } else { table };
            let place = if kind == 1 { 200 } else { 40 };
            let edit = [kind, file, place, 0, 3, 0, 2, 9, 9, 9];
            let damaged = base.damage(Choices::new(&edit[..taken]));
            assert!(damaged.files != base.files, "kind {kind} changes nothing");
            assert_eq!(damaged.guarded, !untold.contains(&kind), "kind {kind}");
        }
        let footer = base.damage(Choices::new(&[1, table, 5, 0, 1]));
        assert!(!footer.guarded, "no checksum covers the end of a table");
    }

    #[test]
    fn bases_have_what_the_targets_look_for() {
        for place in 0..count() {
            let base = base(place);
            assert!(base.history.len() > 40, "{}: {} keys", base.name, base.history.len());
            assert!(base.files.keys().any(|name| name.ends_with(".log")), "{}", base.name);
            let whole = base.damage(Choices::new(&[]));
            assert!(whole.guarded && whole.files == base.files, "{}", base.name);
            assert_eq!(files_on(&whole.disk()), base.files, "{}", base.name);
            if base.is_small() {
                assert!(base.has_two_families() && base.tables.len() >= 4, "{}", base.name);
                let many =
                    base.history.values().filter(|it| it.as_ref().is_some_and(|it| it.len() > 2));
                assert!(many.count() > 10, "{}: keys have one value each", base.name);
            }
        }
    }
}
