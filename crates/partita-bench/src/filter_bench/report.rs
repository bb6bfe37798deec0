//! Results, for people and as data.

use std::fmt;

use serde::Serialize;

/// What a run measured.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The implementation.
    pub engine: String,
    /// Construction.
    pub build: BuildReport,
    /// Theory for these filters, weighted by keys.
    pub expected_false_positive_rate: f64,
    /// Queries, by how many of them ask for keys that were added.
    pub queries: Vec<QueryReport>,
}

/// Construction of all filters.
#[derive(Clone, Debug, Serialize)]
pub struct BuildReport {
    /// Time per key, making and hashing the key included.
    pub ns_per_key: f64,
    /// Filters built.
    pub filters: usize,
    /// Keys added to all of them.
    pub keys: u64,
    /// Bytes of their blocks.
    pub block_bytes: usize,
    /// Bytes of memory they hold.
    pub memory_bytes: usize,
    /// Bits stored per key.
    pub bits_per_key: f64,
}

/// Queries of one mix.
#[derive(Clone, Debug, Serialize)]
pub struct QueryReport {
    /// What is asked for.
    pub mix: &'static str,
    /// Costs by mode.
    pub costs: Vec<QueryCost>,
    /// Queries for keys that were not added.
    pub outside_queries: u64,
    /// How many of these got a yes.
    pub false_positive_rate: f64,
}

/// Time per query in one mode.
#[derive(Clone, Debug, Serialize)]
pub struct QueryCost {
    /// Which filters are asked, and how.
    pub mode: &'static str,
    /// Key, hash and filter.
    pub gross_ns: f64,
    /// Key and hash.
    pub dry_ns: f64,
    /// Filter.
    pub net_ns: f64,
}

/// What the words of a printed report mean.
pub const LEGEND: &str = "\
Inside          a key that was added to the filter
Outside         a key that was not
Dry run         cost of choosing filter and key and of hashing, without asking the filter
Gross           cost of the same with asking
Net             gross less dry run: the best estimate of the filter's own cost
Single filter   every query asks the same filter, which stays in the processor's cache
Random filter   every query asks a filter chosen at random: as a rule, memory outside the cache
batched         several queries at a time ask one filter through the interface for batches
one by one      the same queries through the interface for single keys
Skewed x in y   x of the queries ask y of the filters
False positive  a yes for a key that was not added (wanted: rare); the opposite must not happen and ends the run";

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MIB: f64 = (1 << 20) as f64;
        let build = &self.build;
        writeln!(f, "{}", self.engine)?;
        writeln!(f, "Build avg ns/key: {:.1}", build.ns_per_key)?;
        writeln!(f, "Number of filters: {}", build.filters)?;
        writeln!(f, "Total size (MiB): {:.2}", build.block_bytes as f64 / MIB)?;
        writeln!(f, "Memory (MiB): {:.2}", build.memory_bytes as f64 / MIB)?;
        writeln!(f, "Bits/key stored: {:.3}", build.bits_per_key)?;
        writeln!(f, "Expected FP rate %: {:.4}", 100.0 * self.expected_false_positive_rate)?;
        for query in &self.queries {
            writeln!(f, "{}", query.mix)?;
            for cost in &query.costs {
                let QueryCost { mode, gross_ns, dry_ns, net_ns } = cost;
                writeln!(
                    f,
                    "  {mode:<32} net ns/op: {net_ns:7.2}  (gross {gross_ns:.2}, dry run {dry_ns:.2})"
                )?;
            }
            let (rate, queries) = (100.0 * query.false_positive_rate, query.outside_queries);
            writeln!(f, "  Average FP rate %: {rate:.4} of {queries} outside queries")?;
        }
        Ok(())
    }
}
