//! A skip list in an arena: any number of threads insert and read at once, nothing is ever removed.
//!
//! ```text
//!             lower addresses <---                               ---> higher addresses
//! node:  | next[h-1] | ... | next[1] | next[0] | prev | key_len | value_len | user key | packed | value | pad |
//!                                    ^         |      |   u32   |    u32    |          | u64 LE |
//!                                    a node's address           |<------------ key --------->|
//! ```
//!
//! A reader takes no lock, writes nothing and needs no epoch: nodes live as long as the list.
//!
//! 1. Each level is a list in internal key order, closed by null; what is on level `l + 1` is on level `l`.
//! 2. A node is filled in before the first compare-and-swap makes it reachable, and changes no more, but for its links.
//! 3. Links change by compare-and-swap from the node that was behind to the new one, level 0 first: an insert that lost
//!    a race looks again from where it stood, since its place can only have moved forward.
//! 4. `prev` of a node is the head or a smaller node, not always the next smaller one: it is set after the node before
//!    became reachable. The true one is found by going forward from it until the node itself comes; no key is compared.
//! 5. No two nodes have the same user key and sequence number.
//!
//! A writer keeps an [`InsertHint`]: the nodes before and behind its last insert on every level. The next key is looked
//! for from there, upwards only as far as it lies outside: a sorted batch costs two comparisons an entry.
//!
//! 6. On every level the last insert, or the key that was located for the hint (`together.rs`), lies between its nodes. So
//!    where two of them are still neighbours and the new key lies between them, it does so on all levels above: a node of
//!    an upper level that lay between would be on this one, too (1), where there is none. A refused insert empties the
//!    hint, as it leaves levels undone.
//!
//! # Safety
//!
//! * A pointer to a node is null or leads to a node in this list's arena, which is alive as long as the list
//!   (`arena.rs`, 2). [`Node`]s are used through raw pointers, as the tower lies below their address; references are
//!   made to single fields, and to keys and values, which do not change (2).
//! * A node has links on levels `0..height`. Going down from a level on which a node is linked stays below its height.
//!   The head has all [`HEIGHT_MAX`].
//! * Pointers in a hint are used only if the hint has the list's number, which no other list ever gets.
//! * A [`Cursor`] owns a share of the list, a [`NodeRef`] borrows it: what they show is borrowed from them.

use std::cmp::Ordering;
use std::fmt;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::account::Account;
use super::arena::{Arena, WORD};
use super::order::UserKeyOrder;
use super::sync::atomic::{AtomicPtr, AtomicUsize, Ordering as MemoryOrdering};
use crate::error::{Error, Result};
use crate::key::PACKED_LEN;
use crate::util::prefetch::prefetch_address;

/// Levels at most: enough for 4^12 nodes.
pub(super) const HEIGHT_MAX: usize = 12;

#[repr(C)]
struct Node {
    next: AtomicPtr<Node>,
    prev: AtomicPtr<Node>,
    key_len: u32,
    value_len: u32,
}

const NODE_WORDS: usize = size_of::<Node>() / WORD;
const LINK_WORDS: usize = size_of::<AtomicPtr<Node>>() / WORD;
const _: () = assert!(align_of::<Node>() <= WORD && size_of::<Node>().is_multiple_of(WORD));

type Link = *mut Node;

/// What an insert adds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    pub(super) user_key: &'a [u8],
    pub(super) packed: u64,
    pub(super) value: &'a [u8],
}

pub(super) struct SkipList {
    arena: Arena,
    head: Link,
    /// Levels in use.
    height: AtomicUsize,
    /// This list's number; no other has it.
    id: u64,
}

// SAFETY: nodes are changed through atomics only once they are reachable, and the head is one of them.
unsafe impl Send for SkipList {}
// SAFETY: as above.
unsafe impl Sync for SkipList {}

/// Where a writer inserted last, so that a key nearby is found from there.
pub(super) struct InsertHint {
    list: u64,
    /// Levels below this one are filled in.
    height: usize,
    /// The last node before the place, and the first behind it, on each level.
    prev: [Link; HEIGHT_MAX],
    next: [Link; HEIGHT_MAX],
    random: u64,
}

// SAFETY: the pointers are only numbers until a list of the right number uses them, which may be done by any thread.
unsafe impl Send for InsertHint {}

/// Lists and hints are numbered from 1.
static NEXT_ID: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);

fn next_id() -> u64 {
    NEXT_ID.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

impl InsertHint {
    pub(super) fn new() -> Self {
        Self {
            list: 0,
            height: 0,
            prev: [ptr::null_mut(); HEIGHT_MAX],
            next: [ptr::null_mut(); HEIGHT_MAX],
            // Odd, so never zero; writers that start at the same time must not build the same towers.
            random: next_id().wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        }
    }

    /// One more level with a probability of a quarter each.
    fn random_height(&mut self) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        // The upper bits are the better ones.
        1 + ((self.random >> 32 | 1 << 31).trailing_zeros() as usize / 2).min(HEIGHT_MAX - 1)
    }
}

impl SkipList {
    /// An empty list whose memory is charged to `account`.
    pub(super) fn new(account: Arc<Account>) -> Result<Self> {
        let arena = Arena::new(account);
        let entry = Entry { user_key: &[], packed: 0, value: &[] };
        let head = new_node(&arena, HEIGHT_MAX, entry)?;
        Ok(Self { arena, head, height: AtomicUsize::new(1), id: next_id() })
    }

    /// Inserts an entry. Returns `false`, and does not insert, if its user key and sequence number are there already.
    ///
    /// * Errors: `InvalidArgument` if key or value have 4 GiB or more; `Aborted` without memory.
    pub(super) fn insert<O: UserKeyOrder>(
        &self,
        order: &O,
        hint: &mut InsertHint,
        entry: Entry<'_>,
    ) -> Result<bool> {
        let height = hint.random_height();
        self.insert_with_height(order, hint, entry, height)
    }

    pub(super) fn insert_with_height<O: UserKeyOrder>(
        &self,
        order: &O,
        hint: &mut InsertHint,
        entry: Entry<'_>,
        height: usize,
    ) -> Result<bool> {
        let place = Place { order, user_key: entry.user_key, seqno: entry.packed >> 8 };
        self.height.fetch_max(height, MemoryOrdering::Relaxed);
        if !self.locate(&place, hint) {
            hint.height = 0;
            return Ok(false);
        }
        let node = new_node(&self.arena, height, entry)?;
        for level in 0..height {
            if !self.link(&place, hint, node, level) {
                hint.height = 0;
                return Ok(false);
            }
        }
        for level in 0..height {
            hint.prev[level] = node;
        }
        Ok(true)
    }

    /// Fills in the hint for this place on all levels in use. Returns `false` if it is taken.
    fn locate<O: UserKeyOrder>(&self, place: &Place<'_, O>, hint: &mut InsertHint) -> bool {
        let top = self.height.load(MemoryOrdering::Relaxed);
        if hint.list != self.id {
            (hint.list, hint.height) = (self.id, 0);
        }
        for level in hint.height..top {
            (hint.prev[level], hint.next[level]) = (self.head, ptr::null_mut());
        }
        // What is not filled in yet has no use as a start.
        let mut level = if hint.height == 0 { top } else { 0 };
        hint.height = top;
        let mut side = Side::Unknown;
        while level < top && !self.is_around(place, hint, level, &mut side) {
            level += 1;
        }
        let (mut before, mut behind) = match level < top {
            true => (hint.prev[level], hint.next[level]),
            false => (self.head, ptr::null_mut()),
        };
        for level in (0..level).rev() {
            let Some(found) = self.narrow(place, before, behind, level) else { return false };
            (before, behind) = found;
            (hint.prev[level], hint.next[level]) = found;
        }
        true
    }

    /// Whether the hint's nodes on `level` are neighbours, and the place is between them.
    ///
    /// * `side`: on which side of the last insert the place is, once known: the hint's nodes on the other side need not
    ///   be compared (6).
    fn is_around<O: UserKeyOrder>(
        &self,
        place: &Place<'_, O>,
        hint: &InsertHint,
        level: usize,
        side: &mut Side,
    ) -> bool {
        let (before, behind) = (hint.prev[level], hint.next[level]);
        if next(before, level) != behind {
            return false;
        }
        if *side != Side::Before && !behind.is_null() && place.compare(behind).is_le() {
            *side = Side::Behind;
            return false;
        }
        if *side != Side::Behind && before != self.head && place.compare(before).is_ge() {
            *side = Side::Before;
            return false;
        }
        true
    }

    /// Goes on from `before` to the neighbours around the place on `level`; `behind` is known to be behind it, or null.
    /// `None` if the place is taken.
    fn narrow<O: UserKeyOrder>(
        &self,
        place: &Place<'_, O>,
        mut before: Link,
        behind: Link,
        level: usize,
    ) -> Option<(Link, Link)> {
        loop {
            let candidate = next(before, level);
            if candidate == behind || candidate.is_null() {
                return Some((before, candidate));
            }
            fetch_below(before, level);
            match place.compare(candidate) {
                Ordering::Less => before = candidate,
                Ordering::Equal => return None,
                Ordering::Greater => return Some((before, candidate)),
            }
        }
    }

    /// Makes `node` reachable on `level`. Returns `false` if its place was taken meanwhile, which only level 0 finds.
    fn link<O: UserKeyOrder>(
        &self,
        place: &Place<'_, O>,
        hint: &mut InsertHint,
        node: Link,
        level: usize,
    ) -> bool {
        loop {
            let (before, behind) = (hint.prev[level], hint.next[level]);
            link_of(node, level).store(behind, MemoryOrdering::Relaxed);
            if level == 0 {
                prev_of(node).store(before, MemoryOrdering::Relaxed);
            }
            let linked = link_of(before, level).compare_exchange(
                behind,
                node,
                MemoryOrdering::Release,
                MemoryOrdering::Relaxed,
            );
            if linked.is_ok() {
                if level == 0 && !behind.is_null() {
                    prev_of(behind).store(node, MemoryOrdering::Release);
                }
                return true;
            }
            let Some(found) = self.narrow(place, before, ptr::null_mut(), level) else {
                return false;
            };
            (hint.prev[level], hint.next[level]) = found;
        }
    }

    /// The first node that is not before (`user_key`, `packed`).
    pub(super) fn seek<O: UserKeyOrder>(
        &self,
        order: &O,
        user_key: &[u8],
        packed: u64,
    ) -> Option<NodeRef<'_>> {
        self.node(self.neighbors(order, user_key, packed).1)
    }

    /// The last node before (`user_key`, `packed`).
    pub(super) fn seek_before<O: UserKeyOrder>(
        &self,
        order: &O,
        user_key: &[u8],
        packed: u64,
    ) -> Option<NodeRef<'_>> {
        self.node(self.neighbors(order, user_key, packed).0)
    }

    pub(super) fn first_node(&self) -> Option<NodeRef<'_>> {
        self.node(next(self.head, 0))
    }

    pub(super) fn last_node(&self) -> Option<NodeRef<'_>> {
        self.node(self.last())
    }

    /// The last node before (`user_key`, `packed`), or the head; and the first that is not before it, or null.
    ///
    /// Both as one load of the link between them showed: to follow the link again may lead to a node that was inserted
    /// meanwhile, before the key.
    fn neighbors<O: UserKeyOrder>(&self, order: &O, user_key: &[u8], packed: u64) -> (Link, Link) {
        let mut level = self.height.load(MemoryOrdering::Relaxed) - 1;
        let (mut before, mut behind) = (self.head, ptr::null_mut());
        loop {
            let candidate = next(before, level);
            // A node that was behind on the level above need not be compared again.
            let is_before = candidate != behind && !candidate.is_null() && {
                fetch_below(before, level);
                let (key, its_packed) = key_of(candidate);
                // Newer is smaller.
                order.compare(key, user_key).then(packed.cmp(&its_packed)).is_lt()
            };
            if is_before {
                before = candidate;
            } else if level == 0 {
                return (before, candidate);
            } else {
                behind = candidate;
                level -= 1;
            }
        }
    }

    fn last(&self) -> Link {
        let mut node = self.head;
        for level in (0..self.height.load(MemoryOrdering::Relaxed)).rev() {
            while let Some(behind) = NonNull::new(next(node, level)) {
                node = behind.as_ptr();
            }
        }
        node
    }

    fn before(&self, node: Link) -> Link {
        let mut before = prev_of(node).load(MemoryOrdering::Acquire);
        loop {
            let behind = next(before, 0);
            if behind == node {
                return before;
            }
            before = behind;
        }
    }

    fn node(&self, link: Link) -> Option<NodeRef<'_>> {
        if link == self.head {
            return None;
        }
        Some(NodeRef { node: NonNull::new(link)?, list: self })
    }
}

impl fmt::Debug for SkipList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SkipList").field("arena", &self.arena).field("id", &self.id).finish()
    }
}

/// Where a place is, seen from the last insert.
#[derive(PartialEq, Eq)]
enum Side {
    Unknown,
    Before,
    Behind,
}

/// Where an entry goes.
struct Place<'a, O> {
    order: &'a O,
    user_key: &'a [u8],
    seqno: u64,
}

impl<O: UserKeyOrder> Place<'_, O> {
    /// The order of `node`, which is not the head, to this place.
    #[inline]
    fn compare(&self, node: Link) -> Ordering {
        let (key, packed) = key_of(node);
        self.order.compare(key, self.user_key).then_with(|| self.seqno.cmp(&(packed >> 8)))
    }
}

/// A node of a list.
#[derive(Clone, Copy)]
pub(super) struct NodeRef<'l> {
    node: NonNull<Node>,
    list: &'l SkipList,
}

impl<'l> NodeRef<'l> {
    /// The encoded internal key.
    #[inline]
    pub(super) fn key(self) -> &'l [u8] {
        encoded_key_of(self.node.as_ptr())
    }

    /// User key and packed word.
    #[inline]
    pub(super) fn split_key(self) -> (&'l [u8], u64) {
        key_of(self.node.as_ptr())
    }

    #[inline]
    pub(super) fn value(self) -> &'l [u8] {
        value_of(self.node.as_ptr())
    }

    /// The node behind.
    #[inline]
    pub(super) fn next(self) -> Option<Self> {
        let node = NonNull::new(next(self.node.as_ptr(), 0))?;
        Some(Self { node, list: self.list })
    }
}

/// A place in a list that it keeps alive.
#[derive(Clone)]
pub(super) struct Cursor {
    list: Arc<SkipList>,
    /// A node of the list; null if it stands nowhere.
    node: Link,
}

// SAFETY: the node is in the list that the cursor owns a share of.
unsafe impl Send for Cursor {}
// SAFETY: as above; `&self` methods only read.
unsafe impl Sync for Cursor {}

impl Cursor {
    pub(super) fn new(list: Arc<SkipList>) -> Self {
        Self { list, node: ptr::null_mut() }
    }

    /// A cursor on a node of `list`.
    pub(super) fn on(list: &Arc<SkipList>, node: NodeRef<'_>) -> Self {
        // Else the cursor would not keep its node alive.
        assert!(ptr::eq(node.list, &**list), "a node of another list");
        Self { list: Arc::clone(list), node: node.node.as_ptr() }
    }

    #[inline]
    pub(super) fn node(&self) -> Option<NodeRef<'_>> {
        self.list.node(self.node)
    }

    pub(super) fn seek_to_first(&mut self) {
        self.node = next(self.list.head, 0);
    }

    pub(super) fn seek_to_last(&mut self) {
        self.stand_on(self.list.last());
    }

    pub(super) fn seek<O: UserKeyOrder>(&mut self, order: &O, user_key: &[u8], packed: u64) {
        self.node = self.list.neighbors(order, user_key, packed).1;
    }

    /// To the last node that is not behind (`user_key`, `packed`).
    pub(super) fn seek_for_prev<O: UserKeyOrder>(
        &mut self,
        order: &O,
        user_key: &[u8],
        packed: u64,
    ) {
        let (before, candidate) = self.list.neighbors(order, user_key, packed);
        let is_there = !candidate.is_null() && {
            let (key, its_packed) = key_of(candidate);
            its_packed == packed && order.compare(key, user_key).is_eq()
        };
        self.stand_on(if is_there { candidate } else { before });
    }

    #[inline]
    pub(super) fn next(&mut self) {
        if !self.node.is_null() {
            self.node = next(self.node, 0);
        }
    }

    #[inline]
    pub(super) fn prev(&mut self) {
        if !self.node.is_null() {
            self.stand_on(self.list.before(self.node));
        }
    }

    fn stand_on(&mut self, node: Link) {
        self.node = if node == self.list.head { ptr::null_mut() } else { node };
    }
}

impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cursor").field("is_valid", &!self.node.is_null()).finish()
    }
}

/// A node of this height and content, not linked yet.
fn new_node(arena: &Arena, height: usize, entry: Entry<'_>) -> Result<Link> {
    let Entry { user_key, packed, value } = entry;
    let len = |what: &str, len: usize| {
        u32::try_from(len).map_err(|_| {
            Error::invalid_argument(format!("{what} of {len} bytes, below 4 GiB are possible"))
        })
    };
    let key_len = len("key", user_key.len().saturating_add(PACKED_LEN))?;
    let value_len = len("value", value.len())?;
    let tower_words = (height - 1) * LINK_WORDS;
    let data_len = key_len as usize + value_len as usize;
    let piece = arena.allocate(tower_words + NODE_WORDS + data_len.div_ceil(WORD))?;

    // SAFETY: the piece has that many words in front of the node, and the node's.
    let node: Link = unsafe { piece.add(tower_words) }.as_ptr().cast();
    for level in 1..height {
        // SAFETY: level `l` lies `l` links below the node, within the words of the tower.
        let link = unsafe { node.cast::<AtomicPtr<Node>>().sub(level) };
        // SAFETY: it is in the piece, which nobody else knows, and aligned, as a link takes whole words.
        unsafe { link.write(AtomicPtr::new(ptr::null_mut())) };
    }
    let fields = Node {
        next: AtomicPtr::new(ptr::null_mut()),
        prev: AtomicPtr::new(ptr::null_mut()),
        key_len,
        value_len,
    };
    // SAFETY: as above.
    unsafe { node.write(fields) };
    let mut at = data_of(node);
    for bytes in [user_key, &packed.to_le_bytes(), value] {
        // SAFETY: the piece has room for the three behind the node, and is not what they are in.
        unsafe { at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        // SAFETY: as above.
        at = unsafe { at.add(bytes.len()) };
    }
    Ok(node)
}

/// Where a node's key starts.
#[inline]
fn data_of(node: Link) -> *mut u8 {
    // SAFETY: the node is followed by its data, which may be empty, in one piece of the arena.
    unsafe { node.add(1) }.cast()
}

/// The link of `node` on `level`, on which it is linked, or is about to be.
#[inline]
fn link_of<'l>(node: Link, level: usize) -> &'l AtomicPtr<Node> {
    // SAFETY: the node's height is above `level`, and level `l` lies `l` links below the node.
    let link = unsafe { node.cast::<AtomicPtr<Node>>().sub(level) };
    // SAFETY: it was written when the node was made; the caller uses it while the list is alive.
    unsafe { &*link }
}

#[inline]
fn prev_of<'l>(node: Link) -> &'l AtomicPtr<Node> {
    // SAFETY: it is a node of a list that is alive, and the field was written when it was made.
    unsafe { &(*node).prev }
}

#[inline]
fn next(node: Link, level: usize) -> Link {
    link_of(node, level).load(MemoryOrdering::Acquire)
}

/// Asks for the cache lines that a comparison needs: the lengths stand behind the lowest links, the key behind them.
#[inline]
fn fetch(node: Link) {
    if !node.is_null() {
        prefetch_address(node.cast());
        prefetch_address(node.cast::<u8>().wrapping_add(48));
    }
}

/// Asks for the node that is compared with next if the search goes down from `node` on `level`: it comes while the one that
/// stands behind `node` on `level` is waited for.
#[inline]
fn fetch_below(node: Link, level: usize) {
    // A model of the list need not explore hints.
    if level > 0 && !cfg!(loom) {
        fetch(next(node, level - 1));
    }
}

#[inline]
fn encoded_key_of<'l>(node: Link) -> &'l [u8] {
    // SAFETY: as in `prev_of`; the field does not change.
    let len = unsafe { (*node).key_len } as usize;
    // SAFETY: that many bytes were written behind the node before it became reachable, and do not change.
    unsafe { std::slice::from_raw_parts(data_of(node), len) }
}

/// User key and packed word.
#[inline]
fn key_of<'l>(node: Link) -> (&'l [u8], u64) {
    match encoded_key_of(node).split_last_chunk::<PACKED_LEN>() {
        Some((user_key, packed)) => (user_key, u64::from_le_bytes(*packed)),
        None => (&[], 0),
    }
}

#[inline]
fn value_of<'l>(node: Link) -> &'l [u8] {
    let key_len = encoded_key_of(node).len();
    // SAFETY: as in `encoded_key_of`.
    let len = unsafe { (*node).value_len } as usize;
    // SAFETY: the value lies behind the key.
    let start = unsafe { data_of(node).add(key_len) };
    // SAFETY: that many bytes were written there before the node became reachable, and do not change.
    unsafe { std::slice::from_raw_parts(start, len) }
}

mod together;

pub(super) use together::TOGETHER;

#[cfg(test)]
mod tests;
