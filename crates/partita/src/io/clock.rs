use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time, and waiting for it to pass.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Microseconds since 1970 by the wall clock, for what is written to files. It may jump.
    fn unix_micros(&self) -> u64;

    /// The same in whole seconds.
    fn unix_seconds(&self) -> u64 {
        self.unix_micros() / 1_000_000
    }

    /// Nanoseconds since some moment in the past, for intervals. Never goes back.
    fn monotonic_nanos(&self) -> u64;

    /// Returns after that time.
    fn sleep(&self, duration: Duration);
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

#[expect(clippy::disallowed_methods, reason = "this is the seam that others use instead")]
impl Clock for SystemClock {
    fn unix_micros(&self) -> u64 {
        // A clock before 1970 gives 0 rather than a failure: the time is informational wherever it is stored.
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
    }

    fn monotonic_nanos(&self) -> u64 {
        use std::sync::OnceLock;
        use std::time::Instant;
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }

    fn sleep(&self, duration: Duration) {
        std::thread::sleep(duration);
    }
}

/// A clock that stands still until it is told to go on. Sleeping moves it and returns at once.
///
/// ```
/// use std::time::Duration;
/// use partita::io::{Clock, ManualClock};
///
/// let clock = ManualClock::at_unix_micros(1_000);
/// clock.advance(Duration::from_micros(5));
/// clock.sleep(Duration::from_micros(2));
/// assert_eq!((clock.unix_micros(), clock.monotonic_nanos()), (1_007, 7_000));
/// ```
#[derive(Debug, Default)]
pub struct ManualClock {
    start_micros: u64,
    passed_nanos: AtomicU64,
}

impl ManualClock {
    /// A clock that shows this wall time.
    pub fn at_unix_micros(micros: u64) -> Self {
        Self { start_micros: micros, passed_nanos: AtomicU64::new(0) }
    }

    /// Lets time pass.
    pub fn advance(&self, duration: Duration) {
        self.passed_nanos.fetch_add(duration.as_nanos() as u64, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn unix_micros(&self) -> u64 {
        self.start_micros + self.monotonic_nanos() / 1000
    }

    fn monotonic_nanos(&self) -> u64 {
        self.passed_nanos.load(Ordering::Relaxed)
    }

    fn sleep(&self, duration: Duration) {
        self.advance(duration);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_clock_goes_on_and_knows_the_century() {
        let clock = SystemClock;
        let before = clock.monotonic_nanos();
        clock.sleep(Duration::from_micros(10));
        assert!(clock.monotonic_nanos() >= before + 10_000);
        assert!(clock.unix_micros() > 1_500_000_000_000_000);
    }
}
