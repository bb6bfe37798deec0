//! How keys and values become bytes.
//!
//! A codec is a type that is never made: a table names it ([`Table<Utf8, BigEndian<u64>>`](crate::Table)). What programs
//! handle are the types that it encodes, strings and numbers here.
//!
//! | codec | keys | values |
//! |---|---|---|
//! | [`Utf8`] | `&str` | `str` |
//! | [`Bytes`] | `&[u8]` | `[u8]` |
//! | [`BigEndian<T>`](BigEndian) | an integer | an integer |
//! | `(A, B)` | a pair, in the order of its parts; `A` is of one length | |
//! | `()` | | nothing: the table is a set |
#![cfg_attr(feature = "prost", doc = "| [`Protobuf<M>`](Protobuf) | | a message of `prost` |")]
#![cfg_attr(
    feature = "postcard",
    doc = "| [`Postcard<T>`](Postcard) | | anything that serde knows |"
)]

mod integer;
#[cfg(feature = "postcard")]
mod postcard;
#[cfg(feature = "prost")]
mod protobuf;
mod text;
mod tuple;

use std::borrow::Cow;
use std::fmt;

use partita::ErrorKind;

pub use integer::{BigEndian, Integer};
#[cfg(feature = "postcard")]
pub use postcard::Postcard;
#[cfg(feature = "prost")]
pub use protobuf::Protobuf;
pub use text::{Bytes, Utf8};
pub use tuple::FixedLen;

/// How keys of a table become bytes.
///
/// The order of a table is that of the bytes, so ranges and walks are in the order of keys only if the encoding keeps it.
///
/// ```
/// use partita_store::codec::{CodecError, KeyCodec, PrefixCodec};
///
/// /// A version, compared number by number.
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct Version {
///     major: u16,
///     minor: u16,
/// }
///
/// impl KeyCodec for Version {
///     type Ref<'k> = Version;
///     type Key = Version;
///
///     fn encode(key: Version, bytes: &mut Vec<u8>) {
///         bytes.extend(key.major.to_be_bytes());
///         bytes.extend(key.minor.to_be_bytes());
///     }
///
///     fn decode(bytes: &[u8]) -> Result<Version, CodecError> {
///         let [a, b, c, d] = *bytes else { return Err(CodecError::length(bytes, 4)) };
///         Ok(Version { major: u16::from_be_bytes([a, b]), minor: u16::from_be_bytes([c, d]) })
///     }
/// }
///
/// // All minor versions of a major one are neighbours.
/// impl PrefixCodec for Version {
///     type Prefix<'k> = u16;
///
///     fn encode_prefix(major: u16, bytes: &mut Vec<u8>) {
///         bytes.extend(major.to_be_bytes());
///     }
/// }
/// ```
pub trait KeyCodec: 'static {
    /// A key as callers give it.
    type Ref<'k>: Copy;
    /// A key as walks show it.
    type Key;

    /// Appends the bytes of a key.
    fn encode(key: Self::Ref<'_>, bytes: &mut Vec<u8>);

    /// The key that has these bytes.
    ///
    /// * Errors: if no key has them.
    fn decode(bytes: &[u8]) -> Result<Self::Key, CodecError>;
}

/// Keys that have something to begin with.
pub trait PrefixCodec: KeyCodec {
    /// What they begin with.
    type Prefix<'k>: Copy;

    /// Appends the bytes that all these keys begin with, and no others.
    fn encode_prefix(prefix: Self::Prefix<'_>, bytes: &mut Vec<u8>);
}

/// How values of a table become bytes.
///
/// ```
/// use partita_store::codec::{CodecError, ValueCodec};
///
/// struct Flag;
///
/// impl ValueCodec for Flag {
///     type Borrowed = bool;
///     type Value = bool;
///
///     fn encode(value: &bool, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
///         bytes.push(u8::from(*value));
///         Ok(())
///     }
///
///     fn decode(bytes: &[u8]) -> Result<bool, CodecError> {
///         match bytes {
///             [0] => Ok(false),
///             [1] => Ok(true),
///             _ => Err(CodecError::new("neither 0 nor 1")),
///         }
///     }
/// }
/// ```
pub trait ValueCodec: 'static {
    /// A value as callers give it.
    type Borrowed: ?Sized;
    /// A value as it is read.
    type Value;

    /// Appends the bytes of a value.
    ///
    /// * Errors: if it has none.
    fn encode(value: &Self::Borrowed, bytes: &mut Vec<u8>) -> Result<(), CodecError>;

    /// The value that has these bytes.
    ///
    /// * Errors: if no value has them.
    fn decode(bytes: &[u8]) -> Result<Self::Value, CodecError>;
}

/// Bytes that stand for nothing, or something that has no bytes.
#[derive(Debug)]
pub struct CodecError {
    message: Cow<'static, str>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl CodecError {
    /// An error that says `message`.
    pub fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self { message: message.into(), source: None }
    }

    /// The error of bytes that are not as many as they have to be.
    pub fn length(bytes: &[u8], expected: usize) -> Self {
        Self::new(format!("{} bytes, expected {expected}", bytes.len()))
    }

    /// The error of a library.
    pub fn of(source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self { message: source.to_string().into(), source: Some(Box::new(source)) }
    }

    pub(crate) fn into_error(self, kind: ErrorKind) -> partita::Error {
        let error = partita::Error::new(kind, self.message);
        match self.source {
            Some(source) => error.with_source(source),
            None => error,
        }
    }
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CodecError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests;
