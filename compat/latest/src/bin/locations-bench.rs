//! An index of entry locations under budgets of memory, by Partita and by RocksDB 11.8.1.
//!
//! `cargo run --release -p partita-compat-latest --bin locations-bench -- --help`

use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Args as _, Command, FromArgMatches as _};
use partita_bench::children::{answer_parent, in_child};
use partita_bench::locations::{Arguments, LEGEND, Task, perform, run};
use partita_bench::setup::Setup;
use partita_compat_latest::location_cells::{aims, overview};
use partita_compat_latest::location_engines::{Both, contenders};
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
    let (files, contenders) = contenders()?;
    let wanted: Option<Vec<&String>> = matches.get_many("only").map(Iterator::collect);
    let is_wanted = |name: &String| wanted.as_ref().is_none_or(|wanted| wanted.contains(&name));
    let contenders: Vec<_> = contenders.into_iter().filter(|c| is_wanted(&c.name)).collect();
    let is_read = |name: &String| contenders.iter().any(|contender| contender.files == *name);
    let files = files.into_iter().filter(|files| is_read(&files.name)).collect();
    let settings = arguments.settings_of(files, contenders)?;
    let in_children = |task: &Task| in_child(&["--task"], task);
    let setup = Setup::of_this_process([("RocksDB".to_owned(), rocks_budget::version())]);
    let report = run(setup, &settings, &in_children, &mut |what| eprintln!("{what}"))?;
    if matches.get_flag("json") {
        return report.to_json();
    }
    Ok(format!("{report}\n{}\n{}", overview(&report), aims(&report)))
}

fn command() -> Command {
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
    };
    let command = Command::new("locations-bench")
        .about(
            "Look up entry locations, as a bookie does, with Partita and with RocksDB 11.8.1: A as a bookie has it, B\n\
             partitioned, C at its best. Every store is loaded once; every cell is measured in a process of its own.",
        )
        .arg(
            Arg::new("only")
                .long("only")
                .value_delimiter(',')
                .action(ArgAction::Append)
                .help("Contenders that take part, divided by commas [default: all]"),
        )
        .arg(flag("json", "Print JSON, of which `partita bench page FILE.json --report FILE.html` makes a page"))
        .arg(flag("legend", "Explain the columns of the report, without running"))
        .arg(Arg::new("task").long("task").hide(true));
    let hidden = ["layout", "block-size", "db"];
    let mut command = Arguments::augment_args(command);
    for name in hidden {
        command = command.mut_arg(name, |arg| arg.hide(true));
    }
    command
}
