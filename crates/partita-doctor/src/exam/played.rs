//! What lookups read of index and filters, each entry's key being as likely as the next: played through the model of the
//! cache, without a look at keys.
//!
//! A lookup is a place among all entries. It comes to the tables from new to old: every table of level 0, and of each sorted level
//! the one that has the same share of its level's entries before it. Their filters are asked, and say maybe where they are
//! wrong, as often as theory has it; where the entry is, the lookup ends. Index partitions and data blocks are as likely as each
//! other. So it is close to the real thing where keys are spread evenly; `--simulate` looks at them.

use std::collections::HashMap;

use crate::exam::Case;
use crate::model::{FilterShape, Table, TableLayout};
use crate::random::Random;
use crate::settings::SharedCache;
use crate::simulate::{
    BaseKey, Block, BlockId, Caches, Counts, FamilyRules, Part, Request, Trace, charge, replay,
};

/// Lookups of a playing; the first half is not counted.
const LOOKUPS: u32 = 40_000;
/// Requests that all of them may come to, if each comes to every run: 32 MiB. Where level 0 has thousands of tables there are
/// fewer lookups, and as many blocks to tell a mean of.
const REQUESTS_MAX: usize = 8 << 20;
const LOOKUPS_MIN: u32 = 400;
/// Where shards are drawn, so many drawings share the lookups.
const DRAWINGS: u32 = 4;

/// What a lookup reads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Played {
    pub(super) filters: f64,
    pub(super) indexes: f64,
    /// Of both, and of their top levels.
    pub(super) bytes: f64,
}

/// Plays lookups through a cache.
pub(super) fn play(case: &Case<'_>, cache: &SharedCache<'_>) -> Played {
    let families: Vec<FamilyRules<'_>> = case
        .database
        .families
        .iter()
        .filter(|family| cache.families.iter().any(|one| one.name == family.name && !one.no_cache))
        .map(|family| FamilyRules::without_order(case.database, case.settings, family))
        .collect();
    let is_exact = |(_, layout): &(&Table, &TableLayout)| {
        BaseKey::of(layout.unique_id, case.database.release(), 0, 0).is_exact
    };
    let exact = families.iter().flat_map(FamilyRules::tables).all(|table| is_exact(&table));
    let drawings = if exact { 1 } else { DRAWINGS };
    let mut all = Counts::default();
    for drawing in 0..drawings {
        let mut player = Player::new(case, &families, u64::from(drawing) + 1);
        let trace = player.trace(lookups(player.longest()) / drawings);
        let caches =
            Caches::of(case.database, case.settings, &crate::simulate::Asked::default(), &trace);
        let mut cache = caches.cache(cache.model(), &trace);
        all += replay(&trace, &mut *cache, trace.ends.len() / 2);
    }
    let per_get = |count: u64| count as f64 / all.lookups.max(1) as f64;
    let of = |counts: &[u64; Part::COUNT], part: Part| counts[part as usize];
    let tops = of(&all.bytes, Part::IndexTop) + of(&all.bytes, Part::FilterTop);
    Played {
        filters: per_get(of(&all.read, Part::Filter)),
        indexes: per_get(of(&all.read, Part::Index)),
        bytes: per_get(of(&all.bytes, Part::Index) + of(&all.bytes, Part::Filter) + tops),
    }
}

/// How many lookups are played where one may come to so many runs.
fn lookups(runs: usize) -> u32 {
    let room = REQUESTS_MAX / runs.max(1);
    u32::try_from(room).unwrap_or(u32::MAX).clamp(LOOKUPS_MIN, LOOKUPS)
}

/// A sorted run of tables, each with the entries of the run that stand before it.
struct Run<'p> {
    tables: Vec<(u64, &'p Table, &'p TableLayout)>,
    entries: u64,
}

impl<'p> Run<'p> {
    /// The table that holds the entry with this share of the run before it.
    fn table_at(&self, share: f64) -> Option<(&'p Table, &'p TableLayout)> {
        let entry = (share * self.entries as f64) as u64;
        let at = self.tables.partition_point(|(before, _, _)| *before <= entry);
        self.tables.get(at.checked_sub(1)?).map(|(_, table, layout)| (*table, *layout))
    }
}

/// Makes up lookups.
struct Player<'p> {
    case: &'p Case<'p>,
    /// Each family with its runs, new to old.
    families: Vec<(&'p FamilyRules<'p>, Vec<Run<'p>>)>,
    random: Random,
    seed: u64,
    trace: Trace,
    ids: HashMap<(u64, Part, u64), BlockId>,
}

impl<'p> Player<'p> {
    fn new(case: &'p Case<'p>, families: &'p [FamilyRules<'p>], seed: u64) -> Self {
        let families = families.iter().map(|rules| (rules, runs(rules))).collect();
        Self {
            case,
            families,
            random: Random::new(seed),
            seed,
            trace: Trace::default(),
            ids: HashMap::new(),
        }
    }

    /// The runs of the family that has most.
    fn longest(&self) -> usize {
        self.families.iter().map(|(_, runs)| runs.len()).max().unwrap_or(0)
    }

    fn trace(&mut self, lookups: u32) -> Trace {
        let families = std::mem::take(&mut self.families);
        let entries = |runs: &[Run<'_>]| -> u64 { runs.iter().map(|run| run.entries).sum() };
        let all: u64 = families.iter().map(|(_, runs)| entries(runs)).sum();
        for _ in 0..lookups {
            let mut place = self.random.below(all);
            for (rules, runs) in &families {
                let of_family = entries(runs);
                if place < of_family {
                    self.lookup(rules, runs, place);
                    break;
                }
                place -= of_family;
            }
            self.trace.ends.push(self.trace.requests.len() as u32);
        }
        std::mem::take(&mut self.trace)
    }

    /// The lookup of the entry that so many entries of newer runs, and of its own, stand before.
    fn lookup(&mut self, rules: &FamilyRules<'_>, runs: &[Run<'_>], mut place: u64) {
        let share = self.random.unit();
        for run in runs {
            let is_here = place < run.entries;
            let share = if is_here { place as f64 / run.entries as f64 } else { share };
            if let Some((table, layout)) = run.table_at(share) {
                self.visit(rules, (table, layout), is_here);
            }
            if is_here {
                return;
            }
            place -= run.entries;
        }
    }

    fn visit(
        &mut self,
        rules: &FamilyRules<'_>,
        (table, layout): (&Table, &TableLayout),
        is_here: bool,
    ) {
        let (filter, index) = (&layout.filter, &layout.index);
        let filtered = filter.false_positives.filter(|_| !rules.skips_filter(table));
        if let Some(wrong) = filtered {
            let is_cut = filter.top_level_bytes > 0;
            if is_cut && rules.caches_metadata {
                self.ask(rules, table, layout, Part::FilterTop, false);
            }
            if is_cut || rules.caches_metadata {
                self.ask(rules, table, layout, Part::Filter, true);
            }
            if !is_here && self.random.unit() >= wrong {
                return;
            }
        }
        if index.is_partitioned && rules.caches_metadata {
            self.ask(rules, table, layout, Part::IndexTop, false);
        }
        if index.is_partitioned || rules.caches_metadata {
            self.ask(rules, table, layout, Part::Index, false);
        }
        self.ask(rules, table, layout, Part::Data, true);
    }

    /// Asks for one of the table's blocks of a kind, each as likely as the others.
    fn ask(
        &mut self,
        rules: &FamilyRules<'_>,
        table: &Table,
        layout: &TableLayout,
        part: Part,
        is_last: bool,
    ) {
        let (filter, index) = (&layout.filter, &layout.index);
        let data_bytes = layout.raw_key_bytes.saturating_add(layout.raw_value_bytes);
        // Where the blocks begin, how many there are, their bytes in memory and in the file.
        let (offset, count, bytes, stored) = match part {
            Part::Data => (0, layout.data.count, data_bytes, layout.data.bytes),
            Part::Index => {
                (index.offset, index.pieces.count, index.pieces.bytes, index.stored_bytes)
            }
            Part::Filter => {
                (filter.offset, filter.pieces.count, filter.pieces.bytes, filter.pieces.bytes)
            }
            Part::IndexTop => (index.offset, 1, index.top_level_bytes, index.top_level_bytes),
            Part::FilterTop => (filter.offset, 1, filter.top_level_bytes, filter.top_level_bytes),
        };
        let at = self.random.below(count);
        let [bytes, stored] = [bytes, stored].map(|sum| sum / count.max(1));
        let id = *self.ids.entry((table.number, part, at)).or_insert_with(|| {
            let base = BaseKey::of(
                layout.unique_id,
                self.case.database.release(),
                self.seed,
                table.number,
            );
            let pinning = &rules.pinning;
            let filter_is_cut = filter.shape == FilterShape::Partitioned;
            self.trace.blocks.push(Block {
                part,
                charge: charge(part, bytes, stored != bytes),
                stored,
                // Of whole blocks the real place; of one among many some place of its own.
                hashes: base
                    .at(offset + at * stored.max(4) + u64::from(part == Part::FilterTop) * 4),
                is_pinned: match part {
                    Part::Data => false,
                    Part::IndexTop | Part::FilterTop => pinning.holds_top(table),
                    Part::Index => pinning.holds_pieces(table, layout.index.is_partitioned),
                    Part::Filter => pinning.holds_pieces(table, filter_is_cut),
                },
            });
            (self.trace.blocks.len() - 1) as BlockId
        });
        self.trace.requests.push(Request::new(id, is_last));
    }
}

/// The runs of a family, new to old.
fn runs<'p>(rules: &'p FamilyRules<'p>) -> Vec<Run<'p>> {
    let mut runs = Vec::<Run<'p>>::new();
    let mut level = 0;
    for (table, layout) in rules.tables() {
        if table.level == 0 || table.level != level || runs.is_empty() {
            runs.push(Run { tables: Vec::new(), entries: 0 });
            level = table.level;
        }
        runs.last_mut().into_iter().for_each(|run| run.tables.push((0, table, layout)));
    }
    for run in &mut runs {
        // By their first bytes; another order would only pair tables of two levels otherwise.
        run.tables.sort_by(|(_, a, _), (_, b, _)| a.smallest.cmp(&b.smallest));
        for (before, _, layout) in &mut run.tables {
            *before = run.entries;
            run.entries += layout.entries;
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_0_of_thousands_of_tables_has_fewer_lookups_played_and_none_more_memory() {
        assert_eq!([1, 7, 200].map(lookups), [LOOKUPS; 3]);
        for runs in [300, 2_000, 20_000] {
            let played = lookups(runs);
            assert!((LOOKUPS_MIN..LOOKUPS).contains(&played), "{runs} runs: {played}");
            assert!(played as usize * runs <= REQUESTS_MAX, "{runs} runs: {played}");
        }
        assert_eq!(lookups(1 << 20), LOOKUPS_MIN);
    }
}
