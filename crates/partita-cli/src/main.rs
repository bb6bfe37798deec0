//! The `partita` command-line tool: one file per command.
#![forbid(unsafe_code)]

mod filter_bench;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tools for RocksDB's files and databases.
#[derive(Parser)]
#[command(name = "partita", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    FilterBench(filter_bench::FilterBench),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::FilterBench(command) => command.run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("partita: {message}");
            ExitCode::FAILURE
        }
    }
}
