//! `partita-proof`: proofs over many histories, for as long as one likes.

#[cfg(not(shuttle))]
use std::alloc::System;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[cfg(not(shuttle))]
use cap::Cap;
#[cfg(not(shuttle))]
use clap::ArgMatches;
use clap::{Arg, ArgAction, Command, value_parser};
use partita_proof::campaign::Campaign;
use partita_proof::crash::{self, Cuts};
use partita_proof::crowd::Counted;
use partita_proof::faults::{self, Faults};
use partita_proof::history::history;
use partita_proof::metamorphic;
use partita_proof::options::Readers;
use partita_proof::schedules;
use partita_proof::subject::Compared;
#[cfg(not(shuttle))]
use partita_proof::{crowd::script::Size, soak::Soak};

/// Counts what is allocated, for the soak.
#[cfg(not(shuttle))]
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

fn main() -> ExitCode {
    let matches = command().get_matches();
    let (name, arguments) = matches.subcommand().expect("clap asks for one");
    let seeds = arguments.get_one::<u64>("seed").copied().unwrap_or(0);
    if name == "show" {
        show(seeds, arguments.get_one::<usize>("steps").copied().unwrap_or(0));
        return ExitCode::SUCCESS;
    }
    let count = arguments
        .try_get_one::<u64>("histories")
        .ok()
        .flatten()
        .copied()
        .unwrap_or(u64::MAX - seeds);
    let minutes = arguments.get_one::<u64>("minutes");
    let steps = arguments.try_get_one::<usize>("steps").ok().flatten().copied().unwrap_or(0);
    let campaign = |name| Campaign {
        name,
        seeds: seeds..seeds + count,
        time: minutes.map(|minutes| Duration::from_secs(60 * minutes)),
        threads: arguments.get_one::<usize>("threads").copied().unwrap_or(1),
    };
    match name {
        "metamorphic" => {
            let variants = arguments.get_one::<u64>("variants").copied().unwrap_or(1);
            let prove = |seed| metamorphic::prove(seed, steps, variants);
            let outcome = campaign("metamorphic").run(prove, Compared::add);
            println!("{:?}", outcome.sum);
            ended(outcome.failures.is_empty(), &outcome.failed_seeds().to_string())
        }
        "crash" => {
            let every = arguments.get_one::<u64>("every").copied().unwrap_or(1);
            let outcome = campaign("crash").run(|seed| crash::prove(seed, steps, every), Cuts::add);
            println!("{:?}", outcome.sum);
            ended(outcome.failures.is_empty(), &outcome.failed_seeds().to_string())
        }
        "faults" => {
            let every = arguments.get_one::<u64>("every").copied().unwrap_or(1);
            let prove = |seed| faults::prove(seed, steps, every);
            let outcome = campaign("faults").run(prove, Faults::add);
            println!("{:?}", outcome.sum);
            ended(outcome.failures.is_empty(), &outcome.failed_seeds().to_string())
        }
        #[cfg(not(shuttle))]
        "soak" => soak(arguments),
        "schedules" if arguments.get_flag("here") => {
            schedules::end_if_it_hangs();
            let counted = schedules::prove(seeds, steps as u32);
            match counted.map(|it| it.to_numbers()) {
                Ok(numbers) => {
                    println!("{}{numbers}", schedules::COUNTED);
                    ExitCode::SUCCESS
                }
                Err(said) => {
                    eprintln!("{said}");
                    ExitCode::FAILURE
                }
            }
        }
        "schedules" => {
            if !schedules::SEEDED {
                eprintln!(
                    "built without RUSTFLAGS=\"--cfg shuttle\": the system schedules the threads"
                );
            }
            let prove = |seed| schedules::prove_in_child(seed, steps as u32);
            let outcome = campaign("schedules").run(prove, Counted::add);
            println!("{:?}", outcome.sum);
            ended(outcome.failures.is_empty(), &outcome.failed_seeds().to_string())
        }
        _ => unreachable!("clap knows the commands"),
    }
}

#[cfg(not(shuttle))]
fn soak(arguments: &ArgMatches) -> ExitCode {
    let minutes = arguments.get_one::<u64>("minutes").copied().unwrap_or(30);
    let dir = arguments.get_one::<PathBuf>("dir").cloned().unwrap_or_else(|| {
        std::env::temp_dir().join(format!("partita-soak-{}", std::process::id()))
    });
    let soak = Soak {
        dir,
        time: Duration::from_secs(60 * minutes),
        openings: 4 + minutes as u32 / 2,
        seed: arguments.get_one::<u64>("seed").copied().unwrap_or(0),
        size: Size::LARGE,
        heap_bytes: || ALLOCATOR.allocated() as u64,
    };
    match soak.run() {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(said) => {
            eprintln!("soak: {said}");
            ExitCode::FAILURE
        }
    }
}

fn show(seed: u64, steps: usize) {
    for (at, set) in crash::sets(seed, Readers::Rocks11).iter().enumerate() {
        println!("options {at}: {set:?}");
    }
    for (at, step) in history(seed, &crash::plan(seed, steps)).iter().enumerate() {
        println!("step {at}: {step:?}");
    }
}

fn ended(is_proven: bool, failed: &str) -> ExitCode {
    if is_proven {
        return ExitCode::SUCCESS;
    }
    eprintln!(
        "failed: {failed}; the same command with --seed N --histories 1 does one of them again"
    );
    ExitCode::FAILURE
}

fn command() -> Command {
    let numbers = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("N").value_parser(value_parser!(u64)).help(help)
    };
    let sizes = |name: &'static str, help: &'static str, default: &'static str| {
        let parser = value_parser!(usize);
        Arg::new(name)
            .long(name)
            .value_name("N")
            .value_parser(parser)
            .default_value(default)
            .help(help)
    };
    let over_seeds = |command: Command, steps: &'static str| {
        command
            .arg(numbers("seed", "The first seed").default_value("0"))
            .arg(numbers("histories", "How many seeds").default_value("100"))
            .arg(numbers("minutes", "No new seed is begun after so many minutes"))
            .arg(sizes("steps", "Steps of a history", steps))
            .arg(sizes("threads", "How many at once", "2"))
    };
    let metamorphic = Command::new("metamorphic")
        .about("One history under many option sets gives the same answers")
        .arg(numbers("variants", "Option sets for each history").default_value("8"));
    let crash = Command::new("crash")
        .about("A history is cut at every call of the file system; what is left is opened")
        .arg(numbers("every", "Of the calls, one in so many").default_value("1"));
    let faults = Command::new("faults")
        .about("A history in which one call of the file system goes wrong")
        .arg(numbers("every", "Of the calls, one in so many").default_value("1"));
    let schedules = Command::new("schedules")
        .about("Many threads use one database at once, in schedules drawn from seeds")
        .after_help("For seeds to draw schedules, build with RUSTFLAGS=\"--cfg shuttle\".")
        .arg(Arg::new("here").long("here").action(ArgAction::SetTrue).help(
            "In this process, and only the first seed; without it, each in a process of its own",
        ));
    let soak = Command::new("soak")
        .about("Many threads use one database on a disk; what it took, it gives back")
        .arg(numbers("minutes", "How long").default_value("30"))
        .arg(numbers("seed", "What is written").default_value("0"))
        .arg(
            Arg::new("dir")
                .long("dir")
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .help("A new directory, which is removed after; default: one for temporary files"),
        );
    let show = Command::new("show")
        .about("Prints the options and steps of a history that `crash` and `faults` do")
        .arg(numbers("seed", "The seed").default_value("0"))
        .arg(sizes("steps", "Steps of the history", "60"));
    Command::new("partita-proof")
        .about("Random histories of whole databases, and what is proven with them")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(over_seeds(metamorphic, "400"))
        .subcommand(show)
        .subcommand(over_seeds(crash, "60"))
        .subcommand(over_seeds(faults, "60"))
        .subcommand(over_seeds(schedules, "24"))
        .subcommands(cfg!(not(shuttle)).then_some(soak))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_well_formed() {
        command().debug_assert();
        let matches =
            command().get_matches_from(["partita-proof", "metamorphic", "--histories", "3"]);
        assert_eq!(matches.subcommand().unwrap().1.get_one::<u64>("histories"), Some(&3));
    }
}
