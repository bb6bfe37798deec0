//! `partita doctor`: what cache and filters do to whoever reads a database, and what to do about it.

mod fix;
mod html;
mod shape;
mod simulation;
mod text;

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use partita::io::DiskFileSystem;
use partita_bench::PageFile;
use partita_bench::amounts::parse_size;
use partita_doctor::cache::{CacheKind, SHARD_BITS_MAX};
use partita_doctor::{Examined, Report, Request, Severity, examine_with_progress};

use crate::outcome::Outcome;
use crate::output;
use crate::progress::Progress;
use simulation::SimulateArgs;

/// Look at RocksDB's directories and say what is wrong with their caches and filters.
///
/// A directory is that of a database, or one that has databases below it: a bookie's ledger directory, a tree of state
/// stores. Nothing is written, and its owner may be at work. Each finding comes with its evidence, with what it means, and
/// with the exact setting that mends it.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "\
Examples:
  partita doctor /var/lib/db
  partita doctor fix /var/lib/db --to /var/lib/db-fixed
  partita doctor --cache 256m --cache-kind lru /bookie/current
  partita doctor --options conf/bk_server.conf --memory 4g --growth 4x /bookie/current
  partita doctor --html report.html /var/lib/db
  partita doctor --simulate=zipf --budgets 64m,256m,1g --html report.html /var/lib/db
  partita doctor --trace keys.txt /var/lib/db
  partita doctor --trace block_cache.trace --budgets 64m,256m /var/lib/db
  partita doctor --json /var/lib/db | jq '.databases[].findings[] | select(.severity == \"error\")'

--json prints one object.
  databases  [dir, rocksdb_version, writer, is_being_written, shape, compatibility, verified, simulation, findings]
  findings   [severity (note, warning, error), code, title, families, figures [name, label, value],
              evidence (noun, total, columns, rows), consequence, remedies [what, rocksdb, partita, then]]
             at the top: what only all databases together show
  problems   [file, message, is_damage, is_unsupported]: what could not be looked at
Sizes are in bytes, shares from 0 to 1, times in seconds.

Exit code: 0 nothing is wrong, 1 there are findings that --fail-on asks for, 2 something could not be looked at.")]
pub(crate) struct Doctor {
    #[command(subcommand)]
    command: Option<Command>,
    /// Directories of databases, or above them.
    #[arg(value_name = "DIR", required = true)]
    dirs: Vec<PathBuf>,
    /// The capacity of the block cache: 64m, 1g. By default what LOG says, or else RocksDB's default.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    cache: Option<u64>,
    /// The kind of the block cache.
    #[arg(long, value_name = "KIND")]
    cache_kind: Option<Kind>,
    /// The number of its shards, as a power of two. By default RocksDB's choice.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=i64::from(SHARD_BITS_MAX)))]
    shard_bits: Option<u32>,
    /// What you asked for: an options file or ini, or a bookie's bk_server.conf. It is judged, and held against what holds.
    #[arg(long, value_name = "FILE")]
    options: Option<PathBuf>,
    /// The directories of tables, as db_paths has them, in its order. By default all tables stand in DIR.
    #[arg(long, value_name = "DIR")]
    db_path: Vec<PathBuf>,
    /// The memory that index and filters outside of the cache may have.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory: Option<u64>,
    /// By how much the data may grow: 2x,4x.
    #[arg(long, value_name = "TIMES", value_delimiter = ',', value_parser = parse_times)]
    growth: Vec<f64>,
    /// Read every block of every table, and check it.
    #[arg(long)]
    verify: bool,
    /// From which severity on findings make the exit code 1.
    #[arg(long, value_name = "SEVERITY", default_value = "warning")]
    fail_on: FailOn,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Write the report as a page for a browser, too; a file that exists is replaced.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    simulation: SimulateArgs,
}

#[derive(Subcommand)]
enum Command {
    Fix(fix::Fix),
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    Lru,
    HyperClock,
}

#[derive(Clone, Copy, ValueEnum)]
enum FailOn {
    Warning,
    Error,
}

impl Doctor {
    /// Looks and tells. The error is one of standard output.
    pub(crate) fn run(&self) -> io::Result<Outcome> {
        if let Some(Command::Fix(fix)) = &self.command {
            return fix.run();
        }
        // Sooner refused than after the work.
        let page = match self.html.as_deref().map(PageFile::reserve).transpose() {
            Ok(page) => page,
            Err(error) => {
                output::complain(error);
                return Ok(Outcome::Unseen);
            }
        };
        let mut progress = Progress::new(0, self.json);
        let report = examine_with_progress(
            &DiskFileSystem,
            &self.dirs,
            &self.request(),
            &mut |path, bytes| {
                progress.next_file(path);
                progress.tick(bytes);
            },
        );
        progress.clear();
        let mut out = output::stdout();
        if self.json {
            serde_json::to_writer_pretty(&mut out, &report)?;
            writeln!(out)?;
        } else {
            for problem in &report.problems {
                output::complain(problem);
            }
            text::write(&mut out, &report)?;
        }
        out.flush()?;
        let mut outcome = self.outcome(&report);
        if let Some(page) = page
            && let Err(error) = page.write(&html::page(&report))
        {
            output::complain(error);
            outcome.merge(Outcome::Unseen);
        }
        Ok(outcome)
    }

    fn request(&self) -> Request {
        Request {
            cache_bytes: self.cache,
            cache_kind: self.cache_kind.map(|kind| match kind {
                Kind::Lru => CacheKind::Lru,
                Kind::HyperClock => CacheKind::HyperClock,
            }),
            shard_bits: self.shard_bits,
            options_file: self.options.clone(),
            memory_bytes: self.memory,
            growth: self.growth.clone(),
            verify: self.verify,
            table_dirs: self.db_path.clone(),
            simulate: self.simulation.asked(),
        }
    }

    fn outcome(&self, report: &Report) -> Outcome {
        let fail_on = match self.fail_on {
            FailOn::Warning => Severity::Warning,
            FailOn::Error => Severity::Error,
        };
        if report.worst().is_some_and(|worst| worst >= fail_on) {
            Outcome::Damage
        } else if !report.problems.is_empty() {
            Outcome::Unseen
        } else {
            Outcome::Clean
        }
    }
}

/// `4x` or `4` as a factor.
fn parse_times(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches(['x', 'X']);
    let times = number.parse::<f64>().ok().filter(|times| (1.0..=1e6).contains(times));
    times.ok_or_else(|| format!("{text:?} is no growth: expected 2x, 4x"))
}

/// A bookie keeps its databases under these names.
fn is_bookie(database: &Examined) -> bool {
    database.dir.file_name().is_some_and(|name| name == "locations" || name == "ledgers")
}
