use std::collections::{HashMap, VecDeque};
use std::ops::Sub;

use partita_store::objects::{KeyPath, NewKey};
use serde::{Deserialize, Serialize};

use super::names::VOLUME;
use super::plan::Plan;
use super::round::{Listed, Lookup};

/// An engine that keeps the metadata of objects. Changes wait in a batch, until it is written; reads see them.
pub trait Target {
    /// Makes volume and bucket, if they are not there.
    fn create_bucket(&mut self, volume: &str, bucket: &str) -> Result<(), String>;

    /// Opens a key; returns the number of who writes it. The key is looked for before.
    fn allocate(&mut self, path: KeyPath<'_>, new: &NewKey) -> Result<u64, String>;

    /// Commits an open key, which is read before.
    fn commit(&mut self, path: KeyPath<'_>, client: u64, data_size: u64) -> Result<(), String>;

    /// Bytes of a key's data; `None` if it is not there.
    fn lookup(&mut self, path: KeyPath<'_>) -> Result<Option<u64>, String>;

    /// How many keys a listing shows: those that begin with the path's key, behind `start_after`.
    fn list(
        &mut self,
        prefix: KeyPath<'_>,
        start_after: &str,
        limit: usize,
    ) -> Result<usize, String>;

    /// Deletes a key.
    fn delete(&mut self, path: KeyPath<'_>) -> Result<(), String>;

    /// Purges deleted keys from the front; returns how many.
    fn purge(&mut self, limit: usize) -> Result<usize, String>;

    /// Writes the changes that wait, in one batch.
    fn write(&mut self) -> Result<(), String>;

    /// Clients of keys that are open, with the names of these, in no order: after a run that stopped.
    fn open_keys(&mut self) -> Result<Vec<(String, u64)>, String>;
}

/// How much was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each counts the operations of its name")]
pub struct Done {
    pub allocations: u64,
    pub commits: u64,
    pub lookups: u64,
    pub deletions: u64,
    pub purged: u64,
    pub lists: u64,
    /// Keys that listings showed.
    pub listed: u64,
}

impl Done {
    /// Changes that are transactions of their own.
    pub fn transactions(&self) -> u64 {
        self.allocations + self.commits + self.deletions
    }
}

impl Sub for Done {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            allocations: self.allocations - earlier.allocations,
            commits: self.commits - earlier.commits,
            lookups: self.lookups - earlier.lookups,
            deletions: self.deletions - earlier.deletions,
            purged: self.purged - earlier.purged,
            lists: self.lists - earlier.lists,
            listed: self.listed - earlier.listed,
        }
    }
}

/// Does rounds, one after the other, and holds answers against what they must be.
#[derive(Debug)]
pub struct Driver {
    plan: Plan,
    /// Keys that are open, the oldest first, with their clients.
    open: VecDeque<(u64, u64)>,
    done: Done,
}

/// Keys that a purge takes at most for each that can have been deleted since the one before.
const PURGE_SHARE: u64 = 2;

impl Driver {
    /// Begins a load: makes the buckets.
    pub fn begin(plan: &Plan, target: &mut (impl Target + ?Sized)) -> Result<Self, String> {
        for bucket in plan.bucket_names() {
            target.create_bucket(VOLUME, &bucket)?;
        }
        Ok(Self { plan: plan.clone(), open: VecDeque::new(), done: Done::default() })
    }

    /// Goes on with a load that was interrupted, if every batch ended with a round; returns the next one.
    ///
    /// * `known`: about how many rounds are done, where that is known: it only takes longer without.
    /// * Plans must have open keys.
    pub fn recover(
        plan: &Plan,
        known: u64,
        target: &mut (impl Target + ?Sized),
    ) -> Result<(Self, u64), String> {
        let open: HashMap<String, u64> = target.open_keys()?.into_iter().collect();
        let next = match next_round(plan, known, &open)? {
            Some(next) => next,
            // Nothing is open before the first round and behind the last. No key is as sure to be there as the last one.
            None if plan.keys == 0 => 0,
            None => match target.lookup(plan.name(plan.keys - 1).path())? {
                Some(_) => plan.rounds(),
                None => 0,
            },
        };
        Ok((Self::go_on(plan, next, &open, target)?, next))
    }

    /// Goes on with a load of which the rounds before `number` were done, and written.
    pub fn resume(
        plan: &Plan,
        number: u64,
        target: &mut (impl Target + ?Sized),
    ) -> Result<Self, String> {
        let open = target.open_keys()?.into_iter().collect();
        Self::go_on(plan, number, &open, target)
    }

    fn go_on(
        plan: &Plan,
        number: u64,
        open: &HashMap<String, u64>,
        target: &mut (impl Target + ?Sized),
    ) -> Result<Self, String> {
        let mut driver = Self::begin(plan, target)?;
        for key in number.saturating_sub(plan.open_keys)..number.min(plan.keys) {
            let client = open.get(&plan.name(key).key);
            driver.open.push_back((key, *client.ok_or_else(|| format!("key {key} is not open"))?));
        }
        Ok(driver)
    }

    /// What was done so far.
    pub fn done(&self) -> Done {
        self.done
    }

    /// Does a round.
    ///
    /// * Errors: those of the target; a wrong answer.
    pub fn perform(
        &mut self,
        number: u64,
        target: &mut (impl Target + ?Sized),
    ) -> Result<(), String> {
        let round = self.plan.round(number);
        if let Some(key) = round.allocate {
            let client = target.allocate(self.plan.name(key).path(), &self.plan.new_key(key))?;
            self.open.push_back((key, client));
            self.done.allocations += 1;
        }
        if let Some(key) = round.commit {
            let open = self.open.pop_front().filter(|(open, _)| *open == key);
            let (_, client) =
                open.ok_or_else(|| format!("key {key} is not the oldest open one"))?;
            target.commit(self.plan.name(key).path(), client, self.plan.data_size(key))?;
            self.done.commits += 1;
        }
        if let Some(key) = round.delete {
            target.delete(self.plan.name(key).path())?;
            self.done.deletions += 1;
        }
        for lookup in round.lookups {
            self.look_up(lookup, target)?;
        }
        if let Some(listed) = round.list {
            self.list(listed, target)?;
        }
        if round.purge {
            let limit = self.plan.purge_every.saturating_mul(PURGE_SHARE);
            self.done.purged += target.purge(usize::try_from(limit).unwrap_or(usize::MAX))? as u64;
        }
        Ok(())
    }

    /// Makes a lookup, and holds its answer against what it must be.
    pub(super) fn look_up(
        &mut self,
        lookup: Lookup,
        target: &mut (impl Target + ?Sized),
    ) -> Result<(), String> {
        let found = target.lookup(self.plan.name(lookup.key).path())?;
        let expected = lookup.is_there.then(|| self.plan.data_size(lookup.key));
        if found != expected {
            return Err(format!("key {}: found {found:?}, expected {expected:?}", lookup.key));
        }
        self.done.lookups += 1;
        Ok(())
    }

    fn list(
        &mut self,
        Listed { from }: Listed,
        target: &mut (impl Target + ?Sized),
    ) -> Result<(), String> {
        let name = self.plan.name(from);
        let directory = name.key.find('/').map_or("", |slash| &name.key[..=slash]);
        let prefix = KeyPath { key: directory, ..name.path() };
        self.done.listed += target.list(prefix, &name.key, self.plan.list_limit)? as u64;
        self.done.lists += 1;
        Ok(())
    }
}

/// The round behind those that left these keys open; `None` if there are none.
fn next_round(plan: &Plan, known: u64, open: &HashMap<String, u64>) -> Result<Option<u64>, String> {
    if open.is_empty() {
        return Ok(None);
    }
    let low = known.saturating_sub(plan.open_keys).min(plan.keys);
    let mut numbers = (low..plan.keys).chain(0..low);
    match numbers.find(|number| open.contains_key(&plan.name(*number).key)) {
        Some(0) => Ok(Some(open.len() as u64)),
        Some(oldest) => Ok(Some(oldest + plan.open_keys)),
        None => Err("keys are open that this load has not".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use partita::io::{FileSystem, MemoryFileSystem};
    use partita_store::StoreBuilder;
    use partita_store::objects::{ObjectOptions, ObjectStore};

    use super::*;

    fn open(disk: &Arc<MemoryFileSystem>) -> ObjectStore {
        let disk: Arc<dyn FileSystem> = Arc::clone(disk) as _;
        let builder = StoreBuilder::new("/om.db").budget_bytes(4 << 20).file_system(disk);
        ObjectStore::open(&builder, ObjectOptions::default()).unwrap()
    }

    #[test]
    fn a_load_that_stops_goes_on_where_it_was() {
        let plan = Plan {
            keys: 700,
            buckets: 1,
            open_keys: 20,
            delete_percent: 30,
            delete_age: 50,
            purge_every: 40,
            list_every: 5,
            ..Plan::default()
        };
        let disk = Arc::new(MemoryFileSystem::new());
        let mut objects = open(&disk);
        let mut driver = Driver::begin(&plan, &mut objects).unwrap();
        (0..400).for_each(|number| driver.perform(number, &mut objects).unwrap());
        let first = driver.done();
        objects.close().unwrap();
        drop(objects);
        let mut objects = open(&disk);
        let mut driver = Driver::resume(&plan, 400, &mut objects).unwrap();
        (400..plan.rounds()).for_each(|number| driver.perform(number, &mut objects).unwrap());
        let second = driver.done();
        assert_eq!((first.allocations, second.allocations), (400, 300));
        assert_eq!(first.commits + second.commits, 700);
        assert!(first.listed > 0 && second.listed > 0, "{first:?} {second:?}");
        assert!(second.purged > 20, "{second:?}");
        let there: u64 =
            plan.bucket_names().map(|name| objects.bucket(VOLUME, &name).unwrap().key_count).sum();
        assert_eq!(there, 700 - first.deletions - second.deletions);
        assert!(
            objects.tables().open_keys.scan().keys().unwrap().next().is_none()
                || objects.unwritten_transactions() > 0
        );
        // Another load finds nothing of this one, and says so.
        assert!(Driver::resume(&Plan { seed: 9, ..plan }, 400, &mut objects).is_err());
    }

    #[test]
    fn the_next_round_is_told_by_the_keys_that_are_open() {
        let plan = Plan { keys: 60, buckets: 1, open_keys: 7, ..Plan::default() };
        let disk = Arc::new(MemoryFileSystem::new());
        for done in [0, 1, 6, 7, 8, 30, 59, 60, 61, 66, 67] {
            let mut objects = open(&disk);
            // Wherever it is looked for first.
            for known in [0, done, 70] {
                let (mut driver, next) = Driver::recover(&plan, known, &mut objects).unwrap();
                if next < done {
                    (next..done).for_each(|number| driver.perform(number, &mut objects).unwrap());
                    objects.write().unwrap();
                } else {
                    assert_eq!(next, done, "looked for from {known} on");
                }
            }
            objects.close().unwrap();
        }
        let mut objects = open(&disk);
        let other = Plan { seed: 9, ..plan };
        let mut driver = Driver::begin(&other, &mut objects).unwrap();
        driver.perform(0, &mut objects).unwrap();
        objects.write().unwrap();
        let refused = Driver::recover(&Plan { seed: 3, ..other }, 0, &mut objects).unwrap_err();
        assert!(refused.contains("keys are open"), "{refused}");
    }
}
