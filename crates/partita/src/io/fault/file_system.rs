use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use super::files::{FaultFile, FaultReader, FaultWriter};
use super::plan::Plan;
use super::{Call, CallKind, Fault};
use crate::error::Result;
use crate::io::{FileLock, FileSystem, RandomAccessFile, SequentialFile, WritableFile};

/// A file system that hands calls on to another one, counts them, and lets go wrong what a test asks for. Clones share
/// counts and rule.
///
/// A test of crashes runs a history once to count the calls, then again for each `n`, with [`fail_from`] that call: the
/// process is dead from there on, and [`MemoryFileSystem::after_crash`] of the file system below gives what is left.
///
/// [`fail_from`]: FaultFileSystem::fail_from
/// [`MemoryFileSystem::after_crash`]: crate::io::MemoryFileSystem::after_crash
///
/// ```
/// use std::path::Path;
/// use std::sync::Arc;
/// use partita::io::{CallKind, FaultFileSystem, FileSystem, MemoryFileSystem, Unsynced};
///
/// let disk = MemoryFileSystem::new();
/// let fs = FaultFileSystem::new(Arc::new(disk.clone()));
/// fs.fail_nth(CallKind::Sync, 1, std::io::ErrorKind::Other);
/// let mut file = fs.create(Path::new("x"))?;
/// file.append(b"a")?;
/// file.sync()?;
/// file.append(b"b")?;
/// assert!(file.sync().is_err());
/// assert_eq!(fs.calls_of(CallKind::Sync), 2);
/// // The directory was never synced.
/// assert!(!disk.after_crash(Unsynced::Lost).exists(Path::new("x"))?);
/// # Ok::<(), partita::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FaultFileSystem {
    plan: Arc<Plan>,
    inner: Arc<dyn FileSystem>,
}

impl FaultFileSystem {
    /// Wraps a file system; nothing goes wrong yet.
    pub fn new(inner: Arc<dyn FileSystem>) -> Self {
        Self { plan: Arc::default(), inner }
    }

    /// How many calls there were.
    pub fn calls(&self) -> u64 {
        self.plan.calls()
    }

    /// How many calls of a kind there were.
    pub fn calls_of(&self, kind: CallKind) -> u64 {
        self.plan.calls_of(kind)
    }

    /// Asks `rule` what goes wrong with each call from now on; it replaces the one before. It runs under a lock: it must
    /// not call this file system.
    pub fn set_rule(&self, rule: impl FnMut(&Call<'_>) -> Option<Fault> + Send + 'static) {
        self.plan.set_rule(Some(Box::new(rule)));
    }

    /// Nothing goes wrong any more, except for a full disk.
    pub fn clear_rule(&self) {
        self.plan.set_rule(None);
    }

    /// The call number `index`, counted over all kinds from 0, fails without effect.
    pub fn fail_call(&self, index: u64, error: std::io::ErrorKind) {
        self.set_rule(move |call| (call.index == index).then_some(Fault::Error(error)));
    }

    /// All calls from number `index` on fail without effect.
    pub fn fail_from(&self, index: u64, error: std::io::ErrorKind) {
        self.set_rule(move |call| (call.index >= index).then_some(Fault::Error(error)));
    }

    /// The call number `nth` of a kind, counted from 0, fails without effect.
    pub fn fail_nth(&self, kind: CallKind, nth: u64, error: std::io::ErrorKind) {
        self.set_rule(move |call| {
            (call.kind == kind && call.nth == nth).then_some(Fault::Error(error))
        });
    }

    /// Lets the disk be full after so many more bytes; `None`: it has no limit.
    pub fn set_room(&self, bytes: Option<u64>) {
        self.plan.set_room(bytes);
    }

    fn writer(
        &self,
        kind: CallKind,
        path: &Path,
        open: impl FnOnce() -> Result<Box<dyn WritableFile>>,
    ) -> Result<Box<dyn WritableFile>> {
        let file = self.plan.run(kind, path, open)?;
        Ok(Box::new(FaultWriter { plan: Arc::clone(&self.plan), file }))
    }
}

impl FileSystem for FaultFileSystem {
    fn open(&self, path: &Path) -> Result<Arc<dyn RandomAccessFile>> {
        let file = self.plan.run(CallKind::Open, path, || self.inner.open(path))?;
        Ok(Arc::new(FaultFile { plan: Arc::clone(&self.plan), file }))
    }

    fn open_direct(&self, path: &Path) -> Result<Arc<dyn RandomAccessFile>> {
        let file = self.plan.run(CallKind::OpenDirect, path, || self.inner.open_direct(path))?;
        Ok(Arc::new(FaultFile { plan: Arc::clone(&self.plan), file }))
    }

    fn open_sequential(&self, path: &Path) -> Result<Box<dyn SequentialFile>> {
        let open = || self.inner.open_sequential(path);
        let file = self.plan.run(CallKind::OpenSequential, path, open)?;
        Ok(Box::new(FaultReader { plan: Arc::clone(&self.plan), file }))
    }

    fn create(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        self.writer(CallKind::Create, path, || self.inner.create(path))
    }

    fn create_new(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        self.writer(CallKind::CreateNew, path, || self.inner.create_new(path))
    }

    fn create_new_direct(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        self.writer(CallKind::CreateNewDirect, path, || self.inner.create_new_direct(path))
    }

    fn append(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        self.writer(CallKind::Append, path, || self.inner.append(path))
    }

    fn overwrite(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        self.writer(CallKind::Overwrite, path, || self.inner.overwrite(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.plan.run(CallKind::Rename, from, || self.inner.rename(from, to))
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.plan.run(CallKind::Remove, path, || self.inner.remove(path))
    }

    fn hard_link(&self, existing: &Path, new: &Path) -> Result<()> {
        self.plan.run(CallKind::HardLink, existing, || self.inner.hard_link(existing, new))
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        self.plan.run(CallKind::Exists, path, || self.inner.exists(path))
    }

    fn file_len(&self, path: &Path) -> Result<u64> {
        self.plan.run(CallKind::FileLen, path, || self.inner.file_len(path))
    }

    fn modified_unix_seconds(&self, path: &Path) -> Result<u64> {
        self.plan.run(CallKind::Modified, path, || self.inner.modified_unix_seconds(path))
    }

    fn list(&self, dir: &Path) -> Result<Vec<OsString>> {
        self.plan.run(CallKind::List, dir, || self.inner.list(dir))
    }

    fn create_dir_all(&self, dir: &Path) -> Result<()> {
        self.plan.run(CallKind::CreateDirAll, dir, || self.inner.create_dir_all(dir))
    }

    fn remove_dir(&self, dir: &Path) -> Result<()> {
        self.plan.run(CallKind::RemoveDir, dir, || self.inner.remove_dir(dir))
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.plan.run(CallKind::SyncDir, dir, || self.inner.sync_dir(dir))
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>> {
        self.plan.run(CallKind::Lock, path, || self.inner.lock(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::io::{MemoryFileSystem, Unsynced};
    use std::io::ErrorKind as Os;

    const FILE: &str = "f";

    fn faulty() -> (MemoryFileSystem, FaultFileSystem) {
        let disk = MemoryFileSystem::new();
        (disk.clone(), FaultFileSystem::new(Arc::new(disk)))
    }

    #[test]
    fn kinds_stand_in_the_order_of_their_numbers() {
        for (at, kind) in CallKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, at);
        }
    }

    #[test]
    fn a_full_disk_takes_what_fits() {
        let (disk, fs) = faulty();
        let mut file = fs.create(Path::new(FILE)).unwrap();
        fs.set_room(Some(5));
        file.append(b"abc").unwrap();
        assert_eq!(file.append(b"defg").unwrap_err().kind(), ErrorKind::NoSpace);
        fs.set_room(None);
        file.flush().unwrap();
        assert_eq!(disk.read(Path::new(FILE)).unwrap(), b"abcde");
    }

    #[test]
    fn writes_are_torn_and_turned() {
        let (disk, fs) = faulty();
        let mut file = fs.create(Path::new(FILE)).unwrap();
        fs.set_rule(|call| match (call.kind, call.nth) {
            (CallKind::Write, 0) => Some(Fault::FlippedBit(9)),
            (CallKind::Write, 1) => Some(Fault::Torn(2, Os::Other)),
            (CallKind::Flush, _) => Some(Fault::ErrorAfterwards(Os::Other)),
            _ => None,
        });
        file.append(&[0, 0]).unwrap();
        assert!(file.append(&[7, 7, 7]).is_err());
        assert!(file.flush().is_err());
        assert_eq!(disk.read(Path::new(FILE)).unwrap(), [0, 2, 7, 7]);
    }

    #[test]
    fn reads_are_short_turned_or_fail() {
        let (disk, fs) = faulty();
        let mut file = disk.create(Path::new(FILE)).unwrap();
        file.append(&[0; 10]).unwrap();
        file.flush().unwrap();
        let mut reader = fs.open_sequential(Path::new(FILE)).unwrap();
        fs.set_rule(|_| Some(Fault::Short(3)));
        let mut buf = [1; 10];
        assert_eq!(reader.read(&mut buf).unwrap(), 3);
        assert_eq!(reader.read_full(&mut buf).unwrap(), 7);
        fs.set_rule(|_| Some(Fault::FlippedBit(16)));
        let open = fs.open(Path::new(FILE)).unwrap();
        let mut buf = [1; 4];
        open.read_exact_at(6, &mut buf).unwrap();
        assert_eq!(buf, [0, 0, 1, 0]);
        fs.set_rule(|_| Some(Fault::Error(Os::Other)));
        let error = open.read_exact_at(0, &mut buf).unwrap_err();
        assert_eq!(error.to_string(), "I/O error: f: injected: other error");
        assert!(fs.open(Path::new(FILE)).is_err());
    }

    /// The pattern of a crash test: each number of calls that a history gets through leaves a state of its own.
    #[test]
    fn a_history_is_cut_at_every_call() {
        fn history(fs: &dyn FileSystem) -> Result<()> {
            let mut file = fs.create_new(Path::new("new"))?;
            file.append(b"x")?;
            file.sync()?;
            fs.rename(Path::new("new"), Path::new("final"))?;
            fs.sync_dir(Path::new("/"))
        }
        let (_, counted) = faulty();
        history(&counted).unwrap();
        assert_eq!(counted.calls(), 5);
        for cut in 0..=counted.calls() {
            let (disk, fs) = faulty();
            fs.fail_from(cut, Os::Other);
            assert_eq!(history(&fs).is_ok(), cut == counted.calls());
            let after = disk.after_crash(Unsynced::Lost);
            let found = after.read(Path::new("final"));
            assert_eq!(found.ok(), (cut == 5).then(|| b"x".to_vec()));
            let kept = disk.after_crash(Unsynced::Kept);
            assert_eq!(kept.exists(Path::new("final")).unwrap(), cut >= 4);
        }
    }
}
