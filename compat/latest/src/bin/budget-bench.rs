//! What a budget of memory buys with Partita and with RocksDB 11.8.1, on the same files, made by RocksDB.
//!
//! `cargo run --release -p partita-compat-latest --bin budget-bench -- --help`

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use partita_bench::budget::{
    Engines as _, LEGEND, Settings, Shape, Task, Turns, parse_budgets, perform, run,
};
use partita_bench::children::{answer_parent, in_child};
use partita_bench::lookups::{Effort, Keyspace, Mix};
use partita_compat_latest::budget_engines::{Both, RocksMaker};

/// Of both engines, RocksDB's C++ included: glibc's leaves holes that break any bound on resident memory.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let matches = command().get_matches();
    match printed(&matches) {
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
    if matches.get_flag("legend") {
        return Ok(LEGEND.to_owned());
    }
    if let Some(task) = matches.get_one::<String>("task") {
        return answer_parent(task, |task| perform(task, &Both));
    }
    let in_children = |task: &Task| in_child(&["--task"], task);
    let report = run(&settings(matches)?, &RocksMaker, Both.names(), &in_children, &mut |what| {
        eprintln!("{what}");
    })?;
    if matches.get_flag("json") { report.to_json() } else { Ok(report.to_string()) }
}

fn settings(matches: &ArgMatches) -> Result<Settings, String> {
    let number = |name: &str| *matches.get_one::<u64>(name).expect("it has a default");
    let text = |name: &str| matches.get_one::<String>(name).expect("it has a default").as_str();
    let shapes = match text("shape") {
        "run" => vec![Shape::Run],
        "natural" => vec![Shape::Natural],
        _ => vec![Shape::Run, Shape::Natural],
    };
    let mix = match text("mix") {
        "absent" => Mix::Absent,
        "zipf" => Mix::Zipf,
        _ => Mix::Present,
    };
    let seconds = *matches.get_one::<f64>("seconds").expect("it has a default");
    if !(seconds > 0.0 && seconds <= 3600.0) {
        return Err(format!("{seconds} seconds are not in 0 to 3600"));
    }
    let default_dir = || std::env::temp_dir().join("partita-budget-bench");
    let (turns, seed) = (number("turns") as usize, number("seed"));
    Ok(Settings {
        root: matches.get_one::<PathBuf>("dir").cloned().unwrap_or_else(default_dir),
        keyspace: Keyspace { ledgers: 1000, entries: number("kilo-keys") },
        shapes,
        budgets_bytes: parse_budgets(text("budgets"))?,
        effort: Effort::new(number("threads") as usize, mix, seconds, seed),
        rounds: number("rounds") as usize,
        turns: (turns > 0).then(|| Turns::new(turns, seed)),
    })
}

fn command() -> Command {
    let number = |name: &'static str, default: &'static str, lowest: u64, help: &'static str| {
        Arg::new(name)
            .long(name)
            .default_value(default)
            .value_parser(value_parser!(u64).range(lowest..=10_000_000))
            .help(help)
    };
    let choice = |name: &'static str, values: [&'static str; 3], help: &'static str| {
        Arg::new(name).long(name).default_value(values[0]).value_parser(values).help(help)
    };
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
    };
    Command::new("budget-bench")
        .about(
            "Lookups in a bookie's files under budgets of memory, by Partita and by RocksDB 11.8.1 with both of its\n\
             caches. RocksDB makes the files once, with full and with partitioned index and filter; every cell is\n\
             measured in a process of its own.",
        )
        .arg(Arg::new("dir").long("dir").value_parser(value_parser!(PathBuf)).help(
            "Directory for the files, 340 MiB; kept [default: one in the system's directory for temporary files]",
        ))
        .arg(number("kilo-keys", "10000", 1, "Keys in thousands, spread over 1,000 ledgers"))
        .arg(
            Arg::new("budgets")
                .long("budgets")
                .default_value("8,16,32,64,128,256,512,1024")
                .help("Budgets in MiB, divided by commas"),
        )
        .arg(choice("shape", ["both", "run", "natural"], "Shape of the files"))
        .arg(choice("mix", ["present", "absent", "zipf"], "Which keys are asked for"))
        .arg(number("threads", "4", 1, "Threads that ask"))
        .arg(
            Arg::new("seconds")
                .long("seconds")
                .default_value("2")
                .value_parser(value_parser!(f64))
                .help("Seconds that each cell is timed for, after it is warm"),
        )
        .arg(number("rounds", "1", 1, "Runs of each cell; the one of median throughput counts"))
        .arg(number("turns", "101", 0, "Rounds of the comparison in turns where everything fits"))
        .arg(number("seed", "1", 0, "Seed of the keys"))
        .arg(flag("json", "Print JSON"))
        .arg(flag("legend", "Explain the columns of the report, without running"))
        .arg(Arg::new("task").long("task").hide(true))
}
