//! The command line of the benchmark.

use std::path::PathBuf;

use clap::Args;

use super::engine::Tables;
use super::plan::{Contender, Files, Settings, Source};
use crate::amounts::{parse_count, parse_size};
use crate::layout::Layout;
use crate::lookups::{Effort, Keyspace, Mix};

/// What to run, as a command line says it.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// Entries of all ledgers together, as in 50M.
    #[arg(long, default_value = "10M", value_parser = parse_count)]
    keys: u64,
    /// Ledgers that they are spread over, written side by side.
    #[arg(long, default_value = "1000", value_parser = parse_count)]
    ledgers: u64,
    /// Entries that are written together, sorted, as a bookie's write cache is flushed.
    #[arg(long, default_value = "250k", value_parser = parse_count)]
    flush_entries: u64,
    /// Budgets of memory, divided by commas.
    #[arg(long, default_value = "16MiB,64MiB,256MiB", value_delimiter = ',', value_parser = parse_size)]
    budget: Vec<u64>,
    /// Layouts of index and filter, divided by commas.
    #[arg(long, default_value = "full,partitioned", value_delimiter = ',', value_parser = parse_layout)]
    layout: Vec<Layout>,
    /// Sizes of data blocks, divided by commas. Indexes of blocks smaller than a bookie's 64 KiB have a whole key every 16
    /// entries.
    #[arg(long, default_value = "64KiB", value_delimiter = ',', value_parser = parse_size)]
    block_size: Vec<u64>,
    /// Threads that ask.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,
    /// Seconds that warming up may take, for each kind of lookups; it ends when the blocks read per lookup have settled.
    #[arg(long, default_value_t = 20.0)]
    warmup: f64,
    /// Seconds that each kind of lookups is timed for, after it is warm.
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Directory for what is loaded, and kept for the next run: about 10 bytes per key, for each layout and size of blocks.
    /// Default: one in the system's directory for temporary files.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Read this index instead, a bookie's `locations` directory, made by RocksDB or Partita; it stays as it is.
    #[arg(long, conflicts_with_all = ["keys", "ledgers", "flush_entries", "layout", "block_size", "dir"])]
    db: Option<PathBuf>,
    /// Seed of the keys that are asked for.
    #[arg(long, default_value_t = 1)]
    seed: u32,
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
            self.layout.iter().flat_map(|layout| self.block_size.iter().map(move |b| (layout, b)))
        {
            let tables = Tables::with_blocks(*layout, block_bytes)?;
            let name = match &self.block_size[..] {
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
        for (name, seconds) in [("--seconds", self.seconds), ("--warmup", self.warmup)] {
            if !(seconds > 0.0 && seconds <= 3600.0) {
                return Err(format!("{name} {seconds}: not in 0 to 3600 seconds"));
            }
        }
        if self.budget.iter().any(|&bytes| bytes < 1 << 20) {
            return Err("--budget: 1 MiB is the least".to_owned());
        }
        let effort =
            Effort::new(usize::from(self.threads), Mix::Present, self.seconds, self.seed.into());
        let effort = effort.with_warm_up(self.warmup);
        let mut budgets_bytes = self.budget.clone();
        budgets_bytes.sort_unstable();
        budgets_bytes.dedup();
        let (source, mixes) = match &self.db {
            Some(dir) => (Source::Directory(dir.clone()), vec![Mix::Present, Mix::Last]),
            None => (self.loaded(files)?, vec![Mix::Present, Mix::Absent, Mix::Last]),
        };
        Ok(Settings { source, contenders, budgets_bytes, mixes, effort })
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

fn parse_layout(text: &str) -> Result<Layout, String> {
    match text.trim() {
        "full" => Ok(Layout::Full),
        "partitioned" => Ok(Layout::Partitioned),
        _ => Err(format!("{text:?} is no layout: full or partitioned")),
    }
}
