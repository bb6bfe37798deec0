//! Partita's tables as levels: what a database would do to find the files of a key, without a database.

use std::path::Path;
use std::sync::Arc;

use partita::cache::Cache;
use partita::io::{DiskFile, DiskWriter};
use partita::key::{InternalKey, KeyOrder, SeqNo, ValueType};
use partita::options::{FilterLayout, IndexType, TableOptions};
use partita::table::{
    LookupKey, ReadContext, ReaderOptions, TableBuilder, TableContext, TableReader, get_in_order,
};
use partita::util::checksum::ChecksumType;
use partita::util::compression::CompressionType;

use super::files::{FILE_BYTES, FileMaker, FileSet, Step, TableFile};
use super::task::{Engines, PARTITA};
use crate::layout::Layout;
use crate::lookups::{Answer, Counters, Engine, Key, Keyspace, PerRole, Session};
use crate::partita_figures::{charged, counters};

/// Files as levels.
pub struct PartitaEngine {
    cache: Cache,
    /// Newest first; their key ranges overlap.
    level0: Vec<Table>,
    /// Ascending and disjoint within a level.
    levels: Vec<Vec<Table>>,
}

struct Table {
    smallest: Key,
    largest: Key,
    reader: TableReader,
}

impl PartitaEngine {
    /// Opens the files under a budget.
    pub fn open(files: &FileSet, budget_bytes: u64) -> Result<Self, String> {
        let cache = Cache::new(budget_bytes as usize);
        let mut engine = Self { cache: cache.clone(), level0: Vec::new(), levels: Vec::new() };
        let mut last_level = 0;
        for file in &files.files {
            let path = files.dir.join(&file.name);
            let level = file.level;
            let reader = DiskFile::open(path)
                .and_then(|opened| {
                    let options = ReaderOptions {
                        cache: cache.clone(),
                        level: u8::try_from(level).ok(),
                        ..ReaderOptions::default()
                    };
                    TableReader::open(Arc::new(opened), &options, &mut ReadContext::default())
                })
                .map_err(|error| error.to_string())?;
            let table = Table { smallest: file.smallest, largest: file.largest, reader };
            if level == 0 {
                engine.level0.push(table);
                continue;
            }
            if level != last_level {
                last_level = level;
                engine.levels.push(Vec::new());
            }
            if let Some(last) = engine.levels.last_mut() {
                last.push(table);
            }
        }
        Ok(engine)
    }

    /// The files that may hold the key, newest first.
    #[inline]
    fn candidates(&self, key: Key) -> impl Iterator<Item = &TableReader> {
        let level0 = self.level0.iter();
        let deeper = self
            .levels
            .iter()
            .filter_map(move |level| level.get(level.partition_point(|table| table.largest < key)));
        let may_hold = move |table: &&Table| table.smallest <= key && key <= table.largest;
        level0.chain(deeper).filter(may_hold).map(|table| &table.reader)
    }
}

impl Engine for PartitaEngine {
    fn session(&self) -> Box<dyn Session + '_> {
        let (candidates, ctx) = (Vec::new(), ReadContext::default());
        Box::new(PartitaSession { engine: self, candidates, ctx })
    }

    fn charged(&self) -> PerRole<u64> {
        charged(&self.cache)
    }
}

struct PartitaSession<'a> {
    engine: &'a PartitaEngine,
    /// The tables of the key at hand, newest first.
    candidates: Vec<&'a TableReader>,
    ctx: ReadContext,
}

impl Session for PartitaSession<'_> {
    fn get_each(&mut self, keys: &[Key]) -> Result<Answer, String> {
        let mut answer = Answer::default();
        for &key in keys {
            self.candidates.clear();
            self.candidates.extend(self.engine.candidates(key));
            let lookup = LookupKey::new(&key.0, SeqNo::MAX);
            let found = get_in_order(&self.candidates, &lookup, &mut self.ctx)
                .map_err(|error| error.to_string())?;
            if let Some((_, entry)) = found {
                let value = entry.value.first_chunk().copied().unwrap_or_default();
                answer += Answer { found: 1, sum: u64::from_be_bytes(value) };
            }
        }
        Ok(answer)
    }

    fn set_counting(&mut self, _on: bool) {}

    fn counters(&self) -> Counters {
        counters(&self.ctx)
    }
}

/// Partita alone.
#[derive(Clone, Copy, Debug)]
pub struct PartitaAlone;

impl Engines for PartitaAlone {
    fn names(&self) -> &'static [&'static str] {
        &[PARTITA]
    }

    fn open(&self, _: &str, files: &FileSet, budget: u64) -> Result<Box<dyn Engine>, String> {
        Ok(Box::new(PartitaEngine::open(files, budget)?))
    }
}

/// A bookie's files as Partita writes them.
#[derive(Clone, Copy, Debug)]
pub struct PartitaMaker;

impl FileMaker for PartitaMaker {
    fn name(&self) -> &'static str {
        "partita"
    }

    fn make(
        &self,
        dir: &Path,
        layout: Layout,
        keyspace: Keyspace,
        steps: &[Step],
    ) -> Result<Vec<TableFile>, String> {
        let mut files = Vec::new();
        for (age, step) in (0..).zip(steps) {
            let mut run = Run {
                dir,
                options: bookie_options(layout),
                level: step.level,
                age,
                files: &mut files,
            };
            run.write(keyspace.sorted(step.entries.clone())).map_err(|error| error.to_string())?;
        }
        Ok(files)
    }
}

/// What a bookie writes its entry locations with.
fn bookie_options(layout: Layout) -> TableOptions {
    let options = TableOptions {
        format_version: 5,
        block_size: 64 << 10,
        checksum: ChecksumType::XxHash,
        index_block_restart_interval: 1,
        ..TableOptions::with_compression(CompressionType::Lz4)
    };
    match layout {
        Layout::Full => TableOptions {
            index_type: IndexType::BinarySearch,
            filter_layout: FilterLayout::Full,
            ..options
        },
        Layout::Partitioned => options,
    }
}

/// A sorted run on its way into files.
struct Run<'a> {
    dir: &'a Path,
    options: TableOptions,
    level: u32,
    age: u64,
    files: &'a mut Vec<TableFile>,
}

impl Run<'_> {
    fn write(&mut self, entries: impl Iterator<Item = (Key, u64)>) -> partita::Result<()> {
        let mut entries = entries.peekable();
        while let Some(&(smallest, _)) = entries.peek() {
            let name = format!("{:06}.sst", self.files.len() + 1);
            let file = Box::new(DiskWriter::create(self.dir.join(&name))?);
            let context = TableContext::default();
            let mut builder =
                TableBuilder::new(file, self.options.clone(), KeyOrder::Bytewise, context)?;
            let mut largest = smallest;
            // Level 0 gets one file however large, as from a flush.
            while self.level == 0 || builder.file_size_estimate() < FILE_BYTES {
                let Some((key, value)) = entries.next() else { break };
                let seqno = SeqNo::new(value & SeqNo::MAX.get()).unwrap_or(SeqNo::ZERO);
                let internal = InternalKey::new(&key.0, seqno, ValueType::Value).encode();
                builder.add(&internal, &value.to_be_bytes())?;
                largest = key;
            }
            let summary = builder.finish()?;
            self.files.push(TableFile {
                name,
                level: self.level,
                smallest,
                largest,
                entries: summary.properties.num_entries.unwrap_or(0),
                bytes: summary.file_size,
                age: self.age,
            });
        }
        Ok(())
    }
}
