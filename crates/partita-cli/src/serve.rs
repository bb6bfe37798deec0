//! `partita serve`: the figures of a database that another program writes.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use clap::Args;
use partita::cache::Cache;
use partita::db::DbBuilder;
use partita_watch::{Server, Watched};

use crate::listen::{bind, cannot_serve};
use crate::outcome::Outcome;
use crate::output;

/// Memory that the database is followed with: its memtables are built from the logs.
const CACHE_BYTES: usize = 256 << 20;

/// Serve the figures of a database over HTTP, while another program writes it.
///
/// /metrics has them in Prometheus' form, /health says whether all is well (503 if not), and / is a live page with charts. The
/// database is followed: nothing in its directory is written or locked, and its owner does not notice. Tables, levels, memtables
/// and sequence numbers are the database's; the owner's cache, stalls and compactions are known to the owner alone, who serves
/// them with the crate `partita-watch`.
///
/// The command runs until it is ended.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  partita serve /var/lib/db
  partita serve /var/lib/db --listen 127.0.0.1:0
  partita serve /var/lib/db --listen 0.0.0.0:9988 --listen-anywhere

docs/metrics.md has all metrics, docs/alerts.yml alert rules, docs/grafana/partita.json a dashboard.

Exit code: 1 damage was found when the database was opened, 2 it cannot be opened or the address not be had.")]
pub(crate) struct Serve {
    /// The directory of a database.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Answer at this address. Port 0 takes one that is free, and says which.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9988")]
    listen: SocketAddr,
    /// Let others than this machine reach that address.
    #[arg(long)]
    listen_anywhere: bool,
    /// Seconds between two looks at what the owner has written.
    #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=3600))]
    every: u64,
}

impl Serve {
    /// Serves; returns only if that cannot be begun.
    pub(crate) fn run(&self) -> io::Result<Outcome> {
        let builder = DbBuilder::new(&self.dir).cache(Cache::new(CACHE_BYTES));
        let watched = match Watched::follow(builder) {
            Ok(watched) => Arc::new(watched),
            Err(error) => {
                output::complain(&error);
                return Ok(Outcome::of_error(&error));
            }
        };
        let listener = bind(self.listen, self.listen_anywhere);
        let server = listener.and_then(|listener| {
            Server::start(listener, Arc::clone(&watched)).map_err(cannot_serve)
        });
        let _server = match server {
            Ok(server) => server,
            Err(error) => {
                output::complain(error);
                return Ok(Outcome::Unseen);
            }
        };
        loop {
            thread::sleep(Duration::from_secs(self.every));
            watched.catch_up();
        }
    }
}
