//! The command line of the benchmark.

use std::path::PathBuf;

use clap::error::Error;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, value_parser};

use super::engine::{ReadMode, Tables};
use super::plan::{Contender, Files, Settings, Source};
use crate::amounts::{parse_count, parse_size};
use crate::arguments::{list_option, option, value_of, values_of};
use crate::layout::Layout;
use crate::lookups::{Effort, Keyspace, Mix};

/// What to run, as a command line says it.
#[derive(Clone, Debug)]
pub struct Arguments {
    keys: u64,
    ledgers: u64,
    flush_entries: u64,
    budgets: Vec<u64>,
    layouts: Vec<Layout>,
    block_sizes: Vec<u64>,
    threads: u64,
    warm_up_seconds: f64,
    seconds: f64,
    dir: Option<PathBuf>,
    db: Option<PathBuf>,
    read_mode: ReadMode,
    seed: u32,
}

impl Args for Arguments {
    fn augment_args(command: Command) -> Command {
        let loading = ["keys", "ledgers", "flush-entries", "layout", "block-size", "dir"];
        command
            .arg(
                option("keys", "COUNT", "10M", "Entries of all ledgers together, as in 50M")
                    .visible_alias("entries")
                    .value_parser(parse_count),
            )
            .arg(
                option("ledgers", "COUNT", "1000", "Ledgers that are written side by side")
                    .value_parser(parse_count),
            )
            .arg(
                option(
                    "flush-entries",
                    "COUNT",
                    "250k",
                    "Entries that are written together, sorted, as a bookie's write cache is flushed",
                )
                .value_parser(parse_count),
            )
            .arg(
                list_option("budget", "SIZES", "16MiB,64MiB,256MiB", "Budgets of memory, divided by commas")
                    .value_parser(parse_size),
            )
            .arg(
                list_option(
                    "layout",
                    "LAYOUTS",
                    "full,partitioned",
                    "Layouts of index and filter, divided by commas",
                )
                .value_parser(str::parse::<Layout>),
            )
            .arg(
                list_option(
                    "block-size",
                    "SIZES",
                    "64KiB",
                    "Sizes of data blocks, divided by commas. Indexes of blocks smaller than a bookie's 64 KiB have a \
                     whole key every 16 entries",
                )
                .value_parser(parse_size),
            )
            .arg(
                option("threads", "COUNT", "4", "Threads that ask")
                    .value_parser(value_parser!(u64).range(1..=1024)),
            )
            .arg(
                option(
                    "warmup",
                    "SECONDS",
                    "20",
                    "Time that warming up may take, for each kind of lookups; it ends when the blocks read per lookup \
                     have settled",
                )
                .value_parser(value_parser!(f64)),
            )
            .arg(
                option(
                    "seconds",
                    "SECONDS",
                    "1",
                    "Time that each kind of lookups is timed for, after it is warm",
                )
                .value_parser(value_parser!(f64)),
            )
            .arg(
                Arg::new("dir").long("dir").value_name("DIR").value_parser(value_parser!(PathBuf)).help(
                    "Directory for what is loaded, and kept for the next run: about 12 bytes per key, for each layout \
                     and size of blocks [default: one in the system's directory for temporary files]",
                ),
            )
            .arg(
                Arg::new("db")
                    .long("db")
                    .value_name("DIR")
                    .value_parser(value_parser!(PathBuf))
                    .conflicts_with_all(loading)
                    .help(
                        "Read this index instead, a bookie's `locations` directory, made by RocksDB or Partita; it \
                         stays as it is",
                    ),
            )
            .arg(
                option(
                    "read-mode",
                    "MODE",
                    "buffered",
                    "buffered: through the system's cache of files; direct: past it, each read from the device",
                )
                .value_parser(parse_read_mode),
            )
            .arg(
                option("seed", "NUMBER", "1", "Seed of the keys that are asked for")
                    .value_parser(value_parser!(u32)),
            )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Arguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(Self {
            keys: value_of(matches, "keys")?,
            ledgers: value_of(matches, "ledgers")?,
            flush_entries: value_of(matches, "flush-entries")?,
            budgets: values_of(matches, "budget"),
            layouts: values_of(matches, "layout"),
            block_sizes: values_of(matches, "block-size"),
            threads: value_of(matches, "threads")?,
            warm_up_seconds: value_of(matches, "warmup")?,
            seconds: value_of(matches, "seconds")?,
            dir: matches.get_one("dir").cloned(),
            db: matches.get_one("db").cloned(),
            read_mode: value_of(matches, "read-mode")?,
            seed: value_of(matches, "seed")?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// For blocks and memtables while loading: four write buffers of 64 MiB, and as much again.
const LOAD_BUDGET_BYTES: u64 = 512 << 20;

impl Arguments {
    /// What to run with Partita alone.
    ///
    /// * Errors: arguments that mean nothing together.
    pub fn settings(&self, engine: &str) -> Result<Settings, String> {
        let (mut files, mut contenders) = (Vec::new(), Vec::new());
        for (layout, &block_bytes) in
            self.layouts.iter().flat_map(|layout| self.block_sizes.iter().map(move |b| (layout, b)))
        {
            let tables = Tables::with_blocks(*layout, block_bytes)?;
            let name = match &self.block_sizes[..] {
                [_] => layout.to_string(),
                _ => format!("{layout} {}k", block_bytes >> 10),
            };
            files.push(Files { name: name.clone(), engine: engine.to_owned(), tables });
            contenders.push(Contender {
                name: name.clone(),
                engine: engine.to_owned(),
                files: name,
            });
        }
        if self.db.is_some() {
            let name = "as it is".to_owned();
            contenders = vec![Contender { name, engine: engine.to_owned(), files: String::new() }];
        }
        self.settings_of(files, contenders)
    }

    /// What to run with files and contenders of the caller's choice.
    ///
    /// * Errors: as [`Arguments::settings`].
    pub fn settings_of(
        &self,
        files: Vec<Files>,
        contenders: Vec<Contender>,
    ) -> Result<Settings, String> {
        for (name, seconds) in [("--seconds", self.seconds), ("--warmup", self.warm_up_seconds)] {
            if !(seconds > 0.0 && seconds <= 3600.0) {
                return Err(format!("{name} {seconds}: not in 0 to 3600 seconds"));
            }
        }
        if self.budgets.iter().any(|&bytes| bytes < 1 << 20) {
            return Err("--budget: 1 MiB is the least".to_owned());
        }
        let effort =
            Effort::new(self.threads as usize, Mix::Present, self.seconds, self.seed.into());
        let effort = effort.with_warm_up(self.warm_up_seconds);
        let mut budgets_bytes = self.budgets.clone();
        budgets_bytes.sort_unstable();
        budgets_bytes.dedup();
        let (source, mixes) = match &self.db {
            Some(dir) => (Source::Directory(dir.clone()), vec![Mix::Present, Mix::Last]),
            None => (self.loaded(files)?, vec![Mix::Present, Mix::Absent, Mix::Last]),
        };
        let read_mode = self.read_mode;
        Ok(Settings { source, contenders, budgets_bytes, read_mode, mixes, effort })
    }

    fn loaded(&self, files: Vec<Files>) -> Result<Source, String> {
        if self.ledgers == 0 || self.keys < self.ledgers || self.flush_entries == 0 {
            return Err("--keys, --ledgers, --flush-entries: every ledger has entries".to_owned());
        }
        let default_dir = || std::env::temp_dir().join("partita-bench-locations");
        Ok(Source::Loaded {
            root: self.dir.clone().unwrap_or_else(default_dir),
            files,
            keyspace: Keyspace { ledgers: self.ledgers, entries: self.keys / self.ledgers },
            flush_entries: self.flush_entries,
            load_budget_bytes: LOAD_BUDGET_BYTES,
        })
    }
}

fn parse_read_mode(text: &str) -> Result<ReadMode, String> {
    match text {
        "buffered" => Ok(ReadMode::Buffered),
        "direct" => Ok(ReadMode::Direct),
        _ => Err(format!("{text:?} is no way to read: buffered or direct")),
    }
}
