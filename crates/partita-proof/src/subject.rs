//! An engine with a database, to which a history is done, and the comparison of the two.

use std::fmt::Display;

use crate::history::key;
use crate::state::{Model, Order, difference};
use crate::step::{Row, Slot, Step};

/// An engine with an open database.
pub trait Subject {
    /// Why something did not work.
    type Error: Display;

    /// Does a step. Checks are left to [`check`].
    fn apply(&mut self, step: &Step) -> Result<(), Self::Error>;

    /// The families that there are.
    fn slots(&self) -> Vec<Slot>;

    /// All rows of a family, as they are now or as a snapshot sees them, first to last or last to first.
    fn rows(
        &self,
        slot: Slot,
        snapshot: Option<u32>,
        backward: bool,
    ) -> Result<Vec<Row>, Self::Error>;

    /// The value of a key.
    fn get(
        &self,
        slot: Slot,
        snapshot: Option<u32>,
        key: &[u8],
    ) -> Result<Option<Vec<u8>>, Self::Error>;

    /// The values of several keys; an engine that has a way of its own to look them up uses it.
    fn multi_get(&self, slot: Slot, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, Self::Error> {
        keys.iter().map(|key| self.get(slot, None, key)).collect()
    }

    /// The nearest row at or before a key in the family's order, if the engine can be asked for it: then `Some`.
    fn floor(&self, _slot: Slot, _key: &[u8]) -> Option<Result<Option<Row>, Self::Error>> {
        None
    }

    /// What the engine checks of its own accord: files, levels, checksums.
    fn check_itself(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// What was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Steps that were done.
    pub steps: u64,
    /// Comparisons of all there is.
    pub checks: u64,
    /// Rows read by iterators.
    pub rows: u64,
    /// Keys looked up.
    pub gets: u64,
}

impl Compared {
    /// Adds what somebody else compared.
    pub fn add(&mut self, other: Self) {
        self.steps += other.steps;
        self.checks += other.checks;
        self.rows += other.rows;
        self.gets += other.gets;
    }
}

/// Does the steps and compares where they say so. On the first difference: which step, and what differs.
pub fn run<S: Subject>(
    subject: &mut S,
    model: &mut Model,
    steps: &[Step],
) -> Result<Compared, String> {
    let mut compared = Compared::default();
    for (at, step) in steps.iter().enumerate() {
        let what = |said: String| format!("step {at}, {step:?}: {said}");
        subject.apply(step).map_err(|error| what(error.to_string()))?;
        model.apply(step);
        compared.steps += 1;
        if matches!(step, Step::Check | Step::Reopen(_) | Step::Kill(_)) {
            compared.add(check(subject, model).map_err(what)?);
        }
    }
    Ok(compared)
}

/// Compares all that can be read with what the model says.
pub fn check<S: Subject + ?Sized>(subject: &mut S, model: &Model) -> Result<Compared, String> {
    let mut compared = Compared { checks: 1, ..Compared::default() };
    let (expected, found): (Vec<Slot>, Vec<Slot>) =
        (model.state.slots().collect(), subject.slots());
    if expected != found {
        return Err(format!("families {found:?}, expected {expected:?}"));
    }
    for slot in expected {
        let what = |said: String| format!("{}: {said}", slot.name());
        let rows = model.state.rows(slot);
        compared.add(check_walks(subject, slot, None, &rows, &[]).map_err(what)?);
        compared.add(check_gets(subject, slot, model, &rows).map_err(what)?);
        for snapshot in model.snapshots() {
            let Some((rows, open)) = model.seen(snapshot, slot) else { continue };
            let what = |said: String| format!("snapshot {snapshot}, {}: {said}", slot.name());
            compared.add(check_walks(subject, slot, Some(snapshot), &rows, &open).map_err(what)?);
            for (key, value) in rows.iter().step_by(5) {
                let got = subject
                    .get(slot, Some(snapshot), key)
                    .map_err(|error| what(error.to_string()))?;
                if got.as_ref() != Some(value) {
                    return Err(what(format!("get {} gave another value", key.escape_ascii())));
                }
                compared.gets += 1;
            }
        }
    }
    subject.check_itself().map_err(|error| format!("the engine's own checks: {error}"))?;
    Ok(compared)
}

/// Both walks give `rows`; keys that begin with one of `open` may be there or not.
fn check_walks<S: Subject + ?Sized>(
    subject: &S,
    slot: Slot,
    snapshot: Option<u32>,
    rows: &[Row],
    open: &[Vec<u8>],
) -> Result<Compared, String> {
    let mut compared = Compared::default();
    for backward in [false, true] {
        let way = if backward { "backward" } else { "forward" };
        let mut found =
            subject.rows(slot, snapshot, backward).map_err(|error| format!("{way}: {error}"))?;
        if backward {
            found.reverse();
        }
        found.retain(|(key, _)| !open.iter().any(|prefix| key.starts_with(prefix)));
        compared.rows += found.len() as u64;
        if let Some(said) = difference(&found, rows) {
            return Err(format!("{way}: {said}"));
        }
    }
    Ok(compared)
}

fn check_gets<S: Subject + ?Sized>(
    subject: &S,
    slot: Slot,
    model: &Model,
    rows: &[Row],
) -> Result<Compared, String> {
    let mut keys: Vec<Vec<u8>> = rows.iter().map(|row| row.0.clone()).collect();
    keys.extend(rows.iter().step_by(7).map(|row| [&row.0[..], b"\0"].concat()));
    keys.extend((0..260).map(key));
    let expected = |key: &[u8]| model.state.get(slot, key);
    for key in &keys {
        let got = subject.get(slot, None, key).map_err(|error| format!("get: {error}"))?;
        if got.as_deref() != expected(key) {
            return Err(format!(
                "get {} gave {:?}",
                key.escape_ascii(),
                got.map(|it| it.escape_ascii().to_string())
            ));
        }
    }
    // Some twice, in no order.
    let several: Vec<Vec<u8>> =
        (0..keys.len()).map(|at| keys[at * 7 % keys.len()].clone()).collect();
    let got = subject.multi_get(slot, &several).map_err(|error| format!("multi_get: {error}"))?;
    for (key, got) in several.iter().zip(&got) {
        if got.as_deref() != expected(key) {
            return Err(format!("multi_get {} gave another value", key.escape_ascii()));
        }
    }
    for key in keys.iter().step_by(3) {
        let Some(found) = subject.floor(slot, key) else { break };
        let found = found.map_err(|error| format!("floor: {error}"))?;
        let is_after = |row: &Row| match model.state.order() {
            Order::Forward => row.0 > *key,
            Order::Reverse => row.0 < *key,
        };
        let place = rows.partition_point(|row| !is_after(row));
        if found.as_ref() != place.checked_sub(1).map(|at| &rows[at]) {
            return Err(format!("floor of {} gave another row", key.escape_ascii()));
        }
    }
    Ok(Compared { gets: 2 * keys.len() as u64, ..Compared::default() })
}
