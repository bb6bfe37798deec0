use std::fmt;

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an index has no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The ledger has no last entry: it has none at all, or is marked deleted. BookKeeper's `NoEntryException`.
    NoSuchEntry {
        /// The ledger.
        ledger_id: i64,
    },
    /// The database failed, or holds what is no entry location.
    Database(partita::Error),
}

impl Error {
    /// Whether it only says that there is no such entry.
    pub fn is_no_such_entry(&self) -> bool {
        matches!(self, Self::NoSuchEntry { .. })
    }

    /// What a caller can do about a failure of the database; `None` if it is none.
    pub fn kind(&self) -> Option<partita::ErrorKind> {
        match self {
            Self::NoSuchEntry { .. } => None,
            Self::Database(error) => Some(error.kind()),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchEntry { ledger_id } => write!(f, "ledger {ledger_id} has no last entry"),
            Self::Database(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NoSuchEntry { .. } => None,
            Self::Database(error) => Some(error),
        }
    }
}

impl From<partita::Error> for Error {
    fn from(error: partita::Error) -> Self {
        Self::Database(error)
    }
}
