//! Many threads that use one database at once, and what each of them may see.
//!
//! ```text
//! script    what a writer writes: batches and files, drawn from a seed, each with the number of its round
//! writer    does a script; reads what it has written
//! reader    looks at snapshots and iterators: of each writer's script they show a beginning, in all families the same
//! others    flushes, compactions, checkpoints, families that come and go, time that passes
//! end       what is there when all have gone
//! ```
//!
//! Nobody knows in which order the threads get on. But whatever the order, at each moment the database holds what so many
//! rounds of each script leave behind: no less than their writers were told, no more than they had begun. So who looks needs
//! nothing but the scripts' seeds.
//!
//! The threads are the system's, or those of `shuttle` in a build for [`schedules`](crate::schedules).

pub mod end;
pub mod others;
pub mod reader;
pub mod script;
pub mod writer;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

#[cfg(not(shuttle))]
use std::thread;

use partita::ErrorKind;
use partita::db::Db;
#[cfg(shuttle)]
use shuttle::thread;

use crate::ours::Place;
use crate::state::Order;

/// Why somebody does not go on.
#[derive(Debug)]
pub enum Stop {
    /// The database was closed meanwhile, with this error.
    Closed(String),
    /// Something was not as it must be.
    Failed(String),
}

impl From<partita::Error> for Stop {
    fn from(error: partita::Error) -> Self {
        match error.kind() {
            // Compactions by hand are given up on the way.
            ErrorKind::Closed | ErrorKind::Aborted => Self::Closed(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// What a round comes to.
pub type Done = Result<(), Stop>;

/// One of the crowd.
pub trait Member: Send {
    /// What it is, for messages.
    fn name(&self) -> String;
    /// It does its thing once.
    fn round(&mut self, crowd: &Crowd, db: &Db) -> Done;
    /// It lets go of what it holds of the database, which is closed.
    fn leave(&mut self) {}
}

/// How long they go on.
#[derive(Clone, Copy, Debug)]
pub enum Length {
    /// Each of them so often.
    Rounds(u32),
    /// Until then.
    Until(Instant),
}

/// How far a script is.
#[derive(Debug, Default)]
pub struct Progress {
    /// Rounds whose writes have begun.
    pub begun: AtomicU32,
    /// Rounds whose writes have returned.
    pub told: AtomicU32,
}

/// What they know of each other.
#[derive(Debug)]
pub struct Crowd {
    /// Where the database is.
    pub place: Place,
    /// The option set that it is opened with.
    pub options: usize,
    /// The seed of all.
    pub seed: u64,
    /// For each script.
    pub progress: Vec<Progress>,
    /// What was done.
    pub counts: Counts,
    over: AtomicBool,
    is_closing: AtomicBool,
    failure: Mutex<Option<String>>,
}

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What was done, while it is being done.
        #[derive(Debug, Default)]
        pub struct Counts { $($(#[$doc])* pub $name: AtomicU64,)* }

        /// What was done.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counted { $($(#[$doc])* pub $name: u64,)* }

        impl Counts {
            /// What was done so far.
            pub fn counted(&self) -> Counted {
                Counted { $($name: self.$name.load(Ordering::Relaxed),)* }
            }
        }

        impl Counted {
            /// Adds another one's.
            pub fn add(&mut self, more: Self) {
                $(self.$name += more.$name;)*
            }

            /// Its numbers, with a space between.
            pub fn to_numbers(&self) -> String {
                [$(self.$name,)*].map(|number| number.to_string()).join(" ")
            }

            /// From its numbers.
            pub fn parse(numbers: &str) -> Option<Self> {
                let mut numbers = numbers.split(' ').map(|number| number.parse().ok());
                Some(Self { $($name: numbers.next()??,)* })
            }
        }
    };
}

counts! {
    /// Times that the database was opened.
    openings,
    /// Times that it was closed while others used it.
    closed_in_use,
    /// Batches written.
    batches,
    /// Times that files were ingested.
    ingests,
    /// Moments whose whole content was compared.
    moments,
    /// Rows compared, one after the other.
    rows,
    /// Flushes by hand.
    flushes,
    /// Compactions by hand.
    compactions,
    /// Checkpoints made and compared.
    checkpoints,
    /// Families that came and went.
    families,
    /// Times that somebody else's turn was drawn, under a seeded scheduler.
    points,
}

impl Counts {
    /// One more.
    pub fn one(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

impl Crowd {
    /// With so many scripts; nothing was written yet.
    pub fn new(place: Place, options: usize, seed: u64, scripts: u8) -> Self {
        Self {
            place,
            options,
            seed,
            progress: (0..scripts).map(|_| Progress::default()).collect(),
            counts: Counts::default(),
            over: AtomicBool::new(false),
            is_closing: AtomicBool::new(false),
            failure: Mutex::new(None),
        }
    }

    /// The order of keys.
    pub fn order(&self) -> Order {
        self.place.order
    }

    /// A directory beside the database.
    pub fn beside(&self, what: &str) -> PathBuf {
        self.place.beside(what)
    }

    /// Rounds of each script that have returned.
    pub fn told(&self) -> Vec<u32> {
        self.progress.iter().map(|script| script.told.load(Ordering::SeqCst)).collect()
    }

    /// Rounds of each script that have begun.
    pub fn begun(&self) -> Vec<u32> {
        self.progress.iter().map(|script| script.begun.load(Ordering::SeqCst)).collect()
    }

    /// Opens the database, has all members use it at once, and closes it: when they are done, or, if `closes_in_use`, while
    /// they use it.
    ///
    /// * `beside`: what one more thread does meanwhile, before it closes the database in use.
    /// * On a failure: what the first one said.
    pub fn gather(
        &mut self,
        members: &mut [Box<dyn Member>],
        length: Length,
        closes_in_use: bool,
        beside: impl FnOnce(&Self, &Db) + Send,
    ) -> Result<(), String> {
        let opened = self.place.builder(self.options).open();
        let db = opened.map_err(|error| format!("opening: {error}"))?;
        Counts::one(&self.counts.openings);
        self.over = AtomicBool::new(false);
        self.is_closing = AtomicBool::new(false);
        let crowd = &*self;
        thread::scope(|scope| {
            for member in members {
                let db = db.clone();
                scope.spawn(move || crowd.attend(&mut **member, &db, length));
            }
            let db = db.clone();
            // On a thread of its own: `shuttle` would wake this one when the last of the others ends, whatever it waits for.
            scope.spawn(move || {
                beside(crowd, &db);
                if closes_in_use {
                    Counts::one(&crowd.counts.closed_in_use);
                    crowd.close(&db);
                }
            });
        });
        self.close(&db);
        let failure = self.failure.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        failure.map_or(Ok(()), Err)
    }

    fn close(&self, db: &Db) {
        self.is_closing.store(true, Ordering::SeqCst);
        if let Err(error) = db.close() {
            self.fail(format!("closing: {error}"));
        }
    }

    fn attend(&self, member: &mut dyn Member, db: &Db, length: Length) {
        let mut rounds = 0;
        let goes_on = |rounds| match length {
            Length::Rounds(count) => rounds < count,
            Length::Until(end) => Instant::now() < end,
        };
        while !self.over.load(Ordering::Relaxed) && goes_on(rounds) {
            match member.round(self, db) {
                Ok(()) => rounds += 1,
                Err(Stop::Closed(_)) if self.is_closing.load(Ordering::SeqCst) => break,
                Err(Stop::Closed(said) | Stop::Failed(said)) => {
                    self.fail(format!("{}, round {rounds}: {said}", member.name()));
                    break;
                }
            }
        }
        member.leave();
    }

    fn fail(&self, said: String) {
        self.over.store(true, Ordering::Relaxed);
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert(said);
    }
}
