use std::sync::Arc;

use super::{Bounds, InternalIterator, RangeTombstones};
use crate::error::Result;
use crate::key::{KeyOrder, user_key};

/// Files whose key ranges follow one another without overlap, as a level has them.
///
/// Bounds are encoded internal keys and enclose the file's range tombstones. Two neighbours may share a user key, newer
/// entries in the first.
pub trait SortedRun {
    /// A walk over the entries of a file.
    type Iter: InternalIterator;

    /// How many files there are.
    fn file_count(&self) -> usize;

    /// The smallest key of file `at`.
    fn smallest(&self, at: usize) -> &[u8];

    /// The largest key of file `at`.
    fn largest(&self, at: usize) -> &[u8];

    /// Opens file `at` for a walk.
    fn open(&self, at: usize) -> Result<Self::Iter>;

    /// The range tombstones of file `at`, as they are in it; `None` if it has none.
    fn range_tombstones(&self, at: usize) -> Result<Option<Arc<RangeTombstones>>>;

    /// Whether a walk that comes to file `at` from a file beside it may find anything there that it wants, as far as is
    /// known without opening it. If not, files behind it are not wanted either.
    fn is_wanted(&self, at: usize) -> bool {
        let _ = at;
        true
    }
}

/// The first file whose largest key is not before the encoded internal key `target`.
pub(super) fn first_file_up_to(run: &impl SortedRun, order: &KeyOrder, target: &[u8]) -> usize {
    partition_files(run, |at| order.compare_internal(run.largest(at), target).is_lt())
}

/// How many files start with the encoded internal key `target`, or before it.
fn files_from(run: &impl SortedRun, order: &KeyOrder, target: &[u8]) -> usize {
    partition_files(run, |at| order.compare_internal(run.smallest(at), target).is_le())
}

/// How many files, from the first, are on the `true` side.
pub(super) fn partition_files(run: &impl SortedRun, is_left: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, run.file_count());
    while low < high {
        let middle = low.midpoint(high);
        if is_left(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// The entries of a run, one file after the other. A file is opened when the walk gets there, and one at a time.
///
/// Files wholly outside of the bounds are not opened by steps; seeks are the caller's to keep inside.
#[derive(Debug)]
pub struct LevelIterator<R: SortedRun> {
    run: Arc<R>,
    order: KeyOrder,
    bounds: Arc<Bounds>,
    /// The file opened last and its number.
    file: Option<(usize, R::Iter)>,
}

impl<R: SortedRun> LevelIterator<R> {
    /// A walk over `run` that stands nowhere yet.
    pub fn new(run: Arc<R>, order: KeyOrder, bounds: Arc<Bounds>) -> Self {
        Self { run, order, bounds, file: None }
    }

    /// The file that the walk is in.
    pub fn current_file(&self) -> Option<usize> {
        self.file.as_ref().map(|(at, _)| *at)
    }

    /// The walk over that file.
    pub fn current_iter(&self) -> Option<&R::Iter> {
        self.file.as_ref().map(|(_, iter)| iter)
    }

    /// Opens file `at` unless it is open; `None` if there is no such file.
    fn enter(&mut self, at: usize) -> Result<Option<&mut R::Iter>> {
        if at >= self.run.file_count() {
            self.file = None;
            return Ok(None);
        }
        if self.current_file() != Some(at) {
            self.file = None;
            self.file = Some((at, self.run.open(at)?));
        }
        Ok(self.file.as_mut().map(|(_, iter)| iter))
    }

    /// Goes on to the first entry of later files while the file has none left.
    fn skip_forward(&mut self) -> Result<()> {
        while let Some((at, iter)) = &self.file
            && !iter.is_valid()
        {
            let at = at + 1;
            let is_wanted = at < self.run.file_count()
                && !self.bounds.is_above(&self.order, user_key(self.run.smallest(at)))
                && self.run.is_wanted(at);
            self.file = None;
            if is_wanted && let Some(iter) = self.enter(at)? {
                iter.seek_to_first()?;
            }
        }
        Ok(())
    }

    /// Goes on to the last entry of earlier files while the file has none left.
    fn skip_backward(&mut self) -> Result<()> {
        while let Some((at, iter)) = &self.file
            && !iter.is_valid()
        {
            let before = at
                .checked_sub(1)
                .filter(|at| !self.bounds.is_below(&self.order, user_key(self.run.largest(*at))))
                .filter(|at| self.run.is_wanted(*at));
            self.file = None;
            if let Some(before) = before
                && let Some(iter) = self.enter(before)?
            {
                iter.seek_to_last()?;
            }
        }
        Ok(())
    }

    /// Nothing of a file is shown after a failed move.
    fn or_nowhere(&mut self, moved: Result<()>) -> Result<()> {
        if moved.is_err() {
            self.file = None;
        }
        moved
    }

    fn start(
        &mut self,
        at: Option<usize>,
        place: impl FnOnce(&mut R::Iter) -> Result<()>,
        is_forward: bool,
    ) -> Result<()> {
        let Some(at) = at else {
            self.file = None;
            return Ok(());
        };
        let moved = match self.enter(at) {
            Ok(Some(iter)) => place(iter),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        let moved = moved
            .and_then(|()| if is_forward { self.skip_forward() } else { self.skip_backward() });
        self.or_nowhere(moved)
    }
}

impl<R: SortedRun> InternalIterator for LevelIterator<R> {
    #[inline]
    fn is_valid(&self) -> bool {
        self.file.as_ref().is_some_and(|(_, iter)| iter.is_valid())
    }

    fn seek_to_first(&mut self) -> Result<()> {
        self.start(Some(0), InternalIterator::seek_to_first, true)
    }

    fn seek_to_last(&mut self) -> Result<()> {
        let last = self.run.file_count().checked_sub(1);
        self.start(last, InternalIterator::seek_to_last, false)
    }

    fn seek(&mut self, target: &[u8]) -> Result<()> {
        let at = first_file_up_to(&*self.run, &self.order, target);
        self.start(Some(at), |iter| iter.seek(target), true)
    }

    fn seek_for_prev(&mut self, target: &[u8]) -> Result<()> {
        let at = files_from(&*self.run, &self.order, target).checked_sub(1);
        self.start(at, |iter| iter.seek_for_prev(target), false)
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        let Some((_, iter)) = &mut self.file else { return Ok(()) };
        let moved = iter.next();
        if moved.is_ok() && iter.is_valid() {
            return Ok(());
        }
        let moved = moved.and_then(|()| self.skip_forward());
        self.or_nowhere(moved)
    }

    #[inline]
    fn prev(&mut self) -> Result<()> {
        let Some((_, iter)) = &mut self.file else { return Ok(()) };
        let moved = iter.prev();
        if moved.is_ok() && iter.is_valid() {
            return Ok(());
        }
        let moved = moved.and_then(|()| self.skip_backward());
        self.or_nowhere(moved)
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.file.as_ref().map_or(&[], |(_, iter)| iter.key())
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.file.as_ref().map_or(&[], |(_, iter)| iter.value())
    }
}
