use super::*;
use crate::memtable::order::Bytewise;

fn list() -> SkipList {
    SkipList::new(Arc::default()).unwrap()
}

fn entry(user_key: &[u8], seqno: u64) -> Entry<'_> {
    Entry { user_key, packed: seqno << 8 | 1, value: &user_key[..user_key.len() / 2] }
}

/// The user keys from front to back, after the walk from back to front was compared.
fn walk(list: SkipList) -> Vec<Vec<u8>> {
    let mut cursor = Cursor::new(Arc::new(list));
    let mut keys = Vec::new();
    cursor.seek_to_first();
    while let Some(node) = cursor.node() {
        keys.push(node.split_key().0.to_vec());
        cursor.next();
    }
    cursor.seek_to_last();
    for key in keys.iter().rev() {
        assert_eq!(cursor.node().unwrap().split_key().0, key);
        cursor.prev();
    }
    assert!(cursor.node().is_none());
    keys
}

#[cfg(not(loom))]
mod threads {
    use super::*;
    use crate::memtable::order::ReverseBytewise;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicBool, Ordering as MemoryOrdering};

    #[test]
    fn an_empty_list_has_no_entries() {
        let list = Arc::new(list());
        let mut cursor = Cursor::new(Arc::clone(&list));
        cursor.seek_to_last();
        assert!(cursor.node().is_none());
        cursor.seek_for_prev(&Bytewise, b"x", 0);
        assert!(cursor.node().is_none());
        assert!(list.seek(&Bytewise, b"", u64::MAX).is_none());
        cursor.next();
        cursor.prev();
        assert!(cursor.node().is_none());
    }

    #[test]
    fn a_hint_of_another_list_is_not_used() {
        let (first, second) = (list(), list());
        let mut hint = InsertHint::new();
        for n in 0..100u8 {
            let list = if n % 2 == 0 { &first } else { &second };
            assert!(list.insert(&Bytewise, &mut hint, entry(&[n], 1)).unwrap());
        }
        drop(first);
        let third = super::list();
        assert!(third.insert(&Bytewise, &mut hint, entry(b"x", 1)).unwrap());
        assert_eq!(walk(second).len(), 50);
    }

    #[test]
    fn large_and_empty_entries_come_back() {
        let account = Arc::new(Account::default());
        let list = SkipList::new(Arc::clone(&account)).unwrap();
        let mut hint = InsertHint::new();
        let large = vec![7; 3 << 20];
        for (user_key, value) in
            [(&b""[..], &b""[..]), (b"k", &large), (&large[..5000], b"v"), (b"l", b"")]
        {
            let entry = Entry { user_key, packed: 0x101, value };
            assert!(list.insert(&Bytewise, &mut hint, entry).unwrap());
        }
        assert_eq!(list.seek(&Bytewise, b"", u64::MAX).unwrap().value(), b"");
        assert_eq!(list.seek(&Bytewise, b"k", u64::MAX).unwrap().value(), large);
        let node = list.seek(&Bytewise, &large[..5000], u64::MAX).unwrap();
        assert_eq!((node.value(), node.key().len()), (&b"v"[..], 5008));
        assert!(account.bytes() < (3 << 20) + 50_000);
    }

    #[test]
    fn an_insert_of_a_sorted_batch_compares_twice() {
        #[derive(Default)]
        struct Counting(std::cell::Cell<usize>);
        impl UserKeyOrder for Counting {
            fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
                self.0.set(self.0.get() + 1);
                a.cmp(b)
            }
        }
        let list = list();
        let order = Counting::default();
        let mut hint = InsertHint::new();
        for n in 0..10_000u32 {
            list.insert(&order, &mut hint, entry(&(2 * n).to_be_bytes(), 1)).unwrap();
        }
        assert!(order.0.get() < 2 * 10_000, "{} comparisons", order.0.get());
        order.0.set(0);
        // A second batch between the keys of the first.
        for n in 0..10_000u32 {
            list.insert(&order, &mut hint, entry(&(2 * n + 1).to_be_bytes(), 1)).unwrap();
        }
        assert!(order.0.get() < 8 * 10_000, "{} comparisons", order.0.get());
    }

    proptest! {
        #[test]
        fn it_is_a_sorted_map(
            entries in prop::collection::vec((prop::collection::vec(0u8..4, 0..12), 1u64..6), 0..200),
            writers in 1usize..4,
            reverse in any::<bool>(),
        ) {
            if reverse {
                compare_with_map(&ReverseBytewise, &entries, writers)?;
            } else {
                compare_with_map(&Bytewise, &entries, writers)?;
            }
        }
    }

    fn compare_with_map<O: UserKeyOrder>(
        order: &O,
        entries: &[(Vec<u8>, u64)],
        writers: usize,
    ) -> Result<(), TestCaseError> {
        let list = Arc::new(list());
        let mut hints: Vec<InsertHint> = (0..writers).map(|_| InsertHint::new()).collect();
        let mut inserted: BTreeMap<(Vec<u8>, u64), ()> = BTreeMap::new();
        for (at, (key, seqno)) in entries.iter().enumerate() {
            let is_new = inserted.insert((key.clone(), *seqno), ()).is_none();
            let hint = &mut hints[at * 7 % writers];
            // Of another type: the same sequence number is still a duplicate.
            let packed = seqno << 8 | (at as u64 & 1);
            let entry = Entry { user_key: key, packed, value: key };
            prop_assert_eq!(list.insert(order, hint, entry).unwrap(), is_new);
        }
        let mut sorted: Vec<(Vec<u8>, u64)> = inserted.into_keys().collect();
        sorted.sort_by(|a, b| order.compare(&a.0, &b.0).then(b.1.cmp(&a.1)));
        let mut cursor = Cursor::new(Arc::clone(&list));
        let there = |cursor: &Cursor| {
            cursor.node().map(|node| {
                let (key, packed) = node.split_key();
                assert_eq!(node.value(), key);
                (key.to_vec(), packed >> 8)
            })
        };
        for (key, seqno) in entries.iter().chain(&[(vec![9], 3), (vec![], 9)]) {
            let packed = seqno << 8 | 0xff;
            let is_before = |other: &(Vec<u8>, u64)| {
                order.compare(&other.0, key).then(seqno.cmp(&other.1)).is_lt()
            };
            let at = sorted.partition_point(is_before);
            cursor.seek(order, key, packed);
            prop_assert_eq!(there(&cursor), sorted.get(at).cloned());
            cursor.prev();
            let expected = if at < sorted.len() { at.checked_sub(1) } else { None };
            prop_assert_eq!(there(&cursor), expected.map(|at| sorted[at].clone()));
            cursor.seek_for_prev(order, key, packed);
            prop_assert_eq!(there(&cursor), at.checked_sub(1).map(|at| sorted[at].clone()));
        }
        cursor.seek_to_first();
        for expected in &sorted {
            prop_assert_eq!(there(&cursor), Some(expected.clone()));
            let (key, packed) = cursor.node().unwrap().split_key();
            let (key, packed) = (key.to_vec(), packed);
            let mut exact = Cursor::new(Arc::clone(&list));
            exact.seek_for_prev(order, &key, packed);
            prop_assert_eq!(there(&exact), Some(expected.clone()));
            cursor.next();
        }
        prop_assert!(there(&cursor).is_none());
        Ok(())
    }

    /// Tells the readers if a writer fails: they would wait for its keys.
    struct Failing<'f>(&'f AtomicBool);

    impl Drop for Failing<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                self.0.store(true, MemoryOrdering::Relaxed);
            }
        }
    }

    #[test]
    fn threads_insert_and_read_at_once() {
        const THREADS: u32 = 4;
        const KEYS: u32 = 20_000;
        let list = Arc::new(list());
        let failed = &AtomicBool::new(false);
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let list = Arc::clone(&list);
                scope.spawn(move || {
                    let _failing = Failing(failed);
                    let mut hint = InsertHint::new();
                    for n in 0..KEYS / THREADS {
                        // Runs of neighbours, interleaved with those of the other threads.
                        let run = (n / 16).wrapping_mul(0x9e37_79b9) >> 12;
                        let key =
                            [&run.to_be_bytes()[..], &[n as u8 % 16], &[thread as u8]].concat();
                        let new = list.insert(&Bytewise, &mut hint, entry(&key, u64::from(n) + 1));
                        assert!(new.unwrap());
                        let found = list.seek(&Bytewise, &key, u64::MAX).unwrap();
                        assert_eq!(found.split_key().0, key);
                    }
                });
            }
            for _ in 0..2 {
                let list = Arc::clone(&list);
                scope.spawn(move || {
                    let mut cursor = Cursor::new(Arc::clone(&list));
                    let mut seen = 0;
                    while seen < KEYS as usize && !failed.load(MemoryOrdering::Relaxed) {
                        seen = 0;
                        let mut last: Option<Vec<u8>> = None;
                        cursor.seek_to_first();
                        while let Some(node) = cursor.node() {
                            let key = node.key().to_vec();
                            assert!(last.is_none_or(|last| last < key));
                            last = Some(key);
                            seen += 1;
                            cursor.next();
                        }
                        cursor.seek_to_last();
                        let mut behind: Option<Vec<u8>> = None;
                        while let Some(node) = cursor.node() {
                            let key = node.key().to_vec();
                            assert!(behind.is_none_or(|behind| key < behind));
                            behind = Some(key);
                            cursor.prev();
                        }
                    }
                });
            }
        });
        let list = Arc::into_inner(list).unwrap();
        assert_eq!(walk(list).len(), KEYS as usize);
    }
}

/// Every interleaving of a few operations:
/// `RUSTFLAGS="--cfg loom" cargo test -p partita --release --lib memtable::skiplist`.
#[cfg(loom)]
mod models {
    use super::*;
    use loom::thread;

    fn insert(list: &SkipList, key: &[u8], height: usize) -> bool {
        let mut hint = InsertHint::new();
        list.insert_with_height(&Bytewise, &mut hint, entry(key, 1), height).unwrap()
    }

    fn finish(list: Arc<SkipList>) -> Vec<Vec<u8>> {
        walk(Arc::into_inner(list).unwrap())
    }

    #[test]
    fn neighbours_inserted_at_once_are_both_there() {
        loom::model(|| {
            let list = Arc::new(list());
            insert(&list, b"d", 1);
            let other = Arc::clone(&list);
            let writer = thread::spawn(move || assert!(insert(&other, b"b", 2)));
            assert!(insert(&list, b"c", 2));
            writer.join().unwrap();
            assert_eq!(finish(list), [b"b", b"c", b"d"]);
        });
    }

    #[test]
    fn one_of_two_equal_inserts_wins() {
        loom::model(|| {
            let list = Arc::new(list());
            let other = Arc::clone(&list);
            let writer = thread::spawn(move || insert(&other, b"b", 1));
            let won = [insert(&list, b"b", 2), writer.join().unwrap()];
            assert!(won[0] != won[1]);
            assert_eq!(finish(list), [b"b"]);
        });
    }

    #[test]
    fn a_reader_sees_whole_entries_in_both_directions() {
        loom::model(|| {
            let list = Arc::new(list());
            insert(&list, b"d", 1);
            let other = Arc::clone(&list);
            let writer = thread::spawn(move || insert(&other, b"bb", 2));
            if let Some(node) = list.seek(&Bytewise, b"b", u64::MAX) {
                let (key, _) = node.split_key();
                assert!(key == b"d" || key == b"bb");
                assert_eq!(node.value(), &key[..key.len() / 2]);
            }
            let last = list.last();
            let before = list.before(last);
            assert!(before == list.head || key_of(before).0 == b"bb");
            writer.join().unwrap();
            assert_eq!(finish(list), [&b"bb"[..], b"d"]);
        });
    }

    /// Found by `threads_insert_and_read_at_once`: the search had passed the place when a smaller key came in, and the
    /// link was followed a second time.
    #[test]
    fn a_seek_finds_no_key_before_its_target() {
        loom::model(|| {
            let list = Arc::new(list());
            insert(&list, b"d", 1);
            let other = Arc::clone(&list);
            let writer = thread::spawn(move || insert(&other, b"b", 1));
            let found = list.seek(&Bytewise, b"c", u64::MAX).unwrap();
            assert_eq!(found.split_key().0, b"d");
            let mut cursor = Cursor::new(Arc::clone(&list));
            cursor.seek(&Bytewise, b"c", u64::MAX);
            assert_eq!(cursor.node().unwrap().split_key().0, b"d");
            drop(cursor);
            writer.join().unwrap();
            assert_eq!(finish(list), [b"b", b"d"]);
        });
    }

    #[test]
    fn a_hint_stays_right_when_another_writer_comes_between() {
        loom::model(|| {
            let list = Arc::new(list());
            let mut hint = InsertHint::new();
            list.insert_with_height(&Bytewise, &mut hint, entry(b"a", 1), 2).unwrap();
            let other = Arc::clone(&list);
            let writer = thread::spawn(move || insert(&other, b"b", 2));
            list.insert_with_height(&Bytewise, &mut hint, entry(b"c", 1), 1).unwrap();
            writer.join().unwrap();
            assert_eq!(finish(list), [b"a", b"b", b"c"]);
        });
    }
}
