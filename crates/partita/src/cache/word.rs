//! The state of an entry, in one atomic word.
//!
//! ```text
//! | charge in units of 16 bytes : 34 | KEPT : 1 | LINKED : 1 | holders : 28 |
//! ```
//!
//! * `LINKED`: the entry stands in the cache: its home leads to it and a queue holds it.
//! * `KEPT`: the cache has a reference, for an entry that is linked or that waits until no reader can see it any more.
//! * `holders`: the number of [`Held`](super::Held).
//!
//! Charge and state stand in one word, so each change reads both at one instant. Whoever changes the word moves the
//! charge between the accounts according to the state before and the state after; since the changes of one word have
//! one order, all moves add up, however the threads interleave.
//!
//! 1. An entry is freed by the change after which it is neither kept nor held; there is exactly one.
//! 2. `KEPT` falls only after `LINKED`, and after every reader that may have found the entry through its home.
//! 3. A holder is added by somebody who has a holder, or by a reader whose guard protects the entry, so `KEPT` stands.

use super::sync::{AtomicU64, Ordering};

const HOLDERS: u64 = (1 << 28) - 1;
const LINKED: u64 = 1 << 28;
const KEPT: u64 = 1 << 29;
const CHARGE_SHIFT: u32 = 30;

/// A charge is counted in units of this many bytes, the grid of common allocators.
pub(super) const CHARGE_UNIT: usize = 16;

/// More holders than this are a leak in a loop; the count must not run over.
const HOLDERS_MAX: u64 = HOLDERS / 2;

/// The greatest charge: 256 GiB.
const UNITS_MAX: u64 = (1 << (64 - CHARGE_SHIFT)) - 1;

/// The state of an entry at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State(u64);

impl State {
    /// Before an entry is made and after it is freed.
    pub(super) const NOTHING: Self = Self(0);

    pub(super) fn holders(self) -> u64 {
        self.0 & HOLDERS
    }

    pub(super) fn is_held(self) -> bool {
        self.holders() > 0
    }

    pub(super) fn is_linked(self) -> bool {
        self.0 & LINKED != 0
    }

    pub(super) fn is_kept(self) -> bool {
        self.0 & KEPT != 0
    }

    /// Whether nobody refers to the entry: after a change to this state it is freed.
    pub(super) fn is_free(self) -> bool {
        !self.is_held() && !self.is_kept()
    }

    /// One holder less.
    pub(super) fn released(self) -> Change {
        change(self.0, self.0 - 1)
    }

    /// The bytes charged; none once the entry is free.
    pub(super) fn charge(self) -> usize {
        if self.is_free() { 0 } else { self.units() as usize * CHARGE_UNIT }
    }

    fn units(self) -> u64 {
        self.0 >> CHARGE_SHIFT
    }
}

/// What a change did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub(super) before: State,
    pub(super) after: State,
}

impl Change {
    /// The way back.
    pub(super) fn undone(self) -> Self {
        Self { before: self.after, after: self.before }
    }
}

/// The word.
#[derive(Debug)]
pub(super) struct Word(AtomicU64);

impl Word {
    /// The word of a new entry: one holder, not in the cache.
    pub(super) fn new(charge: usize) -> Self {
        Self(AtomicU64::new(units_of(charge) << CHARGE_SHIFT | 1))
    }

    pub(super) fn state(&self) -> State {
        State(self.0.load(Ordering::Relaxed))
    }

    /// One holder more.
    ///
    /// Relaxed suffices, as in `Arc`: whoever may call this has the entry already.
    pub(super) fn hold(&self) -> Change {
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        if before & HOLDERS > HOLDERS_MAX {
            std::process::abort();
        }
        change(before, before + 1)
    }

    /// One holder less, if the state is still `before`; else returns what it is.
    ///
    /// Whoever gives a holder up may not touch the entry afterwards, unless it is free: somebody else may free it. So
    /// what is to be booked is booked before, see [`State::released`].
    ///
    /// Release, and acquire for the one that frees: what all holders did happens before the end of the entry.
    pub(super) fn try_release(&self, before: State) -> Result<(), State> {
        debug_assert!(before.is_held());
        self.0
            .compare_exchange(before.0, before.0 - 1, Ordering::AcqRel, Ordering::Relaxed)
            .map(drop)
            .map_err(State)
    }

    /// The entry enters the cache.
    pub(super) fn enter(&self) -> Change {
        let before = self.0.fetch_or(LINKED | KEPT, Ordering::AcqRel);
        debug_assert!(before & (LINKED | KEPT) == 0);
        change(before, before | LINKED | KEPT)
    }

    /// The entry leaves the cache; the cache keeps its reference.
    pub(super) fn leave(&self) -> Change {
        let before = self.0.fetch_and(!LINKED, Ordering::AcqRel);
        debug_assert!(before & LINKED != 0);
        change(before, before & !LINKED)
    }

    /// The cache gives its reference up.
    pub(super) fn let_go(&self) -> Change {
        let before = self.0.fetch_and(!KEPT, Ordering::AcqRel);
        debug_assert!(before & (LINKED | KEPT) == KEPT);
        change(before, before & !KEPT)
    }

    /// The object has taken `bytes` more.
    pub(super) fn grow(&self, bytes: usize) -> Change {
        let more = |word: u64| {
            let units = (word >> CHARGE_SHIFT) + units_of(bytes);
            units.min(UNITS_MAX) << CHARGE_SHIFT | word & (HOLDERS | LINKED | KEPT)
        };
        let mut before = self.0.load(Ordering::Relaxed);
        loop {
            let after = more(before);
            match self.0.compare_exchange_weak(before, after, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return change(before, after),
                Err(now) => before = now,
            }
        }
    }
}

fn change(before: u64, after: u64) -> Change {
    Change { before: State(before), after: State(after) }
}

fn units_of(bytes: usize) -> u64 {
    (bytes.div_ceil(CHARGE_UNIT) as u64).min(UNITS_MAX)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn release(word: &Word) -> Change {
        let before = word.state();
        word.try_release(before).unwrap();
        before.released()
    }

    #[test]
    fn an_entry_is_free_when_neither_the_cache_nor_a_holder_has_it() {
        let word = Word::new(100);
        assert_eq!(word.state().charge(), 112);
        assert!(!word.enter().after.is_free());
        assert!(!release(&word).after.is_free());
        assert!(!word.leave().after.is_free());
        assert!(!word.hold().after.is_free());
        assert!(!word.let_go().after.is_free());
        let end = release(&word);
        assert!(end.after.is_free());
        assert_eq!((end.before.charge(), end.after.charge()), (112, 0));
    }

    #[test]
    fn growth_changes_the_charge_and_nothing_else() {
        let word = Word::new(16);
        word.enter();
        word.hold();
        let change = word.grow(33);
        assert_eq!((change.before.charge(), change.after.charge()), (16, 64));
        assert_eq!(change.after.holders(), 2);
        assert!(change.after.is_linked() && change.after.is_kept());
        assert_eq!(word.grow(usize::MAX).after.charge(), UNITS_MAX as usize * CHARGE_UNIT);
        assert_eq!(word.state().holders(), 2);
    }
}
