use std::fmt;
use std::path::Path;
use std::sync::PoisonError;

use crate::error::{Error, Result};
use crate::util::sync::{Mutex, MutexGuard};

/// What a file system is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is the method of its name")]
pub enum CallKind {
    Open,
    OpenDirect,
    OpenSequential,
    Create,
    CreateNew,
    CreateNewDirect,
    Append,
    Overwrite,
    Rename,
    Remove,
    HardLink,
    Exists,
    FileLen,
    List,
    CreateDirAll,
    RemoveDir,
    SyncDir,
    Lock,
    /// A read at an offset.
    ReadAt,
    /// A read of the next bytes.
    ReadNext,
    /// Bytes appended to an open file.
    Write,
    /// A flush of an open file.
    Flush,
    /// A sync of an open file.
    Sync,
    /// What stands behind an open file's end is cut off.
    TruncateRest,
    Modified,
}

impl CallKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 25] = [
        Self::Open,
        Self::OpenDirect,
        Self::OpenSequential,
        Self::Create,
        Self::CreateNew,
        Self::CreateNewDirect,
        Self::Append,
        Self::Overwrite,
        Self::Rename,
        Self::Remove,
        Self::HardLink,
        Self::Exists,
        Self::FileLen,
        Self::List,
        Self::CreateDirAll,
        Self::RemoveDir,
        Self::SyncDir,
        Self::Lock,
        Self::ReadAt,
        Self::ReadNext,
        Self::Write,
        Self::Flush,
        Self::Sync,
        Self::TruncateRest,
        Self::Modified,
    ];

    /// Whether such a call may change what is on disk.
    pub const fn changes(self) -> bool {
        !matches!(
            self,
            Self::Open
                | Self::OpenDirect
                | Self::OpenSequential
                | Self::Exists
                | Self::FileLen
                | Self::List
                | Self::ReadAt
                | Self::ReadNext
        )
    }
}

/// One call, before it is done.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// What is asked.
    pub kind: CallKind,
    /// Of which file; the first, where there are two.
    pub path: &'a Path,
    /// How many calls there were before.
    pub index: u64,
    /// How many of this kind there were before.
    pub nth: u64,
}

/// What goes wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails and has no effect.
    Error(std::io::ErrorKind),
    /// It is done, and fails all the same.
    ErrorAfterwards(std::io::ErrorKind),
    /// Of what is to be written only so many bytes are; then it fails. Other calls fail without effect.
    Torn(usize, std::io::ErrorKind),
    /// A read of the next bytes gives at most so many (at least one). Other calls are done.
    Short(usize),
    /// In the bytes read or written this bit is turned, counted from the first byte's lowest, modulo their number. Other
    /// calls are done.
    FlippedBit(u64),
}

impl Fault {
    fn error(kind: std::io::ErrorKind, path: &Path) -> Error {
        let error = match kind {
            std::io::ErrorKind::Unsupported => Error::not_supported("injected"),
            kind => Error::io("injected", kind.into()),
        };
        error.in_file(path)
    }
}

type Rule = Box<dyn FnMut(&Call<'_>) -> Option<Fault> + Send>;

/// Counts calls and decides what goes wrong; shared by a file system and the files it has opened.
#[derive(Default)]
pub(super) struct Plan(Mutex<State>);

#[derive(Default)]
struct State {
    calls: u64,
    by_kind: [u64; CallKind::ALL.len()],
    rule: Option<Rule>,
    /// Bytes that can still be written; `None` if there is no limit.
    room: Option<u64>,
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Plan")
            .field("calls", &state.calls)
            .field("has_rule", &state.rule.is_some())
            .field("room", &state.room)
            .finish()
    }
}

impl Plan {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn calls(&self) -> u64 {
        self.state().calls
    }

    pub(super) fn calls_of(&self, kind: CallKind) -> u64 {
        self.state().by_kind[kind as usize]
    }

    pub(super) fn set_rule(&self, rule: Option<Rule>) {
        self.state().rule = rule;
    }

    pub(super) fn set_room(&self, bytes: Option<u64>) {
        self.state().room = bytes;
    }

    /// Counts a call and returns what goes wrong with it.
    pub(super) fn on_call(&self, kind: CallKind, path: &Path) -> Option<Fault> {
        let mut state = self.state();
        let call = Call { kind, path, index: state.calls, nth: state.by_kind[kind as usize] };
        state.calls += 1;
        state.by_kind[kind as usize] += 1;
        state.rule.as_mut().and_then(|rule| rule(&call))
    }

    /// Takes room for `len` bytes; returns for how many there was some.
    pub(super) fn take_room(&self, len: usize) -> usize {
        match &mut self.state().room {
            None => len,
            Some(room) => {
                let taken = len.min(usize::try_from(*room).unwrap_or(usize::MAX));
                *room -= taken as u64;
                taken
            }
        }
    }

    /// Does a call that carries no bytes, or what is to go wrong with it.
    pub(super) fn run<T>(
        &self,
        kind: CallKind,
        path: &Path,
        call: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        match self.on_call(kind, path) {
            None | Some(Fault::Short(_) | Fault::FlippedBit(_)) => call(),
            Some(Fault::Error(error) | Fault::Torn(_, error)) => Err(Fault::error(error, path)),
            Some(Fault::ErrorAfterwards(error)) => {
                call()?;
                Err(Fault::error(error, path))
            }
        }
    }

    /// Does a call that fills `buf` and returns how many bytes, or what is to go wrong with it.
    pub(super) fn read(
        &self,
        kind: CallKind,
        path: &Path,
        buf: &mut [u8],
        read: impl FnOnce(&mut [u8]) -> Result<usize>,
    ) -> Result<usize> {
        match self.on_call(kind, path) {
            Some(Fault::Short(most)) if kind == CallKind::ReadNext && !buf.is_empty() => {
                let most = most.clamp(1, buf.len());
                read(&mut buf[..most])
            }
            None | Some(Fault::Short(_)) => read(buf),
            Some(Fault::FlippedBit(bit)) => {
                let count = read(buf)?;
                flip(&mut buf[..count], bit);
                Ok(count)
            }
            Some(Fault::Error(error) | Fault::Torn(_, error)) => Err(Fault::error(error, path)),
            Some(Fault::ErrorAfterwards(error)) => {
                read(buf)?;
                Err(Fault::error(error, path))
            }
        }
    }

    /// Does a call that writes `bytes`, or what is to go wrong with it.
    pub(super) fn write(
        &self,
        path: &Path,
        bytes: &[u8],
        mut write: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let fault = self.on_call(CallKind::Write, path);
        let room = self.take_room(bytes.len());
        let (kept, error) = match fault {
            Some(Fault::Error(error)) => (0, Some(error)),
            Some(Fault::Torn(most, error)) => (most.min(room), Some(error)),
            Some(Fault::ErrorAfterwards(error)) => (room, Some(error)),
            _ if room < bytes.len() => (room, Some(std::io::ErrorKind::StorageFull)),
            _ => (room, None),
        };
        let bytes = &bytes[..kept];
        if let Some(Fault::FlippedBit(bit)) = fault {
            let mut bytes = bytes.to_vec();
            flip(&mut bytes, bit);
            write(&bytes)?;
        } else {
            write(bytes)?;
        }
        error.map_or(Ok(()), |error| Err(Fault::error(error, path)))
    }
}

fn flip(bytes: &mut [u8], bit: u64) {
    if !bytes.is_empty() {
        let at = (bit / 8) as usize % bytes.len();
        bytes[at] ^= 1 << (bit % 8);
    }
}
