//! One error type for the whole engine.
//!
//! An [`Error`] is one word wide, so that `Result<T>` stays small on hot paths. It says what kind of failure it is
//! (callers act on [`ErrorKind`]), in words what was expected and found, and where: file, offset, length and part.
//! Lower layers add the context they alone know at the point of failure; upper layers only add the file's name.

use std::fmt;
use std::path::{Path, PathBuf};

/// A result with Partita's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What a caller can do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Bytes on disk are not what the format requires: restore from a copy, or repair.
    Corruption,
    /// The operating system refused an operation; the source says which and why.
    Io,
    /// The device is full: free space, then retry.
    NoSpace,
    /// The caller's argument or option is wrong: correct the call.
    InvalidArgument,
    /// The file or option is valid but uses a feature that Partita does not have.
    NotSupported,
    /// Somebody else holds the resource: retry later.
    Busy,
    /// The operation was given up part way, without effect.
    Aborted,
    /// A time limit ran out.
    TimedOut,
    /// The object was closed before the call.
    Closed,
    /// Writes are refused, by request or after a background error.
    ReadOnly,
    /// The read was to end sooner than it could be answered: what it needs is in files and it was limited to memory, or
    /// it passed more entries than it was allowed. Ask again without the limit. Of updates: some are in no log.
    Incomplete,
}

impl ErrorKind {
    /// The kind as it appears at the start of an error message.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Corruption => "corruption",
            Self::Io => "I/O error",
            Self::NoSpace => "no space left",
            Self::InvalidArgument => "invalid argument",
            Self::NotSupported => "not supported",
            Self::Busy => "busy",
            Self::Aborted => "aborted",
            Self::TimedOut => "timed out",
            Self::Closed => "closed",
            Self::ReadOnly => "read only",
            Self::Incomplete => "incomplete",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error with its kind, its message and where it happened.
///
/// ```
/// use partita::{Error, ErrorKind};
///
/// let error = Error::corruption("checksum mismatch (CRC32C): stored 9e1f02aa, computed 1b77c0d3")
///     .in_part("data block")
///     .at(0x4f000)
///     .with_len(4096)
///     .in_file("000123.sst");
/// assert_eq!(error.kind(), ErrorKind::Corruption);
/// assert_eq!(
///     error.to_string(),
///     "corruption: 000123.sst, data block at 0x4f000 (4096 bytes): \
///      checksum mismatch (CRC32C): stored 9e1f02aa, computed 1b77c0d3",
/// );
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    file: Option<PathBuf>,
    part: Option<&'static str>,
    offset: Option<u64>,
    len: Option<u64>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error of `kind` that says `message`.
    #[cold]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            file: None,
            part: None,
            offset: None,
            len: None,
            source: None,
        }))
    }

    /// Bytes are not what the format requires.
    #[cold]
    pub fn corruption(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corruption, message)
    }

    /// The caller's argument or option is wrong.
    #[cold]
    pub fn invalid_argument(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgument, message)
    }

    /// The input is valid but needs a feature that Partita does not have; `message` names it.
    #[cold]
    pub fn not_supported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotSupported, message)
    }

    /// A failed operating system call; `doing` says what was tried (`"read"`, `"create"`).
    #[cold]
    pub fn io(doing: &str, source: std::io::Error) -> Self {
        let kind = match source.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                ErrorKind::NoSpace
            }
            _ => ErrorKind::Io,
        };
        Self::new(kind, format!("{doing}: {source}")).with_source(source)
    }

    /// Names the file, unless a lower layer did already.
    #[must_use]
    pub fn in_file(mut self, file: impl AsRef<Path>) -> Self {
        self.0.file.get_or_insert_with(|| file.as_ref().to_path_buf());
        self
    }

    /// Names the part of the file (`"data block"`, `"footer"`), unless a lower layer did already.
    #[must_use]
    pub fn in_part(mut self, part: &'static str) -> Self {
        self.0.part.get_or_insert(part);
        self
    }

    /// Gives the offset in the file, unless a lower layer did already.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// Gives the length of the damaged part in bytes, unless a lower layer did already.
    #[must_use]
    pub fn with_len(mut self, len: u64) -> Self {
        self.0.len.get_or_insert(len);
        self
    }

    /// Keeps the error that caused this one.
    #[must_use]
    pub fn with_source(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// What a caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What was expected and found, without the place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The file in which it happened, if known.
    pub fn file(&self) -> Option<&Path> {
        self.0.file.as_deref()
    }

    /// The part of the file, if known: `"data block"`, `"footer"`, ….
    pub fn part(&self) -> Option<&'static str> {
        self.0.part
    }

    /// The offset in the file, if known.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// The length of the damaged part in bytes, if known.
    pub fn byte_len(&self) -> Option<u64> {
        self.0.len
    }

    /// Whether a file or directory that was asked for does not exist.
    pub fn is_not_found(&self) -> bool {
        self.os_error_kind() == Some(std::io::ErrorKind::NotFound)
    }

    /// Whether a file or directory was to be made whose name is taken.
    pub fn is_already_there(&self) -> bool {
        self.os_error_kind() == Some(std::io::ErrorKind::AlreadyExists)
    }

    fn os_error_kind(&self) -> Option<std::io::ErrorKind> {
        let source = self.0.source.as_deref()?;
        source.downcast_ref::<std::io::Error>().map(std::io::Error::kind)
    }

    /// Whether the bytes on disk are at fault.
    pub fn is_corruption(&self) -> bool {
        self.0.kind == ErrorKind::Corruption
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        write!(f, "{}: ", inner.kind)?;
        if let Some(file) = &inner.file {
            write!(f, "{}", file.display())?;
        }
        if let Some(part) = inner.part {
            write!(f, "{}{part}", if inner.file.is_some() { ", " } else { "" })?;
        }
        if let Some(offset) = inner.offset {
            let lead = if inner.file.is_some() || inner.part.is_some() { " " } else { "" };
            write!(f, "{lead}at {offset:#x}")?;
        }
        if let Some(len) = inner.len {
            write!(f, " ({len} bytes)")?;
        }
        if inner.file.is_some() || inner.part.is_some() || inner.offset.is_some() {
            f.write_str(": ")?;
        }
        f.write_str(&inner.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({self})")
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_word_wide() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
        assert_eq!(size_of::<Result<()>>(), size_of::<usize>());
    }

    #[test]
    fn the_innermost_context_wins() {
        let error = Error::corruption("x").at(7).in_file("a").at(9).in_file("b");
        assert_eq!(error.to_string(), "corruption: a at 0x7: x");
    }

    #[test]
    fn absence_and_presence_are_told_by_the_source() {
        let error = |kind| Error::io("open", std::io::Error::from(kind)).in_file("x");
        assert!(error(std::io::ErrorKind::NotFound).is_not_found());
        assert!(error(std::io::ErrorKind::AlreadyExists).is_already_there());
        assert!(!error(std::io::ErrorKind::PermissionDenied).is_not_found());
        assert!(!Error::corruption("x").is_already_there());
    }

    #[test]
    fn a_full_disk_has_its_own_kind() {
        let error = Error::io("write", std::io::Error::from(std::io::ErrorKind::StorageFull));
        assert_eq!(error.kind(), ErrorKind::NoSpace);
        assert!(std::error::Error::source(&error).is_some());
    }
}
