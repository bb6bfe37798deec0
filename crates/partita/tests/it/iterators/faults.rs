//! Sources that fail: an error is never taken for the end, nor lost under what is passed over.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use partita::iter::{Bounds, InternalIterator, UncoveredIterator, VisibleIterator};
use partita::key::KeyOrder;
use partita::{Error, ErrorKind, Result};

use super::history::{Write, replay};
use super::sources::{Child, Run, Source, iterator_over, memtable, run};
use super::walks::options;

const ORDER: KeyOrder = KeyOrder::Bytewise;

/// A walk over one source. Of all moves of all of them, one fails.
struct Faulty {
    child: Child,
    moves_left: Rc<Cell<u32>>,
    /// A failed move leaves it standing nowhere.
    is_nowhere: bool,
}

impl Faulty {
    fn go(&mut self, step: impl FnOnce(&mut Child) -> Result<()>) -> Result<()> {
        let left = self.moves_left.get();
        self.moves_left.set(left.wrapping_sub(1));
        self.is_nowhere = left == 0;
        match left {
            0 => Err(Error::new(ErrorKind::Io, "a block could not be read")),
            _ => step(&mut self.child),
        }
    }
}

impl InternalIterator for Faulty {
    fn is_valid(&self) -> bool {
        !self.is_nowhere && self.child.is_valid()
    }

    fn seek_to_first(&mut self) -> Result<()> {
        self.go(Child::seek_to_first)
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.go(Child::seek_to_last)
    }

    fn seek(&mut self, target: &[u8]) -> Result<()> {
        self.go(|child| child.seek(target))
    }

    fn seek_for_prev(&mut self, target: &[u8]) -> Result<()> {
        self.go(|child| child.seek_for_prev(target))
    }

    fn next(&mut self) -> Result<()> {
        self.go(Child::next)
    }

    fn prev(&mut self) -> Result<()> {
        self.go(Child::prev)
    }

    fn key(&self) -> &[u8] {
        self.child.key()
    }

    fn value(&self) -> &[u8] {
        self.child.value()
    }
}

type Walk = VisibleIterator<UncoveredIterator<Faulty, Run>>;
type Pair = (Vec<u8>, Vec<u8>);

/// What is shown until the end, or until a move fails.
fn shown(iter: &mut Walk, is_forward: bool, from: Option<&[u8]>) -> (Vec<Pair>, Result<()>) {
    let mut pairs = Vec::new();
    let mut moved = match (is_forward, from) {
        (true, None) => iter.seek_to_first(),
        (false, None) => iter.seek_to_last(),
        (true, Some(key)) => iter.seek(key),
        (false, Some(key)) => iter.seek_for_prev(key),
    };
    while moved.is_ok() && iter.is_valid() {
        pairs.push((iter.key().to_vec(), iter.value().to_vec()));
        moved = if is_forward { iter.next() } else { iter.prev() };
    }
    (pairs, moved)
}

fn key(n: u32) -> Vec<u8> {
    n.to_be_bytes().to_vec()
}

/// rocksdb#11786: an error of one level was forgotten when a range tombstone made another level seek, and the walk ended as if
/// there were nothing more.
#[test]
fn no_error_is_lost_under_a_covered_stretch() {
    let put = |n: u32| Write::Put(key(n), b"v".to_vec());
    let delete = |from: u32, to: u32| Write::DeleteRange(key(from), key(to));
    let segments: [Vec<Write>; 4] = [
        (0..60).map(put).collect(),
        (0..60).step_by(7).map(put).chain((5..20).map(|n| delete(n, n + 1))).collect(),
        (20..30).map(|n| delete(n, n + 1)).chain([put(25), put(59)]).collect(),
        [delete(28, 50), put(33), put(2)].into(),
    ];
    let mut first = 1;
    let mut sources = Vec::new();
    for (at, segment) in segments.iter().enumerate() {
        sources.push(match at {
            0 => Source::Level(Arc::new(run(first, segment, &ORDER, &[15, 25, 45]))),
            1 => Source::Level(Arc::new(run(first, segment, &ORDER, &[2, 5]))),
            2 => Source::Table(run(first, segment, &ORDER, &[])),
            _ => Source::MemTable(memtable(first, segment, &ORDER)),
        });
        first += segment.len();
    }
    let expected = replay(segments.iter().flatten(), &ORDER);
    let mut failures = 0;
    for is_forward in [true, false] {
        for from in [None, Some(key(6)), Some(key(27)), Some(key(55))] {
            let mut expected = expected.clone();
            if !is_forward {
                expected.reverse();
            }
            let is_behind = |pair: &Pair| {
                from.as_ref().is_none_or(|from| (pair.0 >= *from) == is_forward || pair.0 == *from)
            };
            expected.retain(is_behind);
            for moves in 0.. {
                let moves_left = Rc::new(Cell::new(moves));
                let wrap =
                    |child| Faulty { child, moves_left: Rc::clone(&moves_left), is_nowhere: false };
                let options = options(&ORDER, first, Bounds::default());
                let mut iter = iterator_over(&sources, options, wrap);
                let (pairs, end) = shown(&mut iter, is_forward, from.as_deref());
                let has_failed = moves_left.get() > moves;
                assert_eq!(end.is_err(), has_failed, "{is_forward}, {from:?}, {moves}: {end:?}");
                assert!(expected.starts_with(&pairs), "{is_forward}, {from:?}, {moves}: {pairs:?}");
                // A later seek starts afresh.
                let (again, end) = shown(&mut iter, is_forward, from.as_deref());
                if !has_failed {
                    assert_eq!(pairs, expected);
                    break;
                }
                end.unwrap();
                assert_eq!(again, expected);
                failures += 1;
            }
        }
    }
    assert!(failures > 100, "{failures}");
}
