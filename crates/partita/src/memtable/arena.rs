//! Memory for the nodes of a memtable: given out piece by piece, freed all at once.
//!
//! ```text
//! current ---> chunk    | piece | piece | piece |      free      |
//!              chunk    | piece | piece | piece | piece |//////////   tail that no piece fitted in
//!              chunk    |            one large piece              |   never current
//! ```
//!
//! # Safety
//!
//! 1. A piece belongs to one caller: the counter of used words only grows, so no two calls get the same words.
//! 2. A chunk's memory stays where it is until the arena is dropped. Whoever uses a piece keeps the arena alive.
//! 3. Pieces are aligned to [`WORD`] and not initialised; the arena never looks into them and drops nothing in them.
//! 4. `current` is null or points to a [`Chunk`] in `chunks`, which are freed in `drop` only.

use std::alloc::{Layout, alloc, dealloc};
use std::fmt;
use std::ptr::{self, NonNull};
use std::sync::{Arc, PoisonError};

use super::account::Account;
use super::sync::Mutex;
use super::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use crate::error::{Error, ErrorKind, Result};

/// Pieces are multiples of this many bytes, and aligned to it.
pub(super) const WORD: usize = size_of::<u64>();
/// Words of the first chunk: a database may have many memtables that are hardly used.
const FIRST_WORDS: usize = 4096 / WORD;
/// Words of a chunk at most; each is twice the one before up to here.
const WORDS_MAX: usize = (1 << 20) / WORD;
/// A larger piece has a chunk for itself, so that little is lost at the ends of chunks.
const LARGE_WORDS: usize = WORDS_MAX / 8;

struct Chunk {
    start: NonNull<u64>,
    words: usize,
    used: AtomicUsize,
}

struct Chunks {
    all: Vec<NonNull<Chunk>>,
    words_next: usize,
}

pub(super) struct Arena {
    current: AtomicPtr<Chunk>,
    chunks: Mutex<Chunks>,
    account: Arc<Account>,
}

// SAFETY: the pointers lead to memory that only the arena frees, and what is changed through them is atomic or behind
// the lock.
unsafe impl Send for Arena {}
// SAFETY: as above; all methods take `&self`.
unsafe impl Sync for Arena {}

impl Arena {
    /// An arena whose chunks are charged to `account` before they are allocated.
    pub(super) fn new(account: Arc<Account>) -> Self {
        let chunks = Chunks { all: Vec::new(), words_next: FIRST_WORDS };
        Self { current: AtomicPtr::new(ptr::null_mut()), chunks: Mutex::new(chunks), account }
    }

    /// A piece of `words` words, not initialised.
    ///
    /// * Errors: `Aborted` if there is no memory for it.
    #[inline]
    pub(super) fn allocate(&self, words: usize) -> Result<NonNull<u64>> {
        let current = self.current.load(Ordering::Acquire);
        match Self::take(current, words) {
            Some(piece) => Ok(piece),
            None => self.allocate_slowly(words),
        }
    }

    /// A piece of this chunk, if it has one left.
    #[inline]
    fn take(chunk: *mut Chunk, words: usize) -> Option<NonNull<u64>> {
        // SAFETY: `chunk` is null or a chunk of this arena (4), and only its atomic field is changed.
        let chunk = unsafe { chunk.as_ref() }?;
        // Cheap to ask first, and the counter cannot run away by failed attempts.
        if chunk.words - chunk.used.load(Ordering::Relaxed).min(chunk.words) < words {
            return None;
        }
        let at = chunk.used.fetch_add(words, Ordering::Relaxed);
        if at > chunk.words || chunk.words - at < words {
            return None;
        }
        // SAFETY: `at + words` is within the chunk, as was just checked.
        Some(unsafe { chunk.start.add(at) })
    }

    #[cold]
    fn allocate_slowly(&self, words: usize) -> Result<NonNull<u64>> {
        let mut chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have brought a chunk meanwhile.
        if let Some(piece) = Self::take(self.current.load(Ordering::Acquire), words) {
            return Ok(piece);
        }
        if words > LARGE_WORDS {
            let chunk = self.add_chunk(&mut chunks, words)?;
            return Self::take(chunk.as_ptr(), words).ok_or_else(|| no_memory(words));
        }
        let chunk_words = chunks.words_next.max(4 * words);
        let chunk = self.add_chunk(&mut chunks, chunk_words)?;
        chunks.words_next = (2 * chunk_words).min(WORDS_MAX);
        let piece = Self::take(chunk.as_ptr(), words);
        self.current.store(chunk.as_ptr(), Ordering::Release);
        piece.ok_or_else(|| no_memory(words))
    }

    fn add_chunk(&self, chunks: &mut Chunks, words: usize) -> Result<NonNull<Chunk>> {
        let layout = Layout::array::<u64>(words).map_err(|_| no_memory(words))?;
        self.account.grow(layout.size());
        // SAFETY: `words` is at least 1: a node's own, or a constant.
        let start = unsafe { alloc(layout) };
        let Some(start) = NonNull::new(start.cast::<u64>()) else {
            self.account.shrink(layout.size());
            return Err(no_memory(words));
        };
        let chunk = Box::new(Chunk { start, words, used: AtomicUsize::new(0) });
        let chunk = NonNull::from(Box::leak(chunk));
        chunks.all.push(chunk);
        Ok(chunk)
    }
}

#[cold]
fn no_memory(words: usize) -> Error {
    Error::new(ErrorKind::Aborted, format!("no memory for {words} words of a memtable's entries"))
}

impl Drop for Arena {
    fn drop(&mut self) {
        let mut chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        for chunk in std::mem::take(&mut chunks.all) {
            // SAFETY: it came out of a box, and nobody else uses the arena any more (2).
            let chunk = unsafe { Box::from_raw(chunk.as_ptr()) };
            if let Ok(layout) = Layout::array::<u64>(chunk.words) {
                // SAFETY: it was allocated with this layout.
                unsafe { dealloc(chunk.start.as_ptr().cast(), layout) };
            }
        }
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memtable::MemoryCharge;

    #[test]
    fn pieces_do_not_overlap_whichever_thread_asks() {
        let account = Arc::new(Account::default());
        let arena = Arena::new(Arc::clone(&account));
        let pieces = |seed: usize| -> Vec<(usize, usize)> {
            (0..3000usize)
                .map(|at| {
                    let words =
                        1 + (seed + at * 7919) % 40 + if at % 500 == 0 { 60_000 } else { 0 };
                    let piece = arena.allocate(words).unwrap();
                    (piece.as_ptr() as usize, words * WORD)
                })
                .collect()
        };
        let mut all: Vec<(usize, usize)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|seed| scope.spawn(move || pieces(seed))).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
        assert!(all.iter().all(|(start, _)| start % WORD == 0));
        let asked: usize = all.iter().map(|(_, len)| len).sum();
        assert!(account.bytes() >= asked && account.bytes() < asked + asked / 8);
    }

    #[test]
    fn what_cannot_be_had_is_not_charged() {
        let told = Arc::new(AtomicUsize::new(0));
        let teller = Arc::clone(&told);
        let charge = MemoryCharge::new(move |bytes| teller.store(bytes, Ordering::Relaxed));
        let account = Arc::new(Account::new(Some(charge)));
        let arena = Arena::new(Arc::clone(&account));
        assert_eq!(told.load(Ordering::Relaxed), 0);
        for words in [1, 100, 5_000_000, 3, 700, 700, 200_000] {
            arena.allocate(words).unwrap();
            assert_eq!(told.load(Ordering::Relaxed), account.bytes());
        }
        assert!((5_200_000 * WORD..5_210_000 * WORD).contains(&account.bytes()));
        assert!(arena.allocate(usize::MAX / 4).is_err());
        assert!(arena.allocate(usize::MAX / 32).is_err());
        assert!(account.bytes() < 5_210_000 * WORD);
    }
}
