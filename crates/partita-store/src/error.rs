use std::fmt;

use partita::ErrorKind;
use partita::key::Excerpt;

use crate::codec::CodecError;

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a store has no answer: what failed, and with which table and key.
///
/// ```
/// use partita_store::Error;
///
/// let error = Error::from(partita::Error::corruption("too short")).in_table("users").at_key(b"anne");
/// assert_eq!(error.to_string(), r#"table users, key "anne": corruption: too short"#);
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    table: Option<String>,
    key: Option<Vec<u8>>,
    cause: partita::Error,
}

impl Error {
    /// Names the table, unless that was done already.
    #[must_use]
    pub fn in_table(mut self, table: &str) -> Self {
        self.0.table.get_or_insert_with(|| table.to_owned());
        self
    }

    /// Names the key, as its bytes are, unless that was done already.
    #[must_use]
    pub fn at_key(mut self, key: &[u8]) -> Self {
        self.0.key.get_or_insert_with(|| key.to_vec());
        self
    }

    /// What a caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        self.0.cause.kind()
    }

    /// The table, if it is about one.
    pub fn table(&self) -> Option<&str> {
        self.0.table.as_deref()
    }

    /// The key's bytes, if it is about one.
    pub fn key(&self) -> Option<&[u8]> {
        self.0.key.as_deref()
    }

    /// What failed.
    pub fn cause(&self) -> &partita::Error {
        &self.0.cause
    }

    /// The same, without table and key.
    pub fn into_cause(self) -> partita::Error {
        self.0.cause
    }

    /// What was given cannot be encoded.
    pub(crate) fn not_encoded(error: CodecError) -> Self {
        error.into_error(ErrorKind::InvalidArgument).into()
    }

    /// What was stored cannot be decoded.
    pub(crate) fn not_decoded(error: CodecError) -> Self {
        error.into_error(ErrorKind::Corruption).into()
    }
}

impl From<partita::Error> for Error {
    fn from(cause: partita::Error) -> Self {
        Self(Box::new(Inner { table: None, key: None, cause }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { table, key, cause } = &*self.0;
        match (table, key) {
            (Some(table), Some(key)) => write!(f, "table {table}, key {}: ", Excerpt(key))?,
            (Some(table), None) => write!(f, "table {table}: ")?,
            (None, Some(key)) => write!(f, "key {}: ", Excerpt(key))?,
            (None, None) => {}
        }
        cause.fmt(f)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({self})")
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0.cause)
    }
}
