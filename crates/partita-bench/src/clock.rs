//! Time for benchmarks.

use std::time::Duration;

/// Time that this thread spent on a processor, where the system tells; else time on the wall.
///
/// On a shared machine the wall clock measures the neighbours.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    #[cfg(target_os = "linux")]
    start: Duration,
    #[cfg(not(target_os = "linux"))]
    start: std::time::Instant,
}

impl Stopwatch {
    /// Starts measuring.
    pub fn start() -> Self {
        Self {
            #[cfg(target_os = "linux")]
            start: thread_time(),
            #[cfg(not(target_os = "linux"))]
            start: std::time::Instant::now(),
        }
    }

    /// Time since the start.
    pub fn elapsed(self) -> Duration {
        #[cfg(target_os = "linux")]
        return thread_time().saturating_sub(self.start);
        #[cfg(not(target_os = "linux"))]
        return self.start.elapsed();
    }

    /// Nanoseconds since the start, over `operations`.
    pub fn ns_per(self, operations: u64) -> f64 {
        self.elapsed().as_nanos() as f64 / operations as f64
    }
}

#[cfg(target_os = "linux")]
fn thread_time() -> Duration {
    time_of(rustix::time::ClockId::ThreadCPUTime)
}

#[cfg(target_os = "linux")]
fn time_of(clock: rustix::time::ClockId) -> Duration {
    let time = rustix::time::clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Time that all threads of this process spent on processors; 0 where the system does not tell.
pub fn process_time() -> Duration {
    #[cfg(target_os = "linux")]
    return time_of(rustix::time::ClockId::ProcessCPUTime);
    #[cfg(not(target_os = "linux"))]
    return Duration::ZERO;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_time() {
        let watch = Stopwatch::start();
        let (mut sum, _before) = (0_u64, process_time());
        while watch.elapsed() < Duration::from_millis(1) {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(sum > 0);
        assert!(watch.ns_per(1) >= 1e6);
        #[cfg(target_os = "linux")]
        assert!(process_time() - _before >= Duration::from_millis(1));
    }
}
