//! The gets in a block-cache trace of RocksDB as lookups, and what the trace tells of them.
//!
//! * A get is what its accesses have in common: its number and its key. Those of one get stand near each other, however many
//!   threads there were, so only the last gets are remembered.
//! * An access of a get that carries neither, to a partition of an index, is counted for the get before it.
//! * Gets that a filter outside of the cache ended asked the cache for nothing: no trace has them.
//! * Accesses of others than gets carry no key; they are counted.

use std::collections::{BTreeMap, HashMap, HashSet};

use partita::{Error, Result};

use crate::model::Database;
use crate::read::{BlockAccess, BlockTraceReader, TracedBlock};
use crate::simulate::keys::Lookup;
use crate::simulate::result::{OtherAccesses, PerGet, Traced};
use crate::simulate::trace::{Counts, Part};

/// Gets that are remembered: more than there are threads.
const RECENT_MAX: usize = 1 << 14;
/// Tables that are told apart.
const TABLES_MAX: usize = 1 << 20;

/// Takes the first `count` gets.
///
/// * Errors: a damaged trace; one without a get of a column family that is there.
pub(super) fn take(
    mut trace: BlockTraceReader,
    database: &Database,
    count: usize,
) -> Result<(Vec<Lookup>, Traced)> {
    let mut taker = Taker::new(database, count);
    while let Some(access) = trace.next_access()? {
        taker.accesses += 1;
        if !taker.take(&access) {
            taker.is_cut = true;
            break;
        }
    }
    if taker.lookups.is_empty() {
        let message = match taker.foreign {
            0 => format!(
                "no get in it that names its key: {} accesses of others, which carry none",
                taker.accesses
            ),
            foreign => {
                format!("its {foreign} accesses of gets are of column families that are not there")
            }
        };
        return Err(Error::invalid_argument(message).in_file(trace.path()));
    }
    Ok(taker.finish(&trace))
}

struct Taker<'d> {
    database: &'d Database,
    count: usize,
    lookups: Vec<Lookup>,
    /// Beside each lookup, what was asked of the cache and what it did not have.
    seen: Vec<Seen>,
    /// The numbers of recent gets' lookups; when it is full it becomes the one before.
    recent: HashMap<(u64, Box<[u8]>), usize>,
    recent_before: HashMap<(u64, Box<[u8]>), usize>,
    last: Option<usize>,
    accesses: u64,
    foreign: u64,
    multi_gets: u64,
    others: BTreeMap<&'static str, u64>,
    tables: HashSet<u64>,
    metadata: bool,
    is_cut: bool,
}

/// What the cache was asked for by a get, by part, and what of it was not there.
#[derive(Clone, Copy, Default)]
struct Seen {
    asked: [u16; 3],
    missed: [u16; 3],
}

/// In the order of [`Seen`].
const SEEN_PARTS: [Part; 3] = [Part::Data, Part::Index, Part::Filter];

impl<'d> Taker<'d> {
    fn new(database: &'d Database, count: usize) -> Self {
        Self {
            database,
            count,
            lookups: Vec::new(),
            seen: Vec::new(),
            recent: HashMap::new(),
            recent_before: HashMap::new(),
            last: None,
            accesses: 0,
            foreign: 0,
            multi_gets: 0,
            others: BTreeMap::new(),
            tables: HashSet::new(),
            metadata: false,
            is_cut: false,
        }
    }

    /// Whether there is room for its lookup.
    fn take(&mut self, access: &BlockAccess<'_>) -> bool {
        let Some(get) = access.get else {
            *self.others.entry(access.caller_name()).or_default() += 1;
            return true;
        };
        if self.tables.len() < TABLES_MAX {
            self.tables.insert(access.table);
        }
        let Some(key) = get.user_key().filter(|_| get.id != 0) else {
            if !access.is_multi_get() {
                self.note(self.last, access);
            }
            return true;
        };
        let Some(family) = self.family(access) else {
            self.foreign += 1;
            return true;
        };
        let id = (get.id, Box::<[u8]>::from(key));
        let at = match self.recent.get(&id).or_else(|| self.recent_before.get(&id)) {
            Some(at) => *at,
            None if self.lookups.len() == self.count => return false,
            None => self.begin(family, id, access.is_multi_get()),
        };
        self.note(Some(at), access);
        true
    }

    fn begin(&mut self, family: u32, id: (u64, Box<[u8]>), is_multi_get: bool) -> usize {
        let at = self.lookups.len();
        self.lookups.push(Lookup { family, key: id.1.clone() });
        self.seen.push(Seen::default());
        self.multi_gets += u64::from(is_multi_get);
        if self.recent.len() == RECENT_MAX {
            self.recent_before = std::mem::take(&mut self.recent);
        }
        self.recent.insert(id, at);
        if !is_multi_get {
            self.last = Some(at);
        }
        at
    }

    /// The family of that number; a name that the trace knows has to be the same.
    fn family(&self, access: &BlockAccess<'_>) -> Option<u32> {
        let named = |name: &str| name.as_bytes() == access.family_name;
        let mut families = self.database.families.iter();
        let by_number = families.find(|family| u64::from(family.id) == access.family);
        let found = by_number.filter(|family| named(&family.name) || named_nothing(access));
        let by_name = || self.database.families.iter().find(|family| named(&family.name));
        found.or_else(by_name).map(|family| family.id)
    }

    fn note(&mut self, lookup: Option<usize>, access: &BlockAccess<'_>) {
        let part = match access.block {
            TracedBlock::Data => 0,
            TracedBlock::Index => 1,
            TracedBlock::Filter => 2,
            _ => return,
        };
        self.metadata |= part != 0;
        if let Some(seen) = lookup.and_then(|at| self.seen.get_mut(at)) {
            seen.asked[part] = seen.asked[part].saturating_add(1);
            seen.missed[part] = seen.missed[part].saturating_add(u16::from(!access.is_hit));
        }
    }

    fn finish(self, trace: &BlockTraceReader) -> (Vec<Lookup>, Traced) {
        let counted = &self.seen[self.seen.len() / 2..];
        let mut sums = Counts { lookups: counted.len() as u64, ..Counts::default() };
        for seen in counted {
            for (at, part) in SEEN_PARTS.into_iter().enumerate() {
                sums.asked[part as usize] += u64::from(seen.asked[at]);
                sums.read[part as usize] += u64::from(seen.missed[at]);
            }
        }
        let there: HashSet<u64> = self.database.tables.iter().map(|table| table.number).collect();
        let tables_gone = self.tables.difference(&there).count() as u64;
        let (major, minor) = trace.release();
        let traced = Traced {
            release: format!("{major}.{minor}"),
            accesses: self.accesses,
            is_cut: self.is_cut,
            torn_bytes: trace.torn_bytes(),
            tables: self.tables.len() as u64,
            tables_gone,
            foreign_accesses: self.foreign,
            multi_gets: self.multi_gets,
            has_metadata: self.metadata,
            others: self
                .others
                .into_iter()
                .map(|(caller, accesses)| OtherAccesses { caller, accesses })
                .collect(),
            asked: PerGet::of(&sums.asked, sums.lookups),
            missed: PerGet::of(&sums.read, sums.lookups),
        };
        (self.lookups, traced)
    }
}

/// RocksDB's word for a family that it has no name of.
fn named_nothing(access: &BlockAccess<'_>) -> bool {
    matches!(access.family_name, b"" | b"UnknownColumnFamily")
}
