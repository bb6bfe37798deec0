//! A [crowd](crate::crowd) on a disk, for as long as one likes: what it took, it gives back.
//!
//! The database is opened again and again, with other options each time, and closed in use as often as not. At the end its
//! content is what the scripts leave behind; then all is deleted and compacted, and the figures are compared with those of the
//! start, when the database was new:
//!
//! * Handles, threads and files are as many as then, files have at most [`FILE_BYTES_MORE`] bytes more.
//! * The heap has at most [`HEAP_BYTES_MORE`] bytes more, where somebody counts it.
//! * What the C library's allocator has in use, with that of C libraries, is at most [`ALLOCATED_BYTES_MORE`] bytes more, where
//!   it tells. What is resident is told, and not judged: it stays with the allocator's arenas, of which each thread that comes
//!   may get one.
//! * At no moment the cache had more than its budget, or than what is pinned, and what waits for readers.

mod allocator;
pub mod figures;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use figures::Figures;
use partita::db::{BottommostLevel, CompactRangeOptions, Db};
use partita::io::DiskFileSystem;

use crate::crowd::end::check_files;
use crate::crowd::others::{Checkpointer, Compactor, Flusher, Guests};
use crate::crowd::reader::{Reader, Seen};
use crate::crowd::script::{Script, Size};
use crate::crowd::writer::Writer;
use crate::crowd::{Counted, Crowd, Done, Length, Member, Stop};
use crate::options::{Common, OptionSet, Readers};
use crate::ours::Place;
use crate::state::Order;
use crate::step::Slot;

/// Bytes by which the heap may have grown: records of threads and of caches' epochs, which are kept for the next ones.
pub const HEAP_BYTES_MORE: u64 = 256 << 10;
/// Bytes by which what is in use may have grown: small pieces that were freed and wait for their like.
pub const ALLOCATED_BYTES_MORE: u64 = 1 << 20;
/// Bytes by which files may have grown: the numbers in a manifest have more digits.
pub const FILE_BYTES_MORE: u64 = 8 << 10;

/// Bytes of the one budget, less than the content has.
const BUDGET_BYTES: u64 = 8 << 20;
const SCRIPTS: u8 = 4;

/// How long, where, and what.
#[derive(Clone, Debug)]
pub struct Soak {
    /// A directory of its own, which is made and removed.
    pub dir: PathBuf,
    /// How long it takes, without the end.
    pub time: Duration,
    /// How often the database is opened in that time.
    pub openings: u32,
    /// What is written.
    pub seed: u64,
    /// How large that gets.
    pub size: Size,
    /// Who counts what is allocated.
    pub heap_bytes: fn() -> u64,
}

/// What came of it.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// Figures when the database was new.
    pub start: Figures,
    /// The most of each.
    pub peak: Figures,
    /// Figures after all was deleted.
    pub end: Figures,
    /// The most that the cache was charged with.
    pub cache_bytes_peak: u64,
    /// The most of that which could not leave: tables, memtables, and what readers held.
    pub pinned_bytes_peak: u64,
    /// What was done.
    pub counted: Counted,
}

impl Soak {
    /// Does it.
    ///
    /// * On a failure: what was found.
    pub fn run(&self) -> Result<Report, String> {
        // What is made once in a process, and kept, is there before the start.
        let warm = Self { dir: self.dir.join("warm"), ..self.clone() };
        warm.crowded(self.time / 30, 2, &Arc::default())?;
        remove(&warm.dir)?;

        let crowd = self.crowd();
        for _ in 0..2 {
            let db = crowd.place.builder(0).open().map_err(|error| error.to_string())?;
            db.close().map_err(|error| error.to_string())?;
        }
        drop(crowd);
        let start = self.settled(Figures::default());
        let peaks = Arc::<Peaks>::default();
        let counted = self.crowded(self.time, self.openings, &peaks)?;
        let end = self.settled(start);
        let peak = *peaks.figures.lock().unwrap_or_else(PoisonError::into_inner);
        let cache_bytes_peak = peaks.cache_bytes.load(Ordering::Relaxed);
        let pinned_bytes_peak = peaks.pinned_bytes.load(Ordering::Relaxed);
        let report = Report { start, peak, end, cache_bytes_peak, pinned_bytes_peak, counted };
        // On a failure it stays, to be looked at.
        report.judge()?;
        remove(&self.dir)?;
        Ok(report)
    }

    fn crowd(&self) -> Crowd {
        let set = |at: u64| {
            let common = Common {
                order: Order::Forward,
                is_universal: self.seed % 2 == 1,
                readers: Readers::Rocks11,
            };
            let mut set = OptionSet::draw(self.seed * 100 + at, common)
                .with_family("write_buffer_size", "131072")
                .with_family("max_write_buffer_number", "3");
            set.budget_bytes = BUDGET_BYTES as usize;
            // With the first one figures are taken, and no logs are kept for later.
            if at == 0 { set.with_db("recycle_log_file_num", "0") } else { set }
        };
        let place = Place {
            fs: Arc::new(DiskFileSystem),
            dir: self.dir.join("db"),
            scheduler: None,
            clock: None,
            order: Order::Forward,
            options: (0..u64::from(self.openings)).map(set).collect(),
        };
        Crowd::new(place, 0, self.seed, SCRIPTS)
    }

    /// The crowd comes, does what it does, and goes; then all is deleted.
    fn crowded(
        &self,
        time: Duration,
        openings: u32,
        peaks: &Arc<Peaks>,
    ) -> Result<Counted, String> {
        let mut crowd = self.crowd();
        let mut members = self.members(peaks);
        for opening in 0..openings {
            crowd.options = opening as usize;
            let length = Length::Until(Instant::now() + time / openings);
            let closes_in_use = opening % 2 == 1;
            let before_close = |_: &Crowd, _: &Db| {
                if closes_in_use {
                    thread::sleep(time / openings * 9 / 10);
                }
            };
            let set = crowd.place.options[crowd.options % crowd.place.options.len()].clone();
            crowd
                .gather(&mut members, length, closes_in_use, before_close)
                .map_err(|said| format!("opening {opening}: {said}\n{set:?}"))?;
            let (counted, now) = (crowd.counts.counted(), self.figures());
            println!("soak: opening {opening} is over: {counted:?}; {now}");
        }
        crowd.options = 0;
        crowd.end(&mut members[..usize::from(SCRIPTS)], Seen::new(self.scripts()))?;
        for _ in 0..2 {
            empty(&crowd).map_err(|stop| format!("emptying: {stop:?}"))?;
        }
        Ok(crowd.counts.counted())
    }

    fn scripts(&self) -> Vec<Script> {
        let script =
            |number| Script::new(self.seed, number, number == 1, Order::Forward, self.size);
        (0..SCRIPTS).map(script).collect()
    }

    fn members(&self, peaks: &Arc<Peaks>) -> Vec<Box<dyn Member>> {
        let seed = self.seed;
        let seen = || Seen::new(self.scripts());
        let mut members: Vec<Box<dyn Member>> = Vec::new();
        for script in self.scripts() {
            members.push(Box::new(Writer::new(script)));
        }
        for number in 0..3 {
            members.push(Box::new(Reader::new(seed, number, seen())));
        }
        for number in 0..2 {
            members.push(Box::new(Flusher::new(seed + number)));
            members.push(Box::new(Compactor::new(seed, number)));
        }
        members.push(Box::new(Checkpointer::new(seed, seen())));
        members.push(Box::new(Guests::new(seed, seen(), Slot(2))));
        members.push(Box::new(Guests::new(seed, seen(), Slot(3))));
        members.push(Box::new(Sampler { soak: self.clone(), peaks: Arc::clone(peaks) }));
        members
    }

    fn figures(&self) -> Figures {
        Figures::now(&self.dir, self.heap_bytes)
    }

    /// Figures when threads have ended that were told to, which the system may count for a moment longer.
    fn settled(&self, start: Figures) -> Figures {
        for _ in 0..50 {
            thread::sleep(Duration::from_millis(20));
            if self.figures().threads <= start.threads {
                break;
            }
        }
        allocator::give_back();
        self.figures()
    }
}

impl Report {
    fn judge(&self) -> Result<(), String> {
        let Self { start, end, .. } = self;
        let counts = |of: &Figures| [of.handles, of.threads, of.files];
        let is_back = counts(start) == counts(end)
            && end.heap_bytes <= start.heap_bytes + HEAP_BYTES_MORE
            && end.allocated_bytes <= start.allocated_bytes + ALLOCATED_BYTES_MORE
            && end.file_bytes <= start.file_bytes + FILE_BYTES_MORE;
        if is_back { Ok(()) } else { Err(format!("it does not come back:\n{self}")) }
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { start, peak, end, counted, .. } = self;
        writeln!(f, "start: {start}\npeak:  {peak}\nend:   {end}")?;
        let bytes = [self.cache_bytes_peak, self.pinned_bytes_peak, BUDGET_BYTES];
        let [cache, pinned, budget] = bytes.map(|bytes| bytes / 1024);
        writeln!(
            f,
            "cache: at most {cache} KiB, pinned {pinned} KiB, of a budget of {budget} KiB"
        )?;
        write!(f, "{counted:?}")
    }
}

/// Deletes all there is.
fn empty(crowd: &Crowd) -> Done {
    let db = crowd.place.builder(0).open()?;
    let options = CompactRangeOptions { bottommost_level: BottommostLevel::Rewrite };
    for slot in Slot::residents() {
        let family = db.family(slot.name())?;
        db.delete_range_cf(&family, b"", b"\xff")?;
        db.flush_cf(&family)?;
        db.compact_range_with(&family, None, None, &options)?;
    }
    db.wait_for_background_work()?;
    db.close()?;
    check_files(&*crowd.place.fs, &db)?;
    for family in db.families() {
        let levels = db.family_stats(&family).levels;
        let files: u64 = levels.iter().map(|level| level.files).sum();
        if files > 0 {
            let said = format!("{} of {} tables are left", files, family.name());
            return Err(Stop::Failed(format!("{said}: {levels:?}")));
        }
    }
    Ok(())
}

fn remove(dir: &Path) -> Result<(), String> {
    std::fs::remove_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))
}

/// The most that somebody has seen.
#[derive(Debug, Default)]
struct Peaks {
    figures: Mutex<Figures>,
    cache_bytes: AtomicU64,
    pinned_bytes: AtomicU64,
}

/// Looks at the figures, again and again.
struct Sampler {
    soak: Soak,
    peaks: Arc<Peaks>,
}

impl Member for Sampler {
    fn name(&self) -> String {
        "sampler".to_owned()
    }

    fn round(&mut self, _: &Crowd, db: &Db) -> Done {
        thread::sleep(Duration::from_millis(20));
        let now = self.soak.figures();
        let mut peak = self.peaks.figures.lock().unwrap_or_else(PoisonError::into_inner);
        *peak = peak.max(now);
        drop(peak);
        // Between two looks anything may be taken and given back: what stays too much is.
        let (mut found, mut most) = (0, 0);
        for _ in 0..3 {
            (found, most) = self.look_at_cache(db, now.threads);
            if found <= most {
                return Ok(());
            }
        }
        Err(Stop::Failed(format!("the cache has {found} bytes, more than {most}")))
    }
}

impl Sampler {
    /// The bytes that the cache is charged with, and the most that they may be.
    fn look_at_cache(&self, db: &Db, threads: u64) -> (u64, u64) {
        /// What a thread may have that is in the middle of a lookup: a large block, or a piece of an index.
        const OBJECT: u64 = 128 << 10;
        let pinned = || db.cache().stats().total().pinned_bytes;
        let before = pinned();
        let charged = db.cache().usage_bytes() as u64;
        let pinned = before.max(pinned());
        self.peaks.cache_bytes.fetch_max(charged, Ordering::Relaxed);
        self.peaks.pinned_bytes.fetch_max(pinned, Ordering::Relaxed);
        // A sixteenth is left to cached objects if all is pinned, and another one waits for readers.
        let share = BUDGET_BYTES / 16;
        (charged, BUDGET_BYTES.max(pinned + share) + share + OBJECT * threads)
    }
}
