//! Many keys at once: the answers of as many gets at one moment, with the searches and the waiting shared.
//!
//! ```text
//! memtables    key by key
//! tables       each key waits for the next table that may have it; the table that comes first is asked for all keys that
//!              wait for it at once, and those that it does not decide wait for their next one
//! ```
//!
//! Keys wait in a heap by (level, place in the level, key): the order in which a get meets the tables, so that each key
//! sees newer tables before older ones; and the keys of one table come out of it sorted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::get::{Answer, ask_memtable, finish, take_from_table};
use super::read::ReadPoint;
use super::value::PinnedValue;
use crate::error::Result;
use crate::key::LookupKey;
use crate::merge::VersionWalk;
use crate::table::{FoundEntry, ReadContext, TableReader};
use crate::version::Candidates;

/// A key on its way, in the order of keys.
struct Wanted<'v, 'k> {
    key: &'k LookupKey<'k>,
    /// Its place among the caller's keys.
    place: usize,
    walk: VersionWalk,
    candidates: Candidates<'v, 'k>,
}

/// Level, place in the level, number of the wanted key.
type Ticket = Reverse<(usize, usize, usize)>;

/// The values of `keys`, in their order.
pub(super) fn multi_get<K: AsRef<[u8]>>(
    point: &ReadPoint<'_>,
    keys: &[K],
    ctx: &mut ReadContext,
) -> Result<Vec<Option<PinnedValue>>> {
    let lookups: Vec<LookupKey<'_>> =
        keys.iter().map(|key| LookupKey::new(key.as_ref(), point.seqno)).collect();
    let mut values = vec![None; keys.len()];
    let mut wanted = ask_memtables(point, &lookups, &mut values)?;
    let mut waiting: BinaryHeap<Ticket> = BinaryHeap::with_capacity(wanted.len());
    for number in 0..wanted.len() {
        let ticket = next_ticket(&mut wanted, number);
        wait_or_finish(point, ticket, &wanted[number], &mut waiting, &mut values)?;
    }
    let mut group = Vec::new();
    while let Some((level, at)) = take_group(&mut waiting, &mut group) {
        let Some(file) = point.view.version.levels()[level].files().get(at) else { continue };
        let table = point.family.tables.get(file, level, ctx)?;
        let found = ask_table(&table, &wanted, &group, ctx)?;
        for (number, found) in group.iter().copied().zip(found) {
            let one = &mut wanted[number];
            match take_from_table(file, &table, found, one.key, &mut one.walk, ctx)? {
                Answer::Found(base) => {
                    values[one.place] = finish(point, one.key, &one.walk, base)?;
                }
                Answer::GoOn => {
                    let ticket = next_ticket(&mut wanted, number);
                    wait_or_finish(point, ticket, &wanted[number], &mut waiting, &mut values)?;
                }
            }
        }
    }
    Ok(values)
}

/// The keys that no memtable decides, sorted. The values of the others are put in their places.
fn ask_memtables<'v, 'k>(
    point: &ReadPoint<'v>,
    lookups: &'k [LookupKey<'k>],
    values: &mut [Option<PinnedValue>],
) -> Result<Vec<Wanted<'v, 'k>>> {
    let order = point.family.family.key_order();
    let mut sorted: Vec<usize> = (0..lookups.len()).collect();
    sorted.sort_unstable_by(|a, b| {
        order.compare(lookups[*a].user_key(), lookups[*b].user_key()).then(a.cmp(b))
    });
    let mut wanted = Vec::with_capacity(lookups.len());
    'keys: for place in sorted {
        let key = &lookups[place];
        let mut walk = VersionWalk::default();
        for memtable in point.view.memtables() {
            if let Answer::Found(base) = ask_memtable(memtable, key, &mut walk)? {
                values[place] = finish(point, key, &walk, base)?;
                continue 'keys;
            }
        }
        let candidates = point.view.version.candidates(key);
        wanted.push(Wanted { key, place, walk, candidates });
    }
    Ok(wanted)
}

/// The next table that may have an entry of the key.
fn next_ticket(wanted: &mut [Wanted<'_, '_>], number: usize) -> Option<Ticket> {
    let next = wanted[number].candidates.next()?;
    Some(Reverse((next.level, next.at, number)))
}

/// Lets a key wait for its table; without one it is as its walk says.
fn wait_or_finish(
    point: &ReadPoint<'_>,
    ticket: Option<Ticket>,
    one: &Wanted<'_, '_>,
    waiting: &mut BinaryHeap<Ticket>,
    values: &mut [Option<PinnedValue>],
) -> Result<()> {
    match ticket {
        Some(ticket) => waiting.push(ticket),
        None => values[one.place] = finish(point, one.key, &one.walk, None)?,
    }
    Ok(())
}

/// The table that comes first, and in `group` the keys that wait for it.
fn take_group(waiting: &mut BinaryHeap<Ticket>, group: &mut Vec<usize>) -> Option<(usize, usize)> {
    group.clear();
    let Reverse((level, at, _)) = *waiting.peek()?;
    while let Some(Reverse((l, a, number))) = waiting.peek().copied()
        && (l, a) == (level, at)
    {
        waiting.pop();
        group.push(number);
    }
    Some((level, at))
}

fn ask_table(
    table: &TableReader,
    wanted: &[Wanted<'_, '_>],
    group: &[usize],
    ctx: &mut ReadContext,
) -> Result<Vec<Option<FoundEntry>>> {
    match group {
        // A get also tells whether the filter pays.
        [number] => Ok(vec![table.get(wanted[*number].key, ctx)?]),
        _ => {
            let keys: Vec<LookupKey<'_>> =
                group.iter().map(|number| *wanted[*number].key).collect();
            table.multi_get(&keys, ctx)
        }
    }
}
