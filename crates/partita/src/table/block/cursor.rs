use std::fmt;
use std::ops::Range;

use super::search::{Hit, Scan, Target};
use super::{Block, Format, KeyBuf, damaged_entry, overrun};
use crate::error::Result;
use crate::key::KeyOrder;

/// A position in a block, with the key there put together.
///
/// The cursor holds no reference: each move names the block, which must be the same until the next `seek`. After an
/// error or a move over either end it is not valid and stands nowhere.
#[derive(Clone)]
pub struct BlockCursor<F: Format> {
    key: KeyBuf,
    valid: bool,
    /// Offset of the entry; its interval is `next_interval - 1`.
    at: usize,
    value: Range<usize>,
    state: F::State,
    /// Offset of the entry behind it.
    next: usize,
    /// First restart point that is not before `next`, and its offset.
    next_interval: usize,
    next_restart: usize,
    /// Where the last step backward led; a second one from there keeps what it passes.
    stepped_back_to: Option<usize>,
    behind: Behind<F>,
}

/// Most bytes of keys that a walk backward keeps. Longer intervals are decoded once for each such piece.
const BEHIND_LEN_MAX: usize = 256 * 1024;

/// The entries of a restart interval before the cursor's, so that a walk backward decodes each interval once.
#[derive(Clone)]
struct Behind<F: Format> {
    entries: Vec<Passed<F>>,
    /// Their keys, one after another.
    keys: Vec<u8>,
}

#[derive(Clone)]
struct Passed<F: Format> {
    key_at: usize,
    at: usize,
    value: Range<usize>,
    state: F::State,
    next: usize,
}

impl<F: Format> Default for BlockCursor<F> {
    fn default() -> Self {
        Self::new()
    }
}

impl<F: Format> BlockCursor<F> {
    /// A cursor that stands nowhere.
    pub fn new() -> Self {
        Self {
            key: KeyBuf::new(),
            valid: false,
            at: 0,
            value: 0..0,
            state: F::State::default(),
            next: 0,
            next_interval: 0,
            next_restart: 0,
            stepped_back_to: None,
            behind: Behind { entries: Vec::new(), keys: Vec::new() },
        }
    }

    /// Whether the cursor stands on an entry.
    #[inline]
    pub fn is_valid(&self) -> bool {
        self.valid
    }

    /// The key there. Only while valid.
    #[inline]
    pub fn key(&self) -> &[u8] {
        debug_assert!(self.valid);
        &self.key
    }

    /// Where the value there stands in the block. Only while valid.
    #[inline]
    pub fn value_range(&self) -> Range<usize> {
        debug_assert!(self.valid);
        self.value.clone()
    }

    /// The value there. Only while valid.
    #[inline]
    pub fn value<'b>(&self, block: &'b Block<F>) -> &'b [u8] {
        block.bytes.get(self.value_range()).unwrap_or_default()
    }

    /// What the entry means besides its bytes: of an index block, its handle. Only while valid.
    #[inline]
    pub fn state(&self) -> &F::State {
        debug_assert!(self.valid);
        &self.state
    }

    /// Leaves the block: the cursor stands nowhere.
    pub fn reset(&mut self) {
        self.valid = false;
    }

    /// Moves to the first entry.
    pub fn seek_to_first(&mut self, block: &Block<F>) -> Result<()> {
        self.jump(block, 0);
        self.step(block)
    }

    /// Moves to the last entry.
    pub fn seek_to_last(&mut self, block: &Block<F>) -> Result<()> {
        if block.is_empty() {
            self.valid = false;
            return Ok(());
        }
        self.jump(block, block.layout.restart_count - 1);
        self.walk_to_end(block, block.layout.keys_end, true)
    }

    /// Moves to the first entry that is not before `target`, which has the form of the block's keys.
    ///
    /// * `order`: the order that the block was parsed with.
    pub fn seek(&mut self, block: &Block<F>, order: &KeyOrder, target: &[u8]) -> Result<()> {
        self.valid = false;
        let target = block.target(target)?;
        self.seek_to(block, order, target)
    }

    /// Moves to the first entry that is not before (`user_key`, `packed`). In a block of plain keys the user keys count.
    pub(crate) fn seek_parts(
        &mut self,
        block: &Block<F>,
        order: &KeyOrder,
        user_key: &[u8],
        packed: u64,
    ) -> Result<()> {
        self.seek_to(block, order, Target { user_key, packed })
    }

    /// Moves to the first entry that is not before `target`.
    pub(super) fn seek_to(
        &mut self,
        block: &Block<F>,
        order: &KeyOrder,
        target: Target<'_>,
    ) -> Result<()> {
        self.valid = false;
        if block.is_empty() {
            return Ok(());
        }
        if matches!(order, KeyOrder::Bytewise) {
            match block.scan_bytewise(block.start_of(order, target)?, target)? {
                Scan::Hit(hit) => {
                    self.land(block, hit, target);
                    return Ok(());
                }
                Scan::PastEnd => return Ok(()),
                Scan::NeedsKeys => {}
            }
        }
        self.seek_walking(block, order, target)
    }

    /// Moves to the last entry that is not behind `target`.
    pub fn seek_for_prev(
        &mut self,
        block: &Block<F>,
        order: &KeyOrder,
        target: &[u8],
    ) -> Result<()> {
        self.seek(block, order, target)?;
        if !self.valid {
            return self.seek_to_last(block);
        }
        let found = block.target(&self.key)?;
        let target = block.target(target)?;
        if found.packed == target.packed && order.compare(found.user_key, target.user_key).is_eq() {
            return Ok(());
        }
        self.prev(block)
    }

    /// Moves to the next entry; does nothing if the cursor stands nowhere.
    #[inline]
    pub fn next(&mut self, block: &Block<F>) -> Result<()> {
        if !self.valid {
            return Ok(());
        }
        self.step(block)
    }

    /// Moves to the entry before; does nothing if the cursor stands nowhere.
    ///
    /// Cost: the entries of one restart interval up to there, once for all entries of the interval if the walk goes on.
    pub fn prev(&mut self, block: &Block<F>) -> Result<()> {
        if !self.valid {
            return Ok(());
        }
        if self.take_passed() {
            return Ok(());
        }
        let end = self.at;
        let walks_on = self.stepped_back_to == Some(end);
        let mut interval = self.next_interval.saturating_sub(1);
        if block.restart(interval) == end {
            let Some(before) = interval.checked_sub(1) else {
                self.valid = false;
                return Ok(());
            };
            interval = before;
        }
        self.jump(block, interval);
        self.walk_to_end(block, end, walks_on)?;
        self.stepped_back_to = Some(self.at);
        Ok(())
    }

    /// Takes the entry before from those that a step backward passed, if it is there.
    fn take_passed(&mut self) -> bool {
        let Some(passed) = self.behind.entries.pop_if(|passed| passed.next == self.at) else {
            return false;
        };
        self.key.set(&self.behind.keys[passed.key_at..]);
        self.behind.keys.truncate(passed.key_at);
        self.at = passed.at;
        self.value = passed.value;
        self.state = passed.state;
        self.next = passed.next;
        self.stepped_back_to = Some(passed.at);
        true
    }

    /// Seeks by putting each key together on the way: for all orders, and for keys that share packed bytes.
    pub(super) fn seek_walking(
        &mut self,
        block: &Block<F>,
        order: &KeyOrder,
        target: Target<'_>,
    ) -> Result<()> {
        self.jump(block, block.start_of(order, target)?.interval);
        loop {
            self.step(block)?;
            if !self.valid {
                return Ok(());
            }
            let found = block.target(&self.key)?;
            let relation = order
                .compare(found.user_key, target.user_key)
                .then_with(|| target.packed.cmp(&found.packed));
            if relation.is_ge() {
                return Ok(());
            }
        }
    }

    /// Stands before restart point `interval`; the next step goes to it.
    pub(super) fn jump(&mut self, block: &Block<F>, interval: usize) {
        self.forget_passed();
        self.key.clear();
        self.valid = false;
        self.state = F::State::default();
        self.next_interval = interval;
        self.next_restart = block.restart_or_end(interval);
        self.next = self.next_restart;
    }

    /// Takes over a position found without putting keys together. The key starts like the target.
    fn land(&mut self, block: &Block<F>, hit: Hit<F>, target: Target<'_>) {
        self.forget_passed();
        self.key.set(&target.user_key[..hit.entry.shared]);
        self.key.replace_tail(hit.entry.shared, &block.bytes[hit.entry.key_at..hit.entry.key_end]);
        self.valid = true;
        self.at = hit.at;
        self.value = hit.entry.value_at..hit.entry.value_end;
        self.state = hit.state;
        self.next = hit.entry.next;
        self.next_interval = hit.interval + 1;
        self.next_restart = block.restart_or_end(self.next_interval);
    }

    fn forget_passed(&mut self) {
        self.stepped_back_to = None;
        self.behind.entries.clear();
        self.behind.keys.clear();
    }

    /// Steps until the entry that ends at `end`; `keep`s those before it.
    fn walk_to_end(&mut self, block: &Block<F>, end: usize, keep: bool) -> Result<()> {
        while self.next < end {
            if keep && self.valid {
                if self.behind.keys.len() + self.key.len() > BEHIND_LEN_MAX {
                    self.behind.entries.clear();
                    self.behind.keys.clear();
                }
                self.behind.entries.push(Passed {
                    key_at: self.behind.keys.len(),
                    at: self.at,
                    value: self.value.clone(),
                    state: self.state.clone(),
                    next: self.next,
                });
                self.behind.keys.extend_from_slice(&self.key);
            }
            self.step(block)?;
        }
        if self.valid && self.next == end {
            return Ok(());
        }
        self.valid = false;
        Err(damaged_entry(self.at))
    }

    /// Offset of the entry that the next step goes to.
    #[inline]
    pub(super) fn next_offset(&self) -> usize {
        self.next
    }

    #[inline]
    pub(super) fn step(&mut self, block: &Block<F>) -> Result<()> {
        self.valid = false;
        let at = self.next;
        // Before the end of the entries is looked at: an entry may run over all restart points that are left.
        if at > self.next_restart {
            return Err(overrun(at, self.next_restart));
        }
        if at >= block.layout.keys_end {
            return block.check_all_passed(self.next_interval);
        }
        let restart = at == self.next_restart;
        if restart {
            self.next_interval += 1;
            self.next_restart = block.restart_or_end(self.next_interval);
        }
        let Some(entry) = block.decode(at, restart, &mut self.state) else {
            return Err(damaged_entry(at));
        };
        let own = &block.bytes[entry.key_at..entry.key_end];
        let shared_max = if restart { 0 } else { self.key.len() };
        if entry.shared > shared_max || entry.shared + own.len() < block.format.packed_len() {
            return Err(damaged_entry(at));
        }
        self.key.replace_tail(entry.shared, own);
        self.at = at;
        self.value = entry.value_at..entry.value_end;
        self.next = entry.next;
        self.valid = true;
        Ok(())
    }
}

/// Without the keys and values: they are the user's data, which is nothing for logs.
impl<F: Format> fmt::Debug for BlockCursor<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("BlockCursor");
        if self.valid {
            out.field("interval", &self.next_interval.saturating_sub(1));
            out.field("at", &self.at).field("key", &self.key).field("value_len", &self.value.len());
        } else {
            out.field("valid", &false);
        }
        out.finish_non_exhaustive()
    }
}
