//! A stretch of the load, measured.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::engine::{Engine, Figures};
use super::target::Done;
use crate::clock::process_time;
use crate::lookups::PerRole;
use crate::memory::Resident;

/// What a stretch of the load came to. What stands for a moment is of its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Rounds that were done since the load began: about as many keys.
    pub keys: u64,
    /// Rounds of this stretch; each allocates a key and commits another.
    pub rounds: u64,
    /// What was done in them.
    pub done: Done,
    /// Seconds.
    pub seconds: f64,
    /// Seconds of processors, background work included.
    pub cpu_seconds: f64,
    /// Microseconds that half of the rounds take at most, from when they were due.
    pub p50_us: f64,
    /// Microseconds that 99 of 100 rounds take at most.
    pub p99_us: f64,
    /// Microseconds of the longest round.
    pub max_us: f64,
    /// Blocks that reads found in the cache.
    pub hits: PerRole<u64>,
    /// Blocks that reads took from files.
    pub reads: PerRole<u64>,
    /// Bytes that were put into the cache.
    pub inserted_bytes: PerRole<u64>,
    /// Bytes that are charged to the budget, without memtables.
    pub cached_bytes: PerRole<u64>,
    /// Bytes of memtables.
    pub memtable_bytes: u64,
    /// The most that resident memory was, all of the process.
    pub resident_bytes: u64,
    /// Bytes that compactions have to write until the levels have their sizes.
    pub debt_bytes: u64,
    /// Bytes of tables.
    pub table_bytes: u64,
    /// Bytes of changes, as batches hold them.
    pub batch_bytes: u64,
    /// Bytes of tables that flushes and compactions wrote.
    pub written_bytes: u64,
    /// Seconds that writers were made to wait.
    pub stall_seconds: f64,
}

/// Resident memory beyond budget and memtables that is allowed: a share of both, and the program itself.
const SLACK_SHARE: f64 = 0.1;
const SLACK_BYTES: f64 = (64 << 20) as f64;

impl Row {
    /// Keys that were allocated and committed in a second.
    pub fn keys_per_second(&self) -> f64 {
        self.rounds as f64 / self.seconds
    }

    /// Processor time of a key, background work included.
    pub fn cpu_us_per_key(&self) -> f64 {
        self.cpu_seconds * 1e6 / self.rounds as f64
    }

    /// The share of blocks that reads found in the cache; nothing where none was asked for.
    pub fn hit_ratio(&self) -> PerRole<Option<f64>> {
        self.hits
            .zip(self.reads)
            .map(|(hits, reads)| (hits + reads > 0).then(|| hits as f64 / (hits + reads) as f64))
    }

    /// What resident memory has to stay below: budget and memtables, a tenth of both, and 64 MiB.
    pub fn resident_limit_bytes(&self, budget_bytes: u64) -> f64 {
        (budget_bytes + self.memtable_bytes) as f64 * (1.0 + SLACK_SHARE) + SLACK_BYTES
    }
}

/// Measures a stretch.
pub(super) struct Meter {
    begun: Instant,
    cpu: Duration,
    figures: Figures,
    done: Done,
    nanos: Histogram<u64>,
}

/// Of latencies.
const SIGNIFICANT_DIGITS: u8 = 2;

impl Meter {
    /// Begins a stretch.
    pub(super) fn begin(engine: &dyn Engine, done: Done) -> Result<Self, String> {
        Resident::forget_peak();
        Ok(Self {
            begun: Instant::now(),
            cpu: process_time(),
            figures: engine.figures(),
            done,
            nanos: Histogram::new(SIGNIFICANT_DIGITS).map_err(|error| error.to_string())?,
        })
    }

    /// Counts a round.
    pub(super) fn round(&mut self, took: Duration) {
        // The histogram grows: nothing is too long for it.
        let _ = self.nanos.record(took.as_nanos() as u64);
    }

    /// Ends the stretch.
    ///
    /// * `rounds`: since the load began.
    pub(super) fn end(self, rounds: u64, engine: &dyn Engine, done: Done) -> Row {
        let (seconds, cpu) = (self.begun.elapsed(), process_time().saturating_sub(self.cpu));
        let (now, before) = (engine.figures(), self.figures);
        let quantile_us = |quantile| self.nanos.value_at_quantile(quantile) as f64 / 1e3;
        Row {
            keys: rounds,
            rounds: self.nanos.len(),
            done: done - self.done,
            seconds: seconds.as_secs_f64(),
            cpu_seconds: cpu.as_secs_f64(),
            p50_us: quantile_us(0.50),
            p99_us: quantile_us(0.99),
            max_us: self.nanos.max() as f64 / 1e3,
            hits: now.hits - before.hits,
            reads: now.reads - before.reads,
            inserted_bytes: now.inserted_bytes - before.inserted_bytes,
            cached_bytes: now.cached_bytes,
            memtable_bytes: now.memtable_bytes,
            resident_bytes: Resident::of_this_process().peak,
            debt_bytes: now.debt_bytes,
            table_bytes: now.table_bytes,
            batch_bytes: now.batch_bytes - before.batch_bytes,
            written_bytes: now.written_bytes - before.written_bytes,
            stall_seconds: (now.stall_micros - before.stall_micros) as f64 / 1e6,
        }
    }
}
