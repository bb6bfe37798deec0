//! What the system says of this process.

use std::fs;

use rustix::time::{ClockId, clock_gettime};

/// Figures of this process, which serves them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Process {
    /// Bytes of resident memory, where the system tells.
    pub(crate) resident_bytes: Option<u64>,
    /// Processor time of all threads.
    pub(crate) cpu_seconds: f64,
}

impl Process {
    pub(crate) fn now() -> Self {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        let status = fs::read_to_string("/proc/self/status").ok();
        Self {
            resident_bytes: status.and_then(|status| resident_bytes(&status)),
            cpu_seconds: cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9,
        }
    }
}

fn resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_memory_is_found_by_its_name() {
        assert_eq!(resident_bytes("VmHWM:\t 7 kB\nVmRSS:\t    4100 kB\n"), Some(4100 << 10));
        assert_eq!(resident_bytes("VmRSS: some"), None);
        assert!(Process::now().cpu_seconds > 0.0);
    }
}
