//! The keys of lookups: of a file, or drawn entries. For these tables are read from their first block to the last, each block that has a drawn entry once.

use std::ops::ControlFlow;

use partita::Result;
use partita::table::{BlockHandle, TableSurvey};

use crate::model::{Database, Table, TableLayout};
use crate::random::Random;
use crate::read::{BlockTraceReader, open_table};
use crate::simulate::lookups::{Draw, Lookups};
use crate::simulate::result::Traced;
use crate::simulate::{Asked, Work, gets, key_file};

/// Bytes behind a key that is there, in one that is not.
const ABSENT_TAIL: usize = 8;

/// A key that is looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lookup {
    /// The number of its family.
    pub(super) family: u32,
    pub(super) key: Box<[u8]>,
}

/// The lookups that are played.
pub(super) struct Drawn {
    pub(super) lookups: Vec<Lookup>,
    /// What a trace tells beside them.
    pub(super) traced: Option<Traced>,
}

/// The keys, in the order in which they are looked up.
pub(super) fn lookups(work: &mut Work<'_>, asked: &Asked) -> Result<Drawn> {
    let trace = match &asked.lookups {
        Lookups::Gets { path } => Some(BlockTraceReader::open(work.fs, path)?),
        Lookups::Trace { path, .. } => BlockTraceReader::open_if(work.fs, path)?,
        _ => None,
    };
    if let Some(trace) = trace {
        let (lookups, traced) = gets::take(trace, work.database, asked.count)?;
        return Ok(Drawn { lookups, traced: Some(traced) });
    }
    if let Lookups::Trace { path, hex, family } = &asked.lookups {
        let family = work.database.families.iter().find(|one| one.name == *family);
        let family = family.ok_or_else(|| {
            let message = "the keys are to be looked up in a column family that is not there";
            partita::Error::invalid_argument(message).in_file(path)
        })?;
        let keys = key_file::read(work.fs, path, *hex, asked.count)?;
        let again = keys.iter().cycle().take(asked.count);
        let lookups = again.map(|key| Lookup { family: family.id, key: key.clone() }).collect();
        return Ok(Drawn { lookups, traced: None });
    }
    Ok(Drawn { lookups: draw(work, asked)?, traced: None })
}

/// Keys out of the tables.
fn draw(work: &mut Work<'_>, asked: &Asked) -> Result<Vec<Lookup>> {
    let tables = from_new_to_old(work.database);
    let entries = tables.iter().map(|(_, layout)| layout.entries).sum();
    if entries == 0 {
        let message = "no table has an entry: there is nothing to draw lookups from";
        return Err(partita::Error::invalid_argument(message).in_file(&work.database.dir));
    }
    let mut draw = Draw::new(&asked.lookups, entries, asked.seed);
    let mut drawn: Vec<(u64, usize)> = (0..asked.count).map(|at| (draw.next(), at)).collect();
    drawn.sort_unstable();
    let mut lookups = vec![Lookup::default(); asked.count];
    let (mut rest, mut before) = (drawn.as_slice(), 0);
    for (table, layout) in tables {
        let end = before + layout.entries;
        let (of_table, behind) = rest.split_at(rest.partition_point(|(place, _)| *place < end));
        rest = behind;
        // From the last entry to the first, since the last are taken for the newest.
        let wanted: Vec<(u64, usize)> =
            of_table.iter().rev().map(|(place, at)| (end - 1 - place, *at)).collect();
        before = end;
        if wanted.is_empty() {
            continue;
        }
        work.on_table(table);
        read_keys(work, (table, layout), &wanted, &mut lookups)?;
    }
    if asked.lookups == Lookups::Absent {
        let mut random = Random::new(!asked.seed);
        for lookup in &mut lookups {
            let tail: [u8; ABSENT_TAIL] = random.next().to_be_bytes();
            lookup.key = lookup.key.iter().copied().chain(tail).collect();
        }
    }
    Ok(lookups)
}

/// The tables with their layouts: level 0 with the newest first, then level by level.
fn from_new_to_old(database: &Database) -> Vec<(&Table, &TableLayout)> {
    let mut tables: Vec<(&Table, &TableLayout)> = database.layouts().collect();
    tables.sort_by_key(|(table, _)| {
        (table.level, std::cmp::Reverse(table.largest_seqno), std::cmp::Reverse(table.number))
    });
    tables
}

/// Reads the keys of entries of a table.
///
/// * `wanted`: places of entries in the table, in order, each with that of its lookup.
fn read_keys(
    work: &Work<'_>,
    (table, layout): (&Table, &TableLayout),
    wanted: &[(u64, usize)],
    lookups: &mut [Lookup],
) -> Result<()> {
    let survey = TableSurvey::open(open_table(work.fs, work.database.dir_of(table), table)?)?;
    let blocks = data_blocks(&survey)?;
    let Some(last) = blocks.len().checked_sub(1) else { return Ok(()) };
    // A block's entries are not told by the index: all are taken to have as many.
    let place = |entry: u64| entry as f64 / layout.entries.max(1) as f64 * blocks.len() as f64;
    let block_of = |entry: u64| (place(entry) as usize).min(last);
    let mut keys = Vec::new();
    let mut rest = wanted;
    while let Some((first, _)) = rest.first() {
        let block = block_of(*first);
        let (of_block, behind) =
            rest.split_at(rest.partition_point(|(at, _)| block_of(*at) <= block));
        rest = behind;
        keys.clear();
        survey.visit_entries(blocks[block], &mut |key, _| {
            keys.push(Box::<[u8]>::from(key.user_key));
            ControlFlow::Continue(())
        })?;
        for (entry, lookup) in of_block {
            let within = (place(*entry) - block as f64).clamp(0.0, 1.0);
            let at = ((within * keys.len() as f64) as usize).min(keys.len().saturating_sub(1));
            if let Some(key) = keys.get(at) {
                lookups[*lookup] = Lookup { family: table.family, key: key.clone() };
            }
        }
    }
    Ok(())
}

fn data_blocks(survey: &TableSurvey) -> Result<Vec<BlockHandle>> {
    let mut blocks = Vec::new();
    survey.visit_index(&mut |block| {
        blocks.push(block.handle);
        ControlFlow::Continue(())
    })?;
    Ok(blocks)
}
