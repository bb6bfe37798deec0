use super::names::Salt;
use super::plan::Plan;

/// What happens in a round: operations on keys, by number, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// The key that is allocated.
    pub allocate: Option<u64>,
    /// The key that is committed, some rounds after it was allocated.
    pub commit: Option<u64>,
    /// The key that is deleted, some commits after its own.
    pub delete: Option<u64>,
    /// Keys that are looked up.
    pub lookups: Vec<Lookup>,
    /// What is listed.
    pub list: Option<Listed>,
    /// Whether deleted keys are purged.
    pub purge: bool,
}

/// A lookup, and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// The key.
    pub key: u64,
    /// Whether it is there; it was deleted else.
    pub is_there: bool,
}

/// Keys of a bucket that begin alike, behind one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// A key that was committed: the listing is of its directory, from it on.
    pub from: u64,
}

impl Plan {
    /// What happens in a round.
    ///
    /// * `number`: below [`Plan::rounds`].
    pub fn round(&self, number: u64) -> Round {
        let allocate = (number < self.keys).then_some(number);
        let commit = number.checked_sub(self.open_keys).filter(|key| *key < self.keys);
        let Some(last) = commit else { return Round { allocate, ..Round::default() } };
        let delete = last.checked_sub(self.delete_age.max(1)).filter(|key| self.is_doomed(*key));
        let mut random = self.random(number, Salt::Round);
        let mut lookup = || {
            let key = random.below(last + 1);
            Lookup { key, is_there: !self.is_deleted(key, last) }
        };
        let lookups = (0..self.lookups).map(|_| lookup()).collect();
        let is_due = |every: u64| every > 0 && last % every == every - 1;
        let list = is_due(self.list_every).then(|| Listed { from: random.below(last + 1) });
        Round { allocate, commit, delete, lookups, list, purge: is_due(self.purge_every) }
    }

    /// A lookup when all rounds are done; the plan has keys.
    pub fn late_lookup(&self, number: u64) -> Lookup {
        let key = self.random(self.rounds() + number, Salt::Round).below(self.keys);
        Lookup { key, is_there: !self.is_deleted(key, self.keys - 1) }
    }

    /// Whether a key is one of those that are deleted some time.
    pub fn is_doomed(&self, key: u64) -> bool {
        self.random(key, Salt::Fate).below(100) < self.delete_percent
    }

    /// Whether a key is deleted when `last` was committed last.
    pub fn is_deleted(&self, key: u64, last: u64) -> bool {
        key.saturating_add(self.delete_age.max(1)) <= last && self.is_doomed(key)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn rounds_make_every_key_and_answers_are_what_was_done() {
        let plan = Plan {
            keys: 2000,
            open_keys: 30,
            delete_percent: 40,
            delete_age: 100,
            lookups: 2,
            list_every: 10,
            purge_every: 50,
            ..Plan::default()
        };
        let (mut open, mut there, mut deleted) = (BTreeSet::new(), BTreeSet::new(), 0);
        let (mut lookups, mut found, mut lists, mut purges) = (0, 0, 0, 0);
        for number in 0..plan.rounds() {
            let round = plan.round(number);
            assert_eq!(round, plan.round(number));
            open.extend(round.allocate);
            if let Some(key) = round.commit {
                assert!(open.remove(&key) && there.insert(key));
            }
            if let Some(key) = round.delete {
                assert!(there.remove(&key));
                deleted += 1;
            }
            for lookup in round.lookups {
                assert_eq!(lookup.is_there, there.contains(&lookup.key), "{number}: {lookup:?}");
                lookups += 1;
                found += usize::from(lookup.is_there);
            }
            assert!(open.len() as u64 <= plan.open_keys + 1);
            lists += usize::from(round.list.is_some());
            purges += usize::from(round.purge);
        }
        assert_eq!((open.len(), there.len() + deleted, lookups), (0, 2000, 4000));
        assert_eq!((lists, purges), (200, 40));
        assert!((650..850).contains(&deleted), "{deleted}");
        assert!(found > 2500 && found < lookups, "{found}");
    }

    #[test]
    fn without_deletions_all_that_was_committed_is_there() {
        let plan = Plan { keys: 50, open_keys: 0, ..Plan::default() };
        for number in 0..plan.rounds() {
            let round = plan.round(number);
            assert_eq!(
                (round.allocate, round.commit, round.delete),
                (Some(number), Some(number), None)
            );
            assert!(round.lookups.iter().all(|lookup| lookup.is_there && lookup.key <= number));
        }
    }
}
