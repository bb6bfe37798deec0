//! What a workload costs the process that runs it.

use std::fs;
use std::time::{Duration, Instant};

use partita_bench::clock::process_time;
use partita_bench::memory::Resident;
use serde_json::{Value, json};

/// Started with the work; asked when it is done.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    wall: Instant,
    processor: Duration,
    written: u64,
}

/// What passed on a meter.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Seconds on the wall.
    pub seconds: f64,
    /// Seconds that all threads spent on processors.
    pub processor_seconds: f64,
    /// Bytes given to the system's calls that write files.
    pub written_bytes: f64,
}

impl Meter {
    /// Starts; the peak of memory starts anew, too.
    pub fn start() -> Self {
        Resident::forget_peak();
        Self { written: written_bytes(), processor: process_time(), wall: Instant::now() }
    }

    /// What passed since the start.
    pub fn read(&self) -> Cost {
        Cost {
            seconds: self.wall.elapsed().as_secs_f64(),
            processor_seconds: (process_time() - self.processor).as_secs_f64(),
            written_bytes: (written_bytes() - self.written) as f64,
        }
    }
}

/// Of this process, by the system's account; 0 where there is none.
fn written_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("wchar:"));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

/// What one engine did in one round of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Records written or rows seen or keys found, as the workload has it.
    pub operations: f64,
    /// Bytes of keys and values that were written.
    pub user_bytes: f64,
    /// Until the last operation was done.
    pub work: Cost,
    /// Until no compaction was due, the work included.
    pub settled: Cost,
    /// Seconds that the threads which operate spent on processors, where it is measured.
    pub own_seconds: f64,
    /// Most memory resident.
    pub peak_bytes: f64,
    /// What both engines must agree on.
    pub check: f64,
}

impl Figures {
    /// As a child tells its parent.
    pub fn to_json(self) -> Value {
        let cost = |cost: Cost| json!([cost.seconds, cost.processor_seconds, cost.written_bytes]);
        json!({
            "operations": self.operations,
            "user_bytes": self.user_bytes,
            "work": cost(self.work),
            "settled": cost(self.settled),
            "own_seconds": self.own_seconds,
            "peak_bytes": self.peak_bytes,
            "check": self.check,
        })
    }

    /// Back again; `None` if it is not that.
    pub fn from_json(json: &Value) -> Option<Self> {
        let number = |name: &str| json.get(name)?.as_f64();
        let cost = |name: &str| {
            let part = |at: usize| json.get(name)?.get(at)?.as_f64();
            Some(Cost { seconds: part(0)?, processor_seconds: part(1)?, written_bytes: part(2)? })
        };
        Some(Self {
            operations: number("operations")?,
            user_bytes: number("user_bytes")?,
            work: cost("work")?,
            settled: cost("settled")?,
            own_seconds: number("own_seconds")?,
            peak_bytes: number("peak_bytes")?,
            check: number("check")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_sees_what_is_written() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let meter = Meter::start();
        fs::write(file.path(), [0; 5_000]).unwrap();
        let cost = meter.read();
        assert!(cost.written_bytes >= 5_000.0 && cost.seconds > 0.0, "{cost:?}");
    }

    #[test]
    fn figures_come_through_json() {
        let cost = |n: f64| Cost { seconds: n, processor_seconds: n + 0.5, written_bytes: 7.0 };
        let (work, settled) = (cost(1.0), cost(2.0));
        let figures = Figures { operations: 3.0, work, settled, check: 9.0, ..Figures::default() };
        let text = figures.to_json().to_string();
        assert_eq!(Figures::from_json(&serde_json::from_str(&text).unwrap()), Some(figures));
        assert_eq!(Figures::from_json(&json!({"operations": 1})), None);
    }
}
