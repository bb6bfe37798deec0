//! RocksDB beside Partita in the benchmark of entry locations.

use std::path::Path;

use partita_bench::layout::Layout;
use partita_bench::links::LinkedCopy;
use partita_bench::locations::{
    Contender, Engines, Files, Index, Loader, Opening, PARTITA, ReadMode, Tables, load_partita,
    open_partita,
};
use partita_bench::lookups::{Answer, Counters, Key, Mix, PerRole, Session};

use crate::rocks_budget::{Cache, Database, counters, set_counting};

/// Both engines, RocksDB in the ways that its users have.
#[derive(Clone, Copy, Debug)]
pub struct Both;

/// RocksDB as a bookie has it: one index and one filter a file, an LRU cache.
const BOOKIE: &str = "rocksdb-bookie";
/// The same with partitioned tables, their top level pinned.
const PARTITIONED: &str = "rocksdb-partitioned";
/// The same with a HyperClockCache.
const BEST: &str = "rocksdb-best";

/// The stores, and who reads which.
///
/// * A, B and C are RocksDB with a bookie's settings, the same partitioned, and at its best, with blocks of 4 KiB.
/// * Partita has tables of its own of every kind, and reads those of A and B.
pub fn contenders() -> Result<(Vec<Files>, Vec<Contender>), String> {
    let files = [
        ("A", BOOKIE, Layout::Full, 64),
        ("B", PARTITIONED, Layout::Partitioned, 64),
        ("C", BEST, Layout::Partitioned, 4),
        ("full", PARTITA, Layout::Full, 64),
        ("partitioned", PARTITA, Layout::Partitioned, 64),
        ("small full", PARTITA, Layout::Full, 4),
        ("small", PARTITA, Layout::Partitioned, 4),
    ];
    let files = files
        .into_iter()
        .map(|(name, engine, layout, kib)| {
            let tables = Tables::with_blocks(layout, kib << 10)?;
            Ok(Files { name: name.to_owned(), engine: engine.to_owned(), tables })
        })
        .collect::<Result<_, String>>()?;
    let contenders = [
        ("A", BOOKIE, "A"),
        ("B", PARTITIONED, "B"),
        ("C", BEST, "C"),
        ("on A's files", PARTITA, "A"),
        ("on B's files", PARTITA, "B"),
        ("full", PARTITA, "full"),
        ("partitioned", PARTITA, "partitioned"),
        ("small full", PARTITA, "small full"),
        ("small", PARTITA, "small"),
    ];
    let contenders = contenders.map(|(name, engine, files)| Contender {
        name: name.to_owned(),
        engine: engine.to_owned(),
        files: files.to_owned(),
    });
    Ok((files, contenders.into()))
}

impl Engines for Both {
    fn create(
        &self,
        engine: &str,
        dir: &Path,
        tables: Tables,
        budget_bytes: u64,
    ) -> Result<Box<dyn Loader>, String> {
        if engine == PARTITA {
            return load_partita(dir, tables, budget_bytes);
        }
        Ok(Box::new(RocksLoader(Database::create_bookie(dir, tables, budget_bytes)?)))
    }

    fn open(&self, engine: &str, dir: &Path, opening: Opening) -> Result<Box<dyn Index>, String> {
        let (partitioned, cache) = match engine {
            PARTITA => return open_partita(dir, opening),
            BOOKIE => (false, Cache::Lru),
            PARTITIONED => (true, Cache::Lru),
            BEST => (true, Cache::HyperClock),
            _ => return Err(format!("there is no engine {engine:?}")),
        };
        let links = LinkedCopy::of(dir)?;
        let Opening { budget_bytes, read_mode } = opening;
        let direct_reads = read_mode == ReadMode::Direct;
        let database =
            Database::open(links.path(), partitioned, cache, direct_reads, budget_bytes)?;
        Ok(Box::new(RocksIndex { database, _links: links }))
    }
}

struct RocksLoader(Database);

impl Loader for RocksLoader {
    fn add(&self, entries: &[(Key, u64)]) -> Result<(), String> {
        self.0.write_synced(entries)
    }

    fn flush(&self) -> Result<(), String> {
        self.0.flush()
    }

    fn settle(&self) -> Result<(), String> {
        self.0.settle()
    }

    fn compact(&self) -> Result<(), String> {
        self.0.compact_all()
    }

    fn close(self: Box<Self>) -> Result<(), String> {
        Ok(())
    }
}

struct RocksIndex {
    database: Database,
    /// Dropped behind the database.
    _links: LinkedCopy,
}

impl Index for RocksIndex {
    fn session(&self, mix: Mix) -> Box<dyn Session + '_> {
        let ask = if mix == Mix::Last { Database::last } else { Database::get };
        Box::new(RocksSession { database: &self.database, ask })
    }

    fn charged(&self) -> PerRole<u64> {
        self.database.charged()
    }
}

/// Counters are those of the thread.
struct RocksSession<'a> {
    database: &'a Database,
    ask: fn(&Database, &[Key]) -> Result<Answer, String>,
}

impl Session for RocksSession<'_> {
    fn get_each(&mut self, keys: &[Key]) -> Result<Answer, String> {
        (self.ask)(self.database, keys)
    }

    fn set_counting(&mut self, on: bool) {
        set_counting(on);
    }

    fn counters(&self) -> Counters {
        counters()
    }
}
