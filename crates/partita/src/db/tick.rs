//! What has to happen without anybody writing or asking: a look around, once a second.
//!
//! | each look | if |
//! |---|---|
//! | an attempt to resume | something failed that may pass, and it is time to try again |
//! | files removed that nobody needs any more | readers held them when they became obsolete, or a removal failed |
//! | old logs removed from the archive | they are older than `WAL_ttl_seconds` |
//! | compactions scheduled, each tenth time | tables have become too old meanwhile (`ttl`, `periodic_compaction_seconds`) |
//!
//! The same jobs are done by writers, flushes and compactions, wherever these come by. When a snapshot is released that
//! held off a compaction, that is scheduled at once, too: `snapshot.rs`.
//!
//! 1. A look begins only while the database is not being closed, and closing waits for it as for any other job. Until its
//!    time has come it holds nothing of the database.
//! 2. It waits for nobody who writes: where the front of the commit queue is taken, the one who has it tries to resume.
//! 3. There is one at a time; the next one is due a second after it has ended, also if it panicked.

use std::time::Duration;

use super::DbInner;
use crate::io::Priority;

/// From the end of one look to the next.
pub(super) const TICK: Duration = Duration::from_secs(1);
/// How many looks there are to one at the ages of all tables, which costs a walk over them.
const TICKS_PER_AGE: u64 = 10;

impl DbInner {
    /// Has the database looked around from now on.
    ///
    /// * `count`: how often it has been.
    pub(super) fn schedule_tick(&self, count: u64) {
        let (Some(writer), Some(remote)) = (&self.writer, self.remote()) else { return };
        let look = move || remote.visit(|db| db.tick(count));
        writer.scheduler.spawn_later(TICK, Priority::Low, Box::new(look));
    }

    fn tick(&self, count: u64) {
        let _next = NextTick(self, count.wrapping_add(1));
        let Ok(writer) = self.writing() else { return };
        if writer.failure.is_there() {
            let _ = writer.queue.try_exclusive(|| self.check_or_resume());
        }
        self.remove_obsolete_files();
        writer.place.purge_archive();
        if count.is_multiple_of(TICKS_PER_AGE) {
            self.schedule_compactions();
        }
    }
}

struct NextTick<'d>(&'d DbInner, u64);

impl Drop for NextTick<'_> {
    fn drop(&mut self) {
        self.0.schedule_tick(self.1);
    }
}
