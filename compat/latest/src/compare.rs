//! Runs the contenders in turns and compares what they took.
//!
//! A shared machine drifts by more than the differences of interest. So every round gives each contender the same
//! queries within a few milliseconds, in an order that rotates, and what is reported are medians: of the figures, and
//! of each round's ratio.

use std::fmt;

use crate::contender::{Contender, Kind, Loop, Queries};
use crate::partita_filters::PartitaFilters;
use crate::rocks_filters::{Compiled, RocksFilters, is_haswell};
use crate::samples::{Row, Samples};
use crate::workload::{QueryPlan, Random, Spread, keys_of};

/// What to run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Kind of filter.
    pub kind: Kind,
    /// Bits per key; at least 1.
    pub bits_per_key: f64,
    /// Filters are built until their blocks have this many bytes.
    pub working_mem_bytes: usize,
    /// Keys per filter; varies by 40 % either way.
    pub average_keys_per_filter: u32,
    /// Bytes per key; at least 8.
    pub key_len: usize,
    /// Keys per batch.
    pub batch_len: usize,
    /// Rounds per row of results.
    pub rounds: usize,
    /// Queries per round.
    pub queries: usize,
    /// Seed of the queries.
    pub seed: u64,
    /// Whether the dry run that is subtracted hashes the keys.
    pub is_hashing_excluded: bool,
    /// Mixed queries only.
    pub is_quick: bool,
}

/// The results for one kind of filter.
#[derive(Clone, Debug)]
pub struct Comparison {
    settings: Settings,
    contenders: Vec<&'static str>,
    filters: usize,
    keys: u64,
    block_bytes: usize,
    /// The measurements.
    pub rows: Vec<Row>,
}

/// Builds the filters, runs all loops and compares.
///
/// * Errors: two contenders built different blocks or gave different answers; the message says which.
pub fn compare(settings: &Settings) -> Result<Comparison, String> {
    let mut contenders: Vec<Box<dyn Contender>> = vec![
        Box::new(PartitaFilters::new(settings.kind, settings.bits_per_key)),
        Box::new(RocksFilters::new(Compiled::Plain, settings.kind, settings.bits_per_key)),
    ];
    if is_haswell() {
        let rocks = RocksFilters::new(Compiled::Avx2, settings.kind, settings.bits_per_key);
        contenders.push(Box::new(rocks));
    }
    let mut comparison = Comparison {
        settings: settings.clone(),
        contenders: contenders.iter().map(|contender| contender.name()).collect(),
        filters: 0,
        keys: 0,
        block_bytes: 0,
        rows: Vec::new(),
    };
    let key_counts = comparison.build(&mut contenders)?;
    comparison.query(&mut contenders, &key_counts)?;
    Ok(comparison)
}

impl Comparison {
    /// Builds filters until the working memory is full; returns their numbers of keys.
    fn build(&mut self, contenders: &mut [Box<dyn Contender>]) -> Result<Vec<u32>, String> {
        let settings = &self.settings;
        let mut random = Random::new(settings.seed);
        let mut key_counts = Vec::new();
        let mut samples = Samples::new(contenders.len());
        while self.block_bytes < settings.working_mem_bytes || key_counts.is_empty() {
            let average = settings.average_keys_per_filter;
            let count = average - average * 2 / 5 + random.below(average * 4 / 5 + 1);
            let filter = u32::try_from(key_counts.len()).expect("filters are few");
            let keys = keys_of(filter, count, settings.key_len);
            let mut blocks = vec![Vec::new(); contenders.len()];
            samples.round(key_counts.len(), |i| {
                let (nanos, block) = contenders[i].build(&keys, settings.key_len);
                blocks[i] = block;
                nanos as f64 / f64::from(count)
            });
            if let Some(i) = blocks.iter().position(|block| *block != blocks[0]) {
                let (ours, theirs) = (contenders[0].name(), contenders[i].name());
                return Err(format!("{ours} and {theirs} build different filters of {count} keys"));
            }
            self.block_bytes += blocks[0].len();
            self.keys += u64::from(count);
            key_counts.push(count);
        }
        self.filters = key_counts.len();
        self.rows.push(samples.row("build".to_owned()));
        Ok(key_counts)
    }

    fn query(
        &mut self,
        contenders: &mut [Box<dyn Contender>],
        key_counts: &[u32],
    ) -> Result<(), String> {
        // Never all inside or outside, or the branch predictor would know the answers.
        let mixes = [("mixed", 0.5), ("inside", 0.95), ("outside", 0.05)];
        let mixes = if self.settings.is_quick { &mixes[..1] } else { &mixes[..] };
        let forms = [("bare", Loop::Bare), ("batched", Loop::BareBatch), ("reader", Loop::Reader)];
        for &(mix, inside) in mixes {
            for (form, which) in forms {
                for spread in [Spread::Single, Spread::Random] {
                    let batch_len =
                        if which == Loop::BareBatch { self.settings.batch_len } else { 1 };
                    let key_len = self.settings.key_len;
                    let plan = QueryPlan { spread, inside, batch_len, key_len };
                    let name = format!("{mix}: {form}, {spread:?} filter").to_lowercase();
                    let row = self.measure(name, which, plan, contenders, key_counts)?;
                    self.rows.push(row);
                }
            }
        }
        Ok(())
    }

    fn measure(
        &self,
        name: String,
        which: Loop,
        plan: QueryPlan,
        contenders: &mut [Box<dyn Contender>],
        key_counts: &[u32],
    ) -> Result<Row, String> {
        let mut random = Random::new(self.settings.seed ^ 0x5eed);
        let mut samples = Samples::new(contenders.len());
        let batches = self.settings.queries.div_ceil(plan.batch_len);
        // What our reader object adds is compared in the same rounds, with other queries lest they be in the cache.
        let mut own = Samples::new(2);
        for round in 0..=self.settings.rounds {
            let queries = plan.draw(key_counts, batches, &mut random);
            let mut positives = vec![0; contenders.len()];
            samples.round(round, |i| {
                let (nanos, found) = self.net_nanos(contenders[i].as_mut(), which, &queries);
                positives[i] = found;
                nanos
            });
            if which == Loop::Reader {
                own.round(round, |i| {
                    let queries = plan.draw(key_counts, batches, &mut random);
                    self.net_nanos(contenders[0].as_mut(), [which, Loop::Bare][i], &queries).0
                });
            }
            if let Some(i) = positives.iter().position(|&count| count != positives[0]) {
                let (ours, theirs) = (contenders[0].name(), contenders[i].name());
                return Err(format!("{ours} and {theirs} answer differently: {name}"));
            }
            if round == 0 {
                // Code and filters are cold.
                samples.clear();
                own.clear();
            }
        }
        let over_bare = (which == Loop::Reader).then(|| own.row(String::new()).ratios[0]);
        Ok(Row { over_bare, ..samples.row(name) })
    }

    /// Figures that compare two rows: what batches gain over single keys, and what the reader object adds.
    fn derived(&self) -> Vec<String> {
        let row = |name: &str| self.rows.iter().find(|row| row.name == name);
        let mut lines = Vec::new();
        let batched = row("mixed: batched, random filter");
        if let (Some(batched), Some(bare)) = (batched, row("mixed: bare, random filter")) {
            let ratios =
                self.contenders.iter().zip(&bare.nanos).map(|(contender, bare)| {
                    format!("{:.2} ({contender})", batched.nanos[0] / bare)
                });
            let ratios = ratios.collect::<Vec<_>>().join(", ");
            lines.push(format!("Partita batched, random / bare, random of: {ratios}"));
        }
        for spread in ["single", "random"] {
            let reader = row(&format!("mixed: reader, {spread} filter"));
            if let Some([low, median, high]) = reader.and_then(|row| row.over_bare) {
                lines.push(format!(
                    "Partita reader / bare, {spread}: {median:.2} ({low:.2}-{high:.2})"
                ));
            }
        }
        lines
    }

    /// Nanoseconds a query, less those of the loop around it, and the positive answers.
    fn net_nanos(
        &self,
        contender: &mut dyn Contender,
        which: Loop,
        queries: &Queries,
    ) -> (f64, u64) {
        let dry = if self.settings.is_hashing_excluded { Loop::DryWithHash } else { Loop::Dry };
        let dry = contender.run(dry, queries).nanos as f64;
        let asked = contender.run(which, queries);
        ((asked.nanos as f64 - dry) / queries.len() as f64, asked.positives)
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = &self.settings;
        writeln!(
            f,
            "{:?}, {} bits per key ({:.2} stored): {} equal filters, {} keys of {} bytes, {:.0} MiB for each contender",
            settings.kind,
            settings.bits_per_key,
            self.block_bytes as f64 * 8.0 / self.keys as f64,
            self.filters,
            self.keys,
            settings.key_len,
            self.block_bytes as f64 / f64::from(1 << 20),
        )?;
        writeln!(
            f,
            "ns a key, net of the loop, hashing {}; batches of {}; {} rounds of {} queries; ratios: median (quartiles)",
            if settings.is_hashing_excluded { "excluded" } else { "included" },
            settings.batch_len,
            settings.rounds,
            settings.queries,
        )?;
        write!(f, "{:32}", "")?;
        for name in &self.contenders {
            write!(f, "{name:>15}")?;
        }
        for name in &self.contenders[1..] {
            write!(f, "{:>26}", format!("/ {name}"))?;
        }
        writeln!(f)?;
        for row in &self.rows {
            write!(f, "{:32}", row.name)?;
            for nanos in &row.nanos {
                write!(f, "{nanos:15.2}")?;
            }
            for [low, median, high] in &row.ratios {
                write!(f, "{:>26}", format!("{median:.2} ({low:.2}-{high:.2})"))?;
            }
            writeln!(f)?;
        }
        self.derived().iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_comparison_measures_every_row() {
        for kind in [Kind::Bloom, Kind::Ribbon, Kind::LegacyBloom] {
            let settings = Settings {
                kind,
                bits_per_key: 10.0,
                working_mem_bytes: 20_000,
                average_keys_per_filter: 2000,
                key_len: 24,
                batch_len: 8,
                rounds: 2,
                queries: 100,
                seed: 0,
                is_hashing_excluded: false,
                is_quick: false,
            };
            let comparison = compare(&settings).unwrap();
            assert_eq!(comparison.rows.len(), 1 + 3 * 3 * 2);
            assert!(comparison.to_string().contains("mixed: batched, random filter"));
        }
    }
}
