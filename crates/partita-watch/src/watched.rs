//! The database that is looked at.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use partita::db::{Db, DbBuilder};
use partita::{ErrorKind, Result};

use partita_store::{Store, StoreStats};

use crate::figures::{Following, Moment, Process, ServerFigures, StoreFigures, Timer};

/// What is shown: a database, or none at the moment.
#[derive(Debug, Default)]
pub struct Watched {
    state: Mutex<State>,
    timers: Mutex<Vec<(&'static str, Timer)>>,
}

#[derive(Debug, Default)]
struct State {
    db: Option<Db>,
    /// The store that the database is, if it is one.
    store: Option<Store>,
    /// Whose turn it is: a guard that is dropped late does not hide what came behind it.
    turn: u64,
    follow: Option<Follow>,
}

/// How a database that another process writes is followed.
#[derive(Debug)]
struct Follow {
    builder: DbBuilder,
    catch_ups: u64,
    failures: u64,
    succeeded: Instant,
    /// What the last attempt failed with.
    failure: Option<String>,
}

/// Whether all is well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// It is.
    Well,
    /// What is wrong, in words.
    Ill(String),
}

/// While it lives, a database is shown.
#[derive(Debug)]
#[must_use = "the database is shown as long as this lives"]
pub struct Shown {
    watched: Arc<Watched>,
    turn: u64,
}

impl Drop for Shown {
    fn drop(&mut self) {
        let mut state = self.watched.state();
        if state.turn != self.turn {
            return;
        }
        let gone = (state.db.take(), state.store.take());
        drop(state);
        // It may be the last handle, and closing takes its time.
        drop(gone);
    }
}

/// A follower that fails is ill if that lasts: an owner who is busy is none.
const BUSY_MAX: Duration = Duration::from_secs(30);

impl Watched {
    /// Nothing is shown.
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows a database, instead of any other.
    pub fn show(self: &Arc<Self>, db: &Db) -> Shown {
        self.set(db.clone(), None)
    }

    /// Shows the database of a store, and what its typed tables are asked.
    pub fn show_store(self: &Arc<Self>, store: &Store) -> Shown {
        self.set(store.db().clone(), Some(store.clone()))
    }

    fn set(self: &Arc<Self>, db: Db, store: Option<Store>) -> Shown {
        let mut state = self.state();
        let gone = (state.db.replace(db), mem::replace(&mut state.store, store));
        state.turn += 1;
        let turn = state.turn;
        drop(state);
        drop(gone);
        Shown { watched: Arc::clone(self), turn }
    }

    /// Takes the times of operations of one kind, which are a histogram by this name. Whoever asks for the same name again adds
    /// to the same.
    pub fn timer(&self, operation: &'static str) -> Timer {
        let mut timers = self.timers();
        if let Some((_, timer)) = timers.iter().find(|(name, _)| *name == operation) {
            return timer.clone();
        }
        let timer = Timer::new();
        timers.push((operation, timer.clone()));
        timer
    }

    /// Shows a database that another process may write meanwhile, as it is now; [`Watched::catch_up`] shows what came since.
    /// Nothing in its directory changes.
    ///
    /// * Errors: those of [`DbBuilder::open_secondary`].
    pub fn follow(builder: DbBuilder) -> Result<Self> {
        let db = builder.open_secondary()?;
        let follow =
            Follow { builder, catch_ups: 0, failures: 0, succeeded: Instant::now(), failure: None };
        let state = State { db: Some(db), follow: Some(follow), ..State::default() };
        Ok(Self { state: Mutex::new(state), ..Self::default() })
    }

    /// Looks at what the owner of a followed database has written since. How that went is among the figures, and part of
    /// [`Watched::health`]. Where the owner has lost what was shown already, or has put another database there, the directory
    /// is opened anew.
    pub fn catch_up(&self) {
        let (db, builder) = match &*self.state() {
            State { db: Some(db), follow: Some(follow), .. } => {
                (db.clone(), follow.builder.clone())
            }
            _ => return,
        };
        // Figures are shown meanwhile.
        let result =
            db.try_catch_up_with_primary().map(|()| db).or_else(|error| match error.kind() {
                ErrorKind::Aborted | ErrorKind::InvalidArgument => builder.open_secondary(),
                _ => Err(error),
            });
        let mut state = self.state();
        let State { db, follow: Some(follow), .. } = &mut *state else { return };
        let gone = follow.note(result).map(|now| db.replace(now));
        drop(state);
        drop(gone);
    }

    /// Whether all is well: no failure in the background keeps writes from being done, and the owner can be followed.
    pub fn health(&self) -> Health {
        let state = self.state();
        let stopped = state.db.as_ref().and_then(Db::background_error);
        if let Some(error) = stopped.filter(|error| error.stops_writes) {
            return Health::Ill(format!("writes are refused: {}", error.message));
        }
        match &state.follow {
            Some(Follow { failure: Some(failure), .. }) => {
                Health::Ill(format!("the database cannot be followed: {failure}"))
            }
            _ => Health::Well,
        }
    }

    /// All figures at this moment.
    pub(crate) fn moment(&self) -> Moment {
        let state = self.state();
        let following = state.follow.as_ref().map(|follow| Following {
            catch_ups: follow.catch_ups,
            failures: follow.failures,
            age_seconds: follow.succeeded.elapsed().as_secs_f64(),
        });
        let (db, store) = (state.db.clone(), state.store.clone());
        drop(state);
        let server = ServerFigures {
            process: Process::now(),
            databases: u64::from(db.is_some()),
            is_healthy: self.health() == Health::Well,
        };
        let times = self.timers().iter().map(|(name, timer)| (*name, timer.times())).collect();
        let (db, store) = match store.map(|store| store.stats()) {
            Some(stats) => {
                let StoreStats { db, tables, metadata, .. } = stats;
                (Some(db), Some(StoreFigures { tables, metadata }))
            }
            None => (db.map(|db| db.stats()), None),
        };
        Moment { server: Some(server), following, db, store, times, contents: Vec::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn timers(&self) -> MutexGuard<'_, Vec<(&'static str, Timer)>> {
        self.timers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Follow {
    /// Notes how an attempt went; the database to show, if it went well.
    fn note(&mut self, result: Result<Db>) -> Option<Db> {
        match result {
            Ok(db) => {
                self.catch_ups += 1;
                self.succeeded = Instant::now();
                self.failure = None;
                Some(db)
            }
            Err(error) => {
                self.failures += 1;
                let passes = error.kind() == ErrorKind::Busy && self.succeeded.elapsed() < BUSY_MAX;
                self.failure = (!passes).then(|| error.to_string());
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita::io::{FileSystem, MemoryFileSystem};
    use partita::options::DbOptions;

    fn builder(disk: &Arc<MemoryFileSystem>) -> DbBuilder {
        let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
        let disk: Arc<dyn FileSystem> = Arc::clone(disk) as _;
        DbBuilder::new("/db").file_system(disk).options(options)
    }

    fn seqno(watched: &Watched) -> Option<u64> {
        watched.moment().db.map(|db| db.last_seqno)
    }

    #[test]
    fn a_database_is_shown_until_its_guard_goes_or_another_comes() {
        let watched = Arc::new(Watched::new());
        assert_eq!(seqno(&watched), None);
        let one = builder(&Arc::default()).open().unwrap();
        let other = builder(&Arc::default()).open().unwrap();
        other.put(b"a", b"b").unwrap();
        let first = watched.show(&one);
        assert_eq!(seqno(&watched), Some(0));
        let second = watched.show(&other);
        drop(first);
        assert_eq!(seqno(&watched), Some(1), "the guard of the other one is no matter");
        drop(second);
        assert_eq!(seqno(&watched), None);
    }

    #[test]
    fn a_followed_database_moves_with_its_owner_and_a_lost_one_is_told() {
        let disk = Arc::<MemoryFileSystem>::default();
        let owner = builder(&disk).open().unwrap();
        let watched = Watched::follow(builder(&disk)).unwrap();
        owner.put(b"a", b"b").unwrap();
        owner.flush().unwrap();
        assert_eq!(seqno(&watched), Some(0));
        watched.catch_up();
        assert_eq!(seqno(&watched), Some(1));
        let moment = watched.moment();
        assert_eq!(moment.db.unwrap().families[0].levels[0].files, 1);
        let following = moment.following.unwrap();
        assert_eq!((following.catch_ups, following.failures), (1, 0));
        assert_eq!(watched.health(), Health::Well);

        drop(owner);
        disk.remove(std::path::Path::new("/db/CURRENT")).unwrap();
        watched.catch_up();
        let Health::Ill(why) = watched.health() else { panic!("CURRENT is gone") };
        assert!(why.contains("cannot be followed") && why.contains("CURRENT"), "{why}");
        let moment = watched.moment();
        let is_healthy = moment.server.unwrap().is_healthy;
        assert_eq!((is_healthy, moment.following.unwrap().failures), (false, 1));
        assert_eq!(moment.db.unwrap().last_seqno, 1, "what was seen last stays");
    }

    #[test]
    fn another_database_in_the_directory_is_opened_anew() {
        let disk = Arc::<MemoryFileSystem>::default();
        let owner = builder(&disk).open().unwrap();
        owner.put(b"a", b"b").unwrap();
        let watched = Watched::follow(builder(&disk)).unwrap();
        assert_eq!(seqno(&watched), Some(1));
        drop(owner);
        for name in disk.list(std::path::Path::new("/db")).unwrap() {
            disk.remove(&std::path::Path::new("/db").join(name)).unwrap();
        }
        let other = builder(&disk).open().unwrap();
        (0..5u8).for_each(|key| other.put(&[key], b"x").unwrap());
        watched.catch_up();
        assert_eq!((seqno(&watched), watched.health()), (Some(5), Health::Well));
    }
}
