//! Partita's index of entry locations.

use std::path::Path;

use partita::cache::Cache;
use partita::db::Db;
use partita::table::ReadContext;
use partita_ledger::{EntryLocation, EntryLocationIndex, IndexBuilder, IndexOptions, TableLayout};

use super::engine::{Engines, Index, Loader, Opening, ReadMode, Tables};
use crate::layout::Layout;
use crate::links::LinkedCopy;
use crate::lookups::{Answer, Counters, Key, Mix, PerRole, Session};
use crate::partita_figures::{charged, counters};

/// The name of this engine.
pub const PARTITA: &str = "partita";

/// Partita alone.
#[derive(Clone, Copy, Debug)]
pub struct PartitaAlone;

impl Engines for PartitaAlone {
    fn create(
        &self,
        _: &str,
        dir: &Path,
        tables: Tables,
        budget_bytes: u64,
    ) -> Result<Box<dyn Loader>, String> {
        load_partita(dir, tables, budget_bytes)
    }

    fn open(&self, _: &str, dir: &Path, opening: Opening) -> Result<Box<dyn Index>, String> {
        open_partita(dir, opening)
    }
}

/// Makes an index of Partita's.
pub fn load_partita(
    dir: &Path,
    tables: Tables,
    budget_bytes: u64,
) -> Result<Box<dyn Loader>, String> {
    let mut options = IndexOptions::new(budget_bytes as usize);
    let table = &mut options.family.table;
    let layout = match tables.layout {
        Layout::Full => TableLayout::Full,
        Layout::Partitioned => TableLayout::Partitioned,
    };
    layout.apply(table);
    table.block_size = tables.block_bytes as usize;
    table.index_block_restart_interval = tables.index_restart_interval as usize;
    let index = IndexBuilder::new(dir, options).open().map_err(text)?;
    Ok(Box::new(PartitaLoader(index)))
}

struct PartitaLoader(EntryLocationIndex);

impl Loader for PartitaLoader {
    fn add(&self, entries: &[(Key, u64)]) -> Result<(), String> {
        let locations = entries.iter().map(|&(key, location)| EntryLocation {
            ledger_id: key.ledger() as i64,
            entry_id: key.entry() as i64,
            location: location as i64,
        });
        self.0.add_locations(locations).map_err(text)
    }

    fn flush(&self) -> Result<(), String> {
        self.0.db().flush().map_err(|error| error.to_string())
    }

    fn settle(&self) -> Result<(), String> {
        self.0.db().wait_for_background_work().map_err(|error| error.to_string())
    }

    fn compact(&self) -> Result<(), String> {
        self.0.compact().map(drop).map_err(text)
    }

    fn database(&self) -> Option<&Db> {
        Some(self.0.db())
    }

    fn close(self: Box<Self>) -> Result<(), String> {
        self.0.close().map_err(text)
    }
}

/// Opens an index with Partita, whoever made it.
pub fn open_partita(dir: &Path, opening: Opening) -> Result<Box<dyn Index>, String> {
    // Opening writes, and what is compacted meanwhile would be measured, too.
    let links = LinkedCopy::of(dir)?;
    let budget_bytes = opening.budget_bytes as usize;
    let cache = Cache::new(budget_bytes);
    let mut options = IndexOptions::new(budget_bytes);
    options.db.use_direct_reads = opening.read_mode == ReadMode::Direct;
    options.family.disable_auto_compactions = true;
    let builder = IndexBuilder::new(links.path(), options).cache(cache.clone());
    let index = builder.open().map_err(text)?;
    Ok(Box::new(PartitaIndex { index, cache, _links: links }))
}

struct PartitaIndex {
    index: EntryLocationIndex,
    cache: Cache,
    /// Dropped behind the index.
    _links: LinkedCopy,
}

impl Index for PartitaIndex {
    fn session(&self, mix: Mix) -> Box<dyn Session + '_> {
        let ask = if mix == Mix::Last { last_entry } else { location };
        Box::new(PartitaSession { index: &self.index, ctx: ReadContext::default(), ask })
    }

    fn charged(&self) -> PerRole<u64> {
        charged(&self.cache)
    }

    fn database(&self) -> Option<&Db> {
        Some(self.index.db())
    }
}

/// One question to an index: the answer as a number, if there is one.
type Ask = fn(&EntryLocationIndex, Key, &mut ReadContext) -> partita_ledger::Result<Option<u64>>;

fn location(
    index: &EntryLocationIndex,
    key: Key,
    ctx: &mut ReadContext,
) -> partita_ledger::Result<Option<u64>> {
    let found = index.get_location_with(key.ledger() as i64, key.entry() as i64, ctx)?;
    Ok(found.map(|location| location as u64))
}

fn last_entry(
    index: &EntryLocationIndex,
    key: Key,
    ctx: &mut ReadContext,
) -> partita_ledger::Result<Option<u64>> {
    match index.get_last_entry_with(key.ledger() as i64, ctx) {
        Ok(entry) => Ok(Some(entry as u64)),
        Err(error) if error.is_no_such_entry() => Ok(None),
        Err(error) => Err(error),
    }
}

struct PartitaSession<'a> {
    index: &'a EntryLocationIndex,
    ctx: ReadContext,
    ask: Ask,
}

impl Session for PartitaSession<'_> {
    fn get_each(&mut self, keys: &[Key]) -> Result<Answer, String> {
        let mut answer = Answer::default();
        for &key in keys {
            if let Some(sum) = (self.ask)(self.index, key, &mut self.ctx).map_err(text)? {
                answer += Answer { found: 1, sum };
            }
        }
        Ok(answer)
    }

    fn set_counting(&mut self, _on: bool) {}

    fn counters(&self) -> Counters {
        counters(&self.ctx)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn text(error: partita_ledger::Error) -> String {
    error.to_string()
}
