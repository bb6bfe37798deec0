//! What a database must hold: sorted maps.

use std::collections::{BTreeMap, BTreeSet};

use crate::step::{Op, Row, Slot, Step, epoch_prefix};

/// The order of keys in a database's families.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By their bytes.
    #[default]
    Forward,
    /// The other way round.
    Reverse,
}

impl Order {
    /// Between which keys those of an epoch stand, none of which has one of these two itself.
    pub fn epoch(self, epoch: u32) -> [Vec<u8>; 2] {
        let [first, behind] = [epoch_prefix(epoch), epoch_prefix(epoch + 1)];
        match self {
            Self::Forward => [first, behind],
            Self::Reverse => [behind, first],
        }
    }
}

/// One family's entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FamilyState {
    /// Which of the families of this name it is.
    pub incarnation: u32,
    /// Its entries, by the bytes of their keys.
    pub rows: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// What there is in all families at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    order: Order,
    families: BTreeMap<Slot, FamilyState>,
    created: u32,
}

impl State {
    /// A new database.
    pub fn new(order: Order) -> Self {
        let families = Slot::residents().map(|slot| (slot, FamilyState::default())).collect();
        Self { order, families, created: 0 }
    }

    /// The order of keys.
    pub fn order(&self) -> Order {
        self.order
    }

    /// The families that there are.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        self.families.keys().copied()
    }

    /// Whether there is such a family.
    pub fn has(&self, slot: Slot) -> bool {
        self.families.contains_key(&slot)
    }

    /// A family's entries.
    pub fn family(&self, slot: Slot) -> Option<&FamilyState> {
        self.families.get(&slot)
    }

    /// A family's rows in its order; none, if there is no such family.
    pub fn rows(&self, slot: Slot) -> Vec<Row> {
        let Some(family) = self.families.get(&slot) else { return Vec::new() };
        let rows = family.rows.iter().map(|(key, value)| (key.clone(), value.clone()));
        match self.order {
            Order::Forward => rows.collect(),
            Order::Reverse => rows.rev().collect(),
        }
    }

    /// The value of a key.
    pub fn get(&self, slot: Slot, key: &[u8]) -> Option<&[u8]> {
        self.families.get(&slot)?.rows.get(key).map(Vec::as_slice)
    }

    /// Whether the step changes what there is.
    pub fn is_changed_by(step: &Step) -> bool {
        matches!(
            step,
            Step::Write(..)
                | Step::Ingest(_)
                | Step::Purge(..)
                | Step::Create(_)
                | Step::Drop(_)
                | Step::Copy { .. }
        )
    }

    /// Does the step.
    ///
    /// * Panics if it names a family that is not there: histories do not.
    pub fn apply(&mut self, step: &Step) {
        match step {
            Step::Write(changes, _) => {
                changes.iter().for_each(|change| self.change(change.slot, &change.op));
            }
            Step::Ingest(files) => {
                for (slot, rows) in files {
                    self.rows_mut(*slot).extend(rows.iter().cloned());
                }
            }
            Step::Purge(slot, epoch) => {
                let prefix = epoch_prefix(*epoch);
                self.rows_mut(*slot).retain(|key, _| !key.starts_with(&prefix));
            }
            Step::Create(slot) => self.insert(*slot, BTreeMap::new()),
            Step::Drop(slot) => drop(self.families.remove(slot)),
            Step::Copy { from, to } => {
                let rows = self.rows_mut(*from).clone();
                self.insert(*to, rows);
            }
            _ => {}
        }
    }

    fn rows_mut(&mut self, slot: Slot) -> &mut BTreeMap<Vec<u8>, Vec<u8>> {
        &mut self.families.get_mut(&slot).expect("histories know which families there are").rows
    }

    fn insert(&mut self, slot: Slot, rows: BTreeMap<Vec<u8>, Vec<u8>>) {
        self.created += 1;
        self.families.insert(slot, FamilyState { incarnation: self.created, rows });
    }

    fn change(&mut self, slot: Slot, op: &Op) {
        let order = self.order;
        let rows = self.rows_mut(slot);
        match op {
            Op::Put(key, value) => drop(rows.insert(key.clone(), value.clone())),
            Op::Delete(key) | Op::SingleDelete(key) => drop(rows.remove(key)),
            Op::Merge(key, operand) => match rows.get_mut(key) {
                Some(value) => value.extend([&b","[..], operand].concat()),
                None => drop(rows.insert(key.clone(), operand.clone())),
            },
            Op::DeleteRange(begin, end) => rows.retain(|key, _| match order {
                Order::Forward => key < begin || key >= end,
                Order::Reverse => key > begin || key <= end,
            }),
        }
    }

    /// The same without the keys of these epochs: of those that are being purged, any may be there.
    #[must_use]
    pub fn without(&self, purged: &BTreeSet<(Slot, u32)>) -> Self {
        let mut state = self.clone();
        for (slot, epoch) in purged {
            if state.has(*slot) {
                state.apply(&Step::Purge(*slot, *epoch));
            }
        }
        state
    }

    /// What was read from a database. Of incarnations nothing is known there.
    pub fn found(order: Order, rows: &BTreeMap<Slot, Vec<Row>>) -> Self {
        let family =
            |rows: &Vec<Row>| FamilyState { incarnation: 0, rows: rows.iter().cloned().collect() };
        let families = rows.iter().map(|(slot, rows)| (*slot, family(rows))).collect();
        Self { order, families, created: 0 }
    }

    /// Whether both have the same families with the same rows.
    pub fn has_rows_of(&self, other: &Self) -> bool {
        self.difference(other).is_empty()
    }

    /// Where the rows of `found` are others, family by family; empty if they are nowhere.
    pub fn difference(&self, found: &Self) -> String {
        let mut said = String::new();
        for slot in (0..Slot::COUNT).map(Slot) {
            match (self.has(slot), found.has(slot)) {
                (false, false) => {}
                (true, false) => said += &format!("{}: is not there. ", slot.name()),
                (false, true) => said += &format!("{}: is there. ", slot.name()),
                (true, true) => {
                    if let Some(differs) = difference(&found.rows(slot), &self.rows(slot)) {
                        said += &format!("{}: {differs}. ", slot.name());
                    }
                }
            }
        }
        said
    }
}

/// Where two lists of rows differ first.
pub fn difference(found: &[Row], expected: &[Row]) -> Option<String> {
    let place = found.iter().zip(expected).position(|(found, expected)| found != expected);
    let place = place.unwrap_or(found.len().min(expected.len()));
    let show = |row: Option<&Row>| match row {
        Some((key, value)) => {
            format!("{}={}", key.escape_ascii(), value[..value.len().min(40)].escape_ascii())
        }
        None => "the end".to_owned(),
    };
    let (one, other) = (found.get(place), expected.get(place));
    (one != other).then(|| {
        let [found_count, expected_count] = [found.len(), expected.len()];
        format!(
            "row {place} is {}, expected {}; {found_count} rows, expected {expected_count}",
            show(one),
            show(other)
        )
    })
}

/// What a database must hold, with what its snapshots see.
#[derive(Clone, Debug)]
pub struct Model {
    /// What there is now.
    pub state: State,
    snapshots: BTreeMap<u32, Seen>,
}

/// What one snapshot sees.
#[derive(Clone, Debug)]
struct Seen {
    state: State,
    /// What it may see less of.
    purged: BTreeSet<(Slot, u32)>,
}

impl Model {
    /// A new database.
    pub fn new(order: Order) -> Self {
        Self { state: State::new(order), snapshots: BTreeMap::new() }
    }

    /// A database that holds this and has no snapshots.
    pub fn of(state: State) -> Self {
        Self { state, snapshots: BTreeMap::new() }
    }

    /// Does the step.
    pub fn apply(&mut self, step: &Step) {
        match step {
            Step::Snapshot(number) => {
                let seen = Seen { state: self.state.clone(), purged: BTreeSet::new() };
                self.snapshots.insert(*number, seen);
            }
            Step::Release(number) => drop(self.snapshots.remove(number)),
            Step::Reopen(_) | Step::Kill(_) => self.snapshots.clear(),
            Step::Purge(slot, epoch) => {
                for seen in self.snapshots.values_mut() {
                    seen.purged.insert((*slot, *epoch));
                }
            }
            _ => {}
        }
        self.state.apply(step);
    }

    /// They went with the database that was opened.
    pub fn forget_snapshots(&mut self) {
        self.snapshots.clear();
    }

    /// The numbers of the snapshots that are held.
    pub fn snapshots(&self) -> impl Iterator<Item = u32> {
        self.snapshots.keys().copied()
    }

    /// What a snapshot sees of a family, in its order; `None` if that family has gone or come since.
    ///
    /// The second part tells which keys it may see or not.
    pub fn seen(&self, snapshot: u32, slot: Slot) -> Option<(Vec<Row>, Vec<Vec<u8>>)> {
        let Seen { state, purged } = self.snapshots.get(&snapshot)?;
        let now = self.state.family(slot)?;
        if state.family(slot)?.incarnation != now.incarnation {
            return None;
        }
        let open = purged.iter().filter(|(of, _)| *of == slot);
        let open = open.map(|(_, epoch)| epoch_prefix(*epoch)).collect();
        Some((state.without(purged).rows(slot), open))
    }
}
