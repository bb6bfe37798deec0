//! A pointer to something that is replaced while others read it.
//!
//! # Safety
//!
//! 1. The pointer is null or comes from a `Box` that belongs to the [`Shared`].
//! 2. What is replaced is handed out as [`Retired`], to be freed by the epochs: a reader that has found it is pinned.
//! 3. A reader borrows the `Shared`, so dropping it needs no epoch.

use std::marker::PhantomData;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

use super::{Guard, Retired};

/// A box that readers may look into while a writer puts another one in its place.
pub(in crate::cache) struct Shared<T> {
    value: AtomicPtr<T>,
    owns: PhantomData<T>,
}

impl<T: Send + Sync + 'static> Shared<T> {
    /// Nothing.
    pub(in crate::cache) const fn empty() -> Self {
        Self { value: AtomicPtr::new(null_mut()), owns: PhantomData }
    }

    /// What is there now.
    #[inline]
    pub(in crate::cache) fn load<'a>(&'a self, _guard: &'a Guard) -> Option<&'a T> {
        // SeqCst: the order that `domain.rs` rests on.
        let value = NonNull::new(self.value.load(Ordering::SeqCst))?;
        // SAFETY: invariants 1 to 3: the value is freed neither before the guard's end nor while `self` is borrowed.
        Some(unsafe { value.as_ref() })
    }

    /// Puts `value` in its place and returns what was there, to be retired.
    pub(in crate::cache) fn replace(&self, value: Option<Box<T>>) -> Option<Retired> {
        let new = value.map_or(null_mut(), Box::into_raw);
        let old = NonNull::new(self.value.swap(new, Ordering::SeqCst))?;
        // SAFETY: invariant 1, and the swap has made the caller its only owner.
        Some(Retired::Array(unsafe { Box::from_raw(old.as_ptr()) }))
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        let value = *self.value.get_mut();
        if !value.is_null() {
            // SAFETY: invariants 1 and 3.
            drop(unsafe { Box::from_raw(value) });
        }
    }
}
