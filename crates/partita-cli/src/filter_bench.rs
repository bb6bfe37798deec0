//! `partita filter-bench`: what filters cost, after RocksDB's tool of the same name.

use std::io::{self, Write as _};
use std::ops::RangeInclusive;

use clap::{Args, ValueEnum};
use partita::filter::FilterImpl;
use partita_bench::filter_bench::{
    Implementation, LEGEND, PartitaEngine, Report, Settings, run as run_bench,
};

use crate::outcome::Outcome;
use crate::output;

/// Measure filters: build time, memory, query time, false positives.
#[derive(Args, Debug)]
pub(crate) struct FilterBench {
    /// Kind of filter.
    #[arg(long = "impl", value_enum, default_value_t = Kind::Bloom)]
    kind: Kind,
    /// Bits per key; for Ribbon, of the Bloom filter that errs as often.
    #[arg(long, default_value_t = 10.0, value_parser = |text: &str| number(text, 0.0..=100.0))]
    bits_per_key: f64,
    /// MiB of filters to build.
    #[arg(long, default_value_t = 200.0, value_parser = |text: &str| number(text, 0.0..=1e6))]
    working_mem_mb: f64,
    /// Keys per filter, on average.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    average_keys_per_filter: u32,
    /// How far the number of keys varies, as part of the average.
    #[arg(long, default_value_t = 0.4, value_parser = |text: &str| number(text, 0.0..=1.0))]
    vary_key_count_ratio: f64,
    /// Bytes per key, on average.
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(14..=65_536))]
    key_size: u32,
    /// Keys per batch.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    batch_size: u32,
    /// Millions of queries per loop; a seventh of it with --quick.
    #[arg(long, default_value_t = 20.0, value_parser = |text: &str| number(text, 0.0..=1e6))]
    m_queries: f64,
    /// Ask through the object that tables share, not the bare filter.
    #[arg(long)]
    use_reader: bool,
    /// Fewer loops, fewer queries.
    #[arg(long)]
    quick: bool,
    /// Seed of keys and queries.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Processor instructions to use: plain, sse4.2, avx2, avx512, neon. Default: the best.
    #[arg(long)]
    simd: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Explain the words of the report, without running.
    #[arg(long)]
    legend: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// FastLocalBloom, format version 5 and later.
    Bloom,
    /// Standard128Ribbon.
    Ribbon,
    /// Format versions below 5.
    LegacyBloom,
}

impl FilterBench {
    /// Runs the benchmark and prints its report. The error is one of standard output.
    pub(crate) fn run(&self) -> io::Result<Outcome> {
        let mut out = output::stdout();
        if self.legend {
            writeln!(out, "{LEGEND}")?;
            out.flush()?;
            return Ok(Outcome::Clean);
        }
        let report = match self.report() {
            Ok(report) => report,
            Err(message) => {
                output::complain(message);
                return Ok(Outcome::Unseen);
            }
        };
        if self.json {
            serde_json::to_writer_pretty(&mut out, &report)?;
            writeln!(out)?;
        } else {
            if cfg!(debug_assertions) {
                writeln!(out, "WARNING: built without optimisation, figures mean nothing")?;
            }
            write!(out, "{report}")?;
            writeln!(out, "(--legend explains the words)")?;
        }
        out.flush()?;
        Ok(Outcome::Clean)
    }

    fn report(&self) -> Result<Report, String> {
        let kind = match self.kind {
            Kind::Bloom => Implementation::Bloom,
            Kind::Ribbon => Implementation::Ribbon,
            Kind::LegacyBloom => Implementation::LegacyBloom,
        };
        let mut engine = PartitaEngine::new(kind, self.bits_per_key, self.use_reader)
            .ok_or_else(|| format!("{} bits per key: no filter is built", self.bits_per_key))?;
        if let Some(name) = &self.simd {
            let path = FilterImpl::by_name(name).ok_or_else(|| {
                let available: Vec<_> =
                    FilterImpl::available().into_iter().map(FilterImpl::name).collect();
                format!("this processor has no \"{name}\", but {}", available.join(", "))
            })?;
            engine = engine.with_impl(path);
        }
        run_bench(&mut engine, &self.settings())
    }

    fn settings(&self) -> Settings {
        let m_queries = if self.quick { self.m_queries / 7.0 } else { self.m_queries };
        Settings {
            working_mem_bytes: (self.working_mem_mb * f64::from(1 << 20)) as usize,
            average_keys_per_filter: self.average_keys_per_filter,
            vary_key_count_ratio: self.vary_key_count_ratio,
            key_size: self.key_size as usize,
            batch_size: self.batch_size as usize,
            queries: ((m_queries * 1e6) as u64).max(1),
            seed: self.seed,
            quick: self.quick,
        }
    }
}

/// A number within bounds; Rust's `nan` is none.
fn number(text: &str, bounds: RangeInclusive<f64>) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if bounds.contains(&number) {
        Ok(number)
    } else {
        Err(format!("{text} is not in {}..={}", bounds.start(), bounds.end()))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        bench: FilterBench,
    }

    fn bench(arguments: &str) -> FilterBench {
        Cli::parse_from(["x"].into_iter().chain(arguments.split_whitespace())).bench
    }

    #[test]
    fn a_small_run_gives_a_report_that_is_json() {
        let arguments = "--impl ribbon --working-mem-mb 0.05 --average-keys-per-filter 500 \
                         --m-queries 0.05 --quick --use-reader --simd plain";
        let report = bench(arguments).report().unwrap();
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["engine"], "Partita Ribbon (plain, table's slot)");
        assert!(json["queries"][0]["costs"][0]["net_ns"].is_number());
    }

    #[test]
    fn settings_that_mean_nothing_are_refused_in_words() {
        assert!(bench("--bits-per-key 0.1").report().unwrap_err().contains("0.1 bits"));
        assert!(bench("--simd mmx").report().unwrap_err().contains("plain"));
        for arguments in [
            "--bits-per-key nan",
            "--bits-per-key 101",
            "--working-mem-mb inf",
            "--vary-key-count-ratio 1.5",
            "--key-size 0",
            "--batch-size 0",
            "--m-queries=-1",
        ] {
            let parsed = Cli::try_parse_from(["x"].into_iter().chain(arguments.split_whitespace()));
            assert!(parsed.is_err(), "{arguments}");
        }
    }
}
