//! Filters of Partita and of RocksDB 11.8.1 side by side, on the same keys, filters and queries.
//!
//! `cargo run --release -p partita-compat-latest --bin filter-bench -- --help`

use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use partita_compat_latest::compare::{Settings, compare};
use partita_compat_latest::contender::Kind;

fn main() -> ExitCode {
    let matches = command().get_matches();
    for kind in kinds(&matches) {
        match compare(&settings(&matches, kind)) {
            Ok(comparison) => println!("{comparison}"),
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn command() -> Command {
    let number = |name: &'static str, default: &'static str, help: &'static str| {
        Arg::new(name).long(name).default_value(default).help(help)
    };
    Command::new("filter-bench")
        .about(
            "Filters of Partita and of RocksDB 11.8.1, compiled plainly and with AVX2, side by side.\n\
             Contenders take turns in rounds; figures are medians, ratios are medians over rounds.",
        )
        .arg(
            Arg::new("impl")
                .long("impl")
                .value_parser(["bloom", "ribbon", "legacy-bloom"])
                .action(ArgAction::Append)
                .help("Kind of filter; may be repeated [default: bloom and ribbon]"),
        )
        .arg(number("bits-per-key", "10", "Bits per key, for Ribbon of the Bloom filter that errs as often")
            .value_parser(value_parser!(f64)))
        .arg(number("working-mem-mb", "200", "MiB of filters that each contender holds")
            .value_parser(value_parser!(f64)))
        .arg(number("average-keys-per-filter", "10000", "Keys per filter; varies by 40 % either way")
            .value_parser(value_parser!(u32).range(1..)))
        .arg(number("key-size", "24", "Bytes per key").value_parser(value_parser!(u32).range(8..=4096)))
        .arg(number("batch-size", "8", "Keys per batch").value_parser(value_parser!(u32).range(1..=1024)))
        .arg(number("rounds", "200", "Rounds per row").value_parser(value_parser!(u32).range(1..)))
        .arg(number("queries", "8192", "Queries per round").value_parser(value_parser!(u32).range(1..)))
        .arg(number("seed", "0", "Seed of the queries").value_parser(value_parser!(u64)))
        .arg(
            Arg::new("net-excludes-hashing")
                .long("net-excludes-hashing")
                .action(ArgAction::SetTrue)
                .help("Subtract the cost of hashing too, as RocksDB's filter_bench does by default"),
        )
        .arg(
            Arg::new("quick")
                .long("quick")
                .action(ArgAction::SetTrue)
                .help("Mixed queries only, a quarter of the rounds"),
        )
}

fn kinds(matches: &ArgMatches) -> Vec<Kind> {
    let Some(names) = matches.get_many::<String>("impl") else {
        return vec![Kind::Bloom, Kind::Ribbon];
    };
    names
        .map(|name| match name.as_str() {
            "bloom" => Kind::Bloom,
            "ribbon" => Kind::Ribbon,
            _ => Kind::LegacyBloom,
        })
        .collect()
}

fn settings(matches: &ArgMatches, kind: Kind) -> Settings {
    let float = |name: &str| *matches.get_one::<f64>(name).expect("it has a default");
    let number = |name: &str| *matches.get_one::<u32>(name).expect("it has a default");
    let quick = matches.get_flag("quick");
    Settings {
        kind,
        bits_per_key: float("bits-per-key"),
        working_mem_bytes: (float("working-mem-mb") * f64::from(1 << 20)) as usize,
        average_keys_per_filter: number("average-keys-per-filter"),
        key_len: number("key-size") as usize,
        batch_len: number("batch-size") as usize,
        rounds: if quick { number("rounds").div_ceil(4) } else { number("rounds") } as usize,
        queries: number("queries") as usize,
        seed: *matches.get_one::<u64>("seed").expect("it has a default"),
        is_hashing_excluded: matches.get_flag("net-excludes-hashing"),
        is_quick: quick,
    }
}
