//! A [crowd](crate::crowd) in memory, in schedules drawn from a seed.
//!
//! Built with `--cfg shuttle`, all threads are tasks of one thread of the system, also those of the database, and wherever one
//! of them takes a lock, waits, or touches an atomic that decides something, the seed says who goes on: the same seed gives the
//! same schedule. Each runs in a process of its own, so that none knows what ran before. If nobody can go on, that is a
//! deadlock, and a failure.
//!
//! In any other build the threads are the system's, and a seed gives what is done, not in which order.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fastrand::Rng;
use partita::io::{
    Clock, Job, ManualClock, ManualScheduler, MemoryFileSystem, Priority, Scheduler, ThreadPool,
};

use crate::crowd::others::{Checkpointer, Compactor, Flusher, Guests, Time};
use crate::crowd::reader::{Reader, Seen};
use crate::crowd::script::{Script, Size};
use crate::crowd::writer::Writer;
use crate::crowd::{Counted, Crowd, Length, Member};
use crate::options::{Common, OptionSet, Readers};
use crate::ours::Place;
use crate::state::Order;
use crate::step::Slot;

/// Whether seeds draw schedules.
pub const SEEDED: bool = cfg!(shuttle);

/// Has the crowd of this seed do so many rounds each, in the schedule of this seed.
///
/// * On a failure: what was found.
pub fn prove(seed: u64, rounds: u32) -> Result<Counted, String> {
    #[cfg(shuttle)]
    return seeded::in_schedule(seed, move || history(seed, rounds));
    #[cfg(not(shuttle))]
    history(seed, rounds)
}

/// The same in a process of its own.
pub fn prove_in_child(seed: u64, rounds: u32) -> Result<Counted, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let arguments = ["schedules", "--here", "--histories", "1"];
    let child = Command::new(program)
        .args(arguments)
        .args(["--seed", &seed.to_string(), "--steps", &rounds.to_string()])
        .output()
        .map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&child.stdout);
    let counted = said.lines().find_map(|line| Counted::parse(line.strip_prefix(COUNTED)?));
    match counted.filter(|_| child.status.success()) {
        Some(counted) => Ok(counted),
        None => Err(format!("{}\n{}", child.status, String::from_utf8_lossy(&child.stderr))),
    }
}

/// What a child says first, before its counts.
pub const COUNTED: &str = "counted: ";

/// Ends the process if it hangs, which is a failure of its seed.
pub fn end_if_it_hangs() {
    const LONGEST: Duration = Duration::from_secs(300);
    std::thread::spawn(|| {
        std::thread::sleep(LONGEST);
        eprintln!("it hangs");
        std::process::exit(3);
    });
}

fn history(seed: u64, rounds: u32) -> Result<Counted, String> {
    let mut random = Rng::with_seed(seed);
    let crew = Arc::new(Crew::default());
    let clock = Arc::new(SharedClock::default());
    let place = place(seed, &crew, &clock);
    let set = place.options[0].clone();
    let scripts = random.u8(2..4);
    let mut crowd = Crowd::new(place, 0, seed, scripts);
    let mut members = members(seed, &mut random, scripts, crowd.order());
    members.push(Box::new(Time { clock: Arc::clone(&clock.0), later: Arc::clone(&crew.later) }));
    let openings = random.u32(1..3);
    for _ in 0..openings {
        let closes_in_use = random.usize(..3) == 0;
        let length = Length::Rounds(rounds / openings);
        crowd
            .gather(&mut members, length, closes_in_use, |_, _| ())
            .map_err(|said| format!("{said}\n{set:?}"))?;
    }
    let seen = Seen::new(scripts_of(seed, scripts, crowd.order()));
    crowd
        .end(&mut members[..usize::from(scripts)], seen)
        .map_err(|said| format!("{said}\n{set:?}"))?;
    if crew.panicked.load(Ordering::Relaxed) {
        return Err("a background job panicked".to_owned());
    }
    Ok(crowd.counts.counted())
}

fn place(seed: u64, crew: &Arc<Crew>, clock: &Arc<SharedClock>) -> Place {
    let order = if seed % 4 == 3 { Order::Reverse } else { Order::Forward };
    let common = Common { order, is_universal: seed % 4 == 1, readers: Readers::Rocks11 };
    let mut set = OptionSet::draw(seed, common);
    if seed.is_multiple_of(2) {
        // Memtables that fill up within a few rounds.
        set = set.with_family("write_buffer_size", "6000");
    }
    // A larger one has more locks on a machine with more processors.
    set.budget_bytes = set.budget_bytes.min(4 << 20);
    Place {
        fs: Arc::new(MemoryFileSystem::new()),
        dir: "/proof/db".into(),
        scheduler: Some(Arc::clone(crew) as _),
        clock: Some(Arc::clone(clock) as _),
        order,
        options: vec![set],
    }
}

fn scripts_of(seed: u64, scripts: u8, order: Order) -> Vec<Script> {
    (0..scripts).map(|number| Script::new(seed, number, number == 1, order, Size::SMALL)).collect()
}

/// Those who write come first.
fn members(seed: u64, random: &mut Rng, scripts: u8, order: Order) -> Vec<Box<dyn Member>> {
    let all = scripts_of(seed, scripts, order);
    let seen = Seen::new(all.clone());
    let mut members: Vec<Box<dyn Member>> = Vec::new();
    for script in all {
        members.push(Box::new(Writer::new(script)));
    }
    members.push(Box::new(Reader::new(seed, 0, seen.clone())));
    let mut may_come = |member: Box<dyn Member>| {
        if random.bool() {
            members.push(member);
        }
    };
    may_come(Box::new(Reader::new(seed, 1, seen.clone())));
    may_come(Box::new(Flusher::new(seed)));
    may_come(Box::new(Flusher::new(seed + 1)));
    may_come(Box::new(Compactor::new(seed, 0)));
    may_come(Box::new(Compactor::new(seed, 1)));
    may_come(Box::new(Checkpointer::new(seed, seen.clone())));
    may_come(Box::new(Guests::new(seed, seen.clone(), Slot(2))));
    may_come(Box::new(Guests::new(seed, seen, Slot(3))));
    members
}

/// Threads for jobs; those that wait for some time wait until they are told that it has passed.
#[derive(Debug)]
struct Crew {
    threads: ThreadPool,
    later: Arc<ManualScheduler>,
    panicked: Arc<AtomicBool>,
}

impl Default for Crew {
    fn default() -> Self {
        Self {
            threads: ThreadPool::new(1, 2),
            later: Arc::new(ManualScheduler::in_order()),
            panicked: Arc::default(),
        }
    }
}

impl Scheduler for Crew {
    fn spawn(&self, priority: Priority, job: Job) {
        let panicked = Arc::clone(&self.panicked);
        let job = move || {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(job)) {
                panicked.store(true, Ordering::Relaxed);
                resume_unwind(panic);
            }
        };
        self.threads.spawn(priority, Box::new(job));
    }

    fn spawn_later(&self, delay: Duration, priority: Priority, job: Job) {
        self.later.spawn_later(delay, priority, job);
    }
}

/// A clock that others go on with while somebody sleeps.
#[derive(Debug, Default)]
struct SharedClock(Arc<ManualClock>);

impl Clock for SharedClock {
    fn unix_micros(&self) -> u64 {
        self.0.unix_micros()
    }

    fn monotonic_nanos(&self) -> u64 {
        self.0.monotonic_nanos()
    }

    fn sleep(&self, duration: Duration) {
        self.0.sleep(duration);
        #[cfg(not(shuttle))]
        std::thread::yield_now();
        #[cfg(shuttle)]
        shuttle::thread::yield_now();
    }
}

#[cfg(shuttle)]
mod seeded;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_the_order_in_which_threads_get_on_they_see_beginnings_of_scripts() {
        let mut sum = Counted::default();
        for seed in 0..8 {
            sum.add(prove(seed, 12).unwrap_or_else(|said| panic!("seed {seed}: {said}")));
        }
        assert!(sum.moments > 50 && sum.ingests > 0 && sum.checkpoints > 0, "{sum:?}");
        assert!(sum.closed_in_use > 0 && sum.families > 0 && sum.compactions > 0, "{sum:?}");
    }
}
