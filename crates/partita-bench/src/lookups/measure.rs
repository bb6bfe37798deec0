//! Lookups by some threads, measured.
//!
//! 1. Warm up, in rounds, until a round reads as many blocks as the one before.
//! 2. Time, with counters off.
//! 3. Count, with counters on.
//! 4. Time each lookup by itself, for the latencies.

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::engine::{Answer, Counters, Engine, PerRole, Session};
use super::keys::{Key, KeyStream, Mix, Population};
use crate::clock::Stopwatch;

/// How a cell is measured; the same for all cells of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effort {
    /// Threads that ask.
    pub threads: usize,
    /// What they ask for.
    pub mix: Mix,
    /// Seconds of the timed phase; half of it for the counted one.
    pub seconds: f64,
    /// Lookups in a round of the warm-up.
    pub warm_up_gets: u64,
    /// A round ends after this time, too.
    pub warm_up_seconds: f64,
    /// Rounds after which a cell that has not settled is measured all the same.
    pub warm_up_rounds: usize,
    /// Seed of the keys.
    pub seed: u64,
}

impl Effort {
    /// The usual effort for warming up.
    pub fn new(threads: usize, mix: Mix, seconds: f64, seed: u64) -> Self {
        Self {
            threads,
            mix,
            seconds,
            warm_up_gets: 100_000,
            warm_up_seconds: 2.0_f64.max(seconds),
            warm_up_rounds: 20,
            seed,
        }
    }

    /// The same with this many seconds for warming up, at most.
    #[must_use]
    pub fn with_warm_up(self, seconds: f64) -> Self {
        let warm_up_seconds = seconds / self.warm_up_rounds as f64;
        Self { warm_up_seconds, ..self }
    }
}

/// What lookups came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Lookups per second of all threads.
    pub gets_per_second: f64,
    /// Processor time of a lookup.
    pub cpu_us_per_get: f64,
    /// Microseconds on the wall that half of the lookups take at most.
    pub p50_us: f64,
    /// Microseconds on the wall that 99 of 100 lookups take at most.
    pub p99_us: f64,
    /// Blocks read per lookup.
    pub reads_per_get: PerRole<f64>,
    /// Blocks looked at per lookup, whether they were in the cache or had to be read.
    #[serde(default)]
    pub looks_per_get: PerRole<f64>,
    /// Bytes read per lookup.
    pub bytes_per_get: PerRole<f64>,
    /// Blocks found in the cache, of those asked for; nothing if none was.
    pub hit_rate: PerRole<Option<f64>>,
    /// Bytes charged to the budget.
    pub charged_bytes: PerRole<u64>,
    /// Lookups of the warm-up.
    pub warm_up_gets: u64,
    /// Whether the number of blocks read had settled.
    pub settled: bool,
}

/// Keys that are asked for between two looks at the clock.
const CHUNK: usize = 128;
/// Rounds differ by less than this part once they have settled ...
const SETTLED_RATIO: f64 = 0.02;
/// ... or by less than this many blocks per lookup.
const SETTLED_READS: f64 = 0.005;
/// Time between two looks at the clock is long where every lookup reads megabytes, so fewer keys make a chunk.
const CHUNK_SECONDS: f64 = 0.05;
/// Of latencies.
const SIGNIFICANT_DIGITS: u8 = 2;

/// Measures lookups.
///
/// * Errors: the engine's; wrong answers.
pub fn measure(
    engine: &dyn Engine,
    population: &Population,
    effort: &Effort,
) -> Result<Measured, String> {
    let mut phases = Phases { engine, population, effort, number: 0, chunk: CHUNK };
    let (warm_up_gets, settled) = phases.warm_up()?;
    let timed = phases.run(u64::MAX, effort.seconds, Watch::Time)?;
    let counted = phases.run(u64::MAX, effort.seconds / 2.0, Watch::Count)?;
    let charged_bytes = engine.charged();
    let each = phases.run(u64::MAX, effort.seconds / 2.0, Watch::Each)?;
    let quantile_us = |quantile| each.nanos.value_at_quantile(quantile) as f64 / 1e3;
    let per_get = |count: u64| count as f64 / counted.gets as f64;
    let Counters { reads, bytes, hits } = counted.counters;
    Ok(Measured {
        gets_per_second: timed.gets as f64 / timed.wall.as_secs_f64(),
        cpu_us_per_get: timed.cpu.as_secs_f64() * 1e6 / timed.gets as f64,
        p50_us: quantile_us(0.50),
        p99_us: quantile_us(0.99),
        reads_per_get: reads.map(per_get),
        looks_per_get: hits.zip(reads).map(|(hits, reads)| per_get(hits + reads)),
        bytes_per_get: bytes.map(per_get),
        hit_rate: hits
            .zip(reads)
            .map(|(hits, reads)| (hits + reads > 0).then(|| hits as f64 / (hits + reads) as f64)),
        charged_bytes,
        warm_up_gets,
        settled,
    })
}

/// What a phase looks at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Watch {
    /// The clock, around many lookups.
    Time,
    /// The counters.
    Count,
    /// The clock, around each lookup.
    Each,
}

struct Phases<'a> {
    engine: &'a dyn Engine,
    population: &'a Population,
    effort: &'a Effort,
    /// Every phase asks for other keys.
    number: u64,
    chunk: usize,
}

struct Phase {
    gets: u64,
    wall: Duration,
    cpu: Duration,
    counters: Counters,
    /// Of each lookup, if each was timed.
    nanos: Histogram<u64>,
}

impl Default for Phase {
    fn default() -> Self {
        let nanos = Histogram::new(SIGNIFICANT_DIGITS).expect("so many digits can be had");
        let (wall, cpu) = (Duration::ZERO, Duration::ZERO);
        Self { gets: 0, wall, cpu, counters: Counters::default(), nanos }
    }
}

impl Phases<'_> {
    /// Returns the number of lookups, and whether the blocks read per lookup have settled.
    fn warm_up(&mut self) -> Result<(u64, bool), String> {
        let mut gets = 0;
        let mut before = f64::INFINITY;
        for round in 0..self.effort.warm_up_rounds {
            let phase =
                self.run(self.effort.warm_up_gets, self.effort.warm_up_seconds, Watch::Count)?;
            gets += phase.gets;
            let seconds_per_get =
                phase.wall.as_secs_f64() * self.effort.threads as f64 / phase.gets as f64;
            self.chunk = ((CHUNK_SECONDS / seconds_per_get) as usize).clamp(1, CHUNK);
            let now = phase.counters.reads.total() as f64 / phase.gets as f64;
            let difference = (now - before).abs();
            if round >= 2 && difference <= SETTLED_READS.max(now * SETTLED_RATIO) {
                return Ok((gets, true));
            }
            before = now;
        }
        Ok((gets, false))
    }

    /// Asks for `gets` keys, or until time is up.
    fn run(&mut self, gets: u64, seconds: f64, watch: Watch) -> Result<Phase, String> {
        let threads = self.effort.threads as u64;
        let first_seed = self.effort.seed.wrapping_mul(1_000_003) + self.number * threads;
        self.number += 1;
        let start = Instant::now();
        let deadline = start + Duration::from_secs_f64(seconds);
        let sum = Mutex::new(Ok(Phase::default()));
        thread::scope(|scope| {
            for thread in 0..threads {
                let (this, sum) = (&*self, &sum);
                scope.spawn(move || {
                    let part = this.one_thread(
                        first_seed + thread,
                        gets.div_ceil(threads),
                        deadline,
                        watch,
                    );
                    add(&mut sum.lock().expect("no thread panics while it adds"), part);
                });
            }
        });
        let mut sum = sum.into_inner().expect("as above")?;
        sum.wall = start.elapsed();
        Ok(sum)
    }

    fn one_thread(
        &self,
        seed: u64,
        gets: u64,
        deadline: Instant,
        watch: Watch,
    ) -> Result<Phase, String> {
        let mut session = self.engine.session();
        session.set_counting(watch == Watch::Count);
        let mut stream = KeyStream::new(self.population, self.effort.mix, seed);
        let mut keys = [Key::default(); CHUNK];
        let keys = &mut keys[..self.chunk];
        let mut phase = Phase::default();
        while phase.gets < gets {
            let expected = stream.fill(keys);
            let stopwatch = Stopwatch::start();
            let answer = if watch == Watch::Each {
                each_by_itself(&mut *session, keys, &mut phase.nanos)?
            } else {
                session.get_each(keys)?
            };
            phase.cpu += stopwatch.elapsed();
            phase.gets += keys.len() as u64;
            check(answer, expected)?;
            if Instant::now() >= deadline {
                break;
            }
        }
        phase.counters = session.counters();
        Ok(phase)
    }
}

fn each_by_itself(
    session: &mut dyn Session,
    keys: &[Key],
    nanos: &mut Histogram<u64>,
) -> Result<Answer, String> {
    let mut answer = Answer::default();
    for key in keys {
        let start = Instant::now();
        answer += session.get_each(std::slice::from_ref(key))?;
        let taken = start.elapsed().as_nanos() as u64;
        // It grows as needed; what is too long for it even so counts as its longest.
        if nanos.record(taken).is_err() {
            nanos.saturating_record(taken);
        }
    }
    Ok(answer)
}

/// Compares an engine's answer with what it must be.
pub(crate) fn check(answer: Answer, expected: Answer) -> Result<(), String> {
    if answer == expected {
        return Ok(());
    }
    Err(format!("wrong answers: {answer:?}, expected {expected:?}"))
}

/// Adds a thread's part to the sum; the first error stays.
fn add(sum: &mut Result<Phase, String>, part: Result<Phase, String>) {
    match (&mut *sum, part) {
        (Ok(sum), Ok(part)) => {
            sum.gets += part.gets;
            sum.cpu += part.cpu;
            sum.counters += part.counters;
            sum.nanos += part.nanos;
        }
        (Ok(_), Err(error)) => *sum = Err(error),
        (Err(_), _) => {}
    }
}
