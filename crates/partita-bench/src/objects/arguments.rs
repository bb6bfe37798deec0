//! The command line of the benchmark.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::error::Error;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};

use super::plan::Plan;
use super::settings::{Contender, Settings};
use crate::amounts::{parse_count, parse_size};
use crate::arguments::{list_option, option, value_of, values_of};
use crate::layout::Layout;

/// What to run, as a command line says it.
#[derive(Clone, Debug)]
pub struct Arguments {
    plan: Plan,
    batch: u64,
    budget: u64,
    layouts: Vec<Layout>,
    rate: Option<f64>,
    row_keys: Option<u64>,
    compacts: bool,
    dir: Option<PathBuf>,
}

/// Rows of a report, if nothing else is asked for.
const ROWS: u64 = 25;
/// Transactions that a batch has at most: engines wait with no more.
const BATCH_MAX: u64 = 5000;

impl Args for Arguments {
    fn augment_args(command: Command) -> Command {
        command
            .arg(
                option("keys", "COUNT", "2M", "Keys that are allocated and committed, as in 200M")
                    .value_parser(parse_count),
            )
            .arg(
                option("value-bytes", "BYTES", "400", "Bytes of a key's row, as in 400 or 300..600")
                    .value_parser(parse_range),
            )
            .arg(
                option("batch", "COUNT", "200", "Transactions that are written together; a key has two")
                    .value_parser(value_parser!(u64).range(1..=BATCH_MAX)),
            )
            .arg(
                option("budget", "SIZE", "32MiB", "Budget of memory for all tables together")
                    .value_parser(parse_size),
            )
            .arg(
                list_option(
                    "layout",
                    "LAYOUTS",
                    "partitioned",
                    "Layouts of index and filter, divided by commas: full, partitioned",
                )
                .value_parser(str::parse::<Layout>),
            )
            .arg(
                Arg::new("rate").long("rate").value_name("COUNT").value_parser(parse_rate).help(
                    "Keys that are due in a second; latencies count from when they are [default: as many as can be]",
                ),
            )
            .arg(
                option("lookups", "COUNT", "1", "Lookups of old keys, for each new one")
                    .value_parser(value_parser!(u32)),
            )
            .arg(
                option("list-every", "KEYS", "0", "Keys between two listings of 100; 0 for none")
                    .value_parser(parse_count),
            )
            .arg(
                option(
                    "delete",
                    "PERCENT",
                    "0",
                    "Keys of a hundred that are deleted, 10,000 keys later, and then purged",
                )
                .value_parser(value_parser!(u64).range(0..=100)),
            )
            .arg(
                option("buckets", "COUNT", "10", "Buckets that keys are spread over")
                    .value_parser(value_parser!(u64).range(1..=10_000)),
            )
            .arg(
                option("open-keys", "COUNT", "100", "Keys that are open at a time")
                    .value_parser(value_parser!(u64).range(1..=1_000_000)),
            )
            .arg(
                Arg::new("row-every")
                    .long("row-every")
                    .value_name("KEYS")
                    .value_parser(parse_count)
                    .help("Keys of a row of the report [default: a 25th of all]"),
            )
            .arg(Arg::new("after-compaction").long("after-compaction").action(ArgAction::SetTrue).help(
                "In the end, write all tables anew, and tell when lookups read as little from files as before",
            ))
            .arg(
                Arg::new("dir").long("dir").value_name("DIR").value_parser(value_parser!(PathBuf)).help(
                    "Directory in which stores are kept: a load that was interrupted goes on, and one that is done is \
                     only reported again [default: a new one, removed at the end]",
                ),
            )
            .arg(option("seed", "NUMBER", "1", "Seed of the keys").value_parser(value_parser!(u64)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Arguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let plan = Plan {
            keys: value_of(matches, "keys")?,
            seed: value_of(matches, "seed")?,
            buckets: value_of(matches, "buckets")?,
            open_keys: value_of(matches, "open-keys")?,
            value_bytes: value_of(matches, "value-bytes")?,
            lookups: value_of(matches, "lookups")?,
            delete_percent: value_of(matches, "delete")?,
            list_every: value_of(matches, "list-every")?,
            ..Plan::default()
        };
        Ok(Self {
            plan,
            batch: value_of(matches, "batch")?,
            budget: value_of(matches, "budget")?,
            layouts: values_of(matches, "layout"),
            rate: matches.get_one("rate").copied(),
            row_keys: matches.get_one("row-every").copied(),
            compacts: matches.get_flag("after-compaction"),
            dir: matches.get_one("dir").cloned(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Arguments {
    /// What to run with Partita alone.
    ///
    /// * Errors: as [`Arguments::settings_of`].
    pub fn settings(&self, engine: &str) -> Result<Settings, String> {
        let contender = |layout: &Layout| Contender {
            name: layout.to_string(),
            engine: engine.to_owned(),
            layout: *layout,
        };
        self.settings_of(self.layouts.iter().map(contender).collect())
    }

    /// What to run with contenders of the caller's choice.
    ///
    /// * Errors: arguments that mean nothing.
    pub fn settings_of(&self, contenders: Vec<Contender>) -> Result<Settings, String> {
        if self.plan.keys == 0 || self.row_keys == Some(0) {
            return Err("--keys, --row-every: there is at least one".to_owned());
        }
        if self.budget < 1 << 20 {
            return Err("--budget: 1 MiB is the least".to_owned());
        }
        Ok(Settings {
            plan: self.plan.clone(),
            contenders,
            budget_bytes: self.budget,
            batch_transactions: self.batch,
            keys_per_second: self.rate,
            row_keys: self.row_keys.unwrap_or(self.plan.keys.div_ceil(ROWS)),
            compacts: self.compacts,
            dir: self.dir.clone(),
        })
    }
}

/// Rows longer than this are no key's.
const VALUE_BYTES_MAX: u64 = 1 << 20;

fn parse_range(text: &str) -> Result<RangeInclusive<u64>, String> {
    let (shortest, longest) = text.split_once("..").unwrap_or((text, text));
    let parsed = shortest.trim().parse().ok().zip(longest.trim().parse().ok());
    parsed
        .filter(|(shortest, longest)| shortest <= longest && *longest <= VALUE_BYTES_MAX)
        .map(|(shortest, longest)| shortest..=longest)
        .ok_or_else(|| format!("{text:?} is no range of bytes: 300..600 would be one"))
}

fn parse_rate(text: &str) -> Result<f64, String> {
    match parse_count(text)? {
        0 => Err("nothing would be done".to_owned()),
        rate => Ok(rate as f64),
    }
}
