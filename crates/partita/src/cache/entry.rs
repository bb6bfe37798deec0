//! Entries: objects with what the cache knows about them, in one allocation; and the pointers to them.
//!
//! ```text
//! Entry<T>:  | Header: word, accounts, how to free, place in a queue, credits, cost | object: T |
//!
//! Link<T> --(while linked)--> Entry <--(KEPT)--- Kept      in a queue, later in the garbage
//! &'guard Entry ------------> Entry <--(holders)- Held<T>   anybody, for any time
//! ```
//!
//! # Safety
//!
//! 1. An entry comes from `Box` and is freed once, by the change of its [`Word`] after which it is free.
//! 2. A [`Held`] stands for one holder, a [`Kept`] for the bit `KEPT`. So while either lives, the entry lives.
//! 3. A [`Link`] is set from a living `Held` and is cleared before the entry's `Kept` is retired; the `Kept` is dropped
//!    only by the epochs' garbage. So an entry found through a link lives as long as the guard. *Who keeps this*: the
//!    shard's lock. A link is written under the lock of its entry's shard only, together with the queue
//!    (`shard.rs`), and a `Kept` that leaves a queue goes to `epoch::retire`.
//! 4. Shared references only: what changes in an entry is atomic. `T` is `Send + Sync`, and so are the pointers.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, Ordering};

use super::accounts::Accounts;
use super::epoch::Guard;
use super::role::Account;
use super::word::{State, Word};

/// An object that a cache can hold.
pub trait CacheObject: Send + Sync + 'static {
    /// Bytes that the object has allocated, beside `size_of::<Self>()`.
    fn heap_bytes(&self) -> usize;
}

/// What the cache knows about an entry.
pub(super) struct Header {
    word: Word,
    accounts: Arc<Accounts>,
    free: unsafe fn(NonNull<Header>),
    /// The entry's node in its shard's queues; read and written under the shard's lock.
    position: AtomicU32,
    /// What loading it again costs, in nanoseconds.
    cost: u32,
    account: Account,
    /// Touches since the evictor came by, up to the limit.
    credits: AtomicU8,
    credits_max: u8,
}

impl Header {
    #[inline]
    fn touch(&self) {
        let credits = self.credits.load(Ordering::Relaxed);
        if credits < self.credits_max {
            self.credits.store(credits + 1, Ordering::Relaxed);
        }
    }

    pub(super) fn credits(&self) -> u8 {
        self.credits.load(Ordering::Relaxed)
    }

    pub(super) fn set_credits(&self, credits: u8) {
        self.credits.store(credits.min(self.credits_max), Ordering::Relaxed);
    }

    pub(super) fn position(&self) -> u32 {
        self.position.load(Ordering::Relaxed)
    }

    pub(super) fn set_position(&self, position: u32) {
        self.position.store(position, Ordering::Relaxed);
    }

    pub(super) fn cost(&self) -> u32 {
        self.cost
    }

    pub(super) fn account(&self) -> Account {
        self.account
    }

    pub(super) fn state(&self) -> State {
        self.word.state()
    }
}

/// An object in the cache, or one that was in it and is still used.
///
/// It dereferences to the object.
#[repr(C)]
pub struct Entry<T> {
    header: Header,
    object: T,
}

impl<T> Entry<T> {
    #[inline]
    pub(super) fn touch(&self) {
        self.header.touch();
    }

    pub(super) fn header(&self) -> &Header {
        &self.header
    }

    /// How often the object was used lately: 0 for not at all, up to a small number.
    pub fn heat(&self) -> u8 {
        self.header.credits()
    }
}

impl<T: CacheObject> Entry<T> {
    /// A reference that keeps the object alive: past the guard, past eviction, past the table's end.
    pub fn hold(&self) -> Held<T> {
        self.header.accounts.book(self.header.account, self.header.word.hold());
        Held { entry: NonNull::from(self), owns: PhantomData }
    }

    /// Charges `bytes` more, for what the object has built since it was loaded.
    ///
    /// The next object that enters the cache makes room for them, too.
    pub fn grow(&self, bytes: usize) {
        self.header.accounts.book(self.header.account, self.header.word.grow(bytes));
    }
}

impl<T> Deref for Entry<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.object
    }
}

impl<T: fmt::Debug> fmt::Debug for Entry<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object.fmt(f)
    }
}

/// A reference to an object that keeps it alive, in the cache or out of it.
pub struct Held<T: CacheObject> {
    entry: NonNull<Entry<T>>,
    owns: PhantomData<Entry<T>>,
}

// SAFETY: a `Held` is shared ownership of an entry, whose object is `Send + Sync`; the header's parts are, too.
unsafe impl<T: CacheObject> Send for Held<T> {}
// SAFETY: as above; a shared `Held` gives shared references only.
unsafe impl<T: CacheObject> Sync for Held<T> {}

impl<T: CacheObject> Held<T> {
    /// A new entry, outside of the cache, charged as pinned.
    pub(super) fn new(
        accounts: &Arc<Accounts>,
        account: Account,
        cost: u32,
        credits_max: u8,
        object: T,
    ) -> Self {
        let word = Word::new(size_of::<Entry<T>>() + object.heap_bytes());
        accounts.book_new(account, word.state());
        let header = Header {
            word,
            accounts: Arc::clone(accounts),
            free: free::<T>,
            position: AtomicU32::new(u32::MAX),
            cost,
            account,
            credits: AtomicU8::new(0),
            credits_max,
        };
        let entry = Box::new(Entry { header, object });
        Self { entry: NonNull::from(Box::leak(entry)), owns: PhantomData }
    }

    /// The entry.
    #[inline]
    pub fn entry(&self) -> &Entry<T> {
        // SAFETY: invariant 2: this holder keeps the entry alive.
        unsafe { self.entry.as_ref() }
    }

    /// The cache takes a reference of its own; the entry is linked from now on.
    pub(super) fn enter(&self) -> Kept {
        let header = self.entry().header();
        header.accounts.book(header.account, header.word.enter());
        Kept(self.entry.cast())
    }
}

impl<T: CacheObject> Clone for Held<T> {
    fn clone(&self) -> Self {
        self.entry().hold()
    }
}

impl<T: CacheObject> Drop for Held<T> {
    fn drop(&mut self) {
        let header = self.entry().header();
        let free = header.free;
        let mut seen = header.word.state();
        let change = loop {
            let change = seen.released();
            let is_last = !change.after.is_held();
            if is_last {
                header.accounts.book(header.account, change);
            }
            match header.word.try_release(seen) {
                Ok(()) => break change,
                Err(now) => {
                    if is_last {
                        header.accounts.book(header.account, change.undone());
                    }
                    seen = now;
                }
            }
        };
        if change.after.is_free() {
            // SAFETY: invariant 1: this change has freed the entry, so nobody else refers to it.
            unsafe { free(self.entry.cast()) };
        }
    }
}

impl<T: CacheObject> Deref for Held<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.entry()
    }
}

impl<T: CacheObject + fmt::Debug> fmt::Debug for Held<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entry().fmt(f)
    }
}

/// The cache's reference to an entry: in a queue, later among what waits for readers.
pub(super) struct Kept(NonNull<Header>);

// SAFETY: as for `Held`: the entry's object and header are `Send + Sync`, whatever the object's type is.
unsafe impl Send for Kept {}

impl Kept {
    /// The entry is linked no more; its link is cleared.
    pub(super) fn leave(&self) {
        self.accounts.book(self.account, self.word.leave());
    }
}

impl Deref for Kept {
    type Target = Header;

    fn deref(&self) -> &Header {
        // SAFETY: invariant 2: `KEPT` keeps the entry alive.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let change = self.word.let_go();
        if change.after.is_free() {
            self.accounts.book(self.account, change);
            let free = self.free;
            // SAFETY: invariant 1: this change has freed the entry, so nobody else refers to it.
            unsafe { free(self.0) };
        }
    }
}

/// Frees an entry.
///
/// # Safety
///
/// `header` is that of an `Entry<T>` which came from `Box` and to which nobody refers.
unsafe fn free<T>(header: NonNull<Header>) {
    // SAFETY: the caller's promise; the header is the first field of the entry, and the pointer was made from the
    // whole entry's.
    drop(unsafe { Box::from_raw(header.cast::<Entry<T>>().as_ptr()) });
}

/// A way to an entry: one word in a slot or map.
pub(super) struct Link<T>(AtomicPtr<Entry<T>>);

impl<T: CacheObject> Link<T> {
    /// A link to nothing.
    pub(super) const fn empty() -> Self {
        Self(AtomicPtr::new(std::ptr::null_mut()))
    }

    /// The entry, alive as long as the guard.
    #[inline]
    pub(super) fn load<'g>(&self, _guard: &'g Guard) -> Option<&'g Entry<T>> {
        // SeqCst: the order that `epoch/domain.rs` rests on.
        let entry = NonNull::new(self.0.load(Ordering::SeqCst))?;
        // SAFETY: invariant 3: what is read from a link while a guard lives is not freed before the guard's end.
        Some(unsafe { entry.as_ref() })
    }

    /// Leads to `entry`, which enters the cache under the same lock.
    pub(super) fn set(&self, entry: &Held<T>) {
        self.0.store(entry.entry.as_ptr(), Ordering::SeqCst);
    }

    /// Leads to what another link of the same home leads to, and takes its place.
    pub(super) fn set_same(&self, entry: &Entry<T>) {
        self.0.store(std::ptr::from_ref(entry).cast_mut(), Ordering::SeqCst);
    }

    /// Leads to nothing, before the entry is retired.
    pub(super) fn clear(&self) {
        self.0.store(std::ptr::null_mut(), Ordering::SeqCst);
    }

    /// Whether it leads to nothing at this instant.
    pub(super) fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed).is_null()
    }
}
