//! `partita-proof`: proofs over many histories, for as long as one likes.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Arg, Command, value_parser};
use partita_proof::campaign::Campaign;
use partita_proof::crash::{self, Cuts};
use partita_proof::faults::{self, Faults};
use partita_proof::metamorphic;
use partita_proof::subject::Compared;

fn main() -> ExitCode {
    let matches = command().get_matches();
    let (name, arguments) = matches.subcommand().expect("clap asks for one");
    let seeds = arguments.get_one::<u64>("seed").copied().unwrap_or(0);
    let count = arguments.get_one::<u64>("histories").copied().unwrap_or(u64::MAX - seeds);
    let minutes = arguments.get_one::<u64>("minutes");
    let steps = arguments.get_one::<usize>("steps").copied().unwrap_or(0);
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
        _ => unreachable!("clap knows the commands"),
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
    Command::new("partita-proof")
        .about("Random histories of whole databases, and what is proven with them")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(over_seeds(metamorphic, "400"))
        .subcommand(over_seeds(crash, "60"))
        .subcommand(over_seeds(faults, "60"))
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
