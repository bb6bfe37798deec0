//! The `partita` command-line tool.
#![forbid(unsafe_code)]

use clap::Parser;

/// Tools for RocksDB's files and databases.
#[derive(Parser)]
#[command(name = "partita", version, arg_required_else_help = true)]
struct Cli {}

fn main() {
    let Cli {} = Cli::parse();
}
