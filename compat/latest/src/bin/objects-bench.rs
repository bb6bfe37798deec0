//! The load of an object store's metadata, by Partita and by RocksDB 11.8.1 with Ozone's SSD profile.
//!
//! `cargo run --release -p partita-compat-latest --bin objects-bench -- --help`

use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Args as _, Command, FromArgMatches as _};
use partita_bench::children::{answer_parent, in_child};
use partita_bench::objects::{Arguments, LEGEND, Task, perform, run};
use partita_bench::setup::Setup;
use partita_compat_latest::object_engines::{Both, CONTENDERS, agreed, contenders, overview};
use partita_compat_latest::rocks_budget;

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
    let arguments = Arguments::from_arg_matches(matches).map_err(|error| error.to_string())?;
    let names = matches.get_many::<String>("engines").expect("it has a default");
    let settings = arguments.settings_of(contenders(names.map(String::as_str))?)?;
    let in_children = |task: &Task| in_child(&["--task"], task);
    let setup = Setup::of_this_process([("RocksDB".to_owned(), rocks_budget::version())]);
    let report = run(setup, &settings, &in_children, &mut |what| eprintln!("{what}"))?;
    agreed(&report)?;
    if matches.get_flag("json") {
        return report.to_json();
    }
    Ok(format!(
        "{report}\n{}\nAll stores have the same rows, read by either engine.",
        overview(&report)
    ))
}

fn command() -> Command {
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
    };
    let known = CONTENDERS.map(|(name, _, _)| name).join(", ");
    let command = Command::new("objects-bench")
        .about(
            "Load the metadata of an object store with Partita and with RocksDB 11.8.1, which has Ozone's SSD profile and\n\
             index and filter in the block cache, outside of it, or in it in partitions. Every load runs in a process of\n\
             its own; in the end both engines read all stores, which must have the same rows.",
        )
        .arg(
            Arg::new("engines")
                .long("engines")
                .value_delimiter(',')
                .action(ArgAction::Append)
                .default_value("partita,rocksdb-cached,rocksdb-outside,rocksdb-partitioned")
                .help(format!("Who is loaded, divided by commas: {known}")),
        )
        .arg(flag("json", "Print JSON, of which `partita bench page FILE.json --report FILE.html` makes a page"))
        .arg(flag("legend", "Explain the columns of the report, without running"))
        .arg(Arg::new("task").long("task").hide(true));
    Arguments::augment_args(command).mut_arg("layout", |arg| arg.hide(true))
}
