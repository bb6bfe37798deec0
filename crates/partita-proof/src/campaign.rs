//! A proof over many seeds: some at once, for a number of seeds or a time, with what was found at the end.

use std::fmt::Display;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Which seeds, and how.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// What is proven, for the lines that are printed.
    pub name: &'static str,
    /// The seeds, first to last.
    pub seeds: Range<u64>,
    /// How long new seeds are begun; without a limit all are.
    pub time: Option<Duration>,
    /// How many at once.
    pub threads: usize,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Outcome<T> {
    /// Seeds that were done.
    pub done: u64,
    /// The sum of what they count.
    pub sum: T,
    /// Seeds that failed, with what was said.
    pub failures: Vec<(u64, String)>,
}

impl Campaign {
    /// Proves each seed. A panic is a failure of its seed.
    ///
    /// * Failures are printed when they happen, and every ten seconds how far it got.
    pub fn run<T, P>(&self, prove: P, add: impl Fn(&mut T, T) + Sync) -> Outcome<T>
    where
        T: Default + Send,
        P: Fn(u64) -> Result<T, String> + Sync,
    {
        const BETWEEN_LINES: Duration = Duration::from_secs(10);
        let begun = Instant::now();
        let next = AtomicU64::new(self.seeds.start);
        let shared = Mutex::new((Outcome::<T>::default(), begun));
        let work = || loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            let in_time = self.time.is_none_or(|time| begun.elapsed() < time);
            if seed >= self.seeds.end || !in_time {
                return;
            }
            let proven = catch_unwind(AssertUnwindSafe(|| prove(seed)));
            let proven = proven.unwrap_or_else(|panic| Err(message_of(&*panic)));
            let mut shared = shared.lock().expect("nobody panics with it");
            let (outcome, printed) = &mut *shared;
            outcome.done += 1;
            match proven {
                Ok(counted) => add(&mut outcome.sum, counted),
                Err(said) => {
                    eprintln!("{}, seed {seed}: {said}", self.name);
                    outcome.failures.push((seed, said));
                }
            }
            if printed.elapsed() >= BETWEEN_LINES {
                *printed = Instant::now();
                self.print(outcome, begun);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.threads.max(1) {
                scope.spawn(work);
            }
            work();
        });
        let (outcome, _) = shared.into_inner().expect("nobody panics with it");
        self.print(&outcome, begun);
        outcome
    }

    fn print<T>(&self, outcome: &Outcome<T>, begun: Instant) {
        let (name, done, failures) = (self.name, outcome.done, outcome.failures.len());
        let seconds = begun.elapsed().as_secs();
        println!("{name}: {done} seeds in {seconds} s, {failures} failed");
    }
}

impl<T> Outcome<T> {
    /// The seeds that failed, as arguments.
    pub fn failed_seeds(&self) -> impl Display {
        let seeds: Vec<String> = self.failures.iter().map(|(seed, _)| seed.to_string()).collect();
        seeds.join(" ")
    }
}

fn message_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().map(str::to_owned);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_is_proven_and_failures_name_theirs() {
        let campaign = Campaign { name: "test", seeds: 5..25, time: None, threads: 3 };
        let prove = |seed| match seed {
            7 => Err("seven".to_owned()),
            9 => panic!("nine"),
            seed => Ok(seed),
        };
        let mut outcome = campaign.run(prove, |sum: &mut u64, seed| *sum += seed);
        outcome.failures.sort();
        assert_eq!((outcome.done, outcome.sum), (20, (5..25).sum::<u64>() - 16));
        assert_eq!(outcome.failures, [(7, "seven".to_owned()), (9, "nine".to_owned())]);
    }
}
