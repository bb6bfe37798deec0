//! Tables of Partita and of RocksDB 11.8.1 side by side.
//!
//! `cargo run --release -p partita-compat-latest --bin table-bench -- --help`

use std::process::ExitCode;

use clap::{Arg, ArgMatches, Command, value_parser};
use partita_compat_latest::table_bench::{Settings, compare};

fn main() -> ExitCode {
    let matches = command().get_matches();
    for &block_bytes in matches.get_many::<usize>("block-size").expect("it has a default") {
        if let Err(error) = run(&matches, block_bytes) {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn run(matches: &ArgMatches, block_bytes: usize) -> Result<(), String> {
    let number = |name: &str| *matches.get_one::<usize>(name).expect("it has a default");
    let settings = Settings {
        entries: number("entries"),
        block_bytes,
        rounds: number("rounds"),
        queries: number("queries"),
        seed: number("seed") as u64,
    };
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    println!("{}", compare(scratch.path(), settings)?);
    Ok(())
}

fn command() -> Command {
    let number = |name: &'static str, default: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .default_value(default)
            .value_parser(value_parser!(usize))
            .help(help)
    };
    Command::new("table-bench")
        .about(
            "Tables written and read by Partita and by RocksDB 11.8.1, without a block cache.\n\
             Contenders take turns in rounds; figures are medians, ratios are medians over rounds.",
        )
        .arg(number("entries", "2000000", "Entries of the table"))
        .arg(
            number("block-size", "4096", "Bytes of a data block; several, divided by commas")
                .value_delimiter(',')
                .default_value("4096,65536"),
        )
        .arg(number("rounds", "30", "Rounds per row"))
        .arg(number("queries", "2000", "Lookups per round"))
        .arg(number("seed", "1", "Seed of values and lookups"))
}
