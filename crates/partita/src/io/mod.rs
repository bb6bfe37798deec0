//! The seams to the outside: files, the clock and background threads, each behind a trait.
//!
//! Nothing else in the library touches the operating system (`clippy.toml` beside the crate's manifest holds the bans and
//! names what to use instead), so that a test can run a database in memory, on a clock that it turns, with jobs in the
//! order that it chooses, and cut its power at any call.
//!
//! | seam | the machine | for tests |
//! |---|---|---|
//! | [`FileSystem`] | [`DiskFileSystem`] | [`MemoryFileSystem`]: knows what a power cut would leave; [`FaultFileSystem`]: fails, tears, flips and counts the calls to another one |
//! | [`Clock`] | [`SystemClock`] | [`ManualClock`] |
//! | [`Scheduler`] | [`ThreadPool`] | [`ManualScheduler`] |
//!
//! **What survives what.** Bytes given to [`WritableFile::append`] may stay in the process until [`WritableFile::flush`],
//! after which they survive the process; after [`WritableFile::sync`] they survive a power cut. That a file has its name
//! (was created, renamed, linked or removed) survives a power cut only after [`FileSystem::sync_dir`] of its directory.

mod clock;
mod copy;
mod disk;
mod fault;
mod file;
mod file_system;
mod memory;
mod random;
mod replace;
mod scheduler;
#[cfg(test)]
mod tests;

pub use clock::{Clock, ManualClock, SystemClock};
pub(crate) use copy::{copy_front, link_or_copy};
pub use disk::{DiskFile, DiskFileSystem, DiskReader, DiskWriter};
pub use fault::{Call, CallKind, Fault, FaultFileSystem};
pub use file::{RandomAccessFile, SequentialFile, WritableFile};
pub use file_system::{Access, FileLock, FileSystem};
pub use memory::{MemoryFile, MemoryFileSystem, MemoryWriter, Unsynced};
#[cfg(test)]
pub(crate) use random::SplitMix64;
pub(crate) use replace::replace_file;
pub use scheduler::{Job, ManualScheduler, Priority, Scheduler, ThreadPool, run_together};
