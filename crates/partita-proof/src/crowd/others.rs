//! Who neither writes nor reads for its own sake.

use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use partita::db::{
    BottommostLevel, ColumnFamily, CompactRangeOptions, Db, ImportOptions, ReadOptions,
};
use partita::io::{ManualClock, ManualScheduler};

use super::reader::{Between, Seen};
use super::{Counts, Crowd, Done, Member, Stop};
use crate::ours::{Place, remove_dir};
use crate::state::Order;
use crate::step::Slot;

fn random(seed: u64, salt: u64) -> Rng {
    Rng::with_seed(seed.wrapping_mul(100) + salt)
}

fn resident(db: &Db, random: &mut Rng) -> Result<ColumnFamily, Stop> {
    Ok(db.family(Slot(random.u8(..Slot::RESIDENTS)).name())?)
}

/// Flushes memtables and logs, and asks for figures.
#[derive(Debug)]
pub struct Flusher(Rng);

impl Flusher {
    /// With this seed.
    pub fn new(seed: u64) -> Self {
        Self(random(seed, 60))
    }
}

impl Member for Flusher {
    fn name(&self) -> String {
        "flusher".to_owned()
    }

    fn round(&mut self, crowd: &Crowd, db: &Db) -> Done {
        match self.0.usize(..5) {
            0 => db.flush()?,
            1 | 2 => db.flush_cf(&resident(db, &mut self.0)?)?,
            3 => db.flush_wal(self.0.bool())?,
            _ => {
                let family = resident(db, &mut self.0)?;
                let stats = db.family_stats(&family);
                let files: u64 = stats.levels.iter().map(|level| level.files).sum();
                let _ = (files, db.stats(), db.property(&family, "rocksdb.stats"));
            }
        }
        Counts::one(&crowd.counts.flushes);
        Ok(())
    }
}

/// Compacts by hand.
#[derive(Debug)]
pub struct Compactor(Rng);

impl Compactor {
    /// The one of this number.
    pub fn new(seed: u64, number: u64) -> Self {
        Self(random(seed, 70 + number))
    }
}

impl Member for Compactor {
    fn name(&self) -> String {
        "compactor".to_owned()
    }

    fn round(&mut self, crowd: &Crowd, db: &Db) -> Done {
        let family = resident(db, &mut self.0)?;
        let levels = [BottommostLevel::Skip, BottommostLevel::IfFilter, BottommostLevel::Rewrite];
        let bottommost_level = levels[self.0.usize(..3)];
        let options = CompactRangeOptions { bottommost_level };
        let mut ends = [self.0.u8(..4), self.0.u8(..4)];
        ends.sort_unstable();
        if crowd.order() == Order::Reverse {
            ends.reverse();
        }
        let ends = ends.map(|end| self.0.bool().then(|| format!("w{end:02}key").into_bytes()));
        db.compact_range_with(&family, ends[0].as_deref(), ends[1].as_deref(), &options)?;
        Counts::one(&crowd.counts.compactions);
        Ok(())
    }
}

/// Makes checkpoints, and looks at them.
#[derive(Debug)]
pub struct Checkpointer {
    seen: Seen,
    random: Rng,
}

impl Checkpointer {
    /// Who has seen that.
    pub fn new(seed: u64, seen: Seen) -> Self {
        Self { seen, random: random(seed, 80) }
    }
}

impl Member for Checkpointer {
    fn name(&self) -> String {
        "checkpointer".to_owned()
    }

    fn round(&mut self, crowd: &Crowd, db: &Db) -> Done {
        let dir = crowd.beside("checkpoint");
        remove_dir(&*crowd.place.fs, &dir)?;
        let told = crowd.told();
        db.checkpoint(&dir)?;
        let between = Between { told, begun: crowd.begun() };
        let place = Place { dir: dir.clone(), ..crowd.place.clone() };
        let copy = place.builder(crowd.options).open_read_only()?;
        let read = ReadOptions::default();
        self.seen.look(crowd, &copy, &read, &between, &mut self.random)?;
        drop(copy);
        remove_dir(&*crowd.place.fs, &dir)?;
        Counts::one(&crowd.counts.checkpoints);
        Ok(())
    }
}

/// Creates families, empty or as copies, and drops them.
#[derive(Debug)]
pub struct Guests {
    seen: Seen,
    slot: Slot,
    random: Rng,
    rounds: u32,
}

impl Guests {
    /// Who has seen that. Nobody else has to do with this family.
    pub fn new(seed: u64, seen: Seen, slot: Slot) -> Self {
        Self { seen, slot, random: random(seed, 90 + u64::from(slot.0)), rounds: 0 }
    }

    fn create(&mut self, crowd: &Crowd, db: &Db) -> Result<ColumnFamily, Stop> {
        let config = crowd.place.family_config(crowd.options);
        let name = self.slot.name();
        if self.random.bool() {
            return Ok(db.create_family(name, config)?);
        }
        let dir = crowd.beside(&format!("export-{name}"));
        remove_dir(&*crowd.place.fs, &dir)?;
        let from = Slot(self.random.u8(..Slot::RESIDENTS));
        let told = crowd.told();
        db.export_family(&db.family(from.name())?, &dir)?;
        let between = Between { told, begun: crowd.begun() };
        let copy = db.create_family_from_import(name, config, &dir, &ImportOptions::default())?;
        self.seen.look_at_copy(crowd, db, &copy, from, &between)?;
        remove_dir(&*crowd.place.fs, &dir)?;
        Ok(copy)
    }

    /// Fills a range of keys, drops what can be dropped of it, and deletes the rest.
    fn fill_and_purge(&self, db: &Db, family: &ColumnFamily) -> Done {
        const KEYS: u8 = 12;
        for key in 0..KEYS {
            db.put_cf(family, &[b'x', key], &[self.rounds as u8; 40])?;
        }
        db.flush_cf(family)?;
        db.compact_range(family, None, None)?;
        let (from, to) = ([b'x', 0], [b'x', KEYS - 1]);
        let range = (Bound::Included(&from[..]), Bound::Included(&to[..]));
        db.delete_files_in_range(family, range)?;
        for key in 0..KEYS {
            db.delete_cf(family, &[b'x', key])?;
        }
        for key in 0..KEYS {
            if db.get_cf(family, &[b'x', key])?.is_some() {
                return Err(Stop::Failed(format!("purged key {key} is there")));
            }
        }
        Ok(db.put_cf(family, b"x", &self.rounds.to_le_bytes())?)
    }
}

impl Member for Guests {
    fn name(&self) -> String {
        format!("family {}", self.slot.name())
    }

    fn round(&mut self, crowd: &Crowd, db: &Db) -> Done {
        // From before a close.
        if let Ok(family) = db.family(self.slot.name()) {
            db.drop_family(&family)?;
        }
        self.rounds += 1;
        let family = self.create(crowd, db)?;
        self.fill_and_purge(db, &family)?;
        db.drop_family(&family)?;
        // Who holds it reads on.
        let found = db.get_cf(&family, b"x")?;
        if found.as_deref() != Some(&self.rounds.to_le_bytes()[..]) {
            return Err(Stop::Failed("who holds a dropped family does not read on".to_owned()));
        }
        Counts::one(&crowd.counts.families);
        Ok(())
    }
}

/// Lets time pass, by a clock and a scheduler that are told of it.
#[derive(Debug)]
pub struct Time {
    /// The clock.
    pub clock: Arc<ManualClock>,
    /// Who has the jobs that wait for some time.
    pub later: Arc<ManualScheduler>,
}

impl Member for Time {
    fn name(&self) -> String {
        "time".to_owned()
    }

    fn round(&mut self, _: &Crowd, _: &Db) -> Done {
        const STEP: Duration = Duration::from_secs(1);
        self.clock.advance(STEP);
        self.later.pass(STEP);
        self.later.run_all();
        Ok(())
    }
}
