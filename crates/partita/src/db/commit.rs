//! The commit queue: one writer at a time leads, and takes those who wait behind it along.
//!
//! ```text
//! queue    | leader | member | member | next leader | …
//!          |<------- a group ------->|
//!
//! leader   make room -> gather -> log: one record, one sync -> insert -> publish -> tell the members
//! members                                                      insert (their own, if the group is large)
//! ```
//!
//! 1. Who stands at the front of the queue leads, and nobody else touches the log, changes memtables for new ones, or gives
//!    out sequence numbers. [`CommitQueue::exclusive`] gives the front to who wants that without writing.
//! 2. A group's sequence numbers are published after all its entries are inserted, and before the next group begins: a
//!    reader sees whole batches, in order.
//! 3. A group has one log record, so that after a crash it is there whole or not at all.
//! 4. If the record cannot be written or synced, or an entry not inserted, nothing is published, and the stages see to it
//!    that nothing is any more: what is on disk is not known. How writing goes on: `resume.rs`.
//! 5. Whoever leads hands on the front, also when it panics ([`Leadership`]). If it had begun to write, nobody knows how far
//!    it came, and no later write is accepted ([`Begun`]).

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

use crate::batch::WriteBatch;
use crate::error::{Error, ErrorKind, Result};
use crate::key::SeqNo;
use crate::util::sync::{Condvar, Mutex, lock};

/// Bytes of a group from which members insert their own entries. Below, waking them costs more than it saves.
const TOGETHER_BYTES: usize = 16 << 10;

/// What the queue writes to.
pub(super) trait Stages {
    /// Called by the leader before anything else. It may change memtables and the log for new ones, and wait if
    /// `may_wait`.
    fn make_room(&self, may_wait: bool) -> Result<()>;
    /// Writes a record of these batches. After an error it refuses all writes, until the log was replaced.
    fn log(&self, record: &LogRecord<'_>) -> Result<()>;
    /// Inserts a batch. Members of a group call it at the same time.
    fn insert(&self, batch: &WriteBatch, first: SeqNo) -> Result<()>;
    /// The last sequence number published.
    fn last(&self) -> SeqNo;
    /// Shows readers everything up to here.
    fn publish(&self, last: SeqNo);
    /// Refuses all writes from now on: an entry could not be inserted, or the leader panicked.
    fn fail(&self, error: &Error);
}

/// What a group writes to the log.
pub(super) struct LogRecord<'g> {
    pub(super) first: SeqNo,
    pub(super) count: u32,
    /// The records of each batch. Empty: there is nothing to be written.
    pub(super) parts: Vec<&'g [u8]>,
    /// Whether the log, with all that it had before, must survive a power cut.
    pub(super) sync: bool,
}

/// How a batch is committed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CommitOptions {
    pub(super) sync: bool,
    pub(super) disable_wal: bool,
    /// Whether to fail rather than wait for room.
    pub(super) no_slowdown: bool,
}

/// A writer in the queue.
struct Member {
    /// `None`: it wants the front for itself.
    batch: Option<WriteBatch>,
    options: CommitOptions,
    stage: Mutex<Stage>,
    changed: Condvar,
}

enum Stage {
    Waits,
    Leads,
    Inserts { first: SeqNo, group: Arc<Group> },
    Done(Result<()>),
}

impl Member {
    fn new(batch: Option<WriteBatch>, options: CommitOptions) -> Arc<Self> {
        Arc::new(Self { batch, options, stage: Mutex::new(Stage::Waits), changed: Condvar::new() })
    }

    fn move_to(&self, stage: Stage) {
        *lock(&self.stage) = stage;
        self.changed.notify_one();
    }

    /// Waits for a stage other than `Waits`, and takes it.
    fn next_stage(&self) -> Stage {
        let mut stage = lock(&self.stage);
        loop {
            match std::mem::replace(&mut *stage, Stage::Waits) {
                Stage::Waits => {
                    stage = self.changed.wait(stage).unwrap_or_else(PoisonError::into_inner);
                }
                next => return next,
            }
        }
    }

    fn bytes(&self) -> usize {
        self.batch.as_ref().map_or(0, |batch| batch.record_bytes().len())
    }

    fn count(&self) -> u32 {
        self.batch.as_ref().map_or(0, WriteBatch::count)
    }
}

/// Members that insert at the same time.
struct Group {
    /// How many are not done, and the first failure.
    state: Mutex<(usize, Option<Error>)>,
    all_done: Condvar,
}

impl Group {
    fn done(&self, result: Result<()>) {
        let mut state = lock(&self.state);
        state.0 -= 1;
        if let Err(error) = result {
            state.1.get_or_insert(error);
        }
        if state.0 == 0 {
            self.all_done.notify_one();
        }
    }

    fn wait(&self) {
        let mut state = lock(&self.state);
        while state.0 > 0 {
            state = self.all_done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// How it went, once all are done.
    fn result(&self) -> Result<()> {
        lock(&self.state).1.take().map_or(Ok(()), Err)
    }
}

/// Counts a member as done also if its insertion panics.
struct InGroup<'g>(&'g Group, Option<Result<()>>);

impl Drop for InGroup<'_> {
    fn drop(&mut self) {
        let panicked =
            || Err(Error::new(ErrorKind::Aborted, "a member of the write group panicked"));
        self.0.done(self.1.take().unwrap_or_else(panicked));
    }
}

/// Waits for the members of a group when it goes.
struct Others<'g>(&'g Group);

impl Drop for Others<'_> {
    fn drop(&mut self) {
        self.0.wait();
    }
}

/// Writers in the order in which they came.
pub(super) struct CommitQueue {
    members: Mutex<VecDeque<Arc<Member>>>,
    group_bytes_max: usize,
    /// What those get, while the leader waits for room, who must not. Changed under the lock of the members.
    stalled: Mutex<Option<StallError>>,
}

type StallError = Box<dyn Fn() -> Error + Send>;

impl CommitQueue {
    /// * `group_bytes_max`: most bytes of batches that share a log record.
    pub(super) fn new(group_bytes_max: usize) -> Self {
        Self { members: Mutex::default(), group_bytes_max, stalled: Mutex::default() }
    }

    /// Writes a batch; returns when readers see it.
    pub(super) fn commit(
        &self,
        stages: &impl Stages,
        batch: WriteBatch,
        options: CommitOptions,
    ) -> Result<()> {
        let member = Member::new(Some(batch), options);
        match self.enter(&member) {
            Stage::Done(result) => result,
            Stage::Inserts { first, group } => {
                let mut part = InGroup(&group, None);
                let batch = member.batch.as_ref();
                part.1 = Some(batch.map_or(Ok(()), |batch| stages.insert(batch, first)));
                drop(part);
                match member.next_stage() {
                    Stage::Done(result) => result,
                    _ => Err(abandoned()),
                }
            }
            Stage::Leads | Stage::Waits => self.lead(stages, &member),
        }
    }

    /// How many writers there are, the leader and its group included.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        lock(&self.members).len()
    }

    /// Runs `work` as the only writer, if nobody writes and nobody waits.
    pub(super) fn try_exclusive<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        let member = Member::new(None, CommitOptions::default());
        let mut members = lock(&self.members);
        if !members.is_empty() {
            return None;
        }
        members.push_back(Arc::clone(&member));
        drop(members);
        let _leadership = Leadership { queue: self, group: vec![member] };
        Some(work())
    }

    /// Runs `work` while nobody writes.
    pub(super) fn exclusive<T>(&self, work: impl FnOnce() -> T) -> T {
        let member = Member::new(None, CommitOptions::default());
        self.enter(&member);
        let _leadership = Leadership { queue: self, group: vec![member] };
        work()
    }

    /// Waits for the front, or to be taken along.
    fn enter(&self, member: &Arc<Member>) -> Stage {
        let mut members = lock(&self.members);
        if let (true, Some(why)) = (member.options.no_slowdown, &*lock(&self.stalled)) {
            return Stage::Done(Err(why()));
        }
        members.push_back(Arc::clone(member));
        if members.len() == 1 {
            return Stage::Leads;
        }
        drop(members);
        member.next_stage()
    }

    /// Sends those away that must not wait, now and until the mark goes. The caller leads and is about to wait.
    pub(super) fn begin_stall(&self, why: impl Fn() -> Error + Send + 'static) -> StallMark<'_> {
        let mut members = lock(&self.members);
        let (sent_away, stay): (VecDeque<_>, _) = std::mem::take(&mut *members)
            .into_iter()
            .enumerate()
            .partition(|(at, member)| *at > 0 && member.options.no_slowdown);
        *members = stay.into_iter().map(|(_, member)| member).collect();
        for (_, member) in sent_away {
            member.move_to(Stage::Done(Err(why())));
        }
        *lock(&self.stalled) = Some(Box::new(why));
        StallMark(self)
    }

    fn lead(&self, stages: &impl Stages, leader: &Arc<Member>) -> Result<()> {
        let mut leadership = Leadership { queue: self, group: vec![Arc::clone(leader)] };
        stages.make_room(!leader.options.no_slowdown)?;
        leadership.gather(leader);
        let result = write_group(stages, &leadership.group);
        leadership.tell(&result);
        result
    }
}

/// The leader waits for room while this lives.
pub(super) struct StallMark<'q>(&'q CommitQueue);

impl Drop for StallMark<'_> {
    fn drop(&mut self) {
        *lock(&self.0.stalled) = None;
    }
}

/// Log, insert, publish.
fn write_group(stages: &impl Stages, group: &[Arc<Member>]) -> Result<()> {
    let last = stages.last().get();
    let count: u64 = group.iter().map(|member| u64::from(member.count())).sum();
    // Every batch has less than 2^32 records, and the bytes of a group are bounded.
    let counted = u32::try_from(count)
        .map_err(|_| Error::invalid_argument("write group of more than 2^32 - 1 records"))?;
    let (Some(first), Some(end)) = (SeqNo::new(last + 1), SeqNo::new(last + count)) else {
        return Err(Error::new(ErrorKind::Aborted, "all 2^56 sequence numbers are used up"));
    };
    let Some(leader) = group.first() else { return Ok(()) };
    let begun = Begun(stages);
    let result = log_and_insert(stages, group, leader, (first, counted));
    std::mem::forget(begun);
    if count > 0 && result.is_ok() {
        stages.publish(end);
    }
    result
}

/// A group that is being written. Dropped, and not forgotten, by a panic: then the numbers of the group must not be given
/// again, as its record may be in the log and its entries in memtables.
struct Begun<'s, S: Stages>(&'s S);

impl<S: Stages> Drop for Begun<'_, S> {
    fn drop(&mut self) {
        self.0.fail(&abandoned());
    }
}

fn log_and_insert(
    stages: &impl Stages,
    group: &[Arc<Member>],
    leader: &Member,
    (first, count): (SeqNo, u32),
) -> Result<()> {
    if !leader.options.disable_wal {
        let parts = group.iter().filter_map(|member| member.batch.as_ref());
        let parts = parts.map(WriteBatch::record_bytes).filter(|part| !part.is_empty()).collect();
        let sync = group.iter().any(|member| member.options.sync);
        stages.log(&LogRecord { first, count, parts, sync })?;
    }
    if count == 0 {
        return Ok(());
    }
    insert_group(stages, group, first).inspect_err(|error| stages.fail(error))
}

fn insert_group(stages: &impl Stages, group: &[Arc<Member>], first: SeqNo) -> Result<()> {
    if let [only] = group {
        return only.batch.as_ref().map_or(Ok(()), |batch| stages.insert(batch, first));
    }
    let bytes: usize = group.iter().map(|member| member.bytes()).sum();
    let together = bytes >= TOGETHER_BYTES;
    let shared =
        Arc::new(Group { state: Mutex::new((group.len(), None)), all_done: Condvar::new() });
    let mut next = first.get();
    let mut own = None;
    for (at, member) in group.iter().enumerate() {
        let Some(first) = SeqNo::new(next) else { break };
        next += u64::from(member.count());
        if together && at > 0 {
            member.move_to(Stage::Inserts { first, group: Arc::clone(&shared) });
        } else if together {
            own = Some(first);
        } else if let Some(batch) = &member.batch {
            stages.insert(batch, first)?;
        }
    }
    if let (Some(first), Some(leader)) = (own, group.first()) {
        // The others are waited for also if this one panics.
        let others = Others(&shared);
        let mut part = InGroup(&shared, None);
        part.1 = Some(leader.batch.as_ref().map_or(Ok(()), |batch| stages.insert(batch, first)));
        drop(part);
        drop(others);
        return shared.result();
    }
    Ok(())
}

/// The front of the queue. Dropped, it lets the group go and the next one lead.
struct Leadership<'q> {
    queue: &'q CommitQueue,
    /// The members at the front of the queue, the leader first.
    group: Vec<Arc<Member>>,
}

impl Leadership<'_> {
    /// Takes along who waits behind the leader and fits.
    fn gather(&mut self, leader: &Member) {
        let members = lock(&self.queue.members);
        let mut bytes = leader.bytes();
        for member in members.iter().skip(1) {
            bytes += member.bytes();
            let fits = bytes <= self.queue.group_bytes_max
                && member.options.disable_wal == leader.options.disable_wal
                && member.options.no_slowdown == leader.options.no_slowdown;
            if member.batch.is_none() || !fits {
                break;
            }
            self.group.push(Arc::clone(member));
        }
    }

    /// Tells the members, but not the leader, how it went.
    fn tell(&mut self, result: &Result<()>) {
        if self.group.len() == 1 {
            return;
        }
        let queue = self.queue;
        let mut members = lock(&queue.members);
        for member in self.group.drain(1..) {
            members.remove(1);
            member.move_to(Stage::Done(result.as_ref().copied().map_err(again)));
        }
    }
}

impl Drop for Leadership<'_> {
    fn drop(&mut self) {
        let mut members = lock(&self.queue.members);
        // The leader waits for nothing. Of the others, whoever was told nothing learns that there will be nothing.
        for (at, member) in self.group.drain(..).enumerate() {
            members.pop_front();
            if at > 0 {
                member.move_to(Stage::Done(Err(abandoned())));
            }
        }
        if let Some(next) = members.front() {
            next.move_to(Stage::Leads);
        }
    }
}

/// The same error for another caller.
pub(super) fn again(error: &Error) -> Error {
    Error::new(error.kind(), error.to_string())
}

#[cold]
fn abandoned() -> Error {
    Error::new(ErrorKind::Aborted, "the leader of the write group panicked")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// A log, entries and a counter without a database.
    #[derive(Default)]
    struct Bench {
        last: AtomicU64,
        records: Mutex<Vec<(u64, u32, bool)>>,
        inserted: Mutex<Vec<(u64, u32)>>,
        failed: Mutex<Option<String>>,
        /// What the next record fails with.
        broken: Mutex<Option<Error>>,
        /// In which stage the next leader panics.
        panics_in: Mutex<Option<&'static str>>,
        /// How many batches were inserted after readers could see them.
        early: AtomicU64,
    }

    impl Bench {
        fn panic_in(&self, stage: &str) {
            let panics = lock(&self.panics_in).take_if(|wanted| *wanted == stage).is_some();
            if panics {
                // Without a message on the standard error.
                std::panic::resume_unwind(Box::new("on purpose"));
            }
        }
    }

    impl Stages for Bench {
        fn make_room(&self, _may_wait: bool) -> Result<()> {
            match &*lock(&self.failed) {
                Some(why) => Err(Error::new(ErrorKind::ReadOnly, why.clone())),
                None => Ok(()),
            }
        }

        fn log(&self, record: &LogRecord<'_>) -> Result<()> {
            self.panic_in("log");
            if let Some(error) = lock(&self.broken).take() {
                *lock(&self.failed) = Some(error.to_string());
                return Err(error);
            }
            lock(&self.records).push((record.first.get(), record.count, record.sync));
            Ok(())
        }

        fn insert(&self, batch: &WriteBatch, first: SeqNo) -> Result<()> {
            if self.last().get() >= first.get() {
                self.early.fetch_add(1, Ordering::Relaxed);
            }
            if first.get() == 1 {
                self.panic_in("insert");
            }
            std::thread::yield_now();
            lock(&self.inserted).push((first.get(), batch.count()));
            Ok(())
        }

        fn last(&self) -> SeqNo {
            SeqNo::new(self.last.load(Ordering::Acquire)).unwrap()
        }

        fn publish(&self, last: SeqNo) {
            self.last.store(last.get(), Ordering::Release);
        }

        fn fail(&self, error: &Error) {
            *lock(&self.failed) = Some(error.to_string());
        }
    }

    fn batch(count: u32, value_bytes: usize) -> WriteBatch {
        let mut batch = WriteBatch::new();
        for i in 0..count {
            batch.put(&i.to_be_bytes(), &vec![7; value_bytes]).unwrap();
        }
        batch
    }

    const SYNC: CommitOptions =
        CommitOptions { sync: true, disable_wal: false, no_slowdown: false };

    /// Commits batches from many threads while the front is held, so that they form groups; `None` for those that panicked.
    fn commit_together(
        bench: &Bench,
        queue: &CommitQueue,
        batches: Vec<WriteBatch>,
    ) -> Vec<Option<Result<()>>> {
        let count = batches.len();
        std::thread::scope(|scope| {
            let threads = queue.exclusive(|| {
                let threads: Vec<_> = batches
                    .into_iter()
                    .map(|batch| {
                        scope.spawn(|| queue.commit(bench, batch, CommitOptions::default()))
                    })
                    .collect();
                while lock(&queue.members).len() <= count {
                    std::thread::yield_now();
                }
                threads
            });
            threads.into_iter().map(|thread| thread.join().ok()).collect()
        })
    }

    #[test]
    fn a_group_has_one_record_and_consecutive_numbers() {
        for value_bytes in [1, TOGETHER_BYTES] {
            let (bench, queue) = (Bench::default(), CommitQueue::new(1 << 20));
            let batches = (1..=8).map(|count| batch(count, value_bytes / 8)).collect();
            assert!(commit_together(&bench, &queue, batches).iter().flatten().all(Result::is_ok));
            assert_eq!(*lock(&bench.records), [(1, 36, false)], "one group of all");
            let mut inserted = lock(&bench.inserted).clone();
            inserted.sort_unstable();
            let mut next = 1;
            for (first, count) in inserted {
                assert_eq!(first, next);
                next += u64::from(count);
            }
            assert_eq!((bench.last().get(), next), (36, 37));
            assert_eq!(bench.early.load(Ordering::Relaxed), 0, "seen before all was inserted");
        }
    }

    #[test]
    fn a_group_ends_where_it_gets_too_long() {
        let (bench, queue) = (Bench::default(), CommitQueue::new(300));
        let batches = (0..6).map(|_| batch(1, 100)).collect();
        assert!(commit_together(&bench, &queue, batches).iter().flatten().all(Result::is_ok));
        assert_eq!(*lock(&bench.records), [(1, 2, false), (3, 2, false), (5, 2, false)]);
    }

    #[test]
    fn a_failed_record_fails_the_whole_group_and_all_later_writes() {
        let (bench, queue) = (Bench::default(), CommitQueue::new(1 << 20));
        *lock(&bench.broken) = Some(Error::new(ErrorKind::NoSpace, "no room for the log"));
        let batches = (0..4).map(|_| batch(1, 1)).collect();
        for result in commit_together(&bench, &queue, batches) {
            assert!(result.unwrap().unwrap_err().to_string().contains("no room for the log"));
        }
        let error = queue.commit(&bench, batch(1, 1), SYNC).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ReadOnly);
        assert!(error.to_string().contains("no room for the log"));
        assert_eq!((bench.last().get(), lock(&bench.inserted).len()), (0, 0));
    }

    #[test]
    fn an_empty_batch_syncs_and_takes_no_number() {
        let (bench, queue) = (Bench::default(), CommitQueue::new(1 << 20));
        queue.commit(&bench, batch(2, 1), CommitOptions::default()).unwrap();
        queue.commit(&bench, WriteBatch::new(), SYNC).unwrap();
        assert_eq!(*lock(&bench.records), [(1, 2, false), (3, 0, true)]);
        assert_eq!(bench.last().get(), 2);
    }

    /// It gave out numbers, and may have written and inserted anything under them.
    #[test]
    fn after_a_leader_panicked_that_was_writing_no_numbers_are_given_again() {
        for stage in ["log", "insert"] {
            for (members, value_bytes) in [(1, 1), (4, 1), (4, TOGETHER_BYTES)] {
                let (bench, queue) = (Bench::default(), CommitQueue::new(1 << 20));
                *lock(&bench.panics_in) = Some(stage);
                let batches = (0..members).map(|_| batch(2, value_bytes)).collect();
                let results = commit_together(&bench, &queue, batches);
                let what = format!("{stage}, {members}, {value_bytes}: {results:?}");
                let panicked = results.iter().flatten().count();
                assert!(results.iter().all(|it| it.as_ref().is_none_or(Result::is_err)), "{what}");
                assert_eq!(panicked, members - 1, "{what}");
                let before = lock(&bench.inserted).len();
                let error = queue.commit(&bench, batch(1, 1), SYNC).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::ReadOnly, "{what}");
                assert!(error.to_string().contains("panicked"), "{what}");
                assert_eq!(bench.last().get(), 0, "{what}");
                assert_eq!(lock(&bench.inserted).len(), before, "{what}: who inserted still?");
            }
        }
    }

    #[test]
    fn a_leader_that_panics_hands_on_the_front() {
        let (bench, queue) = (Bench::default(), CommitQueue::new(1 << 20));
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            queue.exclusive(|| panic!("on purpose"));
        }));
        assert!(panicked.is_err());
        queue.commit(&bench, batch(1, 1), CommitOptions::default()).unwrap();
        assert_eq!(bench.last().get(), 1);
    }
}
