//! What a process and a directory take.

use std::fmt;
use std::fs;
use std::path::Path;

use super::allocator;

/// Figures at one moment; zeroes where the system does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Bytes that Rust code has allocated, if somebody counts them.
    pub heap_bytes: u64,
    /// Bytes that are in use by Rust code and C libraries, as the C library's allocator has it.
    pub allocated_bytes: u64,
    /// Bytes of the process that are resident, with what the allocators keep for later.
    pub resident_bytes: u64,
    /// Open file handles.
    pub handles: u64,
    /// Threads.
    pub threads: u64,
    /// Files in and below the directory.
    pub files: u64,
    /// Their bytes.
    pub file_bytes: u64,
}

impl Figures {
    /// Those of this process and a directory.
    ///
    /// * `heap_bytes`: who counts what is allocated.
    pub fn now(dir: &Path, heap_bytes: fn() -> u64) -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let (files, file_bytes) = below(dir);
        Self {
            heap_bytes: heap_bytes(),
            allocated_bytes: allocator::allocated_bytes().unwrap_or(0),
            resident_bytes: field(&status, "VmRSS:") * 1024,
            // Without that of the directory that is being listed.
            handles: fs::read_dir("/proc/self/fd").map_or(0, |it| it.count() as u64 - 1),
            threads: field(&status, "Threads:"),
            files,
            file_bytes,
        }
    }

    /// Of each figure the greater one.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            heap_bytes: self.heap_bytes.max(other.heap_bytes),
            allocated_bytes: self.allocated_bytes.max(other.allocated_bytes),
            resident_bytes: self.resident_bytes.max(other.resident_bytes),
            handles: self.handles.max(other.handles),
            threads: self.threads.max(other.threads),
            files: self.files.max(other.files),
            file_bytes: self.file_bytes.max(other.file_bytes),
        }
    }
}

fn field(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Files and bytes below a directory. What vanishes meanwhile counts or not.
fn below(dir: &Path) -> (u64, u64) {
    let (mut files, mut bytes) = (0, 0);
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => {
                let inside = below(&entry.path());
                files += inside.0;
                bytes += inside.1;
            }
            Ok(metadata) => {
                files += 1;
                bytes += metadata.len();
            }
            Err(_) => {}
        }
    }
    (files, bytes)
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kib = |bytes: u64| bytes / 1024;
        write!(
            f,
            "heap {} KiB, allocated {} KiB, resident {} KiB, {} handles, {} threads, {} files of {} KiB",
            kib(self.heap_bytes),
            kib(self.allocated_bytes),
            kib(self.resident_bytes),
            self.handles,
            self.threads,
            self.files,
            kib(self.file_bytes)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn what_is_allocated_counts_until_it_is_freed() {
        // Each of them by its own mapping, so that what other tests do meanwhile is small beside it.
        const BYTES: u64 = 64 << 20;
        let before = allocator::allocated_bytes().unwrap();
        let held = vec![0_u8; BYTES as usize];
        let with = allocator::allocated_bytes().unwrap();
        assert!(with >= before + BYTES / 2, "{before} {with}");
        drop(held);
        let after = allocator::allocated_bytes().unwrap();
        assert!(after + BYTES / 2 <= with, "{with} {after}");
    }

    #[test]
    fn fields_are_found_and_others_are_zero() {
        let status = "Name:\tx\nVmRSS:\t    1234 kB\nThreads:\t7\n";
        assert_eq!([field(status, "VmRSS:"), field(status, "Threads:")], [1234, 7]);
        assert_eq!(field(status, "Missing:"), 0);
    }
}
