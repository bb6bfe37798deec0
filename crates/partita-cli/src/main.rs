//! The `partita` command-line tool: one file per command.
//!
//! | module | holds |
//! |---|---|
//! | [`sst`] | `partita sst …`: tools for single tables |
//! | [`db`] | `partita db …`: tools for databases |
//! | [`mod@bench`] | `partita bench …`: what the engine does under load |
//! | [`doctor`] | `partita doctor` |
//! | [`budget_bench`] | `partita budget-bench` |
//! | [`filter_bench`] | `partita filter-bench` |
//! | [`serve`] | `partita serve`: figures over HTTP |
//! | [`listen`] | the same of a command that runs for long |
//! | [`inputs`] | which files the command line names |
//! | [`outcome`] | what the exit code says |
//! | [`output`] | standard output and standard error |
//! | [`progress`] | a status line for long work |
//! | [`columns`] | columns of text that line up |
//! | [`escape`] | keys and values as text |
#![forbid(unsafe_code)]

mod bench;
mod budget_bench;
mod columns;
mod db;
mod doctor;
mod escape;
mod filter_bench;
#[cfg(test)]
mod guide;
mod inputs;
mod listen;
mod outcome;
mod output;
mod progress;
mod serve;
mod sst;
use partita_doctor::units;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tools for RocksDB's databases and table files.
#[derive(Parser)]
#[command(name = "partita", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Look into SST files, check them and rewrite them.
    #[command(subcommand)]
    Sst(sst::Command),
    /// Measure what the engine does under load.
    #[command(subcommand)]
    Bench(bench::Command),
    BudgetBench(budget_bench::BudgetBench),
    /// Look into databases, and write to them.
    #[command(subcommand)]
    Db(db::Command),
    Doctor(doctor::Doctor),
    FilterBench(filter_bench::FilterBench),
    Serve(serve::Serve),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Sst(command) => command.run(),
        Command::Bench(command) => command.run(),
        Command::BudgetBench(command) => command.run(),
        Command::Db(command) => command.run(),
        Command::Doctor(command) => command.run(),
        Command::FilterBench(command) => command.run(),
        Command::Serve(command) => command.run(),
    };
    output::exit_code(result)
}
