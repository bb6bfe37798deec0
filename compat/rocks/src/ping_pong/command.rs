//! The command `ping-pong`: histories for as long as one likes.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Arg, ArgMatches, Command, value_parser};
use partita_proof::campaign::{Campaign, Outcome};
use partita_proof::options::Readers;

use super::Engine;
use super::play::{Arena, Inspect, Tally};
use super::script::Setting;

/// Who can take part in this program.
pub struct Company<'e> {
    /// In each history; Partita first.
    pub regulars: &'e [&'e dyn Engine],
    /// In some only.
    pub guests: &'e [&'e dyn Engine],
    /// RocksDB's tools.
    pub inspect: Option<Inspect>,
    /// Who has to read the options.
    pub readers: Readers,
}

impl Company<'_> {
    /// All that take part.
    pub fn arena(&self, program: Option<PathBuf>) -> Arena<'_> {
        let engines = self.regulars.iter().chain(self.guests).copied().collect();
        Arena { engines, inspect: None, program }
    }

    /// The history with this seed; guests take part in every `guests_every`th, in none if that is 0.
    pub fn setting(&self, seed: u64, steps: usize, guests_every: u64) -> Setting {
        let with_guests = guests_every > 0 && seed.is_multiple_of(guests_every);
        let count = self.regulars.len() + if with_guests { self.guests.len() } else { 0 };
        Setting::draw(seed, steps, (0..count).collect(), self.readers)
    }
}

/// A short form of the campaign, for tests: each seed is played, and RocksDB's tools look at every twelfth database.
///
/// * `program`: the command, whose processes are killed.
///
/// # Panics
/// If anything differs.
pub fn prove(
    company: &Company<'_>,
    program: &str,
    seeds: Range<u64>,
    steps: usize,
    guests_every: u64,
) -> Tally {
    let campaign = Campaign { name: "ping-pong", seeds, time: None, threads: 2 };
    let work = tempfile::tempdir().expect("a directory can be made");
    let play = Play { steps, guests_every, inspect_every: 12 };
    let outcome = play.run(company, &campaign, program.into(), work.path());
    if !outcome.failures.is_empty() {
        panic!("seeds {} failed, see {}", outcome.failed_seeds(), work.keep().display());
    }
    outcome.sum
}

/// What is played.
struct Play {
    steps: usize,
    guests_every: u64,
    inspect_every: u64,
}

impl Play {
    fn run(
        &self,
        company: &Company<'_>,
        campaign: &Campaign,
        program: PathBuf,
        work: &Path,
    ) -> Outcome<Tally> {
        let arena = company.arena(Some(program.clone()));
        let inspected = Arena { inspect: company.inspect, ..company.arena(Some(program)) };
        let prove = |seed: u64| {
            let is_inspected = self.inspect_every > 0 && seed.is_multiple_of(self.inspect_every);
            let arena = if is_inspected { &inspected } else { &arena };
            arena.play(&company.setting(seed, self.steps, self.guests_every), work)
        };
        campaign.run(prove, Tally::add)
    }
}

/// The program.
pub fn main(company: &Company<'_>) -> ExitCode {
    let matches = command().get_matches();
    match matches.get_one::<u64>("turn") {
        Some(turn) => take_turn(company, &matches, *turn),
        None => play_all(company, &matches),
    }
}

fn play_all(company: &Company<'_>, matches: &ArgMatches) -> ExitCode {
    let number = |name: &str| matches.get_one::<u64>(name).copied().expect("it has a default");
    let seed = number("seed");
    let campaign = Campaign {
        name: "ping-pong",
        seeds: seed..seed + number("histories"),
        time: matches.get_one::<u64>("minutes").map(|it| Duration::from_secs(60 * it)),
        threads: number("threads") as usize,
    };
    let play = Play {
        steps: number("steps") as usize,
        guests_every: number("guests-every"),
        inspect_every: number("inspect-every"),
    };
    let program = std::env::current_exe().expect("the program knows where it is");
    let work = tempfile::tempdir_in(matches.get_one::<PathBuf>("dir").expect("it has a default"))
        .expect("a directory can be made there");
    let outcome = play.run(company, &campaign, program, work.path());
    println!("{:#?}", outcome.sum);
    if outcome.failures.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!("failed: {}; --seed N --histories 1 does one of them again", outcome.failed_seeds());
    eprintln!("their directories: {}", work.keep().display());
    ExitCode::FAILURE
}

/// One turn, after which somebody kills this process.
fn take_turn(company: &Company<'_>, matches: &ArgMatches, turn: u64) -> ExitCode {
    let number = |name: &str| matches.get_one::<u64>(name).copied().expect("it has a default");
    let roster = matches.get_one::<String>("roster").expect("it comes with --turn");
    let roster = roster.split(',').map(|at| at.parse().expect("a number")).collect();
    let dir = matches.get_one::<PathBuf>("dir").expect("it has a default");
    let steps = number("steps") as usize;
    let setting = Setting::draw(number("seed"), steps, roster, company.readers);
    match company.arena(None).take_turn(&setting, dir, turn as usize) {
        Ok((player, Tally { compared, .. })) => {
            println!("{} {} {} {}", compared.steps, compared.checks, compared.rows, compared.gets);
            // Whoever reads that kills this process; should he have died, it ends here.
            let _ = std::io::stdin().read_line(&mut String::new());
            drop(player);
            ExitCode::SUCCESS
        }
        Err(said) => {
            println!("{}", said.replace('\n', " "));
            ExitCode::FAILURE
        }
    }
}

fn command() -> Command {
    let number = |name: &'static str, default: &'static str, help: &'static str| {
        let arg = Arg::new(name).long(name).value_name("N").value_parser(value_parser!(u64));
        arg.default_value(default).help(help)
    };
    let optional = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("N").value_parser(value_parser!(u64)).help(help)
    };
    let dir = Arg::new("dir").long("dir").value_name("DIR").value_parser(value_parser!(PathBuf));
    Command::new("ping-pong")
        .about("Partita and RocksDB take turns at the same directories, which random histories go through")
        .arg(number("seed", "0", "The first seed"))
        .arg(number("histories", "100", "How many histories"))
        .arg(optional("minutes", "No new history is begun after so many minutes"))
        .arg(number("steps", "160", "Steps of a history"))
        .arg(number("threads", "2", "How many histories at once"))
        .arg(number("guests-every", "16", "In every Nth history guests take part, if there are any; 0: in none"))
        .arg(number("inspect-every", "50", "RocksDB's tools look at every Nth database in the end; 0: at none"))
        .arg(dir.default_value("/dev/shm").help("Where databases are made"))
        .arg(optional("turn", "Takes one turn and waits to be killed").hide(true))
        .arg(Arg::new("roster").long("roster").requires("turn").hide(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_well_formed() {
        command().debug_assert();
    }
}
