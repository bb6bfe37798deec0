//! What the operating system says this process takes.

use std::fs;

/// Resident memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resident {
    /// Bytes now.
    pub now: u64,
    /// The most that it was.
    pub peak: u64,
}

impl Resident {
    /// Forgets the peak of this process so far, where the system can: it becomes what is resident now.
    pub fn forget_peak() {
        // A system that cannot tells a peak that is too high, which is the safe side.
        let _ = fs::write("/proc/self/clear_refs", "5");
    }

    /// Of this process; zeroes where the system does not tell.
    pub fn of_this_process() -> Self {
        fs::read_to_string("/proc/self/status")
            .map_or_else(|_| Self::default(), |text| Self::parse(&text))
    }

    fn parse(status: &str) -> Self {
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
        };
        let bytes = |name| field(name).unwrap_or(0) * 1024;
        Self { now: bytes("VmRSS:"), peak: bytes("VmHWM:") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name() {
        let status = "VmPeak:\t  99 kB\nVmHWM:\t    5124 kB\nVmRSS:\t    4100 kB\n";
        let expected = Resident { now: 4100 << 10, peak: 5124 << 10 };
        assert_eq!(Resident::parse(status), expected);
        assert_eq!(Resident::parse("no such fields"), Resident::default());
    }
}
