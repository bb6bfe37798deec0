//! Databases written, read, compacted and opened by Partita and by RocksDB 11.8.1.
//!
//! `cargo run --release -p partita-compat-latest --bin db-bench -- --help`

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use partita_compat_latest::database_bench::{Engine, Settings, Task, Workload, perform, run};

/// Of both engines, RocksDB's C++ included.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    match printed(&command().get_matches()) {
        Ok(text) => {
            println!("{}", text.trim_end());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn printed(matches: &ArgMatches) -> Result<String, String> {
    let settings = settings(matches)?;
    if let Some(workload) = matches.get_one::<String>("task") {
        let workload = workload_named(workload)?;
        let engine = matches.get_one::<String>("with").and_then(|name| Engine::named(name));
        let dir = matches.get_one::<PathBuf>("in").cloned().ok_or("a task needs a directory")?;
        return perform(&Task { workload, engine, dir }, &settings);
    }
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let report = run(&settings, &arguments, &mut |what| eprintln!("{what}"))?;
    Ok(if matches.get_flag("json") { report.to_json().to_string() } else { report.to_string() })
}

fn workload_named(name: &str) -> Result<Workload, String> {
    let names = || Workload::ALL.map(Workload::name).join(", ");
    Workload::named(name).ok_or_else(|| format!("no workload {name:?}; there are {}", names()))
}

fn settings(matches: &ArgMatches) -> Result<Settings, String> {
    let number = |name: &str| *matches.get_one::<u64>(name).expect("it has a default");
    let workloads = match matches.get_one::<String>("workloads") {
        Some(names) => names.split(',').map(workload_named).collect::<Result<_, _>>()?,
        None => Workload::ALL.to_vec(),
    };
    let engines = match matches.get_one::<String>("engine") {
        Some(name) => Engine::named(name).into_iter().collect(),
        None => Engine::ALL.to_vec(),
    };
    let default_dir = || std::env::temp_dir().join("partita-db-bench");
    Ok(Settings {
        root: matches.get_one::<PathBuf>("dir").cloned().unwrap_or_else(default_dir),
        workloads,
        engines,
        rounds: number("rounds") as usize,
        kilo_records: number("kilo-records"),
        kilo_rows: number("kilo-rows"),
        compact_mib: number("compact-mib"),
        seconds: number("seconds"),
        writes_per_second: number("writes-per-second"),
        files: number("files"),
        budget_mib: number("budget-mib"),
    })
}

fn command() -> Command {
    let number = |name: &'static str, default: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .default_value(default)
            .value_parser(value_parser!(u64).range(1..=1_000_000))
            .help(help)
    };
    let path = |name: &'static str| Arg::new(name).long(name).value_parser(value_parser!(PathBuf));
    Command::new("db-bench")
        .about(
            "Databases of Partita and of RocksDB 11.8.1 with the same settings, in turns, each in a process of its own:\n\
             bookie, bookie-no-log, random, overwrite, read-while-writing, scan, reverse, compact, compact-locations,\n\
             open, open-cold. Figures are medians; ratios are medians, with quartiles, of the rounds' ratios.",
        )
        .arg(path("dir").help(
            "Directory for the files, some GiB; what workloads start with is kept there [default: one in the\n\
             system's directory for temporary files]",
        ))
        .arg(Arg::new("workloads").long("workloads").help("Workloads, divided by commas [default: all]"))
        .arg(
            Arg::new("engine")
                .long("engine")
                .value_parser(["partita", "rocksdb"])
                .help("One engine alone, for a profiler [default: both]"),
        )
        .arg(number("rounds", "3", "Rounds of each workload"))
        .arg(number("kilo-records", "5000", "Entry locations in thousands: 24 bytes each, blocks of 64 KiB"))
        .arg(number("kilo-rows", "2000", "Rows in thousands: 116 bytes each, blocks of 4 KiB"))
        .arg(number("compact-mib", "1024", "MiB of keys and values that are compacted by hand"))
        .arg(number("seconds", "5", "Seconds of reading while writing"))
        .arg(number("writes-per-second", "20000", "Rows put in a second meanwhile"))
        .arg(number("files", "2000", "Tables of the directory that is opened, about"))
        .arg(number("budget-mib", "512", "MiB of memory: Partita's budget; RocksDB's block cache and write buffers"))
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Prints JSON"))
        .arg(Arg::new("task").long("task").hide(true))
        .arg(Arg::new("with").long("with").hide(true))
        .arg(path("in").hide(true))
}
