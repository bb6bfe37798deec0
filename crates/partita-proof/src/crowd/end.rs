//! When all have gone: what is there is what the scripts leave behind, and nothing else.

use std::path::Path;

use fastrand::Rng;
use partita::db::{BottommostLevel, CompactRangeOptions, Db, ReadOptions};
use partita::io::FileSystem;

use super::reader::{Between, Seen};
use super::{Crowd, Done, Length, Member, Stop};
use crate::step::Slot;

impl Crowd {
    /// Has the writers say what became of their last rounds, compares all there is, compacts it, and compares it again.
    ///
    /// * `seen`: who has not looked yet, or before.
    /// * On a failure: what was found.
    pub fn end(&mut self, writers: &mut [Box<dyn Member>], mut seen: Seen) -> Result<(), String> {
        self.gather(writers, Length::Rounds(1), false, |_, _| ())?;
        let db = self.place.builder(self.options).open();
        let db = db.map_err(|error| format!("opening in the end: {error}"))?;
        let ended = self.compare_and_compact(&db, &mut seen);
        ended.map_err(|stop| format!("in the end: {stop:?}"))
    }

    fn compare_and_compact(&self, db: &Db, seen: &mut Seen) -> Done {
        let mut random = Rng::with_seed(self.seed);
        let between = Between { told: self.told(), begun: self.begun() };
        let read = ReadOptions::default();
        for family in db.families() {
            if Slot::residents().all(|slot| slot.name() != family.name()) {
                db.drop_family(&family)?;
            }
        }
        seen.look(self, db, &read, &between, &mut random)?;
        let options = CompactRangeOptions { bottommost_level: BottommostLevel::Rewrite };
        for family in db.families() {
            db.compact_range_with(&family, None, None, &options)?;
        }
        seen.look(self, db, &read, &between, &mut random)?;
        db.wait_for_background_work()?;
        db.close()?;
        check_files(&*self.place.fs, db)
    }
}

/// What stands in the directory of a database that is closed: the tables of its last version, and one manifest.
pub fn check_files(fs: &dyn FileSystem, db: &Db) -> Done {
    let (mut tables, mut bytes, mut manifests) = (0, 0, 0);
    for name in fs.list(db.dir())? {
        let path = db.dir().join(&name);
        let name = name.to_string_lossy();
        let extension = Path::new(&*name).extension().and_then(|it| it.to_str());
        match extension {
            Some("sst") => {
                tables += 1;
                bytes += fs.file_len(&path)?;
            }
            Some("dbtmp") => return Err(Stop::Failed(format!("{name} was left"))),
            _ => manifests += u32::from(name.starts_with("MANIFEST-")),
        }
    }
    let levels = db.families().into_iter().flat_map(|family| db.family_stats(&family).levels);
    let (named, named_bytes) =
        levels.fold((0, 0), |(files, bytes), level| (files + level.files, bytes + level.bytes));
    if (tables, bytes, manifests) != (named, named_bytes, 1) {
        return Err(Stop::Failed(format!(
            "{tables} tables of {bytes} bytes and {manifests} manifests are there; {named} tables of {named_bytes} bytes are named"
        )));
    }
    Ok(())
}
