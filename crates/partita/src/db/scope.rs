//! What all sources of one walk share: how far it may go, which keys it is after, and what it cost.

use crate::error::Result;
use crate::iter::Bounds;
use crate::key::{KeyOrder, PrefixExtractor};
use crate::table::{ReadContext, TableReader};
use crate::util::sync::atomic::{AtomicU64, Ordering};
use crate::util::sync::{Mutex, lock};

/// The limits and the aim of a walk.
///
/// The aim is a range of keys outside of which the walk shows nothing: its bounds, or those of the prefix that it was
/// told to stay in by its last seek. A source that certainly holds no key of it has nothing to say, whatever it is asked:
/// for the walk it is as good as empty.
pub(super) struct Scope {
    order: KeyOrder,
    /// Limits of reads; no counts.
    limits: ReadContext,
    /// Most bytes that are read ahead. `None`: the tables' own measure.
    pub(super) readahead_bytes: Option<usize>,
    /// Whether there is an aim, ever.
    has_aim: bool,
    aim: Mutex<Option<Bounds>>,
    /// Counts the aims.
    generation: AtomicU64,
    /// What was read by sources that are gone.
    cost: Mutex<ReadContext>,
}

impl Scope {
    /// * `bounds`: of the walk, outside of which it never shows a key.
    /// * `takes_aim`: whether [`Scope::aim_at_prefix`] will be called.
    pub(super) fn new(
        order: &KeyOrder,
        limits: &ReadContext,
        bounds: &Bounds,
        takes_aim: bool,
    ) -> Self {
        let aim = (*bounds != Bounds::default()).then(|| bounds.clone());
        Self {
            order: order.clone(),
            limits: limits.fork(),
            readahead_bytes: None,
            has_aim: takes_aim || aim.is_some(),
            aim: Mutex::new(aim),
            generation: AtomicU64::new(0),
            cost: Mutex::default(),
        }
    }

    /// A context for a part of the walk.
    pub(super) fn context(&self) -> ReadContext {
        self.limits.fork()
    }

    /// Adds what a part of the walk cost.
    pub(super) fn charge(&self, ctx: &ReadContext) {
        lock(&self.cost).add(ctx);
    }

    /// What the parts cost that have ended.
    pub(super) fn cost(&self) -> ReadContext {
        lock(&self.cost).clone()
    }

    /// From now on only keys with the prefix of `target` are shown, or those inside of the bounds if it has none.
    pub(super) fn aim_at_prefix(
        &self,
        extractor: &PrefixExtractor,
        target: Option<&[u8]>,
        bounds: &Bounds,
    ) {
        // Of other extractors it is not known where the keys of a prefix are.
        let takes_front =
            matches!(extractor, PrefixExtractor::Fixed(_) | PrefixExtractor::Capped(_));
        let prefix = target.filter(|_| takes_front).and_then(|target| extractor.prefix(target));
        let of_prefix = prefix.and_then(|prefix| Bounds::prefix(&self.order, prefix));
        let of_walk = || (*bounds != Bounds::default()).then(|| bounds.clone());
        *lock(&self.aim) = of_prefix.or_else(of_walk);
        self.generation.fetch_add(1, Ordering::Relaxed);
    }

    /// Which aim it is.
    fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Whether there may be keys of the aim between these two, both included.
    pub(super) fn overlaps(&self, smallest: &[u8], largest: &[u8]) -> bool {
        if !self.has_aim {
            return true;
        }
        let aim = lock(&self.aim);
        aim.as_ref().is_none_or(|aim| {
            !aim.is_above(&self.order, smallest) && !aim.is_below(&self.order, largest)
        })
    }
}

/// What is known about one table and the aim.
#[derive(Default)]
pub(super) struct Verdict {
    /// The aim's number, and whether the table certainly has no key of it.
    known: Option<(u64, bool)>,
}

impl Verdict {
    /// Whether the table certainly holds no key of the walk's aim. Its filter is asked once for each aim.
    #[inline]
    pub(super) fn rules_out(&mut self, scope: &Scope, table: &TableReader) -> Result<bool> {
        if !scope.has_aim {
            return Ok(false);
        }
        match self.known {
            Some((generation, answer)) if generation == scope.generation() => Ok(answer),
            _ => self.ask(scope, table),
        }
    }

    #[cold]
    fn ask(&mut self, scope: &Scope, table: &TableReader) -> Result<bool> {
        let generation = scope.generation();
        let aim = lock(&scope.aim).clone();
        let ruled_out = match aim {
            Some(Bounds { lower, upper }) => {
                let mut ctx = scope.context();
                let range =
                    (lower.as_ref().map(|key| &key[..]), upper.as_ref().map(|key| &key[..]));
                let may_match = table.range_may_match(range, &mut ctx);
                scope.charge(&ctx);
                !may_match?
            }
            None => false,
        };
        self.known = Some((generation, ruled_out));
        Ok(ruled_out)
    }
}
