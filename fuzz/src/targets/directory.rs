//! Whole directories: real databases with damage anywhere, opened, read in every way, written on, compacted, opened again.
//!
//! ```text
//! input:  base u8 | how u8 | edit, edit, …        edits: see models/directory.rs
//! how:    bit 0 options of our own, not those of the directory | bits 1, 2 their recovery mode | bit 3 compacted
//!         | bit 4 all edits are followed by reading alone
//! ```
//!
//! * Whatever the damage: no panic, no endless wait (background work runs on this thread, so that a wait for nobody shows),
//!   memory in proportion to the directory. Opened to be read, it is left as it was, byte by byte.
//! * Where checksums, names and sizes tell of the damage: whatever is returned without an error was written to that key of
//!   that family once; a walk forward, a walk backward, a get, a get of many and floors agree; and what is found by who opens
//!   to read is found by who opens to write.
//! * What is written to such a database is found, also after it was flushed, compacted, closed and opened again.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use partita::cache::Cache;
use partita::db::{ColumnFamily, Db, DbBuilder, DbIterator, IterOptions, WriteOptions};
use partita::error::Result;
use partita::io::{ManualClock, ManualScheduler, MemoryFileSystem};
use partita::options::{DbOptions, WalRecoveryMode};

use crate::choices::Choices;
use crate::meter;
use crate::models::directory::{DIR, Damaged, base, files_on};

const CACHE_BYTES: usize = 1 << 20;
/// Entries of a walk through a large base.
const SAMPLE: usize = 200;
/// Entries after which every walk is broken off.
const ENTRIES_MAX: usize = 50_000;
/// Families that are looked at.
const FAMILIES_MAX: usize = 6;
const MODES: [WalRecoveryMode; 4] = [
    WalRecoveryMode::PointInTime,
    WalRecoveryMode::TolerateCorruptedTailRecords,
    WalRecoveryMode::AbsoluteConsistency,
    WalRecoveryMode::SkipAnyCorruptedRecords,
];

/// What a walk showed of each family, if it came to its end.
type View = BTreeMap<(u32, String), Option<Pairs>>;
type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// Damages a base directory and uses it.
pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let base = base(choices.byte());
    let how = choices.byte();
    let damaged = base.damage(choices);
    // What a table's blocks are decompressed to, memtables' first blocks, and options in their text.
    let limit = (24 << 20) + 32 * damaged.files.values().map(Vec::len).sum::<usize>();
    meter::within(limit, || Trial { damaged: &damaged, how }.run());
}

struct Trial<'a> {
    damaged: &'a Damaged,
    how: u8,
}

impl Trial<'_> {
    fn run(&self) {
        let disk = self.damaged.disk();
        let read = self.builder(&disk).open_read_only().map(|db| self.look(&db));
        assert!(files_on(&disk) == self.damaged.files, "changed by who only reads");
        if self.damaged.files == self.damaged.base.files {
            self.sound(&read);
        }
        if self.how & 16 != 0 {
            return;
        }
        let Ok(db) = self.builder(&disk).open() else { return };
        let view = self.look(&db);
        if let Ok(read) = &read {
            self.same(read, &view);
        }
        let written = self.write(&db);
        let closed = db.close();
        drop(db);
        if closed.is_err() {
            return;
        }
        match self.builder(&disk).open() {
            Ok(db) => {
                self.look(&db);
                self.find(&db, &written);
            }
            Err(error) => {
                assert!(!self.damaged.guarded, "it opened before it was written on: {error}");
            }
        }
    }

    fn builder(&self, disk: &MemoryFileSystem) -> DbBuilder {
        let builder = DbBuilder::new(DIR)
            .file_system(Arc::new(disk.clone()))
            .cache(Cache::new(CACHE_BYTES))
            .clock(Arc::new(ManualClock::at_unix_micros(1_800_000_000_000_000)))
            .scheduler(Arc::new(ManualScheduler::in_order()));
        if self.how & 1 == 0 {
            return builder;
        }
        let wal_recovery_mode = MODES[usize::from(self.how >> 1 & 3)];
        builder.options(DbOptions { wal_recovery_mode, ..DbOptions::default() })
    }

    /// A directory that nothing was done to opens, and all of it is read.
    fn sound(&self, read: &Result<View>) {
        let name = self.damaged.base.name;
        let view = read.as_ref().unwrap_or_else(|error| panic!("{name} is refused: {error}"));
        assert!(view.len() == 1 + usize::from(self.damaged.base.has_two_families()), "{name}");
        let whole = view.values().all(|pairs| pairs.as_ref().is_some_and(|it| it.len() > 10));
        assert!(whole || !self.damaged.base.is_small(), "{name} is not read to its end");
    }

    /// Reads all families in every way.
    fn look(&self, db: &Db) -> View {
        let mut view = View::new();
        for family in db.families().iter().take(FAMILIES_MAX) {
            let pairs = self.look_at(db, family);
            view.insert((family.id(), family.name().to_owned()), pairs);
        }
        view
    }

    fn look_at(&self, db: &Db, family: &ColumnFamily) -> Option<Pairs> {
        let most = if self.damaged.base.is_small() { ENTRIES_MAX } else { SAMPLE };
        let forward = self.walk(db, family, most, DbIterator::seek_to_first, DbIterator::next);
        let backward = self.walk(db, family, most, DbIterator::seek_to_last, DbIterator::prev);
        for (key, value) in forward.pairs.iter().chain(&backward.pairs) {
            self.known(family, key, value);
        }
        let whole = forward.whole.then_some(&forward.pairs);
        if let (Some(pairs), true) = (whole, backward.whole && self.damaged.guarded) {
            assert!(pairs.iter().eq(backward.pairs.iter().rev()), "a walk differs backward");
        }
        self.ask(db, family, whole);
        whole.cloned()
    }

    fn walk(
        &self,
        db: &Db,
        family: &ColumnFamily,
        most: usize,
        start: fn(&mut DbIterator) -> Result<()>,
        step: fn(&mut DbIterator) -> Result<()>,
    ) -> Walk {
        let mut pairs = Pairs::new();
        let Ok(mut iter) = db.iter_cf(family, IterOptions::default()) else {
            return Walk { pairs, whole: false };
        };
        let mut moved = start(&mut iter);
        while moved.is_ok() && iter.is_valid() && pairs.len() < most {
            pairs.push((iter.key().to_vec(), iter.value().to_vec()));
            moved = step(&mut iter);
        }
        Walk { pairs, whole: moved.is_ok() && !iter.is_valid() }
    }

    /// Asks for keys that were written, and for one that was not, and holds the answers against each other.
    fn ask(&self, db: &Db, family: &ColumnFamily, walked: Option<&Pairs>) {
        let all = &self.damaged.base.history;
        let of_family = all.keys().filter(|(id, _)| *id == family.id()).map(|(_, key)| key.clone());
        let step = if self.damaged.base.is_small() { 1 } else { 1 + all.len() / 16 };
        let mut keys: Vec<Vec<u8>> = of_family.step_by(step).collect();
        keys.push(b"no such key".to_vec());
        let many = db.multi_get_cf(family, &keys);
        for (at, key) in keys.iter().enumerate() {
            let got = db.get_cf(family, key).map(|value| value.map(|value| value.to_vec()));
            if let Ok(Some(value)) = &got {
                self.known(family, key, value);
            }
            if let (Ok(got), Ok(many), true) = (&got, &many, self.damaged.guarded) {
                assert_eq!(got.as_deref(), many[at].as_deref(), "of many: {}", key.escape_ascii());
            }
            if let (Ok(got), Some(pairs), true) = (&got, walked, self.damaged.guarded) {
                let place = pairs.binary_search_by(|(known, _)| known.cmp(key));
                let shown = place.ok().map(|at| &pairs[at].1);
                assert_eq!(got.as_ref(), shown, "walked past {}", key.escape_ascii());
            }
            if at % 4 == 0 {
                let bound = Bound::Excluded(&key[..]);
                self.next_to(family, walked, key, false, db.get_floor_cf(family, bound));
                self.next_to(family, walked, key, true, db.get_ceil_cf(family, bound));
            }
        }
    }

    fn next_to(
        &self,
        family: &ColumnFamily,
        walked: Option<&Pairs>,
        key: &[u8],
        above: bool,
        found: Result<Option<partita::db::KeyValue>>,
    ) {
        let Ok(found) = found else { return };
        if let Some(found) = &found {
            self.known(family, &found.key, &found.value);
        }
        if let (Some(pairs), true) = (walked, self.damaged.guarded) {
            let expected = match above {
                true => pairs.iter().find(|(known, _)| &known[..] > key),
                false => pairs.iter().rev().find(|(known, _)| &known[..] < key),
            };
            let found = found.as_ref().map(|found| (&found.key[..], &found.value[..]));
            let expected = expected.map(|(key, value)| (&key[..], &value[..]));
            assert_eq!(found, expected, "next to {}, above: {above}", key.escape_ascii());
        }
    }

    /// Whether that value was written to that key once.
    fn known(&self, family: &ColumnFamily, key: &[u8], value: &[u8]) {
        if !self.damaged.guarded || value.starts_with(OURS) {
            return;
        }
        let values = self.damaged.base.history.get(&(family.id(), key.to_vec()));
        let was_written = match values {
            Some(Some(values)) => values.contains(value),
            Some(None) => true,
            None => false,
        };
        assert!(
            was_written,
            "{}: {} never was {}",
            family.name(),
            key.escape_ascii(),
            value.escape_ascii()
        );
    }

    fn same(&self, one: &View, other: &View) {
        if !self.damaged.guarded {
            return;
        }
        for (family, pairs) in one {
            if let (Some(pairs), Some(Some(others))) = (pairs, other.get(family)) {
                assert!(pairs == others, "{family:?} differs if it is opened to be written");
            }
        }
    }

    /// Writes to all families, flushes, compacts; what must be there now.
    fn write(&self, db: &Db) -> Written {
        let mut written = Written::new();
        for family in db.families().iter().take(FAMILIES_MAX) {
            let id = family.id();
            let mut put = |key: &[u8], what: &str| {
                let value = [OURS, what.as_bytes()].concat();
                let outcome = db.put_cf(family, key, &value);
                // A write that failed may be there after all.
                written.insert((id, key.to_vec()), outcome.is_ok().then_some(Some(value)));
            };
            put(b"key05", "over an old one");
            put(b"zzz", "behind all");
            put(b"", "before all");
            let outcome = db.delete_cf(family, b"key06");
            written.insert((id, b"key06".to_vec()), outcome.is_ok().then_some(None));
            let outcome = db.delete_range_cf(family, b"key07", b"key09");
            for key in [b"key07", b"key08"] {
                written.insert((id, key.to_vec()), outcome.is_ok().then_some(None));
            }
        }
        self.find(db, &written);
        let _ = db.flush();
        self.find(db, &written);
        if self.how & 8 != 0 && self.damaged.base.is_small() {
            for family in db.families().iter().take(FAMILIES_MAX) {
                let _ = db.compact_range(family, None, None);
            }
        }
        let _ = db.wait_for_background_work();
        self.find(db, &written);
        let _ = db.write(partita::batch::WriteBatch::new(), &WriteOptions::SYNC);
        written
    }

    fn find(&self, db: &Db, written: &Written) {
        if !self.damaged.guarded {
            return;
        }
        for ((family, key), expected) in written {
            let Some(expected) = expected else { continue };
            let family = db.families().into_iter().find(|known| known.id() == *family);
            let family = family.expect("its family is there");
            // A table that may have the key can be damaged.
            let Ok(found) = db.get_cf(&family, key) else { continue };
            assert_eq!(found.as_deref(), expected.as_deref(), "{}", key.escape_ascii());
        }
    }
}

/// What our own values begin with.
const OURS: &[u8] = b"ours: ";

/// Keys with what they must have now; `None` if that is not known.
type Written = BTreeMap<(u32, Vec<u8>), Option<Option<Vec<u8>>>>;

struct Walk {
    pairs: Pairs,
    /// Whether it came to the end.
    whole: bool,
}

/// Base directories as they are, and with each kind of edit.
pub fn seeds() -> Vec<Vec<u8>> {
    crate::models::directory::seeds()
}
