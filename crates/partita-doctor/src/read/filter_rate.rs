//! The rate of false positives that filters show when they are asked for keys that no table has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use partita::Result;
use partita::io::FileSystem;
use partita::key::SeqNo;
use partita::table::{LookupKey, ReadContext, ReaderOptions, TableReader};

use super::database::open_table;
use crate::model::{Table, TableState, dir_of};

/// Keys that a filter is asked for: a rate of 1 % comes out as 0.8 to 1.2 %.
const PROBES: u64 = 10_000;
/// Families that are measured at most, those with the lowest numbers.
const FAMILIES_MAX: usize = 16;
/// Filters beyond this size are read only by those who need them.
const FILTER_BYTES_MAX: u64 = 32 << 20;

/// Measures the filter of the table with the most keys in each family.
///
/// A failure leaves the rate out: the examination of the table tells of damage.
pub(super) fn measure(
    fs: &dyn FileSystem,
    (dir, table_dirs): (&Path, &[PathBuf]),
    tables: &mut [Table],
) {
    let mut chosen = BTreeMap::<u32, (u64, usize)>::new();
    for (at, table) in tables.iter().enumerate() {
        let Some(layout) = table.layout() else { continue };
        let filter = &layout.filter;
        let can_tell = filter.whole_keys
            && filter.false_positives.is_some()
            && layout.refused.is_none()
            && filter.total_bytes() <= FILTER_BYTES_MAX;
        let best = chosen.entry(table.family).or_default();
        if can_tell && filter.keys > best.0 {
            *best = (filter.keys, at);
        }
    }
    let chosen = chosen.into_values().filter(|(keys, _)| *keys > 0).take(FAMILIES_MAX);
    for (_, at) in chosen {
        let Some(table) = tables.get_mut(at) else { continue };
        let rate = rate(fs, dir_of(dir, table_dirs, table.path_id), table);
        if let (TableState::Seen(layout), Ok(rate)) = (&mut table.state, rate) {
            layout.filter.measured_false_positives = Some(rate);
        }
    }
}

fn rate(fs: &dyn FileSystem, dir: &Path, table: &Table) -> Result<f64> {
    let file = open_table(fs, dir, table)?;
    let ctx = &mut ReadContext::default();
    let reader = TableReader::open(file, &ReaderOptions::default(), ctx)?;
    let mut keys = AbsentKeys::within(table);
    let mut said_maybe = 0;
    for _ in 0..PROBES {
        let key = keys.next_key();
        said_maybe += u64::from(reader.may_contain(&LookupKey::new(&key, SeqNo::MAX), ctx)?);
    }
    Ok(said_maybe as f64 / PROBES as f64)
}

/// Keys between the first and the last of a table that it does not have: outside of its range a partitioned filter has
/// nothing to say.
///
/// What both ends have in common, eight bytes between those that follow, and eight bytes that nobody wrote.
struct AbsentKeys {
    prefix: Vec<u8>,
    from: u64,
    to: u64,
    state: u64,
}

impl AbsentKeys {
    fn within(table: &Table) -> Self {
        let pairs = table.smallest.iter().zip(&table.largest);
        let common = pairs.take_while(|(a, b)| a == b).count();
        let word = |key: &[u8]| {
            let mut bytes = [0; 8];
            let rest = key.get(common..).unwrap_or_default();
            bytes.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
            u64::from_be_bytes(bytes)
        };
        let (from, to) = (word(&table.smallest), word(&table.largest));
        let prefix = table.smallest.get(..common).unwrap_or_default().to_vec();
        // Under another order the ends may stand the other way round.
        Self { prefix, from: from.min(to), to: from.max(to), state: table.number | 1 }
    }

    fn next_key(&mut self) -> Vec<u8> {
        let between = self.from + self.random() % (self.to - self.from).max(1);
        let mut key = self.prefix.clone();
        key.extend_from_slice(&between.to_be_bytes());
        key.extend_from_slice(&self.random().to_be_bytes());
        key
    }

    /// A walk through all numbers, scattered.
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ self.state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ mixed >> 27
    }
}
