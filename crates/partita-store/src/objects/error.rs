use std::fmt;

use super::keys::KeyPath;

/// A result with this module's [`ObjectError`].
pub type ObjectResult<T> = std::result::Result<T, ObjectError>;

/// Why an operation on objects was not done.
#[derive(Debug)]
#[non_exhaustive]
pub enum ObjectError {
    /// There is no such volume, bucket, key or open key.
    NotFound(String),
    /// There is one of that name already.
    AlreadyExists(String),
    /// A name that no volume, bucket or key can have.
    InvalidName(String),
    /// The store failed.
    Store(crate::Error),
}

impl ObjectError {
    /// Whether it only says that something is not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound(_))
    }

    /// Whether it only says that something is there already.
    pub fn is_already_there(&self) -> bool {
        matches!(self, Self::AlreadyExists(_))
    }

    pub(super) fn no_key(what: &str, path: KeyPath<'_>) -> Self {
        Self::NotFound(format!("{what} /{}/{}/{}", path.volume, path.bucket, path.key))
    }
}

impl fmt::Display for ObjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(what) => write!(f, "no {what}"),
            Self::AlreadyExists(what) => write!(f, "there is a {what} already"),
            Self::InvalidName(name) => {
                write!(f, "{name:?} is no name: it is empty, or has a slash where none may be")
            }
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ObjectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

impl From<crate::Error> for ObjectError {
    fn from(error: crate::Error) -> Self {
        Self::Store(error)
    }
}
