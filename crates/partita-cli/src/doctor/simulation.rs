//! `--simulate`: what is asked for, and what came of it as text and charts.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use partita_bench::amounts::parse_size;
use partita_charts::{Axis, BarChart, LineChart, Section, Unit};
use partita_doctor::simulate::{
    Asked, Lookups, PerGet, Replayed, SimulatedCache, Simulation, Traced,
};

use super::html::sentence;
use crate::columns::{self, Side};
use crate::units::{count, counted, share, size};

/// Options of a simulation.
#[derive(Args)]
#[command(next_help_heading = "Simulation")]
pub(super) struct SimulateArgs {
    /// Play lookups through models of RocksDB's caches and through Partita's, and tell what they would read.
    #[arg(long, value_name = "KEYS", num_args = 0..=1, default_missing_value = "uniform", require_equals = true)]
    simulate: Option<Keys>,
    /// Play the keys in this file, one a line, instead of keys that are drawn; or the gets in a block-cache trace of RocksDB
    /// (`StartBlockCacheTrace`, sampling every block).
    #[arg(long, value_name = "FILE", conflicts_with = "simulate")]
    trace: Option<PathBuf>,
    /// The keys of --trace are hexadecimal digits; otherwise text with \xHH for bytes.
    #[arg(long, requires = "trace")]
    trace_hex: bool,
    /// The column family that the keys of --trace are looked up in; gets of RocksDB's trace have their own.
    #[arg(long, value_name = "NAME", default_value = "default", requires = "trace")]
    trace_family: String,
    /// Lookups that are played; the first half warms the cache up.
    #[arg(long, value_name = "N", default_value_t = 400_000, value_parser = clap::value_parser!(u32).range(2..=20_000_000))]
    lookups: u32,
    /// Sizes of caches that are tried: 64m,256m,1g. By default some around the one that there is.
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = parse_size)]
    budgets: Vec<u64>,
    /// How steep the draws zipf and recent are.
    #[arg(long, value_name = "THETA", default_value_t = 0.99, value_parser = parse_theta)]
    zipf: f64,
    /// What everything drawn depends on.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The share of the LRU cache for blocks of high priority. By default what LOG says, or the release's default.
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    high_pri_pool_ratio: Option<f64>,
    /// The size of entries that the HyperClock cache is made for; 0 if its table grows. By default the release decides.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    estimated_entry_charge: Option<u64>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Keys {
    /// Every key as often as the next.
    Uniform,
    /// Some keys often, most seldom.
    Zipf,
    /// The newest keys most often.
    Recent,
    /// Keys that are not there.
    Absent,
}

impl SimulateArgs {
    pub(super) fn asked(&self) -> Option<Asked> {
        let drawn = |keys| match keys {
            Keys::Uniform => Lookups::Uniform,
            Keys::Zipf => Lookups::Zipf { theta: self.zipf },
            Keys::Recent => Lookups::Recent { theta: self.zipf },
            Keys::Absent => Lookups::Absent,
        };
        let lookups = match &self.trace {
            Some(path) => Lookups::Trace {
                path: path.clone(),
                hex: self.trace_hex,
                family: self.trace_family.clone(),
            },
            None => drawn(self.simulate?),
        };
        Some(Asked {
            lookups,
            count: self.lookups as usize,
            seed: self.seed,
            budgets: self.budgets.clone(),
            pool_ratio: self.high_pri_pool_ratio,
            entry_bytes: self.estimated_entry_charge,
        })
    }
}

fn parse_theta(text: &str) -> Result<f64, String> {
    let theta = text.parse::<f64>().ok().filter(|theta| (0.0..=10.0).contains(theta));
    theta.ok_or_else(|| format!("{text:?} is no exponent: expected 0.99"))
}

fn parse_share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("{text:?} is no share: expected a number from 0 to 1"))
}

/// What a lookup reads under each cache, as a table.
pub(super) fn write(out: &mut impl Write, simulation: &Simulation) -> io::Result<()> {
    writeln!(out, "What lookups would read")?;
    for line in remarks(simulation) {
        writeln!(out, "  {line}")?;
    }
    let header =
        ["cache", "size", "shards", "data", "index", "filter", "top level", "read per get", "new"];
    let mut rows = vec![header.map(str::to_owned)];
    rows.extend(simulation.caches.iter().map(row));
    let mut sides = [Side::Right; 9];
    sides[0] = Side::Left;
    for line in columns::lines(&sides, &rows) {
        writeln!(out, "  {line}")?;
    }
    writeln!(
        out,
        "  blocks read per get by role, and bytes of all; new: the part of them that was never asked for before"
    )
}

fn remarks(simulation: &Simulation) -> Vec<String> {
    let mut remarks = vec![
        format!(
            "{} lookups of {}; {} found, the last {} counted, seed {}",
            count(simulation.replayed),
            simulation.lookups.describe(),
            share(simulation.found_share),
            count(simulation.counted),
            simulation.seed
        ),
        simulation.shards.as_str().to_owned(),
        format!(
            "LRU with {} of it for blocks of high priority; HyperClock {}",
            share(simulation.pool_ratio),
            match simulation.entry_bytes {
                Some(bytes) => format!("made for entries of {}", size(bytes)),
                None => "with a table that grows".to_owned(),
            }
        ),
    ];
    if let Some(traced) = &simulation.traced {
        remarks.extend(of_trace(traced));
    }
    if let Some(problem) = &simulation.left_out {
        remarks.push(format!("Partita's cache could not be tried: {problem}"));
    }
    remarks
}

/// What RocksDB's trace tells, and what it does not.
fn of_trace(traced: &Traced) -> Vec<String> {
    let per_get = |blocks: &PerGet| {
        format!("data {:.3}, index {:.3}, filter {:.3}", blocks.data, blocks.index, blocks.filter)
    };
    let mut told = vec![format!(
        "the trace is of RocksDB {}; there, a get asked its cache for these blocks: {}; it did not have: {}",
        traced.release,
        per_get(&traced.asked),
        per_get(&traced.missed)
    )];
    if !traced.has_metadata {
        told.push(
            "index and filters were outside of the cache: gets that a filter ended are not in the trace".to_owned(),
        );
    }
    if traced.multi_gets > 0 {
        told.push(format!(
            "{} of a MultiGet, of whose blocks the trace does not say whether they were cached",
            counted(traced.multi_gets, "lookup")
        ));
    }
    for other in &traced.others {
        told.push(format!(
            "not played, since they carry no key: {} by {}",
            accesses(other.accesses),
            other.caller
        ));
    }
    if traced.foreign_accesses > 0 {
        told.push(format!(
            "not played, since their families are not there: {}",
            accesses(traced.foreign_accesses)
        ));
    }
    if traced.tables_gone > 0 {
        told.push(format!(
            "of the {} that its gets came to, {} no longer there: lookups are played over those that are",
            counted(traced.tables, "table"),
            match traced.tables_gone {
                1 => "1 is".to_owned(),
                gone => format!("{} are", count(gone)),
            }
        ));
    }
    if traced.is_cut {
        told.push("it has more gets than were played (--lookups)".to_owned());
    }
    if traced.torn_bytes > 0 {
        told.push(format!(
            "its last record is not whole ({} of it): the trace was not ended",
            size(traced.torn_bytes)
        ));
    }
    told
}

fn accesses(number: u64) -> String {
    match number {
        1 => "1 access".to_owned(),
        number => format!("{} accesses", count(number)),
    }
}

fn row(replayed: &Replayed) -> [String; 9] {
    let PerGet { data, index, filter, top_level } = replayed.blocks;
    let number = |value: f64| format!("{value:.3}");
    [
        replayed.cache.to_string(),
        size(replayed.budget_bytes),
        replayed.shards.map_or(String::new(), count),
        number(data),
        number(index),
        number(filter),
        number(top_level),
        size(replayed.bytes.total() as u64),
        match replayed.cache {
            SimulatedCache::Partita => String::new(),
            _ => share(replayed.first_read_share),
        },
    ]
}

const CACHES: [SimulatedCache; 3] =
    [SimulatedCache::Lru, SimulatedCache::HyperClock, SimulatedCache::Partita];

/// The same as charts.
pub(super) fn section(simulation: &Simulation, title: String) -> Section {
    let lines = |title: &str, unit, of: fn(&Replayed) -> f64| {
        let mut chart = LineChart::new(
            title,
            Axis::new("Size of the cache", Unit::Bytes).log(),
            Axis::new("A get", unit).log(),
        );
        for cache in CACHES {
            let of_cache = simulation.caches.iter().filter(|one| one.cache == cache);
            chart = chart
                .line(cache.to_string(), of_cache.map(|one| (one.budget_bytes as f64, of(one))));
        }
        chart
    };
    let mut roles = BarChart::stacked(
        "Bytes read for a get, by what they are",
        Axis::new("A get", Unit::Bytes),
        ["data", "index", "filter", "top levels"],
    );
    let mut budget = 0;
    for one in &simulation.caches {
        if one.budget_bytes != budget {
            budget = one.budget_bytes;
            roles = roles.group(size(budget));
        }
        let PerGet { data, index, filter, top_level } = one.bytes;
        roles = roles.row(one.cache.to_string(), [data, index, filter, top_level]);
    }
    let mut section = Section::new(title).text(
        "Lookups were played through models of RocksDB's caches and through Partita's own tables and cache, over these \
         files. Less is better; where a line falls steeply, a larger cache pays.",
    );
    for remark in remarks(simulation) {
        section = section.text(format!("{}.", sentence(&remark)));
    }
    section
        .chart(lines("Bytes read for a get", Unit::Bytes, |one| one.bytes.total()))
        .chart(lines("Blocks read for a get", Unit::Number("blocks"), |one| one.blocks.total()))
        .chart(roles)
}
