//! RocksDB beside Partita in the budget benchmark, on the same files.

use std::path::Path;

use partita_bench::budget::{Engines, FileMaker, FileSet, PARTITA, PartitaEngine, Step, TableFile};
use partita_bench::layout::Layout;
use partita_bench::links::LinkedCopy;
use partita_bench::lookups::{Answer, Counters, Engine, Key, Keyspace, PerRole, Session};

use crate::rocks_budget::{Cache, Database, counters, set_counting};

/// Both engines, RocksDB with either of its caches.
#[derive(Clone, Copy, Debug)]
pub struct Both;

const LRU: &str = "rocks-lru";
const HYPER_CLOCK: &str = "rocks-hyper";

impl Engines for Both {
    fn names(&self) -> &'static [&'static str] {
        &[PARTITA, LRU, HYPER_CLOCK]
    }

    fn open(
        &self,
        name: &str,
        files: &FileSet,
        budget_bytes: u64,
    ) -> Result<Box<dyn Engine>, String> {
        Ok(match name {
            PARTITA => Box::new(PartitaEngine::open(files, budget_bytes)?),
            LRU => Box::new(RocksEngine::open(files, Cache::Lru, budget_bytes)?),
            HYPER_CLOCK => Box::new(RocksEngine::open(files, Cache::HyperClock, budget_bytes)?),
            _ => return Err(format!("there is no engine {name:?}")),
        })
    }
}

struct RocksEngine {
    database: Database,
    /// Dropped behind the database.
    _links: LinkedCopy,
}

impl RocksEngine {
    /// Opens a copy of the database.
    fn open(files: &FileSet, cache: Cache, budget_bytes: u64) -> Result<Self, String> {
        let links = LinkedCopy::of(&files.dir)?;
        let partitioned = files.layout == Layout::Partitioned;
        let database = Database::open(links.path(), partitioned, cache, false, budget_bytes)?;
        Ok(Self { database, _links: links })
    }
}

impl Engine for RocksEngine {
    fn session(&self) -> Box<dyn Session + '_> {
        Box::new(RocksSession { database: &self.database })
    }

    fn charged(&self) -> PerRole<u64> {
        self.database.charged()
    }
}

/// Counters are those of the thread.
struct RocksSession<'a> {
    database: &'a Database,
}

impl Session for RocksSession<'_> {
    fn get_each(&mut self, keys: &[Key]) -> Result<Answer, String> {
        self.database.get(keys)
    }

    fn set_counting(&mut self, on: bool) {
        set_counting(on);
    }

    fn counters(&self) -> Counters {
        counters()
    }
}

/// A bookie's database as RocksDB writes it.
#[derive(Clone, Copy, Debug)]
pub struct RocksMaker;

/// Entries of a flush.
const FLUSH_ENTRIES: u64 = 1_000_000;
/// Entries of one ledger in a batch.
const BATCH_ENTRIES: u64 = 10;

impl FileMaker for RocksMaker {
    fn name(&self) -> &'static str {
        "rocksdb"
    }

    fn make(
        &self,
        dir: &Path,
        layout: Layout,
        keyspace: Keyspace,
        steps: &[Step],
    ) -> Result<Vec<TableFile>, String> {
        let mut database = Database::create(dir, layout == Layout::Partitioned)?;
        for step in steps {
            let mut unflushed = 0;
            for batch in keyspace.batches(step.entries.clone(), BATCH_ENTRIES) {
                database.write(&batch)?;
                unflushed += batch.len() as u64;
                if step.level > 0 && unflushed >= FLUSH_ENTRIES {
                    database.flush()?;
                    unflushed = 0;
                }
            }
            if unflushed > 0 {
                database.flush()?;
            }
            if step.level > 0 {
                database.compact(step.level)?;
            }
        }
        Ok(database.files())
    }
}
