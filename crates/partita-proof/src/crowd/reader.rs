//! Who looks at moments: snapshots, iterators, copies.

use std::collections::VecDeque;

use fastrand::Rng;
use partita::db::{ColumnFamily, Db, DbIterator, IterOptions, PinnedValue, ReadOptions, Snapshot};
use partita::table::ReadContext;

use super::script::Script;
use super::writer::{round_of, shown};
use super::{Counts, Crowd, Done, Member, Stop};
use crate::state::Order;
use crate::step::{Row, Slot};

/// The scripts as somebody has seen them last. Who looks again sees no less.
#[derive(Clone, Debug)]
pub struct Seen {
    scripts: Vec<Script>,
}

/// Rounds of each script, no less and no more of which may be seen.
#[derive(Clone, Debug)]
pub struct Between {
    /// Those whose writes had returned before.
    pub told: Vec<u32>,
    /// Those whose writes had begun afterwards.
    pub begun: Vec<u32>,
}

impl Seen {
    /// Nothing yet.
    pub fn new(scripts: Vec<Script>) -> Self {
        Self { scripts }
    }

    /// Somebody sees these rounds of the scripts now.
    fn advance(&mut self, rounds: &[u32], between: &Between) -> Done {
        for ((script, &round), (&told, &begun)) in
            self.scripts.iter_mut().zip(rounds).zip(between.told.iter().zip(&between.begun))
        {
            let seen = script.round();
            if round < seen.max(told) || round > begun {
                let number = script.number();
                let said = format!(
                    "{round} rounds of script {number}; {seen} were seen before, {told} were told, {begun} had begun"
                );
                return Err(Stop::Failed(said));
            }
            script.advance_to(round);
        }
        Ok(())
    }

    /// What a family holds, in order.
    fn rows(&self, slot: Slot, order: Order) -> Vec<Row> {
        let rows = self.scripts.iter().map(|script| script.state.rows(slot));
        match order {
            Order::Forward => rows.flatten().collect(),
            Order::Reverse => rows.rev().flatten().collect(),
        }
    }

    /// Compares the whole content at one moment with what so many rounds of the scripts leave behind.
    ///
    /// * `read`: which moment. Of copies: the only one there is.
    /// * Returns the rows of each family.
    pub fn look(
        &mut self,
        crowd: &Crowd,
        db: &Db,
        read: &ReadOptions,
        between: &Between,
        random: &mut Rng,
    ) -> Result<Vec<Vec<Row>>, Stop> {
        let rounds = self.rounds(db, &db.default_family(), read)?;
        self.advance(&rounds, between)?;
        let mut all = Vec::new();
        for slot in Slot::residents() {
            let family = db.family(slot.name())?;
            if self.rounds(db, &family, read)? != rounds {
                return Err(Stop::Failed(format!("{}: a part of a batch", slot.name())));
            }
            let rows = self.rows(slot, crowd.order());
            compare(crowd, db, &family, read, &rows, random.bool())?;
            self.ask(db, &family, read, &rows, random)?;
            all.push(rows);
        }
        Counts::one(&crowd.counts.moments);
        Ok(all)
    }

    /// Compares a family that was copied from `slot` at some moment.
    pub fn look_at_copy(
        &self,
        crowd: &Crowd,
        db: &Db,
        copy: &ColumnFamily,
        slot: Slot,
        between: &Between,
    ) -> Done {
        let read = ReadOptions::default();
        let mut seen = self.clone();
        seen.advance(&seen.rounds(db, copy, &read)?, between)?;
        compare(crowd, db, copy, &read, &seen.rows(slot, crowd.order()), false)
    }

    fn rounds(&self, db: &Db, family: &ColumnFamily, read: &ReadOptions) -> Result<Vec<u32>, Stop> {
        let mut rounds = Vec::new();
        for script in &self.scripts {
            let key = Script::round_key(script.number());
            let found = db.get_with(family, &key, read, &mut ReadContext::default())?;
            rounds.push(found.map_or(0, |value| round_of(&value)));
        }
        Ok(rounds)
    }

    /// Asks for some keys, of which some are not there.
    fn ask(
        &self,
        db: &Db,
        family: &ColumnFamily,
        read: &ReadOptions,
        rows: &[Row],
        random: &mut Rng,
    ) -> Done {
        let mut keys = Vec::new();
        for script in &self.scripts {
            keys.push(script.key(random.usize(..1 << 20)));
        }
        if !rows.is_empty() {
            keys.push(rows[random.usize(..rows.len())].0.clone());
        }
        let expected = |key: &[u8]| rows.iter().find(|row| row.0 == key).map(|row| &row.1[..]);
        let found = db.multi_get_with(family, &keys, read, &mut ReadContext::default())?;
        for (key, found) in keys.iter().zip(found) {
            let found = found.map(PinnedValue::into_vec);
            let alone = db.get_with(family, key, read, &mut ReadContext::default())?;
            for found in [found, alone.map(PinnedValue::into_vec)] {
                if found.as_deref() != expected(key) {
                    let [found, expected] = [found.as_deref(), expected(key)].map(shown);
                    let (name, key) = (family.name(), key.escape_ascii());
                    let said = format!("{name}, {key}: {found}, not {expected}");
                    return Err(Stop::Failed(said));
                }
            }
        }
        Ok(())
    }
}

/// Walks over a family, to the end or to the beginning, and compares.
fn compare(
    crowd: &Crowd,
    db: &Db,
    family: &ColumnFamily,
    read: &ReadOptions,
    rows: &[Row],
    backward: bool,
) -> Done {
    let options = IterOptions { read: read.clone(), ..IterOptions::default() };
    let mut walk = Walk::new(db.iter_cf(family, options)?, family, rows.to_vec(), backward);
    walk.begin()?;
    while walk.step(crowd)? {}
    Ok(())
}

/// An iterator on its way, and the rows that it has to show.
struct Walk {
    iter: DbIterator,
    family: ColumnFamily,
    rows: Vec<Row>,
    backward: bool,
    at: usize,
}

impl Walk {
    fn new(iter: DbIterator, family: &ColumnFamily, rows: Vec<Row>, backward: bool) -> Self {
        Self { iter, family: family.clone(), rows, backward, at: 0 }
    }

    fn begin(&mut self) -> Done {
        Ok(if self.backward { self.iter.seek_to_last() } else { self.iter.seek_to_first() }?)
    }

    /// Compares the next row; `false` at the end.
    fn step(&mut self, crowd: &Crowd) -> Result<bool, Stop> {
        let at =
            if self.backward { self.rows.len().checked_sub(1 + self.at) } else { Some(self.at) };
        let expected = at.and_then(|at| self.rows.get(at));
        let found = self.iter.is_valid().then(|| (self.iter.key(), self.iter.value()));
        if found != expected.map(|(key, value)| (&key[..], &value[..])) {
            let text = |row: Option<(&[u8], &[u8])>| match row {
                None => "the end".to_owned(),
                Some((key, value)) => format!("{} = {}", key.escape_ascii(), shown(Some(value))),
            };
            let expected = text(expected.map(|(key, value)| (&key[..], &value[..])));
            return Err(Stop::Failed(format!(
                "{}, row {} of {}{}: {}, not {expected}",
                self.family.name(),
                self.at,
                self.rows.len(),
                if self.backward { ", backward" } else { "" },
                text(found)
            )));
        }
        if expected.is_none() {
            return Ok(false);
        }
        Counts::one(&crowd.counts.rows);
        self.at += 1;
        if self.backward { self.iter.prev() } else { self.iter.next() }?;
        Ok(true)
    }
}

/// Takes snapshots and iterators, keeps some, and looks again later.
pub struct Reader {
    number: u8,
    seen: Seen,
    random: Rng,
    kept: VecDeque<(Snapshot, Vec<Vec<Row>>)>,
    walk: Option<Walk>,
}

impl Reader {
    /// Snapshots that are kept.
    const KEPT: usize = 2;

    /// The reader of this number.
    pub fn new(seed: u64, number: u8, seen: Seen) -> Self {
        let random = Rng::with_seed(seed.wrapping_mul(100) + 50 + u64::from(number));
        Self { number, seen, random, kept: VecDeque::new(), walk: None }
    }

    fn look_now(&mut self, crowd: &Crowd, db: &Db) -> Done {
        let told = crowd.told();
        let snapshot = db.snapshot();
        let between = Between { told, begun: crowd.begun() };
        let read = ReadOptions::at(&snapshot);
        let rows = self.seen.look(crowd, db, &read, &between, &mut self.random)?;
        if self.random.bool() {
            if self.kept.len() == Self::KEPT {
                self.kept.pop_front();
            }
            self.kept.push_back((snapshot, rows));
        }
        Ok(())
    }

    fn look_again(&mut self, crowd: &Crowd, db: &Db) -> Done {
        for (snapshot, rows) in &self.kept {
            let read = ReadOptions::at(snapshot);
            for (slot, rows) in Slot::residents().zip(rows) {
                let family = db.family(slot.name())?;
                compare(crowd, db, &family, &read, rows, self.random.bool())?;
            }
        }
        Ok(())
    }

    /// Begins to walk over one family, or goes on.
    fn walk_on(&mut self, crowd: &Crowd, db: &Db) -> Done {
        let mut walk = match self.walk.take() {
            Some(walk) => walk,
            None => self.begin_walk(crowd, db)?,
        };
        for _ in 0..self.random.usize(1..30) {
            if !walk.step(crowd)? {
                return Ok(());
            }
        }
        self.walk = Some(walk);
        Ok(())
    }

    fn begin_walk(&mut self, crowd: &Crowd, db: &Db) -> Result<Walk, Stop> {
        let slot = Slot(self.random.u8(..Slot::RESIDENTS));
        let family = db.family(slot.name())?;
        let told = crowd.told();
        let mut iter = db.iter_cf(&family, IterOptions::default())?;
        let between = Between { told, begun: crowd.begun() };
        let mut seen = self.seen.clone();
        let mut rounds = Vec::new();
        for script in &seen.scripts {
            let key = Script::round_key(script.number());
            iter.seek(&key)?;
            let found = iter.is_valid() && iter.key() == key;
            rounds.push(if found { round_of(iter.value()) } else { 0 });
        }
        seen.advance(&rounds, &between)?;
        let rows = seen.rows(slot, crowd.order());
        let mut walk = Walk::new(iter, &family, rows, self.random.bool());
        walk.begin()?;
        Ok(walk)
    }
}

impl Member for Reader {
    fn name(&self) -> String {
        format!("reader {}", self.number)
    }

    fn round(&mut self, crowd: &Crowd, db: &Db) -> Done {
        self.look_now(crowd, db)?;
        self.walk_on(crowd, db)?;
        self.look_again(crowd, db)
    }

    fn leave(&mut self) {
        self.kept.clear();
        self.walk = None;
    }
}
